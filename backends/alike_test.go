package backends

import (
	"regexp"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestAlikeKernels: kernels that differ in strides and offsets alone are one C function, which
// computes for each what its own text says, and so do the text that people read and the units
// for compilers that run side by side.
func TestAlikeKernels(t *testing.T) {
	g := newTestGraph("alike")
	var outs []ops.Value
	for _, width := range []int{48, 80, 81, 112} { // 81: its rows end amid a vector
		x := g.input(filled(ops.Float32, width, 6, width))
		part := g.Emit(ops.Slice, x, sym.C(1), sym.C(3), sym.C(35), sym.C(1))
		outs = append(outs, g.Emit(ops.Mul, g.Emit(ops.Softmax, part, sym.C(1)), g.Emit(ops.Sin, part)))
	}
	m := g.outputs(outs...)
	p := programOf(t, m)
	defined := regexp.MustCompile(`(?m)^void (\w+)\(.*\{$`)
	if all := defined.FindAllString(p.Shards[0], -1); len(all) != 1 || !strings.HasPrefix(all[0], "void shared_") {
		t.Errorf("functions to compile: %q", all)
	}
	if all := defined.FindAllString(p.Wrapper, -1); len(all) != 4 {
		t.Errorf("kernels to read: %q", all)
	}
	everywhere(t, m, g.in, 1e-6)
}

// TestLongEntries: the function that calls a program's kernels is right where it is so long that
// a compiler is given a table of calls, and where kernels are in several units.
func TestLongEntries(t *testing.T) {
	test.Long(t, "forty kernels are compiled twice")
	needCompiler(t)
	g := newTestGraph("long")
	var outs []ops.Value
	for i := range 40 {
		x := g.input(filled(ops.Float32, i, 5, 6+i))
		outs = append(outs, g.Emit(ops.Cumsum, g.Emit([]ops.ID{ops.Exp, ops.Sin, ops.Neg}[i%3], x), sym.C(1)))
	}
	m := g.outputs(outs...)
	if p := programOf(t, m); !strings.Contains(strings.Join(p.Shards, ""), "tc_calls(tc_rows + 0, tc_rows + 40,") {
		t.Fatal("a short entry")
	}
	everywhere(t, m, g.in, 1e-5)
}
