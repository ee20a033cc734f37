package kernels

import (
	"math"

	"tcdbg/torch/internal/simd"
)

// This file is max pooling of float32 by rows of results: a place of the kernel is
// looked at for all windows of a row at once, and what is kept of the place is its
// number, from which the element follows.

// slide is how windows move along the last dimension.
type slide struct {
	kernel, stride, pad, dilation int
	first                         []int32 // of each window, the first place inside of the image
}

// newSlide returns nil where a window sees nothing, which is left to the plain way.
func newSlide(w *Windows, kernel, stride, pad, dilation []int) *slide {
	for _, spans := range w.Spans {
		for _, s := range spans {
			if s.From >= s.To {
				return nil
			}
		}
	}
	d := len(w.Image) - 1
	s := &slide{kernel: kernel[d], stride: stride[d], pad: pad[d], dilation: dilation[d]}
	for o, span := range w.Spans[d] {
		s.first = append(s.first, int32((span.From-o*s.stride+s.pad)/s.dilation))
	}
	return s
}

// seen are the windows, from one to below another, whose place q is in an image of
// so many elements.
func (s *slide) seen(q, size int) (from, to int) {
	at := q*s.dilation - s.pad // of the first window
	from = max(0, (s.stride-1-at)/s.stride)
	to = min(len(s.first), max(0, (size-1-at+s.stride)/s.stride))
	return from, max(from, to)
}

// MaxRows is MaxPlane by rows.
func MaxRows(val []float32, idx []int64, plane []float32, w *Windows) {
	n, l := len(w.Along.first), simd.Active()
	codes := make([]int32, n)
	var (
		rows   []int   // of the image, by their number in a window
		places []int64 // by code, that of the first window
	)
	for i, a := range w.Spans[0] {
		for j, b := range w.Spans[1] {
			at := (i*len(w.Spans[1]) + j) * n
			best := val[at:][:n]
			rows = rows[:0]
			for z := a.From; z < a.To; z += a.Step {
				for y := b.From; y < b.To; y += b.Step {
					rows = append(rows, (z*w.Image[1]+y)*w.Image[2])
				}
			}
			w.Along.largest(l, best, codes, plane, rows, w.Image[2])
			places = w.Along.places(places[:0], rows)
			w.Along.elements(idx[at:][:n], codes, places)
		}
	}
}

// largest finds the largest numbers of a row of windows and their codes, which count
// the places of the kernel.
func (s *slide) largest(l simd.Level, best []float32, codes []int32, plane []float32, rows []int, size int) {
	for o := range best {
		best[o] = float32(math.Inf(-1))
	}
	copy(codes, s.first)
	for r, row := range rows {
		for q := range s.kernel {
			if from, to := s.seen(q, size); from < to {
				l.Pick(best[from:to], codes[from:to], plane[row+from*s.stride+q*s.dilation-s.pad:], s.stride, r*s.kernel+q)
			}
		}
	}
}

// places appends where the first window of a row has the place of each code.
func (s *slide) places(out []int64, rows []int) []int64 {
	for _, row := range rows {
		for q := range s.kernel {
			out = append(out, int64(row+q*s.dilation-s.pad))
		}
	}
	return out
}

// elements turns codes into places in the image.
func (s *slide) elements(idx []int64, codes []int32, places []int64) {
	for o, c := range codes {
		idx[o] = places[c] + int64(o*s.stride)
	}
}
