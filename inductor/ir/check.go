package ir

import (
	"fmt"

	"tcdbg/ops"
)

// Check verifies the program's invariants and returns the first violation:
// buffers are written before they are read and only where they may be, operands
// come before their uses and have the types that operations want, addresses
// have one coefficient a loop, and what follows a reduction does not depend on
// the reduction loops.
func (p *Program) Check() error {
	written := map[*Buffer]bool{}
	for _, b := range p.Buffers {
		if b.Kind == Input {
			written[b] = true
		}
		if len(b.Shape) != len(b.Stride) {
			return fmt.Errorf("buffer %s: %d sizes and %d strides", b.Name, len(b.Shape), len(b.Stride))
		}
	}
	for _, n := range p.Nodes {
		if err := n.Check(); err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		var err error
		n.Reads(func(b *Buffer, _ *Index) {
			if !written[b] {
				err = fmt.Errorf("%s: reads %s before it is written", n.Name, b.Name)
			}
		})
		n.Writes(func(b *Buffer, _ *Index) {
			if b.Kind == Input {
				err = fmt.Errorf("%s: writes the input %s", n.Name, b.Name)
			}
			written[b] = true
		})
		if err != nil {
			return err
		}
	}
	for i, o := range p.Outputs {
		if o.Buf != nil && !written[o.Buf] {
			return fmt.Errorf("output %d: %s is never written", i, o.Buf.Name)
		}
	}
	return nil
}

// Check verifies one node.
func (n *Node) Check() error {
	if (n.Kind == Reduction || n.Kind == Sequential) != (len(n.Inner) > 0) {
		return fmt.Errorf(
			"a %s node with %d inner loops",
			[...]string{"pointwise", "reduction", "sequential", "matmul", "extern"}[n.Kind], len(n.Inner),
		)
	}
	if m := n.MM; n.Kind == Matmul && (m.A == nil || m.B == nil || m.Out == nil || len(n.Outer) < 2) {
		return fmt.Errorf("a matmul needs its operands and at least two loops")
	}
	if n.Kind == Matmul && n.MM.Conv != nil {
		if err := n.MM.Conv.check(); err != nil {
			return err
		}
	}
	if n.Kind == Matmul && n.MM.Grad != nil {
		if err := n.MM.Grad.check(); err != nil {
			return err
		}
	}
	loops := len(n.Outer) + len(n.Inner)
	full := make([]bool, len(n.Body)) // depends on a reduction loop
	for i := range n.Body {
		v := &n.Body[i]
		if err := n.checkValue(i, loops); err != nil {
			return fmt.Errorf("%s: %w", n.ValueText(i), err)
		}
		for _, a := range v.Args {
			full[i] = full[i] || full[a]
		}
		for k := len(n.Outer); k < loops; k++ {
			full[i] = full[i] || v.hasIndex() && v.Index.Uses(k)
		}
		if v.Op == Reduce {
			full[i] = false
		}
		if v.Op == Store && full[i] && n.Kind == Reduction {
			return fmt.Errorf("%s: stores a value that was not reduced", n.ValueText(i))
		}
	}
	return nil
}

func (v *Value) hasIndex() bool { return v.Accesses() || v.Op == IndexOf }

// Accesses reports whether v reads or writes memory at an address.
func (v *Value) Accesses() bool {
	return v.Op == Load || v.Op == LoadAt || v.Op == Store || v.Scatters()
}

// Scatters reports whether v writes at a position that is data.
func (v *Value) Scatters() bool { return v.Op == StoreAt || v.Op == FoldAt }

func (n *Node) checkValue(i, loops int) error {
	v := &n.Body[i]
	if len(v.Args) != v.Op.Arity() {
		return fmt.Errorf("%d operands", len(v.Args))
	}
	for _, a := range v.Args {
		if a < 0 || a >= i || n.Body[a].Op == Store || n.Body[a].Scatters() {
			return fmt.Errorf("operand t%d is not defined before", a)
		}
	}
	if v.hasIndex() && len(v.Index.Coef) != loops {
		return fmt.Errorf("%d coefficients for %d loops", len(v.Index.Coef), loops)
	}
	if v.Accesses() && Register(v.Buf.DType) != v.DType {
		return fmt.Errorf("the buffer holds %s", v.Buf.DType.Short())
	}
	if !Supported(v.DType) || v.Op != Cast && Narrow(v.DType) {
		return fmt.Errorf("no arithmetic on %s", v.DType.Short())
	}
	if v.Op == Reduce && n.Kind != Reduction {
		return fmt.Errorf("reduces without a reduction loop")
	}
	if v.Op == Scan && n.Kind != Sequential {
		return fmt.Errorf("scans without a loop that runs in order")
	}
	return n.checkTypes(v)
}

func (n *Node) checkTypes(v *Value) error {
	arg := func(k int) ops.DType { return Register(n.Body[v.Args[k]].DType) }
	switch opRows[v.Op].types {
	case scatteredType:
		if arg(0) != v.DType || arg(1) != ops.Int64 {
			return fmt.Errorf("operands %s, %s", arg(0).Short(), arg(1).Short())
		}
	case placedType:
		if arg(0) != ops.Int64 {
			return fmt.Errorf("a position is i64")
		}
	case choosesType:
		if arg(0) != ops.Bool || arg(1) != v.DType || arg(2) != v.DType {
			return fmt.Errorf("operands %s, %s, %s", arg(0).Short(), arg(1).Short(), arg(2).Short())
		}
	case comparedType:
		if v.DType != ops.Bool || len(v.Args) == 2 && arg(0) != arg(1) {
			return fmt.Errorf("operands differ in type")
		}
	case reducedType:
		if v.Red == RArgMax || v.Red == RArgMin {
			if v.DType != ops.Int64 {
				return fmt.Errorf("an index is i64")
			}
			return nil
		}
		return sameTypes(v, arg)
	case sameType:
		return sameTypes(v, arg)
	}
	return nil
}

// sameTypes wants operands of the result's type.
func sameTypes(v *Value, arg func(k int) ops.DType) error {
	for k := range v.Args {
		if arg(k) != v.DType {
			return fmt.Errorf("operand t%d is %s", v.Args[k], arg(k).Short())
		}
	}
	return nil
}
