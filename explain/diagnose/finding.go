package diagnose

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file reads what the table of advice asks of a break, a recompile or a failure of a
// PyTorch program out of the trace.

// breakFinding is a break as the table asks of it.
func breakFinding(b *explain.Break) *advice.Finding {
	f := &advice.Finding{
		Kind: advice.Break, Line: b.Pos.Code, In: b.Pos.Func, Place: ShortPlace(b.Pos.File, b.Pos.Line),
		Code: b.Code, Context: b.Context, Explanation: b.Explanation, Hints: b.Hints, Raw: b.Raw,
		Expr: expression(b.Pos), Callee: callee(b), Builtin: explain.BuiltinName(b), FromRandom: drawsNumber(b), Reason: DisabledBecause(b),
		OfNumPy: NumPyNumber(b.Value),
	}
	if b.Compile != nil {
		_, line, resumed := explain.ResumedFunction(b.Compile.Frame.Name)
		f.Resumed = resumed && line == b.Pos.Line
	}
	if strings.Contains(b.Explanation+b.Raw, "RNN") { // one of thousands: packs reads the whole function
		f.Packed = packs(b)
	}
	if b.Code == breaks.BuiltinPrint && f.Builtin == "" {
		f.Builtin = "print" // as older releases record it
	}
	return f
}

// expression is the part of a line that a place marks, "" where it has no columns.
func expression(p logs.Pos) string {
	if line := explain.FirstLine(p.Code); p.Col > 0 && p.Col < p.EndCol && p.EndCol <= len(line)+1 {
		return line[p.Col-1 : p.EndCol-1]
	}
	return ""
}

// packs says whether the function of a break packs sequences, or names what is packed.
func packs(b *explain.Break) bool {
	if strings.Contains(b.Pos.Code, "pack") || b.Compile == nil {
		return strings.Contains(b.Pos.Code, "pack")
	}
	whole := b.Compile.Frame
	if whole.Parent != nil {
		whole = whole.Parent
	}
	for _, part := range append([]*explain.Frame{whole}, whole.Resumes...) {
		for _, c := range part.Compiles {
			for _, o := range c.Breaks {
				if packsSequences(o.Pos.Code) {
					return true
				}
			}
		}
	}
	return false
}

// packsSequences says whether a line calls what packs sequences for an RNN.
func packsSequences(line string) bool {
	return strings.Contains(line, "pack_padded_sequence(") || strings.Contains(line, "pack_sequence(")
}

// failureFinding is a failure as the table asks of it.
func failureFinding(fl *explain.Failure) *advice.Finding {
	return &advice.Finding{
		Kind: advice.Failure, Line: fl.Pos.Code, Place: ShortPlace(fl.Pos.File, fl.Pos.Line),
		Code: fl.Code, Context: fl.Context, Explanation: fl.Reason, Hints: fl.Hints, Raw: fl.Type,
	}
}

// AdviseBreak is the proven advice on a break, else PyTorch's own hint where it tells the
// user to do something, marked as untried.
func AdviseBreak(f *advice.Finding) explain.Fix {
	if text, id, settled := advice.Advise(f); text != "" {
		return explain.Fix{Text: text, Row: id, Settled: settled}
	}
	for _, h := range f.Hints {
		if !boilerplate(h) && !failedHint(h) {
			return explain.Fix{Text: "PyTorch says (untried): " + explain.FirstLine(h), Untried: true}
		}
	}
	return explain.Fix{}
}

// failedHint says whether a hint names a setting that ends programs: with these set, a
// tensor as an index and a branch on what was read out fail to compile, and so does what
// follows torch.autograd.grad (an f-string of a number; with Inductor, a backward that
// retains the graph), which a break does not. Where one of them is proven to help, a row of the table says so. The hint on tolist()
// asks for integers, which changes the values of a tensor of floats. A break is no answer of fullgraph: where it is set there are none.
func failedHint(hint string) bool {
	return strings.Contains(hint, "input tensor to `tolist()`") || strings.Contains(hint, "capture_scalar_outputs") ||
		strings.Contains(hint, "capture_dynamic_output_shape_ops") || strings.Contains(hint, "trace_autograd_ops") ||
		strings.Contains(hint, "Set `fullgraph=False`")
}

