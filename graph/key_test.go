package graph

import (
	"fmt"
	"reflect"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// keyed is a graph of one call whose parts change may change.
func keyed(t *testing.T, change func(g *Graph, x, y *Node)) (key string, ok bool) {
	t.Helper()
	g := New("g", nil)
	x := g.Input("x", "L_x_", "L.y", &ops.TensorMeta{
		DType: ops.Float32, Device: ops.CPU, Shape: sym.Consts([]int{4, 8}), Stride: sym.Consts([]int{8, 1}),
	})
	y := g.Append(&Node{
		Name: "y", Kind: CallFunction, Target: "sum", Op: ops.Sum, Args: []ops.Arg{x, []sym.Int{sym.C(1)}, false, nil},
	})
	y.Meta = &ops.TensorMeta{DType: ops.Float32, Device: ops.CPU, Shape: sym.Consts([]int{4}), Stride: sym.Consts([]int{1})}
	y.Stack = []Frame{{File: "m.go", Line: 3, Col: 5, Func: "main", Code: "y := x.Sum(1)"}}
	change(g, x, y)
	b, ok := g.AppendKey(nil)
	return string(b), ok
}

// TestKeysDiffer changes each part of a graph and wants another key; where a struct has got a field, this test and
// AppendKey have to learn of it.
func TestKeysDiffer(t *testing.T) {
	for typ, fields := range map[reflect.Type]int{
		reflect.TypeFor[Node](): 16, reflect.TypeFor[Graph](): 10, reflect.TypeFor[Frame](): 5,
		reflect.TypeFor[ops.TensorMeta](): 6, reflect.TypeFor[ops.ScalarMeta](): 2,
	} {
		if typ.NumField() != fields {
			t.Errorf("%v has %d fields: does AppendKey write what is new?", typ, typ.NumField())
		}
	}
	meta := func(n *Node) *ops.TensorMeta { return n.Meta.(*ops.TensorMeta) }
	seen := map[string]int{}
	for i, change := range []func(g *Graph, x, y *Node){
		func(*Graph, *Node, *Node) {},
		func(g *Graph, _, _ *Node) { g.Name = "h" },
		func(g *Graph, _, _ *Node) { g.Aten = true },
		func(g *Graph, _, _ *Node) { g.Untaped = true },
		func(g *Graph, _, _ *Node) { g.names["y"]++ },
		func(g *Graph, _, _ *Node) { g.taken["z"] = true },
		func(_ *Graph, x, _ *Node) { x.Name = "w" },
		func(_ *Graph, x, _ *Node) { x.Kind = GetAttr },
		func(_ *Graph, x, _ *Node) { x.Target = "L_w_" },
		func(_ *Graph, x, _ *Node) { x.Source = "L.x" },
		func(_ *Graph, _, y *Node) { y.Op = ops.Mean },
		func(_ *Graph, _, y *Node) { y.NoGrad = true },
		func(_ *Graph, _, y *Node) { y.Derivative = true },
		func(_ *Graph, _, y *Node) { y.Args[1] = []sym.Int{sym.C(0)} },
		func(_ *Graph, _, y *Node) { y.Args[1] = sym.C(1) },
		func(_ *Graph, _, y *Node) { y.Args[1] = 1.0 },
		func(_ *Graph, _, y *Node) { y.Args[1] = 1 },
		func(_ *Graph, _, y *Node) { y.Args[1] = []float64{1} },
		func(_ *Graph, _, y *Node) { y.Args[2] = true },
		func(_ *Graph, _, y *Node) { y.Args[2] = []bool{false} },
		func(_ *Graph, _, y *Node) { y.Args[2] = "" },
		func(_ *Graph, _, y *Node) { y.Args[3] = ops.Float64 },
		func(_ *Graph, _, y *Node) { y.Args[3] = ops.CPU },
		func(_ *Graph, x, y *Node) { y.Args[3] = x },
		func(_ *Graph, x, y *Node) { y.Args[3] = []ops.Value{x, nil} },
		func(_ *Graph, _, y *Node) { y.Args = y.Args[:3] },
		func(_ *Graph, x, _ *Node) { meta(x).DType = ops.Int32 },
		func(_ *Graph, x, _ *Node) { meta(x).Device = ops.Meta },
		func(_ *Graph, x, _ *Node) { meta(x).RequiresGrad = true },
		func(_ *Graph, x, _ *Node) { meta(x).Shape[0] = sym.C(5) },
		func(_ *Graph, x, _ *Node) { meta(x).Stride[0] = sym.C(16) },
		func(_ *Graph, x, _ *Node) { meta(x).Offset = sym.C(1) },
		func(_ *Graph, x, _ *Node) { x.Meta = sym.C(4) },
		func(_ *Graph, x, _ *Node) { x.Meta = ops.ScalarMeta{DType: ops.Float32} },
		func(_ *Graph, x, _ *Node) { x.Meta = ops.ScalarMeta{DType: ops.Float32, Expr: "zuf0"} },
		func(_ *Graph, x, _ *Node) { x.Meta = []ops.Result{x.Meta} },
		func(_ *Graph, x, _ *Node) { x.Meta = nil },
		func(_ *Graph, _, y *Node) { y.Stack[0].File = "n.go" },
		func(_ *Graph, _, y *Node) { y.Stack[0].Line++ },
		func(_ *Graph, _, y *Node) { y.Stack[0].Col++ },
		func(_ *Graph, _, y *Node) { y.Stack[0].Func = "init" },
		func(_ *Graph, _, y *Node) { y.Stack[0].Code = "" },
		func(_ *Graph, _, y *Node) { y.Stack = nil },
	} {
		key, ok := keyed(t, change)
		if !ok {
			t.Errorf("change %d: no key", i)
		}
		if j, there := seen[key]; there {
			t.Errorf("changes %d and %d have one key", i, j)
		}
		seen[key] = i
	}
}

// TestNoKey: what the key cannot say has none.
func TestNoKey(t *testing.T) {
	for i, change := range []func(g *Graph, x, y *Node){
		func(g *Graph, _, _ *Node) { g.Env = &sym.Env{Symbols: []*sym.Symbol{{Name: "s0"}}} },
		func(_ *Graph, _, y *Node) { y.Apply = &Apply{} },
		func(_ *Graph, _, y *Node) { y.Flow = &Flow{} },
		func(_ *Graph, x, y *Node) { x.Args = []ops.Arg{y} },
		func(_ *Graph, _, y *Node) { y.Args[1] = fmt.Errorf("of no known kind") },
	} {
		if _, ok := keyed(t, change); ok {
			t.Errorf("change %d has a key", i)
		}
	}
}
