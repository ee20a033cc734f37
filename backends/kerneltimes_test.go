package backends

import (
	"testing"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests how long kernels are said to take.

// timedProgram is a program of a long kernel, an extern call, a short kernel and a
// product whose weight is packed once.
func timedProgram(t *testing.T, cfg Config) (*Set, tracer.Runnable, []torch.Value) {
	t.Helper()
	return timedProgramWith(t, cfg, nil)
}

// timedProgramWith is timedProgram with a debugger.
func timedProgramWith(t *testing.T, cfg Config, watch tracer.KernelWatch) (*Set, tracer.Runnable, []torch.Value) {
	t.Helper()
	g := newTestGraph("timed")
	x := g.input(filled(ops.Float32, 1, 1<<20))
	s := g.input(filled(ops.Float32, 2, 16, 16))
	w := g.param(filled(ops.Float32, 3, 16, 16))
	long := g.Emit(ops.Sin, g.Emit(ops.Tan, g.Emit(ops.Exp, x)))
	order := g.EmitN(ops.Sort, g.Emit(ops.Neg, s))[0]
	m := g.outputs(long, g.Emit(ops.Relu, g.Emit(ops.Mm, order, w)))
	set := NewSet(cfg)
	b, err := set.Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Compile(&tracer.Request{Module: m, Example: g.in, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	return set, run, g.in
}

// TestKernelTimes: every kernel and extern call of a program has its time, by the
// name that the provenance gives it; a long kernel takes longer than a short one.
func TestKernelTimes(t *testing.T) {
	configs := map[string]Config{"plain": {CC: "none", CacheDir: t.TempDir()}}
	if _, err := findCompiler(""); err == nil && canLoad {
		configs["compiled"] = Config{CacheDir: sharedCache}
	}
	for name, cfg := range configs {
		t.Run(name, func(t *testing.T) {
			set, run, in := timedProgram(t, cfg)
			for range 3 {
				run(in)
			}
			got := map[string]logs.KernelTime{}
			for _, k := range set.KernelTimes(true) {
				got[k.Kernel] = k
			}
			long, short, extern := got["fused_exp_tan_sin_0"], got["fused_neg_1"], got["extern_sort_2"]
			for name, k := range map[string]logs.KernelTime{"long": long, "short": short, "extern": extern} {
				if k.Calls != 3 || k.Timed != 2 || k.Nanos <= 0 || k.Graph != "timed" {
					t.Errorf("%s: %+v, want 3 calls of which the last two are timed, among %v", name, k, got)
				}
			}
			if long.Nanos < 10*short.Nanos {
				t.Errorf("sin, tan and exp of a million numbers took %d ns, neg of 256 %d", long.Nanos, short.Nanos)
			}
		})
	}
}

// TestKernelTimesAreSampled: a long run times few of its calls, and tells of them
// as often as their number doubles.
func TestKernelTimesAreSampled(t *testing.T) {
	needCompiler(t)
	g := newTestGraph("sampled")
	m := g.outputs(g.Emit(ops.Neg, g.input(filled(ops.Float32, 1, 16))))
	set := NewSet(Config{CacheDir: sharedCache})
	run, err := (&inductorBackend{set}).Compile(&tracer.Request{Module: m, Example: g.in})
	if err != nil {
		t.Fatal(err)
	}
	records := 0
	for range 1000 {
		run(g.in)
		if len(set.KernelTimes(false)) > 0 {
			records++
		}
	}
	last := set.KernelTimes(true)
	if len(last) != 1 || last[0].Calls != 1000 || last[0].Timed != 64+14-1 {
		t.Errorf("totals %+v, want 1000 calls: the first 64 and 14 more timed, but for the first of all", last)
	}
	if records < 5 || records > 12 {
		t.Errorf("%d records in 1000 calls", records)
	}
	if again := set.KernelTimes(true); len(again) != 0 {
		t.Errorf("nothing has run since, and yet %+v", again)
	}
}

// TestPackingIsTimedOnce: what depends on parameters alone has run once, however
// often the program has.
func TestPackingIsTimedOnce(t *testing.T) {
	needCompiler(t)
	set, run, in := timedProgram(t, Config{CacheDir: sharedCache})
	for range 3 {
		run(in)
	}
	packs := 0
	for _, k := range set.KernelTimes(true) {
		if len(k.Kernel) > 5 && k.Kernel[:5] == "pack_" {
			packs++
			if k.Calls != 1 || k.Timed != 1 || k.Nanos <= 0 {
				t.Errorf("%+v, want one run, timed", k)
			}
		}
	}
	if packs != 1 {
		t.Errorf("%d packings, want 1", packs)
	}
}
