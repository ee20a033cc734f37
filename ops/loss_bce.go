package ops

// This file holds the binary cross entropies with the derivatives that PyTorch
// writes for them, step by step: in half precision each step rounds.

const bceWithLogitsSchema = "(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str reduction='mean', Tensor? pos_weight=None) -> Tensor"

func bceRows() []*Op {
	logits := loss(BceWithLogits, "binary_cross_entropy_with_logits", bceWithLogitsSchema, func(b B, c *Call) Value {
		a := In[BceWithLogitsArgs](c)
		if !equalShape(a.Input.Meta().Shape, a.Target.Meta().Shape) {
			refuse(&Error{
				Kind: "ValueError",
				Msg:  "Target size (torch.Size(" + ShapeText(a.Target.Meta().Shape) + ")) must be the same as input size (torch.Size(" + ShapeText(a.Input.Meta().Shape) + "))",
			})
		}
		l := logitsLoss(b, c)
		if w := a.Weight.Value(); w != nil {
			l = b.mul(l, w)
		}
		return reduction(b, l, a.Reduction.Str())
	})
	logits.Backward = backOf(logitsBack)
	bce := loss(Bce, "binary_cross_entropy", "(Tensor input, Tensor target, Tensor? weight=None, bool? size_average=None, bool? reduce=None, str reduction='mean') -> Tensor", func(b B, c *Call) Value {
		a := In[BceArgs](c)
		if !equalShape(a.Input.Meta().Shape, a.Target.Meta().Shape) {
			refuse(&Error{
				Kind: "ValueError",
				Msg:  "Using a target size (torch.Size(" + ShapeText(a.Target.Meta().Shape) + ")) that is different to the input size (torch.Size(" + ShapeText(a.Input.Meta().Shape) + ")) is deprecated. Please ensure they have the same size.",
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
