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
			ID: Index, Name: "index", Schema: "(Tensor self, Tensor?[] indices) -> Tensor", Tags: TagNotFunction | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[IndexArgs](c)
				if hasMask(a.Indices.Values()) {
					return nil, &DataDependentError{Op: "index"}
				}
				shape, _, err := IndexShape(a.Self.Meta(), a.Indices.Values())
				if err != nil {
					return nil, err
				}
				return contiguousLike(a.Self.Meta(), shape), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[IndexArgs](c.Call)
				out := make([]Value, 1+len(a.Indices.Values()))
				if g := c.Grads[0]; g != nil {
					out[0] = b.Emit(IndexPut, b.zeros(likeGrad(c, g)), a.Indices.Arg, g, true)
				}
				return out
			}),
		},
		{
			ID: IndexPut, Name: "index_put", Schema: "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor", Tags: TagHasInPlace | TagComplex,
			Meta: sameAsSelf(func(c *Call) error {
				a := In[IndexPutArgs](c)
				if v, m := a.Values.Meta(), a.Self.Meta(); v.DType != m.DType {
					return Errorf(
						"Index put requires the source and destination dtypes match, got %s for the destination and %s for the source.",
						m.DType.ScalarType(), v.DType.ScalarType(),
					)
				}
				return nil
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[IndexPutArgs](c.Call)
				n := len(a.Indices.Values())
				out := make([]Value, n+2)
				g := c.Grads[0]
				if g == nil {
					return out
				}
				if c.Needs[0] {
					out[0] = g
					if !a.Accumulate.Bool() {
						out[0] = b.Emit(IndexPut, g, a.Indices.Arg, b.full(nil, 0, g.TensorMeta()))
					}
				}
				if c.Needs[2] {
					out[n+1] = pickedGrad(b, c, g)
				}
				return out
			}),
		},
		composite(TakeAlongDim, "take_along_dim", "(Tensor self, Tensor indices, int? dim=None) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[TakeAlongDimArgs](c)
			x, idx := a.Self.Value(), a.Indices.Value()
			if a.Dim.IsNone() {
				return b.Emit(Gather, b.reshape(x, numel(a.Self.Meta().Shape)), 0, b.reshape(idx, numel(a.Indices.Meta().Shape)))
			}
			m, im := a.Self.Meta(), a.Indices.Meta()
			if len(m.Shape) != len(im.Shape) {
				refuse(Errorf(
					"torch.take_along_dim(): input and indices should have the same number of dimensions, but got %d dimensions for input, and %d dimensions for indices",
					len(m.Shape), len(im.Shape),
				))
			}
			if im.DType != Int64 {
				refuse(Errorf("torch.take_along_dim(): dtype of indices should be Long but got %s", im.DType.ScalarType()))
			}
			d := a.Dim.of(a.Self)
			full, err := broadcast2(replaced(m.Shape, d, symOne), replaced(im.Shape, d, symOne))
			refuse(err)
			x = expandIf(b, x, replaced(full, d, m.Shape[d]))
			idx = expandIf(b, idx, replaced(full, d, im.Shape[d]))
			idx = b.where(b.lt(idx, 0), b.add(idx, m.Shape[d]), idx)
			return b.Emit(Gather, x, d, idx)
		}).and(TagComplex),
		composite(Take, "take", "(Tensor self, Tensor index) -> Tensor", 0, func(b B, c *Call) Value {
			a := In[TakeArgs](c)
			idx := a.Index.Meta()
			flat := b.Emit(Index, b.reshape(a.Self.Value(), numel(a.Self.Meta().Shape)), []Value{a.Index.Value()})
			return b.reshape(flat, idx.Shape...)
		}).and(TagComplex),
		embeddingRow(),
	}
}

