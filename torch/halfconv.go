package torch

// This file keeps convolutions of half precision with PyTorch's: where windows
// are added back to an image, the windows and each sum have half precision.

// putBack adds a matrix of windows to an image; half is the precision of the
// steps, or the compute type.
func putBack[T number](c *convCall, x, src []T, g *geometry) {
	xs, isFloat := any(x).([]float32)
	if !isFloat || !c.half.IsFloat() || c.half.Size() != 2 {
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
				dst[i] = roundTo(c.half, dst[i]+roundTo(c.half, v))
			}
		}
	})
}
