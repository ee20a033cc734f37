package lowering

import (
	"context"
	"fmt"
	"os"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/logs"
)

// This file is a lowered graph that is shown in place of the trace that it is of.

// View is the trace of one lowered graph.
type View struct {
	Of     string // the form
	Report *explain.Report
	Store  *logs.Store

	folder string
}

// Show lowers a form and opens the trace of that.
func Show(ctx context.Context, r *explain.Report, f *Form, version string) (*View, error) {
	folder, err := os.MkdirTemp("", "tcdbg-lower-")
	if err != nil {
		return nil, fmt.Errorf("no temporary folder: %w", err)
	}
	v := &View{Of: f.Title(), folder: folder}
	_, path, err := Lower(ctx, r, f, version, folder)
	if err == nil {
		v.Store, err = logs.Open([]string{path}, logs.Options{})
	}
	if err != nil {
		os.RemoveAll(folder)
		return nil, err
	}
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

// Close closes and removes the trace.
func (v *View) Close() {
	if v != nil {
		v.Store.Close()
		os.RemoveAll(v.folder)
	}
}
