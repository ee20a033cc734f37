package tracer

import (
	"errors"
	"go/types"
	"strings"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file turns calls of torch's functions into nodes.

// tensorQueries are methods that ask for metadata only.
var tensorQueries = nameSet("(*tcdbg/torch.Tensor).", `Size Shape Dim Numel Stride
	DType Device IsContiguous RequiresGrad IsLeaf StorageOffset`)

func nameSet(prefix, names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[prefix+n] = true
	}
	return m
}

// purePackages hold functions without state or effect on their arguments.
var purePackages = []string{"math.", "math/bits.", "math/cmplx.", "strings.", "strconv.", "unicode.", "unicode/utf8.", "tcdbg/torch/kw.", "path.", "fmt.Sprint"}

// impure are functions of those packages that write to their arguments or make
// objects with a state.
var impure = nameSet("", `strings.NewReader strings.NewReplacer strings.Map strings.FieldsFunc strings.IndexFunc
	strings.TrimFunc strings.TrimLeftFunc strings.TrimRightFunc strings.LastIndexFunc strings.ContainsFunc
	strconv.AppendInt strconv.AppendUint strconv.AppendFloat strconv.AppendBool strconv.AppendQuote
	strconv.AppendQuoteRune strconv.AppendQuoteToASCII strconv.AppendQuoteToGraphic
	unicode/utf8.AppendRune unicode/utf8.EncodeRune`)

func pure(name string) bool {
	if impure[name] {
		return false
	}
	for _, p := range purePackages {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return strings.HasPrefix(name, "(tcdbg/ops.DType).") || strings.HasPrefix(name, "(tcdbg/ops.Device).")
}

func isTensor(t types.Type) bool {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return false
	}
	n, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && n.Obj().Name() == "Tensor" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "tcdbg/torch"
}

func (tr *trace) tensorAt(v ssa.Value) *torch.Tensor { return *(**torch.Tensor)(tr.addr(v)) }

// tensorNode is the node of a tensor register; the tensor becomes an input when
// it existed on entry.
func (tr *trace) tensorNode(v ssa.Value) *graph.Node {
	return tr.nodeOf(tr.tensorAt(v), tr.noteOf(v))
}

func (tr *trace) nodeOf(t *torch.Tensor, n *note) *graph.Node {
	if t == nil {
		if n != nil && n.src != nil {
			tr.guardNil(n.src, true)
		}
		tr.breakAt(breaks.ObservedPanic, "a nil tensor is used")
	}
	if n != nil && n.src != nil {
		if _, made := tr.nodes[t]; !made || tr.inputOf[t] != nil {
			return tr.newInput(n.src, t)
		}
	}
	if node := tr.nodes[t]; node != nil {
		return tr.outward(t, node)
	}
	tr.breakAt(breaks.OpaqueValue, "a tensor of unknown origin")
	return nil
}

// operator appends the node of a call of an operator with args.
func (tr *trace) operator(in *ssa.Call, args []ssa.Value, b torch.Binding) {
	row := ops.Get(b.Op)
	tr.beforeOperator(in)
	if row.Tags.Has(ops.TagDataDependent) {
		panic(&breakSignal{&breakPoint{code: dataDependentCode(row), detail: "operator " + row.Name, value: receiver(in)}})
	}
	pos, kw := tr.bindCall(args, b, row)
	bound, err := ops.Bind(row, pos, kw)
	if err != nil {
		tr.breakAt(breaks.FakeTensorFailure, "%s: %v", row.Name, err)
	}
	row, bound = ops.OverInput(row, bound)
	if ops.Reshapes(row) {
		tr.breakAt(breaks.UnsupportedOperator, "%s gives a tensor another shape in place: x = x.%s(...) can be captured", row.Name, strings.TrimSuffix(row.Name, "_"))
	}
	if row.Tags.Has(ops.TagInPlace) {
		self := tr.tensorAt(args[0])
		tr.refuseLeaf(self, row)
		tr.refuseView(self, row, bound)
		tr.mutate(self, row)
	}
	tr.refuseInBackward(row)
	tr.refuseStale(row, bound)
	if makesComplex(row.ID) || ops.TouchesComplex(bound) {
		tr.breakAt(breaks.UnsupportedOperator, "%s makes or takes %s tensors: graphs hold real ones", row.Name, ops.Complex64)
	}
	kind := graph.CallMethod
	if !b.Method || infixOp[b.Op] {
		kind = graph.CallFunction
	}
	build := &graph.Builder{G: tr.graph, Stack: tr.stack(), NoGrad: tr.underNoGrad()}
	node, err := build.Call(row, bound, kind)
	if err != nil {
		tr.refuseOperator(row, err)
	}
	tr.made = append(tr.made, madeNode{node, in})
	tr.mutateStatistics(node, row)
	tr.results(in, args, build, node, row)
}

