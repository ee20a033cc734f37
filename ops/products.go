package ops

import (
	"strings"

	"tcdbg/ops/sym"
)

// This file holds products beside those of matrices: einsum, tensordot, kron, cross, and
// sums with a product.

func productRows() []*Op {
	mixed := func(b B, prod, x Value, beta, alpha Arg) Value {
		d := prod.TensorMeta().DType
		p := timesAlpha(b, prod, numberAs(d, alpha))
		if IsZero(numberAs(d, beta)) { // NaN in self must not show, its gradient is zero
			return b.add(b.where(b.full(nil, 0, NewMeta(Bool, CPU, nil)), x, scalarLike(x, 0)), p)
		}
		return b.add(timesAlpha(b, x, numberAs(d, beta)), p)
	}
	const tail = ", *, Scalar beta=1, Scalar alpha=1) -> Tensor"
	return []*Op{
		composite(Addbmm, "addbmm", "(Tensor self, Tensor batch1, Tensor batch2"+tail, 0, func(b B, c *Call) Value {
			a := In[AddbmmArgs](c)
			d := a.Batch1.Meta().DType
			n, known := a.Batch1.Meta().Shape[0].IsConst()
			if known && n > 0 && (OpMath(d) != d || n <= addedAtMost) {
				return addedInTurn(b, c, int(n))
			}
			p := b.sum(b.Emit(Bmm, a.Batch1.Value(), a.Batch2.Value()), false, 0)
			return mixed(b, p, a.Self.Value(), a.Beta.Arg, a.Alpha.Arg)
		}).and(TagHasInPlace | TagComplex),
		composite(Addmv, "addmv", "(Tensor self, Tensor mat, Tensor vec"+tail, 0, func(b B, c *Call) Value {
			a := In[AddmvArgs](c)
			return mixed(b, b.Emit(Mv, a.Mat.Value(), a.Vec.Value()), a.Self.Value(), a.Beta.Arg, a.Alpha.Arg)
		}).and(TagHasInPlace | TagComplex),
		addrRow("(Tensor self, Tensor vec1, Tensor vec2"+tail, mixed),
		tensordotRow(), bilinearRow(),
		composite(Inner, "inner", "(Tensor self, Tensor other) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[InnerArgs](c)
			m, n := a.Self.Meta(), a.Other.Meta()
			if len(m.Shape) == 0 || len(n.Shape) == 0 {
				return b.mul(a.Self.Value(), a.Other.Value())
			}
			k := m.Shape[len(m.Shape)-1]
			if sym.Ne(k, n.Shape[len(n.Shape)-1]) {
				refuse(Errorf(
					"inner() the last dimension must match on both input tensors but got shapes %s and %s",
					ShapeText(m.Shape), ShapeText(n.Shape),
				))
			}
			rows, cols := m.Shape[:len(m.Shape)-1], n.Shape[:len(n.Shape)-1]
			p := b.mm(b.reshape(a.Self.Value(), numel(rows), k), b.t(b.reshape(a.Other.Value(), numel(cols), k)))
			return b.reshape(p, append(cloneInts(rows), cols...)...)
		}).and(TagComplex),
		composite(Vdot, "vdot", "(Tensor self, Tensor other) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[VdotArgs](c)
			return b.Emit(Dot, b.conj(a.Self.Value()), a.Other.Value())
		}).and(TagComplex),
		composite(Kron, "kron", "(Tensor self, Tensor other) -> Tensor", 0, kron).and(TagComplex),
		composite(Trace, "trace", selfOnly, 0, func(b B, c *Call) Value {
			a := In[TraceArgs](c)
			if n := len(a.Self.Meta().Shape); n != 2 {
				refuse(Errorf("trace: expected a matrix, but got tensor with dim %d", n))
			}
			return b.sum(b.Emit(Diagonal, a.Self.Value()), false)
		}).and(TagComplex),
		composite(MT, "mT", selfOnly, TagView|TagInternal, func(b B, c *Call) Value {
			a := In[MTArgs](c)
			if len(a.Self.Meta().Shape) < 2 {
				refuse(Errorf("tensor.mT is only supported on matrices or batches of matrices. Got %d-D tensor.", len(a.Self.Meta().Shape)))
			}
			return b.transpose(a.Self.Value(), -2, -1)
		}),
		composite(Cross, "cross", "(Tensor self, Tensor other, int? dim=None) -> Tensor", 0, cross).and(TagComplex),
		composite(Dist, "dist", "(Tensor self, Tensor other, Scalar p=2) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[DistArgs](c)
			return b.Emit(Norm, b.sub(a.Self.Value(), a.Other.Value()), a.P.Arg)
		}).and(TagComplex),
		composite(Diagflat, "diagflat", "(Tensor self, int offset=0) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[DiagflatArgs](c)
			return b.Emit(DiagEmbed, b.reshape(a.Self.Value(), numel(a.Self.Meta().Shape)), a.Offset.Arg)
		}).and(TagComplex),
		composite(Renorm, "renorm", "(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[RenormArgs](c)
			m := a.Self.Meta()
			if len(m.Shape) < 2 {
				refuse(Errorf("renorm: input needs at least 2 dimensions, got %d dimensions", len(m.Shape)))
			}
			d := a.Dim.of(a.Self)
			dims := without(seq(0, len(m.Shape)), d)
			n := b.Emit(Norm, b.cast(a.Self.Value(), OpMath(m.DType)), a.P.Arg, dims, true)
			factor := b.where(b.gt(n, a.Maxnorm.Arg), b.div(a.Maxnorm.Arg, b.add(n, 1e-7)), 1.0)
			return b.mul(a.Self.Value(), b.cast(factor, m.DType))
		}).and(TagHasInPlace),
		composite(Cov, "cov", "(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor", 0,
			covariance).and(TagComplex),
		composite(Corrcoef, "corrcoef", selfOnly, 0, func(b B, c *Call) Value {
			v := b.Emit(Cov, In[CorrcoefArgs](c).Self.Value())
			if len(v.TensorMeta().Shape) == 0 {
				return b.div(v, v)
			}
			sd := b.sqrt(b.Emit(Diagonal, v))
			r := b.div(b.div(v, b.unsqueeze(sd, 1)), b.unsqueeze(sd, 0))
			return b.Emit(Clamp, r, -1.0, 1.0)
		}).and(TagComplex),
	}
}

