package tracer

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"tcdbg/graph"
	"tcdbg/graph/exported"
	"tcdbg/torch"
	"tcdbg/torch/export"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
)

// This file is torch.Export: a function is traced as under Fullgraph, once, and what was captured
// becomes a program. What the function returned is found again among the results of its graph.

// capturing is what one call of torch.Export sees of the trace.
type capturing struct {
	tr      *eval.Trace
	entry   *replay.Entry
	inputs  []torch.Value // of the graph, by placeholder
	outputs []torch.Value // of its run
}

// take keeps a trace, and what its graph is given and gives.
func (x *capturing) take(tr *eval.Trace, entry *replay.Entry) {
	if x == nil {
		return
	}
	x.tr, x.entry = tr, entry
	if entry.Graph == nil {
		return
	}
	run := entry.Run
	entry.Run = func(in []torch.Value) []torch.Value {
		x.inputs, x.outputs = slices.Clone(in), run(in)
		return x.outputs
	}
}

// exportFunction is what torch.ExportBy is given.
func (t *Tracer) exportFunction(fn any, args []any, shapes torch.DynamicShapes) (p *torch.ExportedProgram, err error) {
	f := reflect.ValueOf(fn)
	at := reflect.New(f.Type())
	at.Elem().Set(f)
	cl := t.in.ClosureOf(at.UnsafePointer())
	if cl == nil {
		cl = t.in.WrapperOf(at.UnsafePointer())
	}
	if cl == nil {
		return nil, errors.New("the argument is a native function: export a function of the program that calls it")
	}
	x := &exporting{t: t, cl: cl, args: slices.Clone(args)}
	defer func() {
		for _, l := range x.leaves {
			if v, ok := l.value.(*torch.Tensor); ok {
				v.SetDims(nil)
			}
		}
		if v := recover(); v != nil {
			said, _ := host.PanicValue(v)
			refused, ok := said.(*torch.Error)
			if !ok {
				panic(v)
			}
			p, err = nil, errors.New(strings.TrimPrefix(refused.Error(), "fullgraph=true: "))
		}
	}()
	if err := x.arguments(shapes); err != nil {
		return nil, err
	}
	results, err := x.call(f.Type())
	if err != nil {
		return nil, err
	}
	return x.program(results)
}

// exporting is one call of torch.Export.
type exporting struct {
	t      *Tracer
	cl     *host.Closure
	args   []any
	names  []string // of the parameters
	in     *export.Tree
	leaves []leaf // of the arguments
	got    capturing
}

// leaf is one value of a tree, with the name that PyTorch gives it: pair[0].
type leaf struct {
	path  string
	value any
}

// arguments takes the arguments apart and marks their dimensions.
func (x *exporting) arguments(shapes torch.DynamicShapes) error {
	params := x.cl.Fn.Signature.Params()
	for i := range params.Len() {
		name := params.At(i).Name()
		if name == "" || name == "_" || name == "self" { // none, or one that Python has taken
			name = fmt.Sprintf("arg%d", i)
		}
		x.names = append(x.names, name)
	}
	if x.cl.Fn.Signature.Variadic() || len(x.args) != params.Len() {
		return fmt.Errorf("the function takes %d arguments, and %d are given", params.Len(), len(x.args))
	}
	pos := &export.Tree{Kind: export.Tuple}
	seen := map[*torch.Tensor]bool{}
	for i := range x.args {
		if v, ok := x.args[i].(*torch.Tensor); ok && seen[v] {
			x.args[i] = v.Clone() // each argument is an input of its own
		}
		tree, err := flatten(x.args[i], x.names[i], &x.leaves)
		if err != nil {
			return err
		}
		pos.Kids = append(pos.Kids, tree)
		for _, l := range x.leaves {
			if v, ok := l.value.(*torch.Tensor); ok {
				seen[v] = true
			}
		}
	}
	x.in = &export.Tree{Kind: export.Tuple, Kids: []*export.Tree{pos, {Kind: export.Dict}}}
	return x.markDims(shapes)
}

