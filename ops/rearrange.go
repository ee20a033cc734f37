package ops

import (
	"runtime"

	"tcdbg/ops/sym"
)

// This file holds the views that cut a tensor in pieces or turn it around, and
// the copies that repeat it.

func rearrangeRows() []*Op {
	return append(append(pieceRows(), turnRows()...), repeatRows()...)
}

// composite is a row that is nothing but its decomposition; its rule is that of
// the decomposition run on metas.
func composite(id ID, name, schema string, tags Tag, f func(b B, c *Call) Value) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: tags, Decompose: decomp(f)}
	row.Meta = metaOfDecomposition(row)
	return row
}

func compositeN(id ID, name, schema string, tags Tag, f func(b B, c *Call) []Value) *Op {
	row := &Op{ID: id, Name: name, Schema: schema, Tags: tags}
	row.Decompose = func(bb Builder, c *Call) []Value { return f(B{bb}, c) }
	row.Meta = metaOfDecomposition(row)
	return row
}

// metaOfDecomposition runs a decomposition without data.
func metaOfDecomposition(row *Op) func(*Call) ([]Result, error) {
	return func(c *Call) (res []Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				e, ok := p.(error)
				if _, bug := p.(runtime.Error); !ok || bug {
					panic(p)
				}
				res, err = nil, e
			}
		}()
		for _, v := range row.Decompose(metaBuilder{}, c) {
			res = append(res, v.TensorMeta())
		}
		return res, nil
	}
}

// metaValue is a tensor of which only the description exists.
type metaValue struct{ m *TensorMeta }

func (v metaValue) TensorMeta() *TensorMeta { return v.m }

// metaBuilder runs rules alone. A refusal panics with its error.
type metaBuilder struct{}

func (b metaBuilder) Emit(op ID, args ...Arg) Value { return b.EmitN(op, args...)[0] }

func (b metaBuilder) EmitN(op ID, args ...Arg) []Value {
	row := Get(op)
	bound, err := Bind(row, args, nil)
	if err != nil {
		panic(err)
	}
	res, err := row.Meta(&Call{row, bound})
	if err != nil {
		panic(err)
	}
	out := make([]Value, len(res))
	for i, r := range res {
		out[i] = metaValue{r.(*TensorMeta)}
	}
	return out
}

// refuse leaves a decomposition with an error of its rule.
func refuse(err error) {
	if err != nil {
		panic(err)
	}
}

// dimOf is dimension argument i as a position in argument 0.
func dimOf(c *Call, i int) int {
	d, err := WrapDim(c.Int(i), len(c.Tensor(0).Shape))
	refuse(err)
	return d
}

// partsMeta makes the rule of a view that cuts dimension 1 into pieces.
func partsMeta(sizes func(c *Call, n sym.Int) ([]sym.Int, error), dimArg int) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		m := c.Tensor(0)
		if len(m.Shape) == 0 {
			return nil, Errorf("%s expects at least a 1-dimensional tensor", c.Op.Name)
		}
		d, err := WrapDim(c.Int(dimArg), len(m.Shape))
		if err != nil {
			return nil, err
		}
		list, err := sizes(c, m.Shape[d])
		if err != nil {
			return nil, err
		}
		var out []Result
		at := symZero
		for _, s := range list {
			out = append(out, asView(m, replaced(m.Shape, d, s), m.Stride, sym.Add(m.Offset, sym.Mul(at, m.Stride[d])))...)
			at = sym.Add(at, s)
		}
		return out, nil
	}
}

// splitSizes cuts n in pieces of one size, or of the listed sizes.
func splitSizes(c *Call, n sym.Int) ([]sym.Int, error) {
	list := c.Ints(1)
	if len(list) != 1 {
		return withSizes(c, n)
	}
	size := sym.Force(list[0])
	total := sym.Force(n)
	if size < 0 {
		return nil, Errorf("split expects split_size be non-negative, but got split_size=%d", size)
	}
	if size == 0 {
		if total != 0 {
			return nil, Errorf("split_size can only be 0 if dimension size is 0, but got dimension size of %d", total)
		}
		return []sym.Int{symZero}, nil
	}
	var out []sym.Int
	for at := int64(0); at < total; at += size {
		out = append(out, sym.Const(min(size, total-at)))
	}
	if out == nil {
		out = []sym.Int{symZero}
	}
	return out, nil
}

