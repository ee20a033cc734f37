package tracer

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"sort"
	"strings"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/graph/exported"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/export"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file says what the inputs and results of an exported program are: the state of modules under its names,
// constants, arguments; and how results lie in slices and maps.

// nnPath is the package of modules.
const nnPath = "tcdbg/torch/nn"

// exportState gathers the inputs of a program.
type exportState struct {
	x      *exporting
	spec   *exported.Spec
	nodes  map[*torch.Tensor]*graph.Node // placeholders by the tensor that they stand for
	order  []*torch.Tensor               // of the placeholders
	named  map[*torch.Tensor]bool        // tensors that are an input
	stored []*torch.Tensor
}

// placeholders notes which tensors the graph reads.
func (s *exportState) placeholders(phs []*graph.Node) error {
	for i, ph := range phs {
		v, ok := s.x.got.inputs[i].(*torch.Tensor)
		if !ok || !s.x.got.entry.Inputs[i].Tensor {
			return fmt.Errorf("%s is a number that the graph takes as an input, which an exported program cannot", ph.Source)
		}
		s.nodes[v] = ph
		s.order = append(s.order, v)
	}
	for _, l := range s.x.leaves {
		if v, ok := l.value.(*torch.Tensor); ok {
			s.named[v] = true
		}
	}
	return nil
}

// heldModule is a variable that a function can reach, with the state of what it holds.
type heldModule struct {
	name           string
	state, buffers []torch.Named
}

// modules adds the state of the modules that the function is a method of, has captured or names: of one under
// its own names, of several under those of the variables.
func (s *exportState) modules() {
	var found []heldModule
	add := func(name string, typ types.Type, p unsafe.Pointer) {
		if types.IsInterface(typ) {
			typ, p = s.x.t.in.Dynamic(typ, p)
		}
		if typ == nil || !isStruct(typ) || *(*unsafe.Pointer)(p) == nil {
			return
		}
		var boxed any
		s.x.t.in.MakeInterface(unsafe.Pointer(&boxed), types.Universe.Lookup("any").Type(), typ, p)
		if _, tensor := boxed.(*torch.Tensor); tensor {
			return
		}
		if state, buffers := s.stateOf(boxed); len(state)+len(buffers) > 0 {
			found = append(found, heldModule{name, state, buffers})
		}
	}
	fn := s.x.cl.Fn
	for i, v := range fn.FreeVars {
		typ, p := v.Type(), s.x.cl.Free[i]
		if cell, ok := typ.Underlying().(*types.Pointer); ok && fn.Parent() != nil { // a variable of the function around
			typ, p = cell.Elem(), *(*unsafe.Pointer)(p)
		}
		add(v.Name(), typ, p)
	}
	for _, g := range globals(fn) {
		add(g.Name(), g.Type().Underlying().(*types.Pointer).Elem(), s.x.t.in.GlobalAddr(g))
	}
	for _, m := range found {
		if len(found) == 1 {
			m.name = ""
		}
		s.module(m)
	}
}

// isStruct reports whether a type is a pointer to a struct.
func isStruct(typ types.Type) bool {
	p, ok := typ.Underlying().(*types.Pointer)
	if ok {
		_, ok = p.Elem().Underlying().(*types.Struct)
	}
	return ok
}

// globals are the variables of packages that the code of fn names.
func globals(fn *ssa.Function) []*ssa.Global {
	var out []*ssa.Global
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			for _, v := range in.Operands(nil) {
				if g, ok := (*v).(*ssa.Global); ok && !slices.Contains(out, g) {
					out = append(out, g)
				}
			}
		}
	}
	return out
}

// module adds the state of one module: parameters, buffers, then buffers that the state leaves out.
func (s *exportState) module(m heldModule) {
	kept := map[string]bool{}
	for _, n := range m.state {
		kept[n.Name] = true
	}
	prefix := m.name
	if prefix != "" {
		prefix += "."
	}
	for _, buffer := range []bool{false, true} {
		for _, n := range m.state {
			if n.Buffer == buffer {
				s.state(prefix+n.Name, n.Tensor, buffer, true)
			}
		}
	}
	for _, n := range m.buffers {
		if !kept[n.Name] {
			s.state(prefix+n.Name, n.Tensor, true, false)
		}
	}
}

