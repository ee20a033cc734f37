package graph

import (
	"fmt"
	"strings"

	"tcdbg/ops"
)

// This file reads back nodes of control flow.

// flow reads the arguments of cond or while_loop.
func (p *parser) flow(n *Node, op, s string) error {
	f := &Flow{Op: op}
	if op == CondTarget {
		pred, rest, _ := strings.Cut(s, ", ")
		if p.vals[pred] == nil {
			return fmt.Errorf("unknown predicate %q", pred)
		}
		n.Args, s = append(n.Args, p.vals[pred]), rest
	}
	for range bodyWords[op][0] {
		name, rest, ok := strings.Cut(s, ", ")
		if !ok {
			return fmt.Errorf("a call without operands: %q", s)
		}
		b, err := p.body(name, nil)
		if err != nil {
			return err
		}
		f.Bodies, s = append(f.Bodies, b), rest
	}
	for s != "" {
		list, rest, ok := strings.Cut(strings.TrimPrefix(s, "("), ")")
		if !ok {
			return fmt.Errorf("operands without an end: %q", s)
		}
		values := []ops.Value{}
		for _, name := range strings.Split(list, ",") {
			if name = strings.TrimSpace(name); name == "" {
				continue
			}
			if p.vals[name] == nil {
				return fmt.Errorf("unknown operand %q", name)
			}
			values = append(values, p.vals[name])
		}
		n.Args, s = append(n.Args, values), strings.TrimPrefix(rest, ", ")
	}
	if err := fits(n, f); err != nil {
		return err
	}
	n.SetFlow(f)
	return nil
}

// fits reports what is missing for the value of a node to be known.
func fits(n *Node, f *Flow) error {
	want := 2
	if len(n.Args) != want {
		return fmt.Errorf("%s has %d arguments, not %d", f.Op, len(n.Args), want)
	}
	for _, b := range f.Bodies {
		n.Flow = f
		if len(b.Placeholders()) != len(n.Operands()) {
			return fmt.Errorf("%s takes %d values, not %d", b.Name, len(b.Placeholders()), len(n.Operands()))
		}
		for _, a := range b.Outputs() {
			if x, ok := a.(*Node); !ok || !x.IsTensor() {
				return fmt.Errorf("%s gives no tensor", b.Name)
			}
		}
	}
	for i, p := range f.Bodies[1].Placeholders() {
		if i < n.Carried() && !p.IsTensor() {
			return fmt.Errorf("%s carries %s, which is no tensor", f.Op, p.Name)
		}
	}
	return nil
}
