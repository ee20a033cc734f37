package tracer

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/logs"
)

// spellSteps writes steps as "line instr set=as +node ?guard", one a line.
func spellSteps(t logs.TraceSteps) string {
	var out []string
	for i, s := range t.Steps {
		p := t.Place(i)
		text := fmt.Sprintf("%s%s: %s", strings.Repeat("  ", s.Depth), strings.TrimSpace(p.Code), s.Instr)
		if s.As != "" {
			text += " " + s.Set + " = " + s.As
		}
		for _, n := range s.Nodes {
			name, _, _ := strings.Cut(n, ":")
			text += " +" + name
		}
		for _, g := range s.Guards {
			g, _, _ = strings.Cut(g, "(")
			text += " ?" + g
		}
		out = append(out, text)
	}
	if t.End != "" {
		out = append(out, "end: "+t.End)
	}
	return strings.Join(out, "\n")
}

// TestStepsOfATrace: each compile has the steps of its trace in order, through inlined calls,
// with the values, nodes and guards that each added, up to the instruction that broke.
func TestStepsOfATrace(t *testing.T) {
	o := both(t, `
func inner(y *torch.Tensor) *torch.Tensor { return y.Cos() }
func f(x *torch.Tensor, k int) *torch.Tensor {
	y := inner(x)
	if k > 1 {
		y = y.Mul(k)
	}
	if y.Sum().Gt(0).Bool() { y = y.Neg() }
	return y
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2), 3)) }`)
	all := artifacts[logs.TraceSteps](o.log)
	if len(all) != 2 {
		t.Fatalf("%d traces", len(all))
	}
	want := `y := inner(x): Call
  func inner(y *torch.Tensor) *torch.Tensor { return y.Cos() }: Call y.Cos() = TensorVariable(cos) +l_x_ +cos ?check_tensor ?grad_mode == True
if k > 1 {: BinOp > k > 1 = SymNodeVariable(L['k'] > 1)
if k > 1 {: If ?L['k'] > 1
y = y.Mul(k): MakeInterface k = UserDefinedObjectVariable(k)
y = y.Mul(k): Call y.Mul(k) = TensorVariable(y) +y ?L['k'] == 3
if y.Sum().Gt(0).Bool() { y = y.Neg() }: Call y.Sum() = TensorVariable(sum_1) +sum_1
if y.Sum().Gt(0).Bool() { y = y.Neg() }: Call y.Sum().Gt(0) = TensorVariable(gt) +gt
if y.Sum().Gt(0).Bool() { y = y.Neg() }: Call
end: GB0170 Data-dependent branching: branch on the value of gt`
	if got := spellSteps(all[0]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if last := all[0].Steps[len(all[0].Steps)-1]; fmt.Sprint(last.On) != "[UserFunctionVariable(Tensor.Bool) TensorVariable(gt)]" {
		t.Errorf("the operands of what broke: %q", last.On)
	}
}

// TestStepsAreBounded: a loop that adds nothing is a few steps however often it runs, one that
// adds nodes is told up to the bound, and what is left out is counted.
func TestStepsAreBounded(t *testing.T) {
	for _, c := range []struct {
		body     string
		from, to int
		left     bool
	}{
		{"n := 0; for i := range 5000 { n += i }; return x.Mul(n)", 2, 40, true},
		{"for range 300 { x = x.Sin() }; return x", 300, 340, true},
	} {
		o := both(t, "func f(x *torch.Tensor) *torch.Tensor {\n"+c.body+"\n}\n"+
			"func main() { fmt.Println(torch.Compile(f)(torch.Ones(2))) }")
		steps := artifacts[logs.TraceSteps](o.log)[0]
		if n := len(steps.Steps); n < c.from || n > c.to || (steps.Left > 0) != c.left {
			t.Errorf("%s: %d steps, %d left out, want %d to %d\n%.2000s", c.body, n, steps.Left, c.from, c.to, spellSteps(steps))
		}
	}
}
