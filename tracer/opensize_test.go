package tracer

import (
	"fmt"
	"strings"
	"testing"
)

// TestOpenSizes runs functions over tensors of many sizes and wants the size to
// stay open: the first graph is of constants, the second serves all that give
// the same answers to what the function asks.
func TestOpenSizes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		sizes      []int
		graphs     int
	}{
		{"minimum and maximum", `n, m := min(x.Size(0), 6), max(x.Size(0), 4, x.Size(1))
			return x.Narrow(0, 0, n).Sum().Add(torch.Ones(m).Sum())`, []int{3, 5, 7, 4, 9, 6, 2}, 2},
		{"minimum with a field", `return x.Narrow(0, 0, min(b.limit, x.Size(0))).Sum()`, []int{3, 5, 7, 4, 9, 6, 2}, 2},
		{"arithmetic with a field", `return torch.Ones(x.Size(0)*b.limit, b.limit+x.Size(0)).Sum().Mul(x.Size(0) / b.limit).Mul(x)`, []int{13, 15, 17, 24, 9}, 2},
		{"quotient of what may be negative", `n := x.Size(0) - 20
			return x.Sum().Add(torch.Ones(n/3 + 10).Sum()).Add(torch.Ones(n%3 + 10).Sum())`, []int{3, 4, 5, 6, 7, 8, 30, 31, 32}, 3},
		{"numbers from entry", `n := min(b.limit, b.other, 100)
			b.limit++
			b.seen = n
			return x.Mul(2)`, []int{3, 3, 3}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, fmt.Sprintf(`
type box struct{ limit, other, seen int }
func (b *box) f(x *torch.Tensor) *torch.Tensor {
	%s
}
func main() {
	b := &box{limit: 6, other: 40}
	g := torch.Compile(b.f)
	for _, n := range %s { fmt.Println(n, g(torch.Ones(n, 3)), b.seen) }
}`, c.body, "[]int{"+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.sizes)), ","), "[]")+"}"))
			if got := len(o.graphs()); got != c.graphs {
				t.Errorf("%d graphs, want %d: %+v", got, c.graphs, o.recompiles())
			}
			if o.codes() != "" {
				t.Error(o.codes())
			}
		})
	}
}
