package stop

import (
	"math"
	"strconv"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file says what is in a tensor.

const (
	// sampled is how many elements of a tensor are looked at.
	sampled = 1 << 18
	firsts  = 8
	ranges  = 16
)

// tensorValue describes t, with what is in it where it has data.
func tensorValue(t *torch.Tensor) *logs.TensorValue {
	m := t.Fake()
	if m != nil {
		return metaValue(m)
	}
	m = t.TensorMeta()
	v := metaValue(m)
	v.RequiresGrad = t.RequiresGrad()
	if m.Device == ops.Meta {
		return v
	}
	x := t
	n := t.Numel()
	if n > sampled {
		x = firstOf(t)
		v.Sampled = int64(x.Numel())
	}
	if m.DType.IsComplex() {
		for i, c := range x.Complex64s() {
			if i == firsts {
				break
			}
			v.First = append(v.First, strconv.FormatComplex(complex128(c), 'g', -1, 64))
		}
		return v
	}
	describe(v, m.DType, x.Data())
	return v
}

// Meta describes a tensor without data: its sizes may be symbols.
func Meta(m *ops.TensorMeta) *logs.TensorValue { return metaValue(m) }

func metaValue(m *ops.TensorMeta) *logs.TensorValue {
	v := &logs.TensorValue{Dtype: m.DType.Name(), Device: string(m.Device), RequiresGrad: m.RequiresGrad, Shape: []string{}}
	for _, s := range m.Shape {
		v.Shape = append(v.Shape, s.String())
	}
	for _, s := range m.Stride {
		v.Stride = append(v.Stride, s.String())
	}
	return v
}

// firstOf is a view of the first elements of a large tensor: the first of its outer
// dimensions that are not too many together.
func firstOf(t *torch.Tensor) *torch.Tensor {
	shape, stride, off := t.Layout()
	shape = append([]int{}, shape...)
	inner := 1
	for i := len(shape) - 1; i >= 0; i-- {
		if room := sampled / inner; shape[i] > room {
			shape[i] = max(room, 1)
		}
		inner *= shape[i]
	}
	return torch.FromStorage(t.Storage(), t.DType(), shape, append([]int{}, stride...), off)
}

func describe(v *logs.TensorValue, d ops.DType, data []float64) {
	lo, hi, sum, finite := math.Inf(1), math.Inf(-1), 0.0, 0
	for i, x := range data {
		if i < firsts {
			v.First = append(v.First, number(d, x))
		}
		switch {
		case math.IsNaN(x):
			v.NaN++
			continue
		case math.IsInf(x, 0):
			v.Inf++
			continue
		}
		lo, hi, sum, finite = min(lo, x), max(hi, x), sum+x, finite+1
	}
	if finite == 0 {
		return
	}
	v.Min, v.Max = number(d, lo), number(d, hi)
	v.Mean = strconv.FormatFloat(sum/float64(finite), 'g', 6, 64)
	if d == ops.Bool || finite < 2 {
		return
	}
	v.Histogram = make([]int64, ranges)
	for _, x := range data {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			continue
		}
		i := 0
		if hi > lo {
			i = int((x - lo) / (hi - lo) * ranges)
		}
		v.Histogram[max(0, min(i, ranges-1))]++
	}
}

// number prints an element as its type has it.
func number(d ops.DType, x float64) string {
	switch {
	case d == ops.Bool:
		return strconv.FormatBool(x != 0)
	case d.IsFloat() && d != ops.Float64:
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
