package tracer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is one trace: the symbolic evaluation of a frame stack from where a
// region stands to the next break or the return of the compiled function.
//
// The trace drives a scratch thread of the host with copies of the frames:
// everything but tensor operators and stores to entry memory is executed by the
// host's own instructions, so there is no second implementation of Go. Beside
// each register stands a note: where the value came from on entry. Using a
// value (branching on it, indexing with it) turns its note into guards.

// shadow is what the trace knows of one frame of the scratch thread.
type shadow struct {
	frame   *host.Frame
	initial int // index among the region's frames, -1 for frames pushed by the trace
	// notes of registers; for initial frames a missing entry means: as on entry.
	notes    map[ssa.Value]*note
	assigned map[ssa.Value]bool // written by the trace
	free     []*note            // of the closure's bound variables, pushed frames only
	noGrad   ssa.Instruction    // the call of torch.NoGrad whose body this is
	apply    ssa.Instruction    // the call of autograd.Apply that this is
	backward bool               // what calls the Backward of that
}

// trace is the state of one symbolic evaluation.
type trace struct {
	t  *Tracer
	c  *Compiled
	in *host.Interp
	th *host.Thread

	base    []*host.Frame // the real frames of the region, lowest first
	callers []*host.Frame // real frames below them, lowest first
	shadows []*shadow     // of the scratch thread, lowest first
	entry   *addresses    // values on entry

	src    *sources
	guards guards
	mem    memory
	maps   map[uintptr]*traceMap
	clos   map[*host.Closure]*closureNote
	// overlays are changed maps of entry memory, by their word; overlaid lists them.
	overlays map[uintptr]*mapOverlay
	overlaid []*mapOverlay

	regions []*region // entry memory that was accessed
	touched map[regionKey]*region
	grads   gradPlaces // gradients that were accessed

	env     *sym.Env
	symbols map[*sym.Symbol]symbolOrigin
	dynamic map[string]map[int]bool // source name -> dimensions to make symbolic

	graph   *graph.Graph
	nodes   map[*torch.Tensor]*graph.Node // tensors of the trace
	inputs  []*input
	inputOf map[*torch.Tensor]*input
	mutated map[*torch.Tensor]bool
	bases   map[*torch.Tensor]*torch.Tensor // of views, whose memory they show
	born    map[*torch.Tensor]bornView
	writes  map[*torch.Tensor]written // by base
	grad    bool                      // the grad mode guard was asked for
	wants   map[*graph.Node]bool      // nodes through which gradients flow, as far as asked

	applying *application                      // the call of autograd.Apply whose bodies are traced
	reads    map[*span][]reading               // objects of the trace that a Backward has read
	watched  []watched                         // entry memory that a Backward has read
	calls    map[*graph.Graph]bodyOf           // by forward body
	sealed   map[*torch.Tensor]ssa.Instruction // memory that may not be written any more, for a call of autograd.Apply
	returned map[*torch.Tensor]ssa.Instruction // tensors that such calls gave
	retry    ssa.Instruction                   // such a call that the trace cannot keep
	retryWhy string

	id       logs.CompileID
	logged   logs.Pos // the place of the last step in the single-step log
	steps    int
	numbers  []seenNumber               // that are constants of the graph
	numberOf map[*graph.Node]graphInput // inputs that are numbers
	operands map[numberKey]*graph.Node  // those that come in a tensor
	made     []madeNode                 // calls of operators, in order
	apart    []ssa.Instruction          // an operator that reads what a gradient is asked for by
	avoid    map[ssa.Instruction]string // calls and loops in front of which to break, and what broke inside
}

// input is a tensor of the program that the graph reads.
type input struct {
	src    *source
	tensor *torch.Tensor
	node   *graph.Node
}

// closureNote is what the trace knows of a closure that it made.
type closureNote struct {
	fn    *ssa.Function
	notes []*note
}

// stop is how a trace ended.
type stop struct {
	brk    *breakPoint // nil: the compiled function returned
	result []ssa.Value // operands of its return
	frame  *host.Frame // that returned
}

// breakPoint is a place that the trace cannot pass.
type breakPoint struct {
	code   string
	detail string
	value  ssa.Value // the offending value, where there is one
}

// breakSignal unwinds the evaluator to run.
type breakSignal struct{ b *breakPoint }

func (tr *trace) breakAt(code, format string, args ...any) {
	panic(&breakSignal{&breakPoint{code: code, detail: fmt.Sprintf(format, args...)}})
}

// maxInlined bounds the calls that a trace is in: deeper ones are a recursion
// that should not be unrolled.
const maxInlined = 200

// maxSteps bounds one trace: a longer one is a loop that should not be unrolled.
const maxSteps = 2_000_000

