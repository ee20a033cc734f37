package explain

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file gives advice. Advice names the user's own expression, argument and
// dimension; where these are not known there is none.

// fixBreak advises on one break of a program of the given engine.
func fixBreak(b *Break, engine string) Fix { return fixBreakAt(b, engine, inLoop(b), nil) }

// fixBreakAt is fixBreak with what the report and the program's files tell: whether the
// break is within a loop, and the lines around it.
func fixBreakAt(b *Break, engine string, loop bool, src *source) Fix {
	if strings.HasPrefix(engine, "tcdbg") {
		if b.Noise {
			return Fix{}
		}
		return withLines(b, goBreak(b))
	}
	if b.Noise {
		return Fix{Text: "inside torch or the standard library: there is no line of yours to change"}
	}
	f := breakFinding(b)
	f.InLoop = loop
	f.Body, f.At = src.function(b.Pos)
	if strings.Contains(b.Explanation+b.Raw, "RNN") && !f.Packed {
		f.Packed = slices.ContainsFunc(src.file(b.Pos), packsSequences) // which another function of the file may do
	}
	fix := adviseBreak(f)
	if fix.Text != "" {
		if loop && !strings.Contains(fix.Text, "the loop") {
			fix.Text += lostLoop
		}
		fix.Text += foreign(b)
	}
	return withLines(b, fix)
}

