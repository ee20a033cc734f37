package eval

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
	"tcdbg/tracer/replay"
	"tcdbg/tracer/ssainfo"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file turns calls of torch's functions into nodes.

func isTensor(t types.Type) bool { return ssainfo.IsTensor(t) }

func (fs *frames) tensorAt(v ssa.Value) *torch.Tensor { return *(**torch.Tensor)(fs.addr(v)) }

// tensorNode is the node of a tensor register; the tensor becomes an input when
// it existed on entry.
func (tr *Trace) tensorNode(v ssa.Value) *graph.Node {
	return tr.nodeOf(tr.tensorAt(v), tr.tracked(v))
}

func (tr *Trace) nodeOf(t *torch.Tensor, n *value.Tracked) *graph.Node {
	if t == nil {
		if n != nil && n.Src != nil {
			tr.Guards.Nil(n.Src, true)
		}
		breakAt(breaks.ObservedPanic, "a nil tensor is used")
	}
	if n != nil && n.Src != nil {
		if _, made := tr.Nodes[t]; !made || tr.inputOf[t] != nil {
			return tr.newInput(n.Src, t)
		}
	}
	if node := tr.Nodes[t]; node != nil {
		return tr.outward(t, node)
	}
	breakAt(breaks.OpaqueValue, "a tensor of unknown origin")
	return nil
}

// operator appends the node of a call of an operator with args.
func (tr *Trace) operator(in *ssa.Call, args []ssa.Value, b torch.Binding) {
	row := ops.Get(b.Op)
	tr.beforeOperator(in)
	if row.Tags.Has(ops.TagDataDependent) {
		if (scalars{tr}).capture(in, args, row) || (scalars{tr}).captureShape(in, args, b) {
			return
		}
		b := &replay.Break{Code: dataDependentCode(row), Detail: "operator " + row.Name, Value: receiver(in)}
		if b.Code == breaks.TensorItem {
			b.Detail += ssainfo.NumberWay(in)
		}
		panic(&breakSignal{b})
	}
	pos, kw := arguments{tr}.bindCall(args, b, row)
	bound, err := ops.Bind(row, pos, kw)
	if err != nil {
		breakAt(breaks.FakeTensorFailure, "%s: %v", row.Name, err)
	}
	row, bound = ops.OverInput(row, bound)
	if ops.Reshapes(row) {
		breakAt(
			breaks.UnsupportedOperator, "%s gives a tensor another shape in place: x = x.%s(...) can be captured",
			row.Name, strings.TrimSuffix(row.Name, "_"),
		)
	}
	if row.Tags.Has(ops.TagInPlace) {
		scalars{tr}.refuseAfter(row.Name + " writes a tensor in place")
		self := tr.tensorAt(args[0])
		tr.refuseLeaf(self, row)
		tr.refuseView(self, row, bound)
		tr.mutate(self, row)
	}
	tr.refuseInBackward(row)
	tr.refuseStale(row, bound)
	floats{tr}.refuse(row, bound)
	kind := graph.CallMethod
	if !b.Method || infixOp[b.Op] {
		kind = graph.CallFunction
	}
	build := &graph.Builder{G: tr.Graph, Stack: tr.stack(), NoGrad: tr.underNoGrad()}
	node, err := build.Call(row, autocasted(tr, in, row, bound, build), kind)
	if err != nil {
		tr.refuseOperator(row, err)
	}
	tr.made = append(tr.made, madeNode{node, in})
	tr.mutateStatistics(node, row)
	tr.results(in, args, build, node, row)
}

// refuseOperator breaks at a call that the operator's shape rule does not take:
// its result's shape depends on data, or eager refuses it too.
func (c *capture) refuseOperator(row *ops.Op, err error) {
	var data *ops.DataDependentError
	if errors.As(err, &data) {
		breakAt(breaks.DynamicShapeOperator, "%v", err)
	}
	breakAt(breaks.FakeTensorFailure, "%s: %v", row.Name, err)
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
func (tr *Trace) results(in *ssa.Call, args []ssa.Value, build *graph.Builder, node *graph.Node, row *ops.Op) {
	if row.Tags.Has(ops.TagInPlace) {
		self := args[0]
		t := tr.tensorAt(self)
		tr.In.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&t))
		n := tr.tracked(self)
		tr.skip()
		tr.set(in, n)
		return
	}
	if tuple, ok := in.Type().(*types.Tuple); ok {
		for i, off := range tr.In.TupleOffsets(tuple) {
			t := tr.fake(build.Item(node, i))
			tr.viewOf(args, t, row)
			tr.In.Copy(tuple.At(i).Type(), unsafe.Add(tr.addr(in), off), unsafe.Pointer(&t))
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
		tr.In.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&out))
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
		tr.In.Copy(in.Type(), tr.addr(in), unsafe.Pointer(&t))
	}
	tr.skip()
	tr.set(in, nil)
	tr.nameAfter(in, node)
}