func (tr *trace) top() *shadow { return tr.shadows[len(tr.shadows)-1] }

// run evaluates until the region returns or breaks.
func (tr *trace) run() (s *stop) {
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(*breakSignal)
			if !ok {
				panic(r)
			}
			s = &stop{brk: b.b}
		}
	}()
	for {
		if tr.t.cfg.Steps != StepNone {
			tr.logStep()
		}
		if s := tr.step(); s != nil {
			return s
		}
		if tr.steps++; tr.steps > maxSteps {
			tr.breakAt(breaks.TraceTooLong, "more than %d instructions in one trace", maxSteps)
		}
	}
}

// exec lets the host run the next instruction. A Go panic there is the
// program's own: the trace stops before it and the host meets it again.
func (tr *trace) exec() {
	if p := tr.th.Step(); p != nil {
		tr.breakAt(breaks.ObservedPanic, "the instruction panics: %v", p)
	}
}

// skip passes over an instruction that the trace has done itself.
func (tr *trace) skip() { tr.th.Top().PC++ }

// pos is the place of the instruction being traced.
func (tr *trace) pos() logs.Pos { return tr.t.posOf(tr.th.Top()) }

// codeOf is what the user wrote for an instruction: the expression that it is the
// value of, or the whole line.
func (tr *trace) codeOf(in ssa.Instruction) string {
	if v, ok := in.(ssa.Value); ok {
		if name := exprName(v); name != "" {
			return name
		}
	}
	if code := strings.TrimSpace(tr.pos().Code); code != "" {
		return code
	}
	return in.String()
}

// stack is the user's stack at this instruction, from the compiled function in.
// It ends at a line of the program where there is one: that torch's own code
// wrote x.Add(y) for it helps nobody.
func (tr *trace) stack() []graph.Frame {
	var out []graph.Frame
	user := 0
	for i := range tr.shadows {
		if p := tr.shadowPos(i); p.File != "" {
			out = append(out, frameOf(p))
			if !ownSource(p.File) {
				user = len(out)
			}
		}
	}
	if user > 0 {
		return out[:user]
	}
	if p := tr.userPos(); p.File != "" && !ownSource(p.File) { // a function of torch that is compiled itself
		return []graph.Frame{frameOf(p)}
	}
	return out
}

func frameOf(p logs.Pos) graph.Frame {
	return graph.Frame{File: p.File, Line: p.Line, Col: p.Col, Func: p.Func, Code: strings.TrimSpace(p.Code)}
}

// userPos is the innermost line of the program at this instruction: where a
// function of torch was compiled, the line that calls it.
func (tr *trace) userPos() logs.Pos {
	for i := len(tr.shadows) - 1; i >= 0; i-- {
		if p := tr.shadowPos(i); p.File != "" && !ownSource(p.File) {
			return p
		}
	}
	for i := len(tr.callers) - 1; i >= 0; i-- {
		if p := tr.t.callerPos(tr.callers[i]); p.File != "" && !ownSource(p.File) {
			return p
		}
	}
	return tr.pos()
}

// ownSource reports whether a file is one of torch's that the host interprets.
func ownSource(file string) bool { return strings.HasPrefix(file, "tcdbg/torch/") }

// shadowPos is where frame i of the scratch thread stands.
func (tr *trace) shadowPos(i int) logs.Pos {
	if i == len(tr.shadows)-1 {
		return tr.t.posOf(tr.shadows[i].frame)
	}
	return tr.t.callerPos(tr.shadows[i].frame)
}

// userStack is the whole chain of places, callers of the region included.
func (tr *trace) userStack() []logs.Pos {
	var out []logs.Pos
	for _, f := range tr.callers {
		if p := tr.t.callerPos(f); p.File != "" {
			out = append(out, p)
		}
	}
	for i := range tr.shadows {
		if p := tr.shadowPos(i); p.File != "" {
			out = append(out, p)
		}
	}
	return out
}

// newInput makes the tensor at s an input of the graph and guards it.
func (tr *trace) newInput(s *source, t *torch.Tensor) *graph.Node {
	if in, ok := tr.inputOf[t]; ok {
		if in.src != s {
			tr.guardIdentity(s, in.src, true)
		}
		return in.node
	}
	tr.notMutated(s, t)
	meta := tr.inputMeta(s, t)
	tr.guardTensor(s, t, meta)
	tr.fixGradMode()
	target := placeholderName(s)
	n := &graph.Node{Name: strings.ToLower(target[:1]) + target[1:], Kind: graph.Placeholder, Target: target, Source: s.name, Meta: meta}
	tr.graph.Insert(n, tr.firstCall())
	in := &input{src: s, tensor: t, node: n}
	tr.inputs = append(tr.inputs, in)
	tr.inputOf[t] = in
	tr.nodes[t] = n
	return n
}

