package eval

import (
	"fmt"
	"strings"
	"unicode"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is one trace: the symbolic evaluation of a frame stack from where a
// region begins to the next break or the return of the compiled function.
//
// The trace drives a scratch thread of the host with copies of the frames:
// everything but tensor operators and stores to entry memory is executed by the
// host's own instructions, so there is no second implementation of Go. Beside
// each register is a tracked value: where it came from on entry. Using a
// value (branching on it, indexing with it) turns what is tracked into guards.

// shadow is what the trace knows of one frame of the scratch thread.
type shadow struct {
	frame     *host.Frame
	initial   int              // index among the region's frames, -1 for frames pushed by the trace
	registers []register       // by their number
	code      *codeLines       // of the frame
	user      *logs.Pos        // of torch's own code: the line of the program that calls it; nil: not asked for yet
	steps     int              // of torch's own code: what the record of steps calls that line, plus 2; 0: not asked for yet
	free      []*value.Tracked // of the closure's bound variables, pushed frames only
	mode      ssa.Instruction  // the call of torch.NoGrad or torch.Autocast whose body this is
	noGrad    bool             // of torch.NoGrad
	autocast  *ops.DType       // of torch.Autocast
	apply     ssa.Instruction  // the call of autograd.Apply that this is
	backward  bool             // what calls the Backward of that
	flow      *controlFlow     // the call of control flow that this becomes a body of
}

// Trace is one symbolic evaluation. What it knows is in five parts with methods of their
// own, of which each may use those above it; the methods of Trace itself evaluate
// instructions.
type Trace struct {
	Start
	*frames
	*capture
	*heap
	*history
	*functions
	Guards *guard.Set
	steps  int
	record *stepRecord       // nil: not asked for
	apart  []ssa.Instruction // an operator that reads what a gradient is asked for by
	passes passes            // backward passes that are in the graph
	later  []loggedCall      // calls that are made when the graph has run
}

// frames are the frames of the scratch thread, where they are in the program, and what
// is known of their registers.
type frames struct {
	env     *Env
	In      *host.Interp
	th      *host.Thread
	src     *value.Sources
	base    []*host.Frame             // the real frames of the region, lowest first
	callers []*host.Frame             // real frames below them, lowest first
	shadows []*shadow                 // of the scratch thread, lowest first
	spare   [][]register              // of frames that have returned
	logged  logs.Pos                  // the place of the last step in the single-step log
	lines   map[*host.Code]*codeLines // of the functions met so far
	names   map[*ssa.Function]string  // full ones, of the functions called so far
	// user is what userPos said of where innermost stands, at userPC.
	user      logs.Pos
	innermost *shadow
	userPC    int
	// constants are what the record of steps calls them.
	constants map[ssa.Value]string
}

// capture is the graph that the trace makes, its inputs and the symbols of their sizes.
type capture struct {
	frames *frames
	guards *guard.Set
	Entry  *guard.Addresses // values on entry

	Shapes     *sym.Env
	Symbols    guard.Origins
	dynamic    map[string]map[int]bool // see Start
	allDynamic bool
	rules      Rules
	Demands    guard.Demands

	Graph    *graph.Graph
	Nodes    map[*torch.Tensor]*graph.Node // tensors of the trace
	inputs   []*input
	inputOf  map[*torch.Tensor]*input
	numbers  []replay.SeenNumber               // that are constants of the graph
	NumberOf map[*graph.Node]replay.GraphInput // inputs that are numbers
	operands map[numberKey]*graph.Node         // those that come in a tensor
	made     []madeNode                        // calls of operators, in order
	named    map[string]sym.Int                // unbacked sizes that have a name
	strict   []*sym.Symbol                     // those that must not become constants
	scalars  map[*sym.Symbol]*graph.Node       // numbers that are read out of tensors
	floats   int                               // those with a fraction
	checked  map[string]bool                   // what torch.Check says of those
}

// heap is what the trace knows of memory: objects that it has made, and entry memory that
// it has read or changed.
type heap struct {
	frames    *frames
	guards    *guard.Set
	capture   *capture
	functions *functions // which watch what a Backward reads and writes

	mem  memory
	maps map[uintptr]*traceMap
	clos map[*host.Closure]*madeClosure
	// overlays are changed maps of entry memory, by their word; overlaid lists them.
	overlays map[uintptr]*mapOverlay
	overlaid []*mapOverlay

	extents []*guard.Extent // entry memory that was accessed
	touched map[guard.ExtentKey]*guard.Extent
	grads   gradPlaces // gradients that were accessed
}

// history is how the tensors of the trace came to be: which are views of which, which
// were written, and through which gradients flow.
type history struct {
	frames  *frames
	guards  *guard.Set
	capture *capture

	mutated map[*torch.Tensor]bool
	bases   map[*torch.Tensor]*torch.Tensor // of views, whose memory they show
	views   map[*torch.Tensor]viewMeta
	writes  map[*torch.Tensor]written // by base
	wants   map[*graph.Node]bool      // nodes through which gradients flow, as far as asked
}

// functions are the calls of autograd.Apply: the one that is being traced, and what the
// bodies of earlier ones rely on.
type functions struct {
	frames  *frames
	capture *capture
	heap    *heap
	history *history
	avoid   Avoided

	applying *application                      // the call whose bodies are traced
	flowing  *controlFlow                      // the innermost call of control flow whose bodies are traced
	reads    map[*span][]reading               // objects of the trace that a Backward has read
	watched  []replay.Watched                  // entry memory that a Backward has read
	calls    map[*graph.Graph]bodyOf           // by forward body
	sealed   map[*torch.Tensor]ssa.Instruction // memory that may not be written any more, for a call of autograd.Apply
	returned map[*torch.Tensor]ssa.Instruction // tensors that such calls gave
	retry    ssa.Instruction                   // such a call that the trace cannot keep
	retryWhy string
}

// input is a tensor of the program that the graph reads.
type input struct {
	src    *value.Source
	tensor *torch.Tensor
	node   *graph.Node
}

// madeClosure is what the trace knows of a closure that it made.
type madeClosure struct {
	fn      *ssa.Function
	tracked []*value.Tracked
}

// stop is how a trace ended.
type stop struct {
	brk    *replay.Break // nil: the compiled function returned
	result []ssa.Value   // operands of its return
	frame  *host.Frame   // that returned
}

// breakSignal unwinds the evaluator to run.
type breakSignal struct{ b *replay.Break }

func breakAt(code, format string, args ...any) {
	panic(&breakSignal{&replay.Break{Code: code, Detail: fmt.Sprintf(format, args...)}})
}

// MaxInlined bounds the calls that a trace is in: deeper ones are a recursion
// that should not be unrolled.
const MaxInlined = 200

// maxSteps bounds one trace: a longer one is a loop that should not be unrolled.
const maxSteps = 2_000_000

func (fs *frames) top() *shadow { return fs.shadows[len(fs.shadows)-1] }

// run evaluates until the region returns or breaks.
func (tr *Trace) run() (s *stop) {
	defer func() {
		if r := recover(); r != nil {
			if data, ok := r.(*sym.DataDependentError); ok {
				r = unguarded(data.Expr)
			}
			b, ok := r.(*breakSignal)
			if !ok {
				panic(r)
			}
			s = &stop{brk: b.b}
		}
	}()
	for {
		if tr.env.Steps != StepNone {
			tr.logStep()
		}
		if tr.Watch != nil && tr.Watch.Traces() {
			tr.Watch.Traced(tr)
		}
		if tr.record != nil {
			tr.record.before()
		}
		if s := tr.step(); s != nil {
			return s
		}
		if tr.record != nil {
			tr.record.after()
		}
		if tr.steps++; tr.steps > maxSteps {
			breakAt(breaks.TraceTooLong, "more than %d instructions in one trace", maxSteps)
		}
	}
}

// exec lets the host run the next instruction. A Go panic there is the
// program's own: the trace stops before it and the host meets it again.
func (fs *frames) exec() {
	if p := fs.th.Step(); p != nil {
		breakAt(breaks.ObservedPanic, "the instruction panics: %v", p)
	}
}

// skip passes over an instruction that the trace has done itself.
func (fs *frames) skip() { fs.th.Top().PC++ }

// Pos is the place of the instruction being traced.
func (fs *frames) Pos() logs.Pos { return fs.placeAt(fs.th.Top(), 0) }

// codeOf is what the user wrote for an instruction: the expression that it is the
// value of, or the whole line.
func (fs *frames) codeOf(in ssa.Instruction) string {
	if v, ok := in.(ssa.Value); ok {
		if name := value.ExprName(v); name != "" {
			return name
		}
	}
	if code := strings.TrimSpace(fs.Pos().Code); code != "" {
		return code
	}
	return in.String()
}

// stack is the user's stack at this instruction, from the compiled function in.
// It ends at a line of the program where there is one: that torch's own code
// wrote x.Add(y) for it helps nobody.
func (fs *frames) stack() []graph.Frame {
	var out []graph.Frame
	user := 0
	for i := range fs.shadows {
		if p := fs.shadowPos(i); p.File != "" {
			out = append(out, frameOf(p))
			if !value.OwnSource(p.File) {
				user = len(out)
			}
		}
	}
	if user > 0 {
		return out[:user]
	}
	if p := fs.userPos(); p.File != "" && !value.OwnSource(p.File) { // a function of torch that is compiled itself
		return []graph.Frame{frameOf(p)}
	}
	return out
}

func frameOf(p logs.Pos) graph.Frame {
	return graph.Frame{File: p.File, Line: p.Line, Col: p.Col, Func: p.Func, Code: strings.TrimSpace(p.Code)}
}

// userPos is the innermost line of the program at this instruction: where a
// function of torch was compiled, the line that calls it.
//
// It is asked for each guard of an instruction; what the frames below stand at does not change while there is one above.
func (fs *frames) userPos() logs.Pos {
	n := len(fs.shadows)
	if n == 0 {
		return fs.findUserPos()
	}
	top := fs.shadows[n-1]
	if top.user != nil {
		return *top.user
	}
	if fs.innermost != top || fs.userPC != top.frame.PC {
		fs.user = fs.findUserPos()
		fs.innermost, fs.userPC = top, top.frame.PC
		if p := fs.user; top.code.torch && p.File != "" && !value.OwnSource(p.File) {
			top.user = &p
		}
	}
	return fs.user
}

func (fs *frames) findUserPos() logs.Pos {
	for i := len(fs.shadows) - 1; i >= 0; i-- {
		if p := fs.shadowPos(i); p.File != "" && !value.OwnSource(p.File) {
			return p
		}
	}
	for i := len(fs.callers) - 1; i >= 0; i-- {
		if p := fs.placeAt(fs.callers[i], -1); p.File != "" && !value.OwnSource(p.File) {
			return p
		}
	}
	return fs.Pos()
}

// shadowPos is where frame i of the scratch thread is.
func (fs *frames) shadowPos(i int) logs.Pos {
	if i == len(fs.shadows)-1 {
		return fs.placeAt(fs.shadows[i].frame, 0)
	}
	return fs.placeAt(fs.shadows[i].frame, -1)
}

// UserStack is the whole chain of places, callers of the region included.
func (fs *frames) UserStack() []logs.Pos {
	var out []logs.Pos
	for _, f := range fs.callers {
		if p := fs.placeAt(f, -1); p.File != "" {
			out = append(out, p)
		}
	}
	for i := range fs.shadows {
		if p := fs.shadowPos(i); p.File != "" {
			out = append(out, p)
		}
	}
	return out
}

// newInput makes the tensor at s an input of the graph and guards it.
func (tr *Trace) newInput(s *value.Source, t *torch.Tensor) *graph.Node {
	if in, ok := tr.inputOf[t]; ok {
		if in.src != s {
			tr.Guards.Identity(s, in.src, true)
		}
		return in.node
	}
	tr.notMutated(s, t)
	meta := tr.inputMeta(s, t)
	scalars{tr}.unbackedInput(s, meta)
	tr.Guards.Tensor(s, t, meta)
	tr.Guards.GradMode()
	target := placeholderName(s)
	n := tr.Graph.Input(strings.ToLower(target[:1])+target[1:], target, s.Name, meta)
	in := &input{src: s, tensor: t, node: n}
	tr.inputs = append(tr.inputs, in)
	tr.inputOf[t] = in
	tr.Nodes[t] = n
	return n
}

// placeholderName is Dynamo's: L['net'].Weight becomes L_net_Weight, and
// whatever no identifier may hold becomes an underscore.
func placeholderName(s *value.Source) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '_'
	}, strings.Trim(sourceMarks.Replace(s.Name), " "))
	for strings.Contains(name, "___") {
		name = strings.ReplaceAll(name, "___", "__")
	}
	return name
}