// makesComplex reports whether an operator makes complex tensors of real ones.
func makesComplex(id ops.ID) bool {
	return id == ops.Complex || id == ops.Polar || id == ops.ViewAsComplex
}

// refuseOperator breaks at a call that the operator's shape rule does not take:
// its result's shape depends on data, or eager refuses it too.
func (tr *trace) refuseOperator(row *ops.Op, err error) {
	var data *ops.DataDependentError
	if errors.As(err, &data) {
		tr.breakAt(breaks.DynamicShapeOperator, "%v", err)
	}
	tr.breakAt(breaks.FakeTensorFailure, "%s: %v", row.Name, err)
}

func dataDependentCode(row *ops.Op) string {
	if row.Name == "item" {
		return breaks.TensorItem
	}
	return breaks.DynamicShapeOperator
}

// infixOp are the operators that a Python program writes as operators; Dynamo
// records them as functions.
var infixOp = map[ops.ID]bool{
	ops.Add: true, ops.Sub: true, ops.Mul: true, ops.Div: true, ops.Lt: true, ops.Le: true,
	ops.Gt: true, ops.Ge: true, ops.Eq: true, ops.Ne: true, ops.Pow: true,
}

// results stores fake tensors for the node's results where the call's go.
func (tr *trace) results(in *ssa.Call, args []ssa.Value, build *graph.Builder, node *graph.Node, row *ops.Op) {
	if row.Tags.Has(ops.TagInPlace) {
		self := args[0]
		t := tr.tensorAt(self)
		tr.in.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&t))
		n := tr.noteOf(self)
		tr.skip()
		tr.set(in, n)
		return
	}
	if tuple, ok := in.Type().(*types.Tuple); ok {
		for i, off := range tr.in.TupleOffsets(tuple) {
			t := tr.fake(build.Item(node, i))
			tr.viewOf(args, t, row)
			tr.in.Copy(tuple.At(i).Type(), unsafe.Add(tr.addr(in), off), unsafe.Pointer(&t))
		}
	} else if _, isSlice := in.Type().Underlying().(*types.Slice); isSlice {
		out := make([]*torch.Tensor, 1)
		if list, several := node.Meta.([]ops.Result); several {
			out = make([]*torch.Tensor, len(list))
		}
		for i := range out {
			piece := node // a list of one is its element
			if len(out) > 1 {
				piece = build.Item(node, i)
			}
			out[i] = tr.fake(piece)
			tr.viewOf(args, out[i], row)
		}
		tr.in.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&out))
		tr.skip()
		tr.backing(in.Type(), tr.shadowAddr(in))
		tr.set(in, nil)
		return
	} else {
		if list, several := node.Meta.([]ops.Result); several && len(list) == 1 {
			node = build.Item(node, 0)
		}
		t := tr.fake(node)
		tr.viewOf(args, t, row)
		tr.in.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&t))
	}
	tr.skip()
	tr.set(in, nil)
	tr.nameAfter(in, node)
}

// nameAfter gives a node the name of the user's variable that holds it.
func (tr *trace) nameAfter(v ssa.Value, n *graph.Node) {
	if name := varName(v); name != "" {
		tr.graph.Rename(n, name)
	}
}

