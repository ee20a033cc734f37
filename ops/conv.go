package ops

import (
	"fmt"

	"tcdbg/ops/sym"
)

// This file holds the convolutions: the functions of one to three dimensions
// and the general operator that they call.

const convTail = "int[] stride, int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor"

func convRows() []*Op {
	rows := []*Op{
		{
			ID: Convolution, Name: "convolution", Schema: "(Tensor input, Tensor weight, Tensor? bias, " + convTail, Tags: TagNotMethod,
			Meta: convolutionMeta, Backward: backOf(convolutionBack),
		},
		{
			ID: ConvolutionBackward, Name: "convolution_backward", Tags: TagInternal | TagNotMethod,
			Schema: "(Tensor grad_output, Tensor input, Tensor weight, int[] stride, int[] padding, int[] dilation, " +
				"bool transposed, int[] output_padding, int groups, bool[] output_mask) -> (Tensor, Tensor)",
			Meta: func(c *Call) ([]Result, error) {
				a := In[ConvolutionBackwardArgs](c)
				x, w := a.Input.Meta(), a.Weight.Meta()
				return []Result{NewMeta(x.DType, x.Device, x.Shape), NewMeta(w.DType, w.Device, w.Shape)}, nil
			},
			Backward: backOf(convolutionBackBack),
		},
	}
	for n := 1; n <= 3; n++ {
		rows = append(rows, convRow(n), convTransposeRow(n))
	}
	return rows
}

// convolutionBackBack is the derivative of a convolution's derivative, which is
// linear in each of gradient, input and weight: convolutions again.
func convolutionBackBack(b B, c *BackwardCall) []Value {
	a := In[ConvolutionBackwardArgs](c.Call)
	out := []Value{nil, nil, nil}
	g, x, w := a.GradOutput.Value(), a.Input.Value(), a.Weight.Value()
	ofInput, ofWeight := c.Grads[0], c.Grads[1]
	forward := func(x, w Value) Value {
		return b.Emit(
			Convolution, x, w, nil, a.Stride.Arg, a.Padding.Arg, a.Dilation.Arg, a.Transposed.Arg, a.OutputPadding.Arg,
			a.Groups.Arg,
		)
	}
	back := func(x, w Value, which int) Value {
		mask := []bool{which == 0, which == 1}
		return b.EmitN(
			ConvolutionBackward, g, x, w, a.Stride.Arg, a.Padding.Arg, a.Dilation.Arg, a.Transposed.Arg, a.OutputPadding.Arg,
			a.Groups.Arg, mask,
		)[which]
	}
	if ofInput != nil {
		out[0] = forward(ofInput, w)
		if c.Needs[2] {
			out[2] = back(ofInput, w, 1)
		}
	}
	if ofWeight != nil {
		y := forward(x, ofWeight)
		if out[0] != nil {
			y = b.add(out[0], y)
		}
		out[0] = y
		if c.Needs[1] {
			out[1] = back(x, ofWeight, 0)
		}
	}
	return out
}

func convRow(n int) *Op {
	schema := fmt.Sprintf(
		"(Tensor input, Tensor weight, Tensor? bias=None, int[%d] stride=1, int[%d]|str padding=0, int[%d] dilation=1, "+
			"int groups=1) -> Tensor",
		n, n, n,
	)
	return composite([]ID{Conv1d, Conv2d, Conv3d}[n-1], fmt.Sprintf("conv%dd", n), schema, TagNN|TagNotMethod|TagComplex,
		func(b B, c *Call) Value {
			a := In[ConvArgs](c)
			padding := a.Padding.Ints()
			x := a.Input.Value()
			if mode, ok := a.Padding.Arg.(string); ok {
				refuse(checkConvRank(a.Input.Value().TensorMeta(), a.Weight.Meta(), n))
				x, padding = namedPadding(b, x, mode, c, n)
			}
			return batchedConv(b, x, n, func(x Value) Value {
				return convolvedAs(b, x, c, a.Stride.Arg, padding, a.Dilation.Arg, false, make([]sym.Int, n), a.Groups.Arg)
			})
		})
}

// convolvedAs is the convolution of x with the weight and bias of a call. Of complex
// numbers it is three real ones, as in PyTorch: a of the real parts, b of the
// imaginary ones and c of their sums give a-b and c-a-b.
func convolvedAs(b B, x Value, c *Call, rest ...Arg) Value {
	a := In[InputWeightBiasArgs](c)
	emit := func(x, w Value, bias Arg) Value {
		return b.Emit(Convolution, append([]Arg{x, w, bias}, rest...)...)
	}
	if !x.TensorMeta().DType.IsComplex() {
		return emit(x, a.Weight.Value(), a.Bias.Arg)
	}
	xr, xi, wr, wi := complexPart(b, x, 0), complexPart(b, x, 1), complexPart(b, a.Weight.Value(), 0), complexPart(b, a.Weight.Value(), 1)
	var first, last Arg
	if bias := a.Bias.Value(); bias != nil {
		first, last = complexPart(b, bias, 0), b.add(complexPart(b, bias, 0), complexPart(b, bias, 1))
	}
	re, im := emit(xr, wr, first), emit(xi, wi, nil)
	both := emit(b.add(xr, xi), b.add(wr, wi), last)
	return b.Emit(Complex, b.sub(re, im), b.sub(b.sub(both, re), im))
}