// addrRow is beta*self + alpha*(vec1 outer vec2); bools are joined by and and or.
func addrRow(schema string, mixed func(b B, prod, x Value, beta, alpha Arg) Value) *Op {
	row := composite(Addr, "addr", schema, 0, func(b B, c *Call) Value {
		a := In[AddOuterArgs](c)
		d := ResultType(a.Self.Arg, a.Vec1.Arg, a.Vec2.Arg)
		if d == Bool {
			p := b.mul(b.Emit(Outer, a.Vec1.Value(), a.Vec2.Value()), a.Alpha.Float() != 0)
			return b.or(b.mul(a.Self.Value(), a.Beta.Float() != 0), p)
		}
		x := timesAlpha(b, a.Vec1.Value(), roundedTo(d, a.Alpha.Arg)) // each step rounds, the numbers too
		return mixed(b, b.Emit(Outer, x, a.Vec2.Value()), a.Self.Value(), roundedTo(d, a.Beta.Arg), symOne)
	}).and(TagHasInPlace | TagComplex)
	row.Backward = backOf(func(b B, c *BackwardCall) []Value {
		a := In[AddOuterArgs](c.Call)
		out := []Value{nil, nil, nil}
		g := c.Grads[0]
		if g == nil {
			return out
		}
		if c.Needs[0] {
			out[0] = b.back(timesAlpha(b, g, a.Beta.Arg), a.Self.Meta())
		}
		if c.Needs[1] {
			out[1] = timesAlpha(b, b.Emit(Mv, g, a.Vec2.Value()), a.Alpha.Arg)
		}
		if c.Needs[2] {
			out[2] = timesAlpha(b, b.Emit(Mv, b.t(g), a.Vec1.Value()), a.Alpha.Arg)
		}
		return out
	})
	return row
}

