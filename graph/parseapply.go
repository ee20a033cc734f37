package graph

import (
	"fmt"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file reads back calls of functions with a derivative of their own.

// apply reads the arguments of autograd_function_apply: the names of both bodies, the
// call's arguments, and which results have no gradient.
func (p *parser) apply(n *Node, s string) error {
	names := strings.SplitN(s, ", ", 3)
	if len(names) < 3 {
		return fmt.Errorf("a call without arguments: %q", s)
	}
	p.rest = names[2]
	args, kw, err := p.list("")
	if err != nil {
		return err
	}
	a := &Apply{}
	if a.Forward, err = p.body(names[0], &a.Outputs); err != nil {
		return err
	}
	if a.Backward, err = p.body(names[1], nil); err != nil {
		return err
	}
	a.Inputs = len(a.Backward.Outputs())
	a.Constant = make([]bool, max(len(a.Backward.Placeholders())-len(a.saved()), 0))
	constant, _ := kw["non_differentiable_idx"].([]sym.Int)
	for _, x := range constant {
		i, ok := x.IsConst()
		if !ok || i < 0 || int(i) >= len(a.Constant) {
			return fmt.Errorf("%s has no result %s", names[0], x)
		}
		a.Constant[i] = true
	}
	n.Target, n.Args, n.Apply = ApplyTarget, args, a
	n.Meta = Metas(nodesOf(a.Forward.Outputs()[:a.Outputs]))
	return nil
}

// body reads the body of a name; outputs, where it is not nil, is set to how many of
// its outputs come before what it saves.
func (p *parser) body(name string, outputs *int) (*Graph, error) {
	c, ok := p.bodies[name]
	if !ok {
		return nil, fmt.Errorf("there is no body %q", name)
	}
	inner := &parser{
		g: New(strings.TrimRight(name, "_0123456789"), p.g.Env), vals: map[string]*Node{}, syms: p.syms, hints: p.hints,
		pair: outputs,
	}
	if err := inner.class(c); err != nil {
		return nil, err
	}
	for _, a := range inner.g.Outputs() {
		if _, isNode := a.(*Node); !isNode && (outputs != nil || a != ops.Arg(nil)) {
			return nil, fmt.Errorf("%s returns no tensor: %v", name, a)
		}
	}
	return inner.g, nil
}
