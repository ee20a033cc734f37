package ops

import (
	"tcdbg/ops/sym"
)

// This file holds the margin losses over classes, the connectionist temporal
// classification loss, and losses that are a layer and a loss in one.

func marginLossRows() []*Op {
	const lossTail = ", bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor"
	return []*Op{
		loss(
			MultiMarginLoss, "multi_margin_loss",
			"(Tensor input, Tensor target, Scalar p=1, Scalar margin=1.0, Tensor? weight=None"+lossTail, multiMargin,
		),
		loss(MultilabelMarginLoss, "multilabel_margin_loss", "(Tensor input, Tensor target"+lossTail, multilabelMargin),
		loss(
			CtcLoss, "ctc_loss",
			"(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, str reduction='mean', bool zero_infinity=False) -> Tensor",
			ctcLoss,
		),
		ctcAlphaRow(),
		{
			ID: CtcGrad, Name: "_ctc_loss_backward", Tags: TagInternal | TagNotMethod,
			Schema: "(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor",
			Meta:   shapedLike(func(c *Call) TensorArg { return In[CtcGradArgs](c).LogProbs }),
		},
		loss(LinearCrossEntropy, "linear_cross_entropy", "(Tensor input, Tensor linear_weight, Tensor target, *, Tensor? linear_bias=None, Tensor? weight=None, int ignore_index=-100, str reduction='mean', float label_smoothing=0.0) -> Tensor", func(b B, c *Call) Value {
			a := In[LinearCrossEntropyArgs](c)
			if n := len(a.Input.Meta().Shape); n != 1 && n != 2 {
				refuse(Errorf("expected input with dimensionality 1 or 2, got %d", n))
			}
			if n := len(a.LinearWeight.Meta().Shape); n < 2 {
				refuse(Errorf("expected linear_weight with dimensionality at least 2, got %d", n))
			}
			wm, tm := a.LinearWeight.Meta(), a.Target.Meta()
			if len(wm.Shape) > 2 && len(a.Input.Meta().Shape) == 1 {
				refuse(Errorf(
					"K-dimensional loss defined by linear_weight shape %s requires batched input, (N, %s), got unbatched input with shape %s",
					tupleText(wm.Shape), wm.Shape[len(wm.Shape)-1], tupleText(a.Input.Meta().Shape),
				))
			}
			if tm.DType.IsFloat() && a.IgnoreIndex.Num() >= 0 {
				refuse(Errorf("ignore_index cannot be specified when target contains probabilities"))
			}
			outs := wm.Shape[:len(wm.Shape)-1]
			y := b.Emit(Linear, a.Input.Arg, b.reshape(a.LinearWeight.Value(), numel(outs), wm.Shape[len(outs)]))
			y = b.reshape(y, append(cloneInts(a.Input.Meta().Shape[:len(a.Input.Meta().Shape)-1]), outs...)...)
			if bias := a.LinearBias.Value(); bias != nil {
				y = b.add(y, bias)
			}
			return b.Emit(CrossEntropy, y, a.Target.Arg, a.Weight.Arg, nil, a.IgnoreIndex.Arg, nil, a.Reduction.Arg, a.LabelSmoothing.Arg)
		}),
	}
}

// classRows views an input of one or two dimensions as rows of class scores.
func classRows(b B, c *Call, name string) (x Value, rows, classes sym.Int) {
	a := In[InputArgs](c)
	m := a.Input.Meta()
	n := len(m.Shape)
	if n > 2 || n > 0 && sym.Is(m.Shape[n-1], 0) {
		refuse(Errorf("Expected non-empty vector or matrix with optional 0-dim batch size, but got: %s", ShapeText(m.Shape)))
	}
	rows, classes = symOne, symOne
	if n > 0 {
		classes = m.Shape[n-1]
	}
	if n == 2 {
		rows = m.Shape[0]
	}
	return b.reshape(a.Input.Value(), rows, classes), rows, classes
}

// multiMargin sums max(0, margin - x[target] + x[i])^p over the wrong classes.
func multiMargin(b B, c *Call) Value {
	a := In[MultiMarginLossArgs](c)
	p := a.P.Float()
	if p != 1 && p != 2 {
		refuse(&Error{Kind: "ValueError", Msg: "only p == 1 and p == 2 supported"})
	}
	x, rows, classes := classRows(b, c, "multi_margin_loss")
	t := a.Target.Meta()
	if sym.Ne(numel(t.Shape), rows) || len(t.Shape) > 1 {
		refuse(Errorf(
			"multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target size [%s], but got %s. Input has shape %s.",
			rows, ShapeText(t.Shape), ShapeText(a.Input.Meta().Shape),
		))
	}
	idx := b.reshape(a.Target.Value(), rows, symOne)
	z := b.Emit(ClampMin, b.add(b.sub(x, b.Emit(Gather, x, 1, idx)), a.Margin.Arg), 0)
	if p == 2 {
		z = b.sq(z)
	}
	if w := a.Weight.Value(); w != nil {
		if sym.Ne(numel(a.Weight.Meta().Shape), classes) {
			refuse(Errorf("inconsistent weight size, expected %s but got %s", classes, ShapeText(a.Weight.Meta().Shape)))
		}
		z = b.mul(z, b.unsqueeze(b.Emit(IndexSelect, w, 0, b.reshape(idx, rows)), 1))
	}
	z = b.where(b.eq(b.arange(classes, a.Input.Meta()), idx), scalarLike(z, 0), z)
	l := b.div(b.sum(z, false, 1), classes)
	return reduction(b, perRow(b, l, c), a.Reduction.Str())
}

