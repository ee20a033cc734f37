package ops

import (
	"strconv"

	"tcdbg/ops/sym"
)

// This file holds embedding and embedding_bag: rows of a table, each by itself or reduced
// bag by bag.

func embeddingRow() *Op {
	row := &Op{
		ID: Embedding, Name: "embedding", Tags: TagNN | TagNotMethod,
		Schema: "(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, " +
			"bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
		Meta: func(c *Call) ([]Result, error) {
			a := In[EmbeddingArgs](c)
			idx, w := a.Input.Meta(), a.Weight.Meta()
			if idx.DType != Int64 && idx.DType != Int32 {
				return nil, Errorf(
					"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, "+
						"Int; but got torch.%sTensor instead (while checking arguments for embedding)",
					idx.DType.ScalarType(),
				)
			}
			if len(w.Shape) == 0 {
				return nil, IndexErrorf("Dimension specified as 0 but tensor has no dimensions")
			}
			if len(w.Shape) != 2 {
				return nil, Errorf("'weight' must be 2-D")
			}
			return contiguousLike(w, append(cloneInts(idx.Shape), w.Shape[1])), nil
		},
		Decompose: decomp(func(b B, c *Call) Value {
			a := In[EmbeddingArgs](c)
			idx, w := a.Input.Meta(), a.Weight.Meta()
			if !a.MaxNorm.IsNone() {
				renormRows(b, a.Weight.Value(), b.reshape(a.Input.Value(), numel(idx.Shape)), a.MaxNorm.Arg, a.NormType.Arg)
				return b.Emit(
					Embedding, a.Input.Value(), a.Weight.Value(), a.PaddingIdx.Arg, nil, a.NormType.Arg,
					a.ScaleGradByFreq.Arg,
				)
			}
			flat := b.Emit(IndexSelect, a.Weight.Value(), 0, b.reshape(a.Input.Value(), numel(idx.Shape)))
			return b.view(flat, append(cloneInts(idx.Shape), w.Shape[1])...)
		}),
		Backward: backOf(embeddingBack),
	}
	return row.writesIf("max_norm", "weight")
}

func embeddingBack(b B, c *BackwardCall) []Value {
	a := In[EmbeddingArgs](c.Call)
	g := c.Grads[0]
	if g == nil || !c.Needs[1] {
		return []Value{nil, nil}
	}
	idx, w := a.Input.Meta(), a.Weight.Meta()
	n := numel(idx.Shape)
	flat := b.reshape(a.Input.Value(), n)
	rows := b.reshape(g, n, w.Shape[1])
	if a.ScaleGradByFreq.Bool() {
		counts := b.Emit(
			IndexAdd, b.full(w.Shape[:1], 0, NewMeta(Int64, w.Device, nil)), 0, flat,
			b.full([]sym.Int{n}, 1, NewMeta(Int64, w.Device, nil)),
		)
		rows = b.div(rows, b.unsqueeze(b.Emit(IndexSelect, counts, 0, flat), 1))
	}
	if !a.PaddingIdx.IsNone() {
		pad := a.PaddingIdx.Int()
		if sym.Lt(pad, symZero) {
			pad = sym.Add(pad, w.Shape[0])
		}
		rows = b.where(b.unsqueeze(b.eq(flat, pad), 1), scalarLike(rows, 0), rows)
	}
	rows = b.cast(rows, g.TensorMeta().DType)
	return []Value{nil, b.Emit(IndexAdd, b.full(w.Shape, 0, g.TensorMeta()), 0, flat, rows)}
}

func embeddingBagRows() []*Op {
	return []*Op{
		composite(EmbeddingBag, "embedding_bag", "(Tensor input, Tensor weight, Tensor? offsets=None, float? max_norm=None, "+
			"float norm_type=2.0, bool scale_grad_by_freq=False, str mode='mean', bool sparse=False, "+
			"Tensor? per_sample_weights=None, bool include_last_offset=False, int? padding_idx=None) -> Tensor",
			TagNN|TagNotMethod, embeddingBag).writesIf("max_norm", "weight"),
	}
}

func embeddingBag(b B, c *Call) Value {
	a := In[EmbeddingBagArgs](c)
	idx, im, w := a.Input.Value(), a.Input.Meta(), a.Weight.Meta()
	if len(w.Shape) != 2 {
		refuse(Errorf("embedding_bag: expected weight to be a matrix, but got size %s", ShapeText(w.Shape)))
	}
	mode := a.Mode.Str()
	switch mode {
	case "sum", "mean", "max":
	default:
		refuse(&Error{Kind: "ValueError", Msg: "mode has to be one of sum, mean or max"})
	}
	scales := a.PerSampleWeights.Value()
	if scales != nil && mode != "sum" {
		refuse(&Error{
			Kind: "NotImplementedError",
			Msg: "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got " +
				"mode='" + mode + "'). Please open a feature request on GitHub.",
		})
	}
	if a.ScaleGradByFreq.Bool() && mode == "max" {
		refuse(&Error{Kind: "ValueError", Msg: "max mode does not support scaling the gradient by the frequency"})
	}
	if a.Sparse.Bool() {
		refuse(Errorf("embedding_bag: sparse gradients are not supported"))
	}
	n := numel(im.Shape)
	bags, bag := bagOfEach(b, c, n)
	flat := b.reshape(idx, n)
	if !a.MaxNorm.IsNone() {
		renormRows(b, a.Weight.Value(), flat, a.MaxNorm.Arg, a.NormType.Arg)
	}
	args := []Arg{flat, a.Weight.Value(), a.PaddingIdx.Arg, nil, 2.0, a.ScaleGradByFreq.Arg}
	rows := b.Emit(Embedding, args...)
	counted := b.full([]sym.Int{n}, 1, NewMeta(Bool, w.Device, nil))
	if !a.PaddingIdx.IsNone() {
		pad := a.PaddingIdx.Int()
		if sym.Lt(pad, symZero) {
			pad = sym.Add(pad, w.Shape[0])
		}
		counted = b.ne(flat, pad)
		rows = b.where(b.unsqueeze(counted, 1), rows, scalarLike(rows, 0))
	}
	d := rows.TensorMeta().DType
	if mode != "max" { // a bag rounds once
		rows = b.cast(rows, OpMath(d))
	}
	if scales != nil {
		rows = b.mul(rows, b.unsqueeze(b.reshape(scales, n), 1))
	}
	return b.cast(foldBags(b, mode, rows, counted, bag, bags), d)
}

