package lowering

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/internal/test/golden"
	"tcdbg/internal/test/traces"
	"tcdbg/logs"
)

// This file lowers the graphs of traces.

func report(t testing.TB, path string) *explain.Report {
	t.Helper()
	st := traces.Open(t, path)
	f := fold.New(st)
	if err := st.Read(t.Context(), f.Add); err != nil {
		t.Fatal(err)
	}
	return f.Snapshot()
}

// TestTraces lowers every graph of the traces at every stage: what is lowered, and why the rest is not.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("../../../explain/testdata/traces/pytorch-*/*.log.zst")
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	own, _ := filepath.Glob("testdata/*.log.zst")
	var out strings.Builder
	all := NewTally()
	for _, file := range append(files, own...) {
		r := report(t, file)
		tally, reasons := NewTally(), map[string]int{}
		for _, g := range r.Graphs {
			for _, f := range Forms(r, g) {
				a := answer(TaskOf(r, &f, "0"))
				var err error
				if a.Error != "" {
					err = &Refused{Of: f.Title(), Text: a.Error, Missing: a.Missing}
					reasons[f.Name+": "+a.Error]++
				}
				tally.Add(&f, err)
				all.Add(&f, err)
			}
		}
		fmt.Fprintf(&out, "%s/%s\n", filepath.Base(filepath.Dir(file)), filepath.Base(file))
		for _, line := range tally.Lines() {
			if !strings.HasPrefix(line, "not supported") {
				fmt.Fprintf(&out, "  %s\n", line)
			}
		}
		for _, why := range slices.Sorted(maps.Keys(reasons)) {
			fmt.Fprintf(&out, "    %d  %s\n", reasons[why], why)
		}
	}
	fmt.Fprintf(&out, "all\n  %s\n", strings.Join(all.Lines(), "\n  "))
	golden.Equal(t, "testdata/traces.txt", []byte(out.String()))
}

// TestCompare: what each compiler fused that the other did not, with nodes and lines.
func TestCompare(t *testing.T) {
	r := report(t, "testdata/mlp.log.zst")
	f, err := Find(r, "", "")
	if err != nil || f.Title() != "[0/0] post-grad (forward)" {
		t.Fatal(f, err)
	}
	a := answer(TaskOf(r, f, "0"))
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	golden.Equal(t, "testdata/mlp.txt", []byte(strings.Join(Differences(&a.Lowered), "\n")+"\n"))
	for stage, want := range map[string]string{
		"joint":       "PyTorch's kernels are of the post-grad graph",
		"post_grad 2": "the trace does not say which nodes PyTorch's kernels compute",
	} {
		f, err := Find(r, "[0/0]", stage)
		if err != nil {
			t.Fatal(err)
		}
		if a := answer(TaskOf(r, f, "0")); !strings.HasPrefix(a.Lowered.Silent, want) || len(a.Lowered.Apart)+len(a.Lowered.Joined) > 0 {
			t.Errorf("%s: %+v", stage, a.Lowered)
		}
	}
}

// TestFind refuses what is not there in words.
func TestFind(t *testing.T) {
	r := report(t, "testdata/mlp.log.zst")
	many := report(t, "../../../explain/testdata/traces/pytorch-2.15/fusion_small.log.zst")
	for _, c := range []struct {
		r         *explain.Report
		id, stage string
		want      string
	}{
		{r, "7/0", "", "the trace has no graph 7/0; there are 0/0"},
		{r, "0/0", "fused", "graph 0/0 has no stage fused in the trace; it has dynamo, joint, "},
		{many, "", "", "the trace has 2 graphs: name one, 0/0, 1/0"},
		{&explain.Report{}, "", "", "the trace has no text of a graph"},
	} {
		if _, err := Find(c.r, c.id, c.stage); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %s", c.id, c.stage, err, c.want)
		}
	}
}

// TestRegrouped: nodes that several kernels compute again are no difference.
func TestRegrouped(t *testing.T) {
	none := func([]string) []logs.Pos { return nil }
	whole := []group{{"k", []string{"a", "b", "c"}}}
	for _, c := range []struct {
		parts []group
		want  string
	}{
		{[]group{{"x", []string{"a", "b", "c", "d"}}}, "[]"},
		{[]group{{"x", []string{"a", "b"}}, {"y", []string{"b", "c"}}}, "[{k [{x [a b] []} {y [c] []}]}]"},
		{[]group{{"x", []string{"a"}}, {"y", []string{"a", "b", "c"}}}, "[]"},
		{[]group{{"x", []string{"a"}}}, "[]"}, // b and c are nobody's: nothing is said of them
	} {
		if got := fmt.Sprint(regrouped(whole, c.parts, none)); got != c.want {
			t.Errorf("%v: %s, want %s", c.parts, got, c.want)
		}
	}
}

// TestComputed: a kernel of loops that arranges operands does not compute the product.
func TestComputed(t *testing.T) {
	library := map[string]bool{"mm": true}
	for _, c := range []struct{ kernel, want string }{
		{"triton_poi_fused_mm_relu_0", "[]"},
		{"triton_tem_fused_mm_relu_1", "[mm relu]"},
		{"extern_kernels.mm", "[mm]"},
		{"cpp_fused_mm_relu_2", "[]"},
	} {
		if got := fmt.Sprint(computed(explain.Launch{Kernel: c.kernel, Nodes: []string{"mm", "relu"}}, library)); got != c.want {
			t.Errorf("%s computes %s, want %s", c.kernel, got, c.want)
		}
	}
}

// TestEarlierReport: the screens hold a graph of a report that has been taken again since.
func TestEarlierReport(t *testing.T) {
	st := traces.Open(t, "testdata/mlp.log.zst")
	f := fold.New(st)
	if err := st.Read(t.Context(), f.Add); err != nil {
		t.Fatal(err)
	}
	earlier := f.Snapshot()
	f.SetLive(false)
	later := f.Snapshot()
	if earlier == later || earlier.Graphs[0] == later.Graphs[0] {
		t.Fatal("one report was taken twice")
	}
	forms := Forms(later, earlier.Graphs[0])
	if form := forms[Likely(forms, nil)]; form.Title() != "[0/0] post-grad (forward)" || TaskOf(later, &form, "0").Name != "step" {
		t.Errorf("%s of %s", form.Title(), TaskOf(later, &form, "0").Name)
	}
}
