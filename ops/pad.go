package ops

import "tcdbg/ops/sym"

// This file holds padding, im2col and resampling.

func padRows() []*Op {
	return []*Op{
		{
			ID: ConstantPadNd, Name: "constant_pad_nd", Schema: "(Tensor self, int[] pad, Scalar value=0) -> Tensor",
			Tags: TagNotMethod | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[ConstantPadNdArgs](c)
				m := a.Self.Meta()
				shape, err := paddedShape(m, a.Pad.Ints())
				if err != nil {
					return nil, err
				}
				out := NewMeta(m.DType, m.Device, shape)
				if !IsContiguous(m) && isChannelsLast(m) {
					out.Stride = ChannelsLastStrides(shape)
				}
				return one(out), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				neg := cloneInts(In[ConstantPadNdArgs](c.Call).Pad.Ints())
				for i := range neg {
					neg[i] = sym.Neg(neg[i])
				}
				return []Value{b.Emit(ConstantPadNd, c.Grads[0], neg)}
			}),
		},
		composite(Pad, "pad", "(Tensor input, int[] pad, str mode='constant', Scalar? value=None) -> Tensor", TagNN|TagNotMethod,
			pad).and(TagComplex),
		composite(Im2col, "im2col", "(Tensor input, int[2] kernel_size, int[2] dilation=1, int[2] padding=0, "+
			"int[2] stride=1) -> Tensor", TagNN|TagNotMethod, im2col).and(TagComplex),
		composite(
			Interpolate, "interpolate",
			"(Tensor input, int[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? align_corners=None, "+
				"bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
			TagNN|TagNotMethod, interpolate,
		),
		composite(
			GridSample, "grid_sample",
			"(Tensor input, Tensor grid, str mode='bilinear', str padding_mode='zeros', bool? align_corners=None) -> Tensor",
			TagNN|TagNotMethod, gridSample,
		),
	}
}

func paddedShape(m *TensorMeta, pad []sym.Int) ([]sym.Int, error) {
	if len(pad)%2 != 0 {
		return nil, Errorf("Length of pad must be even but instead it equals %d", len(pad))
	}
	if len(pad)/2 > len(m.Shape) {
		return nil, Errorf(
			"Length of pad should be no more than twice the number of dimensions of the input. Pad length is %d while the input has "+
				"%d dimensions.",
			len(pad), len(m.Shape),
		)
	}
	shape := cloneInts(m.Shape)
	for i := range len(pad) / 2 {
		d := len(shape) - 1 - i
		shape[d] = sym.Add(shape[d], sym.Add(pad[2*i], pad[2*i+1]))
		if sym.Lt(shape[d], symZero) {
			return nil, Errorf(
				"The input size %s, plus negative padding %s and %s, resulted in a negative output size, "+
					"which is invalid. Check dimension %d of your input.",
				m.Shape[d], pad[2*i], pad[2*i+1], d,
			)
		}
	}
	return shape, nil
}

func pad(b B, c *Call) Value {
	a := In[PadArgs](c)
	x, list := a.Input.Value(), a.Pad.Ints()
	if len(list)%2 != 0 {
		refuse(Errorf("Padding length must be divisible by 2"))
	}
	if len(list) > 2*len(a.Input.Meta().Shape) {
		refuse(Errorf(
			"Padding length should be less than or equal to two times the input dimension but got padding length %d and input of "+
				"dimension %d",
			len(list), len(a.Input.Meta().Shape),
		))
	}
	if a.Mode.Str() == "constant" {
		v := a.Value.Arg
		if v == nil {
			v = 0
		}
		return b.Emit(ConstantPadNd, x, list, v)
	}
	if !a.Value.IsNone() && a.Value.Float() != 0 {
		refuse(Errorf("Padding mode \"%s\" doesn't take in value argument", a.Mode.Str()))
	}
	n := len(a.Input.Meta().Shape)
	d := a.Input.Meta().DType
	half := OpMath(d) != d
	if half && a.Mode.Str() != "circular" && len(list) > 2 {
		return padAtOnce(b, x, list, a.Mode.Str())
	}
	for i := range len(list) / 2 {
		if half && a.Mode.Str() == "circular" {
			x = wrapHalf(b, x, n-1-i, list[2*i], list[2*i+1])
			continue
		}
		x = padDim(b, x, n-1-i, list[2*i], list[2*i+1], a.Mode.Str())
	}
	return x
}

// padAtOnce picks the elements of all padded dimensions together: in half precision
// the sums of their gradients round, and so in PyTorch's order.
func padAtOnce(b B, x Value, list []sym.Int, mode string) Value {
	m := x.TensorMeta()
	n, k := len(m.Shape), len(list)/2
	places := b.arange(numel(m.Shape[n-k:]), m)
	places = b.view(places, m.Shape[n-k:]...)
	for i := range k {
		places = padDim(b, places, k-1-i, list[2*i], list[2*i+1], mode)
	}
	shape := places.TensorMeta().Shape
	flat := b.reshape(x, append(cloneInts(m.Shape[:n-k]), numel(m.Shape[n-k:]))...)
	out := b.Emit(IndexSelect, flat, n-k, b.reshape(places, numel(shape)))
	return b.view(out, append(cloneInts(m.Shape[:n-k]), shape...)...)
}

