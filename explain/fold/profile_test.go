package fold

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/explain/render"
	"tcdbg/internal/test/golden"
)

const profiled = "../testdata/profile"

// A profile in a trace's folder gives its graphs, kernels and breaks their run times.
func TestProfiledReports(t *testing.T) {
	for _, name := range []string{"cpu-2.15", "gpu-2.11"} {
		r := report(t, filepath.Join(profiled, name))
		var text bytes.Buffer
		if err := render.WriteText(&text, r); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, filepath.Join("../testdata/reports/profile", name+".report"), text.Bytes())
		if len(r.Profiles) != 1 || r.Profiles[0].Apart != "" || r.Profiles[0].Stacks == nil {
			t.Fatalf("%s: %+v", name, r.Profiles)
		}
		for _, k := range r.Kernels {
			if _, ok := k.CallNanos(); !ok && k.Calls != -1 {
				t.Errorf("%s: %s has %d calls and no time", name, k.Name, k.Calls)
			}
		}
		for _, g := range r.Breaks {
			if g.LeftNanos <= 0 {
				t.Errorf("%s: %s costs %d", name, g.Key, g.LeftNanos)
			}
		}
	}
}

// Each generated kernel of the CPU run has the time that the profiler has for its name: all ran.
func TestKernelsOfAProfile(t *testing.T) {
	r := report(t, filepath.Join(profiled, "cpu-2.15"))
	p := r.Profiles[0]
	n := 0
	for _, k := range p.Kernels {
		if k.Extern {
			continue
		}
		n++
		found := false
		for _, have := range r.Kernels {
			if have.Name == k.Name && have.Backward() == p.Graphs[k.Graph].Backward && have.Nanos == k.Nanos && have.Calls == k.Calls {
				found = true
			}
		}
		if !found {
			t.Errorf("%s has no time", k.Name)
		}
	}
	if n != 6 || r.Totals.Kernels != 6 {
		t.Errorf("%d of %d kernels", n, r.Totals.Kernels)
	}
}

// A Chrome trace beside a trace that it is not of is shown, and joined to nothing.
func TestProfileApart(t *testing.T) {
	chrome := filepath.Join(profiled, "cpu-2.15", "tcdbg_profile_30024_times.json.gz")
	alone := report(t, chrome)
	if len(alone.Profiles) != 1 || !strings.Contains(alone.Profiles[0].Apart, "no compiled function") {
		t.Errorf("%+v", alone.Profiles)
	}
	ranks := report(t, "../testdata/traces/pytorch-2.15/ddp_train", chrome)
	if len(ranks.Profiles) != 1 || !strings.Contains(ranks.Profiles[0].Apart, "tells no rank") {
		t.Errorf("%+v", ranks.Profiles)
	}
	for _, g := range ranks.Breaks {
		if g.LeftNanos != -1 {
			t.Errorf("%s: %d", g.Key, g.LeftNanos)
		}
	}
}

// The program's own name for the file, a name that ends as torch.profiler's handler ends it, and
// what is no profile at all.
func TestProfilesOfAFolder(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, from string) {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("trace.log.zst", filepath.Join(profiled, "cpu-2.15", "trace.log.zst"))
	chrome := filepath.Join(profiled, "cpu-2.15", "tcdbg_profile_30024_times.json.gz")
	put("host_123.456.pt.trace.json.gz", chrome)
	put("settings.json", chrome) // of another program, for all that is known
	if r := report(t, dir); len(r.Profiles) != 1 || r.Profiles[0].Apart != "" {
		t.Errorf("%+v", r.Profiles)
	}
	if r := report(t, dir, filepath.Join(dir, "settings.json")); len(r.Profiles) != 2 {
		t.Errorf("%+v", r.Profiles)
	}
}
