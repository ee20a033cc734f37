package ops

import (
	"strconv"

	"tcdbg/ops/sym"
)

// This file holds copies, casts, and what joins tensors or takes them apart by copying.

func dataRows() []*Op {
	return append(append(copyRows(), joinRows()...), stackRows()...)
}

// formatStrides are the strides of a copy of m in a memory format.
func formatStrides(m *TensorMeta, format string) ([]sym.Int, error) {
	switch format {
	case "", "preserve_format":
		return LikeStrides(m), nil
	case "contiguous_format":
		return ContiguousStrides(m.Shape), nil
	case "channels_last", "channels_last_3d":
		if len(m.Shape) != 4 && len(m.Shape) != 5 {
			return nil, Errorf("required rank 4 tensor to use channels_last format")
		}
		return ChannelsLastStrides(m.Shape), nil
	}
	return nil, Errorf("unknown memory format %s", format)
}

func hasFormat(m *TensorMeta, format string) bool {
	if format == "channels_last" || format == "channels_last_3d" {
		return isChannelsLast(m)
	}
	return IsContiguous(m)
}

func copyRows() []*Op {
	return []*Op{
		{
			ID: Clone, Name: "clone", Schema: "(Tensor self, *, str? memory_format=None) -> Tensor", Tags: TagPointwise | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[CloneArgs](c)
				m := a.Self.Meta()
				s, err := formatStrides(m, a.MemoryFormat.Str())
				if err != nil {
					return nil, err
				}
				return one(&TensorMeta{DType: m.DType, Device: m.Device, Shape: m.Shape, Stride: s}), nil
			},
			Backward: unaryBack(func(b B, g, x, y Value) Value { return g }),
		},
		{
			ID: Contiguous, Name: "contiguous", Schema: "(Tensor self, *, str memory_format='contiguous_format') -> Tensor",
			Tags: TagMaybeView | TagNotFunction | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[ContiguousArgs](c)
				m := a.Self.Meta()
				if hasFormat(m, a.MemoryFormat.Str()) {
					return asView(m, m.Shape, m.Stride, m.Offset), nil
				}
				s, err := formatStrides(m, a.MemoryFormat.Str())
				if err != nil {
					return nil, err
				}
				return one(&TensorMeta{DType: m.DType, Device: m.Device, Shape: m.Shape, Stride: s}), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[ContiguousArgs](c)
				if hasFormat(a.Self.Meta(), a.MemoryFormat.Str()) {
					return a.Self.Value()
				}
				return b.Emit(Clone, a.Self.Value(), a.MemoryFormat.Arg)
			}),
		},
		{
			ID: To, Name: "to", Schema: "(Tensor self, dtype? dtype=None, device? device=None, bool copy=False, " +
				"str? memory_format=None) -> Tensor", Tags: TagMaybeView | TagNotFunction | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[ToArgs](c)
				m := a.Self.Meta()
				if toIsSelf(c, m) {
					return asView(m, m.Shape, m.Stride, m.Offset), nil
				}
				s, err := formatStrides(m, a.MemoryFormat.Str())
				if err != nil {
					return nil, err
				}
				return one(&TensorMeta{DType: a.DType.Or(m.DType), Device: a.Device.Or(m.Device), Shape: m.Shape, Stride: s}), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[ToArgs](c)
				m := a.Self.Meta()
				if toIsSelf(c, m) {
					return a.Self.Value()
				}
				return b.Emit(ToCopy, a.Self.Value(), a.DType.Or(m.DType), a.Device.Or(m.Device), a.MemoryFormat.Arg)
			}),
		},
		{
			ID: ToCopy, Name: "_to_copy", Schema: "(Tensor self, dtype? dtype=None, device? device=None, " +
				"str? memory_format=None) -> Tensor", Tags: TagPointwise | TagInternal | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[ToCopyArgs](c)
				m := a.Self.Meta()
				s, err := formatStrides(m, a.MemoryFormat.Str())
				if err != nil {
					return nil, err
				}
				return one(&TensorMeta{DType: a.DType.Or(m.DType), Device: a.Device.Or(m.Device), Shape: m.Shape, Stride: s}), nil
			},
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				m := In[ToCopyArgs](c.Call).Self.Meta()
				if c.Grads[0] == nil || !isFloaty(m.DType) {
					return []Value{nil}
				}
				return []Value{b.Emit(To, c.Grads[0], m.DType, m.Device)}
			}),
			GradName: "ToCopyBackward0",
		},
		{
			ID: Item, Name: "item", Schema: "(Tensor self) -> Scalar", Tags: TagDataDependent | TagNoGrad | TagNotFunction | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				m := In[ItemArgs](c).Self.Meta()
				if sym.Ne(numel(m.Shape), symOne) {
					return nil, Errorf("a Tensor with %s elements cannot be converted to Scalar", numel(m.Shape))
				}
				return []Result{ScalarMeta{DType: m.DType}}, nil
			},
		},
		{
			ID: Copy, Name: "copy", Schema: "(Tensor self, Tensor src, bool non_blocking=False) -> Tensor",
			Tags: TagPointwise | TagNotFunction | TagHasInPlace | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[CopyArgs](c)
				m, src := a.Self.Meta(), a.Src.Meta()
				if s, err := broadcast2(m.Shape, src.Shape); err != nil || !equalShape(s, m.Shape) {
					return nil, expandError(src.Shape, m.Shape)
				}
				return one(&TensorMeta{DType: m.DType, Device: m.Device, Shape: m.Shape, Stride: LikeStrides(m)}), nil
			},
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				if i == 0 {
					return b.zeros(g.TensorMeta())
				}
				return g
			}),
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[CopyArgs](c)
				m, src := a.Self.Meta(), a.Src.Value()
				if a.Src.Meta().DType != m.DType {
					src = b.Emit(To, src, m.DType)
				}
				return b.Emit(Clone, b.Emit(Expand, src, m.Shape))
			}),
		},
		{
			ID: Fill, Name: "fill", Schema: "(Tensor self, Operand value) -> Tensor",
			Tags: TagPointwise | TagNotFunction | TagHasInPlace | TagComplex,
			Meta: selfLike,
			Backward: pointwiseBack(func(b B, c *BackwardCall, g Value, i int) Value {
				if i == 0 {
					return b.zeros(g.TensorMeta())
				}
				return b.sum(g, false)
			}),
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[FillArgs](c)
				v := a.Value.Arg
				if x := a.Value.Value(); x != nil {
					return b.Emit(Copy, a.Self.Value(), x)
				}
				return b.Emit(FullLike, a.Self.Value(), v)
			}),
		},
		{
			ID: Zero, Name: "zero", Schema: selfOnly, Tags: TagPointwise | TagNotFunction | TagHasInPlace | TagComplex,
			Meta: selfLike, Backward: zeroBack(),
			Decompose: decomp(func(b B, c *Call) Value { return b.Emit(ZerosLike, In[ZeroArgs](c).Self.Value()) }),
		},
	}
}

