package backends

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/tracer"
)

// specials are numbers at the edge of what the types hold.
var specials = map[ops.DType][]float64{
	ops.Float32: {
		0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 3, 1e-40, -1e-40, 64, -70, 1e10, -1e10, 3e38, -3e38, math.Inf(1),
		math.Inf(-1), math.NaN(),
	},
	ops.Float64: {
		0, math.Copysign(0, -1), 1, -1, 0.5, -2.5, 3, 1e-300, -1e-300, 64, -70, 1e10, -1e10, 1e308, -1e308, math.Inf(1),
		math.Inf(-1), math.NaN(),
	},
	ops.Int64: {0, 1, -1, 2, -8, 7, 31, 32, 63, 64, 70, -70, 1 << 40, math.MinInt64, math.MinInt64 + 1024},
	ops.Int32: {0, 1, -1, 2, -8, 7, 31, 32, 63, 64, 70, -70, math.MinInt32, math.MaxInt32},
	ops.Uint8: {0, 1, 2, 7, 8, 9, 64, 70, 128, 200, 255},
	ops.Bool:  {0, 1},
}

// specialOf are the special numbers of a type, or of another one that it may hold,
// without zeros where they are asked to be left out.
func specialOf(d ops.DType, zeros bool) []float64 {
	var out []float64
	for _, v := range specials[d] {
		if zeros || v != 0 {
			out = append(out, v)
		}
	}
	return out
}

// pairs are two tensors with each pair of numbers.
func pairs(a, b []float64, d ops.DType) (x, y *torch.Tensor) {
	var xs, ys []float64
	for _, v := range a {
		for _, w := range b {
			xs, ys = append(xs, v), append(ys, w)
		}
	}
	return exactly(xs, d), exactly(ys, d)
}

// exactly is a tensor of numbers that its type holds.
func exactly(v []float64, d ops.DType) *torch.Tensor {
	if d == ops.Int64 { // not by way of float64's rounding
		whole := make([]int64, len(v))
		for i, x := range v {
			whole[i] = int64(x)
		}
		return torch.NewTensor(whole)
	}
	return torch.NewTensor(v, kw.Dtype(ops.Float64)).To(d)
}

// divides are the operators that whole zeros end with an error.
var divides = map[ops.ID]bool{ops.FloorDivide: true, ops.Remainder: true, ops.Fmod: true}

// specialCalls are calls of every pointwise operator of the table that takes the type,
// on special numbers, and casts to every type.
func specialCalls(g *testGraph, d ops.DType) (names []string, outs []ops.Value) {
	all := g.input(exactly(specialOf(d, true), d))
	px, py := pairs(specialOf(d, true), specialOf(d, true), d)
	qx, qy := pairs(specialOf(d, true), specialOf(d, false), d)
	x, y, nx, ny := g.input(px), g.input(py), g.input(qx), g.input(qy)
	data := map[ops.Arg]torch.Value{all: g.in[0], x: px, y: py, nx: qx, ny: qy}
	add := func(name string, id ops.ID, args ...ops.Arg) {
		eager := slices.Clone(args)
		for i, a := range eager {
			if t := data[a]; t != nil {
				eager[i] = t
			}
		}
		if refused := panicText(func() { torch.Call(id, eager) }); refused == "" { // what eager takes
			names, outs = append(names, name), append(outs, g.Emit(id, args...))
		}
	}
	for _, row := range ops.All() {
		if strings.Contains(row.Name, "polynomial") { // a step for each degree: 1e10 of them
			continue
		}
		if !row.Tags.Has(ops.TagPointwise) || row.Tags.Has(ops.TagInPlace) || row.Tags.Has(ops.TagRandom) {
			continue
		}
		switch tensors, others := required(row); {
		case others > 0:
		case tensors == 1:
			add(row.FullName(), row.ID, all)
		case tensors == 2 && divides[row.ID] && !d.IsFloat():
			add(row.FullName(), row.ID, nx, ny)
		case tensors == 2:
			add(row.FullName(), row.ID, x, y)
		}
	}
	for _, mode := range []string{"floor", "trunc"} {
		add("div "+mode, ops.Div, nx, ny, mode)
	}
	for _, to := range []ops.DType{
		ops.Float32, ops.Float64, ops.Float16, ops.BFloat16, ops.Int64, ops.Int32, ops.Int16, ops.Int8,
		ops.Uint8, ops.Bool,
	} {
		add("to "+to.Name(), ops.ToCopy, all, to)
	}
	for _, n := range []int{-70, -1, 0, 1, 31, 32, 63, 64, 70} {
		if !d.IsFloat() && d != ops.Bool {
			add(fmt.Sprint("<< ", n), ops.BitwiseLeftShift, all, sym.C(n))
			add(fmt.Sprint(">> ", n), ops.BitwiseRightShift, all, sym.C(n))
		}
	}
	return names, outs
}

// required counts the parameters of an operator that a call must give.
func required(row *ops.Op) (tensors, others int) {
	for _, p := range row.Params() {
		switch {
		case p.HasDef || p.Optional():
		case p.IsTensor():
			tensors++
		default:
			others++
		}
	}
	return tensors, others
}

// TestSpecialNumbers: compiled operators agree with eager ones where a type ends: on
// zeros of either sign, NaN, infinities, the least and the greatest whole numbers, in
// shifts by more than there are bits and casts of what the other type does not hold.
func TestSpecialNumbers(t *testing.T) {
	eachExecutor(t, func(t *testing.T, b tracer.Backend) {
		for d := range specials {
			g := newTestGraph("special_" + d.Name())
			names, outs := specialCalls(g, d)
			m := g.outputs(outs...)
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			want := m.Run(g.in)
			for i, got := range run(g.in) {
				sameSpecials(t, d.Name()+": "+names[i], got.(*torch.Tensor), want[i].(*torch.Tensor))
			}
		}
	})
}

// eitherZero are the operators that may give either of two zeros: PyTorch's own answer
// depends on an element's place in a vector.
var eitherZero = regexp.MustCompile(`: (clamp_max|clamp_min|fmax|fmin|maximum|minimum)$`)

// sameSpecials compares results: what is finite nearly, all else in its bits.
func sameSpecials(t *testing.T, name string, got, want *torch.Tensor) {
	t.Helper()
	a, b := got.To(ops.Float64).Float64s(), want.To(ops.Float64).Float64s()
	tol := 4e-6
	if want.DType() == ops.Float64 {
		tol = 1e-13
	}
	switch {
	case !want.DType().IsFloat():
		tol = 0
	case strings.HasSuffix(name, ": sinc"): // next to a zero of the sine that is far out
		tol = max(tol, 1e-10)
	}
	wrong := 0
	for i, w := range b {
		v := a[i]
		switch {
		case math.IsNaN(v) && math.IsNaN(w):
		case v == w && (math.Signbit(v) == math.Signbit(w) || eitherZero.MatchString(name)):
		case v != 0 && w != 0 && math.Abs(v-w) <= tol*math.Abs(w):
		default:
			if wrong++; wrong <= 3 {
				t.Errorf("%s: element %d of %d is %v, want %v", name, i, len(b), v, w)
			}
		}
	}
}
