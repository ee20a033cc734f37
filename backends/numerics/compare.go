package numerics

import (
	"math"
	"slices"
	"strconv"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// This file holds the rule by which two results are equal.

// tolerance is how far results of an element type may lie apart: the defaults of
// torch.testing.assert_close.
func tolerance(d ops.DType) (relative, absolute float64) {
	switch {
	case d == ops.Float64:
		return 1e-7, 1e-7
	case d == ops.Float16:
		return 1e-3, 1e-5
	case d == ops.BFloat16:
		return 1.6e-2, 1e-5
	case d.IsFloat() || d.IsComplex():
		return 1.3e-6, 1e-5
	}
	return 0, 0
}

// slack is how much farther from double precision than the worst element of eager execution
// a compiled element may be. Reductions in another order round otherwise.
const slack = 4

// worstShown is the largest difference that is told, in tolerances: JSON knows no infinity.
const worstShown = 1e30

// comparison is one value of a run beside eager execution.
type comparison struct {
	logs.NumericsValue
	faulty    int64 // elements that nothing excuses
	undecided bool  // rounding alone moves the eager result as far
}

// numbers are the elements of a tensor: a complex one is two.
func numbers(t *torch.Tensor) []float64 {
	if !t.DType().IsComplex() {
		return t.Float64s()
	}
	var out []float64
	for _, c := range t.Complex64s() {
		out = append(out, float64(real(c)), float64(imag(c)))
	}
	return out
}

// compare holds a compiled result beside the eager one. exact, where it is there, is that of
// double precision.
func compare(what string, got, want, exact *torch.Tensor) comparison {
	c := comparison{NumericsValue: logs.NumericsValue{
		What: what, DType: want.DType().Name(), Shape: slices.Clone(want.Shape()), Elems: int64(want.Numel()),
	}}
	if got.DType() != want.DType() || !slices.Equal(got.Shape(), want.Shape()) {
		c.Worst, c.faulty, c.Beyond = worstShown, max(1, c.Elems), max(1, c.Elems)
		c.Compiled, c.Eager = typeText(got), typeText(want)
		return c
	}
	a, b := numbers(got), numbers(want)
	var r []float64
	if exact != nil && slices.Equal(exact.Shape(), want.Shape()) && !want.DType().IsComplex() && want.DType().IsFloat() {
		r = exact.Float64s()
	}
	relative, absolute := tolerance(want.DType())
	error64 := spread(b, r)
	if error64 > farthest(r, relative, absolute) {
		r = nil // eager execution is no approximation of it: a comparison has come out otherwise, say
	}
	at := -1
	for i, x := range a {
		ratio := distance(x, b[i], relative, absolute)
		if ratio > c.Worst || at < 0 && ratio > 0 {
			c.Worst, at = ratio, i
		}
		if ratio <= 1 {
			continue
		}
		c.Beyond++
		if r != nil && !math.IsNaN(r[i]) && math.Abs(x-r[i]) <= slack*error64+absolute+relative*math.Abs(r[i]) {
			c.Excused++
		}
	}
	c.faulty = c.Beyond - c.Excused
	if at >= 0 {
		c.worstAt(at, a, b, r, want)
	}
	return c
}

// worstAt writes down the worst element.
func (c *comparison) worstAt(at int, a, b, r []float64, want *torch.Tensor) {
	c.Worst = min(c.Worst, worstShown)
	c.Compiled, c.Eager = number(a[at], want.DType()), number(b[at], want.DType())
	if r != nil {
		c.Exact = number(r[at], ops.Float64)
	}
	if want.DType().IsComplex() {
		at /= 2
	}
	shape := want.Shape()
	c.At = make([]int, len(shape))
	for d := len(shape) - 1; d >= 0; d-- {
		c.At[d], at = at%shape[d], at/shape[d]
	}
}

// distance is how far x lies from y, in units of what is allowed.
func distance(x, y, relative, absolute float64) float64 {
	switch {
	case x == y || math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x) || math.IsNaN(y) || math.IsInf(x, 0) || math.IsInf(y, 0) || absolute == 0:
		return math.Inf(1)
	}
	return math.Abs(x-y) / (absolute + relative*math.Abs(y))
}

// spread is the largest distance of finite elements.
func spread(b, r []float64) float64 {
	most := 0.0
	for i := range r {
		if d := math.Abs(b[i] - r[i]); d > most && !math.IsInf(d, 0) {
			most = d
		}
	}
	return most
}

// farthest is how far eager execution may lie from double precision for that to measure rounding.
func farthest(r []float64, relative, absolute float64) float64 {
	most := 0.0
	for _, x := range r {
		if a := math.Abs(x); a > most && !math.IsInf(a, 0) {
			most = a
		}
	}
	return min(1000*relative, 0.05)*most + 1000*absolute
}

// weigh takes another run of eager execution, whose operators rounded otherwise, as a measure
// of how far rounding alone moves the result.
func (c *comparison) weigh(got, want *torch.Tensor, noisy []*torch.Tensor) {
	a, b := numbers(got), numbers(want)
	relative, absolute := tolerance(want.DType())
	most, moved := 0.0, int64(0)
	for _, t := range noisy {
		if !slices.Equal(t.Shape(), want.Shape()) {
			return
		}
		n := numbers(t)
		count := int64(0)
		for i := range n {
			if d := math.Abs(n[i] - b[i]); !math.IsInf(d, 0) {
				most = max(most, d)
			}
			if distance(n[i], b[i], relative, absolute) > 1 {
				count++
			}
		}
		moved = max(moved, count)
	}
	if moved == 0 {
		return
	}
	left := int64(0)
	for i := range a {
		if distance(a[i], b[i], relative, absolute) > 1 && !(math.Abs(a[i]-b[i]) <= slack*most) {
			left++
		}
	}
	if left == 0 && c.Beyond <= slack*moved+slack {
		c.undecided = true
	}
}

func typeText(t *torch.Tensor) string { return t.DType().Name() + shapeText(t.Shape()) }

func shapeText(shape []int) string {
	out := "["
	for i, n := range shape {
		if i > 0 {
			out += ", "
		}
		out += strconv.Itoa(n)
	}
	return out + "]"
}

// number is an element as text, with the digits that its type has.
func number(x float64, d ops.DType) string {
	digits := 9
	switch {
	case d == ops.Float64:
		digits = 17
	case d == ops.Float16 || d == ops.BFloat16:
		digits = 5
	case !d.IsFloat() && !d.IsComplex():
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', digits, 64)
}
