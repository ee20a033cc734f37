package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file is control flow: calls that take graphs, of which the data decides which run, and how often.

// Sub is a graph that a call takes. Body has inputs, nodes and outputs, and the symbols of the program that it is in.
type Sub struct {
	Name string
	Body *Program
	// Single: it gives a tensor, and no tuple of one.
	Single bool
}

// String is the name, as printed programs have it.
func (s *Sub) String() string { return "self." + s.Name }

// flowTarget is how targets of control flow begin.
const flowTarget = "torch.ops.higher_order."

// flowCalls are, by operator, how many graphs and lists of operands a call takes, and whether a tensor in front of them chooses.
var flowCalls = map[string]struct {
	graphs, lists int
	chooses       bool
}{
	"cond":             {2, 1, true},
	"while_loop":       {2, 2, false},
	"map_impl":         {1, 2, false},
	"scan":             {1, 3, false},
	"associative_scan": {1, 2, false},
}

// FlowTarget is the target of a call of control flow; "" where files have none for it.
func FlowTarget(op string) string {
	if _, ok := flowCalls[op]; !ok {
		return ""
	}
	return flowTarget + op
}

// Body makes the calls of a graph that a call takes.
type Body func(m Maker, args []any) ([]any, error)

// FlowCall is a call of control flow. Lists are, of cond, what the branches take; of while_loop what is carried and what else is
// read; of map_impl and associative_scan what is taken apart and what else is read; scan has what is carried in front of them.
type FlowCall struct {
	Op        string
	Predicate ops.Value // nil for loops
	Bodies    []Body
	Takes     []int // how many values each body takes
	Lists     [][]ops.Value
}

// FlowMaker makes calls of control flow.
type FlowMaker interface {
	Flow(n *Node, c *FlowCall) ([]ops.Value, error)
}

// maxNesting bounds graphs within graphs.
const maxNesting = 16

// subArg reads a graph that is an argument.
func (p *Program) subArg(v json.RawMessage) (Arg, error) {
	var f struct {
		Name  string `json:"name"`
		Graph struct {
			fileGraph
			Inputs  []json.RawMessage `json:"inputs"`
			Outputs []json.RawMessage `json:"outputs"`
			Single  bool              `json:"is_single_tensor_return"`
		} `json:"graph"`
	}
	if err := json.Unmarshal(v, &f); err != nil {
		return nil, err
	}
	if p.depth >= maxNesting {
		return nil, fmt.Errorf("graphs are nested more than %d deep", maxNesting)
	}
	b := &Program{values: map[string]*Tensor{}, sizes: map[string]string{}, hints: p.hints, depth: p.depth + 1}
	if len(f.Graph.Custom) > 0 {
		return nil, errors.New("a graph with objects of a TorchScript class is not supported")
	}
	if err := b.readValues(&f.Graph.fileGraph); err != nil {
		return nil, err
	}
	for i, raw := range f.Graph.Inputs {
		in, err := b.userInput(raw)
		if err != nil {
			return nil, fmt.Errorf("input %d of %s: %w", i, clip(f.Name), err)
		}
		b.Inputs = append(b.Inputs, in)
	}
	if err := b.readNodes(f.Graph.Nodes); err != nil {
		return nil, err
	}
	for _, raw := range f.Graph.Outputs {
		a, err := b.arg(raw)
		if err != nil {
			return nil, fmt.Errorf("a result of %s: %w", clip(f.Name), err)
		}
		b.Outputs = append(b.Outputs, Output{Value: a})
	}
	return &Sub{Name: clip(f.Name), Body: b, Single: f.Graph.Single}, nil
}

// FlowOp is the operator of a call of control flow, as FlowTarget takes it; "" for any other call.
func (n *Node) FlowOp() string {
	op, _ := strings.CutPrefix(n.Target, flowTarget)
	if FlowTarget(op) != n.Target {
		return ""
	}
	return op
}

// flow has a call of control flow made.
func (w *walker) flow(n *Node) error {
	m, ok := w.m.(FlowMaker)
	if !ok {
		return &Unsupported{Op: shortTarget(n.Target)}
	}
	c, err := w.flowCall(n)
	if err != nil {
		return err
	}
	outs, err := m.Flow(n, c)
	if err != nil {
		return fmt.Errorf("%s: %w", shortTarget(n.Target), err)
	}
	return w.store(n, outs)
}

