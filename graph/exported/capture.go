package exported

import (
	"fmt"
	"slices"

	"tcdbg/graph"
	"tcdbg/graph/decompose"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/export"
)

// This file goes the other way: a graph that was captured becomes a program, whose calls are
// those of aten.

// Spec is what a program is besides its graph.
type Spec struct {
	Inputs  []Input // parameters, buffers, constants, then what the caller gives
	Outputs []any   // *graph.Node, or a constant of a caller's result
	In, Out *export.Tree
	Names   []string
	Symbols []export.Symbol
	Weights map[string]export.Weight
}

// Input is an input of the program. Node is nil where the graph does not read it.
type Input struct {
	export.Input
	Node *graph.Node
	Meta *ops.TensorMeta // of a tensor
}

// Capture writes g, which it changes, as a program. Its error is *export.Missing where calls have no form in aten.
func Capture(g *graph.Graph, spec *Spec) (*export.Program, error) {
	decompose.Expand(g, func(n *graph.Node) bool {
		_, err := export.ToAten(n.OpRow(), n.Args)
		return err != nil
	})
	numbersAsTensors(g)
	cutGradients(g)
	g.EliminateDead()
	c := newCapturer(g, spec)
	c.inputs()
	c.nodes()
	if len(c.missing) > 0 {
		return nil, &export.Missing{Counts: c.missing, Why: "have no form in aten"}
	}
	for _, v := range spec.Outputs {
		a, err := c.arg(v, nil)
		if err != nil {
			return nil, fmt.Errorf("a result: %w", err)
		}
		c.prog.Outputs = append(c.prog.Outputs, export.Output{Value: a})
	}
	p := export.Make(c.prog, c.tensors, c.numbers)
	return p, p.Check()
}

// numbersAsTensors makes tensors of numbers that come first, as in 2 / x: aten's operators begin with a tensor.
func numbersAsTensors(g *graph.Graph) {
	for _, n := range g.Nodes() {
		row := n.OpRow()
		if row == nil {
			continue
		}
		at, operands := -1, []ops.Arg{}
		for i, p := range row.Params() {
			if p.Base() != "Operand" {
				continue
			}
			if _, isNode := n.Args[i].(*graph.Node); !isNode && len(operands) == 0 {
				at = i
			}
			operands = append(operands, n.Args[i])
		}
		if _, err := export.ToAten(row, n.Args); at < 0 || err == nil {
			continue
		}
		b := &graph.Builder{G: g, Before: n, Stack: n.Stack, NoGrad: n.NoGrad}
		args := slices.Clone(n.Args)
		args[at] = b.Emit(ops.ScalarTensor, n.Args[at], ops.ResultType(operands...))
		n.SetArgs(args)
	}
}

// cutGradients detaches what is computed under torch.NoGrad where it is read outside of it: a program has no
// such regions.
func cutGradients(g *graph.Graph) {
	outside := func(n *graph.Node) bool { return n.Kind != graph.Placeholder && n.Kind != graph.Output && !n.NoGrad }
	if !slices.ContainsFunc(g.Nodes(), outside) {
		return
	}
	for _, n := range g.Nodes() {
		if m, ok := n.Meta.(*ops.TensorMeta); !ok || !n.NoGrad || !m.DType.IsFloat() {
			continue
		}
		var cut *graph.Node
		for _, u := range n.Users() {
			if u.Kind != graph.Output && u.NoGrad {
				continue
			}
			if cut == nil {
				b := &graph.Builder{G: g, Before: n.Next(), Stack: n.Stack}
				cut = b.Emit(ops.Detach, n).(*graph.Node)
			}
			u.Replace(n, cut)
		}
	}
}

type capturer struct {
	g       *graph.Graph
	spec    *Spec
	prog    *export.Program
	names   map[*graph.Node]string
	taken   map[string]bool
	tensors map[string]*export.Tensor
	numbers map[string]sym.Int
	sizes   map[string]string // names of numbers, by their text
	missing map[string]int
}

func newCapturer(g *graph.Graph, spec *Spec) *capturer {
	return &capturer{
		g: g, spec: spec, names: map[*graph.Node]string{}, taken: map[string]bool{}, tensors: map[string]*export.Tensor{},
		numbers: map[string]sym.Int{}, sizes: map[string]string{}, missing: map[string]int{},
		prog: &export.Program{
			Symbols: spec.Symbols, In: spec.In, Out: spec.Out, Names: spec.Names, Weights: spec.Weights,
		},
	}
}

