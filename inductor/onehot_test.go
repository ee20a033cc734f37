package inductor

import (
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestOneHotFuses wants a scatter of one number a row to be part of the kernel that reads it, along rows and down columns; its
// positions of eight bytes are the same along the vectors, which therefore hold as many numbers as they do without.
func TestOneHotFuses(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(b *build, hot, x ops.Value) []ops.Value
		want string
	}{
		"rows": {func(b *build, hot, x ops.Value) []ops.Value {
			return []ops.Value{b.Emit(ops.Sub, hot, x)}
		}, "fused_scatter_add_sub_0"},
		"columns": {func(b *build, hot, x ops.Value) []ops.Value {
			d := b.Emit(ops.Sub, hot, x)
			return []ops.Value{d, b.Emit(ops.Sum, d, []int{0})}
		}, "fused_scatter_add_sub_sum_0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuild("hot")
			x, src, index := b.input(64, 40), b.input(64, 1), b.add(ops.Int64, false, dims(64, 1)...)
			zeros := b.Emit(ops.Full, sym.Consts([]int{64, 40}), 0.0)
			p := b.compile(t, c.f(b, b.Emit(ops.ScatterAdd, zeros, sym.C(1), index, src), x)...)
			wantKernels(t, p, c.want)
			_, body, ok := strings.Cut(p.Wrapper, "\nvoid "+c.want+"(")
			body, _, _ = strings.Cut(body, "\n}\n")
			if !ok || !strings.Contains(body, "const f8 ") || strings.Contains(body, "l8 ") || strings.Contains(body, "f4 ") {
				t.Errorf("not with whole vectors:\n%s", body)
			}
		})
	}
}
