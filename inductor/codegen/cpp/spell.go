package cpp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file spells element operations in C.

// speller spells operations on so many lanes, with the helpers of a prelude.
type speller struct {
	pre   *uses
	lanes int
}

var _ ir.Handler[string] = speller{}

// as spells for so many lanes.
func (e *emitter) as(lanes int) speller { return speller{e.pre, lanes} }

// widen broadcasts a scalar where a vector is wanted.
func (s speller) widen(o operand, d ops.DType) string {
	if o.lanes == s.lanes {
		return o.text
	}
	return fmt.Sprintf("%s(%s)", s.pre.fn("bc_"+letter(d), s.lanes), o.text)
}

// Constant is v on every lane.
func (s speller) Constant(v *ir.Value) string {
	text := literal(v)
	if s.lanes == 1 {
		return text
	}
	return fmt.Sprintf("%s(%s)", s.pre.fn("bc_"+letter(v.DType), s.lanes), text)
}

func literal(v *ir.Value) string {
	switch v.DType {
	case ops.Bool:
		return fmt.Sprint(-v.I)
	case ops.Int64:
		if v.I == math.MinInt64 {
			return "(-9223372036854775807L - 1)"
		}
		return fmt.Sprintf("%dL", v.I)
	case ops.Int32:
		return fmt.Sprintf("%d", int32(v.I))
	case ops.Uint8:
		return fmt.Sprintf("(u8)%d", uint8(v.I))
	}
	return floatLiteral(v.F, v.DType == ops.Float32)
}

func floatLiteral(f float64, single bool) string {
	suffix, bits := "", 64
	if single {
		suffix, bits = "f", 32
		f = float64(float32(f))
	}
	switch {
	case math.IsNaN(f):
		return fmt.Sprintf("__builtin_nan%s(\"\")", suffix)
	case math.IsInf(f, 1):
		return fmt.Sprintf("__builtin_inf%s()", suffix)
	case math.IsInf(f, -1):
		return fmt.Sprintf("-__builtin_inf%s()", suffix)
	}
	s := strconv.FormatFloat(f, 'g', -1, bits)
	if _, err := strconv.Atoi(s); err == nil {
		s += ".0"
	}
	return s + suffix
}

// infix are the operations that C has a sign for.
var infix = map[ir.Op]string{
	ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.Div: "/", ir.And: "&", ir.Or: "|", ir.Xor: "^",
	ir.Shl: "<<", ir.Shr: ">>",
}

// Apply is o of operands of type d; the result's type follows from it.
func (s speller) Apply(o ir.Op, d, _ ops.DType, x []string) string {
	t := letter(d)
	call := func(name string, args ...string) string {
		return s.pre.fn(name+"_"+t, s.lanes) + "(" + strings.Join(args, ", ") + ")"
	}
	num := func(f float64) string {
		return s.Constant(&ir.Value{Op: ir.Const, DType: d, F: f, I: int64(f)})
	}
	if d == ops.Bool {
		if text := maskOp(o, x); text != "" {
			return text
		}
	}
	if o == ir.Div && d == ops.Float32 && s.lanes > 1 && strings.HasPrefix(x[1], "bc_f") {
		return s.quotient(x, call)
	}
	if sign, ok := infix[o]; ok {
		return fmt.Sprintf("%s %s %s", x[0], sign, x[1])
	}
	switch o {
	case ir.Neg:
		return "-" + x[0]
	case ir.Lt:
		return call("lt", x...)
	case ir.Le:
		return call("le", x...)
	case ir.Gt:
		return call("lt", x[1], x[0])
	case ir.Ge:
		return call("le", x[1], x[0])
	case ir.Eq:
		return call("eq", x...)
	case ir.Ne:
		return call("ne", x...)
	case ir.Where:
		return call("sel", x...)
	case ir.Max:
		if d == ops.Float32 {
			return call(extreme("max", "hi", x[0]), x...)
		}
		return call("sel", either(call("lt", x[1], x[0]), x[0], d, call), x[0], x[1])
	case ir.Min:
		if d == ops.Float32 {
			return call(extreme("min", "lo", x[0]), x...)
		}
		return call("sel", either(call("lt", x[0], x[1]), x[0], d, call), x[0], x[1])
	case ir.Relu:
		if d == ops.Float32 {
			return call("hi", num(0), x[0])
		}
		return call("sel", call("lt", x[0], num(0)), num(0), x[0])
	case ir.Not:
		if d == ops.Bool {
			return "~" + x[0]
		}
		return call("eq", x[0], num(0))
	case ir.IsNaN:
		return call("ne", x[0], x[0])
	case ir.Reciprocal:
		return num(1) + " / " + x[0]
	case ir.Rsqrt:
		return num(1) + " / " + call("sqrt", x[0])
	case ir.Sign:
		return sign(x[0], num, call)
	case ir.Rem:
		return call("rem", x...)
	case ir.FloorDiv:
		return call("floordiv", x...)
	case ir.Fmod:
		if !d.IsFloat() {
			return x[0] + " % " + x[1]
		}
	case ir.Abs:
		if d == ops.Uint8 || d == ops.Bool {
			return x[0]
		}
	}
	return call(o.String(), x...)
}