// gatherFacts reads them.
func gatherFacts(r *explain.Report) *explain.TraceFacts {
	x := &explain.TraceFacts{
		Ours: r.OfGo(), Source: r.Source, Symbols: map[explain.ID][]*explain.Symbol{}, Frames: map[[2]string][]int{},
		Sites: map[explain.CallSite][]logs.Pos{}, Eager: map[explain.CallSite]bool{}, Lost: map[*explain.Frame]bool{},
		Any: len(r.Symbols) > 0 || !r.Textual && laterThan(r.Engine, 2, 10),
	}
	for _, fr := range r.Frames {
		at, name := fr.Pos, fr.Name
		if fr.Wraps != nil {
			at, name = *fr.Wraps, fr.Wraps.Func
		}
		key := [2]string{at.File, name}
		x.Frames[key] = append(x.Frames[key], at.Line)
		if fr.Parent == nil && fr.OfProgram() && !strings.HasPrefix(fr.Name, "<") {
			x.Named = append(x.Named, fr)
		}
		if slices.ContainsFunc(fr.Compiles, func(c *explain.Compile) bool { return len(c.Breaks) > 0 || c.Status != explain.Compiled }) {
			x.Eager[explain.CallSite{File: at.File, Line: at.Line}] = true
		}
		x.NoteEager(fr)
	}
	last := map[explain.ID]int{}
	for _, s := range r.Symbols {
		id := s.ID.WithoutAttempt()
		if s.ID.Attempt > last[id] {
			last[id], x.Symbols[id] = s.ID.Attempt, nil
		}
		x.Symbols[id] = append(x.Symbols[id], s)
	}
	return x
}

// laterThan reports whether an engine is a PyTorch later than a release.
func laterThan(engine string, major, minor int) bool {
	version, ok := strings.CutPrefix(engine, "PyTorch ")
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	return ok && (explain.Atoi(a) > major || explain.Atoi(a) == major && explain.Atoi(b) > minor)
}

