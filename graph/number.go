package graph

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/ops"
	"tcdbg/torch"
)

// This file is arithmetic on numbers with a fraction that come out of data: nodes that are no
// operators of tensors, as PyTorch's graphs compute with a SymFloat.

// numberForm is one function of such numbers.
type numberForm struct {
	sign  string // of Python, between two operands or in front of one
	call  string // or a function, as FX names it
	goFor string // how Go spells it, %s for the operands
	of    func(x, y float64) float64
}

func ofOne(f func(float64) float64) func(x, _ float64) float64 {
	return func(x, _ float64) float64 { return f(x) }
}

// AssertScalar is the form that tests a comparison when the graph runs.
const AssertScalar = "_assert_scalar_default"

func truth(f func(x, y float64) bool) func(x, y float64) float64 {
	return func(x, y float64) float64 {
		if f(x, y) {
			return 1
		}
		return 0
	}
}

// numberForms are the functions by the name of their nodes.
var numberForms = map[string]numberForm{
	"add":       {sign: "+", goFor: "(%s + %s)", of: func(x, y float64) float64 { return x + y }},
	"sub":       {sign: "-", goFor: "(%s - %s)", of: func(x, y float64) float64 { return x - y }},
	"mul":       {sign: "*", goFor: "(%s * %s)", of: func(x, y float64) float64 { return x * y }},
	"truediv":   {sign: "/", goFor: "(%s / %s)", of: func(x, y float64) float64 { return x / y }},
	"neg":       {sign: "-", goFor: "-%s", of: func(x, _ float64) float64 { return -x }},
	"abs":       {call: "_operator_abs", goFor: "math.Abs(%s)", of: ofOne(math.Abs)},
	"sym_max":   {call: "torch.sym_max", goFor: "max(%s, %s)", of: func(x, y float64) float64 { return max(x, y) }},
	"sym_min":   {call: "torch.sym_min", goFor: "min(%s, %s)", of: func(x, y float64) float64 { return min(x, y) }},
	"sym_float": {call: "torch.sym_float", goFor: "float64(%s)", of: ofOne(func(x float64) float64 { return x })},
	"_sym_sqrt": {call: "torch._sym_sqrt", goFor: "math.Sqrt(%s)", of: ofOne(math.Sqrt)},
	"_sym_sin":  {call: "torch._sym_sin", goFor: "math.Sin(%s)", of: ofOne(math.Sin)},
	"_sym_cos":  {call: "torch._sym_cos", goFor: "math.Cos(%s)", of: ofOne(math.Cos)},
	"_sym_tan":  {call: "torch._sym_tan", goFor: "math.Tan(%s)", of: ofOne(math.Tan)},
	"_sym_asin": {call: "torch._sym_asin", goFor: "math.Asin(%s)", of: ofOne(math.Asin)},
	"_sym_acos": {call: "torch._sym_acos", goFor: "math.Acos(%s)", of: ofOne(math.Acos)},
	"_sym_atan": {call: "torch._sym_atan", goFor: "math.Atan(%s)", of: ofOne(math.Atan)},
	"_sym_sinh": {call: "torch._sym_sinh", goFor: "math.Sinh(%s)", of: ofOne(math.Sinh)},
	"_sym_cosh": {call: "torch._sym_cosh", goFor: "math.Cosh(%s)", of: ofOne(math.Cosh)},
	"_sym_tanh": {call: "torch._sym_tanh", goFor: "math.Tanh(%s)", of: ofOne(math.Tanh)},
	"_sym_log2": {call: "torch._sym_log2", goFor: "math.Log2(%s)", of: ofOne(math.Log2)},

	"gt": {sign: ">", goFor: "%s > %s", of: truth(func(x, y float64) bool { return x > y })},
	"ge": {sign: ">=", goFor: "%s >= %s", of: truth(func(x, y float64) bool { return x >= y })},
	"lt": {sign: "<", goFor: "%s < %s", of: truth(func(x, y float64) bool { return x < y })},
	"le": {sign: "<=", goFor: "%s <= %s", of: truth(func(x, y float64) bool { return x <= y })},
	"eq": {sign: "==", goFor: "%s == %s", of: truth(func(x, y float64) bool { return x == y })},
	"ne": {sign: "!=", goFor: "%s != %s", of: truth(func(x, y float64) bool { return x != y })},

	AssertScalar: {
		call: "torch.ops.aten._assert_scalar.default", goFor: "torch.Check(%s)", of: ofOne(func(x float64) float64 { return x }),
	},
}

// IsNumber reports whether n is a number with a fraction that comes out of data.
func (n *Node) IsNumber() bool {
	_, ok := n.Meta.(ops.ScalarMeta)
	return ok && (n.Kind == CallFunction || n.Kind == CallMethod)
}

