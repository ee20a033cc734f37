package tracer

import (
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/tracer/replay"
)

// forcing is a backend whose code is right for the sizes of the first call only.
type forcing struct{ eager }

func (f forcing) Compile(r *Request) (replay.Runnable, error) {
	for _, p := range r.Module.G.Placeholders() {
		if m, ok := p.Meta.(*ops.TensorMeta); ok {
			sym.Force(m.Shape[0])
		}
	}
	return f.eager.Compile(r)
}

// TestBackendsAskForSizes wants a guard for what a backend decides by a size.
func TestBackendsAskForSizes(t *testing.T) {
	prog, err := load(t, `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() { g := torch.Compile(f, kw.Dynamic(true)); for i := range 3 { fmt.Println(g(torch.Ones(i+2, 1))) } }`)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(runLoaded(prog, forcing{eager{t}}).graphs()); n != 3 {
		t.Errorf("%d graphs for three sizes, each of which the backend made a constant", n)
	}
	if n := len(runLoaded(prog, eager{t}).graphs()); n != 1 {
		t.Errorf("%d graphs under a backend that takes every size", n)
	}
}
