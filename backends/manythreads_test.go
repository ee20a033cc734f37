package backends

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"tcdbg/ops"
	"tcdbg/tracer"
)

// This file tests products on more threads than this machine may have: of sixteen each packs the rows that it reads, of
// few rows single panels are tasks. The pool has as many threads as Go may use, once in a process, so that it is another process.

const threadsEnv = "TCDBG_TEST_THREADS"

func TestManyThreadsChild(t *testing.T) {
	if os.Getenv(threadsEnv) == "" {
		t.Skip("runs as a child of TestManyThreads only")
	}
	for _, c := range [][3]int{{64, 784, 512}, {64, 512, 1000}, {30, 300, 700}, {128, 96, 640}, {200, 64, 256}} {
		g := newTestGraph("layer")
		x := g.input(filled(ops.Float32, 1, c[0], c[1]))
		m := g.outputs(g.Emit(ops.Linear, x, g.param(filled(ops.Float32, 2, c[2], c[1])), g.param(filled(ops.Float32, 3, c[2]))))
		run, err := inductorAt(t, 0).Compile(&tracer.Request{Module: m, Example: g.in})
		if err != nil {
			t.Fatal(err)
		}
		want := run(g.in)
		set := NewSet(Config{CacheDir: os.Getenv("TCDBG_TEST_CACHE")})
		b, err := set.Get("inductor")
		if err != nil {
			t.Fatal(err)
		}
		if run, err = b.Compile(&tracer.Request{Module: m, Example: g.in}); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if err := sameValues(run(g.in), want, 1e-4); err != nil {
				t.Fatalf("%v: %v", c, err)
			}
		}
	}
	fmt.Println("all products agree")
}

func TestManyThreads(t *testing.T) {
	needCompiler(t)
	for _, threads := range []string{"5", "16"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestManyThreadsChild$", "-test.v")
		cmd.Env = append(os.Environ(), threadsEnv+"=1", "GOMAXPROCS="+threads, "TCDBG_TEST_CACHE="+sharedCache)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s threads: %v\n%s", threads, err, out)
		}
	}
}
