package inductor

import (
	"strings"
	"testing"

	"tcdbg/ops"
)

// TestWhatLaterPhasesReadIsPutOff: a loss over classes and its gradient are one kernel, and what the gradient alone reads is in no
// memory: neither a row of differences nor the row with one number. What would take two loads for one stays where it was.
func TestWhatLaterPhasesReadIsPutOff(t *testing.T) {
	const classes = 50_000
	softmax := func(b *build, x ops.Value) (most, sum ops.Value) {
		most = b.Emit(ops.Amax, x, dims(1), true)
		return most, b.Emit(ops.Sum, b.Emit(ops.Exp, b.Emit(ops.Sub, x, most)), dims(1), true)
	}
	for name, c := range map[string]struct {
		make func(b *build) []ops.Value
		want int // buffers of the kernel
	}{
		"differences": {func(b *build) []ops.Value {
			x := b.input(8, classes)
			most, sum := softmax(b, x)
			return []ops.Value{b.Emit(ops.Div, b.Emit(ops.Exp, b.Emit(ops.Sub, x, most)), sum)}
		}, 2},
		"a chain": {func(b *build) []ops.Value {
			x := b.input(8, classes)
			_, sum := softmax(b, x)
			return []ops.Value{b.Emit(ops.Div, b.Emit(ops.Sin, b.Emit(ops.Cos, x)), sum)}
		}, 2},
		"of two that nothing else reads": {func(b *build) []ops.Value {
			x := b.input(8, classes)
			_, sum := softmax(b, x)
			return []ops.Value{b.Emit(ops.Div, b.Emit(ops.Mul, b.input(8, classes), b.input(8, classes)), sum)}
		}, 5},
		"what is a result": {func(b *build) []ops.Value {
			x := b.input(8, classes)
			_, sum := softmax(b, x)
			sin := b.Emit(ops.Sin, x)
			return []ops.Value{sin, b.Emit(ops.Div, sin, sum)}
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuild("phases")
			p := b.compile(t, c.make(b)...)
			if got := strings.Count(p.Wrapper, "*const p"); got != c.want || len(kernels(p)) != 1 {
				t.Errorf("%d kernels with %d buffers, want one with %d:\n%s", len(kernels(p)), got, c.want, p.Wrapper)
			}
		})
	}
}