func withSizes(c *Call, n sym.Int) ([]sym.Int, error) {
	sum := symZero
	for _, s := range c.Ints(1) {
		if sym.Lt(s, symZero) {
			return nil, Errorf("split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s", ShapeText(c.Ints(1)))
		}
		sum = sym.Add(sum, s)
	}
	if sym.Ne(sum, n) {
		return nil, Errorf("split_with_sizes expects split_sizes to sum exactly to %s (input tensor's size at dimension %s), but got split_sizes=%s", n, c.Int(2), ShapeText(c.Ints(1)))
	}
	return c.Ints(1), nil
}

// joinGrads puts the gradients of pieces together again.
func joinGrads(dimArg int) backFn {
	return backOf(func(b B, c *BackwardCall) []Value {
		gs := make([]Value, len(c.Grads))
		var d DType
		for _, g := range c.Grads {
			if g != nil {
				d = g.TensorMeta().DType
			}
		}
		res, err := c.Op.Meta(c.Call)
		refuse(err)
		for i, g := range c.Grads {
			if gs[i] = g; g == nil {
				m := *res[i].(*TensorMeta)
				m.DType = d
				gs[i] = b.zeros(&m)
			}
		}
		return []Value{b.cat(dimOf(c.Call, dimArg), gs...)}
	})
}

func pieceRows() []*Op {
	return []*Op{
		{
			ID: Split, Name: "split", Schema: "(Tensor self, int[] split_size_or_sections, int dim=0) -> Tensor[]", Tags: TagView,
			Meta: partsMeta(splitSizes, 2), Backward: joinGrads(2),
		},
		{
			ID: SplitWithSizes, Name: "split_with_sizes", Schema: "(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]", Tags: TagView,
			Meta: partsMeta(withSizes, 2), Backward: joinGrads(2),
		},
		{
			ID: Chunk, Name: "chunk", Schema: "(Tensor self, int chunks, int dim=0) -> Tensor[]", Tags: TagView,
			Meta: partsMeta(func(c *Call, n sym.Int) ([]sym.Int, error) {
				k := sym.Force(c.Int(1))
				if k <= 0 {
					return nil, Errorf("chunk expects `chunks` to be greater than 0, got: %d", k)
				}
				total := sym.Force(n)
				size := (total + k - 1) / k
				if size == 0 {
					out := make([]sym.Int, k)
					return out, nil
				}
				var out []sym.Int
				for at := int64(0); at < total; at += size {
					out = append(out, sym.Const(min(size, total-at)))
				}
				return out, nil
			}, 2), Backward: joinGrads(2), GradName: "SplitBackward0",
		},
		{
			ID: Unbind, Name: "unbind", Schema: "(Tensor self, int dim=0) -> Tensor[]", Tags: TagView,
			Meta: func(c *Call) ([]Result, error) {
				m := c.Tensor(0)
				if len(m.Shape) == 0 {
					return nil, IndexErrorf("Dimension specified as %s but tensor has no dimensions", c.Int(1))
				}
				d, err := WrapDim(c.Int(1), len(m.Shape))
				if err != nil {
					return nil, err
				}
				var out []Result
				for i := range sym.Force(m.Shape[d]) {
					off := sym.Add(m.Offset, sym.Mul(sym.Const(i), m.Stride[d]))
					out = append(out, asView(m, without(m.Shape, d), without(m.Stride, d), off)...)
				}
				return out, nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				gs := make([]Value, len(c.Grads))
				for i, g := range c.Grads {
					if gs[i] = g; g == nil {
						gs[i] = b.zeros(c.Outs[i].TensorMeta())
					}
				}
				return []Value{b.Emit(Stack, gs, c.Args[1])}
			}),
		},
		viewRow(Unfold, "unfold", "(Tensor self, int dimension, int size, int step) -> Tensor", func(c *Call, m *TensorMeta) ([]Result, error) {
			d, err := WrapDim(c.Int(1), len(m.Shape))
			if err != nil {
				return nil, err
			}
			size, step := c.Int(2), c.Int(3)
			n, st := symOne, symOne
			if len(m.Shape) > 0 {
				n, st = m.Shape[d], m.Stride[d]
			}
			if sym.Lt(size, symZero) {
				return nil, Errorf("size is %s but must be >= 0", size)
			}
			if sym.Gt(size, n) {
				return nil, Errorf("maximum size for tensor at dimension %d is %s but size is %s", d, n, size)
			}
			if sym.Le(step, symZero) {
				return nil, Errorf("step is %s but must be > 0", step)
			}
			if len(m.Shape) == 0 {
				return asView(m, []sym.Int{size}, []sym.Int{symOne}, m.Offset), nil
			}
			count := sym.Add(sym.FloorDiv(sym.Sub(n, size), step), symOne)
			shape := append(replaced(m.Shape, d, count), size)
			stride := append(replaced(m.Stride, d, sym.Mul(st, step)), st)
			return asView(m, shape, stride, m.Offset), nil
		}, unfoldBack),
	}
}

