package backends

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"tcdbg/backends/codecache"
	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file measures what users feel. Ratios are to a reference that runs in the
// same benchmark: a non-temporal triad, a copy, or the peak of fused
// multiply-add.

const referenceText = `
typedef long i64;
#ifndef LANES
#define LANES 16
#endif
typedef float v __attribute__((vector_size(4 * LANES)));
typedef float vu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
static void put(float *p, v x) {
#if LANES == 8
  __builtin_ia32_movntps256(p, x);
#elif defined __AVX512F__
  __builtin_ia32_movntps512(p, x);
#else
  typedef float h __attribute__((vector_size(32)));
  union { v x; h h[2]; } u = {x};
  __builtin_ia32_movntps256(p, u.h[0]);
  __builtin_ia32_movntps256(p + 8, u.h[1]);
#endif
}
void triad(void *const *B, const i64 *S, i64 lo, i64 hi) {
  const float *a = (const float *)B[0], *b = (const float *)B[1];
  float *c = (float *)B[2];
  for (i64 i = lo * 1024; i < hi * 1024; i += LANES) {
    __builtin_prefetch(a + i + 512);
    __builtin_prefetch(b + i + 512);
    put(c + i, *(const vu *)(a + i) * 3.0f + *(const vu *)(b + i));
  }
}
void copy(void *const *B, const i64 *S, i64 lo, i64 hi) {
  const float *a = (const float *)B[0];
  float *c = (float *)B[2];
  for (i64 i = lo * 1024; i < hi * 1024; i += LANES) *(vu *)(c + i) = *(const vu *)(a + i);
}
void peak(void *const *B, const i64 *S, i64 lo, i64 hi) {
  v x = *(const vu *)B[0], y = *(const vu *)B[1];
  v a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5, g = x + 6, h = x + 7, i = x + 8, j = x + 9, k = x + 10, l = x + 11;
  for (i64 n = lo * 1000; n < hi * 1000; n++) {
    a = a * x + y, b = b * x + y, c = c * x + y, d = d * x + y, e = e * x + y, f = f * x + y;
    g = g * x + y, h = h * x + y, i = i * x + y, j = j * x + y, k = k * x + y, l = l * x + y;
  }
  *(vu *)((float *)B[2] + LANES * (lo > 0)) = a + b + c + d + e + f + g + h + i + j + k + l;
}
typedef void (*tc_kernel)(void *const *B, const i64 *S, i64 lo, i64 hi);
typedef struct { void (*parfor)(tc_kernel f, void *const *B, const i64 *S, i64 units, i64 grain, const char *name); } rt;
i64 reference(i64 which, void *const *B, const i64 *S, const rt *R) {
  tc_kernel f[3] = {triad, copy, peak};
  R->parfor(f[which], B, S, S[0], 1, "reference");
  return 0;
}
`

// benchConfig has vectors of the machine's width, or of TCDBG_BENCH_LANES numbers: what a processor with narrower ones reaches
// can be measured on another, with a C compiler (CC) that is told of it.
func benchConfig() Config {
	lanes, _ := strconv.Atoi(os.Getenv("TCDBG_BENCH_LANES"))
	return Config{CacheDir: sharedCache, Lanes: lanes}
}

// refLanes is how many numbers a vector of the reference loops has.
func refLanes() int { return cmp.Or(benchConfig().Lanes, 16) }

