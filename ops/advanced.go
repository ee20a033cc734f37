package ops

import "tcdbg/ops/sym"

// This file holds indexing by tensors, masks and triangles.

// indexedDims finds which dimensions a list of index tensors covers, and
// whether they are neighbours.
func indexedDims(indices []Value) (first, count int, adjacent bool) {
	first, last := -1, -1
	for i, v := range indices {
		if v == nil {
			continue
		}
		if first < 0 {
			first = i
		}
		count++
		last = i
	}
	return first, count, count > 0 && last-first+1 == count
}

// IndexShape is the shape of x[indices] for integer indices: the broadcast of
// the indices stands where they stood when they are neighbours, else in front.
func IndexShape(m *TensorMeta, indices []Value) (shape, picked []sym.Int, err error) {
	if len(indices) > len(m.Shape) {
		return nil, nil, IndexErrorf("too many indices for tensor of dimension %d (got %d)", len(m.Shape), len(indices))
	}
	var shapes [][]sym.Int
	for _, v := range indices {
		if v != nil {
			shapes = append(shapes, v.TensorMeta().Shape)
		}
	}
	if picked, err = Broadcast(shapes...); err != nil {
		text := ""
		for i, s := range shapes {
			if i > 0 {
				text += ", "
			}
			text += ShapeText(s)
		}
		return nil, nil, IndexErrorf("shape mismatch: indexing tensors could not be broadcast together with shapes %s", text)
	}
	first, _, adjacent := indexedDims(indices)
	if !adjacent {
		shape = cloneInts(picked)
	}
	for i, n := range m.Shape {
		switch {
		case i < len(indices) && indices[i] != nil:
			if adjacent && i == first {
				shape = append(shape, picked...)
			}
		default:
			shape = append(shape, n)
		}
	}
	return shape, picked, nil
}

func hasMask(indices []Value) bool {
	for _, v := range indices {
		if v != nil && (v.TensorMeta().DType == Bool || v.TensorMeta().DType == Uint8) {
			return true
		}
	}
	return false
}

