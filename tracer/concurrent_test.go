package tracer

import (
	"strings"
	"testing"
)

// This file tests what the race detector should see: callers in parallel.

// TestConcurrentCallers lets goroutines call one compiled function whose
// entries, breaks and recompiles they make for each other.
func TestConcurrentCallers(t *testing.T) {
	o := both(t, `
type net struct{ w *torch.Tensor }
func (n *net) forward(x *torch.Tensor, k int) *torch.Tensor {
	y := x.Mul(n.w)
	if y.Sum().Gt(4).Bool() { y = y.Neg() }
	return y.Add(k)
}
func main() {
	n := &net{torch.Ones(2)}
	g := torch.Compile(n.forward)
	out := make([]string, 8)
	done := make(chan bool)
	for i := range out {
		go func() {
			for j := range 6 { out[i] += fmt.Sprint(g(torch.Full([]int{2}, i+j), j%2)) }
			done <- true
		}()
	}
	for range out { <-done }
	for _, s := range out { fmt.Println(s) }
}`)
	if n := len(o.graphs()); n > 8 {
		t.Errorf("%d graphs: callers do not share entries", n)
	}
}

// TestModesAreRefusedByName wants Compile itself to refuse what no backend
// honours.
func TestModesAreRefusedByName(t *testing.T) {
	o := runProgram(t, `
func main() { torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x }, kw.Mode("max-autotuned")) }`, true)
	if o.exit.Code != 2 || !strings.Contains(o.stderr, `mode "max-autotuned" is not supported, did you mean "max-autotune"?`) {
		t.Errorf("exit %d, stderr %s", o.exit.Code, o.stderr)
	}
}

// TestFullgraphCarriesTheReport wants cause, explanation and place in the error.
func TestFullgraphCarriesTheReport(t *testing.T) {
	o := runProgram(t, `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("mid"); return y.Cos() }
func main() { torch.Compile(f, kw.Fullgraph(true))(torch.Ones(1)) }`, true)
	for _, want := range []string{"fullgraph=true", "Explanation:", "Hint:", "from user code", "in f", "Println"} {
		if !strings.Contains(o.stderr, want) {
			t.Errorf("%q is missing from\n%s", want, o.stderr)
		}
	}
	if o.exit.Code != 2 || strings.Contains(o.stdout, "mid") {
		t.Errorf("exit %d, stdout %q", o.exit.Code, o.stdout)
	}
}
