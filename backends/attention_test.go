package backends

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// attentionCase is an attention: queries of heads of a width, keys and values, and what is made of the scores.
type attentionCase struct {
	name                              string
	batch, heads, queries, keys, wide int
	values                            int // width of the values
	late, masked                      bool
	kept                              bool      // the weights are a result, too
	apart                             bool      // the kernels run one after the other
	half                              ops.DType // of all of it; float32 where it is 0
	flash                             bool      // late, computed in float32 of numbers of half, to which weights are rounded
}

// build is the attention's graph. late has the sums of rows divide the result, as in models that write softmax out.
func (c attentionCase) build() (*testGraph, []ops.Value) {
	g := newTestGraph("attention")
	typed := func(x *torch.Tensor) *torch.Tensor {
		if c.half != 0 {
			x = x.Mul(1.0 / 32).To(c.half) // scores of a few: a step of a great one is a factor of a weight
		}
		return x
	}
	in := func(rows, wide int) ops.Value { // in memory that kernels before it write
		return g.Emit(ops.Neg, g.input(typed(filled(ops.Float32, len(g.in)+1, c.batch, c.heads, rows, wide))))
	}
	q, k, v := in(c.queries, c.wide), in(c.keys, c.wide), in(c.keys, c.values)
	wide := func(v ops.Value) ops.Value { return g.Emit(ops.To, v, ops.Float32) }
	if c.flash {
		q, k, v = wide(q), wide(k), wide(v)
	}
	scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(2), sym.C(3))), 0.25)
	if c.masked {
		mask := g.Emit(ops.Gt, g.input(filled(ops.Float32, 77, 1, 1, c.queries, c.keys)), g.input(filled(ops.Float32, 0, 1)))
		scores = g.Emit(ops.Where, mask, scores, g.input(typed(torch.Full([]int{1}, -3e4))))
	}
	if c.late {
		e := g.Emit(ops.Exp, g.Emit(ops.Sub, scores, g.Emit(ops.Amax, scores, ints(-1), true)))
		sum := g.Emit(ops.Sum, e, ints(-1), true, nil)
		if c.flash {
			e = wide(g.Emit(ops.To, e, c.half))
			return g, []ops.Value{g.Emit(ops.To, g.Emit(ops.Div, g.Emit(ops.Matmul, e, v), sum), c.half)}
		}
		return g, []ops.Value{g.Emit(ops.Abs, g.Emit(ops.Cumsum, g.Emit(ops.Div, g.Emit(ops.Matmul, e, v), sum), sym.C(-1)))}
	}
	weights := g.Emit(ops.Softmax, scores, sym.C(-1))
	result := g.Emit(ops.Matmul, weights, v)
	if c.half == 0 {
		result = g.Emit(ops.Cumsum, result, sym.C(-1))
	}
	out := []ops.Value{result}
	if c.kept {
		out = append(out, weights)
	}
	return g, out
}

// TestAttention: the kernels of an attention run together, unless others want what passes between them, and give eager's
// numbers: in heads that fill no tile, in bands of one panel, with a mask, with sums that divide the result.
func TestAttention(t *testing.T) {
	needCompiler(t)
	for _, c := range []attentionCase{
		{name: "rows shorter than a vector", batch: 1, heads: 2, queries: 3, keys: 5, wide: 8, values: 8, apart: true},
		{name: "odd sizes", batch: 2, heads: 3, queries: 197, keys: 197, wide: 16, values: 24},
		{name: "one query", batch: 1, heads: 4, queries: 1, keys: 301, wide: 64, values: 64},
		{name: "bands", batch: 1, heads: 2, queries: 150, keys: 1100, wide: 20, values: 33},
		{name: "masked", batch: 2, heads: 2, queries: 40, keys: 64, wide: 32, values: 32, masked: true},
		{name: "divided late", batch: 2, heads: 2, queries: 37, keys: 50, wide: 32, values: 40, late: true},
		{name: "a right operand longer than a cache", batch: 1, heads: 2, queries: 20, keys: 5000, wide: 64, values: 64, apart: true},
		{name: "weights are wanted", batch: 2, heads: 2, queries: 33, keys: 35, wide: 16, values: 16, kept: true, apart: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, out := c.build()
			m := g.outputs(out...)
			if together(t, m) == c.apart {
				t.Errorf("the kernels run together: %t", !c.apart)
			}
			everywhere(t, m, g.in, 1e-4)
		})
	}
}

