package ops

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops/sym"
)

// This file holds the rarer losses and activations of nn.functional.

// floatText is a number as Python prints it.
func floatText(f float64) string {
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".einf") {
		s += ".0"
	}
	return s
}

// checkPrelu refuses slopes that are neither one nor one for each channel.
func checkPrelu(x, w *TensorMeta) error {
	if n := len(w.Shape); n > 1 {
		return Errorf("prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d", n)
	}
	slopes := numel(w.Shape)
	if sym.Is(slopes, 1) {
		return nil
	}
	if len(x.Shape) == 0 {
		return Errorf("Not allow zero-dim input tensor.")
	}
	channels := symOne
	if len(x.Shape) > 1 {
		channels = x.Shape[1]
	}
	if sym.Ne(slopes, channels) {
		return Errorf(
			"Mismatch of parameter numbers and input channel size. Found parameter numbers = %s and channel size = %s.",
			slopes, channels,
		)
	}
	return nil
}

// checkTriplet refuses triplets of several ranks: they would broadcast.
func checkTriplet(c *Call) error {
	in := In[TripletMarginLossArgs](c)
	a, p, n := len(in.Anchor.Meta().Shape), len(in.Positive.Meta().Shape), len(in.Negative.Meta().Shape)
	if a != p || p != n {
		return Errorf(
			"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs",
			a, p, n,
		)
	}
	return nil
}

func furtherLossRows() []*Op {
	const lossTail = ", bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor"
	return []*Op{
		composite(Prelu, "prelu", "(Tensor input, Tensor weight) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[PreluArgs](c)
			x, w := a.Input.Value(), a.Weight.Value()
			refuse(checkPrelu(a.Input.Meta(), a.Weight.Meta()))
			if n := len(a.Input.Meta().Shape); n > 1 && len(a.Weight.Meta().Shape) == 1 {
				w = perChannel(b, w, n)
			} else if n == 0 && len(a.Weight.Meta().Shape) == 1 {
				w = b.reshape(w)
			}
			return b.where(b.gt(x, 0), x, b.mul(w, x))
		}),
		composite(Softmin, "softmin", "(Tensor input, int dim, int _stacklevel=3, dtype? dtype=None) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[SoftminArgs](c)
			return b.Emit(Softmax, b.neg(a.Input.Value()), a.Dim.Arg, a.DType.Arg)
		}),
		loss(CosineEmbeddingLoss, "cosine_embedding_loss", "(Tensor input1, Tensor input2, Tensor target, float margin=0"+lossTail, func(b B, c *Call) Value {
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
		loss(HingeEmbeddingLoss, "hinge_embedding_loss", "(Tensor input, Tensor target, float margin=1.0"+lossTail, func(b B, c *Call) Value {
			a := In[HingeEmbeddingLossArgs](c)
			x, t := a.Input.Value(), a.Target.Value()
			zero := scalarLike(x, 0)
			m := b.Emit(ClampMin, b.sub(asStored(a.Input.Meta().DType, a.Margin.Float()), x), 0)
			l := b.add(b.where(b.ne(t, 1), m, zero), b.where(b.ne(t, -1), x, zero))
			return reduction(b, l, a.Reduction.Str())
		}),
		loss(PoissonNllLoss, "poisson_nll_loss", "(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
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
		loss(GaussianNllLoss, "gaussian_nll_loss", "(Tensor input, Tensor target, Operand var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
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
		loss(MultilabelSoftMarginLoss, "multilabel_soft_margin_loss", "(Tensor input, Tensor target, Tensor? weight=None"+lossTail, func(b B, c *Call) Value {
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
		loss(TripletMarginLoss, "triplet_margin_loss", "(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, Scalar p=2, float eps=1e-06, bool swap=False"+lossTail, func(b B, c *Call) Value {
			a := In[TripletMarginLossArgs](c)
			if a.Margin.Float() <= 0 {
				refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("margin must be greater than 0, got %s", floatText(a.Margin.Float()))})
			}
			refuse(checkTriplet(c))
			dist := func(x, y Value) Value { return b.Emit(PairwiseDistance, x, y, a.P.Arg, a.Eps.Arg) }
			pos, neg := dist(a.Anchor.Value(), a.Positive.Value()), dist(a.Anchor.Value(), a.Negative.Value())
			if a.Swap.Bool() {
				neg = b.Emit(Minimum, neg, dist(a.Positive.Value(), a.Negative.Value()))
			}
			return reduction(b, b.Emit(ClampMin, b.add(b.sub(pos, neg), a.Margin.Arg), 0), a.Reduction.Str())
		}),
		composite(Bilinear, "bilinear", "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[BilinearArgs](c)
			y := b.Emit(Einsum, "...i,oij,...j->...o", []Value{a.Input1.Value(), a.Weight.Value(), a.Input2.Value()})
			if bias := a.Bias.Value(); bias != nil {
				y = b.add(y, bias)
			}
			return y
		}),
	}
}
