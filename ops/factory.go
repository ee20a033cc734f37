package ops

import (
	"math"

	"tcdbg/ops/sym"
)

// This file holds the operators that make tensors out of nothing.

const factoryTail = "*, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor"

// checkSizes refuses negative sizes.
func checkSizes(size []sym.Int) error {
	for _, s := range size {
		if v, ok := s.IsConst(); ok && v < 0 {
			return Errorf("Trying to create tensor with negative dimension %d: %s", v, ShapeText(size))
		}
	}
	return nil
}

// sizedRow is a factory (int[] size, *, dtype, device, requires_grad).
func sizedRow(id ID, name string, tags Tag, dec func(b B, c *Call, d DType) Value) *Op {
	row := &Op{
		ID: id, Name: name, Schema: "(int[] size, " + factoryTail, Tags: TagFactory | TagNotMethod | TagNoGrad | tags,
		Meta: func(c *Call) ([]Result, error) {
			a := In[FactoryArgs](c)
			if err := checkSizes(a.Size.Ints()); err != nil {
				return nil, err
			}
			d := a.DType.Or(Float32)
			if tags.Has(TagRandom) && !isFloaty(d) {
				return nil, &Error{Kind: "NotImplementedError", Msg: `"` + name + `" not implemented for '` + d.ScalarType() + "'"}
			}
			m := NewMeta(d, a.Device.Or(CPU), a.Size.Ints())
			m.RequiresGrad = a.RequiresGrad.Bool()
			return one(m), nil
		},
	}
	if dec != nil {
		row.Decompose = decomp(func(b B, c *Call) Value { return dec(b, c, In[SizeDTypeArgs](c).DType.Or(Float32)) })
	}
	return row
}

func constantDecomp(v float64) func(b B, c *Call, d DType) Value {
	return func(b B, c *Call, d DType) Value {
		a := In[FactoryArgs](c)
		return b.Emit(Full, a.Size.Arg, scalarOf(d, v), d, a.Device.Arg, a.RequiresGrad.Arg)
	}
}

func factoryRows() []*Op {
	rows := []*Op{
		{
			ID: Full, Name: "full", Schema: "(int[] size, Scalar fill_value, " + factoryTail, Tags: TagFactory | TagNotMethod | TagNoGrad | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[FullArgs](c)
				if err := checkSizes(a.Size.Ints()); err != nil {
					return nil, err
				}
				m := NewMeta(a.DType.Or(scalarDType(a.FillValue.Arg)), a.Device.Or(CPU), a.Size.Ints())
				m.RequiresGrad = a.RequiresGrad.Bool()
				return one(m), nil
			},
		},
		sizedRow(Zeros, "zeros", 0, constantDecomp(0)).and(TagComplex),
		sizedRow(Ones, "ones", 0, constantDecomp(1)).and(TagComplex),
		sizedRow(Empty, "empty", 0, nil).and(TagComplex),
		sizedRow(Rand, "rand", TagRandom, nil),
		sizedRow(Randn, "randn", TagRandom, nil),
		{
			ID: Arange, Name: "arange", Schema: "(Scalar start, Scalar? end=None, Scalar step=1, " + factoryTail, Tags: TagFactory | TagNotMethod | TagNoGrad,
			Meta: arangeMeta,
		},
	}
	return append(append(rows, likeRows()...), patternRows()...)
}