func embeddingRow() *Op {
	row := &Op{
		ID: Embedding, Name: "embedding", Tags: TagNN | TagNotMethod,
		Schema: "(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
		Meta: func(c *Call) ([]Result, error) {
			a := In[EmbeddingArgs](c)
			idx, w := a.Input.Meta(), a.Weight.Meta()
			if idx.DType != Int64 && idx.DType != Int32 {
				return nil, Errorf(
					"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got torch.%sTensor instead (while checking arguments for embedding)",
					idx.DType.ScalarType(),
				)
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
			a := In[EmbeddingArgs](c)
			idx, w := a.Input.Meta(), a.Weight.Meta()
			if !a.MaxNorm.IsNone() {
				renormRows(b, a.Weight.Value(), b.reshape(a.Input.Value(), numel(idx.Shape)), a.MaxNorm.Arg, a.NormType.Arg)
				return b.Emit(
					Embedding, a.Input.Value(), a.Weight.Value(), a.PaddingIdx.Arg, nil, a.NormType.Arg,
					a.ScaleGradByFreq.Arg,
				)
			}
			flat := b.Emit(IndexSelect, a.Weight.Value(), 0, b.reshape(a.Input.Value(), numel(idx.Shape)))
			return b.view(flat, append(cloneInts(idx.Shape), w.Shape[1])...)
		}),
		Backward: backOf(embeddingBack),
	}
	return row.writesIf("max_norm", "weight")
}

// pickedGrad is the gradient of the values of index_put. A mask picks as many
// places as data says; how many values there are says it without.
func pickedGrad(b B, c *BackwardCall, g Value) Value {
	a := In[IndexPutArgs](c.Call)
	list, v := a.Indices.Values(), a.Values.Meta()
	if !hasMask(list) {
		return b.sumTo(b.Emit(Index, g, list), v.Shape)
	}
	at, mask, others := maskedPlace(list)
	m := a.Self.Meta()
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
	a := In[EmbeddingArgs](c.Call)
	g := c.Grads[0]
	if g == nil || !c.Needs[1] {
		return []Value{nil, nil}
	}
	idx, w := a.Input.Meta(), a.Weight.Meta()
	n := numel(idx.Shape)
	flat := b.reshape(a.Input.Value(), n)
	rows := b.reshape(g, n, w.Shape[1])
	if a.ScaleGradByFreq.Bool() {
		counts := b.Emit(
			IndexAdd, b.full(w.Shape[:1], 0, NewMeta(Int64, w.Device, nil)), 0, flat,
			b.full([]sym.Int{n}, 1, NewMeta(Int64, w.Device, nil)),
		)
		rows = b.div(rows, b.unsqueeze(b.Emit(IndexSelect, counts, 0, flat), 1))
	}
	if !a.PaddingIdx.IsNone() {
		pad := a.PaddingIdx.Int()
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
				m := In[SelfArgs](c).Self.Meta()
				if len(m.Shape) < 2 {
					return nil, Errorf("%s: input tensor must have at least 2 dimensions", name)
				}
				return contiguousLike(m, m.Shape), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[SelfDiagonalArgs](c)
				m := a.Self.Meta()
				n := len(m.Shape)
				row := b.unsqueeze(b.arange(m.Shape[n-2], m), 1)
				col := b.sub(b.arange(m.Shape[n-1], m), a.Diagonal.Arg)
				x := b.where(keep(b, row, col), a.Self.Value(), scalarLike(a.Self.Value(), 0))
				return b.cast(x, m.DType)
			}),
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				if c.Grads[0] == nil {
					return []Value{nil}
				}
				return []Value{b.Emit(id, c.Grads[0], In[SelfDiagonalArgs](c.Call).Diagonal.Arg)}
			}),
		}
	}
	return []*Op{
		triangle(Tril, "tril", func(b B, row, col Value) Value { return b.le(col, row) }).and(TagHasInPlace | TagComplex),
		triangle(Triu, "triu", func(b B, row, col Value) Value { return b.ge(col, row) }).and(TagHasInPlace | TagComplex),
		{
			ID: MaskedFill, Name: "masked_fill", Schema: "(Tensor self, Tensor mask, Operand value) -> Tensor", Tags: TagPointwise | TagHasInPlace | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[MaskedFillArgs](c)
				m, mask := a.Self.Meta(), a.Mask.Meta()
				if mask.DType != Bool {
					return nil, Errorf("masked_fill_ only supports boolean masks, but got mask with dtype %s", mask.DType.Name())
				}
				if v := a.Value.Meta(); v != nil && len(v.Shape) > 0 {
					return nil, Errorf(
						"masked_fill only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
						len(v.Shape),
					)
				}
				d := ResultType(a.Self.Arg, a.Value.Arg)
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
				a := In[MaskedFillArgs](c)
				var v Arg
				if x := a.Value.Value(); x != nil {
					v = b.cast(x, a.Self.Meta().DType)
				} else if v = scalarOf(a.Self.Meta().DType, a.Value.Float()); a.Self.Meta().DType == Bool {
					v = a.Value.Float() != 0
				}
				return b.contiguous(b.where(a.Mask.Value(), v, a.Self.Value()))
			}),
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				a := In[MaskedFillArgs](c.Call)
				if i == 0 {
					return b.where(a.Mask.Value(), scalarLike(g, 0), g)
				}
				return b.mask(g, a.Mask.Value())
			}),
		},
		scatterReduceRow(),
	}
}