// unfoldBack adds every window back to where it was taken.
func unfoldBack(b B, c *BackwardCall, g Value) Value {
	m := c.Tensor(0)
	if len(m.Shape) == 0 {
		return b.reshape(b.sum(g, false))
	}
	d := dimOf(c.Call, 1)
	count := g.TensorMeta().Shape[d]
	starts := b.unsqueeze(b.mul(b.arange(count, m), c.Args[3]), 1)
	at := b.reshape(b.add(starts, b.arange(c.Int(2), m)), sym.Mul(count, c.Int(2)))
	n := len(m.Shape)
	order := append(seq(0, d+1), n)
	order = append(order, seq(d+1, n)...)
	flat := replaced(m.Shape, d, sym.Mul(count, c.Int(2)))
	return b.Emit(IndexAdd, b.zeros(likeGrad(c, g)), d, at, b.reshape(b.permute(g, order...), flat...))
}

func turnRows() []*Op {
	moveDims := func(c *Call) []int {
		n := len(c.Tensor(0).Shape)
		src, dst := c.Nums(1), c.Nums(2)
		if len(src) != len(dst) {
			refuse(Errorf("movedim: Invalid source or destination dims: source (%s dims) should contain the same number of dims as destination (%s dims)", ShapeText(c.Ints(1)), ShapeText(c.Ints(2))))
		}
		order := make([]int, n)
		taken := make([]bool, n)
		for i := range order {
			order[i] = -1
		}
		for i := range src {
			s, err := wrapDim(src[i], n)
			refuse(err)
			d, err := wrapDim(dst[i], n)
			refuse(err)
			if taken[s] {
				refuse(Errorf("movedim: repeated dim in `source` (%s)", ShapeText(c.Ints(1))))
			}
			if order[d] != -1 {
				refuse(Errorf("movedim: repeated dim in `destination` (%s)", ShapeText(c.Ints(2))))
			}
			order[d], taken[s] = s, true
		}
		next := 0
		for i := range order {
			if order[i] != -1 {
				continue
			}
			for taken[next] {
				next++
			}
			order[i] = next
			next++
		}
		return order
	}
	moveDim := func(id ID, name string) *Op {
		return composite(id, name, "(Tensor self, int[] source, int[] destination) -> Tensor", TagView, func(b B, c *Call) Value {
			if len(c.Tensor(0).Shape) == 0 {
				return b.Emit(Alias, c.Value(0))
			}
			return b.permute(c.Value(0), moveDims(c)...)
		})
	}
	swap := func(id ID, name string) *Op {
		return composite(id, name, "(Tensor self, int dim0, int dim1) -> Tensor", TagView, func(b B, c *Call) Value {
			return b.Emit(Transpose, c.Value(0), c.Args[1], c.Args[2])
		})
	}
	return []*Op{
		moveDim(Movedim, "movedim"), moveDim(Moveaxis, "moveaxis"), swap(Swapaxes, "swapaxes"), swap(Swapdims, "swapdims"),
		viewRow(Diagonal, "diagonal", "(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonalMeta, func(b B, c *BackwardCall, g Value) Value {
			return b.Emit(DiagonalScatter, b.zeros(likeGrad(c, g)), g, c.Args[1], c.Args[2], c.Args[3])
		}),
		placeRow(DiagonalScatter, "diagonal_scatter", "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor", func(b B, c *Call, x Value) Value {
			return b.Emit(Diagonal, x, c.Args[2], c.Args[3], c.Args[4])
		}),
		composite(Diag, "diag", "(Tensor self, int diagonal=0) -> Tensor", 0, func(b B, c *Call) Value {
			switch n := len(c.Tensor(0).Shape); n {
			case 1:
				return b.Emit(DiagEmbed, c.Value(0), c.Args[1])
			case 2:
				return b.Emit(Clone, b.Emit(Diagonal, c.Value(0), c.Args[1]))
			default:
				refuse(Errorf("diag(): Supports 1D or 2D tensors. Got %dD", n))
				return nil
			}
		}),
		composite(DiagEmbed, "diag_embed", "(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", 0, diagEmbed),
		composite(Rot90, "rot90", "(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", 0, rot90),
		composite(Fliplr, "fliplr", selfOnly, 0, func(b B, c *Call) Value {
			if len(c.Tensor(0).Shape) < 2 {
				refuse(Errorf("Input must be >= 2-d."))
			}
			return b.Emit(Flip, c.Value(0), []int{1})
		}),
		composite(Flipud, "flipud", selfOnly, 0, func(b B, c *Call) Value {
			if len(c.Tensor(0).Shape) < 1 {
				refuse(Errorf("Input must be >= 1-d."))
			}
			return b.Emit(Flip, c.Value(0), []int{0})
		}),
		composite(Unflatten, "unflatten", "(Tensor self, int dim, int[] sizes) -> Tensor", TagView, func(b B, c *Call) Value {
			m := c.Tensor(0)
			d := dimOf(c, 1)
			if len(c.Ints(2)) == 0 {
				refuse(Errorf("unflatten: sizes must be non-empty"))
			}
			sizes, err := InferShape(c.Ints(2), m.Shape[d])
			if err != nil {
				refuse(Errorf("unflatten: Provided sizes %s don't multiply up to the size of dim %d (%s) in the input tensor", ShapeText(c.Ints(2)), d, m.Shape[d]))
			}
			shape := append(cloneInts(m.Shape[:d]), sizes...)
			return b.view(c.Value(0), append(shape, m.Shape[d+1:]...)...)
		}),
		composite(PixelShuffle, "pixel_shuffle", "(Tensor input, int upscale_factor) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			m, r := c.Tensor(0), c.Int(1)
			n := len(m.Shape)
			if n < 3 {
				refuse(Errorf("pixel_shuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", n))
			}
			if sym.Le(r, symZero) {
				refuse(Errorf("pixel_shuffle expects a positive upscale_factor, but got %s", r))
			}
			ch, h, w := m.Shape[n-3], m.Shape[n-2], m.Shape[n-1]
			oc := sym.FloorDiv(ch, sym.Mul(r, r))
			if sym.Ne(sym.Mul(oc, sym.Mul(r, r)), ch) {
				refuse(Errorf("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but input.size(-3)=%s is not divisible by %s", ch, sym.Mul(r, r)))
			}
			lead := m.Shape[:n-3]
			x := b.reshape(c.Value(0), append(cloneInts(lead), oc, r, r, h, w)...)
			k := len(lead)
			x = b.permute(x, append(seq(0, k), k, k+3, k+1, k+4, k+2)...)
			return b.reshape(x, append(cloneInts(lead), oc, sym.Mul(h, r), sym.Mul(w, r))...)
		}),
		composite(PixelUnshuffle, "pixel_unshuffle", "(Tensor input, int downscale_factor) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			m, r := c.Tensor(0), c.Int(1)
			n := len(m.Shape)
			if n < 3 {
				refuse(Errorf("pixel_unshuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", n))
			}
			ch, h, w := m.Shape[n-3], sym.FloorDiv(m.Shape[n-2], r), sym.FloorDiv(m.Shape[n-1], r)
			lead := m.Shape[:n-3]
			k := len(lead)
			x := b.reshape(c.Value(0), append(cloneInts(lead), ch, h, r, w, r)...)
			x = b.permute(x, append(seq(0, k), k, k+2, k+4, k+1, k+3)...)
			return b.reshape(x, append(cloneInts(lead), sym.Mul(ch, sym.Mul(r, r)), h, w)...)
		}),
		composite(ChannelShuffle, "channel_shuffle", "(Tensor input, int groups) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			m, g := c.Tensor(0), c.Int(1)
			per := sym.FloorDiv(m.Shape[1], g)
			x := b.reshape(c.Value(0), append([]sym.Int{m.Shape[0], g, per}, m.Shape[2:]...)...)
			return b.reshape(b.transpose(x, 1, 2), m.Shape...)
		}),
	}
}

