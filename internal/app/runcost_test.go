package app

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"tcdbg/explain"
)

// TestRunCosts: what a steady call spends outside of graphs is that of its break, the calls
// that compiled not counted; finding an entry is timed.
func TestRunCosts(t *testing.T) {
	state := t.TempDir()
	p := program(t, `import ("fmt"; "time"; "tcdbg/torch")
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Add(1)
	time.Sleep(2 * time.Millisecond)
	z := y.Mul(2)
	fmt.Print()
	return z.Add(3)
}
func main() {
	c := torch.Compile(f)
	for range 6 { c(torch.Ones(3)) }
}`)
	if r := run(t, tcdbg(t, state, "run", "--plain", p)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	r := foldLast(t, state, p)
	if len(r.Breaks) != 2 {
		t.Fatalf("%d breaks", len(r.Breaks))
	}
	first, second := r.Breaks[0], r.Breaks[1]
	if !strings.Contains(first.Lead.Pos.Code, "time.Sleep") || first.LeftNanos < 2e6 || first.LeftNanos > 1e9 {
		t.Errorf("the costliest is %q with %d ns a call", first.Lead.Pos.Code, first.LeftNanos)
	}
	if second.LeftNanos <= 0 || second.LeftNanos >= first.LeftNanos {
		t.Errorf("%q with %d ns a call", second.Lead.Pos.Code, second.LeftNanos)
	}
	if a := r.Advice[0]; !strings.Contains(a.Cost, "a call outside of graphs") {
		t.Errorf("the first advice costs %q", a.Cost)
	}
	f := r.Frames[0]
	if f.Left != 5 || f.GuardTimed != 5 || f.GuardNanos <= 0 {
		t.Errorf("left %d times, %d guards timed, %d ns", f.Left, f.GuardTimed, f.GuardNanos)
	}
}

// TestMemoryOfCalls: the bytes that steady calls allocate and copy, counted by hand, for each
// entry and each break. What a compiled function allocates that is called after a break is its
// own, and so is what another goroutine allocates meanwhile.
func TestMemoryOfCalls(t *testing.T) {
	state := t.TempDir()
	p := program(t, `import ("fmt"; "tcdbg/torch"; "tcdbg/torch/compiler"; "tcdbg/torch/kw")
var inner = torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Exp() }, kw.Backend("eager"), kw.Name("inner"))
var eagerly = compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return inner(x.Neg().Abs()) }, kw.Recursive(false))
func breaks(x *torch.Tensor) *torch.Tensor { // x: 32 numbers of 4 bytes
	y := x.Mul(2)         // 128
	s := y.Sum()          // 4
	z := eagerly(y)       // Neg and Abs: 256
	return z.Add(s).Relu() // 256
}
func writes(x, buf *torch.Tensor) *torch.Tensor {
	buf.Select(0, 1).Add_(x.Select(0, 0)) // 8 numbers of 4
	return buf.T()
}
func both(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	return x.Mul(2), x.Mul(2) // one value, two tensors
}
func main() {
	b := torch.Compile(breaks, kw.Backend("eager"))
	w := torch.Compile(writes, kw.Backend("aot_eager"))
	o := torch.Compile(both, kw.Backend("inductor"))
	x, buf := torch.Ones(4, 8), torch.Zeros(4, 8)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		for { select { case <-stop: close(done); return; default: torch.Ones(100) } }
	}()
	for range 5 { b(x); w(x, buf); o(x) }
	close(stop)
	<-done
	fmt.Println("ends")
}`)
	if r := run(t, tcdbg(t, state, "run", "--plain", p)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	r := foldLast(t, state, p)
	got := map[string]string{}
	for _, f := range r.Frames {
		s := f.Compiles[0].Served
		if len(f.Compiles) != 1 || s == nil {
			t.Fatalf("%s: %+v", f.Title(), f.Compiles)
		}
		got[f.Title()] = fmt.Sprintf("%d %d %d, %d %d %d", s.Inside.Metered, s.Inside.Allocated, s.Inside.Copied,
			s.Outside.Metered, s.Outside.Allocated, s.Outside.Copied)
	}
	want := map[string]string{
		"breaks":                 "4 528 0, 4 1024 0",
		"breaks from line 10 on": "4 1024 0, 0 0 0",
		"inner":                  "4 512 0, 0 0 0",
		"writes":                 "4 640 512, 0 0 0", // the sum of 8, and a buffer of 32 that is copied back
		"both":                   "4 1024 512, 0 0 0",
	}
	if !maps.Equal(got, want) {
		t.Errorf("calls counted, bytes allocated and copied in code, and after the break:\n got %v\nwant %v", got, want)
	}
	if len(r.Breaks) != 1 || r.Breaks[0].Memory == nil || *r.Breaks[0].Memory != (explain.BreakMemory{Results: 132, Outside: 256}) {
		t.Errorf("the break: %+v", r.Breaks[0].Memory)
	}
	text := run(t, tcdbg(t, state, "report", "last")).stdout
	for _, s := range []string{
		"132 B a call in results of its graph, 256 B by operators after it", "160 B in new tensors, 128 B copied",
	} {
		if !strings.Contains(text, s) {
			t.Errorf("the report does not say %q:\n%s", s, text)
		}
	}
}
