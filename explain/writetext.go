package explain

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file writes the report as text that fits a pull-request comment: every
// section, each with its dearest rows; the JSON has them all.

// rows is how many rows a section of the text report shows.
const rows = 12

// textWriter writes lines; what comes from a trace is cleaned on the way.
type textWriter struct {
	w     *bufio.Writer
	names Names
}

// WriteText writes the report as plain text.
func WriteText(w io.Writer, r *Report) error {
	t := &textWriter{bufio.NewWriter(w), BriefNames(r)}
	t.head(r)
	for _, section := range textSections {
		section(t, r)
	}
	return t.w.Flush()
}

// textSections in the order in which a reader needs them.
var textSections = []func(t *textWriter, r *Report){
	(*textWriter).failures, (*textWriter).advice, (*textWriter).breaks, (*textWriter).recompiles, (*textWriter).skipped, (*textWriter).frames,
	(*textWriter).guards, (*textWriter).graphs, (*textWriter).kernels, (*textWriter).fusion, (*textWriter).time,
	(*textWriter).caches, (*textWriter).symbols, (*textWriter).ranks, (*textWriter).notes,
}

func (t *textWriter) line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = Clean(s)
		}
	}
	_, _ = t.w.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " "))
	_ = t.w.WriteByte('\n')
}

func (t *textWriter) section(name string) {
	_ = t.w.WriteByte('\n')
	t.line("%s", name)
}

// more says how many are left out; what is their name in the singular.
func (t *textWriter) more(n int, what string) {
	if n > 0 {
		t.line("  ... and %s", count(n, "more "+what))
	}
}

// Clean makes text of a trace safe for a terminal: control characters, which
// could move the cursor or worse, are escaped.
func Clean(s string) string {
	ok := true
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] == 0x7f || s[i] >= 0x80 {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "\\x%02x", s[0])
		case r == '\t':
			b.WriteString("    ")
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
			fmt.Fprintf(&b, "\\x%02x", r)
		case unicode.Is(unicode.Bidi_Control, r) || r == 0x2028 || r == 0x2029:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func (t *textWriter) head(r *Report) {
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
		count(n.Frames, "frame"), count(n.Compiles, "compile"), r.logged(n.Graphs, "graph", " ("+count(n.Ops, "op")+")"),
		r.logged(n.Breaks, "break", " at "+count(n.DistinctBreaks, "place")),
		r.logged(n.Recompiles, "recompile", ""), r.logged(n.Kernels, "kernel", ""), r.logged(n.Failures, "failure", ""), compiling)
	if compiled, eager, known := r.Share(); known && compiled > 0 {
		t.line("%d%% of operators run compiled (%d of %d)", 100*compiled/(compiled+eager), compiled, compiled+eager)
	}
	if r.Live {
		t.line("still running: these are the figures so far")
	}
	for _, s := range warnings(r) {
		t.line("! %s", s)
	}
}

// OfGo says whether the report is on a Go program under the compiler of this project.
func (r *Report) OfGo() bool { return strings.HasPrefix(r.Engine, "tcdbg") }

// Unlogged says of a count that it is none because nothing of its kind was logged. Of a text
// log nobody knows which logs were on: what it has none of may have been there all the same.
func (r *Report) Unlogged(n int) bool { return n == 0 && r.textual }

// logged is a count with what belongs to it.
func (r *Report) logged(n int, what, more string) string {
	if r.Unlogged(n) {
		return notLogged(what)
	}
	return count(n, what) + more
}