// perRow takes the batch dimension away where the input had none.
func perRow(b B, l Value, c *Call) Value {
	if len(In[InputArgs](c).Input.Meta().Shape) < 2 {
		return b.reshape(l)
	}
	return l
}

// multilabelMargin compares every class of the target, which lists them up to
// the first negative entry, with every class that it does not list.
func multilabelMargin(b B, c *Call) Value {
	a := In[MultilabelMarginLossArgs](c)
	x, rows, classes := classRows(b, c, "multilabel_margin_loss")
	if !equalShape(a.Input.Meta().Shape, a.Target.Meta().Shape) {
		refuse(Errorf(
			"inconsistent target size: %s for input of size: %s", ShapeText(a.Target.Meta().Shape),
			ShapeText(a.Input.Meta().Shape),
		))
	}
	t := b.reshape(a.Target.Value(), rows, classes)
	listed := b.eq(b.Emit(Cumsum, b.lt(t, 0), 1), 0)
	idx := b.where(listed, t, symZero)
	hits := b.Emit(ScatterAdd, b.full([]sym.Int{rows, classes}, 0, NewMeta(Int64, CPU, nil)), 1, idx, b.cast(listed, Int64))
	right := b.unsqueeze(b.Emit(Gather, x, 1, idx), 2)
	z := b.Emit(ClampMin, b.add(b.sub(b.unsqueeze(x, 1), right), 1), 0)
	counts := b.and(b.unsqueeze(listed, 2), b.unsqueeze(b.eq(hits, 0), 1))
	z = b.where(counts, z, scalarLike(z, 0))
	l := b.div(b.sum(z, false, 1, 2), classes)
	return reduction(b, perRow(b, l, c), a.Reduction.Str())
}

// ctcLoss reduces the negative log likelihoods; the mean is over the batch of
// each divided by the length of its target.
func ctcLoss(b B, c *Call) Value {
	a := In[CtcLossArgs](c)
	if len(a.LogProbs.Meta().Shape) == 2 {
		lp := b.unsqueeze(a.LogProbs.Value(), 1)
		one := func(lengths TensorArg) Value { return b.reshape(lengths.Value(), symOne) }
		out := b.Emit(
			CtcLoss, lp, a.Targets.Arg, one(a.InputLengths), one(a.TargetLengths), a.Blank.Arg, a.Reduction.Arg,
			a.ZeroInfinity.Arg,
		)
		if a.Reduction.Str() == "none" {
			return b.reshape(out)
		}
		return out
	}
	l := b.EmitN(CtcAlpha, a.LogProbs.Arg, a.Targets.Arg, a.InputLengths.Arg, a.TargetLengths.Arg, a.Blank.Arg, a.ZeroInfinity.Arg)[0]
	if a.ZeroInfinity.Bool() {
		l = b.where(b.eq(l, inf), scalarLike(l, 0), l)
	}
	if a.Reduction.Str() == "mean" {
		n := b.Emit(ClampMin, b.cast(a.TargetLengths.Value(), l.TensorMeta().DType), 1.0)
		return b.mean(b.div(l, n), false)
	}
	return reduction(b, l, a.Reduction.Str())
}

// ctcAlphaRow computes the likelihoods and the forward variables.
func ctcAlphaRow() *Op {
	return &Op{
		ID: CtcAlpha, Name: "_ctc_loss", Tags: TagInternal | TagNotMethod,
		Schema: "(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
		Meta: func(c *Call) ([]Result, error) {
			a := In[CtcAlphaArgs](c)
			m, t := a.LogProbs.Meta(), a.Targets.Meta()
			if len(m.Shape) != 3 {
				return nil, Errorf("ctc_loss: expected log_probs with 3 dimensions, but got size %s", ShapeText(m.Shape))
			}
			if m.DType != Float32 && m.DType != Float64 {
				return nil, &Error{Kind: "NotImplementedError", Msg: `"ctc_loss_cpu" not implemented for '` + m.DType.ScalarType() + "'"}
			}
			if t.DType.IsFloat() {
				return nil, Errorf("target tensor must be an integer tensor, but got %s", t.DType.ScalarType())
			}
			if blank := a.Blank.Int(); sym.Lt(blank, symZero) || sym.Ge(blank, m.Shape[2]) {
				return nil, Errorf("blank must be in label range")
			}
			for i, lengths := range []*TensorMeta{a.InputLengths.Meta(), a.TargetLengths.Meta()} {
				if sym.Ne(numel(lengths.Shape), m.Shape[1]) {
					return nil, Errorf("%s must be of size batch_size", []string{"input_lengths", "target_lengths"}[i])
				}
			}
			// The longest target is at most as long as all of them.
			longest := numel(t.Shape)
			if len(t.Shape) == 2 {
				longest = t.Shape[1]
			}
			states := sym.Add(sym.Mul(sym.C(2), longest), symOne)
			return []Result{NewMeta(m.DType, m.Device, m.Shape[1:2]), NewMeta(m.DType, m.Device, []sym.Int{m.Shape[1], m.Shape[0], states})}, nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[CtcAlphaArgs](c.Call)
			out := []Value{nil, nil, nil, nil}
			if g := c.Grads[0]; g != nil && c.Needs[0] {
				out[0] = b.Emit(
					CtcGrad, g, a.LogProbs.Arg, a.Targets.Arg, a.InputLengths.Arg, a.TargetLengths.Arg, c.Outs[0],
					c.Outs[1], a.Blank.Arg, a.ZeroInfinity.Arg,
				)
			}
			return out
		}),
	}
}
