package torch

import (
	"errors"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/export"
)

// This file computes control flow of an exported program operator by operator.

// Flow implements export.FlowMaker.
func (m eagerMaker) Flow(_ *export.Node, c *export.FlowCall) ([]ops.Value, error) {
	switch c.Op {
	case "cond":
		chosen := 1
		if c.Predicate.(*Tensor).Bool() {
			chosen = 0
		}
		return m.run(c.Bodies[chosen], values(c.Lists[0]))
	case "while_loop":
		return m.loop(c)
	}
	return m.slices(c)
}

// run runs a graph that a call takes.
func (m eagerMaker) run(b export.Body, args []any) ([]ops.Value, error) {
	got, err := b(m, args)
	if err != nil {
		return nil, err
	}
	out := make([]ops.Value, len(got))
	for i, v := range got {
		t, ok := v.(*Tensor)
		if !ok {
			return nil, errors.New("a graph gives what is no tensor")
		}
		out[i] = t
	}
	return out, nil
}

func values(lists ...[]ops.Value) []any {
	var out []any
	for _, list := range lists {
		for _, v := range list {
			out = append(out, v)
		}
	}
	return out
}

// loop runs rounds until the condition fails.
func (m eagerMaker) loop(c *export.FlowCall) ([]ops.Value, error) {
	carried := c.Lists[0]
	for {
		more, err := m.run(c.Bodies[0], values(carried, c.Lists[1]))
		if err != nil {
			return nil, err
		}
		if len(more) != 1 {
			return nil, errors.New("a loop's condition is no tensor")
		}
		if !more[0].(*Tensor).Bool() {
			return carried, nil
		}
		if carried, err = m.run(c.Bodies[1], values(carried, c.Lists[1])); err != nil {
			return nil, err
		}
	}
}

// slices calls a graph for each slice of what is taken apart, and stacks what that gives.
func (m eagerMaker) slices(c *export.FlowCall) ([]ops.Value, error) {
	carried, sliced, rest := c.Carried(), c.Sliced(), c.Lists[len(c.Lists)-1]
	if len(sliced) == 0 || len(sliced[0].TensorMeta().Shape) == 0 || sliced[0].TensorMeta().Shape[0].Hint() == 0 {
		return nil, errors.New("there is nothing to take apart")
	}
	k, assoc := len(carried), c.Op == "associative_scan"
	var stacks [][]ops.Value
	for i := range sliced[0].TensorMeta().Shape[0].Hint() {
		var given []ops.Value
		for _, x := range sliced {
			given = append(given, Select(x.(*Tensor), 0, int(i)))
		}
		out := given
		if !assoc || i > 0 {
			var err error
			if out, err = m.run(c.Bodies[0], values(carried, given, rest)); err != nil {
				return nil, err
			}
		}
		if assoc {
			carried = out
		} else {
			carried, out = out[:k], out[k:]
		}
		if stacks == nil {
			stacks = make([][]ops.Value, len(out))
		}
		for j := range out {
			stacks[j] = append(stacks[j], out[j])
		}
	}
	var all []ops.Value
	if !assoc {
		all = append(all, carried...)
	}
	for _, list := range stacks {
		got, err := m.Call(nil, ops.Get(ops.Stack), []ops.Arg{list, sym.C(0)})
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
	}
	return all, nil
}
