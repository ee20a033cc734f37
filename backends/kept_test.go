package backends

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/backends/codecache"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// everyRecord keeps the records of a compile as a trace has them, without the times of phases.
type everyRecord struct {
	list  []string
	timed int // passes of the inductor that tell how long they took
}

func (*everyRecord) Stack(f []logs.Frame) any { return f }

func (e *everyRecord) Emit(o logs.Out) {
	meta, err := json.Marshal(o.Meta)
	if err != nil {
		panic(err)
	}
	switch {
	case o.Kind == "chromium_event":
		o.Payload = timeOf.ReplaceAll(o.Payload, nil)
	case strings.Contains(string(meta), "tcdbg_pass_step"):
		if bytes.Contains(o.Payload, []byte(`"stage":"inductor"`)) && !bytes.HasSuffix(o.Payload, []byte(`,"us":0}}`)) {
			e.timed++
		}
		o.Payload = tookOf.ReplaceAll(o.Payload, nil)
	}
	e.list = append(e.list, fmt.Sprintf("%s %+v %s %s\n%s", o.Kind, o.ID, meta, o.Place, o.Payload))
}

var (
	timeOf = regexp.MustCompile(`"ts":\d+`)
	tookOf = regexp.MustCompile(`"us":\d+`)
)

// has reports whether a record's text has a word in it.
func (e *everyRecord) has(word string) bool {
	return slices.ContainsFunc(e.list, func(s string) bool { return strings.Contains(s, word) })
}

// keptGraphs are graphs with products, convolutions, calls of operators, prologues and a network.
func keptGraphs() map[string]func() (*graph.Module, []torch.Value) {
	return map[string]func() (*graph.Module, []torch.Value){
		"bar": barModule, "chain": chain, "scaled": scaled, "sorted": sortedTwice,
		"mobilenet": func() (*graph.Module, []torch.Value) { return mobilenet(1, 32) },
	}
}

// sortedTwice has calls of an operator between kernels, and a result that is no tensor of a kernel.
func sortedTwice() (*graph.Module, []torch.Value) {
	g := newTestGraph("sorted_twice")
	x := g.input(filled(ops.Float32, 1, 16, 16))
	first := g.EmitN(ops.Sort, g.Emit(ops.Neg, x))
	second := g.EmitN(ops.Sort, g.Emit(ops.Exp, first[0]))
	return g.outputs(second[0], first[1], x), g.in
}

// keptSet is the backends of a process whose cache is in dir; said is what it warns of.
func keptSet(t *testing.T, dir string) (b *inductorBackend, said *bytes.Buffer) {
	t.Helper()
	needCompiler(t)
	said = &bytes.Buffer{}
	return &inductorBackend{NewSet(Config{CacheDir: dir, Threads: 2, Stderr: said})}, said
}

