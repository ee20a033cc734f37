package chrome

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/internal/test/golden"
)

// text is a Chrome trace as it was written.
func text(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func written(t testing.TB) []string {
	t.Helper()
	here, err := filepath.Glob("testdata/*.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob("../../explain/testdata/profile/*/*.json.gz")
	if err != nil || len(runs) < 4 || len(here) < 1 {
		t.Fatal(here, runs, err)
	}
	return append(here, runs...)
}

// What profilers of three releases wrote, on a processor and on a GPU.
func TestWritten(t *testing.T) {
	for _, path := range written(t) {
		p, err := Read(bytes.NewReader(text(t, path)))
		if err != nil {
			t.Fatal(path, err)
		}
		sound(t, path, p)
		got, err := json.MarshalIndent(p, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(path)) + "-" + strings.TrimSuffix(filepath.Base(path), ".json.gz")
		golden.Equal(t, filepath.Join("testdata", name+".golden"), append(got, '\n'))
	}
}

// sound holds what is true of every profile.
func sound(t testing.TB, path string, p *Profile) {
	t.Helper()
	var all int64
	for _, n := range p.Steps {
		all += n
	}
	q := p.Parts
	if q.Graphs < 0 || q.Lookups < 0 || q.Eager < 0 || q.Rest < 0 || q.Rest > 0 && q.Graphs+q.Lookups+q.Eager+q.Rest != all {
		t.Errorf("%s: the parts %+v are not the steps' %d", path, q, all)
	}
	for _, k := range p.Kernels {
		if k.Graph < 0 || k.Graph >= len(p.Graphs) {
			t.Errorf("%s: %+v", path, k)
		}
	}
	for _, r := range p.Regions {
		if r.Left < 0 || r.Nanos < 0 || r.Left > r.Nanos {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

// ev is an event of a made-up trace, in microseconds.
func ev(cat, name string, tid int, ts, dur float64, args string) string {
	return fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":1,"tid":%d,"ts":%g,"dur":%g,"args":{%s}}`, cat, name, tid, ts, dur, args)
}

func made(t *testing.T, events ...string) *Profile {
	t.Helper()
	p, err := Read(strings.NewReader(`{"schemaVersion":1,"traceEvents":[` + strings.Join(events, ",") + `],"traceName":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A backward pass after a break: its compiled graph is a graph's time, the rest of it is not.
func TestBackwardAfterABreak(t *testing.T) {
	p := made(t,
		ev("user_annotation", "tcdbg_step", 1, 0, 0.5, ""),
		ev("user_annotation", "tcdbg_step", 1, 100, 0.5, ""),
		ev("cpu_op", "Torch-Compiled Region: 0/0", 1, 5, 80, ""),
		ev("cpu_op", "CompiledFunction", 1, 6, 14, `"Sequence number":7`),
		ev("cpu_op", "## Call CompiledFxGraph abc ##", 1, 8, 10, ""),
		ev("cpu_op", engine+"CompiledFunctionBackward", 1, 30, 20, `"Sequence number":7`),
		ev("cpu_op", "CompiledFunctionBackward", 1, 31, 18, `"Sequence number":7`),
		ev("cpu_op", "## Call CompiledFxGraph ghi ##", 1, 32, 16, ""),
		ev("cpu_op", "aten::mm", 1, 33, 5, ""),
	)
	sound(t, "made", p)
	// After the graph (at 20) until the end (85) without the backward graph (16).
	if r := p.Regions[0]; r.Left != 49000 {
		t.Errorf("%+v", r)
	}
	if len(p.Graphs) != 2 || !p.Graphs[1].Backward || p.Graphs[1].Compile != "0/0" || p.Graphs[1].Nanos != 16000 {
		t.Errorf("%+v", p.Graphs)
	}
}

// A call whose graph breaks: each moment belongs to one thing.
func TestBreakInAStep(t *testing.T) {
	p := made(t,
		ev("user_annotation", "tcdbg_step", 1, 0, 0.5, ""),
		ev("user_annotation", "tcdbg_step", 1, 100, 0.5, ""),
		ev("cpu_op", "TorchDynamo Cache Lookup", 1, 1, 4, ""),
		ev("cpu_op", "Torch-Compiled Region: 0/1", 1, 5, 80, ""),
		ev("cpu_op", "CompiledFunction", 1, 6, 14, `"Sequence number":7`),
		ev("cpu_op", "## Call CompiledFxGraph abc ##", 1, 8, 10, ""),
		ev("cpu_op", "graph_3_cpp_fused_add_0", 1, 9, 3, ""),
		ev("cpu_op", "aten::mm", 1, 12, 5, ""),
		ev("cpu_op", "aten::resolve_conj", 1, 13, 1, ""), // within it
		ev("cpu_op", "aten::item", 1, 30, 2, ""),
		ev("cpu_op", "TorchDynamo Cache Lookup", 1, 40, 3, ""),
		ev("cpu_op", "Torch-Compiled Region: 1/0", 1, 43, 40, ""),
		ev("cpu_op", "## Call CompiledFxGraph def ##", 1, 50, 20, ""),
		ev("cpu_op", engine+"CompiledFunctionBackward", 2, 88, 8, `"Sequence number":7`),
		ev("cpu_op", "CompiledFunctionBackward", 2, 89, 6, `"Sequence number":7`),
		ev("cpu_op", "## Call CompiledFxGraph ghi ##", 2, 90, 4, ""),
		ev("cpu_op", engine+"SumBackward0", 2, 96, 2, ""),
		ev("cpu_op", "aten::late", 1, 200, 5, ""), // outside of the step
	)
	sound(t, "made", p)
	if got, want := p.Parts, (Parts{Graphs: 34000, Lookups: 7000, Eager: 4000, Rest: 55000}); got != want {
		t.Errorf("parts %+v, want %+v", got, want)
	}
	first, second := p.Regions[0], p.Regions[1]
	// After the graph (at 20) until the end (85) without the part that goes on (40).
	if first.Compile != "0/1" || first.Left != 25000 || first.Lookup != (Sum{1, 4000}) || first.Nanos != 80000 {
		t.Errorf("%+v", first)
	}
	if second.Compile != "1/0" || second.Left != 13000 || second.Lookup != (Sum{1, 3000}) {
		t.Errorf("%+v", second)
	}
	var graphs []string
	for _, g := range p.Graphs {
		graphs = append(graphs, fmt.Sprint(g.Compile, g.Backward, g.Key, g.Nanos))
	}
	if want := []string{"0/1falseabc10000", "1/0falsedef20000", "0/1trueghi4000"}; !slices.Equal(graphs, want) {
		t.Error(graphs)
	}
	if len(p.Kernels) != 2 || p.Kernels[0].Name != "cpp_fused_add_0" || p.Kernels[0].Extern || !p.Kernels[1].Extern ||
		p.Kernels[1].Nanos != 5000 {
		t.Errorf("%+v", p.Kernels)
	}
	if len(p.Eager) != 2 || p.Eager[0].Name != "aten::item" || p.Eager[0].Compile != "0/1" || p.Eager[1].Name != "SumBackward0" ||
		!p.Eager[1].Backward {
		t.Errorf("%+v %+v", p.Eager[0], p.Eager[len(p.Eager)-1])
	}
}

// Two calls with one sequence number, as of two threads, do not tell which a backward is of.
func TestBackwardOfOneOfTwo(t *testing.T) {
	p := made(t,
		ev("cpu_op", "Torch-Compiled Region: 0/0", 1, 0, 10, ""),
		ev("cpu_op", "CompiledFunction", 1, 1, 8, `"Sequence number":0`),
		ev("cpu_op", "Torch-Compiled Region: 5/0", 2, 0, 10, ""),
		ev("cpu_op", "CompiledFunction", 2, 1, 8, `"Sequence number":0`),
		ev("cpu_op", "CompiledFunctionBackward", 3, 20, 8, `"Sequence number":0`),
	)
	if i := slices.IndexFunc(p.Graphs, func(g *Graph) bool { return g.Backward }); i < 0 || p.Graphs[i].Compile != "" {
		t.Errorf("%+v", p.Graphs)
	}
}

// A GPU that waits: between the kernels of one graph nobody is to blame, after it its break is.
func TestIdleGPU(t *testing.T) {
	p := made(t,
		ev("user_annotation", "ProfilerStep#3", 1, 0, 100, ""),
		ev("cpu_op", "Torch-Compiled Region: 0/0", 1, 0, 90, ""),
		ev("cpu_op", "## Call CompiledFxGraph abc ##", 1, 1, 9, ""),
		ev("cpu_op", "triton_poi_fused_add_0", 1, 2, 2, ""),
		ev("cuda_driver", "cuLaunchKernel", 1, 3, 0.5, `"correlation":11`),
		ev("cuda_runtime", "cudaLaunchKernel", 1, 5, 1, `"correlation":12`),
		ev("cpu_op", "Torch-Compiled Region: 1/0", 1, 40, 40, ""),
		ev("cpu_op", "## Call CompiledFxGraph def ##", 1, 41, 9, ""),
		ev("cuda_runtime", "cudaLaunchKernel", 1, 45, 1, `"correlation":13`),
		ev("cuda_runtime", "cudaLaunchKernel", 1, 85, 1, `"correlation":14`), // after both, of 0/0's call
		ev("kernel", "triton_poi_fused_add_0", 7, 10, 5, `"correlation":11,"device":0,"stream":7`),
		ev("kernel", "gemm", 7, 17, 3, `"correlation":12,"device":0,"stream":7`),
		ev("kernel", "other", 8, 18, 1, `"correlation":12,"device":0,"stream":8`), // beside it
		ev("kernel", "third", 7, 50, 5, `"correlation":13,"device":0,"stream":7`),
		ev("gpu_memcpy", "Memcpy HtoD", 7, 90, 5, `"correlation":14,"device":0,"stream":7`),
		ev("kernel", "nobody's", 7, 96, 1, `"correlation":99,"device":0`),
	)
	if len(p.GPUs) != 1 || *p.GPUs[0] != (GPU{Device: 0, Busy: 18000, Idle: 67000}) || !p.Device || p.Marked != "ProfilerStep" {
		t.Fatalf("%+v", p.GPUs[0])
	}
	if r := p.Regions[0]; r.Idle != 30000 || r.Device != 14000 {
		t.Errorf("%+v", r)
	}
	if r := p.Regions[1]; r.Idle != 35000 || r.Device != 5000 {
		t.Errorf("%+v", r)
	}
	var kernels []string
	for _, k := range p.Kernels {
		kernels = append(kernels, fmt.Sprint(k.Name, " ", k.Calls, " ", k.Device))
	}
	if want := []string{"triton_poi_fused_add_0 1 5000", "gemm 1 3000", "other 1 1000", "third 1 5000"}; !slices.Equal(kernels, want) {
		t.Error(kernels)
	}
}

// A graph of which no call is marked has nothing that can be told from eager operators.
func TestUnmarkedGraph(t *testing.T) {
	p := made(t,
		ev("cpu_op", "Torch-Compiled Region: 0/0", 1, 0, 90, ""),
		ev("cpu_op", "aten::sort", 1, 2, 2, ""),
		ev("cpu_op", "graph_1_cpp_fused_gt_sum_0", 1, 5, 3, ""),
	)
	if r := p.Regions[0]; !r.Unmarked || r.Left != 0 || len(p.Eager) != 0 || !strings.Contains(fmt.Sprint(p.Problems), "have no mark") {
		t.Errorf("%+v %v %v", r, p.Eager, p.Problems)
	}
}

// Memory is counted where it is most, and by whose call.
func TestPeak(t *testing.T) {
	mem := func(ts float64, kind, bytes int) string {
		return fmt.Sprintf(`{"ph":"i","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":%g,`+
			`"args":{"Total Allocated":%d,"Device Type":%d,"Device Id":0}}`, ts, bytes, kind)
	}
	p := made(t,
		ev("user_annotation", "tcdbg_step", 1, 0, 0.5, ""),
		ev("user_annotation", "tcdbg_step", 1, 100, 0.5, ""),
		ev("cpu_op", "Torch-Compiled Region: 2/0", 1, 10, 20, ""),
		mem(5, 1, 100), mem(15, 1, 900), mem(40, 1, 300), mem(40, 0, 7), mem(300, 1, 5000),
	)
	if len(p.Peaks) != 2 || *p.Peaks[1] != (Peak{Device: "cuda:0", Bytes: 900, Compile: "2/0"}) || p.Peaks[0].Bytes != 7 {
		t.Errorf("%+v %+v", p.Peaks[0], p.Peaks[1])
	}
}

// What is no Chrome trace, or half of one, is said in words.
func TestNoTrace(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "begins with neither an object nor a list",
		`7`:                                   "begins with neither an object nor a list",
		`{}`:                                  "has no traceEvents",
		`{"traceEvents":3}`:                   "traceEvents is no list",
		`{"traceEvents":[{"ph":"X"`:           "cut off",
		`{"traceEvents":[`:                    "cut off",
		`{"traceEvents":[]`:                   "cut off",
		`{"traceEvents":[],"traceEvents":[]}`: "traceEvents twice",
		`{"a":"` + strings.Repeat("x", 9) + `" 7`: "is no Chrome trace",
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	p := made(t, `{"ph":"X","name":3}`, `7`, ev("cpu_op", "aten::add", 1, 0, -5, ""), ev("cpu_op", "aten::add", 1, 0, 5, ""))
	if len(p.Eager) != 1 || p.Eager[0].Calls != 1 || !strings.Contains(fmt.Sprint(p.Problems), "3 of its events could not be read") {
		t.Errorf("%+v %v", p.Eager, p.Problems)
	}
}

func FuzzRead(f *testing.F) {
	for _, path := range written(f) {
		if b := text(f, path); len(b) < 300_000 {
			f.Add(b)
		}
	}
	f.Add([]byte(`{"traceEvents":[` + ev("cpu_op", "Torch-Compiled Region: 0/0", 1, 0, 90, "") + `]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		sound(t, "fuzzed", p)
	})
}