// RecompileFinding is a recompile as the table asks of it.
func RecompileFinding(rc *explain.Recompile, x *explain.TraceFacts) *advice.Finding {
	g := &rc.Failures[0]
	fr := rc.Compile.Frame
	f := &advice.Finding{
		Kind: advice.Recompile, Line: g.Pos.Code, Place: ShortPlace(g.Pos.File, g.Pos.Line),
		Guard: g.Kind, Name: argumentName(rc, g), Function: explain.TitleOf(explain.FunctionOf(fr.Pos, rc.Compile)),
		Expected: g.Expected, Actual: g.Actual, Dim: g.Dim, Text: g.Text, Compiles: 1, Keywords: keywordChange(rc, g),
	}
	switch {
	case isLearningRate(g), g.Kind == breaks.GlobalStateChanged, g.Kind == breaks.MarkingChanged, g.Kind == breaks.ShapeRelation:
		f.Name = explain.PlainSource(g.Source)
	case strings.Contains(g.Source, "___from_numpy("):
		f.Name = explain.PlainSource(g.Source)
	case g.Kind == breaks.AliasingChanged:
		f.Name = aliased(g)
	case f.Name == "" && g.Expected == "false" && strings.Contains(g.Source, ".__closure__[") && g.Pos.Func != "":
		f.Name = "a variable of the function around " + g.Pos.Func
	case f.Name == "" && (g.Kind == breaks.LengthChanged || g.Kind == breaks.DictKeyChanged || g.Expected == "false"):
		f.Name = keywordsDict(explain.PlainSource(g.Source))
	case f.Name == "":
		f.Name = positional(rc, explain.PlainSource(g.Source))
	}
	if rest, ok := strings.CutPrefix(explain.PlainSource(g.Source), "kwargs['"); ok && f.Name == "" && !explain.FrameworkFile(fr.Pos.File) {
		f.Name = strings.Replace(rest, "']", "", 1) // what a keyword's value holds
	}
	if f.Name != "" && isNone(rc.Compile, g) {
		f.Guard = breaks.NoneChanged
	}
	f.Known = x.Any
	f.NoOperator, f.Rest = fr.SkippedAt() == rc.Compile, fr.Parent != nil
	f.Baked = holdsConstant(fr, g)
	f.ManyValues, f.Often = manyValues(fr, g), changesOften(fr, g)
	if _, err := strconv.Atoi(g.Expected); err == nil && g.Kind != breaks.SizeChanged {
		constant, known := StaysConstant(rc.Compile, g)
		if g.Expected == "0" || g.Expected == "1" {
			f.Held = constantLater(rc.Compile, g)
			f.Baked = f.Baked || constant || !known || f.Held // what the next value becomes is not told
		} else {
			f.Held = constant
		}
	}
	if strings.Contains(g.Text, "allow_unspec_int_on_nn_module") || strings.HasSuffix(f.Name, "]") ||
		g.Kind == breaks.LengthChanged || g.Expected == "false" {
		f.File = x.Source.About(g.Pos, f.Name)
	}
	f.Kept = strings.HasPrefix(g.Source, "G[") || strings.Contains(g.Source, "__closure__") // an argument is written L['x'], or x alone
	f.AlsoChanged = alsoChanged(rc, g, x.Symbols[rc.Compile.ID.WithoutAttempt()])
	f.BoundAt = excludes(rc, g, x.Symbols[rc.Compile.ID.WithoutAttempt()])
	f.Filled, f.FilledLine = filled(rc, g)
	f.OwnArgument = OwnArgument(rc, g, x.Source)
	f.LibraryFrame = fr.Wraps == nil && (strings.Contains(fr.Pos.File, "torch/nn/modules/") ||
		explain.FrameworkFile(fr.Pos.File) && !strings.Contains(fr.Pos.File, "/torch/") && !explain.IsWrapper(fr.Name) &&
			x.CalledWithin(rc.Compile))
	f.Reachable = f.Name != "" && reachable(f.Name)
	f.Direct = x.Direct(rc.Compile)
	f.Recompiled = recompiledElse(rc)
	f.Relaid = relaid(rc, g)
	if tensor, ok := advice.StrideOf(f.Name); ok && g.Kind == breaks.ShapeRelation {
		f.Reachable = reachable(tensor) && fr.Parent == nil && !explain.FrameworkFile(fr.Pos.File) && !x.CalledWithin(rc.Compile)
	}
	f.SetBy, f.CutBy = cutBefore(rc, g, f.Name)
	f.Given, f.Operand = onStack(rc.Compile, explain.PlainSource(g.Source))
	f.CalledWithin = x.CalledWithin(rc.Compile)
	f.Within = isTensorKind(g.Kind) && f.CalledWithin
	f.Nested = advice.OfComprehension(fr.Name) || fr.Name == "<lambda>" && (f.CalledWithin || x.Enclosed(rc.Compile))
	if f.CutBy != "" || f.Within {
		f.Reachable = false
	}
	fl := rc.Compile.Failure
	if f.Limit = rc.Compile.Status == explain.Limit; f.Limit {
		f.FilledBy, f.FilledTimes, f.Before = filledLimit(rc, g)
	}
	if f.Failed = rc.Compile.Status == explain.Failed && (fl == nil || fl.Type != explain.RecompileError); !f.Failed {
		numberFacts(f, rc, g, x)
		f.Partial = f.Partial || askedElsewhere(f, rc, g)
	}
	f.NoEntry = noEntry(rc.Compile)
	if g.Kind == breaks.DictKeyChanged || strings.HasPrefix(g.Expected, "'") || strings.HasPrefix(g.Expected, `"`) {
		f.Body, f.At = x.Source.Function(g.Pos)
	}
	afterBreak(f, rc, g, x)
	if s := strides(rc, g); g.Kind == breaks.StrideChanged && g.Dim < len(s) {
		f.StrideOpen = s[g.Dim] == "None"
	}
	if g.Kind == breaks.SizeChanged {
		if c := explain.RefusedMark(fr, f.Name, g.Dim); c != nil {
			f.Number, f.NumberPlace = advice.Constant, ShortPlace(c.Failure.Pos.File, c.Failure.Pos.Line)
		}
	}
	return f
}

// noEntry is the place of the break at which a compile left its function to eager execution
// without an entry, "" where it made one.
func noEntry(c *explain.Compile) string {
	if c.Status != explain.Skipped || len(c.Breaks) == 0 {
		return ""
	}
	at := c.Breaks[0].Pos
	return ShortPlace(at.File, at.Line)
}

