package ops

import (
	"tcdbg/ops/sym"
)

// This file holds the losses over classes: likelihoods and cross entropies, margins, the
// connectionist temporal classification loss. The binary cross entropies have the
// derivatives that PyTorch writes for them, step by step: in half precision each step
// rounds.

// nllLoss picks the class of target from log probabilities; dimension 1 holds
// the classes (dimension 0 of an input without batch).
func nllLoss(b B, x, target, weight Value, ignore sym.Int, how string, smoothing float64) Value {
	m, tm := x.TensorMeta(), target.TensorMeta()
	d := min(1, len(m.Shape)-1)
	if len(m.Shape) == 0 || len(m.Shape) != len(tm.Shape)+1 || !equalShape(without(m.Shape, d), tm.Shape) {
		refuseTarget(m, tm)
	}
	if weight != nil && (len(weight.TensorMeta().Shape) != 1 || sym.Ne(weight.TensorMeta().Shape[0], m.Shape[d])) {
		refuse(Errorf(
			"weight tensor should be defined either for all %s classes or no classes but got weight tensor of shape: %s",
			m.Shape[d], ShapeText(weight.TensorMeta().Shape),
		))
	}
	keep := b.ne(target, ignore)
	safe := b.where(keep, target, symZero)
	idx := b.unsqueeze(safe, d)
	picked := b.squeeze(b.Emit(Gather, x, d, idx), d)
	zero := scalarLike(x, 0)
	var w Value
	if weight != nil {
		w = view2(b, b.Emit(IndexSelect, weight, 0, b.reshape(safe, numel(tm.Shape))), tm.Shape)
		w = b.where(keep, w, zero)
	} else {
		w = b.cast(keep, m.DType)
	}
	l := b.neg(b.mul(picked, w))
	l = b.where(keep, l, zero)
	if smoothing > 0 {
		all := x
		if weight != nil {
			all = b.mul(x, perClass(b, weight, len(m.Shape), d))
		}
		smooth := b.where(keep, b.neg(b.sum(all, false, d)), zero)
		return smoothedLabels(b, l, smooth, w, keep, m.Shape[d], how, smoothing)
	}
	switch how {
	case "mean":
		return b.div(b.sum(l, false), b.sum(w, false))
	}
	return reduction(b, l, how)
}

func perClass(b B, v Value, rank, d int) Value {
	shape := make([]sym.Int, rank)
	for i := range shape {
		shape[i] = symOne
	}
	shape[d] = v.TensorMeta().Shape[0]
	return b.view(v, shape...)
}

// smoothedLabels mixes the loss of the class with that of all classes.
func smoothedLabels(b B, l, smooth, w, keep Value, classes sym.Int, how string, eps float64) Value {
	mix := func(l, s Value) Value {
		return b.add(b.mul(l, 1-eps), b.mul(s, eps/float64(sym.Force(classes))))
	}
	if how == "mean" {
		n := b.sum(w, false)
		return mix(b.div(b.sum(l, false), n), b.div(b.sum(smooth, false), n))
	}
	return mix(reduction(b, l, how), reduction(b, smooth, how))
}

func refuseTarget(m, tm *TensorMeta) {
	if len(m.Shape) > 0 && len(tm.Shape) > 0 && sym.Ne(m.Shape[0], tm.Shape[0]) {
		refuse(&Error{
			Kind: "ValueError",
			Msg:  "Expected input batch_size (" + m.Shape[0].String() + ") to match target batch_size (" + tm.Shape[0].String() + ").",
		})
	}
	refuse(Errorf(
		"Expected target size %s, got %s",
		ShapeText(append(cloneInts(m.Shape[:min(1, len(m.Shape))]), m.Shape[min(2, len(m.Shape)):]...)),
		ShapeText(tm.Shape),
	))
}

