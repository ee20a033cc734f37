package ops

import (
	"tcdbg/ops/sym"
)

// This file holds softmax and the normalisations over the last dimensions, also with
// their statistics as further results. Gradients of these do not count, as in PyTorch.

func normRows() []*Op {
	return []*Op{softmaxRow(), logSoftmaxRow(), softminRow(), layerNormRow()}
}

// alongDim is the rule of a function along one dimension with a dtype option
// at position 2.
func alongDim(c *Call) ([]Result, error) {
	a := In[SelfDimDTypeArgs](c)
	m := a.Self.Meta()
	if _, err := WrapDim(a.Dim.Int(), len(m.Shape)); err != nil {
		return nil, err
	}
	d := a.DType.Or(m.DType)
	if !isFloaty(d) {
		return nil, &Error{
			Kind: "NotImplementedError",
			Msg:  `"` + c.Op.Name + `_lastdim_kernel_impl" not implemented for '` + d.ScalarType() + "'",
		}
	}
	return one(&TensorMeta{DType: d, Device: m.Device, Shape: m.Shape, Stride: LikeStrides(m)}), nil
}

const dimDTypeSchema = "(Tensor self, int dim, dtype? dtype=None) -> Tensor"

// lifted calls f with self in the type that it is computed in, and the dimension; a
// 0-dim tensor counts as one element.
func lifted(b B, c *Call, f func(x Value, dim int) Value) Value {
	a := In[SelfDimDTypeArgs](c)
	x := b.cast(a.Self.Value(), OpMath(a.DType.Or(a.Self.Meta().DType)))
	if len(x.TensorMeta().Shape) == 0 {
		return b.view(f(b.view(x, symOne), 0))
	}
	return f(x, a.Dim.of(a.Self))
}

func softmaxRow() *Op {
	return &Op{
		ID: Softmax, Name: "softmax", Schema: dimDTypeSchema, Meta: alongDim,
		Decompose: decomp(func(b B, c *Call) Value {
			a := In[SoftmaxArgs](c)
			y := lifted(b, c, func(x Value, d int) Value {
				if sym.Is(numel(x.TensorMeta().Shape), 0) {
					return b.Emit(Clone, x)
				}
				e := b.exp(b.sub(x, b.amax(x, true, d)))
				return b.div(e, b.sum(e, true, d))
			})
			return b.cast(y, a.DType.Or(a.Self.Meta().DType))
		}),
		Backward: wideBack(func(bb Builder, c *BackwardCall) []Value {
			a := In[SoftmaxArgs](c.Call)
			b := B{bb}
			if c.Grads[0] == nil {
				return []Value{nil}
			}
			y, s := c.Outs[0], b.mul(c.Grads[0], c.Outs[0])
			if len(a.Self.Meta().Shape) > 0 {
				s = b.sum(s, true, int(sym.Force(a.Dim.Int())))
			}
			return []Value{b.cast(b.mul(b.sub(c.Grads[0], s), y), a.Self.Meta().DType)}
		}),
	}
}

func logSoftmaxRow() *Op {
	return &Op{
		ID: LogSoftmax, Name: "log_softmax", Schema: dimDTypeSchema, Meta: alongDim,
		Decompose: decomp(func(b B, c *Call) Value {
			a := In[LogSoftmaxArgs](c)
			half := a.DType.Or(a.Self.Meta().DType)
			y := lifted(b, c, func(x Value, d int) Value {
				if sym.Is(numel(x.TensorMeta().Shape), 0) {
					return b.Emit(Clone, x)
				}
				z := b.sub(x, b.amax(x, true, d))
				sum := b.sum(b.exp(z), true, d)
				if d != len(x.TensorMeta().Shape)-1 {
					return b.sub(z, b.log(sum))
				}
				// Along rows PyTorch keeps the sum and its logarithm in half precision.
				return b.sub(z, weightsAs(b, b.log(weightsAs(b, sum, half)), half))
			})
			return b.cast(y, a.DType.Or(a.Self.Meta().DType))
		}),
		Backward: wideBack(func(bb Builder, c *BackwardCall) []Value {
			a := In[LogSoftmaxArgs](c.Call)
			b := B{bb}
			g := c.Grads[0]
			if g == nil {
				return []Value{nil}
			}
			s := g
			if len(a.Self.Meta().Shape) > 0 {
				s = b.sum(g, true, int(sym.Force(a.Dim.Int())))
			}
			return []Value{b.cast(b.sub(g, b.mul(b.exp(c.Outs[0]), s)), a.Self.Meta().DType)}
		}),
	}
}