// together reports whether the kernels of an attention run together.
func together(t *testing.T, m *graph.Module) bool {
	return strings.Contains(strings.Join(programOf(t, m).Shards, ""), "R->attend(&a)")
}

// halfTolerance is what results of half precision may differ by where their sums were rounded in another order: some steps of
// the type, since a score that is rounded the other way changes weights.
func halfTolerance(d ops.DType) float64 {
	if d == ops.Float16 {
		return 0x1p-8
	}
	return 0x1p-5
}

func inFloat(vs []torch.Value) []torch.Value {
	out := make([]torch.Value, len(vs))
	for i, v := range vs {
		out[i] = v.(*torch.Tensor).To(torch.Float32)
	}
	return out
}

// TestHalfAttention: so do those of half precision, however the processor multiplies it: in heads that fill no tile, of an odd
// number of keys, of which pairs lie at odd addresses, in several bands, with a mask.
func TestHalfAttention(t *testing.T) {
	halfSets(t, func(t *testing.T, b tracer.Backend) {
		for _, d := range []ops.DType{ops.BFloat16, ops.Float16} {
			for _, c := range test.Some(t, 4, []attentionCase{
				{name: "odd sizes", batch: 2, heads: 3, queries: 197, keys: 197, wide: 64, values: 24},
				{name: "masked", batch: 2, heads: 2, queries: 40, keys: 64, wide: 32, values: 32, masked: true},
				{name: "one query", batch: 1, heads: 4, queries: 1, keys: 301, wide: 64, values: 64},
				{name: "bands", batch: 1, heads: 2, queries: 150, keys: 1100, wide: 20, values: 33},
				{name: "few rows", batch: 1, heads: 2, queries: 17, keys: 130, wide: 80, values: 80},
				{name: "in float32", batch: 1, heads: 3, queries: 70, keys: 70, wide: 96, values: 96, late: true, flash: true},
				{name: "an odd width", batch: 1, heads: 2, queries: 30, keys: 31, wide: 33, values: 15},
			}) {
				c.half = d
				g, out := c.build()
				m := g.outputs(out...)
				if !together(t, m) {
					t.Errorf("%s %s: the kernels run one after the other", d.Short(), c.name)
				}
				if kernels, _ := calls(programOf(t, m)); c.flash && kernels != 6 {
					t.Errorf("%s %s: %d kernels, not one for each operand and three", d.Short(), c.name, kernels)
				}
				run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
				if err != nil {
					t.Fatal(err)
				}
				want := m.Run(g.in)
				for range 2 {
					if err := sameValues(inFloat(run(g.in)), inFloat(want), halfTolerance(d)); err != nil {
						t.Errorf("%s %s: %v", d.Short(), c.name, err)
					}
				}
			}
		}
	})
}

// TestAttentionOfManyThreads: whichever thread takes some rows, they are the same.
func TestAttentionOfManyThreads(t *testing.T) {
	needCompiler(t)
	for _, d := range []ops.DType{0, ops.BFloat16} {
		g, out := attentionCase{batch: 2, heads: 3, queries: 150, keys: 170, wide: 64, values: 40, half: d}.build()
		m := g.outputs(out...)
		var first []torch.Value
		for _, threads := range []int{1, 2, 4} {
			b := &inductorBackend{NewSet(Config{CacheDir: sharedCache, Threads: threads, Stderr: t.Output()})}
			run, err := b.Compile(&tracer.Request{Module: m, Example: g.in})
			if err != nil {
				t.Fatal(err)
			}
			got := run(g.in)
			if first == nil {
				first = got
			}
			if err := sameValues(got, first, 0); err != nil {
				t.Errorf("%d threads: %v", threads, err)
			}
		}
	}
}

