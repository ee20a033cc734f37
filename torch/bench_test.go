package torch_test

import (
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// BenchmarkMatmul1024 reports the rate of an eager 1024^3 float32 product.
func BenchmarkMatmul1024(b *testing.B) {
	x, y := torch.Randn(1024, 1024), torch.Randn(1024, 1024)
	for b.Loop() {
		x.Mm(y)
	}
	b.ReportMetric(2*1024*1024*1024*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
}

// BenchmarkConv3x3 is a convolution of ResNet-50's middle.
func BenchmarkConv3x3(b *testing.B) {
	x, w := torch.Randn(2, 64, 56, 56), torch.Randn(64, 64, 3, 3)
	for b.Loop() {
		F.Conv2d(x, w, kw.Padding(1))
	}
	b.ReportMetric(2*2*64*64*9*56*56*float64(b.N)/b.Elapsed().Seconds()/1e9, "GF/s")
}

// BenchmarkAdd4MB is a pointwise operator on tensors beyond the L2 cache.
func BenchmarkAdd4MB(b *testing.B) {
	x, y := torch.Randn(1<<20), torch.Randn(1<<20)
	for b.Loop() {
		x.Add(y)
	}
	b.ReportMetric(3*4*(1<<20)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GB/s")
}

// BenchmarkSmallAdd is the price of one eager call.
func BenchmarkSmallAdd(b *testing.B) {
	x, y := torch.Randn(16), torch.Randn(16)
	b.ReportAllocs()
	for b.Loop() {
		x.Add(y)
	}
}

// BenchmarkExp4MB, Gelu and Softmax are bound by transcendental functions.
func BenchmarkExp4MB(b *testing.B) {
	x := torch.Randn(1 << 20)
	for b.Loop() {
		x.Exp()
	}
	b.ReportMetric(float64(b.N)*(1<<20)/b.Elapsed().Seconds()/1e6, "Melem/s")
}

// BenchmarkSoftmax is attention's.
func BenchmarkSoftmax(b *testing.B) {
	x := torch.Randn(1024, 1024)
	for b.Loop() {
		x.Softmax(1)
	}
	b.ReportMetric(float64(b.N)*(1<<20)/b.Elapsed().Seconds()/1e6, "Melem/s")
}
