package ops

import (
	"strconv"

	"tcdbg/ops/sym"
)

// This file holds the normalisations over batches, groups and channels, also with their
// statistics as further results.

func batchNormRows() []*Op {
	return []*Op{
		batchNormRow(),
		composite(InstanceNorm, "instance_norm", "(Tensor input, Tensor? running_mean=None, Tensor? running_var=None, "+
			"Tensor? weight=None, Tensor? bias=None, bool use_input_stats=True, float momentum=0.1, float eps=1e-05) -> Tensor",
			TagNN|TagNotMethod, instanceNorm).writesIf("use_input_stats", "running_mean", "running_var"),
		groupNormRow(),
		composite(
			RmsNorm, "rms_norm",
			"(Tensor input, int[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
			TagNN|TagNotMethod, rmsNorm,
		),
		composite(Normalize, "normalize", "(Tensor input, Scalar p=2.0, int[] dim=1, float eps=1e-12) -> Tensor",
			TagNN|TagNotMethod, func(b B, c *Call) Value {
				a := In[NormalizeArgs](c)
				x := a.Input.Value()
				n := b.Emit(Norm, x, a.P.Arg, a.Dim.Arg, true)
				return b.div(x, b.expand(b.Emit(ClampMin, n, a.Eps.Arg), a.Input.Meta().Shape))
			}).and(TagComplex),
		composite(
			LocalResponseNorm, "local_response_norm",
			"(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor", TagNN|TagNotMethod,
			localResponseNorm,
		),
	}
}

// perChannel views a vector so that it broadcasts along dimension 1.
func perChannel(b B, v Value, rank int) Value {
	shape := make([]sym.Int, rank)
	for i := range shape {
		shape[i] = symOne
	}
	shape[1] = numel(v.TensorMeta().Shape)
	return b.view(v, shape...)
}

func batchNormRow() *Op {
	row := composite(BatchNorm, "batch_norm", "(Tensor input, Tensor? running_mean, Tensor? running_var, Tensor? weight=None, "+
		"Tensor? bias=None, bool training=False, float momentum=0.1, float eps=1e-05) -> Tensor", TagNN|TagNotMethod,
		batchNorm).writesIf("training", "running_mean", "running_var")
	row.Meta = func(c *Call) ([]Result, error) {
		a := In[BatchNormArgs](c)
		m := a.Input.Meta()
		if len(m.Shape) < 2 && !sym.Is(numel(m.Shape), 0) {
			return nil, Errorf("batch_norm: expected input with at least 2 dimensions, got size %s", ShapeText(m.Shape))
		}
		if len(m.Shape) < 2 {
			return selfLike(c)
		}
		for _, p := range []struct {
			name string
			TensorArg
		}{{"running_mean", a.RunningMean}, {"running_var", a.RunningVar}, {"weight", a.Weight}, {"bias", a.Bias}} {
			if pm := p.Meta(); pm != nil && sym.Ne(numel(pm.Shape), m.Shape[1]) {
				return nil, Errorf("%s should contain %s elements not %s", p.name, m.Shape[1], numel(pm.Shape))
			}
		}
		if !a.Training.Bool() && (a.RunningMean.IsNone() || a.RunningVar.IsNone()) {
			return nil, Errorf("Expected running_mean and running_var to be defined when training=False")
		}
		per := sym.FloorDiv(numel(m.Shape), sym.Max(m.Shape[1], symOne))
		if a.Training.Bool() && sym.Is(per, 1) {
			return nil, &Error{
				Kind: "ValueError",
				Msg:  "Expected more than 1 value per channel when training, got input size " + "torch.Size(" + ShapeText(m.Shape) + ")",
			}
		}
		return selfLike(c)
	}
	return row
}

