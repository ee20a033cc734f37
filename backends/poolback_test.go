package backends

import (
	"slices"
	"testing"

	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestPoolGradientsAreLoops: gradients of average pooling whose windows lie side by side are loops of
// a kernel, bit for bit what the eager kernel computes; others stay its calls.
func TestPoolGradientsAreLoops(t *testing.T) {
	for _, c := range []struct {
		name           string
		d              ops.DType
		self, grad     []int
		kernel, stride []int // nil: adaptive
		pad            []int
		divisor        ops.Arg
		extern         bool
	}{
		{name: "tiles", d: ops.Float32, self: []int{2, 3, 8, 6}, grad: []int{2, 3, 4, 2}, kernel: []int{2, 3}, stride: []int{2, 3}},
		{name: "doubles", d: ops.Float64, self: []int{3, 9}, grad: []int{3, 3}, kernel: []int{3}, stride: []int{3}},
		{
			name: "divisor", d: ops.Float32, self: []int{2, 2, 4, 6, 8}, grad: []int{2, 2, 2, 2, 2}, kernel: []int{2, 3, 4},
			stride: []int{2, 3, 4}, divisor: sym.C(7),
		},
		{name: "one mean", d: ops.Float32, self: []int{2, 17, 7, 7}, grad: []int{2, 17, 1, 1}},
		{name: "means", d: ops.Float32, self: []int{2, 3, 6, 10}, grad: []int{2, 3, 3, 5}},
		{name: "unequal means", d: ops.Float32, self: []int{2, 3, 7, 10}, grad: []int{2, 3, 3, 5}, extern: true},
		{
			name: "elements left", d: ops.Float32, self: []int{2, 3, 9}, grad: []int{2, 3, 4}, kernel: []int{2}, stride: []int{2},
			extern: true,
		},
		{name: "overlap", d: ops.Float32, self: []int{2, 3, 9}, grad: []int{2, 3, 4}, kernel: []int{3}, stride: []int{2}, extern: true},
		{
			name: "padding", d: ops.Float32, self: []int{2, 3, 8}, grad: []int{2, 3, 2}, kernel: []int{4}, stride: []int{4},
			pad: []int{1}, extern: true,
		},
		{name: "half", d: ops.Float16, self: []int{2, 3, 8}, grad: []int{2, 3, 4}, kernel: []int{2}, stride: []int{2}, extern: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newTestGraph("poolback")
			grad, x := g.input(filled(c.d, 1, c.grad...)), g.input(filled(c.d, 2, c.self...))
			if c.kernel == nil {
				everyPool(t, g, g.Emit(ops.AdaptiveAvgPoolBackward, grad, x, sym.C(2)), c.extern)
				return
			}
			if c.pad == nil {
				c.pad = make([]int, len(c.kernel))
			}
			v := g.Emit(ops.AvgPoolBackward, grad, x, ints(c.kernel...), ints(c.stride...), ints(c.pad...), false, true, c.divisor)
			everyPool(t, g, v, c.extern)
		})
	}
}

// everyPool compares v, at all widths, and wants eager calls or none.
func everyPool(t *testing.T, g *testGraph, v ops.Value, extern bool) {
	t.Helper()
	m := g.outputs(v)
	everywhere(t, m, g.in, 0)
	p, err := inductor.Compile(m.G, inductor.Options{Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 1})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Extern != nil }); got != extern {
		t.Errorf("an eager call: %v, want %v", got, extern)
	}
}
