package lower

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers convolutions of one and two dimensions to products of the
// weight with the gathered image: Out[n, g, oc, oh*ow] = W[g, oc, k] * X[n, g, k, oh*ow].
// Transposed ones and those of three dimensions are in convimage.go.

// convolution lowers what has static sizes (the batch may be dynamic), and what can be written out; all else stays an
// eager call. A result that lies in another order than the product's is ordered by a loop.
func convolution(c *call) error {
	x, w, bias := c.self(), c.namedTensor("weight"), c.namedTensor("bias")
	s, ok := c.convShape(x, w)
	if ws, depthwise := c.depthwise(x, w); depthwise && (!ok || x.dtype != ops.Float32 || s.info.Width > longRow) {
		return c.stencil(x, w, bias, ws)
	}
	if x.dtype != ops.Float32 {
		return c.extern(ir.ReasonDType)
	}
	if c.flag("transposed") || len(x.shape) == 5 {
		return imageConv(c, x, w, bias)
	}
	if !ok {
		return c.extern(ir.ReasonArgs)
	}
	s.info.BFloat16 = OfBFloat16(c.n)
	m := c.meta()
	if bias == nil && c.contiguousResult() {
		c.convProduct(s, c.bindResult())
		return nil
	}
	prod := &tensor{dtype: m.DType, shape: m.Shape, stride: ops.ContiguousStrides(m.Shape)}
	prod.buf = c.l.newBuffer(m.DType, m.Shape, prod.stride)
	c.convProduct(s, prod)
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	if bias == nil {
		b.store(out.buf, out.stride, b.load(prod))
		return nil
	}
	b.store(out.buf, out.stride, b.add2(b.load(prod), b.load(perChannel(bias, len(m.Shape)))))
	return nil
}

// OfBFloat16 reports whether a convolution of float32 reads an image and a weight that were of bfloat16.
func OfBFloat16(n *graph.Node) bool {
	a := ops.In[ops.ConvolutionArgs](&ops.Call{Op: n.OpRow(), Args: n.Args})
	return wasBFloat16(a.Input.Arg) && wasBFloat16(a.Weight.Arg)
}

func wasBFloat16(v ops.Arg) bool {
	n, ok := v.(*graph.Node)
	if !ok || n.Op != ops.To || !n.IsTensor() || n.TensorMeta().DType != ops.Float32 {
		return false
	}
	from := ops.In[ops.SelfArgs](&ops.Call{Op: n.OpRow(), Args: n.Args}).Self
	return from.Meta().DType == ops.BFloat16
}

// perChannel is a vector seen as (channels, 1, ...), which broadcasts over the
// batch and the positions.
func perChannel(t *tensor, rank int) *tensor {
	v := *t
	one := sym.Const(1)
	v.shape, v.stride = []sym.Int{t.shape[0]}, []sym.Int{t.stride[0]}
	for range rank - 2 {
		v.shape, v.stride = append(v.shape, one), append(v.stride, sym.Int{})
	}
	return &v
}

// convShape is a convolution whose sizes are known.
type convShape struct {
	x, w         *tensor
	info         *ir.ConvInfo
	groups       int64
	inPer, rows  int64 // channels of one group, in and out
	outH         int64
	chanX        int64
	wOut, wInner int64 // weight's stride from output channel to output channel, and along k
	wNext        int64 // from group to group
}

// statics are the values of sizes; false where one is not known.
func statics(xs []sym.Int) ([]int64, bool) {
	out := make([]int64, len(xs))
	for i, x := range xs {
		v, ok := x.IsConst()
		if !ok {
			return nil, false
		}
		out[i] = v
	}
	return out, true
}

// convInts reads an int list argument; one number stands for all dimensions.
func (c *call) convInts(name string, dims int) ([]int64, bool) {
	var xs []sym.Int
	switch a := c.arg(name).(type) {
	case []sym.Int:
		xs = a
	case sym.Int:
		xs = []sym.Int{a}
	}
	v, ok := statics(xs)
	if !ok || len(v) != 1 && len(v) != dims {
		return nil, false
	}
	for len(v) < dims {
		v = append(v, v[0])
	}
	return v, true
}

