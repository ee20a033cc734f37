package backends

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// TestColdUnits: in a graph of many kernels those that a call spends its time in are compiled
// apart from the others, with flags of their own, and all compute what they should.
func TestColdUnits(t *testing.T) {
	needCompiler(t)
	g := newTestGraph("cold")
	var outs []ops.Value
	for i := range cpp.ManyKernels {
		x := g.input(filled(ops.Float32, i, 3, 5+i))
		outs = append(outs, g.Emit(ops.Softmax, g.Emit(ops.Mm, x, g.input(filled(ops.Float32, i, 5+i, 7))), sym.C(1)))
	}
	outs = append(outs, g.Emit(ops.Erf, g.input(filled(ops.Float32, 1, 1000, 1000))))
	m := g.outputs(outs...)
	p := programOf(t, m)
	if p.Cold == 0 || p.Cold == len(p.Shards) {
		t.Fatalf("%d of %d units are cold", p.Cold, len(p.Shards))
	}
	first := len(p.Shards) - p.Cold
	hot, cold := strings.Join(p.Shards[:first], ""), strings.Join(p.Shards[first:], "")
	const defined = "(void *const *B, const i64 *S, i64 lo, i64 hi) {"
	if !strings.Contains(hot, "void fused_erf_128"+defined) || strings.Count(hot, defined) != 1 || !strings.Contains(cold, defined) {
		t.Errorf("functions that take time:\n%s", hot)
	}
	for i, u := range unitsOf(p, false, nil) {
		flags := strings.Join(u.flags, " ")
		if cold := i >= first; cold != strings.Contains(flags, "-Og") || cold == strings.Contains(flags, "-O1 -fcaller-saves") {
			t.Errorf("unit %d of %d, from %d on cold: %s", i, len(p.Shards), first, u.flags)
		}
	}
	for _, u := range unitsOf(p, true, nil) {
		if !slices.Contains(u.flags, "-O2") || slices.Contains(u.flags, "-O1") || slices.Contains(u.flags, "-Og") {
			t.Errorf("with all passes: %s", u.flags)
		}
	}
	everywhere(t, m, g.in, 1e-5)
}

// TestClangHasItsOwnFlags compiles by something that says it is clang and refuses what clang refuses.
func TestClangHasItsOwnFlags(t *testing.T) {
	cc, err := findCompiler("")
	if err != nil || !canLoad {
		t.Skip("no C compiler: which flags it gets is not tested")
	}
	file := filepath.Join(t.TempDir(), "cc")
	text := "#!/bin/sh\ncase \"$*\" in\n--version) echo some clang version 1;;\n*peephole2*|*stc*|*invariants*) exit 1;;\n" +
		"*) exec " + cc.path + " \"$@\";;\nesac\n"
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := findCompiler(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{leanFlags, coldFlags} {
		u := unit{"unit0.c", "int tc_one(void) { return 1; }\n", flags}
		if err := c.build(t.TempDir(), []unit{u}, nil, filepath.Join(t.TempDir(), "one.so")); err != nil {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
