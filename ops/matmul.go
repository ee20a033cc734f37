package ops

import "tcdbg/ops/sym"

// This file holds the matrix products.

func sizes2(m *TensorMeta) string { return m.Shape[0].String() + "x" + m.Shape[1].String() }

func checkMat(a, b *TensorMeta) error {
	if sym.Ne(a.Shape[1], b.Shape[0]) {
		return Errorf("mat1 and mat2 shapes cannot be multiplied (%s and %s)", sizes2(a), sizes2(b))
	}
	return checkSameType(a, b)
}

func checkSameType(a, b *TensorMeta) error {
	if a.DType != b.DType {
		return Errorf("expected m1 and m2 to have the same dtype, but got: %s != %s", cppName(a.DType), cppName(b.DType))
	}
	return nil
}

// cppName is the C++ type that PyTorch's message shows.
func cppName(d DType) string {
	switch d {
	case Float32:
		return "float"
	case Float64:
		return "double"
	case Float16:
		return "c10::Half"
	case BFloat16:
		return "c10::BFloat16"
	case Int64:
		return "int64_t"
	case Int32:
		return "int"
	}
	return d.Name()
}

func mmMeta(c *Call) ([]Result, error) {
	a := In[MmArgs](c)
	return matrixProduct(a.Self.Meta(), a.Mat2.Meta())
}

// matrixProduct is the result of mm.
func matrixProduct(x, y *TensorMeta) ([]Result, error) {
	if len(x.Shape) != 2 {
		return nil, Errorf("mm: self must be a matrix, got %d-D tensor", len(x.Shape))
	}
	if len(y.Shape) != 2 {
		return nil, Errorf("mm: mat2 must be a matrix, got %d-D tensor", len(y.Shape))
	}
	if err := checkMat(x, y); err != nil {
		return nil, err
	}
	return one(NewMeta(x.DType, x.Device, []sym.Int{x.Shape[0], y.Shape[1]})), nil
}

func bmmMeta(c *Call) ([]Result, error) {
	a := In[BmmArgs](c)
	return batchProduct(a.Self.Meta(), a.Mat2.Meta())
}

// batchProduct is the result of bmm.
func batchProduct(x, y *TensorMeta) ([]Result, error) {
	if len(x.Shape) != 3 {
		return nil, Errorf("batch1 must be a 3D tensor")
	}
	if len(y.Shape) != 3 {
		return nil, Errorf("batch2 must be a 3D tensor")
	}
	if sym.Ne(x.Shape[0], y.Shape[0]) || sym.Ne(x.Shape[2], y.Shape[1]) {
		return nil, Errorf(
			"Expected size for first two dimensions of batch2 tensor to be: [%s, %s] but got: [%s, %s].", x.Shape[0],
			x.Shape[2], y.Shape[0], y.Shape[1],
		)
	}
	if err := checkSameType(x, y); err != nil {
		return nil, err
	}
	return one(NewMeta(x.DType, x.Device, []sym.Int{x.Shape[0], x.Shape[1], y.Shape[2]})), nil
}

// SmallProduct is the number of steps below which PyTorch multiplies the matrices
// of a batch in a plain loop.
const SmallProduct = 400