// viewOf remembers whose memory the result of a view shows.
func (tr *trace) viewOf(args []ssa.Value, t *torch.Tensor, row *ops.Op) {
	if row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) {
		from := tr.tensorAt(args[0])
		tr.bases[t] = tr.baseOf(from)
		tr.noteBirth(t, from, row)
	}
}

// baseOf is the tensor whose memory t shows.
func (tr *trace) baseOf(t *torch.Tensor) *torch.Tensor {
	if b := tr.bases[t]; b != nil {
		return b
	}
	return t
}

// fake makes the stand-in for a node's tensor.
func (tr *trace) fake(n *graph.Node) *torch.Tensor {
	m, ok := n.Meta.(*ops.TensorMeta)
	if !ok {
		tr.breakAt(breaks.UnsupportedOperator, "%s gives no tensor", n.Name)
	}
	t := torch.NewFake(m)
	tr.nodes[t] = n
	return t
}

// bindCall reads the arguments of a Go call as positional and keyword
// arguments of the operator.
func (tr *trace) bindCall(args []ssa.Value, b torch.Binding, row *ops.Op) ([]ops.Arg, map[string]ops.Arg) {
	params := row.Params()
	kw := map[string]ops.Arg{}
	var pos []ops.Arg
	if b.Method {
		pos = append(pos, tr.tensorNode(args[0]))
		args = args[1:]
	}
	for i, at := range b.Params {
		t, p, n := args[i].Type(), tr.addr(args[i]), tr.noteOf(args[i])
		if b.Method && params[at].Type == "Operand" && types.IsInterface(t) {
			if t, p, n = tr.unwrap(t, p, n); t != nil {
				if x := tr.openOperand(b.Op, pos[0], n); x != nil {
					kw[params[at].Name] = x
					continue
				}
			}
		}
		kw[params[at].Name] = tr.argument(t, p, n)
	}
	if b.Variadic != torch.VariadicNone {
		rest := args[len(args)-1]
		tr.variadic(b, params, rest, kw)
	}
	if b.Device != "" {
		kw["device"] = b.Device
	}
	return pos, kw
}

// variadic reads the final ...parameter.
func (tr *trace) variadic(b torch.Binding, params []ops.Param, rest ssa.Value, kw map[string]ops.Arg) {
	t := rest.Type().Underlying().(*types.Slice)
	h := *(*sliceHeader)(tr.addr(rest))
	places, notes := tr.elemValues(t.Elem(), h, tr.noteOf(rest))
	if n := tr.noteOf(rest); n != nil && n.src != nil {
		tr.guardLen(n.src, h.len)
	}
	var list []ops.Arg
	for i := range h.len {
		e, p, n := t.Elem(), places[i], notes[i]
		if types.IsInterface(e) {
			e, p, n = tr.unwrap(e, p, n)
		}
		if isOption(e) {
			tr.keyword(e, p, n, kw)
			continue
		}
		list = append(list, tr.argument(e, p, n))
	}
	switch first := params[min(b.VariadicArg, len(params)-1)]; b.Variadic {
	case torch.VariadicOptions:
	case torch.VariadicTensors:
		kw[first.Name] = tensorList(list)
	case torch.VariadicPositional:
		if n := len(params) - b.VariadicArg; len(list) > n {
			tr.breakAt(breaks.FakeTensorFailure, "%d arguments are given where %d are taken", len(list), n)
		}
		for i, a := range list {
			kw[params[b.VariadicArg+i].Name] = a
		}
	default:
		if len(list) > 0 || !first.Optional() { // a list that is left out is None, not empty
			kw[first.Name] = intList(list)
		}
	}
}

func tensorList(list []ops.Arg) ops.Arg {
	out := make([]ops.Value, len(list))
	for i, a := range list {
		out[i], _ = a.(ops.Value)
	}
	return out
}

// intList flattens ints and int lists.
func intList(list []ops.Arg) ops.Arg {
	out := []sym.Int{}
	for _, a := range list {
		switch a := a.(type) {
		case sym.Int:
			out = append(out, a)
		case []sym.Int:
			out = append(out, a...)
		default:
			return list[0]
		}
	}
	return out
}

