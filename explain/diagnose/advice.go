package diagnose

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file gives advice. Advice names the user's own expression, argument and
// dimension; where these are not known there is none.

// FixBreak advises on one break of a program of the given engine.
func FixBreak(b *explain.Break, engine string) explain.Fix {
	return FixBreakAt(b, engine, inLoop(b), nil)
}

// FixBreakAt is FixBreak with what the report and the program's files tell: whether the
// break is within a loop, and the lines around it.
func FixBreakAt(b *explain.Break, engine string, loop bool, src *explain.Source) explain.Fix {
	if strings.HasPrefix(engine, "tcdbg") {
		if b.Noise {
			return explain.Fix{}
		}
		return withLines(b, goBreak(b))
	}
	if b.Noise {
		return explain.Fix{Text: "inside torch or the standard library: it goes where the call that leads there is left outside " +
			"of the compiled function"}
	}
	f := breakFinding(b)
	f.InLoop = loop
	f.Body, f.At = src.Function(b.Pos)
	if strings.Contains(b.Explanation+b.Raw, "RNN") && !f.Packed {
		f.Packed = src.Has(b.Pos, packsSequences) // which another function of the file may do
	}
	fix := AdviseBreak(f)
	if fix.Text != "" {
		if loop && !strings.Contains(fix.Text, "the loop") {
			fix.Text += advice.LostLoop(f)
		}
		fix.Text += foreign(b)
	}
	return withLines(b, fix)
}

// withLines adds the changed line where the advice on a break is to write one otherwise.
func withLines(b *explain.Break, fix explain.Fix) explain.Fix {
	switch b.Code {
	case breaks.DataDependentBranching:
		if fix.Row == "branch-on-tensor" {
			fix.Lines = WhereRewrite(b.Pos.Code)
		}
	case breaks.GraphBreakCall:
		if whole := strings.TrimSpace(b.Pos.Code); strings.HasSuffix(whole, "graph_break()") && !strings.ContainsAny(whole, ";:") {
			fix.Lines = []string{"- " + b.Pos.Code}
		}
	}
	return fix
}

// breakInLoop is the code of what follows from a break within a loop.
const breakInLoop = "GB7000"

// inLoop says whether a break is within a loop.
func inLoop(b *explain.Break) bool {
	return slices.ContainsFunc(b.Chained, func(ch *explain.Break) bool { return ch.Code == breakInLoop })
}

// foreign says what remains where the line is that of an installed library.
func foreign(b *explain.Break) string {
	name := explain.InstalledPackage(b.Pos.File)
	what := explain.FunctionOf(b.Pos, nil)
	if name == "" || what == "" || b.Compile == nil {
		return ""
	}
	compiled := explain.FunctionOf(b.Compile.Frame.Pos, b.Compile)
	for i := len(b.Stack) - 1; i >= 0; i-- {
		p := b.Stack[i]
		if explain.InstalledPackage(p.File) == "" && !explain.FrameworkFile(p.File) {
			what = "what " + ShortPlace(p.File, p.Line) + " calls"
			break
		}
		if explain.FunctionOf(p, nil) == compiled { // all of what is compiled is the library's
			break
		}
	}
	return fmt.Sprintf(" The line is %s's: where it cannot change, keep %s outside, or compile what comes before and after it.", name, what)
}

// drawsNumber says whether a condition asks for a random number: one of Python's own
// generator, which Dynamo turns into an input of the graph, or one that torch draws for this
// line alone. Both are others in a graph than in eager execution, so that a branch which is
// captured with them gives other results.
func drawsNumber(b *explain.Break) bool {
	condition, _, _ := cutTopColon(b.Pos.Code)
	if len(b.Value) == 2 && torchDraws.MatchString(b.Value[0].Func) || torchDraws.MatchString(condition) {
		return true
	}
	for _, v := range b.Value {
		if strings.HasPrefix(v.Func, "random_value_") {
			return true
		}
	}
	before, _, ok := strings.Cut(b.Pos.Code, "random.random()")
	return ok && !strings.HasSuffix(before, ".")
}

