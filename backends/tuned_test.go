package backends

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/backends/autotune"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/tune"
	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// tunedRecords are the records of choices that a compile writes.
type tunedRecords struct{ list []logs.Autotuning }

func (*tunedRecords) Stack(s []logs.Frame) any { return s }

func (r *tunedRecords) Emit(o logs.Out) {
	var v struct{ Data logs.Autotuning }
	if m, ok := o.Meta.(map[string]string); ok && m["name"] == "tcdbg_autotuning" && json.Unmarshal(o.Payload, &v) == nil {
		r.list = append(r.list, v.Data)
	}
}

var tuned = modes.Options{MaxAutotune: true, CoordinateDescent: true}

// tunedIn compiles a module with candidates timed, over the cache in dir.
func tunedIn(t *testing.T, dir string, example func() (*tracer.Request, []torch.Value)) (got []torch.Value, record logs.Autotuning) {
	t.Helper()
	r, in := example()
	var records tunedRecords
	r.Log, r.Options = &records, tuned
	b, err := NewSet(Config{CacheDir: dir, Stderr: os.Stderr}).Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(records.list) != 1 {
		t.Fatalf("%d records", len(records.list))
	}
	return run(in), records.list[0]
}

// TestChoicesAreTimedAndKept: what is chosen gives the numbers of the default, and the next process times nothing.
func TestChoicesAreTimedAndKept(t *testing.T) {
	needCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	example := func() (*tracer.Request, []torch.Value) {
		m, in := softmaxModule()
		return &tracer.Request{Module: m, Example: in}, in
	}
	r, in := example()
	b, err := NewSet(Config{CacheDir: dir}).Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	plain, err := b.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	want := plain(in)
	for _, cached := range []bool{false, true} {
		got, record := tunedIn(t, dir, example)
		if err := alike(want, got); err != nil {
			t.Error(err)
		}
		if record.Cached != cached || record.Default == 0 || record.Graph == "" {
			t.Errorf("%+v", record)
		}
		compiler := func(x logs.Tuning) bool { return x.What == "compiler" }
		if record.Ended == "" && !slices.ContainsFunc(record.Tables, compiler) {
			t.Errorf("-O2 was not tried: %+v", record.Tables)
		}
	}
	notes, _ := filepath.Glob(filepath.Join(dir, "tuned-*.json"))
	if len(notes) != 1 {
		t.Fatalf("notes: %v", notes)
	}
	if err := os.WriteFile(notes[0], []byte("00\n{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, record := tunedIn(t, dir, example); record.Cached {
		t.Error("a note that was changed is used")
	}
}

// convolved is two convolutions, a pool and a product.
func convolved() (*graph.Module, []torch.Value) {
	g := newTestGraph("convolved")
	x := g.input(filled(ops.Float32, 1, 2, 32, 12, 12))
	first, second := g.param(filled(ops.Float32, 2, 48, 32, 3, 3)), g.param(filled(ops.Float32, 3, 40, 48, 1, 1))
	w, bias := g.param(filled(ops.Float32, 4, 70, 40)), g.param(filled(ops.Float32, 5, 70))
	conv := func(x, w ops.Value, pad int) ops.Value {
		return g.Emit(ops.Relu, g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1)))
	}
	y := conv(conv(x, first, 1), second, 0)
	y = g.Emit(ops.Reshape, g.Emit(ops.AdaptiveAvgPool2d, y, ints(1, 1)), ints(2, 40))
	return g.outputs(g.Emit(ops.Linear, y, w, bias)), g.in
}

// TestRunsAreObeyed: however many threads and tiles a kernel is told to take, its numbers are the same.
func TestRunsAreObeyed(t *testing.T) {
	needCompiler(t)
	for name, module := range map[string]func() (*graph.Module, []torch.Value){"convolved": convolved, "softmax": softmaxModule} {
		m, in := module()
		x, _ := programAndRun(t, m, in)
		want := x.run(in)
		for _, run := range []autotune.Run{
			{Threads: 1}, {Threads: 2}, {Threads: 999}, {Rows: 1, Cols: 1}, {Threads: 1, Rows: 12, Cols: 99}, {Rows: 99, Cols: 4},
		} {
			runs := make([]autotune.Run, len(x.kernels()))
			for i := range runs {
				runs[i] = run
			}
			x.choose(runs)
			got := x.run(in)
			for i := range want {
				if d := want[i].(*torch.Tensor).Sub(got[i].(*torch.Tensor)).Abs().Max().Item(); d != 0 {
					t.Errorf("%s, %+v: off by %v", name, run, d)
				}
			}
		}
	}
}

// formCase is a convolution between two others, so that its images can lie in blocks.
type formCase struct {
	images, in, out, high, wide int
	kernel, step, pad, dilation [2]int
}

