package tracer

import (
	"io"
	"runtime"
	"testing"
	"weak"

	"tcdbg/logs"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// TestProgramsAreForgotten runs a compiled program, lets go of it and wants its
// memory back: what the tracer finds out about functions must not outlive them.
func TestProgramsAreForgotten(t *testing.T) {
	p := runOnce(t)
	for range 20 { // a cleanup runs after the collection that finds it
		runtime.GC()
		if p.Value() == nil {
			return
		}
		runtime.Gosched()
	}
	t.Error("the program is still held")
}

//go:noinline
func runOnce(t *testing.T) weak.Pointer[ssa.Program] {
	prog, err := load(t, `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	fmt.Println("between")
	return y.Cos()
}
func main() { torch.Compile(f)(torch.Ones(2)) }`)
	if err != nil {
		t.Fatal(err)
	}
	if o := runLoaded(prog, eager{t}); o.codes() == "" {
		t.Error("the program has no break, where what is live is asked for")
	}
	return weak.Make(prog.SSA)
}

// TestTotalsOfResetFramesEnd resets a function after each of five calls: the
// totals tell of all of them, once, and keep none but the last.
func TestTotalsOfResetFramesEnd(t *testing.T) {
	prog, err := load(t, `
func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(k) }
func main() {
	g := torch.Compile(f)
	for k := range 5 { compiler.Reset(); g(torch.Ones(2), k) }
}`)
	if err != nil {
		t.Fatal(err)
	}
	sink := &memorySink{}
	tr := New(prog, Config{Sink: sink, Backend: func(string) (Backend, error) { return eager{t}, nil }})
	cfg := host.Config{Stdout: io.Discard, Stderr: io.Discard, Args: []string{"model"}}
	tr.Install(&cfg)
	in := host.New(prog, cfg)
	tr.Attach(in)
	if exit := in.Run(); exit.Code != 0 {
		t.Fatalf("exit %d", exit.Code)
	}
	for _, fc := range tr.caches[:4] {
		if n := len(fc.entries.List()); n > 0 {
			t.Errorf("frame %d was reset and keeps %d entries", fc.id, n)
		}
	}
	for range 3 {
		tr.writeTotals(true)
	}
	records := artifacts[logs.Aggregate](sink)
	if len(records) != 1 || len(records[0].Frames) != 5 {
		t.Fatalf("got %+v, want one record of five frames", records)
	}
	for _, fr := range records[0].Frames {
		if fr.Calls != 1 {
			t.Errorf("frame %d: %d calls, want 1", fr.Frame, fr.Calls)
		}
	}
	if len(tr.caches) != 1 {
		t.Errorf("%d frames are kept", len(tr.caches))
	}
}
