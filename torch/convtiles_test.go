package torch_test

import (
	"fmt"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// convCase is one convolution of two dimensions.
type convCase struct {
	batch, in, out, groups        int
	size, kernel, stride, pad, di [2]int
}

var convCases = []convCase{
	{2, 3, 5, 1, [2]int{9, 11}, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
	{1, 4, 70, 1, [2]int{7, 7}, [2]int{1, 1}, [2]int{1, 1}, [2]int{0, 0}, [2]int{1, 1}},
	{3, 20, 17, 1, [2]int{7, 7}, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}}, // tiles over several images
	{2, 3, 8, 1, [2]int{23, 19}, [2]int{7, 7}, [2]int{2, 2}, [2]int{3, 3}, [2]int{1, 1}},
	{2, 6, 4, 2, [2]int{8, 40}, [2]int{3, 2}, [2]int{2, 3}, [2]int{0, 1}, [2]int{1, 2}},
	{2, 8, 8, 8, [2]int{10, 10}, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{2, 2}}, // one channel a group
	{1, 2, 3, 1, [2]int{5, 5}, [2]int{2, 2}, [2]int{1, 1}, [2]int{3, 4}, [2]int{1, 1}},   // more padding than the kernel reaches
	{1, 2, 3, 1, [2]int{6, 6}, [2]int{1, 1}, [2]int{3, 3}, [2]int{0, 0}, [2]int{1, 1}},   // steps over elements
	{1, 40, 3, 1, [2]int{30, 30}, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
	// The windows as rows of the product, with a stride too.
	{2, 300, 530, 1, [2]int{7, 7}, [2]int{1, 1}, [2]int{1, 1}, [2]int{0, 0}, [2]int{1, 1}},
	{3, 40, 150, 2, [2]int{7, 7}, [2]int{3, 3}, [2]int{2, 2}, [2]int{1, 1}, [2]int{1, 1}},
	// By Winograd's form: odd and even sizes, one vector of tiles left over, padding of every width.
	{1, 48, 61, 1, [2]int{31, 18}, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
	{3, 56, 48, 1, [2]int{14, 14}, [2]int{3, 3}, [2]int{1, 1}, [2]int{0, 2}, [2]int{1, 1}},
	{2, 48, 48, 1, [2]int{11, 23}, [2]int{3, 3}, [2]int{1, 1}, [2]int{2, 0}, [2]int{1, 1}},
}

// TestConvolutionOnTiles compares convolutions and their gradients in float32,
// on every level, with float64, which writes the windows down and multiplies
// in plain Go.
func TestConvolutionOnTiles(t *testing.T) {
	torch.ManualSeed(11)
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			for _, c := range convCases {
				t.Run(fmt.Sprint(c), func(t *testing.T) { c.check(t) })
			}
		})
	}
}

func (c convCase) check(t *testing.T) {
	x := torch.Randn(c.batch, c.in, c.size[0], c.size[1])
	w := torch.Randn(c.out, c.in/c.groups, c.kernel[0], c.kernel[1])
	b := torch.Randn(c.out)
	run := func(d torch.DType) (y, gx, gw, gb *torch.Tensor) {
		x, w, b := x.To(d).Clone().RequiresGrad_(), w.To(d).Clone().RequiresGrad_(), b.To(d).Clone().RequiresGrad_()
		y = F.Conv2d(x, w, kw.Bias(b), kw.Stride(c.stride[:]), kw.Padding(c.pad[:]), kw.Dilation(c.di[:]), kw.Groups(c.groups))
		y.Mul(y).Sum().Backward()
		return y, x.Grad(), w.Grad(), b.Grad()
	}
	y, gx, gw, gb := run(torch.Float32)
	y64, gx64, gw64, gb64 := run(torch.Float64)
	size := 1 + gw64.Abs().Max().Item()
	closeTo(t, y, y64, 1e-4)
	closeTo(t, gx, gx64, 1e-5*size)
	closeTo(t, gw, gw64, 1e-5*size)
	closeTo(t, gb, gb64, 1e-5*size)
}

// TestConvolutionOfOneDimension runs through the same planes.
func TestConvolutionOfOneDimension(t *testing.T) {
	x, w := torch.Randn(2, 6, 31), torch.Randn(4, 3, 5)
	opts := []torch.Option{kw.Stride(2), kw.Padding(2), kw.Groups(2)}
	closeTo(t, F.Conv1d(x, w, opts...), F.Conv1d(x.To(torch.Float64), w.To(torch.Float64), opts...), 1e-5)
}
