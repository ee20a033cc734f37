package graph

import (
	"fmt"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// Run interprets the graph through torch's eager operators: the reference that
// every compiled form is tested against. inputs are in placeholder order.
func (g *Graph) Run(inputs []torch.Value) []torch.Value { return g.run(inputs, recorded) }

// RunUntaped is Run without recording gradients.
func (g *Graph) RunUntaped(inputs []torch.Value) []torch.Value { return g.run(inputs, unrecorded) }

// RunWatched is RunUntaped that calls each for every call node with its value and those of
// its inputs.
func (g *Graph) RunWatched(inputs []torch.Value, each func(n *Node, value any, inputs []any)) []torch.Value {
	in := &interp{env: make(map[*Node]any, g.count), syms: map[*sym.Symbol]int64{}, taping: unrecorded, each: each}
	return g.runIn(in, inputs)
}

// RunEach is Run that calls each for every call node that has run.
func (g *Graph) RunEach(inputs []torch.Value, each func(n *Node)) []torch.Value {
	in := &interp{env: make(map[*Node]any, g.count), syms: map[*sym.Symbol]int64{}, taping: recorded}
	in.each = func(n *Node, _ any, _ []any) { each(n) }
	return g.runIn(in, inputs)
}

// RunWide is Run in double precision, with a tape where taped: inputs hold float64 where
// the graph has narrower floats, and what makes a narrower float makes a float64.
func (g *Graph) RunWide(inputs []torch.Value, taped bool) []torch.Value {
	in := &interp{env: make(map[*Node]any, g.count), syms: map[*sym.Symbol]int64{}, taping: unrecorded, wide: true}
	if taped {
		in.taping = recorded
	}
	return g.runIn(in, inputs)
}

// RunChanged is Run in which change replaces the value of every call of an operator.
func (g *Graph) RunChanged(inputs []torch.Value, change func(n *Node, value any) any) []torch.Value {
	return g.runIn(&interp{env: make(map[*Node]any, g.count), syms: map[*sym.Symbol]int64{}, change: change}, inputs)
}

// taping is what the calls of a run are to the tape.
type taping uint8

const (
	recorded   taping = iota
	unrecorded        // no call is
	noGrad            // as under torch.NoGrad
)

func (g *Graph) run(inputs []torch.Value, t taping) []torch.Value {
	return g.runIn(&interp{env: make(map[*Node]any, g.count), syms: map[*sym.Symbol]int64{}, taping: t}, inputs)
}

// runIn runs g with the symbols' values that in knows; it adds those of the inputs.
func (g *Graph) runIn(in *interp, inputs []torch.Value) []torch.Value {
	last := g.lastUses()
	i, at := 0, 0
	for n := g.first; n != nil; n, at = n.next, at+1 {
		switch n.Kind {
		case Placeholder:
			if i >= len(inputs) {
				panic(fmt.Sprintf("graph %s: %d inputs given, more expected", g.Name, len(inputs)))
			}
			in.env[n] = inputs[i]
			in.bind(n, inputs[i])
			i++
		case Output:
			return in.outputs(n)
		default:
			in.env[n] = in.call(n)
			if in.change != nil && n.Op != ops.None {
				in.env[n] = in.change(n, in.env[n])
			}
			if in.each != nil {
				var args []any
				for _, a := range n.Inputs() {
					args = append(args, in.env[a])
				}
				in.each(n, in.env[n], args)
			}
		}
		for _, d := range last[at] {
			delete(in.env, d)
		}
	}
	panic("graph " + g.Name + " has no output")
}

type interp struct {
	env  map[*Node]any // torch.Value, or []torch.Value for several results
	syms map[*sym.Symbol]int64

	taping taping
	each   func(n *Node, value any, inputs []any) // of RunWatched
	change func(n *Node, value any) any           // of RunChanged
	wide   bool                                   // of RunWide
}

// bind reads the values of the symbols that a placeholder carries.
func (in *interp) bind(n *Node, v torch.Value) {
	BindSymbols(n.Meta, v, func(s *sym.Symbol, x int64) { in.syms[s] = x })
}

// BindSymbols calls set for every bare symbol in meta with its value in v.
func BindSymbols(meta any, v torch.Value, set func(*sym.Symbol, int64)) {
	switch m := meta.(type) {
	case *ops.TensorMeta:
		t, ok := v.(*torch.Tensor)
		if !ok || t == nil { // a gradient that nobody reads
			return
		}
		shape, stride, _ := t.Layout()
		for i, d := range m.Shape {
			if s, ok := d.AsSymbol(); ok {
				set(s, int64(shape[i]))
			}
		}
		for i, d := range m.Stride {
			if s, ok := d.AsSymbol(); ok {
				set(s, int64(stride[i]))
			}
		}
	case sym.Int:
		if s, ok := m.AsSymbol(); ok {
			set(s, int64(v.(int)))
		}
	}
}

func (in *interp) size(x sym.Int) int64 {
	return x.Eval(func(s *sym.Symbol) int64 {
		if v, ok := s.Fixed(); ok {
			return v
		}
		v, ok := in.syms[s]
		if !ok {
			panic("graph: symbol " + s.Name + " has no value")
		}
		return v
	})
}

func (in *interp) call(n *Node) any {
	switch {
	case n.Apply != nil:
		return in.apply(n)
	case n.Flow != nil:
		return in.flow(n)
	case n.Op == ops.None && n.IsNumber():
		return n.EvalNumber(in.number)
	case n.Op == ops.None:
		from, i := n.Item()
		return in.env[from].([]torch.Value)[i]
	}
	if x, number := n.Meta.(sym.Int); number {
		v := in.env[n.Inputs()[0]].(*torch.Tensor).ItemInt()
		BindSymbols(x, v, func(s *sym.Symbol, v int64) { in.syms[s] = v })
		return v
	}
	if n.IsNumber() {
		return in.env[n.Inputs()[0]].(*torch.Tensor).Item()
	}
	args := make([]ops.Arg, len(n.Args))
	for i, a := range n.Args {
		args[i] = in.arg(a)
	}
	var out []torch.Value
	switch {
	case n.NoGrad || in.taping == noGrad:
		out = torch.CallUntaped(n.Op, args)
	case in.taping == unrecorded:
		out = torch.CallUnrecorded(n.Op, args)
	default:
		out = torch.Call(n.Op, args)
	}
	if _, several := n.Meta.([]ops.Result); several {
		return out
	}
	if row := n.OpRow(); row.Tags.Has(ops.TagDataDependent) {
		in.bind(n, out[0])
	}
	return out[0]
}

func (in *interp) arg(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case *Node:
		return scalarArg(in.env[a])
	case []ops.Value:
		out := make([]ops.Value, len(a))
		for i, v := range a {
			if v != nil {
				out[i] = in.env[v.(*Node)].(*torch.Tensor)
			}
		}
		return out
	case sym.Int:
		return sym.Const(in.size(a))
	case []sym.Int:
		out := make([]sym.Int, len(a))
		for i, x := range a {
			out[i] = sym.Const(in.size(x))
		}
		return out
	case ops.DType:
		if in.wide && a.IsFloat() {
			return ops.Float64
		}
	}
	return a
}

// number is an argument of a function of numbers.
func (in *interp) number(a ops.Arg) float64 {
	switch a := a.(type) {
	case *Node:
		if v, ok := in.env[a].(float64); ok {
			return v
		}
		return float64(in.env[a].(int))
	case sym.Int:
		return float64(in.size(a))
	}
	return ops.NumberOf(a)
}

func scalarArg(v any) ops.Arg {
	if i, ok := v.(int); ok {
		return sym.C(i)
	}
	return v
}

func (in *interp) outputs(n *Node) []torch.Value {
	out := make([]torch.Value, len(n.Args))
	for i, a := range n.Args {
		switch a := a.(type) {
		case *Node:
			out[i] = in.env[a]
		case sym.Int:
			out[i] = int(in.size(a))
		default:
			out[i] = a
		}
	}
	return out
}
