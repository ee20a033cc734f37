package aot

import (
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file is what surrounds a pure graph at run time: bases are looked up in
// front of it, mutations and views are applied after it.

// wrap makes a runnable of the captured graph from one of the pure graph.
func (f *functional) wrap(run Runnable) Runnable {
	if f.whole() {
		return run
	}
	return func(in []torch.Value) []torch.Value {
		args := f.arguments(in)
		vals := run(args)
		f.isolate(args, vals)
		f.relay(vals)
		for _, m := range f.mutations {
			m.apply(args[m.arg].(*torch.Tensor), vals[m.index].(*torch.Tensor))
		}
		return f.results(in, vals)
	}
}

// whole reports whether nothing is to be done around a run of the pure graph.
func (f *functional) whole() bool { return len(f.mutations) == 0 && f.plain() }

// plain reports whether the outputs are those of the pure graph. (Without
// mutations its arguments are the inputs.)
func (f *functional) plain() bool {
	for i, o := range f.outputs {
		if o.index != i || len(o.chain) > 0 {
			return false
		}
	}
	return true
}

// arguments are those of the pure graph for the inputs of the captured one.
func (f *functional) arguments(in []torch.Value) []torch.Value {
	out := make([]torch.Value, len(f.inputs))
	for i, a := range f.inputs {
		if a.base != nil {
			out[i] = a.base.tensor(in)
		} else {
			out[i] = in[a.input]
		}
	}
	return out
}

// isolate copies values that lie in memory which the mutations are about to
// write (an argument's old content).
func (f *functional) isolate(args, vals []torch.Value) {
	if len(f.mutations) == 0 {
		return
	}
	written := make(map[*torch.Storage]bool, len(f.mutations))
	for _, m := range f.mutations {
		written[args[m.arg].(*torch.Tensor).Storage()] = true
	}
	for i, v := range vals {
		if t, ok := v.(*torch.Tensor); ok && written[t.Storage()] && !f.inPlace(args, i, t) {
			countCopy(t)
			vals[i] = torch.Call(ops.Clone, cloneArgs(t))[0]
		}
	}
}

// inPlace reports whether value i is the argument that it replaces: the compiled
// graph has written it already.
func (f *functional) inPlace(args []torch.Value, i int, t *torch.Tensor) bool {
	arg, ok := f.places[i]
	return ok && args[arg] == torch.Value(t)
}

// replaced lists the values that are nothing but the new content of an argument:
// no result, and no change that is to be recorded for gradients.
func (f *functional) replaced(train bool) map[int]int {
	f.places = map[int]int{}
	for _, m := range f.mutations {
		if f.inputs[m.arg].base == nil && !(train && m.grad) {
			f.places[m.index] = m.arg
		}
	}
	count := map[int]int{}
	for _, m := range f.mutations {
		count[m.index]++
	}
	for _, o := range f.outputs {
		count[o.index]++
		count[o.tape]++
	}
	for i := range f.places {
		if count[i] > 1 {
			delete(f.places, i)
		}
	}
	return f.places
}

// written names the placeholders that mutations write.
func (f *functional) written() map[string]bool {
	out := map[string]bool{}
	phs := f.graph.Placeholders()
	for _, m := range f.mutations {
		out[phs[m.arg].Name] = true
	}
	return out
}

// relay brings values of which views are about to be taken into the layout that
// they had in the captured graph.
func (f *functional) relay(vals []torch.Value) {
	for i, order := range f.layouts {
		t := vals[i].(*torch.Tensor)
		p := permute(t, order)
		if !p.IsContiguous() {
			countCopy(t)
			vals[i] = permute(p.Contiguous(), sym.Hints(inverse(sym.Consts(order))))
		}
	}
}

func permute(t *torch.Tensor, order []int) *torch.Tensor {
	return torch.Call(ops.Permute, []ops.Arg{t, sym.Consts(order)})[0].(*torch.Tensor)
}

// apply stores val in dst. Where gradients flow through the change it is an
// operator on the tape, as it was in the program.
func (m mutation) apply(dst, val *torch.Tensor) {
	if m.grad && torch.GradEnabled() && (dst.RequiresGrad() || val.RequiresGrad()) {
		countCopy(val)
		torch.Call(ops.InPlace(ops.Copy), []ops.Arg{dst, val, false})
		return
	}
	if dst != val { // else the compiled graph wrote it in place
		countCopy(val)
		torch.CallInto(ops.Clone, cloneArgs(val), []*torch.Tensor{dst})
	}
	dst.Storage().Bump()
}

func (f *functional) results(in, vals []torch.Value) []torch.Value {
	out := make([]torch.Value, len(f.outputs))
	sizes := f.sizes(in)
	for i, o := range f.outputs {
		var v torch.Value
		switch {
		case o.index >= 0:
			v = vals[o.index]
		case o.input >= 0:
			v = in[o.input]
		default:
			v = o.value
		}
		for _, s := range o.chain {
			v = runView(s, v, sizes)
		}
		if o.tape >= 0 && torch.GradEnabled() {
			countCopy(vals[o.tape].(*torch.Tensor))
			torch.Call(ops.InPlace(ops.Copy), []ops.Arg{v, vals[o.tape], false})
		}
		out[i] = v
	}
	return out
}

// fresh lists the outputs of the pure graph that are results of the captured
// one.
func (f *functional) fresh() []int {
	var out []int
	seen := map[int]bool{}
	for _, o := range f.outputs {
		if o.index >= 0 && !seen[o.index] {
			seen[o.index] = true
			out = append(out, o.index)
		}
	}
	return out
}

// notTheirOwn lists the outputs among fresh that would show memory of an input
// or of an earlier output (equal values were made one): the program may change
// either in place.
func notTheirOwn(g *graph.Graph, fresh []int) []int {
	var list []int
	taken := map[*graph.Node]bool{}
	outs := g.Outputs()
	for _, i := range fresh {
		n, ok := outs[i].(*graph.Node)
		if !ok {
			continue
		}
		n = ownerOf(n)
		if taken[n] || n.Kind == graph.Placeholder {
			list = append(list, i)
		}
		taken[n] = true
	}
	return list
}

// ownerOf is the node whose memory n shows, or may show.
func ownerOf(n *graph.Node) *graph.Node {
	for {
		row := n.OpRow()
		if row == nil && n.Kind != graph.Placeholder { // getitem
			src, _ := viewed(n)
			row = src.OpRow()
		}
		if row == nil || !row.Tags.Has(ops.TagView) && !row.Tags.Has(ops.TagMaybeView) {
			return n
		}
		n, _ = viewed(n)
	}
}

// separate gives outputs memory of their own.
func separate(run Runnable, list []int) Runnable {
	if len(list) == 0 {
		return run
	}
	return func(in []torch.Value) []torch.Value {
		out := run(in)
		for _, i := range list {
			if x, ok := out[i].(*torch.Tensor); ok {
				countCopy(x)
				out[i] = torch.Call(ops.Clone, cloneArgs(x.Detach()))[0]
			}
		}
		return out
	}
}

// sizes evaluates size expressions with the inputs of a call; nil where no view
// that is taken at run time has one.
func (f *functional) sizes(in []torch.Value) func(sym.Int) sym.Int {
	if !f.symbolic() {
		return nil
	}
	values := map[*sym.Symbol]int64{}
	for i, p := range f.metas {
		graph.BindSymbols(p, in[i], func(s *sym.Symbol, v int64) { values[s] = v })
	}
	return func(x sym.Int) sym.Int {
		return sym.Const(x.Eval(func(s *sym.Symbol) int64 {
			if v, ok := s.Fixed(); ok {
				return v
			}
			return values[s]
		}))
	}
}

// symbolic reports whether a view that is taken at run time depends on sizes.
func (f *functional) symbolic() bool {
	for _, o := range f.outputs {
		if symbolicSteps(o.chain) {
			return true
		}
	}
	for _, s := range f.shows {
		if symbolicSteps(s.chain) {
			return true
		}
	}
	return false
}

func symbolicSteps(chain []viewStep) bool {
	for _, s := range chain {
		for _, a := range s.args {
			if x, ok := a.(sym.Int); ok && !sym.AllConst([]sym.Int{x}) {
				return true
			}
			if xs, ok := a.([]sym.Int); ok && !sym.AllConst(xs) {
				return true
			}
		}
	}
	return false
}

// countCopy counts the bytes of t's elements as copied for the compiler's sake.
func countCopy(t *torch.Tensor) { torch.CountCopied(t.Numel() * t.DType().Size()) }

// cloneArgs are the bound arguments of a plain clone of t.
func cloneArgs(t *torch.Tensor) []ops.Arg {
	args, err := ops.Bind(ops.Get(ops.Clone), []ops.Arg{t}, nil)
	if err != nil {
		panic("aot: clone: " + err.Error())
	}
	return args
}