// torchDraws finds a call that draws a random number, in a line of the program or in a
// node of a graph, "rand = rand(())".
var torchDraws = regexp.MustCompile(`(^|[ =(]|torch\.)(rand|randn|randint|bernoulli|rand_like|randn_like|randperm)\(`)

// naming puts the name of what is called where an advice speaks of it.
func naming(text, callee string) string {
	if callee == "" {
		return text
	}
	text = strings.Replace(text, "Call it ", "Call "+callee+" ", 1)
	return strings.Replace(text, " from the callee", " from "+callee, 1)
}

// callee is what a break's call calls, as the line spells it where it does; "" where
// that is not known. The context has it as "module: posix, qualname: getpid, skip
// reason: ...", "<function f at 0x7f>", "<bound method A.f of ...>" or, of a Go
// program, "call of strings.Repeat".
func callee(b *explain.Break) string {
	name := ""
	switch b.Code {
	case breaks.SkippedFunction:
		_, rest, _ := strings.Cut(b.Context, "qualname: ")
		name, _, _ = strings.Cut(rest, ",")
	case breaks.Disabled, breaks.DisabledInline:
		for _, kind := range []string{"<function ", "<bound method "} {
			if rest, ok := strings.CutPrefix(b.Context, kind); ok {
				name, _, _ = strings.Cut(rest, " ")
			}
		}
	case breaks.UnknownNativeCall:
		name, _ = strings.CutPrefix(b.Context, "call of ")
	}
	if name == "" || strings.ContainsAny(name, " <>()") {
		return ""
	}
	return spelled(b.Pos.Code, name)
}

// spelled is a called name as a line of code spells it: os.getpid for getpid.
func spelled(code, name string) string {
	last := name[strings.LastIndexByte(name, '.')+1:]
	at := strings.Index(code, last+"(")
	if at < 0 {
		return name
	}
	from := at
	for from > 0 && (explain.LetterOrDigit(code[from-1]) || code[from-1] == '.') {
		from--
	}
	if from > 0 && strings.IndexByte(")]\"'", code[from-1]) >= 0 { // a method of an expression
		return name
	}
	return code[from : at+len(last)]
}

// DisabledBecause is the reason that a program gives for disabling a function.
func DisabledBecause(b *explain.Break) string {
	if b.Code != breaks.Disabled && b.Code != breaks.DisabledInline {
		return ""
	}
	_, rest, ok := strings.Cut(b.Explanation, "(reason: ")
	if !ok || strings.HasPrefix(rest, "None)") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSpace(rest), ")")
}

// boilerplate says whether a hint tells how likely a fix of the framework is
// and not what to change.
func boilerplate(hint string) bool {
	for _, s := range []string{
		"report an issue", "file an issue", "It may be possible to write Dynamo tracing rules",
		"This graph break is fundamental", "This graph break may be difficult",
		"This graph break may have been caused by an earlier", "This is likely to be a Dynamo bug",
		"Your code may result in an error when running in eager", "Avoid calling", "Avoid using the unsupported",
		"see https://", "Please report", "file an issue", "it is a Python builtin", "For the common pattern",
	} {
		if strings.Contains(hint, s) {
			return true
		}
	}
	return false
}

// WhereRewrite turns "if COND: x = EXPR" into "x = torch.where(COND, EXPR, x)".
func WhereRewrite(code string) []string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(code), "if ")
	if !ok {
		return nil
	}
	cond, body, ok := cutTopColon(rest)
	if !ok || strings.Contains(cond, " or ") || strings.Contains(cond, " and ") || strings.HasPrefix(cond, "not ") {
		return nil
	}
	body = strings.TrimSpace(body)
	name, expr, ok := strings.Cut(body, " = ")
	if !ok || strings.ContainsAny(name, " .[,(") || strings.Contains(body, ";") {
		return nil
	}
	return []string{
		"- " + strings.TrimSpace(code),
		fmt.Sprintf("+ %s = torch.where(%s, %s, %s)", name, strings.TrimSpace(cond), strings.TrimSpace(expr), name),
	}
}

