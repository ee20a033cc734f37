package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes single arguments, calls and types in Python's notation.

// typeText is FX's type comment: f32[4, 4][4, 1]cpu, Sym(s77), or "" for a
// value of another kind.
func typeText(meta any) string {
	switch m := meta.(type) {
	case *ops.TensorMeta:
		return m.DType.Short() + intsText(m.Shape) + intsText(m.Stride) + string(m.Device)
	case sym.Int:
		return "Sym(" + m.String() + ")"
	case ops.ScalarMeta:
		if m.Expr != "" {
			return "Sym(" + m.Expr + ")"
		}
		return "Scalar(" + m.DType.Short() + ")"
	}
	return ""
}

func intsText(xs []sym.Int) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = x.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// argText writes an argument as Python's repr would.
func argText(a ops.Arg) string {
	switch a := a.(type) {
	case nil:
		return "None"
	case *Node:
		return a.Name
	case []ops.Value:
		return listText(a, func(v ops.Value) string {
			if v == nil {
				return "None"
			}
			return v.(*Node).Name
		})
	case sym.Int:
		return a.String()
	case []sym.Int:
		return intsText(a)
	case int:
		return strconv.Itoa(a)
	case float64:
		return floatText(a)
	case complex128:
		return complexText(a)
	case bool:
		return boolText(a)
	case []bool:
		return listText(a, boolText)
	case string:
		return quote(a)
	case body:
		return string(a)
	case tuple:
		return "(" + tupleText(a) + ")"
	case ops.DType:
		return a.String()
	case ops.Device:
		return "device(type='" + string(a) + "')"
	case []any:
		return listText(a, argText)
	}
	return fmt.Sprintf("<%T>", a)
}

func listText[T any](xs []T, f func(T) string) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = f(x)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func boolText(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// quote writes a Python string literal.
func quote(s string) string {
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
		if p.HasDef && argText(a) == argText(p.Default) {
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

// callText writes the right side of a call in the graph's style.
func callText(n *Node) string {
	pos, kw := callArgs(n)
	if n.Op == ops.None {
		return otherText(n)
	}
	if sign, _, ok := infixOf(n); ok && !n.graph.Aten {
		return operandText(pos[0], sign == "**") + " " + sign + " " + operandText(pos[1], false)
	}
	if n.Kind == CallMethod && !n.graph.Aten && (n.Op == ops.Real || n.Op == ops.Imag) {
		return argText(pos[0]) + "." + rowMethod(n) // an attribute of a tensor in Python
	}
	if n.Kind == CallMethod && !n.graph.Aten {
		return argText(pos[0]) + "." + rowMethod(n) + "(" + argsText(pos[1:], kw) + ")"
	}
	return targetText(n) + "(" + argsText(pos, kw) + ")"
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

func argsText(pos []ops.Arg, kw []kwarg) string {
	var parts []string
	for _, a := range pos {
		parts = append(parts, argText(a))
	}
	for _, k := range kw {
		parts = append(parts, k.name+" = "+argText(k.val))
	}
	return strings.Join(parts, ", ")
}

func rowMethod(n *Node) string { return n.OpRow().Name }

// targetText is the callable as FX text names it.
func targetText(n *Node) string {
	row := n.OpRow()
	switch {
	case n.graph.Aten:
		return "torch.ops.aten." + row.Name + "." + overload(n)
	case ops.ByKeyword(row):
		row = ops.Get(ops.Functional(row.ID))
		fallthrough
	case row.Tags.Has(ops.TagNN):
		return "torch.nn.functional." + row.Name
	}
	return "torch." + row.Name
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