// bagOfEach returns the number of bags and the bag of each index.
func bagOfEach(b B, c *Call, n sym.Int) (count sym.Int, bag Value) {
	a := In[EmbeddingBagArgs](c)
	m := a.Input.Meta()
	offsets := a.Offsets.Value()
	switch {
	case len(m.Shape) == 2 && offsets != nil:
		refuse(&Error{
			Kind: "ValueError",
			Msg: "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. " +
				"However, found offsets of type Tensor",
		})
	case len(m.Shape) == 2:
		long := b.arange(m.Shape[0], m)
		return m.Shape[0], b.reshape(b.expand(b.unsqueeze(long, 1), m.Shape), n)
	case len(m.Shape) != 1:
		refuse(&Error{
			Kind: "ValueError",
			Msg:  "input has to be 1D or 2D Tensor, but got Tensor of dimension " + strconv.Itoa(len(m.Shape)),
		})
	case offsets == nil:
		refuse(&Error{Kind: "ValueError", Msg: "offsets has to be a 1D Tensor but got None"})
	case len(a.Offsets.Meta().Shape) != 1:
		refuse(&Error{Kind: "ValueError", Msg: "offsets has to be a 1D Tensor"})
	}
	count = a.Offsets.Meta().Shape[0]
	if a.IncludeLastOffset.Bool() {
		count = sym.Sub(count, symOne)
		offsets = b.slice(offsets, 0, symZero, count)
	}
	steps := b.cast(b.arange(n, m), offsets.TensorMeta().DType)
	return count, b.sub(b.Emit(Searchsorted, offsets, steps, false, true), 1)
}

// renormRows scales the rows that idx names, in place, so that none is longer
// than limit.
func renormRows(b B, weight, idx Value, limit, p Arg) {
	w := b.detach(weight)
	m := w.TensorMeta()
	norms := b.Emit(Norm, w, p, []int{1}, true)
	used := b.Emit(
		ScatterAdd, b.zeros(NewMeta(Int64, m.Device, m.Shape[:1])), 0, b.cast(idx, Int64),
		b.full(idx.TensorMeta().Shape, 1, NewMeta(Int64, m.Device, nil)),
	)
	over := b.and(b.gt(norms, limit), b.unsqueeze(b.gt(used, 0), 1))
	scaled := b.mul(w, b.div(limit, b.add(norms, 1e-7)))
	b.Emit(InPlaceOffset+Copy, w, b.where(over, scaled, w))
}

// foldBags reduces rows by their bags; an empty bag is zero.
func foldBags(b B, mode string, rows, counted, bag Value, bags sym.Int) Value {
	m := rows.TensorMeta()
	shape := []sym.Int{bags, m.Shape[1]}
	if mode == "max" {
		return firstGreatest(b, rows, counted, bag, shape)
	}
	out := b.Emit(IndexAdd, b.full(shape, 0, m), 0, bag, rows)
	if mode == "sum" {
		return out
	}
	n := b.Emit(IndexAdd, b.full(shape[:1], 0, NewMeta(Int64, m.Device, nil)), 0, bag, b.cast(counted, Int64))
	return b.div(out, b.cast(b.unsqueeze(b.Emit(ClampMin, n, 1), 1), m.DType))
}

// firstGreatest picks the greatest element of each bag by its place: of equal
// ones the first takes the whole gradient, and a NaN counts only where it opens
// its bag, for each element is compared with the greatest before it.
func firstGreatest(b B, rows, counted, bag Value, shape []sym.Int) Value {
	m := rows.TensorMeta()
	n, places := m.Shape[0], NewMeta(Int64, m.Device, nil)
	wide := func(x Value) Value { return b.expand(b.unsqueeze(x, 1), m.Shape) }
	fold := func(start, x Value, how string) Value { return b.Emit(ScatterReduce, start, 0, wide(bag), x, how) }

	place, known := wide(b.arange(n, m)), wide(counted)
	none := b.full(shape, n, places) // of an empty bag: one after the last
	fixed := b.detach(rows)
	isNaN := b.ne(fixed, fixed)
	low := b.where(b.or(isNaN, b.not(known)), -inf, fixed)
	top := b.Emit(Gather, fold(b.full(shape, -inf, m), low, "amax"), 0, wide(bag))
	opens := b.eq(place, b.Emit(Gather, fold(none, b.where(known, place, n), "amin"), 0, wide(bag)))
	wins := b.and(known, b.or(b.eq(fixed, top), b.and(isNaN, opens)))
	at := fold(none, b.where(wins, place, n), "amin")
	return b.Emit(Gather, b.cat(0, rows, b.full([]sym.Int{symOne, m.Shape[1]}, 0, m)), 0, at)
}
