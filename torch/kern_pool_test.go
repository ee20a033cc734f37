package torch

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMaxWindow32 against the plain search: equal numbers, both zeros,
// infinities, NaN, and windows without elements.
func TestMaxWindow32(t *testing.T) {
	odd := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), math.MaxFloat32, 1e-45, -1e-45}
	nan := float32(math.NaN())
	image := []int{2, 5, 6}
	plane := make([]float32, 2*5*6)
	for round := range 20000 {
		for i := range plane {
			plane[i] = odd[rand.IntN(len(odd))]
			if round%3 == 0 {
				plane[i] = rand.Float32() - 0.5
			}
			if round%5 == 0 && rand.IntN(9) == 0 {
				plane[i] = [2]float32{nan, -nan}[rand.IntN(2)]
			}
		}
		var s [3]span
		for d := range s {
			from := rand.IntN(image[d])
			s[d] = span{from: from, to: from + rand.IntN(image[d]-from+1), step: 1 + rand.IntN(2)}
		}
		v, at := maxWindow32(plane, image, s[0], s[1], s[2])
		w, want := maxWindow(plane, image, s[0], s[1], s[2])
		if at != want || math.Float32bits(v) != math.Float32bits(w) {
			t.Fatalf("%v of %v: %v at %d, want %v at %d", s, plane, v, at, w, want)
		}
	}
}