func matmulRows() []*Op {
	return []*Op{
		{
			ID: Mm, Name: "mm", Schema: "(Tensor self, Tensor mat2) -> Tensor", Tags: TagComplex, Meta: mmMeta,
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[SelfMat2Args](c.Call)
				x, y, g := a.Self.Value(), a.Mat2.Value(), c.Grads[0]
				return c.pair(func() Value { return b.leftGrad(g, x, y) }, func() Value { return b.rightGrad(g, x, y) })
			}),
		},
		{
			ID: Bmm, Name: "bmm", Schema: "(Tensor self, Tensor mat2) -> Tensor", Tags: TagComplex, Meta: bmmMeta,
			Backward: matBack(func(b B, x Value) Value { return b.transpose(x, 1, 2) },
				func(b B, x, y Value) Value { return b.Emit(Bmm, x, y) }),
		},
		addRow(
			Addmm, "addmm", "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Mm, matrixProduct,
			func(c *Call) (x, y TensorArg) { a := In[AddmmArgs](c); return a.Mat1, a.Mat2 },
		).and(TagHasInPlace | TagComplex),
		addRow(
			Baddbmm, "baddbmm", "(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor", Bmm,
			batchProduct,
			func(c *Call) (x, y TensorArg) { a := In[BaddbmmArgs](c); return a.Batch1, a.Batch2 },
		).and(TagHasInPlace | TagComplex),
		{
			ID: Mv, Name: "mv", Schema: "(Tensor self, Tensor vec) -> Tensor", Tags: TagComplex, Meta: func(c *Call) ([]Result, error) {
				a := In[MvArgs](c)
				x, y := a.Self.Meta(), a.Vec.Meta()
				if len(x.Shape) != 2 || len(y.Shape) != 1 {
					return nil, Errorf("vector + matrix @ vector expected, got 1, %d, %d", len(x.Shape), len(y.Shape))
				}
				if sym.Ne(x.Shape[1], y.Shape[0]) {
					return nil, Errorf("size mismatch, got input (%s), mat (%s), vec (%s)", x.Shape[0], sizes2(x), y.Shape[0])
				}
				return one(NewMeta(x.DType, x.Device, x.Shape[:1])), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[MvArgs](c)
				return b.squeeze(b.mm(a.Self.Value(), b.unsqueeze(a.Vec.Value(), 1)), 1)
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[MvArgs](c.Call)
				g := c.Grads[0]
				return c.pair(func() Value { return b.Emit(Outer, g, a.Vec.Value()) },
					func() Value { return b.Emit(Mv, b.t(a.Self.Value()), g) })
			}),
		},
		{
			ID: Dot, Name: "dot", Schema: "(Tensor self, Tensor tensor) -> Tensor", Tags: TagComplex, Meta: dotMeta,
			Decompose: decompF(func(b B, c *Call) Value {
				a := In[DotArgs](c)
				d := a.Self.Meta().DType
				p := b.mul(a.Self.Value(), a.Tensor.Value())
				return b.Emit(Sum, p, nil, false, d)
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[DotArgs](c.Call)
				g := c.Grads[0]
				return c.pair(func() Value { return b.mul(g, a.Tensor.Value()) }, func() Value { return b.mul(g, a.Self.Value()) })
			}),
		},
		{
			ID: Outer, Name: "outer", Schema: "(Tensor self, Tensor vec2) -> Tensor", Tags: TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[OuterArgs](c)
				x, y := a.Self.Meta(), a.Vec2.Meta()
				for i, m := range []*TensorMeta{x, y} {
					if len(m.Shape) != 1 {
						return nil, Errorf("outer: Expected 1-D argument %s, but got %d-D", []string{"self", "vec2"}[i], len(m.Shape))
					}
				}
				return one(NewMeta(Promote(x.DType, y.DType), x.Device, []sym.Int{x.Shape[0], y.Shape[0]})), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[OuterArgs](c)
				return b.mul(b.unsqueeze(a.Self.Value(), 1), a.Vec2.Value())
			}),
		},
		{
			ID: Matmul, Name: "matmul", Schema: "(Tensor self, Tensor other) -> Tensor", Tags: TagComplex, Meta: matmulMeta,
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[MatmulArgs](c)
				return matmul(b, a.Self.Value(), a.Other.Value())
			}),
		},
		{
			ID: Linear, Name: "linear", Schema: "(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
			Tags: TagNN | TagNotMethod | TagComplex, Meta: linearMeta,
			Decompose: decomp(linearDecomp),
		},
	}
}

// pair evaluates the gradients of two tensor arguments where they are wanted.
func (c *BackwardCall) pair(first, second func() Value) []Value {
	out := []Value{nil, nil}
	if c.Grads[0] == nil {
		return out
	}
	if c.Needs[0] {
		out[0] = first()
	}
	if c.Needs[1] {
		out[1] = second()
	}
	return out
}

// leftGrad is the gradient g y^T of x in the product of two matrices. Like rightGrad
// it is laid out as what it is the gradient of: for a weight that enters transposed,
// the leaf can then keep it as it is.
func (b B) leftGrad(g, x, y Value) Value {
	if columnMajor(x.TensorMeta()) {
		return b.t(b.mm(y, b.t(g)))
	}
	return b.mm(g, b.t(y))
}

// rightGrad is the gradient x^T g of y.
func (b B) rightGrad(g, x, y Value) Value {
	if columnMajor(y.TensorMeta()) {
		return b.t(b.mm(b.t(g), x))
	}
	return b.mm(b.t(x), g)
}