// stateOf has package nn list a module's state, and all buffers.
func (s *exportState) stateOf(m any) (state, buffers []torch.Named) {
	list := func(name string) (out []torch.Named) {
		f := s.nn(name)
		if f == nil {
			return nil
		}
		var call func(any) []torch.Named
		s.x.t.in.MakeFunc(unsafe.Pointer(&call), f.Signature, &host.Closure{Fn: f})
		return call(m)
	}
	if s.nn("stored") == nil { // a module of the program's own
		state = s.fields("", m)
		return state, nil
	}
	return list("stored"), list("NamedBuffers")
}

// nn finds a function of package nn; nil where the program does not use it.
func (s *exportState) nn(name string) *ssa.Function {
	for _, pkg := range s.x.t.prog.SSA.AllPackages() {
		if pkg.Pkg.Path() == nnPath {
			return pkg.Func(name)
		}
	}
	return nil
}

// fields lists the tensors of a module by its exported fields.
func (s *exportState) fields(prefix string, m any) (out []torch.Named) {
	for _, f := range host.FieldsOf(s.x.t.in, m) {
		name := strings.Trim(prefix+"."+f.Name, ".")
		if v, ok := f.Value.(*torch.Tensor); ok {
			out = append(out, torch.Named{Name: name, Tensor: v, Buffer: f.Buffer || !v.RequiresGrad()})
		} else if f.Value != nil {
			out = append(out, s.fields(name, f.Value)...)
		}
	}
	return out
}

func (s *exportState) state(name string, v *torch.Tensor, buffer, kept bool) {
	in := export.Input{Kind: export.Parameter, Name: "p_" + name, Target: name}
	if buffer {
		in.Kind, in.Name = export.Buffer, "b_"+name
	}
	s.add(in, v, kept)
}

// add makes a tensor an input that no caller gives.
func (s *exportState) add(in export.Input, v *torch.Tensor, kept bool) {
	if _, twice := s.spec.Weights[in.Target]; twice {
		return
	}
	folder := "weights/"
	if !kept {
		folder = "constants/"
	}
	meta := *v.TensorMeta()
	from := v
	if in.Kind == export.Constant { // which has no gradient
		meta.RequiresGrad, v = false, v.Detach()
	}
	s.spec.Weights[in.Target] = export.Weight{Path: folder + in.Target, Param: in.Kind == export.Parameter, Tensor: export.TensorOf(&meta)}
	x := exported.Input{Input: in, Meta: &meta}
	if !s.named[from] { // the first name of a tied weight is the one that the graph reads
		x.Node = s.nodes[from]
		s.named[from] = true
	}
	s.spec.Inputs = append(s.spec.Inputs, x)
	s.stored = append(s.stored, v)
}

// constants adds what else the function reads.
func (s *exportState) constants() {
	n := 0
	for _, v := range s.order {
		if s.named[v] {
			continue
		}
		name := fmt.Sprintf("lifted_tensor_%d", n)
		n++
		s.add(export.Input{Kind: export.Constant, Name: "c_" + name, Target: name}, v, false)
	}
}

// users adds the arguments.
func (s *exportState) users() {
	for _, l := range s.x.leaves {
		name := strings.Trim(strings.NewReplacer("[", "_", "]", "", "'", "").Replace(l.path), "_")
		in := exported.Input{Input: export.Input{Kind: export.User, Name: name}}
		if v, ok := l.value.(*torch.Tensor); ok {
			in.Node = s.nodes[v]
			in.Meta = s.metaOf(v)
		} else {
			in.Kind, in.Value = export.Fixed, constant(l.value)
		}
		s.spec.Inputs = append(s.spec.Inputs, in)
		s.stored = append(s.stored, nil)
	}
}

