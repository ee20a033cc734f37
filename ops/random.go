package ops

import "tcdbg/ops/sym"

// This file holds the operators that draw random numbers.

func randomRows() []*Op {
	return []*Op{
		redraw(Uniform, "uniform", "(Tensor self, float from=0, float to=1) -> Tensor").and(TagHasInPlace),
		redraw(Normal, "normal", "(Tensor self, float mean=0, float std=1) -> Tensor").and(TagHasInPlace),
		redraw(Bernoulli, "bernoulli", "(Tensor self, float? p=None) -> Tensor").and(TagHasInPlace),
		exponentialRow(), multinomialRow(),
		randomLike(RandLike, "rand_like"), randomLike(RandnLike, "randn_like"),
		{
			ID: Randint, Name: "randint", Schema: "(int low, int high, int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
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
			ID: Randperm, Name: "randperm", Schema: "(int n, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
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
