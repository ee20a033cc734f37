// Package render writes reports: as text, JSON, HTML, a Chrome trace, and the difference of
// two as text and JSON.
//
// It imports explain, explain/diagnose, explain/gate and logs; it computes nothing that a
// screen would have to compute again. Open this file first, then html.go and json.go.
package render

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/logs/printable"
	"tcdbg/tracer/breaks"
)

// This file writes the report as text that fits a pull-request comment: every
// section, each with its costliest rows; the JSON has them all.

// Rows is how many rows a section of the text report shows.
const Rows = 12

// TextWriter writes lines; what comes from a trace is cleaned on the way.
type TextWriter struct {
	W     *bufio.Writer
	names explain.Names
	all   bool // nothing is left out
	stand standing
}

// most is how many rows are shown of a list that shows n where it is folded.
func (t *TextWriter) most(n int) int {
	if t.all {
		return math.MaxInt
	}
	return n
}

// WriteText writes the report as plain text.
func WriteText(w io.Writer, r *explain.Report) error { return writeText(w, r, false) }

// WriteAllText writes it with every row that WriteText leaves out.
func WriteAllText(w io.Writer, r *explain.Report) error { return writeText(w, r, true) }

func writeText(w io.Writer, r *explain.Report, all bool) error {
	t := &TextWriter{bufio.NewWriter(w), explain.BriefNames(r), all, standingRanks(r)}
	t.head(r)
	for _, section := range textSections {
		section(t, r)
	}
	return t.W.Flush()
}

// textSections in the order in which a reader needs them.
var textSections = []func(t *TextWriter, r *explain.Report){
	(*TextWriter).failures, (*TextWriter).numerics,
	(*TextWriter).advice, (*TextWriter).runTime, (*TextWriter).breaks, (*TextWriter).recompiles, (*TextWriter).skipped,
	(*TextWriter).frames, (*TextWriter).calls,
	(*TextWriter).guards, (*TextWriter).graphs, (*TextWriter).Kernels, (*TextWriter).autotuned, (*TextWriter).fusion, (*TextWriter).time,
	(*TextWriter).caches, (*TextWriter).symbols, (*TextWriter).ranks, (*TextWriter).notes,
}

func (t *TextWriter) line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = printable.Clean(s)
		}
	}
	_, _ = t.W.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	_ = t.W.WriteByte('\n')
}

func (t *TextWriter) section(name string) {
	_ = t.W.WriteByte('\n')
	t.line("%s", name)
}

// more says how many are left out; what is their name in the singular.
func (t *TextWriter) more(n int, what string) {
	if n > 0 {
		t.line("  ... and %s", explain.Count(n, "more "+what))
	}
}

func (t *TextWriter) head(r *explain.Report) {
	title := r.Title
	if title == "" {
		title = "report"
	}
	engine := r.Engine
	if engine == "" {
		engine = "engine unknown"
	}
	t.line("%s (%s)", title, engine)
	n := &r.Totals
	compiling := seconds(n.CompileSeconds) + " compiling"
	if n.CompileSeconds == 0 {
		compiling = "compile time unknown"
	}
	t.line("%s, %s, %s, %s, %s, %s, %s, %s",
		explain.Count(n.Frames, "frame"), explain.Count(n.Compiles, "compile"), logged(
			r, n.Graphs, "graph", " ("+explain.Count(n.Ops, "op")+")",
		),
		logged(r, n.Breaks, "break", " at "+explain.Count(n.DistinctBreaks, "place")),
		logged(r, n.Recompiles, "recompile", ""), logged(r, n.Kernels, "kernel", ""), logged(r, n.Failures, "failure", ""), compiling)
	if compiled, eager, known := r.Share(); known && compiled > 0 {
		t.line("%d%% of operators run compiled (%d of %d)", 100*compiled/(compiled+eager), compiled, compiled+eager)
	}
	if r.State.Peak > 0 {
		t.line("largest memory of the process: %s", explain.Bytes(r.State.Peak))
	}
	if r.Live {
		t.line("still running: these are the figures so far")
	}
	for _, s := range explain.Warnings(r) {
		t.line("! %s", s)
	}
}