func notLogged(what string) string { return "no " + what + "s logged" }

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "try"); ok {
		return fmt.Sprintf("%d %stries", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func clipText(s string, n int) string {
	s = squeeze(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-3]) + "..."
}

func (t *textWriter) advice(r *Report) {
	if len(r.Advice) == 0 {
		return
	}
	t.section("FIRST")
	for i, a := range r.Advice {
		if i == 5 {
			break
		}
		t.line("%2d. %s: %s (%s)", i+1, t.names.place(a.Pos), a.Text, a.Cost)
		t.fix(a.Fix)
	}
}

func (t *textWriter) fix(f Fix) {
	if f.Text != "" {
		t.line("    %s%s", f.Label(), f.Text)
	}
	for _, l := range f.Lines {
		t.line("      %s", l)
	}
}

func (t *textWriter) breaks(r *Report) {
	t.section(fmt.Sprintf("BREAKS: %s at %s", count(r.Totals.Breaks, "break"), count(r.Totals.DistinctBreaks, "place")))
	shown, hidden := 0, 0
	var noise []*BreakGroup
	for _, g := range r.Breaks {
		switch {
		case g.Lead.Noise:
			noise = append(noise, g)
		case g.CausedBy != nil && !g.CausedBy.Lead.Noise:
		case shown >= rows:
			hidden++
		default:
			shown++
			t.group(g, "  ")
		}
	}
	switch {
	case r.Totals.Breaks > 0:
	case r.textual: // which logs were on is not recorded
		t.line("  none recorded: TORCH_LOGS=graph_breaks shows them")
	case r.Totals.Graphs > 0:
		t.line("  none: every function was captured whole")
	default:
		t.line("  none")
	}
	t.more(hidden, "root cause")
	if len(noise) > 0 {
		n := 0
		var places []string
		for _, g := range noise {
			n += g.Times()
			place := g.Lead.Code + " " + t.names.at(g.Lead.Pos)
			if line, ok := callerOf(g.Lead); ok {
				place += " called from " + t.names.place(line)
			}
			places = append(places, place)
		}
		t.line("  framework breaks: %s inside torch or the standard library (%s)", count(n, "break"), clipText(strings.Join(places, ", "), 120))
	}
}

func (t *textWriter) group(g *BreakGroup, indent string) {
	b := g.Lead
	t.line("%s%s %s [%s, %s]", indent, orUnknown(b.Code), b.Title(), b.Fixability, b.Outcome)
	t.line("%s    %s  %s", indent, t.names.place(b.Pos), clipText(b.Pos.Code, 90))
	if said := raised(b.Context); b.Code == breaks.ObservedPanic && said != "" {
		t.line("%s    raised: %s", indent, clipText(said, 180))
	}
	if why := disabledBecause(b); why != "" {
		t.line("%s    disabled because: %s", indent, clipText(why, 180))
	}
	cost := g.often()
	if len(g.Lost) > 0 {
		cost += ", " + g.lostWords()
	}
	if g.Graphs > 0 {
		cost += fmt.Sprintf(", adds %s", count(g.Graphs, "graph"))
	}
	if g.Seconds > 0 {
		cost += ", " + duration(g.Seconds) + " to compile them"
	}
	cost += ", eager operators: " + unknown(g.EagerOps)
	if len(g.Chains) > 1 {
		cost += ", " + count(len(g.Chains), "call chain")
	}
	t.line("%s    %s", indent, cost)
	if st := t.names.userChain(b.Stack); len(st) > 1 {
		t.line("%s    chain: %s", indent, strings.Join(st, " > "))
	}
	if len(b.Value) > 0 {
		var steps []string
		for _, v := range b.Value {
			steps = append(steps, v.Func)
		}
		t.line("%s    value: %s", indent, clipText(strings.Join(steps, " > "), 110))
	}
	if g.Fix.Text != "" {
		t.line("%s    %s%s", indent, g.Fix.Label(), clipText(g.Fix.Text, 320))
	}
	for _, l := range g.Fix.Lines {
		t.line("%s      %s", indent, l)
	}
	for i, c := range g.Causes {
		if i == 5 {
			t.line("%s    and %s caused by it", indent, count(len(g.Causes)-5, "more break"))
			break
		}
		t.line("%s    caused by it: %s %s at %s (%s)", indent, orUnknown(c.Lead.Code), c.Lead.Title(), t.names.place(c.Lead.Pos), c.often())
	}
}

// often is how often a break was met, in words.
func (g *BreakGroup) often() string {
	switch n := len(g.Breaks); {
	case g.Times() > 0 || n == 0:
		return "seen in " + count(g.Times(), "compile")
	case n == 1:
		return "hit while another was handled"
	default:
		return "hit " + count(n, "time") + " while another was handled"
	}
}

// seconds words a time; logs without times say nothing, which is not 0.
func seconds(s float64) string {
	if s == 0 {
		return "time unknown"
	}
	return duration(s)
}

// duration is seconds as people read them: 2.1 ms, 41 ms, 3.20 s.
func duration(s float64) string {
	switch {
	case s < 0.01:
		return fmt.Sprintf("%.1f ms", 1e3*s)
	case s < 1:
		return fmt.Sprintf("%.0f ms", 1e3*s)
	}
	return fmt.Sprintf("%.2f s", s)
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
func (n Names) userChain(st []logs.Pos) []string {
	var out []string
	for _, p := range st {
		if !frameworkFile(p.File) {
			out = append(out, n.at(p))
		}
	}
	if len(out) > 8 {
		out = append(append(out[:3:3], "..."), out[len(out)-4:]...)
	}
	return out
}

func (t *textWriter) recompiles(r *Report) {
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
	byFunction := map[function][]*Recompile{} // of every rank and epoch
	whole := map[function]function{}          // what a resumed part belongs to
	cost := map[function]float64{}
	var order []function
	name := func(fr *Frame) function { return function{fr.Name, fr.Pos.File, fr.Pos.Line} }
	for _, rc := range r.Recompiles {
		fn := name(rc.Compile.Frame)
		if byFunction[fn] == nil {
			order = append(order, fn)
			whole[fn] = name(rc.Compile.Frame.root())
		}
		byFunction[fn] = append(byFunction[fn], rc)
		cost[whole[fn]] += rc.weight()
	}
	sort.SliceStable(order, func(i, j int) bool { return cost[whole[order[i]]] > cost[whole[order[j]]] })
	for i, fn := range order {
		if i == rows {
			t.more(len(order)-rows, "function")
			return
		}
		t.functionRecompiles(byFunction[fn])
	}
}

// repeats tells the functions that were compiled several times without a recompile.
func (t *textWriter) repeats(r *Report) {
	for _, x := range r.Repeats() {
		t.line("  no recompile: %s %s was compiled by %d calls of torch.Compile, each with entries of its own", x.Frame.Title(), t.names.at(x.Frame.Pos), x.Times)
	}
}

// functionRecompiles lists the recompiles of one function.
func (t *textWriter) functionRecompiles(list []*Recompile) {
	took := 0.0
	limits := 0
	for _, rc := range list {
		took += rc.Compile.Seconds
		if rc.Compile.Status == Limit {
			limits++
		}
	}
	fr := list[0].Compile.Frame
	t.line("  %s %s: %s, %s%s", frameTitle(fr), t.names.at(fr.Pos), count(len(list)-limits, "recompile"), seconds(took), t.calledFrom(list[0].Compile))
	for i, rc := range list {
		if i == 9 {
			t.line("    ... and %d more", len(list)-9)
			break
		}
		limit := ""
		if rc.Compile.Status == Limit {
			limit = "  LIMIT REACHED: " + rc.atLimit() + " from here"
		}
		if len(rc.Failures) == 0 {
			t.line("    [%s] reason not recorded%s", idText(rc.Compile.ID), limit)
			continue
		}
		g := rc.Failures[0]
		t.line("    [%s] %s%s%s", idText(rc.Compile.ID), failureText(&g), also(rc.Failures), limit)
		if g.Pos.File != "" && (g.Pos.Code != "" || !toldByTorch(g.Pos.File)) {
			t.line("        guard from %s  %s", t.names.place(g.Pos), clipText(g.Pos.Code, 80))
		}
	}
	for _, f := range fixesOf(list) {
		t.line("    fix: %s", f)
	}
}

// calledFrom is the program's own line that called a library's function.
func (t *textWriter) calledFrom(c *Compile) string {
	if installedPackage(c.Frame.Pos.File) == "" {
		return ""
	}
	for i := len(c.Stack) - 1; i >= 0; i-- {
		if p := c.Stack[i]; p.File != "" && installedPackage(p.File) == "" && !frameworkFile(p.File) {
			return ", called from " + t.names.at(p)
		}
	}
	return ""
}

// toldByTorch says whether a check's file is torch's own: in checks that no line of the
// program asked for, its name begins below torch's folder.
func toldByTorch(file string) bool { return frameworkFile(file) || !filepath.IsAbs(file) }

// fixesOf lists the fix of each cause of a function's recompiles, once.
func fixesOf(list []*Recompile) []string {
	var out []string
	frames, causes := map[*Frame]bool{}, map[causeKey]bool{}
	for _, rc := range list {
		fr := rc.Compile.Frame
		if frames[fr] {
			continue
		}
		frames[fr] = true
		for _, c := range fr.Causes() {
			if c.Fix.Text != "" && !causes[c.key()] {
				causes[c.key()] = true
				out = append(out, c.Fix.Text)
			}
		}
	}
	return out
}

// failureText is one failing guard in words.
func failureText(g *GuardFailure) string {
	kind, _ := breaks.Recompile(g.Kind)
	s := kind.Short
	if src := plainSource(g.Source); src != "" {
		s += ": " + src
	}
	if g.Dim >= 0 {
		s += fmt.Sprintf(" dim %d", g.Dim)
	}
	if g.Expected != "" {
		s += ", expected " + clipText(g.Expected, 60)
	}
	if g.Actual != "" {
		s += ", actual " + clipText(g.Actual, 60)
	}
	if g.Source == "" && g.Expected == "" {
		s += ": " + clipText(g.Text, 100)
	}
	return s
}

// also counts the entries besides the first whose guards failed, each once.
func also(list []GuardFailure) string {
	entries := map[string]bool{}
	for i := range list {
		entries[list[i].Entry] = true
	}
	if len(entries) < 2 {
		return ""
	}
	return fmt.Sprintf(" (%s failed too)", count(len(entries)-1, "other entry"))
}

func (t *textWriter) failures(r *Report) {
	if len(r.Failures) == 0 {
		return
	}
	t.section(fmt.Sprintf("FAILURES: %d", len(r.Failures)))
	raised, eager := r.Raised()
	for i, f := range raised {
		if i == rows {
			t.more(len(raised)-rows, "failure")
			break
		}
		t.failure(f)
	}
	if eager != "" {
		t.line("  %s", eager)
	}
}

func (t *textWriter) failure(f *Failure) {
	t.line("  [%s] %s: %s", idText(f.ID), squeeze(f.Function()+" "+f.Code+" "+f.Type), clipText(f.Title(), 100))
	for _, detail := range f.Details() {
		t.line("      %s", clipText(detail, 300))
	}
	if f.Pos.File != "" {
		t.line("      %s  %s", t.names.place(f.Pos), clipText(f.Pos.Code, 90))
	}
	t.fix(f.Fix)
}

func (t *textWriter) frames(r *Report) {
	if len(r.Frames) == 0 {
		return
	}
	t.section(fmt.Sprintf("FRAMES: %d", len(r.Frames)))
	t.line("  %-*s %-14s %8s %5s %7s %9s", frameColumn, "function", "status", "compiles", "ops", "breaks", "compile s")
	shown := 0
	for _, fr := range r.Frames {
		if fr.Parent != nil && parentShown(fr) {
			continue
		}
		if shown >= 3*rows {
			t.more(len(r.Frames)-shown, "frame")
			return
		}
		shown += t.frame(fr, "")
	}
}

func parentShown(fr *Frame) bool {
	for p := fr.Parent; p != nil; p = p.Parent {
		if p == fr {
			return false
		}
	}
	return true
}

// frameColumn is the width of the column of functions.
const frameColumn = 44

// withPlace puts a place behind a name; folders go where they do not fit.
func (t *textWriter) withPlace(name string, p logs.Pos, width int) string {
	if s := name + " " + t.names.at(p); utf8.RuneCountInString(s) <= width {
		return s
	}
	return name + " " + Names{}.at(p)
}

// frame prints a frame and the frames that resume it; it returns their number.
func (t *textWriter) frame(fr *Frame, indent string) int {
	sum, ops := fr.Sum(), -1
	breaks, seconds := sum.Breaks, sum.Seconds
	for _, c := range fr.Compiles {
		if c.Graph != nil && c.Graph.LoadNodes != nil || c.Status != Compiled {
			ops = sum.Ops
		}
	}
	name, rank := fr.Name, ""
	if fr.ID.Rank >= 0 {
		rank = fmt.Sprintf("r%d ", fr.ID.Rank)
	}
	if fn, line, ok := resumedFunction(name); ok {
		name = fmt.Sprintf("resumes %s at line %d", fn, line)
	} else if fr.Pos.File != "" {
		name = t.withPlace(name, fr.Place(), frameColumn-len(indent)-len(rank))
	}
	if name == "" {
		name = frameTitle(fr)
	}
	captured := "-"
	if ops >= 0 {
		captured = itoa(ops)
	}
	time := "unknown"
	if seconds > 0 {
		time = fmt.Sprintf("%.2f", seconds)
	}
	t.line("  %-*s %-14s %8d %5s %7d %9s", frameColumn, indent+clipText(rank+name, frameColumn-len(indent)), string(fr.Status), sum.Compiles, captured, breaks, time)
	n := 1
	if len(indent) > 20 {
		return n
	}
	for i, res := range fr.Resumes {
		if i == rows {
			t.line("  %s  ... and %s", indent, count(len(fr.Resumes)-rows, "more resumed part"))
			return n + len(fr.Resumes) - rows
		}
		n += t.frame(res, indent+"  ")
	}
	return n
}

// idText is a compile's id as the rows of a report show it, with its rank.
func idText(id ID) string { return rankPrefix(id) + id.CompileID.String() }

// frameTitle names a frame for people: resume functions have invented names.
func frameTitle(fr *Frame) string {
	switch {
	case fr.Name != "":
	case fr.ID.Frame < 0: // of a text log without ids
		return "function not named"
	default:
		return "frame " + itoa(fr.ID.Frame)
	}
	return titleOf(fr.Name)
}

// titleOf words the name of a resumed part.
func titleOf(name string) string {
	if fn, line, ok := resumedFunction(name); ok {
		return fmt.Sprintf("%s from line %d on", fn, line)
	}
	return name
}
