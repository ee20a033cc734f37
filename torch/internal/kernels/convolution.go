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

func newConvolution(a *ops.ConvolutionArgs, d ops.DType, outShape []int) (c *conv.Call, x, w *strided.Array) {
	x, w = strided.Dense(array(a.Input), d), strided.Dense(array(a.Weight), d)
	c = &conv.Call{
		Stride: wholes(a.Stride), Pad: wholes(a.Padding), Dilation: wholes(a.Dilation),
		Transposed: a.Transposed.Bool(), Groups: whole(a.Groups),
		Batch: x.Shape[0], InCh: x.Shape[1], OutCh: outShape[1], InSize: x.Shape[2:], OutSize: outShape[2:], Kernel: w.Shape[2:],
	}
	c.InPer, c.OutPer = c.InCh/c.Groups, c.OutCh/c.Groups
	given := array(a.Input).DType
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
	a := ops.In[ops.ConvolutionArgs](k.Call)
	c, x, w := newConvolution(a, d, out.Shape)
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
	if b := array(a.Bias); b != nil && res.Numel() > 0 {
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
	a := ops.In[ops.ConvolutionBackwardArgs](k.Call)
	grad := strided.Dense(array(a.GradOutput), d)
	c, x, w := newConvolution(&ops.ConvolutionArgs{
		Input: a.Input, Weight: a.Weight, Stride: a.Stride, Padding: a.Padding, Dilation: a.Dilation, Transposed: a.Transposed,
		Groups: a.Groups,
	}, d, grad.Shape)
	mask := a.OutputMask.Arg.([]bool)
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
