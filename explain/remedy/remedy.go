// Package remedy says what can be tried against the findings of a report, what a trial of it
// measures, and when one counts as proven.
//
// It is pure: it imports explain, explain/advice, explain/diagnose and tracer/breaks, reads
// no file and runs nothing; package app runs the trials. Open this file first (what is
// tried), then switches.go (the table of switches), judge.go (when a remedy is proven) and
// ledger.go (what is kept of trials).
package remedy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/tracer/breaks"
)

// Remedy is one thing that can be tried: a change of a file, or settings.
type Remedy struct {
	// ID is the same in every run that has the finding: "patch:GB0170@model.go:12",
	// "mark_dynamic=f:x:0", "dynamic=true".
	ID       string         `json:"id"`
	Text     string         `json:"text"`           // one sentence
	How      string         `json:"how"`            // how it is tried
	Findings []Finding      `json:"findings"`       // what it is for
	File     string         `json:"file,omitempty"` // of a patch, as the trace calls it
	Hunks    []explain.Hunk `json:"hunks,omitempty"`
	Switches []Switch       `json:"switches,omitempty"`
	// Quieter says that compiled calls leave out what the program prints or logs, so that
	// less of it is no difference.
	Quieter bool   `json:"quieter,omitempty"`
	Note    string `json:"note,omitempty"`
}

// Patch says whether it changes a file.
func (r *Remedy) Patch() bool { return len(r.Hunks) > 0 }

// Finding is what a remedy is for.
type Finding struct {
	Kind  string `json:"kind"`            // break, recompile, failure, run
	Key   string `json:"key,omitempty"`   // of the group or the recompile in the report
	What  string `json:"what,omitempty"`  // GB0170 branch on a tensor's value
	Place string `json:"place,omitempty"` // model.go:12
	Row   string `json:"row,omitempty"`   // of the table of advice
}

// Untried is a finding for which nothing can be tried, and why.
type Untried struct {
	Finding
	Why string `json:"why"`
}

// list gathers remedies; one that helps several findings is there once.
type list struct {
	all []*Remedy
	by  map[string]*Remedy
}

func (l *list) add(r Remedy, f Finding) {
	have := l.by[r.ID]
	for _, o := range l.all { // one line may have two breaks that one change removes
		if have == nil && r.Patch() && o.File == r.File && slices.EqualFunc(o.Hunks, r.Hunks, sameHunk) {
			have = o
		}
	}
	if have != nil {
		if !slices.Contains(have.Findings, f) {
			have.Findings = append(have.Findings, f)
		}
		return
	}
	r.Findings = []Finding{f}
	l.by[r.ID] = &r
	l.all = append(l.all, &r)
}

func sameHunk(a, b explain.Hunk) bool { return a.Line == b.Line && slices.Equal(a.Lines, b.Lines) }

// For lists what can be tried for a report whose rewrites were added, in the order of its
// findings, and the findings for which there is nothing to try.
func For(r *explain.Report) ([]*Remedy, []Untried) {
	l := &list{by: map[string]*Remedy{}}
	var untried []Untried
	for _, g := range r.Breaks {
		if g.Lead == nil {
			continue
		}
		f := ofBreak(g)
		if !breakRemedies(l, r, g, f) {
			untried = append(untried, Untried{f, whyNoBreak(g)})
		}
	}
	for _, c := range diagnose.MergedCauses(r) {
		f := ofCause(c)
		if !causeRemedies(l, r, c, f) {
			untried = append(untried, Untried{f, whyNoCause(c)})
		}
	}
	for _, fl := range r.Failures {
		if !fl.Eager {
			failureRemedies(l, r, fl)
		}
	}
	sideRemedies(l, r)
	return l.all, untried
}

// ForFinding are the remedies of a list that are for one finding.
func ForFinding(all []*Remedy, kind, key string) []*Remedy {
	var out []*Remedy
	for _, r := range all {
		if slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == kind && f.Key == key }) {
			out = append(out, r)
		}
	}
	return out
}

func ofBreak(g *explain.BreakGroup) Finding {
	b := g.Lead
	return Finding{
		Kind: "break", Key: g.Key, What: strings.TrimSpace(b.Code + " " + b.Title()),
		Place: diagnose.ShortPlace(b.Pos.File, b.Pos.Line), Row: g.Fix.Row,
	}
}

func ofCause(c *explain.RecompileCause) Finding {
	fr := c.Recompiles[0].Compile.Frame
	return Finding{
		Kind: "recompile", Key: c.Recompiles[0].Key, What: explain.FrameTitle(fr) + ": " + explain.FailureText(c.Lead()),
		Place: diagnose.ShortPlace(fr.Pos.File, fr.Pos.Line), Row: c.Fix.Row,
	}
}

