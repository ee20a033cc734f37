package render

import (
	"fmt"
	"path/filepath"

	"tcdbg/explain"
	"tcdbg/logs"
	"tcdbg/logs/chrome"
)

// This file writes what a profiler measured of steady steps.

// runTime says where the steps of each process spend their time.
func (t *TextWriter) runTime(r *explain.Report) {
	for i, p := range r.Profiles {
		if i == t.most(Rows) {
			t.more(len(r.Profiles)-t.most(Rows), "process")
			return
		}
		name := "RUN TIME: "
		if len(r.Profiles) > 1 {
			name = fmt.Sprintf("RUN TIME of %s: ", processName(p))
		}
		lines := p.Summary()
		t.section(name + lines[0])
		for _, s := range lines[1:] {
			t.line("  %s", s)
		}
		t.costs(p)
	}
}

func processName(p *explain.Profile) string {
	if p.Rank >= 0 {
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return filepath.Base(p.File)
}

func (t *TextWriter) costs(p *explain.Profile) {
	costs := p.Costs()
	if len(costs) == 0 {
		return
	}
	t.line("  %10s %5s %6s", p.Of(), "share", "calls")
	for i, c := range costs {
		if i == t.most(Rows) {
			t.more(len(costs)-t.most(Rows), "row")
			return
		}
		place := c.Place(t.names.Place)
		if place != "" {
			place = "  " + place
		}
		t.line("  %10s %5s %6s  %-8s %s%s", explain.Nanos(p.PerStep(c.Worth())), explain.Share(c.Worth(), p.Total()),
			perStep(c.Calls, len(p.Steps)), c.Kind, c.Text(), place)
	}
}

// perStep is how often a step has something: whole numbers without a point.
func perStep(calls int64, steps int) string {
	switch {
	case calls == 0:
		return ""
	case calls%int64(max(1, steps)) == 0:
		return fmt.Sprint(calls / int64(max(1, steps)))
	}
	return fmt.Sprintf("%.1f", float64(calls)/float64(steps))
}

// jsonProfile is the steps of one process. Times are nanoseconds over all steps.
type jsonProfile struct {
	Rank     *int           `json:"rank"` // null: none
	File     string         `json:"file"`
	Steps    []int64        `json:"steps_ns"`
	Marked   bool           `json:"marked"`
	Stacked  bool           `json:"with_stacks"`
	Parts    chrome.Parts   `json:"parts"`
	GPUs     []*chrome.GPU  `json:"gpus"`
	Peaks    []*chrome.Peak `json:"memory_peaks"`
	Costs    []jsonCost     `json:"costs"`
	Apart    string         `json:"not_joined,omitempty"`
	Problems []string       `json:"problems"`
}

// jsonCost is one row of a profile.
type jsonCost struct {
	Kind     explain.CostKind `json:"kind"`
	Name     string           `json:"name"`
	Compile  string           `json:"compile,omitempty"`
	Backward bool             `json:"backward,omitempty"`
	Under    string           `json:"under,omitempty"`
	Pos      *logs.Pos        `json:"pos,omitempty"`
	In       string           `json:"in,omitempty"`
	Calls    int64            `json:"calls"`
	Nanos    *int64           `json:"ns"` // null: not measured
	Device   int64            `json:"device_ns,omitempty"`
}

func profileJSON(p *explain.Profile) jsonProfile {
	out := jsonProfile{
		File: p.File, Steps: p.Steps, Marked: p.Marked != "", Stacked: p.Stacked, Parts: p.Parts, Apart: p.Apart,
		GPUs: list(p.GPUs, same), Peaks: list(p.MemoryPeaks(), same), Problems: orEmpty(p.Remarks()),
	}
	if p.Rank >= 0 {
		out.Rank = &p.Rank
	}
	out.Costs = list(p.Costs(), func(c *explain.Cost) jsonCost {
		return jsonCost{
			Kind: c.Kind, Name: c.Name, Compile: c.Compile, Backward: c.Backward, Under: c.Under, Pos: posJSON(c.Pos), In: c.In,
			Calls: c.Calls, Nanos: known(c.Nanos), Device: c.Device,
		}
	})
	return out
}

func same[T any](x T) T { return x }