var formCases = []formCase{
	{2, 32, 48, 12, 12, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
	{1, 16, 16, 5, 9, [2]int{3, 3}, [2]int{1, 1}, [2]int{0, 0}, [2]int{1, 1}},
	{3, 8, 72, 2, 2, [2]int{3, 3}, [2]int{1, 1}, [2]int{1, 1}, [2]int{1, 1}},
	{2, 24, 20, 11, 7, [2]int{3, 3}, [2]int{2, 2}, [2]int{1, 1}, [2]int{1, 1}},
	{1, 5, 33, 17, 13, [2]int{5, 5}, [2]int{2, 1}, [2]int{2, 1}, [2]int{1, 1}},
	{2, 3, 64, 20, 20, [2]int{7, 7}, [2]int{2, 2}, [2]int{3, 3}, [2]int{1, 1}},
	{2, 16, 40, 9, 9, [2]int{3, 3}, [2]int{1, 1}, [2]int{2, 2}, [2]int{2, 2}},
	{2, 40, 70, 6, 5, [2]int{1, 1}, [2]int{1, 1}, [2]int{0, 0}, [2]int{1, 1}},
	{2, 32, 16, 7, 7, [2]int{1, 1}, [2]int{2, 2}, [2]int{0, 0}, [2]int{1, 1}},
	{1, 17, 19, 8, 30, [2]int{1, 3}, [2]int{1, 1}, [2]int{0, 1}, [2]int{1, 1}},
}

func (c formCase) module() (*graph.Module, []torch.Value) {
	g := newTestGraph("forms")
	x := g.input(filled(ops.Float32, 1, c.images, 16, c.high, c.wide))
	conv := func(x ops.Value, seed, in, out int, kernel, step, pad, dilation [2]int) ops.Value {
		w := g.param(filled(ops.Float32, seed, out, in, kernel[0], kernel[1]))
		y := g.Emit(ops.Convolution, x, w, nil, ints(step[:]...), ints(pad[:]...), ints(dilation[:]...), false, ints(0, 0), sym.C(1))
		return g.Emit(ops.Relu, y)
	}
	one, none := [2]int{1, 1}, [2]int{0, 0}
	y := conv(x, 2, 16, c.in, one, one, none, one)
	y = conv(y, 3, c.in, c.out, c.kernel, c.step, c.pad, c.dilation)
	return g.outputs(conv(y, 4, c.out, 16, one, one, none, one)), g.in
}

// TestEveryFormComputesTheSame: convolutions in each form and layout that they can be given.
func TestEveryFormComputesTheSame(t *testing.T) {
	needCompiler(t)
	e := NewSet(Config{CacheDir: sharedCache}).engine()
	tried := map[string]int{}
	for _, c := range test.Some(t, 3, formCases) {
		m, in := c.module()
		built := func(choices tune.Choices) *executable {
			opt := inductor.Options{Params: paramInputs(m.G, nil, nil), Tuned: choices}
			x, err := e.compiled(m.G, &tracer.Request{Module: m, Example: in}, opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.load(x, &tracer.Request{}); err != nil {
				t.Fatal(err)
			}
			return x
		}
		want := built(tune.Choices{}).run(in)
		for _, layout := range []string{tune.LayoutPlanes, tune.LayoutBlocks} {
			for _, p := range built(tune.Choices{Layout: layout}).prog.Products {
				for _, form := range p.Forms {
					x := built(tune.Choices{Layout: layout, Forms: map[string]int{p.Key: form}})
					i := slices.IndexFunc(x.prog.Products, func(q tune.Product) bool { return q.Kernel == p.Kernel })
					if x.prog.Products[i].Form != form {
						t.Errorf("%s %s is not in form %d", layout, p.Key, form)
					}
					if err := alike(want, x.run(in)); err != nil {
						t.Errorf("%s, %s in form %d: %v", layout, p.Key, form, err)
					}
					tried[cpp.FormName(form)]++
				}
			}
		}
	}
	if len(tried) < 4 {
		t.Errorf("forms tried: %v", tried)
	}
}

// TestNoCompilerChoosesNothing, and says so.
func TestNoCompilerChoosesNothing(t *testing.T) {
	m, in := softmaxModule()
	var said strings.Builder
	b, err := NewSet(Config{CacheDir: t.TempDir(), CC: "none", Stderr: &said}).Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	run, err := b.Compile(&tracer.Request{Module: m, Example: in, Options: tuned})
	if err != nil {
		t.Fatal(err)
	}
	if run(in) == nil || !strings.Contains(said.String(), "max-autotune: without a C compiler there is nothing to choose from") {
		t.Errorf("said %q", said.String())
	}
}
