package lowering

import (
	"bytes"
	"context"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/logs"
)

// This file is the report of a lowered graph, which the screens show in place of the trace that it is of.

// View is the trace of one lowered graph.
type View struct {
	Of     string // the form
	Answer *Answer
	Report *explain.Report
	Store  *logs.Store
}

// Show lowers a form of a trace, of which r is the report, and reads the trace of that compile.
func Show(ctx context.Context, r *explain.Report, f *Form, version string) (*View, error) {
	a, err := Run(ctx, TaskOf(r, f, version))
	if err != nil {
		return nil, err
	}
	// as from a pipe: what has no name needs no clearing up
	store, err := logs.Open([]string{"-"}, logs.Options{Stdin: bytes.NewReader(a.Trace)})
	if err != nil {
		return nil, err
	}
	v := &View{Of: f.Title(), Answer: a, Store: store}
	fd := fold.New(v.Store)
	fd.SetTitle(r.Title + " " + v.Of + ", lowered")
	if err := v.Store.Read(ctx, fd.Add); err != nil {
		v.Close()
		return nil, err
	}
	fd.SetLive(false)
	v.Report = fd.Snapshot()
	return v, nil
}

// Close closes the trace.
func (v *View) Close() {
	if v != nil {
		v.Store.Close()
	}
}
