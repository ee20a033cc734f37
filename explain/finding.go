package explain

import (
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain/advice"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file reads what the table of advice asks of a break, a recompile or a failure of a
// PyTorch program out of the trace.

// breakFinding is a break as the table asks of it.
func breakFinding(b *Break) *advice.Finding {
	f := &advice.Finding{
		Kind: advice.Break, Line: b.Pos.Code, In: b.Pos.Func, Place: shortPlace(b.Pos.File, b.Pos.Line),
		Code: b.Code, Context: b.Context, Explanation: b.Explanation, Hints: b.Hints, Raw: b.Raw,
		Expr: expression(b.Pos), Callee: callee(b), Builtin: builtinName(b), FromRandom: drawsNumber(b), Reason: disabledBecause(b),
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
	if line := firstLine(p.Code); p.Col > 0 && p.Col < p.EndCol && p.EndCol <= len(line)+1 {
		return line[p.Col-1 : p.EndCol-1]
	}
	return ""
}

// packs says whether the function of a break packs sequences, or names what is packed.
func packs(b *Break) bool {
	if strings.Contains(b.Pos.Code, "pack") || b.Compile == nil {
		return strings.Contains(b.Pos.Code, "pack")
	}
	whole := b.Compile.Frame
	if whole.Parent != nil {
		whole = whole.Parent
	}
	for _, part := range append([]*Frame{whole}, whole.Resumes...) {
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
func failureFinding(fl *Failure) *advice.Finding {
	return &advice.Finding{
		Kind: advice.Failure, Line: fl.Pos.Code, Place: shortPlace(fl.Pos.File, fl.Pos.Line),
		Code: fl.Code, Context: fl.Context, Explanation: fl.Reason, Hints: fl.Hints, Raw: fl.Type,
	}
}

// adviseBreak is the proven advice on a break, else PyTorch's own hint where it tells the
// user to do something, marked as untried.
func adviseBreak(f *advice.Finding) Fix {
	if text, id, settled := advice.Advise(f); text != "" {
		return Fix{Text: text, Row: id, Settled: settled}
	}
	for _, h := range f.Hints {
		if !boilerplate(h) && !failedHint(h) {
			return Fix{Text: "PyTorch says (untried): " + firstLine(h), Untried: true}
		}
	}
	return Fix{}
}

// failedHint says whether a hint names a setting that ends programs: with these set, a
// tensor as an index and a branch on what was read out fail to compile, which a break does
// not. Where one of them is proven to help, a row of the table says so. The hint on tolist()
// asks for integers, which changes the values of a tensor of floats.
func failedHint(hint string) bool {
	return strings.Contains(hint, "input tensor to `tolist()`") || strings.Contains(hint, "capture_scalar_outputs") || strings.Contains(hint, "capture_dynamic_output_shape_ops")
}

// traceFacts are what the advice on recompiles takes from the whole report.
type traceFacts struct {
	ours    bool                    // a Go program
	source  *source                 // the program's files
	symbols map[ID][]*Symbol        // by compile, those of its last attempt
	sites   map[callSite][]logs.Pos // the functions which break, by the lines that call them
	eager   map[callSite]bool       // functions that break or are not compiled, by their first lines
	lost    map[*Frame]bool         // functions that failed to compile or reached the limit
	any     bool                    // the trace records symbols at all
	named   []*Frame                // the functions of the program that are no lambdas
	frames  map[[2]string][]int     // the first lines of what was compiled, by file and name of the code
}

// gatherFacts reads them.
func gatherFacts(r *Report) *traceFacts {
	x := &traceFacts{ours: r.OfGo(), source: r.source, symbols: map[ID][]*Symbol{}, frames: map[[2]string][]int{}, sites: map[callSite][]logs.Pos{}, eager: map[callSite]bool{}, lost: map[*Frame]bool{}, any: len(r.Symbols) > 0 || !r.textual && laterThan(r.Engine, 2, 10)}
	for _, fr := range r.Frames {
		at, name := fr.Pos, fr.Name
		if fr.wraps != nil {
			at, name = *fr.wraps, fr.wraps.Func
		}
		key := [2]string{at.File, name}
		x.frames[key] = append(x.frames[key], at.Line)
		if fr.Parent == nil && fr.ofProgram() && !strings.HasPrefix(fr.Name, "<") {
			x.named = append(x.named, fr)
		}
		if slices.ContainsFunc(fr.Compiles, func(c *Compile) bool { return len(c.Breaks) > 0 || c.Status != Compiled }) {
			x.eager[callSite{at.File, at.Line}] = true
		}
		x.noteEager(fr)
	}
	last := map[ID]int{}
	for _, s := range r.Symbols {
		id := withoutAttempt(s.ID)
		if s.ID.Attempt > last[id] {
			last[id], x.symbols[id] = s.ID.Attempt, nil
		}
		x.symbols[id] = append(x.symbols[id], s)
	}
	return x
}

// callSite is a line of the program.
type callSite struct {
	file string
	line int
}

// noteEager keeps the lines that call a function which is left to eager execution from a
// break on: what it calls there is compiled by itself.
func (x *traceFacts) noteEager(fr *Frame) {
	name, _, resumed := resumedFunction(fr.Name)
	if !resumed {
		name = fr.Name
	}
	for _, c := range fr.Compiles {
		if c.Status == Limit || c.Status == Failed {
			x.lost[fr] = true
		}
		for _, b := range c.Breaks {
			if b.wrapsModel() { // which passes on what it is given
				continue
			}
			for i, p := range b.Stack {
				if i > 0 && p.Func == name && p.File == fr.Pos.File {
					if at, ok := userLine(b.Stack[:i]); ok {
						site := callSite{at.File, at.Line}
						if start := fr.start(); !slices.Contains(x.sites[site], start) {
							x.sites[site] = append(x.sites[site], start)
						}
					}
					break
				}
			}
		}
	}
}

// direct reports whether the program certainly calls a function by what torch.compile gave,
// and not within another one that is left to eager execution. Dynamo's stacks lack the last
// two calls: within such a function, the last that is left is the call of that function.
func (x *traceFacts) direct(c *Compile) bool {
	if c.Frame.ID.Frame == 0 || len(c.Stack) == 0 { // a text log has no stacks
		return true
	}
	at, ok := userLine(c.Stack[:len(c.Stack)-1])
	if !ok {
		return true
	}
	own := c.Frame.start()
	for fr := range x.lost {
		if fr.start() != own {
			return false
		}
	}
	return !slices.ContainsFunc(x.sites[callSite{at.File, at.Line}], func(p logs.Pos) bool { return p != own })
}

// stackOf is the stack that a compile was asked for with: one at the limit records none, and
// the function's last compile before it is called in the same way as far as is known.
func stackOf(c *Compile) []logs.Pos {
	if len(c.Stack) > 0 {
		return c.Stack
	}
	var last []logs.Pos
	for _, o := range c.Frame.Compiles {
		if len(o.Stack) > 0 {
			last = o.Stack
		}
	}
	return last
}

// start is where the function begins of which a frame is all or the rest.
func (fr *Frame) start() logs.Pos {
	if fr.Parent != nil {
		fr = fr.Parent
	}
	return logs.Pos{File: fr.Pos.File, Line: fr.Pos.Line}
}

// calledWithin reports whether a function was called by one that is compiled too and runs
// eager where it calls it, as after a graph break: else it would be a part of that graph.
// What wraps a model for several devices only passes its call on.
func (x *traceFacts) calledWithin(c *Compile) bool {
	stack := stackOf(c)
	for i := 0; i+1 < len(stack); i++ {
		p := stack[i]
		if strings.Contains(p.File, "torch/nn/parallel/") || strings.Contains(p.File, "torch/distributed/") {
			return false
		}
	}
	for i := 0; i+1 < len(stack); i++ {
		p := stack[i]
		if first, ok := x.compiledAt(p); ok && x.eager[callSite{p.File, first}] && x.source.mayBegin(p, first) && (p.File != c.Frame.Pos.File || p.Func != c.Frame.Name || first != c.Frame.Pos.Line) {
			return true
		}
	}
	return false
}

// enclosed reports whether a lambda is in a function that breaks, as far as a trace tells:
// the compiled function that begins last before it breaks, and so does one that the line
// calls which led to the lambda. Dynamo's stacks lack the last two calls.
func (x *traceFacts) enclosed(c *Compile) bool {
	stack := stackOf(c)
	if len(stack) == 0 {
		return false
	}
	at, ok := userLine(stack[:len(stack)-1])
	if !ok || len(x.sites[callSite{at.File, at.Line}]) == 0 {
		return false
	}
	own := c.Frame.Pos
	var around *Frame
	for _, fr := range x.named {
		if start := fr.start(); start.File == own.File && start.Line <= own.Line && (around == nil || start.Line > around.start().Line) {
			around = fr
		}
	}
	return around != nil && slices.ContainsFunc(around.Compiles, func(o *Compile) bool { return len(o.Breaks) > 0 && o.Status != Failed })
}

// compiledAt finds the compiled function that a line of a stack is of, by its first line:
// the methods forward of two classes in one file are two functions.
func (x *traceFacts) compiledAt(p logs.Pos) (first int, ok bool) {
	for _, line := range x.frames[[2]string{p.File, p.Func}] {
		if line <= p.Line && line >= first {
			first, ok = line, true
		}
	}
	return first, ok
}

// laterThan reports whether an engine is a PyTorch later than a release.
func laterThan(engine string, major, minor int) bool {
	version, ok := strings.CutPrefix(engine, "PyTorch ")
	a, rest, _ := strings.Cut(version, ".")
	b, _, _ := strings.Cut(rest, ".")
	return ok && (atoi(a) > major || atoi(a) == major && atoi(b) > minor)
}

func withoutAttempt(id ID) ID { id.Attempt = 0; return id }

// recompileFinding is a recompile as the table asks of it.
func recompileFinding(rc *Recompile, x *traceFacts) *advice.Finding {
	g := &rc.Failures[0]
	fr := rc.Compile.Frame
	f := &advice.Finding{
		Kind: advice.Recompile, Line: g.Pos.Code, Place: shortPlace(g.Pos.File, g.Pos.Line),
		Guard: g.Kind, Name: argumentName(rc, g), Function: titleOf(functionOf(fr.Pos, rc.Compile)),
		Expected: g.Expected, Actual: g.Actual, Dim: g.Dim, Text: g.Text, Compiles: 1, Keywords: keywordChange(rc, g),
	}
	switch {
	case isLearningRate(g), g.Kind == breaks.GlobalStateChanged, g.Kind == breaks.MarkingChanged, g.Kind == breaks.ShapeRelation:
		f.Name = plainSource(g.Source)
	case strings.Contains(g.Source, "___from_numpy("):
		f.Name = plainSource(g.Source)
	case g.Kind == breaks.AliasingChanged:
		f.Name = aliased(g)
	case f.Name == "" && (g.Kind == breaks.LengthChanged || g.Kind == breaks.DictKeyChanged || g.Expected == "false"):
		f.Name = keywordsDict(plainSource(g.Source))
	case f.Name == "":
		f.Name = positional(rc, plainSource(g.Source))
	}
	if rest, ok := strings.CutPrefix(plainSource(g.Source), "kwargs['"); ok && f.Name == "" && !frameworkFile(fr.Pos.File) {
		f.Name = strings.Replace(rest, "']", "", 1) // what a keyword's value holds
	}
	f.Known = x.any
	f.Baked = holdsConstant(fr, g)
	f.ManyValues = changesOften(fr, g)
	if _, err := strconv.Atoi(g.Expected); err == nil && g.Kind != breaks.SizeChanged {
		constant, known := staysConstant(rc.Compile, g)
		if g.Expected == "0" || g.Expected == "1" {
			f.Baked = f.Baked || constant || !known // what the next value becomes is not told
		} else {
			f.Held = constant
		}
	}
	if strings.Contains(g.Text, "allow_unspec_int_on_nn_module") {
		f.File = x.source.file(g.Pos)
	}
	f.Kept = strings.HasPrefix(g.Source, "G[") || strings.Contains(g.Source, "__closure__") // an argument is written L['x'], or x alone
	f.AlsoChanged = alsoChanged(rc, g, x.symbols[withoutAttempt(rc.Compile.ID)])
	f.LibraryFrame = fr.wraps == nil && (strings.Contains(fr.Pos.File, "torch/nn/modules/") || frameworkFile(fr.Pos.File) && !strings.Contains(fr.Pos.File, "/torch/") && !isWrapper(fr.Name) && x.calledWithin(rc.Compile))
	f.Reachable = f.Name != "" && reachable(f.Name)
	f.Direct = x.direct(rc.Compile)
	f.Relaid = relaid(rc, g)
	if tensor, ok := advice.StrideOf(f.Name); ok && g.Kind == breaks.ShapeRelation {
		f.Reachable = reachable(tensor) && fr.Parent == nil && !frameworkFile(fr.Pos.File) && !x.calledWithin(rc.Compile)
	}
	f.SetBy, f.CutBy = cutBefore(rc, g, f.Name)
	f.CalledWithin = x.calledWithin(rc.Compile)
	f.Within = isTensorKind(g.Kind) && f.CalledWithin
	f.Nested = advice.OfComprehension(fr.Name) || fr.Name == "<lambda>" && (f.CalledWithin || x.enclosed(rc.Compile))
	if f.CutBy != "" || f.Within {
		f.Reachable = false
	}
	fl := rc.Compile.Failure
	f.Limit = rc.Compile.Status == Limit
	if f.Failed = rc.Compile.Status == Failed && (fl == nil || fl.Type != recompileError); !f.Failed {
		numberFacts(f, rc, g, x)
	}
	f.OfArgument = ofArgument(rc, g, f.Changed)
	if s := strides(rc, g); g.Kind == breaks.StrideChanged && g.Dim < len(s) {
		f.StrideOpen = s[g.Dim] == "None"
	}
	if g.Kind == breaks.SizeChanged {
		if c := refusedMark(fr, f.Name, g.Dim); c != nil {
			f.Number, f.NumberPlace = advice.Constant, shortPlace(c.Failure.Pos.File, c.Failure.Pos.Line)
		}
	}
	return f
}

// holdsConstant says whether an entry of a function was left for a number that is neither
// 0 nor 1, which that entry therefore has as a constant.
func holdsConstant(fr *Frame, g *GuardFailure) bool {
	for _, c := range fr.Compiles {
		if c.Recompile == nil {
			continue
		}
		for i := range c.Recompile.Failures {
			o := &c.Recompile.Failures[i]
			if n, err := strconv.Atoi(o.Expected); err == nil && keyOf(o) == keyOf(g) && n != 0 && n != 1 {
				return true
			}
		}
	}
	return false
}

// changesOften says whether a function was recompiled at least three times for what a guard
// is about.
func changesOften(fr *Frame, g *GuardFailure) bool {
	n := 0
	for _, c := range fr.Compiles {
		if rc := c.Recompile; rc != nil && len(rc.Failures) > 0 && keyOf(&rc.Failures[0]) == keyOf(g) {
			if n++; n == 3 {
				return true
			}
		}
	}
	return false
}

// staysConstant says whether the entry of a compile has a number as a constant that is
// neither 0 nor 1; known is false where its guards are not recorded.
func staysConstant(c *Compile, g *GuardFailure) (constant, known bool) {
	if c.Guards == nil || c.Guards.Leaves > manyGuards {
		return false, false
	}
	walkGuards(c.Guards.Root(), func(n *GuardNode) {
		_, value, ok := strings.Cut(n.Text, " == ")
		constant = constant || ok && n.Kind == "EQUALS_MATCH" && plainSource(n.Source) == plainSource(g.Source) && value != "0" && value != "1"
	})
	return constant, true
}

// alsoChanged names what the failed entry has as a constant and the new one has as another
// constant, or as an input: where a size changed as well, the new entry is there for that, too.
func alsoChanged(rc *Recompile, g *GuardFailure, symbols []*Symbol) string {
	entry := rc.entry(g)
	if g.Kind != breaks.SizeChanged || entry == nil || entry.Guards == nil || rc.Compile.Guards == nil || rc.Compile.Guards.Leaves > manyGuards {
		return ""
	}
	for _, c := range DiffGuards(entry.Guards.Root(), rc.Compile.Guards.Root()) {
		name := plainSource(c.Source)
		if c.Kind != "EQUALS_MATCH" || c.Old == "" || !isIdentifier(strings.ReplaceAll(name, ".", "_")) {
			continue
		}
		if countsItself(rc.Compile.Frame, name) {
			continue
		}
		if c.New != "" || slices.ContainsFunc(symbols, func(s *Symbol) bool { return plainSource(s.Source) == name }) {
			return name
		}
	}
	return ""
}

// countsItself says whether a function was recompiled for an int of a module alone: what is
// said of that comes first, and of the size then.
func countsItself(fr *Frame, name string) bool {
	return slices.ContainsFunc(fr.Compiles, func(c *Compile) bool {
		return c.Recompile != nil && len(c.Recompile.Failures) > 0 && plainSource(c.Recompile.Failures[0].Source) == name && strings.Contains(c.Recompile.Failures[0].Text, "allow_unspec_int_on_nn_module")
	})
}

// relaid says whether the layout of a tensor changed with its size: its strides that are no
// product of the size differ.
func relaid(rc *Recompile, g *GuardFailure) bool {
	entry := rc.entry(g)
	if g.Kind != breaks.SizeChanged || entry == nil || entry.Guards == nil || rc.Compile.Guards == nil || rc.Compile.Guards.Leaves > manyGuards {
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
func strides(rc *Recompile, g *GuardFailure) []string {
	if rc.Compile.Guards == nil || rc.Compile.Guards.Leaves > manyGuards {
		return nil
	}
	return stridesOf(rc.Compile.Guards.Root(), g.Source)
}

// ofArgument names what an argument of the whole function holds and the rest of it, after a
// break, asks for: its size changed, with no other. The whole function is known to have the
// argument where it asks for something else that it holds.
func ofArgument(rc *Recompile, g *GuardFailure, changed []string) string {
	name := plainSource(g.Source)
	root, _, held := strings.Cut(name, "['")
	fr := rc.Compile.Frame.Parent
	if fr == nil || g.Kind != breaks.SizeChanged || !held || !isIdentifier(root) || strings.HasPrefix(root, "__") || !slices.Equal(changed, []string{name + ", " + itoa(g.Dim)}) {
		return ""
	}
	asked := false
	for _, c := range fr.Compiles {
		for _, s := range c.Sources {
			if plainSource(s) == name { // the whole function recompiles for it itself
				return ""
			}
			asked = asked || strings.HasPrefix(plainSource(s), root+"['")
		}
	}
	if !asked {
		return ""
	}
	return name
}

// stridesOf reads the strides that an entry expects of a tensor.
func stridesOf(root *GuardNode, source string) []string {
	var out []string
	walkGuards(root, func(n *GuardNode) {
		if n.Kind != "TENSOR_MATCH" || plainSource(n.Source) != plainSource(source) {
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
func aliased(g *GuardFailure) string {
	names := strings.ReplaceAll(plainSource(g.Source), `"`, "")
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
func positional(rc *Recompile, source string) string {
	rest, ok := strings.CutPrefix(source, "args[")
	if fr := rc.Compile.Frame; !ok || fr.wraps == nil && !isWrapper(fr.Name) || rc.Compile.Status == Empty {
		return ""
	}
	number, rest, ok := strings.Cut(rest, "]")
	at, found := userLine(rc.Compile.Stack)
	if !ok || !found {
		return ""
	}
	if args, n := simpleCall(at.Code), atoi(number); n < len(args) && isIdentifier(args[n]) {
		return args[n] + rest
	}
	return "argument " + itoa(atoi(number)+1) + rest + " of the call at " + shortPlace(at.File, at.Line)
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
func cutBefore(rc *Recompile, g *GuardFailure, name string) (setBy, cutBy string) {
	fr := rc.Compile.Frame
	_, line, resumed := resumedFunction(fr.Name)
	if !resumed && fr.Parent == nil || g.Kind == breaks.Raced || g.Kind == breaks.BackendChanged || g.Kind == breaks.GlobalStateChanged {
		return "", "" // nothing that crosses the break
	}
	if name != "" {
		if at, ok := setByBreak(rc, name); ok {
			return shortPlace(at.File, at.Line), ""
		}
	}
	if line == 0 || strings.HasPrefix(g.Source, "G[") || name != "" && !isTensorKind(g.Kind) {
		return "", ""
	}
	return "", shortPlace(fr.Pos.File, line)
}

// isTensorKind says whether a guard is about what a tensor is like.
func isTensorKind(kind string) bool {
	switch kind {
	case breaks.SizeChanged, breaks.StrideChanged, breaks.RankChanged, breaks.DtypeChanged, breaks.SizeSpecialised, breaks.DispatchKeysChanged, breaks.RequiresGradChanged:
		return true
	}
	return false
}

// numberFacts reads what became of a number or size in the compile that its change asked
// for, and which sizes changed with it.
func numberFacts(f *advice.Finding, rc *Recompile, g *GuardFailure, x *traceFacts) {
	source := plainSource(g.Source)
	if g.Kind == breaks.SizeChanged {
		source += ".size()[" + itoa(g.Dim) + "]"
	}
	symbols := x.symbols[withoutAttempt(rc.Compile.ID)]
	for _, s := range symbols {
		if plainSource(s.Source) == source || strings.Contains(source, "("+plainSource(s.Source)+" ") {
			state, at := numberState(rc.Compile, s)
			f.Number = state
			if at.File != "" {
				f.NumberPlace, f.NumberLine = shortPlace(at.File, at.Line), at.Code
			}
		}
		if name, dim, ok := sizeOf(plainSource(s.Source)); ok && s.Specialized == "" && !strings.HasSuffix(name, "._base") { // which a view has, and no caller passes
			if named := positional(rc, name); named != "" {
				name, _, _ = strings.Cut(named, " of the call")
			} else if strings.HasPrefix(name, "args[") {
				continue
			} else if keyword, ok := keywordOf(name); ok {
				name = keyword
			}
			if reachable(name) {
				f.Changed = append(f.Changed, name+", "+itoa(dim))
			}
		}
	}
	if g.Kind != breaks.SizeChanged || f.Number != advice.Unknown {
		return
	}
	f.Changed, f.Static = nil, x.any && rc.Compile.Status == Compiled
	if !f.Static {
		f.Changed, f.Partial = []string{f.Name + ", " + itoa(g.Dim)}, true
	}
}

// numberState says what became of a symbol, and which line asked for its value.
func numberState(c *Compile, s *Symbol) (advice.Number, logs.Pos) {
	var at logs.Pos
	asked, pinned := false, false
	for _, g := range c.ShapeGuards {
		if g.Backend || !hasWord(g.Expr, s.Name) {
			continue
		}
		asked = true
		if pins(g.Expr) && !pinned { // the line to name
			at, pinned = logs.Pos{}, true
		}
		if pinned && !pins(g.Expr) {
			continue
		}
		if at.File == "" || frameworkFile(at.File) && !frameworkFile(g.Pos.File) {
			at = g.Pos
		}
	}
	switch {
	case s.Specialized != "" || pinned:
		if at.File == "" {
			at = s.Pos
		}
		return advice.Constant, at
	case asked:
		return advice.Branched, at
	}
	return advice.Input, logs.Pos{}
}

// pins says whether a guard holds for one value of what it is about, or for next to none
// besides: an expression of it equals a number, "Eq(FloatTrueDiv(zf30, 20.0), 0.025)",
// "Eq((((s23 - 1)//4)) + 1, 6)". 0 and 1 are special cases, as of a branch on a size, and a
// remainder equals a number for many values.
func pins(guard string) bool {
	args, ok := strings.CutPrefix(guard, "Eq(")
	comma := strings.LastIndex(args, ", ")
	if !ok || comma < 0 || strings.Contains(args, "Mod(") {
		return false
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(args[comma+2:], ")"), 64)
	return err == nil && n != 0 && n != 1
}

// hasWord reports whether an expression has a name as a word.
func hasWord(expr, name string) bool {
	for rest := expr; name != ""; {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if (i == 0 || !letterOrDigit(rest[i-1])) && (end == len(rest) || !letterOrDigit(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
	return false
}

// adviseRecompile is the proven advice on a recompile.
func adviseRecompile(f *advice.Finding) Fix {
	text, id, settled := advice.Advise(f)
	return Fix{Text: text, Row: id, Settled: settled}
}