func diagonalMeta(c *Call, m *TensorMeta) ([]Result, error) {
	d1, err := WrapDim(c.Int(2), len(m.Shape))
	if err != nil {
		return nil, err
	}
	d2, err := WrapDim(c.Int(3), len(m.Shape))
	if err != nil {
		return nil, err
	}
	if d1 == d2 {
		return nil, Errorf("diagonal dimensions cannot be identical %s, %s", c.Int(2), c.Int(3))
	}
	off := c.Int(1)
	var n sym.Int
	at := m.Offset
	if sym.Ge(off, symZero) {
		n = sym.Min(m.Shape[d1], sym.Sub(m.Shape[d2], off))
		at = sym.Add(at, sym.Mul(off, m.Stride[d2]))
	} else {
		n = sym.Min(sym.Add(m.Shape[d1], off), m.Shape[d2])
		at = sym.Sub(at, sym.Mul(off, m.Stride[d1]))
	}
	if sym.Le(n, symZero) {
		n, at = symZero, m.Offset
	}
	hi, lo := max(d1, d2), min(d1, d2)
	shape := append(without(without(m.Shape, hi), lo), n)
	stride := append(without(without(m.Stride, hi), lo), sym.Add(m.Stride[d1], m.Stride[d2]))
	return asView(m, shape, stride, at), nil
}