// namedPadding is padding "same" or "valid"; an odd total is padded on the
// right beforehand.
func namedPadding(b B, x Value, mode string, c *Call, n int) (Value, []sym.Int) {
	a := In[ConvArgs](c)
	pad := make([]sym.Int, n)
	switch mode {
	case "valid":
		return x, pad
	case "same":
	default:
		refuse(Errorf("Invalid padding string: '%s'", mode))
	}
	w, dil, stride := a.Weight.Meta(), a.Dilation.Ints(), a.Stride.Ints()
	var extra []sym.Int
	odd := false
	for i := range n {
		if !sym.Is(stride[i], 1) {
			refuse(Errorf("padding='same' is not supported for strided convolutions"))
		}
		total := sym.Mul(dil[i], sym.Sub(w.Shape[2+i], symOne))
		pad[i] = symHalf(total)
		more := sym.Sub(total, sym.Mul(sym.C(2), pad[i]))
		odd = odd || sym.Ne(more, symZero)
		extra = append([]sym.Int{symZero, more}, extra...)
	}
	if odd {
		x = b.Emit(ConstantPadNd, x, extra)
	}
	return x, pad
}

// batchedConv gives an input without batch dimension one, and takes it away.
func batchedConv(b B, x Value, n int, f func(Value) Value) Value {
	if len(x.TensorMeta().Shape) == n+1 {
		return b.squeeze(f(b.unsqueeze(x, 0)), 0)
	}
	if got := len(x.TensorMeta().Shape); got != n+2 {
		refuse(Errorf(
			"Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of size: %s", n+1, n+2, n,
			ShapeText(x.TensorMeta().Shape),
		))
	}
	return f(x)
}

func convTransposeRow(n int) *Op {
	schema := fmt.Sprintf(
		"(Tensor input, Tensor weight, Tensor? bias=None, int[%d] stride=1, int[%d] padding=0, int[%d] output_padding=0, "+
			"int groups=1, int[%d] dilation=1) -> Tensor",
		n, n, n, n,
	)
	return composite([]ID{ConvTranspose1d, ConvTranspose2d, ConvTranspose3d}[n-1], fmt.Sprintf("conv_transpose%dd", n), schema,
		TagNN|TagNotMethod|TagComplex, func(b B, c *Call) Value {
			a := In[ConvTransposeArgs](c)
			return batchedConv(b, a.Input.Value(), n, func(x Value) Value {
				return convolvedAs(b, x, c, a.Stride.Arg, a.Padding.Arg, a.Dilation.Arg, true, a.OutputPadding.Arg, a.Groups.Arg)
			})
		})
}

// checkConvRank refuses an input or a weight of another rank than a convolution
// over n dimensions takes.
func checkConvRank(x, w *TensorMeta, n int) error {
	if r := len(x.Shape); r != n+1 && r != n+2 {
		return Errorf(
			"Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of size: %s", n+1, n+2, n,
			ShapeText(x.Shape),
		)
	}
	if len(w.Shape) != n+2 {
		return Errorf(
			"Expected %d-dimensional input for %d-dimensional weight%s, but got %d-dimensional input of size %s instead",
			len(w.Shape), len(w.Shape), ShapeText(w.Shape), n+2, ShapeText(x.Shape),
		)
	}
	return nil
}

// checkGroups refuses a weight whose filters do not fall into the groups.
func checkGroups(w *TensorMeta, groups sym.Int) error {
	switch {
	case sym.Lt(w.Shape[0], groups):
		return Errorf(
			"Given groups=%s, expected weight to be at least %s at dimension 0, but got weight of size %s instead",
			groups, groups, ShapeText(w.Shape),
		)
	case sym.Ne(sym.Mod(w.Shape[0], groups), symZero):
		return Errorf(
			"Given groups=%s, expected weight to be divisible by %s at dimension 0, but got weight of size [%s] instead",
			groups, groups, ShapeText(w.Shape),
		)
	}
	return nil
}

