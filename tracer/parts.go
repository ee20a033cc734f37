package tracer

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file compiles graphs that read numbers out of tensors: in parts, of which each ends
// where a number is read. A part that knows a number is compiled when it first runs, with that
// number for a size which varies from call to call; one of less than 2 it runs operator by
// operator, as 0 and 1 have entries of their own elsewhere.

// parts runs a graph part by part.
type parts struct {
	b    Backend
	r    *Request
	list []*part
}

// part is the nodes of a graph up to an operator that reads data, nil behind the last one.
type part struct {
	nodes []*graph.Node
	reads *graph.Node   // what ends it: what reads data, or an operator that is called with numbers of data
	taken []*graph.Node // of the results of that, where there are several
	in    []*graph.Node // values from before it
	out   []*graph.Node // values that are read behind it
	knows []*sym.Symbol // numbers that were read before it
	given []scale       // those with a fraction

	mu    sync.Mutex
	forms []*form
}

// form is a part compiled for some inputs.
type form struct {
	key string
	env *sym.Env
	of  map[*sym.Symbol]*sym.Symbol // the symbols that stand for numbers
	run Runnable
}

// compileParts compiles a graph that reads numbers; is reports whether r's does, for a backend
// that takes no whole graphs.
func compileParts(b Backend, r *Request) (run Runnable, err error, is bool) {
	given := marked(r.Module.G)
	if _, user := b.(userBackend); user || len(given) == 0 && !slices.ContainsFunc(r.Module.G.Nodes(), readsData) {
		return nil, nil, false
	}
	p := &parts{b: b, r: r, list: cut(r.Module.G, given)}
	if _, err := p.list[0].form(p, 0, p.given(r.Example, p.list[0]), p.sizes(r.Example)); err != nil {
		return nil, err, true
	}
	return p.run, nil, true
}

// scale is a number with a fraction that comes in a tensor without dimensions.
type scale struct {
	number *graph.Node
	dtype  ops.DType
}

// readsData reports whether a node gives a number, or a tensor of a size, that data decides.
func readsData(n *graph.Node) bool {
	row := n.OpRow()
	return row != nil && row.Tags.Has(ops.TagDataDependent)
}

// ends reports whether a part ends with a node.
func ends(n *graph.Node) bool { return readsData(n) || n.HasNumbers() && !scaled(n) && !n.IsNumber() }

// scales are the operators that compute the same with a tensor without dimensions in place of a number.
var scales = map[ops.ID]bool{
	ops.Add: true, ops.Sub: true, ops.Mul: true, ops.Div: true,
	ops.Lt: true, ops.Le: true, ops.Gt: true, ops.Ge: true, ops.Eq: true, ops.Ne: true,
}

// scaled reports whether numbers of data are nothing but one operand of a node, whose other one
// is a tensor of their type.
func scaled(n *graph.Node) bool {
	if !scales[n.Op] {
		return false
	}
	for i, a := range n.Args {
		x, ok := a.(*graph.Node)
		if ok && x.IsNumber() && i > 1 {
			return false
		}
	}
	d, ok := scaleType(n)
	return ok && (d == ops.Float32 || d == ops.Float64)
}

// scaleType is the type of the tensor among two operands.
func scaleType(n *graph.Node) (ops.DType, bool) {
	for _, a := range n.Args[:2] {
		if x, ok := a.(*graph.Node); ok && x.IsTensor() {
			return x.TensorMeta().DType, true
		}
	}
	return 0, false
}

// read is the symbol that such a node brings in, nil for none.
func read(n *graph.Node) *sym.Symbol {
	if !readsData(n) || n.IsNumber() {
		return nil
	}
	x, number := n.Meta.(sym.Int)
	if list, several := n.Meta.([]ops.Result); several {
		x = list[0].(*ops.TensorMeta).Shape[0]
	} else if !number {
		x = n.TensorMeta().Shape[0]
	}
	u, _ := x.AsSymbol()
	return u
}

// marked are the sizes of a graph's inputs that are unbacked: numbers that all parts know.
func marked(g *graph.Graph) []*sym.Symbol {
	var out []*sym.Symbol
	for _, x := range g.Placeholders() {
		m, ok := x.Meta.(*ops.TensorMeta)
		if !ok {
			continue
		}
		for _, size := range m.Shape {
			if u, is := size.AsSymbol(); is && u.Unbacked && !slices.Contains(out, u) {
				out = append(out, u)
			}
		}
	}
	return out
}

