package app

import (
	"strings"
	"testing"
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