// sourceMarks are the marks in the name of a source. A replacer costs more to make than to use.
var sourceMarks = strings.NewReplacer(
	"['", "_", "']", "_", "[", "_", "]", "_", ".", "_", "*", "", "&", "", "(", "_", ")", "", "\"", "",
)

// inputMeta describes an input, with symbols for its dynamic dimensions.
func (c *capture) inputMeta(s *value.Source, t *torch.Tensor) *ops.TensorMeta {
	shape, stride, offset := t.Layout()
	m := &ops.TensorMeta{
		DType: t.DType(), Device: t.Device(), RequiresGrad: t.RequiresGrad(),
		Shape: sym.Consts(shape), Stride: sym.Consts(stride), Offset: sym.C(offset),
	}
	for i := range shape {
		switch {
		case t.DimMark(i) == torch.DimUnbacked && t.DimOf(i) == nil:
			m.Shape[i] = c.unbackedSize(s, i, shape[i], torch.UnbackedOf(t, i))
		case shape[i] >= 2 && c.isDynamic(s, t, i):
			m.Shape[i] = c.symbolFor(s, i, shape[i], t.DimOf(i))
			c.Demands.Add(s, t, i, m.Shape[i])
		}
	}
	m.Stride = symbolicStrides(m.Shape, t)
	return m
}

