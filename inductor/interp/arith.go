package interp

import (
	"math"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file holds the arithmetic of the interpreter.

// numbers computes element operations over a tile of n elements.
type numbers struct{ n int }

var _ ir.Handler[vec] = numbers{}

// Constant is v's number, n times.
func (h numbers) Constant(v *ir.Value) vec {
	out := newVec(v.DType, 1)
	if v.DType.IsFloat() {
		setFloat(out, 0, v.F)
	} else {
		out.i64[0] = v.I
	}
	return out.stretch(h.n)
}

// Cast converts each element.
func (h numbers) Cast(x vec, from, to ops.DType) vec {
	out := newVec(ir.Register(to), h.n)
	castTile(out, ir.Register(to), x, ir.Register(from))
	return out.narrowed(to)
}

// Apply computes one operation.
func (h numbers) Apply(o ir.Op, from, to ops.DType, x []vec) vec {
	out := newVec(ir.Register(to), h.n)
	switch {
	case o == ir.Where:
		whereTile(out, x)
	case o.Compares():
		compareTile(o, out.i64, x, from)
	case to == ops.Float32:
		floatTile32(o, out.f32, x)
	case to == ops.Float64:
		floatTile64(o, out.f64, x)
	default:
		intTile(o, out.i64, x, to)
	}
	return out
}

// combined is how reduction r combines two elements of type d.
func combined(r ir.ReduceOp, d ops.DType, x, y vec) vec {
	return numbers{1}.Apply(r.Combine(), d, d, []vec{x, y})
}

func castTile(out vec, to ops.DType, x vec, from ops.DType) {
	for k := range x.len() {
		switch {
		case from.IsFloat() && to.IsFloat():
			setFloat(out, k, floatAt(x, k))
		case from.IsFloat() && to == ops.Bool:
			out.i64[k] = truth(floatAt(x, k) != 0)
		case from.IsFloat():
			out.i64[k] = wrap(to, int64(floatAt(x, k)))
		case to == ops.Float32:
			out.f32[k] = float32(x.i64[k])
		case to == ops.Float64:
			out.f64[k] = float64(x.i64[k])
		case to == ops.Bool:
			out.i64[k] = truth(x.i64[k] != 0)
		default:
			out.i64[k] = wrap(to, x.i64[k])
		}
	}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func whereTile(out vec, x []vec) {
	for k, c := range x[0].i64 {
		src := x[2]
		if c != 0 {
			src = x[1]
		}
		switch {
		case out.f32 != nil:
			out.f32[k] = src.f32[k]
		case out.f64 != nil:
			out.f64[k] = src.f64[k]
		default:
			out.i64[k] = src.i64[k]
		}
	}
}

func compareTile(o ir.Op, out []int64, x []vec, from ops.DType) {
	for k := range out {
		if !from.IsFloat() {
			y := int64(0)
			if len(x) > 1 {
				y = x[1].i64[k]
			}
			out[k] = truth(compare(o, x[0].i64[k], y))
			continue
		}
		a, b := floatAt(x[0], k), 0.0
		if len(x) > 1 {
			b = floatAt(x[1], k)
		}
		out[k] = truth(compare(o, a, b))
	}
}

func compare[T int64 | float64](o ir.Op, a, b T) bool {
	switch o {
	case ir.Lt:
		return a < b
	case ir.Le:
		return a <= b
	case ir.Gt:
		return a > b
	case ir.Ge:
		return a >= b
	case ir.Eq:
		return a == b
	case ir.Ne:
		return a != b
	case ir.IsNaN:
		return a != a
	}
	return a == 0 // not
}

// floatTile32 rounds after every operation, as eager does.
func floatTile32(o ir.Op, out []float32, x []vec) {
	a := x[0].f32
	switch o {
	case ir.Add:
		for k, b := range x[1].f32 {
			out[k] = a[k] + b
		}
	case ir.Sub:
		for k, b := range x[1].f32 {
			out[k] = a[k] - b
		}
	case ir.Mul:
		for k, b := range x[1].f32 {
			out[k] = a[k] * b
		}
	case ir.Div:
		for k, b := range x[1].f32 {
			out[k] = a[k] / b
		}
	case ir.Rsqrt:
		for k, v := range a {
			out[k] = 1 / float32(math.Sqrt(float64(v)))
		}
	case ir.Sigmoid:
		for k, v := range a {
			out[k] = 1 / (1 + float32(math.Exp(-float64(v))))
		}
	default:
		for k, v := range a {
			b := 0.0
			if len(x) > 1 {
				b = float64(x[1].f32[k])
			}
			out[k] = float32(floatOp(o, float64(v), b))
		}
	}
}

func floatTile64(o ir.Op, out []float64, x []vec) {
	for k, v := range x[0].f64 {
		b := 0.0
		if len(x) > 1 {
			b = x[1].f64[k]
		}
		out[k] = floatOp(o, v, b)
	}
}

var floatFuncs = map[ir.Op]func(float64) float64{
	ir.Abs: math.Abs, ir.Exp: math.Exp, ir.Expm1: math.Expm1, ir.Log: ops.LogOf, ir.Log1p: math.Log1p,
	ir.Sqrt: math.Sqrt, ir.Sin: math.Sin, ir.Cos: math.Cos, ir.Tanh: math.Tanh, ir.Erf: math.Erf,
	ir.Floor: math.Floor, ir.Ceil: math.Ceil, ir.Trunc: math.Trunc, ir.Round: math.RoundToEven,
	ir.Exp2: math.Exp2, ir.Log2: math.Log2, ir.Log10: math.Log10, ir.Tan: math.Tan, ir.Asin: math.Asin, ir.Acos: math.Acos,
	ir.Atan: math.Atan, ir.Sinh: math.Sinh, ir.Cosh: math.Cosh, ir.Asinh: math.Asinh, ir.Acosh: math.Acosh,
	ir.Atanh: math.Atanh, ir.Erfc: math.Erfc, ir.Lgamma: func(x float64) float64 { v, _ := math.Lgamma(x); return v },
}

func floatOp(o ir.Op, a, b float64) float64 {
	if f := floatFuncs[o]; f != nil {
		return f(a)
	}
	switch o {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	case ir.Div:
		return a / b
	case ir.Neg:
		return -a
	case ir.Rsqrt:
		return 1 / math.Sqrt(a)
	case ir.Reciprocal:
		return 1 / a
	case ir.Sigmoid:
		return 1 / (1 + math.Exp(-a))
	case ir.Relu:
		if a < 0 {
			return 0
		}
		return a
	case ir.Pow:
		return math.Pow(a, b)
	case ir.Max:
		if a > b || a != a {
			return a
		}
		return b
	case ir.Min:
		if a < b || a != a {
			return a
		}
		return b
	case ir.Sign:
		return float64(truth(a > 0) - truth(a < 0))
	case ir.Rem:
		m := math.Mod(a, b)
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	case ir.FloorDiv:
		return floorDiv(a, b)
	case ir.Fmod:
		return math.Mod(a, b)
	case ir.Atan2:
		return ops.Atan2Of(a, b)
	case ir.Hypot:
		return math.Hypot(a, b)
	case ir.CopySign:
		return math.Copysign(a, b)
	}
	panic("interpreter: no float operation " + o.String())
}

// floorDiv is the quotient without the remainder, one less where the remainder
// has the other sign.
func floorDiv(a, b float64) float64 {
	if b == 0 {
		return a / b
	}
	m := math.Mod(a, b)
	q := (a - m) / b
	if m != 0 && (m < 0) != (b < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, a/b)
	}
	return math.RoundToEven(q)
}

// intPow multiplies by squares; of negative powers only those of 1 and -1 are
// not zero.
func intPow(a, b int64) int64 {
	switch {
	case b >= 0:
	case a == 1, a == -1 && b%2 == 0:
		return 1
	case a == -1:
		return -1
	default:
		return 0
	}
	p := int64(1)
	for ; b > 0; b >>= 1 {
		if b&1 == 1 {
			p *= a
		}
		a *= a
	}
	return p
}

func intTile(o ir.Op, out []int64, x []vec, d ops.DType) {
	for k, v := range x[0].i64 {
		b := int64(0)
		if len(x) > 1 {
			b = x[1].i64[k]
		}
		out[k] = wrap(d, intOp(o, v, b))
	}
}

func intOp(o ir.Op, a, b int64) int64 {
	switch o {
	case ir.Add:
		return a + b
	case ir.Sub:
		return a - b
	case ir.Mul:
		return a * b
	case ir.Div:
		return a / b
	case ir.FloorDiv:
		q := a / b
		if a%b != 0 && (a < 0) != (b < 0) {
			q--
		}
		return q
	case ir.Rem:
		m := a % b
		if m != 0 && (m < 0) != (b < 0) {
			m += b
		}
		return m
	case ir.Neg:
		return -a
	case ir.Abs:
		return max(a, -a)
	case ir.Relu, ir.Max:
		return max(a, b)
	case ir.Min:
		return min(a, b)
	case ir.Fmod:
		return a % b
	case ir.Shl:
		return a << uint64(b)
	case ir.Shr:
		return a >> uint64(b)
	case ir.And:
		return a & b
	case ir.Or:
		return a | b
	case ir.Xor:
		return a ^ b
	case ir.Sign:
		return truth(a > 0) - truth(a < 0)
	case ir.Pow:
		return intPow(a, b)
	case ir.Floor, ir.Ceil, ir.Trunc, ir.Round:
		return a
	}
	panic("interpreter: no integer operation " + o.String())
}
