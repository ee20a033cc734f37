package torch

import (
	"math"
	"slices"
	"sort"

	"tcdbg/ops"
	"tcdbg/torch/internal/order"
	"tcdbg/torch/internal/parallel"
)

// This file draws categories by their weights, as PyTorch's CPU kernels do.

// multinomialKernel draws from each row of weights, which need not add up to one.
func multinomialKernel(k *kernelCall) {
	p, out := k.in(0), k.out()
	drawn := make([]int64, 0, out.Numel())
	n, samples := p.Size(-1), out.Size(-1)
	weights := p.Float64s()
	if n == 0 || len(weights) == 0 {
		finish(out, make([]int64, out.Numel()), ops.Int64)
		return
	}
	rows := slices.Collect(slices.Chunk(weights, n))
	each(rows, func(_ int, row []float64) { checkWeights(row) })
	g := defaultGenerator()
	if k.Bool(2) && samples > 1 {
		each(rows, func(_ int, row []float64) { accumulate(row, p.dtype) })
		for _, row := range rows {
			drawn = append(drawn, g.drawAgain(row, samples)...)
		}
	} else {
		drawn = race(p, g, samples)
	}
	finish(out, drawn, ops.Int64)
}

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
			fail("multinomial", "RuntimeError", "probability tensor contains either `inf`, `nan` or element < 0")
		}
		sum += w
	}
	if sum == 0 {
		fail("multinomial", "RuntimeError", "invalid multinomial distribution (sum of probabilities <= 0)")
	}
}

// race draws without replacement: each category of a row arrives after an
// exponentially distributed time over its weight; the first ones are drawn.
func race(p *Tensor, g *Generator, samples int) []int64 {
	times := newTensor(p.dtype, p.shape)
	g.fillExponential(times, 1)
	speeds := CallUnrecorded(ops.Div, []ops.Arg{p, times, nil})[0].(*Tensor).Float64s()
	rows := slices.Collect(slices.Chunk(speeds, p.Size(-1)))
	drawn := make([]int64, len(rows)*samples)
	each(rows, func(i int, row []float64) { order.Largest(drawn[i*samples:(i+1)*samples], row) })
	return drawn
}

// accumulate replaces the weights of a row by their sums so far over that of all, in the
// precision of their dtype.
func accumulate(row []float64, d DType) {
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

// drawAgain draws with replacement, by the sums of a row's weights.
func (g *Generator) drawAgain(sums []float64, samples int) []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	drawn := make([]int64, samples)
	for i := range drawn {
		u := g.double()
		drawn[i] = int64(sort.Search(len(sums), func(j int) bool { return sums[j] >= u }))
	}
	return drawn
}