func diagEmbed(b B, c *Call) Value {
	m := c.Tensor(0)
	rank := len(m.Shape) + 1
	d1, err := WrapDim(c.Int(2), rank)
	refuse(err)
	d2, err := WrapDim(c.Int(3), rank)
	refuse(err)
	if d1 == d2 {
		refuse(Errorf("diagonal dimensions cannot be identical %s, %s", c.Int(2), c.Int(3)))
	}
	off := c.Int(1)
	abs := off
	if sym.Lt(off, symZero) {
		abs = sym.Neg(off)
	}
	n := sym.Add(m.Shape[len(m.Shape)-1], abs)
	shape := cloneInts(m.Shape[:len(m.Shape)-1])
	lo, hi := min(d1, d2), max(d1, d2)
	shape = inserted(inserted(shape, lo, n), hi, n)
	zero := b.full(shape, 0, m)
	return b.Emit(DiagonalScatter, zero, c.Value(0), off, d1, d2)
}

func rot90(b B, c *Call) Value {
	x := c.Value(0)
	dims := c.Nums(2)
	n := len(c.Tensor(0).Shape)
	if len(dims) != 2 {
		refuse(Errorf("expected total rotation dims == 2, but got dims = %d", len(dims)))
	}
	if n < 2 {
		refuse(Errorf("expected total dims >= 2, but got total dims = %d", n))
	}
	for _, d := range dims {
		if d >= n || d < -n {
			refuse(Errorf("Rotation dim0 out of range, dim0 = %d", d))
		}
	}
	if (dims[0]+n)%n == (dims[1]+n)%n {
		refuse(Errorf("expected rotation dims to be different, but got dim0 = %d and dim1 = %d", dims[0], dims[1]))
	}
	k := ((c.Num(1) % 4) + 4) % 4
	switch k {
	case 1:
		return b.Emit(Clone, b.transpose(b.Emit(Flip, x, []int{dims[1]}), dims[0], dims[1]), "contiguous_format")
	case 2:
		return b.Emit(Flip, x, dims)
	case 3:
		return b.Emit(Clone, b.transpose(b.Emit(Flip, x, []int{dims[0]}), dims[0], dims[1]), "contiguous_format")
	}
	return b.Emit(Clone, x, "contiguous_format")
}

