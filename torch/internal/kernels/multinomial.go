package kernels

import (
	"math"
	"slices"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/rng"
	"tcdbg/torch/internal/strided"
)

// This file draws categories by their weights, as PyTorch's CPU kernels do.

// multinomialKernel draws from each row of weights, which need not add up to one.
func multinomialKernel(k *Call) {
	p, out := k.self(), k.out()
	drawn := make([]int64, 0, out.Numel())
	n, samples := lastSize(p), lastSize(out)
	weights := p.Float64s()
	if n == 0 || len(weights) == 0 {
		strided.Store(out, make([]int64, out.Numel()), ops.Int64)
		return
	}
	rows := slices.Collect(slices.Chunk(weights, n))
	each(rows, func(_ int, row []float64) { checkWeights(row) })
	g := rng.Default()
	if ops.In[ops.MultinomialArgs](k.Call).Replacement.Bool() && samples > 1 {
		each(rows, func(_ int, row []float64) { accumulate(row, p.DType) })
		for _, row := range rows {
			drawn = append(drawn, g.Categories(row, samples)...)
		}
	} else {
		drawn = race(p, samples)
	}
	strided.Store(out, drawn, ops.Int64)
}

func lastSize(t *strided.Array) int { return t.Shape[len(t.Shape)-1] }

// each calls f for the rows on all threads.
func each(rows [][]float64, f func(i int, row []float64)) {
	work := 0
	for _, row := range rows {
		work += 8 * len(row)
	}
	parallel.For(len(rows), work, func(from, to int) {
		for i := from; i < to; i++ {
			f(i, rows[i])
		}
	})
}

// checkWeights refuses a row that is no distribution.
func checkWeights(row []float64) {
	sum := 0.0
	for _, w := range row {
		if !(w >= 0) || math.IsInf(w, 1) {
			refusal.Fail("multinomial", "RuntimeError", "probability tensor contains either `inf`, `nan` or element < 0")
		}
		sum += w
	}
	if sum == 0 {
		refusal.Fail("multinomial", "RuntimeError", "invalid multinomial distribution (sum of probabilities <= 0)")
	}
}

// race draws without replacement: each category of a row arrives after an
// exponentially distributed time over its weight; the first ones are drawn.
func race(p *strided.Array, samples int) []int64 {
	times := strided.New(p.DType, p.Shape)
	fillExponential(times, 1)
	over := strided.New(p.DType, p.Shape)
	runInto(ops.Div, []ops.Arg{p, times, nil}, over)
	speeds := over.Float64s()
	rows := slices.Collect(slices.Chunk(speeds, lastSize(p)))
	drawn := make([]int64, len(rows)*samples)
	each(rows, func(i int, row []float64) { order.Largest(drawn[i*samples:(i+1)*samples], row) })
	return drawn
}

// accumulate replaces the weights of a row by their sums so far over that of all, in the
// precision of their dtype.
func accumulate(row []float64, d ops.DType) {
	if d == ops.Float64 {
		sum := 0.0
		for i, w := range row {
			sum += w
			row[i] = sum
		}
		for i := range row {
			row[i] /= sum
		}
	} else {
		sum := float32(0)
		for i, w := range row {
			sum += float32(w)
			row[i] = float64(sum)
		}
		for i, s := range row {
			row[i] = float64(float32(s) / sum)
		}
	}
	row[len(row)-1] = 1
}