func batchNorm(b B, c *Call) Value {
	a := In[BatchNormArgs](c)
	x := a.Input.Value()
	m := a.Input.Meta()
	if len(m.Shape) < 2 { // empty
		return b.Emit(Clone, x)
	}
	rank := len(m.Shape)
	wide := b.cast(x, OpMath(m.DType))
	dims := append([]int{0}, seq(2, rank)...)
	var mean, inv Value
	if a.Training.Bool() {
		mean = b.mean(wide, true, dims...)
		d := b.sub(wide, mean)
		v := b.mean(b.sq(d), true, dims...)
		inv = b.Emit(Rsqrt, b.add(v, a.Eps.Arg))
		updateRunning(b, c, mean, v, count(m, dims), m.Shape[1])
		if wide != x && !mixedNorm(m, a.RunningMean, a.RunningVar, a.Weight, a.Bias) { // what is saved for the backward pass is what counts
			saved := func(v Value) Value { return b.cast(b.cast(v, m.DType), OpMath(m.DType)) }
			mean, inv = saved(mean), saved(inv)
			return b.cast(channelAffine(b, b.sub(b.mul(wide, inv), b.mul(mean, inv)), c), m.DType)
		}
		return b.cast(channelAffine(b, b.mul(d, inv), c), m.DType)
	}
	mean = perChannel(b, b.cast(a.RunningMean.Value(), OpMath(m.DType)), rank)
	inv = b.Emit(Rsqrt, b.add(perChannel(b, b.cast(a.RunningVar.Value(), OpMath(m.DType)), rank), a.Eps.Arg))
	return b.cast(channelAffine(b, b.mul(b.sub(wide, mean), inv), c), m.DType)
}

// mixedNorm reports whether parameters or running statistics are wider than the input.
func mixedNorm(input *TensorMeta, others ...TensorArg) bool {
	for _, o := range others {
		if m := o.Meta(); m != nil && m.DType != input.DType {
			return true
		}
	}
	return false
}

// channelAffine applies weight and bias (arguments 3 and 4) along dimension 1.
func channelAffine(b B, y Value, c *Call) Value {
	a := In[RunningNormArgs](c)
	rank := len(y.TensorMeta().Shape)
	if w := a.Weight.Value(); w != nil {
		y = b.mul(y, perChannel(b, w, rank))
	}
	if bias := a.Bias.Value(); bias != nil {
		y = b.add(y, perChannel(b, bias, rank))
	}
	return y
}

// updateRunning moves the running statistics, in place, towards those of the
// batch; the variance counts as unbiased.
func updateRunning(b B, c *Call, mean, v Value, n, channels sym.Int) {
	a := In[BatchNormArgs](c)
	mom := a.Momentum.Float()
	move := func(stat Value, now Value) {
		flat := b.detach(b.view(now, channels))
		d := b.cast(flat, stat.TensorMeta().DType)
		next := b.add(b.mul(b.detach(stat), 1-mom), b.mul(d, mom))
		b.Emit(InPlaceOffset+Copy, stat, next)
	}
	if !a.RunningMean.IsNone() {
		move(a.RunningMean.Value(), mean)
	}
	if !a.RunningVar.IsNone() {
		move(a.RunningVar.Value(), unbiased(b, v, n))
	}
}

// unbiased is a variance of n elements, that of the whole made that of a sample;
// a size that is not known yet stays open.
func unbiased(b B, v Value, n sym.Int) Value {
	if k, known := n.IsConst(); known {
		return b.mul(v, float64(k)/float64(k-1))
	}
	return b.div(b.mul(v, n), sym.Sub(n, symOne))
}

func instanceNorm(b B, c *Call) Value {
	a := In[InstanceNormArgs](c)
	x, m := a.Input.Value(), a.Input.Meta()
	if len(m.Shape) < 2 {
		refuse(Errorf("instance_norm: expected at least 2 dimensions, got %d", len(m.Shape)))
	}
	if !a.UseInputStats.Bool() {
		return b.Emit(BatchNorm, x, a.RunningMean.Arg, a.RunningVar.Arg, a.Weight.Arg, a.Bias.Arg, false, a.Momentum.Arg, a.Eps.Arg)
	}
	rank := len(m.Shape)
	dims := seq(2, rank)
	if sym.Is(count(m, dims), 1) {
		refuse(&Error{
			Kind: "ValueError",
			Msg:  "Expected more than 1 spatial element when training, got input size torch.Size(" + ShapeText(m.Shape) + ")",
		})
	}
	wide := b.cast(x, OpMath(m.DType))
	mean := b.mean(wide, true, dims...)
	d := b.sub(wide, mean)
	v := b.mean(b.sq(d), true, dims...)
	if !a.RunningMean.IsNone() {
		updateRunning(b, c, b.mean(mean, true, 0), b.mean(v, true, 0), count(m, dims), m.Shape[1])
	}
	if wide != x { // rounds as a batch of one does
		return instancesAsChannels(b, c)
	}
	return b.cast(channelAffine(b, b.mul(d, b.Emit(Rsqrt, b.add(v, a.Eps.Arg))), c), m.DType)
}

