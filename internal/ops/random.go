package ops

import "tcdbg/internal/sym"

// This file holds the operators that draw random numbers.

func randomRows() []*Op {
	return []*Op{
		redraw(Uniform, "uniform", "(Tensor self, float from=0, float to=1) -> Tensor"),
		redraw(Normal, "normal", "(Tensor self, float mean=0, float std=1) -> Tensor"),
		redraw(Bernoulli, "bernoulli", "(Tensor self, float? p=None) -> Tensor"),
		randomLike(RandLike, "rand_like"), randomLike(RandnLike, "randn_like"),
		{
			ID: Randint, Name: "randint", Schema: "(int low, int high, int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
			Tags: TagFactory | TagRandom | TagNotMethod | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) {
				if sym.Ge(c.Int(0), c.Int(1)) {
					return nil, Errorf("random_ expects 'from' to be less than 'to', but got from=%s >= to=%s", c.Int(0), c.Int(1))
				}
				return one(NewMeta(c.DTypeOr(3, Int64), c.DeviceOr(4, CPU), c.Ints(2))), checkSizes(c.Ints(2))
			},
		},
		{
			ID: Randperm, Name: "randperm", Schema: "(int n, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
			Tags: TagFactory | TagRandom | TagNotMethod | TagNoGrad,
			Meta: func(c *Call) ([]Result, error) {
				return one(NewMeta(c.DTypeOr(1, Int64), c.DeviceOr(2, CPU), []sym.Int{c.Int(0)})), checkSizes([]sym.Int{c.Int(0)})
			},
		},
		dropoutRow(),
	}
}

// redraw is a function whose in-place form overwrites a tensor with numbers.
func redraw(id ID, name, schema string) *Op {
	return &Op{ID: id, Name: name, Schema: schema, Tags: TagRandom, Meta: selfLike, Backward: backOf(func(b B, c *BackwardCall) []Value {
		return []Value{b.zeros(c.Tensor(0))}
	})}
}

func randomLike(id ID, name string) *Op {
	row := likeRow(id, name, "", 1, TagRandom, nil)
	return row
}

func dropoutRow() *Op {
	return &Op{
		ID: Dropout, Name: "dropout", Schema: "(Tensor input, float p=0.5, bool training=True, bool inplace=False) -> Tensor",
		Tags: TagRandom | TagNN | TagNotMethod | TagMaybeView,
		Meta: func(c *Call) ([]Result, error) {
			if p := c.Float(1); p < 0 || p > 1 {
				return nil, Errorf("dropout probability has to be between 0 and 1, but got %v", p)
			}
			return selfLike(c)
		},
		Decompose: decomp(func(b B, c *Call) Value {
			x, p := c.Value(0), c.Float(1)
			switch {
			case p == 0 || !c.Bool(2) || sym.Is(numel(x.TensorMeta().Shape), 0):
				return x
			case p == 1:
				return b.mul(x, b.Emit(ZerosLike, x))
			}
			noise := b.div(b.Emit(Bernoulli, b.Emit(EmptyLike, x), 1-p), 1-p)
			return b.mul(x, noise)
		}),
	}
}
