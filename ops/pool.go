package ops

import (
	"fmt"
	"math"
	"strings"

	"tcdbg/ops/sym"
)

// This file holds the poolings of one to three dimensions, and what undoes max pooling.

// The operators of one, two and three dimensions.
var (
	maxPools           = [...]ID{MaxPool1d, MaxPool2d, MaxPool3d}
	maxPoolIndices     = [...]ID{MaxPool1dIndices, MaxPool2dIndices, MaxPool3dIndices}
	avgPools           = [...]ID{AvgPool1d, AvgPool2d, AvgPool3d}
	adaptiveAvgPools   = [...]ID{AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d}
	adaptiveMaxPools   = [...]ID{AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d}
	adaptiveMaxIndices = [...]ID{AdaptiveMaxPool1dIndices, AdaptiveMaxPool2dIndices, AdaptiveMaxPool3dIndices}
)

func poolRows() []*Op {
	rows := []*Op{
		{
			ID: AvgPoolBackward, Name: "_avg_pool_backward", Tags: TagInternal | TagNotMethod,
			Schema: "(Tensor grad, Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, " +
				"bool count_include_pad, int? divisor_override) -> Tensor",
			Meta:      shapedLike(func(c *Call) TensorArg { return In[AvgPoolBackwardArgs](c).Self }),
			Decompose: tilesBack,
			// Both derivatives are linear: the way back of a way back is forward.
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[AvgPoolBackwardArgs](c.Call)
				op := avgPools[len(a.KernelSize.Ints())-1]
				g := linearBack(
					b, c, op, a.KernelSize.Arg, a.Stride.Arg, a.Padding.Arg, a.CeilMode.Arg, a.CountIncludePad.Arg,
					a.DivisorOverride.Arg,
				)
				return []Value{g, nil}
			}),
		},
		{
			ID: AdaptiveAvgPoolBackward, Name: "_adaptive_avg_pool_backward", Tags: TagInternal | TagNotMethod,
			Schema:    "(Tensor grad, Tensor self, int dims) -> Tensor",
			Meta:      shapedLike(func(c *Call) TensorArg { return In[AdaptiveAvgPoolBackwardArgs](c).Self }),
			Decompose: meansBack,
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[AdaptiveAvgPoolBackwardArgs](c.Call)
				n, shape := a.Dims.Num(), a.Grad.Meta().Shape
				op := adaptiveAvgPools[n-1]
				return []Value{linearBack(b, c, op, shape[len(shape)-n:]), nil}
			}),
		},
	}
	for n := 1; n <= 3; n++ {
		rows = append(
			rows, maxPoolRow(n), maxPoolIndicesRow(n), avgPoolRow(n), adaptiveAvgRow(n), adaptiveMaxRow(n),
			adaptiveMaxIndicesRow(n),
		)
	}
	return rows
}

// linearBack runs an operator on the gradient of its own derivative.
func linearBack(b B, c *BackwardCall, op ID, rest ...Arg) Value {
	if c.Grads[0] == nil || !c.Needs[0] {
		return nil
	}
	return b.Emit(op, append([]Arg{c.Grads[0]}, rest...)...)
}

// shapedLike is the rule of a derivative that has the shape of one of its arguments.
func shapedLike(which func(c *Call) TensorArg) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		m := which(c).Meta()
		return one(NewMeta(m.DType, m.Device, m.Shape)), nil
	}
}

// pooledSize is the number of windows along one dimension.
func pooledSize(n, kernel, stride, pad, dilation sym.Int, ceil bool) sym.Int {
	reach := sym.Add(sym.Mul(dilation, sym.Sub(kernel, symOne)), symOne)
	span := sym.Sub(sym.Add(n, sym.Mul(sym.C(2), pad)), reach)
	if !ceil {
		return sym.Add(sym.FloorDiv(span, stride), symOne)
	}
	out := sym.Add(sym.FloorDiv(sym.Add(span, sym.Sub(stride, symOne)), stride), symOne)
	if sym.Ge(sym.Mul(sym.Sub(out, symOne), stride), sym.Add(n, pad)) {
		out = sym.Sub(out, symOne)
	}
	return out
}