// opsWords counts the operators of the graphs, where their graphs are recorded.
func opsWords(r *explain.Report) string {
	recorded := slices.ContainsFunc(r.Graphs, (*explain.Graph).Named)
	if r.Totals.Ops == 0 && r.Totals.Graphs > 0 && !recorded {
		return "operators not recorded"
	}
	return explain.Count(r.Totals.Ops, "op")
}

// logged is a count with what belongs to it.
func logged(r *explain.Report, n int, what, more string) string {
	if r.Untold(n, what) {
		return explain.NotLogged(what)
	}
	return explain.Count(n, what) + more
}

func (t *TextWriter) advice(r *explain.Report) {
	if len(r.Advice) == 0 {
		return
	}
	t.section("FIRST")
	causes := explain.AlikeAdvice(r.Advice)
	for i := range causes {
		if i == t.most(5) {
			break
		}
		a := &r.Advice[causes[i].Lead]
		t.line("%2d. %s: %s (%s)", i+1, t.names.Place(a.Pos), a.Text, a.Cost)
		t.fix(a.Fix)
		t.morePlaces(r, &causes[i])
	}
}

// adviceElsewhere is how many other places of an entry of the advice are named.
const adviceElsewhere = 3

// morePlaces names the other places that ask for the same change.
func (t *TextWriter) morePlaces(r *explain.Report, same *explain.SameAdvice) {
	text := same.MoreText(r.Advice)
	if text == "" {
		return
	}
	t.line("    %s:", text)
	for i, m := range same.More {
		if i == t.most(adviceElsewhere) {
			t.line("      ... and %s", explain.Count(len(same.More)-i, "more place"))
			return
		}
		a := &r.Advice[m]
		t.line("      %s (%s)", a.Where(t.names), a.Cost)
	}
}

func (t *TextWriter) fix(f explain.Fix) {
	if f.Text != "" {
		t.line("    %s%s", f.Label(), f.Text)
	}
	for _, l := range f.Lines {
		t.line("      %s", l)
	}
}

func (t *TextWriter) breaks(r *explain.Report) {
	t.section(fmt.Sprintf("BREAKS: %s at %s", explain.Count(r.Totals.Breaks, "break"), explain.Count(r.Totals.DistinctBreaks, "place")))
	shown, hidden := 0, 0
	var noise []*explain.BreakGroup
	for _, g := range r.Breaks {
		switch {
		case g.Lead.Noise:
			noise = append(noise, g)
		case g.CausedBy != nil && !g.CausedBy.Lead.Noise:
		case shown >= t.most(Rows):
			hidden++
		default:
			shown++
			t.group(g, "  ")
		}
	}
	switch {
	case r.Totals.Breaks > 0:
	case r.Textual: // which logs were on is not recorded
		t.line("  none recorded: TORCH_LOGS=graph_breaks shows them")
	case r.Totals.Graphs > 0:
		t.line("  none: every function was captured whole")
	default:
		t.line("  none")
	}
	t.more(hidden, "root cause")
	t.noise(r, noise)
}

// noise lists breaks within torch or the standard library by the program's lines that lead
// to them, with the advice that there is on those lines.
func (t *TextWriter) noise(r *explain.Report, groups []*explain.BreakGroup) {
	if len(groups) == 0 {
		return
	}
	n := 0
	for _, g := range groups {
		n += g.Times()
	}
	groups = slices.DeleteFunc(groups, func(g *explain.BreakGroup) bool { return g.CausedBy != nil && g.Times() == 0 })
	t.line("  framework breaks: %s inside torch or the standard library", explain.Count(n, "break"))
	for i, g := range groups {
		if i == t.most(Rows) {
			t.more(len(groups)-t.most(Rows), "cause")
			return
		}
		place := orUnknown(g.Lead.Code) + " " + t.names.At(g.Lead.Pos)
		if line, ok := diagnose.CallerOf(g.Lead); ok {
			place += " called from " + t.names.Place(line)
		} else if line, ok := diagnose.LedBy(g.Lead); ok {
			place += " reached from " + t.names.Place(line)
		} else {
			place += ", reached from: not recorded"
		}
		t.line("      %s", place)
		if i := slices.IndexFunc(r.Advice, func(a explain.Advice) bool { return a.Break == g }); i >= 0 && r.Advice[i].Fix.Text != "" {
			t.line("        %s%s", r.Advice[i].Fix.Label(), r.Advice[i].Fix.Text)
		}
	}
}

