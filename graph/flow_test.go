package graph

import (
	"strings"
	"testing"

	"tcdbg/torch"
)

// condText is what PyTorch 2.15 prints of a branch that holds another, but for the second
// names that it gives to operands.
const condText = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s0, 3][3, 1]cpu", L_w_: "f32[3][1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_

         # File: model.go:9 in f, code: y := x.Mul(2)
        y: "f32[s0, 3][3, 1]cpu" = l_x_ * 2;  l_x_ = None

         # File: model.go:10 in f, code: z := compiler.Cond(y.Sum().Gt(0), ...)
        sum_1: "f32[][]cpu" = y.sum()
        gt: "b8[][]cpu" = sum_1 > 0;  sum_1 = None
        cond_true_0 = self.cond_true_0
        cond_false_0 = self.cond_false_0
        cond = torch.ops.higher_order.cond(gt, cond_true_0, cond_false_0, (y, l_w_));  gt = cond_true_0 = cond_false_0 = y = l_w_ = None
        z: "f32[s0, 3][3, 1]cpu" = cond[0];  cond = None
        return (z,)

    class cond_true_0(torch.nn.Module):
        def forward(self, y: "f32[s0, 3][3, 1]cpu", l_w_: "f32[3][1]cpu"):
            mean: "f32[][]cpu" = y.mean()
            lt: "b8[][]cpu" = mean < 5;  mean = None
            cond_true_0 = self.cond_true_0
            cond_false_0 = self.cond_false_0
            cond = torch.ops.higher_order.cond(lt, cond_true_0, cond_false_0, (y, l_w_));  lt = cond_true_0 = cond_false_0 = y = l_w_ = None
            getitem: "f32[s0, 3][3, 1]cpu" = cond[0];  cond = None
            return (getitem,)

        class cond_true_0(torch.nn.Module):
            def forward(self, y: "f32[s0, 3][3, 1]cpu", l_w_: "f32[3][1]cpu"):
                mul: "f32[s0, 3][3, 1]cpu" = y * l_w_;  y = l_w_ = None
                return (mul,)

        class cond_false_0(torch.nn.Module):
            def forward(self, y: "f32[s0, 3][3, 1]cpu", l_w_: "f32[3][1]cpu"):
                sub: "f32[s0, 3][3, 1]cpu" = y - l_w_;  y = l_w_ = None
                return (sub,)

    class cond_false_0(torch.nn.Module):
        def forward(self, y: "f32[s0, 3][3, 1]cpu", l_w_: "f32[3][1]cpu"):
            cos: "f32[s0, 3][3, 1]cpu" = y.cos();  y = None
            return (cos,)
`

func flowGraph(t *testing.T, text string) *Graph {
	t.Helper()
	g, err := Parse("__compiled_fn_1", text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParseReadsCond(t *testing.T) {
	g := flowGraph(t, condText)
	if got := g.Code(); got != condText {
		t.Errorf("printed again:\n%s", got)
	}
	h, _ := g.Clone("copy")
	h.FlowBodies()[1].OutputNode().SetArgs(nil)
	if err := h.Check(); err == nil {
		t.Error("a branch that gives nothing passes")
	}
	if g.Code() != condText {
		t.Error("a change of the copy's body is one of the graph")
	}
	if s := strings.Join(g.OpNames(), " "); s != "mul sum gt cond" {
		t.Errorf("operators %s", s)
	}
	for from, to := range map[string]string{
		"(gt, cond_true_0":                "(gone, cond_true_0",
		"return (cos,)":                   "return (cos, cos)",
		"class cond_false_0":              "class cond_false_1",
		"cond_false_0, (y, l_w_));  gt":   "cond_false_0, (y,));  gt",
		"cond_false_0, (y, l_w_));  gt =": "cond_false_0, (l_w_, y));  gt =",
	} {
		if _, err := Parse("g", strings.Replace(condText, from, to, 1)); err == nil {
			t.Errorf("%s instead of %s passes", to, from)
		}
	}
	if table := g.Table(); !strings.Contains(table, "(gt, cond_true_0, cond_false_0, (y, l_w_))") {
		t.Errorf("the table:\n%s", table)
	}
}

// TestCondRuns wants each branch, and the gradient of the branch that ran.
func TestCondRuns(t *testing.T) {
	g := flowGraph(t, condText)
	w := torch.NewTensor([]float32{2, 3, 4})
	for _, c := range []struct {
		fill, value, slope float64
	}{{1, 4, 4}, {4, 6, 2}, {-1, -0.41614684, 1.8185949}} {
		x := torch.Full([]int{2, 3}, c.fill).RequiresGrad_()
		out := g.Run([]torch.Value{x, w})[0].(*torch.Tensor)
		if got := out.Float64s()[0]; got < c.value-1e-5 || got > c.value+1e-5 {
			t.Errorf("of %v: %v, want %v", c.fill, got, c.value)
		}
		out.Sum().Backward()
		if got := x.Grad().Float64s()[0]; got < c.slope-1e-5 || got > c.slope+1e-5 {
			t.Errorf("gradient of %v: %v, want %v", c.fill, got, c.slope)
		}
	}
}

func TestCondAsGoCode(t *testing.T) {
	want := `	var z *torch.Tensor
	if gt.Bool() {
		z = cond_true_0(y, l_w_)
	} else {
		z = cond_false_0(y, l_w_)
	}
`
	if got := flowGraph(t, condText).GoCode(); !strings.Contains(got, want) || strings.Count(got, "if lt.Bool()") != 1 {
		t.Error(got)
	}
}

// loopText is what PyTorch 2.15 prints of a loop.
const loopText = `class GraphModule(torch.nn.Module):
    def forward(self, L_i_: "i64[][]cpu", L_x_: "f32[3][1]cpu", L_w_: "f32[3][1]cpu"):
        l_i_ = L_i_
        l_x_ = L_x_
        l_w_ = L_w_
        cond_fn_0 = self.cond_fn_0
        body_fn_0 = self.body_fn_0
        while_loop = torch.ops.higher_order.while_loop(cond_fn_0, body_fn_0, (l_i_, l_x_), (l_w_,));  cond_fn_0 = body_fn_0 = l_i_ = l_x_ = l_w_ = None
        getitem: "f32[3][1]cpu" = while_loop[1];  while_loop = None
        return (getitem,)

    class cond_fn_0(torch.nn.Module):
        def forward(self, child: "i64[][]cpu", child_1: "f32[3][1]cpu", l_w__body_fn: "f32[3][1]cpu"):
            lt: "b8[][]cpu" = child < 5;  child = None
            return lt

    class body_fn_0(torch.nn.Module):
        def forward(self, child: "i64[][]cpu", child_1: "f32[3][1]cpu", l_w__body_fn: "f32[3][1]cpu"):
            add: "i64[][]cpu" = child + 1;  child = None
            mul: "f32[3][1]cpu" = child_1 * l_w__body_fn;  child_1 = l_w__body_fn = None
            return (add, mul)
`

func TestParseReadsLoop(t *testing.T) {
	g := flowGraph(t, loopText)
	if got := g.Code(); got != loopText {
		t.Errorf("printed again:\n%s", got)
	}
	for from, to := range map[string]string{
		"(l_i_, l_x_), (l_w_,)": "(l_i_, l_x_), ()",
		"return (add, mul)":     "return (add,)",
		"child + 1":             "child * 1.5",
	} {
		if _, err := Parse("g", strings.Replace(loopText, from, to, 1)); err == nil {
			t.Errorf("%s instead of %s passes", to, from)
		}
	}
}

// TestLoopRuns wants rounds as the data says; without one, copies of what is carried.
func TestLoopRuns(t *testing.T) {
	g := flowGraph(t, loopText)
	x, w := torch.Ones(3), torch.NewTensor([]float32{2, 3, 4})
	for from, want := range map[int]float64{2: 8, 4: 2, 9: 1} {
		out := g.Run([]torch.Value{torch.NewTensor(from), x, w})[0].(*torch.Tensor)
		if got := out.Float64s()[0]; got != want || out.Storage() == x.Storage() {
			t.Errorf("from %d: %v, want %v", from, got, want)
		}
	}
}
