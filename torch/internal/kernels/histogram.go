package kernels

import (
	"sort"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file holds histogram.

func histogramKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{ops.Histogram: histogramKernel}
}

func histogramKernel(k *Call) {
	if k.self().DType == ops.Float64 {
		histogram[float64](k)
	} else {
		histogram[float32](k)
	}
}

func histogram[F float32 | float64](k *Call) {
	a := ops.In[ops.HistogramArgs](k.Call)
	d := array(a.Self).DType
	x := strided.Elements[F](array(a.Self), d)
	var weights []F
	if w := array(a.Weight); w != nil {
		weights = strided.Elements[F](w, d)
	}
	var edges []F
	if e := array(a.Bins); e != nil {
		edges = strided.Elements[F](e, d)
	} else {
		lo, hi := histogramRange(k, a.Range, x)
		edges = evenEdges(lo, hi, int(a.Bins.Arg.(sym.Int).Hint()))
	}
	hist := weigh(x, weights, edges)
	if a.Density.Bool() {
		density(hist, edges)
	}
	strided.Store(k.Outs[0], hist, d)
	strided.Store(k.Outs[1], edges, d)
}

// histogramRange is the range of even bins: the one that was given, else that of
// the data; an empty one is widened by a half on both sides.
func histogramRange[F float32 | float64](k *Call, given ops.ListArg, x []F) (lo, hi F) {
	if r, ok := given.Arg.([]float64); ok {
		lo, hi = F(r[0]), F(r[1])
	} else if len(x) > 0 {
		lo, hi = x[0], x[0]
		for _, v := range x {
			lo, hi = min(lo, v), max(hi, v) // a NaN stays
		}
		if err := ops.CheckHistogramRange(float64(lo), float64(hi)); err != nil {
			refusal.Raise(k.Op, err)
		}
	} else {
		return 0, 1
	}
	if lo == hi {
		return lo - 0.5, hi + 0.5
	}
	return lo, hi
}

// evenEdges counts up from the lower end and down from the upper one, as linspace
// does, so that both are exact.
func evenEdges[F float32 | float64](lo, hi F, bins int) []F {
	step := (hi - lo) / F(bins)
	out := make([]F, bins+1)
	for i := range out {
		if i < len(out)/2 {
			out[i] = lo + step*F(i)
		} else {
			out[i] = hi - step*F(bins-i)
		}
	}
	return out
}

// weigh sums the weights (none: ones) of the elements between two edges. A bin
// holds its lower edge, the last one its upper edge too.
func weigh[F float32 | float64](x, weights, edges []F) []F {
	last := len(edges) - 1
	out := make([]F, last)
	for i, v := range x {
		if !(v >= edges[0] && v <= edges[last]) {
			continue
		}
		above := sort.Search(len(edges), func(j int) bool { return edges[j] > v })
		bin := min(max(above-1, 0), last-1)
		if weights != nil {
			out[bin] += weights[i]
		} else {
			out[bin]++
		}
	}
	return out
}

// density divides by the whole and by the widths.
func density[F float32 | float64](hist, edges []F) {
	var whole F
	for _, h := range hist {
		whole += h
	}
	for i := range hist {
		hist[i] = hist[i] / whole / (edges[i+1] - edges[i])
	}
}
