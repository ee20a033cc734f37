package torch_test

import (
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// A pass frees what it saved. A second one fails where it reads such a tensor and
// only there, as PyTorch's does.
func TestSecondPass(t *testing.T) {
	const secondTime = "Trying to backward through the graph a second time"
	type T = *torch.Tensor
	for _, c := range []struct {
		name  string
		f     func(x T) T
		again float64 // an element of the gradient behind two passes; 0: refused
	}{
		{"add", func(x T) T { return x.Add(1).Sum() }, 2},
		{"views", func(x T) T { return x.T().Reshape(4).Mean() }, 0.5},
		{"expand", func(x T) T { return x.View(4, 1).Clone().Expand(4, 3).Sum() }, 6},
		{"cast", func(x T) T { return x.To(torch.Float32).Sum() }, 2},
		{"cat", func(x T) T { return torch.Cat([]T{x, x}).Sum() }, 4},
		{"number", func(x T) T { return x.Mul(2).Sum() }, 0},
		{"sin", func(x T) T { return x.Sin().Sum() }, 0},
		{"max", func(x T) T { return x.Max() }, 0},
		{"index", func(x T) T { return x.IndexSelect(0, torch.NewTensor([]int{0})).Sum() }, 0},
		{"in place", func(x T) T { y := x.Clone(); y.Mul_(2); return y.Sum() }, 0},
		{"part", func(x T) T { y := x.Clone(); y.Select(0, 0).Fill_(2); return y.Sum() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := leaf([][]float64{{1, 2}, {3, 4}})
			y := c.f(x)
			y.Backward()
			if c.again == 0 {
				refused(t, secondTime, func() { y.Backward() })
				return
			}
			y.Backward()
			if got := x.Grad().At(1, 1).Item(); got != c.again {
				t.Errorf("gradient %v, want %v", got, c.again)
			}
		})
	}
}

func TestGradWantsASeedForEachOutput(t *testing.T) {
	x := leaf([]float64{1, 2})
	refused(t, "got 2 tensors and 1 gradients", func() {
		torch.Grad([]*torch.Tensor{x.Sum(), x.Mean()}, []*torch.Tensor{x}, kw.GradOutputs([]*torch.Tensor{torch.NewTensor(1.0)}))
	})
}