// Number appends a function of numbers, of which expr is the value in PyTorch's notation.
func (g *Graph) Number(form string, args []ops.Arg, expr string, stack []Frame) *Node {
	return g.Append(&Node{
		Name: form, Kind: CallFunction, Target: form, Args: args, Meta: ops.ScalarMeta{DType: ops.Float64, Expr: expr}, Stack: stack,
	})
}

// EvalNumber computes a function of numbers; of tells what an argument is. A comparison that is
// tested panics where it does not hold.
func (n *Node) EvalNumber(of func(a ops.Arg) float64) float64 {
	var v [2]float64
	text := ""
	for i, a := range n.Args {
		if s, is := a.(string); is {
			text = s
			continue
		}
		v[i] = of(a)
	}
	if n.Target == AssertScalar && v[0] == 0 {
		panic(&torch.Error{Op: "torch.Check", Msg: "RuntimeError: " + text})
	}
	return numberForms[n.Target].of(v[0], v[1])
}

// HasNumbers reports whether n is given such numbers.
func (n *Node) HasNumbers() bool {
	for _, in := range n.Inputs() {
		if in.IsNumber() {
			return true
		}
	}
	return false
}

// anyNumbers is args with a plain number for each that comes out of data: no shape or type
// depends on which it is.
func anyNumbers(args []ops.Arg) []ops.Arg {
	var out []ops.Arg
	for i, a := range args {
		if x, ok := a.(*Node); ok && x != nil && x.IsNumber() {
			if out == nil {
				out = append([]ops.Arg{}, args...)
			}
			out[i] = 1.0
		}
	}
	if out == nil {
		return args
	}
	return out
}

// numberText is FX's text of a function of numbers.
func numberText(n *Node) (string, bool) {
	f, ok := numberForms[n.Target]
	if !ok || n.Op != ops.None || !n.IsNumber() {
		return "", false
	}
	var parts []string
	for _, a := range n.Args {
		switch s, text := a.(string); {
		case text:
			parts = append(parts, strconv.Quote(s))
		case f.call != "":
			parts = append(parts, argText(a))
		default:
			parts = append(parts, operandText(a, false))
		}
	}
	switch {
	case f.call != "":
		return f.call + "(" + strings.Join(parts, ", ") + ")", true
	case len(parts) == 1:
		return f.sign + strings.Join(parts, ""), true
	}
	return strings.Join(parts, " "+f.sign+" "), true
}

// goNumber is a function of numbers in Go.
func goNumber(n *Node) string {
	text := numberForms[n.Target].goFor
	for _, a := range n.Args {
		text = strings.Replace(text, "%s", goArg(a), 1)
	}
	return text
}

// numberType is the value that the type of a number names.
func numberType(typ string) string {
	expr, _ := strings.CutPrefix(typ, "Sym(")
	return strings.TrimSuffix(expr, ")")
}

// number reads a function of numbers; is reports whether it is one.
func (p *parser) number(n *Node, typ, right string) (is bool, err error) {
	call, args, _ := strings.Cut(right, "(")
	left, sign, other := infixCut(right)
	expr := numberType(typ)
	for name, f := range numberForms {
		switch {
		case name == AssertScalar && f.call == call:
			test, text, _ := strings.Cut(strings.TrimSuffix(args, ")"), ", ")
			if text, err = strconv.Unquote(text); err != nil {
				return false, err
			}
			n.Target, n.Args = name, []ops.Arg{p.vals[test], text}
			if p.vals[test] == nil {
				return false, fmt.Errorf("unknown value %q", test)
			}
			expr = p.vals[test].Meta.(ops.ScalarMeta).Expr
		case typ == "" || !strings.HasPrefix(typ, "Sym("):
			continue
		case f.call != "" && f.call == call:
			p.rest = strings.TrimSuffix(args, ")")
			n.Target = name
			if n.Args, _, err = p.list(""); err != nil {
				return false, err
			}
		case name == "neg" && sign == "" && strings.HasPrefix(right, "-"):
			n.Target = name
			if n.Args, err = p.numbers(right[1:]); err != nil {
				return false, err
			}
		case f.sign != "" && f.sign == sign && name != "neg":
			n.Target = name
			if n.Args, err = p.numbers(left, other); err != nil {
				return false, err
			}
		default:
			continue
		}
		n.Meta = ops.ScalarMeta{DType: ops.Float64, Expr: expr}
		p.vals[n.Name] = p.g.Append(n)
		return true, nil
	}
	return false, nil
}

// numbers reads operands.
func (p *parser) numbers(words ...string) (out []ops.Arg, err error) {
	for _, w := range words {
		a, err := p.word(w)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}
