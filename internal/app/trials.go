package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/internal/app/results"
	"tcdbg/logs/regular"
)

// This file tries remedies one after the other, alone and together, and keeps the ledger.

// ledgerFile is the ledger in a run folder.
const ledgerFile = "ledger.json"

// trials are the trials of one run.
type trials struct {
	prog *trialProgram
	file string // where the ledger is kept; "": nowhere

	mu      sync.Mutex
	ledger  *remedy.Ledger
	version int // counts changes
	cancel  context.CancelFunc
	busy    sync.Mutex // one list of trials at a time

	base    *outcome
	checked bool // two runs of the baseline were compared
}

// newTrials makes the ledger of a report's run. earlier is what was tried before, nil for
// nothing.
func newTrials(p *trialProgram, file string, r *explain.Report, earlier *remedy.Ledger) *trials {
	l := &remedy.Ledger{Version: remedy.LedgerVersion}
	if earlier != nil {
		l = earlier.Clone()
	}
	l.Program, l.Engine, l.Go, l.Steps, l.Seeds = r.Title, r.Engine, p.inGo, p.steps, seedsOf(p.inGo)
	l.Remedies, l.Untried = remedy.For(r)
	if p.inGo {
		l.Remedies = slices.DeleteFunc(l.Remedies, func(m *remedy.Remedy) bool {
			return slices.ContainsFunc(m.Switches, func(s remedy.Switch) bool { return !s.ForGo() })
		})
	}
	return &trials{prog: p, file: file, ledger: l}
}

// seedsOf says what trials do about random numbers.
func seedsOf(inGo bool) string {
	if inGo {
		return "package torch draws from a seed of its own where the program sets none; math/rand is the program's"
	}
	return "torch, random and NumPy are seeded with 0 when they are imported, PYTHONHASHSEED is 0 where it is not set, " +
		"and random operators draw as they do in eager execution; the program's own seeds count"
}

// Ledger is a copy of the ledger, and how often it has changed.
func (t *trials) Ledger() (*remedy.Ledger, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ledger.Clone(), t.version
}

// change changes the ledger and keeps it.
func (t *trials) change(f func(l *remedy.Ledger)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f(t.ledger)
	t.version++
}

// begin says that trials run from now on, the first that of m; false where some run already.
func (t *trials) begin(m *remedy.Remedy) (begins bool) {
	t.change(func(l *remedy.Ledger) {
		if begins = l.Running == nil; begins {
			l.Running = &remedy.Progress{What: m.ID}
		}
	})
	return begins
}

// save keeps the ledger in the run folder.
func (t *trials) save() error {
	if t.file == "" {
		return nil
	}
	t.mu.Lock()
	text, err := t.ledger.Write()
	t.mu.Unlock()
	if err != nil {
		return err
	}
	tmp := t.file + ".new"
	if err = os.WriteFile(tmp, text, 0o600); err == nil {
		err = os.Rename(tmp, t.file)
	}
	return err
}

var errTrying = errors.New("trials are running: c cancels them")

// try tries remedies, each alone; with together, those that are proven are then tried
// greedily as one. It returns when all ended, or the context did.
func (t *trials) try(ctx context.Context, list []*remedy.Remedy, together bool) error {
	if !t.busy.TryLock() {
		return errTrying
	}
	defer t.busy.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.change(func(l *remedy.Ledger) { t.cancel, l.Stopped = cancel, "" })
	defer t.change(func(l *remedy.Ledger) { t.cancel, l.Running = nil, nil })
	if err := t.baseline(ctx, len(list)); err != nil {
		return err
	}
	for i, m := range list {
		if ctx.Err() != nil {
			break
		}
		t.note(m)
		trial, err := t.one(ctx, []*remedy.Remedy{m}, i+1, len(list))
		if err != nil {
			return err
		}
		t.change(func(l *remedy.Ledger) { l.Trials = append(l.Trials, trial) })
		if err := t.save(); err != nil {
			return err
		}
	}
	if together && ctx.Err() == nil {
		if err := t.greedy(ctx); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		t.change(func(l *remedy.Ledger) { l.Stopped = "cancelled" })
	}
	return t.save()
}

// note adds a remedy that was asked for by name to the list.
func (t *trials) note(m *remedy.Remedy) {
	t.change(func(l *remedy.Ledger) {
		if l.Remedy(m.ID) == nil {
			l.Remedies = append(l.Remedies, m)
		}
	})
}

