package tui

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
)

// triedFeed is a feed with trials made by hand.
type triedFeed struct {
	*fakeFeed
	ledger  *remedy.Ledger
	tried   []string
	all     bool
	written []string
	calls   int
}

func (f *triedFeed) Ledger() *remedy.Ledger { return f.ledger }

func (f *triedFeed) Remedies() ([]*remedy.Remedy, []remedy.Untried, error) {
	list, untried := remedy.For(f.report)
	return list, untried, nil
}

func (f *triedFeed) Try(list []*remedy.Remedy, all bool) error {
	if f.tried != nil {
		return errors.New("trials are running: c cancels them")
	}
	for _, m := range list {
		f.tried = append(f.tried, m.ID)
	}
	f.all = all
	return nil
}

func (f *triedFeed) EndAfter(calls int) error {
	f.calls = calls
	return nil
}

func (f *triedFeed) CancelTrials() bool {
	was := f.tried != nil
	f.tried = nil
	return was
}

func (f *triedFeed) ApplyRemedies(list []*remedy.Remedy) (int, error) {
	for _, m := range list {
		f.written = append(f.written, m.ID)
	}
	return len(list), nil
}

func (f *triedFeed) UndoRemedies() error {
	if f.written == nil {
		return errors.New("no proven remedy was written since tcdbg started")
	}
	f.written = nil
	return nil
}

// trial is one of a ledger.
func trial(base *remedy.Measured, breaks, recompiles, graphs int, ms float64, c *remedy.Comparison, ids ...string) *remedy.Trial {
	zero, exit, rss, compile, calls := 0, 0, int64(212<<20), 1.25, 24
	low, high := ms*0.95, ms*1.05
	m := &remedy.Measured{
		Breaks: &breaks, Recompiles: &recompiles, Graphs: &graphs, Failures: &zero, Eager: &zero, CompileSeconds: &compile,
		CallMS: &ms, LowMS: &low, HighMS: &high, Steady: 20, Calls: &calls, PeakRSS: &rss, Exit: &exit,
	}
	t := &remedy.Trial{Remedies: ids, State: remedy.Done, Measured: m, Compared: c}
	if base != nil {
		t.Verdict = remedy.Judge(base, m, c)
	}
	return t
}

// richLedger has a remedy that is proven, one that is refuted, one that ran out of time and
// one that was not tried.
func richLedger() *remedy.Ledger {
	same := &remedy.Comparison{Equal: true, Calls: 24, Values: 2400}
	patch := &remedy.Remedy{
		ID: "patch:GB0170@model.go:57", Text: "rewrite as: b = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)", File: "model.go",
		How:      "the file is changed as the fix says, in a copy",
		Findings: []remedy.Finding{{Kind: "break", Key: "k", What: "GB0170 branch on a tensor's value", Place: "model.go:57"}},
		Hunks: []explain.Hunk{{Line: 57, Lines: []string{
			"- if b.Sum().Lt(0).Bool() {", "-     b = b.Mul(-1)", "- }", "+ b = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)",
		}}},
	}
	quiet := remedy.OfSwitch(remedy.Switch{Name: "dynamic", Value: "true"})
	limit := remedy.OfSwitch(remedy.Switch{Name: "recompile_limit", Value: "64"})
	mark := remedy.OfSwitch(remedy.Switch{Name: "mark_dynamic", Value: "forward:x:0"})
	l := &remedy.Ledger{Version: 1, Go: true, Remedies: []*remedy.Remedy{patch, &quiet, &limit, &mark}}
	l.Baseline = trial(nil, 2, 3, 7, 1.84, nil)
	base := l.Baseline.Measured
	late := &remedy.Trial{Remedies: []string{limit.ID}, State: remedy.TimedOut, Reason: "it had not ended after 10m0s", Took: 600}
	late.Verdict.Why = late.Reason
	l.Trials = []*remedy.Trial{
		trial(base, 2, 0, 4, 1.80, &remedy.Comparison{
			First: "call 3 of forward, output[0][1, 7] is 0.5, and without the remedy 0.25",
		}, quiet.ID),
		late,
		trial(base, 1, 3, 5, 1.02, same, patch.ID),
	}
	l.Untried = []remedy.Untried{{
		Finding: remedy.Finding{Kind: "break", Key: "u", What: "GB0124 tensor value read as a number", Place: "model.go:90"},
		Why:     "the advice is in words, which only you can follow: Return the tensor, and call Item on it in the caller.",
	}}
	return l
}

