package tracer

import (
	"strings"
	"testing"

	"tcdbg/logs"
)

// What torch's own code does for a line of the program is said of that line:
// graphs, guards and the frame's beginning name places of the program.
func TestPlacesAreTheProgram(t *testing.T) {
	o := both(t, `
type Net struct { Fc *nn.Linear }
func (n *Net) Forward(x *torch.Tensor) *torch.Tensor {
	y := n.Fc.Forward(x)
	return y.Relu()
}
func main() {
	net := &Net{nn.NewLinear(4, 4)}
	g := torch.Compile(net.Forward)
	fmt.Println(g(torch.Ones(1, 4)).Shape(), g(torch.Ones(2, 4)).Shape())
}`)
	frames := artifacts[logs.FrameInfo](o.log)
	if len(frames) == 0 || !strings.HasPrefix(frames[0].Pos.Code, "func (n *Net) Forward") {
		t.Fatalf("frames %+v", frames)
	}
	var places int
	for _, out := range o.log.out {
		if out.Kind != "dynamo_output_graph" {
			continue
		}
		text := string(out.Payload)
		if strings.Contains(text, "tcdbg/torch/") {
			t.Errorf("the graph names torch's own lines:\n%s", text)
		}
		places += strings.Count(text, "code: y := n.Fc.Forward(x)")
	}
	if places == 0 {
		t.Error("no graph names the line of the call")
	}
	misses := o.recompiles()
	if len(misses) != 1 || !strings.Contains(misses[0].Failures[0].Guard.Pos.Code, "n.Fc.Forward(x)") {
		t.Errorf("recompiles %+v", misses)
	}
}
