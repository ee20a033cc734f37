package render

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/gate"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// TestMarkdownOfTraces: below GitHub's limit for every trace, with its parts, and folds that
// are closed.
func TestMarkdownOfTraces(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		text := markdown(t, report(t, path))
		opened, closed := strings.Count(text, "<details>"), strings.Count(text, "</details>")
		if len(text) >= 65_000 || opened != closed {
			t.Errorf("%s: %d bytes, %d folds opened, %d closed", path, len(text), opened, closed)
		}
		if !strings.Contains(text, "written by tcdbg 9.9") || !strings.Contains(text, "tcdbg report last") {
			t.Errorf("%s: no versions or no command:\n%.300s", path, text)
		}
	}
}

func markdown(t *testing.T, r *explain.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteMarkdown(&b, r, Origin{Tool: "9.9", Machine: "linux/amd64", Command: "tcdbg report last"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hostile is a text that acts wherever it is taken for markup.
const hostile = "`x` ```` ![i](http://evil.example/i.png) <script>alert(1)</script> </summary></details> @octocat #1 | a\n# b\n\n" +
	"<img src=x onerror=y>"

// hostileReport is full of it, n times.
func hostileReport(n int) *explain.Report {
	r := &explain.Report{Title: hostile, Engine: hostile, Totals: explain.Totals{Breaks: n, DistinctBreaks: n, Graphs: 1, Records: 1}}
	for i := range n {
		p := logs.Pos{File: fmt.Sprintf("/p/%s%d.py", hostile, i), Line: i, Func: hostile, Code: hostile + "\n```\n</details>"}
		b := &explain.Break{Code: hostile, Type: hostile, Explanation: hostile, Pos: p, Stack: []logs.Pos{p, p}, Outcome: hostile}
		fix := explain.Fix{Text: hostile, Lines: []string{"- " + hostile, "+ ````"}}
		g := &explain.BreakGroup{Lead: b, Breaks: []*explain.Break{b}, Fix: fix}
		r.Breaks = append(r.Breaks, g)
		r.Advice = append(r.Advice, explain.Advice{Text: hostile, Pos: p, Fix: g.Fix, Cost: hostile, Break: g})
	}
	return r
}

// TestMarkdownOfHostileText: nothing of a trace becomes markup, HTML, a link or a mention.
func TestMarkdownOfHostileText(t *testing.T) {
	text := markdown(t, hostileReport(3))
	outside := escaped.ReplaceAllString(withoutCode(text), "")
	folds := regexp.MustCompile(`(?m)^<details>.*$`).FindAllString(outside, -1) // HTML, in which Markdown is text
	if all := strings.Join(folds, "\n"); regexp.MustCompile(`<[^>]*(img|script)`).MatchString(all) || strings.Contains(all, "@octocat") {
		t.Errorf("HTML in\n%s", all)
	}
	for _, l := range folds {
		outside = strings.Replace(outside, l, "<details></summary>", 1)
	}
	for _, bad := range []string{"<script", "<img", "![", "](", "@octocat", "http://", "\n# b"} {
		if strings.Contains(outside, bad) {
			t.Errorf("%q is markup in\n%s", bad, outside)
		}
	}
	n := strings.Count(outside, "<details>")
	if n != 3 || n != strings.Count(outside, "</details>") || n != strings.Count(outside, "</summary>") {
		t.Errorf("%d folds\n%s", n, outside)
	}
}

// escaped is a character that is text.
var escaped = regexp.MustCompile(`\\[[:punct:]]`)

// withoutCode takes fenced blocks and code spans out, as a reader of Markdown does.
func withoutCode(text string) string {
	var out []string
	fence := ""
	for _, l := range strings.Split(text, "\n") {
		run := l[:len(l)-len(strings.TrimLeft(l, "`"))]
		switch {
		case fence == "" && len(run) >= 3:
			fence = run
		case fence != "" && len(run) >= len(fence) && strings.Trim(l, "`") == "":
			fence = ""
		case fence == "":
			out = append(out, codeSpans(l))
		}
	}
	return strings.Join(out, "\n")
}

var ticks = regexp.MustCompile("`+")

// codeSpans takes the spans of a line out: from a run of backticks to the next of its length.
func codeSpans(l string) string {
	for from := 0; ; {
		at := ticks.FindStringIndex(l[from:])
		if at == nil {
			return l
		}
		start, end := from+at[0], from+at[1]
		if start > 0 && l[start-1] == '\\' {
			from = start + 1
			continue
		}
		closed := false
		for _, c := range ticks.FindAllStringIndex(l[end:], -1) {
			if c[1]-c[0] == end-start {
				l, from, closed = l[:start]+l[end+c[1]:], start, true
				break
			}
		}
		if !closed {
			from = end
		}
	}
}

// TestMarkdownIsBounded: what has no room is counted.
func TestMarkdownIsBounded(t *testing.T) {
	text := markdown(t, hostileReport(3000))
	if len(text) >= 65_000 {
		t.Errorf("%d bytes", len(text))
	}
	if !regexp.MustCompile(`_\d+ breaks left out`).MatchString(text) || !strings.Contains(text, "written by") {
		t.Errorf("what is left out is not said:\n%s", text[len(text)-600:])
	}
}

// TestMarkdownOfDiff: verdict, totals and causes.
func TestMarkdownOfDiff(t *testing.T) {
	a, b := &explain.Report{Engine: "PyTorch 2.15.0"}, hostileReport(2)
	for _, c := range []struct {
		old, now *explain.Report
		want     string
	}{{a, b, "**Worse: 2 new breaks**"}, {b, a, "**Better: 2 fixed breaks**"}, {a, a, "**No difference but time**"}} {
		for i, g := range c.now.Breaks {
			g.Key = fmt.Sprint(i)
		}
		var out bytes.Buffer
		if err := WriteDiffMarkdown(&out, gate.Diff(c.old, c.now), Origin{Tool: "9.9", Command: "tcdbg diff a b"}); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.Contains(text, c.want) || strings.Contains(escaped.ReplaceAllString(withoutCode(text), ""), "<script") {
			t.Errorf("wanted %q:\n%s", c.want, text)
		}
	}
}

// TestAllText: with every row nothing is counted as left out.
func TestAllText(t *testing.T) {
	folded := 0
	for _, path := range traces.Files(t, "../testdata/traces") {
		r := report(t, path)
		var short, all bytes.Buffer
		if err := WriteText(&short, r); err != nil {
			t.Fatal(err)
		}
		if err := WriteAllText(&all, r); err != nil {
			t.Fatal(err)
		}
		folded += strings.Count(short.String(), "... and ")
		if i := strings.Index(all.String(), "\n  ... and "); i >= 0 {
			t.Errorf("%s: %.100s", path, all.String()[i:])
		}
	}
	if folded == 0 {
		t.Error("no trace has more rows than are shown")
	}
}
