package fold

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"html"
	"io"
	"regexp"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// This file tests what the HTML report holds: links that lead somewhere, ids that stay, all recorded texts.

var (
	pageIDs   = regexp.MustCompile(`\sid="([^"]+)"`)
	pageLinks = regexp.MustCompile(`href="#([^"]*)"`)
	pageTexts = regexp.MustCompile(`<pre tabindex="0"(?: data-z="([^"]*)")?>([^<]*)</pre>`)
)

func htmlOf(t *testing.T, r *explain.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.WriteHTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// unpacked are all texts of a page.
func unpacked(t *testing.T, page string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, m := range pageTexts.FindAllStringSubmatch(page, -1) {
		if m[1] == "" {
			out[html.UnescapeString(m[2])] = true
			continue
		}
		packed, err := base64.StdEncoding.DecodeString(m[1])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
		if err != nil {
			t.Fatal(err)
		}
		out[string(text)] = true
	}
	return out
}

// TestPageLinksLead: every link within a page has its target, no id is there twice, and the page asks for nothing.
func TestPageLinksLead(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces") {
		page := htmlOf(t, report(t, path))
		ids := map[string]bool{}
		for _, m := range pageIDs.FindAllStringSubmatch(page, -1) {
			if ids[m[1]] {
				t.Errorf("%s: id %s is there twice", path, m[1])
			}
			ids[m[1]] = true
		}
		for _, m := range pageLinks.FindAllStringSubmatch(page, -1) {
			if !ids[m[1]] {
				t.Errorf("%s: no target %s", path, m[1])
			}
		}
		if strings.Contains(page, " src=") && regexp.MustCompile(`<[a-z]+[^<>]* src=`).MatchString(page) {
			t.Errorf("%s: the page asks for another file", path)
		}
		if strings.Count(page, "<h1") != 1 || strings.Count(page, "<main") != 1 || strings.Count(page, "<nav") != 1 {
			t.Errorf("%s: not one h1, main and nav", path)
		}
		if len(page) > 10_000_000 {
			t.Errorf("%s: %d bytes", path, len(page))
		}
	}
}

// TestPageHasAllTexts: every recorded stage of every graph, all generated code and every guard is on the page.
func TestPageHasAllTexts(t *testing.T) {
	stages := map[string]bool{}
	for _, name := range []string{
		"pytorch-2.11/trace_00_gb_cpu.log.zst", "pytorch-2.11/trace_5trcuda.log.zst", "pytorch-2.15/train_small.log.zst",
	} {
		r := report(t, "../testdata/traces/"+name)
		page := htmlOf(t, r)
		texts := unpacked(t, page)
		has := func(what, text string) {
			t.Helper()
			if !texts[strings.ReplaceAll(text, "\t", "    ")] {
				t.Errorf("%s: no %s", name, what)
			}
		}
		guards := ""
		for text := range texts {
			guards += explain.Squeeze(text) + "\n"
		}
		for _, fr := range r.Frames {
			for _, c := range fr.Compiles {
				if c.Graph != nil {
					for _, s := range c.Graph.Stages {
						stages[s.Name] = true
						has(c.ID.String()+" "+s.Name, s.Load())
					}
				}
				for _, o := range c.Outputs {
					has(c.ID.String()+" output code", o.Load())
				}
				explain.WalkGuards(c.Guards.Root(), func(n *explain.GuardNode) {
					if !strings.Contains(guards, explain.Squeeze(n.Text)) {
						t.Errorf("%s: no guard %s", name, n.Text)
					}
				})
			}
		}
	}
	if len(stages) < 6 || !stages["runnable"] {
		t.Errorf("only the stages %v were tried", stages)
	}
}

// TestPageKeysStay: a break's address is the same in a report of the program with lines inserted above and other breaks.
func TestPageKeysStay(t *testing.T) {
	id := func(lines int) string {
		r := &explain.Report{}
		for i := range lines {
			g := &explain.BreakGroup{Key: "GB0059 f print(" + strings.Repeat("x", i) + ")", Lead: &explain.Break{Code: "GB0059"}}
			r.Breaks = append([]*explain.BreakGroup{g}, r.Breaks...)
		}
		page := htmlOf(t, r)
		all := regexp.MustCompile(`id="(break-[^"]+)"`).FindAllStringSubmatch(page, -1)
		return all[len(all)-1][1]
	}
	if a, b := id(1), id(3); a != b || !strings.HasPrefix(a, "break-GB0059-") {
		t.Errorf("%s became %s", a, b)
	}
}