// isDynamic reports whether dimension d of the tensor at s is to be a symbol: by
// the user's mark, by the option, or because it was seen to change.
func (c *capture) isDynamic(s *value.Source, t *torch.Tensor, d int) bool {
	if t.DimOf(d) != nil {
		return true
	}
	switch t.DimMark(d) {
	case torch.DimDynamic, torch.DimMaybe:
		return true
	case torch.DimStatic:
		return false
	}
	if c.rules.StaticParameters && t.RequiresGrad() && t.IsLeaf() && !value.Openable(s) {
		return false
	}
	return c.allDynamic || c.dynamic[s.Name][d]
}

// symbolFor returns the symbol of a dynamic size; equal sizes share one (duck
// sizing), which a guard then demands. Those that torch.Export names share one where they have one name.
func (c *capture) symbolFor(s *value.Source, dim, hint int, named *torch.Dim) sym.Int {
	for _, x := range c.Shapes.Symbols {
		o := c.Symbols[x]
		if x.Unbacked || named != o.Named || named != nil && named.Auto {
			continue
		}
		if _, fixed := x.Fixed(); !fixed && o.Hint == hint && o.Dim != guard.AnyDim {
			c.guards.SameSize(x, o, s, dim)
			return o.Expr
		}
	}
	x := c.Shapes.NewSymbol(fmt.Sprintf("s%d", len(c.Shapes.Symbols)), fmt.Sprintf("%s.size()[%d]", s.Name, dim), int64(hint))
	y, _ := x.AsSymbol()
	c.Symbols[y] = guard.Origin{Src: s, Dim: dim, Hint: hint, Expr: x, At: ofProgram(c.frames.UserStack()), Named: named}
	if named != nil { // what relies on a size other than 1 says so
		y.Min, y.Max = int64(max(named.Min, 1)), int64(named.Max)
	}
	return x
}

// symbolicStrides are the strides of an input, symbolic where they follow from
// sizes that are.
func symbolicStrides(sizes []sym.Int, t *torch.Tensor) []sym.Int {
	_, stride, _ := t.Layout()
	out := sym.Consts(stride)
	inner, order := guard.InnerDims(t)
	for _, i := range order {
		if j := inner[i]; j >= 0 {
			out[i] = sym.Mul(sizes[j], out[j])
		}
	}
	return out
}
