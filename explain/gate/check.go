// Package gate compares reports: two with each other (diff.go), one with limits and a
// baseline (this file). What it finds decides exit codes, so that it counts each finding once
// and names it by a key that survives edits elsewhere.
//
// It imports explain, explain/diagnose and logs; writing a comparison for people is render's.
// Open this file first, then diff.go.
package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/logs/printable"
)

// This file checks a report against limits and a baseline that a project
// commits, for use in CI.

// Limits are what a run may cost at most; a negative one is no limit.
type Limits struct {
	MaxBreaks      int // all breaks, as totals.breaks counts them
	MaxRecompiles  int
	MaxFailures    int
	MaxCompileTime time.Duration
}

// NoLimits has every limit off.
var NoLimits = Limits{-1, -1, -1, -1}

// Violation is one reason why a check fails.
type Violation struct {
	Rule    string   `json:"rule"` // max-breaks, baseline-break, ...
	Message string   `json:"message"`
	Pos     logs.Pos `json:"pos"`
	// Place is Pos as the report names it, "" where it has none.
	Place string `json:"-"`
	// Times is how much it was of what a limit counted; 0 for the limit itself.
	Times int `json:"-"`
	// Cost orders violations, the costliest first; a limit itself has none.
	Cost float64 `json:"-"`
}

// Baseline is what a project accepts: causes by stable key, each as often as it says.
// Version 1 has no failures, files in its keys, and does not tell ranks apart.
type Baseline struct {
	Version    int     `json:"version"`
	Breaks     []Known `json:"breaks"`
	Recompiles []Known `json:"recompiles"`
	Failures   []Known `json:"failures"`
}

// baselineVersion is the version that is written.
const baselineVersion = 2