// withLines adds the changed line where the advice on a break is to write one otherwise.
func withLines(b *Break, fix Fix) Fix {
	switch b.Code {
	case breaks.DataDependentBranching:
		if fix.Row == "branch-on-tensor" {
			fix.Lines = whereRewrite(b.Pos.Code)
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

// lostLoop says what a break within a loop costs more, and what saves that.
const lostLoop = " A break within a loop leaves the whole function eager: compile the loop's body as a function of its own."

// inLoop says whether a break is within a loop.
func inLoop(b *Break) bool {
	return slices.ContainsFunc(b.Chained, func(ch *Break) bool { return ch.Code == breakInLoop })
}

// foreign says what remains where the line is that of an installed library.
func foreign(b *Break) string {
	name := installedPackage(b.Pos.File)
	what := functionOf(b.Pos, nil)
	if name == "" || what == "" || b.Compile == nil {
		return ""
	}
	compiled := functionOf(b.Compile.Frame.Pos, b.Compile)
	for i := len(b.Stack) - 1; i >= 0; i-- {
		p := b.Stack[i]
		if installedPackage(p.File) == "" && !frameworkFile(p.File) {
			what = "what " + shortPlace(p.File, p.Line) + " calls"
			break
		}
		if functionOf(p, nil) == compiled { // all of what is compiled is the library's
			break
		}
	}
	return fmt.Sprintf(" The line is %s's: where it cannot change, keep %s outside, or compile what comes before and behind it.", name, what)
}

// installedPackage is the library of a file that was installed; "" where it is the
// program's own.
func installedPackage(file string) string {
	_, rest, ok := strings.Cut(file, "-packages/")
	if !ok {
		return ""
	}
	name, _, inside := strings.Cut(rest, "/")
	if !inside {
		return strings.TrimSuffix(name, ".py")
	}
	return name
}

// unknownNumber says whether a branch asks a size or number that the compiler left
// without a value; such a branch chooses between programs, not between tensors.
func unknownNumber(b *Break) bool {
	return b.Code == breaks.DataDependentBranching && strings.Contains(b.Context, "SymNodeVariable")
}

// drawsNumber says whether a condition asks for a random number: one of Python's own
// generator, which Dynamo turns into an input of the graph, or one that torch draws for this
// line alone. Both are others in a graph than in eager execution, so that a branch which is
// captured with them gives other results.
func drawsNumber(b *Break) bool {
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
func callee(b *Break) string {
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
	for from > 0 && (letterOrDigit(code[from-1]) || code[from-1] == '.') {
		from--
	}
	if from > 0 && strings.IndexByte(")]\"'", code[from-1]) >= 0 { // a method of an expression
		return name
	}
	return code[from : at+len(last)]
}

// disabledBecause is the reason that a program gives for disabling a function.
func disabledBecause(b *Break) string {
	if b.Code != breaks.Disabled && b.Code != breaks.DisabledInline {
		return ""
	}
	_, rest, ok := strings.Cut(b.Explanation, "(reason: ")
	if !ok || strings.HasPrefix(rest, "None)") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSpace(rest), ")")
}

// builtinName reads the built-in out of the context of a break at one:
// "builtin open [<class ...>] False", in older releases "builtin: open [...]" or
// "call_function BuiltinVariable(open) [...]"; "" where another cause broke.
func builtinName(b *Break) string {
	if b.Code != breaks.BuiltinPrint {
		return ""
	}
	for _, opening := range []string{"builtin ", "builtin: ", "call_function BuiltinVariable("} {
		if rest, ok := strings.CutPrefix(b.Context, opening); ok {
			if i := strings.IndexAny(rest, " )"); i > 0 {
				return rest[:i]
			}
			return rest
		}
	}
	return ""
}

// boilerplate says whether a hint tells how likely a fix of the framework is
// and not what to change.
func boilerplate(hint string) bool {
	for _, s := range []string{"report an issue", "file an issue", "It may be possible to write Dynamo tracing rules", "This graph break is fundamental", "This graph break may be difficult", "This graph break may have been caused by an earlier", "This is likely to be a Dynamo bug", "Your code may result in an error when running in eager", "Avoid calling", "Avoid using the unsupported", "see https://", "Please report", "file an issue", "it is a Python builtin", "For the common pattern"} {
		if strings.Contains(hint, s) {
			return true
		}
	}
	return false
}

// whereRewrite turns "if COND: x = EXPR" into "x = torch.where(COND, EXPR, x)".
func whereRewrite(code string) []string {
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

// fixRecompile advises on the newest entry's guard, which is the one that was
// tried first.
func fixRecompile(rc *Recompile, engine string) Fix {
	return rc.advise(&traceFacts{ours: strings.HasPrefix(engine, "tcdbg")})
}

// advise advises on a recompile, with what the whole report tells of it.
func (rc *Recompile) advise(x *traceFacts) Fix {
	rc.facts = x
	switch {
	case len(rc.Failures) == 0:
		return Fix{}
	case x.ours:
		return goRecompile(rc)
	}
	return adviseRecompile(recompileFinding(rc, x))
}

// keywordChange says how the keywords of a call differ from those of the entry's, of a
// function that takes any.
func keywordChange(rc *Recompile, g *GuardFailure) string {
	if g.Kind != breaks.LengthChanged || plainSource(g.Source) != "kwargs" {
		return ""
	}
	entry := rc.entry(g)
	if entry == nil {
		return ""
	}
	now, before := keywordsOf(rc.Compile), keywordsOf(entry)
	var parts []string
	if s := surplus(plain(now), plain(before)); s != "" {
		parts = append(parts, "comes with "+s)
	}
	if s := surplus(plain(before), plain(now)); s != "" {
		parts = append(parts, "comes without "+s)
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("the call %s, which the call of entry %s did not: two kinds of calls are two entries; pass the same keywords in every call where one is meant", strings.Join(parts, " and "), g.Entry)
}

// entry finds the compile that a failed guard belongs to.
func (rc *Recompile) entry(g *GuardFailure) *Compile {
	_, number, ok := strings.Cut(g.Entry, "/")
	list := rc.Compile.Frame.Compiles // in the order of their numbers
	i, found := slices.BinarySearchFunc(list, atoi(number), func(c *Compile, n int) int { return c.ID.Compile - n })
	if !ok || !found {
		return nil
	}
	return list[i]
}

// keywordsOf lists the keywords by which tensors came into a compile.
func keywordsOf(c *Compile) []string {
	var out []string
	for _, s := range c.Sources {
		rest, ok := strings.CutPrefix(plainSource(s), "kwargs['")
		if word, _, closed := strings.Cut(rest, "']"); ok && closed && !slices.Contains(out, word) {
			out = append(out, word)
		}
	}
	return out
}

// setByBreak finds the break whose line gave a local of a resumed function its value,
// as start = time.time() does.
func setByBreak(rc *Recompile, name string) (logs.Pos, bool) {
	fr := rc.Compile.Frame
	if fr.Parent == nil {
		return logs.Pos{}, false
	}
	for _, from := range append([]*Frame{fr.Parent}, fr.Parent.Resumes...) {
		for _, c := range from.Compiles {
			for _, b := range c.Breaks {
				if strings.HasPrefix(squeeze(b.Pos.Code), name+" = ") {
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
func argumentName(rc *Recompile, g *GuardFailure) string {
	if g.Argument != "" || g.Nameless {
		return g.Argument
	}
	name := strings.TrimSuffix(plainSource(g.Source), codeOfFunction)
	if keyword, ok := keywordOf(name); ok && !frameworkFile(rc.Compile.Frame.Pos.File) {
		return keyword
	}
	if name == "" || name == "args" || name == "kwargs" || strings.HasPrefix(name, "args[") || strings.HasPrefix(name, "kwargs[") || strings.Contains(name, "__") {
		return ""
	}
	if file := rc.Compile.Frame.Pos.File; frameworkFile(file) && !publicFunction(rc.Compile.Frame) || strings.HasPrefix(file, "<eval_with_key>") {
		return "" // such as the backward pass that compiled autograd writes
	}
	if _, _, resumed := resumedFunction(rc.Compile.Frame.Name); resumed || rc.Compile.Frame.Parent != nil {
		if g.Kind == breaks.SizeChanged || g.Kind == breaks.StrideChanged || g.Kind == breaks.RankChanged || g.Kind == breaks.DtypeChanged ||
			g.Kind == breaks.ValueChanged && strings.Contains(name, "[") {
			return ""
		}
	}
	return name
}

// codeOfFunction ends the name of a function whose code is checked.
const codeOfFunction = ".__code__"

// publicFunction says whether a function of torch is one that programs compile by itself,
// as flex_attention: its arguments are the program's.
func publicFunction(fr *Frame) bool {
	return !strings.HasPrefix(fr.Name, "_") && (strings.Contains(fr.Pos.File, "/torch/nn/attention/") || strings.HasSuffix(fr.Pos.File, "/torch/nn/functional.py"))
}

// isLearningRate knows the number that schedulers change within an optimizer: it is
// the program's, though the guard stands in the framework.
func isLearningRate(g *GuardFailure) bool {
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

// plainSource turns L['x'] and G['K'] into x and K, and what a Go function's literal
// captures, f.__closure__['n'], into n. In PyTorch's closures the cells have numbers.
func plainSource(s string) string {
	for {
		function, rest, ok := strings.Cut(s, ".__closure__['")
		name, rest, closed := strings.Cut(rest, "']")
		if !ok || !closed {
			break
		}
		s = strings.TrimRightFunc(function, func(r rune) bool { return r != ' ' && r != '(' && r != '*' && r != '&' && r != '-' }) + name + rest
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "['")
		if i < 0 {
			break
		}
		if i == 0 || s[i-1] != 'L' && s[i-1] != 'G' {
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		name, rest, ok := strings.Cut(s[i+2:], "']")
		if !ok || name == "" {
			break
		}
		b.WriteString(s[:i-1])
		b.WriteString(name)
		s = rest
	}
	b.WriteString(s)
	return valueOfDict(b.String())
}

// valueOfDict writes the values of a dict by their number as a program does:
// list(d.values())[0] for dict.__getitem__(d, list(dict.keys(d))[0]).
func valueOfDict(s string) string {
	before, rest, ok := strings.Cut(s, "dict.__getitem__(")
	dict, after, found := strings.Cut(rest, ", list(dict.keys(")
	after, same := strings.CutPrefix(after, dict+"))[")
	number, after, closed := strings.Cut(after, "])")
	if !ok || !found || !same || !closed || number == "" || strings.Trim(number, "0123456789") != "" {
		return s
	}
	return before + "list(" + dict + ".values())[" + number + "]" + after
}

// advise lists what to do first, the costliest first.
func advise(r *Report) {
	type item struct {
		a    Advice
		cost float64
	}
	var items []item
	for _, g := range r.Breaks {
		if g.Lead.Noise || g.CausedBy != nil || g.Fix.Text == "" {
			continue
		}
		cost := strings.TrimPrefix(g.often(), "seen in ") // a line has little room
		if len(g.Lost) > 0 {
			cost += ", " + g.lostWords()
		}
		if g.Graphs > 0 {
			cost += ", adds " + count(g.Graphs, "graph")
		}
		if g.Seconds > 0 {
			cost += ", " + duration(g.Seconds)
		}
		items = append(items, item{Advice{
			Text: g.Lead.Title(), Pos: g.Lead.Pos, Fix: g.Fix, Cost: cost, Break: g, Frame: g.Lead.Compile.Frame,
		}, g.weight()})
	}
	for _, a := range wrapperAdvice(r) { // not timed, yet it is the whole model
		items = append(items, item{a, 1e5})
	}
	for _, a := range libraryAdvice(r) {
		items = append(items, item{a, a.Break.weight()})
	}
	for _, a := range compiledApart(r) {
		items = append(items, item{a, 1e4})
	}
	for _, a := range skippedAdvice(r) { // nobody knows what the later calls do
		items = append(items, item{a, 0})
	}
	for _, c := range mergedCauses(r) {
		items = append(items, item{recompileAdvice(c), c.weight()})
	}
	for _, a := range cudaGraphAdvice(r) { // every call pays, which no log times
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

// weight orders breaks by their cost. A function that runs eager pays with every call,
// which no log times.
func (g *BreakGroup) weight() float64 {
	return g.Seconds + float64(g.Graphs)*1e-3 + float64(len(g.Lost))*1e3
}

// weight orders causes among breaks by their cost. A frame that hit the limit
// has no compile left to pay for: it pays with every call, which no log times.
func (c *RecompileCause) weight() float64 {
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

// weight orders recompiles as their causes are ordered; one without a time, as in text
// logs, counts for itself.
func (rc *Recompile) weight() float64 {
	if rc.Compile.Status == Limit {
		return rc.Compile.Seconds + 1e6
	}
	return rc.Compile.Seconds + 1e-6
}

// mergedCauses joins the causes of frames of one function: every rank and every
// epoch has its own frame. What no user can act on, a resumed function's own
// locals, follows from the cause in the function before it.
func mergedCauses(r *Report) []*RecompileCause {
	type key struct {
		causeKey
		file, name string
		line       int
	}
	var out []*RecompileCause
	seen := map[key]*RecompileCause{}
	for _, fr := range r.Frames {
		_, _, resumed := resumedFunction(fr.Name)
		for _, c := range fr.Causes() {
			if c.Fix.Text == "" && (resumed || fr.wraps != nil || frameworkFile(fr.Pos.File) && !publicFunction(fr)) {
				continue
			}
			k := key{c.key(), fr.Pos.File, fr.Name, fr.Pos.Line}
			if p := fr.Parent; p != nil { // what goes on with a function recompiles with it
				if above := (key{c.key(), p.Pos.File, p.Name, p.Pos.Line}); seen[above] != nil {
					k = above
				}
			}
			if one := seen[k]; one != nil {
				one.add(c)
				continue
			}
			seen[k] = c
			out = append(out, c)
		}
	}
	return out
}

// recompileAdvice sums up the recompiles that have one cause.
func recompileAdvice(c *RecompileCause) Advice {
	g, fr := c.Lead(), c.Recompiles[0].Compile.Frame
	name := frameTitle(fr)
	a := Advice{Text: name + " recompiled: " + failureText(g), Pos: g.Pos, Fix: c.Fix, Cause: c, Frame: fr}
	if len(c.Recompiles) > 1 {
		kind, _ := breaks.Recompile(g.Kind)
		a.Text = name + " recompiled: " + kind.Short
	}
	if a.Pos.File == "" || frameworkFile(a.Pos.File) || a.Pos.Code == "" && toldByTorch(a.Pos.File) {
		a.Pos = fr.Pos // torch's own check
	}
	if c.compiled() == 0 && fr.Sum().Compiles == 0 { // another module filled the limit
		a.Text = strings.Replace(a.Text, " recompiled: ", " was not compiled: ", 1)
	}
	a.Cost = count(c.compiled(), "recompile")
	if c.Seconds > 0 {
		a.Cost += ", " + duration(c.Seconds)
	}
	if c.Limit {
		a.Cost += ", limit reached: " + c.Recompiles[len(c.Recompiles)-1].atLimit()
	}
	return a
}

// shortPlace is "file.py:12".
func shortPlace(file string, line int) string {
	if file == "" {
		return "?"
	}
	return filepath.Base(file) + ":" + itoa(line)
}