func repeatRows() []*Op {
	return []*Op{
		composite(Repeat, "repeat", "(Tensor self, int[] repeats) -> Tensor", TagNotFunction, repeat),
		composite(Tile, "tile", "(Tensor self, int[] dims) -> Tensor", 0, func(b B, c *Call) Value {
			reps := c.Ints(1)
			for len(reps) < len(c.Tensor(0).Shape) {
				reps = inserted(reps, 0, symOne)
			}
			return b.Emit(Repeat, c.Value(0), reps)
		}),
		composite(Roll, "roll", "(Tensor self, int[] shifts, int[] dims=[]) -> Tensor", 0, roll),
		compositeN(Meshgrid, "meshgrid", "(Tensor[] tensors, *, str? indexing=None) -> Tensor[]", TagNotMethod, meshgrid),
		compositeN(BroadcastTensors, "broadcast_tensors", "(Tensor[] tensors) -> Tensor[]", TagNotMethod, func(b B, c *Call) []Value {
			var shapes [][]sym.Int
			for _, x := range c.Values(0) {
				shapes = append(shapes, x.TensorMeta().Shape)
			}
			shape, err := Broadcast(shapes...)
			refuse(err)
			var out []Value
			for _, x := range c.Values(0) {
				out = append(out, b.expand(x, shape))
			}
			return out
		}),
		composite(BroadcastTo, "broadcast_to", "(Tensor self, int[] size) -> Tensor", TagView, func(b B, c *Call) Value {
			return b.Emit(Expand, c.Value(0), c.Args[1])
		}),
		composite(ExpandAs, "expand_as", "(Tensor self, Tensor other) -> Tensor", TagView|TagNotFunction, func(b B, c *Call) Value {
			return b.expand(c.Value(0), c.Tensor(1).Shape)
		}),
		composite(ViewAs, "view_as", "(Tensor self, Tensor other) -> Tensor", TagView|TagNotFunction, func(b B, c *Call) Value {
			return b.view(c.Value(0), c.Tensor(1).Shape...)
		}),
		composite(ReshapeAs, "reshape_as", "(Tensor self, Tensor other) -> Tensor", TagMaybeView|TagNotFunction, func(b B, c *Call) Value {
			return b.reshape(c.Value(0), c.Tensor(1).Shape...)
		}),
		composite(Ravel, "ravel", selfOnly, TagMaybeView, func(b B, c *Call) Value {
			return b.reshape(b.Emit(Contiguous, c.Value(0)), numel(c.Tensor(0).Shape))
		}),
		composite(SumToSize, "sum_to_size", "(Tensor self, int[] size) -> Tensor", TagNotFunction, func(b B, c *Call) Value {
			m := c.Tensor(0)
			if s, err := broadcast2(c.Ints(1), m.Shape); err != nil || !equalShape(s, m.Shape) {
				refuse(Errorf("size {%s} is not expandable to size {%s}.", ShapeText(c.Ints(1)), ShapeText(m.Shape)))
			}
			if sum := c.Value(0); isFloaty(m.DType) || equalShape(c.Ints(1), m.Shape) && len(m.Shape) > 0 {
				return b.sumTo(sum, c.Ints(1))
			}
			return b.sumTo(b.cast(c.Value(0), Int64), c.Ints(1)) // what is summed counts, as in sum
		}),
		repeatInterleaveRow(),
	}
}

func repeat(b B, c *Call) Value {
	m, reps := c.Tensor(0), c.Ints(1)
	lead := len(reps) - len(m.Shape)
	if lead < 0 {
		refuse(Errorf("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"))
	}
	var split, wide, out []sym.Int
	for i, r := range reps {
		if sym.Lt(r, symZero) {
			refuse(Errorf("Trying to create tensor with negative dimension %s: %s", r, ShapeText(reps)))
		}
		n := symOne
		if i >= lead {
			n = m.Shape[i-lead]
		}
		split, wide, out = append(split, symOne, n), append(wide, r, n), append(out, sym.Mul(r, n))
	}
	x := b.expand(b.reshape(c.Value(0), split...), wide)
	return b.reshape(b.Emit(Clone, x, "contiguous_format"), out...)
}