// Golden frames of the Ledger: with trials, and while one runs.
func TestGoldenLedger(t *testing.T) {
	for _, c := range []struct {
		name string
		w, h int
	}{{"80x24", 80, 24}, {"160x50", 160, 50}} {
		f := &triedFeed{fakeFeed: richFeed(), ledger: richLedger()}
		d := newDriver(t, f, Options{}, c.w, c.h)
		var b strings.Builder
		for _, step := range []string{"keys $", "keys j", "keys j"} {
			d.script(step)
			for _, l := range strings.Split(d.frame(), "\n") {
				b.WriteString(strings.TrimRight(strings.ReplaceAll(l, "\x1b", "␛"), " ") + "\n")
			}
			b.WriteString("===\n")
		}
		golden(t, "ledger-"+c.name+".txt", b.String())
	}
}

// t tries the remedies of a row, T every one; both lead to the Ledger. c cancels, a asks
// and writes what is proven, u takes it back; what is not proven is not written.
func TestLedgerKeys(t *testing.T) {
	f := &triedFeed{fakeFeed: richFeed(), ledger: richLedger()}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 2 t\nscreen Source")
	if f.tried != nil {
		t.Fatalf("a line was tried: %v", f.tried)
	}
	d.script("keys 3 T\nscreen Ledger")
	all, _, _ := f.Remedies()
	if !f.all || len(f.tried) != len(all) || len(all) == 0 {
		t.Fatalf("T tried %v, all %v", f.tried, f.all)
	}
	d.script("keys c\nexpect the trials are being cancelled\nkeys c\nexpect no trial is running")

	d.script("keys g j\nexpect 1 of 3 trials proven\nexpect proven: 1 break fewer\nkeys a\nexpect Write 1 patch?")
	d.script("keys y\nexpect 1 patch written")
	if !slices.Equal(f.written, []string{"patch:GB0170@model.go:57"}) {
		t.Errorf("written: %v", f.written)
	}
	d.script("keys u\nexpect taken back\nkeys u\nexpect nothing was taken back")
	d.script("keys j\nexpect not proven: the results differ: call 3 of\nkeys a\nexpect it is not proven")
	d.script("keys t")
	if !slices.Equal(f.tried, []string{"dynamic=true"}) || f.all {
		t.Errorf("t on the Ledger tried %v", f.tried)
	}
	d.script("keys t\nexpect trials are running")
	f.ledger.Running = &remedy.Progress{What: "dynamic=true", N: 1, Of: 3, Start: d.m.sc.now()}
	d.script("poll\nexpect trying dynamic=true (1 of 3)\nkeys esc\nexpect the trials are being cancelled\nscreen Ledger")
	if f.ledger.Running = nil; f.tried != nil {
		t.Error("esc did not cancel")
	}
	d.script("keys W\ntype capture_scalar_outputs=maybe\nkeys enter\nexpect capture_scalar_outputs is true, false, not")
	d.script("keys W down down up\nkeys enter\nscreen Ledger")
	if want := remedy.RunWide(f.report.OfGo())[0]; !slices.Equal(f.tried, []string{want}) || f.all {
		t.Errorf("W tried %v, want %s", f.tried, want)
	}
	d.script("keys c\nkeys 3 W\ntype backend=eager\nkeys enter\nscreen Ledger")
	if !slices.Equal(f.tried, []string{"backend=eager"}) {
		t.Errorf("W on Breaks tried %v", f.tried)
	}
	d.script("keys c\nkeys S\ntype 20\nkeys enter\nexpect trials end after 20 calls\nkeys S\ntype x\nkeys enter\nexpect no number of calls")
	if f.calls != 20 {
		t.Errorf("trials end after %d calls", f.calls)
	}
}