// PoolGeometry normalises kernel, stride, padding and dilation of a pooling
// over n dimensions; an empty stride is the kernel's size.
func PoolGeometry(c *Call, n int, dilated bool) (kernel, stride, pad, dilation []sym.Int) {
	a := In[PoolWindowArgs](c)
	kernel, stride, pad = a.KernelSize.Ints(), a.Stride.Ints(), a.Padding.Ints()
	if len(stride) == 0 {
		stride = kernel
	}
	dilation = make([]sym.Int, n)
	for i := range dilation {
		dilation[i] = symOne
	}
	if dilated {
		dilation = In[MaxPoolIndicesArgs](c).Dilation.Ints()
	}
	return kernel, stride, pad, dilation
}

func poolMeta(c *Call, n int, dilated, ceil bool) ([]sym.Int, error) {
	m := In[InputArgs](c).Input.Meta()
	if r := len(m.Shape); r != n+1 && r != n+2 {
		return nil, poolInputError(c, n)
	}
	kernel, stride, pad, dilation := PoolGeometry(c, n, dilated)
	shape := cloneInts(m.Shape)
	at := len(shape) - n
	for i := range n {
		if err := poolWindow(c, n, kernel[i], stride[i], pad[i], dilation[i]); err != nil {
			return nil, err
		}
		shape[at+i] = pooledSize(m.Shape[at+i], kernel[i], stride[i], pad[i], dilation[i], ceil)
	}
	for i, s := range m.Shape { // only the batch may be empty
		if sym.Is(s, 0) && (i > 0 || len(m.Shape) == n+1) {
			return nil, poolInputError(c, n)
		}
	}
	for _, s := range shape[at:] {
		if sym.Gt(s, symZero) {
			continue
		}
		if n == 1 && dilated {
			return nil, Errorf("max_pool1d() Invalid computed output size: %s", s)
		}
		return nil, Errorf(
			"Given input size: (%s). Calculated output size: (%s). Output size is too small", pooledText(m.Shape, n),
			pooledText(shape, n),
		)
	}
	return shape, nil
}

// poolInputError refuses an input of another rank, or an empty one.
func poolInputError(c *Call, n int) error {
	m, name := In[InputArgs](c).Input.Meta(), strings.TrimSuffix(c.Op.Name, "_with_indices")
	for i := len(m.Shape) - n - 1; n == 3 && i >= 0 && i < len(m.Shape); i++ {
		if sym.Is(m.Shape[i], 0) {
			return Errorf(
				"%s(): Expected input to have non-zero size for non-batch dimensions, but input has sizes %s with dimension %d being empty",
				name, ShapeText(m.Shape), i,
			)
		}
	}
	return Errorf(
		"%s: Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got:%s", name, n+1,
		n+2, ShapeText(m.Shape),
	)
}

// poolWindow refuses windows that are none, in the words of the function: those
// of one dimension name it.
func poolWindow(c *Call, n int, kernel, stride, pad, dilation sym.Int) error {
	for i, v := range []sym.Int{kernel, stride, dilation} {
		if sym.Gt(v, symZero) {
			continue
		}
		if n == 1 {
			return Errorf(
				"%s() %s must be greater than zero, but got %s", strings.TrimSuffix(c.Op.Name, "_with_indices"),
				[]string{"kernel_size", "stride", "dilation"}[i], v,
			)
		}
		return Errorf("%s should be greater than zero, but got %s", []string{"kernel size", "stride", "dilation"}[i], v)
	}
	if sym.Lt(pad, symZero) {
		return Errorf("pad must be non-negative, but got pad: %s", pad)
	}
	if sym.Gt(sym.Mul(sym.C(2), pad), sym.Add(sym.Mul(dilation, sym.Sub(kernel, symOne)), symOne)) {
		return Errorf(
			"pad should be at most half of effective kernel size, but got pad=%s, kernel_size=%s and dilation=%s", pad,
			kernel, dilation,
		)
	}
	return nil
}

// pooledText shows channels and sizes of what is pooled; one dimension is pooled
// as the second of two.
func pooledText(s []sym.Int, n int) string {
	s = s[len(s)-n-1:]
	if n == 1 {
		s = inserted(s, 1, symOne)
	}
	parts := make([]string, len(s))
	for i, x := range s {
		parts[i] = x.String()
	}
	return strings.Join(parts, "x")
}

