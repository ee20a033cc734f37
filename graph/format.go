package graph

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes single arguments, calls and types in Python's notation.

// appendAll writes texts one after the other.
func appendAll(b []byte, texts ...string) []byte {
	for _, t := range texts {
		b = append(b, t...)
	}
	return b
}

// typeText is FX's type comment: f32[4, 4][4, 1]cpu, Sym(s77), or "" for a
// value of another kind.
func typeText(meta any) string { return string(appendType(nil, meta)) }

func appendType(b []byte, meta any) []byte {
	switch m := meta.(type) {
	case *ops.TensorMeta:
		b = appendInts(append(b, m.DType.Short()...), m.Shape)
		return append(appendInts(b, m.Stride), m.Device...)
	case sym.Int:
		return append(m.Append(append(b, "Sym("...)), ')')
	case ops.ScalarMeta:
		if m.Expr != "" {
			return appendAll(b, "Sym(", m.Expr, ")")
		}
		return appendAll(b, "Scalar(", m.DType.Short(), ")")
	}
	return b
}

func appendInts(b []byte, xs []sym.Int) []byte { return appendList(b, xs, appendInt) }

func appendInt(b []byte, x sym.Int) []byte { return x.Append(b) }

// argText writes an argument as Python's repr would.
func argText(a ops.Arg) string { return string(appendArg(nil, a)) }

func appendArg(b []byte, a ops.Arg) []byte {
	switch a := a.(type) {
	case nil:
		return append(b, "None"...)
	case *Node:
		return append(b, a.Name...)
	case []ops.Value:
		return appendList(b, a, appendValue)
	case sym.Int:
		return a.Append(b)
	case []sym.Int:
		return appendInts(b, a)
	case int:
		return strconv.AppendInt(b, int64(a), 10)
	case float64:
		return append(b, floatText(a)...)
	case complex128:
		return append(b, complexText(a)...)
	case bool:
		return append(b, boolText(a)...)
	case []bool:
		return appendList(b, a, func(b []byte, x bool) []byte { return append(b, boolText(x)...) })
	case string:
		return append(b, quote(a)...)
	case body:
		return append(b, a...)
	case tuple:
		return append(appendTuple(append(b, '('), a), ')')
	case ops.DType:
		return append(b, a.String()...)
	case ops.Device:
		return appendAll(b, "device(type='", string(a), "')")
	case []any:
		return appendList(b, a, appendArg)
	}
	return fmt.Appendf(b, "<%T>", a)
}

func appendValue(b []byte, v ops.Value) []byte {
	if v == nil {
		return append(b, "None"...)
	}
	return append(b, v.(*Node).Name...)
}

func appendList[T any](b []byte, xs []T, each func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range xs {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = each(b, x)
	}
	return append(b, ']')
}

// appendTuple writes the inside of a Python tuple: one element has its comma.
func appendTuple(b []byte, args []ops.Arg) []byte {
	b = appendArgs(b, args, nil)
	if len(args) == 1 {
		b = append(b, ',')
	}
	return b
}

func tupleText(args []ops.Arg) string { return string(appendTuple(nil, args)) }

func appendArgs(b []byte, pos []ops.Arg, kw []kwarg) []byte {
	sep := ""
	for _, a := range pos {
		b = appendArg(append(b, sep...), a)
		sep = ", "
	}
	for _, k := range kw {
		b = appendArg(appendAll(b, sep, k.name, " = "), k.val)
		sep = ", "
	}
	return b
}

