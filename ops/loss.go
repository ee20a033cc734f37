package ops

import "tcdbg/ops/sym"

// This file holds the losses and distances.

func reduction(b B, x Value, how string) Value {
	switch how {
	case "mean":
		return b.mean(x, false)
	case "sum":
		return b.sum(x, false)
	case "none":
		return x
	}
	refuse(&Error{Kind: "ValueError", Msg: how + " is not a valid value for reduction"})
	return nil
}

// loss is a composite function of nn.functional.
func loss(id ID, name, schema string, f func(b B, c *Call) Value) *Op {
	return composite(id, name, schema, TagNN|TagNotMethod, f)
}

const pairLoss = "(Tensor input, Tensor target, bool? size_average=None, bool? reduce=None, str reduction='mean'"

func lossRows() []*Op {
	pair := func(id ID, name, extra string, at int, f func(b B, c *Call, d Value) Value) *Op {
		return loss(id, name, pairLoss+extra+") -> Tensor", func(b B, c *Call) Value {
			a := In[SmoothLossArgs](c)
			return reduction(b, f(b, c, b.sub(a.Input.Value(), a.Target.Value())), a.Reduction.Str())
		})
	}
	return []*Op{
		loss(MseLoss, "mse_loss", pairLoss+", Tensor? weight=None) -> Tensor", func(b B, c *Call) Value {
			a := In[MseLossArgs](c)
			d := b.sq(b.sub(a.Input.Value(), a.Target.Value()))
			return weightedLoss(b, d, a.Weight.Value(), a.Reduction.Str())
		}),
		loss(L1Loss, "l1_loss", pairLoss+", Tensor? weight=None) -> Tensor", func(b B, c *Call) Value {
			a := In[L1LossArgs](c)
			d := b.Emit(Abs, b.sub(a.Input.Value(), a.Target.Value()))
			return weightedLoss(b, d, a.Weight.Value(), a.Reduction.Str())
		}).and(TagComplex),
		pair(SmoothL1Loss, "smooth_l1_loss", ", float beta=1.0", 5, func(b B, c *Call, d Value) Value {
			beta := In[SmoothLossArgs](c).Beta.Float()
			a := b.Emit(Abs, d)
			if beta < 0 {
				refuse(Errorf("smooth_l1_loss does not support negative values for beta."))
			}
			if beta == 0 {
				return a
			}
			return b.where(b.lt(a, beta), b.div(b.mul(b.sq(d), 0.5), beta), b.sub(a, 0.5*beta))
		}),
		loss(HuberLoss, "huber_loss", "(Tensor input, Tensor target, str reduction='mean', float delta=1.0, Tensor? weight=None) -> Tensor", func(b B, c *Call) Value {
			in := In[HuberLossArgs](c)
			delta := in.Delta.Float()
			if delta <= 0 {
				refuse(Errorf("huber_loss does not support non-positive values for delta."))
			}
			d := b.sub(in.Input.Value(), in.Target.Value())
			a := b.Emit(Abs, d)
			l := b.where(b.le(a, delta), b.mul(b.sq(d), 0.5), b.mul(b.sub(a, 0.5*delta), delta))
			return weightedLoss(b, l, in.Weight.Value(), in.Reduction.Str())
		}),
		loss(KlDiv, "kl_div", pairLoss+", bool log_target=False) -> Tensor", klDiv),
		loss(NllLoss, "nll_loss", "(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
			a := In[NllLossArgs](c)
			return nllLoss(b, a.Input.Value(), a.Target.Value(), a.Weight.Value(), a.IgnoreIndex.Int(), a.Reduction.Str(), 0)
		}),
		loss(
			CrossEntropy, "cross_entropy",
			"(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, str reduction='mean', float label_smoothing=0.0) -> Tensor",
			crossEntropy,
		),
		loss(MarginRankingLoss, "margin_ranking_loss", "(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
			a := In[MarginRankingLossArgs](c)
			n := [3]int{len(a.Input1.Meta().Shape), len(a.Input2.Meta().Shape), len(a.Target.Meta().Shape)}
			if n[0] != n[1] || n[0] != n[2] {
				refuse(Errorf(
					"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %s, input2: %s, target: %s ",
					ShapeText(a.Input1.Meta().Shape), ShapeText(a.Input2.Meta().Shape),
					ShapeText(a.Target.Meta().Shape),
				))
			}
			d := b.mul(b.neg(a.Target.Value()), b.sub(a.Input1.Value(), a.Input2.Value()))
			return reduction(b, b.Emit(ClampMin, b.add(d, a.Margin.Arg), 0), a.Reduction.Str())
		}),
		loss(CosineSimilarity, "cosine_similarity", "(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", cosineSimilarity),
		composite(Cdist, "cdist", "(Tensor x1, Tensor x2, Scalar p=2, str? compute_mode=None) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[CdistArgs](c)
			n1, n2 := len(a.X1.Meta().Shape), len(a.X2.Meta().Shape)
			if n1 < 2 || n2 < 2 {
				refuse(Errorf("cdist only supports at least 2D tensors, X1 got: %dD", min(n1, n2)))
			}
			d := b.sub(b.unsqueeze(a.X1.Value(), n1-1), b.unsqueeze(a.X2.Value(), n2-2))
			return b.Emit(Norm, d, a.P.Arg, -1)
		}),
		loss(PairwiseDistance, "pairwise_distance", "(Tensor x1, Tensor x2, Scalar p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor", func(b B, c *Call) Value {
			a := In[PairwiseDistanceArgs](c)
			return b.Emit(Norm, b.add(b.sub(a.X1.Value(), a.X2.Value()), a.Eps.Arg), a.P.Arg, -1, a.Keepdim.Arg)
		}).and(TagComplex),
	}
}