func roll(b B, c *Call) Value {
	x := c.Value(0)
	m := c.Tensor(0)
	shifts, dims := c.Ints(1), c.Nums(2)
	if len(dims) == 0 {
		if len(shifts) != 1 {
			refuse(Errorf("shifts and dimensions must align. shifts: %d, dims:%d", len(shifts), len(dims)))
		}
		flat := b.reshape(x, numel(m.Shape))
		return b.reshape(rollDim(b, flat, 0, shifts[0]), m.Shape...)
	}
	if len(shifts) != len(dims) {
		refuse(Errorf("shifts and dimensions must align. shifts: %d, dims:%d", len(shifts), len(dims)))
	}
	for i, d := range dims {
		if len(m.Shape) == 0 {
			refuse(IndexErrorf("Dimension specified as %d but tensor has no dimensions", d))
		}
		d, err := wrapDim(d, len(m.Shape))
		refuse(err)
		x = rollDim(b, x, d, shifts[i])
	}
	return x
}

func rollDim(b B, x Value, d int, shift sym.Int) Value {
	m := x.TensorMeta()
	if len(m.Shape) == 0 || sym.Is(m.Shape[d], 0) {
		return b.Emit(Clone, x)
	}
	start := sym.Mod(sym.Neg(shift), m.Shape[d])
	return b.cat(d, b.slice(x, d, start, m.Shape[d]), b.slice(x, d, symZero, start))
}

// repeatInterleaveRow repeats each element; repeats is a number or a tensor.
func repeatInterleaveRow() *Op {
	row := composite(RepeatInterleave, "repeat_interleave", "(Tensor self, Operand repeats, int? dim=None, *, int? output_size=None) -> Tensor", 0, func(b B, c *Call) Value {
		x := c.Value(0)
		if c.IsNone(2) {
			x = b.reshape(x, numel(c.Tensor(0).Shape))
		}
		m := x.TensorMeta()
		d := 0
		if !c.IsNone(2) {
			d = dimOf(c, 2)
		}
		r := c.Int(1)
		wide := b.expand(b.unsqueeze(x, d+1), inserted(m.Shape, d+1, r))
		return b.reshape(b.Emit(Clone, wide, "contiguous_format"), replaced(m.Shape, d, sym.Mul(m.Shape[d], r))...)
	})
	inner, meta := row.Decompose, row.Meta
	row.Decompose = func(bb Builder, c *Call) []Value {
		if c.Value(1) == nil {
			return inner(bb, c)
		}
		b := B{bb}
		x, d := c.Value(0), symZero
		if c.IsNone(2) {
			x = b.reshape(x, numel(c.Tensor(0).Shape))
		} else {
			d = c.Int(2)
		}
		return []Value{b.Emit(IndexSelect, x, d, b.Emit(RepeatIndex, c.Value(1), x.TensorMeta().Shape[int(sym.Force(d))]))}
	}
	row.Meta = func(c *Call) ([]Result, error) {
		if c.Value(1) != nil {
			return nil, &DataDependentError{Op: "repeat_interleave"}
		}
		return meta(c)
	}
	return row
}

// DataDependentError says that a result's shape is known only from data.
type DataDependentError struct{ Op string }

func (e *DataDependentError) Error() string {
	return "the shape of the result of " + e.Op + " depends on data"
}

func meshgrid(b B, c *Call) []Value {
	xs := c.Values(0)
	if len(xs) == 0 {
		refuse(Errorf("meshgrid expects a non-empty TensorList"))
	}
	indexing := c.Str(1)
	if indexing != "" && indexing != "ij" && indexing != "xy" {
		refuse(Errorf("torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s", indexing))
	}
	swap := indexing == "xy" && len(xs) >= 2
	if swap {
		xs = append([]Value{xs[1], xs[0]}, xs[2:]...)
	}
	var shape []sym.Int
	for i, x := range xs {
		m := x.TensorMeta()
		if len(m.Shape) > 1 {
			refuse(Errorf("torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %s", ShapeText(m.Shape)))
		}
		if m.DType != xs[0].TensorMeta().DType {
			refuse(Errorf("torch.meshgrid expects all tensors to have the same dtype"))
		}
		_ = i
		shape = append(shape, numel(m.Shape))
	}
	out := make([]Value, len(xs))
	for i, x := range xs {
		v := make([]sym.Int, len(xs))
		for j := range v {
			v[j] = symOne
		}
		v[i] = shape[i]
		out[i] = b.expand(b.view(x, v...), shape)
	}
	if swap {
		out[0], out[1] = out[1], out[0]
	}
	return out
}