// endAfter has later trials end after so many calls; they get a baseline that does, too.
func (t *trials) endAfter(calls int) error {
	if !t.busy.TryLock() {
		return errTrying
	}
	defer t.busy.Unlock()
	t.prog.steps = calls
	t.base.discard()
	t.base, t.checked = nil, false
	t.change(func(l *remedy.Ledger) { l.Steps = calls })
	return nil
}

// Cancel ends the trials that run, and reports whether there were any.
func (t *trials) Cancel() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel == nil {
		return false
	}
	t.cancel()
	return true
}

// close ends what runs and removes what is kept for comparing.
func (t *trials) close() {
	t.Cancel()
	t.busy.Lock() // never given back: nothing is tried any more
	t.base.discard()
	_ = os.RemoveAll(t.prog.cache()) // ours, in the run's own folder
	t.prog.out()
}

// progress tells what runs now.
func (t *trials) progress(what string, n, of int) {
	t.change(func(l *remedy.Ledger) { l.Running = &remedy.Progress{What: what, Start: time.Now(), N: n, Of: of} })
}

// baseline runs the program without a remedy, where that was not done.
func (t *trials) baseline(ctx context.Context, of int) error {
	if t.base != nil {
		return nil
	}
	t.progress("baseline", 0, of)
	o, err := t.prog.run(ctx, nil)
	if err != nil {
		return err
	}
	trial := &remedy.Trial{Text: "as it is", State: o.state, Reason: o.reason, Took: o.took.Seconds(), Measured: o.measured}
	if bad := t.unusable(o); bad != "" {
		words := o.lastWords()
		o.discard()
		if o.state == remedy.Cancelled {
			return nil
		}
		if words != "" && o.state != remedy.TimedOut && (o.measured.Exit == nil || *o.measured.Exit != 0) {
			bad += " (" + words + ")"
		}
		return fmt.Errorf("nothing can be tried: the program as it is %s", bad)
	}
	t.base = o
	t.change(func(l *remedy.Ledger) { // figures of another day compare with nothing of today
		l.Baseline, l.Trials, l.Together, l.Unstable = trial, nil, nil, ""
	})
	return t.save()
}

// unusable says why a run cannot be compared with; "" where it can.
func (t *trials) unusable(o *outcome) string {
	switch {
	case o.state == remedy.TimedOut:
		return strings.TrimPrefix(o.reason, "it ") + "; --max-time gives it more, --steps ends it after so many calls"
	case o.state != remedy.Done:
		return "was " + o.reason
	case len(o.results.Processes) == 0 && o.measured.Exit != nil && *o.measured.Exit != 0:
		return fmt.Sprintf("ends with %d before it calls a compiled function", *o.measured.Exit)
	case len(o.results.Processes) == 0:
		return t.prog.unwatched()
	}
	return ""
}

// one runs one trial and judges it.
func (t *trials) one(ctx context.Context, list []*remedy.Remedy, n, of int) (*remedy.Trial, error) {
	trial := &remedy.Trial{}
	var texts []string
	var switches []remedy.Switch
	quieter := false
	for _, m := range list {
		trial.Remedies = append(trial.Remedies, m.ID)
		texts = append(texts, m.Text)
		switches = append(switches, m.Switches...)
		quieter = quieter || m.Quieter
	}
	trial.Text = strings.Join(texts, "; ")
	t.progress(trial.ID(), n, of)
	o, err := t.prog.run(ctx, list)
	if err != nil { // the patch does not fit the file any more, or the disk is full
		trial.State, trial.Reason = remedy.Broken, err.Error()
		trial.Verdict.Why = err.Error()
		return trial, nil
	}
	defer o.discard()
	trial.State, trial.Reason, trial.Took, trial.Measured = o.state, o.reason, o.took.Seconds(), o.measured
	if o.state != remedy.Done {
		trial.Verdict.Why = o.reason
		return trial, nil
	}
	if len(o.results.Processes) == 0 && *o.measured.Exit == *t.base.measured.Exit {
		trial.State, trial.Reason = remedy.Broken, "no compiled function was called"
		trial.Verdict.Why = trial.Reason
		return trial, nil
	}
	if trial.Compared, err = results.Compare(t.base.results, o.results, quieter); err != nil {
		return nil, err
	}
	sameExit := *o.measured.Exit == *t.base.measured.Exit
	faster := sameExit && remedy.Faster(t.base.measured, o.measured)
	if !trial.Compared.Equal && sameExit || faster {
		if err := t.control(ctx); err != nil {
			return nil, err
		}
		if trial.Compared, err = results.Compare(t.base.results, o.results, quieter); err != nil { // it may be noisy
			return nil, err
		}
	}
	trial.Verdict = remedy.Judge(t.base.measured, o.measured, trial.Compared)
	if trial.Verdict.Proven && remedy.Faster(o.measured, t.base.measured) {
		if err := t.slower(ctx, list, trial); err != nil {
			return nil, err
		}
	}
	if !sameExit {
		if *o.measured.Exit != 0 { // one that ends well says nothing of why it ended
			trial.Reason = o.lastWords()
		}
	} else if idle := o.results.Took(switches); idle != "" {
		trial.Verdict = remedy.Verdict{Why: idle}
	}
	if l, _ := t.Ledger(); l.Unstable != "" && !trial.Compared.Equal && sameExit {
		trial.Verdict = remedy.Verdict{Why: "nothing can be said: the program's results differ from run to run without any change (" +
			l.Unstable + ")"}
	}
	return trial, nil
}

