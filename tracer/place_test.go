package tracer

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/tracer/value"
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
	fmt.Println(g(torch.Ones(3, 4)).Shape(), g(torch.Ones(2, 4)).Shape())
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
	var firstLines int
	for _, out := range o.log.out {
		if out.Kind == "compilation_metrics" && strings.Contains(fmt.Sprint(out.Meta)+string(out.Payload),
			fmt.Sprintf("co_firstlineno:%d", frames[0].Pos.Line)) {
			firstLines++
		}
	}
	if firstLines != 2 {
		t.Errorf("%d metrics name the declaration", firstLines)
	}
	misses := o.recompiles()
	if len(misses) != 1 || !strings.Contains(misses[0].Failures[0].Guard.Pos.Code, "n.Fc.Forward(x)") {
		t.Errorf("recompiles %+v", misses)
	}
	for _, g := range artifacts[logs.Guards](o.log)[1].Guards {
		if strings.HasPrefix(g.Text, "2 <= ") && !strings.Contains(g.Pos.Code, "n.Fc.Forward(x)") {
			t.Errorf("%s is demanded at %+v", g.Text, g.Pos)
		}
	}
}

// A size that became a constant is demanded where that happened, not where the
// trace ended.
func TestFixedSizesKnowTheirPlace(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Size(0)
	for range n { x = x.Add(1) }
	x = x.Mul(2)
	return x.Sin()
}
func main() {
	g := torch.Compile(f)
	for _, n := range []int{2, 3, 4} { fmt.Println(g(torch.Ones(n))) }
}`)
	misses := o.recompiles()
	if len(misses) != 2 {
		t.Fatalf("%d recompiles", len(misses))
	}
	if g := misses[1].Failures[0].Guard; !strings.Contains(g.Pos.Code, "for range n") {
		t.Errorf("%s at %+v", g.Text, g.Pos)
	}
}

// Where the compiler goes on inside torch's own code, the resume point is named
// after the line of the program that called it; guards of a compiled function
// of torch are asked for by its call.
func TestResumesInTheProgram(t *testing.T) {
	o := both(t, `
func f(l *nn.LayerNorm, x *torch.Tensor) *torch.Tensor {
	x = x.Mul(2)
	fmt.Println("here")
	return l.Forward(x)
}
func main() {
	l := nn.NewLayerNorm(4)
	torch.Compile(f)(l, torch.Ones(2, 4))
	torch.Compile(l.Forward)(torch.Ones(2, 4))
}`)
	var names []string
	for _, fr := range artifacts[logs.FrameInfo](o.log) {
		names = append(names, fr.Name+" "+strings.TrimSpace(fr.Pos.Code))
	}
	if len(names) != 3 || !strings.HasPrefix(names[1], "torch_dynamo_resume_in_f_at_") ||
		!strings.HasSuffix(names[1], "return l.Forward(x)") {
		t.Errorf("frames %q", names)
	}
	for _, gs := range artifacts[logs.Guards](o.log) {
		for _, g := range gs.Guards {
			if value.OwnSource(g.Pos.File) {
				t.Errorf("guard %s on %s is asked for by %s", g.Kind, g.Source, g.Pos.File)
			}
		}
	}
}

// A dynamic size names the line at which its tensor was met.
func TestSymbolsHavePlaces(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	n := 2
	return x.Mul(n)
}
func main() {
	g := torch.Compile(f)
	for n := range 3 {
		fmt.Println(g(torch.Ones(n + 3)).Shape())
	}
}`)
	var places []string
	for _, out := range o.log.out {
		if out.Kind == "create_symbol" {
			stack := out.Meta.(map[string]any)["user_stack"].([]logs.Frame)
			places = append(places, stack[len(stack)-1].Loc)
		}
	}
	if len(places) != 1 || places[0] != "return x.Mul(n)" {
		t.Errorf("symbols at %q", places)
	}
}

// The counter of a loop is demanded in the loop's line, not where one of the variables
// that the loop changes was declared.
func TestLoopsKnowTheirPlace(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor, list []float64) *torch.Tensor {
	sum := torch.Zeros(1)
	y := x.Mul(2)

	for _, s := range list {
		fmt.Println("a break")
		sum = sum.Add(y.Mul(s))
	}
	return sum
}
func main() {
	fmt.Println(torch.Compile(f)(torch.Ones(2), []float64{1, 2, 3}))
}`)
	misses, loops := o.recompiles(), 0
	for _, m := range misses {
		for _, f := range m.Failures {
			if strings.Contains(f.Guard.Text, "rangeindex") || strings.Contains(f.Guard.Text, "len(list)") {
				loops++
				if !strings.Contains(f.Guard.Pos.Code, "range list") {
					t.Errorf("%s at %+v", f.Guard.Text, f.Guard.Pos)
				}
			}
		}
	}
	if loops == 0 {
		t.Fatalf("no guard on the loop among %d recompiles", len(misses))
	}
}

// TestOperatorsOfCompiledModuleStandAtTheCall: a module of torch that is compiled itself
// is recorded under the program's line, not under its own source.
func TestOperatorsOfCompiledModuleStandAtTheCall(t *testing.T) {
	got := runProgram(t, `
func main() {
	bn := nn.NewBatchNorm1d(3)
	fast, whole := torch.Compile(bn.Forward), torch.Compile(nn.NewLayerNorm([]int{3}))
	fmt.Println(fast(torch.Ones(2, 3)).Shape()) // here
	fmt.Println(whole.Forward(torch.Ones(2, 3)).Shape()) // here
}`, true)
	n := 0
	for _, o := range got.log.out {
		if o.Kind != "dynamo_output_graph" {
			continue
		}
		n++
		if text := string(o.Payload); !strings.Contains(text, "// here") || strings.Contains(text, "torch/nn/") {
			t.Errorf("graph without the program's line:\n%s", text)
		}
	}
	if n != 2 {
		t.Errorf("%d graphs\n%s%s", n, got.stdout, got.stderr)
	}
}

// TestHeadsOfRangesKnowTheirPlace: what the head of a range statement asks is asked at its
// line, not in the statement before it or at the end of its body.
func TestHeadsOfRangesKnowTheirPlace(t *testing.T) {
	o := both(t, `
func count(x *torch.Tensor, n int) *torch.Tensor {
	y := x.Sin()
	for i := range n {
		y = y.Add(i)
		y = y.Mul(2)
	}
	return y
}
func nested(x *torch.Tensor, n int) *torch.Tensor {
	for range 2 {
		x = x.Mul(2)
		for range n {
			if x.Dim() > 1 {
				continue
			}
			x = x.Add(1)
		}
	}
	return x
}
func elements(x *torch.Tensor, n []float64) *torch.Tensor {
	y := x.Sin()
	for range n {
		y = y.Mul(2)
	}
	return y
}
func main() {
	f, g, h := torch.Compile(count), torch.Compile(nested), torch.Compile(elements)
	for i := range 3 {
		fmt.Println(f(torch.Ones(2), i+2), g(torch.Ones(2), i+2), h(torch.Ones(2), make([]float64, i+2)))
	}
}`)
	misses := o.recompiles()
	if len(misses) != 6 {
		t.Errorf("%d recompiles", len(misses))
	}
	for _, m := range misses {
		for _, f := range m.Failures {
			if !strings.Contains(f.Guard.Pos.Code, "range n") {
				t.Errorf("%s at %+v", f.Guard.Text, f.Guard.Pos)
			}
		}
	}
}
