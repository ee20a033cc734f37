package backends

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/aot"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/internal/test"
	"tcdbg/internal/test/progfuzz"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// keptRecords are the payloads of a compile by kind, artifacts by their name.
type keptRecords map[string]string

func (keptRecords) Stack(f []logs.Frame) any { return f }

func (k keptRecords) Emit(o logs.Out) {
	name := o.Kind
	if m, ok := o.Meta.(map[string]string); ok && m["name"] != "" {
		name = m["name"]
	}
	k[name] += string(o.Payload)
}

// bytesOfArena is what the memory plan says.
func (k keptRecords) bytesOfArena(t *testing.T) int64 {
	var v struct{ Data logs.MemoryPlan }
	if err := json.Unmarshal([]byte(k["tcdbg_memory_plan"]), &v); err != nil {
		t.Fatal(err)
	}
	return v.Data.ArenaBytes
}

// chain is a graph of products, whose results are dead one after the other, with a weight.
func chain() (*graph.Module, []torch.Value) {
	g := newTestGraph("chain")
	x, w := g.input(filled(ops.Float32, 1, 32, 32)), g.param(filled(ops.Float32, 2, 32, 32))
	y := ops.Value(x)
	for range 4 {
		y = g.Emit(ops.Softmax, g.Emit(ops.Mm, y, w), sym.C(1))
	}
	return g.outputs(y), g.in
}

// scaled is a graph with a convolution whose channels are scaled, as a normalisation does in evaluation.
func scaled() (*graph.Module, []torch.Value) {
	g := newTestGraph("scaled")
	x, w := g.input(filled(ops.Float32, 1, 1, 8, 8, 8)), g.param(filled(ops.Float32, 2, 8, 8, 3, 3))
	one := []sym.Int{sym.C(1), sym.C(1)}
	y := g.Emit(ops.Convolution, x, w, nil, one, one, one, false, []sym.Int{sym.C(0), sym.C(0)}, sym.C(1))
	s := g.param(filled(ops.Float32, 3, 8))
	y = g.Emit(ops.Mul, y, g.Emit(ops.View, s, []sym.Int{sym.C(8), sym.C(1), sym.C(1)}))
	return g.outputs(y), g.in
}

