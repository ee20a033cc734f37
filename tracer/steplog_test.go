package tracer

import (
	"strings"
	"testing"

	"tcdbg/logs"
	"tcdbg/tracer/eval"
)

// TestStepLog traces a program with each kind of single-step log: lines come
// once each, in the order of the trace; instructions come with what is known of
// their operands; and the log changes nothing about guards and graphs.
func TestStepLog(t *testing.T) {
	prog, err := load(t, `
func f(x *torch.Tensor, k int) *torch.Tensor {
	y := x.Mul(k)
	if k > 1 {
		y = y.Sin()
	}
	return y
}

func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2), 2))
}`)
	if err != nil {
		t.Fatal(err)
	}
	trees := map[eval.StepLog]string{}
	for _, kind := range []eval.StepLog{eval.StepNone, eval.StepLines, eval.StepInstructions} {
		o := runStepped(prog, eager{t}, kind)
		var lines, instrs []string
		for _, s := range artifacts[logs.TraceStep](o.log) {
			if n := len(lines); n == 0 || lines[n-1] != strings.TrimSpace(s.Pos.Code) {
				lines = append(lines, strings.TrimSpace(s.Pos.Code))
			}
			instrs = append(instrs, s.Instr+" ["+strings.Join(s.Stack, ", ")+"]")
		}
		want := "y := x.Mul(k)|if k > 1 {|y = y.Sin()|return y"
		if kind == eval.StepNone {
			want = ""
		}
		if got := strings.Join(lines, "|"); got != want {
			t.Errorf("log %d: lines %q, want %q", kind, got, want)
		}
		if kind == eval.StepLines && len(instrs) != 4 {
			t.Errorf("%d steps for 4 lines", len(instrs))
		}
		all := strings.Join(instrs, "\n")
		if kind == eval.StepInstructions && (!strings.Contains(all, "BinOp > [SymNodeVariable(L['k']), ConstantVariable(1)]") ||
			!strings.Contains(all, "TensorVariable(y)")) {
			t.Errorf("instructions:\n%s", all)
		}
		for _, out := range o.log.out {
			if out.Kind == "dynamo_cpp_guards_str" {
				trees[kind] += string(out.Payload)
			}
		}
	}
	if trees[eval.StepNone] == "" || trees[eval.StepInstructions] != trees[eval.StepNone] || trees[eval.StepLines] != trees[eval.StepNone] {
		t.Errorf("the log changes the guards:\n%s\n%s", trees[eval.StepNone], trees[eval.StepInstructions])
	}
}