func maxPoolSchema(n int) string {
	return fmt.Sprintf(
		"(Tensor input, int[%d] kernel_size, int[%d]? stride=None, int[%d] padding=0, int[%d] dilation=1, bool ceil_mode=False",
		n, n, n, n,
	)
}

func maxPoolRow(n int) *Op {
	return composite(maxPools[n-1], fmt.Sprintf("max_pool%dd", n), maxPoolSchema(n)+", bool return_indices=False) -> Tensor",
		TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[MaxPoolArgs](c)
			if a.ReturnIndices.Bool() {
				refuse(Errorf("%s: return_indices gives two results: call %s_with_indices", c.Op.Name, c.Op.Name))
			}
			return b.EmitN(maxPoolIndices[n-1], a.Input.Arg, a.KernelSize.Arg, a.Stride.Arg, a.Padding.Arg, a.Dilation.Arg,
				a.CeilMode.Arg)[0]
		})
}

func maxPoolIndicesRow(n int) *Op {
	return &Op{
		ID: maxPoolIndices[n-1], Name: fmt.Sprintf("max_pool%dd_with_indices", n), Tags: TagNN | TagNotMethod,
		Schema: maxPoolSchema(n) + ") -> (Tensor, Tensor)",
		Meta: func(c *Call) ([]Result, error) {
			a := In[MaxPoolIndicesArgs](c)
			shape, err := poolMeta(c, n, true, a.CeilMode.Bool())
			if err != nil {
				return nil, err
			}
			return pooledResults(a.Input.Meta(), shape), nil
		},
		Backward: indexedPoolBack(n),
	}
}

func pooledResults(m *TensorMeta, shape []sym.Int) []Result {
	a, i := NewMeta(m.DType, m.Device, shape), NewMeta(Int64, m.Device, shape)
	if !IsContiguous(m) && isChannelsLast(m) {
		a.Stride = ChannelsLastStrides(shape)
		i.Stride = a.Stride
	}
	return []Result{a, i}
}

// indexedPoolBack adds each gradient to the element that won its window: the
// indices count through the last n dimensions.
func indexedPoolBack(n int) backFn {
	return backOf(func(b B, c *BackwardCall) []Value {
		g := c.Grads[0]
		if g == nil {
			return []Value{nil}
		}
		m := In[InputArgs](c.Call).Input.Meta()
		at := len(m.Shape) - n
		lead := m.Shape[:at]
		flat := append(cloneInts(lead), numel(m.Shape[at:]))
		out := append(cloneInts(lead), numel(g.TensorMeta().Shape[at:]))
		d := NewMeta(g.TensorMeta().DType, m.Device, flat)
		r := b.Emit(ScatterAdd, b.zeros(d), at, b.reshape(c.Outs[1], out...), b.reshape(g, out...))
		return []Value{b.view(r, m.Shape...)}
	})
}

func avgPoolRow(n int) *Op {
	return &Op{
		ID: avgPools[n-1], Name: fmt.Sprintf("avg_pool%dd", n), Tags: TagNN | TagNotMethod,
		Schema: fmt.Sprintf(
			"(Tensor input, int[%d] kernel_size, int[%d]? stride=None, int[%d] padding=0, bool ceil_mode=False, "+
				"bool count_include_pad=True, int? divisor_override=None) -> Tensor",
			n, n, n,
		),
		Meta: func(c *Call) ([]Result, error) {
			a := In[AvgPoolArgs](c)
			shape, err := poolMeta(c, n, false, a.CeilMode.Bool())
			if err != nil {
				return nil, err
			}
			if !a.DivisorOverride.IsNone() && sym.Is(a.DivisorOverride.Int(), 0) {
				return nil, Errorf("divisor must be not zero")
			}
			return pooledResults(a.Input.Meta(), shape)[:1], nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[AvgPoolArgs](c.Call)
			if c.Grads[0] == nil {
				return []Value{nil}
			}
			kernel, stride, pad, _ := PoolGeometry(c.Call, n, false)
			return []Value{b.Emit(AvgPoolBackward, c.Grads[0], a.Input.Value(), kernel, stride, pad, a.CeilMode.Arg,
				a.CountIncludePad.Arg, a.DivisorOverride.Arg)}
		}),
	}
}