// plansIn are the plans that a cache holds.
func plansIn(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "plan-*.plan"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFoundIsAsCompiled: a graph that is found before it is compiled gives the same results, bit for bit, and the same records
// in the same order, but for the one that says where its code came from.
func TestFoundIsAsCompiled(t *testing.T) {
	for name, module := range keptGraphs() {
		t.Run(name, func(t *testing.T) {
			dir := seeded(t)
			compile := func(lowered int64) (*everyRecord, []torch.Value) {
				b, said := keptSet(t, dir)
				m, in := module()
				e := &everyRecord{}
				run, err := b.Compile(&tracer.Request{Module: m, Example: in, Log: e, ID: logs.CompileID{Frame: 3}})
				if err != nil {
					t.Fatal(err)
				}
				out := run(in)
				if name != "mobilenet" { // of which random weights make much of rounding
					if err := sameValues(out, m.Run(in), 1e-4); err != nil {
						t.Error(err)
					}
				}
				pure := lowered
				if name == "sorted" { // one result is an input: aot does something after a run
					pure = 1
				}
				if said.Len() > 0 || b.set.lowered.Load() != lowered || b.set.pure.Load() != pure {
					t.Errorf("%d graphs were made pure, %d lowered; it said %s", b.set.pure.Load(), b.set.lowered.Load(), said)
				}
				return e, out
			}
			cold, want := compile(1)
			if plansIn(t, dir) == nil || !cold.has("fx_graph_cache_miss") {
				t.Fatal("nothing was kept")
			}
			warm, got := compile(0)
			for i := range min(len(cold.list), len(warm.list)) {
				a, b := cold.list[i], warm.list[i]
				if strings.Contains(a, "fx_graph_cache_miss") {
					b = strings.Replace(b, "fx_graph_cache_hit", "fx_graph_cache_miss", 1)
				}
				if a != b {
					t.Fatalf("record %d is\n%.2000s\nand was\n%.2000s", i, b, a)
				}
			}
			if warm.timed != 0 || name == "mobilenet" && cold.timed == 0 {
				t.Errorf("%d passes tell how long they took, and did not run; %d did", warm.timed, cold.timed)
			}
			if len(cold.list) != len(warm.list) || !warm.has("inductor_output_code") || !warm.has("tcdbg_fusion") ||
				!warm.has("aot_inference_graph") {
				t.Errorf("%d records, and were %d", len(warm.list), len(cold.list))
			}
			for i := range want {
				a, b := want[i].(*torch.Tensor), got[i].(*torch.Tensor)
				if !slices.Equal(a.Storage().Bytes(), b.Storage().Bytes()) {
					t.Errorf("result %d differs", i)
				}
			}
		})
	}
}

// TestFoundByWhatMatters: another option, graph, machine or build finds nothing, and the same everything.
func TestFoundByWhatMatters(t *testing.T) {
	dir := seeded(t)
	b, _ := keptSet(t, dir)
	e := b.set.engine()
	key := func(e *engine, o modes.Options, log logs.Sink, change func(m *graph.Module)) string {
		m, _ := chain()
		if change != nil {
			change(m)
		}
		r := &tracer.Request{Module: m, Options: o, Log: log}
		k := e.keeping(m.G, r, e.asked(r, optionsFor(m)))
		if k == nil {
			return ""
		}
		return strings.Join(k.parts, "\x00")
	}
	plain := key(e, modes.Options{}, nil, nil)
	if plain == "" || plain != key(e, modes.Options{}, nil, nil) {
		t.Fatal("the same graph has another key, or none")
	}
	with := func(change func(e *engine)) string {
		x := &engine{set: e.set, cpu: e.cpu, lanes: e.lanes, cc: e.cc, cache: e.cache, rt: e.rt}
		change(x)
		return key(x, modes.Options{}, nil, nil)
	}
	if with(func(*engine) {}) != plain {
		t.Fatal("another engine of the same machine has another key")
	}
	for name, k := range map[string]string{
		"records":        key(e, modes.Options{}, &everyRecord{}, nil),
		"option":         key(e, modes.Options{NoEpilogueFusion: true}, nil, nil),
		"flag":           key(e, modes.Options{Contract: "fast"}, nil, nil),
		"shards":         key(e, modes.Options{CompileThreads: 7}, nil, nil),
		"name":           key(e, modes.Options{}, nil, func(m *graph.Module) { m.G.Name = "other" }),
		"parameter":      key(e, modes.Options{}, nil, func(m *graph.Module) { m.G.Placeholders()[1].Source = "L.w" }),
		"lanes":          with(func(e *engine) { e.lanes /= 2 }),
		"products":       with(func(e *engine) { e.rt = &runtimeLib{bfloat: hasTiles} }),
		"cache":          with(func(e *engine) { e.cpu.Cache++ }),
		"compiler":       with(func(e *engine) { e.cc = &compiler{id: "another"} }),
		"instructions":   with(func(e *engine) { e.cpu.Flags += " more" }),
		"without caches": key(e, modes.Options{NoCodeCache: true}, nil, nil),
	} {
		if k == plain || k == "" && name != "without caches" {
			t.Errorf("%s: the key is %d bytes, and is the same: %v", name, len(k), k == plain)
		}
	}
	if id := buildID(); len(id) < 32 || !strings.Contains(plain, id) {
		t.Errorf("the build %q is no part of the key", id)
	}
}

// TestDamagedPlans: a plan that is cut, changed or of another form is not used and made again, which is said once; one whose
// code is gone is made again without a word.
func TestDamagedPlans(t *testing.T) {
	dir := seeded(t)
	try := func() (said string, lowered int64, e *everyRecord) {
		b, out := keptSet(t, dir)
		m, in := chain()
		e = &everyRecord{}
		run, err := b.Compile(&tracer.Request{Module: m, Example: in, Log: e})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
			t.Fatal(err)
		}
		return out.String(), b.set.lowered.Load(), e
	}
	_, _, want := try()
	again := func(name string, said int, lowered int64) {
		t.Helper()
		got, n, e := try()
		if strings.Count(got, "\n") != said || said > 0 && !strings.Contains(got, "it is made again") || n != lowered {
			t.Errorf("%s: it said %q, %d graphs were lowered", name, got, n)
		}
		if len(e.list) != len(want.list) {
			t.Errorf("%s: %d records, not %d", name, len(e.list), len(want.list))
		}
		if got, n, _ := try(); got != "" || n != 0 {
			t.Errorf("%s: then it said %q", name, got)
		}
	}
	files := plansIn(t, dir)
	if len(files) != 2 {
		t.Fatalf("%d plans", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lowered := int64(1)
		if filepath.Base(file) == capturedPlan(t, dir) { // then the pure graph is found
			lowered = 0
		}
		for i := range 6 {
			damaged := bytes.Clone(text)
			if i < 4 {
				damaged[i*len(text)/4] ^= 4
			} else {
				damaged = damaged[:len(text)*(i-3)/3]
			}
			if err := errors.Join(os.Remove(file), os.WriteFile(file, damaged, 0o600)); err != nil {
				t.Fatal(err)
			}
			again(fmt.Sprint("damage ", i), 1, lowered)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		again("no plan", 0, lowered)
	}
	code, err := filepath.Glob(filepath.Join(dir, "graph-*.so"))
	if err != nil || len(code) != 1 {
		t.Fatal(code, err)
	}
	if err := os.Remove(code[0]); err != nil {
		t.Fatal(err)
	}
	again("no code", 0, 1)
}

// capturedPlan is the name of the plan that chain's captured graph is found by.
func capturedPlan(t *testing.T, dir string) string {
	t.Helper()
	b, _ := keptSet(t, dir)
	m, in := chain()
	r := &tracer.Request{Module: m, Example: in, Log: &everyRecord{}}
	return codecache.Name(codecache.Plan, b.set.engine().capturing(r, aotRequest(r)).sum)
}

// TestCapturedIsFoundByWhatMatters: another option, graph, machine, or which inputs change finds nothing, and what has more to
// it than its graph is not looked for.
func TestCapturedIsFoundByWhatMatters(t *testing.T) {
	b, _ := keptSet(t, seeded(t))
	e := b.set.engine()
	key := func(e *engine, change func(r *tracer.Request)) string {
		m, in := chain()
		r := &tracer.Request{Module: m, Example: in}
		change(r)
		k := e.capturing(r, aotRequest(r))
		if k == nil {
			return ""
		}
		return strings.Join(k.parts, "\x00")
	}
	as := func(*tracer.Request) {}
	plain := key(e, as)
	if plain == "" || plain != key(e, as) {
		t.Fatal("the same graph has another key, or none")
	}
	lanes := &engine{set: e.set, cpu: e.cpu, lanes: e.lanes / 2, cc: e.cc, cache: e.cache, rt: e.rt}
	for name, k := range map[string]string{
		"records":  key(e, func(r *tracer.Request) { r.Log = &everyRecord{} }),
		"option":   key(e, func(r *tracer.Request) { r.Options.NoEpilogueFusion = true }),
		"patterns": key(e, func(r *tracer.Request) { r.Options.NoPatterns = true }),
		"name":     key(e, func(r *tracer.Request) { r.Module.G.Name = "other" }),
		"changing": key(e, func(r *tracer.Request) {
			r.Changing = map[string]bool{r.Module.G.Placeholders()[0].Source: true}
		}),
		"lanes": key(lanes, as),
	} {
		if k == "" || k == plain {
			t.Errorf("%s: the key is %d bytes, and is the same: %v", name, len(k), k == plain)
		}
	}
	for name, k := range map[string]string{
		"gradients":      key(e, func(r *tracer.Request) { r.Example[0].(*torch.Tensor).RequiresGrad_() }),
		"without caches": key(e, func(r *tracer.Request) { r.Options.NoCodeCache = true }),
		"timing":         key(e, func(r *tracer.Request) { r.Mode = "max-autotune" }),
		"assertions":     key(e, func(r *tracer.Request) { r.Options.NaNAsserts = true }),
	} {
		if k != "" {
			t.Errorf("%s: it is looked for", name)
		}
	}
}

// TestWritesAreNotFound: what aot makes of a graph that writes an input depends on which memory the inputs show, which no key
// has in it. It may write what it has made.
func TestWritesAreNotFound(t *testing.T) {
	dir := seeded(t)
	for i := range 2 {
		b, _ := keptSet(t, dir)
		g := newTestGraph("writes")
		x, y := g.input(filled(ops.Float32, 1, 16)), g.input(filled(ops.Float32, 1, 16))
		g.Emit(ops.InPlace(ops.Neg), x)
		m := g.outputs(g.Emit(ops.Exp, y))
		inner := newTestGraph("writes_what_it_made")
		z := inner.Emit(ops.Exp, inner.input(filled(ops.Float32, 1, 16)))
		inner.Emit(ops.InPlace(ops.Neg), z)
		for k, g := range []*testGraph{g, inner} {
			m := m
			if k == 1 {
				m = g.outputs(z)
			}
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			if err := sameValues(run(g.in), m.Run(g.in), 1e-5); k == 1 && err != nil {
				t.Error(err)
			}
		}
		if n := b.set.pure.Load(); n != int64(2-i) {
			t.Errorf("round %d: %d graphs were made pure", i, n)
		}
	}
}

// rowNumbers is a tensor of them.
func rowNumbers(list ...int64) *torch.Tensor {
	t := filled(ops.Int64, 1, len(list))
	for i, v := range list {
		binary.LittleEndian.PutUint64(t.Storage().Bytes()[8*i:], uint64(v))
	}
	return t
}

// TestFoundCapturedRefuses: a program that was found by its captured graph has its operators refuse data as the graph does.
func TestFoundCapturedRefuses(t *testing.T) {
	dir := seeded(t)
	for i := range 2 {
		b, _ := keptSet(t, dir)
		g := newTestGraph("refuses")
		x := g.input(filled(ops.Float32, 1, 4, 8))
		y := g.Emit(ops.IndexSelect, x, sym.C(0), g.input(rowNumbers(1, 3)))
		m := g.outputs(g.Emit(ops.Exp, y))
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		if b.set.pure.Load() != int64(1-i) {
			t.Errorf("round %d: %d graphs were made pure", i, b.set.pure.Load())
		}
		refused := func(run func([]torch.Value) []torch.Value) (said any) {
			defer func() { said = recover() }()
			run([]torch.Value{g.in[0], rowNumbers(1, 4)})
			return nil
		}
		if got, want := refused(run), refused(m.Run); want == nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("round %d: %v, not %v", i, got, want)
		}
	}
}

// TestPlansAreRead: what is well sealed and no plan is refused by its parts.
func TestPlansAreRead(t *testing.T) {
	b, _ := keptSet(t, seeded(t))
	m, _ := chain()
	e := b.set.engine()
	r := &tracer.Request{Module: m, Log: &everyRecord{}}
	_, k, err := e.foundOrCompiled(m.G, r, optionsFor(m))
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.compiled(m.G, r, optionsFor(m))
	if err != nil {
		t.Fatal(err)
	}
	content, payloads, ok := k.written(x.prog, [32]byte{1})
	if !ok {
		t.Fatal("it is not written")
	}
	if sum, _, records, err := readKept(content, len(payloads)); err != nil || sum[0] != 1 || len(records) != len(k.said.list) {
		t.Errorf("%d of %d records: %v", len(records), len(k.said.list), err)
	}
	if _, _, _, err := readKept(content, len(payloads)+1); err == nil {
		t.Error("a byte that is no record's is taken")
	}
	for n := 0; n < len(content); n += max(1, len(content)/500) {
		if _, _, _, err := readKept(content[:n], len(payloads)); err == nil {
			t.Errorf("%d of %d bytes are a plan", n, len(content))
		}
		changed := bytes.Clone(content)
		changed[n] ^= 0x80
		_, _, _, _ = readKept(changed, len(payloads)) // it may be another text, but nothing that ends the process
	}
}

// TestFoundKernelsAreWatched: a debugger is told of the kernels of a program that was found, with what they read and write.
func TestFoundKernelsAreWatched(t *testing.T) {
	needCompiler(t)
	dir := seeded(t)
	for i := range 2 {
		w := &witness{on: true}
		set, run, in := timedProgramWith(t, Config{CacheDir: dir, Threads: 2}, w)
		if n := set.lowered.Load(); n != int64(1-i) {
			t.Errorf("compiled %d times", n)
		}
		run(in)
		if want := []string{"fused_exp_tan_sin_0", "fused_neg_1", "extern_sort_2"}; len(w.before) < 4 ||
			!slices.Equal(w.before[:3], want) || !slices.Equal(w.before, w.after) {
			t.Errorf("before %v, after %v", w.before, w.after)
		}
	}
}

// optionsFor are those of inference of a module.
func optionsFor(m *graph.Module) inductor.Options {
	return inductor.Options{Params: paramInputs(m.G, nil, nil)}
}
