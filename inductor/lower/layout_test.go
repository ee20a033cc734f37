package lower

import (
	"math/rand"
	"slices"
	"testing"

	"tcdbg/ops/sym"
)

// addresses lists where the elements of a layout lie, in row-major order.
func addresses(shape, stride []int) []int {
	out := []int{0}
	for d, n := range shape {
		var next []int
		for _, at := range out {
			for i := range n {
				next = append(next, at+i*stride[d])
			}
		}
		out = next
	}
	return out
}

// seenAs finds strides by trying: the stride of a dimension is the distance of
// the first two elements along it.
func seenAs(at, want []int) bool {
	stride, run := make([]int, len(want)), 1
	for d := len(want) - 1; d >= 0; d-- {
		if want[d] > 1 {
			stride[d] = at[run] - at[0]
		}
		run *= want[d]
	}
	return slices.Equal(addresses(want, stride), at)
}

// TestViewStrides sees layouts of 24 elements in every shape of 24 elements, and
// wants the same elements in the same order, or a refusal where there is no way.
func TestViewStrides(t *testing.T) {
	shapes := [][]int{
		{24},
		{4, 6},
		{6, 4},
		{2, 12},
		{2, 3, 4},
		{4, 3, 2},
		{1, 24},
		{24, 1},
		{3, 1, 8},
		{2, 2, 2, 3},
		{8, 3},
		{1, 4, 1, 6, 1},
	}
	r := rand.New(rand.NewSource(1))
	views, refusals := 0, 0
	for range 3000 {
		shape, want := shapes[r.Intn(len(shapes))], shapes[r.Intn(len(shapes))]
		stride := make([]int, len(shape))
		step := 1 + r.Intn(2)
		for k, d := range r.Perm(len(shape)) { // of dimensions in any order, here and there with gaps
			if k%2 == 0 && r.Intn(2) == 0 { // most are in order
				d = len(shape) - 1 - k
			}
			if stride[d] == 0 {
				stride[d] = step
				step *= shape[d] + r.Intn(5)/4
			}
		}
		at := addresses(shape, stride)
		got, ok := viewStrides(sym.Consts(shape), sym.Consts(stride), sym.Consts(want))
		if possible := seenAs(at, want); ok != possible {
			t.Fatalf("%v stride %v as %v: %v, possible %v", shape, stride, want, ok, possible)
		}
		if !ok {
			refusals++
			continue
		}
		views++
		if !slices.Equal(addresses(want, sym.Hints(got)), at) {
			t.Fatalf("%v stride %v as %v: strides %v", shape, stride, want, got)
		}
	}
	if views < 500 || refusals < 500 {
		t.Errorf("%d views and %d refusals are no test", views, refusals)
	}
}

// TestViewStridesOfNothing wants a view of no elements whatever the strides are.
func TestViewStridesOfNothing(t *testing.T) {
	got, ok := viewStrides(ints(0, 4), ints(1, 9), ints(2, 0, 3))
	if !ok || !sym.AllSame(got, ints(3, 3, 1)) {
		t.Errorf("strides %v, %v", got, ok)
	}
}

// TestViewStridesOfOpenSizes wants open sizes to be joined and split where that is
// sure.
func TestViewStridesOfOpenSizes(t *testing.T) {
	n := (&sym.Env{}).NewSymbol("s0", "", 5)
	for _, c := range []struct {
		shape, stride, want []sym.Int
		ok                  bool
	}{
		{[]sym.Int{n, c(3)}, ints(3, 1), []sym.Int{sym.Mul(n, c(3))}, true},
		{[]sym.Int{sym.Mul(n, c(3))}, ints(1), []sym.Int{n, c(3)}, true},
		{[]sym.Int{sym.Mul(n, c(3))}, ints(1), []sym.Int{c(3), n}, true},
		{[]sym.Int{n, c(3)}, ints(6, 1), []sym.Int{sym.Mul(n, c(3))}, false},
		{[]sym.Int{n}, ints(1), []sym.Int{sym.FloorDiv(n, c(2)), c(2)}, false},
	} {
		if _, ok := viewStrides(c.shape, c.stride, c.want); ok != c.ok {
			t.Errorf("%v stride %v as %v: %v", c.shape, c.stride, c.want, ok)
		}
	}
}