// patternRows are the factories of particular matrices and sequences.
func patternRows() []*Op {
	return []*Op{
		{
			ID: Linspace, Name: "linspace", Schema: "(Scalar start, Scalar end, int steps, " + factoryTail, Tags: TagFactory | TagNotMethod | TagNoGrad | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[LinspaceArgs](c)
				if sym.Lt(a.Steps.Int(), symZero) {
					return nil, Errorf("number of steps must be non-negative")
				}
				m := NewMeta(a.DType.Or(Float32), a.Device.Or(CPU), []sym.Int{a.Steps.Int()})
				m.RequiresGrad = a.RequiresGrad.Bool()
				return one(m), nil
			},
		},
		{
			ID: Eye, Name: "eye", Schema: "(int n, int? m=None, " + factoryTail, Tags: TagFactory | TagNotMethod | TagNoGrad | TagComplex,
			Meta: func(c *Call) ([]Result, error) {
				a := In[EyeArgs](c)
				size := eyeSize(c)
				for i, name := range []string{"n", "m"} {
					if sym.Lt(size[i], symZero) {
						return nil, Errorf("%s must be greater or equal to 0, got %s", name, size[i])
					}
				}
				m := NewMeta(a.DType.Or(Float32), a.Device.Or(CPU), size)
				m.RequiresGrad = a.RequiresGrad.Bool()
				return one(m), nil
			},
			Decompose: decomp(func(b B, c *Call) Value {
				a := In[EyeArgs](c)
				size := eyeSize(c)
				like := NewMeta(Int64, a.Device.Or(CPU), nil)
				hit := b.eq(b.unsqueeze(b.arange(size[0], like), 1), b.arange(size[1], like))
				return b.cast(hit, a.DType.Or(Float32))
			}),
		},
		dynamicWhen(func(c *Call) bool { return sym.Is(In[OneHotArgs](c).NumClasses.Int(), -1) }, composite(OneHot, "one_hot", "(Tensor input, int num_classes) -> Tensor", TagNN|TagNotMethod|TagNoGrad, func(b B, c *Call) Value {
			a := In[OneHotArgs](c)
			m := a.Input.Meta()
			if m.DType != Int64 {
				refuse(Errorf("one_hot is only applicable to index tensor of type LongTensor."))
			}
			if sym.Lt(a.NumClasses.Int(), symOne) {
				refuse(Errorf("one_hot: num_classes must be given and positive, got %s", a.NumClasses.Int()))
			}
			hit := b.eq(b.unsqueeze(b.Emit(ClassIndex, a.Input.Value(), a.NumClasses.Int()), len(m.Shape)), b.arange(a.NumClasses.Int(), m))
			return b.cast(hit, Int64)
		})),
		{ // the classes of one_hot, refused where one is out of range: a comparison would give zeros
			ID: ClassIndex, Name: "_class_index", Schema: "(Tensor input, int num_classes) -> Tensor", Tags: TagInternal | TagNotMethod | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) {
				m := In[ClassIndexArgs](c).Input.Meta()
				return one(NewMeta(m.DType, m.Device, m.Shape)), nil
			},
		},
		composite(NewZeros, "new_zeros", "(Tensor self, int[] size, "+factoryTail, TagNotFunction|TagNoGrad, func(b B, c *Call) Value {
			a := In[NewZerosArgs](c)
			m := a.Self.Meta()
			return b.Emit(Zeros, a.Size.Arg, a.DType.Or(m.DType), a.Device.Or(m.Device), a.RequiresGrad.Arg)
		}).and(TagComplex),
		composite(NewOnes, "new_ones", "(Tensor self, int[] size, "+factoryTail, TagNotFunction|TagNoGrad, func(b B, c *Call) Value {
			a := In[NewOnesArgs](c)
			m := a.Self.Meta()
			return b.Emit(Ones, a.Size.Arg, a.DType.Or(m.DType), a.Device.Or(m.Device), a.RequiresGrad.Arg)
		}).and(TagComplex),
		composite(NewFull, "new_full", "(Tensor self, int[] size, Scalar fill_value, "+factoryTail, TagNotFunction|TagNoGrad, func(b B, c *Call) Value {
			a := In[NewFullArgs](c)
			m := a.Self.Meta()
			return b.Emit(Full, a.Size.Arg, a.FillValue.Arg, a.DType.Or(m.DType), a.Device.Or(m.Device), a.RequiresGrad.Arg)
		}).and(TagComplex),
	}
}

// dynamicWhen lets data decide the shape of a row's result for some calls.
func dynamicWhen(dynamic func(c *Call) bool, row *Op) *Op {
	rule := row.Meta
	row.Meta = func(c *Call) ([]Result, error) {
		if dynamic(c) {
			return dataDependent(c)
		}
		return rule(c)
	}
	return row
}

func eyeSize(c *Call) []sym.Int {
	a := In[EyeArgs](c)
	if a.M.IsNone() {
		return []sym.Int{a.N.Int(), a.N.Int()}
	}
	return []sym.Int{a.N.Int(), a.M.Int()}
}

// ArangeBounds returns start, end and step of a call of arange, whose single
// argument is the end.
func ArangeBounds(c *Call) (start, end, step Arg) {
	a := In[ArangeArgs](c)
	if a.End.IsNone() {
		return sym.Int{}, a.Start.Arg, a.Step.Arg
	}
	return a.Start.Arg, a.End.Arg, a.Step.Arg
}

