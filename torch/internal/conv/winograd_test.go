package conv

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/rng"
	"tcdbg/torch/internal/simd"
)

// This file tests what Winograd's form of a convolution is chosen for, how exact it
// is, and that it hides nothing that is not finite.

// square is a convolution of 3x3 filters over a batch of square images.
func square(batch, in, out, size int) *Call {
	two := func(n int) []int { return []int{n, n} }
	return &Call{
		Stride: two(1), Pad: two(1), Dilation: two(1), Groups: 1, Batch: batch, InCh: in, OutCh: out, InPer: in, OutPer: out,
		InSize: two(size), OutSize: two(size), Kernel: two(3),
	}
}

// normals are n random numbers.
func normals(n int) []float32 {
	s := make([]float32, n)
	rng.New(5).NormalFloats(s, 0, 1, false)
	return s
}

func ones(n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

func doubles(s []float32) []float64 {
	out := make([]float64, len(s))
	for i, v := range s {
		out[i] = float64(v)
	}
	return out
}

func TestWinogradIsChosen(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *Call)
		want   bool
	}{
		{"as it is", func(*Call) {}, true},
		{"few channels", func(c *Call) { c.InCh = 16 }, false},
		{"few results", func(c *Call) { c.OutCh = 47 }, false},
		{"many channels", func(c *Call) { c.InCh, c.OutCh = 512, 512 }, true},
		{"many channels, few tiles", func(c *Call) { c.InCh, c.OutCh, c.OutSize = 512, 512, []int{14, 14} }, false},
		{"few tiles", func(c *Call) { c.OutSize = []int{7, 7} }, false},
		{"few tiles of many images", func(c *Call) { c.OutSize, c.Batch = []int{7, 7}, 4 }, true},
		{"a stride", func(c *Call) { c.Stride = []int{1, 2} }, false},
		{"a dilation", func(c *Call) { c.Dilation = []int{2, 1} }, false},
		{"another kernel", func(c *Call) { c.Kernel = []int{3, 5} }, false},
		{"groups", func(c *Call) { c.Groups = 2 }, false},
		{"half precision", func(c *Call) { c.Half = true }, false},
		{"one dimension", func(c *Call) { c.Kernel = []int{3} }, false},
	} {
		conv := square(1, 64, 64, 28)
		c.change(conv)
		if got := conv.winogradPays(); got != c.want {
			t.Errorf("%s: chosen %v", c.name, got)
		}
	}
}

// TestWinogradIsExact: the error against float64 is about that of the plain sum of
// products, at every level.
func TestWinogradIsExact(t *testing.T) {
	c := square(1, 96, 64, 30)
	x, w := normals(96*30*30), normals(64*96*3*3)
	want := make([]float64, 64*30*30)
	Forward(c, doubles(x), doubles(w), want, gemm.Plain[float64])
	deviation := func(got []float32) float64 {
		sum := 0.0
		for i, v := range got {
			sum += (float64(v) - want[i]) * (float64(v) - want[i])
		}
		return math.Sqrt(sum / float64(len(got)))
	}
	for _, l := range simd.Levels() {
		back := simd.Force(l)
		plain, ours := make([]float32, len(want)), make([]float32, len(want))
		windows(c, x, w, plain)
		finite := winograd(c, x, w, ours)
		back()
		p, o := deviation(plain), deviation(ours)
		t.Logf("%v: root mean square of the error %.3g, of the plain sum %.3g", l, o, p)
		if !finite || !(o <= 2*p) {
			t.Errorf("%v: the error's root mean square is %.3g, that of the plain sum %.3g; finite: %v", l, o, p, finite)
		}
	}
}

// TestWinogradHidesNothing: NaN and infinity of the image reach the pixels that they
// reach in the plain way and no others.
func TestWinogradHidesNothing(t *testing.T) {
	c := square(2, 48, 48, 16)
	w := ones(48 * 48 * 3 * 3)
	for _, strange := range []float64{math.NaN(), math.Inf(1), 3e38} {
		x := ones(2 * 48 * 16 * 16)
		x[16*16*60+5*16+7] = float32(strange)
		got, want := make([]float32, len(x)), make([]float32, len(x))
		Planes(c, x, w, got)
		windows(c, x, w, want)
		for i, v := range want {
			if v != got[i] && (v == v || got[i] == got[i]) {
				t.Fatalf("%v in the image: pixel %d is %v, plainly %v", strange, i, got[i], v)
			}
		}
	}
}

// TestPlanesThatNobodySees are not laid out: a kernel of one place that moves by two
// reads one plane of four.
func TestPlanesThatNobodySees(t *testing.T) {
	s := shape2d{in: [2]int{4, 4}, out: [2]int{2, 2}, kernel: [2]int{1, 1}, stride: [2]int{2, 2}, dilation: [2]int{1, 1}}
	x := make([]float32, 16)
	for i := range x {
		x[i] = float32(i + 1)
	}
	p := &imagePlanes{height: 2, pitch: 2, phase: 4}
	dst := make([]float32, 16)
	layChannel(dst, x, s, p)
	want := []float32{1, 3, 9, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for i, v := range want {
		if dst[i] != v {
			t.Fatalf("the planes are %v, want %v", dst, want)
		}
	}
}

// BenchmarkWinogradForm runs a convolution plainly and by Winograd's form in turns and
// reports the best rate of each, both in the plain form's work.
func BenchmarkWinogradForm(b *testing.B) {
	for _, s := range [][4]int{{2, 64, 64, 56}, {2, 256, 256, 14}, {2, 256, 512, 14}, {1, 512, 512, 28}} {
		batch, in, out, size := s[0], s[1], s[2], s[3]
		b.Run(fmt.Sprintf("%dx%dx%dx%d-%d", batch, in, size, size, out), func(b *testing.B) {
			c := square(batch, in, out, size)
			x, w := normals(batch*in*size*size), normals(out*in*9)
			pixels := make([]float32, batch*out*size*size)
			plain, tiled := math.Inf(1), math.Inf(1)
			for b.Loop() {
				start := time.Now()
				windows(c, x, w, pixels)
				between := time.Now()
				winograd(c, x, w, pixels)
				plain, tiled = min(plain, between.Sub(start).Seconds()), min(tiled, time.Since(between).Seconds())
			}
			flops := 2 * 9 * float64(batch*in*out*size*size)
			b.ReportMetric(flops/plain/1e9, "plain-GF/s")
			b.ReportMetric(flops/tiled/1e9, "winograd-GF/s")
		})
	}
}