// NoSize stands for None in a list of sizes: the size stays as it is.
const NoSize = math.MinInt32

// adaptiveShape replaces the last n sizes; NoSize keeps one.
func adaptiveShape(c *Call, n int, average bool) ([]sym.Int, error) {
	a := In[InputOutputSizeArgs](c)
	m := a.Input.Meta()
	if r := len(m.Shape); r != n+1 && r != n+2 {
		return nil, Errorf("%s(): Expected %dD or %dD tensor, but got %s", c.Op.Name, n+1, n+2, ShapeText(m.Shape))
	}
	if got := len(a.OutputSize.Ints()); got != n {
		return nil, Errorf("%s: output_size must be %d, got %d sizes", c.Op.Name, n, got)
	}
	shape := cloneInts(m.Shape)
	for i, s := range a.OutputSize.Ints() {
		v, known := s.IsConst()
		switch {
		case known && v == NoSize:
			continue
		case known && v < 0:
			sizes := a.OutputSize.Ints()
			if n == 1 {
				sizes = []sym.Int{symOne, s}
			}
			if !average {
				sizes = append(cloneInts(m.Shape[:len(m.Shape)-n]), a.OutputSize.Ints()...)
				return nil, Errorf("Trying to create tensor with negative dimension %d: %s", v, ShapeText(sizes))
			}
			return nil, Errorf(
				"adaptive_avg_pool%dd: elements of output_size must be greater than or equal to 0 but received %s",
				max(n, 2), ShapeText(sizes),
			)
		}
		shape[len(shape)-n+i] = s
	}
	return shape, nil
}

func adaptiveAvgRow(n int) *Op {
	return &Op{
		ID: adaptiveAvgPools[n-1], Name: fmt.Sprintf("adaptive_avg_pool%dd", n), Tags: TagNN | TagNotMethod,
		Schema: fmt.Sprintf("(Tensor input, int[%d] output_size) -> Tensor", n),
		Meta: func(c *Call) ([]Result, error) {
			shape, err := adaptiveShape(c, n, true)
			if err != nil {
				return nil, err
			}
			return pooledResults(In[InputArgs](c).Input.Meta(), shape)[:1], nil
		},
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			if c.Grads[0] == nil {
				return []Value{nil}
			}
			return []Value{b.Emit(AdaptiveAvgPoolBackward, c.Grads[0], In[InputArgs](c.Call).Input.Value(), n)}
		}),
	}
}

func adaptiveMaxRow(n int) *Op {
	return composite(adaptiveMaxPools[n-1], fmt.Sprintf("adaptive_max_pool%dd", n),
		fmt.Sprintf("(Tensor input, int[%d] output_size, bool return_indices=False) -> Tensor", n), TagNN|TagNotMethod,
		func(b B, c *Call) Value {
			a := In[InputOutputSizeArgs](c)
			return b.EmitN(adaptiveMaxIndices[n-1], a.Input.Arg, a.OutputSize.Arg)[0]
		})
}

func adaptiveMaxIndicesRow(n int) *Op {
	return &Op{
		ID: adaptiveMaxIndices[n-1], Name: fmt.Sprintf("adaptive_max_pool%dd_with_indices", n), Tags: TagNN | TagNotMethod,
		Schema: fmt.Sprintf("(Tensor input, int[%d] output_size) -> (Tensor, Tensor)", n),
		Meta: func(c *Call) ([]Result, error) {
			shape, err := adaptiveShape(c, n, false)
			if err != nil {
				return nil, err
			}
			return pooledResults(In[InputArgs](c).Input.Meta(), shape), nil
		},
		Backward: indexedPoolBack(n),
	}
}

func unpoolRows() []*Op {
	var rows []*Op
	for n := 1; n <= 3; n++ {
		rows = append(rows, maxUnpoolRow(n))
	}
	return append(rows, composite(MaxPool2dIndicesBackward, "max_pool2d_with_indices_backward",
		"(Tensor grad_output, Tensor self, int[2] kernel_size, int[2]? stride, int[2] padding, int[2] dilation, bool ceil_mode, "+
			"Tensor indices) -> Tensor", TagInternal|TagNotMethod, func(b B, c *Call) Value {
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
