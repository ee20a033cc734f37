package torch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// The numbers are PyTorch's.

func TestReshapesInPlace(t *testing.T) {
	x := torch.Arange(6.0).Reshape(2, 3)
	row := x.Select(0, 1) // views of the old shape stay what they are
	for _, c := range []struct {
		name   string
		call   func() *torch.Tensor
		shape  []int
		stride []int
	}{
		{"t_", func() *torch.Tensor { return x.T_() }, []int{3, 2}, []int{1, 3}},
		{"unsqueeze_", func() *torch.Tensor { return x.Unsqueeze_(1) }, []int{3, 1, 2}, []int{1, 6, 3}},
		{"transpose_", func() *torch.Tensor { return x.Transpose_(0, 2) }, []int{2, 1, 3}, []int{3, 6, 1}},
		{"squeeze_", func() *torch.Tensor { return x.Squeeze_(1) }, []int{2, 3}, []int{3, 1}},
		{"as_strided_", func() *torch.Tensor { return x.AsStrided_([]int{2, 2}, []int{1, 2}) }, []int{2, 2}, []int{1, 2}},
	} {
		if got := c.call(); got != x || !slices.Equal(x.Shape(), c.shape) || !slices.Equal(x.Stride(), c.stride) {
			t.Errorf("%s: shape %v strides %v, want %v %v", c.name, x.Shape(), x.Stride(), c.shape, c.stride)
		}
	}
	if got := fmt.Sprint(row.Data()); got != "[3 4 5]" {
		t.Errorf("an older view shows %s", got)
	}
}

func TestReshapeInPlaceIsOnTheTape(t *testing.T) {
	w := torch.Arange(6.0).RequiresGrad_()
	y := w.Mul(2).View(2, 3)
	y.T_()
	y.Mul_(torch.NewTensor([]float64{1, 10}).To(torch.Float32))
	y.Sum().Backward()
	if got := fmt.Sprint(w.Grad().Data()); got != "[2 2 2 20 20 20]" {
		t.Errorf("gradient %s", got)
	}
	refuses(t, "a leaf Variable that requires grad is being used in an in-place operation", func() { w.Unsqueeze_(0) })
}

func TestResize_(t *testing.T) {
	x := torch.Arange(6.0).Reshape(2, 3).T()
	if x.Resize_(3, 2); !slices.Equal(x.Stride(), []int{1, 3}) {
		t.Errorf("the same size lays memory out again: %v", x.Stride())
	}
	x.Resize_(2, 2)
	if got := fmt.Sprint(x.Data(), x.Stride()); got != "[0 1 2 3] [2 1]" {
		t.Errorf("smaller: %s", got)
	}
	whole := torch.Arange(4.0)
	tail := whole.Narrow(0, 2, 2)
	tail.Resize_(2, 3) // reaches beyond the memory, which grows for both
	tail.Mul_(10)
	if got := fmt.Sprint(whole.Data(), tail.Data()); got != "[0 1 20 30] [20 30 0 0 0 0]" {
		t.Errorf("larger: %s", got)
	}
	x.ResizeAs_(torch.Ones(1, 3))
	if got := fmt.Sprint(x.Shape()); got != "[1 3]" {
		t.Errorf("as another: %s", got)
	}
	refuses(t, "cannot resize variables that require grad", func() { torch.Ones(2).RequiresGrad_().Resize_(1) })
}

func TestDetach_(t *testing.T) {
	w := torch.Ones(3).RequiresGrad_()
	y := w.Mul(2)
	refuses(t, "Can't detach views in-place", func() { y.Narrow(0, 0, 1).Detach_() })
	if y.Detach_(); y.RequiresGrad() || !y.IsLeaf() {
		t.Error("it still has a history")
	}
}

func TestWritesThatOverlapAreRefused(t *testing.T) {
	wide := func() *torch.Tensor { return torch.Ones(3, 1).Expand(3, 2) }
	once := "more than one element of the written-to tensor refers to a single memory location"
	refuses(t, once, func() { wide().Copy_(torch.Ones(3, 2)) })
	refuses(t, once, func() { wide().Add_(1) })
	refuses(t, once, func() { wide().Cumsum_(0) })
	wide().Fill_(2)
	wide().MaskedFill_(torch.Ones(3, 2, kw.Dtype(torch.Bool)), 1)

	x := torch.Arange(5.0)
	shifted := "some elements of the input tensor and the written-to tensor refer to a single memory location"
	refuses(t, shifted, func() { x.Narrow(0, 1, 4).Add_(x.Narrow(0, 0, 4)) })
	square := torch.Ones(3, 3)
	refuses(t, shifted, func() { square.Copy_(square.T()) })
	x.Narrow(0, 1, 4).Mul_(x.Narrow(0, 1, 4)) // itself
	if got := fmt.Sprint(x.Data()); got != "[0 1 4 9 16]" {
		t.Errorf("a square in place: %s", got)
	}
}

func TestFillDiagonal_(t *testing.T) {
	for _, c := range []struct {
		shape []int
		wrap  bool
		want  string
	}{
		{[]int{2, 3}, false, "[9 0 0 0 9 0]"},
		{[]int{5, 2}, false, "[9 0 0 9 0 0 0 0 0 0]"},
		{[]int{5, 2}, true, "[9 0 0 9 0 0 9 0 0 9]"},
		{[]int{2, 2, 2}, false, "[9 0 0 0 0 0 0 9]"},
	} {
		if got := fmt.Sprint(torch.Zeros(c.shape).FillDiagonal_(9, kw.Wrap(c.wrap)).Data()); got != c.want {
			t.Errorf("%v wrap %v: %s, want %s", c.shape, c.wrap, got, c.want)
		}
	}
}

func refuses(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}()
	f()
}
