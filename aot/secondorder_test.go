package aot

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/torch"
)

// secondDerivative is the gradient, by leaves, of the squared gradient of f's result.
func secondDerivative(run func(leaves []*torch.Tensor) *torch.Tensor, leaves []*torch.Tensor) []*torch.Tensor {
	create := torch.Option{Name: "create_graph", Value: true}
	ds := torch.Grad([]*torch.Tensor{run(leaves).Sum()}, leaves, create)
	total := torch.Zeros()
	for _, d := range ds {
		total = total.Add(d.Pow(2).Sum())
	}
	return torch.Grad([]*torch.Tensor{total}, leaves)
}

// TestSecondDerivative compares derivatives of derivatives with the tape's, also
// where one input of the graph was computed from another.
func TestSecondDerivative(t *testing.T) {
	f := func(b *graph.Builder, x []ops.Value) []ops.Value {
		return []ops.Value{b.Emit(ops.Tanh, b.Emit(ops.Mul, b.Emit(ops.Mul, x[0], x[0]), x[1]))}
	}
	for name, inputs := range map[string]func(leaves []*torch.Tensor) []*torch.Tensor{
		"leaves":           func(l []*torch.Tensor) []*torch.Tensor { return l },
		"one from another": func(l []*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{l[0], l[0].Sin().Mul(l[1])} },
	} {
		t.Run(name, func(t *testing.T) {
			torch.ManualSeed(6)
			leaves := two()
			for _, x := range leaves {
				x.RequiresGrad_()
			}
			g := capture(t, inputs(leaves), f)
			compiled, err := Compile(&Request{Graph: g, Example: values(inputs(leaves)), Check: true, Compile: interpret(t)})
			if err != nil {
				t.Fatal(err)
			}
			through := func(run Runnable) func([]*torch.Tensor) *torch.Tensor {
				return func(l []*torch.Tensor) *torch.Tensor { return run(values(inputs(l)))[0].(*torch.Tensor) }
			}
			got, want := secondDerivative(through(compiled.Run), leaves), secondDerivative(through(g.Run), leaves)
			for i := range want {
				same(t, fmt.Sprintf("second derivative by leaf %d", i), got[i], want[i])
			}
		})
	}
}

// TestSecondDerivativeRefused wants a refusal where a second run of the graph would
// not be what the first was.
func TestSecondDerivativeRefused(t *testing.T) {
	for name, f := range map[string]func(b *graph.Builder, x []ops.Value) []ops.Value{
		"random numbers": func(b *graph.Builder, x []ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Mul, x[0], x[0]), b.Emit(ops.Bernoulli, x[1]))}
		},
		"an argument that the graph writes": func(b *graph.Builder, x []ops.Value) []ops.Value {
			y := b.Emit(ops.Mul, b.Emit(ops.Mul, x[0], x[0]), x[1])
			b.Emit(lookup(t, "mul_"), x[1], 0.5)
			return []ops.Value{y}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := []*torch.Tensor{torch.Randn(3, 4).RequiresGrad_(), torch.Rand(3, 4)}
			compiled, err := Compile(&Request{Graph: capture(t, in, f), Example: values(in), Check: true, Compile: interpret(t)})
			if err != nil {
				t.Fatal(err)
			}
			loss := compiled.Run(values(in))[0].(*torch.Tensor).Sum()
			d := torch.Grad([]*torch.Tensor{loss}, in[:1], torch.Option{Name: "create_graph", Value: true})[0]
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, "double backward") {
					t.Errorf("got %v, want a refusal of double backward", r)
				}
			}()
			d.Sum().Backward()
		})
	}
}