func (t *TextWriter) group(g *explain.BreakGroup, indent string) {
	b := g.Lead
	t.line("%s%s %s [%s, %s]", indent, orUnknown(b.Code), b.Title(), b.Fixability, b.Outcome)
	t.line("%s    %s  %s", indent, t.names.Place(b.Pos), explain.ClipText(b.Pos.Code, 90))
	if said := explain.Raised(b.Context); b.Code == breaks.ObservedPanic && said != "" {
		t.line("%s    raised: %s", indent, explain.ClipText(said, 180))
	}
	if why := diagnose.DisabledBecause(b); why != "" {
		t.line("%s    disabled because: %s", indent, explain.ClipText(why, 180))
	}
	cost := explain.GroupOften(g)
	if len(g.Lost) > 0 {
		cost += ", " + g.LostWords()
	}
	if g.Graphs > 0 {
		cost += fmt.Sprintf(", adds %s", explain.Count(g.Graphs, "graph"))
	}
	if g.Seconds > 0 {
		cost += ", " + explain.Duration(g.Seconds) + " to compile them"
	}
	cost += ", eager operators: " + unknown(g.EagerOps)
	if g.Memory != nil {
		cost += ", " + g.Memory.Text()
	}
	if len(g.Chains) > 1 {
		cost += ", " + explain.Count(len(g.Chains), "call chain")
	}
	t.line("%s    %s", indent, cost)
	if st := userChain(t.names, b.Stack); len(st) > 1 {
		t.line("%s    chain: %s", indent, strings.Join(st, " > "))
	}
	if len(b.Value) > 0 {
		var steps []string
		for _, v := range b.Value {
			steps = append(steps, v.Func)
		}
		t.line("%s    value: %s", indent, explain.ClipText(strings.Join(steps, " > "), 110))
	}
	if g.Fix.Text != "" {
		t.line("%s    %s%s", indent, g.Fix.Label(), g.Fix.Text)
	}
	for _, l := range g.Fix.Lines {
		t.line("%s      %s", indent, l)
	}
	for i, c := range g.Causes {
		if i == t.most(5) {
			t.line("%s    and %s caused by it", indent, explain.Count(len(g.Causes)-5, "more break"))
			break
		}
		t.line(
			"%s    caused by it: %s %s at %s (%s)", indent, orUnknown(c.Lead.Code), c.Lead.Title(),
			t.names.Place(c.Lead.Pos), explain.GroupOften(c),
		)
	}
}

// seconds words a time; logs without times say nothing, which is not 0.
func seconds(s float64) string {
	if s == 0 {
		return "time unknown"
	}
	return explain.Duration(s)
}

func orUnknown(s string) string {
	if s == "" {
		return "no code"
	}
	return s
}

func unknown(n int64) string {
	if n < 0 {
		return "unknown"
	}
	return fmt.Sprint(n)
}

// userChain is a stack without frames of the framework.
func userChain(n explain.Names, st []logs.Pos) []string {
	var out []string
	for _, p := range st {
		if !explain.FrameworkFile(p.File) {
			out = append(out, n.At(p))
		}
	}
	if len(out) > 8 {
		out = append(append(out[:3:3], "..."), out[len(out)-4:]...)
	}
	return out
}