// nodes writes all calls.
func (c *capturer) nodes() {
	for _, n := range c.g.Nodes() {
		if n.Kind != graph.Placeholder && n.Kind != graph.Output {
			c.node(n)
		}
	}
}

func (c *capturer) name(base string) string {
	name := base
	for i := 1; c.taken[name]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	c.taken[name] = true
	return name
}

func (c *capturer) inputs() {
	for _, in := range c.spec.Inputs {
		x := in.Input
		x.Name = c.name(graph.Word(x.Name))
		if in.Meta != nil {
			x.Tensor = export.TensorOf(in.Meta)
			c.tensors[x.Name] = x.Tensor
		}
		if in.Node != nil {
			c.names[in.Node] = x.Name
		}
		c.prog.Inputs = append(c.prog.Inputs, x)
	}
}

// node writes one call; what has no form is counted.
func (c *capturer) node(n *graph.Node) {
	row := n.OpRow()
	switch {
	case n.Target == "getitem":
		return // its call has named it
	case n.Flow != nil:
		c.flow(n)
		return
	case row == nil:
		c.lacks(n, n.Target)
		return
	}
	call, err := export.ToAten(row, n.Args)
	if err != nil {
		c.lacks(n, err.Error())
		return
	}
	out := export.Node{Target: call.Target, Stack: stackOf(n.Stack)}
	for _, a := range call.Args {
		v, err := c.arg(a.Value, out.Stack)
		if err != nil {
			c.lacks(n, fmt.Sprintf("%s: %v", row.FullName(), err))
			return
		}
		out.Args = append(out.Args, export.NamedArg{Name: a.Name, Keyword: a.Keyword, Value: v})
	}
	out.Name = c.name(n.Name)
	if out.Outs, err = c.results(n, out.Name); err != nil {
		c.lacks(n, fmt.Sprintf("%s: %v", row.FullName(), err))
		return
	}
	c.prog.Nodes = append(c.prog.Nodes, out)
}

// lacks counts a call that has no form; what reads it is written all the same, to find the others.
func (c *capturer) lacks(n *graph.Node, what string) {
	c.missing[what]++
	c.names[n] = n.Name
	for _, u := range n.Users() {
		if u.Target == "getitem" {
			c.names[u] = u.Name
		}
	}
}

// results names what a call gives: itself, or the getitem nodes that take its results apart.
func (c *capturer) results(n *graph.Node, name string) ([]export.Out, error) {
	if m, ok := n.Meta.(*ops.TensorMeta); ok {
		c.names[n] = name
		c.tensor(name, m)
		return []export.Out{{Name: name}}, nil
	}
	list, ok := n.Meta.([]ops.Result)
	if !ok {
		return nil, fmt.Errorf("its result is a number out of a tensor's data")
	}
	items := make([]string, len(list))
	for _, u := range n.Users() {
		if u.Target != "getitem" {
			continue
		}
		if _, i := u.Item(); items[i] == "" {
			items[i] = c.name(u.Name)
		}
	}
	for i := range items {
		m, ok := list[i].(*ops.TensorMeta)
		if !ok {
			return nil, fmt.Errorf("its result is no tensor")
		}
		if items[i] == "" {
			items[i] = c.name(fmt.Sprintf("%s_unused_%d", name, i))
		}
		c.tensor(items[i], m)
	}
	for _, u := range n.Users() {
		if u.Target == "getitem" {
			_, i := u.Item()
			c.names[u] = items[i]
		}
	}
	if n.Flow == nil && n.OpRow().Returns()[0] == "Tensor[]" {
		return []export.Out{{List: items, Many: true}}, nil
	}
	outs := make([]export.Out, len(items))
	for i, item := range items {
		outs[i] = export.Out{Name: item}
	}
	return outs, nil
}

func (c *capturer) tensor(name string, m *ops.TensorMeta) {
	t := export.TensorOf(m)
	t.Grad = false
	c.tensors[name] = t
}

