package ops

import (
	"tcdbg/ops/sym"
)

// This file holds the views that cut a tensor into pieces or reorder its dimensions, and
// the copies that repeat it.

func rearrangeRows() []*Op {
	return append(append(pieceRows(), dimOrderRows()...), repeatRows()...)
}

// partsMeta makes the rule of a view that cuts a dimension into pieces.
func partsMeta(sizes func(c *Call, n sym.Int) ([]sym.Int, error)) func(*Call) ([]Result, error) {
	return func(c *Call) ([]Result, error) {
		a := In[SelfAnyDimArgs](c)
		m := a.Self.Meta()
		if len(m.Shape) == 0 {
			return nil, Errorf("%s expects at least a 1-dimensional tensor", c.Op.Name)
		}
		d, err := WrapDim(a.Dim.Int(), len(m.Shape))
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
	list := In[SplitArgs](c).SplitSizeOrSections.Ints()
	if len(list) != 1 {
		return withSizes(c, list, n)
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

// withSizes are the listed sizes, which must add up to n.
func withSizes(c *Call, sizes []sym.Int, n sym.Int) ([]sym.Int, error) {
	sum := symZero
	for _, s := range sizes {
		if sym.Lt(s, symZero) {
			return nil, Errorf(
				"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
				ShapeText(sizes),
			)
		}
		sum = sym.Add(sum, s)
	}
	if sym.Ne(sum, n) {
		return nil, Errorf(
			"split_with_sizes expects split_sizes to sum exactly to %s (input tensor's size at dimension %s), but got split_sizes=%s",
			n, In[SelfAnyDimArgs](c).Dim.Int(), ShapeText(sizes),
		)
	}
	return sizes, nil
}

// joinGrads puts the gradients of pieces together again.
func joinGrads() backFn {
	return backOf(func(b B, c *BackwardCall) []Value {
		a := In[SelfAnyDimArgs](c.Call)
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
		return []Value{b.cat(a.Dim.of(a.Self), gs...)}
	})
}

func pieceRows() []*Op {
	return []*Op{
		{
			ID: Split, Name: "split", Schema: "(Tensor self, int[] split_size_or_sections, int dim=0) -> Tensor[]", Tags: TagView,
			Meta: partsMeta(splitSizes), Backward: joinGrads(),
		},
		{
			ID: SplitWithSizes, Name: "split_with_sizes", Schema: "(Tensor self, int[] split_sizes, int dim=0) -> Tensor[]",
			Tags: TagView | TagComplex,
			Meta: partsMeta(func(c *Call, n sym.Int) ([]sym.Int, error) {
				return withSizes(c, In[SplitWithSizesArgs](c).SplitSizes.Ints(), n)
			}),
			Backward: joinGrads(),
		},
		{
			ID: Chunk, Name: "chunk", Schema: "(Tensor self, int chunks, int dim=0) -> Tensor[]", Tags: TagView | TagComplex,
			Meta: partsMeta(func(c *Call, n sym.Int) ([]sym.Int, error) {
				k := sym.Force(In[ChunkArgs](c).Chunks.Int())
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
			}), Backward: joinGrads(), GradName: "SplitBackward0",
		},
		{
			ID: Unbind, Name: "unbind", Schema: "(Tensor self, int dim=0) -> Tensor[]", Tags: TagView,
			Meta: func(c *Call) ([]Result, error) {
				a := In[UnbindArgs](c)
				m := a.Self.Meta()
				if len(m.Shape) == 0 {
					return nil, IndexErrorf("Dimension specified as %s but tensor has no dimensions", a.Dim.Int())
				}
				d, err := WrapDim(a.Dim.Int(), len(m.Shape))
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
				return []Value{b.Emit(Stack, gs, In[UnbindArgs](c.Call).Dim.Arg)}
			}),
		},
		viewRow(Unfold, "unfold", "(Tensor self, int dimension, int size, int step) -> Tensor",
			func(c *Call, m *TensorMeta) ([]Result, error) {
				a := In[UnfoldArgs](c)
				d, err := WrapDim(a.Dimension.Int(), len(m.Shape))
				if err != nil {
					return nil, err
				}
				size, step := a.Size.Int(), a.Step.Int()
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
	a := In[UnfoldArgs](c.Call)
	m := a.Self.Meta()
	if len(m.Shape) == 0 {
		return b.reshape(b.sum(g, false))
	}
	d := a.Dimension.of(a.Self)
	count := g.TensorMeta().Shape[d]
	starts := b.unsqueeze(b.mul(b.arange(count, m), a.Step.Arg), 1)
	at := b.reshape(b.add(starts, b.arange(a.Size.Int(), m)), sym.Mul(count, a.Size.Int()))
	n := len(m.Shape)
	order := append(seq(0, d+1), n)
	order = append(order, seq(d+1, n)...)
	flat := replaced(m.Shape, d, sym.Mul(count, a.Size.Int()))
	return b.Emit(IndexAdd, b.zeros(likeGrad(c, g)), d, at, b.reshape(b.permute(g, order...), flat...))
}

func dimOrderRows() []*Op {
	moveDims := func(c *Call) []int {
		a := In[SelfSourceDestinationArgs](c)
		n := len(a.Self.Meta().Shape)
		src, dst := a.Source.Nums(), a.Destination.Nums()
		if len(src) != len(dst) {
			refuse(Errorf(
				"movedim: Invalid source or destination dims: source (%s dims) should contain the same number of dims as "+
					"destination (%s dims)",
				ShapeText(a.Source.Ints()), ShapeText(a.Destination.Ints()),
			))
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
				refuse(Errorf("movedim: repeated dim in `source` (%s)", ShapeText(a.Source.Ints())))
			}
			if order[d] != -1 {
				refuse(Errorf("movedim: repeated dim in `destination` (%s)", ShapeText(a.Destination.Ints())))
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
			a := In[SelfArgs](c)
			if len(a.Self.Meta().Shape) == 0 {
				return b.Emit(Alias, a.Self.Value())
			}
			return b.permute(a.Self.Value(), moveDims(c)...)
		})
	}
	swap := func(id ID, name string) *Op {
		return composite(id, name, "(Tensor self, int dim0, int dim1) -> Tensor", TagView, func(b B, c *Call) Value {
			a := In[SelfDim0Dim1Args](c)
			return b.Emit(Transpose, a.Self.Value(), a.Dim0.Arg, a.Dim1.Arg)
		})
	}
	return []*Op{
		moveDim(Movedim, "movedim"), moveDim(Moveaxis, "moveaxis"), swap(Swapaxes, "swapaxes").and(TagHasInPlace),
		swap(Swapdims, "swapdims").and(TagHasInPlace),
		viewRow(Diagonal, "diagonal", "(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonalMeta,
			func(b B, c *BackwardCall, g Value) Value {
				a := In[DiagonalArgs](c.Call)
				return b.Emit(DiagonalScatter, b.zeros(likeGrad(c, g)), g, a.Offset.Arg, a.Dim1.Arg, a.Dim2.Arg)
			}),
		placeRow(DiagonalScatter, "diagonal_scatter", "(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
			func(b B, c *Call, x Value) Value {
				a := In[DiagonalScatterArgs](c)
				return b.Emit(Diagonal, x, a.Offset.Arg, a.Dim1.Arg, a.Dim2.Arg)
			}).and(TagComplex),
		composite(Diag, "diag", "(Tensor self, int diagonal=0) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[DiagArgs](c)
			switch n := len(a.Self.Meta().Shape); n {
			case 1:
				return b.Emit(DiagEmbed, a.Self.Value(), a.Diagonal.Arg)
			case 2:
				return b.Emit(Clone, b.Emit(Diagonal, a.Self.Value(), a.Diagonal.Arg))
			default:
				refuse(Errorf("diag(): Supports 1D or 2D tensors. Got %dD", n))
				return nil
			}
		}).and(TagComplex),
		composite(DiagEmbed, "diag_embed", "(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", 0, diagEmbed).and(TagComplex),
		composite(Rot90, "rot90", "(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", 0, rot90).and(TagComplex),
		composite(Fliplr, "fliplr", selfOnly, 0, func(b B, c *Call) Value {
			a := In[FliplrArgs](c)
			if len(a.Self.Meta().Shape) < 2 {
				refuse(Errorf("Input must be >= 2-d."))
			}
			return b.Emit(Flip, a.Self.Value(), []int{1})
		}).and(TagComplex),
		composite(Flipud, "flipud", selfOnly, 0, func(b B, c *Call) Value {
			a := In[FlipudArgs](c)
			if len(a.Self.Meta().Shape) < 1 {
				refuse(Errorf("Input must be >= 1-d."))
			}
			return b.Emit(Flip, a.Self.Value(), []int{0})
		}).and(TagComplex),
		composite(Unflatten, "unflatten", "(Tensor self, int dim, int[] sizes) -> Tensor", TagView, func(b B, c *Call) Value {
			a := In[UnflattenArgs](c)
			m := a.Self.Meta()
			d := a.Dim.of(a.Self)
			if len(a.Sizes.Ints()) == 0 {
				refuse(Errorf("unflatten: sizes must be non-empty"))
			}
			sizes, err := InferShape(a.Sizes.Ints(), m.Shape[d])
			if err != nil {
				refuse(Errorf(
					"unflatten: Provided sizes %s don't multiply up to the size of dim %d (%s) in the input tensor",
					ShapeText(a.Sizes.Ints()), d, m.Shape[d],
				))
			}
			shape := append(cloneInts(m.Shape[:d]), sizes...)
			return b.view(a.Self.Value(), append(shape, m.Shape[d+1:]...)...)
		}),
		composite(PixelShuffle, "pixel_shuffle", "(Tensor input, int upscale_factor) -> Tensor", TagNN|TagNotMethod,
			func(b B, c *Call) Value {
				a := In[PixelShuffleArgs](c)
				m, r := a.Input.Meta(), a.UpscaleFactor.Int()
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
					refuse(Errorf(
						"pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "+
							"but input.size(-3)=%s is not divisible by %s",
						ch, sym.Mul(r, r),
					))
				}
				lead := m.Shape[:n-3]
				x := b.reshape(a.Input.Value(), append(cloneInts(lead), oc, r, r, h, w)...)
				k := len(lead)
				x = b.permute(x, append(seq(0, k), k, k+3, k+1, k+4, k+2)...)
				return b.reshape(x, append(cloneInts(lead), oc, sym.Mul(h, r), sym.Mul(w, r))...)
			}).and(TagComplex),
		composite(PixelUnshuffle, "pixel_unshuffle", "(Tensor input, int downscale_factor) -> Tensor", TagNN|TagNotMethod,
			func(b B, c *Call) Value {
				a := In[PixelUnshuffleArgs](c)
				m, r := a.Input.Meta(), a.DownscaleFactor.Int()
				n := len(m.Shape)
				if n < 3 {
					refuse(Errorf("pixel_unshuffle expects input to have at least 3 dimensions, but got input with %d dimension(s)", n))
				}
				ch, h, w := m.Shape[n-3], sym.FloorDiv(m.Shape[n-2], r), sym.FloorDiv(m.Shape[n-1], r)
				lead := m.Shape[:n-3]
				k := len(lead)
				x := b.reshape(a.Input.Value(), append(cloneInts(lead), ch, h, r, w, r)...)
				x = b.permute(x, append(seq(0, k), k, k+2, k+4, k+1, k+3)...)
				return b.reshape(x, append(cloneInts(lead), sym.Mul(ch, sym.Mul(r, r)), h, w)...)
			}).and(TagComplex),
		composite(ChannelShuffle, "channel_shuffle", "(Tensor input, int groups) -> Tensor", TagNN|TagNotMethod, func(b B, c *Call) Value {
			a := In[ChannelShuffleArgs](c)
			m, g := a.Input.Meta(), a.Groups.Int()
			per := sym.FloorDiv(m.Shape[1], g)
			x := b.reshape(a.Input.Value(), append([]sym.Int{m.Shape[0], g, per}, m.Shape[2:]...)...)
			return b.reshape(b.transpose(x, 1, 2), m.Shape...)
		}).and(TagComplex),
	}
}

func diagonalMeta(c *Call, m *TensorMeta) ([]Result, error) {
	a := In[DiagonalArgs](c)
	d1, err := WrapDim(a.Dim1.Int(), len(m.Shape))
	if err != nil {
		return nil, err
	}
	d2, err := WrapDim(a.Dim2.Int(), len(m.Shape))
	if err != nil {
		return nil, err
	}
	if d1 == d2 {
		return nil, Errorf("diagonal dimensions cannot be identical %s, %s", a.Dim1.Int(), a.Dim2.Int())
	}
	off := a.Offset.Int()
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
	a := In[DiagEmbedArgs](c)
	m := a.Self.Meta()
	rank := len(m.Shape) + 1
	d1, err := WrapDim(a.Dim1.Int(), rank)
	refuse(err)
	d2, err := WrapDim(a.Dim2.Int(), rank)
	refuse(err)
	if d1 == d2 {
		refuse(Errorf("diagonal dimensions cannot be identical %s, %s", a.Dim1.Int(), a.Dim2.Int()))
	}
	off := a.Offset.Int()
	abs := off
	if sym.Lt(off, symZero) {
		abs = sym.Neg(off)
	}
	n := sym.Add(m.Shape[len(m.Shape)-1], abs)
	shape := cloneInts(m.Shape[:len(m.Shape)-1])
	lo, hi := min(d1, d2), max(d1, d2)
	shape = inserted(inserted(shape, lo, n), hi, n)
	zero := b.full(shape, 0, m)
	return b.Emit(DiagonalScatter, zero, a.Self.Value(), off, d1, d2)
}

func rot90(b B, c *Call) Value {
	a := In[Rot90Args](c)
	x := a.Self.Value()
	dims := a.Dims.Nums()
	n := len(a.Self.Meta().Shape)
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
	k := ((a.K.Num() % 4) + 4) % 4
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
		composite(Repeat, "repeat", "(Tensor self, int[] repeats) -> Tensor", TagNotFunction, repeat).and(TagComplex),
		composite(Tile, "tile", "(Tensor self, int[] dims) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[TileArgs](c)
			reps := a.Dims.Ints()
			for len(reps) < len(a.Self.Meta().Shape) {
				reps = inserted(reps, 0, symOne)
			}
			return b.Emit(Repeat, a.Self.Value(), reps)
		}).and(TagComplex),
		composite(Roll, "roll", "(Tensor self, int[] shifts, int[] dims=[]) -> Tensor", 0, roll).and(TagComplex),
		compositeN(Meshgrid, "meshgrid", "(Tensor[] tensors, *, str? indexing=None) -> Tensor[]", TagNotMethod, meshgrid).and(TagComplex),
		compositeN(BroadcastTensors, "broadcast_tensors", "(Tensor[] tensors) -> Tensor[]", TagNotMethod, func(b B, c *Call) []Value {
			a := In[BroadcastTensorsArgs](c)
			var shapes [][]sym.Int
			for _, x := range a.Tensors.Values() {
				shapes = append(shapes, x.TensorMeta().Shape)
			}
			shape, err := Broadcast(shapes...)
			refuse(err)
			var out []Value
			for _, x := range a.Tensors.Values() {
				out = append(out, b.expand(x, shape))
			}
			return out
		}).and(TagComplex),
		composite(BroadcastTo, "broadcast_to", "(Tensor self, int[] size) -> Tensor", TagView, func(b B, c *Call) Value {
			a := In[BroadcastToArgs](c)
			return b.Emit(Expand, a.Self.Value(), a.Size.Arg)
		}),
		composite(ExpandAs, "expand_as", "(Tensor self, Tensor other) -> Tensor", TagView|TagNotFunction, func(b B, c *Call) Value {
			a := In[ExpandAsArgs](c)
			return b.expand(a.Self.Value(), a.Other.Meta().Shape)
		}),
		composite(ViewAs, "view_as", "(Tensor self, Tensor other) -> Tensor", TagView|TagNotFunction, func(b B, c *Call) Value {
			a := In[ViewAsArgs](c)
			return b.view(a.Self.Value(), a.Other.Meta().Shape...)
		}),
		composite(ReshapeAs, "reshape_as", "(Tensor self, Tensor other) -> Tensor", TagMaybeView|TagNotFunction, func(b B, c *Call) Value {
			a := In[ReshapeAsArgs](c)
			return b.reshape(a.Self.Value(), a.Other.Meta().Shape...)
		}).and(TagComplex),
		composite(Ravel, "ravel", selfOnly, TagMaybeView, func(b B, c *Call) Value {
			a := In[RavelArgs](c)
			return b.reshape(b.Emit(Contiguous, a.Self.Value()), numel(a.Self.Meta().Shape))
		}).and(TagComplex),
		composite(SumToSize, "sum_to_size", "(Tensor self, int[] size) -> Tensor", TagNotFunction, func(b B, c *Call) Value {
			a := In[SumToSizeArgs](c)
			m := a.Self.Meta()
			if s, err := broadcast2(a.Size.Ints(), m.Shape); err != nil || !equalShape(s, m.Shape) {
				refuse(Errorf("size {%s} is not expandable to size {%s}.", ShapeText(a.Size.Ints()), ShapeText(m.Shape)))
			}
			if sum := a.Self.Value(); isFloaty(m.DType) || equalShape(a.Size.Ints(), m.Shape) && len(m.Shape) > 0 {
				return b.sumTo(sum, a.Size.Ints())
			}
			return b.sumTo(b.cast(a.Self.Value(), Int64), a.Size.Ints()) // what is summed counts, as in sum
		}).and(TagComplex),
		repeatInterleaveRow(),
	}
}

