package tracer

import (
	"runtime"
	"testing"
	"weak"

	"tcdbg/tracer/host"
)

// TestProgramsAreForgotten runs a compiled program, lets go of it and wants its
// memory back: what the tracer finds out about functions must not outlive them.
func TestProgramsAreForgotten(t *testing.T) {
	p := runOnce(t)
	for range 20 { // a cleanup runs behind the collection that finds it
		runtime.GC()
		if p.Value() == nil {
			return
		}
		runtime.Gosched()
	}
	t.Error("the program is still held")
}

//go:noinline
func runOnce(t *testing.T) weak.Pointer[host.Program] {
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
	return weak.Make(prog)
}
