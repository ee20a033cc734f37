package ops

import (
	"fmt"

	"tcdbg/ops/sym"
)

// This file holds what undoes max pooling.

func unpoolRows() []*Op {
	var rows []*Op
	for n := 1; n <= 3; n++ {
		rows = append(rows, maxUnpoolRow(n))
	}
	return append(rows, composite(MaxPool2dIndicesBackward, "max_pool2d_with_indices_backward",
		"(Tensor grad_output, Tensor self, int[2] kernel_size, int[2]? stride, int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor", TagInternal|TagNotMethod, func(b B, c *Call) Value {
			a := In[MaxPool2dIndicesBackwardArgs](c)
			m, g := a.Self.Meta(), a.GradOutput.Value()
			at := len(m.Shape) - 2
			flat := append(cloneInts(m.Shape[:at]), numel(m.Shape[at:]))
			cells := append(cloneInts(m.Shape[:at]), numel(a.GradOutput.Meta().Shape[at:]))
			zero := b.zeros(NewMeta(m.DType, m.Device, flat))
			out := b.view(b.Emit(ScatterAdd, zero, at, b.reshape(a.Indices.Value(), cells...), b.reshape(g, cells...)), m.Shape...)
			// What was pooled has a gradient, of zero.
			return b.add(out, b.mask(a.Self.Value(), b.full(nil, 0, NewMeta(Bool, m.Device, nil))))
		}))
}

// maxUnpoolRow puts each element where its index says, zero elsewhere.
func maxUnpoolRow(n int) *Op {
	name := fmt.Sprintf("max_unpool%dd", n)
	schema := fmt.Sprintf(
		"(Tensor input, Tensor indices, int[%d] kernel_size, int[%d]? stride=None, int[%d] padding=0, int[]? output_size=None) -> Tensor",
		n, n, n,
	)
	return composite([]ID{MaxUnpool1d, MaxUnpool2d, MaxUnpool3d}[n-1], name, schema, TagNN|TagNotMethod, func(b B, c *Call) Value {
		a := In[InputIndicesArgs](c)
		m, im := a.Input.Meta(), a.Indices.Meta()
		if im.DType != Int64 {
			refuse(Errorf("elements in indices should be type int64 but got: %s", im.DType.ScalarType()))
		}
		if !equalShape(m.Shape, im.Shape) {
			seen := func(s []sym.Int) string { // one dimension is unpooled as two
				if n == 1 && len(s) > 0 {
					s = inserted(s, len(s)-1, symOne)
				}
				return ShapeText(s)
			}
			refuse(Errorf(
				"Expected shape of indices to be same as that of the input tensor (%s) but got indices tensor with shape: %s",
				seen(m.Shape), seen(im.Shape),
			))
		}
		if r := len(m.Shape); r != n+1 && r != n+2 {
			flat, lead := max(n, 2), 0
			if n == 1 { // one dimension is unpooled as two
				lead = 1
			}
			refuse(Errorf(
				"Input to max_unpooling%dd should be a %dd or %dd Tensor, but got a tensor with %d dimensions.", flat,
				flat+1, flat+2, r+lead,
			))
		}
		at := len(m.Shape) - n
		size := unpooledSize(c, n, at)
		lead := m.Shape[:at]
		flat := append(cloneInts(lead), numel(size))
		cells := append(cloneInts(lead), numel(m.Shape[at:]))
		zero := b.zeros(NewMeta(m.DType, m.Device, flat))
		out := b.Emit(Scatter, zero, at, b.reshape(a.Indices.Value(), cells...), b.reshape(a.Input.Value(), cells...))
		return b.view(out, append(cloneInts(lead), size...)...)
	})
}

// unpooledSize is the size that was pooled, or the one asked for, which must
// lie within a stride of it.
func unpooledSize(c *Call, n, at int) []sym.Int {
	a := In[MaxUnpoolArgs](c)
	m := a.Input.Meta()
	kernel, stride, pad := a.KernelSize.Ints(), a.Stride.Ints(), a.Padding.Ints()
	if len(stride) == 0 {
		stride = kernel
	}
	for _, s := range stride {
		if n == 3 && sym.Le(s, symZero) {
			refuse(Errorf("strides should be greater than zero, but got stride: %s", ShapeText(stride)))
		}
	}
	size := make([]sym.Int, n)
	for i := range size {
		size[i] = sym.Add(sym.Sub(sym.Mul(sym.Sub(m.Shape[at+i], symOne), stride[i]), sym.Mul(sym.C(2), pad[i])), kernel[i])
	}
	want := a.OutputSize.Ints()
	if want == nil {
		return size
	}
	if len(want) == n+2 {
		want = want[2:]
	}
	if len(want) != n {
		refuse(&Error{
			Kind: "ValueError",
			Msg: fmt.Sprintf(
				"output_size should be a sequence containing %d or %d elements, but it has a length of '%d'", n, n+2,
				len(want),
			),
		})
	}
	for i, w := range want {
		lo, hi := sym.Sub(size[i], stride[i]), sym.Add(size[i], stride[i])
		if sym.Le(w, lo) || sym.Ge(w, hi) {
			refuse(&Error{
				Kind: "ValueError",
				Msg:  fmt.Sprintf("invalid output_size %s (dim %d must be between %s and %s)", ShapeText(want), i, lo, hi),
			})
		}
	}
	return want
}