func (t *TextWriter) recompiles(r *explain.Report) {
	defer t.repeats(r)
	if len(r.Recompiles) == 0 {
		none := "none"
		if r.Unlogged(0) {
			none = "none logged"
		}
		t.section("RECOMPILES: " + none)
		return
	}
	t.section(fmt.Sprintf("RECOMPILES: %d", r.Totals.Recompiles))
	type function struct {
		name, file string
		line       int
	}
	byFunction := map[function][]*explain.Recompile{} // of every rank and epoch
	whole := map[function]function{}                  // what a resumed part belongs to
	cost := map[function]float64{}
	var order []function
	name := func(fr *explain.Frame) function { return function{fr.Name, fr.Pos.File, fr.Pos.Line} }
	for _, rc := range r.Recompiles {
		fn := name(rc.Compile.Frame)
		if byFunction[fn] == nil {
			order = append(order, fn)
			whole[fn] = name(rc.Compile.Frame.Root())
		}
		byFunction[fn] = append(byFunction[fn], rc)
		cost[whole[fn]] += diagnose.RecompileWeight(rc)
	}
	sort.SliceStable(order, func(i, j int) bool { return cost[whole[order[i]]] > cost[whole[order[j]]] })
	for i, fn := range order {
		if i == t.most(Rows) {
			t.more(len(order)-t.most(Rows), "function")
			return
		}
		t.functionRecompiles(byFunction[fn])
	}
}

// repeats tells the functions that were compiled several times without a recompile.
func (t *TextWriter) repeats(r *explain.Report) {
	for _, x := range r.Repeats() {
		t.line(
			"  no recompile: %s %s was compiled by %d calls of torch.Compile, each with entries of its own",
			x.Frame.Title(), t.names.At(x.Frame.Pos), x.Times,
		)
	}
}

// functionRecompiles lists the recompiles of one function.
func (t *TextWriter) functionRecompiles(list []*explain.Recompile) {
	took := 0.0
	limits := 0
	for _, rc := range list {
		took += rc.Compile.Seconds
		if rc.Compile.Status == explain.Limit {
			limits++
		}
	}
	fr := list[0].Compile.Frame
	t.line(
		"  %s %s: %s, %s%s", explain.FrameTitle(fr), t.names.At(fr.Pos), explain.Count(len(list)-limits, "recompile"),
		seconds(took), t.calledFrom(list[0].Compile),
	)
	for i, rc := range list {
		if i == t.most(9) {
			t.line("    ... and %d more", len(list)-9)
			break
		}
		limit := ""
		if rc.Compile.Status == explain.Limit {
			limit = "  LIMIT REACHED: " + rc.AtLimit() + " from here"
		}
		if len(rc.Failures) == 0 {
			t.line("    [%s] reason not recorded%s", idText(rc.Compile.ID), limit)
			continue
		}
		g := rc.Failures[0]
		t.line("    [%s] %s%s%s", idText(rc.Compile.ID), explain.FailureText(&g), also(rc), limit)
		if g.Pos.File != "" && (g.Pos.Code != "" || !diagnose.ToldByTorch(g.Pos.File)) {
			t.line("        guard from %s  %s", t.names.Place(g.Pos), explain.ClipText(g.Pos.Code, 80))
		}
	}
	for _, f := range fixesOf(list) {
		t.line("    fix: %s", f)
	}
}

// calledFrom is the program's own line that called a library's function.
func (t *TextWriter) calledFrom(c *explain.Compile) string {
	if explain.InstalledPackage(c.Frame.Pos.File) == "" {
		return ""
	}
	for i := len(c.Stack) - 1; i >= 0; i-- {
		if p := c.Stack[i]; p.File != "" && explain.InstalledPackage(p.File) == "" && !explain.FrameworkFile(p.File) {
			return ", called from " + t.names.At(p)
		}
	}
	return ""
}

// fixesOf lists the fix of each cause of a function's recompiles, once.
func fixesOf(list []*explain.Recompile) []string {
	var out []string
	frames, causes := map[*explain.Frame]bool{}, map[explain.CauseKey]bool{}
	for _, rc := range list {
		fr := rc.Compile.Frame
		if frames[fr] {
			continue
		}
		frames[fr] = true
		for _, c := range diagnose.Causes(fr) {
			if c.Fix.Text != "" && !causes[c.Key()] {
				causes[c.Key()] = true
				out = append(out, c.Fix.Text)
			}
		}
	}
	return out
}

// also counts the entries besides the first whose guards failed, each once.
func also(rc *explain.Recompile) string {
	entries := map[string]bool{}
	for i := range rc.Failures {
		entries[rc.Failures[i].Entry] = true
	}
	n := len(entries) + rc.Older
	if n < 2 {
		return ""
	}
	return fmt.Sprintf(" (%s failed too)", explain.Count(n-1, "other entry"))
}