func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// quote writes a Python string literal.
func quote(s string) string {
	if !strings.ContainsAny(s, "\\'\n") {
		return "'" + s + "'"
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`).Replace(s) + "'"
}

// floatText is Python's repr of a float: 1.0, 1e-05, inf.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// complexText writes a complex number as FX does: (1+2j), and complex(0.0, 2.0) where repr would
// lose a sign or read as a name.
func complexText(z complex128) string {
	re, im := real(z), imag(z)
	if re == 0 || im == 0 || math.IsNaN(re-re) || math.IsNaN(im-im) {
		return "complex(" + floatText(re) + ", " + floatText(im) + ")"
	}
	part := func(f float64) string { return strings.TrimSuffix(floatText(f), ".0") }
	sign := "+"
	if im < 0 {
		sign = ""
	}
	return "(" + part(re) + sign + part(im) + "j)"
}

// infix are the operators that Dynamo records as functions of Python's
// operator module: their text and the name in the table.
var infix = map[ops.ID]struct{ text, name string }{
	ops.Add: {"+", "add"}, ops.Sub: {"-", "sub"}, ops.Mul: {"*", "mul"}, ops.Div: {"/", "truediv"},
	ops.Lt: {"<", "lt"}, ops.Le: {"<=", "le"}, ops.Gt: {">", "gt"}, ops.Ge: {">=", "ge"},
	ops.Eq: {"==", "eq"}, ops.Ne: {"!=", "ne"}, ops.Matmul: {"@", "matmul"}, ops.Pow: {"**", "pow"},
}

// infixOf returns the operator sign of n when n is a plain binary call.
func infixOf(n *Node) (text, name string, ok bool) {
	i, found := infix[n.Op]
	if !found || n.Kind != CallFunction {
		return "", "", false
	}
	pos, kw := callArgs(n)
	return i.text, i.name, len(pos) == 2 && len(kw) == 0
}

type kwarg struct {
	name string
	val  ops.Arg
}

// callArgs splits the bound arguments of n into those that are written by
// position and those written by keyword; arguments at their default are left
// out.
func callArgs(n *Node) (pos []ops.Arg, kw []kwarg) {
	row := n.OpRow()
	switch {
	case n.Apply != nil:
		return n.applyArgs()
	case n.Flow != nil:
		return n.flowArgs(), nil
	case row == nil:
		return n.Args, nil
	}
	byName := false
	for i, p := range row.Params() {
		if i >= len(n.Args) {
			break
		}
		a := n.Args[i]
		if p.HasDef && sameText(a, p.Default) {
			byName = true
			continue
		}
		if p.KwOnly || byName || (p.HasDef && i > 0) {
			kw = append(kw, kwarg{p.Name, a})
			continue
		}
		pos = append(pos, a)
	}
	if ops.ByKeyword(row) && !n.graph.Aten {
		kw = append(kw, kwarg{"inplace", true})
	}
	return pos, kw
}

// sameText reports whether two arguments are written alike.
func sameText(a, b ops.Arg) bool {
	switch x := a.(type) {
	case nil:
		if b == nil {
			return true
		}
	case bool:
		if y, ok := b.(bool); ok {
			return x == y
		}
	case int:
		if y, ok := b.(int); ok {
			return x == y
		}
	case float64:
		if y, ok := b.(float64); ok && math.Float64bits(x) == math.Float64bits(y) {
			return true
		}
	case *Node:
		if b == nil {
			return x.Name == "None"
		}
	}
	var one, two [64]byte
	return bytes.Equal(appendArg(one[:0], a), appendArg(two[:0], b))
}

// appendCall writes the right side of a call in the graph's style.
func appendCall(b []byte, n *Node) []byte {
	if n.Op == ops.None {
		return append(b, otherText(n)...)
	}
	pos, kw := callArgs(n)
	aten := n.graph.Aten
	if i, ok := infix[n.Op]; ok && !aten && n.Kind == CallFunction && len(pos) == 2 && len(kw) == 0 {
		return appendAll(b, operandText(pos[0], i.text == "**"), " ", i.text, " ", operandText(pos[1], false))
	}
	if n.Kind == CallMethod && !aten {
		b = appendAll(appendArg(b, pos[0]), ".", rowMethod(n))
		if n.Op == ops.Real || n.Op == ops.Imag {
			return b // an attribute of a tensor in Python
		}
		return append(appendArgs(append(b, '('), pos[1:], kw), ')')
	}
	return append(appendArgs(append(appendTarget(b, n), '('), pos, kw), ')')
}

// operandText writes an argument beside a sign: a size that is computed in
// parentheses, and a negative number where Python would negate the power.
func operandText(a ops.Arg, base bool) string {
	text := argText(a)
	if _, size := a.(sym.Int); size && !wholeWord(text) || base && strings.HasPrefix(text, "-") {
		return "(" + text + ")"
	}
	return text
}

// wholeWord reports whether text has no sign outside of brackets but one in
// front of a number.
func wholeWord(text string) bool {
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return true
	}
	depth := 0
	for _, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		case ' ', '*', '-':
			if depth == 0 {
				return false
			}
		}
	}
	return true
}

// otherText writes calls that are no operator.
func otherText(n *Node) string {
	if name := n.higherOrder(); name != "" {
		return "torch.ops.higher_order." + name + "(" + argsText(callArgs(n)) + ")"
	}
	if text, ok := numberText(n); ok {
		return text
	}
	if n.Target == "getitem" {
		return argText(n.Args[0]) + "[" + argText(n.Args[1]) + "]"
	}
	return n.Target + "(" + argsText(n.Args, nil) + ")"
}

func argsText(pos []ops.Arg, kw []kwarg) string { return string(appendArgs(nil, pos, kw)) }

func rowMethod(n *Node) string { return n.OpRow().Name }

// appendTarget writes the callable as FX text names it.
func appendTarget(b []byte, n *Node) []byte {
	row := n.OpRow()
	switch {
	case n.graph.Aten:
		return appendAll(b, "torch.ops.aten.", row.Name, ".", overload(n))
	case ops.ByKeyword(row):
		row = ops.Get(ops.Functional(row.ID))
		fallthrough
	case row.Tags.Has(ops.TagNN):
		return appendAll(b, "torch.nn.functional.", row.Name)
	}
	return appendAll(b, "torch.", row.Name)
}

// overload is aten's overload name: where our row serves several, that of the
// arguments it was called with.
func overload(n *Node) string {
	row := n.OpRow()
	if row.Overload != "" {
		return row.Overload
	}
	for i, p := range row.Params() {
		if p.Type != "Operand" || i >= len(n.Args) {
			continue
		}
		if _, isTensor := n.Args[i].(*Node); isTensor {
			return "Tensor"
		}
		return "Scalar"
	}
	return "default"
}

// ArgsText writes all bound arguments of n; equal calls have equal texts.
func (n *Node) ArgsText() string { return argsText(n.Args, nil) }
