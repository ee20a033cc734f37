package graph

import (
	"fmt"
	"strings"

	"tcdbg/ops"
)

// This file reads back nodes of control flow.

// flow reads the arguments of a call of control flow.
func (p *parser) flow(n *Node, op, s string) error {
	f, form := &Flow{Op: op}, flowForms[op]
	if form.chooses {
		pred, rest, _ := strings.Cut(s, ", ")
		if p.vals[pred] == nil {
			return fmt.Errorf("unknown predicate %q", pred)
		}
		n.Args, s = append(n.Args, p.vals[pred]), rest
	}
	names, rest, err := bodyNames(op, s)
	if err != nil {
		return err
	}
	for _, name := range names {
		b, err := p.body(name, nil)
		if err != nil {
			return err
		}
		f.Bodies = append(f.Bodies, b)
	}
	for s = rest; s != ""; {
		end := map[byte]string{'(': ")", '[': "]"}[s[0]]
		list, rest, ok := strings.Cut(s[1:], end)
		if !ok || end == "" {
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

// bodyNames reads the names of the bodies, which the operands follow.
func bodyNames(op, s string) (names []string, rest string, err error) {
	if flowForms[op].many {
		list, rest, ok := strings.Cut(strings.TrimPrefix(s, "["), "], ")
		if !ok {
			return nil, "", fmt.Errorf("a call without operands: %q", s)
		}
		return strings.Split(list, ", "), rest, nil
	}
	for range flowTexts[op].bodies[0] {
		name, after, ok := strings.Cut(s, ", ")
		if !ok {
			return nil, "", fmt.Errorf("a call without operands: %q", s)
		}
		names, s = append(names, name), after
	}
	return names, s, nil
}