// metaOf describes an argument, with the symbols that the trace gave to its sizes.
func (s *exportState) metaOf(v *torch.Tensor) *ops.TensorMeta {
	if n := s.nodes[v]; n != nil {
		return n.Meta.(*ops.TensorMeta)
	}
	meta := *v.TensorMeta()
	return &meta
}

func constant(v any) any {
	if n, ok := v.(int); ok {
		return int64(n)
	}
	return v
}

// results finds the values that the function has returned among those of the graph.
func (s *exportState) results(list []reflect.Value, outputs []ops.Arg) error {
	var trees []*export.Tree
	var leaves []leaf
	for i, v := range list {
		tree, err := flatten(v.Interface(), fmt.Sprintf("result %d", i), &leaves)
		if err != nil {
			return err
		}
		trees = append(trees, tree)
	}
	s.spec.Out = &export.Tree{Kind: export.Tuple, Kids: trees}
	if len(trees) == 1 {
		s.spec.Out = trees[0]
	}
	for _, l := range leaves {
		v, err := s.result(l, outputs)
		if err != nil {
			return err
		}
		s.spec.Outputs = append(s.spec.Outputs, v)
	}
	return nil
}

func (s *exportState) result(l leaf, outputs []ops.Arg) (any, error) {
	v, ok := l.value.(*torch.Tensor)
	if !ok {
		if len(s.x.got.tr.Shapes.Symbols) > 0 {
			return nil, fmt.Errorf("%s is a %T, which may depend on a dynamic size: return tensors, or export without dynamic sizes",
				l.path, l.value)
		}
		return constant(l.value), nil
	}
	for i, o := range s.x.got.outputs {
		if o == any(v) {
			return outputs[i], nil
		}
	}
	if n := s.nodes[v]; n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("%s is a tensor that no operator of the graph makes", l.path)
}

// flatten takes a value apart: slices and maps become lists and dicts.
func flatten(v any, path string, leaves *[]leaf) (*export.Tree, error) {
	switch v := v.(type) {
	case nil, *torch.Tensor, int, float64, bool, string:
		if t, ok := v.(*torch.Tensor); ok && t == nil {
			*leaves = append(*leaves, leaf{path, nil})
			return &export.Tree{}, nil
		}
		*leaves = append(*leaves, leaf{path, v})
		return &export.Tree{}, nil
	case torch.OrderedDict:
		tree := &export.Tree{Kind: export.Dict}
		for _, item := range v {
			name, ok := item.Key.(string)
			if !ok {
				return nil, fmt.Errorf("%s is a dict whose keys are no strings", path)
			}
			if err := kid(tree, item.Value, fmt.Sprintf("%s['%s']", path, name), leaves); err != nil {
				return nil, err
			}
			tree.Keys = append(tree.Keys, name)
		}
		return tree, nil
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Slice:
		tree := &export.Tree{Kind: export.List}
		for i := range r.Len() {
			if err := kid(tree, r.Index(i).Interface(), fmt.Sprintf("%s[%d]", path, i), leaves); err != nil {
				return nil, err
			}
		}
		return tree, nil
	case r.Kind() == reflect.Map && r.Type().Key().Kind() == reflect.String:
		keys := r.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
		tree := &export.Tree{Kind: export.Dict}
		for _, k := range keys {
			if err := kid(tree, r.MapIndex(k).Interface(), fmt.Sprintf("%s['%s']", path, k), leaves); err != nil {
				return nil, err
			}
			tree.Keys = append(tree.Keys, k.String())
		}
		return tree, nil
	}
	return nil, fmt.Errorf("%s is a %T: an exported program takes and returns tensors, numbers, and slices and maps of them", path, v)
}

func kid(tree *export.Tree, v any, path string, leaves *[]leaf) error {
	k, err := flatten(v, path, leaves)
	tree.Kids = append(tree.Kids, k)
	return err
}