// columnMajor reports whether the columns of a matrix lie one after the other.
func columnMajor(m *TensorMeta) bool {
	return sym.AllSame(m.Stride, []sym.Int{symOne, m.Shape[0]})
}

// matBack is the derivative of a product: g y^T and x^T g.
func matBack(t func(B, Value) Value, mul func(b B, x, y Value) Value) backFn {
	return backOf(func(b B, c *BackwardCall) []Value {
		a := In[SelfMat2Args](c.Call)
		g := c.Grads[0]
		return c.pair(func() Value { return mul(b, g, t(b, a.Mat2.Value())) }, func() Value { return mul(b, t(b, a.Self.Value()), g) })
	})
}

func dotMeta(c *Call) ([]Result, error) {
	a := In[DotArgs](c)
	return dotProduct(a.Self.Meta(), a.Tensor.Meta())
}

// dotProduct is the result of dot.
func dotProduct(x, y *TensorMeta) ([]Result, error) {
	if len(x.Shape) != 1 || len(y.Shape) != 1 {
		return nil, Errorf("1D tensors expected, but got %dD and %dD tensors", len(x.Shape), len(y.Shape))
	}
	if x.DType != y.DType {
		return nil, Errorf(
			"dot : expected both vectors to have same dtype, but found %s and %s", x.DType.ScalarType(),
			y.DType.ScalarType(),
		)
	}
	if sym.Ne(x.Shape[0], y.Shape[0]) {
		return nil, Errorf(
			"inconsistent tensor size, expected tensor [%s] and src [%s] to have the same number of elements, "+
				"but got %s and %s elements respectively",
			x.Shape[0], y.Shape[0], x.Shape[0], y.Shape[0],
		)
	}
	return one(NewMeta(x.DType, x.Device, nil)), nil
}

// addRow is beta*self + alpha*(x @ y), where factors gives x and y.
func addRow(
	id ID, name, schema string, mul ID, product func(x, y *TensorMeta) ([]Result, error), factors func(*Call) (x, y TensorArg),
) *Op {
	return &Op{
		ID: id, Name: name, Schema: schema,
		Meta: func(c *Call) ([]Result, error) {
			x, y := factors(c)
			if mul == Mm {
				for i, m := range []*TensorMeta{x.Meta(), y.Meta()} {
					if n := len(m.Shape); n != 2 {
						return nil, Errorf("%s must be a matrix, got %d-D tensor", []string{"mat1", "mat2"}[i], n)
					}
				}
			}
			res, err := product(x.Meta(), y.Meta())
			if err != nil {
				return nil, err
			}
			out, self := res[0].(*TensorMeta), In[SelfArgs](c).Self.Meta()
			if s, err := broadcast2(self.Shape, out.Shape); err != nil || !equalShape(s, out.Shape) {
				return nil, expandError(self.Shape, out.Shape)
			}
			if self.DType != out.DType {
				return nil, Errorf(
					"self and mat2 must have the same dtype, but got %s and %s", self.DType.ScalarType(),
					out.DType.ScalarType(),
				)
			}
			return res, nil
		},
		Decompose: decompF(func(b B, c *Call) Value {
			a := In[AddProductArgs](c)
			x, y := factors(c)
			d := x.Meta().DType
			alpha, beta := numberAs(d, a.Alpha.Arg), numberAs(d, a.Beta.Arg)
			p := timesAlpha(b, b.Emit(mul, x.Arg, y.Arg), alpha)
			if IsZero(beta) {
				return p
			}
			return b.add(timesAlpha(b, a.Self.Value(), beta), p)
		}),
		Backward: backOf(func(b B, c *BackwardCall) []Value {
			a := In[AddProductArgs](c.Call)
			out := []Value{nil, nil, nil}
			g := c.Grads[0]
			if g == nil {
				return out
			}
			x, y := factors(c.Call)
			left, right := b.leftGrad, b.rightGrad
			if mul == Bmm {
				t := func(x Value) Value { return b.transpose(x, 1, 2) }
				left = func(g, _, y Value) Value { return b.Emit(Bmm, g, t(y)) }
				right = func(g, x, _ Value) Value { return b.Emit(Bmm, t(x), g) }
			}
			if c.Needs[0] {
				out[0] = b.back(timesAlpha(b, g, a.Beta.Arg), a.Self.Meta())
			}
			if c.Needs[1] {
				out[1] = timesAlpha(b, left(g, x.Value(), y.Value()), a.Alpha.Arg)
			}
			if c.Needs[2] {
				out[2] = timesAlpha(b, right(g, x.Value(), y.Value()), a.Alpha.Arg)
			}
			return out
		}),
	}
}