// instancesAsChannels is instance_norm as PyTorch computes it: batch_norm of one
// image, whose channels are those of all instances.
func instancesAsChannels(b B, c *Call) Value {
	a := In[InstanceNormArgs](c)
	m := a.Input.Meta()
	n := m.Shape[0]
	all := func(v Value) Value {
		if v == nil {
			return nil
		}
		return b.Emit(Repeat, v, []sym.Int{n})
	}
	flat := b.reshape(a.Input.Value(), append([]sym.Int{symOne, sym.Mul(n, m.Shape[1])}, m.Shape[2:]...)...)
	y := b.Emit(BatchNorm, flat, nil, nil, all(a.Weight.Value()), all(a.Bias.Value()), true, a.Momentum.Arg, a.Eps.Arg)
	return b.reshape(y, m.Shape...)
}

func groupNormRow() *Op {
	row := composite(
		GroupNorm, "group_norm",
		"(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> Tensor",
		TagNN|TagNotMethod, groupNorm,
	)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[GroupNormArgs](c.Call)
		return groupNormBack(b, c, a.NumGroups.Int(), a.Weight.Value(), a.Bias.Value(), a.Eps.Arg)
	})
	return row
}

// groupNormBack is the derivative by input, weight and bias.
func groupNormBack(b B, c *BackwardCall, groups sym.Int, weight, bias Value, eps Arg) []Value {
	a := In[GroupNormArgs](c.Call)
	out := []Value{nil, nil, nil}
	g := c.Grads[0]
	if g == nil {
		return out
	}
	m := a.Input.Meta()
	rank := len(m.Shape)
	each := sym.FloorDiv(m.Shape[1], groups)
	inner := numel(m.Shape[2:])
	byGroup := func(v Value) Value { return b.reshape(v, m.Shape[0], groups, sym.Mul(each, inner)) }
	x, g := b.cast(a.Input.Value(), OpMath(m.DType)), b.cast(g, OpMath(m.DType))
	gx := g
	if weight != nil {
		gx = b.mul(g, perChannel(b, b.cast(weight, OpMath(m.DType)), rank))
	}
	s := statistics(b, byGroup(x), eps, m.DType, 2)
	out[0] = b.cast(b.reshape(centeredGrad(b, byGroup(gx), nil, s, 2), m.Shape...), m.DType)
	dims := append([]int{0}, seq(2, rank)...)
	if weight != nil {
		out[1] = b.cast(b.sum(b.mul(g, b.reshape(s.hat(b), m.Shape...)), false, dims...), weight.TensorMeta().DType)
	}
	if bias != nil {
		out[2] = b.cast(b.sum(g, false, dims...), bias.TensorMeta().DType)
	}
	return out
}

func groupNorm(b B, c *Call) Value {
	a := In[GroupNormArgs](c)
	x, m, g := a.Input.Value(), a.Input.Meta(), a.NumGroups.Int()
	if len(m.Shape) < 2 {
		refuse(Errorf("Expected at least 2 dimensions for input tensor but received %d", len(m.Shape)))
	}
	if sym.Is(m.Shape[1], 0) {
		refuse(Errorf("Expected number of channels to be greater than 0, got 0"))
	}
	if inner := numel(m.Shape[2:]); sym.Is(inner, 0) {
		refuse(Errorf("Expected HxW to be greater than 0, got 0"))
	}
	if sym.Ne(sym.Mod(m.Shape[1], g), symZero) {
		refuse(Errorf(
			"Expected number of channels in input to be divisible by num_groups, but got input of shape %s and num_groups=%s",
			ShapeText(m.Shape), g,
		))
	}
	wide := b.cast(x, OpMath(m.DType))
	grouped := b.reshape(wide, m.Shape[0], g, sym.Mul(sym.FloorDiv(m.Shape[1], g), numel(m.Shape[2:])))
	d := b.sub(grouped, b.mean(grouped, true, 2))
	y := b.mul(d, b.Emit(Rsqrt, b.add(b.mean(b.sq(d), true, 2), a.Eps.Arg)))
	y = b.view(y, m.Shape...)
	rank := len(m.Shape)
	if w := a.Weight.Value(); w != nil {
		y = b.mul(y, perChannel(b, w, rank))
	}
	if bias := a.Bias.Value(); bias != nil {
		y = b.add(y, perChannel(b, bias, rank))
	}
	return b.cast(y, m.DType)
}

