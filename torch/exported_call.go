package torch

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/export"
	"tcdbg/torch/internal/refusal"
)

// This file calls an exported program: arguments are taken out of the tuples and dicts
// that the program was exported with, and held against what it was exported for.

// Call runs the program. Arguments are tensors, numbers, lists ([]any or []*Tensor, for Python's
// tuples and lists) and dicts (OrderedDict or map[string]any); a keyword argument is an Option. The
// results are in the order of OutputNames. It panics with *Error for arguments that the
// program was not exported for.
func (p *ExportedProgram) Call(args ...any) []Value {
	leaves, err := p.leaves(args)
	if err != nil {
		refusal.Fail("exported program", "ValueError", "%v", err)
	}
	inputs, symbols, err := p.inputs(leaves)
	if err != nil {
		refusal.Fail("exported program", "AssertionError", "%v", err)
	}
	if run := exportedRun.Load(); run != nil {
		return p.results(p.runCompiled(*run, inputs, symbols))
	}
	return p.results(p.RunEagerly(inputs, symbols))
}

// GraphInputs are the inputs of the program's graph for a call with args, and the values of its sizes; for a compiler.
func (p *ExportedProgram) GraphInputs(args ...any) ([]Value, map[string]int64, error) {
	leaves, err := p.leaves(args)
	if err != nil {
		return nil, nil, err
	}
	return p.inputs(leaves)
}

// leaves takes the arguments of a call apart.
func (p *ExportedProgram) leaves(args []any) ([]any, error) {
	var kwargs OrderedDict
	pos := []any{}
	for _, a := range args {
		if o, ok := a.(Option); ok {
			kwargs = append(kwargs, DictItem{o.Name, o.Value})
			continue
		}
		pos = append(pos, a)
	}
	pos, kwargs = p.byPosition(pos, kwargs)
	return p.flatten(append(pos, kwargs))
}

// byPosition moves arguments that are given by name to where the program was exported with them by position.
func (p *ExportedProgram) byPosition(pos []any, kwargs OrderedDict) ([]any, OrderedDict) {
	for len(pos) < len(p.prog.In.Kids[0].Kids) && len(pos) < len(p.prog.Names) {
		at := slices.IndexFunc(kwargs, func(d DictItem) bool { return d.Key == p.prog.Names[len(pos)] })
		if at < 0 {
			break
		}
		pos = append(pos, kwargs[at].Value)
		kwargs = slices.Delete(slices.Clone(kwargs), at, at+1)
	}
	return pos, kwargs
}

// flatten takes the arguments apart: the last one holds the keyword arguments.
func (p *ExportedProgram) flatten(args []any) ([]any, error) {
	n := len(args) - 1
	var leaves []any
	pos := p.prog.In.Kids[0]
	if n != len(pos.Kids) {
		return nil, fmt.Errorf("args: the program was exported with %d values there, %s, and is called with %d", len(pos.Kids), pos, n)
	}
	for i, k := range pos.Kids {
		if err := flattenTree(k, args[i], p.prog.ParameterName(i), &leaves); err != nil {
			return nil, err
		}
	}
	return leaves, flattenTree(p.prog.In.Kids[1], args[n], "kwargs", &leaves)
}

func flattenTree(t *export.Tree, v any, path string, leaves *[]any) error {
	if t.Kind == export.Leaf {
		switch v.(type) {
		case nil, *Tensor, int, float64, bool, string:
			*leaves = append(*leaves, v)
			return nil
		}
		return fmt.Errorf("%s: the program was exported with one value there, and is called with %T", path, v)
	}
	if t.Kind == export.Dict {
		return flattenDict(t, v, path, leaves)
	}
	list, ok := v.([]any)
	if tensors, are := v.([]*Tensor); are {
		ok = true
		for _, x := range tensors {
			list = append(list, x)
		}
	}
	if !ok || len(list) != len(t.Kids) {
		return fmt.Errorf(
			"%s: the program was exported with %d values there, %s, and is called with %s", path, len(t.Kids), t, countOf(v, list),
		)
	}
	for i, k := range t.Kids {
		if err := flattenTree(k, list[i], fmt.Sprintf("%s[%d]", path, i), leaves); err != nil {
			return err
		}
	}
	return nil
}