// sizes are the symbols that inputs tell.
func (p *parts) sizes(inputs []torch.Value) map[*sym.Symbol]int64 {
	numbers := map[*sym.Symbol]int64{}
	for i, x := range p.r.Module.G.Placeholders() {
		graph.BindSymbols(x.Meta, inputs[i], func(s *sym.Symbol, v int64) {
			if _, told := numbers[s]; !told { // by a size; a stride of what is empty tells less
				numbers[s] = v
			}
		})
	}
	return numbers
}

// cut takes a graph apart, which knows some numbers from the start.
func cut(g *graph.Graph, known []*sym.Symbol) []*part {
	list := []*part{{knows: slices.Clone(known)}}
	at := map[*graph.Node]int{} // in which part a value is made
	for _, n := range g.Nodes() {
		last := list[len(list)-1]
		switch {
		case n.Kind != graph.CallFunction && n.Kind != graph.CallMethod:
			at[n] = -1
		case n.IsNumber() && !readsData(n):
			at[n] = -1
		case ends(n):
			if u := read(n); u != nil {
				known = append(known, u)
			}
			last.reads, at[n] = n, -1
			list = append(list, &part{knows: slices.Clone(known)})
		case ofSeveral(n) != nil:
			at[n] = -1
			for _, q := range list {
				if q.reads == ofSeveral(n) {
					q.taken = append(q.taken, n)
				}
			}
		default:
			at[n] = len(list) - 1
			last.nodes = append(last.nodes, n)
		}
	}
	need := func(n, x *graph.Node, by int) {
		if x.IsNumber() {
			list[by].scale(n, x)
			return
		}
		from := at[x]
		if from != by && !slices.Contains(list[by].in, x) {
			list[by].in = append(list[by].in, x)
		}
		if from >= 0 && from != by && !slices.Contains(list[from].out, x) {
			list[from].out = append(list[from].out, x)
		}
	}
	for i, p := range list {
		for _, n := range p.nodes {
			for _, x := range n.Inputs() {
				need(n, x, i)
			}
		}
		if p.reads != nil {
			keep(list, at, p.reads.Inputs())
		}
	}
	keep(list, at, g.OutputNode().Inputs())
	return list
}

// scale has a number that n is given come in a tensor.
func (q *part) scale(n, number *graph.Node) {
	d, _ := scaleType(n)
	if s := (scale{number, d}); !slices.Contains(q.given, s) {
		q.given = append(q.given, s)
	}
}

// ofSeveral is the node that ends a part of which x is one of several results, nil for none.
func ofSeveral(x *graph.Node) *graph.Node {
	if x.Kind != graph.CallFunction || x.Op != ops.None || x.Target != "getitem" {
		return nil
	}
	if from, _ := x.Item(); ends(from) {
		return from
	}
	return nil
}

// keep has values leave the parts that make them.
func keep(list []*part, at map[*graph.Node]int, values []*graph.Node) {
	for _, x := range values {
		if from := at[x]; from >= 0 && !slices.Contains(list[from].out, x) {
			list[from].out = append(list[from].out, x)
		}
	}
}

// given are the inputs of the first part among those of the graph.
func (p *parts) given(inputs []torch.Value, first *part) []torch.Value {
	var out []torch.Value
	phs := p.r.Module.G.Placeholders()
	for _, x := range first.in {
		out = append(out, inputs[slices.Index(phs, x)])
	}
	return out
}

// run runs all parts.
func (p *parts) run(inputs []torch.Value) []torch.Value {
	env, numbers := map[*graph.Node]torch.Value{}, p.sizes(inputs)
	g := p.r.Module.G
	for i, x := range g.Placeholders() {
		env[x] = inputs[i]
	}
	for _, u := range p.list[0].knows {
		check(u, numbers)
	}
	for i, q := range p.list {
		in := make([]torch.Value, len(q.in))
		for k, x := range q.in {
			in[k] = env[x]
		}
		for _, s := range q.given {
			in = append(in, torch.Call(ops.ScalarTensor, []ops.Arg{number(s.number, env, numbers), s.dtype, nil, false})[0])
		}
		for k, v := range q.run(p, i, in, numbers) {
			env[q.out[k]] = v
		}
		if q.reads != nil {
			vs := dataOf(q.reads, env, numbers)
			env[q.reads] = vs[0]
			for _, x := range q.taken {
				_, i := x.Item()
				env[x] = vs[i]
			}
			if u := read(q.reads); u != nil {
				numbers[u] = rowsOf(vs[0])
				check(u, numbers)
			}
		}
	}
	for n := g.First(); n != nil; n = n.Next() {
		if n.Target == graph.AssertScalar {
			number(n, env, numbers)
		}
	}
	outs := g.Outputs()
	vals := make([]torch.Value, len(outs))
	for i, a := range outs {
		if x, ok := a.(*graph.Node); ok {
			vals[i] = env[x]
		}
	}
	return vals
}