func selfLike(c *Call) ([]Result, error) {
	return laidOutLike(In[SelfArgs](c).Self.Meta()), nil
}

// laidOutLike is a new tensor like m.
func laidOutLike(m *TensorMeta) []Result {
	return one(&TensorMeta{DType: m.DType, Device: m.Device, Shape: m.Shape, Stride: LikeStrides(m)})
}

// toIsSelf reports whether a conversion changes nothing.
func toIsSelf(c *Call, m *TensorMeta) bool {
	a := In[ToArgs](c)
	return a.DType.Or(m.DType) == m.DType && a.Device.Or(m.Device) == m.Device && !a.Copy.Bool() &&
		(a.MemoryFormat.Str() == "" || a.MemoryFormat.Str() == "preserve_format" || hasFormat(m, a.MemoryFormat.Str()))
}

func joinRows() []*Op {
	return []*Op{
		{
			ID: Cat, Name: "cat", Schema: "(Tensor[] tensors, int dim=0) -> Tensor", Tags: TagNotMethod | TagComplex, Meta: catMeta,
			Backward: backOf(func(b B, c *BackwardCall) []Value {
				a := In[CatArgs](c.Call)
				xs := a.Tensors.Values()
				out := make([]Value, len(xs))
				g := c.Grads[0]
				if g == nil {
					return out
				}
				d, _ := WrapDim(a.Dim.Int(), len(g.TensorMeta().Shape))
				at := symZero
				for i, x := range xs {
					m := x.TensorMeta()
					if skipped(m) {
						out[i] = b.zeros(m)
						continue
					}
					end := sym.Add(at, m.Shape[d])
					out[i] = b.cast(b.slice(g, d, at, end), m.DType)
					at = end
				}
				return out
			}),
		},
		{
			ID: Stack, Name: "stack", Schema: "(Tensor[] tensors, int dim=0) -> Tensor", Tags: TagNotMethod | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[StackArgs](c)
				xs := a.Tensors.Values()
				if len(xs) == 0 {
					return nil, Errorf("stack expects a non-empty TensorList")
				}
				m := xs[0].TensorMeta()
				d, err := WrapDim(a.Dim.Int(), len(m.Shape)+1)
				if err != nil {
					return nil, err
				}
				dt := m.DType
				for i, x := range xs {
					if !equalShape(x.TensorMeta().Shape, m.Shape) {
						return nil, Errorf(
							"stack expects each tensor to be equal size, but got %s at entry 0 and %s at entry %d",
							ShapeText(m.Shape), ShapeText(x.TensorMeta().Shape), i,
						)
					}
					dt = Promote(dt, x.TensorMeta().DType)
				}
				return one(NewMeta(dt, m.Device, inserted(m.Shape, d, sym.C(len(xs))))), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[StackArgs](c)
				xs := a.Tensors.Values()
				d, _ := WrapDim(a.Dim.Int(), len(xs[0].TensorMeta().Shape)+1)
				wide := make([]Value, len(xs))
				for i, x := range xs {
					wide[i] = b.unsqueeze(x, d)
				}
				return b.cat(d, wide...)
			}),
		},
	}
}

