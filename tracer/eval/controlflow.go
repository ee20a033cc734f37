package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file traces the functions that a call of control flow is given, one after the other,
// and makes each a body: what it computed moves out of the trace's graph, and what it read
// of that graph becomes an operand of all bodies, as PyTorch lifts free variables. A
// function that breaks, or does what no body may do, has the trace made again with a break
// in front of the whole call, which then runs as it does without a compiler.

// controlFlow is a call of compiler.Cond, compiler.WhileLoop or one of their kind that is being traced.
type controlFlow struct {
	call  *ssa.Call
	name  string       // compiler.Cond
	code  string       // of the break where it cannot be captured
	outer *controlFlow // that it is in
	why   string       // it is refused
	stack []graph.Frame

	before   *graph.Node     // the last node before the function that is traced
	spans    int             // objects of the trace before it
	made     int             // calls of operators before it
	pick     *graph.Node     // what a choice goes by
	branches []place         // that it chooses from
	operands []*graph.Node   // that a loop carries, or that are taken apart
	always   []*graph.Node   // what each call of the one body is given besides
	along    along           // how a scan goes through what is taken apart
	carried  int             // operands that are replaced from call to call, where the others are taken apart
	params   []*graph.Node   // their placeholders in the function that is traced
	reads    [][]*graph.Node // of each body, what it reads besides
	bodies   []*graph.Graph
	words    []string // what the bodies are called
	flow     *graph.Flow
}

// callOf are the functions that make nodes of control flow.
var callOf = map[string]string{
	graph.CondTarget: "compiler.Cond", graph.SwitchTarget: "compiler.Switch", graph.WhileTarget: "compiler.WhileLoop",
	graph.MapTarget: "compiler.Map", graph.ScanTarget: "compiler.Scan", graph.AssocTarget: "compiler.AssociativeScan",
}

// refuse breaks at the call: PyTorch captures control flow wholly or not at all.
func (c *controlFlow) refuse(format string, args ...any) {
	c.why = fmt.Sprintf(format, args...)
	breakAt(c.code, "%s%s%s", c.name, breaks.NotWhole, c.why)
}

// flows traces the functions that control flow is given.
type flows struct{ *Trace }

// beginFlow begins a call of control flow, unless an earlier attempt broke in it.
func beginFlow(tr *Trace, in *ssa.Call, op, code string) *controlFlow {
	name := strings.TrimPrefix(in.Call.StaticCallee().String(), "tcdbg/torch/")
	c := &controlFlow{call: in, name: name, code: code, outer: tr.flowing, made: len(tr.made), stack: tr.stack(), flow: &graph.Flow{Op: op}}
	if why, ok := tr.avoid[in]; ok {
		c.refuse("%s", why)
	}
	if len(tr.scalars) > 0 || tr.floats > 0 {
		c.refuse("it comes %s", scalars{tr}.since("after a number that is read out of a tensor"))
	}
	if tr.applying != nil {
		c.refuse("it is in a function with a derivative of its own")
	}
	return c
}

// begun passes over the call, whose functions are traced from now on: a break has the trace
// made again.
func (tr flows) begun(c *controlFlow) {
	tr.flowing = c
	tr.skip()
}

// flowCause is why the outermost call of control flow is not captured, "" where that is
// another break than its own.
func (fn *functions) flowCause(in ssa.Instruction) string {
	if c := fn.flowing; c != nil && c.call == in {
		return c.why
	}
	return ""
}

// flowCall is the outermost call of control flow that the trace is in.
func (fn *functions) flowCall() ssa.Instruction {
	c := fn.flowing
	if c == nil {
		return nil
	}
	for c.outer != nil {
		c = c.outer
	}
	return c.call
}

// inFlow breaks where a body of control flow is being traced.
func (fn *functions) inFlow(format string, args ...any) {
	if c := fn.flowing; c != nil {
		c.refuse("a function that it is given "+format, args...)
	}
}

