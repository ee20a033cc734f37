package app

import (
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

const trainedStep = `import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func loss(w, x *torch.Tensor) *torch.Tensor {
	return w.Sqrt().Mul(x).Sum() // forward
}

func main() {
	f := torch.Compile(loss, kw.Backend("BACKEND"))
	w := torch.Zeros(3).RequiresGrad_(true)
	l := f(w, torch.Ones(3))
	l.Backward() // backward
	fmt.Println(w.Grad().Data())
}
`

// The gradient of a compiled step becomes infinite in its backward graph: that is where the
// program stops, in the call of Backward, once; kernels of that graph are stopped at, too.
func TestStopsInTheBackwardGraph(t *testing.T) {
	backends := map[string]string{"aot_eager": "CompiledFunctionBackward, in the backward pass, gives 3 Inf"}
	if test.IsLong() {
		needCompiler(t)
		backends["inductor"] = "kernel "
	}
	for backend, want := range backends {
		d := debugWith(t, Options{Pause: true}, program(t, strings.Replace(trainedStep, "BACKEND", backend, 1)))
		d.send(ctl.Break, "nan")
		d.send(ctl.Continue, "")
		s := d.next()
		if s.Kind != logs.StopNaN || !strings.HasPrefix(s.Reason, want) || !strings.Contains(s.Reason, "3 Inf") {
			t.Errorf("%s: %+v", backend, s)
		}
		if top := s.Stack[len(s.Stack)-1]; top.Pos.Func != "main" || top.Pos.Line != lineOf(t, d, "// backward") {
			t.Errorf("%s: it is called at %+v", backend, top.Pos)
		}
		d.send(ctl.Continue, "")
		if s, why := d.nextOr("none"); why == "" {
			t.Errorf("%s: it stops again: %s", backend, s.Reason)
		}
	}
	if !test.IsLong() {
		return
	}
	d := debugWith(t, Options{Pause: true}, program(t, strings.Replace(trainedStep, "BACKEND", "inductor", 1)))
	d.send(ctl.Break, "kernel")
	var graphs []string
	for {
		d.send(ctl.Continue, "")
		s, why := d.nextOr("none")
		if why != "" {
			break
		}
		graphs = append(graphs, s.Reason)
	}
	if all := strings.Join(graphs, "\n"); !strings.Contains(all, "backward") {
		t.Errorf("kernels: %s", all)
	}
}
