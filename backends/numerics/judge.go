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

// Verdict is how a compiled form of a graph compares with eager execution.
type Verdict struct {
	Differs    string // what does, and how far; "" where nothing does
	Eager, Run error  // why one of the two did not run
}

// Judge runs both on copies of the inputs.
func Judge(g *graph.Graph, in []torch.Value, run func([]torch.Value) []torch.Value) (v Verdict) {
	s, _ := newSubject(g, in)
	want, err := s.eager()
	if err != nil {
		v.Eager = err
		return v
	}
	got, err := s.execute(run, false)
	if err != nil {
		v.Run = err
		return v
	}
	list := judge(got, want, s.references())
	if i := slices.IndexFunc(list, comparison.differs); i >= 0 {
		v.Differs = fmt.Sprintf("%s differs by %.3g tolerances", list[i].What, list[i].Worst)
	}
	return v
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

// born is where the first NaN or Inf comes from, and where it is an Inf, where the first NaN does; nil for
// none. An Inf comes from a node of whose inputs none has either, nor a number that it is called with, as
// a mask's fill value; a NaN from one of whose inputs and numbers none is NaN.
func (s *subject) born() (first, nan *logs.NumericsBorn) {
	defer func() {
		if recover() != nil {
			first, nan = nil, nil
		}
	}()
	found := func(b *logs.NumericsBorn) {
		switch {
		case first == nil:
			first = b
		case nan == nil && !first.IsNaN() && b.IsNaN():
			nan = b
		}
	}
	for i, p := range s.g.Placeholders() {
		if what := bad(s.in[i]); what != "" {
			found(&logs.NumericsBorn{What: what, Input: p.Name})
		}
	}
	if first != nil && first.IsNaN() || nan != nil { // an input has it
		return first, nan
	}
	after := torch.RandomState()
	defer after()
	s.rewind()
	s.g.RunWatched(copyInputs(s.in, false), func(n *graph.Node, value any, inputs []any) {
		if n.Op == ops.None || nan != nil || first != nil && first.IsNaN() {
			return
		}
		b := &logs.NumericsBorn{What: bad(value), Node: n.Name, Op: n.OpRow().Name, Pos: PosOf(n)}
		if b.What == "" || slices.ContainsFunc(n.Args, isNumber(math.IsNaN)) {
			return
		}
		for _, x := range inputs {
			in := logs.NumericsBorn{What: bad(x)}
			if in.IsNaN() {
				return
			}
			b.OfInf = b.OfInf || in.What != ""
		}
		if b.IsNaN() || !b.OfInf && !slices.ContainsFunc(n.Args, isNumber(func(f float64) bool { return math.IsInf(f, 0) })) {
			found(b)
		}
	})
	return first, nan
}

// isNumber reports of an argument whether it is a number of a kind.
func isNumber(kind func(float64) bool) func(ops.Arg) bool {
	return func(a ops.Arg) bool {
		f, ok := a.(float64)
		return ok && kind(f)
	}
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