func arangeMeta(c *Call) ([]Result, error) {
	in := In[ArangeArgs](c)
	start, end, step := ArangeBounds(c)
	d := Int64
	for _, a := range []Arg{start, end, step} {
		if scalarDType(a) == Float32 {
			d = Float32
		}
	}
	n, err := arangeSize(start, end, step)
	if err != nil {
		return nil, err
	}
	m := NewMeta(in.DType.Or(d), in.Device.Or(CPU), []sym.Int{n})
	m.RequiresGrad = in.RequiresGrad.Bool()
	return one(m), nil
}

func arangeSize(start, end, step Arg) (sym.Int, error) {
	s, ok1 := start.(sym.Int)
	e, ok2 := end.(sym.Int)
	t, ok3 := step.(sym.Int)
	if !ok1 || !ok2 || !ok3 {
		fs, fe, ft := NumberOf(start), NumberOf(end), NumberOf(step)
		if ft == 0 {
			return symZero, Errorf("step must be nonzero")
		}
		if math.IsNaN(ft) || math.IsInf(ft, 0) {
			return symZero, Errorf("step must be finite but got %s", floatText(ft))
		}
		if !(math.Abs(fs) < math.Inf(1) && math.Abs(fe) < math.Inf(1)) {
			return symZero, Errorf("unsupported range: %s -> %s", floatText(fs), floatText(fe))
		}
		if (ft > 0 && fe < fs) || (ft < 0 && fe > fs) {
			return symZero, Errorf("upper bound and lower bound inconsistent with step sign")
		}
		n := math.Ceil((fe - fs) / ft)
		if !(n < math.MaxInt64/8) {
			return symZero, Errorf("invalid size, possible overflow?")
		}
		return sym.Const(int64(n)), nil
	}
	if sym.Eq(t, symZero) {
		return symZero, Errorf("step must be nonzero")
	}
	d := sym.Sub(e, s)
	if sym.Lt(t, symZero) {
		d, t = sym.Neg(d), sym.Neg(t)
	}
	if sym.Lt(d, symZero) {
		return symZero, Errorf("upper bound and lower bound inconsistent with step sign")
	}
	return sym.FloorDiv(sym.Add(d, sym.Sub(t, symOne)), t), nil
}

const likeTail = "*, dtype? dtype=None, device? device=None, bool requires_grad=False, str? memory_format=None) -> Tensor"

// likeRow is a factory with the shape and layout of its first argument.
func likeRow(id ID, name, args string, tags Tag, dec func(b B, c *Call, m *TensorMeta) Value) *Op {
	like := func(c *Call, m *TensorMeta) *TensorMeta {
		return NewMeta(named[DTypeArg](c, "dtype").Or(m.DType), named[DeviceArg](c, "device").Or(m.Device), m.Shape)
	}
	row := &Op{
		ID: id, Name: name, Schema: "(Tensor self, " + args + likeTail, Tags: TagNotMethod | TagNoGrad | tags,
		Meta: func(c *Call) ([]Result, error) {
			m := In[SelfArgs](c).Self.Meta()
			s, err := formatStrides(m, named[StrArg](c, "memory_format").Str())
			if err != nil {
				return nil, err
			}
			out := like(c, m)
			out.Stride, out.RequiresGrad = s, named[BoolArg](c, "requires_grad").Bool()
			return one(out), nil
		},
	}
	if dec != nil {
		row.Decompose = decomp(func(b B, c *Call) Value {
			m := In[SelfArgs](c).Self.Meta()
			return dec(b, c, like(c, m))
		})
	}
	return row
}

func likeRows() []*Op {
	return []*Op{
		likeRow(FullLike, "full_like", "Scalar fill_value, ", 0, nil).and(TagComplex),
		likeRow(EmptyLike, "empty_like", "", 0, nil).and(TagComplex),
		likeRow(ZerosLike, "zeros_like", "", 0, func(b B, c *Call, m *TensorMeta) Value {
			a := In[FilledLikeArgs](c)
			return b.Emit(FullLike, a.Self.Value(), scalarOf(m.DType, 0), m.DType, m.Device, a.RequiresGrad.Arg, a.MemoryFormat.Arg)
		}).and(TagComplex),
		likeRow(OnesLike, "ones_like", "", 0, func(b B, c *Call, m *TensorMeta) Value {
			a := In[FilledLikeArgs](c)
			return b.Emit(FullLike, a.Self.Value(), scalarOf(m.DType, 1), m.DType, m.Device, a.RequiresGrad.Arg, a.MemoryFormat.Arg)
		}).and(TagComplex),
	}
}
