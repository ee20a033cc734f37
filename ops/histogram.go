package ops

import "tcdbg/ops/sym"

// This file holds histogram: counts or weights between edges that are given or
// spread evenly over a range.

func histogramRows() []*Op {
	return []*Op{{
		ID: Histogram, Name: "histogram", Tags: TagNoGrad,
		Schema: "(Tensor self, Operand bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)",
		Meta: func(c *Call) ([]Result, error) {
			m := In[HistogramArgs](c).Self.Meta()
			if err := checkHistogram(c); err != nil {
				return nil, err
			}
			bins, err := histogramBins(c)
			if err != nil {
				return nil, err
			}
			vector := func(n sym.Int) *TensorMeta { return NewMeta(m.DType, m.Device, []sym.Int{n}) }
			return []Result{vector(bins), vector(sym.Add(bins, symOne))}, nil
		},
	}}
}

// histogramBins is the number of bins, one less than there are edges.
func histogramBins(c *Call) (sym.Int, error) {
	a := In[HistogramArgs](c)
	bins := symZero
	if edges := a.Bins.Meta(); edges == nil {
		n, ok := a.Bins.Arg.(sym.Int)
		if !ok {
			return n, &Error{Kind: "TypeError", Msg: "histogram(): argument 'bins' must be a tensor or an integer"}
		}
		bins = n
	} else {
		if len(edges.Shape) != 1 {
			return bins, Errorf(
				"torch.histogramdd: bins tensor should have one dimension, but got %d dimensions in the bins tensor for dimension 0",
				len(edges.Shape),
			)
		}
		if sym.Is(edges.Shape[0], 0) {
			return bins, Errorf(
				"torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension 0",
			)
		}
		bins = sym.Sub(edges.Shape[0], symOne)
	}
	if !sym.Lt(symZero, bins) {
		return bins, Errorf("torch.histogram(): bins must be > 0, but got %s for dimension 0", bins)
	}
	return bins, nil
}

// checkHistogram checks the types, the range and the weights.
func checkHistogram(c *Call) error {
	a := In[HistogramArgs](c)
	m := a.Self.Meta()
	if m.DType != Float32 && m.DType != Float64 {
		return &Error{Kind: "NotImplementedError", Msg: `"histogramdd" not implemented for '` + m.DType.ScalarType() + "'"}
	}
	if edges := a.Bins.Meta(); edges != nil && edges.DType != m.DType {
		return Errorf(
			"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype %s and bins for dimension 0 with dtype %s",
			m.DType, edges.DType,
		)
	}
	if w := a.Weight.Meta(); w != nil {
		if w.DType != m.DType {
			return Errorf(
				"torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input(%s), and weight(%s)",
				m.DType, w.DType,
			)
		}
		if !equalShape(w.Shape, m.Shape) {
			return Errorf(
				"torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension, but got input with shape %s and weight with shape %s",
				ShapeText(append(cloneInts(m.Shape), symOne)), ShapeText(w.Shape),
			)
		}
	}
	if r, given := a.Range.Arg.([]float64); given {
		if a.Bins.Meta() != nil {
			return &Error{Kind: "TypeError", Msg: "histogram(): a range goes with a number of bins, not with a tensor of edges"}
		}
		return CheckHistogramRange(r...)
	}
	return nil
}

// CheckHistogramRange checks a range that was given or that the data have.
func CheckHistogramRange(r ...float64) error {
	switch {
	case len(r) != 2:
		return Errorf("torch.histogramdd: for a 1-dimensional histogram range should have 2 elements, but got %d", len(r))
	case !(r[0]-r[0] == 0 && r[1]-r[1] == 0):
		return Errorf("torch.histogramdd: dimension 0's range [%g, %g] is not finite", r[0], r[1])
	case r[0] > r[1]:
		return Errorf("torch.histogramdd: min should not exceed max, but got min %g max %g for dimension 0", r[0], r[1])
	}
	return nil
}