// skipped reports whether cat leaves a tensor out: the empty 1-D one.
func skipped(m *TensorMeta) bool { return len(m.Shape) == 1 && sym.Is(m.Shape[0], 0) }

func catMeta(c *Call) ([]Result, error) {
	a := In[CatArgs](c)
	xs := a.Tensors.Values()
	if len(xs) == 0 {
		return nil, Errorf("torch.cat(): expected a non-empty list of Tensors")
	}
	ins := make([]*TensorMeta, len(xs))
	args := make([]Arg, len(xs))
	var first *TensorMeta
	for i, x := range xs {
		ins[i], args[i] = x.TensorMeta(), x
		if len(ins[i].Shape) == 0 {
			return nil, Errorf("zero-dimensional tensor (at position %d) cannot be concatenated", i)
		}
		if first == nil && !skipped(ins[i]) {
			first = ins[i]
		}
	}
	if first == nil {
		first = ins[0]
	}
	n := len(first.Shape)
	d, err := WrapDim(a.Dim.Int(), n)
	if err != nil {
		return nil, err
	}
	total, used := symZero, ins[:0:0]
	dt := ins[0].DType
	for i, m := range ins {
		dt = Promote(dt, m.DType)
		if skipped(m) {
			continue
		}
		if len(m.Shape) != n {
			return nil, Errorf("Tensors must have same number of dimensions: got %d and %d", n, len(m.Shape))
		}
		for j := range m.Shape {
			if j != d && sym.Ne(m.Shape[j], first.Shape[j]) {
				return nil, Errorf(
					"Sizes of tensors must match except in dimension %d. Expected size %s but got size %s for tensor number %d "+
						"in the list.",
					d, first.Shape[j], m.Shape[j], i,
				)
			}
		}
		total = sym.Add(total, m.Shape[d])
		used = append(used, m)
	}
	shape := replaced(first.Shape, d, total)
	out := NewMeta(dt, first.Device, shape)
	if len(used) > 0 && allChannelsLast(used) {
		out.Stride = ChannelsLastStrides(shape)
	}
	return one(out), nil
}

func allChannelsLast(ms []*TensorMeta) bool {
	for _, m := range ms {
		if IsContiguous(m) || !isChannelsLast(m) {
			return false
		}
	}
	return true
}

func atLeast(b B, x Value, n int) Value {
	m := x.TensorMeta()
	switch k := len(m.Shape); {
	case k >= n:
		return x
	case n == 1:
		return view2(b, x, []sym.Int{symOne})
	case k == 0:
		return view2(b, x, []sym.Int{symOne, symOne, symOne}[:n])
	case k == 1 && n == 2:
		return b.unsqueeze(x, 0)
	case k == 1:
		return b.unsqueeze(b.unsqueeze(x, 0), 2)
	}
	return b.unsqueeze(x, 2)
}

