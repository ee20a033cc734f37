package tui

import (
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/logs"
)

// TestUnlogged: the header does not count as none what a text log was not asked for; a
// trace, which records everything, it does.
func TestUnlogged(t *testing.T) {
	for path, want := range map[string]string{
		"loops.txt.zst": "11 frames  no graphs logged  11 breaks  no recompiles logged  no kernels logged",
		"loops.log.zst": "20 frames  9 graphs  11 breaks  0 recompiles  0 kernels",
	} {
		st, err := logs.Open([]string{"../explain/testdata/traces/pytorch-2.15/" + path}, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		fold := fold.New(st)
		if err := st.Read(t.Context(), fold.Add); err != nil {
			t.Fatal(err)
		}
		sc := &scene{report: fold.Snapshot()}
		long, short := sc.totals(false), sc.totals(true)
		if long != want {
			t.Errorf("%s: %q", path, long)
		}
		if unlogged := strings.HasSuffix(path, ".txt.zst"); strings.Contains(short, "?g") != unlogged ||
			strings.Contains(short, " 0k") == unlogged {
			t.Errorf("%s: %q", path, short)
		}
		if lead := (&overviewScreen{}).lead(sc, 120)[0].Text(); strings.Contains(lead,
			"no graphs logged") != strings.HasSuffix(path, ".txt.zst") {
			t.Errorf("%s: %q", path, lead)
		}
	}
}
