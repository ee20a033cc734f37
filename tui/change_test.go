package tui

import (
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/tui/keys"
)

// A fix is shown as a diff; it is written only after a question, and once.
func TestFix(t *testing.T) {
	f := richFeed()
	f.run.Again = true
	d := newDriver(t, f, Options{}, 100, 30)
	d.script(`
		keys 3 p
		expect Fix for model.go:52
		expect +b = torch.Where(b.Sum().Lt(0), b.Mul(-1), b)
		expect a writes it to the file
		keys esc
		screen Breaks
		refute The fix of
		keys a
		expect Write this to model.go:52?
		keys n
		expect nothing was written
		keys p a n
		expect nothing was written
		keys p y
		refute Write this to
	`)
	if len(f.applied) > 0 {
		t.Fatalf("written without a yes: %q", f.applied)
	}
	d.script(`
		keys p a y
		expect written to model.go:52; R runs the program again, u undoes it
		keys a y
		expect nothing was written: the file has changed since
	`)
	want := modelFile + ":52 " + strings.Join(f.report.Breaks[0].Rewrite.Hunks[0].Lines, " ")
	if got := strings.Join(f.applied, " "); got != want {
		t.Errorf("written %q, want %q", got, want)
	}
	d.script(`
		keys u
		expect undone: model.go is as it was before the last fix; R runs the program again
		keys u
		expect nothing was undone: no fix was written
	`)
}

// Of a trace, which no key runs again, the message does not say that one does.
func TestFixOfATrace(t *testing.T) {
	newDriver(t, richFeed(), Options{}, 100, 30).script(`
		keys 3 a y
		expect written to model.go:52; it takes effect in the next run, u undoes it
	`)
}

// Where there is no fix in lines, the key says why.
func TestNoFix(t *testing.T) {
	newDriver(t, richFeed(), Options{}, 100, 30).script(`
		keys 3 j p
		expect no preview: only a print, log call or clock reading on lines of its own
		keys G p
		expect select a break
		keys z j p
		expect no preview: the break is inside torch or the standard library
	`)
	f := richFeed()
	f.report.Breaks[0].Rewrite = nil
	newDriver(t, f, Options{}, 120, 30).script(`
		keys 3 a
		expect no preview: only a branch that chooses between elementwise results
	`)
}

// Kernels are compared with the run before, by name and by operators.
func TestKernelsOfRunBefore(t *testing.T) {
	newDriver(t, richFeed(), Options{}, 120, 30).script(`
		keys 8 d
		expect Nothing to compare with: no earlier run of captioner.go is
		keys d
		refute Nothing to compare
	`)
	f := richFeed()
	f.before = richReport()
	ks := f.before.Kernels
	ks[1].Name = "fused_add_layer_norm_0"
	source := ks[1].Load()
	ks[1].Load = func() string { return strings.Replace(source, "0.5f", "0.25f", 1) }
	f.before.Kernels = append(ks[:2:2], &explain.Kernel{ID: cid(2, 0), Name: "fused_tanh_0", Lang: "c", Ops: []string{"tanh"}})
	d := newDriver(t, f, Options{}, 100, 30)
	d.script(`
		keys 8 j d
		expect compared with 20260301-model-0001
		expect -         store(out + i, t * 0.25f);
		expect +         store(out + i, t * 0.5f);
		expect - fused_tanh_0
		keys j
		expect new: the previous run had no kernel for mul, add, gelu
		keys g
		expect An extern kernel has no source
	`)
	if d.m.pane(keys.Kernels).mode != kernelDiffMode {
		t.Error("another kernel left the comparison")
	}
	f.before = richReport()
	newDriver(t, f, Options{}, 100, 30).script(`
		keys 8 j d
		expect the same source
	`)
}