// reference runs one of the reference loops over n units on the pool.
func reference(b *testing.B, which, units int, in []torch.Value, out *torch.Tensor) func() {
	b.Helper()
	set := NewSet(benchConfig())
	e := set.engine()
	flags := runtimeFlags
	if lanes := benchConfig().Lanes; lanes != 0 {
		flags = append([]string{fmt.Sprintf("-DLANES=%d", lanes)}, flags...)
	}
	var entry uintptr
	_, err := e.cache.Load(codecache.Request{
		Kind: "bench", Parts: append([]string{referenceText, e.cpu.Flags, e.cc.id}, flags...),
		Build: func(dir, out string) error {
			return e.cc.build(dir, []unit{{"reference.c", referenceText, flags}}, nil, out)
		},
		Load: func(path string) error {
			lib, err := dlopen(path)
			if err == nil {
				entry, err = dlsym(lib, "reference")
			}
			return err
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	x := &executable{rt: e.rt, entry: entry, graph: cstring("reference")}
	f := &frame{
		x: x, sizes: []int64{int64(units)},
		ptrs: []uintptr{uintptr(in[0].(*torch.Tensor).Ptr()), uintptr(in[1].(*torch.Tensor).Ptr()), uintptr(out.Ptr())},
	}
	return func() { f.enter(which, nil, nil) }
}

// compareTo times run and ref alternately and reports the ratio of their best
// rates, which other load of the machine disturbs least: work and refWork are in
// the same unit.
func compareTo(b *testing.B, run, ref func(), work, refWork float64, unit string) {
	b.Helper()
	run()
	ref()
	var tr, tf []float64
	for b.Loop() {
		tr = append(tr, seconds(run))
		tf = append(tf, seconds(ref))
	}
	r, f := work/slices.Min(tr), refWork/slices.Min(tf)
	b.ReportMetric(r/1e9, "G"+unit+"/s")
	b.ReportMetric(f/1e9, "ref-G"+unit+"/s")
	b.ReportMetric(100*r/f, "%ref")
}

func compiled(b *testing.B, m *graph.Module, in []torch.Value) func() {
	b.Helper()
	needCompiler(b)
	be, err := NewSet(benchConfig()).Get("inductor")
	if err != nil {
		b.Fatal(err)
	}
	run, err := be.Compile(&tracer.Request{Module: m, Example: in})
	if err != nil {
		b.Fatal(err)
	}
	return func() { run(in) }
}

func BenchmarkFusedSilu64MB(b *testing.B) {
	const n = 16 << 20
	g := newTestGraph("silu")
	x, y := g.input(filled(ops.Float32, 1, n)), g.input(filled(ops.Float32, 2, n))
	run := compiled(b, g.outputs(g.Emit(ops.Add, g.Emit(ops.Mul, g.Emit(ops.Silu, x), x), y)), g.in)
	ref := reference(b, 0, n/1024, g.in, filled(ops.Float32, 3, n))
	compareTo(b, run, ref, 12*n, 12*n, "B")
}

func BenchmarkSoftmax4096(b *testing.B) {
	g := newTestGraph("softmax")
	x := g.input(filled(ops.Float32, 1, 4096, 4096))
	run := compiled(b, g.outputs(g.Emit(ops.Softmax, x, sym.C(-1))), g.in)
	ref := reference(b, 1, 16<<10, []torch.Value{g.in[0], g.in[0]}, filled(ops.Float32, 3, 16<<20))
	compareTo(b, run, ref, 8*(16<<20), 8*(16<<20), "B")
}

func BenchmarkLayerNorm4096(b *testing.B) {
	g := newTestGraph("layernorm")
	x := g.input(filled(ops.Float32, 1, 4096, 4096))
	w, c := g.input(filled(ops.Float32, 2, 4096)), g.input(filled(ops.Float32, 3, 4096))
	run := compiled(b, g.outputs(g.EmitN(ops.LayerNorm, x, ints(4096), w, c)[0]), g.in)
	ref := reference(b, 1, 16<<10, []torch.Value{g.in[0], g.in[0]}, filled(ops.Float32, 3, 16<<20))
	compareTo(b, run, ref, 8*(16<<20), 8*(16<<20), "B")
}

func BenchmarkSum64MB(b *testing.B) {
	g := newTestGraph("sum")
	x := g.input(filled(ops.Float32, 1, 4096, 4096))
	run := compiled(b, g.outputs(g.Emit(ops.Sum, x)), g.in)
	ref := reference(b, 1, 16<<10, []torch.Value{g.in[0], g.in[0]}, filled(ops.Float32, 3, 16<<20))
	compareTo(b, run, ref, 4*(16<<20), 8*(16<<20), "B")
}

func benchmarkMatmul(b *testing.B, m, n, k int) {
	g := newTestGraph("mm")
	x, w := g.input(filled(ops.Float32, 1, m, k)), g.param(filled(ops.Float32, 2, n, k))
	run := compiled(b, g.outputs(g.Emit(ops.Linear, x, w)), g.in)
	units := max(2000, m*n*k/50000)
	ref := reference(b, 2, units, g.in, filled(ops.Float32, 3, 1024))
	compareTo(b, run, ref, 2*float64(m)*float64(n)*float64(k), float64(units)*1000*24*float64(refLanes()), "FLOP")
}

// BenchmarkMatmul multiplies by packed weights; the reference is the peak of
// fused multiply-add on all threads. A row of one is a matter of memory.
func BenchmarkMatmul(b *testing.B) {
	for _, s := range [][3]int{
		{1024, 1024, 1024},
		{128, 768, 768},
		{128, 3072, 768},
		{128, 768, 3072},
		{64, 3072, 768},
		{16, 3072, 768},
		{8, 1024, 256},
		{1, 3072, 768},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), func(b *testing.B) { benchmarkMatmul(b, s[0], s[1], s[2]) })
	}
}

// BenchmarkAttentionScores is the product of 12 heads, of which nothing is packed
// beforehand.
func BenchmarkAttentionScores(b *testing.B) {
	g := newTestGraph("scores")
	q, k := g.input(filled(ops.Float32, 1, 12, 128, 64)), g.input(filled(ops.Float32, 2, 12, 128, 64))
	run := compiled(b, g.outputs(g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(1), sym.C(2)))), g.in)
	ref := reference(b, 2, 2000, g.in, filled(ops.Float32, 3, 1024))
	compareTo(b, run, ref, 2*12*128*128*64, 2000*1000*12*32, "FLOP")
}

