package tracer

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"

	"golang.org/x/tools/go/ssa"
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

// anyDim stands for the value itself where a map or a symbol names a dimension.
const anyDim = -1

// seenNumber is a number that a segment has as a constant.
type seenNumber struct {
	src *source
	val scalar
}

// graphInput is how an input of a graph is made.
type graphInput struct {
	tensor bool
	src    *source // of a tensor, or of an int
	expr   *expr   // else of a number, for a tensor without dimensions
	dtype  ops.DType
	at     []logs.Pos // the user's stack where the number was met
}

// value is the input in one call; every call asks for it.
func (g *graphInput) value(a *addresses) torch.Value {
	switch {
	case g.tensor:
		return *(**torch.Tensor)(a.at(g.src))
	case g.expr != nil:
		v, _ := g.expr.eval(a)
		return torch.ScalarTensor(v.f, torch.Option{Name: "dtype", Value: g.dtype})
	}
	return int(kindOf(g.src.typ).load(a.at(g.src)).i)
}

// openable reports whether the number at s is an argument, a part of one, or a
// captured variable.
func openable(s *source) bool {
	for ; s != nil; s = s.parent {
		switch s.kind {
		case srcRegister, srcFree, srcField, srcDynamic:
		case srcDeref:
			if !capturedVariable(s.parent) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// capturedVariable reports whether the pointer at s is to a variable of a function,
// which its closures share.
func capturedVariable(s *source) bool {
	if s.kind == srcRegister {
		switch s.value.(type) {
		case *ssa.FreeVar, *ssa.Alloc:
			return true
		}
	}
	return s.kind == srcFree
}

// opens reports whether a change of the number at src makes it an input.
func (s *segment) opens(src *source) bool {
	return openable(src) || slices.ContainsFunc(s.writes, func(w writeBack) bool { return w.loc == src })
}

// isOpen reports whether the number at s is an input: it was seen to change, or the
// program asked for everything to be dynamic.
func (tr *trace) isOpen(s *source) bool {
	return tr.dynamic[s.name][anyDim] || tr.c.opts.dynamic == dynamicAlways && openable(s)
}

// hasOpen reports whether e reads a number that was seen to change.
func (tr *trace) hasOpen(e *expr) bool {
	open := false
	e.leaves(func(s *source) { open = open || tr.isOpen(s) })
	return open
}

// noteNumber remembers what e reads: it becomes a constant of the graph.
func (tr *trace) noteNumber(e *expr) {
	e.leaves(func(s *source) {
		if k := kindOf(s.typ); k.class == signedInt || k.class == floating {
			tr.numbers = append(tr.numbers, seenNumber{s, k.load(tr.entry.at(s))})
		}
	})
}

// openInt is the size expression of an int that was seen to change; ok is false
// where there is none.
func (tr *trace) openInt(n *note) (x sym.Int, ok bool) {
	if n == nil || n.expr == nil || !tr.hasOpen(n.expr) || !symbolicExpr(n.expr) {
		return x, false
	}
	n.expr.leaves(func(s *source) { ok = ok || tr.isOpen(s) && tr.entryInt(s) >= 2 })
	if !ok {
		return x, false
	}
	return tr.symOf(n.expr), true
}

func (tr *trace) entryInt(s *source) int64 { return kindOf(s.typ).load(tr.entry.at(s)).i }

// symbolicExpr reports whether e is what sizes can be: sums and products of ints.
func symbolicExpr(e *expr) bool {
	if e.kind != (scalarKind{signedInt, 64}) {
		return false
	}
	switch e.op {
	case token.ILLEGAL:
		return true
	case token.ADD, token.SUB, token.MUL:
		return e.y != nil && symbolicExpr(e.x) && symbolicExpr(e.y)
	}
	return false
}

func (tr *trace) symOf(e *expr) sym.Int {
	switch e.op {
	case token.ADD:
		return sym.Add(tr.symOf(e.x), tr.symOf(e.y))
	case token.SUB:
		return sym.Sub(tr.symOf(e.x), tr.symOf(e.y))
	case token.MUL:
		return sym.Mul(tr.symOf(e.x), tr.symOf(e.y))
	}
	if e.leaf == nil {
		return sym.Const(e.k.i)
	}
	if v := tr.entryInt(e.leaf); !tr.isOpen(e.leaf) || v < 2 {
		tr.noteNumber(e)
		tr.guardExpr(e, scalar{i: v})
		return sym.Const(v)
	}
	return tr.numberSymbol(e.leaf)
}

// numberSymbol is the symbol of the int at s, an input of the graph.
func (tr *trace) numberSymbol(s *source) sym.Int {
	for _, o := range tr.symbols {
		if o.src == s {
			return o.expr
		}
	}
	hint := tr.entryInt(s)
	x := tr.env.NewSymbol(fmt.Sprintf("s%d", len(tr.env.Symbols)), s.name, hint)
	y, _ := x.AsSymbol()
	tr.symbols[y] = symbolOrigin{src: s, dim: anyDim, hint: int(hint), expr: x, at: ofProgram(tr.userStack())}
	tr.numberInput(s.name, placeholderName(s), x, graphInput{src: s})
	return x
}

// numberInput adds an input that is no tensor of the program.
func (tr *trace) numberInput(name, target string, meta any, in graphInput) *graph.Node {
	n := &graph.Node{Name: strings.ToLower(target[:1]) + target[1:], Kind: graph.Placeholder, Target: target, Source: name, Meta: meta}
	tr.graph.Insert(n, tr.firstCall())
	if tr.numberOf == nil {
		tr.numberOf = map[*graph.Node]graphInput{}
	}
	tr.numberOf[n] = in
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
func (tr *trace) openOperand(op ops.ID, self ops.Arg, n *note) ops.Value {
	x, isNode := self.(*graph.Node)
	if !scales[op] || !isNode || n == nil || n.expr == nil || !tr.hasOpen(n.expr) {
		return nil
	}
	m, ok := x.Meta.(*ops.TensorMeta)
	if !ok || m.DType != ops.Float32 && m.DType != ops.Float64 {
		return nil
	}
	e := n.expr
	switch e.kind.class {
	case floating:
	case signedInt:
		if _, ok := tr.openInt(n); ok {
			return nil
		}
		e = &expr{op: token.ARROW, kind: scalarKind{floating, 64}, x: e}
	default:
		return nil
	}
	key := numberKey{e.String(), m.DType}
	if node := tr.operands[key]; node != nil {
		return node
	}
	var first *source
	e.leaves(func(s *source) {
		if first == nil {
			first = s
		}
	})
	// Without a source: what hangs below an object counts as a parameter.
	meta := &ops.TensorMeta{DType: m.DType, Device: m.Device, Shape: []sym.Int{}, Stride: []sym.Int{}, Offset: sym.C(0)}
	node := tr.numberInput("", placeholderName(first), meta, graphInput{expr: e, dtype: m.DType, at: ofProgram(tr.userStack())})
	if tr.operands == nil {
		tr.operands = map[numberKey]*graph.Node{}
	}
	tr.operands[key] = node
	return node
}

// failure says what stands where a symbol is read.
func (o symbolOrigin) failure(a *addresses, name string) string {
	v := strconv.Itoa(sizeAt(a, o.src, o.dim))
	if o.dim == anyDim {
		return v
	}
	return name + " = " + v
}
