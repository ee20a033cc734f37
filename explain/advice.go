package explain

import (
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file gives advice. Advice names the user's own expression, argument and
// dimension; where these are not known there is none.

// fixBreak advises on one break of a program of the given engine.
func fixBreak(b *Break, engine string) Fix {
	if b.Noise {
		return Fix{Text: "inside the framework or the standard library: nothing to change at this line"}
	}
	if text := fixLine(b, engine); text != "" {
		return Fix{Text: text + lostLoop(b) + foreign(b)}
	}
	var lines []string
	switch b.Code {
	case breaks.DataDependentBranching:
		lines = whereRewrite(b.Pos.Code)
	case breaks.GraphBreakCall:
		if whole := strings.TrimSpace(b.Pos.Code); strings.HasSuffix(whole, "graph_break()") && !strings.ContainsAny(whole, ";:") {
			lines = []string{"- " + b.Pos.Code}
		}
	}
	if text := fixText(b, engine); text != "" {
		return Fix{Text: text + lostLoop(b) + foreign(b), Lines: lines}
	}
	return Fix{Lines: lines}
}

// breakInLoop is the code of what follows from a break within a loop.
const breakInLoop = "GB7000"

// lostLoop says what a break within a loop costs more, and what saves that.
func lostLoop(b *Break) string {
	for _, ch := range b.Chained {
		if ch.Code == breakInLoop {
			return " A break within a loop leaves the whole function eager: compile the loop's body as a function of its own."
		}
	}
	return ""
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

// fixLine advises where the line tells more than the code of the break does.
func fixLine(b *Break, engine string) string {
	switch {
	case strings.HasPrefix(engine, "tcdbg"):
		return "" // these have codes of their own
	case unknownNumber(b):
		return "The number has no value while tracing (read out of a tensor, or marked unbacked): branch outside of the compiled function, say which side holds with torch._check(...), or ask with guard_or_false(...) of torch.fx.experimental.symbolic_shapes."
	case b.Code == breaks.DataDependentBranching && strings.HasPrefix(strings.TrimSpace(b.Pos.Code), "while "):
		return "Bound the loop by a constant and mask what is too much with torch.where, or leave the loop outside and compile its body."
	case b.Code == breaks.DataDependentBranching && drawsNumber(b):
		return "Draw the random number outside of the compiled function and pass in what depends on it: in here it is a tensor."
	case b.Code == breaks.DataDependentBranching && checksValues(b.Pos.Code):
		return "Check for such values outside of the compiled function; where the branch repairs them, choose with torch.where."
	case b.Code == breaks.TensorItem && sliceBound(b.Pos.Code):
		return "A tensor as the bound of a slice is read out as a number: mask instead, as torch.arange(n) < length does, or set torch._dynamo.config.capture_scalar_outputs = True."
	case b.Code == breaks.SkippedFunction && strings.Contains(b.Context, "optim/lr_scheduler.py"):
		return "A learning-rate schedule wraps step() in a function that is never traced; the step inside of it is a graph of its own, so this costs next to nothing: call step() by itself."
	case usesGenerator(b):
		return "A graph holds no torch.Generator: draw such numbers outside of the compiled function and pass them in, or draw them without a generator, after torch.manual_seed."
	case strings.Contains(b.Raw, "formatting an f-string"):
		return "Format the string outside of the compiled function: it needs the tensor's values."
	}
	return ""
}

// unknownNumber says whether a branch asks a size or number that the compiler left
// without a value; such a branch chooses between programs, not between tensors.
func unknownNumber(b *Break) bool {
	return b.Code == breaks.DataDependentBranching && strings.Contains(b.Context, "SymNodeVariable")
}

// sliceBound says whether a line that reads a number out of a tensor does so for a slice.
func sliceBound(code string) bool {
	if strings.Contains(code, ".item(") || strings.Contains(code, "int(") || strings.Contains(code, "float(") {
		return false
	}
	_, index, ok := strings.Cut(code, "[")
	return ok && strings.Contains(index, ":") && !strings.HasSuffix(strings.TrimSpace(code), ":")
}

// usesGenerator says whether a break is about a generator of random numbers.
func usesGenerator(b *Break) bool {
	return strings.Contains(b.Context, "torch._C.Generator") || strings.HasPrefix(b.Context, "torch.Generator.") ||
		b.Code == breaks.ArgumentNotProxy && strings.Contains(b.Context, "Variable(Generator)")
}

// drawsNumber says whether a condition asks Python's own generator, whose numbers
// Dynamo turns into inputs of the graph.
func drawsNumber(b *Break) bool {
	for _, v := range b.Value {
		if strings.HasPrefix(v.Func, "random_value_") {
			return true
		}
	}
	before, _, ok := strings.Cut(b.Pos.Code, "random.random()")
	return ok && !strings.HasSuffix(before, ".")
}

// checksValues says whether a condition looks for numbers that are none.
func checksValues(code string) bool {
	return strings.Contains(code, "isnan(") || strings.Contains(code, "isinf(") || strings.Contains(code, "isfinite(")
}

// fixText is the table's advice in the engine's words, else the first recorded
// hint that tells the user to do something.
func fixText(b *Break, engine string) string {
	text := breaks.TorchAdvice(b.Code)
	if strings.HasPrefix(engine, "tcdbg") {
		text = ownText(b)
	}
	if name := builtinName(b); name != "" && name != "print" {
		text = "Call " + name + " before the compiled function and pass its result in."
	}
	if text != "" {
		return naming(text, callee(b))
	}
	for _, h := range b.Hints {
		if !boilerplate(h) {
			return firstLine(h)
		}
	}
	return ""
}

// ownText is the advice on a break of a Go program: that of its cause, or where the
// break names what it is about, the better one for that.
func ownText(b *Break) string {
	switch {
	case b.Code == breaks.TensorBackward && strings.HasSuffix(b.Context, "torch.Grad"):
		return "Gradients are computed between two graphs: where they are part of the result (a second derivative, an inner step) leave the call here, CreateGraph works across it; else compile what gives the loss and call Grad outside."
	case b.Code == breaks.DynamicShapeOperator && b.Context == "operator bincount":
		return "Where the number of classes is known, count with ScatterAdd: torch.Zeros(n).ScatterAdd(0, index, torch.Ones(...)), or sum a OneHot."
	case b.Code == breaks.DynamicShapeOperator && (b.Context == "operator nonzero" || b.Context == "operator argwhere"):
		return "Use a mask and Where instead of selecting elements, or NonzeroStatic where a bound on their number is known."
	}
	if c, ok := breaks.Lookup(b.Code); ok && len(c.Hints) > 0 {
		return c.Hints[0]
	}
	return ""
}

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
	case breaks.Disabled:
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
	for _, s := range []string{"report an issue", "file an issue", "It may be possible to write Dynamo tracing rules", "This graph break is fundamental", "This graph break may be difficult", "This graph break may have been caused by an earlier", "This is likely to be a Dynamo bug", "Your code may result in an error when running in eager"} {
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

// ownEntry says whether a size is one that no open size stands for.
func ownEntry(size string) bool { return size == "0" || size == "1" }

// fixRecompile advises on the newest entry's guard, which is the one that was
// tried first.
func fixRecompile(rc *Recompile, engine string) Fix {
	if len(rc.Failures) == 0 {
		return Fix{}
	}
	g := rc.Failures[0]
	if isLearningRate(&g) {
		how := "lr=torch.tensor(...)"
		if strings.HasPrefix(engine, "tcdbg") {
			how = "kw.Lr(torch.NewTensor(...))"
		}
		return Fix{Text: "the learning rate changes: make it a tensor, " + how + ", which the graph reads anew with every step"}
	}
	if g.Kind == breaks.MarkingChanged {
		return Fix{Text: fmt.Sprintf("%s marks the dimensions %s now and %s when the entry was made: mark the same ones before every call", g.Source, g.Actual, g.Expected)}
	}
	switch g.Kind {
	case breaks.BackendChanged:
		return Fix{Text: fmt.Sprintf("%s was compiled more than once, with different backends or arguments of torch.compile, and each makes entries of its own: call torch.compile on it once and share the result", titleOf(functionOf(rc.Compile.Frame.Pos, rc.Compile)))}
	case breaks.Raced:
		return Fix{Text: "threads compiled this side by side: make the first call before they start"}
	}
	if array, ok := arrayName(plainSource(g.Source)); ok {
		return Fix{Text: fmt.Sprintf("the NumPy array %s changes: compile with dynamic=True, or pass torch.from_numpy(%s) and mark what changes", array, array)}
	}
	name := argumentName(rc, &g)
	if name == "" {
		return fixKeywords(rc, &g)
	}
	if at, ok := setByBreak(rc, name); ok {
		return Fix{Text: fmt.Sprintf("%s is set by the call that breaks the graph at %s: what removes that break removes this", name, shortPlace(at.File, at.Line))}
	}
	ours := strings.HasPrefix(engine, "tcdbg")
	switch g.Kind {
	case breaks.SizeChanged:
		if g.Dim < 0 || ours && strings.Contains(name, "(") { // what a call gave has no name to mark
			return Fix{}
		}
		call := fmt.Sprintf("torch._dynamo.mark_dynamic(%s, %d)", name, g.Dim)
		if ours {
			call = fmt.Sprintf("compiler.MarkDynamic(%s, %d)", name, g.Dim)
		}
		if fl := rc.Compile.Failure; rc.Compile.Status == Failed && (fl == nil || fl.Type != recompileError) {
			return Fix{Text: fmt.Sprintf("size %d of %s changes (%s -> %s), and the compile that leaves it open failed: pass one size, or compile for each with dynamic=False", g.Dim, name, g.Expected, g.Actual)}
		}
		if ownEntry(g.Expected) || ownEntry(g.Actual) {
			return Fix{Text: fmt.Sprintf("size %d of %s changes (%s -> %s): 0 and 1 have an entry of their own in any case; pad to 2 or more, or accept it", g.Dim, name, g.Expected, g.Actual)}
		}
		if c := refusedMark(rc.Compile.Frame, name, g.Dim); c != nil {
			return Fix{Text: fmt.Sprintf("size %d of %s changes (%s -> %s), and marking it dynamic failed at %s: see there what made it a constant", g.Dim, name, g.Expected, g.Actual, shortPlace(c.Failure.Pos.File, c.Failure.Pos.Line))}
		}
		return Fix{Text: fmt.Sprintf("size %d of %s changes (%s -> %s): call %s before the first call", g.Dim, name, g.Expected, g.Actual, call)}
	case breaks.SizeSpecialised:
		return sizeAsNumber("the marked line", name, g.Dim)
	case breaks.StrideChanged:
		how := name + ".contiguous()"
		if ours {
			how = name + ".Contiguous()"
		}
		return Fix{Text: fmt.Sprintf("the layout of %s changes: pass %s", name, how)}
	case breaks.DtypeChanged:
		return fixDtype(name, []string{g.Expected, g.Actual})
	case breaks.RequiresGradChanged:
		return Fix{Text: fmt.Sprintf("%s comes with and without requires_grad: call in one gradient mode, or detach it", name)}
	case breaks.RankChanged:
		return Fix{Text: fmt.Sprintf("the number of dimensions of %s changes: reshape it before the call", name)}
	case breaks.ValueChanged, breaks.AttributeChanged, breaks.GlobalChanged, breaks.ClosureChanged:
		if expr := plainSource(g.Source); strings.HasPrefix(expr, "(") && strings.Contains(expr, name) {
			name = expr // what was compared is an expression of it
		}
		return Fix{Text: fixValue(name, &g, ours)}
	case breaks.ShapeRelation:
		return fixRelation(&g)
	case breaks.LengthChanged:
		if strings.Contains(g.Pos.Code, ".append(") || ours && strings.Contains(squeeze(g.Pos.Code), name+" = append("+name) {
			return Fix{Text: growing(name)}
		}
		return Fix{Text: fmt.Sprintf("loops over %s are unrolled: keep its length, or stack its tensors into one", name)}
	case breaks.TrainingChanged:
		return Fix{Text: fmt.Sprintf("%s changes between training and evaluation: two entries are normal", name)}
	case breaks.TypeChanged:
		if g.Expected == "" {
			return Fix{}
		}
		if name == "self" {
			return Fix{Text: fmt.Sprintf("this method serves objects of several classes (one of %s made the entry): an entry for each is normal", g.Expected)}
		}
		return Fix{Text: fmt.Sprintf("%s changes its type from %s: pass one type", name, g.Expected)}
	case breaks.NoneChanged:
		none := "None"
		if ours {
			none = "nil"
		}
		if strings.Contains(name, ".") {
			return Fix{Text: fmt.Sprintf("%s is %s in one call and not in another: set it before the first call, or accept two entries", name, none)}
		}
		return Fix{Text: fmt.Sprintf("%s is sometimes %s: pass a value always, or accept two entries", name, none)}
	case breaks.IdentityChanged:
		if strings.HasSuffix(g.Source, codeOfFunction) {
			return Fix{Text: fmt.Sprintf("there is an entry for each function that %s is: keep them few, and make each once, not in every call", name)}
		}
		if member, ok := enumOf(&g); ok {
			return Fix{Text: fmt.Sprintf("there is an entry for each member of %s that %s is: keep them few, or choose by it before the compiled function", member, name)}
		}
		if !strings.Contains(g.Text, ", type=") { // as before 2.9, where True and None are checked like this too
			return Fix{Text: fmt.Sprintf("the graph is bound to the object that %s is: create it once and pass the same one; if it is a flag or may be None, two entries are normal", name)}
		}
		return Fix{Text: fmt.Sprintf("the graph is bound to the object %s: create it once and pass the same one", name)}
	case breaks.GlobalStateChanged:
		differ := "differs"
		if strings.Contains(name, ", ") {
			differ = "differ"
		}
		return Fix{Text: fmt.Sprintf("%s %s between calls: set it once before the first call, or accept one entry for each setting", name, differ)}
	case breaks.DictKeyChanged:
		return Fix{Text: fmt.Sprintf("the keys of %s change: keep the same keys in the same order", name)}
	}
	return Fix{}
}

// arrayName is the NumPy array behind a source that Dynamo made a tensor of.
func arrayName(source string) (string, bool) {
	rest, ok := strings.CutPrefix(source, "___from_numpy(")
	return strings.TrimSuffix(rest, ")"), ok
}

// enumOf is the class of an object of which the guard's line names a member, as in
// "if mode == Mode.FAST": such an object is a constant of the program.
func enumOf(g *GuardFailure) (string, bool) {
	_, typ, ok := strings.Cut(g.Text, ", type=")
	typ, _, _ = strings.Cut(className(strings.TrimSpace(firstLine(typ))), "'>")
	name := typ[strings.LastIndexByte(typ, '.')+1:]
	_, member, found := strings.Cut(g.Pos.Code, name+".")
	return name, ok && name != "" && found && member != "" && member[0] >= 'A' && member[0] <= 'Z'
}

// fixRelation advises on a relation between sizes that a branch of the program asked
// for, or that one size alone fulfils.
func fixRelation(g *GuardFailure) Fix {
	code := strings.TrimSpace(g.Pos.Code)
	switch {
	case strings.HasPrefix(code, "if ") || strings.HasPrefix(code, "elif "):
		return Fix{Text: "the marked line branches on a size: an entry for each side is normal"}
	case strings.HasPrefix(g.Source, "2 <= ") && strings.Count(g.Source, "<") == 1:
		return Fix{Text: "a size of 0 or 1 has an entry of its own: accept one entry more, or pass at least 2"}
	case g.Expected == "1" || g.Expected == "0":
		return Fix{Text: fmt.Sprintf("the entry was made in a call where %s is %s, which is a special case: make the first call with usual sizes", plainSource(g.Source), g.Expected)}
	}
	return Fix{}
}

// fixKeywords advises on a wrapper whose calls have other keywords than the entry's.
func fixKeywords(rc *Recompile, g *GuardFailure) Fix {
	if g.Kind != breaks.LengthChanged || plainSource(g.Source) != "kwargs" {
		return Fix{}
	}
	entry := rc.entry(g)
	if entry == nil {
		return Fix{}
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
		return Fix{}
	}
	return Fix{Text: fmt.Sprintf("the call %s, which the call of entry %s did not: two kinds of calls are two entries; pass the same keywords in every call where one is meant", strings.Join(parts, " and "), g.Entry)}
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

// fixDtype advises on a tensor that comes with several dtypes.
func fixDtype(name string, dtypes []string) Fix {
	last := len(dtypes) - 1
	return Fix{Text: fmt.Sprintf("%s comes as %s and as %s: convert it before the call", name, strings.Join(dtypes[:last], ", as "), dtypes[last])}
}

// fixValue advises on a constant of the graph: a flag and a text have few
// values, a number may have as many as there are calls.
func fixValue(name string, g *GuardFailure, ours bool) string {
	switch {
	case !ours && g.Expected == "false": // Python's not, of which a list may be the subject
		return fmt.Sprintf("%s was false or empty when the entry was made: two entries are normal", name)
	case strings.EqualFold(g.Expected, "true"), strings.EqualFold(g.Expected, "false"):
		where := "torch.where"
		if ours {
			where = "torch.Where"
		}
		return fmt.Sprintf("%s is a flag: two entries are normal; if it changes with every call, use %s on it as a tensor", name, where)
	case strings.HasPrefix(g.Expected, `"`), strings.HasPrefix(g.Expected, "'"):
		return fmt.Sprintf("there is an entry for each value of %s (here %s): keep them few, or choose by it before the compiled function", name, g.Expected)
	}
	what, fix := name, "pass "+name+" as a tensor"
	if launchedWith(g.Pos.Code, name) {
		fix = "a Triton kernel takes it as a constant (tl.constexpr); make it an ordinary argument of the kernel, or keep its values few"
	}
	switch g.Kind {
	case breaks.AttributeChanged:
		what, fix = "the attribute "+name, "keep it in a tensor (a buffer), or hoist it out of the compiled function"
	case breaks.GlobalChanged:
		what, fix = "the global "+name, "pass it as an argument, or make it a tensor"
	case breaks.ClosureChanged:
		what, fix = "the captured variable "+name, "make it a tensor or an argument"
	}
	relation := "== " + g.Expected
	if strings.Contains(g.Expected, "<") || strings.Contains(g.Expected, ">") || strings.Contains(g.Expected, "!=") {
		relation = g.Expected // a relation already
	}
	return fmt.Sprintf("the graph is specialised on %s %s: %s", what, relation, fix)
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
		strings.Contains(g.Source, ".groups[") && strings.HasSuffix(g.Source, "].Lr")
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

// plainSource turns L['x'] and G['K'] into x and K.
func plainSource(s string) string {
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
	return b.String()
}

// advise lists what to do first, dearest first.
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
		cost := g.often()
		if len(g.Lost) > 0 {
			cost += ", " + g.lostWords()
		}
		if g.Graphs > 0 {
			cost += ", splits off " + count(g.Graphs, "graph")
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
	if c.Limit {
		return c.Seconds + 1e6
	}
	if c.Fix.Settled {
		return c.Seconds - 1e6 // behind what there is to do
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
