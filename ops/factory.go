package ops

import (
	"fmt"
	"math"

	"tcdbg/ops/sym"
)

// This file holds the operators that make tensors out of nothing: of one number or of
// many, random numbers, the windows of torch.signal.

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
			ID: Full, Name: "full", Schema: "(int[] size, Scalar fill_value, " + factoryTail,
			Tags: TagFactory | TagNotMethod | TagNoGrad | TagComplex,
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
			ID: Arange, Name: "arange", Schema: "(Scalar start, Scalar? end=None, Scalar step=1, " + factoryTail,
			Tags: TagFactory | TagNotMethod | TagNoGrad,
			Meta: arangeMeta,
		},
	}
	return append(append(rows, likeRows()...), patternRows()...)
}

// patternRows are the factories of particular matrices and sequences.
func patternRows() []*Op {
	return []*Op{
		{
			ID: Linspace, Name: "linspace", Schema: "(Scalar start, Scalar end, int steps, " + factoryTail,
			Tags: TagFactory | TagNotMethod | TagNoGrad | TagComplex,
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
		dynamicWhen(func(c *Call) bool { return sym.Is(In[OneHotArgs](c).NumClasses.Int(), -1) },
			composite(OneHot, "one_hot", "(Tensor input, int num_classes) -> Tensor", TagNN|TagNotMethod|TagNoGrad,
				func(b B, c *Call) Value {
					a := In[OneHotArgs](c)
					m := a.Input.Meta()
					if m.DType != Int64 {
						refuse(Errorf("one_hot is only applicable to index tensor of type LongTensor."))
					}
					if sym.Lt(a.NumClasses.Int(), symOne) {
						refuse(Errorf("one_hot: num_classes must be given and positive, got %s", a.NumClasses.Int()))
					}
					hit := b.eq(b.unsqueeze(b.Emit(ClassIndex, a.Input.Value(), a.NumClasses.Int()), len(m.Shape)),
						b.arange(a.NumClasses.Int(), m))
					return b.cast(hit, Int64)
				})),
		{ // the classes of one_hot, refused where one is out of range: a comparison would give zeros
			ID: ClassIndex, Name: "_class_index", Schema: "(Tensor input, int num_classes) -> Tensor",
			Tags: TagInternal | TagNotMethod | TagNoGrad,
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
		composite(NewFull, "new_full", "(Tensor self, int[] size, Scalar fill_value, "+factoryTail, TagNotFunction|TagNoGrad,
			func(b B, c *Call) Value {
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

func randomRows() []*Op {
	return []*Op{
		redraw(Uniform, "uniform", "(Tensor self, float from=0, float to=1) -> Tensor").and(TagHasInPlace),
		redraw(Normal, "normal", "(Tensor self, float mean=0, float std=1) -> Tensor").and(TagHasInPlace),
		redraw(Bernoulli, "bernoulli", "(Tensor self, float? p=None) -> Tensor").and(TagHasInPlace),
		exponentialRow(), multinomialRow(),
		randomLike(RandLike, "rand_like"), randomLike(RandnLike, "randn_like"),
		{
			ID: Randint, Name: "randint", Schema: "(int low, int high, int[] size, *, dtype? dtype=None, device? device=None, " +
				"bool requires_grad=False) -> Tensor",
			Tags: TagFactory | TagRandom | TagNotMethod | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) {
				a := In[RandintArgs](c)
				if sym.Ge(a.Low.Int(), a.High.Int()) {
					return nil, Errorf("random_ expects 'from' to be less than 'to', but got from=%s >= to=%s", a.Low.Int(), a.High.Int())
				}
				return one(NewMeta(a.DType.Or(Int64), a.Device.Or(CPU), a.Size.Ints())), checkSizes(a.Size.Ints())
			},
		},
		{
			ID: Randperm, Name: "randperm", Schema: "(int n, *, dtype? dtype=None, device? device=None, " +
				"bool requires_grad=False) -> Tensor",
			Tags: TagFactory | TagRandom | TagNotMethod | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) {
				a := In[RandpermArgs](c)
				return one(NewMeta(a.DType.Or(Int64), a.Device.Or(CPU), []sym.Int{a.N.Int()})), checkSizes([]sym.Int{a.N.Int()})
			},
		},
		dropoutRow(),
	}
}

// redraw is a function whose in-place form overwrites a tensor with numbers.
func redraw(id ID, name, schema string) *Op {
	return &Op{ID: id, Name: name, Schema: schema, Tags: TagRandom, Meta: selfLike, Backward: backOf(func(b B, c *BackwardCall) []Value {
		return []Value{b.zeros(In[SelfArgs](c.Call).Self.Meta())}
	})}
}

func exponentialRow() *Op {
	row := redraw(Exponential, "exponential", "(Tensor self, float lambd=1) -> Tensor").and(TagHasInPlace)
	row.Meta = func(c *Call) ([]Result, error) {
		a := In[ExponentialArgs](c)
		if d := a.Self.Meta().DType; !d.IsFloat() {
			return nil, Errorf(
				"Exponential distribution is a continuous probability distribution. dtype must be a floating point but you specified %s",
				d.ScalarType(),
			)
		}
		if lambd := a.Lambd.Float(); !(lambd > 0) {
			return nil, Errorf("exponential_ expects lambda > 0.0, but found lambda=%v", lambd)
		}
		return selfLike(c)
	}
	return row
}

// maxCategories is how many categories float32 tells apart.
const maxCategories = 1 << 24

func multinomialRow() *Op {
	return &Op{
		ID: Multinomial, Name: "multinomial", Schema: "(Tensor self, int num_samples, bool replacement=False) -> Tensor",
		Tags: TagRandom | TagNoGrad,
		Meta: func(c *Call) ([]Result, error) {
			a := In[MultinomialArgs](c)
			p, n := a.Self.Meta(), a.NumSamples.Int()
			last := len(p.Shape) - 1
			switch {
			case last != 0 && last != 1:
				return nil, Errorf("prob_dist must be 1 or 2 dim")
			case !p.DType.IsFloat():
				return nil, Errorf("multinomial only supports floating-point dtypes for input, got: %s", p.DType.ScalarType())
			case !sym.Ge(n, sym.C(1)):
				return nil, Errorf("cannot sample n_sample <= 0 samples")
			case !a.Replacement.Bool() && !sym.Ge(p.Shape[last], n):
				return nil, Errorf("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
			case sym.Ge(p.Shape[last], sym.C(maxCategories+1)):
				return nil, Errorf("number of categories cannot exceed 2^24")
			}
			shape := append(append([]sym.Int{}, p.Shape[:last]...), n)
			return one(NewMeta(Int64, p.Device, shape)), nil
		},
	}
}

func randomLike(id ID, name string) *Op {
	return likeRow(id, name, "", TagRandom, nil)
}

func dropoutRow() *Op {
	return &Op{
		ID: Dropout, Name: "dropout", Schema: "(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
		Tags: TagRandom | TagNN | TagNotMethod | TagMaybeView | TagHasInPlace,
		Meta: func(c *Call) ([]Result, error) {
			if p := In[DropoutArgs](c).P.Float(); p < 0 || p > 1 {
				return nil, Errorf("dropout probability has to be between 0 and 1, but got %v", p)
			}
			return selfLike(c)
		},
		Decompose: decomp(func(b B, c *Call) Value {
			a := In[DropoutArgs](c)
			x, p := a.Input.Value(), a.P.Float()
			switch {
			case p == 0 || !a.Training.Bool() || sym.Is(numel(x.TensorMeta().Shape), 0):
				return x
			case p == 1:
				return b.mul(x, b.Emit(ZerosLike, x))
			}
			noise := b.div(b.Emit(Bernoulli, b.Emit(EmptyLike, x), 1-p), 1-p)
			return b.mul(x, noise)
		}),
	}
}

const windowTail = "*, bool sym=True, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor"

// window is a row whose values are f of the n positions.
func window(id ID, name, args string, f func(w *windowCall) Value) *Op {
	return composite(id, "signal.windows."+name, "(int m, "+args+windowTail, TagFactory|TagNotMethod|TagNoGrad, func(b B, c *Call) Value {
		w := &windowCall{
			b: b, call: c, name: name, n: named[IntArg](c, "m").Num(), d: named[DTypeArg](c, "dtype").Or(Float32),
			symmetric: named[BoolArg](c, "sym").Bool(),
		}
		return w.values(f)
	})
}

// windowCall is the call of a window of n numbers.
type windowCall struct {
	call      *Call
	b         B
	name      string
	d         DType
	n         int
	symmetric bool
}

// number is an argument that one window has.
func (w *windowCall) number(name string) float64 { return named[NumberArg](w.call, name).Float() }

func (w *windowCall) values(f func(w *windowCall) Value) Value {
	name := w.name // as PyTorch's messages have it: some windows are made by another
	switch name {
	case "hann", "hamming", "general_hamming", "nuttall":
		name = "general_cosine"
	}
	if w.n < 0 {
		refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("%s requires non-negative window length, got M=%d", name, w.n)})
	}
	if w.d != Float32 && w.d != Float64 {
		refuse(&Error{Kind: "ValueError", Msg: name + " expects float32 or float64 dtypes, got: " + w.d.String()})
	}
	if w.n <= 1 {
		return w.b.Emit(Ones, []int{w.n}, w.d)
	}
	return f(w)
}

// points are n evenly spaced numbers from start by step.
func (w *windowCall) points(start, step float64) Value {
	b := w.b
	at := b.cast(b.Emit(Arange, w.n, nil, symOne, Int64), w.d)
	return b.add(b.mul(at, step), start)
}

// steps is the number of steps over the window: a periodic one is cut from a
// symmetric one that is longer by one.
func (w *windowCall) steps() float64 {
	if w.symmetric {
		return float64(w.n - 1)
	}
	return float64(w.n)
}

// cosines sums a[i] * cos(i*t) with alternating signs over a whole turn.
func (w *windowCall) cosines(a []float64) Value {
	b := w.b
	t := w.points(0, 2*math.Pi/w.steps())
	var sum Value
	for i, k := range a {
		if i%2 == 1 {
			k = -k
		}
		part := b.mul(b.Emit(Cos, b.mul(t, float64(i))), k)
		if sum == nil {
			sum = part
		} else {
			sum = b.add(sum, part)
		}
	}
	return sum
}

func windowRows() []*Op {
	cosine := func(id ID, name string, a ...float64) *Op {
		return window(id, name, "", func(w *windowCall) Value { return w.cosines(a) })
	}
	return []*Op{
		window(WindowBartlett, "bartlett", "", func(w *windowCall) Value {
			b := w.b
			return b.sub(1, b.Emit(Abs, w.points(-1, 2/w.steps())))
		}),
		cosine(WindowBlackman, "blackman", 0.42, 0.5, 0.08),
		window(WindowCosine, "cosine", "", func(w *windowCall) Value {
			step := math.Pi / (w.steps() + 1)
			return w.b.Emit(Sin, w.points(0.5*step, step))
		}),
		window(WindowExponential, "exponential", "*, float? center=None, float tau=1.0, ", func(w *windowCall) Value {
			b, tau := w.b, w.number("tau")
			if tau <= 0 {
				refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("Tau must be positive, got: %s instead.", floatText(tau))})
			}
			center := w.steps() / 2
			if !named[NumberArg](w.call, "center").IsNone() {
				if w.symmetric {
					refuse(&Error{Kind: "ValueError", Msg: "Center must be None for symmetric windows"})
				}
				center = w.number("center")
			}
			return b.exp(b.neg(b.Emit(Abs, w.points(-center/tau, 1/tau))))
		}),
		window(WindowGaussian, "gaussian", "*, float std=1.0, ", func(w *windowCall) Value {
			b, std := w.b, w.number("std")
			if std <= 0 {
				refuse(&Error{
					Kind: "ValueError",
					Msg:  fmt.Sprintf("Standard deviation must be positive, got: %s instead.", floatText(std)),
				})
			}
			k := 1 / (std * math.Sqrt2)
			return b.exp(b.neg(b.sq(w.points(-w.steps()/2*k, k))))
		}),
		window(WindowGeneralCosine, "general_cosine", "*, float[] a, ", func(w *windowCall) Value {
			a, _ := named[ListArg](w.call, "a").Arg.([]float64)
			if len(a) == 0 {
				refuse(&Error{Kind: "ValueError", Msg: "Coefficients cannot be empty"})
			}
			return w.cosines(a)
		}),
		window(WindowGeneralHamming, "general_hamming", "*, float alpha=0.54, ", func(w *windowCall) Value {
			alpha := w.number("alpha")
			return w.cosines([]float64{alpha, 1 - alpha})
		}),
		cosine(WindowHamming, "hamming", 0.54, 0.46),
		cosine(WindowHann, "hann", 0.5, 0.5),
		window(WindowKaiser, "kaiser", "*, float beta=12.0, ", func(w *windowCall) Value {
			b, beta := w.b, w.number("beta")
			if beta < 0 {
				refuse(&Error{Kind: "ValueError", Msg: fmt.Sprintf("beta must be non-negative, got: %s instead.", floatText(beta))})
			}
			t := w.points(-beta, 2*beta/w.steps())
			inside := b.sqrt(b.Emit(ClampMin, b.sub(beta*beta, b.sq(t)), 0.0))
			return b.div(b.Emit(I0, inside), b.Emit(I0, b.full(nil, beta, NewMeta(w.d, CPU, nil))))
		}),
		cosine(WindowNuttall, "nuttall", 0.3635819, 0.4891775, 0.1365995, 0.0106411),
	}
}