// breakRemedies adds what can be tried against a break, and says whether there is anything.
func breakRemedies(l *list, r *explain.Report, g *explain.BreakGroup, f Finding) bool {
	any := false
	if w := g.Rewrite; w != nil {
		any = true
		l.add(Remedy{
			ID:   PatchID + cmp.Or(g.Lead.Code, "break") + "@" + f.Place,
			Text: patchText(g), How: "the file is changed as the fix says, in a copy", File: g.Lead.Pos.File,
			Hunks: w.Hunks, Note: w.Note, Quieter: w.Note != "",
		}, f)
	}
	if g.Lead.Noise {
		return any
	}
	for _, s := range switchesOfBreak(g.Lead) {
		if r.OfGo() && !s.ForGo() {
			continue
		}
		any = true
		l.add(OfSwitch(s), f)
	}
	return any
}

// patchText is the change in one sentence.
func patchText(g *explain.BreakGroup) string {
	if g.Lead.Code == breaks.GraphBreakCall {
		return "remove the call that breaks the graph"
	}
	if g.Rewrite.Note != "" {
		return "leave the marked line out of compiled calls"
	}
	last := g.Rewrite.Hunks[len(g.Rewrite.Hunks)-1]
	for _, line := range last.Lines {
		if added, ok := strings.CutPrefix(line, "+"); ok {
			added = strings.TrimSpace(added)
			if call, _, long := strings.Cut(added, ", func(...*"); long { // the lines that follow are its functions
				added = call + ", a function for each side)"
			}
			return "rewrite as: " + added
		}
	}
	return "remove the marked lines"
}

// causeRemedies adds what can be tried against a recompile.
func causeRemedies(l *list, r *explain.Report, c *explain.RecompileCause, f Finding) bool {
	any := false
	add := func(s ...Switch) {
		any = true
		l.add(OfSwitch(s...), f)
	}
	fr := c.Recompiles[0].Compile.Frame
	if marks := marksIn(c.Fix.Text, markable(fr)); len(marks) > 0 {
		add(marks...)
	}
	g := c.Lead()
	settled := c.Fix.Settled && !c.Limit
	if g.Kind == breaks.SizeChanged && (fr.Static || c.Fix.Row == staticRow) {
		add(Switch{"dynamic", "auto"})
	}
	if g.Kind == breaks.SizeChanged && !settled {
		add(Switch{"dynamic", "true"})
	}
	if !settled && explain.IsNumber(g.Expected) &&
		(g.Kind == breaks.AttributeChanged || strings.Contains(g.Text, "allow_unspec_int_on_nn_module")) {
		add(Switch{"allow_unspec_int_on_nn_module", "true"})
	}
	if c.Limit {
		add(Switch{"recompile_limit", strconv.Itoa(limitFor(len(fr.Compiles)))})
	}
	return any
}

// staticRow is the advice to leave out dynamic=False.
const staticRow = "size-static"

// markable is the function by whose name its calls are found: of a part after a break the
// whole one.
func markable(fr *explain.Frame) string {
	if fr.Parent != nil {
		fr = fr.Parent
	}
	return fr.Name
}

// limitFor is a limit that leaves room for several times as many entries as there are.
func limitFor(entries int) int {
	n := 64
	for n < 4*entries {
		n *= 2
	}
	return n
}

