package torch

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"tcdbg/torch/internal/simd"
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
				plane := make([]float32, product(image))
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
func someWindows(image []int) *windows {
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
		if w := slidingWindows(image, out, kernel, stride, pad, dilation); w.along != nil {
			return w
		}
	}
}

func checkMaxRows(t *testing.T, plane []float32, w *windows) {
	t.Helper()
	n := product(w.out)
	got, want := make([]float32, n), make([]float32, n)
	where, place := make([]int64, n), make([]int64, n)
	maxRows(got, where, plane, w)
	plain := *w
	plain.along = nil
	maxPlane(want, place, plane, &plain)
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) || where[i] != place[i] {
			t.Fatalf("%s: window %d: %v at %d, want %v at %d", fmt.Sprint(w.image, *w.along, w.spans), i, got[i], where[i], want[i], place[i])
		}
	}
}

// TestWindowsThatSeeNothing go the plain way, which gives them zero and no place.
func TestWindowsThatSeeNothing(t *testing.T) {
	if w := slidingWindows([]int{3}, []int{2}, []int{1}, []int{4}, []int{0}, []int{1}); w.along != nil {
		t.Error("a window beyond the image is not noticed")
	}
}

// TestRunsOfWindows: the stretches of a window are its elements in order, whether or
// not it covers whole rows and planes of the image.
func TestRunsOfWindows(t *testing.T) {
	check := func(w *windows) {
		w.each(func(o int, s []span) {
			var got, want []int
			w.runs(s, func(from, to, step int) {
				for at := from; at < to; at += step {
					got = append(got, at)
				}
			})
			for i := s[0].from; i < s[0].to; i += s[0].step {
				for j := s[1].from; j < s[1].to; j += s[1].step {
					for k := s[2].from; k < s[2].to; k += s[2].step {
						want = append(want, (i*w.image[1]+j)*w.image[2]+k)
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("image %v, window %v: %v, want %v", w.image, s, got, want)
			}
		})
	}
	for range 500 {
		image := []int{1 + rand.IntN(4), 1 + rand.IntN(5), 1 + rand.IntN(6)}
		check(someWindows(image))
		check(adaptiveWindows(image, []int{1 + rand.IntN(2), 1 + rand.IntN(2), 1 + rand.IntN(3)}))
	}
}
