package torch

import (
	"testing"

	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/torch/internal/kernels"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// TestResultsAroundTheCaches: a result too large for the caches has every
// element, wherever it starts, of every size of element, and in place too.
func TestResultsAroundTheCaches(t *testing.T) {
	for _, l := range simd.Levels() {
		t.Run(l.String(), func(t *testing.T) {
			defer simd.Force(l)()
			for _, d := range test.Some(t, 3, []DType{ops.Float32, ops.Float64, ops.Int8, ops.BFloat16, ops.Float16}) {
				if l == simd.Plain && d.Size() == 2 {
					continue // nothing of it is special to half precision
				}
				n := strided.StreamSize/d.Size() + 77
				x := Arange(n + 1).Remainder(60).To(d)
				for at := range 2 {
					part := x.Narrow(0, at, n)
					sum := part.Add(part)
					checkDoubled(t, sum, n, at)
					checkDoubled(t, part.Mul(2), n, at)
					if !streams(sum, part) {
						t.Errorf("%v from %d does not go around the caches", d, at)
					}
				}
				own := x.Clone().Narrow(0, 1, n)
				own.Add_(own)
				if streams(own, own) {
					t.Errorf("%v: what is read in place goes around the caches", d)
				}
				checkDoubled(t, own, n, 1)
			}
		})
	}
}

// checkDoubled wants element i to be twice the remainder of at+i.
func checkDoubled(t *testing.T, sum *Tensor, n, at int) {
	t.Helper()
	got := sum.To(ops.Int64)
	for i, v := range strided.Slice[int64](&got.array)[:n] {
		if v != int64((at+i)%60*2) {
			t.Fatalf("%v from %d: element %d is %d", sum.array.DType, at, i, v)
		}
	}
}

// streams is what the iterator decides for out as a function of x.
func streams(out, x *Tensor) bool {
	it := strided.Iterator{Nops: 2, Loop: kernels.KeepLoop[uint8]()}
	it.SetTensor(0, &out.array, out.array.DType, out.array.Shape)
	it.SetTensor(1, &x.array, out.array.DType, out.array.Shape)
	it.Coalesce(out.array.Shape)
	it.Inner = it.Size[it.Ndim-1]
	it.ChooseStream(out.Numel())
	return it.Stream
}

// TestOperandsThatStandStill: an operand that stays at one element along runs gives
// the numbers of its copy, for runs shorter and longer than a buffer.
func TestOperandsThatStandStill(t *testing.T) {
	for _, inner := range []int{1, 3, 16, 1023, 1024, 1025, 2500} {
		x := Rand(3, 5, 1).Add(1).Expand(3, 5, inner)
		y := Rand(3, 5, inner).Add(1)
		for name, f := range map[string]func(x *Tensor) *Tensor{
			"div by a number": func(x *Tensor) *Tensor { return x.Div(7) },
			"div":             func(x *Tensor) *Tensor { return x.Div(y) },
			"maximum":         func(x *Tensor) *Tensor { return y.Maximum(x) },
			"another type":    func(x *Tensor) *Tensor { return x.To(ops.Float64).Mul(y) },
		} {
			got, want := f(x), f(x.Clone().Contiguous())
			a, b := got.Float64s(), want.Float64s()
			for i := range b {
				if a[i] != b[i] {
					t.Fatalf("%s, runs of %d: element %d is %v, want %v", name, inner, i, a[i], b[i])
				}
			}
		}
	}
}