// weightedLoss reduces a loss, weighing its elements where a weight is given.
func weightedLoss(b B, l, w Value, how string) Value {
	if w == nil {
		return reduction(b, l, how)
	}
	l = b.mul(l, w)
	if how == "mean" {
		return b.div(b.sum(l, false), b.sum(expandIf(b, w, l.TensorMeta().Shape), false))
	}
	return reduction(b, l, how)
}

func klDiv(b B, c *Call) Value {
	a := In[KlDivArgs](c)
	x, t := a.Input.Value(), a.Target.Value()
	var l Value
	if a.LogTarget.Bool() {
		l = b.mul(b.exp(t), b.sub(t, x))
	} else {
		// the product stands first: so the gradients of t add up in PyTorch's order
		tx := b.mul(t, x)
		l = b.sub(b.Emit(Xlogy, t, t), tx)
	}
	if a.Reduction.Str() == "batchmean" {
		s := b.sum(l, false)
		if m := a.Input.Meta(); len(m.Shape) > 0 {
			return b.div(s, m.Shape[0])
		}
		return s
	}
	return reduction(b, l, a.Reduction.Str())
}

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

func cosineSimilarity(b B, c *Call) Value {
	a := In[CosineSimilarityArgs](c)
	x, y := a.X1.Value(), a.X2.Value()
	shape, err := broadcast2(a.X1.Meta().Shape, a.X2.Meta().Shape)
	refuse(err)
	d := ResultType(x, y)
	if !isFloaty(d) {
		refuse(Errorf("expected common dtype to be floating point, yet common dtype is %s", d.ScalarType()))
	}
	x, y = expandIf(b, b.cast(x, d), shape), expandIf(b, b.cast(y, d), shape)
	dim := []sym.Int{a.Dim.Int()}
	nx := b.Emit(ClampMin, b.Emit(Norm, x, 2, dim, true), a.Eps.Arg)
	ny := b.Emit(ClampMin, b.Emit(Norm, y, 2, dim, true), a.Eps.Arg)
	return b.Emit(Sum, b.mul(b.div(x, nx), b.div(y, ny)), dim)
}
