package kernels

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/conv"
	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/strided"
)

// This file holds convolution; package conv computes it.

func convKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{ops.Convolution: convolutionKernel, ops.ConvolutionBackward: convolutionBackKernel}
}

func newConvolution(k *Call, xi int, d ops.DType, outShape []int) (c *conv.Call, x, w *strided.Array) {
	// The weight follows the input; the backward operator has no bias.
	x, w = strided.Dense(k.in(xi), d), strided.Dense(k.in(xi+1), d)
	base := xi + 2
	if xi == 0 {
		base = 3
	}
	c = &conv.Call{
		Stride: k.nums(base), Pad: k.nums(base + 1), Dilation: k.nums(base + 2),
		Transposed: k.Bool(base + 3), Groups: k.num(base + 5),
		Batch: x.Shape[0], InCh: x.Shape[1], OutCh: outShape[1], InSize: x.Shape[2:], OutSize: outShape[2:], Kernel: w.Shape[2:],
	}
	c.InPer, c.OutPer = c.InCh/c.Groups, c.OutCh/c.Groups
	given := k.in(xi).DType
	c.Half = given.IsFloat() && given.Size() == 2
	c.Round = func(v float32) float32 { return strided.RoundTo(given, v) }
	return c, x, w
}

func computeType(d ops.DType) ops.DType {
	if d.IsFloat() {
		return ops.OpMath(d)
	}
	return ops.Int64
}

func convolutionKernel(k *Call) {
	out := k.out()
	d := computeType(out.DType)
	c, x, w := newConvolution(k, 0, d, out.Shape)
	res := out
	if out.DType != d || !out.IsContiguous() {
		res = strided.New(d, out.Shape)
	}
	switch d {
	case ops.Float32:
		if c.Implicit() {
			conv.Planes(c, strided.Slice[float32](x), strided.Slice[float32](w), strided.Slice[float32](res))
		} else {
			conv.Forward(c, strided.Slice[float32](x), strided.Slice[float32](w), strided.Slice[float32](res), gemm.Float32)
		}
	case ops.Float64:
		conv.Forward(c, strided.Slice[float64](x), strided.Slice[float64](w), strided.Slice[float64](res), gemm.Plain[float64])
	default:
		conv.Forward(c, strided.Slice[int64](x), strided.Slice[int64](w), strided.Slice[int64](res), gemm.Plain[int64])
	}
	if c.Transposed && out.DType != d && d == ops.Float32 { // the bias is added to what was rounded
		strided.Copy(out, res)
		strided.Copy(res, out)
	}
	if b := k.in(2); b != nil && res.Numel() > 0 {
		shape := make([]int, len(res.Shape))
		stride := make([]int, len(res.Shape))
		for i := range shape {
			shape[i] = 1
		}
		shape[1], stride[1] = b.Shape[0], b.Stride[0]
		bias := strided.Over(b.Storage, b.DType, shape, stride, b.Offset)
		accumulateInto(res, bias, oneArg)
	}
	if res != out {
		strided.Copy(out, res)
	}
}

func convolutionBackKernel(k *Call) {
	d := ops.OpMath(k.Outs[0].DType)
	grad := strided.Dense(k.in(0), d)
	c, x, w := newConvolution(k, 1, d, grad.Shape)
	mask := k.Args[9].([]bool)
	gx, gw := k.Outs[0], k.Outs[1]
	dx, dw := gx, gw
	if gx.DType != d || !gx.IsContiguous() {
		dx = strided.New(d, gx.Shape)
	}
	if gw.DType != d || !gw.IsContiguous() {
		dw = strided.New(d, gw.Shape)
	}
	switch {
	case d == ops.Float64:
		conv.Backward(
			c, strided.Slice[float64](x), strided.Slice[float64](w), strided.Slice[float64](grad),
			strided.Slice[float64](dx), strided.Slice[float64](dw), mask, gemm.Plain[float64],
		)
	case c.Implicit() && grad.Numel() > 0:
		conv.BackwardFloat32(
			c, strided.Slice[float32](x), strided.Slice[float32](w), strided.Slice[float32](grad),
			strided.Slice[float32](dx), strided.Slice[float32](dw), mask,
		)
	default:
		conv.Backward(
			c, strided.Slice[float32](x), strided.Slice[float32](w), strided.Slice[float32](grad),
			strided.Slice[float32](dx), strided.Slice[float32](dw), mask, gemm.Float32,
		)
	}
	if dx != gx {
		strided.Copy(gx, dx)
	}
	if dw != gw {
		strided.Copy(gw, dw)
	}
}