// cutTopColon cuts at the first colon outside of brackets and quotes.
func cutTopColon(s string) (before, after string, ok bool) {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case c == ':' && depth == 0:
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// FixRecompile advises on the newest entry's guard, which is the one that was
// tried first.
func FixRecompile(rc *explain.Recompile, engine string) explain.Fix {
	return recompileFix(rc, &explain.TraceFacts{Ours: strings.HasPrefix(engine, "tcdbg")})
}

// advise advises on a recompile, with what the whole report tells of it.
func recompileFix(rc *explain.Recompile, x *explain.TraceFacts) explain.Fix {
	rc.Facts = x
	switch {
	case len(rc.Failures) == 0:
		return explain.Fix{}
	case x.Ours:
		return GoRecompile(rc)
	}
	return AdviseRecompile(RecompileFinding(rc, x))
}

// keywordChange says how the keywords of a call differ from those of the entry's, of a
// function that takes any.
func keywordChange(rc *explain.Recompile, g *explain.GuardFailure) string {
	if g.Kind != breaks.LengthChanged || explain.PlainSource(g.Source) != "kwargs" {
		return ""
	}
	entry := rc.Entry(g)
	if entry == nil {
		return ""
	}
	now, before := keywordsOf(rc.Compile), keywordsOf(entry)
	var parts []string
	if s := Surplus(Plain(now), Plain(before)); s != "" {
		parts = append(parts, "comes with "+s)
	}
	if s := Surplus(Plain(before), Plain(now)); s != "" {
		parts = append(parts, "comes without "+s)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"the call %s, which the call of entry %s did not: two kinds of calls are two entries; pass the same keywords in every call "+
			"where one is meant",
		strings.Join(parts, " and "), g.Entry,
	)
}

// keywordsOf lists the keywords by which tensors came into a compile.
func keywordsOf(c *explain.Compile) []string {
	var out []string
	for _, s := range c.Sources {
		rest, ok := strings.CutPrefix(explain.PlainSource(s), "kwargs['")
		if word, _, closed := strings.Cut(rest, "']"); ok && closed && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// setByBreak finds the break whose line gave a local of a resumed function its value,
// as start = time.time() does.
func setByBreak(rc *explain.Recompile, name string) (logs.Pos, bool) {
	fr := rc.Compile.Frame
	if fr.Parent == nil {
		return logs.Pos{}, false
	}
	for _, from := range append([]*explain.Frame{fr.Parent}, fr.Parent.Resumes...) {
		for _, c := range from.Compiles {
			for _, b := range c.Breaks {
				if strings.HasPrefix(explain.Squeeze(b.Pos.Code), name+" = ") {
					return b.Pos, true
				}
			}
		}
	}
	return logs.Pos{}, false
}

// argumentName is the expression that the user knows, "" where the source is
// none: *args of a wrapper, or a local of a resumed function, which no caller
// can reach.
func argumentName(rc *explain.Recompile, g *explain.GuardFailure) string {
	if g.Argument != "" || g.Nameless {
		return g.Argument
	}
	name := strings.TrimSuffix(explain.PlainSource(g.Source), explain.CodeOfFunction)
	if keyword, ok := keywordOf(name); ok && !explain.FrameworkFile(rc.Compile.Frame.Pos.File) {
		return keyword
	}
	if name == "" || name == "args" || name == "kwargs" || strings.HasPrefix(name, "args[") ||
		strings.HasPrefix(name, "kwargs[") || strings.Contains(name, "__") {
		return ""
	}
	if file := rc.Compile.Frame.Pos.File; explain.FrameworkFile(file) && !publicFunction(rc.Compile.Frame) ||
		strings.HasPrefix(file, "<eval_with_key>") {
		return "" // such as the backward pass that compiled autograd writes
	}
	if _, _, resumed := explain.ResumedFunction(rc.Compile.Frame.Name); resumed || rc.Compile.Frame.Parent != nil {
		if g.Kind == breaks.SizeChanged || g.Kind == breaks.StrideChanged || g.Kind == breaks.RankChanged ||
			g.Kind == breaks.DtypeChanged ||
			g.Kind == breaks.ValueChanged && strings.Contains(name, "[") && !strings.HasPrefix(name, "self.") {
			return ""
		}
	}
	return name
}

// publicFunction says whether a function of torch is one that programs compile by itself,
// as flex_attention: its arguments are the program's.
func publicFunction(fr *explain.Frame) bool {
	return !strings.HasPrefix(fr.Name, "_") && (strings.Contains(fr.Pos.File, "/torch/nn/attention/") ||
		strings.HasSuffix(fr.Pos.File, "/torch/nn/functional.py"))
}

// isLearningRate knows the number that schedulers change within an optimizer: it is
// the program's, though the guard is in the framework.
func isLearningRate(g *explain.GuardFailure) bool {
	return strings.Contains(g.Source, "param_groups") && strings.HasSuffix(g.Source, "['lr']") ||
		strings.Contains(g.Source, ".groups[") && hasWord(g.Source, "Lr")
}

// keywordOf reads the keyword out of kwargs['mask']: the caller of a wrapper knows
// its keywords, though not what the wrapper calls them.
func keywordOf(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "kwargs['")
	if !ok {
		return "", false
	}
	word, rest, ok := strings.Cut(rest, "']")
	return word, ok && rest == "" && word != ""
}

// Advise lists what to do first, the costliest first.
func Advise(r *explain.Report) {
	type item struct {
		a    explain.Advice
		cost float64
	}
	var items []item
	for _, g := range r.Breaks {
		if g.Lead.Noise || g.CausedBy != nil || g.Fix.Text == "" {
			continue
		}
		cost := strings.TrimPrefix(explain.GroupOften(g), "seen in ") // a line has little room
		if g.LeftNanos > 0 {
			cost = explain.Nanos(g.LeftNanos) + " a call outside of graphs, " + cost
		}
		if len(g.Lost) > 0 {
			cost += ", " + g.LostWords()
		}
		if g.Graphs > 0 {
			cost += ", adds " + explain.Count(g.Graphs, "graph")
		}
		if g.Seconds > 0 {
			cost += ", " + explain.Duration(g.Seconds)
		}
		items = append(items, item{explain.Advice{
			Text: g.Lead.Title(), Pos: g.Lead.Pos, Fix: g.Fix, Cost: cost, Break: g, Frame: g.Lead.Compile.Frame,
		}, GroupWeight(g)})
	}
	for _, a := range WrapperAdvice(r) { // not timed, yet it is the whole model
		items = append(items, item{a, 1e5})
	}
	for _, a := range LibraryAdvice(r) {
		items = append(items, item{a, GroupWeight(a.Break)})
	}
	for _, a := range compiledApart(r) {
		items = append(items, item{a, 1e4})
	}
	for _, a := range skippedAdvice(r) { // nobody knows what the later calls do
		items = append(items, item{a, 0})
	}
	for _, c := range MergedCauses(r) {
		items = append(items, item{RecompileAdvice(c), CauseWeight(c)})
	}
	for _, a := range CudaGraphAdvice(r) { // every call pays, which no log times
		items = append(items, item{a, cudaGraphWeight})
	}
	sort.SliceStable(items, func(i, j int) bool { return items[i].cost > items[j].cost })
	for i, it := range items {
		if i == 50 {
			break
		}
		r.Advice = append(r.Advice, it.a)
	}
}

// manyCalls is for how many calls a program is thought to run: what each pays is held against
// what compiling takes once.
const manyCalls = 1000

// GroupWeight orders breaks by their cost. A function that runs eagerly pays with every call,
// which no log of PyTorch times.
func GroupWeight(g *explain.BreakGroup) float64 {
	return g.Seconds + manyCalls*float64(max(g.LeftNanos, 0))/1e9 + float64(g.Graphs)*1e-3 + float64(len(g.Lost))*1e3
}

// CauseWeight orders causes among breaks by their cost. A frame that hit the limit
// has no compile left to pay for: it pays with every call, which no log times.
func CauseWeight(c *explain.RecompileCause) float64 {
	switch {
	case c.Limit && !goFollows(c.Fix.Row):
		return c.Seconds + 1e6
	case c.Fix.Settled:
		return c.Seconds - 1e6 // after what there is to do
	case advice.Follows(c.Fix.Row), goFollows(c.Fix.Row):
		return c.Seconds - 5e5 // after what it follows from
	}
	return c.Seconds
}

// RecompileWeight orders recompiles as their causes are ordered; one without a time, as in text
// logs, counts for itself.
func RecompileWeight(rc *explain.Recompile) float64 {
	if rc.Compile.Status == explain.Limit {
		return rc.Compile.Seconds + 1e6
	}
	return rc.Compile.Seconds + 1e-6
}

// MergedCauses joins the causes of frames of one function: every rank and every
// epoch has its own frame. What no user can act on, a resumed function's own
// locals, follows from the cause in the function before it.
func MergedCauses(r *explain.Report) []*explain.RecompileCause {
	type key struct {
		explain.CauseKey
		file, name string
		line       int
	}
	var out []*explain.RecompileCause
	seen := map[key]*explain.RecompileCause{}
	for _, fr := range r.Frames {
		_, _, resumed := explain.ResumedFunction(fr.Name)
		for _, c := range Causes(fr) {
			if c.Fix.Text == "" && (resumed || fr.Wraps != nil || explain.FrameworkFile(fr.Pos.File) && !publicFunction(fr)) {
				continue
			}
			k := key{c.Key(), fr.Pos.File, fr.Name, fr.Pos.Line}
			if p := fr.Parent; p != nil { // what goes on with a function recompiles with it
				if above := (key{c.Key(), p.Pos.File, p.Name, p.Pos.Line}); seen[above] != nil {
					k = above
				}
			}
			if one := seen[k]; one != nil {
				one.Add(c)
				continue
			}
			seen[k] = c
			out = append(out, c)
		}
	}
	return out
}

// RecompileAdvice sums up the recompiles that have one cause.
func RecompileAdvice(c *explain.RecompileCause) explain.Advice {
	g, fr := c.Lead(), c.Recompiles[0].Compile.Frame
	name := explain.FrameTitle(fr)
	a := explain.Advice{Text: name + " recompiled: " + explain.FailureText(g), Pos: g.Pos, Fix: c.Fix, Cause: c, Frame: fr}
	if len(c.Recompiles) > 1 {
		kind, _ := breaks.Recompile(g.Kind)
		a.Text = name + " recompiled: " + kind.Short
	}
	if a.Pos.File == "" || explain.FrameworkFile(a.Pos.File) || a.Pos.Code == "" && ToldByTorch(a.Pos.File) {
		a.Pos = fr.Pos // torch's own check
	}
	if c.Compiled() == 0 && fr.Sum().Compiles == 0 { // another module filled the limit
		a.Text = strings.Replace(a.Text, " recompiled: ", " was not compiled: ", 1)
	}
	a.Cost = explain.Count(c.Compiled(), "recompile")
	if c.Seconds > 0 {
		a.Cost += ", " + explain.Duration(c.Seconds)
	}
	if c.Limit {
		a.Cost += ", limit reached: " + c.Recompiles[len(c.Recompiles)-1].AtLimit()
	}
	return a
}

// ShortPlace is "file.py:12".
func ShortPlace(file string, line int) string {
	if file == "" {
		return "?"
	}
	return filepath.Base(file) + ":" + strconv.Itoa(line)
}

// ToldByTorch says whether a check's file is torch's own: in checks that no line of the
// program asked for, its name begins below torch's folder.
func ToldByTorch(file string) bool { return explain.FrameworkFile(file) || !filepath.IsAbs(file) }
