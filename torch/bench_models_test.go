package torch_test

import (
	"math"
	"testing"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/models"
	"tcdbg/torch/nn"
)

// This file measures whole models in eager mode against the limit that the
// machine's multiply-adds set.

// BenchmarkEagerResNet50 is inference on two images of 224x224.
func BenchmarkEagerResNet50(b *testing.B) {
	net := models.ResNet50()
	nn.Eval(net)
	x := torch.Randn(2, 3, 224, 224)
	const macs = 4_089_184_256 // of an image: convolutions and the classifier
	againstPeak(b, 2*2*macs, func() { net.Forward(x) })
}

// BenchmarkEagerBert is BERT-base on one sentence of 128 tokens.
func BenchmarkEagerBert(b *testing.B) {
	net := models.NewBertModel(models.DefaultBertConfig())
	nn.Eval(net)
	ids := torch.Randint(0, 30000, []int{1, 128})
	const (
		tokens, width, inner, layers = 128, 768, 3072, 12
		macs                         = layers * tokens * (4*width*width + 2*width*inner + 2*tokens*width)
	)
	againstPeak(b, 2*macs, func() { net.Forward(ids) })
}

// againstPeak reports the rate of f and how many times the peak's time it
// takes: the best of rounds that measure one and the other in turn.
func againstPeak(b *testing.B, flops float64, f func()) {
	if simd.Best == simd.Plain {
		b.Skip("the peak is measured by assembly, which this machine does not run")
	}
	torch.NoGrad(func() {
		f()
		best, peak := math.Inf(1), math.Inf(1)
		for b.Loop() {
			start := time.Now()
			f()
			best = min(best, time.Since(start).Seconds())
			peak = min(peak, secondsPerFlop())
		}
		b.ReportMetric(flops/best/1e9, "GF/s")
		b.ReportMetric(best/(flops*peak), "x-peak-time")
	})
}

// secondsPerFlop is the machine's limit on as many threads as operators use.
func secondsPerFlop() float64 {
	threads := torch.GetNumThreads()
	done := make(chan int)
	start := time.Now()
	for range threads {
		go func() { done <- simd.Best.PeakFlops(200_000) }()
	}
	flops := 0
	for range threads {
		flops += <-done
	}
	return time.Since(start).Seconds() / float64(flops)
}