// holdsConstant says whether an entry of a function was left for a number that is neither
// 0 nor 1, which that entry therefore has as a constant.
func holdsConstant(fr *explain.Frame, g *explain.GuardFailure) bool {
	for _, c := range fr.Compiles {
		if c.Recompile == nil {
			continue
		}
		for i := range c.Recompile.Failures {
			o := &c.Recompile.Failures[i]
			if n, err := strconv.Atoi(o.Expected); err == nil && explain.KeyOf(o) == explain.KeyOf(g) && n != 0 && n != 1 {
				return true
			}
		}
	}
	return false
}

// constantLater says whether an entry made after a compile, when the number was known to change,
// has it as a constant all the same.
func constantLater(c *explain.Compile, g *explain.GuardFailure) bool {
	return slices.ContainsFunc(c.Frame.Compiles, func(o *explain.Compile) bool {
		if o.ID.Compile <= c.ID.Compile {
			return false
		}
		constant, _ := StaysConstant(o, g)
		return constant
	})
}

// recompiledElse says whether a function was compiled again for another cause than a size,
// before a recompile or after it: a tensor that is not marked when that entry is made fixes
// its size there.
func recompiledElse(rc *explain.Recompile) bool {
	for _, c := range rc.Compile.Frame.Compiles {
		if o := c.Recompile; o != nil && len(o.Failures) > 0 && o.Failures[0].Kind != breaks.SizeChanged {
			return true
		}
	}
	return false
}

// changesOften says whether a function was recompiled at least three times for what a guard
// is about.
func changesOften(fr *explain.Frame, g *explain.GuardFailure) bool {
	n := 0
	for _, c := range fr.Compiles {
		if rc := c.Recompile; rc != nil && len(rc.Failures) > 0 && explain.KeyOf(&rc.Failures[0]) == explain.KeyOf(g) {
			if n++; n == 3 {
				return true
			}
		}
	}
	return false
}

// filledLimit is what at least half of a function's recompiles before one that reaches the limit
// are due to, where that is another cause, with how many those are, and how many there were.
func filledLimit(rc *explain.Recompile, g *explain.GuardFailure) (by string, times, before int) {
	count := map[explain.CauseKey]int{}
	var most *explain.GuardFailure
	for _, c := range rc.Compile.Frame.Compiles {
		if c == rc.Compile {
			break
		}
		if c.Recompile == nil || len(c.Recompile.Failures) == 0 {
			continue
		}
		o := &c.Recompile.Failures[0]
		key := explain.KeyOf(o)
		if before, count[key] = before+1, count[key]+1; most == nil || count[key] > count[explain.KeyOf(most)] {
			most = o
		}
	}
	if most == nil || explain.KeyOf(most) == explain.KeyOf(g) || 2*count[explain.KeyOf(most)] < before {
		return "", 0, 0
	}
	by = explain.PlainSource(most.Source)
	if by == "" || strings.Contains(by, "___") {
		return "", 0, 0
	}
	if most.Pos.File != "" && !explain.FrameworkFile(most.Pos.File) {
		by += " (" + ShortPlace(most.Pos.File, most.Pos.Line) + ")"
	}
	return by, count[explain.KeyOf(most)], before
}

// manyValues says whether what a guard is about has had four values or more: entries were left
// for four, or for three in one call, which came with a fourth. Entries left for three in several
// calls do not tell: a call that another cause has compiled again may come with one of the three.
func manyValues(fr *explain.Frame, g *explain.GuardFailure) bool {
	key, seen := explain.KeyOf(g), map[string]bool{}
	for _, c := range fr.Compiles {
		if c.Recompile == nil {
			continue
		}
		left := map[string]bool{}
		for i := range c.Recompile.Failures {
			if o := &c.Recompile.Failures[i]; o.Kind == g.Kind && explain.KeyOf(o) == key {
				seen[o.Expected], left[o.Expected] = true, true
			}
		}
		if len(left) >= 3 {
			return true
		}
	}
	return len(seen) >= 4
}

// isNone says whether the new entry has None where the failed one had a value.
func isNone(c *explain.Compile, g *explain.GuardFailure) bool {
	none := false
	if !c.Guards.Told() || c.Guards.Leaves > manyGuards || g.Kind == breaks.NoneChanged {
		return false
	}
	explain.WalkGuards(c.Guards.Root(), func(n *explain.GuardNode) {
		none = none || n.Kind == "NONE_MATCH" && explain.PlainSource(n.Source) == explain.PlainSource(g.Source)
	})
	return none
}

