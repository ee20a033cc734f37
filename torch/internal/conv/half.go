package conv

import "tcdbg/torch/internal/strided"

// This file keeps convolutions of half precision with PyTorch's: where windows
// are added back to an image, the windows and each sum have half precision.

// putBack adds a matrix of windows to an image; half is the precision of the
// steps, or the compute type.
func putBack[T strided.Number](c *Call, x, src []T, g *geometry) {
	xs, isFloat := any(x).([]float32)
	if !isFloat || !c.Half {
		uncolumns(x, src, g)
		return
	}
	n, w := g.window[len(g.window)-1], g.image[len(g.image)-1]
	cols := g.cols()
	all := any(src).([]float32)
	g.visit(func(row, col, base, shift, step int) {
		if base < 0 {
			return
		}
		s, dst := all[row*cols+col:][:n], xs[base:base+w]
		for j, v := range s {
			if i := j*step + shift; i >= 0 && i < w {
				dst[i] = c.Round(dst[i] + c.Round(v))
			}
		}
	})
}