// arg is an argument as the program has it.
func (c *capturer) arg(v any, stack []export.Frame) (export.Arg, error) {
	switch v := v.(type) {
	case *graph.Node:
		name, ok := c.names[v]
		if !ok {
			return nil, fmt.Errorf("it reads %s, which is no value of the program", v.Name)
		}
		return export.Ref(name), nil
	case []ops.Value:
		out := make([]export.Arg, len(v))
		for i, e := range v {
			if e == nil {
				continue
			}
			a, err := c.arg(e, stack)
			if err != nil {
				return nil, err
			}
			out[i] = a
		}
		return out, nil
	case sym.Int:
		return c.size(v, stack)
	case []sym.Int:
		out := make([]export.Arg, len(v))
		for i, e := range v {
			a, err := c.size(e, stack)
			if err != nil {
				return nil, err
			}
			out[i] = a
		}
		return out, nil
	case []float64:
		return list(v), nil
	case []bool:
		return list(v), nil
	case int:
		return int64(v), nil
	case nil, bool, float64, int64, string, ops.DType, ops.Device, export.MemoryFormat:
		return v, nil
	}
	return nil, fmt.Errorf("an argument of type %T", v)
}

func list[T any](v []T) []export.Arg {
	out := make([]export.Arg, len(v))
	for i, e := range v {
		out[i] = e
	}
	return out
}

// size is a number, or the name of a call that computes it, which is written once.
func (c *capturer) size(x sym.Int, stack []export.Frame) (export.Arg, error) {
	if v, ok := x.IsConst(); ok {
		return v, nil
	}
	if name, ok := c.sizes[x.String()]; ok {
		return export.Ref(name), nil
	}
	if s, ok := x.AsSymbol(); ok {
		return c.symbol(s, x)
	}
	form, parts := x.Parts()
	target, name := sizeOperator(form)
	at, err := c.size(parts[0], stack)
	if err != nil {
		return nil, err
	}
	done := parts[0]
	for i, p := range parts[1:] {
		b, err := c.size(p, stack)
		if err != nil {
			return nil, err
		}
		done = combine(form, done, p)
		if i == len(parts)-2 {
			done = x
		}
		at = c.number(export.Node{
			Target: target, Name: name, Stack: stack, Args: []export.NamedArg{{Name: "a", Value: at}, {Name: "b", Value: b}},
		}, done)
	}
	return at, nil
}

func sizeOperator(f sym.Form) (target, name string) {
	switch f {
	case sym.Sum:
		return "_operator.add", "add"
	case sym.Times:
		return "_operator.mul", "mul"
	case sym.Quotient:
		return "_operator.floordiv", "floordiv"
	case sym.Modulo:
		return "_operator.mod", "mod"
	case sym.Maximum:
		return "torch.sym_max", "sym_max"
	}
	return "torch.sym_min", "sym_min"
}

func combine(f sym.Form, a, b sym.Int) sym.Int {
	return map[sym.Form]func(a, b sym.Int) sym.Int{
		sym.Sum: sym.Add, sym.Times: sym.Mul, sym.Quotient: sym.FloorDiv, sym.Modulo: sym.Mod, sym.Maximum: sym.Max, sym.Minimum: sym.Min,
	}[f](a, b)
}

// symbol reads a symbol off the input that has it as a size.
func (c *capturer) symbol(s *sym.Symbol, x sym.Int) (export.Arg, error) {
	for i, in := range c.spec.Inputs {
		if in.Kind != export.User || in.Meta == nil {
			continue
		}
		d := slices.IndexFunc(in.Meta.Shape, func(e sym.Int) bool { y, ok := e.AsSymbol(); return ok && y == s })
		if d < 0 {
			continue
		}
		return c.number(export.Node{Target: "torch.ops.aten.sym_size.int", Name: "sym_size_int", Args: []export.NamedArg{
			{Name: "self", Value: export.Ref(c.prog.Inputs[i].Name)}, {Name: "dim", Value: int64(d)},
		}}, x), nil
	}
	return nil, fmt.Errorf("the size %s is that of no input", s.Name)
}

// number writes a call that gives the number x.
func (c *capturer) number(n export.Node, x sym.Int) export.Ref {
	n.Name = c.name(n.Name)
	n.Outs = []export.Out{{Name: n.Name}}
	c.numbers[n.Name], c.sizes[x.String()] = x, n.Name
	c.prog.Nodes = append(c.prog.Nodes, n)
	return export.Ref(n.Name)
}

func stackOf(stack []graph.Frame) []export.Frame {
	out := make([]export.Frame, len(stack))
	for i, f := range stack {
		out[i] = export.Frame{File: f.File, Line: f.Line, Func: f.Func, Code: f.Code}
	}
	return out
}