func crossEntropy(b B, c *Call) Value {
	a := In[CrossEntropyArgs](c)
	x, t, w := a.Input.Value(), a.Target.Value(), a.Weight.Value()
	m, tm := a.Input.Meta(), a.Target.Meta()
	d := min(1, len(m.Shape)-1)
	eps := a.LabelSmoothing.Float()
	if eps < 0 || eps > 1 {
		refuse(Errorf("label_smoothing must be between 0.0 and 1.0. Got: %v", eps))
	}
	logp := b.Emit(LogSoftmax, x, d)
	if !tm.DType.IsFloat() {
		return nllLoss(b, logp, t, w, a.IgnoreIndex.Int(), a.Reduction.Str(), eps)
	}
	if !equalShape(m.Shape, tm.Shape) {
		refuse(Errorf("Expected floating point type for target with class probabilities, got %s", tm.DType.ScalarType()))
	}
	n := m.Shape[d]
	if eps > 0 {
		t = b.add(b.mul(t, 1-eps), eps/float64(sym.Force(n)))
	}
	p := b.mul(logp, t)
	if w != nil {
		p = b.mul(p, perClass(b, w, len(m.Shape), d))
	}
	switch a.Reduction.Str() {
	case "mean":
		batch := sym.FloorDiv(numel(m.Shape), sym.Max(n, symOne))
		return b.neg(b.div(b.sum(p, false), batch))
	case "sum":
		return b.neg(b.sum(p, false))
	}
	return b.neg(b.sum(p, false, d))
}

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
			"(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, str reduction='mean', "+
				"bool zero_infinity=False) -> Tensor",
			ctcLoss,
		),
		ctcAlphaRow(),
		{
			ID: CtcGrad, Name: "_ctc_loss_backward", Tags: TagInternal | TagNotMethod,
			Schema: "(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, " +
				"Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor",
			Meta: shapedLike(func(c *Call) TensorArg { return In[CtcGradArgs](c).LogProbs }),
		},
		loss(LinearCrossEntropy, "linear_cross_entropy",
			"(Tensor input, Tensor linear_weight, Tensor target, *, Tensor? linear_bias=None, Tensor? weight=None, "+
				"int ignore_index=-100, str reduction='mean', float label_smoothing=0.0) -> Tensor", func(b B, c *Call) Value {
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
						"K-dimensional loss defined by linear_weight shape %s requires batched input, (N, %s), "+
							"got unbatched input with shape %s",
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
				return b.Emit(CrossEntropy, y, a.Target.Arg, a.Weight.Arg, nil, a.IgnoreIndex.Arg, nil, a.Reduction.Arg,
					a.LabelSmoothing.Arg)
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
			"multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected "+
				"target size [%s], but got %s. Input has shape %s.",
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
		Schema: "(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, " +
			"bool zero_infinity=False) -> (Tensor, Tensor)",
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
			return []Result{
				NewMeta(m.DType, m.Device, m.Shape[1:2]),
				NewMeta(m.DType, m.Device, []sym.Int{m.Shape[1], m.Shape[0], states}),
			}, nil
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

const bceWithLogitsSchema = "(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, " +
	"str reduction='mean', Tensor? pos_weight=None) -> Tensor"

func bceRows() []*Op {
	logits := loss(BceWithLogits, "binary_cross_entropy_with_logits", bceWithLogitsSchema, func(b B, c *Call) Value {
		a := In[BceWithLogitsArgs](c)
		if !equalShape(a.Input.Meta().Shape, a.Target.Meta().Shape) {
			refuse(&Error{
				Kind: "ValueError",
				Msg: "Target size (torch.Size(" + ShapeText(a.Target.Meta().Shape) +
					")) must be the same as input size (torch.Size(" + ShapeText(a.Input.Meta().Shape) + "))",
			})
		}
		l := logitsLoss(b, c)
		if w := a.Weight.Value(); w != nil {
			l = b.mul(l, w)
		}
		return reduction(b, l, a.Reduction.Str())
	})
	logits.Backward = backOf(logitsBack)
	bce := loss(Bce, "binary_cross_entropy", "(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "+
		"bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
		a := In[BceArgs](c)
		if !equalShape(a.Input.Meta().Shape, a.Target.Meta().Shape) {
			refuse(&Error{
				Kind: "ValueError",
				Msg: "Using a target size (torch.Size(" + ShapeText(a.Target.Meta().Shape) +
					")) that is different to the input size (torch.Size(" + ShapeText(a.Input.Meta().Shape) +
					")) is deprecated. Please ensure they have the same size.",
			})
		}
		l := bceLoss(b, c)
		if w := a.Weight.Value(); w != nil {
			l = b.mul(l, w)
		}
		return reduction(b, l, a.Reduction.Str())
	})
	bce.Backward = backOf(bceBack)
	return []*Op{logits, bce}
}

// logitsLoss is the loss of each element before weights.
func logitsLoss(b B, c *Call) Value {
	a := In[BceWithLogitsArgs](c)
	x, t := a.Input.Value(), a.Target.Value()
	soft := b.Emit(Logsigmoid, x)
	if w := a.PosWeight.Value(); w != nil {
		soft = b.mul(b.add(b.mul(b.sub(w, 1), t), 1), soft)
	}
	return b.sub(b.mul(b.sub(1, t), x), soft)
}

// bceLoss is the loss of each element before weights; logarithms stay above -100.
func bceLoss(b B, c *Call) Value {
	a := In[BceArgs](c)
	x, t := a.Input.Value(), a.Target.Value()
	lx := b.Emit(Clamp, b.log(x), -100.0)
	l1 := b.Emit(Clamp, b.log(b.sub(1, x)), -100.0)
	return b.neg(b.add(b.mul(t, lx), b.mul(b.sub(1, t), l1)))
}

// ofReduced finishes the gradient of an element of a reduced, weighted loss.
func ofReduced(b B, c *BackwardCall, g Value) Value {
	a := In[BinaryLossArgs](c.Call)
	if w := a.Weight.Value(); w != nil {
		g = b.mul(g, w)
	}
	if a.Reduction.Str() == "mean" {
		g = b.div(g, numel(a.Input.Meta().Shape))
	}
	return g
}

// ofWeight is the gradient of the weight of elements, given their losses.
func ofWeight(b B, c *BackwardCall, g, losses Value) Value {
	a := In[BinaryLossArgs](c.Call)
	g = b.mul(losses, g)
	if a.Reduction.Str() == "mean" {
		g = b.div(g, numel(a.Input.Meta().Shape))
	}
	return b.back(g, a.Weight.Meta())
}

func logitsBack(b B, c *BackwardCall) []Value {
	a := In[BceWithLogitsArgs](c.Call)
	out := []Value{nil, nil, nil, nil}
	g := c.Grads[0]
	if g == nil {
		return out
	}
	x, t, pos := a.Input.Value(), a.Target.Value(), a.PosWeight.Value()
	if c.Needs[0] {
		s := b.Emit(Sigmoid, x)
		d := b.sub(s, t)
		if pos != nil {
			pt := b.mul(pos, t)
			d = b.sub(b.mul(b.sub(b.add(pt, 1), t), s), pt)
		}
		out[0] = b.back(ofReduced(b, c, b.mul(d, g)), a.Input.Meta())
	}
	if c.Needs[1] {
		d := b.neg(x)
		if pos != nil {
			d = b.sub(b.Emit(Logsigmoid, b.neg(x)), b.mul(pos, b.Emit(Logsigmoid, x)))
		}
		out[1] = b.back(ofReduced(b, c, b.mul(d, g)), a.Target.Meta())
	}
	if a.Weight.Value() != nil && c.Needs[2] {
		out[2] = ofWeight(b, c, g, logitsLoss(b, c.Call))
	}
	if pos != nil && c.Needs[6] {
		d := b.neg(b.mul(t, b.Emit(Logsigmoid, x)))
		out[3] = b.back(ofReduced(b, c, b.mul(d, g)), a.PosWeight.Meta())
	}
	return out
}

func bceBack(b B, c *BackwardCall) []Value {
	a := In[BceArgs](c.Call)
	out := []Value{nil, nil, nil}
	g := c.Grads[0]
	if g == nil {
		return out
	}
	x, t := a.Input.Value(), a.Target.Value()
	if c.Needs[0] {
		const least = float64(float32(1e-12)) // in float64 too
		d := b.mul(g, b.sub(x, t))
		d = b.div(d, b.Emit(ClampMin, b.mul(b.sub(1, x), x), least))
		out[0] = b.back(ofReduced(b, c, d), a.Input.Meta())
	}
	if c.Needs[1] {
		d := b.sub(b.Emit(Clamp, b.Emit(Log1p, b.neg(x)), -100.0), b.Emit(Clamp, b.log(x), -100.0))
		out[1] = b.back(ofReduced(b, c, b.mul(d, g)), a.Target.Meta())
	}
	if a.Weight.Value() != nil && c.Needs[2] {
		out[2] = ofWeight(b, c, g, bceLoss(b, c.Call))
	}
	return out
}
