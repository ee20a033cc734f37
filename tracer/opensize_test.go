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
		{"arithmetic with a field", `return torch.Ones(x.Size(0)*b.limit, b.limit+x.Size(0)).Sum().Mul(x.Size(0) / ` +
			`b.limit).Mul(x)`, []int{13, 15, 17, 24, 9}, 2},
		{"quotient of what may be negative", `n := x.Size(0) - 20
			return x.Sum().Add(torch.Ones(n/3 + 10).Sum()).Add(torch.Ones(n%3 + 10).Sum())`, []int{3, 4, 5, 6, 7, 8, 30, 31, 32}, 3},
		{"a tensor of which only the size is used", `return torch.Ones(x.Size(0) * 2).Sum()`, []int{3, 5, 7, 4}, 2},
		{"a transposed tensor", `return torch.Ones(3, x.Size(0)).T().Add(x.T().Contiguous().T())`, []int{3, 5, 7, 4}, 2},
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

// TestOpenStrides wants the strides of transposed and of padded inputs to follow from
// sizes that change.
func TestOpenStrides(t *testing.T) {
	for call, graphs := range map[string]int{
		"x.T()":                 2,
		"x.Permute(1, 2, 0)":    2,
		"x.Narrow(1, 0, 2)":     2,
		"x.Unsqueeze(0).T()":    2,
		"x.Mul(1).Nonzero()":    2,
		"x.Expand(2, n, 3).T()": 2,
	} {
		dims := "n, 3"
		if strings.Contains(call, "Permute") {
			dims = "n, 3, n + 1"
		}
		if strings.Contains(call, "Unsqueeze") {
			dims = "n"
		}
		if strings.Contains(call, "Expand") {
			call = "x.Expand(2, n, 3).Transpose(0, 2)"
		}
		o := both(t, fmt.Sprintf(`
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sum(kw.Dim(0)) }
func main() {
	g := torch.Compile(f)
	for _, n := range []int{3, 5, 7, 4} {
		x := torch.Randn(%s)
		fmt.Println(g(%s))
	}
}`, dims, call))
		if got := len(o.graphs()); got != graphs {
			t.Errorf("%s: %d graphs, want %d: %+v", call, got, graphs, o.recompiles())
		}
	}
}

// TestOpenResampling resamples images of many sizes in one graph of open sizes.
func TestOpenResampling(t *testing.T) {
	for _, opts := range []string{
		`kw.ScaleFactor(2.0), kw.Mode("bilinear"), kw.AlignCorners(true)`,
		`kw.ScaleFactor(2.0), kw.Mode("bilinear"), kw.RecomputeScaleFactor(true)`,
		`kw.ScaleFactor(1.5), kw.Mode("bilinear")`,
		`kw.ScaleFactor(0.75), kw.Mode("bicubic"), kw.RecomputeScaleFactor(true)`,
		`kw.Size(24), kw.Mode("bilinear")`,
		`kw.Size(24), kw.Mode("bicubic"), kw.AlignCorners(true)`,
		`kw.Size(24), kw.Mode("nearest-exact")`,
		`kw.Size([]int{2 * x.Size(2), x.Size(3) + 3})`,
		`kw.Size(5), kw.Mode("bilinear"), kw.Antialias(true)`,
		`kw.Size([]int{x.Size(2) / 2, x.Size(3) / 3}), kw.Mode("bicubic"), kw.Antialias(true), kw.AlignCorners(true)`,
	} {
		t.Run(opts, func(t *testing.T) {
			o := both(t, fmt.Sprintf(`
func f(x *torch.Tensor) *torch.Tensor { return functional.Interpolate(x, %s) }
func main() {
	g := torch.Compile(f)
	for _, n := range []int{9, 11, 16, 13} {
		x := torch.Randn(1, 2, n, n+4).RequiresGrad_()
		y := g(x)
		y.Pow(2).Sum().Backward()
		fmt.Println(n, y.Detach(), x.Grad())
	}
}`, opts))
			if got := len(o.graphs()); got != 2 || o.codes() != "" {
				t.Errorf("%d graphs, want 2: breaks %q, %+v", got, o.codes(), o.recompiles())
			}
		})
	}
}

// TestPassedToNativeCode wants the break to say which function gets the tensor.
func TestPassedToNativeCode(t *testing.T) {
	for call, want := range map[string]string{
		`fmt.Sprint(y)`:             "a *torch.Tensor is passed to fmt.Sprint",
		`fmt.Sprintf("%v", box{y})`: "a main.box is passed to fmt.Sprintf",
		`strings.Join([]string{fmt.Sprint(&box{y})[:0]}, "")`: "a *main.box is passed to fmt.Sprint",
	} {
		o := both(t, fmt.Sprintf(`
type box struct{ t *torch.Tensor }
func main() {
	var _ = strings.Join
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		y := x.Sin()
		_ = %s
		return box{y.Cos()}.t
	})
	fmt.Println(g(torch.Ones(2)))
}`, call))
		if b := o.breaks(); len(b) != 1 || b[0].Detail != want {
			t.Errorf("%s: got %+v, want %q", call, b, want)
		}
	}
}