func countOf(v any, list []any) string {
	if list != nil {
		return fmt.Sprintf("%d", len(list))
	}
	return fmt.Sprintf("%T", v)
}

func flattenDict(t *export.Tree, v any, path string, leaves *[]any) error {
	given := map[string]any{}
	switch d := v.(type) {
	case OrderedDict:
		for _, item := range d {
			if name, ok := item.Key.(string); ok {
				given[name] = item.Value
			}
		}
	case map[string]any:
		for name, x := range d {
			given[name] = x
		}
	case map[string]*Tensor:
		for name, x := range d {
			given[name] = x
		}
	default:
		return fmt.Errorf("%s: the program was exported with a dict there, and is called with %T", path, v)
	}
	for i, k := range t.Kids {
		name := t.Keys[i]
		x, ok := given[name]
		if !ok {
			return fmt.Errorf("%s: the program takes %s, which has no %q here", path, t, name)
		}
		delete(given, name)
		if err := flattenTree(k, x, fmt.Sprintf("%s['%s']", path, name), leaves); err != nil {
			return err
		}
	}
	if len(given) > 0 {
		names := make([]string, 0, len(given))
		for name := range given {
			names = append(names, name)
		}
		sort.Strings(names)
		return fmt.Errorf("%s: the program takes %s, and no %q", path, t, names[0])
	}
	return nil
}

// inputs are the values of the graph's inputs, and of the program's symbols.
func (p *ExportedProgram) inputs(leaves []any) ([]Value, map[string]int64, error) {
	inputs := make([]Value, len(p.prog.Inputs))
	m := &matcher{symbols: map[string]int64{}, prog: p.prog}
	names := p.InputNames()
	for pass := range 2 { // sizes that are expressions need the symbols of all inputs
		at := 0
		for i := range p.prog.Inputs {
			in := &p.prog.Inputs[i]
			if in.Kind != export.User && in.Kind != export.Fixed {
				inputs[i] = p.stored[i]
				continue
			}
			inputs[i] = leaves[at]
			if err := m.match(in, names[at], leaves[at], pass == 0); err != nil {
				return nil, nil, err
			}
			at++
		}
	}
	for _, s := range p.prog.Symbols {
		v, ok := m.symbols[s.Name]
		switch {
		case ok && v < s.Min:
			return nil, nil, guardFailed("%s >= %d, and it is %d", m.source[s.Name], s.Min, v)
		case ok && v > s.Max:
			return nil, nil, guardFailed("%s <= %d, and it is %d", m.source[s.Name], s.Max, v)
		}
	}
	return inputs, m.symbols, nil
}

// matcher holds arguments against what a program was exported for.
type matcher struct {
	prog    *export.Program
	symbols map[string]int64
	source  map[string]string // where a symbol was read
}

// guardFailed is the error of an argument that the program was not exported for, as PyTorch words it.
func guardFailed(format string, args ...any) error {
	return fmt.Errorf("Guard failed: "+format, args...)
}

func (m *matcher) match(in *export.Input, name string, v any, first bool) error {
	if in.Kind == export.Fixed {
		if v != plainValue(in.Value) {
			return guardFailed("%s == %v, and it is %v: the program was exported with that constant", name, plainValue(in.Value), v)
		}
		return nil
	}
	if in.Tensor == nil {
		i, ok := v.(int)
		if !ok {
			return fmt.Errorf("%s is a number, and %T is given", name, v)
		}
		return m.size(m.prog.SizeOf(in), int64(i), name, first)
	}
	t, ok := v.(*Tensor)
	if !ok || t == nil {
		return fmt.Errorf("%s is a tensor, and %T is given", name, v)
	}
	if t.DType() != in.Tensor.DType {
		return guardFailed("%s.dtype == torch.%s, and it is torch.%s", name, in.Tensor.DType.Name(), t.DType().Name())
	}
	shape, _, _ := t.Layout()
	if len(shape) != len(in.Tensor.Shape) {
		return guardFailed("len(%s.size()) == %d, and it is %d", name, len(in.Tensor.Shape), len(shape))
	}
	for d, s := range in.Tensor.Shape {
		if err := m.size(s, int64(shape[d]), fmt.Sprintf("%s.size()[%d]", name, d), first); err != nil {
			return err
		}
	}
	return nil
}