// nameAfter gives a node the name of the user's variable that holds it.
func (c *capture) nameAfter(v ssa.Value, n *graph.Node) {
	if name := value.VarName(v); name != "" {
		c.Graph.Rename(n, name)
	}
}

// viewOf remembers whose memory the result of a view shows.
func (hs *history) viewOf(args []ssa.Value, t *torch.Tensor, row *ops.Op) {
	if row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) {
		from := hs.frames.tensorAt(args[0])
		hs.bases[t] = hs.baseOf(from)
		hs.recordView(t, from, row)
	}
}

// baseOf is the tensor whose memory t shows.
func (hs *history) baseOf(t *torch.Tensor) *torch.Tensor {
	if b := hs.bases[t]; b != nil {
		return b
	}
	return t
}

// fake makes the stand-in for a node's tensor.
func (c *capture) fake(n *graph.Node) *torch.Tensor {
	m, ok := n.Meta.(*ops.TensorMeta)
	if !ok {
		breakAt(breaks.UnsupportedOperator, "%s gives no tensor", n.Name)
	}
	t := torch.NewFake(hinted(m))
	c.Nodes[t] = n
	return t
}

// arguments reads what calls of operators are given.
type arguments struct{ *Trace }

// bindCall reads the arguments of a Go call as positional and keyword
// arguments of the operator.
func (as arguments) bindCall(args []ssa.Value, b torch.Binding, row *ops.Op) ([]ops.Arg, map[string]ops.Arg) {
	params := row.Params()
	kw := map[string]ops.Arg{}
	var pos []ops.Arg
	if b.Method {
		pos = append(pos, as.tensorNode(args[0]))
		args = args[1:]
	}
	for i, at := range b.Params {
		t, p, n := args[i].Type(), as.addr(args[i]), as.tracked(args[i])
		if b.Method && params[at].Type == "Operand" && types.IsInterface(t) {
			if t, p, n = as.unwrap(t, p, n); t != nil {
				if x := as.openOperand(b.Op, pos[0], n); x != nil {
					kw[params[at].Name] = x
					continue
				}
			}
		}
		kw[params[at].Name] = as.argument(t, p, n)
	}
	if b.Variadic != torch.VariadicNone {
		rest := args[len(args)-1]
		as.variadic(b, params, rest, kw)
	}
	if b.Device != "" {
		kw["device"] = b.Device
	}
	return pos, kw
}