func (t *TextWriter) failures(r *explain.Report) {
	if len(r.Failures) == 0 {
		return
	}
	t.section(fmt.Sprintf("FAILURES: %d", len(r.Failures)))
	raised, eager := r.Raised()
	for i, f := range raised {
		if i == t.most(Rows) {
			t.more(len(raised)-t.most(Rows), "failure")
			break
		}
		t.failure(f)
	}
	if eager != "" {
		t.line("  %s", eager)
	}
}

func (t *TextWriter) failure(f *explain.Failure) {
	t.line("  [%s] %s: %s", idText(f.ID), explain.Squeeze(f.Function()+" "+f.Code+" "+f.Type), explain.ClipText(f.Title(), 100))
	for _, detail := range f.Details() {
		t.line("      %s", explain.ClipText(detail, 300))
	}
	if f.Pos.File != "" {
		t.line("      %s  %s", t.names.Place(f.Pos), explain.ClipText(f.Pos.Code, 90))
	}
	t.fix(f.Fix)
}

func (t *TextWriter) frames(r *explain.Report) {
	if len(r.Frames) == 0 {
		return
	}
	t.section(fmt.Sprintf("FRAMES: %d", len(r.Frames)))
	frames := listed(t, r.Frames, func(fr *explain.Frame) explain.ID { return fr.ID })
	t.line("  %-*s %-14s %8s %5s %7s %9s", frameColumn, "function", "status", "compiles", "ops", "breaks", "compile s")
	shown := 0
	for _, fr := range frames {
		if fr.Parent != nil && explain.ParentShown(fr) {
			continue
		}
		if shown >= t.most(3*Rows) {
			t.more(len(frames)-shown, "frame")
			return
		}
		shown += t.frame(fr, "")
	}
}

// frameColumn is the width of the column of functions.
const frameColumn = 44

// withPlace puts a place after a name; folders go where they do not fit.
func (t *TextWriter) withPlace(name string, p logs.Pos, width int) string {
	if s := name + " " + t.names.At(p); utf8.RuneCountInString(s) <= width {
		return s
	}
	return name + " " + explain.Names{}.At(p)
}

// frame prints a frame and the frames that resume it; it returns their number.
func (t *TextWriter) frame(fr *explain.Frame, indent string) int {
	sum, ops := fr.Sum(), -1
	breaks, seconds := sum.Breaks, sum.Seconds
	for _, c := range fr.Compiles {
		if c.Graph.Named() || c.Status != explain.Compiled {
			ops = sum.Ops
		}
	}
	name, rank := fr.Name, ""
	if fr.ID.Rank >= 0 {
		rank = fmt.Sprintf("r%d ", fr.ID.Rank)
	}
	if fn, line, ok := explain.ResumedFunction(name); ok {
		name = fmt.Sprintf("resumes %s at line %d", fn, line)
	} else if fr.Pos.File != "" {
		name = t.withPlace(name, fr.Place(), frameColumn-len(indent)-len(rank))
	}
	if name == "" {
		name = explain.FrameTitle(fr)
	}
	captured := "-"
	if ops >= 0 {
		captured = strconv.Itoa(ops)
	}
	time := "unknown"
	if seconds > 0 {
		time = fmt.Sprintf("%.2f", seconds)
	}
	t.line(
		"  %-*s %-14s %8d %5s %7d %9s", frameColumn, indent+explain.ClipText(rank+name, frameColumn-len(indent)),
		string(fr.Status), sum.Compiles, captured, breaks, time,
	)
	n := 1
	if len(indent) > 20 {
		return n
	}
	for i, res := range fr.Resumes {
		if i == t.most(Rows) {
			t.line("  %s  ... and %s", indent, explain.Count(len(fr.Resumes)-t.most(Rows), "more resumed part"))
			return n + len(fr.Resumes) - t.most(Rows)
		}
		n += t.frame(res, indent+"  ")
	}
	return n
}

// idText is a compile's id as the rows of a report show it, with its rank.
func idText(id explain.ID) string { return explain.RankPrefix(id) + id.CompileID.String() }
