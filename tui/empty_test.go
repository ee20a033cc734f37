package tui

import (
	"strings"
	"testing"

	"tcdbg/explain"
)

// TestEmptyScreensOfGoRuns: a screen with nothing to show of a Go program says why in words
// of that run, not what PyTorch would have to be asked for.
func TestEmptyScreensOfGoRuns(t *testing.T) {
	for _, engine := range []string{"tcdbg 0.1.0", "PyTorch 2.15.0"} {
		r := &explain.Report{Engine: engine, Frames: []*explain.Frame{{Name: "f"}}, Totals: explain.Totals{Kernels: 1}}
		sc := &scene{report: r}
		for _, empty := range [][]string{(&guardsScreen{}).empty(sc), (&fusionScreen{}).empty(sc)} {
			if said := strings.Join(empty, " "); strings.Contains(said, "PyTorch") != strings.HasPrefix(engine, "PyTorch") {
				t.Errorf("%s: %s", engine, said)
			}
		}
	}
}