// checkFlowWrite breaks before a store to an object that a body did not make.
func (fn *functions) checkFlowWrite(p unsafe.Pointer) {
	if c := fn.flowing; c != nil {
		if s := fn.heap.mem.find(p); s != nil && s.id < c.spans {
			fn.inFlow("changes a variable from outside of it")
		}
	}
}

// onlyOwnInFlow breaks before a write to a tensor that a body did not make.
func (fn *functions) onlyOwnInFlow(base *torch.Tensor, row *ops.Op) {
	c := fn.flowing
	if c == nil {
		return
	}
	n := fn.capture.Nodes[base]
	for _, x := range between(c.before, nil) {
		if x == n {
			return
		}
	}
	fn.inFlow("writes to a tensor from outside of it: %s", row.Name)
}

// place is where a value is, and what is tracked of it.
type place struct {
	at unsafe.Pointer
	n  *value.Tracked
}

// placeOf is that of a register.
func (tr flows) placeOf(v ssa.Value) place { return place{tr.addr(v), tr.tracked(v)} }

// enterFlowBody pushes a frame of a function that control flow is given, which name calls;
// given are the lists of what it takes.
func (tr flows) enterFlowBody(c *controlFlow, f place, name string, into ssa.CallInstruction, given ...place) *shadow {
	cl := tr.In.ClosureOf(f.at)
	if cl == nil || cl.Fn.Blocks == nil {
		c.refuse("%s is a function without a body", name)
	}
	if m, ok := cl.Compiled.(Marked); ok && (m.Disabled() || m.Constant()) {
		c.refuse("%s is marked not to be compiled", value.FuncName(cl.Fn))
	}
	if f.n != nil && f.n.Src != nil {
		tr.Guards.Func(f.n.Src, cl.Fn)
	}
	tracked := tr.boundTracked(cl, cl.Fn, f.n)
	frame := tr.th.Push(cl.Fn, cl.Free, into)
	sh := tr.newShadow(frame, -1)
	for i, p := range given {
		param := cl.Fn.Params[i]
		tr.In.Copy(param.Type(), frame.Addr(param), p.at)
		sh.set(param, p.n)
	}
	sh.bind(tracked)
	tr.shadows = append(tr.shadows, sh)
	return sh
}

// traceFlowBody begins to trace a function whose operators become a body.
func (tr flows) traceFlowBody(c *controlFlow, f place, name string, given ...place) {
	c.before, c.spans = tr.Graph.Last(), len(tr.mem.spans)
	tr.enterFlowBody(c, f, name, nil, given...).flow = c
}

// endFlowBody takes what a traced function returns.
func (tr flows) endFlowBody(in *ssa.Return) {
	c := tr.flowing
	switch c.flow.Op {
	case graph.CondTarget, graph.SwitchTarget:
		tr.endBranch(c, in)
	case graph.WhileTarget:
		tr.endLoopBody(c, in)
	default:
		tr.endSlices(c, in)
	}
}

// leaveFlowBody pops the function's frame.
func (tr flows) leaveFlowBody() {
	tr.th.Pop()
	tr.shadows = tr.shadows[:len(tr.shadows)-1]
}

// ownResult is the node of a result that a body made itself; which says whose it is.
func (tr flows) ownResult(c *controlFlow, t *torch.Tensor, n *value.Tracked, which string) *graph.Node {
	if t == nil {
		c.refuse("%s returns nil", which)
	}
	own := map[*graph.Node]bool{}
	for _, x := range between(c.before, nil) {
		own[x] = true
	}
	node := tr.nodeOf(t, n)
	if !own[node] || !own[tr.Nodes[tr.baseOf(t)]] {
		c.refuse("%s returns a tensor %s", which, breaks.Aliased)
	}
	return node
}

