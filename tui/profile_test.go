package tui

import (
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
)

// profiledFeed shows a run whose steps were recorded.
func profiledFeed(t *testing.T, name string) *fakeFeed {
	t.Helper()
	r, err := fold.All(traces.Open(t, "../explain/testdata/profile/"+name), "train.py")
	if err != nil {
		t.Fatal(err)
	}
	f := richFeed()
	f.report = r
	return f
}

func TestGoldenProfile(t *testing.T) {
	for _, c := range []struct {
		name, run string
		w, h      int
	}{{"80x24", "cpu-2.15", 80, 24}, {"160x50", "gpu-2.11", 160, 50}} {
		d := newDriver(t, profiledFeed(t, c.run), Options{}, c.w, c.h)
		var b strings.Builder
		for _, step := range []string{"keys %", "keys j j j j j"} {
			d.script(step)
			for _, l := range strings.Split(d.frame(), "\n") {
				b.WriteString(strings.TrimRight(strings.ReplaceAll(l, "\x1b", "␛"), " ") + "\n")
			}
			b.WriteString("===\n")
		}
		golden(t, "profile-"+c.name+".txt", b.String())
	}
}

// enter opens what a row is about: of what a break costs, the break; of a kernel, the kernel.
func TestProfileOpens(t *testing.T) {
	d := newDriver(t, profiledFeed(t, "cpu-2.15"), Options{}, 120, 40)
	for filter, screen := range map[string]string{"after the break": "Breaks", "cpp_fused_gt_sum": "Kernels", "backward graph": "Graph"} {
		d.script("keys % f\ntype " + filter + "\nkeys enter")
		d.frame() // a person sees the rows before the next key
		d.script("keys enter\nscreen " + screen)
		d.script("keys % esc")
	}
}

// A run without recorded steps has no tab for them, and the screen says how to record some.
func TestNoProfile(t *testing.T) {
	d := newDriver(t, richFeed(), Options{}, 120, 40)
	if strings.Contains(d.frame(), "Profile") {
		t.Error("a tab without steps")
	}
	d.script("keys %")
	if !strings.Contains(d.frame(), "tcdbg exec --profile -- python train.py") {
		t.Error(d.frame())
	}
}