// addedAtMost is the batch up to which addbmm adds product after product, as
// PyTorch does, though its numbers need no such order.
const addedAtMost = 16

// addedInTurn is addbmm as PyTorch sums it: it rounds after each product.
func addedInTurn(b B, c *Call, n int) Value {
	a := In[AddbmmArgs](c)
	out, beta := a.Self.Value(), a.Beta.Arg
	for i := range n {
		x, y := b.sel(a.Batch1.Value(), 0, sym.C(i)), b.sel(a.Batch2.Value(), 0, sym.C(i))
		out, beta = b.Emit(Addmm, out, x, y, beta, a.Alpha.Arg), symOne
	}
	return out
}

func kron(b B, c *Call) Value {
	a := In[KronArgs](c)
	m, n := a.Self.Meta().Shape, a.Other.Meta().Shape
	rank := max(len(m), len(n))
	var sx, sy, out []sym.Int
	for i := range rank {
		p, q := symOne, symOne
		if j := i - (rank - len(m)); j >= 0 {
			p = m[j]
		}
		if j := i - (rank - len(n)); j >= 0 {
			q = n[j]
		}
		sx, sy, out = append(sx, p, symOne), append(sy, symOne, q), append(out, sym.Mul(p, q))
	}
	return b.reshape(b.mul(b.reshape(a.Self.Value(), sx...), b.reshape(a.Other.Value(), sy...)), out...)
}

func cross(b B, c *Call) Value {
	a := In[CrossArgs](c)
	x, y := a.Self.Value(), a.Other.Value()
	shape, err := broadcast2(a.Self.Meta().Shape, a.Other.Meta().Shape)
	refuse(err)
	x, y = expandIf(b, x, shape), expandIf(b, y, shape)
	d := -1
	if !a.Dim.IsNone() {
		d, err = WrapDim(a.Dim.Int(), len(shape))
		refuse(err)
	} else {
		for i, s := range shape {
			if sym.Eq(s, sym.C(3)) {
				d = i
				break
			}
		}
	}
	if d < 0 || sym.Ne(shape[d], sym.C(3)) {
		refuse(Errorf("linalg.cross: inputs dimension %d must have length 3. Got %s and %s", d, shape[max(d, 0)], shape[max(d, 0)]))
	}
	turn := func(v Value, k int) Value { return b.Emit(Roll, v, k, d) }
	return b.sub(b.mul(turn(x, -1), turn(y, 1)), b.mul(turn(x, 1), turn(y, -1)))
}

func tensordotRow() *Op {
	return composite(Tensordot, "tensordot", "(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
		TagNotMethod, func(b B, c *Call) Value {
			a := In[TensordotArgs](c)
			m, n := len(a.Self.Meta().Shape), len(a.Other.Meta().Shape)
			dx, dy := a.DimsSelf.Nums(), a.DimsOther.Nums()
			if len(dx) != len(dy) {
				refuse(Errorf("both dimension lists should have same length"))
			}
			label := func(i int) byte { return byte('a' + i) }
			x, y := make([]byte, m), make([]byte, n)
			for i := range x {
				x[i] = label(i)
			}
			for i := range y {
				y[i] = label(m + i)
			}
			for i := range dx {
				y[(dy[i]+n)%n] = x[(dx[i]+m)%m]
			}
			var out []byte
			for _, l := range x {
				if indexByte(y, l) < 0 {
					out = append(out, l)
				}
			}
			for _, l := range y {
				if indexByte(x, l) < 0 {
					out = append(out, l)
				}
			}
			return b.Emit(Einsum, string(x)+","+string(y)+"->"+string(out), []Value{a.Self.Value(), a.Other.Value()})
		}).and(TagComplex)
}

