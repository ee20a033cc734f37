package repro

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file makes parts of a graph: some of its calls, on the values that the others have in an eager
// run of the whole.

// Part names a part: the calls that are in it, and the values that it returns.
type Part struct {
	Keep []string `json:"keep"`
	Outs []string `json:"outs"`
	// Train: gradients are compared, too.
	Train bool `json:"train"`
}

// Units are the calls of a graph that can be taken out one by one: a call with several results goes
// with what takes them apart.
func Units(g *graph.Graph) []string {
	var out []string
	for n := g.First(); n != nil; n = n.Next() {
		if isUnit(n) {
			out = append(out, n.Name)
		}
	}
	return out
}

func isCall(n *graph.Node) bool { return n.Kind != graph.Placeholder && n.Kind != graph.Output }

// isUnit reports whether a node is a call, and no item of one.
func isUnit(n *graph.Node) bool { return isCall(n) && unitOf(n) == n }

// unitOf is the call that a node is, or takes a result of.
func unitOf(n *graph.Node) *graph.Node {
	if isCall(n) && n.Op == ops.None && n.Apply == nil && n.Flow == nil {
		from, _ := n.Item()
		return from
	}
	return n
}

// Outputs are what a part that keeps some calls returns: what the graph returns of them, and what calls
// that are not in the part use.
func Outputs(g *graph.Graph, keep []string) []string {
	kept := set(keep)
	var out []string
	for n := g.First(); n != nil; n = n.Next() {
		if isCall(n) && n.IsTensor() && kept[unitOf(n).Name] &&
			(n.NumUsers() == 0 || slices.ContainsFunc(n.Users(), func(u *graph.Node) bool { return !kept[unitOf(u).Name] })) {
			out = append(out, n.Name)
		}
	}
	return out
}

func set(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// whole is a graph with inputs, of which parts are made.
type whole struct {
	g      *graph.Graph
	in     []torch.Value
	values map[*graph.Node]torch.Value // those of all calls; nil: they are too large to keep
	grads  map[*graph.Node]bool        // nodes that gradients flow through
	sizes  map[*sym.Symbol]int64
}

// keptValues is how many bytes of values are kept.
const keptValues = 1 << 30

func newWhole(g *graph.Graph, in []torch.Value) (*whole, error) {
	w := &whole{g: g, in: in, grads: map[*graph.Node]bool{}, sizes: map[*sym.Symbol]int64{}}
	bytes := int64(0)
	for i, p := range g.Placeholders() {
		graph.BindSymbols(p.Meta, in[i], func(s *sym.Symbol, v int64) { w.sizes[s] = v })
		if t, ok := in[i].(*torch.Tensor); ok {
			w.grads[p] = t.RequiresGrad()
		}
	}
	for n := g.First(); n != nil; n = n.Next() {
		if isCall(n) {
			w.grads[n] = !n.NoGrad && slices.ContainsFunc(n.Inputs(), func(x *graph.Node) bool { return w.grads[x] })
		}
		if m, ok := n.Meta.(*ops.TensorMeta); ok && isCall(n) {
			size := int64(m.DType.Size())
			for _, d := range m.Shape {
				size *= d.Hint()
			}
			bytes += size
		}
	}
	if bytes > keptValues {
		return w, nil
	}
	var err error
	w.values, err = w.run(func(*graph.Node) bool { return true })
	return w, err
}

// run runs the whole eagerly and keeps the values of some nodes.
func (w *whole) run(wanted func(*graph.Node) bool) (values map[*graph.Node]torch.Value, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("eager execution of the graph fails: %v", v)
		}
	}()
	values = map[*graph.Node]torch.Value{}
	keep := func(n *graph.Node, v any) {
		if t, ok := v.(*torch.Tensor); ok && wanted(n) {
			values[n] = detached(t)
		}
	}
	args := make([]torch.Value, len(w.in))
	for i, p := range w.g.Placeholders() {
		args[i] = w.in[i]
		if t, ok := w.in[i].(*torch.Tensor); ok {
			args[i] = detached(t)
			keep(p, t)
		}
	}
	w.g.RunWatched(args, func(n *graph.Node, value any, _ []any) { keep(n, value) })
	return values, nil
}

// detached is a copy with the strides that t has.
func detached(t *torch.Tensor) *torch.Tensor {
	shape, stride, offset := t.Layout()
	if t.Storage() == nil {
		return t.Detach()
	}
	st := torch.NewStorage(len(t.Storage().Bytes()))
	copy(st.Bytes(), t.Storage().Bytes())
	return torch.FromStorage(st, t.DType(), slices.Clone(shape), slices.Clone(stride), offset)
}

// part makes a part with its inputs. Sizes are the numbers that they have in this run.
func (w *whole) part(p Part) (g *graph.Graph, in []torch.Value, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	kept, values := set(p.Keep), w.values
	if values == nil {
		feeds := func(n *graph.Node) bool {
			return !kept[unitOf(n).Name] && slices.ContainsFunc(n.Users(), func(u *graph.Node) bool { return kept[unitOf(u).Name] })
		}
		if values, err = w.run(feeds); err != nil {
			return nil, nil, err
		}
	}
	h := graph.New(w.g.Name, nil)
	h.Aten, h.Untaped = w.g.Aten, w.g.Untaped
	to := map[*graph.Node]*graph.Node{}
	given := func(n *graph.Node) *graph.Node {
		if to[n] != nil {
			return to[n]
		}
		t, ok := values[n].(*torch.Tensor)
		if !ok {
			panic(n.Name + " is no tensor")
		}
		t = detached(t)
		if p.Train && w.grads[n] && t.DType().IsFloat() {
			t.RequiresGrad_()
		}
		meta := *t.TensorMeta()
		to[n] = h.Input(n.Name, n.Name, "L['"+n.Name+"']", &meta)
		in = append(in, t)
		return to[n]
	}
	for n := w.g.First(); n != nil; n = n.Next() {
		if !isCall(n) || !kept[unitOf(n).Name] {
			continue
		}
		for _, x := range n.Inputs() {
			given(x)
		}
		c := n.CopyInto(h, func(x *graph.Node) *graph.Node { return to[x] })
		c.SetArgs(graph.Sized(c.Args, w.sizes))
		switch {
		case c.Op != ops.None:
			if err := c.Repropagate(); err != nil {
				return nil, nil, err
			}
		case unitOf(n) != n:
			from, i := c.Item()
			c.Meta = from.Meta.([]ops.Result)[i]
		}
		if !p.Train {
			c.NoGrad = false
		}
		to[n] = c
	}
	var outs []ops.Arg
	for n := w.g.First(); n != nil; n = n.Next() {
		if to[n] != nil && isCall(to[n]) && slices.Contains(p.Outs, n.Name) {
			outs = append(outs, to[n])
		}
	}
	if len(outs) == 0 {
		return nil, nil, fmt.Errorf("the part returns nothing")
	}
	h.SetOutput(outs)
	return h, in, h.Check()
}