// takeBody makes what the function that has ended computed a body with these results; word
// is what it is called, in names of what it reads besides its operands.
func (fn *functions) takeBody(c *controlFlow, word string, results []*graph.Node) {
	nodes := between(c.before, nil)
	own := map[*graph.Node]bool{}
	for _, n := range nodes {
		own[n] = true
	}
	g := graph.New(word, fn.capture.Shapes)
	in := map[*graph.Node]*graph.Node{}
	take := func(n *graph.Node, name string) {
		in[n] = g.Input(name, name, "", n.Meta)
		in[n].Target = in[n].Name
	}
	for _, p := range c.params {
		take(p, p.Name)
	}
	var reads []*graph.Node
	read := func(n *graph.Node) {
		if !own[n] && in[n] == nil {
			reads = append(reads, n)
			take(n, n.Name)
		}
	}
	for _, n := range nodes {
		for _, x := range n.Inputs() {
			read(x)
		}
		for _, s := range n.Statistics() {
			if !own[s] {
				fn.inFlow("writes to a tensor from outside of it: %s", n.OpRow().Name)
			}
		}
	}
	for _, n := range results {
		read(n)
	}
	for _, n := range nodes {
		m := n.CopyInto(g, func(x *graph.Node) *graph.Node { return in[x] })
		if row := n.OpRow(); row != nil && isNumbered(n.Name, row.Name) {
			g.Rename(m, row.Name)
		}
		in[n] = m
	}
	outs := make([]any, len(results))
	for i, n := range results {
		outs[i] = in[n]
	}
	g.SetOutput(outs)
	g.EliminateDead()
	c.bodies, c.reads, c.words = append(c.bodies, g), append(c.reads, reads), append(c.words, word)
	fn.forgetBody(c, nodes, own)
}

// isNumbered reports whether name is base followed by a number.
func isNumbered(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base+"_")
	return ok && strings.Trim(rest, "0123456789") == ""
}

// forgetBody takes what a body holds out of the trace's graph.
func (fn *functions) forgetBody(c *controlFlow, nodes []*graph.Node, own map[*graph.Node]bool) {
	for _, p := range c.params {
		own[p] = own[p] || !isIn(p, c.operands)
	}
	for t, n := range maps.Clone(fn.capture.Nodes) {
		if own[n] {
			delete(fn.capture.Nodes, t)
			delete(fn.history.views, t)
			delete(fn.history.mutated, t)
			delete(fn.history.bases, t)
			delete(fn.history.writes, t)
		}
	}
	fn.capture.made = fn.capture.made[:c.made]
	for i := len(nodes) - 1; i >= 0; i-- {
		fn.capture.Graph.Erase(nodes[i])
	}
	for i := len(c.params) - 1; i >= 0; i-- {
		if p := c.params[i]; !isIn(p, c.operands) {
			fn.capture.Graph.Erase(p)
		}
	}
}

