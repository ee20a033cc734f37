package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/explain/rewrite"
	"tcdbg/tui"
)

// This file is the trials of the run that the screens show (tui.Trials).

var _ tui.Trials = (*feed)(nil)

// Ledger implements tui.Trials.
func (f *feed) Ledger() *remedy.Ledger {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.state.trials.Load(); t != nil {
		l, _ := t.Ledger()
		return l
	}
	return f.state.ledger
}

// trialsOf are the trials of a run; made with the first one.
func (f *feed) trialsOf(st *feedState) (*trials, error) {
	if t := st.trials.Load(); t != nil {
		return t, nil
	}
	p, err := f.trialProgram(st)
	if err != nil {
		return nil, err
	}
	t := newTrials(p, st.run.file(ledgerFile), f.fold(st), st.ledger)
	st.trying.Lock()
	defer st.trying.Unlock()
	if st.over {
		return nil, errors.New("the run was ended: the program is started again, or tcdbg quits")
	}
	st.trials.CompareAndSwap(nil, t)
	return st.trials.Load(), nil
}

// trialProgram is how the program of a run is run again.
func (f *feed) trialProgram(st *feedState) (*trialProgram, error) {
	if st.run == nil {
		return nil, errors.New("these are files, and no run of tcdbg that can run again")
	}
	if !st.run.own() {
		return nil, errors.New("the run is not one of yours: a command that somebody else's folder names is not run")
	}
	i := &st.run.Info
	if info, err := os.Stat(i.Dir); !filepath.IsAbs(i.Dir) || err != nil || !info.IsDir() {
		return nil, errors.New("the folder where the program ran is gone: " + i.Dir)
	}
	p := &trialProgram{
		dir: i.Dir, limit: defaultMaxTime,
		read: f.sourceOfRun, path: f.Path,
	}
	p.in(st.run.Path)
	if i.Kind == "run" {
		p.inGo, p.files, p.args = true, i.Program, i.Args
	} else {
		p.argv = append(append(p.argv, i.Program...), i.Args...)
	}
	return p, nil
}

// Remedies implements tui.Trials.
func (f *feed) Remedies() ([]*remedy.Remedy, []remedy.Untried, error) {
	t, err := f.trialsOf(f.now())
	if err != nil {
		return nil, nil, err
	}
	l, _ := t.Ledger()
	return l.Remedies, l.Untried, nil
}

// Try implements tui.Trials.
func (f *feed) Try(list []*remedy.Remedy, all bool) error {
	st := f.now()
	t, err := f.trialsOf(st)
	if err != nil {
		return err
	}
	if !t.begin(list[0]) {
		return errTrying
	}
	f.guard(func() {
		if err := t.try(context.Background(), list, all); err != nil {
			t.change(func(l *remedy.Ledger) { l.Running, l.Stopped = nil, err.Error() })
		}
	})
	return nil
}

// EndAfter implements tui.Trials.
func (f *feed) EndAfter(calls int) error {
	t, err := f.trialsOf(f.now())
	if err != nil {
		return err
	}
	return t.endAfter(calls)
}

// CancelTrials implements tui.Trials.
func (f *feed) CancelTrials() bool {
	t := f.now().trials.Load()
	return t != nil && t.Cancel()
}

// appliedFixes are the fixes of remedies that were written together.
type appliedFixes struct{ n, total int } // total: with all that were written before

// ApplyRemedies implements tui.Trials.
func (f *feed) ApplyRemedies(list []*remedy.Remedy) (int, error) {
	n := 0
	for _, m := range list {
		if !m.Patch() {
			continue
		}
		err := f.Apply(m.File, m.Hunks)
		if errors.Is(err, rewrite.ErrWritten) && n > 0 {
			continue // another one of them has the same lines
		}
		if err != nil {
			for range n {
				if _, undo := f.Undo(); undo != nil {
					return 0, errors.Join(err, undo)
				}
			}
			return 0, err
		}
		n++
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = append(f.applied, appliedFixes{n, len(f.fixes)})
	return n, nil
}

// UndoRemedies implements tui.Trials.
func (f *feed) UndoRemedies() error {
	f.mu.Lock()
	last, fixes := len(f.applied)-1, len(f.fixes)
	var a appliedFixes
	if last >= 0 {
		a = f.applied[last]
	}
	f.mu.Unlock()
	switch {
	case last < 0:
		return errors.New("no proven remedy was written since tcdbg started")
	case a.total != fixes:
		return errors.New("fixes were written or taken back on Breaks since: u takes them back there, one by one")
	}
	for range a.n {
		if _, err := f.Undo(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.applied = f.applied[:last]
	return nil
}

// withLedger gives the screens another report where the ledger has changed, so that they
// make their rows again.
func (f *feed) withLedger(st *feedState, r *explain.Report) *explain.Report {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := st.trials.Load()
	if t == nil {
		return r
	}
	_, version := t.Ledger()
	if f.copied.of != r || f.copied.version != version {
		c := *r
		f.copied.of, f.copied.version, f.copied.report = r, version, &c
	}
	return f.copied.report
}
