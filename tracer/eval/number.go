package eval

import (
	"fmt"
	"go/token"
	"strings"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"
)

// This file is numbers that change from call to call. A number that an operator is
// given is a constant of the graph at first. One that was seen to change is open in
// the next trace (automatic dynamic, as for sizes): an int is a symbol, which the
// graph gets as an input of its own; a float that scales or moves a tensor comes in
// a tensor without dimensions.
//
// What a function is given, has captured or itself changes is opened. Other fields of
// what pointers lead to, such as the widths of a module, differ from one object to the
// next but do not change.

// IsOpen reports whether the number at s is an input: it was seen to change, or the
// program asked for everything to be dynamic.
func (c *capture) IsOpen(s *value.Source) bool {
	constant := c.rules.ConstantInts
	if value.KindOf(s.Type).Class == value.Floating {
		constant = c.rules.ConstantFloats
	}
	if constant {
		return false
	}
	return c.dynamic[s.Name][guard.AnyDim] || c.allDynamic && value.Openable(s)
}

// hasOpen reports whether e reads a number that was seen to change.
func (c *capture) hasOpen(e *value.Expr) bool {
	open := false
	e.Leaves(func(s *value.Source) { open = open || c.IsOpen(s) })
	return open
}

// recordNumber remembers what e reads: it becomes a constant of the graph.
func (c *capture) recordNumber(e *value.Expr) {
	e.Leaves(func(s *value.Source) {
		if k := value.KindOf(s.Type); k.Class == value.SignedInt || k.Class == value.Floating {
			c.numbers = append(c.numbers, replay.SeenNumber{Src: s, Val: k.Load(c.Entry.At(s))})
		}
	})
}

// openInt is the size expression of an int that was seen to change; ok is false
// where there is none.
func (c *capture) openInt(n *value.Tracked) (x sym.Int, ok bool) {
	if n == nil || n.Expr == nil || !c.hasOpen(n.Expr) || !symbolicExpr(n.Expr) {
		return x, false
	}
	n.Expr.Leaves(func(s *value.Source) { ok = ok || c.IsOpen(s) && c.entryInt(s) >= 2 })
	if !ok {
		return x, false
	}
	return c.symOf(n.Expr), true
}

func (c *capture) entryInt(s *value.Source) int64 { return value.KindOf(s.Type).Load(c.Entry.At(s)).I }

// symbolicExpr reports whether e is what sizes can be: sums and products of ints.
func symbolicExpr(e *value.Expr) bool {
	if e.Kind != (value.ScalarKind{Class: value.SignedInt, Bits: 64}) {
		return false
	}
	switch e.Op {
	case token.ILLEGAL:
		return true
	case token.ADD, token.SUB, token.MUL:
		return e.Y != nil && symbolicExpr(e.X) && symbolicExpr(e.Y)
	}
	return false
}

func (c *capture) symOf(e *value.Expr) sym.Int {
	switch e.Op {
	case token.ADD:
		return sym.Add(c.symOf(e.X), c.symOf(e.Y))
	case token.SUB:
		return sym.Sub(c.symOf(e.X), c.symOf(e.Y))
	case token.MUL:
		return sym.Mul(c.symOf(e.X), c.symOf(e.Y))
	}
	if e.Leaf == nil {
		return sym.Const(e.Const.I)
	}
	if v := c.entryInt(e.Leaf); !c.IsOpen(e.Leaf) || v < 2 {
		c.recordNumber(e)
		c.guards.Expr(e, value.Scalar{I: v})
		return sym.Const(v)
	}
	return c.numberSymbol(e.Leaf)
}

// numberSymbol is the symbol of the int at s, an input of the graph.
func (c *capture) numberSymbol(s *value.Source) sym.Int {
	for _, o := range c.Symbols {
		if o.Src == s {
			return o.Expr
		}
	}
	hint := c.entryInt(s)
	x := c.Shapes.NewSymbol(fmt.Sprintf("s%d", len(c.Shapes.Symbols)), s.Name, hint)
	y, _ := x.AsSymbol()
	c.Symbols[y] = guard.Origin{Src: s, Dim: guard.AnyDim, Hint: int(hint), Expr: x, At: ofProgram(c.frames.UserStack())}
	c.numberInput(s.Name, placeholderName(s), x, replay.GraphInput{Src: s})
	return x
}

// numberInput adds an input that is no tensor of the program.
func (c *capture) numberInput(name, target string, meta any, in replay.GraphInput) *graph.Node {
	n := c.Graph.Input(strings.ToLower(target[:1])+target[1:], target, name, meta)
	if c.NumberOf == nil {
		c.NumberOf = map[*graph.Node]replay.GraphInput{}
	}
	c.NumberOf[n] = in
	return n
}

// numberKey tells inputs apart that come in a tensor.
type numberKey struct {
	expr  string
	dtype ops.DType
}

// scales are the operators whose second operand may be a tensor without dimensions
// instead of a number: with the element type of the first it computes the same.
var scales = map[ops.ID]bool{ops.Add: true, ops.Sub: true, ops.Mul: true, ops.Div: true}

// openOperand is the input for a float that was seen to change, or for an int that
// can be no symbol; nil where the number has to be a constant.
func (c *capture) openOperand(op ops.ID, self ops.Arg, n *value.Tracked) ops.Value {
	x, isNode := self.(*graph.Node)
	if !scales[op] || !isNode || n == nil || n.Expr == nil || !c.hasOpen(n.Expr) {
		return nil
	}
	m, ok := x.Meta.(*ops.TensorMeta)
	if !ok || m.DType != ops.Float32 && m.DType != ops.Float64 {
		return nil
	}
	e := n.Expr
	switch e.Kind.Class {
	case value.Floating:
	case value.SignedInt:
		if _, ok := c.openInt(n); ok {
			return nil
		}
		e = &value.Expr{Op: token.ARROW, Kind: value.ScalarKind{Class: value.Floating, Bits: 64}, X: e}
	default:
		return nil
	}
	key := numberKey{e.String(), m.DType}
	if node := c.operands[key]; node != nil {
		return node
	}
	var first *value.Source
	e.Leaves(func(s *value.Source) {
		if first == nil {
			first = s
		}
	})
	// Without a source: what hangs below an object counts as a parameter.
	meta := &ops.TensorMeta{DType: m.DType, Device: m.Device, Shape: []sym.Int{}, Stride: []sym.Int{}, Offset: sym.C(0)}
	node := c.numberInput("", placeholderName(first), meta, replay.GraphInput{Expr: e, Dtype: m.DType, At: ofProgram(c.frames.UserStack())})
	if c.operands == nil {
		c.operands = map[numberKey]*graph.Node{}
	}
	c.operands[key] = node
	return node
}