func rmsNorm(b B, c *Call) Value {
	a := In[RmsNormArgs](c)
	x, m := a.Input.Value(), a.Input.Meta()
	refuse(checkNormalized(m, a.NormalizedShape.Ints(), a.Weight.Meta(), "weight"))
	wide := b.cast(x, OpMath(m.DType))
	eps := a.Eps.Arg
	if eps == nil {
		eps = map[DType]float64{Float64: 2.220446049250313e-16}[OpMath(m.DType)]
		if OpMath(m.DType) == Float32 {
			eps = 1.1920928955078125e-07
		}
	}
	y := b.mul(wide, b.Emit(Rsqrt, b.add(b.mean(b.sq(wide), true, lastDims(c)...), eps)))
	if w := a.Weight.Value(); w != nil {
		y = b.mul(y, w)
	}
	return b.cast(y, m.DType)
}

func localResponseNorm(b B, c *Call) Value {
	a := In[LocalResponseNormArgs](c)
	x, m, size := a.Input.Value(), a.Input.Meta(), a.Size.Int()
	if len(m.Shape) < 3 {
		refuse(&Error{
			Kind: "ValueError",
			Msg:  "Expected 3D or higher dimensionality                          input (got " + strconv.Itoa(len(m.Shape)) + " dimensions)",
		})
	}
	if sym.Is(numel(m.Shape), 0) {
		return b.Emit(Clone, x)
	}
	left, right := symHalf(size), symHalf(sym.Sub(size, symOne))
	flat := b.reshape(b.sq(x), m.Shape[0], symOne, m.Shape[1], numel(m.Shape[2:]))
	padded := b.Emit(ConstantPadNd, flat, []sym.Int{symZero, symZero, left, right})
	div := b.Emit(AvgPool2d, padded, []sym.Int{size, symOne}, []int{1, 1})
	div = b.pow(b.add(b.mul(b.view(div, m.Shape...), a.Alpha.Arg), a.K.Arg), a.Beta.Arg)
	return b.div(x, div)
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
	sum, dot := b.sum(g, true, dims...), b.sum(b.mul(g, xhat), true, dims...) // all that the three have in common
	scale := inv
	if w := a.Weight.Value(); w != nil {
		scale = b.mul(inv, perChannel(b, b.cast(w, wide), rank))
		out[1] = b.cast(b.reshape(dot, m.Shape[1]), w.TensorMeta().DType)
	}
	if bias := a.Bias.Value(); bias != nil {
		out[2] = b.cast(b.reshape(sum, m.Shape[1]), bias.TensorMeta().DType)
	}
	if a.Training.Bool() {
		n := count(m, dims)
		g = b.sub(b.sub(g, b.div(sum, n)), b.mul(xhat, b.div(dot, n)))
	}
	out[0] = b.cast(b.mul(g, scale), m.DType)
	return out
}

// TrainingNorm expresses a batch_norm that trains through a normalisation without running
// statistics, which has a derivative of its own (batchNormBack), and changes of the statistics, by
// which no gradient flows: quiet makes their operators. It reports false where types differ, as
// what is rounded then is part of the decomposition.
func TrainingNorm(bb, quiet Builder, c *Call) (Value, bool) {
	a := In[BatchNormArgs](c)
	x, m := a.Input.Value(), a.Input.Meta()
	if !a.Training.Bool() || len(m.Shape) < 2 || OpMath(m.DType) != m.DType ||
		mixedNorm(m, a.RunningMean, a.RunningVar, a.Weight, a.Bias) {
		return nil, false
	}
	y := bb.EmitN(NativeBatchNormLegit, x, a.Weight.Arg, a.Bias.Arg, true, a.Momentum.Arg, a.Eps.Arg)[0]
	b := B{quiet}
	dims := append([]int{0}, seq(2, len(m.Shape))...)
	mean := b.mean(x, true, dims...)
	v := b.mean(b.sq(b.sub(x, mean)), true, dims...)
	updateRunning(b, c, mean, v, count(m, dims), m.Shape[1])
	return y, true
}