func scatterReduceRow() *Op {
	return &Op{
		ID: ScatterReduce, Name: "scatter_reduce", Schema: "(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor", Tags: TagHasInPlace,
		Meta: sameAsSelf(func(c *Call) error {
			a := In[ScatterReduceArgs](c)
			switch a.Reduce.Str() {
			case "sum", "prod", "mean", "amax", "amin":
			default:
				return Errorf("reduce argument must be either sum, prod, mean, amax or amin, got %s", a.Reduce.Str())
			}
			return checkScatter(c)
		}),
		Backward: backOf(scatterReduceBack),
	}
}

func scatterReduceBack(b B, c *BackwardCall) []Value {
	a := In[ScatterReduceArgs](c.Call)
	g := c.Grads[0]
	if g == nil {
		return []Value{nil, nil, nil}
	}
	self, dim, idx, src, out := a.Self.Value(), a.Dim.Arg, a.Index.Value(), a.Src.Value(), c.Outs[0]
	var gs, gv Value
	gather := func(x Value) Value { return b.Emit(Gather, x, dim, idx) }
	zeros := func(x Value) Value { return b.zeros(likeGrad(c, x)) }
	switch a.Reduce.Str() {
	case "sum":
		gs, gv = g, gather(g)
	case "mean":
		n := zeros(g)
		if a.IncludeSelf.Bool() {
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
	if !a.IncludeSelf.Bool() {
		gs = b.Emit(Scatter, gs, dim, idx, 0.0)
	}
	return []Value{gs, nil, gv}
}

// scatterProdBack divides the product by each factor; single zeros are
// replaced by one, several make everything zero.
func scatterProdBack(b B, c *BackwardCall, g Value) (gs, gv Value) {
	a := In[ScatterReduceArgs](c.Call)
	self, dim, idx, src, out := a.Self.Value(), a.Dim.Arg, a.Index.Value(), a.Src.Value(), c.Outs[0]
	d := g.TensorMeta().DType
	zeroSelf := b.eq(self, 0.0)
	maskedSelf := b.where(zeroSelf, 1.0, self)
	maskedOut := b.Emit(ScatterReduce, maskedSelf, dim, idx, src, "prod", a.IncludeSelf.Arg)
	gs = b.div(b.mul(g, maskedOut), maskedSelf)
	zeroSrc := b.eq(src, 0.0)
	count := b.Emit(ScatterAdd, b.cast(zeroSelf, d), dim, idx, b.cast(zeroSrc, d))
	if !a.IncludeSelf.Bool() {
		count = b.Emit(ScatterAdd, b.Emit(Scatter, b.cast(zeroSelf, d), dim, idx, 0.0), dim, idx, b.cast(zeroSrc, d))
	}
	single := b.and(zeroSrc, b.eq(b.Emit(Gather, count, dim, idx), 1.0))
	maskedSrc := b.where(single, 1.0, src)
	maskedProd := b.Emit(ScatterReduce, self, dim, idx, maskedSrc, "prod", a.IncludeSelf.Arg)
	one := b.Emit(Gather, b.mul(g, maskedProd), dim, idx)
	safe := b.where(zeroSrc, 1.0, src)
	other := b.div(b.Emit(Gather, b.mul(g, out), dim, idx), safe)
	gv = b.where(single, one, b.where(zeroSrc, 0.0, other))
	return gs, gv
}