// firstCall is the node in front of which placeholders go.
func (tr *trace) firstCall() *graph.Node {
	n := tr.graph.First()
	for n != nil && n.Kind == graph.Placeholder {
		n = n.Next()
	}
	return n
}

// placeholderName is Dynamo's: L['net'].Weight becomes L_net_Weight, and
// whatever no identifier may hold becomes an underscore.
func placeholderName(s *source) string {
	name := strings.NewReplacer("['", "_", "']", "_", "[", "_", "]", "_", ".", "_", "*", "", "&", "", "(", "_", ")", "", "\"", "").Replace(s.name)
	name = strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, strings.Trim(name, " "))
	for strings.Contains(name, "___") {
		name = strings.ReplaceAll(name, "___", "__")
	}
	return name
}

// inputMeta describes an input, with symbols for its dynamic dimensions.
func (tr *trace) inputMeta(s *source, t *torch.Tensor) *ops.TensorMeta {
	shape, stride, offset := t.Layout()
	m := &ops.TensorMeta{
		DType: t.DType(), Device: t.Device(), RequiresGrad: t.RequiresGrad(),
		Shape: sym.Consts(shape), Stride: sym.Consts(stride), Offset: sym.C(offset),
	}
	for i := range shape {
		if shape[i] >= 2 && tr.isDynamic(s, t, i) {
			m.Shape[i] = tr.symbolFor(s, i, shape[i])
		}
	}
	m.Stride = symbolicStrides(m.Shape, shape, stride)
	return m
}

// isDynamic reports whether dimension d of the tensor at s is to be a symbol: by
// the user's mark, by the option, or because it was seen to change.
func (tr *trace) isDynamic(s *source, t *torch.Tensor, d int) bool {
	switch t.DimMark(d) {
	case torch.DimDynamic:
		return true
	case torch.DimStatic:
		return false
	}
	return tr.c.opts.dynamic == dynamicAlways || tr.dynamic[s.name][d]
}

// symbolFor returns the symbol of a dynamic size; equal sizes share one (duck
// sizing), which a guard then demands.
func (tr *trace) symbolFor(s *source, dim, hint int) sym.Int {
	for _, x := range tr.env.Symbols {
		o := tr.symbols[x]
		if _, fixed := x.Fixed(); !fixed && o.hint == hint && o.dim != anyDim {
			tr.guardDuck(x, o, s, dim)
			return o.expr
		}
	}
	x := tr.env.NewSymbol(fmt.Sprintf("s%d", len(tr.env.Symbols)), fmt.Sprintf("%s.size()[%d]", s.name, dim), int64(hint))
	y, _ := x.AsSymbol()
	tr.symbols[y] = symbolOrigin{src: s, dim: dim, hint: hint, expr: x, at: ofProgram(tr.userStack())}
	return x
}

// guardDuck demands that dimension dim of the tensor at s equals symbol x.
func (tr *trace) guardDuck(x *sym.Symbol, o symbolOrigin, s *source, dim int) {
	text := fmt.Sprintf("%s.size()[%d] == %s", s.name, dim, x.Source)
	tr.guard("SHAPE_ENV", s, text, text,
		func(a *addresses) bool { return sizeAt(a, s, dim) == sizeAt(a, o.src, o.dim) },
		func(a *addresses) failure {
			return failure{actual: fmt.Sprintf("%d != %d", sizeAt(a, s, dim), sizeAt(a, o.src, o.dim)), dim: dim}
		})
}

// symbolicStrides are the strides of an input, symbolic where they follow from
// sizes that are.
func symbolicStrides(sizes []sym.Int, shape, stride []int) []sym.Int {
	out := sym.Consts(stride)
	behind, order := lyingBehind(shape, stride)
	for _, i := range order {
		if j := behind[i]; j >= 0 {
			out[i] = sym.Mul(sizes[j], out[j])
		}
	}
	return out
}

// lyingBehind says of each dimension behind which other one it lies, so that its
// stride is that one's size times its stride; -1 for none. The order is from the
// innermost dimension to the outermost.
func lyingBehind(shape, stride []int) (behind, order []int) {
	for i := len(shape) - 1; i >= 0; i-- {
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(i, j int) int { return stride[i] - stride[j] })
	behind = make([]int, len(shape))
	ends := map[int]int{} // the dimension that ends at an address
	for _, i := range order {
		behind[i] = -1
		if j, ok := ends[stride[i]]; ok {
			behind[i] = j
		}
		if _, ok := ends[shape[i]*stride[i]]; !ok {
			ends[shape[i]*stride[i]] = i
		}
	}
	return behind, order
}
