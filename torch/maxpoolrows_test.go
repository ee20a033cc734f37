package torch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tcdbg/torch/internal/kernels"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// TestMaxRows compares rows of windows with the search window by window, at every
// level: equal numbers, both zeros, infinities, NaN, windows over the edges.
func TestMaxRows(t *testing.T) {
	odd := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, 1e-45, -1e-45}
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			for round := range 3000 {
				image := []int{1 + rand.IntN(2), 1 + rand.IntN(6), 1 + rand.IntN(90)}
				plane := make([]float32, strided.Product(image))
				for i := range plane {
					plane[i] = odd[rand.IntN(len(odd))]
					if round%3 == 0 {
						plane[i] = rand.Float32() - 0.5
					}
					if round%5 == 0 && rand.IntN(9) == 0 {
						plane[i] = float32(math.NaN())
					}
				}
				checkMaxRows(t, plane, someWindows(image))
			}
		})
	}
}

// someWindows are windows of any kind of which each sees something.
func someWindows(image []int) *kernels.Windows {
	for {
		var out, kernel, stride, pad, dilation []int
		for _, size := range image {
			k, d, s := 1+rand.IntN(4), 1+rand.IntN(2), 1+rand.IntN(3)
			p := rand.IntN(k/2 + 1)
			out = append(out, (size+2*p-(k-1)*d-1+s)/s)
			kernel, stride, pad, dilation = append(kernel, k), append(stride, s), append(pad, p), append(dilation, d)
		}
		if min(out[0], out[1], out[2]) < 1 {
			continue
		}
		if w := kernels.SlidingWindows(image, out, kernel, stride, pad, dilation); w.Along != nil {
			return w
		}
	}
}

func checkMaxRows(t *testing.T, plane []float32, w *kernels.Windows) {
	t.Helper()
	n := strided.Product(w.Out)
	got, want := make([]float32, n), make([]float32, n)
	where, place := make([]int64, n), make([]int64, n)
	kernels.MaxRows(got, where, plane, w)
	plain := *w
	plain.Along = nil
	kernels.MaxPlane(want, place, plane, &plain)
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) || where[i] != place[i] {
			t.Fatalf("%s: window %d: %v at %d, want %v at %d", fmt.Sprint(w.Image, *w.Along, w.Spans), i, got[i], where[i],
				want[i], place[i])
		}
	}
}

// TestWindowsThatSeeNothing go the plain way, which gives them zero and no place.
func TestWindowsThatSeeNothing(t *testing.T) {
	if w := kernels.SlidingWindows([]int{3}, []int{2}, []int{1}, []int{4}, []int{0}, []int{1}); w.Along != nil {
		t.Error("a window beyond the image is not noticed")
	}
}

// TestRunsOfWindows: the stretches of a window are its elements in order, whether or
// not it covers whole rows and planes of the image.
func TestRunsOfWindows(t *testing.T) {
	check := func(w *kernels.Windows) {
		w.Each(func(o int, s []kernels.Span) {
			var got, want []int
			w.Runs(s, func(from, to, step int) {
				for at := from; at < to; at += step {
					got = append(got, at)
				}
			})
			for i := s[0].From; i < s[0].To; i += s[0].Step {
				for j := s[1].From; j < s[1].To; j += s[1].Step {
					for k := s[2].From; k < s[2].To; k += s[2].Step {
						want = append(want, (i*w.Image[1]+j)*w.Image[2]+k)
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("image %v, window %v: %v, want %v", w.Image, s, got, want)
			}
		})
	}
	for range 500 {
		image := []int{1 + rand.IntN(4), 1 + rand.IntN(5), 1 + rand.IntN(6)}
		check(someWindows(image))
		check(kernels.AdaptiveWindows(image, []int{1 + rand.IntN(2), 1 + rand.IntN(2), 1 + rand.IntN(3)}))
	}
}