// convShape reads the sizes; false where the template does not cover them.
func (c *call) convShape(x, w *tensor) (*convShape, bool) {
	rank := len(x.shape)
	dims := rank - 2
	if dims != 1 && dims != 2 || c.flag("transposed") {
		return nil, false
	}
	m := c.meta()
	if c.l.opt.Externs && !c.contiguousResult() {
		return nil, false
	}
	step, ok1 := c.convInts("stride", dims)
	pad, ok2 := c.convInts("padding", dims)
	dil, ok3 := c.convInts("dilation", dims)
	size, ok4 := statics(append(append([]sym.Int{}, x.shape[1:]...), x.stride[1:]...))
	kernel, ok5 := statics(append(append([]sym.Int{}, w.shape...), w.stride...))
	out, ok6 := statics(m.Shape[1:])
	g, isInt := c.arg("groups").(sym.Int)
	groups, ok7 := g.IsConst()
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 || !isInt || !ok7 {
		return nil, false
	}
	if dims == 1 { // an image of one row
		step, pad, dil = []int64{1, step[0]}, []int64{0, pad[0]}, []int64{1, dil[0]}
		size = []int64{size[0], 1, size[1], size[2], 0, size[3]}
		kernel = []int64{kernel[0], kernel[1], 1, kernel[2], kernel[3], kernel[4], kernel[5] * kernel[2], kernel[5]}
		out = []int64{out[0], 1, out[1]}
	}
	for _, n := range append(append([]int64{}, kernel[:4]...), out...) {
		if n == 0 {
			return nil, false
		}
	}
	// k walks the weight of one output channel evenly
	if kernel[6] != kernel[3]*kernel[7] && kernel[2] > 1 || kernel[5] != kernel[2]*kernel[3]*kernel[7] && kernel[1] > 1 {
		return nil, false
	}
	s := &convShape{
		x: x, w: w, groups: groups, inPer: kernel[1], rows: kernel[0] / groups, outH: out[1], chanX: size[3],
		wOut: kernel[4], wInner: kernel[7], wNext: kernel[0] / groups * kernel[4],
	}
	s.info = &ir.ConvInfo{
		Height: size[1], Width: size[2], ChanStride: size[3], RowStride: size[4], Stride: size[5],
		KH: kernel[2], KW: kernel[3], StepH: step[0], StepW: step[1], PadH: pad[0], PadW: pad[1], DilH: dil[0], DilW: dil[1], OutW: out[2],
		Block: 1, Lanes: 1,
	}
	s.flatten()
	return s, true
}

// contiguousResult reports whether the result lies as the template writes it.
func (c *call) contiguousResult() bool { return contiguous(c.meta()) }

func contiguous(m *ops.TensorMeta) bool { return sym.AllSame(ops.ContiguousStrides(m.Shape), m.Stride) }

// Reorders reports whether a graph has convolutions whose results lie in another order than the contiguous one.
func Reorders(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes(), func(n *graph.Node) bool {
		m, ok := n.Meta.(*ops.TensorMeta)
		return ok && n.Op == ops.Convolution && !contiguous(m)
	})
}

// flatten makes an image whose positions are independent and follow one another
// a single row, so that panels are copied whole.
func (s *convShape) flatten() {
	c := s.info
	if c.KH*c.KW == 1 && c.StepH*c.StepW == 1 && c.PadH+c.PadW == 0 && c.RowStride == c.Width*c.Stride {
		n := c.Height * c.Width
		c.Height, c.Width, c.OutW, s.outH, c.RowStride = 1, n, n, 1, 0
	}
}

// matrix is a convolution of one pixel whose window is the whole image, as in
// squeeze-and-excitation: a product of matrices whose weight is the right one. False where
// windows are no runs of numbers.
func (s *convShape) matrix(out *tensor) (x, w, prod *tensor, ok bool) {
	c := s.info
	step := c.Stride
	switch {
	case c.Uneven() || s.groups != 1 || s.outH*c.OutW != 1 || c.PadH+c.PadW != 0 || c.KH != c.Height || c.KW != c.Width:
		return nil, nil, nil, false
	case c.KH*c.KW == 1:
		step = c.ChanStride
	case c.KH > 1 && c.RowStride != c.KW*step || s.inPer > 1 && c.ChanStride != c.KH*c.KW*step:
		return nil, nil, nil, false
	}
	k, rows, n := sym.Const(s.inPer*c.KH*c.KW), sym.Const(s.rows), s.x.shape[0]
	x = &tensor{buf: s.x.buf, dtype: s.x.dtype, shape: []sym.Int{n, k}, stride: []sym.Int{s.x.stride[0], sym.Const(step)}, off: s.x.off}
	w = &tensor{
		buf: s.w.buf, dtype: s.w.dtype, shape: []sym.Int{k, rows},
		stride: []sym.Int{sym.Const(s.wInner), sym.Const(s.wOut)}, off: s.w.off,
	}
	prod = &tensor{buf: out.buf, dtype: out.dtype, shape: []sym.Int{n, rows}, stride: out.stride[:2], off: out.off}
	return x, w, prod, true
}

// convProduct makes the template node; its batch loops are the image's number
// and, where there are several, the group.
func (c *call) convProduct(s *convShape, out *tensor) {
	s.x, s.w = c.real(s.x), c.real(s.w)
	if x, w, prod, ok := s.matrix(out); ok {
		c.product(x, w, prod)
		return
	}
	x, w := s.x, s.w
	cols := s.outH * s.info.OutW
	k := s.inPer * s.info.KH * s.info.KW
	n := sym.Const
	batch := []sym.Int{x.shape[0]}
	info := &ir.MatmulInfo{A: w.buf, B: x.buf, Out: out.buf, K: n(k), Conv: s.info}
	a, b, o := []sym.Int{{}}, []sym.Int{x.stride[0]}, []sym.Int{out.stride[0]}
	if s.groups > 1 {
		batch = append(batch, n(s.groups))
		a, b, o = append(a, n(s.wNext)), append(b, n(s.inPer*s.chanX)), append(o, n(s.rows*cols))
	}
	node := c.l.newNode(ir.Matmul, append(batch, n(s.rows), n(cols)), nil)
	info.AIdx = ir.Index{Off: w.off, Coef: append(a, n(s.wOut), n(0), n(s.wInner))}
	info.BIdx = ir.Index{Off: x.off, Coef: append(b, n(0), n(0), n(0))}
	info.OutIdx = ir.Index{Off: out.off, Coef: append(o, n(cols), n(1))}
	node.MM = info
}
