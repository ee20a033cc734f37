package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"tcdbg/logs"
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
}

// Baseline is what a project accepts: causes by stable key.
type Baseline struct {
	Version    int     `json:"version"`
	Breaks     []Known `json:"breaks"`
	Recompiles []Known `json:"recompiles"`
}

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
func NewBaseline(r *Report) *Baseline {
	return &Baseline{Version: 1, Breaks: knownOf(breakCauses(r)), Recompiles: knownOf(recompileCauses(r))}
}

func knownOf(causes []Cause) []Known {
	out := []Known{}
	for _, c := range causes {
		_, fn, _ := strings.Cut(c.function, "|")
		out = append(out, Known{c.Key, c.What, filepath.Base(c.Pos.File), c.Pos.Line, fn, c.text, c.Count, c.code})
	}
	return out
}

func causesOf(known []Known) []Cause {
	var out []Cause
	for _, k := range known {
		out = append(out, Cause{
			Key: k.Key, What: k.What, Pos: logs.Pos{File: k.File, Line: k.Line}, Count: k.Count,
			code: k.Cause, function: k.File + "|" + k.Func, text: k.Code,
		})
	}
	return out
}

// WriteBaseline writes a baseline as JSON that is pleasant to review.
func WriteBaseline(w io.Writer, b *Baseline) error {
	e := jsonEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// ReadBaseline reads a baseline.
func ReadBaseline(r io.Reader) (*Baseline, error) {
	var b Baseline
	if err := json.NewDecoder(r).Decode(&b); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	if b.Version != 1 {
		return nil, fmt.Errorf("baseline: version %d is not known; write it anew", b.Version)
	}
	return &b, nil
}

// Check lists what violates the limits or, with a baseline, is not in it.
func Check(r *Report, l Limits, base *Baseline) []Violation {
	out := violations(r, l, base)
	names := BriefNames(r)
	for i := range out {
		if p := out[i].Pos; p.File != "" {
			out[i].Place = names.place(p)
		}
	}
	return out
}

func violations(r *Report, l Limits, base *Baseline) []Violation {
	var out []Violation
	over := func(rule, what string, got, limit int) bool {
		if limit >= 0 && got > limit {
			out = append(out, Violation{Rule: rule, Message: fmt.Sprintf("%s, at most %d allowed", count(got, what), limit)})
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
		out = append(out, Violation{Rule: "max-compile-time", Message: fmt.Sprintf("%.2f s compiling, at most %s allowed", r.Totals.CompileSeconds, l.MaxCompileTime)})
	}
	if base == nil {
		return out
	}
	for _, c := range match(causesOf(base.Breaks), breakCauses(r)).New {
		if !c.Noise {
			out = append(out, Violation{Rule: "baseline-break", Message: "new break: " + c.What, Pos: c.Pos})
		}
	}
	for _, c := range match(causesOf(base.Recompiles), recompileCauses(r)).New {
		out = append(out, Violation{Rule: "baseline-recompile", Message: "new " + c.What, Pos: c.Pos})
	}
	return out
}

// breakPlaces gives a violated limit its places.
func breakPlaces(r *Report) []Violation {
	var out []Violation
	for _, g := range r.Breaks {
		if g.CausedBy == nil && !g.Lead.Noise {
			msg := strings.TrimSpace(g.Lead.Code + " " + g.Lead.Title())
			if g.Fix.Text != "" {
				msg += ". " + g.Fix.Text
			}
			out = append(out, Violation{Rule: "break", Message: msg, Pos: g.Lead.Pos})
		}
	}
	return out
}

func failurePlaces(r *Report) []Violation {
	var out []Violation
	for _, f := range r.Failures {
		msg := f.Function() + " failed: " + f.What()
		for _, said := range f.Details() {
			msg += ": " + said
		}
		if f.Fix.Text != "" {
			msg += ". " + f.Fix.Text
		}
		out = append(out, Violation{Rule: "failure", Message: msg, Pos: f.Pos})
	}
	return out
}

func recompilePlaces(r *Report) []Violation {
	var out []Violation
	seen := map[string]bool{}
	for _, rc := range r.Recompiles {
		if seen[rc.Key] {
			continue
		}
		seen[rc.Key] = true
		v := Violation{Rule: "recompile", Message: rc.Compile.Frame.Name + " recompiled", Pos: rc.Compile.Frame.Pos}
		if len(rc.Failures) > 0 {
			v.Message += ": " + failureText(&rc.Failures[0])
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

// WriteAnnotations writes violations as GitHub workflow commands, which show
// at the lines of a pull request. Paths under root become relative to it.
func WriteAnnotations(w io.Writer, list []Violation, root string) error {
	for _, v := range list {
		var where string
		if v.Pos.File != "" {
			file := v.Pos.File
			if rel, err := filepath.Rel(root, file); root != "" && err == nil && !strings.HasPrefix(rel, "..") {
				file = rel
			}
			where = fmt.Sprintf("file=%s,line=%d,", property(file), max(v.Pos.Line, 1))
		}
		if _, err := fmt.Fprintf(w, "::error %stitle=tcdbg %s::%s\n", where, property(v.Rule), message(v.Message)); err != nil {
			return err
		}
	}
	return nil
}

// message escapes what a workflow command's text must not hold.
func message(s string) string {
	s = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
	return Clean(s)
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
			where = Clean(v.Place) + ": "
		}
		if _, err := fmt.Fprintf(w, "%s: %s%s\n", v.Rule, where, Clean(v.Message)); err != nil {
			return err
		}
	}
	return nil
}