// number is a number with a fraction, which is computed when it is first asked for.
func number(n *graph.Node, env map[*graph.Node]torch.Value, numbers map[*sym.Symbol]int64) float64 {
	if v, done := env[n]; done {
		return v.(float64)
	}
	v := n.EvalNumber(func(a ops.Arg) float64 {
		switch a := a.(type) {
		case *graph.Node:
			return number(a, env, numbers)
		case sym.Int:
			return float64(sizeOf(a, numbers))
		}
		return ops.NumberOf(a)
	})
	env[n] = v
	return v
}

// sizeOf is a size of which all numbers are known.
func sizeOf(x sym.Int, numbers map[*sym.Symbol]int64) int64 {
	return x.Eval(func(s *sym.Symbol) int64 {
		if v, fixed := s.Fixed(); fixed {
			return v
		}
		return numbers[s]
	})
}

// dataOf runs a node that reads data, or that is called with numbers of data.
func dataOf(n *graph.Node, env map[*graph.Node]torch.Value, numbers map[*sym.Symbol]int64) []torch.Value {
	if n.Op == ops.Item {
		x := env[n.Inputs()[0]].(*torch.Tensor)
		if n.IsNumber() {
			return []torch.Value{x.Item()}
		}
		return []torch.Value{x.ItemInt()}
	}
	args := make([]ops.Arg, len(n.Args))
	for i, a := range n.Args {
		args[i] = known(a, env, numbers)
	}
	if n.NoGrad {
		return torch.CallUntaped(n.Op, args)
	}
	return torch.Call(n.Op, args)
}

// known is an argument of a call whose numbers are all known.
func known(a ops.Arg, env map[*graph.Node]torch.Value, numbers map[*sym.Symbol]int64) ops.Arg {
	switch a := a.(type) {
	case *graph.Node:
		if a.IsNumber() {
			return number(a, env, numbers)
		}
		return env[a]
	case []ops.Value:
		list := make([]ops.Value, len(a))
		for i, x := range a {
			if x != nil {
				list[i] = env[x.(*graph.Node)].(*torch.Tensor)
			}
		}
		return list
	case sym.Int:
		return sym.Const(sizeOf(a, numbers))
	case []sym.Int:
		list := make([]sym.Int, len(a))
		for i, x := range a {
			list[i] = sym.Const(sizeOf(x, numbers))
		}
		return list
	}
	return a
}

// rowsOf is the number that came out of data: itself, or the rows of a tensor.
func rowsOf(v torch.Value) int64 {
	if t, ok := v.(*torch.Tensor); ok {
		return int64(t.Size(0))
	}
	return int64(v.(int))
}

// check tests what the program asserts of a number, as far as its other numbers are known.
func check(u *sym.Symbol, numbers map[*sym.Symbol]int64) {
	for _, r := range u.Checks {
		known := true
		for _, s := range append(r.A.Symbols(), r.B.Symbols()...) {
			_, fixed := s.Fixed()
			if _, read := numbers[s]; !read && !fixed {
				known = false
			}
		}
		if known && !r.Holds(func(s *sym.Symbol) int64 { return numbers[s] }) {
			msg := fmt.Sprintf("RuntimeError: Runtime assertion failed for expression %s, where %s is %d", r, u.Name, numbers[u])
			panic(&torch.Error{Op: "torch.Check", Msg: msg})
		}
	}
}

// run runs a part, number i.
func (q *part) run(p *parts, i int, in []torch.Value, numbers map[*sym.Symbol]int64) []torch.Value {
	if len(q.out) == 0 {
		return nil
	}
	f, err := q.form(p, i, in, numbers)
	if err != nil {
		panic(fmt.Errorf("backend %s failed on part %d of graph %s: %w", p.b.Name(), i, p.r.Module.Name(), err))
	}
	return f.run(f.inputs(q, in, numbers))
}

// inputs are those of a compiled part: values, then numbers.
func (f *form) inputs(q *part, in []torch.Value, numbers map[*sym.Symbol]int64) []torch.Value {
	for _, u := range q.knows {
		in = append(in, int(numbers[u]))
	}
	return in
}