// compiledWith compiles a module with options and holds its results against eager ones.
func compiledWith(t *testing.T, o modes.Options, module func() (*graph.Module, []torch.Value)) keptRecords {
	t.Helper()
	m, in := module()
	records := keptRecords{}
	run, err := inductorAt(t, 8).Compile(&tracer.Request{Module: m, Example: in, Options: o, Log: records})
	if err != nil {
		t.Fatal(err)
	}
	want := m.Run(in)
	for range 2 {
		if err := sameValues(run(in), want, 1e-4); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	return records
}

// TestOptionsOfMemoryAndPatterns: an option that is off leaves out what it names, and the numbers stay.
func TestOptionsOfMemoryAndPatterns(t *testing.T) {
	test.Long(t, "each option compiles the graph once more")
	plain, apart := compiledWith(t, modes.Options{}, chain), compiledWith(t, modes.Options{NoReuse: true}, chain)
	if a, b := plain.bytesOfArena(t), apart.bytesOfArena(t); a >= b {
		t.Errorf("an arena of %d bytes, without reuse %d", a, b)
	}
	code := func(k keptRecords) string { return k["inductor_output_code"] }
	folded, unfolded := compiledWith(t, modes.Options{}, scaled), compiledWith(t, modes.Options{NoPatterns: true}, scaled)
	if code(folded) == code(unfolded) {
		t.Errorf("pattern_matcher changes nothing of\n%s", code(folded))
	}
	narrow, wide := compiledWith(t, modes.Options{SIMDBits: 128}, chain), compiledWith(t, modes.Options{SIMDBits: 256}, chain)
	if code(narrow) == code(wide) || code(wide) != code(plain) {
		t.Error("cpp.simdlen does not say how wide vectors are")
	}
	m, in := chain()
	_, err := inductorAt(t, 4).Compile(&tracer.Request{Module: m, Example: in, Options: modes.Options{SIMDBits: 256}})
	if err == nil || !strings.Contains(err.Error(), "this machine has 128") {
		t.Errorf("vectors that are wider than the machine's: %v", err)
	}
}

// TestPatternsOfGraphs: without pattern_matcher no row of the table of pure graphs that goes by patterns changes anything.
func TestPatternsOfGraphs(t *testing.T) {
	for _, plain := range []bool{false, true} {
		g := newTestGraph("slices")
		x, y := g.input(filled(ops.Float32, 1, 6)), g.input(filled(ops.Float32, 2, 6))
		part := func(v ops.Value, from int) ops.Value {
			return g.Emit(ops.Slice, v, sym.C(0), sym.C(from), sym.C(from+3), sym.C(1))
		}
		sum := func(from int) ops.Value { return g.Emit(ops.Add, part(x, from), part(y, from)) }
		m := g.outputs(g.Emit(ops.Sin, sum(0)), g.Emit(ops.Cos, sum(3)))
		n := 0
		_, err := aot.Compile(&aot.Request{Graph: m.G, Example: g.in, NoPatterns: plain, Compile: func(p aot.Part) (aot.Runnable, error) {
			n = strings.Count(strings.Join(p.Graph.OpNames(), " "), "add")
			return p.Graph.Run, nil
		}})
		if want := map[bool]int{false: 1, true: 2}[plain]; err != nil || n != want {
			t.Errorf("without patterns %t: %d sums, want %d (%v)", plain, n, want, err)
		}
	}
}

// TestInPlaceBuffers: without them the result of an update lies apart from the argument until it is copied there.
func TestInPlaceBuffers(t *testing.T) {
	needCompiler(t)
	for _, on := range []bool{true, false} {
		prog, err := loadText(t, progfuzz.ModelPrelude+fmt.Sprintf(`
func main() {
	c := torch.Compile(func(p *torch.Tensor) { p.Mul_(2) }, kw.Options(map[string]any{"inplace_buffers": %t}))
	for range 2 {
		p := torch.Arange(3)
		c(p)
		fmt.Println(p)
	}
}`, on))
		if err != nil {
			t.Fatal(err)
		}
		sink := &codeSink{}
		got, exit, stderr := runLogged(prog, NewSet(Config{CacheDir: sharedCache, Lanes: 8, Threads: 2}), "inductor", sink)
		if exit != 0 || strings.Count(got, "tensor([0, 2, 4])") != 2 {
			t.Errorf("exit %d\n%s%s", exit, got, stderr)
		}
		if n := strings.Count(sink.text[0], ", in place of "); n > 0 != on {
			t.Errorf("inplace_buffers %t: %d buffers in place in\n%s", on, n, sink.text[0])
		}
	}
}

// TestOptionsOfCalls: a limit of threads, weights that are taken not to change, a search for NaN.
func TestOptionsOfCalls(t *testing.T) {
	b := inductorAt(t, 8).(*inductorBackend)
	m, in := chain()
	r := &tracer.Request{Module: m, Example: in, Options: modes.Options{Threads: 1}}
	x, err := b.set.engine().compile(m.G, r, inductor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range x.chosen {
		if c.threads != 1 {
			t.Errorf("slot %d runs on %d threads", i, c.threads)
		}
	}
	if err := sameValues(x.run(in), m.Run(in), 1e-4); err != nil || len(x.chosen) == 0 {
		t.Error(err, len(x.chosen))
	}
	for _, frozen := range []bool{false, true} {
		m, in := scaled()
		run, err := b.Compile(&tracer.Request{Module: m, Example: in, Options: modes.Options{Freezing: frozen}})
		if err != nil {
			t.Fatal(err)
		}
		old := run(in)
		in[1].(*torch.Tensor).Mul_(2)
		want := m.Run(in)
		if frozen {
			want = old
		}
		if err := sameValues(run(in), want, 1e-4); err != nil {
			t.Errorf("freezing %t: %v", frozen, err)
		}
	}
	for i, what := range []string{"argument l_x0_ of graph", "result 0 of graph"} {
		g := newTestGraph("nan")
		v := g.input(torch.Zeros(3))
		m := g.outputs(g.Emit(ops.Log, g.Emit(ops.Sub, v, float64(i), sym.C(1))))
		run, err := b.Compile(&tracer.Request{Module: m, Example: g.in, Options: modes.Options{NaNAsserts: true}})
		if err != nil {
			t.Fatal(err)
		}
		in := []torch.Value{torch.Tensor{}}
		if in[0] = torch.Zeros(3); i == 0 {
			in[0] = torch.Zeros(3).Log().Mul(0)
		}
		said := func() (said string) {
			defer func() { said = fmt.Sprint(recover()) }()
			run(in)
			return ""
		}()
		if !strings.Contains(said, what) || !strings.Contains(said, "holds NaN (option nan_asserts)") {
			t.Errorf("%q, want %q", said, what)
		}
	}
}

// TestCacheOptions: force_disable_caches goes before what else is said of caches.
func TestCacheOptions(t *testing.T) {
	for _, c := range []struct {
		asked        map[string]any
		code, tuning bool
	}{
		{map[string]any{}, true, true},
		{map[string]any{"fx_graph_cache": false}, false, true},
		{map[string]any{"autotune_local_cache": false}, true, false},
		{map[string]any{"force_disable_caches": true, "fx_graph_cache": true, "autotune_local_cache": true}, false, false},
		{map[string]any{"force_disable_caches": false, "fx_graph_cache": false}, false, true},
	} {
		o, err := modes.ParseOptions(c.asked)
		if err != nil {
			t.Fatal(err)
		}
		if o.CachesCode() != c.code || o.KeepsTuning() != c.tuning {
			t.Errorf("%v: code %v, tuning %v", c.asked, o.CachesCode(), o.KeepsTuning())
		}
	}
}

// TestOptionsOfBuilds: flags are part of the cache's key, the cache is left alone, and the log goes to standard error.
func TestOptionsOfBuilds(t *testing.T) {
	needCompiler(t)
	keys := map[string]string{}
	for name, o := range map[string]modes.Options{"default": {}, "fast": {Contract: "fast"}, "on": {Contract: "on"}} {
		k := compiledWith(t, o, chain)
		key := k["fx_graph_cache_miss"] + k["fx_graph_cache_hit"]
		if old, there := keys[key]; there {
			t.Errorf("%s and %s have one key", name, old)
		}
		keys[key] = name
	}
	compiledWith(t, modes.Options{}, chain)
	for range 2 {
		if k := compiledWith(t, modes.Options{NoCodeCache: true}, chain); k["fx_graph_cache_hit"] != "" || k["fx_graph_cache_miss"] == "" {
			t.Errorf("without the cache: hit %q, miss %q", k["fx_graph_cache_hit"], k["fx_graph_cache_miss"])
		}
	}
	var said bytes.Buffer
	b, err := NewSet(Config{CacheDir: sharedCache, Threads: 2, Stderr: &said}).Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	m, in := chain()
	if _, err := b.Compile(&tracer.Request{Module: m, Example: in, Options: modes.Options{Debug: true}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"[__output_code]", "[__fusion]", "[__schedule]"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %s in the log:\n%.2000s", want, said.String())
		}
	}
}

// TestOptionsOfTuning: products alone, all else alone, and nothing kept.
func TestOptionsOfTuning(t *testing.T) {
	test.Long(t, "each option runs a search of its own")
	needCompiler(t)
	dir := filepath.Join(t.TempDir(), "cache")
	record := func(o modes.Options) logs.Autotuning {
		m, in := chain()
		var records tunedRecords
		b, err := NewSet(Config{CacheDir: dir, Threads: 2, Stderr: t.Output()}).Get("inductor")
		if err != nil {
			t.Fatal(err)
		}
		run, err := b.Compile(&tracer.Request{Module: m, Example: in, Options: o, Log: &records})
		if err != nil {
			t.Fatal(err)
		}
		if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
			t.Error(err)
		}
		if len(records.list) != 1 {
			t.Fatalf("%+v: %d records", o, len(records.list))
		}
		return records.list[0]
	}
	for _, o := range []modes.Options{{TuneProducts: true, ForgetTuning: true}, {TunePointwise: true, ForgetTuning: true}} {
		for range 2 {
			r := record(o)
			if r.Cached {
				t.Errorf("%+v: the choices are those of an earlier search", o)
			}
			for _, table := range r.Tables {
				if product := table.Op == "mm"; product != o.TuneProducts {
					t.Errorf("%+v: %s of %s %v", o, table.What, table.Op, table.Kernels)
				}
			}
			if len(r.Tables) == 0 {
				t.Errorf("%+v: nothing was tried", o)
			}
		}
	}
	kept := modes.Options{TuneProducts: true}
	if first, second := record(kept), record(kept); first.Cached || !second.Cached {
		t.Errorf("cached %t, then %t", first.Cached, second.Cached)
	}
}