// size holds one size against a number or an expression; a symbol that is met first gets its value.
func (m *matcher) size(s export.Size, got int64, name string, first bool) error {
	if symbol := s.Symbol(); symbol != "" && first {
		if _, known := m.symbols[symbol]; !known {
			m.symbols[symbol] = got
			if m.source == nil {
				m.source = map[string]string{}
			}
			m.source[symbol] = name
		}
		return nil
	}
	if first && s.Expr != "" {
		return nil
	}
	want, err := s.Eval(m.symbols)
	if err != nil {
		return err
	}
	if want != got {
		return guardFailed("%s == %d, and it is %d", name, want, got)
	}
	return nil
}

// RunEagerly computes the program operator by operator. inputs are those of its graph, symbols the values of its sizes.
func (p *ExportedProgram) RunEagerly(inputs []Value, symbols map[string]int64) []Value {
	in := make([]any, len(inputs))
	for i, v := range inputs {
		in[i] = v
		switch x := v.(type) {
		case int:
			in[i] = sym.C(x)
		}
	}
	out, err := p.prog.Walk(eagerMaker{}, in, func(name string) (sym.Int, error) { return sym.Const(symbols[name]), nil })
	if err != nil {
		refusal.Fail("exported program", "RuntimeError", "%v", err)
	}
	return out
}

// eagerMaker computes the calls of a program.
type eagerMaker struct{}

func (eagerMaker) Call(_ *export.Node, row *ops.Op, args []ops.Arg) ([]ops.Value, error) {
	outs := call(row, args, GradEnabled())
	vals := make([]ops.Value, len(outs))
	for i, o := range outs {
		t, ok := o.(*Tensor)
		if !ok {
			return nil, fmt.Errorf("its result is no tensor")
		}
		vals[i] = t
	}
	return vals, nil
}

// results takes what the caller gets from the outputs of the graph.
func (p *ExportedProgram) results(outputs []Value) []Value {
	var out []Value
	for i, o := range p.prog.Outputs {
		if o.Kind != export.Result {
			continue
		}
		v := outputs[i]
		if x, ok := v.(sym.Int); ok {
			v = int(x.Hint())
		}
		out = append(out, v)
	}
	return slices.Clip(out)
}

// runCompiled runs the program by run, on inputs with the strides that it was exported with: a tensor
// that lies otherwise is copied, and what the program writes in the copy is written back.
func (p *ExportedProgram) runCompiled(run ExportedRunner, inputs []Value, symbols map[string]int64) []Value {
	type copied struct {
		from, to *Tensor
		seen     uint64
	}
	var moved []copied
	given := slices.Clone(inputs)
	for i := range p.prog.Inputs {
		in := &p.prog.Inputs[i]
		t, ok := inputs[i].(*Tensor)
		if !ok || in.Kind != export.User || in.Tensor == nil {
			continue
		}
		stride := p.strides(in, symbols)
		if sameStrides(t.array.Shape, t.array.Stride, stride) {
			continue
		}
		to := relaid(t, stride)
		moved = append(moved, copied{t, to, to.array.Storage.Version()})
		given[i] = to
	}
	out := run(p, given, symbols)
	for _, m := range moved {
		if m.to.array.Storage.Version() != m.seen {
			m.from.Copy_(m.to)
		}
	}
	return out
}

// strides are those that the program was exported with for an input, with the sizes of a call.
func (p *ExportedProgram) strides(in *export.Input, symbols map[string]int64) []int {
	out := make([]int, len(in.Tensor.Stride))
	for d, s := range in.Tensor.Stride {
		v, err := s.Eval(symbols)
		if err != nil {
			refusal.Fail("exported program", "RuntimeError", "%v", err)
		}
		out[d] = int(v)
	}
	return out
}

