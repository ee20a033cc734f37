package remedy

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// This file is the ledger: the trials of a program, as screens, the command line and
// ledger.json show them.

// LedgerVersion is the version of ledger.json.
const LedgerVersion = 1

// Ledger is all that was tried of one run.
type Ledger struct {
	Version  int       `json:"version"`
	Program  string    `json:"program"`
	Engine   string    `json:"engine"` // as the trace names it
	Go       bool      `json:"go,omitempty"`
	Steps    int       `json:"steps,omitempty"` // calls after which each trial was ended
	Seeds    string    `json:"seeds"`           // what the trials do about random numbers
	Baseline *Trial    `json:"baseline,omitempty"`
	Trials   []*Trial  `json:"trials"` // in the order in which they ran
	Together *Trial    `json:"together,omitempty"`
	Remedies []*Remedy `json:"remedies"` // what can be tried
	Untried  []Untried `json:"untried,omitempty"`
	Running  *Progress `json:"-"`                  // nil: nothing runs
	Unstable string    `json:"unstable,omitempty"` // how two runs of the baseline differ
	Stopped  string    `json:"stopped,omitempty"`  // why trials ended early
}

// Trial is one run of the program.
type Trial struct {
	Remedies []string    `json:"remedies"` // ids; none: the baseline
	Text     string      `json:"text,omitempty"`
	State    TrialState  `json:"state"`
	Reason   string      `json:"reason,omitempty"` // of a trial that gave no figures
	Took     float64     `json:"seconds"`
	Measured *Measured   `json:"measured,omitempty"`
	Compared *Comparison `json:"compared,omitempty"`
	Verdict  Verdict     `json:"verdict"`
	Applied  bool        `json:"-"` // its patches are in the user's files
}

// TrialState is how a trial ended.
type TrialState string

// The states of a trial.
const (
	Done      TrialState = "done"
	TimedOut  TrialState = "time limit"
	Cancelled TrialState = "cancelled"
	Broken    TrialState = "failed" // it could not run, or gave nothing to measure
)

// Progress is what runs now.
type Progress struct {
	What  string
	Start time.Time
	N, Of int
	Lines int // printed so far
}

// ID names a trial by its remedies.
func (t *Trial) ID() string {
	if len(t.Remedies) == 0 {
		return "baseline"
	}
	return strings.Join(t.Remedies, " + ")
}

// Remedy finds one by its id; nil for none.
func (l *Ledger) Remedy(id string) *Remedy {
	for _, r := range l.Remedies {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// Trial is the last trial of one remedy alone; nil for none.
func (l *Ledger) Trial(id string) *Trial {
	for _, t := range slices.Backward(l.Trials) {
		if len(t.Remedies) == 1 && t.Remedies[0] == id {
			return t
		}
	}
	return nil
}

// Ranked are the trials, those that are proven first, by their gain, then the others in
// the order in which they ran; of each set of remedies the last one.
func (l *Ledger) Ranked() []*Trial {
	var out []*Trial
	for i, t := range l.Trials {
		again := slices.ContainsFunc(l.Trials[i+1:], func(o *Trial) bool { return o.ID() == t.ID() })
		if !again {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *Trial) int { return l.compare(a, b) })
	return out
}

func (l *Ledger) compare(a, b *Trial) int {
	if a.Verdict.Proven != b.Verdict.Proven {
		if a.Verdict.Proven {
			return -1
		}
		return 1
	}
	if !a.Verdict.Proven || l.Baseline == nil || l.Baseline.Measured == nil {
		return 0
	}
	x, y := Gain(l.Baseline.Measured, a.Measured), Gain(l.Baseline.Measured, b.Measured)
	return slices.Compare(y[:], x[:])
}

// Proven are the remedies to apply together: those of the trial of all, else of the best
// single one.
func (l *Ledger) Proven() []*Remedy {
	best := l.Together
	if best == nil || !best.Verdict.Proven {
		ranked := l.Ranked()
		if len(ranked) == 0 || !ranked[0].Verdict.Proven {
			return nil
		}
		best = ranked[0]
	}
	var out []*Remedy
	for _, id := range best.Remedies {
		if r := l.Remedy(id); r != nil {
			out = append(out, r)
		}
	}
	return out
}

// Write makes ledger.json.
func (l *Ledger) Write() ([]byte, error) {
	text, err := json.MarshalIndent(l, "", "  ")
	return append(text, '\n'), err
}

// Read reads ledger.json.
func Read(text []byte) (*Ledger, error) {
	var l Ledger
	if err := json.Unmarshal(text, &l); err != nil {
		return nil, err
	}
	return &l, nil
}

// Clone is a copy that later trials do not change.
func (l *Ledger) Clone() *Ledger {
	c := *l
	c.Trials = slices.Clone(l.Trials)
	if l.Running != nil {
		p := *l.Running
		c.Running = &p
	}
	return &c
}
