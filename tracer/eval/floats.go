package eval

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is numbers with a fraction that the program reads out of tensors
// (Settings.CaptureScalarOutputs): nodes of the graph, with which it computes further nodes.
// Whatever asks for the value of one breaks the graph.

// floats captures such numbers.
type floats struct{ *Trace }

// number is one: its node, and its value in PyTorch's notation.
type number struct {
	node *graph.Node
	of   sym.Float
}

func (n *number) String() string { return n.of.String() }

func isNumber(n *value.Tracked) bool { return n != nil && n.Number != nil }

// capture makes a number of x.Item().
func (fs floats) capture(in *ssa.Call, x *graph.Node) bool {
	if in.Type().Underlying().(*types.Basic).Info()&types.IsFloat == 0 {
		return false
	}
	name := fmt.Sprintf("zuf%d", fs.Trace.floats)
	fs.Trace.floats++
	n := fs.Graph.Append(&graph.Node{
		Name: "item", Kind: graph.CallMethod, Op: ops.Item, Args: []ops.Arg{x}, Meta: ops.ScalarMeta{DType: ops.Float64, Expr: name},
		Stack: fs.stack(), NoGrad: fs.underNoGrad(),
	})
	*(*float64)(fs.addr(in)) = unhinted
	fs.skip()
	fs.set(in, &value.Tracked{Number: &number{n, sym.Atom(name)}})
	fs.nameAfter(in, n)
	return true
}

// operand is v as an operand of a function of numbers; a number that is none of data is a
// constant of the graph.
func (fs floats) operand(v ssa.Value, n *value.Tracked) (ops.Arg, sym.Float) {
	switch {
	case isNumber(n):
		x := n.Number.(*number)
		return x.node, x.of
	case isSize(n):
		x := fs.fromSize(n)
		return x.node, x.of
	}
	if n != nil && n.Expr != nil {
		fs.recordNumber(n.Expr)
	}
	fs.constant(v)
	c := value.KindOf(v.Type()).Load(fs.addr(v)).F
	return c, sym.ConstFloat(c)
}

// fromSize is a whole number as one with a fraction.
func (fs floats) fromSize(n *value.Tracked) *number {
	return fs.append("sym_float", sym.Atom("ToFloat("+n.Size.String()+")"), *n.Size)
}

func (fs floats) append(form string, of sym.Float, args ...ops.Arg) *number {
	return &number{fs.Graph.Number(form, args, of.String(), fs.stack()), of}
}

// concerned reports whether numbers of data are among operands that are float64s.
func concerned(t types.Type, operands ...*value.Tracked) bool {
	if value.KindOf(t) != (value.ScalarKind{Class: value.Floating, Bits: 64}) {
		return false
	}
	return slices.ContainsFunc(operands, func(n *value.Tracked) bool { return isNumber(n) || isSize(n) })
}

// arithmetic are Go's operations, as functions of numbers.
var arithmetic = map[token.Token]struct {
	form string
	of   func(a, b sym.Float) sym.Float
}{
	token.ADD: {"add", sym.Float.Plus},
	token.SUB: {"sub", sym.Float.Minus},
	token.MUL: {"mul", sym.Float.Times},
	token.QUO: {"truediv", sym.FloatQuotient},
}

// binary computes with a number of data; a question breaks the graph.
func (fs floats) binary(in *ssa.BinOp, x, y *value.Tracked) bool {
	if !concerned(in.X.Type(), x, y) {
		return false
	}
	a, left := fs.operand(in.X, x)
	b, right := fs.operand(in.Y, y)
	f, ok := arithmetic[in.Op]
	if !ok {
		fs.compare(in, fmt.Sprintf(relations[in.Op].text, left, right), a, b)
		return true
	}
	fs.exec()
	fs.set(in, &value.Tracked{Number: fs.append(f.form, f.of(left, right), a, b)})
	return true
}

// comparisons are Go's, as functions of numbers.
var comparisons = map[token.Token]string{
	token.GTR: "gt", token.GEQ: "ge", token.LSS: "lt", token.LEQ: "le", token.EQL: "eq", token.NEQ: "ne",
}

// compare answers a comparison that torch.Check was given before. One that it is given now is
// taken for true and tested when the graph runs; any other breaks the graph.
func (fs floats) compare(in *ssa.BinOp, expr string, a, b ops.Arg) {
	if !fs.checked[expr] {
		if !onlyChecked(in) {
			panic(unguarded(expr))
		}
		test := fs.Graph.Number(comparisons[in.Op], []ops.Arg{a, b}, expr, fs.stack())
		text := "Runtime assertion failed for expression " + expr + " on node '" + test.Name + "'"
		fs.Graph.Number(graph.AssertScalar, []ops.Arg{test, text}, expr, fs.stack())
		if fs.Trace.checked == nil {
			fs.Trace.checked = map[string]bool{}
		}
		fs.Trace.checked[expr] = true
	}
	*(*bool)(fs.addr(in)) = true
	fs.skip()
	fs.set(in, nil)
}