// Known is one accepted cause. Line is only a help to find it.
type Known struct {
	Key   string `json:"key"`
	What  string `json:"what"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Func  string `json:"func,omitempty"`
	Code  string `json:"code,omitempty"`
	Count int    `json:"count"`
	Cause string `json:"cause"`
}

// NewBaseline accepts what a report holds.
func NewBaseline(r *explain.Report) *Baseline {
	return &Baseline{
		Version: baselineVersion, Breaks: knownOf(breakCauses(r)), Recompiles: knownOf(recompileCauses(r)),
		Failures: knownOf(FailureCauses(r)),
	}
}

func knownOf(causes []Cause) []Known {
	out := []Known{}
	for _, c := range causes {
		_, fn, _ := strings.Cut(c.function, "|")
		out = append(out, Known{c.Key, c.What, filepath.Base(c.Pos.File), c.Pos.Line, fn, c.text, c.Count, c.Code})
	}
	return out
}

func causesOf(known []Known) []Cause {
	var out []Cause
	for _, k := range known {
		out = append(out, Cause{
			Key: k.Key, What: k.What, Pos: logs.Pos{File: k.File, Line: k.Line}, Count: k.Count,
			Code: k.Cause, function: k.File + "|" + k.Func, text: k.Code, epoch: epochIn(k.Key),
		})
	}
	return out
}

// epochIn is the epoch that a recompile's key begins with.
func epochIn(key string) int {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(key, "limit|"), "epoch ")
	if !ok {
		return 0
	}
	n, _, _ := strings.Cut(rest, "|")
	return explain.Atoi(n)
}

// compare finds what a report has that the baseline does not know, by kind.
func (b *Baseline) compare(r *explain.Report) (inBreaks, recompiles, failures Changes) {
	known := [2][]Cause{causesOf(b.Breaks), causesOf(b.Recompiles)}
	found := recompileCauses(r)
	if b.Version == 1 {
		for _, list := range known {
			for i := range list { // keys had the file's name
				list[i].Key = strings.Replace("|"+list[i].Key, "|"+list[i].Pos.File+"|", "|", 1)[1:]
			}
		}
		found = countCauses(len(r.Recompiles), func(i int) Cause { // of every rank and epoch, those of the limit too
			rc := *r.Recompiles[i]
			comp := *rc.Compile
			comp.ID.Rank, comp.ID.Epoch, comp.Status = -1, 0, explain.Compiled
			rc.Compile = &comp
			rc.Key = diagnose.CauseOfRecompile(&rc)
			return recompileCause(&rc)
		})
	}
	return match(known[0], breakCauses(r)), match(known[1], found), match(causesOf(b.Failures), FailureCauses(r))
}

// WriteBaseline writes a baseline as JSON that is pleasant to review.
func WriteBaseline(w io.Writer, b *Baseline) error {
	e := explain.JSONEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// ReadBaseline reads a baseline.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	var b Baseline
	if err := json.NewDecoder(r).Decode(&b); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if b.Version < 1 || b.Version > baselineVersion {
		return nil, fmt.Errorf(
			"baseline: version %d is not known (this tcdbg reads 1 to %d); write it again with --write-baseline",
			b.Version, baselineVersion,
		)
	}
	return &b, nil
}

// Check lists what violates the limits or, with a baseline, is not in it.
func Check(r *explain.Report, l Limits, base *Baseline) []Violation {
	out := violations(r, l, base)
	names := explain.BriefNames(r)
	for i := range out {
		if p := out[i].Pos; p.File != "" {
			out[i].Place = names.Place(p)
		}
	}
	return out
}

func violations(r *explain.Report, l Limits, base *Baseline) []Violation {
	var out []Violation
	over := func(rule, what string, got, limit int) bool {
		if limit >= 0 && got > limit {
			out = append(out, Violation{Rule: rule, Message: fmt.Sprintf("%s, at most %d allowed", explain.Count(got, what), limit)})
			return true
		}
		return false
	}
	if over("max-breaks", "break", r.Totals.Breaks, l.MaxBreaks) {
		out = append(out, breakPlaces(r)...)
	}
	if over("max-recompiles", "recompile", r.Totals.Recompiles, l.MaxRecompiles) {
		out = append(out, recompilePlaces(r)...)
	}
	if over("max-failures", "failure", r.Totals.Failures, l.MaxFailures) {
		out = append(out, failurePlaces(r)...)
	}
	if l.MaxCompileTime >= 0 && r.Totals.CompileSeconds > l.MaxCompileTime.Seconds() {
		out = append(
			out,
			Violation{
				Rule:    "max-compile-time",
				Message: fmt.Sprintf("%.2f s compiling, at most %s allowed", r.Totals.CompileSeconds, l.MaxCompileTime),
			},
		)
		out = append(out, longestCompiles(r)...)
	}
	if base != nil {
		out = append(out, unknownTo(base, r)...)
	}
	return out
}

// CheckRemarks says what a check cannot vouch for: what is wrong with the trace, and what
// a limit, or a baseline, which counts everything, counts and the trace has no log of.
func CheckRemarks(r *explain.Report, l Limits, baseline bool) []string {
	out := r.Damage()
	for _, counted := range []struct {
		n, limit int
		what     string
	}{
		{r.Totals.Breaks, l.MaxBreaks, "break"},
		{r.Totals.Recompiles, l.MaxRecompiles, "recompile"},
		{r.Totals.Failures, l.MaxFailures, "failure"},
	} {
		if r.Unlogged(counted.n) && (counted.limit >= 0 || baseline) {
			out = append(out, explain.NotLogged(counted.what)+": a text log has what TORCH_LOGS asked for, there may have been some")
		}
	}
	if r.Totals.CompileSeconds == 0 && r.Textual && l.MaxCompileTime >= 0 {
		out = append(out, "no compile times logged: a text log has none")
	}
	return out
}

// unknownTo lists what a baseline does not have, or not as often.
func unknownTo(base *Baseline, r *explain.Report) []Violation {
	var out []Violation
	costs := costsOf(r)
	inBreaks, recompiles, failures := base.compare(r)
	for _, kind := range []struct {
		rule, what string
		changes    *Changes
	}{{"baseline-break", "break: ", &inBreaks}, {"baseline-recompile", "", &recompiles}, {"baseline-failure", "failure: ", &failures}} {
		for _, c := range kind.changes.New {
			msg := "new " + kind.what + c.What + c.Often() + inFramework(c.Noise)
			if base.Version == 1 && kind.changes == &failures {
				msg += " (a baseline of version 1 holds no failures: --write-baseline accepts it)"
			}
			out = append(out, Violation{Rule: kind.rule, Message: msg, Pos: c.Pos, Cost: costs[c.Key]})
		}
		for _, m := range kind.changes.more() {
			msg := fmt.Sprintf(
				"more often: %s, %s, %d in the baseline%s", m.To.What, explain.Count(m.To.Count, "time"), m.From.Count,
				inFramework(m.To.Noise),
			)
			out = append(out, Violation{Rule: kind.rule, Message: msg, Pos: m.To.Pos, Cost: costs[m.To.Key]})
		}
	}
	return out
}

// costsOf is what each break and recompile costs, by its key.
func costsOf(r *explain.Report) map[string]float64 {
	costs := map[string]float64{}
	for _, g := range r.Breaks {
		costs[g.Key] = diagnose.GroupWeight(g)
	}
	for _, rc := range r.Recompiles {
		costs[rc.Key] += diagnose.RecompileWeight(rc)
	}
	for _, c := range FailureCauses(r) {
		costs[c.Key] = failureCost
	}
	return costs
}

// inFramework says of a break whose line it is, where it is not the program's.
func inFramework(noise bool) string {
	if noise {
		return " [inside the framework or the standard library]"
	}
	return ""
}

// breakPlaces gives a violated limit its places: what they were met adds up to what
// was counted.
func breakPlaces(r *explain.Report) []Violation {
	var out []Violation
	for _, g := range r.Breaks {
		if g.Times() == 0 {
			continue
		}
		msg := strings.TrimSpace(g.Lead.Code+" "+g.Lead.Title()) + ", " + explain.Count(g.Times(), "time") + inFramework(g.Lead.Noise)
		if g.Fix.Text != "" {
			msg += ". " + g.Fix.Text
		}
		out = append(out, Violation{Rule: "break", Message: msg, Pos: g.Lead.Pos, Times: g.Times(), Cost: diagnose.GroupWeight(g)})
	}
	return out
}

// failureCost is above what anything else costs: the function did not compile.
const failureCost = 1e18

func failurePlaces(r *explain.Report) []Violation {
	var out []Violation
	for _, f := range r.Failures {
		msg := f.Function() + " failed: " + f.What()
		for _, said := range f.Details() {
			msg += ": " + said
		}
		if f.Fix.Text != "" {
			msg += ". " + f.Fix.Text
		}
		out = append(out, Violation{Rule: "failure", Message: msg, Pos: f.Pos, Times: 1, Cost: failureCost})
	}
	return out
}

// longestListed is how many functions a violated limit on compile time names.
const longestListed = 5

// longestCompiles names the functions that took most of the compile time, the longest
// first.
func longestCompiles(r *explain.Report) []Violation {
	frames := slices.Clone(r.Frames)
	seconds := func(fr *explain.Frame) float64 { return fr.Sum().Seconds }
	slices.SortStableFunc(frames, func(a, b *explain.Frame) int { return cmp.Compare(seconds(b), seconds(a)) })
	var out []Violation
	rest := 0.0
	for i, fr := range frames {
		s := seconds(fr)
		if i >= longestListed {
			rest += s
			continue
		}
		if s > 0 {
			msg := fmt.Sprintf("%s%s, %.2f s in %s", explain.RankPrefix(fr.ID), fr.Title(), s, explain.Count(fr.Sum().Compiles, "compile"))
			out = append(out, Violation{Rule: "compile-time", Message: msg, Pos: fr.Place()})
		}
	}
	if n := len(frames) - longestListed; n > 0 && rest > 0 {
		out = append(out, Violation{Rule: "compile-time", Message: fmt.Sprintf("%s more, %.2f s", explain.Count(n, "function"), rest)})
	}
	return out
}

// recompilePlaces lists the recompiles by cause, as often as they were counted: what
// the limit refused is none.
func recompilePlaces(r *explain.Report) []Violation {
	times, costs := map[string]int{}, costsOf(r)
	for _, rc := range r.Recompiles {
		if rc.Compile.Status != explain.Limit {
			times[rc.Key]++
		}
	}
	var out []Violation
	for _, rc := range r.Recompiles {
		n := times[rc.Key]
		if n == 0 || rc.Compile.Status == explain.Limit {
			continue
		}
		times[rc.Key] = 0 // told
		v := Violation{
			Rule:    "recompile",
			Message: explain.RankPrefix(rc.Compile.ID) + rc.Compile.Frame.Title() + " recompiled, " + explain.Count(n, "time"),
			Pos:     rc.Compile.Frame.Pos, Times: n, Cost: costs[rc.Key],
		}
		if len(rc.Failures) > 0 {
			v.Message += ": " + explain.FailureText(&rc.Failures[0])
			if p := rc.Failures[0].Pos; p.File != "" {
				v.Pos = p
			}
		}
		if rc.Fix.Text != "" {
			v.Message += ". " + rc.Fix.Text
		}
		out = append(out, v)
	}
	return out
}

// message escapes what a workflow command's text must not hold.
func message(s string) string {
	s = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
	return printable.Clean(s)
}

// property escapes a workflow command's property.
func property(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(message(s))
}

// WriteViolations writes violations for people.
func WriteViolations(w io.Writer, list []Violation) error {
	for _, v := range list {
		where := ""
		if v.Place != "" {
			where = printable.Clean(v.Place) + ": "
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s\n", v.Rule, where, printable.Clean(v.Message)); err != nil {
			return err
		}
	}
	return nil
}