func advancedRows() []*Op {
	return []*Op{
		{
			ID: Index, Name: "index", Schema: "(Tensor self, Tensor?[] indices) -> Tensor", Tags: TagNotFunction,
			Meta: func(c *Call) ([]Result, error) {
				if hasMask(c.Values(1)) {
					return nil, &DataDependentError{Op: "index"}
				}
				shape, _, err := IndexShape(c.Tensor(0), c.Values(1))
				if err != nil {
					return nil, err
				}
				return contiguousLike(c.Tensor(0), shape), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				out := make([]Value, 1+len(c.Values(1)))
				if g := c.Grads[0]; g != nil {
					out[0] = b.Emit(IndexPut, b.zeros(likeGrad(c, g)), c.Args[1], g, true)
				}
				return out
			}),
		},
		{
			ID: IndexPut, Name: "index_put", Schema: "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
			Meta: sameAsSelf(func(c *Call) error {
				if v, m := c.Tensor(2), c.Tensor(0); v.DType != m.DType {
					return Errorf("Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.", m.DType.ScalarType(), v.DType.ScalarType())
				}
				return nil
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				n := len(c.Values(1))
				out := make([]Value, n+2)
				g := c.Grads[0]
				if g == nil {
					return out
				}
				if c.Needs[0] {
					out[0] = g
					if !c.Bool(3) {
						out[0] = b.Emit(IndexPut, g, c.Args[1], b.full(nil, 0, g.TensorMeta()))
					}
				}
				if c.Needs[2] {
					out[n+1] = pickedGrad(b, c, g)
				}
				return out
			}),
		},
		composite(TakeAlongDim, "take_along_dim", "(Tensor self, Tensor indices, int? dim=None) -> Tensor", 0, func(b B, c *Call) Value {
			x, idx := c.Value(0), c.Value(1)
			if c.IsNone(2) {
				return b.Emit(Gather, b.reshape(x, numel(c.Tensor(0).Shape)), 0, b.reshape(idx, numel(c.Tensor(1).Shape)))
			}
			m, im := c.Tensor(0), c.Tensor(1)
			if len(m.Shape) != len(im.Shape) {
				refuse(Errorf("torch.take_along_dim(): input and indices should have the same number of dimensions, but got %d dimensions for input, and %d dimensions for indices", len(m.Shape), len(im.Shape)))
			}
			if im.DType != Int64 {
				refuse(Errorf("torch.take_along_dim(): dtype of indices should be Long but got %s", im.DType.ScalarType()))
			}
			d := dimOf(c, 2)
			full, err := broadcast2(replaced(m.Shape, d, symOne), replaced(im.Shape, d, symOne))
			refuse(err)
			x = expandIf(b, x, replaced(full, d, m.Shape[d]))
			idx = expandIf(b, idx, replaced(full, d, im.Shape[d]))
			idx = b.where(b.lt(idx, 0), b.add(idx, m.Shape[d]), idx)
			return b.Emit(Gather, x, d, idx)
		}),
		composite(Take, "take", "(Tensor self, Tensor index) -> Tensor", 0, func(b B, c *Call) Value {
			idx := c.Tensor(1)
			flat := b.Emit(Index, b.reshape(c.Value(0), numel(c.Tensor(0).Shape)), []Value{c.Value(1)})
			return b.reshape(flat, idx.Shape...)
		}),
		{
			ID: Embedding, Name: "embedding", Tags: TagNN | TagNotMethod | TagMutates,
			Schema: "(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
			Meta: func(c *Call) ([]Result, error) {
				idx, w := c.Tensor(0), c.Tensor(1)
				if idx.DType != Int64 && idx.DType != Int32 {
					return nil, Errorf("Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.%sTensor instead (while checking arguments for embedding)", idx.DType.ScalarType())
				}
				if len(w.Shape) == 0 {
					return nil, IndexErrorf("Dimension specified as 0 but tensor has no dimensions")
				}
				if len(w.Shape) != 2 {
					return nil, Errorf("'weight' must be 2-D")
				}
				return contiguousLike(w, append(cloneInts(idx.Shape), w.Shape[1])), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				idx, w := c.Tensor(0), c.Tensor(1)
				if !c.IsNone(3) {
					renormRows(b, c.Value(1), b.reshape(c.Value(0), numel(idx.Shape)), c.Args[3], c.Args[4])
					return b.Emit(Embedding, c.Value(0), c.Value(1), c.Args[2], nil, c.Args[4], c.Args[5])
				}
				flat := b.Emit(IndexSelect, c.Value(1), 0, b.reshape(c.Value(0), numel(idx.Shape)))
				return b.view(flat, append(cloneInts(idx.Shape), w.Shape[1])...)
			}),
			Backward: backOf(embeddingBack),
		},
	}
}

// pickedGrad is the gradient of the values of index_put. A mask picks as many
// places as data says; how many values there are says it without.
func pickedGrad(b B, c *BackwardCall, g Value) Value {
	list, v := c.Values(1), c.Tensor(2)
	if !hasMask(list) {
		return b.sumTo(b.Emit(Index, g, list), v.Shape)
	}
	at, mask, others := maskedPlace(list)
	m := c.Tensor(0)
	if others || mask.TensorMeta().DType != Bool {
		refuse(&DataDependentError{Op: "index_put"})
	}
	k := len(mask.TensorMeta().Shape)
	rest := len(m.Shape) - at - k // dimensions after the mask
	count := symOne
	if i := len(v.Shape) - rest - 1; i >= 0 {
		count = v.Shape[i]
	}
	if sym.Is(count, 1) { // one value for all places
		on := mask
		for range rest {
			on = b.unsqueeze(on, len(on.TensorMeta().Shape))
		}
		kept := b.mask(g, on)
		dims := seq(at, at+k)
		sum := b.sum(kept, false, dims...)
		return b.sumTo(b.unsqueeze(sum, at), v.Shape)
	}
	places := b.Emit(NonzeroStatic, mask, count, 0)
	idx := make([]Value, at+k)
	for i := range k {
		idx[at+i] = b.sel(places, 1, sym.C(i))
	}
	return b.sumTo(b.Emit(Index, g, idx), v.Shape)
}