// wrapHalf wraps one dimension of half precision, whose gradient gets what comes from
// the end first, then what comes from the start.
func wrapHalf(b B, x Value, d int, left, right sym.Int) Value {
	x = padDim(b, x, d, sym.Min(left, symZero), sym.Min(right, symZero), "circular")
	n := x.TensorMeta().Shape[d]
	if sym.Gt(left, n) || sym.Gt(right, n) {
		refuse(Errorf("Padding value causes wrapping around more than once."))
	}
	before := sym.Max(left, symZero)
	if sym.Gt(before, symZero) {
		x = b.cat(d, b.slice(x, d, sym.Sub(n, before), n), x)
	}
	if sym.Gt(right, symZero) {
		x = b.cat(d, x, b.slice(x, d, before, sym.Add(before, right)))
	}
	return x
}

// padDim pads one dimension by picking positions: mirrored, repeated or wrapped.
func padDim(b B, x Value, d int, left, right sym.Int, mode string) Value {
	if mode == "replicate" && sym.Le(sym.Add(x.TensorMeta().Shape[d], sym.Min(left, right)), symZero) {
		// Cropped to nothing: the rest repeats the element at the other end.
		n := x.TensorMeta().Shape[d]
		at := b.Emit(Clamp, b.sub(b.arange(sym.Add(n, sym.Add(left, right)), x.TensorMeta()), left), 0, sym.Sub(n, symOne))
		return b.Emit(IndexSelect, x, d, at)
	}
	if sym.Lt(left, symZero) || sym.Lt(right, symZero) { // cropped first
		from, to := sym.Max(sym.Neg(left), symZero), sym.Add(x.TensorMeta().Shape[d], sym.Min(right, symZero))
		x = b.slice(x, d, from, to)
		left, right = sym.Max(left, symZero), sym.Max(right, symZero)
	}
	m := x.TensorMeta()
	n := m.Shape[d]
	at := b.sub(b.arange(sym.Add(n, sym.Add(left, right)), m), left)
	last := sym.Sub(n, symOne)
	switch mode {
	case "replicate":
		at = b.Emit(Clamp, at, 0, last)
	case "circular":
		if sym.Gt(left, n) || sym.Gt(right, n) {
			refuse(Errorf("Padding value causes wrapping around more than once."))
		}
		at = b.Emit(Remainder, at, n)
	case "reflect":
		if sym.Ge(left, n) || sym.Ge(right, n) {
			refuse(Errorf(
				"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding (%s, "+
					"%s) at dimension %d of input %s",
				left, right, d, ShapeText(m.Shape),
			))
		}
		at = b.sub(last, b.Emit(Abs, b.sub(last, b.Emit(Abs, at))))
	default:
		refuse(&Error{Kind: "NotImplementedError", Msg: "Unrecognised padding mode " + mode})
	}
	return b.Emit(IndexSelect, x, d, at)
}

// im2col lists the windows of an image as columns.
func im2col(b B, c *Call) Value {
	a := In[Im2colArgs](c)
	x := a.Input.Value()
	if len(a.Input.Meta().Shape) == 3 {
		return b.squeeze(b.Emit(Im2col, b.unsqueeze(x, 0), a.KernelSize.Arg, a.Dilation.Arg, a.Padding.Arg, a.Stride.Arg), 0)
	}
	if len(a.Input.Meta().Shape) != 4 {
		refuse(Errorf(
			"Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, but got: %s",
			ShapeText(a.Input.Meta().Shape),
		))
	}
	k, dil, pad, stride := a.KernelSize.Ints(), a.Dilation.Ints(), a.Padding.Ints(), a.Stride.Ints()
	x = b.Emit(ConstantPadNd, x, []sym.Int{pad[1], pad[1], pad[0], pad[0]})
	for i := range 2 {
		n := x.TensorMeta().Shape[2+2*i]
		out := sym.Add(sym.FloorDiv(sym.Sub(sym.Sub(n, sym.Mul(dil[i], sym.Sub(k[i], symOne))), symOne), stride[i]), symOne)
		if sym.Lt(out, symOne) {
			refuse(Errorf(
				"Given input with spatial size (%s, %s), kernel_size=(%s, %s), calculated shape of the array of sliding blocks is "+
					"too small (non-positive)",
				a.Input.Meta().Shape[2], a.Input.Meta().Shape[3], k[0], k[1],
			))
		}
		rows := b.unsqueeze(b.mul(b.arange(k[i], x.TensorMeta()), dil[i]), 1)
		at := b.add(rows, b.mul(b.arange(out, x.TensorMeta()), stride[i]))
		m := x.TensorMeta()
		flat := b.Emit(IndexSelect, x, 2+2*i, b.reshape(at, sym.Mul(k[i], out)))
		shape := append(cloneInts(m.Shape[:2+2*i]), k[i], out)
		x = b.view(flat, append(shape, m.Shape[3+2*i:]...)...)
	}
	s := x.TensorMeta().Shape // n, c, kh, oh, kw, ow
	x = b.permute(x, 0, 1, 2, 4, 3, 5)
	return b.reshape(x, s[0], sym.Mul(s[1], sym.Mul(s[2], s[4])), sym.Mul(s[3], s[5]))
}