// sameStrides compares strides where they mean something: not of dimensions of one element.
func sameStrides(shape, a, b []int) bool {
	for d := range shape {
		if shape[d] > 1 && a[d] != b[d] {
			return false
		}
	}
	return true
}

// relaid is a copy of t with the strides.
func relaid(t *Tensor, stride []int) *Tensor {
	n := 1
	for d, s := range t.array.Shape {
		n += max(s-1, 0) * stride[d]
	}
	to := FromStorage(NewStorage(n*t.DType().Size()), t.DType(), t.Shape(), stride, 0)
	return to.Copy_(t)
}

// Flow implements export.FlowMaker: control flow runs operator by operator.
func (m eagerMaker) Flow(_ *export.Node, c *export.FlowCall) ([]ops.Value, error) {
	switch c.Op {
	case "cond":
		chosen := 1
		if c.Predicate.(*Tensor).Bool() {
			chosen = 0
		}
		return m.run(c.Bodies[chosen], values(c.Lists[0]))
	case "while_loop":
		return m.loop(c)
	}
	return m.slices(c)
}

// run runs a graph that a call takes.
func (m eagerMaker) run(b export.Body, args []any) ([]ops.Value, error) {
	got, err := b(m, args)
	if err != nil {
		return nil, err
	}
	out := make([]ops.Value, len(got))
	for i, v := range got {
		t, ok := v.(*Tensor)
		if !ok {
			return nil, errors.New("a graph gives what is no tensor")
		}
		out[i] = t
	}
	return out, nil
}

func values(lists ...[]ops.Value) []any {
	var out []any
	for _, list := range lists {
		for _, v := range list {
			out = append(out, v)
		}
	}
	return out
}

// loop runs rounds until the condition fails.
func (m eagerMaker) loop(c *export.FlowCall) ([]ops.Value, error) {
	carried := c.Lists[0]
	for {
		more, err := m.run(c.Bodies[0], values(carried, c.Lists[1]))
		if err != nil {
			return nil, err
		}
		if len(more) != 1 {
			return nil, errors.New("a loop's condition is no tensor")
		}
		if !more[0].(*Tensor).Bool() {
			return carried, nil
		}
		if carried, err = m.run(c.Bodies[1], values(carried, c.Lists[1])); err != nil {
			return nil, err
		}
	}
}

// slices calls a graph for each slice of what is taken apart, and stacks what that gives.
func (m eagerMaker) slices(c *export.FlowCall) ([]ops.Value, error) {
	carried, sliced, rest := c.Carried(), c.Sliced(), c.Lists[len(c.Lists)-1]
	if len(sliced) == 0 || len(sliced[0].TensorMeta().Shape) == 0 || sliced[0].TensorMeta().Shape[0].Hint() == 0 {
		return nil, errors.New("there is nothing to take apart")
	}
	k, assoc := len(carried), c.Op == "associative_scan"
	var stacks [][]ops.Value
	for i := range sliced[0].TensorMeta().Shape[0].Hint() {
		var given []ops.Value
		for _, x := range sliced {
			given = append(given, Select(x.(*Tensor), 0, int(i)))
		}
		out := given
		if !assoc || i > 0 {
			var err error
			if out, err = m.run(c.Bodies[0], values(carried, given, rest)); err != nil {
				return nil, err
			}
		}
		if assoc {
			carried = out
		} else {
			carried, out = out[:k], out[k:]
		}
		if stacks == nil {
			stacks = make([][]ops.Value, len(out))
		}
		for j := range out {
			stacks[j] = append(stacks[j], out[j])
		}
	}
	var all []ops.Value
	if !assoc {
		all = append(all, carried...)
	}
	for _, list := range stacks {
		got, err := m.Call(nil, ops.Get(ops.Stack), []ops.Arg{list, sym.C(0)})
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}
