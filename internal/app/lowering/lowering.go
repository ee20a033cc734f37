// Package lowering compiles a graph of PyTorch's trace with our own Inductor, to look at: `tcdbg lower` and the
// key I of the screens. The graph comes from a stranger's file, so that a process of its own compiles it, which may take so much
// memory and time (child.go); what comes back is a trace of that compile, as the engine writes it.
//
// Open this file first (which graphs a report has), then child.go and compare.go.
package lowering

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs"
)

// Form is a graph of a trace at one stage.
type Form struct {
	Graph *explain.Graph
	Name  string // post-grad, post-grad 2
	Load  func() string
	// Output is PyTorch's code of a post-grad graph; nil where it is another stage, or the trace does not tell which.
	Output *explain.OutputCode
}

// stages are those whose text is a graph of operators.
var stages = []string{
	"dynamo", "pre-grad", "joint", "forward", "backward", "inference", "joint passes", "post-grad before", "post-grad", "compiled autograd",
}

const postGrad = "post-grad"

// Forms lists the forms of a graph that may be lowered, in the order of the trace.
func Forms(r *explain.Report, g *explain.Graph) []Form {
	var outputs []*explain.OutputCode
	if c := compileOf(r, g); c != nil {
		outputs = c.Outputs
	}
	var out []Form
	seen := map[string]int{}
	for _, s := range g.Stages {
		if !slices.Contains(stages, s.Name) {
			continue
		}
		seen[s.Name]++
		f := Form{Graph: g, Name: s.Name, Load: s.Load}
		if n := seen[s.Name]; n > 1 {
			f.Name += " " + strconv.Itoa(n)
		}
		out = append(out, f)
	}
	if seen[postGrad] == len(outputs) {
		at := 0
		for i := range out {
			if strings.TrimRight(out[i].Name, " 0123456789") == postGrad {
				out[i].Output = outputs[at]
				at++
			}
		}
	}
	return out
}

// compileOf is the compile that captured a graph, which may be of an earlier report of the same trace.
func compileOf(r *explain.Report, g *explain.Graph) *explain.Compile {
	for _, f := range r.Frames {
		for _, c := range f.Compiles {
			if c.Graph != nil && c.Graph.ID == g.ID && c.Graph.Name == g.Name {
				return c
			}
		}
	}
	return nil
}

// Likely is the form of which out was made, else the first one that code is made of.
func Likely(forms []Form, out *explain.OutputCode) int {
	first := -1
	for i := range forms {
		if o := forms[i].Output; out != nil && o != nil && o.ID == out.ID && o.Path == out.Path && o.Role == out.Role {
			return i
		}
		if first < 0 && forms[i].Name == postGrad {
			first = i
		}
	}
	if first < 0 {
		return len(forms) - 1
	}
	return first
}

// Title is a form as it is called: [0/0] post-grad backward.
func (f *Form) Title() string {
	s := "[" + f.Graph.ID.CompileID.String() + "] " + f.Name
	if f.Output != nil && f.Output.Role != "" && f.Output.Role != "inference" {
		s += " (" + f.Output.Role + ")"
	}
	return s
}

// Find is the form of a graph that a command line names: id is 0/0 or "" where there is one graph, stage post-grad,
// post_grad, backward, or "" for the last.
func Find(r *explain.Report, id, stage string) (*Form, error) {
	id = strings.Trim(id, "[]")
	var graphs []*explain.Graph
	var names []string
	for _, g := range r.Graphs {
		if len(Forms(r, g)) > 0 {
			names = append(names, g.ID.CompileID.String())
			if id == "" || g.ID.CompileID.String() == id {
				graphs = append(graphs, g)
			}
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("the trace has no text of a graph: TORCH_TRACE records it, TORCH_LOGS does not")
	case len(graphs) == 0:
		return nil, fmt.Errorf("the trace has no graph %s; there are %s", id, list(names))
	case len(graphs) > 1 && id == "":
		return nil, fmt.Errorf("the trace has %d graphs: name one, %s", len(names), list(names))
	}
	forms := Forms(r, graphs[0])
	if stage == "" {
		return &forms[Likely(forms, nil)], nil
	}
	want := strings.ReplaceAll(strings.TrimSpace(stage), "_", "-")
	var have []string
	for i := range forms {
		if strings.ReplaceAll(forms[i].Name, " ", "-") == strings.ReplaceAll(want, " ", "-") {
			return &forms[i], nil
		}
		have = append(have, forms[i].Name)
	}
	return nil, fmt.Errorf("graph %s has no stage %s in the trace; it has %s", graphs[0].ID.CompileID, stage, strings.Join(have, ", "))
}

// list is names for a message: a few of them.
func list(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}

// Task is what a graph's process is told.
type Task struct {
	Tcdbg, Trace string // version, and the name of PyTorch's trace
	Of           string // the form's title
	Name         string // of the function
	ID           logs.CompileID
	Text         string
	Hints        map[string]int64
	Launches     []explain.Launch
	Stage        string
	HasOutput    bool
}

// TaskOf describes a form for the process that lowers it.
func TaskOf(r *explain.Report, f *Form, version string) *Task {
	t := &Task{
		Tcdbg: version, Trace: r.Title, Of: f.Title(), Name: f.Graph.Name, ID: f.Graph.ID.CompileID, Text: f.Load(),
		Hints: Hints(r, f.Graph.ID), Stage: strings.TrimRight(f.Name, " 0123456789"), HasOutput: f.Output != nil,
	}
	if f.Output != nil {
		t.Launches = f.Output.Launches
	}
	if c := compileOf(r, f.Graph); c != nil && c.Frame.Title() != "" {
		t.Name = c.Frame.Title()
	}
	return t
}

// Hints are the values that the symbols of a compile had when they were made.
func Hints(r *explain.Report, id explain.ID) map[string]int64 {
	hints := map[string]int64{}
	for _, s := range r.Symbols { // a later one of the same name belongs to another compile
		if v, err := strconv.ParseInt(s.Hint, 10, 64); err == nil && s.ID == id {
			hints[s.Name] = v
		}
	}
	for _, s := range r.Symbols {
		if v, err := strconv.ParseInt(s.Hint, 10, 64); err == nil && hints[s.Name] == 0 && sameFrame(s.ID, id) {
			hints[s.Name] = v
		}
	}
	return hints
}

// sameFrame reports whether two compiles are of one frame: a frame's symbols keep their names.
func sameFrame(a, b explain.ID) bool {
	return a.Rank == b.Rank && a.Epoch == b.Epoch && a.Frame == b.Frame && a.Compile == b.Compile
}