func repeat(b B, c *Call) Value {
	a := In[RepeatArgs](c)
	m, reps := a.Self.Meta(), a.Repeats.Ints()
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
	x := b.expand(b.reshape(a.Self.Value(), split...), wide)
	return b.reshape(b.Emit(Clone, x, "contiguous_format"), out...)
}

func roll(b B, c *Call) Value {
	a := In[RollArgs](c)
	x := a.Self.Value()
	m := a.Self.Meta()
	shifts, dims := a.Shifts.Ints(), a.Dims.Nums()
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
	row := composite(RepeatInterleave, "repeat_interleave",
		"(Tensor self, Operand repeats, int? dim=None, *, int? output_size=None) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[RepeatInterleaveArgs](c)
			x := a.Self.Value()
			if a.Dim.IsNone() {
				x = b.reshape(x, numel(a.Self.Meta().Shape))
			}
			m := x.TensorMeta()
			d := 0
			if !a.Dim.IsNone() {
				d = a.Dim.of(a.Self)
			}
			r, _ := a.Repeats.Arg.(sym.Int)
			wide := b.expand(b.unsqueeze(x, d+1), inserted(m.Shape, d+1, r))
			return b.reshape(b.Emit(Clone, wide, "contiguous_format"), replaced(m.Shape, d, sym.Mul(m.Shape[d], r))...)
		}).and(TagComplex)
	inner, meta := row.Decompose, row.Meta
	row.Decompose = func(bb Builder, c *Call) []Value {
		a := In[RepeatInterleaveArgs](c)
		if a.Repeats.Value() == nil {
			return inner(bb, c)
		}
		b := B{bb}
		x, d := a.Self.Value(), symZero
		if a.Dim.IsNone() {
			x = b.reshape(x, numel(a.Self.Meta().Shape))
		} else {
			d = a.Dim.Int()
		}
		return []Value{b.Emit(IndexSelect, x, d, b.Emit(RepeatIndex, a.Repeats.Value(), x.TensorMeta().Shape[int(sym.Force(d))]))}
	}
	row.Meta = func(c *Call) ([]Result, error) {
		if In[RepeatInterleaveArgs](c).Repeats.Value() != nil {
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
	a := In[MeshgridArgs](c)
	xs := a.Tensors.Values()
	if len(xs) == 0 {
		refuse(Errorf("meshgrid expects a non-empty TensorList"))
	}
	indexing := a.Indexing.Str()
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