// negated is -n.
func (fs floats) negated(n *value.Tracked) *value.Tracked {
	x := n.Number.(*number)
	return &value.Tracked{Number: fs.append("neg", sym.ConstFloat(-1).Times(x.of), x.node)}
}

// converted converts a number of data, to what has its value. A size that the input has is not one: as a number
// it is a constant.
func (fs floats) converted(in *ssa.Convert, n *value.Tracked, to value.ScalarKind) bool {
	if to != (value.ScalarKind{Class: value.Floating, Bits: 64}) || !isNumber(n) && !(isSize(n) && sym.HasUnbacked(*n.Size)) {
		return false
	}
	fs.exec()
	if isSize(n) {
		n = &value.Tracked{Number: fs.fromSize(n)}
	}
	fs.set(in, n)
	return true
}

// extremum is the builtins min and max; nil where no number of data is among the arguments.
func (fs floats) extremum(args []ssa.Value, smaller bool) *value.Tracked {
	tracked := make([]*value.Tracked, len(args))
	for i, v := range args {
		tracked[i] = fs.tracked(v)
	}
	if !concerned(args[0].Type(), tracked...) {
		return nil
	}
	form, name := "sym_max", "Max"
	if smaller {
		form, name = "sym_min", "Min"
	}
	best, of := fs.operand(args[0], tracked[0])
	for i, v := range args[1:] {
		b, right := fs.operand(v, tracked[i+1])
		if _, is := right.IsConst(); is { // PyTorch sorts the arguments
			of, right = right, of
		}
		n := fs.append(form, sym.Atom(name+"("+of.String()+", "+right.String()+")"), best, b)
		best, of = n.node, n.of
	}
	x, ok := best.(*graph.Node)
	if !ok {
		return nil
	}
	return &value.Tracked{Number: &number{x, of}}
}

// ofMath are those of package math that PyTorch has for such numbers, too.
var ofMath = map[string]string{
	"math.Sqrt": "sqrt", "math.Sin": "sin", "math.Cos": "cos", "math.Tan": "tan", "math.Asin": "asin", "math.Acos": "acos",
	"math.Atan": "atan", "math.Sinh": "sinh", "math.Cosh": "cosh", "math.Tanh": "tanh", "math.Log2": "log2",
}

// function computes a function of package math. It reports false for any other function, or
// where it is called with what is known.
func (fs floats) function(in *ssa.Call, name string) bool {
	args := in.Call.Args
	if len(args) == 0 || !concerned(args[0].Type(), fs.tracked(args[0])) {
		return false
	}
	form, known := ofMath[name]
	if !known && name != "math.Abs" {
		return false
	}
	x, of := fs.operand(args[0], fs.tracked(args[0]))
	var n *number
	if known {
		n = fs.append("_sym_"+form, sym.Atom("OpaqueUnaryFn_"+form+"("+of.String()+")"), x)
	} else {
		n = fs.append("abs", sym.Atom("Abs("+of.String()+")"), x)
	}
	fs.exec()
	fs.set(in, &value.Tracked{Number: n})
	return true
}

// shaped are the operators whose shapes such a number decides.
var shaped = map[ops.ID]bool{ops.Arange: true, ops.Linspace: true, ops.Logspace: true}

// refuse breaks before an operator that needs to know a number of data.
func (fs floats) refuse(row *ops.Op, bound []ops.Arg) {
	for i, a := range bound {
		x, ok := a.(*graph.Node)
		if !ok || x == nil || !x.IsNumber() {
			continue
		}
		if base := row.Params()[i].Base(); shaped[row.ID] || base != "Operand" && base != "Scalar" {
			panic(unguarded(x.Meta.(ops.ScalarMeta).Expr))
		}
	}
}

// number gives the graph an output that holds a number.
func (rs *reconstructor) number(n *value.Tracked) replay.Reconstruction {
	x := n.Number.(*number).node
	i, done := rs.numbers[x]
	if !done {
		b := &graph.Builder{G: rs.tr.Graph, Stack: x.Stack, NoGrad: true}
		t := b.Emit(ops.ScalarTensor, x, ops.Float64).(*graph.Node)
		if rs.numbers == nil {
			rs.numbers = map[*graph.Node]int{}
		}
		i = len(rs.order)
		rs.numbers[x] = i
		rs.handed[i]++
		rs.order = append(rs.order, rs.tr.fake(t))
	}
	return replay.FromNumber{I: i}
}
