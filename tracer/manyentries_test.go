package tracer

import (
	"fmt"
	"testing"
)

// TestManyRecompiles has one function compiled many times over for each thing that a call
// can differ in: a later call of the same finds its entry, and gives what the program gives.
func TestManyRecompiles(t *testing.T) {
	const n = 70
	for name, c := range map[string]struct{ decls, params, arg, use string }{
		"string":       {"", "k string", `fmt.Sprint("k", i)`, `if k == "a" { x = x.Add(1) }; x = x.Mul(float64(len(k)))`},
		"number":       {"", "k int", "i", "x = x.Mul(float64(k))"},
		"expression":   {"", "k int", "i", "if (k*3+1)%1000 == 7 { return x }; x = x.Add((k*3+1)%1000)"},
		"shape":        {"", "k int", "0", "x = x.Add(x.Size(0))"},
		"length":       {"", "k []int", "make([]int, i)", "x = x.Add(len(k))"},
		"object":       {"type o struct { v float64 }\nvar os [100]o", "k *o", "&os[i]", "if k == &os[3] { x = x.Neg() }; x = x.Add(k.v)"},
		"two":          {"", "k, l int", "i/10, i%10", "x = x.Mul(k).Add(l)"},
		"in a closure": {"", "k func() int", "func() int { return i }", "x = x.Mul(k())"},
	} {
		t.Run(name, func(t *testing.T) {
			o := both(t, fmt.Sprintf(`
%s
func f(x *torch.Tensor, %s) *torch.Tensor {
	%s
	return x.Cos()
}

func main() {
	g := torch.Compile(f, kw.Dynamic(false), kw.RecompileLimit(1000))
	for range 3 {
		for i := range %d {
			fmt.Println(i, g(torch.Ones(i+1), %s).Sum().Item())
		}
	}
}
`, c.decls, c.params, c.use, n, c.arg))
			if got := len(o.recompiles()); got != n-1 {
				t.Errorf("%d recompiles, want %d\n%s", got, n-1, o.stderr)
			}
		})
	}
}