func layerNormRow() *Op {
	return &Op{
		ID: LayerNorm, Name: "layer_norm", Tags: TagNN | TagNotMethod,
		Schema: "(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
		Meta: func(c *Call) ([]Result, error) {
			a := In[LayerNormArgs](c)
			m, norm := a.Input.Meta(), a.NormalizedShape.Ints()
			if err := checkNormalized(m, norm, a.Weight.Meta(), "weight"); err != nil {
				return nil, err
			}
			return one(NewMeta(m.DType, m.Device, m.Shape)), nil
		},
		Decompose: decompF(func(b B, c *Call) Value {
			a := In[LayerNormArgs](c)
			x := a.Input.Value()
			dims := lastDims(c)
			mu := b.mean(x, true, dims...)
			xc := b.sub(x, mu)
			v := b.mean(b.sq(xc), true, dims...)
			return affine(b, b.mul(xc, b.Emit(Rsqrt, b.add(v, a.Eps.Arg))), c)
		}),
		Backward: backOf(layerNormBack),
		GradName: "NativeLayerNormBackward0",
	}
}

func checkNormalized(m *TensorMeta, norm []sym.Int, weight *TensorMeta, name string) error {
	if len(norm) == 0 {
		return Errorf("Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, " +
			"but got normalized_shape = []")
	}
	if weight != nil && !equalShape(weight.Shape, norm) {
		return Errorf(
			"Expected %s to be of same shape as normalized_shape, but got %s of shape %s and normalized_shape = %s",
			name, name, ShapeText(weight.Shape), ShapeText(norm),
		)
	}
	n := len(m.Shape) - len(norm)
	if n < 0 || !equalShape(m.Shape[n:], norm) {
		star := "[*, " + ShapeText(norm)[1:]
		return Errorf(
			"Given normalized_shape=%s, expected input with shape %s, but got input of size%s", ShapeText(norm), star,
			ShapeText(m.Shape),
		)
	}
	return nil
}

// lastDims are the dimensions that normalized_shape (argument 1) covers.
func lastDims(c *Call) []int {
	a := In[InputNormalizedShapeArgs](c)
	n := len(a.Input.Meta().Shape)
	return seq(n-len(a.NormalizedShape.Ints()), n)
}

// affine applies weight and bias.
func affine(b B, y Value, c *Call) Value {
	a := In[NormalizedArgs](c)
	if w := a.Weight.Value(); w != nil {
		y = b.mul(y, w)
	}
	if bias := a.Bias.Value(); bias != nil {
		y = b.add(y, bias)
	}
	return y
}

// moments are what a normalisation keeps for its derivative.
type moments struct {
	x, mean, rstd Value
}

// statistics computes mean and 1/std over dims of x, which stands for a tensor
// of type d.
func statistics(b B, x Value, eps Arg, d DType, dims ...int) *moments {
	s := &moments{x: x, mean: b.mean(x, true, dims...)}
	s.rstd = b.Emit(Rsqrt, b.add(b.mean(b.sq(b.sub(x, s.mean)), true, dims...), eps))
	if wide := OpMath(d); wide != d {
		s.mean, s.rstd = b.cast(b.cast(s.mean, d), wide), b.cast(b.cast(s.rstd, d), wide)
	}
	return s
}

// hat is the normalised input.
func (s *moments) hat(b B) Value { return b.mul(b.sub(s.x, s.mean), s.rstd) }

// centeredGrad is the gradient of the input, given that of the normalised one
// times weight (nil for one). It is PyTorch's sum of three terms: where
// they cancel, and in half precision, where the statistics are rounded, their
// errors count in this order.
func centeredGrad(b B, g, weight Value, s *moments, dims ...int) Value {
	first, gw := b.mul(g, s.rstd), g
	if weight != nil {
		first, gw = b.mul(first, weight), b.mul(g, weight)
	}
	db, ds := b.mean(gw, true, dims...), b.mean(b.mul(gw, s.x), true, dims...)
	k := b.mul(b.mul(b.sub(b.mul(db, s.mean), ds), b.sq(s.rstd)), s.rstd)
	rest := b.neg(b.add(b.mul(k, s.mean), b.mul(db, s.rstd)))
	return b.add(b.add(first, b.mul(s.x, k)), rest)
}