// flowCall reads the arguments, which stand by position.
func (w *walker) flowCall(n *Node) (*FlowCall, error) {
	odd := func(why string) error { return &Unsupported{Op: shortTarget(n.Target), Why: why} }
	c := &FlowCall{Op: n.FlowOp()}
	form := flowCalls[c.Op]
	for _, a := range n.Args {
		switch v := a.Value.(type) {
		case *Sub:
			c.Bodies, c.Takes = append(c.Bodies, w.body(v.Body)), append(c.Takes, len(v.Body.Inputs))
		case []Arg:
			list, err := w.list(v)
			if err != nil {
				return nil, err
			}
			values, ok := list.([]ops.Value)
			if !ok && len(v) > 0 || slices.Contains(values, nil) {
				return nil, odd("it takes values that are no tensors")
			}
			c.Lists = append(c.Lists, values)
		default:
			x, err := w.value(v)
			if err != nil {
				return nil, err
			}
			if c.Predicate, _ = x.(ops.Value); c.Predicate == nil || !form.chooses || len(c.Bodies) > 0 {
				return nil, odd("it takes a value that is no tensor")
			}
		}
	}
	if len(c.Bodies) != form.graphs || len(c.Lists) != form.lists || (c.Predicate != nil) != form.chooses {
		return nil, odd("its arguments are of another form")
	}
	given := len(c.Taken(func(x ops.Value) ops.Value { return x }))
	for _, takes := range c.Takes {
		if takes != given {
			return nil, odd(fmt.Sprintf("it hands %d values to a graph of %d", given, takes))
		}
	}
	return c, nil
}

// body walks through a graph.
func (w *walker) body(p *Program) Body {
	return func(m Maker, args []any) ([]any, error) { return p.Walk(m, args, w.symbol) }
}

// Carried is what each call of a body replaces.
func (c *FlowCall) Carried() []ops.Value {
	if c.Op == "while_loop" || c.Op == "scan" {
		return c.Lists[0]
	}
	return nil
}

// Sliced is what is taken apart along the first dimension, a slice for each call of the body.
func (c *FlowCall) Sliced() []ops.Value {
	switch c.Op {
	case "scan":
		return c.Lists[1]
	case "map_impl", "associative_scan":
		return c.Lists[0]
	}
	return nil
}

// Taken is what a body takes: slice makes a slice.
func (c *FlowCall) Taken(slice func(ops.Value) ops.Value) []any {
	var out []any
	for _, x := range c.Carried() {
		out = append(out, x)
	}
	times := 1
	if c.Op == "associative_scan" {
		times = 2
	}
	for range times {
		for _, x := range c.Sliced() {
			out = append(out, slice(x))
		}
	}
	rest := c.Lists[len(c.Lists)-1]
	for _, x := range rest {
		out = append(out, x)
	}
	return out
}

// sliceOf is a slice of a tensor that has no data.
func sliceOf(x ops.Value) ops.Value {
	m := *x.TensorMeta()
	if len(m.Shape) == 0 {
		panic("a tensor without dimensions is taken apart")
	}
	m.Shape, m.Stride = m.Shape[1:], m.Stride[1:]
	return shape{&m}
}

// Flow implements FlowMaker on shapes.
func (t tryMaker) Flow(_ *Node, c *FlowCall) ([]ops.Value, error) {
	outs, err := t.bodies(c)
	if err != nil {
		return nil, err
	}
	var all []ops.Value
	for i, x := range outs {
		v, ok := x.(ops.Value)
		if !ok {
			return nil, errors.New("a graph gives what is no tensor")
		}
		if k := len(c.Carried()); i >= k && len(c.Sliced()) > 0 {
			s := *v.TensorMeta()
			s.Shape = append([]sym.Int{c.Sliced()[0].TensorMeta().Shape[0]}, s.Shape...)
			s.Stride = ops.ContiguousStrides(s.Shape)
			v = shape{&s}
		}
		all = append(all, v)
	}
	return all, nil
}

// bodies tries the graphs and returns what a call of the last one gives: as many values as the call hands on.
func (t tryMaker) bodies(c *FlowCall) (outs []any, err error) {
	for i, b := range c.Bodies {
		before := len(outs)
		if outs, err = b(t, c.Taken(sliceOf)); err != nil {
			return nil, err
		}
		switch {
		case c.Op == "cond" && i > 0 && len(outs) != before:
			return nil, errors.New("its branches give different numbers of values")
		case c.Op == "while_loop" && i == 0 && len(outs) != 1:
			return nil, fmt.Errorf("its condition gives %d values", len(outs))
		}
	}
	given, wanted := len(outs), len(c.Carried())
	switch {
	case c.Op == "while_loop" && given != wanted, given < wanted:
		return nil, fmt.Errorf("its graph gives %d values, and %d are carried", given, wanted)
	case c.Op == "associative_scan" && given != len(c.Sliced()):
		return nil, fmt.Errorf("its graph combines %d values into %d", len(c.Sliced()), given)
	case c.Op != "cond" && c.Op != "while_loop" && len(c.Sliced()) == 0:
		return nil, errors.New("it has nothing to take apart")
	}
	return outs, nil
}
