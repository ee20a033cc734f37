package explain

import (
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/logs/chrome"
)

// TestUnmarkedGraph: of a graph that the recording has no mark of, as with backend eager, the
// time in graphs is not known, nor what of its entry's time comes after the break.
func TestUnmarkedGraph(t *testing.T) {
	b := &Break{}
	profile := func(ops []string, graphs ...*chrome.Graph) *Profile {
		p := &chrome.Profile{
			Steps: []int64{100}, Graphs: graphs,
			Regions: []*chrome.Region{{Compile: "0/0", Sum: chrome.Sum{Calls: 1, Nanos: 50}, Left: 40}},
			Eager:   []*chrome.Op{{Name: "aten::mul", Compile: "0/0", Sum: chrome.Sum{Calls: 1, Nanos: 20}}},
		}
		for _, g := range graphs {
			p.Parts.Graphs += g.Nanos
		}
		return &Profile{Profile: p, Compiles: map[string]*Compile{"0/0": {Graph: &Graph{Ops: ops}, Breaks: []*Break{b}}}}
	}
	mark := &chrome.Graph{Compile: "0/0", Sum: chrome.Sum{Calls: 1, Nanos: 10}}
	other := &chrome.Graph{Compile: "1/0", Sum: chrome.Sum{Calls: 1, Nanos: 10}}
	for _, c := range []struct {
		name  string
		p     *Profile
		text  string
		known bool
	}{
		{"not marked", profile([]string{"mul"}), "in graphs not measured", false},
		{"another is", profile([]string{"mul"}, other), "in graphs at least 10%", false},
		{"marked", profile([]string{"mul"}, mark), "in graphs 10%", true},
		{"empty graph", profile(nil), "in graphs 0%", true},
	} {
		text := strings.Join(c.p.Summary(), "\n")
		if !strings.Contains(text, c.text) || strings.Contains(text, "have no mark") == c.known {
			t.Errorf("%s: %s", c.name, text)
		}
		left := false
		for _, cost := range c.p.Costs() {
			left = left || cost.Break == b
		}
		if left != c.known {
			t.Errorf("%s: a cost is the break's: %v", c.name, left)
		}
	}
}

// Shares of one whole add up to 100.
func TestSharesAddUp(t *testing.T) {
	p := &Profile{Profile: &chrome.Profile{
		Steps: []int64{1000}, Parts: chrome.Parts{Graphs: 164, Eager: 784, Lookups: 5, Rest: 47},
	}}
	if got, want := p.partsText(), "in graphs 16%, eager operators 78%, finding entries 1%, Python and waiting 5%"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A row names the program's line that breaks the graph, not the wrapper of torch's that a default device puts
// around torch's functions.
func TestProfileNamesTheProgramsLine(t *testing.T) {
	wrapper := logs.Pos{File: "/usr/lib/python3.11/site-packages/torch/utils/_device.py", Line: 122, Func: "__torch_function__"}
	line := logs.Pos{File: "/home/me/train.py", Line: 7, Func: "forward"}
	b := &Break{Pos: wrapper, Stack: []logs.Pos{line, wrapper}}
	p := &Profile{
		Profile: &chrome.Profile{
			Steps: []int64{100}, Graphs: []*chrome.Graph{{Compile: "0/0", Sum: chrome.Sum{Calls: 1, Nanos: 10}}},
			Regions: []*chrome.Region{{Compile: "0/0", Sum: chrome.Sum{Calls: 1, Nanos: 50}, Left: 40, Idle: 5}},
			Eager:   []*chrome.Op{{Name: "aten::_unique2", Compile: "0/0", Sum: chrome.Sum{Calls: 1, Nanos: 20}}},
		},
		Compiles: map[string]*Compile{"0/0": {Graph: &Graph{Ops: []string{"sin"}}, Breaks: []*Break{b}}},
	}
	n := 0
	for _, c := range p.Costs() {
		if c.Break == b {
			n++
			if c.Pos != line {
				t.Errorf("%s %s: %v", c.Kind, c.Name, c.Pos)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d rows", n)
	}
	b.Stack = nil
	if b.Line() != wrapper {
		t.Errorf("%v", b.Line())
	}
	// Of a module of torch's, as of DistributedDataParallel, PyTorch 2.6 tells torch's own frames alone.
	called := &Compile{Stack: []logs.Pos{line}, Frame: &Frame{Name: "inner", Pos: wrapper}}
	called.Frame.Compiles = []*Compile{called}
	if b.Compile = called; b.Line() != line {
		t.Errorf("%v", b.Line())
	}
}
