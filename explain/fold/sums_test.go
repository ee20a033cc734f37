package fold

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/internal/test/traces"
)

// These tests hold what docs/numbers.md says of the numbers: that those of a folder are the
// sums of those of its files, and that each is the same wherever it is shown.

// add sums what can be summed: places of several files may be one.
func addTotals(t *explain.Totals, o *explain.Totals) {
	t.Records += o.Records
	t.UnexplainedRecords += o.UnexplainedRecords
	t.Frames += o.Frames
	t.Compiles += o.Compiles
	t.Graphs += o.Graphs
	t.Breaks += o.Breaks
	t.Recompiles += o.Recompiles
	t.Kernels += o.Kernels
	t.Failures += o.Failures
	t.Restarts += o.Restarts
	t.Ops += o.Ops
	t.CompileSeconds += o.CompileSeconds
}

// phaseTimes are the times of a report's phases.
func phaseTimes(r *explain.Report) map[string]float64 {
	out := map[string]float64{}
	for _, p := range r.PhaseSums {
		out[p.Name] += p.Seconds
		out[p.Name+" count"] += float64(p.Count)
	}
	return out
}

// TestSumOfAFolder: traces that are read together, in any order, give the sums of what
// each gives by itself. Traces and text logs are apart: beside a trace a text log tells
// less.
func TestSumOfAFolder(t *testing.T) {
	for _, ext := range []string{".log.zst", ".txt.zst"} {
		var paths []string
		for _, p := range traces.Files(t, "../testdata/traces") {
			if strings.HasSuffix(p, ext) {
				paths = append(paths, p)
			}
		}
		if ranks, err := filepath.Glob("../testdata/traces/*/ddp_*/*" + ext); err != nil || ext == ".log.zst" && len(ranks) < 2 {
			t.Fatalf("%v: %v", ranks, err)
		} else {
			paths = append(paths, ranks...)
			slices.Sort(paths)
			paths = slices.Compact(paths)
		}
		alone := map[string]explain.Totals{}
		phases := map[string]map[string]float64{}
		for _, p := range paths {
			r := report(t, p)
			alone[p], phases[p] = r.Totals, phaseTimes(r)
		}
		random := rand.New(rand.NewPCG(1, 2))
		for n := range 4 {
			some := slices.Clone(paths)
			random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
			if n > 0 {
				some = some[:2+random.IntN(len(some)-2)]
			}
			var want explain.Totals
			times := map[string]float64{}
			for _, p := range some {
				one := alone[p]
				addTotals(&want, &one)
				for name, s := range phases[p] {
					times[name] += s
				}
			}
			r := report(t, some...)
			got := r.Totals
			got.DistinctBreaks = 0
			if math.Abs(got.CompileSeconds-want.CompileSeconds) > 1e-6 {
				t.Errorf("%d files: %.3f s compiling, alone %.3f s", len(some), got.CompileSeconds, want.CompileSeconds)
			}
			got.CompileSeconds = want.CompileSeconds
			if got != want {
				t.Errorf("%d files: %+v, alone %+v", len(some), got, want)
			}
			together := phaseTimes(r)
			for name, s := range times {
				if math.Abs(together[name]-s) > 1e-6 {
					t.Errorf("%d files: phase %s %.4f, alone %.4f", len(some), name, together[name], s)
				}
			}
		}
	}
}

// TestTimesOfAnExport: the clock of the log has no zone, and an export has no duration of
// its own: alone or after another file, by day or over midnight, it takes what its
// records say.
func TestTimesOfAnExport(t *testing.T) {
	export := "../testdata/traces/pytorch-2.15/export_aoti.log.zst"
	for _, before := range []string{
		"../testdata/traces/pytorch-2.15/loops.log.zst",
		"../testdata/traces/pytorch-2.11/trace_00_gb_cpu.log.zst",
	} {
		r := report(t, before, export)
		var got []string
		for _, fr := range r.Frames {
			if fr.Name == "exported model" {
				got = append(got, fmt.Sprintf("%.0f s", fr.Compiles[0].Seconds))
			}
		}
		if strings.Join(got, " ") != "35 s" {
			t.Errorf("after %s: %v", before, got)
		}
	}
}
