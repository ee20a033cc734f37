package eval

import (
	"maps"

	"tcdbg/graph"
	"tcdbg/torch"

	"golang.org/x/tools/go/ssa"
)

// This file makes one node of what a traced call of autograd.Apply has left in the
// graph: the operators of Forward and of Backward move into bodies.

// between lists the nodes after from, up to and with to (nil: the last); inputs, which
// are put before the graph at any time, are left out, stand-ins too.
func between(from, to *graph.Node) []*graph.Node {
	var out []*graph.Node
	for n := from.Next(); n != nil; n = n.Next() {
		if n.Kind != graph.Placeholder {
			out = append(out, n)
		}
		if n == to {
			break
		}
	}
	return out
}

// bodyMaker builds the bodies of one call.
type bodyMaker struct {
	fn       *functions
	a        *application
	fw, bw   []*graph.Node
	node     *graph.Node
	inForw   map[*graph.Node]*graph.Node // nodes of the trace's graph in the forward body
	saved    []*graph.Node               // nodes of the trace's graph that Backward reads
	isSaved  map[*graph.Node]bool
	forward  *graph.Graph
	backward *graph.Graph
}

// bodies replaces the operators of a by one node. grads are the gradients of its inputs.
func (fn *functions) bodies(a *application, grads []*graph.Node) {
	m := &bodyMaker{
		fn: fn, a: a, fw: between(a.before, a.forward), bw: between(a.forward, nil),
		inForw: map[*graph.Node]*graph.Node{}, isSaved: map[*graph.Node]bool{},
		forward: graph.New("fwd_body", fn.capture.Shapes), backward: graph.New("bwd_body", fn.capture.Shapes),
	}
	m.findSaved(grads)
	m.node = &graph.Node{Name: graph.ApplyTarget, Kind: graph.CallFunction, Target: graph.ApplyTarget, Stack: m.stack()}
	m.makeForward()
	m.makeBackward(grads)
	m.node.Apply = &graph.Apply{
		Name: a.name, Inputs: len(a.inputs), Constant: a.constant, Outputs: len(a.results), Forward: m.forward, Backward: m.backward,
	}
	m.replace()
}

// stack is the user's stack at the call of autograd.Apply.
func (m *bodyMaker) stack() []graph.Frame {
	fs := m.fn.frames
	shadows := fs.shadows
	defer func() { fs.shadows = shadows }()
	for i, sh := range shadows {
		if sh.apply == m.a.call && i > 0 {
			var out []graph.Frame
			for k := range i {
				if p := fs.shadowPos(k); p.File != "" {
					out = append(out, frameOf(p))
				}
			}
			return out
		}
	}
	return fs.stack()
}

// findSaved lists what Backward reads of what was there before it.
func (m *bodyMaker) findSaved(grads []*graph.Node) {
	own := map[*graph.Node]bool{}
	for _, n := range m.bw {
		own[n] = true
	}
	for _, g := range m.a.grads {
		if g != nil {
			own[g] = true
		}
	}
	read := func(n *graph.Node) {
		if n != nil && !own[n] && !m.isSaved[n] {
			m.isSaved[n] = true
			m.saved = append(m.saved, n)
		}
	}
	for _, n := range m.bw {
		for _, x := range n.Inputs() {
			read(x)
		}
	}
	for _, g := range grads {
		read(g)
	}
}

// makeForward gives the node its arguments: what the function was given, and what the
// bodies read besides.
func (m *bodyMaker) makeForward() {
	take := func(n *graph.Node) {
		m.node.Args = append(m.node.Args, n)
		p := m.forward.Input(n.Name, n.Name, "", n.Meta)
		if m.inForw[n] == nil {
			m.inForw[n] = p
		}
	}
	for _, n := range m.a.inputs {
		if n == nil {
			m.node.Args = append(m.node.Args, nil)
			continue
		}
		take(n)
	}
	own := map[*graph.Node]bool{}
	for _, n := range m.fw {
		own[n] = true
	}
	besides := func(n *graph.Node) {
		if !own[n] && m.inForw[n] == nil {
			take(n)
		}
	}
	for _, n := range m.fw {
		for _, x := range n.Inputs() {
			besides(x)
		}
	}
	for _, n := range m.saved {
		besides(n)
	}
	for _, n := range m.fw {
		m.inForw[n] = n.CopyInto(m.forward, func(x *graph.Node) *graph.Node { return m.inForw[x] })
	}
	var outs []any
	var results []*graph.Node
	for _, t := range m.a.results {
		n := m.inForw[m.fn.capture.Nodes[t]]
		outs, results = append(outs, n), append(results, n)
	}
	m.node.Meta = graph.Metas(results)
	for _, n := range m.saved {
		outs = append(outs, m.inForw[n])
	}
	m.forward.SetOutput(outs)
}