// StaysConstant says whether the entry of a compile has a number as a constant that is
// neither 0 nor 1; known is false where its guards are not recorded.
func StaysConstant(c *explain.Compile, g *explain.GuardFailure) (constant, known bool) {
	if !c.Guards.Told() || c.Guards.Leaves > manyGuards {
		return false, false
	}
	explain.WalkGuards(c.Guards.Root(), func(n *explain.GuardNode) {
		_, value, ok := strings.Cut(n.Text, " == ")
		constant = constant || ok && n.Kind == "EQUALS_MATCH" && explain.PlainSource(n.Source) == explain.PlainSource(g.Source) &&
			value != "0" && value != "1"
	})
	return constant, true
}

// alsoChanged names what the failed entry has as a constant and the new one has as another
// constant, or as an input: where a size changed as well, the new entry is there for that, too.
func alsoChanged(rc *explain.Recompile, g *explain.GuardFailure, symbols []*explain.Symbol) string {
	entry := rc.Entry(g)
	if g.Kind != breaks.SizeChanged || entry == nil || !entry.Guards.Told() || !rc.Compile.Guards.Told() ||
		rc.Compile.Guards.Leaves > manyGuards {
		return ""
	}
	for _, c := range explain.DiffGuards(entry.Guards.Root(), rc.Compile.Guards.Root()) {
		name := explain.PlainSource(c.Source)
		if c.Kind != "EQUALS_MATCH" || c.Old == "" || !isIdentifier(strings.ReplaceAll(name, ".", "_")) {
			continue
		}
		if countsItself(rc.Compile.Frame, name) {
			continue
		}
		if c.New != "" || slices.ContainsFunc(symbols, func(s *explain.Symbol) bool { return explain.PlainSource(s.Source) == name }) {
			return name
		}
	}
	return ""
}

// countsItself says whether a function was recompiled for an int of a module alone: what is
// said of that comes first, and of the size then.
func countsItself(fr *explain.Frame, name string) bool {
	return slices.ContainsFunc(fr.Compiles, func(c *explain.Compile) bool {
		return c.Recompile != nil && len(c.Recompile.Failures) > 0 &&
			explain.PlainSource(c.Recompile.Failures[0].Source) == name && strings.Contains(
			c.Recompile.Failures[0].Text, "allow_unspec_int_on_nn_module",
		)
	})
}

// relaid says whether the layout of a tensor changed with its size: its strides that are no
// product of the size differ.
func relaid(rc *explain.Recompile, g *explain.GuardFailure) bool {
	entry := rc.Entry(g)
	if g.Kind != breaks.SizeChanged || entry == nil || !entry.Guards.Told() || !rc.Compile.Guards.Told() ||
		rc.Compile.Guards.Leaves > manyGuards {
		return false
	}
	before, now := stridesOf(entry.Guards.Root(), g.Source), stridesOf(rc.Compile.Guards.Root(), g.Source)
	for i := range min(len(before), len(now)) {
		if before[i] != now[i] && before[i] != "None" && now[i] != "None" {
			return true
		}
	}
	return false
}

// strides reads the strides of the tensor of a failed guard that the new entry expects.
func strides(rc *explain.Recompile, g *explain.GuardFailure) []string {
	if !rc.Compile.Guards.Told() || rc.Compile.Guards.Leaves > manyGuards {
		return nil
	}
	return stridesOf(rc.Compile.Guards.Root(), g.Source)
}

// OfArgument names what an argument of the whole function holds and the rest of it, after a
// break, asks for: its size changed, with no other. The whole function is known to have the
// argument where it asks for something else that it holds.
func OfArgument(rc *explain.Recompile, g *explain.GuardFailure, changed []string) string {
	name := explain.PlainSource(g.Source)
	root, _, held := strings.Cut(name, "['")
	fr := rc.Compile.Frame.Parent
	if fr == nil || g.Kind != breaks.SizeChanged || !held || !isIdentifier(root) || strings.HasPrefix(root, "__") || !slices.Equal(
		changed, []string{name + ", " + strconv.Itoa(g.Dim)},
	) {
		return ""
	}
	asked := false
	for _, c := range fr.Compiles {
		for _, s := range c.Sources {
			if explain.PlainSource(s) == name { // the whole function recompiles for it itself
				return ""
			}
			asked = asked || strings.HasPrefix(explain.PlainSource(s), root+"['")
		}
	}
	if !asked {
		return ""
	}
	return name
}