// BenchmarkConvolution is ResNet-50's convolutions by kernel and stride.
func BenchmarkConvolution(b *testing.B) {
	for _, c := range []convCase{
		{1, 64, 56, 56, 64, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
		{1, 256, 56, 56, 64, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
		{1, 256, 28, 28, 256, 3, 3, ints(2, 2), ints(1, 1), ints(1, 1), 1},
		{1, 256, 14, 14, 256, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
		{1, 512, 7, 7, 2048, 1, 1, ints(1, 1), ints(0, 0), ints(1, 1), 1},
		{1, 512, 7, 7, 512, 3, 3, ints(1, 1), ints(1, 1), ints(1, 1), 1},
	} {
		b.Run(fmt.Sprintf("%d-%dx%dx%d-stride%v", c.in, c.out, c.h, c.kh, c.stride[0]), func(b *testing.B) {
			g := newTestGraph("conv")
			y := c.emit(g, ops.Float32, true, nil)
			size, _ := c.stride[0].IsConst()
			out := float64((c.h-1)/int(size)+1) * float64((c.w-1)/int(size)+1)
			run := compiled(b, g.outputs(y), g.in)
			ref := reference(b, 2, 5000, g.in, filled(ops.Float32, 3, 1024))
			compareTo(b, run, ref, 2*out*float64(c.in*c.kh*c.kw*c.out), 5000*1000*12*32, "FLOP")
		})
	}
}

// barModule is the first graph of the function bar: x / (abs(x) + 1), sum < 0.
func barModule() (*graph.Module, []torch.Value) {
	g := newTestGraph("bar")
	x, y := g.input(filled(ops.Float32, 1, 10)), g.input(filled(ops.Float32, 2, 10))
	q := g.Emit(ops.Div, x, g.Emit(ops.Add, g.Emit(ops.Abs, x), sym.C(1)))
	lt := g.Emit(ops.Lt, g.Emit(ops.Sum, y), sym.C(0))
	return g.outputs(q, lt), g.in
}

// BenchmarkColdCompileBar is the time to the first result with nothing in the
// cache but the runtime library.
func BenchmarkColdCompileBar(b *testing.B) {
	needCompiler(b)
	m, in := barModule()
	set := NewSet(Config{CacheDir: b.TempDir()})
	be, _ := set.Get("inductor")
	set.engine()
	for b.Loop() {
		run, err := be.Compile(&tracer.Request{Module: m, Example: in})
		if err != nil {
			b.Fatal(err)
		}
		run(in)
		b.StopTimer()
		es, _ := os.ReadDir(set.engine().cache.Dir())
		for _, e := range es {
			if len(e.Name()) > 5 && e.Name()[:5] == "graph" {
				_ = os.Remove(set.engine().cache.Dir() + "/" + e.Name())
			}
		}
		b.StartTimer()
	}
}

// BenchmarkCallBar is one call of a compiled small graph.
func BenchmarkCallBar(b *testing.B) {
	m, in := barModule()
	run := compiled(b, m, in)
	b.ReportAllocs()
	for b.Loop() {
		run()
	}
}

// BenchmarkAttention is the attention of 12 heads of 64 over so many tokens, in float32 and in bfloat16, whose scores and weights
// are rounded as under autocast.
func BenchmarkAttention(b *testing.B) {
	for _, d := range []ops.DType{ops.Float32, ops.BFloat16} {
		for _, tokens := range []int{128, 197, 512, 1024, 2048} {
			name := fmt.Sprint(tokens)
			if d != ops.Float32 {
				name += "-" + d.Short()
			}
			b.Run(name, func(b *testing.B) { benchAttention(b, d, tokens, false) })
			b.Run(name+"-causal", func(b *testing.B) { benchAttention(b, d, tokens, true) })
		}
	}
}

// benchAttention counts all scores, those behind a causal mask, too.
func benchAttention(b *testing.B, d ops.DType, tokens int, causal bool) {
	needCompiler(b)
	g := newTestGraph("attention")
	var qkv [3]ops.Value
	for i := range qkv {
		qkv[i] = g.input(filled(ops.Float32, i+1, 1, 12, tokens, 64).Mul(1.0 / 32).To(d))
	}
	scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, qkv[0], g.Emit(ops.Transpose, qkv[1], sym.C(2), sym.C(3))), 0.125)
	if causal {
		at := g.Emit(ops.Arange, sym.C(tokens))
		mask := g.Emit(ops.Le, g.Emit(ops.Unsqueeze, at, sym.C(0)), g.Emit(ops.Unsqueeze, at, sym.C(1)))
		scores = g.Emit(ops.Where, mask, scores, g.Emit(ops.Full, ints(), -3e38, d))
	}
	m := g.outputs(g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), qkv[2]))
	_, run := programAndRun(b, m, g.in)
	ref := reference(b, 2, 5000, g.in, filled(ops.Float32, 3, 1024))
	compareTo(b, run, ref, 4*12*float64(tokens*tokens*64), 5000*1000*12*32, "FLOP")
}