// variadic reads the final ...parameter.
func (as arguments) variadic(b torch.Binding, params []ops.Param, rest ssa.Value, kw map[string]ops.Arg) {
	t := rest.Type().Underlying().(*types.Slice)
	h := *(*value.SliceHeader)(as.addr(rest))
	places, tracked := as.elemValues(t.Elem(), h, as.tracked(rest))
	if n := as.tracked(rest); n != nil && n.Src != nil {
		as.Guards.Len(n.Src, h.Len)
	}
	var list []ops.Arg
	for i := range h.Len {
		e, p, n := t.Elem(), places[i], tracked[i]
		if types.IsInterface(e) {
			e, p, n = as.unwrap(e, p, n)
		}
		if isOption(e) {
			as.keyword(e, p, n, kw)
			continue
		}
		list = append(list, as.argument(e, p, n))
	}
	switch first := params[min(b.VariadicArg, len(params)-1)]; b.Variadic {
	case torch.VariadicOptions:
	case torch.VariadicTensors:
		kw[first.Name] = tensorList(list)
	case torch.VariadicPositional:
		if n := len(params) - b.VariadicArg; len(list) > n {
			breakAt(breaks.FakeTensorFailure, "%d arguments are given where %d are taken", len(list), n)
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
func (as arguments) keyword(t types.Type, p unsafe.Pointer, n *value.Tracked, kw map[string]ops.Arg) {
	st := t.Underlying().(*types.Struct)
	as.specialize(as.src.Part(n, t, 0), st.Field(0).Type(), p)
	o := (*torch.Option)(p)
	vt := st.Field(1).Type()
	kw[o.Name] = as.argument(vt, unsafe.Pointer(&o.Value), as.src.Part(n, t, 1))
}

// unwrap goes from an interface to its content.
func (as arguments) unwrap(t types.Type, p unsafe.Pointer, n *value.Tracked) (types.Type, unsafe.Pointer, *value.Tracked) {
	dyn, q := as.In.Dynamic(t, p)
	switch {
	case n == nil:
	case n.Inner != nil:
		n = n.Inner
	case n.Src != nil:
		as.Guards.Type(n.Src, dyn)
		if dyn == nil {
			return nil, nil, nil
		}
		n = as.src.Track(as.src.Dynamic(n.Src, dyn))
	}
	return dyn, q, n
}

// argument converts the Go value of type t at p to an argument of an operator.
// Numbers other than sizes become constants of the graph.
func (as arguments) argument(t types.Type, p unsafe.Pointer, n *value.Tracked) ops.Arg {
	if t != nil && types.IsInterface(t) {
		t, p, n = as.unwrap(t, p, n)
	}
	if t == nil {
		return nil
	}
	if isTensor(t) {
		return as.tensorArgument(*(**torch.Tensor)(p), n)
	}
	if a, ok := as.namedArgument(t, p, n); ok {
		return a
	}
	if s, ok := t.Underlying().(*types.Slice); ok {
		return as.listArgument(t, s.Elem(), p, n)
	}
	if isNumber(n) {
		return n.Number.(*number).node
	}
	if n != nil && n.Size != nil {
		return *n.Size
	}
	if x, ok := as.openInt(n); ok {
		return x
	}
	if k := value.KindOf(t); k.Class != value.NotScalar {
		if n != nil && n.Expr != nil {
			as.recordNumber(n.Expr)
		}
		as.specialize(n, t, p)
		v := k.Load(p)
		switch k.Class {
		case value.Boolean:
			return v.I != 0
		case value.Floating:
			return v.F
		}
		return sym.Const(v.I)
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		switch {
		case b.Info()&types.IsString != 0:
			as.specialize(n, t, p)
			return *(*string)(p)
		case b.Kind() == types.Complex64:
			as.specialize(n, t, p)
			return complex128(*(*complex64)(p))
		case b.Info()&types.IsComplex != 0:
			as.specialize(n, t, p)
			return *(*complex128)(p)
		}
	}
	breakAt(breaks.ArgumentNotProxy, "a %s is passed to an operator", value.TypeName(t))
	return nil
}

func (as arguments) tensorArgument(t *torch.Tensor, n *value.Tracked) ops.Arg {
	if t == nil {
		if n != nil && n.Src != nil {
			as.Guards.Nil(n.Src, true)
		}
		return nil
	}
	return as.nodeOf(t, n)
}

// namedArgument reads dtypes and devices.
func (as arguments) namedArgument(t types.Type, p unsafe.Pointer, n *value.Tracked) (ops.Arg, bool) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() != "tcdbg/ops" {
		return nil, false
	}
	as.specialize(n, t, p)
	switch named.Obj().Name() {
	case "DType":
		return *(*ops.DType)(p), true
	case "Device":
		return *(*ops.Device)(p), true
	}
	return nil, false
}

func (as arguments) listArgument(t, e types.Type, p unsafe.Pointer, n *value.Tracked) ops.Arg {
	h := *(*value.SliceHeader)(p)
	if h.Data == nil {
		return nil
	}
	if n != nil && n.Src != nil {
		as.Guards.Len(n.Src, h.Len)
	}
	places, tracked := as.elemValues(e, h, n)
	list := make([]ops.Arg, h.Len)
	for i := range list {
		list[i] = as.argument(e, places[i], tracked[i])
	}
	switch {
	case isTensor(e):
		return tensorList(list)
	case value.KindOf(e).Class == value.SignedInt:
		return intList(list)
	case value.KindOf(e).Class == value.Floating:
		out := make([]float64, len(list))
		for i, a := range list {
			out[i] = a.(float64)
		}
		return out
	case value.KindOf(e).Class == value.Boolean:
		out := make([]bool, len(list))
		for i, a := range list {
			out[i] = a.(bool)
		}
		return out
	}
	return list
}