func convolutionMeta(c *Call) ([]Result, error) {
	a := In[ConvolutionArgs](c)
	x, w, bias := a.Input.Meta(), a.Weight.Meta(), a.Bias.Meta()
	transposed, groups := a.Transposed.Bool(), a.Groups.Int()
	if len(w.Shape) != len(x.Shape) {
		return nil, Errorf(
			"Expected %d-dimensional input for %d-dimensional weight %s, but got %d-dimensional input of size %s instead",
			len(w.Shape), len(w.Shape), ShapeText(w.Shape), len(x.Shape), ShapeText(x.Shape),
		)
	}
	if x.DType != w.DType {
		return nil, Errorf("Input type (%s) and weight type (%s) should be the same", typeText(x.DType), typeText(w.DType))
	}
	if bias != nil && bias.DType != x.DType {
		return nil, Errorf("Input type (%s) and bias type (%s) should be the same", typeText(x.DType), typeText(bias.DType))
	}
	if sym.Le(groups, symZero) {
		return nil, Errorf("non-positive groups is not supported")
	}
	if err := checkGroups(w, groups); err != nil {
		return nil, err
	}
	in, out := sym.Mul(w.Shape[1], groups), w.Shape[0]
	if transposed {
		in, out = w.Shape[0], sym.Mul(w.Shape[1], groups)
	}
	if sym.Ne(x.Shape[1], in) {
		if transposed {
			return nil, Errorf(
				"Given transposed=1, weight of size %s, expected input%s to have %s channels, but got %s channels instead",
				ShapeText(w.Shape), ShapeText(x.Shape), in, x.Shape[1],
			)
		}
		return nil, Errorf(
			"Given groups=%s, weight of size %s, expected input%s to have %s channels, but got %s channels instead",
			groups, ShapeText(w.Shape), ShapeText(x.Shape), in, x.Shape[1],
		)
	}
	if bias != nil && (len(bias.Shape) != 1 || sym.Ne(bias.Shape[0], out)) {
		return nil, Errorf(
			"Given transposed=%v, weight of size %s, expected bias to be 1-dimensional with %s elements, but got bias of size %s instead",
			b2i(transposed), ShapeText(w.Shape), out, ShapeText(bias.Shape),
		)
	}
	shape := []sym.Int{x.Shape[0], out}
	stride, padding, dilation, extra := a.Stride.Ints(), a.Padding.Ints(), a.Dilation.Ints(), a.OutputPadding.Ints()
	for i := range len(x.Shape) - 2 {
		if sym.Le(stride[i], symZero) {
			return nil, Errorf("non-positive stride is not supported")
		}
		if sym.Lt(padding[i], symZero) {
			return nil, Errorf("negative padding is not supported")
		}
		if sym.Le(dilation[i], symZero) {
			return nil, Errorf("dilation should be greater than zero, but got %s", ShapeText(dilation))
		}
		if sym.Lt(extra[i], symZero) {
			return nil, Errorf("negative output_padding is not supported")
		}
		reach := sym.Add(sym.Mul(dilation[i], sym.Sub(w.Shape[2+i], symOne)), symOne)
		n := x.Shape[2+i]
		if transposed {
			n = sym.Add(sym.Mul(sym.Sub(n, symOne), stride[i]), sym.Sub(reach, sym.Mul(sym.C(2), padding[i])))
			n = sym.Add(n, extra[i])
		} else {
			padded := sym.Add(n, sym.Mul(sym.C(2), padding[i]))
			if sym.Lt(padded, reach) {
				return nil, Errorf(
					"Calculated padded input size per channel: (%s). Kernel size: (%s). Kernel size can't be greater than actual "+
						"input size",
					paddedText(x, padding), sizesText(w.Shape[2:]),
				)
			}
			n = sym.Add(sym.FloorDiv(sym.Sub(padded, reach), stride[i]), symOne)
		}
		shape = append(shape, n)
	}
	m := NewMeta(x.DType, x.Device, shape)
	if !IsContiguous(x) && isChannelsLast(x) || !IsContiguous(w) && isChannelsLast(w) {
		m.Stride = ChannelsLastStrides(shape)
	}
	return one(m), nil
}

func typeText(d DType) string { return "torch." + d.ScalarType() + "Tensor" }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func sizesText(s []sym.Int) string {
	text := ""
	for i, x := range s {
		if i > 0 {
			text += " x "
		}
		text += x.String()
	}
	return text
}

func paddedText(x *TensorMeta, padding []sym.Int) string {
	out := cloneInts(x.Shape[2:])
	for i := range out {
		out[i] = sym.Add(out[i], sym.Mul(sym.C(2), padding[i]))
	}
	return sizesText(out)
}

func convolutionBack(b B, c *BackwardCall) []Value {
	a := In[ConvolutionArgs](c.Call)
	out := []Value{nil, nil, nil}
	g := c.Grads[0]
	if g == nil {
		return out
	}
	if c.Needs[0] || c.Needs[1] {
		gs := b.EmitN(
			ConvolutionBackward, g, a.Input.Value(), a.Weight.Value(), a.Stride.Arg, a.Padding.Arg, a.Dilation.Arg,
			a.Transposed.Arg, a.OutputPadding.Arg, a.Groups.Arg, []bool{c.Needs[0], c.Needs[1]},
		)
		if c.Needs[0] {
			out[0] = gs[0]
		}
		if c.Needs[1] {
			out[1] = gs[1]
		}
	}
	if a.Bias.Value() != nil && c.Needs[2] {
		n := len(g.TensorMeta().Shape)
		out[2] = b.sum(g, false, append([]int{0}, seq(2, n)...)...)
	}
	return out
}
