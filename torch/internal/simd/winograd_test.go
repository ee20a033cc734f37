package simd

import (
	"fmt"
	"testing"
)

// This file tests Winograd's turnings: every level against plain Go, bit by bit, and
// plain Go against a convolution.

func sameFloats(t *testing.T, what string, got, want []float32, untouched bool) {
	t.Helper()
	if !untouched {
		t.Errorf("%s: writes outside of its result", what)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestWinogradFilter(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for n := 1; n <= l.Lanes(); n++ {
			for _, channels := range []int{1, 3} {
				const gap = 5
				point := channels*n + gap
				src := random(9*channels*n, 3)
				got, whole := guarded(Points*point-gap, 1)
				want, _ := guarded(Points*point-gap, 1)
				l.WinogradFilter(got, src, channels, n, point)
				Plain.WinogradFilter(want, src, channels, n, point)
				sameFloats(t, fmt.Sprintf("%d rows, %d channels", n, channels), got, want, whole())
			}
		}
	})
}

func TestWinogradValues(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		for n := 1; n <= l.Lanes(); n++ {
			for _, channels := range []int{1, 4} {
				at := TilePlanes{Channel: 4*2*(n+2) + 7, Plane: 2 * (n + 2), Pitch: n + 2}
				const width = 2*MaxCols + 1
				point := channels * width
				src := random((channels-1)*at.Channel+3*at.Plane+at.Pitch+n+1, 5)
				got, whole := guarded((Points-1)*point+(channels-1)*width+n, 2)
				want, _ := guarded(len(got), 2)
				l.WinogradValues(got, src, channels, n, at, width, point)
				Plain.WinogradValues(want, src, channels, n, at, width, point)
				sameFloats(t, fmt.Sprintf("%d tiles, %d channels", n, channels), got, want, whole())
			}
		}
	})
}

func TestWinogradPixels(t *testing.T) {
	eachAssembly(t, func(t *testing.T, l Level) {
		lanes := l.Lanes()
		for _, n := range []int{1, 2, 13} {
			from, to, below := lanes+3, 5*lanes, 2*lanes+1
			point := n*from + 2
			src := random((Points-1)*point+(n-1)*from+lanes, 1)
			got, whole := guarded((n-1)*to+below+2*lanes, 3)
			l.WinogradPixels(got, src, n, point, from, to, below)
			for row := range n { // plain Go has its own lanes
				for lane := range lanes {
					piece := make([]float32, Points*plainLanes)
					for p := range Points {
						piece[p*plainLanes] = src[p*point+row*from+lane]
					}
					var want [4 * plainLanes]float32
					Plain.WinogradPixels(want[:], piece, 1, plainLanes, 0, 0, 2*plainLanes)
					at := row*to + 2*lane
					sameFloats(t, fmt.Sprintf("row %d, lane %d", row, lane),
						append(got[at:at+2:at+2], got[at+below:at+below+2]...),
						append(want[:2:2], want[2*plainLanes:2*plainLanes+2]...), whole())
				}
			}
		}
	})
}

// TestWinogradIsAConvolution turns a filter and a tile and compares the pixels with
// the sums that they stand for. The numbers are small integers: all of it is exact.
func TestWinogradIsAConvolution(t *testing.T) {
	var filter, image [16]float32
	for i := range filter {
		filter[i], image[i] = float32(i*i%7-3), float32(i*5%11-4)
	}
	var u, v, planes [16]float32
	for i := range 16 {
		y, x := i/4, i%4
		planes[(y%2*2+x%2)*4+y/2*2+x/2] = image[i]
	}
	Plain.WinogradFilter(u[:], filter[:9], 1, 1, 1)
	Plain.WinogradValues(v[:], planes[:], 1, 1, TilePlanes{16, 4, 2}, 1, 1)
	products := make([]float32, Points*plainLanes)
	for p := range Points {
		products[p*plainLanes] = u[p] * v[p]
	}
	pixels := make([]float32, 4*plainLanes)
	Plain.WinogradPixels(pixels, products, 1, plainLanes, 0, 0, 2*plainLanes)
	for y := range 2 {
		for x := range 2 {
			want := float32(0)
			for i := range 9 {
				want += filter[i] * image[(y+i/3)*4+x+i%3]
			}
			if got := pixels[y*2*plainLanes+x]; got != want {
				t.Errorf("pixel %d, %d is %v, want %v", y, x, got, want)
			}
		}
	}
}