// maskedPlace finds the only index of a list; others says that there are more.
func maskedPlace(list []Value) (at int, mask Value, others bool) {
	for i, v := range list {
		switch {
		case v == nil:
		case mask == nil:
			at, mask = i, v
		default:
			others = true
		}
	}
	return at, mask, others
}

func embeddingBack(b B, c *BackwardCall) []Value {
	g := c.Grads[0]
	if g == nil || !c.Needs[1] {
		return []Value{nil, nil}
	}
	idx, w := c.Tensor(0), c.Tensor(1)
	n := numel(idx.Shape)
	flat := b.reshape(c.Value(0), n)
	rows := b.reshape(g, n, w.Shape[1])
	if c.Bool(5) {
		counts := b.Emit(IndexAdd, b.full(w.Shape[:1], 0, NewMeta(Int64, w.Device, nil)), 0, flat, b.full([]sym.Int{n}, 1, NewMeta(Int64, w.Device, nil)))
		rows = b.div(rows, b.unsqueeze(b.Emit(IndexSelect, counts, 0, flat), 1))
	}
	if !c.IsNone(2) {
		pad := c.Int(2)
		if sym.Lt(pad, symZero) {
			pad = sym.Add(pad, w.Shape[0])
		}
		rows = b.where(b.unsqueeze(b.eq(flat, pad), 1), scalarLike(rows, 0), rows)
	}
	rows = b.cast(rows, g.TensorMeta().DType)
	return []Value{nil, b.Emit(IndexAdd, b.full(w.Shape, 0, g.TensorMeta()), 0, flat, rows)}
}

func maskRows() []*Op {
	triangle := func(id ID, name string, keep func(b B, row, col Value) Value) *Op {
		return &Op{
			ID: id, Name: name, Schema: "(Tensor self, int diagonal=0) -> Tensor",
			Meta: func(c *Call) ([]Result, error) {
				m := c.Tensor(0)
				if len(m.Shape) < 2 {
					return nil, Errorf("%s: input tensor must have at least 2 dimensions", name)
				}
				return contiguousLike(m, m.Shape), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				m := c.Tensor(0)
				n := len(m.Shape)
				row := b.unsqueeze(b.arange(m.Shape[n-2], m), 1)
				col := b.sub(b.arange(m.Shape[n-1], m), c.Args[1])
				x := b.where(keep(b, row, col), c.Value(0), scalarLike(c.Value(0), 0))
				return b.cast(x, m.DType)
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				return []Value{b.Emit(id, c.Grads[0], c.Args[1])}
			}),
		}
	}
	return []*Op{
		triangle(Tril, "tril", func(b B, row, col Value) Value { return b.le(col, row) }),
		triangle(Triu, "triu", func(b B, row, col Value) Value { return b.ge(col, row) }),
		{
			ID: MaskedFill, Name: "masked_fill", Schema: "(Tensor self, Tensor mask, Operand value) -> Tensor", Tags: TagPointwise,
			Meta: func(c *Call) ([]Result, error) {
				m, mask := c.Tensor(0), c.Tensor(1)
				if mask.DType != Bool {
					return nil, Errorf("masked_fill_ only supports boolean masks, but got mask with dtype %s", mask.DType.Name())
				}
				if v := c.Tensor(2); v != nil && len(v.Shape) > 0 {
					return nil, Errorf("masked_fill only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).", len(v.Shape))
				}
				d := ResultType(c.Args[0], c.Args[2])
				if d != m.DType && !CanCast(d, m.DType) && m.DType != Bool {
					return nil, Errorf("value cannot be converted to type %s without overflow", cppName(m.DType))
				}
				shape, err := broadcast2(m.Shape, mask.Shape)
				if err != nil {
					return nil, err
				}
				return contiguousLike(m, shape), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				var v Arg
				if x := c.Value(2); x != nil {
					v = b.cast(x, c.Tensor(0).DType)
				} else if v = scalarOf(c.Tensor(0).DType, c.Float(2)); c.Tensor(0).DType == Bool {
					v = c.Float(2) != 0
				}
				return b.contiguous(b.where(c.Value(1), v, c.Value(0)))
			}),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				if i == 0 {
					return b.where(c.Value(1), scalarLike(g, 0), g)
				}
				return b.mask(g, c.Value(1))
			}),
		},
		scatterReduceRow(),
	}
}

