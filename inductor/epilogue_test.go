package inductor

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestOperandsOfEpilogues: what is computed for an epilogue alone, as the mask of a gradient that ReLU's result makes,
// becomes a part of it, and of the template's kernel; what something else reads as well does not.
func TestOperandsOfEpilogues(t *testing.T) {
	mask := func(b *build, y, grad ops.Value) (positive, masked ops.Value) {
		positive = b.Emit(ops.LogicalNot, b.Emit(ops.Le, y, sym.C(0)))
		return positive, b.Emit(ops.Where, positive, grad, b.Emit(ops.ZerosLike, grad))
	}
	for name, c := range map[string]struct {
		make func(b *build) []ops.Value
		want []string
	}{
		"a mask": {func(b *build) []ops.Value {
			y := b.input(24, 40)
			_, out := mask(b, y, b.Emit(ops.Mm, b.input(24, 16), b.input(16, 40)))
			return []ops.Value{out}
		}, []string{"fused_mm_le_logical_not_where_0"}},
		"behind a residual": {func(b *build) []ops.Value {
			y, x := b.input(24, 40), b.input(24, 40)
			_, out := mask(b, y, b.Emit(ops.Add, b.Emit(ops.Mm, b.input(24, 16), b.input(16, 40)), x))
			return []ops.Value{out}
		}, []string{"fused_mm_add_le_logical_not_where_0"}},
		"a mask that is a result": {func(b *build) []ops.Value {
			y := b.input(24, 40)
			positive, out := mask(b, y, b.Emit(ops.Mm, b.input(24, 16), b.input(16, 40)))
			return []ops.Value{positive, out}
		}, []string{"fused_le_logical_not_0", "fused_mm_where_1"}},
		"a mask that is drawn for what an earlier product gives": {func(b *build) []ops.Value {
			drawn := b.Emit(ops.Bernoulli, b.Emit(ops.Sin, b.Emit(ops.Mm, b.input(24, 16), b.input(16, 40))), 0.9)
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Mm, b.input(24, 16), b.input(16, 40)), b.Emit(ops.Div, drawn, 0.9))}
		}, []string{"fused_mm_sin_0", "extern_bernoulli_1", "fused_mm_div_mul_2"}},
		"a row for all": {func(b *build) []ops.Value {
			row := b.Emit(ops.Sin, b.input(40))
			return []ops.Value{b.Emit(ops.Mul, b.Emit(ops.Mm, b.input(24, 16), b.input(16, 40)), row)}
		}, []string{"fused_sin_0", "fused_mm_mul_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuild("epilogue")
			wantKernels(t, b.compile(t, c.make(b)...), c.want...)
		})
	}
}
