package numerics

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file holds the results of two runs of a graph beside each other.

// references are runs of eager execution by which differences are weighed. They are made when
// the first difference asks for them.
type references struct {
	exact func() []result
	noisy func() [][]result
}

// noises is how many runs with other rounding are made.
const noises = 3

func (s *subject) references() *references {
	return &references{
		exact: sync.OnceValue(s.exact),
		noisy: sync.OnceValue(func() (runs [][]result) {
			for i := range uint64(noises) {
				if n := s.noisy(i); n != nil {
					runs = append(runs, n)
				}
			}
			return runs
		}),
	}
}

// judge compares the values of two runs, in their order.
func judge(got, want []result, refs *references) []comparison {
	var out []comparison
	if len(got) != len(want) {
		return append(out, comparison{faulty: 1, NumericsValue: logs.NumericsValue{
			What: "results", Worst: worstShown, Beyond: 1, Elems: 1,
			Note: fmt.Sprintf("%d values (outputs, inputs, gradients) where eager execution gives %d", len(got), len(want)),
		}})
	}
	for i := range want {
		if got[i].same && want[i].same {
			continue
		}
		c := compare(want[i].what, got[i].t, want[i].t, nil)
		if c.faulty > 0 {
			c = weighed(c, i, got, want, refs)
		}
		out = append(out, c)
	}
	return out
}

// weighed is a comparison that finds a difference, with all that may excuse it.
func weighed(c comparison, i int, got, want []result, refs *references) comparison {
	if exact := refs.exact(); len(exact) == len(want) {
		c = compare(want[i].what, got[i].t, want[i].t, exact[i].t)
	}
	if c.faulty == 0 || got[i].t.DType() != want[i].t.DType() || !slices.Equal(got[i].t.Shape(), want[i].t.Shape()) {
		return c
	}
	var noisy []*torch.Tensor
	for _, list := range refs.noisy() {
		if len(list) == len(want) {
			noisy = append(noisy, list[i].t)
		}
	}
	c.weigh(got[i].t, want[i].t, noisy)
	return c
}

// differs reports whether nothing excuses a difference.
func (c comparison) differs() bool { return c.faulty > 0 && !c.undecided }

// born is the first node whose result has a NaN or an Inf that no input of it has, nor a number that
// it is called with, as a mask's fill value; nil for none.
func (s *subject) born() (b *logs.NumericsBorn) {
	defer func() {
		if recover() != nil {
			b = nil
		}
	}()
	for i, p := range s.g.Placeholders() {
		if what := bad(s.in[i]); what != "" {
			return &logs.NumericsBorn{What: what, Input: p.Name}
		}
	}
	after := torch.RandomState()
	defer after()
	s.rewind()
	s.g.RunWatched(copyInputs(s.in, false), func(n *graph.Node, value any, inputs []any) {
		if b != nil || n.Op == ops.None {
			return
		}
		what := bad(value)
		if what == "" || slices.ContainsFunc(inputs, func(x any) bool { return bad(x) != "" }) || slices.ContainsFunc(n.Args, boundless) {
			return
		}
		b = &logs.NumericsBorn{What: what, Node: n.Name, Op: n.OpRow().Name, Pos: PosOf(n)}
	})
	return b
}

// boundless reports a number that is infinite or NaN.
func boundless(a ops.Arg) bool {
	f, ok := a.(float64)
	return ok && (math.IsInf(f, 0) || math.IsNaN(f))
}

// PosOf is the line of the program that a node comes from; nil where it has none.
func PosOf(n *graph.Node) *logs.Pos {
	if n == nil || len(n.Stack) == 0 {
		return nil
	}
	f := n.Stack[len(n.Stack)-1]
	return &logs.Pos{File: f.File, Line: f.Line, Col: f.Col, Func: f.Func, Code: f.Code}
}

// bad says how many NaN and Inf a value has, "" for none.
func bad(v any) string {
	if list, ok := v.([]torch.Value); ok {
		for _, x := range list {
			if what := bad(x); what != "" {
				return what
			}
		}
		return ""
	}
	t, ok := v.(*torch.Tensor)
	if !ok || !hasData(t) {
		return ""
	}
	return torch.NonFinite(t)
}
