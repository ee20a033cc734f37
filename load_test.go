package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// This file has programs do much more of one thing than is usual: what is written grows
// with the number of times, and no faster.

const manyRecompiles = `package main

import (
	"fmt"
	"os"
	"strconv"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

func f(x *torch.Tensor, k string) *torch.Tensor {
	if k == "a" {
		return x.Add(1)
	}
	return x.Sin()
}

func main() {
	n, _ := strconv.Atoi(os.Args[1])
	compiler.Configure(func(s *compiler.Settings) { s.AccumulatedRecompileLimit = n })
	g := torch.Compile(f, kw.Backend("eager"), kw.RecompileLimit(n))
	x := torch.Ones(4)
	for i := range n {
		x = g(x, fmt.Sprint("k", i))
	}
}
`

// TestTraceGrowsWithRecompiles wants a trace of four times as many recompiles to be about
// four times as large.
func TestTraceGrowsWithRecompiles(t *testing.T) {
	file := program(t, manyRecompiles)
	size := func(n int) (trace, report string) {
		s := newSession(t)
		if _, errs, code := s.run(t, "run", "--plain", "--logs", "", file, fmt.Sprint(n)); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs)
		}
		files, err := filepath.Glob(filepath.Join(s.state, "tcdbg/runs/*/trace/*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("traces: %v, %v", files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		report, _, _ = s.run(t, "report", "last")
		return string(text), report
	}
	few, _ := size(100)
	many, report := size(400)
	if len(many) > 5*len(few) {
		t.Errorf("%d bytes for 100 recompiles, %d for 400", len(few), len(many))
	}
	if !strings.Contains(many, `"older":383`) { // of 399 entries the newest 16 are listed
		t.Error("the trace does not count the entries that it does not list")
	}
	if !strings.Contains(report, "399 recompiles") {
		t.Errorf("the report: %.2000s", report)
	}
}

// TestManyGoroutines has a thousand goroutines call one compiled function at once.
func TestManyGoroutines(t *testing.T) {
	s := warmSession(t)
	out, errs, code := s.run(t, "run", "--plain", "--logs", "", program(t, `package main

import (
	"fmt"
	"sync"

	"tcdbg/torch"
)

func f(x *torch.Tensor, k int) *torch.Tensor {
	if x.Sum().Gt(0).Bool() {
		return x.Add(k)
	}
	return x.Sin()
}

func main() {
	g := torch.Compile(f)
	out := make([]float64, 1000)
	var wg sync.WaitGroup
	for i := range out {
		wg.Go(func() {
			x := torch.Ones(4)
			for range 20 {
				x = g(x, 1)
			}
			out[i] = x.Sum().Item()
		})
	}
	wg.Wait()
	sum := 0.0
	for _, v := range out {
		sum += v
	}
	fmt.Println(sum)
}
`))
	if code != 0 || out != "84000\n" {
		t.Errorf("exit code %d, output %q, errors %.2000s", code, out, errs)
	}
	report, _, _ := s.run(t, "report", "last")
	if !strings.Contains(report, "2 frames, 2 compiles, 2 graphs") {
		t.Errorf("the report: %.600s", report)
	}
}