func layerNormBack(b B, c *BackwardCall) []Value {
	a := In[NormalizedArgs](c.Call)
	out := []Value{nil, nil, nil}
	g := c.Grads[0]
	if g == nil {
		return out
	}
	m := a.Input.Meta()
	wide := OpMath(m.DType)
	x, g := b.cast(a.Input.Value(), wide), b.cast(g, wide)
	dims := lastDims(c.Call)
	s := statistics(b, x, a.Eps.Arg, m.DType, dims...)
	xhat := s.hat(b)
	if c.Needs[0] {
		out[0] = b.cast(centeredGrad(b, g, a.Weight.Value(), s, dims...), m.DType)
	}
	if w := a.Weight.Meta(); w != nil && c.Needs[2] {
		out[1] = b.cast(b.sumTo(b.mul(g, xhat), w.Shape), w.DType)
	}
	if bias := a.Bias.Meta(); bias != nil && c.Needs[3] {
		out[2] = b.cast(b.sumTo(g, bias.Shape), bias.DType)
	}
	return out
}

func softminRow() *Op {
	return composite(Softmin, "softmin", "(Tensor input, int dim, int _stacklevel=3, dtype? dtype=None) -> Tensor",
		TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[SoftminArgs](c)
			return b.Emit(Softmax, b.neg(a.Input.Value()), a.Dim.Arg, a.DType.Arg)
		})
}

func nativeRows() []*Op {
	return []*Op{
		nativeLayerNorm(), nativeGroupNorm(),
		nativeBatchNorm(
			NativeBatchNorm, "native_batch_norm",
			"(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, "+
				"float eps) -> (Tensor, Tensor, Tensor)",
		).writesIf("training", "running_mean", "running_var"),
		nativeBatchNorm(
			NativeBatchNormLegit, "_native_batch_norm_legit",
			"(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
		),
		composite(NativeDropoutBackward, "native_dropout_backward", "(Tensor grad_output, Tensor mask, float scale) -> Tensor",
			TagNotMethod, func(b B, c *Call) Value {
				a := In[NativeDropoutBackwardArgs](c)
				g := a.GradOutput.Value()
				return b.mul(b.mul(g, b.cast(a.Mask.Value(), a.GradOutput.Meta().DType)), a.Scale.Arg)
			}),
		softmaxBackwardRow(),
	}
}

// softmaxBackwardRow is the gradient of softmax, and differentiable itself.
func softmaxBackwardRow() *Op {
	row := composite(SoftmaxBackwardData, "_softmax_backward_data",
		"(Tensor grad_output, Tensor output, int dim, dtype input_dtype) -> Tensor", TagInternal|TagNotMethod, func(b B, c *Call) Value {
			a := In[SoftmaxBackwardDataArgs](c)
			d := a.Output.Meta().DType
			y, g := b.cast(a.Output.Value(), OpMath(d)), b.cast(a.GradOutput.Value(), OpMath(d))
			s := b.mul(g, y)
			if len(a.GradOutput.Meta().Shape) > 0 {
				s = b.sum(s, true, a.Dim.of(a.GradOutput))
			}
			return b.cast(b.mul(b.sub(g, s), y), a.InputDType.Or(d))
		})
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g == nil {
			return []Value{nil, nil}
		}
		a := In[SoftmaxBackwardDataArgs](c.Call)
		up, y := a.GradOutput.Value(), a.Output.Value()
		total := func(v Value) Value {
			if len(a.GradOutput.Meta().Shape) == 0 {
				return v
			}
			return b.sum(v, true, a.Dim.of(a.GradOutput))
		}
		gy := b.sub(b.mul(up, g), b.mul(total(b.mul(y, up)), g))
		gy = b.sub(gy, b.mul(up, total(b.mul(y, g))))
		return []Value{b.Emit(SoftmaxBackwardData, g, y, a.Dim.Arg, a.InputDType.Arg), gy}
	})
	return row
}

func nativeLayerNorm() *Op {
	row := &Op{
		ID: NativeLayerNorm, Name: "native_layer_norm",
		Schema: "(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
	}
	row.Decompose = func(bb Builder, c *Call) []Value {
		a := In[NativeLayerNormArgs](c)
		b := B{bb}
		m := a.Input.Meta()
		refuse(checkNormalized(m, a.NormalizedShape.Ints(), a.Weight.Meta(), "weight"))
		refuse(checkNormalized(m, a.NormalizedShape.Ints(), a.Bias.Meta(), "bias"))
		x := b.cast(a.Input.Value(), OpMath(m.DType))
		dims := lastDims(c)
		mu := b.mean(x, true, dims...)
		rstd := b.Emit(Rsqrt, b.add(b.mean(b.sq(b.sub(x, mu)), true, dims...), a.Eps.Arg))
		stat := func(v Value) Value { return b.cast(v, m.DType) }
		return []Value{b.Emit(LayerNorm, c.Args...), stat(mu), stat(rstd)}
	}
	row.Tags, row.Meta, row.Backward = TagNotMethod, metaOfDecomposition(row), backOf(layerNormBack)
	return row
}
