package tracer

import (
	"go/types"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// TestNumberHasNoSource: the input for a number is none that backends take for a
// parameter, which they do by its source.
func TestNumberHasNoSource(t *testing.T) {
	src := &source{typ: types.Typ[types.Float64], name: "L['a'].b.c"}
	tr := &trace{c: &Compiled{}, graph: graph.New("g", &sym.Env{}), dynamic: map[string]map[int]bool{src.name: {anyDim: true}}}
	x := tr.graph.Input("x", "x", "L['x']", torch.Ones(2).TensorMeta())
	n, ok := tr.openOperand(ops.Mul, x, &note{expr: leafExpr(src)}).(*graph.Node)
	if !ok || n.Kind != graph.Placeholder || n.Source != "" {
		t.Fatalf("%+v", n)
	}
	if again := tr.openOperand(ops.Add, x, &note{expr: leafExpr(src)}); again != ops.Value(n) {
		t.Errorf("%v is another input for the same number", again)
	}
	if half := tr.graph.Input("h", "h", "L['h']", torch.Ones(2).To(torch.Float16).TensorMeta()); tr.openOperand(ops.Mul, half, &note{expr: leafExpr(src)}) != nil {
		t.Error("a number of half precision is open")
	}
}
