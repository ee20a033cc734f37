package eval

import (
	"go/types"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"
)

// TestNumberHasNoSource: the input for a number is none that backends take for a
// parameter, which they do by its source.
func TestNumberHasNoSource(t *testing.T) {
	src := &value.Source{Type: types.Typ[types.Float64], Name: "L['a'].b.c"}
	tr := &capture{frames: &frames{}, Graph: graph.New("g", &sym.Env{}), dynamic: map[string]map[int]bool{src.Name: {guard.AnyDim: true}}}
	x := tr.Graph.Input("x", "x", "L['x']", torch.Ones(2).TensorMeta())
	n, ok := tr.openOperand(ops.Mul, x, &value.Tracked{Expr: value.LeafExpr(src)}).(*graph.Node)
	if !ok || n.Kind != graph.Placeholder || n.Source != "" {
		t.Fatalf("%+v", n)
	}
	if again := tr.openOperand(ops.Add, x, &value.Tracked{Expr: value.LeafExpr(src)}); again != ops.Value(n) {
		t.Errorf("%v is another input for the same number", again)
	}
	if half := tr.Graph.Input("h", "h", "L['h']", torch.Ones(2).To(torch.Float16).TensorMeta()); tr.openOperand(ops.Mul, half,
		&value.Tracked{Expr: value.LeafExpr(src)}) != nil {
		t.Error("a number of half precision is open")
	}
}