// TestAttentionOfUnknownSizes: the kernels of an attention whose sizes vary run together, too; where a call has nothing to compute, or
// more keys than a thread's cache holds, they run one after the other.
func TestAttentionOfUnknownSizes(t *testing.T) {
	for _, late := range []bool{false, true} {
		for _, w := range widthsOf(t) {
			t.Run(fmt.Sprintf("late %t, lanes%d", late, w), func(t *testing.T) { unknownAttention(t, w, late) })
		}
	}
}

func unknownAttention(t *testing.T, lanes int, late bool) {
	g := newDynamicGraph(7, 20)
	q := g.input(false, sym.C(2), g.s0, sym.C(64))
	k, v := g.input(false, sym.C(2), g.s1, sym.C(64)), g.input(false, sym.C(2), g.s1, sym.C(24))
	scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(1), sym.C(2))), 0.125)
	if late {
		e := g.Emit(ops.Exp, g.Emit(ops.Sub, scores, g.Emit(ops.Amax, scores, ints(-1), true)))
		g.G.SetOutput([]ops.Arg{g.Emit(ops.Div, g.Emit(ops.Matmul, e, v), g.Emit(ops.Sum, e, ints(-1), true, nil))})
	} else {
		g.G.SetOutput([]ops.Arg{g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), v)})
	}
	m := graph.NewModule(g.G)
	if !together(t, m) {
		t.Error("the kernels run one after the other")
	}
	inputs := func(rows, keys int) []torch.Value {
		return []torch.Value{filled(ops.Float32, 1, 2, rows, 64), filled(ops.Float32, 2, 2, keys, 64), filled(ops.Float32, 3, 2, keys, 24)}
	}
	run, err := inductorAt(t, lanes).Compile(&tracer.Request{Module: m, Example: inputs(7, 20)})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range [][2]int{{7, 20}, {150, 197}, {3, 5}, {1, 301}, {40, 1100}, {15, 5000}, {7, 20}} {
		in := inputs(s[0], s[1])
		if err := sameValues(run(in), m.Run(in), 1e-4); err != nil {
			t.Errorf("%d rows of %d: %v", s[0], s[1], err)
		}
	}
	run(inputs(0, 20))
}

// TestAttentionTimes: of kernels that run together each has a time of its own.
func TestAttentionTimes(t *testing.T) {
	needCompiler(t)
	g, out := attentionCase{batch: 1, heads: 2, queries: 60, keys: 60, wide: 32, values: 32}.build()
	x, run := programAndRun(t, g.outputs(out...), g.in)
	x.prof.always = true
	run()
	run()
	times := x.prof.times()
	if len(times) != 7 {
		t.Fatalf("%d kernels", len(times))
	}
	for i, k := range times {
		if k.Nanos <= 0 {
			t.Errorf("kernel %d took %d ns", i, k.Nanos)
		}
	}
}

// stopping stops before and after each kernel, as a debugger does.
type stopping struct{ names []string }

func (s *stopping) Kernels() bool                    { return true }
func (s *stopping) BeforeKernel(k *tracer.KernelRun) { s.names = append(s.names, k.Name) }
func (s *stopping) AfterKernel(*tracer.KernelRun)    {}

// TestAttentionStepped: a debugger that stops between kernels sees each of an attention run by itself, on whole buffers.
func TestAttentionStepped(t *testing.T) {
	needCompiler(t)
	g, out := attentionCase{batch: 1, heads: 2, queries: 60, keys: 50, wide: 32, values: 32}.build()
	m := g.outputs(out...)
	watch := &stopping{}
	run, err := inductorAt(t, thisCPU().Lanes).Compile(&tracer.Request{Module: m, Example: g.in, Watch: watch})
	if err != nil {
		t.Fatal(err)
	}
	if err := sameValues(run(g.in), m.Run(g.in), 1e-4); err != nil {
		t.Fatal(err)
	}
	if len(watch.names) != 7 || !strings.Contains(watch.names[4], "softmax") {
		t.Errorf("stopped at %v", watch.names)
	}
}
