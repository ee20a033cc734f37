package tracer

import (
	"strings"
	"testing"
)

// TestScript: jit.Script names what TorchScript has not, and the line; what it takes runs as it is.
func TestScript(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"branches, loops, numbers, own functions", `
func half(x *torch.Tensor) *torch.Tensor { return x.Mul(math.Sqrt(0.25)) }
func f(x *torch.Tensor) *torch.Tensor {
	all := []*torch.Tensor{}
	for i := range 3 {
		if x.Sum().Gt(float64(i)).Bool() { x = half(x) }
		all = append(all, x)
	}
	fmt.Println(len(all))
	return torch.Stack(all)
}`, ""},
		{"another library", `
func f(x *torch.Tensor) *torch.Tensor {
	if strings.ToUpper("a") == "A" { return x }
	return x.Mul(2)
}`, "the call of strings.ToUpper"},
		{"in a function that it calls", `
func g(x *torch.Tensor) *torch.Tensor {
	c := make(chan int, 1)
	c <- 1
	return x
}
func f(x *torch.Tensor) *torch.Tensor { return g(x) }`, "a channel"},
		{"a goroutine", `
func f(x *torch.Tensor) *torch.Tensor { go fmt.Println(1); return x }`, "a goroutine"},
		{"a deferred call", `
func f(x *torch.Tensor) *torch.Tensor { defer fmt.Println(1); return x }`, "a deferred call"},
		{"a function value", `
func g(x *torch.Tensor, h func(*torch.Tensor) *torch.Tensor) *torch.Tensor { return h(x) }
func id(x *torch.Tensor) *torch.Tensor { return x }
func f(x *torch.Tensor) *torch.Tensor { return g(x, id) }`, "a call of a function value"},
		{"a literal", `
func f(x *torch.Tensor) *torch.Tensor {
	k := 2.0
	g := func() { k++ }
	g()
	return x.Mul(k)
}`, "a function literal"},
		{"an interface", `
type shape interface{ area(x *torch.Tensor) *torch.Tensor }
type square struct{}
func (square) area(x *torch.Tensor) *torch.Tensor { return x.Mul(x) }
var s shape = square{}
func f(x *torch.Tensor) *torch.Tensor { return s.area(x) }`, "a call through the interface main.shape"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := runProgram(t, c.body+`
func main() {
	fmt.Printf("why: %s\n", torch.Scripted(f))
}`, true)
			why, want := strings.TrimPrefix(got.stdout, "why: "), "\n"
			if c.want != "" {
				want = c.want + " is not supported in TorchScript:\n  File \""
			}
			if !strings.HasPrefix(why, want) || strings.Contains(why, "\", line ") != (c.want != "") {
				t.Errorf("%q\n%s", got.stdout, got.stderr)
			}
		})
	}
}
