package tracer

import (
	"strings"
	"testing"
)

// entriesText is what the entries of a run do on each hit.
func (o *outcome) entriesText() string {
	var parts []string
	for _, out := range o.log.out {
		if meta, ok := out.Meta.(map[string]string); ok && meta["name"] == "tcdbg_entry" {
			parts = append(parts, string(out.Payload))
		}
	}
	return strings.Join(parts, "\n")
}

// TestBytecode reads what entries do in place of the frames' code.
func TestBytecode(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"results and stores", `
type net struct { w *torch.Tensor; calls int; last map[string]float64 }
func (n *net) f(x *torch.Tensor, k float64) (*torch.Tensor, float64, error) {
	n.calls++
	n.last["a"] = k
	delete(n.last, "b")
	return x.Mul(n.w), k * 2, nil
}
func main() {
	n := &net{w: torch.Ones(3), last: map[string]float64{"b": 2}}
	fmt.Println(torch.Compile(n.f)(torch.Ones(3), 1.5))
	fmt.Println(n.last, n.calls)
}`, []string{
			"graph_out = __compiled_fn_0(L['x'], L['n'].w)\n", "L['n'].calls = L['n'].calls + 1\n", "L['n'].last[\"a\"] = L['k']\n",
			"delete(L['n'].last, \"b\")\n", "return graph_out[0], L['k'] * 2, nil\n",
		}},
		{"what is made", `
type pair struct { a, b *torch.Tensor; n int }
func f(x *torch.Tensor) (*pair, []*torch.Tensor, map[string]*torch.Tensor, func() int, any, error) {
	n := 3
	return &pair{x.Sin(), x, 2}, []*torch.Tensor{x.Cos(), x}, map[string]*torch.Tensor{"y": x.Exp()}, func() int { return n }, "text",
		fmt.Errorf("of %d", n)
}
func main() {
	a, b, c, d, e, err := torch.Compile(f)(torch.Ones(2))
	fmt.Println(a.n, len(b), len(c), d(), e, err)
}`, []string{"object_0 = new ", "func_0 = f.func1{", "map_0 = map[string]*torch.Tensor{y: graph_out[2]}", `error("of %d")`, `"text"`}},
		{"a break", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	fmt.Println("between", y.Dim())
	return y.Add(1)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2))) }`, []string{
			"go on without the graph: Failed to trace builtin operator (GB0059)\n", "in f, at ", " = fmt.Println(", `"between"`,
			"return graph_out[0]\n",
		}},
		{"no graph", `
func f(n int) int { return n + 1 }
func main() { fmt.Println(torch.Compile(f)(1)) }`, []string{"return L['n'] + 1\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := both(t, c.body).entriesText()
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}