// TestPageLinksToPyTorch: a code of PyTorch's has its page, one of tcdbg's own has none.
func TestPageLinksToPyTorch(t *testing.T) {
	page := htmlOf(t, &explain.Report{Breaks: []*explain.BreakGroup{
		{Key: "a", Lead: &explain.Break{Code: "GB0170"}}, {Key: "b", Lead: &explain.Break{Code: "GB9003"}},
	}})
	if strings.Count(page, `href="https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html"`) != 1 ||
		strings.Contains(page, "gb9003") {
		t.Error("links to the registry are wrong")
	}
}

// TestPageIsBounded: a page that has more than fits says what is left out, and how to get it.
func TestPageIsBounded(t *testing.T) {
	r := &explain.Report{Sources: nil}
	seed := uint32(1)
	random := func() string { // nothing that packs well
		b := make([]byte, 3<<20)
		for i := range b {
			seed = seed*1664525 + 1013904223
			b[i] = ' ' + byte(seed>>24)%90
		}
		return string(b)
	}
	for i := range 6 {
		g := &explain.Graph{Stages: []explain.Stage{{Name: "dynamo", Load: random}}}
		g.ID.Frame = i
		r.Graphs = append(r.Graphs, g)
	}
	long := strings.Repeat("long line of a text\n", 600_000)
	r.Graphs[0].Stages = []explain.Stage{{Name: "dynamo", Load: func() string { return long }}}
	for range 20_000 {
		r.Side = append(r.Side, explain.SideNote{Kind: "perf_hints", Text: strings.Repeat("text ", 20)})
	}
	page := htmlOf(t, r)
	if len(page) > 10_000_000 {
		t.Errorf("%d bytes", len(page))
	}
	for _, want := range []string{
		"left out, this page is full. The whole: <code>tcdbg replay PATH", "Cut: 8 MB of 11.44 MB", "Left out here: ", "more remarks",
		"tcdbg report --format json PATH",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// TestPageHasTheTrieOfStacks: what stacks have in common stands once, what follows a fork is indented below it, and the
// compiles stand at the ends.
func TestPageHasTheTrieOfStacks(t *testing.T) {
	at := func(line int) logs.Pos { return logs.Pos{File: "/w/m.py", Line: line, Func: "f"} }
	fr := &explain.Frame{Name: "f", Pos: at(9)}
	for i, stack := range [][]logs.Pos{{at(1), at(2), at(3)}, {at(1), at(2), at(4)}, {at(1), at(2), at(3)}} {
		c := &explain.Compile{Frame: fr, Stack: stack, Status: explain.Compiled}
		c.ID.Compile, c.ID.Rank = i, -1
		fr.Compiles = append(fr.Compiles, c)
	}
	page := htmlOf(t, &explain.Report{Frames: []*explain.Frame{fr}})
	_, trie, _ := strings.Cut(page, `<ul class="stack">`)
	trie, _, _ = strings.Cut(trie, "</section>")
	trie = regexp.MustCompile(`<(?:/?ul|/?li|b|/b|span|/span|code|/code|/a|a)[^<>]*>`).ReplaceAllStringFunc(trie, func(tag string) string {
		switch tag {
		case "<ul>":
			return "("
		case "</ul>":
			return ")"
		}
		return ""
	})
	want := "m.py:1 f m.py:2 f ( m.py:3 f [0/0] f compiled [0/2] f compiled m.py:4 f [0/1] f compiled ) )"
	if got := explain.Squeeze(strings.NewReplacer("(", "( ", ")", " )").Replace(trie)); !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
}

// TestPageShowsNoOtherFile: lines around a recorded one are shown only where the file has every recorded line.
func TestPageShowsNoOtherFile(t *testing.T) {
	lines := []string{"secret = 1", "def f(x):", "    print(x)", "    return x"}
	for _, recorded := range []string{"print(x)", "print(y)"} {
		b := &explain.Break{Code: "GB0059", Pos: logs.Pos{File: "/w/m.py", Line: 3, Code: recorded}}
		page := htmlOf(t, &explain.Report{
			Source: explain.NewSource(func(string) ([]string, error) { return lines, nil }),
			Breaks: []*explain.BreakGroup{{Key: "a", Lead: b, Breaks: []*explain.Break{b}}},
		})
		if got := strings.Contains(page, "secret"); got != (recorded == "print(x)") {
			t.Errorf("recorded %s: the line above is shown: %v", recorded, got)
		}
	}
}
