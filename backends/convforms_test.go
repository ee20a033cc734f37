package backends

import (
	"fmt"
	"testing"

	"tcdbg/ops"
	"tcdbg/torch"
)

// This file measures single convolutions of networks that people use, class by class.

// layerClasses are layers by the forms that they want.
var layerClasses = []struct {
	name  string
	cases []convCase
}{
	{"first", []convCase{
		square(2, 3, 224, 16, 3, 2, 1), square(2, 3, 224, 64, 7, 2, 1), square(4, 3, 128, 64, 7, 2, 1), square(2, 3, 224, 64, 3, 1, 1),
	}},
	{"depthwise", []convCase{
		square(2, 16, 112, 16, 3, 2, 16), square(2, 72, 56, 72, 3, 2, 72), square(2, 88, 28, 88, 3, 1, 88),
		square(2, 96, 28, 96, 5, 2, 96), square(2, 240, 14, 240, 5, 1, 240), square(2, 576, 7, 576, 5, 1, 576),
		square(2, 96, 56, 96, 7, 1, 96),
	}},
	{"groups", []convCase{
		square(2, 128, 56, 128, 3, 1, 32), square(2, 256, 56, 256, 3, 2, 32), square(2, 256, 14, 256, 3, 1, 32),
		square(2, 512, 28, 512, 3, 2, 32), square(2, 512, 14, 512, 3, 1, 32),
	}},
}

// square is a convolution of square images and kernels that keeps the size at stride 1.
func square(images, in, size, out, kernel, stride, groups int) convCase {
	pad := kernel / 2
	return convCase{images, in, size, size, out, kernel, kernel, ints(stride, stride), ints(pad, pad), ints(1, 1), groups}
}

// BenchmarkLayer is one layer with bias and ReLU beside the peak of multiply-add.
func BenchmarkLayer(b *testing.B) {
	for _, class := range layerClasses {
		for _, c := range class.cases {
			stride, _ := c.stride[0].IsConst()
			b.Run(fmt.Sprintf("%s/%d-%dx%dx%d-stride%d", class.name, c.in, c.out, c.h, c.kh, stride), func(b *testing.B) {
				g := newTestGraph("layer")
				bias := g.param(filled(ops.Float32, 3, c.out))
				run := compiled(b, g.outputs(g.Emit(ops.Relu, c.emit(g, ops.Float32, true, bias))), g.in)
				one := filled(ops.Float32, 1, 64)
				ref := reference(b, 2, 500, []torch.Value{one, one}, filled(ops.Float32, 3, 1024))
				side := float64((c.h-1)/int(stride) + 1)
				work := 2 * float64(c.n*c.out) * side * side * float64(c.in/c.groups*c.kh*c.kw)
				compareTo(b, run, ref, work, 500*1000*12*32, "FLOP")
			})
		}
	}
}