// stridesOf reads the strides that an entry expects of a tensor.
func stridesOf(root *explain.GuardNode, source string) []string {
	var out []string
	explain.WalkGuards(root, func(n *explain.GuardNode) {
		if n.Kind != "TENSOR_MATCH" || explain.PlainSource(n.Source) != explain.PlainSource(source) {
			return
		}
		if _, rest, ok := strings.Cut(n.Text, "stride=["); ok {
			list, _, _ := strings.Cut(rest, "]")
			out = strings.Split(list, ", ")
		}
	})
	return out
}

// manyGuards is how many guards are too many to compare for one advice.
const manyGuards = 5000

// aliased names the tensors that are one in some calls: "a and b".
func aliased(g *explain.GuardFailure) string {
	names := strings.ReplaceAll(explain.PlainSource(g.Source), `"`, "")
	return strings.ReplaceAll(names, ", ", " and ")
}

// keywordsDict is the name of a function's keyword arguments, whichever it has.
func keywordsDict(source string) string {
	if source == "kwargs" {
		return source
	}
	return ""
}

// positional names an argument of a callable without a frame of its own, such as
// nn.Sequential, by its number and the line of the call.
func positional(rc *explain.Recompile, source string) string {
	rest, ok := strings.CutPrefix(source, "args[")
	if fr := rc.Compile.Frame; !ok || fr.Wraps == nil && !explain.IsWrapper(fr.Name) || rc.Compile.Status == explain.Empty {
		return ""
	}
	number, rest, ok := strings.Cut(rest, "]")
	at, found := explain.UserLine(rc.Compile.Stack)
	if !ok || !found {
		return ""
	}
	if args, n := SimpleCall(at.Code), explain.Atoi(number); n < len(args) && isIdentifier(args[n]) {
		return args[n] + rest
	}
	return "argument " + strconv.Itoa(explain.Atoi(number)+1) + rest + " of the call at " + ShortPlace(at.File, at.Line)
}

// reachable reports whether the caller of a function has an expression's value before the
// call: an argument, or what it holds; not what an object keeps for itself.
func reachable(name string) bool {
	root, rest, dotted := strings.Cut(name, ".")
	return !dotted || root != "self" && !strings.ContainsAny(rest, "[(.")
}

// cutBefore finds the graph break after which the recompiled part of a function begins: the
// place whose line gave the name its value, and else the place across which a value comes
// that no caller has.
func cutBefore(rc *explain.Recompile, g *explain.GuardFailure, name string) (setBy, cutBy string) {
	fr := rc.Compile.Frame
	_, line, resumed := explain.ResumedFunction(fr.Name)
	if !resumed && fr.Parent == nil || g.Kind == breaks.Raced || g.Kind == breaks.BackendChanged || g.Kind == breaks.GlobalStateChanged {
		return "", "" // nothing that crosses the break
	}
	if name != "" {
		if at, ok := setByBreak(rc, name); ok {
			return ShortPlace(at.File, at.Line), ""
		}
	}
	if line == 0 || strings.HasPrefix(g.Source, "G[") || name != "" && !isTensorKind(g.Kind) {
		return "", ""
	}
	return "", ShortPlace(fr.Pos.File, line)
}

// isTensorKind says whether a guard is about what a tensor is like.
func isTensorKind(kind string) bool {
	switch kind {
	case breaks.SizeChanged, breaks.StrideChanged, breaks.RankChanged, breaks.DtypeChanged, breaks.SizeSpecialised,
		breaks.DispatchKeysChanged, breaks.RequiresGradChanged:
		return true
	}
	return false
}