func stackRows() []*Op {
	stack := func(id ID, name string, low int, dim func(first Value) int) *Op {
		return composite(id, name, "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[TensorsArgs](c)
			if len(a.Tensors.Values()) == 0 {
				refuse(Errorf("%s expects a non-empty TensorList", name))
			}
			var xs []Value
			for _, x := range a.Tensors.Values() {
				xs = append(xs, atLeast(b, x, low))
			}
			return b.cat(dim(xs[0]), xs...)
		})
	}
	at := func(d int) func(Value) int { return func(Value) int { return d } }
	least := func(id ID, n int) *Op {
		name := "atleast_" + strconv.Itoa(n) + "d"
		return composite(id, name, selfOnly, TagNotMethod|TagMaybeView,
			func(b B, c *Call) Value { return atLeast(b, In[SelfArgs](c).Self.Value(), n) })
	}
	split := func(id ID, name string, low int, dim func(rank int) int) *Op {
		return compositeN(id, name, "(Tensor self, int[] indices_or_sections) -> Tensor[]", TagMaybeView, func(b B, c *Call) []Value {
			a := In[SelfIndicesOrSectionsArgs](c)
			n := len(a.Self.Meta().Shape)
			if n < low {
				refuse(Errorf("torch.%s requires a tensor with at least %d dimension, but got a tensor with %d dimensions!", name, low, n))
			}
			d := dim(n)
			if list := a.IndicesOrSections.Nums(); len(list) == 1 {
				if size := sym.Force(a.Self.Meta().Shape[d]); list[0] == 0 || size%int64(list[0]) != 0 {
					refuse(Errorf(
						"torch.%s attempted to split along dimension %d, but the size of the dimension %d is not divisible by the "+
							"split_size %d!",
						name, d, size, list[0],
					))
				}
			}
			return b.EmitN(TensorSplit, a.Self.Value(), a.IndicesOrSections.Arg, d)
		})
	}
	return []*Op{
		stack(Hstack, "hstack", 1, func(x Value) int { return min(len(x.TensorMeta().Shape)-1, 1) }).and(TagComplex),
		stack(Vstack, "vstack", 2, at(0)).and(TagComplex), stack(Dstack, "dstack", 3, at(2)).and(TagComplex),
		composite(ColumnStack, "column_stack", "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			var xs []Value
			for _, x := range In[ColumnStackArgs](c).Tensors.Values() {
				if m := x.TensorMeta(); len(m.Shape) <= 1 {
					x = b.reshape(x, numel(m.Shape), symOne)
				}
				xs = append(xs, x)
			}
			return b.cat(1, xs...)
		}).and(TagComplex),
		least(Atleast1d, 1).and(TagComplex), least(Atleast2d, 2).and(TagComplex), least(Atleast3d, 3).and(TagComplex),
		compositeN(TensorSplit, "tensor_split", "(Tensor self, int[] indices_or_sections, int dim=0) -> Tensor[]", TagMaybeView,
			tensorSplit).and(TagComplex),
		split(Hsplit, "hsplit", 1, func(n int) int { return min(n-1, 1) }).and(TagComplex),
		split(Vsplit, "vsplit", 2, func(int) int { return 0 }).and(TagComplex),
		split(Dsplit, "dsplit", 3, func(int) int { return 2 }).and(TagComplex),
		composite(BlockDiag, "block_diag", "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			rows, cols := symZero, symZero
			var xs, out []Value
			for _, x := range In[BlockDiagArgs](c).Tensors.Values() {
				x = atLeast(b, x, 2)
				xs = append(xs, x)
				cols = sym.Add(cols, x.TensorMeta().Shape[1])
			}
			at := symZero
			for _, x := range xs {
				w := x.TensorMeta().Shape[1]
				out = append(out, b.Emit(ConstantPadNd, x, []sym.Int{at, sym.Sub(cols, sym.Add(at, w))}))
				at = sym.Add(at, w)
			}
			_ = rows
			return b.cat(0, out...)
		}).and(TagComplex),
		composite(CartesianProd, "cartesian_prod", "(Tensor[] tensors) -> Tensor", TagNotMethod, func(b B, c *Call) Value {
			a := In[CartesianProdArgs](c)
			if len(a.Tensors.Values()) == 1 {
				return b.Emit(Alias, a.Tensors.Values()[0])
			}
			var flat []Value
			for _, g := range b.EmitN(Meshgrid, a.Tensors.Values(), "ij") {
				flat = append(flat, b.reshape(g, numel(g.TensorMeta().Shape)))
			}
			return b.Emit(Stack, flat, 1)
		}).and(TagComplex),
	}
}

func tensorSplit(b B, c *Call) []Value {
	a := In[TensorSplitArgs](c)
	x := a.Self.Value()
	if len(a.Self.Meta().Shape) == 0 {
		refuse(Errorf("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"))
	}
	d := a.Dim.of(a.Self)
	n := sym.Force(a.Self.Meta().Shape[d])
	var cuts []int64
	if list := a.IndicesOrSections.Nums(); len(list) == 1 {
		k := int64(list[0])
		if k <= 0 {
			refuse(Errorf("number of sections must be larger than 0, got %d", k))
		}
		at := int64(0)
		for i := range k - 1 {
			at += n / k
			if i < n%k {
				at++
			}
			cuts = append(cuts, at)
		}
	} else {
		for _, v := range list {
			cuts = append(cuts, int64(v))
		}
	}
	var out []Value
	from := int64(0)
	for _, to := range append(cuts, n) {
		out = append(out, b.slice(x, d, sym.Const(from), sym.Const(to)))
		from = to
	}
	return out
}
