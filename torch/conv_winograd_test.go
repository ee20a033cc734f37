package torch

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"tcdbg/ops"
	"tcdbg/torch/internal/simd"
)

// This file tests what Winograd's form of a convolution is chosen for, how exact it
// is, and that it hides nothing that is not finite.

// square is a convolution of 3x3 filters over a batch of square images.
func square(batch, in, out, size int) *convCall {
	two := func(n int) []int { return []int{n, n} }
	return &convCall{
		stride: two(1), pad: two(1), dilation: two(1), groups: 1, batch: batch, inCh: in, outCh: out, inPer: in, outPer: out,
		inSize: two(size), outSize: two(size), kernel: two(3), half: ops.Float32,
	}
}

func TestWinogradIsChosen(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *convCall)
		want   bool
	}{
		{"as it is", func(*convCall) {}, true},
		{"few channels", func(c *convCall) { c.inCh = 16 }, false},
		{"few results", func(c *convCall) { c.outCh = 47 }, false},
		{"many channels", func(c *convCall) { c.inCh, c.outCh = 512, 512 }, true},
		{"many channels, few tiles", func(c *convCall) { c.inCh, c.outCh, c.outSize = 512, 512, []int{14, 14} }, false},
		{"few tiles", func(c *convCall) { c.outSize = []int{7, 7} }, false},
		{"few tiles of many images", func(c *convCall) { c.outSize, c.batch = []int{7, 7}, 4 }, true},
		{"a stride", func(c *convCall) { c.stride = []int{1, 2} }, false},
		{"a dilation", func(c *convCall) { c.dilation = []int{2, 1} }, false},
		{"another kernel", func(c *convCall) { c.kernel = []int{3, 5} }, false},
		{"groups", func(c *convCall) { c.groups = 2 }, false},
		{"half precision", func(c *convCall) { c.half = ops.BFloat16 }, false},
		{"one dimension", func(c *convCall) { c.kernel = []int{3} }, false},
	} {
		conv := square(1, 64, 64, 28)
		c.change(conv)
		if got := conv.turnsTiles(); got != c.want {
			t.Errorf("%s: chosen %v", c.name, got)
		}
	}
}

// TestWinogradIsExact: the error against float64 is about that of the plain sum of
// products, at every level.
func TestWinogradIsExact(t *testing.T) {
	ManualSeed(5)
	c := square(1, 96, 64, 30)
	x, w := Randn(1, 96, 30, 30), Randn(64, 96, 3, 3)
	wide := *c
	wide.x, wide.w = x.To(ops.Float64), w.To(ops.Float64)
	want := make([]float64, 64*30*30)
	convForward(&wide, want, gemmPlain[float64])
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
		convWindows(c, slice[float32](x), slice[float32](w), plain)
		finite := convWinograd(c, slice[float32](x), slice[float32](w), ours)
		back()
		p, o := deviation(plain), deviation(ours)
		t.Logf("%v: root mean square of the error %.3g, of the plain sum %.3g", l, o, p)
		if !finite || !(o <= 2*p) {
			t.Errorf("%v: the error's root mean square is %.3g, that of the plain sum %.3g; finite: %v", l, o, p, finite)
		}
	}
	runtime.KeepAlive([]*Tensor{x, w})
}

// TestWinogradHidesNothing: NaN and infinity of the image reach the pixels that they
// reach in the plain way and no others.
func TestWinogradHidesNothing(t *testing.T) {
	c := square(2, 48, 48, 16)
	w := Ones(48, 48, 3, 3)
	for _, strange := range []float64{math.NaN(), math.Inf(1), 3e38} {
		x := Ones(2, 48, 16, 16)
		slice[float32](x)[16*16*60+5*16+7] = float32(strange)
		got, want := make([]float32, x.Numel()), make([]float32, x.Numel())
		convPlanes(c, slice[float32](x), slice[float32](w), got)
		convWindows(c, slice[float32](x), slice[float32](w), want)
		runtime.KeepAlive([]*Tensor{x, w})
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
			x, w := Randn(batch, in, size, size).Float32s(), Randn(out, in, 3, 3).Float32s()
			pixels := make([]float32, batch*out*size*size)
			plain, turned := math.Inf(1), math.Inf(1)
			for b.Loop() {
				start := time.Now()
				convWindows(c, x, w, pixels)
				between := time.Now()
				convWinograd(c, x, w, pixels)
				plain, turned = min(plain, between.Sub(start).Seconds()), min(turned, time.Since(between).Seconds())
			}
			flops := 2 * 9 * float64(batch*in*out*size*size)
			b.ReportMetric(flops/plain/1e9, "plain-GF/s")
			b.ReportMetric(flops/turned/1e9, "winograd-GF/s")
		})
	}
}
