package fold

import (
	"fmt"

	"tcdbg/explain"
	"tcdbg/explain/numerics"
	"tcdbg/logs"
)

// This file folds comparisons of compiled code with eager execution.

// heldNumerics is what a record of a graph holds.
const heldNumerics = 4 << 10

// maxNumerics bounds how many graphs are kept.
const maxNumerics = 5000

func tcdbgNumerics(f *Fold, r *logs.Record) {
	var v logs.Numerics
	if !f.versioned(r, &v) {
		return
	}
	n := f.numericsReport()
	f.hold(heldNumerics)
	key := numericsKey{r.Rank, v.Process, v.Compile, v.Graph}
	g := f.compared[key]
	switch {
	case g != nil:
		g.Numerics, g.Seq = v, r.Seq
		return
	case len(n.Graphs) >= maxNumerics:
		f.leftOut++
		return
	case f.compared == nil:
		f.compared = map[numericsKey]*numerics.Graph{}
	}
	g = &numerics.Graph{Numerics: v, Rank: r.Rank, Seq: r.Seq}
	f.compared[key] = g
	n.Graphs = append(n.Graphs, g)
}

// numericsKey is a graph of which there are several records.
type numericsKey struct {
	rank, process  int
	compile, graph string
}

func tcdbgNumericsCapture(f *Fold, r *logs.Record) {
	var v logs.NumericsCapture
	if f.versioned(r, &v) {
		f.numericsReport().Capture = &v
	}
}

func (f *Fold) numericsReport() *numerics.Report {
	if f.numerics == nil {
		f.numerics = &numerics.Report{}
	}
	return f.numerics
}

// copyNumerics names the functions of the graphs.
func copyNumerics(f *Fold, r *explain.Report) {
	r.Numerics = f.numerics.Clone()
	if r.Numerics == nil {
		return
	}
	type key struct {
		rank    int
		compile string
	}
	names := map[key]string{}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			names[key{c.ID.Rank, fmt.Sprintf("%d/%d", c.ID.Frame, c.ID.Compile)}] = fr.Name
		}
	}
	for _, g := range r.Numerics.Graphs {
		g.Function = names[key{g.Rank, g.Compile}]
	}
}