// numberFacts reads what became of a number or size in the compile that its change asked
// for, and which sizes changed with it.
func numberFacts(f *advice.Finding, rc *explain.Recompile, g *explain.GuardFailure, x *explain.TraceFacts) {
	source := explain.PlainSource(g.Source)
	if g.Kind == breaks.SizeChanged {
		source += ".size()[" + strconv.Itoa(g.Dim) + "]"
	}
	symbols := x.Symbols[rc.Compile.ID.WithoutAttempt()]
	for _, s := range symbols {
		name, state, at, recorded := explain.PlainSource(s.Source), advice.Unknown, logs.Pos{}, true
		if name == source || strings.Contains(source, "("+name+" ") || computedOf(source, name) {
			if state, at = numberState(rc.Compile, s); state == advice.Constant && at.File == "" {
				at, recorded = s.Pos, false
			}
			if later := failsAt(rc.Compile, name); state == advice.Branched && later.File != "" {
				at = later
			}
		}
		if computed := name != source && computedOf(source, name); computed && state == advice.Constant {
			f.Name = name // the number itself is needed, on the side of the branch that this call takes
		} else if computed && !strings.Contains(source, "("+name+" ") {
			state = advice.Unknown
		}
		if state != advice.Unknown {
			f.Number = state
			if at.File != "" {
				f.NumberPlace, f.NumberLine = ShortPlace(at.File, at.Line), at.Code
				body, _ := x.Source.Function(at)
				f.FirstUse = !recorded && strings.HasPrefix(s.Name, "zf") && !advice.OnlyLine(body, name)
			}
		}
		if _, _, size := explain.SizeOf(explain.PlainSource(s.Source)); size && s.Specialized != "" && s.Hint == g.Actual &&
			g.Kind == breaks.SizeChanged {
			_, at := numberState(rc.Compile, s)
			if at.File == "" {
				at = s.Pos
			}
			if at.File != "" && !explain.FrameworkFile(at.File) && !lengthAcross(rc.Compile, g.Actual) {
				f.NeededAt = ShortPlace(at.File, at.Line)
			}
		}
		// which a view has, and no caller passes
		if name, dim, ok := explain.SizeOf(explain.PlainSource(s.Source)); ok && s.Specialized == "" && !strings.HasSuffix(name, "._base") {
			if named := positional(rc, name); named != "" {
				name, _, _ = strings.Cut(named, " of the call")
			} else if strings.HasPrefix(name, "args[") {
				continue
			} else if keyword, ok := keywordOf(name); ok {
				name = keyword
			}
			if f.Hidden = f.Hidden || hidden(name); reachable(name) {
				f.Changed = append(f.Changed, name+", "+strconv.Itoa(dim))
			}
		}
	}
	if f.Number == advice.Unknown && explain.IsNumber(g.Expected) && opensLater(rc.Compile, g) {
		f.Number = advice.Input
	}
	if g.Kind != breaks.SizeChanged || f.Number != advice.Unknown {
		return
	}
	f.Changed, f.Static = nil, x.Any && rc.Compile.Status == explain.Compiled
	if !f.Static {
		f.Changed, f.Partial = []string{f.Name + ", " + strconv.Itoa(g.Dim)}, true
	}
}

// computedOf says whether a guard is on an expression that a number is part of, as
// ((1 + self.steps) % 4): on the side of a branch that a call takes, another line may need the
// number as a constant.
func computedOf(guarded, name string) bool {
	at := strings.Index(guarded, name)
	if name == "" || at <= 0 || guarded[0] != '(' || strings.Contains(name, "size()") {
		return false
	}
	end := at + len(name)
	return strings.IndexByte(" (", guarded[at-1]) >= 0 && end < len(guarded) && strings.IndexByte(" )", guarded[end]) >= 0
}

// hidden says whether a tensor is one of what an object keeps, which no caller passes and so
// none marks: a feature that a hook has put aside.
func hidden(name string) bool {
	for _, kept := range []string{"(", "._parameters[", "._buffers["} {
		if strings.Contains(name, kept) {
			return false
		}
	}
	return !reachable(name)
}

// opensLater says whether the first entry from a compile on that asks for a number asks for its
// type alone: it is no constant of it, though the part of the function until a break uses it in
// no graph.
func opensLater(c *explain.Compile, g *explain.GuardFailure) bool {
	kinds := []string{breaks.ValueChanged, breaks.AttributeChanged, breaks.ClosureChanged}
	if g.Expected == "0" || g.Expected == "1" || !slices.Contains(kinds, g.Kind) {
		return false
	}
	for _, o := range c.Frame.Compiles {
		if o.ID.Compile < c.ID.Compile || !o.Guards.Told() || o.Guards.Leaves > manyGuards {
			continue
		}
		typed, constant := false, false
		explain.WalkGuards(o.Guards.Root(), func(n *explain.GuardNode) {
			if explain.PlainSource(n.Source) == explain.PlainSource(g.Source) {
				typed, constant = typed || n.Kind == "TYPE_MATCH", constant || n.Kind == "EQUALS_MATCH"
			}
		})
		if typed || constant {
			return typed && !constant
		}
	}
	return false
}