// marksIn reads the sizes that an advice says to mark, as switches for calls of a function.
func marksIn(text, function string) []Switch {
	var out []Switch
	for _, call := range []string{"mark_dynamic(", "compiler.MarkDynamic("} {
		rest := text
		for {
			i := strings.Index(rest, call)
			if i < 0 {
				break
			}
			rest = rest[i+len(call):]
			args, _, ok := strings.Cut(rest, ")")
			comma := strings.LastIndex(args, ",")
			if !ok || comma < 0 {
				break
			}
			dim := strings.TrimSpace(args[comma+1:])
			if name := strings.TrimSpace(args[:comma]); explain.IsNumber(dim) && reachable(name) {
				s := Switch{"mark_dynamic", function + ":" + name + ":" + dim}
				if !slices.Contains(out, s) {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

// reachable says whether an expression is a name with attributes and subscripts, which a
// trial can look up among the arguments.
func reachable(name string) bool {
	return name != "" && !strings.ContainsAny(name, "()+*/ :;=") && !strings.HasPrefix(name, ".")
}

func failureRemedies(l *list, r *explain.Report, fl *explain.Failure) {
	f := ofFailure(fl)
	if slices.ContainsFunc(r.Symbols, func(s *explain.Symbol) bool { return s.ID.SameCompile(fl.ID) }) {
		l.add(OfSwitch(Switch{"dynamic", "false"}), f) // what fails may be code for sizes that are left open
	}
	for _, backend := range []string{"aot_eager", "eager"} {
		l.add(OfSwitch(Switch{"backend", backend}), f)
	}
}

func ofFailure(fl *explain.Failure) Finding {
	f := Finding{
		Kind: "failure", What: strings.TrimSpace(fl.Type + " " + fl.Code), Place: diagnose.ShortPlace(fl.Pos.File, fl.Pos.Line),
		Row: fl.Fix.Row,
	}
	f.Key = f.What + "@" + f.Place
	return f
}

// KeyOfFailure is the key of the finding that a failure is.
func KeyOfFailure(f *explain.Failure) string { return ofFailure(f).Key }

// sideRemedies adds what remarks of the framework lead to.
func sideRemedies(l *list, r *explain.Report) {
	for _, n := range r.Side {
		if n.Kind == "cudagraphs" && !r.OfGo() {
			l.add(OfSwitch(Switch{"cudagraphs", "false"}), Finding{
				Kind: "run", Key: "cudagraphs", What: "CUDA graphs: " + explain.FirstLine(n.Text),
				Place: diagnose.ShortPlace(n.Pos.File, n.Pos.Line),
			})
			return
		}
	}
}

// whyNoBreak says why nothing can be tried against a break.
func whyNoBreak(g *explain.BreakGroup) string {
	switch {
	case g.Lead.Noise:
		return "the break is inside torch or the standard library: there is no file of yours to change, and no setting for it"
	case g.CausedBy != nil:
		return "it follows from another break: what removes that one removes this one"
	case g.Fix.Settled:
		return "there is nothing left to do: " + g.Fix.Text
	case g.Fix.Text == "":
		return "there is no advice for this break"
	}
	return "the advice is in words, which only you can follow: " + g.Fix.Text
}

func whyNoCause(c *explain.RecompileCause) string {
	switch {
	case c.Fix.Settled:
		return "there is nothing to do: " + c.Fix.Text
	case c.Fix.Text == "":
		return "there is no advice for this recompile"
	}
	return "the advice is in words, which only you can follow: " + c.Fix.Text
}

// OfSwitch is the remedy of switches that are set together.
func OfSwitch(list ...Switch) Remedy {
	var ids, texts []string
	quieter := false
	for _, s := range list {
		ids = append(ids, s.String())
		texts = append(texts, s.Text())
		quieter = quieter || s.Name == "ignore_logging_functions"
	}
	r := Remedy{
		ID: strings.Join(ids, ","), Text: strings.Join(texts, "; "), How: "the program runs with the setting",
		Switches: list, Quieter: quieter,
	}
	if quieter {
		r.Note = "What is ignored is not logged at all."
	}
	return r
}

// Named finds a remedy by its id: one of the list, or a switch of the table.
func Named(all []*Remedy, id string) (*Remedy, error) {
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
	}
	var list []Switch
	for _, one := range strings.Split(id, ",") {
		s, err := ParseSwitch(one)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	r := OfSwitch(list...)
	r.Findings = []Finding{{Kind: "run"}}
	return &r, nil
}

// PatchID begins the ID of a remedy that is a source patch. All others are switches.
const PatchID = "patch:"

// Asked is Named for a program of one of the two engines: a switch that it does not have is refused.
func Asked(all []*Remedy, id string, inGo bool) (*Remedy, error) {
	m, err := Named(all, id)
	if err != nil {
		return nil, err
	}
	for _, s := range m.Switches {
		if inGo && !s.ForGo() {
			return nil, fmt.Errorf("%s is a switch of PyTorch, which tcdbg's own compiler does not have", s)
		}
	}
	return m, nil
}

// Overlaps says whether two patches change the same lines of a file, so that they cannot be
// applied together.
func Overlaps(a, b *Remedy) bool {
	if a.File != b.File {
		return false
	}
	for _, x := range a.Hunks {
		for _, y := range b.Hunks {
			xn, _ := x.Sizes()
			yn, _ := y.Sizes()
			if !sameHunk(x, y) && x.Line < y.Line+yn && y.Line < x.Line+xn {
				return true
			}
		}
	}
	return false
}

// Place is the file and line of a patch.
func (r *Remedy) Place() string {
	if !r.Patch() {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(r.File), r.Hunks[0].Line)
}

// Covered says whether all that a remedy is for has another one in a set.
func Covered(m *Remedy, set []*Remedy) bool {
	for _, f := range m.Findings {
		if f.Kind == "run" || !slices.ContainsFunc(set, func(o *Remedy) bool { return slices.Contains(o.Findings, f) }) {
			return false
		}
	}
	return len(m.Findings) > 0
}

// Contradict says whether two remedies give one switch two values.
func Contradict(a, b *Remedy) bool {
	for _, x := range a.Switches {
		for _, y := range b.Switches {
			if x.Name == y.Name && x.Value != y.Value && !many[x.Name] {
				return true
			}
		}
	}
	return false
}

// KeyOf is the key of the finding that a recompile belongs to: several have one cause.
func KeyOf(r *explain.Report, rc *explain.Recompile) string {
	for _, c := range diagnose.MergedCauses(r) {
		if slices.Contains(c.Recompiles, rc) {
			return c.Recompiles[0].Key
		}
	}
	return rc.Key
}
