package backends

import (
	"strings"
	"testing"

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
	kept                              bool // the weights are a result, too
	apart                             bool // the kernels run one after the other
}

// build is the attention's graph. late has the sums of rows divide the result, as in models that write softmax out.
func (c attentionCase) build() (*testGraph, []ops.Value) {
	g := newTestGraph("attention")
	in := func(rows, wide int) ops.Value { // in memory that kernels before it write
		return g.Emit(ops.Neg, g.input(filled(ops.Float32, len(g.in)+1, c.batch, c.heads, rows, wide)))
	}
	q, k, v := in(c.queries, c.wide), in(c.keys, c.wide), in(c.keys, c.values)
	scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(2), sym.C(3))), 0.25)
	if c.masked {
		mask := g.Emit(ops.Gt, g.input(filled(ops.Float32, 77, 1, 1, c.queries, c.keys)), g.input(filled(ops.Float32, 0, 1)))
		scores = g.Emit(ops.Where, mask, scores, g.input(torch.Full([]int{1}, -1e9)))
	}
	if c.late {
		e := g.Emit(ops.Exp, g.Emit(ops.Sub, scores, g.Emit(ops.Amax, scores, ints(-1), true)))
		sum := g.Emit(ops.Sum, e, ints(-1), true, nil)
		return g, []ops.Value{g.Emit(ops.Abs, g.Emit(ops.Cumsum, g.Emit(ops.Div, g.Emit(ops.Matmul, e, v), sum), sym.C(-1)))}
	}
	weights := g.Emit(ops.Softmax, scores, sym.C(-1))
	out := []ops.Value{g.Emit(ops.Cumsum, g.Emit(ops.Matmul, weights, v), sym.C(-1))}
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
			together := strings.Contains(strings.Join(programOf(t, m).Shards, ""), "R->attend(&a)")
			if together == c.apart {
				t.Errorf("the kernels run together: %t", together)
			}
			everywhere(t, m, g.in, 1e-4)
		})
	}
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
