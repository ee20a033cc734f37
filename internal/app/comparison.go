package app

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file is what the screens do beyond one run: they compare it with the run
// before. What they write into the user's files is in sourcefile.go.

// earlierRun is the run before, kept open: its kernels are read when they are
// looked at.
type earlierRun struct {
	sync.Mutex
	id     string
	store  *logs.Store
	report *explain.Report
}

// Before implements tui.Feed.
func (f *feed) Before() (*explain.Report, string, error) {
	st := f.now()
	if st.run == nil {
		return nil, "", errors.New("this is a trace, not a run that tcdbg saved: its previous run is not known")
	}
	r, err := runBefore(st.run)
	if err != nil {
		return nil, "", err
	}
	f.earlier.Lock()
	defer f.earlier.Unlock()
	if f.earlier.id == r.Info.ID {
		return f.earlier.report, r.Info.ID, nil
	}
	store, err := logs.Open([]string{r.file(traceFile)}, logs.Options{})
	if err != nil {
		return nil, "", fmt.Errorf("the trace of run %s cannot be read: %s", r.Info.ID, traceError(err))
	}
	report, err := foldStore(store, r.Info.title(), r)
	if err != nil {
		store.Close()
		return nil, "", err
	}
	if f.earlier.store != nil {
		f.earlier.store.Close()
	}
	f.earlier.id, f.earlier.store, f.earlier.report = r.Info.ID, store, report
	return report, r.Info.ID, nil
}

// runBefore is the last run of the same program, from the same folder, that
// began earlier.
func runBefore(now *Run) (*Run, error) {
	runs, err := listRuns()
	if err != nil {
		return nil, err
	}
	var found *Run
	for _, r := range runs {
		a, b := &r.Info, &now.Info
		if a.ID != b.ID && a.Kind == b.Kind && a.Dir == b.Dir && slices.Equal(a.Program, b.Program) && a.Start.Before(b.Start) &&
			(found == nil || a.Start.After(found.Info.Start)) {
			found = r
		}
	}
	if found == nil {
		return nil, fmt.Errorf("no earlier run of %s from this folder is saved", now.Info.title())
	}
	return found, nil
}