func bilinearRow() *Op {
	return composite(Bilinear, "bilinear", "(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
		TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[BilinearArgs](c)
			y := b.Emit(Einsum, "...i,oij,...j->...o", []Value{a.Input1.Value(), a.Weight.Value(), a.Input2.Value()})
			if bias := a.Bias.Value(); bias != nil {
				y = b.add(y, bias)
			}
			return y
		})
}

func einsumRow() *Op {
	return composite(Einsum, "einsum", "(str equation, Tensor[] operands) -> Tensor", TagNotMethod, einsum).and(TagComplex)
}

// term is one operand of einsum with the labels of its dimensions.
type term struct {
	x      Value
	labels []byte
}

func (t term) size(l byte) (sym.Int, bool) {
	i := indexByte(t.labels, l)
	if i < 0 {
		return symOne, false
	}
	return t.x.TensorMeta().Shape[i], true
}

func indexByte(s []byte, c byte) int {
	for i, x := range s {
		if x == c {
			return i
		}
	}
	return -1
}

func einsum(b B, c *Call) Value {
	a := In[EinsumArgs](c)
	terms, out := parseEinsum(a.Equation.Str(), a.Operands.Values())
	for i := range terms {
		terms[i] = diagonals(b, terms[i])
	}
	acc := terms[0]
	for i, t := range terms[1:] {
		later := append([]byte{}, out...)
		for _, u := range terms[i+2:] {
			later = append(later, u.labels...)
		}
		acc = contract(b, acc, t, later)
	}
	return project(b, acc, out)
}

// parseEinsum expands ellipses to labels of their own and finds the output.
func parseEinsum(eq string, xs []Value) (terms []term, out []byte) {
	eq = strings.ReplaceAll(eq, " ", "")
	lhs, rhs, explicit := strings.Cut(eq, "->")
	parts := strings.Split(lhs, ",")
	if len(parts) != len(xs) {
		refuse(Errorf("einsum(): more operands were provided than specified in the equation"))
	}
	wide := 0
	for i, p := range parts {
		if strings.Contains(p, "...") {
			wide = max(wide, len(xs[i].TensorMeta().Shape)-(len(p)-3))
		}
	}
	dots := func(n int) string { // ellipsis dimensions count from the right
		var sb strings.Builder
		for i := wide - n; i < wide; i++ {
			sb.WriteByte(byte(1 + i))
		}
		return sb.String()
	}
	count := map[byte]int{}
	for i, p := range parts {
		rank := len(xs[i].TensorMeta().Shape)
		p = strings.Replace(p, "...", dots(rank-(len(p)-3)), 1)
		if len(p) != rank {
			refuse(Errorf(
				"einsum(): the number of subscripts in the equation (%d) does not match the number of dimensions (%d) for operand "+
					"%d and no ellipsis was given",
				len(p), rank, i,
			))
		}
		for j := range len(p) {
			count[p[j]]++
		}
		terms = append(terms, term{xs[i], []byte(p)})
	}
	if explicit {
		rhs = strings.Replace(rhs, "...", dots(wide), 1)
		for i := range len(rhs) {
			if count[rhs[i]] == 0 {
				refuse(Errorf("einsum(): output subscript %c does not appear in the equation for any input operand", rhs[i]))
			}
		}
		return terms, []byte(rhs)
	}
	out = []byte(dots(wide))
	for l := byte('A'); l <= 'z'; l++ {
		if count[l] == 1 {
			out = append(out, l)
		}
	}
	return terms, out
}

