package tui

import (
	"fmt"
	"strings"
	"testing"
)

const resnet = "../explain/testdata/traces/pytorch-2.11/model_resnet50_cuda_infer.log.zst"

// A real model of 443 nodes: folded by module, opened, searched, drawn, looked at around a node, compared by stage
// and written to a file; at every size.
func TestGraphOfARealModel(t *testing.T) {
	d := newDriver(t, traceFeed(t, resnet), Options{}, 120, 40)
	d.script(`
		keys 6
		expect 268 inputs: 161 parameters, 106 buffers, x
		expect 500.8 MB read and written before fusion · 10.7 GFLOP
		expect ▿ layer3  62 ops · 109.7 MB · 3.83 GFLOP
		keys enter /
		type layer3
		keys enter enter
		expect ▹ layer3
		keys /
		type avgpool
		keys enter v
		expect ●
		refute a drawing shows up to
		keys a
		expect around x_4, 2 hops
		keys a
		expect upstream of x_4, 2 hops
		keys } a
		expect downstream of x_4, 3 hops
		keys a M
		expect marked x_4
		keys j M
		expect paths between x_4 and x_5
		keys d
		expect captured │ post-grad
		expect 1 node the same
		keys D
		refute captured │
		keys v o
		expect NAME
		keys o
	`)
	f := d.m.sc.feed.(*fakeFeed)
	for _, form := range []string{"dot", "svg", "json", "txt"} {
		d.script("keys x backspace backspace backspace\ntype " + form + "\nkeys enter")
		if text := f.exports["graph."+form]; !strings.Contains(text, "layer3") {
			t.Errorf("%s: %.200q", form, text)
		}
	}
	for _, size := range []string{"60x15", "80x24", "160x50", "250x80"} {
		d.script("size " + size)
		var w, h int
		if _, err := fmt.Sscanf(size, "%dx%d", &w, &h); err != nil {
			t.Fatal(err)
		}
		for range 5 {
			d.script("keys v")
			checkFrame(t, d.plain(), w, h)
			d.script("keys Z")
			checkFrame(t, d.plain(), w, h)
		}
	}
}

// The questions of docs/walk.md about a graph are answered by the keys beside them.
func TestQuestionsOfTheWalk(t *testing.T) {
	_, table, ok := strings.Cut(readFile(t, "../docs/walk.md"), "| question | keys | the Graph screen |\n")
	if !ok {
		t.Fatal("docs/walk.md has no questions about the graph")
	}
	asked := 0
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			break
		}
		pressed, answer := strings.Trim(strings.TrimSpace(cells[2]), "`"), strings.Trim(strings.TrimSpace(cells[3]), "`")
		d := newDriver(t, traceFeed(t, resnet), Options{}, 120, 40)
		d.script("keys " + pressed + "\nexpect " + answer)
		if n := len(strings.Fields(pressed)); n > 4 {
			t.Errorf("%s: %d keys", cells[1], n)
		}
		asked++
	}
	if asked != 2 {
		t.Errorf("%d questions", asked)
	}
}
