package torch

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"tcdbg/internal/ops"
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
	for _, row := range rows {
		checkWeights(row)
	}
	g := defaultGenerator()
	if k.Bool(2) && samples > 1 {
		for _, row := range rows {
			drawn = append(drawn, g.drawAgain(row, samples, p.dtype)...)
		}
	} else {
		drawn = race(p, g, samples)
	}
	finish(out, drawn, ops.Int64)
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
	var drawn []int64
	for row := range slices.Chunk(speeds, p.Size(-1)) {
		order := make([]int64, len(row))
		for i := range order {
			order[i] = int64(i)
		}
		slices.SortStableFunc(order, func(a, b int64) int { return cmp.Compare(row[b], row[a]) })
		drawn = append(drawn, order[:samples]...)
	}
	return drawn
}

// drawAgain draws with replacement, from the sums of a row's weights in the
// precision of their dtype.
func (g *Generator) drawAgain(row []float64, samples int, d DType) []int64 {
	round := func(v float64) float64 { return v }
	if d != ops.Float64 {
		round = func(v float64) float64 { return float64(float32(v)) }
	}
	sums := make([]float64, len(row))
	sum := 0.0
	for i, w := range row {
		sum = round(sum + w)
		sums[i] = sum
	}
	for i := range sums {
		sums[i] = round(sums[i] / sum)
	}
	sums[len(sums)-1] = 1
	g.mu.Lock()
	defer g.mu.Unlock()
	drawn := make([]int64, samples)
	for i := range drawn {
		u := g.double()
		drawn[i] = int64(sort.Search(len(sums), func(j int) bool { return sums[j] >= u }))
	}
	return drawn
}