// lifted are what the bodies read besides what is carried, and its names in them: what all
// read by name, then what one reads, called after that, as PyTorch has them. One body reads
// first what the call is given for it.
func (c *controlFlow) lifted() (nodes []*graph.Node, names []string) {
	if len(c.reads) == 1 {
		for _, n := range append(c.always[:len(c.always):len(c.always)], c.reads[0]...) {
			if !isIn(n, nodes) {
				nodes, names = append(nodes, n), append(names, n.Name)
			}
		}
		return nodes, names
	}
	for _, n := range c.reads[0] {
		if !slices.ContainsFunc(c.reads, func(list []*graph.Node) bool { return !isIn(n, list) }) {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b *graph.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	for i, list := range c.reads {
		for _, n := range list {
			if !isIn(n, nodes) {
				nodes, names = append(nodes, n), append(names, n.Name+"_"+c.words[i])
			}
		}
	}
	return nodes, names
}

// completeBodies gives all bodies all operands, and returns those that are not carried.
func (c *controlFlow) completeBodies() []*graph.Node {
	nodes, names := c.lifted()
	for i, old := range c.bodies {
		g := graph.New(old.Name, old.Env)
		in, phs := map[*graph.Node]*graph.Node{}, old.Placeholders()
		take := func(name string, meta any) *graph.Node {
			p := g.Input(name, name, "", meta)
			p.Target = p.Name
			return p
		}
		for _, p := range phs[:len(c.params)] {
			in[p] = take(p.Name, p.Meta)
		}
		for k, n := range nodes {
			p := take(names[k], n.Meta)
			if at := slices.Index(c.reads[i], n); at >= 0 {
				in[phs[len(c.params)+at]] = p
			}
		}
		for n := old.First(); n != nil; n = n.Next() {
			if n.Kind != graph.Placeholder {
				in[n] = n.CopyInto(g, func(x *graph.Node) *graph.Node { return in[x] })
			}
		}
		c.bodies[i] = g
	}
	c.flow.Bodies = c.bodies
	return nodes
}

// endFlow appends the node of a call whose bodies are complete, and returns tensors for
// what it gives.
func (tr flows) endFlow(c *controlFlow, args ...ops.Arg) []*torch.Tensor {
	n := &graph.Node{Name: c.flow.Op, Args: args, Stack: c.stack, NoGrad: tr.underNoGrad()}
	n.SetFlow(c.flow)
	tr.Graph.Append(n)
	tr.flowing = c.outer
	b := &graph.Builder{G: tr.Graph, Stack: n.Stack, NoGrad: n.NoGrad}
	var out []*torch.Tensor
	for i := range n.Meta.([]ops.Result) {
		out = append(out, tr.fake(b.Item(n, i)))
	}
	return out
}

// elements are those of a slice, whose length is guarded.
func (tr flows) elements(list ssa.Value) []place {
	n, h := tr.tracked(list), *(*value.SliceHeader)(tr.addr(list))
	if n != nil && n.Src != nil {
		tr.Guards.Len(n.Src, h.Len)
	}
	places, tracked := tr.elemValues(value.ElemType(list.Type()), h, n)
	out := make([]place, len(places))
	for i, p := range places {
		out[i] = place{p, tracked[i]}
	}
	return out
}

// tensorsOf are the tensors of a slice and their nodes.
func (tr flows) tensorsOf(list ssa.Value) (ts []*torch.Tensor, nodes []*graph.Node) {
	for _, e := range tr.elements(list) {
		t := *(**torch.Tensor)(e.at)
		ts, nodes = append(ts, t), append(nodes, tr.nodeOf(t, e.n))
	}
	return ts, nodes
}

// values are nodes as a list among the arguments of a node.
func values(nodes []*graph.Node) []ops.Value {
	out := []ops.Value{}
	for _, n := range nodes {
		out = append(out, n)
	}
	return out
}

// like reports in which way two tensors differ that should be alike, "" for none.
func like(a, b *ops.TensorMeta) (what string, x, y any) {
	switch {
	case a.DType != b.DType:
		return "dtype", a.DType, b.DType
	case len(a.Shape) != len(b.Shape):
		return "dim", len(a.Shape), len(b.Shape)
	case !sym.AllSame(a.Shape, b.Shape):
		return "shape", a.Shape, b.Shape
	case a.Device != b.Device:
		return "device", a.Device, b.Device
	case !sym.AllSame(a.Stride, b.Stride):
		return "stride", a.Stride, b.Stride
	}
	return "", nil, nil
}

// oneElement breaks where a predicate is no tensor of one element.
func (c *controlFlow) oneElement(n *graph.Node, what string) {
	m := n.TensorMeta()
	if k, ok := sym.Product(m.Shape).IsConst(); !ok || k != 1 {
		c.refuse("%s has the shape %v, not one element", what, m.Shape)
	}
	if m.Device == ops.Meta {
		c.refuse("%s is on the meta device and has no data", what)
	}
}

// loopWords are what the functions of a loop are called in names.
var loopWords = []string{"cond_fn", "body_fn"}

// enterLoop begins a call of compiler.WhileLoop with its condition.
func enterLoop(t *Trace, in *ssa.Call) bool {
	tr, c := flows{t}, beginFlow(t, in, graph.WhileTarget, breaks.DataDependentLoop)
	_, c.operands = tr.tensorsOf(in.Call.Args[2])
	if len(c.operands) == 0 {
		c.refuse("it carries nothing")
	}
	tr.refuseLoopGradient(c, c.operands)
	tr.begun(c)
	tr.traceLoopBody(c)
	return true
}

// refuseLoopGradient breaks where gradients would flow through a loop: how many rounds the
// backward pass has to go back only the data tells.
func (tr flows) refuseLoopGradient(c *controlFlow, nodes []*graph.Node) {
	if !tr.underNoGrad() && slices.ContainsFunc(nodes, tr.wantsGrad) {
		c.refuse("it reads a tensor that requires gradients, %s", breaks.LoopGrad)
	}
}

// traceLoopBody begins to trace the next function of a loop.
func (tr flows) traceLoopBody(c *controlFlow) {
	before := tr.Graph.Last()
	c.params = nil
	list := make([]*torch.Tensor, len(c.operands))
	for i, x := range c.operands {
		m := *x.TensorMeta()
		m.RequiresGrad, m.Offset = false, sym.C(0)
		p := tr.Graph.Append(&graph.Node{Name: "child", Kind: graph.Placeholder, Target: "child", Meta: &m})
		c.params = append(c.params, p)
		list[i] = tr.fake(p)
	}
	v := c.call.Call.Args[len(c.bodies)]
	tr.traceFlowBody(c, tr.placeOf(v), value.LocalName(v), place{unsafe.Pointer(&list), nil})
	c.before = before
	param := tr.top().frame.Code.Fn.Params[0]
	tr.backing(param.Type(), tr.shadowAddr(param))
}

// endLoopBody takes what the condition or the body of a loop returns.
func (tr flows) endLoopBody(c *controlFlow, in *ssa.Return) {
	v := in.Results[0]
	if len(c.bodies) == 0 {
		t := *(**torch.Tensor)(tr.addr(v))
		if t == nil {
			c.refuse("its condition returns nil")
		}
		node := tr.nodeOf(t, tr.tracked(v))
		c.oneElement(node, "what its condition returns")
		tr.takeBody(c, loopWords[0], []*graph.Node{node})
		tr.leaveFlowBody()
		tr.traceLoopBody(c)
		return
	}
	tr.takeBody(c, loopWords[1], tr.roundResults(c, v))
	tr.leaveFlowBody()
	read := c.completeBodies()
	tr.refuseLoopGradient(c, read)
	out := tr.endFlow(c, values(c.operands), values(read))
	tr.In.Copy(c.call.Type(), tr.addr(c.call), unsafe.Pointer(&out))
	tr.backing(c.call.Type(), tr.addr(c.call))
	tr.set(c.call, nil)
}

// roundResults are the tensors that one round gives for the next: like what it got.
func (tr flows) roundResults(c *controlFlow, v ssa.Value) []*graph.Node {
	out := tr.ownResults(c, "its body", v)
	if len(out) != len(c.operands) {
		c.refuse("its body returns %d tensors where it carries %d", len(out), len(c.operands))
	}
	c.likeParams("its body", out)
	return out
}

// ownResults are the tensors of the lists that a body returns, of which no two share memory.
func (tr flows) ownResults(c *controlFlow, which string, lists ...ssa.Value) []*graph.Node {
	var out []*graph.Node
	bases := map[*torch.Tensor]bool{}
	for _, v := range lists {
		for _, e := range tr.elements(v) {
			t := *(**torch.Tensor)(e.at)
			out = append(out, tr.ownResult(c, t, e.n, which))
			if bases[tr.baseOf(t)] {
				c.refuse("two tensors that %s returns share memory", which)
			}
			bases[tr.baseOf(t)] = true
		}
	}
	return out
}

// likeParams breaks where a tensor that is given to the next call is not like the one that
// this call was given.
func (c *controlFlow) likeParams(which string, out []*graph.Node) {
	for i, node := range out {
		if what, x, y := like(c.params[i].Meta.(*ops.TensorMeta), node.TensorMeta()); what != "" {
			c.refuse("%s gets a tensor of %s %v and returns one of %v", which, what, x, y)
		}
	}
}