func scatterReduceRow() *Op {
	return &Op{
		ID: ScatterReduce, Name: "scatter_reduce", Schema: "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
		Meta: sameAsSelf(func(c *Call) error {
			switch c.Str(4) {
			case "sum", "prod", "mean", "amax", "amin":
			default:
				return Errorf("reduce argument must be either sum, prod, mean, amax or amin, got %s", c.Str(4))
			}
			return checkScatter(c)
		}),
		Backward: backOf(scatterReduceBack),
	}
}

func scatterReduceBack(b B, c *BackwardCall) []Value {
	g := c.Grads[0]
	if g == nil {
		return []Value{nil, nil, nil}
	}
	self, dim, idx, src, out := c.Value(0), c.Args[1], c.Value(2), c.Value(3), c.Outs[0]
	var gs, gv Value
	gather := func(x Value) Value { return b.Emit(Gather, x, dim, idx) }
	zeros := func(x Value) Value { return b.zeros(likeGrad(c, x)) }
	switch c.Str(4) {
	case "sum":
		gs, gv = g, gather(g)
	case "mean":
		n := zeros(g)
		if c.Bool(5) {
			n = b.Emit(OnesLike, n)
		}
		n = b.Emit(ScatterAdd, n, dim, idx, b.Emit(OnesLike, src))
		n = b.Emit(Clamp, n, 1.0)
		gs, gv = b.div(g, n), b.div(gather(g), gather(n))
	case "prod":
		gs, gv = scatterProdBack(b, c, g)
	default:
		value := gather(out)
		selfHit, srcHit := b.eq(self, out), b.eq(src, value)
		// an element of self takes its share even where include_self leaves it out
		hits := b.Emit(ScatterAdd, b.cast(selfHit, g.TensorMeta().DType), dim, idx, b.cast(srcHit, g.TensorMeta().DType))
		share := b.div(g, b.Emit(Clamp, hits, 1.0))
		gs, gv = b.mask(share, selfHit), b.mask(gather(share), srcHit)
	}
	if !c.Bool(5) {
		gs = b.Emit(Scatter, gs, dim, idx, 0.0)
	}
	return []Value{gs, nil, gv}
}

// scatterProdBack divides the product by each factor; single zeros are
// replaced by one, several make everything zero.
func scatterProdBack(b B, c *BackwardCall, g Value) (gs, gv Value) {
	self, dim, idx, src, out := c.Value(0), c.Args[1], c.Value(2), c.Value(3), c.Outs[0]
	d := g.TensorMeta().DType
	zeroSelf := b.eq(self, 0.0)
	maskedSelf := b.where(zeroSelf, 1.0, self)
	maskedOut := b.Emit(ScatterReduce, maskedSelf, dim, idx, src, "prod", c.Args[5])
	gs = b.div(b.mul(g, maskedOut), maskedSelf)
	zeroSrc := b.eq(src, 0.0)
	count := b.Emit(ScatterAdd, b.cast(zeroSelf, d), dim, idx, b.cast(zeroSrc, d))
	if !c.Bool(5) {
		count = b.Emit(ScatterAdd, b.Emit(Scatter, b.cast(zeroSelf, d), dim, idx, 0.0), dim, idx, b.cast(zeroSrc, d))
	}
	single := b.and(zeroSrc, b.eq(b.Emit(Gather, count, dim, idx), 1.0))
	maskedSrc := b.where(single, 1.0, src)
	maskedProd := b.Emit(ScatterReduce, self, dim, idx, maskedSrc, "prod", c.Args[5])
	one := b.Emit(Gather, b.mul(g, maskedProd), dim, idx)
	safe := b.where(zeroSrc, 1.0, src)
	other := b.div(b.Emit(Gather, b.mul(g, out), dim, idx), safe)
	gv = b.where(single, one, b.where(zeroSrc, 0.0, other))
	return gs, gv
}