// failsAt is the line of the guard on a number of a compile's entry that a later call fails: of several
// lines that ask for the number, the one whose answer changes. None where no reason tells it.
func failsAt(c *explain.Compile, name string) logs.Pos {
	for _, o := range c.Frame.Compiles {
		if o.Recompile == nil {
			continue
		}
		for i := range o.Recompile.Failures {
			g := &o.Recompile.Failures[i]
			asks := strings.Contains(" "+explain.PlainSource(g.Source)+" ", " "+name+" ") // t, and t of "1 <= t <= 5"
			if asks && o.Recompile.Entry(g) == c && g.Pos.File != "" && !explain.FrameworkFile(g.Pos.File) {
				return g.Pos
			}
		}
	}
	return logs.Pos{}
}

// numberState says what became of a symbol, and which line asked for its value: none is recorded
// for a float that was made a constant when the graph was compiled, as one that is returned is.
func numberState(c *explain.Compile, s *explain.Symbol) (advice.Number, logs.Pos) {
	var at logs.Pos
	asked, pinned, openBound := false, false, false
	for _, g := range c.ShapeGuards {
		if g.Backend || !hasWord(g.Expr, s.Name) {
			continue
		}
		asked = true
		pins := Pins(g.Expr) && g.Attempt == s.ID.Attempt // one of before tracing was restarted at a break is none of the entry's
		if pins && !pinned {                              // the line to name
			at, pinned = logs.Pos{}, true
		}
		if pinned && !pins || at.File != "" && bound(g.Expr) && !openBound {
			continue
		}
		if openBound && !bound(g.Expr) { // a line that asks more is the one to name
			at = logs.Pos{}
		}
		openBound = bound(g.Expr)
		if at.File == "" || explain.FrameworkFile(at.File) && !explain.FrameworkFile(g.Pos.File) {
			at = g.Pos
		}
	}
	// The other side of t > 0, where t is never below 0, leaves one value, which no line needs.
	branch := asked && s.Reason == "range_refined_to_singleton" && (s.Specialized == "0" || s.Specialized == "1")
	switch {
	case s.Specialized != "" && !branch || pinned:
		return advice.Constant, at
	case asked:
		return advice.Branched, at
	}
	return advice.Input, logs.Pos{}
}

// Pins says whether a guard holds for one value of what it is about, or for next to none
// besides: an expression of it equals a number, "Eq(FloatTrueDiv(zf30, 20.0), 0.025)",
// "Eq((((s23 - 1)//4)) + 1, 6)". 0 and 1 are special cases, as of a branch on a size, and a
// remainder equals a number for many values.
func Pins(guard string) bool {
	args, ok := strings.CutPrefix(guard, "Eq(")
	comma := strings.LastIndex(args, ", ")
	if !ok || comma < 0 || strings.Contains(args, "Mod(") {
		return false
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(args[comma+2:], ")"), 64)
	return err == nil && n != 0 && n != 1
}

// bound says whether a guard only keeps a number from the values that have entries of their
// own, as every use of an int that is an input does: "s16 >= 2", "Ne(s16, 1)".
func bound(guard string) bool {
	if args, ok := strings.CutPrefix(guard, "Ne("); ok {
		_, value, _ := strings.Cut(args, ", ")
		return value == "0)" || value == "1)"
	}
	return strings.HasSuffix(guard, " >= 0") || strings.HasSuffix(guard, " >= 2")
}

// hasWord reports whether an expression has a name as a word.
func hasWord(expr, name string) bool {
	for rest := expr; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || !explain.LetterOrDigit(rest[i-1])) && (end == len(rest) || !explain.LetterOrDigit(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
	return false
}

// AdviseRecompile is the proven advice on a recompile.
func AdviseRecompile(f *advice.Finding) explain.Fix {
	text, id, settled := advice.Advise(f)
	if settled && f.NoOperator {
		return explain.Fix{} // it brought no entry, and cost those that there were
	}
	return explain.Fix{Text: text, Row: id, Settled: settled}
}
