package graph

import (
	"math"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// applyText is a call with a result that has no gradient, a missing input and a weight
// that the bodies read besides. The backward body is no derivative.
const applyText = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s0, 3][3, 1]cpu", L_w_: "f32[3][1]cpu"):
        l_x_ = L_x_
        l_w_ = L_w_

         # File: model.go:9 in f, code: y := autograd.Apply(cube{}, x, nil)
        fwd_body_0 = self.fwd_body_0
        bwd_body_0 = self.bwd_body_0
        autograd_function_apply = torch.ops.higher_order.autograd_function_apply(fwd_body_0, bwd_body_0, l_x_, None, l_w_, non_differentiable_idx = [1], saved_for_backward_idx = [0, 1]);  fwd_body_0 = bwd_body_0 = l_w_ = None
        getitem: "f32[s0, 3][3, 1]cpu" = autograd_function_apply[0]
        getitem_1: "f32[s0, 3][3, 1]cpu" = autograd_function_apply[1];  autograd_function_apply = None

         # File: model.go:10 in f, code: return y[0].Mul(x), y[1]
        mul: "f32[s0, 3][3, 1]cpu" = getitem * l_x_;  getitem = l_x_ = None
        return (mul, getitem_1)

    class fwd_body_0(torch.nn.Module):
        def forward(self, l_x_: "f32[s0, 3][3, 1]cpu", l_w_: "f32[3][1]cpu"):

             # File: model.go:3 in cube.Forward, code: ...
            y: "f32[s0, 3][3, 1]cpu" = l_x_ * l_w_
            sign: "f32[s0, 3][3, 1]cpu" = l_x_.sign();  l_x_ = None
            return ((y, sign), (y, l_w_))

    class bwd_body_0(torch.nn.Module):
        def forward(self, grad_0: "f32[s0, 3][3, 1]cpu", grad_1: "f32[s0, 3][3, 1]cpu", y: "f32[s0, 3][3, 1]cpu", l_w_: "f32[3][1]cpu"):

             # File: model.go:4 in cube.Backward, code: ...
            mul: "f32[s0, 3][3, 1]cpu" = grad_0 * y;  grad_0 = y = None
            add: "f32[s0, 3][3, 1]cpu" = mul + l_w_;  mul = l_w_ = None
            return (add, None)
`

func applyGraph(t *testing.T) *Graph {
	t.Helper()
	g, err := Parse("__compiled_fn_1", applyText)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParseReadsApply(t *testing.T) {
	g := applyGraph(t)
	if got := g.Code(); got != applyText {
		t.Errorf("printed again:\n%s", got)
	}
	h, _ := g.Clone("copy")
	if err := h.Check(); err != nil || h.Code() != applyText {
		t.Errorf("the copy: %v\n%s", err, h.Code())
	}
	if s := strings.Join(g.OpNames(), " "); s != "autograd_function_apply mul" || g.NumOps() != 2 {
		t.Errorf("operators %s", s)
	}
	for from, to := range map[string]string{
		"grad_0: \"f32[s0, 3][3, 1]cpu\"":  "grad_0: \"f32[3][1]cpu\"",
		"return (add, None)":               "return (l_w_, None)",
		"return ((y, sign), (y, l_w_))":    "return ((y, sign), (y,))",
		"non_differentiable_idx = [1]":     "non_differentiable_idx = [2]",
		"(add, None)":                      "(add, mul)",
		"class bwd_body_0":                 "class bwd_body_1",
		"(fwd_body_0, bwd_body_0, l_x_, N": "(fwd_body_0, bwd_body_0, l_w_, N",
	} {
		if _, err := Parse("g", strings.Replace(applyText, from, to, 1)); err == nil {
			t.Errorf("%s instead of %s passes", to, from)
		}
	}
}

// TestApplyRuns wants the backward body's gradients, twice, and none through the result
// that has none; a saved tensor that was written is refused.
func TestApplyRuns(t *testing.T) {
	g := applyGraph(t)
	data := []float64{1, -2, 3, -4, 5, -6}
	x := torch.NewTensor(data, kw.Dtype(torch.Float32), kw.RequiresGrad(true)).Reshape(2, 3)
	leaf := x.Detach().RequiresGrad_()
	w := torch.NewTensor([]float32{2, 3, 4})
	out := g.Run([]torch.Value{leaf, w})
	y, sign := out[0].(*torch.Tensor), out[1].(*torch.Tensor)
	if sign.RequiresGrad() {
		t.Error("the second result requires gradients")
	}
	y.Sum().Backward(kw.RetainGraph(true))
	// y = r*x with r = x*w; the gradient of r is x, its backward gives x*r+w, and r itself is the other factor's
	for i, got := range leaf.Grad().Reshape(-1).Float64s() {
		v, k := data[i], []float64{2, 3, 4}[i%3]
		if want := v*v*k + k + v*k; math.Abs(got-want) > 1e-4 {
			t.Errorf("gradient %d is %v, want %v", i, got, want)
		}
	}
	if un := g.RunUntaped([]torch.Value{leaf, w})[0].(*torch.Tensor); un.RequiresGrad() {
		t.Error("recorded where it should not be")
	}
	w.Add_(1)
	defer func() {
		if e, ok := recover().(*torch.Error); !ok || !strings.Contains(e.Msg, "modified by an inplace operation") {
			t.Errorf("a saved tensor that was written: %v", e)
		}
	}()
	y.Sum().Backward()
}

// TestApplyOutputs makes a value of the forward body one more value of the call.
func TestApplyOutputs(t *testing.T) {
	g := applyGraph(t)
	var call *Node
	for n := g.First(); n != nil; n = n.Next() {
		if n.Apply != nil {
			call = n
		}
	}
	i := call.AddOutput(call.Apply.saved()[0])
	item := (&Builder{G: g, Before: call.Next()}).Item(call, i)
	if err := g.Check(); err != nil || i != 2 || call.Differentiable(i) || call.Differentiable(1) || !call.Differentiable(0) {
		t.Errorf("value %d: %v\n%s", i, err, g.Code())
	}
	if len(item.GradInputs()) != 0 || !item.IsResultOfApply() || len(call.GradInputs()) != 1 {
		t.Error("gradients come from elsewhere")
	}
}