// combined is how reduction r combines two elements of type d.
func (s speller) combined(r ir.ReduceOp, d ops.DType, x, y string) string {
	return s.Apply(r.Combine(), d, d, []string{x, y})
}

// maskOp is an operation that orders truth values: true is the mask -1, so that
// the comparisons of integers would be the wrong way round.
func maskOp(o ir.Op, x []string) string {
	switch o {
	case ir.Max:
		return x[0] + " | " + x[1]
	case ir.Min:
		return x[0] + " & " + x[1]
	case ir.Lt:
		return "(~" + x[0] + " & " + x[1] + ")"
	case ir.Gt:
		return "(" + x[0] + " & ~" + x[1] + ")"
	case ir.Le:
		return "(~" + x[0] + " | " + x[1] + ")"
	case ir.Ge:
		return "(" + x[0] + " | ~" + x[1] + ")"
	}
	return ""
}

// quotient is a division by what all lanes have: a product where that is a number of the text that partsOf takes.
func (s speller) quotient(x []string, call func(string, ...string) string) string {
	_, text, _ := strings.Cut(strings.TrimSuffix(x[1], "f)"), "(")
	c, err := strconv.ParseFloat(text, 32)
	if high, low, ok := partsOf(c); err == nil && ok {
		return call("part", x[0], floatLiteral(c, true), floatLiteral(high, true), floatLiteral(low, true))
	}
	return call("over", x...)
}

// partsOf is 1/c as the sum of two floats, the first of them rounded towards zero, for a c by which x times the one plus x times
// the other, rounded once, is x / c rounded. The sum is wrong by less than 2^-46 of itself; a quotient that is no float and no
// middle of two lies further from the next middle than 2^-25 by the odd part of c, which therefore has 20 bits at most. A power
// of two would leave no second part, and c far from 1 a part that is not a normal number.
func partsOf(c float64) (high, low float64, ok bool) {
	odd, exp := math.Frexp(math.Abs(c))
	if odd *= 1 << 20; c == 0 || math.IsInf(c, 0) || odd != math.Trunc(odd) || odd == 1<<19 || exp < -40 || exp > 40 {
		return 0, 0, false
	}
	whole := 1 / c
	high = float64(float32(whole))
	if math.Abs(high) > math.Abs(whole) {
		high = float64(math.Nextafter32(float32(high), 0))
	}
	return high, float64(float32(whole - high)), true
}

// extreme is the function for a maximum or minimum: the machine's own where the first operand
// is a number of the text, which is not NaN.
func extreme(name, machine, x string) string {
	if strings.HasPrefix(x, "bc_f") && !strings.Contains(x, "nan") {
		return machine
	}
	return name
}

// either adds "or x is NaN" to a mask: NaN wins in max and min.
func either(mask, x string, d ops.DType, call func(string, ...string) string) string {
	if !d.IsFloat() {
		return mask
	}
	return "(" + mask + " | " + call("ne", x, x) + ")"
}

func sign(x string, num func(float64) string, call func(string, ...string) string) string {
	neg := call("sel", call("lt", x, num(0)), num(-1), num(0))
	return call("sel", call("lt", num(0), x), num(1), neg)
}

// Cast converts between register types.
func (s speller) Cast(x string, from, to ops.DType) string {
	if ir.Narrow(to) {
		return s.narrowed(s.Cast(x, from, ir.Register(to)), to)
	}
	from = ir.Register(from)
	if from == ops.Bool { // a mask of -1
		x = "(" + x + " & 1)"
		from = ops.Int32
	}
	if to == ops.Bool {
		zero := s.Constant(&ir.Value{Op: ir.Const, DType: from})
		return fmt.Sprintf("%s(%s, %s)", s.pre.fn("ne_"+letter(from), s.lanes), x, zero)
	}
	if letter(from) == letter(to) {
		return x
	}
	if to == ops.Uint8 && from.IsFloat() {
		x = s.convert(x, ops.Int32)
	}
	return s.convert(x, to)
}

func (s speller) convert(x string, to ops.DType) string {
	if s.lanes == 1 {
		return fmt.Sprintf("(%s)(%s)", regType(to, 1), x)
	}
	return fmt.Sprintf("__builtin_convertvector(%s, %s)", x, regType(to, s.lanes))
}