func (m *bodyMaker) makeBackward(grads []*graph.Node) {
	in := map[*graph.Node]*graph.Node{}
	for i, t := range m.a.results {
		p := m.backward.Append(gradPlaceholder(m.fn.capture.Nodes[t].TensorMeta()))
		p.Target = p.Name
		if g := m.a.grads[i]; g != nil {
			in[g] = p
		}
	}
	for _, n := range m.saved {
		in[n] = m.backward.Input(n.Name, n.Name, "", n.Meta)
		in[n].Target = in[n].Name
	}
	for _, n := range m.bw {
		in[n] = n.CopyInto(m.backward, func(x *graph.Node) *graph.Node { return in[x] })
	}
	outs := make([]any, len(m.a.inputs))
	for i, g := range grads {
		if g != nil {
			outs[i] = in[g]
		}
	}
	m.backward.SetOutput(outs)
	m.backward.EliminateDead()
}

// replace puts the node where the operators were. Tensors that they made belong to the
// forward body from now on; those that are results are taken out of the node.
func (m *bodyMaker) replace() {
	fn, c, hs, a := m.fn, m.fn.capture, m.fn.history, m.a
	c.Graph.Append(m.node)
	b := &graph.Builder{G: c.Graph}
	items := map[*torch.Tensor]*graph.Node{}
	for i, t := range a.results {
		items[t] = b.Item(m.node, i)
	}
	own := map[*graph.Node]bool{}
	for _, n := range m.bw {
		own[n] = true
	}
	outer := map[*torch.Tensor]bool{} // bases that were there before the call
	for t, n := range maps.Clone(c.Nodes) {
		body := m.inForw[n]
		if m.isSaved[n] {
			fn.seal(t, a.call)
		}
		switch {
		case own[n] || isIn(n, a.grads):
			delete(c.Nodes, t)
			delete(hs.views, t)
			delete(hs.mutated, t)
		case body == nil || body.Kind == graph.Placeholder:
			outer[t] = true
		default:
			delete(hs.mutated, t)
			c.Nodes[t] = body
			if items[t] != nil {
				c.Nodes[t] = items[t]
			}
			if born, ok := hs.views[t]; ok {
				born.node = c.Nodes[t]
				hs.views[t] = born
			}
		}
	}
	for _, t := range a.results {
		if outer[hs.baseOf(t)] {
			fn.seal(t, a.call)
		}
		fn.returned[t] = a.call
	}
	fn.calls[m.forward] = bodyOf{m.node, a.call}
	m.erase()
}

func isIn(n *graph.Node, list []*graph.Node) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

// erase removes what the bodies hold now, last first.
func (m *bodyMaker) erase() {
	for i := len(m.bw) - 1; i >= 0; i-- {
		m.fn.capture.Graph.Erase(m.bw[i])
	}
	for _, g := range m.a.grads {
		if g != nil {
			m.fn.capture.Graph.Erase(g)
		}
	}
	for i := len(m.fw) - 1; i >= 0; i-- {
		m.fn.capture.Graph.Erase(m.fw[i])
	}
}

// bodyOf is the call that a forward body belongs to.
type bodyOf struct {
	node *graph.Node
	call ssa.Instruction
}

// outward is the node of t in the trace's graph: a tensor that a Forward made on its way
// and that is used outside of it becomes one more value of the call.
func (fn *functions) outward(t *torch.Tensor, n *graph.Node) *graph.Node {
	if n == nil || n.Graph() == fn.capture.Graph {
		return n
	}
	of := fn.calls[n.Graph()]
	i := of.node.AddOutput(n)
	item := (&graph.Builder{G: fn.capture.Graph, Before: of.node.Next(), Stack: of.node.Stack}).Item(of.node, i)
	fn.capture.Nodes[t] = item
	fn.seal(t, of.call)
	fn.returned[t] = of.call
	return item
}

// sharedResult is a call of autograd.Apply of which the cache entry's outputs would lie in
// memory of their own although eager mode gives them memory of another output.
func (fn *functions) sharedResult(outs []*torch.Tensor) ssa.Instruction {
	seen := map[*torch.Tensor]*torch.Tensor{}
	for _, t := range outs {
		base := fn.history.baseOf(t)
		if old, ok := seen[base]; ok {
			for _, x := range []*torch.Tensor{old, t} {
				if call := fn.returned[x]; call != nil {
					return call
				}
			}
		}
		seen[base] = t
	}
	return nil
}

// shownInput is a call of autograd.Apply of which a result leaves the cache entry and shows
// an input's memory, where the graph writes inputs: such graphs give it its own.
func (fn *functions) shownInput(outs []*torch.Tensor) ssa.Instruction {
	writes := false
	for t := range fn.history.mutated {
		writes = writes || fn.capture.inputOf[t] != nil
	}
	for _, t := range outs {
		if call := fn.returned[t]; writes && call != nil && fn.capture.inputOf[fn.history.baseOf(t)] != nil {
			return call
		}
	}
	return nil
}

// tidyBodies drops from the bodies what nobody reads.
func (fn *functions) tidyBodies() {
	for n := fn.capture.Graph.First(); n != nil; n = n.Next() {
		if n.Apply != nil {
			n.Apply.Forward.EliminateDead()
		}
	}
}
