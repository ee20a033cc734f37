package render

import (
	"bytes"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestTextReportMergesAdvice: the same change for the same reason is one entry; a diff is of its place alone.
func TestTextReportMergesAdvice(t *testing.T) {
	entry := func(file string, fix explain.Fix) explain.Advice {
		return explain.Advice{Text: "print() ends the graph", Pos: logs.Pos{File: file, Line: 3}, Cost: "1 break", Fix: fix}
	}
	plain := explain.Fix{Text: "move it out of the function"}
	r := &explain.Report{Advice: []explain.Advice{
		entry("a.py", plain), entry("b.py", plain), entry("c.py", plain),
		entry("d.py", explain.Fix{Text: "move it", Lines: []string{"- print(x)"}}),
		entry("e.py", explain.Fix{Text: "move it", Lines: []string{"- print(y)"}}),
	}}
	var b bytes.Buffer
	if err := WriteText(&b, r); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for want, n := range map[string]int{
		"print() ends the graph": 3, "the same at 2 more places, in 3 files:": 1, "b.py:3 (1 break)": 1, "c.py:3 (1 break)": 1,
	} {
		if got := strings.Count(text, want); got != n {
			t.Errorf("%q is there %d times, not %d:\n%s", want, got, n, text)
		}
	}
}

// TestHTMLReportMergesAdvice: the page has the entries of the text report, each with its other places, which a filter
// finds; a break at one of these links to the entry.
func TestHTMLReportMergesAdvice(t *testing.T) {
	fix := explain.Fix{Text: "move it out of the function"}
	r := &explain.Report{}
	for _, file := range []string{"a.py", "b.py", "c.py"} {
		at := logs.Pos{File: file, Line: 3, Code: "print(" + file[:1] + ")"}
		fr := &explain.Frame{Name: "f", Pos: at}
		c := &explain.Compile{Frame: fr}
		b := &explain.Break{Code: "GB0059", Pos: at, Compile: c}
		c.Breaks, fr.Compiles = []*explain.Break{b}, []*explain.Compile{c}
		g := &explain.BreakGroup{Lead: b, Breaks: []*explain.Break{b}, Fix: fix}
		r.Frames, r.Breaks = append(r.Frames, fr), append(r.Breaks, g)
		r.Advice = append(r.Advice, explain.Advice{Text: "print() ends the graph", Pos: at, Cost: "cost of " + file, Fix: fix, Break: g})
	}
	var b bytes.Buffer
	if err := WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	_, first, _ := strings.Cut(page, `<section id="first"`)
	first, _, _ = strings.Cut(first, "</section>")
	for want, n := range map[string]int{
		`<li class="row"`: 1, "the same at 2 more places, in 3 files": 1, "cost of b.py": 1, "cost of c.py": 1, "print(c)": 1,
		"move it out of the function": 1, ">the break</a>": 3,
	} {
		if got := strings.Count(first, want); got != n {
			t.Errorf("%q is there %d times, not %d:\n%s", want, got, n, first)
		}
	}
	if n := strings.Count(page, `<a href="#advice-1">entry 1</a>`); n != 3 || strings.Contains(page, `#advice-2"`) {
		t.Errorf("%d breaks link to the one entry, not 3", n)
	}
}

// TestAdviceOfFunctionsMerges: a recompile is named by its function, which is no part of the reason; other words are.
func TestAdviceOfFunctionsMerges(t *testing.T) {
	of := func(name, text string) explain.Advice {
		return explain.Advice{Text: text, Fix: explain.Fix{Text: "mark it"}, Frame: &explain.Frame{Name: name}}
	}
	for _, c := range []struct {
		why  string
		list []explain.Advice
		want int
	}{
		{"two functions", []explain.Advice{of("a", "a recompiled: a flag changed"), of("b", "b recompiled: a flag changed")}, 1},
		{"two reasons", []explain.Advice{of("a", "a recompiled: a flag changed"), of("a", "a recompiled: a size changed")}, 2},
		{"letters of a name", []explain.Advice{of("e", "e recompiled: x"), of("s", "s recompiled: e x")}, 2},
	} {
		if got := explain.AlikeAdvice(c.list); len(got) != c.want {
			t.Errorf("%s: %d entries, not %d", c.why, len(got), c.want)
		}
	}
}
