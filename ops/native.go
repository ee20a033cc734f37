package ops

import "tcdbg/ops/sym"

// This file holds the normalisations with their statistics as further results,
// and backward functions that programs call by name. Gradients of the
// statistics of layers and batches do not count, as in PyTorch.

func nativeRows() []*Op {
	return []*Op{
		nativeLayerNorm(), nativeGroupNorm(),
		nativeBatchNorm(
			NativeBatchNorm, "native_batch_norm",
			"(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
		).writesIf("training", "running_mean", "running_var"),
		nativeBatchNorm(
			NativeBatchNormLegit, "_native_batch_norm_legit",
			"(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
		),
		composite(NativeDropoutBackward, "native_dropout_backward", "(Tensor grad_output, Tensor mask, float scale) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[NativeDropoutBackwardArgs](c)
			g := a.GradOutput.Value()
			return b.mul(b.mul(g, b.cast(a.Mask.Value(), a.GradOutput.Meta().DType)), a.Scale.Arg)
		}),
		softmaxBackwardRow(),
	}
}

// softmaxBackwardRow is the gradient of softmax, and differentiable itself.
func softmaxBackwardRow() *Op {
	row := composite(SoftmaxBackwardData, "_softmax_backward_data", "(Tensor grad_output, Tensor output, int dim, dtype input_dtype) -> Tensor", TagInternal|TagNotMethod, func(b B, c *Call) Value {
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

// nativeGroupNorm knows batch, channels and the elements of a channel as numbers.
func nativeGroupNorm() *Op {
	row := &Op{
		ID: NativeGroupNorm, Name: "native_group_norm",
		Schema: "(Tensor input, Tensor? weight, Tensor? bias, int n, int c, int hxw, int group, float eps) -> (Tensor, Tensor, Tensor)",
	}
	row.Decompose = func(bb Builder, c *Call) []Value {
		a := In[NativeGroupNormArgs](c)
		b := B{bb}
		m := a.Input.Meta()
		n, channels, g := a.N.Int(), a.C.Int(), a.Group.Int()
		if sym.Le(g, symZero) || sym.Ne(sym.Mod(channels, g), symZero) {
			refuse(Errorf(
				"Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%s",
				ShapeText(m.Shape), g,
			))
		}
		each := sym.Mul(sym.FloorDiv(channels, g), a.Hxw.Int())
		x := b.reshape(b.cast(a.Input.Value(), OpMath(m.DType)), n, g, each)
		mu := b.mean(x, true, 2)
		d := b.sub(x, mu)
		rstd := b.Emit(Rsqrt, b.add(b.mean(b.sq(d), true, 2), a.Eps.Arg))
		y := b.view(b.mul(d, rstd), n, channels, a.Hxw.Int())
		if w := a.Weight.Value(); w != nil {
			y = b.mul(y, b.reshape(w, symOne, channels, symOne))
		}
		if bias := a.Bias.Value(); bias != nil {
			y = b.add(y, b.reshape(bias, symOne, channels, symOne))
		}
		stat := func(v Value) Value { return b.cast(b.squeeze(v, 2), m.DType) }
		return []Value{b.cast(b.view(y, m.Shape...), m.DType), stat(mu), stat(rstd)}
	}
	// Its statistics have gradients, unlike those of the other two.
	row.Tags, row.Meta = TagNotMethod, metaOfDecomposition(row)
	return row
}

// asBatchNorm gives the arguments of a native batch norm, of whose forms one has no
// running statistics, as those of batch_norm.
func asBatchNorm(c *Call) BatchNormArgs {
	return BatchNormArgs{
		Input:       named[TensorArg](c, "input"),
		RunningMean: named[TensorArg](c, "running_mean"), RunningVar: named[TensorArg](c, "running_var"),
		Weight: named[TensorArg](c, "weight"), Bias: named[TensorArg](c, "bias"),
		Training: named[BoolArg](c, "training"), Momentum: named[NumberArg](c, "momentum"), Eps: named[NumberArg](c, "eps"),
	}
}

func nativeBatchNorm(id ID, name, schema string) *Op {
	row := &Op{ID: id, Name: name, Schema: schema}
	row.Decompose = func(bb Builder, c *Call) []Value {
		a := asBatchNorm(c)
		b := B{bb}
		m := a.Input.Meta()
		wide := OpMath(m.DType)
		y := b.Emit(
			BatchNorm, a.Input.Arg, a.RunningMean.Arg, a.RunningVar.Arg, a.Weight.Arg, a.Bias.Arg, a.Training.Arg,
			a.Momentum.Arg, a.Eps.Arg,
		)
		if !a.Training.Bool() {
			none := b.full([]sym.Int{symZero}, 0, NewMeta(wide, m.Device, nil))
			return []Value{y, none, none}
		}
		x := b.detach(b.cast(a.Input.Value(), wide))
		dims := append([]int{0}, seq(2, len(m.Shape))...)
		mu := b.mean(x, true, dims...)
		rstd := b.Emit(Rsqrt, b.add(b.mean(b.sq(b.sub(x, mu)), true, dims...), a.Eps.Arg))
		saved := m.DType
		if mixedNorm(m, a.RunningMean, a.RunningVar, a.Weight, a.Bias) {
			saved = wide
		}
		stat := func(v Value) Value { return b.cast(b.reshape(v, m.Shape[1]), saved) }
		return []Value{y, stat(mu), stat(rstd)}
	}
	row.Meta = metaOfDecomposition(row)
	row.Tags |= TagNotMethod
	row.Backward = backOf(batchNormBack)
	return row
}

// batchNormBack is the derivative by input, weight and bias.
func batchNormBack(b B, c *BackwardCall) []Value {
	a := asBatchNorm(c.Call)
	out := make([]Value, len(TensorArgs(c.Op, c.Args)))
	g := c.Grads[0]
	if g == nil {
		return out
	}
	m := a.Input.Meta()
	rank := len(m.Shape)
	wide := OpMath(m.DType)
	x, g := b.cast(a.Input.Value(), wide), b.cast(g, wide)
	dims := append([]int{0}, seq(2, rank)...)
	var mean, inv Value
	if a.Training.Bool() { // of the input again: what was saved has no derivative
		mean = b.mean(x, true, dims...)
		inv = b.Emit(Rsqrt, b.add(b.mean(b.sq(b.sub(x, mean)), true, dims...), a.Eps.Arg))
	} else {
		mean = perChannel(b, b.cast(a.RunningMean.Value(), wide), rank)
		inv = b.Emit(Rsqrt, b.add(perChannel(b, b.cast(a.RunningVar.Value(), wide), rank), a.Eps.Arg))
	}
	xhat := b.mul(b.sub(x, mean), inv)
	gx := g
	if w := a.Weight.Value(); w != nil {
		gx = b.mul(g, perChannel(b, w, rank))
		out[1] = b.cast(b.sum(b.mul(g, xhat), false, dims...), w.TensorMeta().DType)
	}
	if bias := a.Bias.Value(); bias != nil {
		out[2] = b.cast(b.sum(g, false, dims...), bias.TensorMeta().DType)
	}
	if a.Training.Bool() {
		gx = b.sub(gx, b.add(b.mean(gx, true, dims...), b.mul(xhat, b.mean(b.mul(gx, xhat), true, dims...))))
	}
	out[0] = b.cast(b.mul(gx, inv), m.DType)
	return out
}
