package backends

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file tests products and convolutions on other numbers of threads than this machine may have: of two each begins with half
// of the rows, of sixteen each packs the rows that it reads, of few rows single panels are tasks; images are cut into as many
// runs, each thread turns its own lot of tiles for Winograd's form. The pool has as many threads as Go may use, once in a
// process, so that it is another process.

const threadsEnv = "TCDBG_TEST_THREADS"

func TestManyThreadsChild(t *testing.T) {
	if os.Getenv(threadsEnv) == "" {
		t.Skip("runs as a child of TestManyThreads only")
	}
	if runtime.GOMAXPROCS(0) == 2 {
		productsInHalves(t)
	} else {
		productsAndImages(t)
	}
	fmt.Println("all results agree")
}

// productsInHalves have whole numbers, whose sums are exact.
func productsInHalves(t *testing.T) {
	for _, c := range [][3]int{{96, 768, 64}, {97, 130, 257}, {113, 96, 130}, {197, 64, 100}, {394, 300, 40}, {900, 33, 70}} {
		g := newTestGraph("halves")
		x := g.input(wholeNumbers(1, 3, c[0], c[1]).To(torch.Float32))
		w, b := wholeNumbers(2, 3, c[2], c[1]).To(torch.Float32), wholeNumbers(3, 3, c[2]).To(torch.Float32)
		m := g.outputs(g.Emit(ops.Linear, x, g.param(w), g.param(b)))
		alikeOnThreads(t, fmt.Sprint(c), m, g.in, 0)
	}
}

func productsAndImages(t *testing.T) {
	for _, c := range [][3]int{{64, 784, 512}, {64, 512, 1000}, {30, 300, 700}, {128, 96, 640}, {200, 64, 256}} {
		g := newTestGraph("layer")
		x := g.input(filled(ops.Float32, 1, c[0], c[1]))
		m := g.outputs(g.Emit(ops.Linear, x, g.param(filled(ops.Float32, 2, c[2], c[1])), g.param(filled(ops.Float32, 3, c[2]))))
		alikeOnThreads(t, fmt.Sprint(c), m, g.in, 1e-4)
	}
	// channels, size, kernel; whether the image is scaled on the way in
	for _, c := range []struct {
		in, out, size, kernel int
		scaled                bool
	}{
		{256, 224, 14, 3, false}, // lots of Winograd's tiles, turned by each thread
		{384, 128, 7, 3, false},
		{128, 32, 8, 3, false}, // few tiles and one panel: more runs
		{128, 32, 4, 3, false},
		{576, 96, 7, 1, true}, // images made on the way in
		{120, 48, 14, 1, true},
	} {
		m, in := imagesOf(c.in, c.out, c.size, c.kernel, c.scaled)
		alikeOnThreads(t, fmt.Sprint(c), m, in, 0)
	}
}

// imagesOf is a convolution of two images of whole numbers, whose sums are exact, between images in blocks.
func imagesOf(in, out, size, kernel int, scaled bool) (*graph.Module, []torch.Value) {
	g, seed := newTestGraph("images"), 0
	numbers := func(most int, shape ...int) *torch.Tensor {
		seed++
		return wholeNumbers(seed, most, shape...).To(torch.Float32)
	}
	conv := func(x ops.Value, in, out, kernel int) ops.Value {
		w, pad := g.param(numbers(1, out, in, kernel, kernel)), kernel/2
		return g.Emit(ops.Convolution, x, w, nil, ints(1, 1), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(1))
	}
	x := g.Emit(ops.Relu, conv(g.input(numbers(3, 2, 4, size, size)), 4, in, 1))
	if scaled {
		x = g.Emit(ops.Mul, x, g.input(numbers(2, 2, in, 1, 1)))
	}
	return g.outputs(conv(g.Emit(ops.Relu, conv(x, in, out, kernel)), out, 8, 1)), g.in
}

// alikeOnThreads wants of a graph, again and again, what the interpreter gives.
func alikeOnThreads(t *testing.T, name string, m *graph.Module, in []torch.Value, tolerance float64) {
	t.Helper()
	run, err := inductorAt(t, 0).Compile(&tracer.Request{Module: m, Example: in})
	if err != nil {
		t.Fatal(err)
	}
	want := run(in)
	set := NewSet(Config{CacheDir: os.Getenv("TCDBG_TEST_CACHE")})
	b, err := set.Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	if run, err = b.Compile(&tracer.Request{Module: m, Example: in}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := sameValues(run(in), want, tolerance); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

func TestManyThreads(t *testing.T) {
	needCompiler(t)
	for _, threads := range []string{"2", "5", "16"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestManyThreadsChild$", "-test.v")
		cmd.Env = append(os.Environ(), threadsEnv+"=1", "GOMAXPROCS="+threads, "TCDBG_TEST_CACHE="+sharedCache)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s threads: %v\n%s", threads, err, out)
		}
	}
}
