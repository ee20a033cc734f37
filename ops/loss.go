package ops

import (
	"fmt"
	"math"

	"tcdbg/ops/sym"
)

// This file holds distances and the losses that compare elements or vectors.

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
		loss(HuberLoss, "huber_loss", "(Tensor input, Tensor target, str reduction='mean', float delta=1.0, "+
			"Tensor? weight=None) -> Tensor", func(b B, c *Call) Value {
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
		loss(NllLoss, "nll_loss", "(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, "+
			"int ignore_index=-100, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
			a := In[NllLossArgs](c)
			return nllLoss(b, a.Input.Value(), a.Target.Value(), a.Weight.Value(), a.IgnoreIndex.Int(), a.Reduction.Str(), 0)
		}),
		loss(
			CrossEntropy, "cross_entropy",
			"(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? reduce=None, "+
				"str reduction='mean', float label_smoothing=0.0) -> Tensor",
			crossEntropy,
		),
		loss(MarginRankingLoss, "margin_ranking_loss",
			"(Tensor input1, Tensor input2, Tensor target, float margin=0, bool? size_average=None, bool? reduce=None, "+
				"str reduction='mean') -> Tensor", func(b B, c *Call) Value {
				a := In[MarginRankingLossArgs](c)
				n := [3]int{len(a.Input1.Meta().Shape), len(a.Input2.Meta().Shape), len(a.Target.Meta().Shape)}
				if n[0] != n[1] || n[0] != n[2] {
					refuse(Errorf(
						"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %s, input2: %s, "+
							"target: %s ",
						ShapeText(a.Input1.Meta().Shape), ShapeText(a.Input2.Meta().Shape),
						ShapeText(a.Target.Meta().Shape),
					))
				}
				d := b.mul(b.neg(a.Target.Value()), b.sub(a.Input1.Value(), a.Input2.Value()))
				return reduction(b, b.Emit(ClampMin, b.add(d, a.Margin.Arg), 0), a.Reduction.Str())
			}),
		loss(CosineSimilarity, "cosine_similarity", "(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", cosineSimilarity),
		composite(Cdist, "cdist", "(Tensor x1, Tensor x2, Scalar p=2, str? compute_mode=None) -> Tensor", TagNN|TagNotMethod,
			func(b B, c *Call) Value {
				a := In[CdistArgs](c)
				n1, n2 := len(a.X1.Meta().Shape), len(a.X2.Meta().Shape)
				if n1 < 2 || n2 < 2 {
					refuse(Errorf("cdist only supports at least 2D tensors, X1 got: %dD", min(n1, n2)))
				}
				d := b.sub(b.unsqueeze(a.X1.Value(), n1-1), b.unsqueeze(a.X2.Value(), n2-2))
				return b.Emit(Norm, d, a.P.Arg, -1)
			}),
		loss(PairwiseDistance, "pairwise_distance",
			"(Tensor x1, Tensor x2, Scalar p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor", func(b B, c *Call) Value {
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
		// the product comes first: so the gradients of t add up in PyTorch's order
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

// checkTriplet refuses triplets of several ranks: they would broadcast.
func checkTriplet(c *Call) error {
	in := In[TripletMarginLossArgs](c)
	a, p, n := len(in.Anchor.Meta().Shape), len(in.Positive.Meta().Shape), len(in.Negative.Meta().Shape)
	if a != p || p != n {
		return Errorf(
			"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, "+
				"positive %dD, and negative %dD inputs",
			a, p, n,
		)
	}
	return nil
}

func furtherLossRows() []*Op {
	const lossTail = ", bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor"
	return []*Op{
		loss(CosineEmbeddingLoss, "cosine_embedding_loss", "(Tensor input1, Tensor input2, Tensor target, float margin=0"+lossTail,
			func(b B, c *Call) Value {
				a := In[CosineEmbeddingLossArgs](c)
				x, y, t := a.Input1.Value(), a.Input2.Value(), a.Target.Value()
				if len(a.Input1.Meta().Shape) == 1 {
					x, y = b.unsqueeze(x, 0), b.unsqueeze(y, 0)
					if len(a.Target.Meta().Shape) == 0 {
						x, y = a.Input1.Value(), a.Input2.Value()
					}
				}
				const eps = 1e-12
				prod := b.Emit(Sum, b.mul(x, y), []int{-1})
				n1 := b.add(b.Emit(Sum, b.sq(x), []int{-1}), eps)
				n2 := b.add(b.Emit(Sum, b.sq(y), []int{-1}), eps)
				cos := b.div(prod, b.sqrt(b.mul(n1, n2)))
				zero := scalarLike(cos, 0)
				pos := b.where(b.eq(t, 1), b.sub(1, cos), zero)
				neg := b.where(b.eq(t, -1), b.Emit(ClampMin, b.sub(cos, a.Margin.Arg), 0), zero)
				return reduction(b, b.add(pos, neg), a.Reduction.Str())
			}),
		loss(HingeEmbeddingLoss, "hinge_embedding_loss", "(Tensor input, Tensor target, float margin=1.0"+lossTail,
			func(b B, c *Call) Value {
				a := In[HingeEmbeddingLossArgs](c)
				x, t := a.Input.Value(), a.Target.Value()
				zero := scalarLike(x, 0)
				m := b.Emit(ClampMin, b.sub(asStored(a.Input.Meta().DType, a.Margin.Float()), x), 0)
				l := b.add(b.where(b.ne(t, 1), m, zero), b.where(b.ne(t, -1), x, zero))
				return reduction(b, l, a.Reduction.Str())
			}),
		loss(PoissonNllLoss, "poisson_nll_loss", "(Tensor input, Tensor target, bool log_input=True, bool full=False, "+
			"bool? size_average=None, float eps=1e-08, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
			a := In[PoissonNllLossArgs](c)
			x, t := a.Input.Value(), a.Target.Value()
			var l Value
			if a.LogInput.Bool() {
				l = b.sub(b.exp(x), b.mul(t, x))
			} else {
				l = b.sub(x, b.mul(t, b.log(b.add(x, a.Eps.Arg))))
			}
			if a.Full.Bool() {
				half := b.mul(b.log(b.mul(t, 2*math.Pi)), 0.5) // first, for gradients add up in turn
				stirling := b.add(b.sub(b.mul(t, b.log(t)), t), half)
				l = b.add(l, b.where(b.le(t, 1), scalarLike(stirling, 0), stirling))
			}
			return reduction(b, l, a.Reduction.Str())
		}),
		loss(GaussianNllLoss, "gaussian_nll_loss",
			"(Tensor input, Tensor target, Operand var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor",
			func(b B, c *Call) Value {
				a := In[GaussianNllLossArgs](c)
				x, t := a.Input.Value(), a.Target.Value()
				v := tensorOf(b, a.Var.Arg, x)
				if vm := v.TensorMeta(); len(vm.Shape) == len(a.Input.Meta().Shape)-1 && len(vm.Shape) > 0 {
					v = b.unsqueeze(v, len(vm.Shape))
				}
				// The bound counts as a constant.
				raised := b.add(v, b.detach(b.sub(b.Emit(ClampMin, v, a.Eps.Arg), v)))
				l := b.mul(b.add(b.log(raised), b.div(b.sq(b.sub(x, t)), raised)), 0.5)
				if a.Full.Bool() {
					l = b.add(l, 0.5*math.Log(2*math.Pi))
				}
				return reduction(b, l, a.Reduction.Str())
			}),
		loss(SoftMarginLoss, "soft_margin_loss", "(Tensor input, Tensor target"+lossTail, func(b B, c *Call) Value {
			a := In[SoftMarginLossArgs](c)
			return reduction(b, b.Emit(Log1p, b.exp(b.mul(b.neg(a.Target.Value()), a.Input.Value()))), a.Reduction.Str())
		}),
		loss(MultilabelSoftMarginLoss, "multilabel_soft_margin_loss", "(Tensor input, Tensor target, Tensor? weight=None"+lossTail,
			func(b B, c *Call) Value {
				a := In[MultilabelSoftMarginLossArgs](c)
				x, t := a.Input.Value(), a.Target.Value()
				l := b.neg(b.add(b.mul(t, b.Emit(Logsigmoid, x)), b.mul(b.sub(1, t), b.Emit(Logsigmoid, b.neg(x)))))
				if w := a.Weight.Value(); w != nil {
					l = b.mul(l, w)
				}
				n := len(a.Input.Meta().Shape)
				l = b.div(b.sum(l, false, n-1), a.Input.Meta().Shape[n-1])
				return reduction(b, l, a.Reduction.Str())
			}),
		loss(TripletMarginLoss, "triplet_margin_loss",
			"(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, Scalar p=2, float eps=1e-06, bool swap=False"+
				lossTail, func(b B, c *Call) Value {
				a := In[TripletMarginLossArgs](c)
				if a.Margin.Float() <= 0 {
					refuse(&Error{
						Kind: "ValueError",
						Msg:  fmt.Sprintf("margin must be greater than 0, got %s", floatText(a.Margin.Float())),
					})
				}
				refuse(checkTriplet(c))
				dist := func(x, y Value) Value { return b.Emit(PairwiseDistance, x, y, a.P.Arg, a.Eps.Arg) }
				pos, neg := dist(a.Anchor.Value(), a.Positive.Value()), dist(a.Anchor.Value(), a.Negative.Value())
				if a.Swap.Bool() {
					neg = b.Emit(Minimum, neg, dist(a.Positive.Value(), a.Negative.Value()))
				}
				return reduction(b, b.Emit(ClampMin, b.add(b.sub(pos, neg), a.Margin.Arg), 0), a.Reduction.Str())
			}),
	}
}

func distanceRows() []*Op {
	return []*Op{
		loss(Pdist, "pdist", "(Tensor input, Scalar p=2) -> Tensor", func(b B, c *Call) Value {
			a := In[PdistArgs](c)
			m := a.Input.Meta()
			if len(m.Shape) != 2 {
				refuse(Errorf("pdist only supports 2D tensors, got: %dD", len(m.Shape)))
			}
			if !m.DType.IsFloat() {
				refuse(Errorf("pdist only supports floating-point dtypes"))
			}
			if a.P.Float() < 0 {
				refuse(Errorf("pdist only supports non-negative p values"))
			}
			n := int(sym.Force(m.Shape[0]))
			var left, right []int
			for i := range n {
				for j := i + 1; j < n; j++ {
					left, right = append(left, i), append(right, j)
				}
			}
			if len(left) == 0 {
				none := b.slice(a.Input.Value(), 0, symZero, symZero) // part of the tape
				return b.sum(none, false, 1)
			}
			pick := func(idx []int) Value { return b.Emit(IndexSelect, a.Input.Value(), 0, intTensor(b, idx, len(idx))) }
			return b.Emit(Norm, b.sub(pick(left), pick(right)), a.P.Arg, 1)
		}),
	}
}