// expandError is expand's refusal.
func expandError(from, to []sym.Int) error {
	if len(from) > len(to) {
		return Errorf(
			"expand(%s, size=%s): the number of sizes provided (%d) must be greater or equal to the number of dimensions in the "+
				"tensor (%d)",
			"torch.FloatTensor{"+ShapeText(from)+"}", ShapeText(to), len(to), len(from),
		)
	}
	for i := len(to) - 1; i >= 0; i-- {
		j := i - (len(to) - len(from))
		if j < 0 {
			break
		}
		if !sym.Is(from[j], 1) && sym.Ne(from[j], to[i]) {
			return Errorf(
				"The expanded size of the tensor (%s) must match the existing size (%s) at non-singleton dimension %d.  Target "+
					"sizes: %s.  Tensor sizes: %s",
				to[i], from[j], i, ShapeText(to), ShapeText(from),
			)
		}
	}
	return nil
}

func matmulMeta(c *Call) ([]Result, error) {
	a := In[MatmulArgs](c)
	x, y := a.Self.Meta(), a.Other.Meta()
	nx, ny := len(x.Shape), len(y.Shape)
	if nx == 0 || ny == 0 {
		return nil, Errorf("both arguments to matmul need to be at least 1D, but they are %dD and %dD", nx, ny)
	}
	if err := checkSameType(x, y); err != nil {
		return nil, err
	}
	if nx == 1 && ny == 1 {
		return dotProduct(x, y)
	}
	if err := matmulInner(x, y); err != nil {
		return nil, err
	}
	batch, err := broadcast2(x.Shape[:max(nx-2, 0)], y.Shape[:max(ny-2, 0)])
	if err != nil {
		return nil, err
	}
	shape := cloneInts(batch)
	if nx > 1 {
		shape = append(shape, x.Shape[nx-2])
	}
	if ny > 1 {
		shape = append(shape, y.Shape[ny-1])
	}
	return one(NewMeta(x.DType, x.Device, shape)), nil
}

func matmulInner(x, y *TensorMeta) error {
	nx, ny := len(x.Shape), len(y.Shape)
	inner := y.Shape[max(ny-2, 0)]
	if !sym.Ne(x.Shape[nx-1], inner) {
		return nil
	}
	switch {
	case nx == 2 && ny == 1:
		return Errorf("size mismatch, got input (%s), mat (%s), vec (%s)", x.Shape[0], sizes2(x), y.Shape[0])
	case nx == 1 && ny == 2:
		return Errorf("mat1 and mat2 shapes cannot be multiplied (1x%s and %s)", x.Shape[0], sizes2(y))
	case ny == 2:
		return Errorf("mat1 and mat2 shapes cannot be multiplied (%sx%s and %s)", numel(x.Shape[:nx-1]), x.Shape[nx-1], sizes2(y))
	}
	rows := symOne
	if nx > 1 {
		rows = x.Shape[nx-2]
	}
	cols := symOne
	if ny > 1 {
		cols = y.Shape[ny-1]
	}
	return Errorf(
		"Expected size for first two dimensions of batch2 tensor to be: [%s, %s] but got: [%s, %s].", rows,
		x.Shape[nx-1], inner, cols,
	)
}

// matmul reduces to dot, mv, mm and bmm as PyTorch does.
func matmul(b B, x, y Value) Value {
	mx, my := x.TensorMeta(), y.TensorMeta()
	nx, ny := len(mx.Shape), len(my.Shape)
	switch {
	case nx == 1 && ny == 1:
		return b.Emit(Dot, x, y)
	case nx == 2 && ny == 1:
		return b.Emit(Mv, x, y)
	case nx == 1 && ny == 2:
		return b.squeeze(b.mm(b.unsqueeze(x, 0), y), 0)
	case nx == 2 && ny == 2:
		return b.mm(x, y)
	case nx >= 3 && ny <= 2:
		return foldedMatmul(b, x, y)
	case nx == 1:
		return foldedMatmul(b, b.transpose(y, -2, -1), x)
	}
	return batchMatmul(b, x, y)
}

