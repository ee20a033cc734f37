package torch_test

import (
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/fx"
	"tcdbg/torch/jit"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// TestRecordedPrograms: what is recorded of a call gives the results of the code for other inputs, with
// gradients; composite operators are one call, lists and operators in place are kept.
func TestRecordedPrograms(t *testing.T) {
	net := nn.NewSequential(nn.NewLinear(3, 4), nn.NewGELU(), nn.NewLayerNorm(4))
	f := func(x *torch.Tensor) *torch.Tensor {
		y := net.Forward(x)
		y.Add_(1)
		return torch.Cat([]*torch.Tensor{y, x.Softmax(-1)}, kw.Dim(1)).Sum(kw.Dim(0))
	}
	a, b := torch.Randn(2, 3), torch.Randn(5, 3)
	traced, symbolic := jit.Trace(f, a), fx.SymbolicTrace(f, a)
	for _, got := range []*torch.Tensor{traced.Forward(b), symbolic.Forward(b)} {
		if !torch.Allclose(got, f(b)).Bool() {
			t.Errorf("%v, want %v", got, f(b))
		}
	}
	traced.Forward(b).Sum().Backward()
	got := nn.Parameters(net)[0].Grad().Clone()
	nn.Parameters(net)[0].SetGrad(nil)
	f(b).Sum().Backward()
	if !torch.Allclose(got, nn.Parameters(net)[0].Grad()).Bool() {
		t.Errorf("gradients %v, want %v", got, nn.Parameters(net)[0].Grad())
	}
	for _, want := range []string{
		"%x : [num_users=2] = placeholder[target=x]\n", "call_function[target=torch.ops.aten.gelu](args = (%linear,), kwargs = {})\n",
		"aten.cat](args = ([%layer_norm, %softmax], 1), kwargs = {})\n", "    return sum",
	} {
		if !strings.Contains(symbolic.Graph(), want) {
			t.Errorf("no %q in\n%s", want, symbolic.Graph())
		}
	}
	if text := traced.Graph(); !strings.Contains(text, "graph(%x : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),\n") ||
		!strings.Contains(text, "  return (%sum)\n") {
		t.Error(text)
	}
}

// TestRecordingRefuses: a symbolic trace refuses reads of numbers, of what was computed alone; examples must fit; after
// a refusal the next recording works.
func TestRecordingRefuses(t *testing.T) {
	x, flag := torch.Ones(2), torch.Ones(1)
	outside := func(x *torch.Tensor) *torch.Tensor {
		if flag.Bool() { // a constant
			return x.Mul(2)
		}
		return x
	}
	if got := fx.SymbolicTrace(outside, x).Forward(x); got.Data()[0] != 2 {
		t.Errorf("%v", got)
	}
	for name, f := range map[string]func(){
		"TraceError": func() { fx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sum().Item()) }, x) },
		"takes 1 tensors, and 2 examples": func() {
			jit.Trace(func(x *torch.Tensor) *torch.Tensor { return x }, x, x)
		},
		"is no function of tensors": func() { jit.Trace(3, x) },
		"returns nil":               func() { jit.Trace(func(*torch.Tensor) *torch.Tensor { return nil }, x) },
		"forward() takes 1":         func() { jit.Trace(outside, x).Forward(x, x) },
		"seen by tcdbg run alone":   func() { jit.Script(outside) },
	} {
		func() {
			defer func() {
				switch e := recover().(type) {
				case *fx.TraceError:
					if name != "TraceError" {
						t.Errorf("%s: %v", name, e)
					}
				case error:
					if !strings.Contains(e.Error(), name) {
						t.Errorf("%v, want %q", e, name)
					}
				default:
					t.Errorf("%s: nothing is refused", name)
				}
			}()
			f()
		}()
	}
	if got := jit.Trace(outside, x).Forward(x); got.Data()[0] != 2 {
		t.Errorf("%v", got)
	}
}