func isOption(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Option" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "tcdbg/torch"
}

// keyword reads a torch.Option.
func (tr *trace) keyword(t types.Type, p unsafe.Pointer, n *note, kw map[string]ops.Arg) {
	st := t.Underlying().(*types.Struct)
	tr.freeze(tr.part(n, t, 0), st.Field(0).Type(), p)
	o := (*torch.Option)(p)
	vt := st.Field(1).Type()
	kw[o.Name] = tr.argument(vt, unsafe.Pointer(&o.Value), tr.part(n, t, 1))
}

// unwrap goes from an interface to its content.
func (tr *trace) unwrap(t types.Type, p unsafe.Pointer, n *note) (types.Type, unsafe.Pointer, *note) {
	dyn, q := tr.in.Dynamic(t, p)
	switch {
	case n == nil:
	case n.inner != nil:
		n = n.inner
	case n.src != nil:
		tr.guardType(n.src, dyn)
		if dyn == nil {
			return nil, nil, nil
		}
		n = tr.fromSource(tr.src.dynamic(n.src, dyn))
	}
	return dyn, q, n
}

// argument converts the Go value of type t at p to an argument of an operator.
// Numbers other than sizes become constants of the graph.
func (tr *trace) argument(t types.Type, p unsafe.Pointer, n *note) ops.Arg {
	if t != nil && types.IsInterface(t) {
		t, p, n = tr.unwrap(t, p, n)
	}
	if t == nil {
		return nil
	}
	if isTensor(t) {
		return tr.tensorArgument(*(**torch.Tensor)(p), n)
	}
	if a, ok := tr.namedArgument(t, p, n); ok {
		return a
	}
	if s, ok := t.Underlying().(*types.Slice); ok {
		return tr.listArgument(t, s.Elem(), p, n)
	}
	if n != nil && n.sym != nil {
		return *n.sym
	}
	if x, ok := tr.openInt(n); ok {
		return x
	}
	if k := kindOf(t); k.class != notScalar {
		if n != nil && n.expr != nil {
			tr.noteNumber(n.expr)
		}
		tr.freeze(n, t, p)
		v := k.load(p)
		switch k.class {
		case boolean:
			return v.i != 0
		case floating:
			return v.f
		}
		return sym.Const(v.i)
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
		tr.freeze(n, t, p)
		return *(*string)(p)
	}
	tr.breakAt(breaks.ArgumentNotProxy, "a %s is passed to an operator", typeName(t))
	return nil
}

func (tr *trace) tensorArgument(t *torch.Tensor, n *note) ops.Arg {
	if t == nil {
		if n != nil && n.src != nil {
			tr.guardNil(n.src, true)
		}
		return nil
	}
	return tr.nodeOf(t, n)
}

// namedArgument reads dtypes and devices.
func (tr *trace) namedArgument(t types.Type, p unsafe.Pointer, n *note) (ops.Arg, bool) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != "tcdbg/ops" {
		return nil, false
	}
	tr.freeze(n, t, p)
	switch named.Obj().Name() {
	case "DType":
		return *(*ops.DType)(p), true
	case "Device":
		return *(*ops.Device)(p), true
	}
	return nil, false
}

func (tr *trace) listArgument(t, e types.Type, p unsafe.Pointer, n *note) ops.Arg {
	h := *(*sliceHeader)(p)
	if h.data == nil {
		return nil
	}
	if n != nil && n.src != nil {
		tr.guardLen(n.src, h.len)
	}
	places, notes := tr.elemValues(e, h, n)
	list := make([]ops.Arg, h.len)
	for i := range list {
		list[i] = tr.argument(e, places[i], notes[i])
	}
	switch {
	case isTensor(e):
		return tensorList(list)
	case kindOf(e).class == signedInt:
		return intList(list)
	case kindOf(e).class == floating:
		out := make([]float64, len(list))
		for i, a := range list {
			out[i] = a.(float64)
		}
		return out
	case kindOf(e).class == boolean:
		out := make([]bool, len(list))
		for i, a := range list {
			out[i] = a.(bool)
		}
		return out
	}
	return list
}
