package ir

import "fmt"

// This file checks that loops stay within the memory of their buffers, as far as sizes are
// numbers and positions are bounded.

// CheckAddresses returns the first access that cannot lie within its buffer.
func (p *Program) CheckAddresses() error {
	for _, n := range p.Nodes {
		vals := make([]Interval, len(n.Body))
		for i := range n.Body {
			v := &n.Body[i]
			vals[i] = n.interval(v, vals)
			if err := n.checkAddress(v, vals); err != nil {
				return fmt.Errorf("%s: %s: %w", n.Name, n.ValueText(i), err)
			}
		}
	}
	return nil
}

// interval bounds v, given what bounds the values before it.
func (n *Node) interval(v *Value, vals []Interval) Interval {
	switch {
	case v.Op == IndexOf:
		if at, ok := n.bounds(v.Index); ok {
			return at
		}
		return rangeOf(v.DType)
	case v.Op != Const && v.Op < Cast: // memory, reductions
		return rangeOf(v.DType)
	}
	x := make([]Interval, len(v.Args))
	for k, a := range v.Args {
		x[k] = vals[a]
	}
	return Evaluate(intervals{}, v, OperandType(n.Body, v), x)
}

func (n *Node) checkAddress(v *Value, vals []Interval) error {
	if !v.Accesses() {
		return nil
	}
	at, ok := n.bounds(v.Index)
	span, fixed := v.Buf.Span().IsConst()
	if !ok || !fixed {
		return nil
	}
	whole := Interval{0, span - 1}
	if v.Op == Load || v.Op == Store {
		if !at.within(whole) {
			return fmt.Errorf("addresses %d to %d of %d elements", at.Lo, at.Hi, span)
		}
		return nil
	}
	position := vals[v.Args[len(v.Args)-1]] // the last operand of each
	if at, ok = at.add(position); ok && (at.Hi < 0 || at.Lo >= span) {
		return fmt.Errorf("addresses %d to %d of %d elements", at.Lo, at.Hi, span)
	}
	return nil
}