// diagonals replaces repeated labels of one operand by diagonals.
func diagonals(b B, t term) term {
	for i := 0; i < len(t.labels); i++ {
		j := indexByte(t.labels[i+1:], t.labels[i])
		if j < 0 {
			continue
		}
		l := t.labels[i]
		if shape := t.x.TensorMeta().Shape; sym.Ne(shape[i], shape[i+1+j]) {
			refuse(Errorf(
				"einsum(): subscript %c is repeated for an operand but the sizes don't match, %s != %s", l,
				shape[i+1+j], shape[i],
			))
		}
		t.x = b.Emit(Diagonal, t.x, 0, i, i+1+j)
		t.labels = append(without(without(t.labels, i+1+j), i), l)
		i = -1
	}
	return t
}

// sumAlone sums over the labels of x that neither y nor what comes later has.
func sumAlone(b B, x, y term, later []byte) term {
	return keepOnly(b, x, append(append([]byte{}, later...), y.labels...))
}

// keepOnly sums over the labels that are not among kept.
func keepOnly(b B, t term, kept []byte) term {
	for i := len(t.labels) - 1; i >= 0; i-- {
		if indexByte(kept, t.labels[i]) < 0 {
			t.x = b.sum(t.x, false, i)
			t.labels = without(t.labels, i)
		}
	}
	return t
}

// contract multiplies two operands; labels that are not needed later are
// summed, by a batched matrix product.
func contract(b B, x, y term, later []byte) term {
	x, y = sumAlone(b, x, y, later), sumAlone(b, y, x, later)
	var batch, left, right, summed []byte
	for _, l := range x.labels {
		inY, needed := indexByte(y.labels, l) >= 0, indexByte(later, l) >= 0
		switch {
		case inY && needed:
			batch = append(batch, l)
		case inY:
			summed = append(summed, l)
		default:
			left = append(left, l)
		}
	}
	for _, l := range y.labels {
		if indexByte(x.labels, l) < 0 {
			right = append(right, l)
		}
	}
	// A size of 1 broadcasts against the other operand's.
	full := func(l byte) sym.Int {
		s, ok := x.size(l)
		if t, both := y.size(l); !ok || both && sym.Is(s, 1) {
			return t
		}
		return s
	}
	sizes := func(ls []byte) (out []sym.Int) {
		for _, l := range ls {
			out = append(out, full(l))
		}
		return out
	}
	labels := append(append(append([]byte{}, batch...), left...), right...)
	if len(summed) == 0 {
		xs, ys := arrange(b, x, batch, left, nil, full), arrange(b, y, batch, nil, right, full)
		for range right {
			xs = b.unsqueeze(xs, len(xs.TensorMeta().Shape))
		}
		for range left {
			ys = b.unsqueeze(ys, len(batch))
		}
		return term{b.mul(xs, ys), labels}
	}
	n := numel(sizes(batch))
	xs := arrange(b, x, batch, left, summed, full)
	ys := arrange(b, y, batch, summed, right, full)
	p := b.Emit(
		Bmm, b.reshape(xs, n, numel(sizes(left)), numel(sizes(summed))),
		b.reshape(ys, n, numel(sizes(summed)), numel(sizes(right))),
	)
	return term{b.reshape(p, sizes(labels)...), labels}
}

// arrange permutes an operand to the labels of three groups and expands ones.
func arrange(b B, t term, g1, g2, g3 []byte, full func(byte) sym.Int) Value {
	var order []int
	var shape []sym.Int
	for _, g := range [][]byte{g1, g2, g3} {
		for _, l := range g {
			order = append(order, indexByte(t.labels, l))
			shape = append(shape, full(l))
		}
	}
	x := t.x
	if len(order) > 0 {
		x = b.permute(x, order...)
	}
	return expandIf(b, x, shape)
}

// project sums what the output lacks and orders the rest.
func project(b B, t term, out []byte) Value {
	t = keepOnly(b, t, out)
	order := make([]int, len(out))
	for i, l := range out {
		order[i] = indexByte(t.labels, l)
	}
	if len(order) < 2 {
		return t.x
	}
	return b.permute(t.x, order...)
}
