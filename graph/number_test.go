package graph

import (
	"testing"

	"tcdbg/torch"
)

const numberGraph = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[3][1]cpu"):
        l_x_ = L_x_
        max_1: "f32[][]cpu" = l_x_.max()
        item: "Sym(zuf0)" = max_1.item();  max_1 = None
        gt: "Sym(zuf0 > 0.0)" = item > 0.0
        _assert_scalar_default = torch.ops.aten._assert_scalar.default(gt, "Runtime assertion failed for expression zuf0 > 0.0 on node 'gt'");  gt = None
        neg: "Sym(-zuf0)" = -item
        mul: "Sym(2.0*zuf0)" = item * 2.0
        _sym_sqrt: "Sym(OpaqueUnaryFn_sqrt(2.0*zuf0))" = torch._sym_sqrt(mul);  mul = None
        sym_max: "Sym(Max(1.0, zuf0))" = torch.sym_max(item, 1.0);  item = None
        mul_1: "f32[3][1]cpu" = l_x_ * _sym_sqrt;  l_x_ = _sym_sqrt = None
        add: "f32[3][1]cpu" = mul_1 + sym_max;  mul_1 = sym_max = None
        mul_2: "f32[3][1]cpu" = add * neg;  add = neg = None
        return (mul_2,)
`

// TestNumbersInText reads a graph with numbers that come out of data, computes it and writes it
// again.
func TestNumbersInText(t *testing.T) {
	g, err := Parse("g", numberGraph)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	again, err := Parse("g", g.Code())
	if err != nil {
		t.Fatalf("%v\n%s", err, g.Code())
	}
	if again.Code() != g.Code() {
		t.Errorf("\n%s\nwant\n%s", again.Code(), g.Code())
	}
	x := torch.NewTensor([]float32{1, 2, 0.5})
	got := g.Run([]torch.Value{x})[0].(*torch.Tensor)
	if want := x.Mul(2).Add(2).Mul(-2); !torch.Allclose(got, want).Bool() {
		t.Errorf("%v, want %v", got, want)
	}
	defer func() {
		if e, ok := recover().(*torch.Error); !ok || e.Op != "torch.Check" {
			t.Errorf("a check that does not hold: %v", e)
		}
	}()
	g.Run([]torch.Value{x.Neg().Sub(3)})
}
