package torch_test

import (
	"math"
	"testing"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file measures eager operators against what the machine can do, both in
// one process and in turn: x-peak-time and x-copy-time are how many times the
// limit's time an operator takes, the best round of each.

// BenchmarkMatmul1024 is a 1024^3 float32 product.
func BenchmarkMatmul1024(b *testing.B) {
	x, y := torch.Randn(1024, 1024), torch.Randn(1024, 1024)
	againstPeak(b, 2*1024*1024*1024, func() { x.Mm(y) })
}

// BenchmarkLinear is a layer of BERT-base on 128 tokens.
func BenchmarkLinear(b *testing.B) {
	x, w := torch.Randn(128, 768), torch.Randn(3072, 768)
	againstPeak(b, 2*128*768*3072, func() { F.Linear(x, w) })
}

// BenchmarkConv3x3 is a convolution of ResNet-50's beginning.
func BenchmarkConv3x3(b *testing.B) {
	x, w := torch.Randn(2, 64, 56, 56), torch.Randn(64, 64, 3, 3)
	againstPeak(b, 2*2*64*64*9*56*56, func() { F.Conv2d(x, w, kw.Padding(1)) })
}

// BenchmarkAttention is that of 12 heads on 1,024 tokens.
func BenchmarkAttention(b *testing.B) {
	q, k, v := torch.Randn(1, 12, 1024, 64), torch.Randn(1, 12, 1024, 64), torch.Randn(1, 12, 1024, 64)
	againstPeak(b, 2*2*12*1024*1024*64, func() { F.ScaledDotProductAttention(q, k, v) })
}

// BenchmarkPointwise is operators that memory bounds, on 64 MB.
func BenchmarkPointwise(b *testing.B) {
	const n = 16 << 20
	x, y := torch.Randn(n), torch.Randn(n)
	rows, w, bias := torch.Randn(n/1024, 1024), torch.Randn(1024), torch.Randn(1024)
	for _, c := range []struct {
		name  string
		moved float64 // numbers read and written
		f     func()
	}{
		{"add", 3 * n, func() { x.Add(y) }},
		{"mul", 3 * n, func() { x.Mul(y) }},
		{"relu", 2 * n, func() { x.Relu() }},
		{"exp", 2 * n, func() { x.Exp() }},
		{"sigmoid", 2 * n, func() { x.Sigmoid() }},
		{"tanh", 2 * n, func() { x.Tanh() }},
		{"gelu", 2 * n, func() { F.Gelu(x) }},
		{"silu", 2 * n, func() { F.Silu(x) }},
		{"softmax", 2 * n, func() { rows.Softmax(1) }},
		{"layer_norm", 2 * n, func() { F.LayerNorm(rows, []int{1024}, kw.Weight(w), kw.Bias(bias)) }},
		{"sum", n, func() { x.Sum() }},
	} {
		b.Run(c.name, func(b *testing.B) { againstCopy(b, 4*c.moved, c.f) })
	}
}

// BenchmarkHalf is operators on 64 MB of half precision, which compute in float32.
func BenchmarkHalf(b *testing.B) {
	const n = 32 << 20
	for _, d := range []torch.DType{torch.Bfloat16, torch.Float16} {
		x := torch.Randn(n).To(d)
		rows, w, bias := x.Reshape(n/1024, 1024), torch.Randn(1024).To(d), torch.Randn(1024).To(d)
		for _, c := range []struct {
			name  string
			moved float64 // numbers read and written
			f     func()
		}{
			{"add", 3 * n, func() { x.Add(x) }},
			{"gelu", 2 * n, func() { F.Gelu(x) }},
			{"softmax", 2 * n, func() { rows.Softmax(1) }},
			{"log_softmax", 2 * n, func() { rows.LogSoftmax(1) }},
			{"layer_norm", 2 * n, func() { F.LayerNorm(rows, []int{1024}, kw.Weight(w), kw.Bias(bias)) }},
			{"sum", n, func() { x.Sum() }},
		} {
			b.Run(c.name+"/"+d.String(), func(b *testing.B) { againstCopy(b, 2*c.moved, c.f) })
		}
	}
}

// BenchmarkSmallAdd is the price of one eager call.
func BenchmarkSmallAdd(b *testing.B) {
	x, y := torch.Randn(16), torch.Randn(16)
	b.ReportAllocs()
	for b.Loop() {
		x.Add(y)
	}
}

// bestOf runs f and its reference in turn and returns the best time of each.
func bestOf(b *testing.B, f func(), reference func() float64) (best, limit float64) {
	best, limit = math.Inf(1), math.Inf(1)
	torch.NoGrad(func() {
		f()
		for b.Loop() {
			start := time.Now()
			f()
			best = min(best, time.Since(start).Seconds())
			limit = min(limit, reference())
		}
	})
	return best, limit
}

// againstPeak compares f with multiply-adds on registers alone.
func againstPeak(b *testing.B, flops float64, f func()) {
	if simd.Best == simd.Plain {
		b.Skip("the peak is measured by assembly, which this machine does not run")
	}
	best, peak := bestOf(b, f, secondsPerFlop)
	b.ReportMetric(flops/best/1e9, "GF/s")
	b.ReportMetric(best/(flops*peak), "x-peak-time")
}

// secondsPerFlop is the machine's limit on as many threads as operators use.
func secondsPerFlop() float64 {
	flops := 0
	seconds := together(func() int { return simd.Best.PeakFlops(200_000) }, &flops)
	return seconds / float64(flops)
}

// againstCopy compares f, which moves so many bytes, with copying.
func againstCopy(b *testing.B, bytes float64, f func()) {
	const size = 8 << 20
	var from, to [64][]float32
	for i := range torch.GetNumThreads() {
		from[i], to[i] = make([]float32, size), make([]float32, size)
	}
	best, perByte := bestOf(b, f, func() float64 {
		next := make(chan int, 64)
		for i := range torch.GetNumThreads() {
			next <- i
		}
		moved := 0
		seconds := together(func() int {
			i := <-next
			return 2 * 4 * copy(to[i], from[i])
		}, &moved)
		return seconds / float64(moved)
	})
	b.ReportMetric(bytes/best/1e9, "GB/s")
	b.ReportMetric(best/(bytes*perByte), "x-copy-time")
}

// together runs f on as many goroutines as operators use; done is the sum of
// what they return.
func together(f func() int, done *int) (seconds float64) {
	threads := torch.GetNumThreads()
	results := make(chan int)
	start := time.Now()
	for range threads {
		go func() { results <- f() }()
	}
	for range threads {
		*done += <-results
	}
	return time.Since(start).Seconds()
}