// foldedMatmul multiplies all leading dimensions of x as rows of one matrix.
func foldedMatmul(b B, x, y Value) Value {
	mx := x.TensorMeta()
	n := len(mx.Shape)
	flat := b.reshape(x, numel(mx.Shape[:n-1]), mx.Shape[n-1])
	shape := cloneInts(mx.Shape[:n-1])
	if len(y.TensorMeta().Shape) == 1 {
		return b.view(b.Emit(Mv, flat, y), shape...)
	}
	shape = append(shape, y.TensorMeta().Shape[1])
	return b.view(b.mm(flat, y), shape...)
}

func batchMatmul(b B, x, y Value) Value {
	vecX, vecY := len(x.TensorMeta().Shape) == 1, len(y.TensorMeta().Shape) == 1
	if vecX {
		x = b.unsqueeze(x, 0)
	}
	if vecY {
		y = b.unsqueeze(y, 1)
	}
	mx, my := x.TensorMeta(), y.TensorMeta()
	nx, ny := len(mx.Shape), len(my.Shape)
	batch, err := broadcast2(mx.Shape[:nx-2], my.Shape[:ny-2])
	if err != nil {
		panic(err)
	}
	n, k, m := mx.Shape[nx-2], mx.Shape[nx-1], my.Shape[ny-1]
	size := numel(batch)
	x3 := b.reshape(expandIf(b, x, append(cloneInts(batch), n, k)), size, n, k)
	y3 := b.reshape(expandIf(b, y, append(cloneInts(batch), k, m)), size, k, m)
	out := b.Emit(Bmm, x3, y3)
	shape := cloneInts(batch)
	if !vecX {
		shape = append(shape, n)
	}
	if !vecY {
		shape = append(shape, m)
	}
	return b.view(out, shape...)
}

// expandIf expands x unless it has the shape already.
func expandIf(b B, x Value, shape []sym.Int) Value {
	if sym.AllSame(x.TensorMeta().Shape, shape) {
		return x
	}
	return b.expand(x, shape)
}

func linearMeta(c *Call) ([]Result, error) {
	a := In[LinearArgs](c)
	x, w := a.Input.Meta(), a.Weight.Meta()
	nx := len(x.Shape)
	if len(w.Shape) != 2 {
		if len(w.Shape) == 1 && nx > 0 && a.Bias.IsNone() {
			return matmulMeta(c)
		}
		return nil, Errorf("both arguments to linear need to be at least 1D, but they are %dD and %dD", nx, len(w.Shape))
	}
	if nx == 0 {
		return nil, Errorf("both arguments to linear need to be at least 1D, but they are 0D and 2D")
	}
	if sym.Ne(x.Shape[nx-1], w.Shape[1]) {
		return nil, Errorf(
			"mat1 and mat2 shapes cannot be multiplied (%sx%s and %sx%s)", numel(x.Shape[:nx-1]), x.Shape[nx-1],
			w.Shape[1], w.Shape[0],
		)
	}
	if x.DType != w.DType {
		return nil, Errorf("mat1 and mat2 must have the same dtype, but got %s and %s", x.DType.ScalarType(), w.DType.ScalarType())
	}
	return one(NewMeta(x.DType, x.Device, append(cloneInts(x.Shape[:nx-1]), w.Shape[0]))), nil
}

func linearDecomp(b B, c *Call) Value {
	a := In[LinearArgs](c)
	x, w, bias := a.Input.Value(), a.Weight.Value(), a.Bias.Value()
	if len(w.TensorMeta().Shape) == 1 {
		return matmul(b, x, w)
	}
	wt := b.t(w)
	if bias == nil {
		return matmul(b, x, wt)
	}
	m := x.TensorMeta()
	n := len(m.Shape)
	if n == 2 {
		return b.Emit(Addmm, bias, x, wt)
	}
	flat := b.reshape(x, numel(m.Shape[:n-1]), m.Shape[n-1])
	out := b.Emit(Addmm, bias, flat, wt)
	return b.view(out, append(cloneInts(m.Shape[:n-1]), w.TensorMeta().Shape[0])...)
}