// BenchmarkGroupedAttention is causal attention of 32 heads of 64 that share 4 heads of keys and values, which are repeated as models do.
func BenchmarkGroupedAttention(b *testing.B) {
	needCompiler(b)
	for _, tokens := range []int{128, 512, 1024, 2048} {
		b.Run(fmt.Sprint(tokens), func(b *testing.B) {
			g := newTestGraph("grouped")
			in := func(heads int) ops.Value {
				return g.input(filled(ops.Float32, len(g.in)+1, 1, heads, tokens, 64).Mul(1.0 / 32))
			}
			repeated := func(x ops.Value) ops.Value {
				wide := g.Emit(ops.Expand, g.Emit(ops.Unsqueeze, x, sym.C(2)), ints(1, 4, 8, tokens, 64))
				return g.Emit(ops.View, g.Emit(ops.Clone, wide, "contiguous_format"), ints(1, 32, tokens, 64))
			}
			q, k, v := in(32), repeated(in(4)), repeated(in(4))
			scores := g.Emit(ops.Mul, g.Emit(ops.Matmul, q, g.Emit(ops.Transpose, k, sym.C(2), sym.C(3))), 0.125)
			at := g.Emit(ops.Arange, sym.C(tokens))
			mask := g.Emit(ops.Le, g.Emit(ops.Unsqueeze, at, sym.C(0)), g.Emit(ops.Unsqueeze, at, sym.C(1)))
			scores = g.Emit(ops.Where, mask, scores, g.Emit(ops.Full, ints(), -3e38))
			_, run := programAndRun(b, g.outputs(g.Emit(ops.Matmul, g.Emit(ops.Softmax, scores, sym.C(-1)), v)), g.in)
			ref := reference(b, 2, 5000, g.in, filled(ops.Float32, 3, 1024))
			compareTo(b, run, ref, 4*32*float64(tokens*tokens*64), 5000*1000*12*32, "FLOP")
		})
	}
}

// BenchmarkBFloatMatmul multiplies by packed weights of bfloat16 as is fastest here; the reference is the same product by
// the processor's dot product.
func BenchmarkBFloatMatmul(b *testing.B) {
	needCompiler(b)
	product := func(b *testing.B, m, n, k int, use BFloatUse) func() {
		g := newTestGraph("mm")
		x, w := g.input(filled(ops.BFloat16, 1, m, k)), g.param(filled(ops.BFloat16, 2, n, k))
		be := &inductorBackend{NewSet(Config{CacheDir: sharedCache, BFloat: use})}
		run, err := be.Compile(&tracer.Request{Module: g.outputs(g.Emit(ops.Linear, x, w)), Example: g.in})
		if err != nil {
			b.Fatal(err)
		}
		return func() { run(g.in) }
	}
	for _, s := range [][3]int{
		{1024, 1024, 1024},
		{128, 3072, 768},
		{64, 512, 784},
		{16, 3072, 768},
		{8, 1024, 256},
		{4, 3072, 768},
		{1, 4096, 4096},
	} {
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], s[1], s[2]), func(b *testing.B) {
			work := 2 * float64(s[0]) * float64(s[1]) * float64(s[2])
			compareTo(b, product(b, s[0], s[1], s[2], Fastest), product(b, s[0], s[1], s[2], AnyDot), work, work, "FLOP")
		})
	}
}
