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
		return Errorf("Mismatch of parameter numbers and input channel size. Found parameter numbers = %s and channel size = %s.", slopes, channels)
	}
	return nil
}

// checkTriplet refuses triplets of several ranks: they would broadcast.
func checkTriplet(c *Call) error {
	a, p, n := len(c.Tensor(0).Shape), len(c.Tensor(1).Shape), len(c.Tensor(2).Shape)
	if a != p || p != n {
		return Errorf("The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs", a, p, n)
	}
	return nil
}

func furtherLossRows() []*Op {
	const lossTail = ", bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor"
	return []*Op{
		composite(Prelu, "prelu", "(Tensor input, Tensor weight) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			x, w := c.Value(0), c.Value(1)
			refuse(checkPrelu(c.Tensor(0), c.Tensor(1)))
			if n := len(c.Tensor(0).Shape); n > 1 && len(c.Tensor(1).Shape) == 1 {
				w = perChannel(b, w, n)
			} else if n == 0 && len(c.Tensor(1).Shape) == 1 {
				w = b.reshape(w)
			}
			return b.where(b.gt(x, 0), x, b.mul(w, x))
		}),
		composite(Softmin, "softmin", "(Tensor input, int dim, int _stacklevel=3, dtype? dtype=None) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			return b.Emit(Softmax, b.neg(c.Value(0)), c.Args[1], c.Args[3])
		}),
		loss(CosineEmbeddingLoss, "cosine_embedding_loss", "(Tensor input1, Tensor input2, Tensor target, float margin=0"+lossTail, func(b B, c *Call) Value {
			x, y, t := c.Value(0), c.Value(1), c.Value(2)
			if len(c.Tensor(0).Shape) == 1 {
				x, y = b.unsqueeze(x, 0), b.unsqueeze(y, 0)
				if len(c.Tensor(2).Shape) == 0 {
					x, y = c.Value(0), c.Value(1)
				}
			}
			const eps = 1e-12
			prod := b.Emit(Sum, b.mul(x, y), []int{-1})
			n1 := b.add(b.Emit(Sum, b.sq(x), []int{-1}), eps)
			n2 := b.add(b.Emit(Sum, b.sq(y), []int{-1}), eps)
			cos := b.div(prod, b.sqrt(b.mul(n1, n2)))
			zero := scalarLike(cos, 0)
			pos := b.where(b.eq(t, 1), b.sub(1, cos), zero)
			neg := b.where(b.eq(t, -1), b.Emit(ClampMin, b.sub(cos, c.Args[3]), 0), zero)
			return reduction(b, b.add(pos, neg), c.Str(6))
		}),
		loss(HingeEmbeddingLoss, "hinge_embedding_loss", "(Tensor input, Tensor target, float margin=1.0"+lossTail, func(b B, c *Call) Value {
			x, t := c.Value(0), c.Value(1)
			zero := scalarLike(x, 0)
			m := b.Emit(ClampMin, b.sub(asStored(c.Tensor(0).DType, c.Float(2)), x), 0)
			l := b.add(b.where(b.ne(t, 1), m, zero), b.where(b.ne(t, -1), x, zero))
			return reduction(b, l, c.Str(5))
		}),
		loss(PoissonNllLoss, "poisson_nll_loss", "(Tensor input, Tensor target, bool log_input=True, bool full=False, bool? size_average=None, float eps=1e-08, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
			x, t := c.Value(0), c.Value(1)
			var l Value
			if c.Bool(2) {
				l = b.sub(b.exp(x), b.mul(t, x))
			} else {
				l = b.sub(x, b.mul(t, b.log(b.add(x, c.Args[5]))))
			}
			if c.Bool(3) {
				half := b.mul(b.log(b.mul(t, 2*math.Pi)), 0.5) // first, for gradients add up in turn
				stirling := b.add(b.sub(b.mul(t, b.log(t)), t), half)
				l = b.add(l, b.where(b.le(t, 1), scalarLike(stirling, 0), stirling))
			}
			return reduction(b, l, c.Str(7))
		}),
		loss(GaussianNllLoss, "gaussian_nll_loss", "(Tensor input, Tensor target, Operand var, bool full=False, float eps=1e-06, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
			x, t := c.Value(0), c.Value(1)
			v := tensorOf(b, c.Args[2], x)
			if vm := v.TensorMeta(); len(vm.Shape) == len(c.Tensor(0).Shape)-1 && len(vm.Shape) > 0 {
				v = b.unsqueeze(v, len(vm.Shape))
			}
			// The bound counts as a constant.
			raised := b.add(v, b.detach(b.sub(b.Emit(ClampMin, v, c.Args[4]), v)))
			l := b.mul(b.add(b.log(raised), b.div(b.sq(b.sub(x, t)), raised)), 0.5)
			if c.Bool(3) {
				l = b.add(l, 0.5*math.Log(2*math.Pi))
			}
			return reduction(b, l, c.Str(5))
		}),
		loss(SoftMarginLoss, "soft_margin_loss", "(Tensor input, Tensor target"+lossTail, func(b B, c *Call) Value {
			return reduction(b, b.Emit(Log1p, b.exp(b.mul(b.neg(c.Value(1)), c.Value(0)))), c.Str(4))
		}),
		loss(MultilabelSoftMarginLoss, "multilabel_soft_margin_loss", "(Tensor input, Tensor target, Tensor? weight=None"+lossTail, func(b B, c *Call) Value {
			x, t := c.Value(0), c.Value(1)
			l := b.neg(b.add(b.mul(t, b.Emit(Logsigmoid, x)), b.mul(b.sub(1, t), b.Emit(Logsigmoid, b.neg(x)))))
			if w := c.Value(2); w != nil {
				l = b.mul(l, w)
			}
			n := len(c.Tensor(0).Shape)
			l = b.div(b.sum(l, false, n-1), c.Tensor(0).Shape[n-1])
			return reduction(b, l, c.Str(5))
		}),
		loss(TripletMarginLoss, "triplet_margin_loss", "(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, Scalar p=2, float eps=1e-06, bool swap=False"+lossTail, func(b B, c *Call) Value {
			if c.Float(3) <= 0 {
				refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("margin must be greater than 0, got %s", floatText(c.Float(3)))})
			}
			refuse(checkTriplet(c))
			dist := func(x, y Value) Value { return b.Emit(PairwiseDistance, x, y, c.Args[4], c.Args[5]) }
			pos, neg := dist(c.Value(0), c.Value(1)), dist(c.Value(0), c.Value(2))
			if c.Bool(6) {
				neg = b.Emit(Minimum, neg, dist(c.Value(1), c.Value(2)))
			}
			return reduction(b, b.Emit(ClampMin, b.add(b.sub(pos, neg), c.Args[3]), 0), c.Str(9))
		}),
		composite(Bilinear, "bilinear", "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			y := b.Emit(Einsum, "...i,oij,...j->...o", []Value{c.Value(0), c.Value(2), c.Value(1)})
			if bias := c.Value(3); bias != nil {
				y = b.add(y, bias)
			}
			return y
		}),
	}
}