// slower runs a trial a second time whose calls take longer than the baseline's, and takes its shorter times.
func (t *trials) slower(ctx context.Context, list []*remedy.Remedy, trial *remedy.Trial) error {
	t.progress(trial.ID()+", again: are its calls slower each time?", 0, 0)
	o, err := t.prog.run(ctx, list)
	if err != nil {
		return err
	}
	defer o.discard()
	if o.state == remedy.Done {
		trial.Measured = trial.Measured.Quicker(o.measured)
		trial.Verdict = remedy.Judge(t.base.measured, trial.Measured, trial.Compared)
	}
	return nil
}

// control runs the baseline a second time when a trial's results differ, or its calls are faster, for the
// first time: a program whose results differ from run to run refutes no remedy, and one whose calls took longer
// beside other work proves none. Of one that differs in standard error alone that is not compared any more.
func (t *trials) control(ctx context.Context) error {
	if t.checked {
		return nil
	}
	t.progress("baseline, again: are its results and times the same each time?", 0, 0)
	o, err := t.prog.run(ctx, nil)
	if err != nil {
		return err
	}
	defer o.discard()
	if o.state != remedy.Done {
		return nil
	}
	c, err := results.Compare(t.base.results, o.results, false)
	if err != nil {
		return err
	}
	t.checked = true
	t.base.measured = t.base.measured.Quicker(o.measured)
	t.change(func(l *remedy.Ledger) {
		b := *l.Baseline
		b.Measured = t.base.measured
		l.Baseline = &b
	})
	switch {
	case c.OnlyErrors:
		t.base.results.Noisy = true
	case !c.Equal:
		t.change(func(l *remedy.Ledger) { l.Unstable = c.First })
	}
	return nil
}

// greedy tries the proven remedies together: the best one, and each next one that still
// gains something.
func (t *trials) greedy(ctx context.Context) error {
	l, _ := t.Ledger()
	var set []*remedy.Remedy
	var best *remedy.Trial
	ranked := l.Ranked()
	for i, single := range ranked {
		if !single.Verdict.Proven || len(single.Remedies) != 1 || ctx.Err() != nil {
			continue
		}
		m := l.Remedy(single.Remedies[0])
		switch {
		case best == nil:
			set, best = []*remedy.Remedy{m}, single
			continue
		case slices.ContainsFunc(set, func(o *remedy.Remedy) bool { return remedy.Overlaps(o, m) || remedy.Contradict(o, m) }),
			remedy.Covered(m, set):
			continue
		}
		trial, err := t.one(ctx, append(slices.Clone(set), m), i+1, len(ranked))
		if err != nil {
			return err
		}
		t.change(func(l *remedy.Ledger) { l.Trials = append(l.Trials, trial) })
		if trial.Verdict.Proven && remedy.Adds(best.Measured, trial.Measured) {
			set, best = append(set, m), trial
		}
	}
	t.change(func(l *remedy.Ledger) { l.Together = best })
	return nil
}

// own says whether the run lies among the user's own runs: what a folder from elsewhere
// names is neither run nor written.
func (r *Run) own() bool {
	root, err := runsRoot()
	if err != nil || r.unrecorded() {
		return false
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return false
	}
	path, err := filepath.EvalSymlinks(r.Path)
	return err == nil && filepath.Dir(path) == root
}

// maxLedger is how large a ledger may be.
const maxLedger = 64 << 20

// readLedger reads the ledger of a run of the user's own; nil where it has none.
func readLedger(r *Run) *remedy.Ledger {
	if !r.own() {
		return nil
	}
	text, err := regular.Read(r.file(ledgerFile), maxLedger)
	if err != nil {
		return nil
	}
	l, err := remedy.Read(text)
	if err != nil || l.Version != remedy.LedgerVersion {
		return nil
	}
	return l
}