// form is the form of a part for its inputs, compiled where there is none yet.
func (q *part) form(p *parts, i int, in []torch.Value, numbers map[*sym.Symbol]int64) (*form, error) {
	small := false
	for _, u := range q.knows {
		small = small || numbers[u] < 2
	}
	key := fmt.Sprint(torch.GradEnabled(), small)
	for _, v := range in {
		t, ok := v.(*torch.Tensor)
		key += fmt.Sprint(ok && t.RequiresGrad())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.forms {
		if f.key == key && (small || f.holds(numbers)) {
			return f, nil
		}
	}
	f := &form{key: key, env: &sym.Env{}, of: map[*sym.Symbol]*sym.Symbol{}}
	g := q.graph(f, fmt.Sprintf("%s_part%d", p.r.Module.Name(), i), in, numbers)
	if small {
		f.run = g.Run
	} else {
		r := *p.r
		r.Module, r.Example = graph.NewModule(g), f.inputs(q, slices.Clone(in), numbers)
		run, err := p.b.Compile(&r)
		if err != nil {
			return nil, err
		}
		f.run = run
	}
	q.forms = append(q.forms, f)
	return f, nil
}

// holds reports whether what a form was compiled for is so of the numbers.
func (f *form) holds(numbers map[*sym.Symbol]int64) bool {
	now := maps.Clone(numbers)
	for u, s := range f.of {
		if v, fixed := s.Fixed(); fixed && v != numbers[u] {
			return false
		}
		now[s] = numbers[u]
	}
	for _, g := range f.env.Guards {
		if !g.Rel.Holds(func(s *sym.Symbol) int64 { return now[s] }) {
			return false
		}
	}
	return true
}

// graph is a part as a graph of its own, in which numbers are sizes like those of inputs.
func (q *part) graph(f *form, name string, in []torch.Value, numbers map[*sym.Symbol]int64) *graph.Graph {
	g := graph.New(name, f.env)
	subst := map[*sym.Symbol]sym.Int{}
	for _, u := range q.knows {
		x := f.env.NewSymbol(u.Name, "", max(numbers[u], 2))
		f.of[u], _ = x.AsSymbol()
		subst[u] = x
	}
	of := map[*graph.Node]*graph.Node{}
	for k, x := range q.in {
		m := substituted(x.Meta, subst)
		if t, ok := in[k].(*torch.Tensor); ok {
			wants := *m.(*ops.TensorMeta)
			wants.RequiresGrad = t.RequiresGrad()
			m = &wants
		}
		of[x] = g.Input(x.Name, x.Name, x.Source, m)
	}
	scales := map[scale]*graph.Node{}
	for _, s := range q.given {
		m := &ops.TensorMeta{DType: s.dtype, Device: ops.CPU, Shape: []sym.Int{}, Stride: []sym.Int{}, Offset: sym.C(0)}
		scales[s] = g.Input(s.number.Name, s.number.Name, "", m)
	}
	for _, u := range q.knows {
		g.Input(u.Name, u.Name, "", subst[u])
	}
	for _, n := range q.nodes {
		c := n.CopyInto(g, func(x *graph.Node) *graph.Node {
			if x.IsNumber() {
				d, _ := scaleType(n)
				return scales[scale{x, d}]
			}
			return of[x]
		})
		args := make([]ops.Arg, len(c.Args))
		for i, a := range c.Args {
			args[i] = substituted(a, subst)
		}
		c.SetArgs(args)
		c.Meta, of[n] = substituted(c.Meta, subst), c
	}
	var outs []ops.Arg
	for _, x := range q.out {
		outs = append(outs, of[x])
	}
	g.SetOutput(outs)
	return g
}

// substituted is an argument or a value of a node with sizes in place of numbers.
func substituted(a any, subst map[*sym.Symbol]sym.Int) any {
	size := func(x sym.Int) sym.Int {
		return x.Subst(func(s *sym.Symbol) (sym.Int, bool) { y, ok := subst[s]; return y, ok })
	}
	sizes := func(xs []sym.Int) []sym.Int {
		out := make([]sym.Int, len(xs))
		for i, x := range xs {
			out[i] = size(x)
		}
		return out
	}
	switch a := a.(type) {
	case sym.Int:
		return size(a)
	case []sym.Int:
		return sizes(a)
	case *ops.TensorMeta:
		m := *a
		m.Shape, m.Stride, m.Offset = sizes(a.Shape), sizes(a.Stride), size(a.Offset)
		return &m
	case []any:
		out := make([]any, len(a))
		for i, x := range a {
			out[i] = substituted(x, subst)
		}
		return out
	}
	return a
}