// t on a row tries what is for it; where there is nothing it says why.
func TestTryRow(t *testing.T) {
	f := &triedFeed{fakeFeed: richFeed()}
	d := newDriver(t, f, Options{}, 120, 40)
	all, untried := remedy.For(f.report)
	for i, g := range f.report.Breaks {
		if g.Lead.Noise {
			continue // folded
		}
		want := remedy.ForFinding(all, "break", g.Key)
		f.tried = nil
		d.script("keys 3 g" + strings.Repeat(" j", i) + " t")
		if len(want) == 0 {
			if f.tried != nil || len(untried) == 0 {
				t.Errorf("break %d: tried %v", i, f.tried)
			}
			d.script("expect nothing can be tried: ")
			continue
		}
		if len(f.tried) != len(want) || f.tried[0] != want[0].ID {
			t.Errorf("break %d: tried %v, want %v", i, f.tried, want)
		}
	}
}

// A ledger of which nothing was tried counts no trials, and has no table of them.
func TestNothingTriedYet(t *testing.T) {
	l := richLedger()
	l.Baseline, l.Trials = nil, nil
	d := newDriver(t, &triedFeed{fakeFeed: richFeed(), ledger: l}, Options{}, 120, 40)
	d.script("keys $\nexpect nothing was tried yet\nexpect CAN BE TRIED\nrefute 0 of 0\nrefute breaks recompiles graphs")
}

// The cursor stays on what t tries: what can be tried becomes a trial, wherever it was asked for.
func TestCursorOnWhatIsTried(t *testing.T) {
	l := richLedger()
	l.Trials = l.Trials[:2]
	f := &triedFeed{fakeFeed: richFeed(), ledger: l}
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys $ G k\nexpect t tries it\nkeys t")
	if len(f.tried) != 1 {
		t.Fatalf("tried %v", f.tried)
	}
	full := richLedger()
	other := &remedy.Comparison{First: "x"}
	full.Trials = append(full.Trials, trial(full.Baseline.Measured, 2, 3, 7, 1.8, other, "mark_dynamic=forward:x:0"))
	again := *f.report
	f.ledger, f.report = full, &again
	d.script("poll")
	row, ok := d.m.current().selected().(*trialRow)
	if !ok || row.t.ID() != f.tried[0] {
		t.Errorf("tried %v, the cursor is on %+v", f.tried, d.m.current().selected())
	}
	f.tried = nil
	d.script("keys g\nkeys W\ntype recompile_limit=64\nkeys enter")
	if row, ok := d.m.current().selected().(*trialRow); !ok || row.t.ID() != "recompile_limit=64" {
		t.Errorf("W tried %v, the cursor is on %+v", f.tried, d.m.current().selected())
	}
}

// A feed that cannot try says so, and has no tab.
func TestNoTrials(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 40)
	d.script("keys 3 t\nexpect nothing can be tried of this trace\nrefute Ledger")
	d.script("keys $\nexpect this run cannot run again from here")
}

// The detail of a break says what its remedies came to on this program.
func TestTriedInDetail(t *testing.T) {
	f := &triedFeed{fakeFeed: richFeed(), ledger: richLedger()}
	f.ledger.Remedies[0].Findings[0].Key = f.report.Breaks[0].Key
	f.ledger.Remedies[1].Findings = f.ledger.Remedies[0].Findings
	d := newDriver(t, f, Options{}, 120, 40)
	d.script("keys 3 g\nexpect TRIED ON THIS PROGRAM\nexpect proven: 1 break fewer\nexpect not proven: the results differ")
	if s := d.plain(); strings.Index(s, "proven: 1 break") > strings.Index(s, "not proven: the results") {
		t.Error("what failed is above what worked")
	}
	d.script("keys j\nrefute TRIED ON THIS PROGRAM")
}
