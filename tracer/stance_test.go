package tracer

import "testing"

// TestStances counts the graphs that are made, and wants what go run gives.
func TestStances(t *testing.T) {
	const f = `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Cos() }
func try(g func(*torch.Tensor) *torch.Tensor, x *torch.Tensor) {
	defer func() { if r := recover(); r != nil { fmt.Println("refused") } }()
	g(x)
}
`
	for _, c := range []struct {
		name, body string
		graphs     int
		refused    bool
	}{
		{"default", `g := torch.Compile(f); try(g, torch.Ones(2)); try(g, torch.Ones(2, 2))`, 2, false},
		{"force_eager", `g := torch.Compile(f); compiler.SetStance("force_eager"); try(g, torch.Ones(2)); ` +
			`compiler.SetStance("default")`, 0, false},
		{"force_eager for a while", `g := torch.Compile(f); compiler.SetStance("force_eager"); try(g, torch.Ones(2)); ` +
			`compiler.SetStance("default"); try(g, torch.Ones(2))`, 1, false},
		{"eager_on_recompile", `g := torch.Compile(f); try(g, torch.Ones(2)); compiler.SetStance("eager_on_recompile"); try(g, ` +
			`torch.Ones(2, 2)); try(g, torch.Ones(2)); compiler.SetStance("default")`, 1, false},
		{"fail_on_recompile", `g := torch.Compile(f); try(g, torch.Ones(2)); compiler.SetStance("fail_on_recompile"); try(g, ` +
			`torch.Ones(2)); try(g, torch.Ones(2, 2)); compiler.SetStance("default")`, 1, true},
		{"eager_then_compile, first call", `g := torch.Compile(f); compiler.SetStance("eager_then_compile"); try(g, torch.Ones(2)); ` +
			`compiler.SetStance("default")`, 0, false},
		{"eager_then_compile", `g := torch.Compile(f); compiler.SetStance("eager_then_compile"); try(g, torch.Ones(2)); try(g, ` +
			`torch.Ones(2)); compiler.SetStance("default")`, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runProgram(t, f+"func main() { "+c.body+" }", true)
			if n := len(o.graphs()); n != c.graphs || (o.stdout == "refused\n") != c.refused || o.exit.Code != 0 {
				t.Errorf("%d graphs, want %d; printed %q, exit %d\n%s", n, c.graphs, o.stdout, o.exit.Code, o.stderr)
			}
		})
	}
}