func (x *exporting) markDims(shapes torch.DynamicShapes) error {
	sizes := map[*torch.Dim]int{}
	for name, dims := range shapes {
		i := slices.IndexFunc(x.leaves, func(l leaf) bool { return l.path == name })
		if i < 0 {
			return fmt.Errorf("dynamic_shapes names %s, and the arguments are %v", name, paths(x.leaves))
		}
		v, ok := x.leaves[i].value.(*torch.Tensor)
		if !ok {
			return fmt.Errorf("dynamic_shapes names %s, which is no tensor", name)
		}
		for d, dim := range dims {
			if d < 0 || d >= v.Dim() || dim == nil {
				return fmt.Errorf("dynamic_shapes: %s has %d dimensions, and dimension %d is named", name, v.Dim(), d)
			}
			n := v.Size(d)
			switch known, ok := sizes[dim]; {
			case ok && known != n && !dim.Auto:
				return fmt.Errorf("%s.size()[%d] is %d, and another size of %s is %d", name, d, n, dim.Name, known)
			case n < dim.Min || n > dim.Max:
				return fmt.Errorf("%s.size()[%d] is %d, which is not in the range [%d, %d] of %s", name, d, n, dim.Min, dim.Max, dim.Name)
			case n < 2 && !dim.Auto:
				return violation(dim.Name, fmt.Sprintf("%s.size()[%d] is %d in the example, and sizes of 0 and 1 are constants: "+
					"take an example of at least 2", name, d, n))
			}
			sizes[dim] = n
		}
		v.SetDims(dims)
	}
	return nil
}

func paths(list []leaf) []string {
	out := make([]string, len(list))
	for i, l := range list {
		out[i] = l.path
	}
	return out
}

// call traces the function by calling it.
func (x *exporting) call(typ reflect.Type) ([]reflect.Value, error) {
	t := x.t
	opts, err := t.parseOptions([]torch.Option{
		{Name: "backend", Value: "eager"}, {Name: "fullgraph", Value: true}, {Name: "dynamic", Value: false},
	})
	if err != nil {
		return nil, err
	}
	c := &Compiled{t: t, fn: x.cl.Fn, opts: opts, made: new(atomic.Int64), cache: map[string]*frameCache{}, export: &x.got}
	fn := reflect.New(typ)
	t.in.MakeFunc(fn.UnsafePointer(), x.cl.Fn.Signature, &host.Closure{Fn: x.cl.Fn, Free: x.cl.Free, Compiled: c})
	vals := make([]reflect.Value, len(x.args))
	for i, a := range x.args {
		want := typ.In(i)
		switch v := reflect.ValueOf(a); {
		case a == nil:
			vals[i] = reflect.Zero(want)
		case v.Type().AssignableTo(want):
			vals[i] = v
		default:
			return nil, fmt.Errorf("argument %s is a %v, and %T is given", x.names[i], want, a)
		}
	}
	results := fn.Elem().Call(vals)
	e := x.got.entry
	switch {
	case e == nil || e.Graph == nil:
		return nil, errors.New("the function calls no operator")
	case len(e.Stores) > 0 || len(e.Writes) > 0:
		return nil, fmt.Errorf("the function changes %s, which an exported program cannot: return what it becomes", changed(e))
	}
	return results, nil
}

// changed names what a call changes of the program's memory.
func changed(e *replay.Entry) string {
	var names []string
	for _, w := range e.Writes {
		names = append(names, w.Loc.Name)
	}
	for _, w := range e.Stores {
		names = append(names, w.Src.Name)
	}
	return strings.Join(names, ", ")
}

// program makes the program of what was captured.
func (x *exporting) program(results []reflect.Value) (*torch.ExportedProgram, error) {
	if err := x.constraints(); err != nil {
		return nil, err
	}
	spec := &exported.Spec{In: x.in, Names: x.names, Weights: map[string]export.Weight{}}
	g, _ := x.got.entry.Graph.Clone("main")
	s := &exportState{x: x, spec: spec, nodes: map[*torch.Tensor]*graph.Node{}, named: map[*torch.Tensor]bool{}}
	if err := s.placeholders(g.Placeholders()); err != nil {
		return nil, err
	}
	s.modules()
	s.constants()
	s.users()
	if err := s.results(results, g.Outputs()); err != nil {
		return nil, err
	}
	for _, y := range x.got.tr.Shapes.Symbols {
		if _, fixed := y.Fixed(); fixed {
			continue
		}
		s := export.Symbol{Name: y.Name, Min: y.Min, Max: y.Max, Hint: int64(x.got.tr.Symbols[y].Hint)}
		if y.Unbacked {
			s.Min, s.Max = y.Low, y.High
		}
		for _, r := range y.Checks {
			if _, inRange := r.Known(); !inRange {
				return nil, fmt.Errorf("torch.Check asks for %s, which is no range of one size: an exported program cannot test it", r)
			}
		}
		spec.Symbols = append(spec.Symbols, s)
	}
	prog, err := exported.Capture(g, spec)
	if err != nil {
		return nil, err
	}
	return torch.NewExported(prog, s.stored, x.args), nil
}
