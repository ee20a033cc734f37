package app

import (
	"strings"
	"testing"

	"tcdbg/tracer/breaks"
)

// goBlindAdvice are pairs for what programs that were written without a look at the texts
// were advised wrongly.
var goBlindAdvice = []goPair{
	{
		name: "sizes that are the same one", advice: "call compiler.MarkDynamic(x, 0) and compiler.MarkDynamic(y, 0) before the first call, all of them",
		before: `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Mul(y).Sum() }
func main() {
	fast := torch.Compile(f)
	for n := range 3 {
		fmt.Println(fast(torch.Ones(n+3), torch.Ones(n+3)))
	}
}`,
		after: `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Mul(y).Sum() }
func main() {
	fast := torch.Compile(f)
	for n := range 3 {
		x, y := torch.Ones(n+3), torch.Ones(n+3)
		compiler.MarkDynamic(x, 0)
		compiler.MarkDynamic(y, 0)
		fmt.Println(fast(x, y))
	}
}`,
	},
	{
		name: "a size of what the function keeps", advice: "is dynamic from this compile on",
		before: `
type cache struct{ k *torch.Tensor }
func f(x *torch.Tensor, c *cache) *torch.Tensor {
	c.k = torch.Cat([]*torch.Tensor{c.k, x})
	return c.k.Sum()
}
func main() {
	fast, c := torch.Compile(f), &cache{torch.Ones(2)}
	for range 4 {
		fmt.Println(fast(torch.Ones(3), c))
	}
}`,
		after: `
type cache struct{ k *torch.Tensor }
func f(x *torch.Tensor, c *cache) *torch.Tensor {
	c.k = torch.Cat([]*torch.Tensor{c.k, x})
	return c.k.Sum()
}
func main() {
	fast, c := torch.Compile(f), &cache{torch.Ones(2)}
	for i := range 9 {
		if y := fast(torch.Ones(3), c); i < 4 {
			fmt.Println(y)
		}
	}
}`,
	},
	{
		name: "a number that an operator takes as a number alone", advice: "the marked line needs k as a number, so there is an entry for each value: keep them few",
		before: `
func f(x *torch.Tensor, k float64) *torch.Tensor { return torch.FullLike(x, k).Mul(x) }
func main() {
	fast := torch.Compile(f)
	for i := range 2 {
		fmt.Println(fast(torch.Ones(3), float64(i)+2))
	}
}`,
		after: `
func f(x *torch.Tensor, k float64) *torch.Tensor { return torch.FullLike(x, k).Mul(x) }
func main() {
	fast := torch.Compile(f)
	for i := range 6 {
		if y := fast(torch.Ones(3), float64(i%2)+2); i < 2 {
			fmt.Println(y)
		}
	}
}`,
	},
	{
		name: "a learning rate in an expression", advice: "the learning rate changes: make it a tensor",
		before: `
func main() {
	w := torch.Ones(4, kw.RequiresGrad(true))
	opt := optim.NewAdamW([]*torch.Tensor{w}, kw.Lr(0.5), kw.WeightDecay(0.25))
	schedule, step := optim.NewExponentialLR(opt, 0.5), torch.Compile(opt.Step)
	for range 4 {
		opt.ZeroGrad()
		w.Square().Sum().Backward()
		step()
		schedule.Step()
	}
	fmt.Println(w.Detach())
}`,
		after: `
func main() {
	w := torch.Ones(4, kw.RequiresGrad(true))
	opt := optim.NewAdamW([]*torch.Tensor{w}, kw.Lr(torch.NewTensor(0.5)), kw.WeightDecay(0.25))
	schedule, step := optim.NewExponentialLR(opt, 0.5), torch.Compile(opt.Step)
	for range 4 {
		opt.ZeroGrad()
		w.Square().Sum().Backward()
		step()
		schedule.Step()
	}
	fmt.Println(w.Detach())
}`,
	},
	{
		name: "item that a branch needs", code: breaks.TensorItem, advice: "compute both sides and choose with Where on the tensor, or decide before the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	if x.Sum().Item() > 2 {
		return x.Sin()
	}
	return x.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return torch.Where(x.Sum().Gt(2), x.Sin(), x.Cos()) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
	},
	{
		name: "item that is returned", code: breaks.TensorItem, advice: "Return the tensor, and call Item on it in the caller.",
		before: `
func f(x *torch.Tensor) int { return int(x.Exp().Argmax().Item()) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Exp().Argmax() }
func main() { fmt.Println(int(torch.Compile(f)(torch.Arange(3)).Item())) }`,
	},
	{
		name: "item that is a position", code: breaks.TensorItem, advice: "where it is a position, IndexSelect, Gather and IndexFill take the tensor as it is",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	i := int(x.Exp().Argmax().Item())
	return x.Narrow(0, i, 1).Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	i := x.Exp().Argmax()
	return x.IndexSelect(0, i.Reshape(1)).Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
	},
}

// goHeldAdvice are findings on which a text was wrong, with the one that is not.
var goHeldAdvice = []struct{ name, body, text, never string }{
	{"a size that a branch compares", `
func f(x *torch.Tensor, width int) *torch.Tensor {
	if x.Size(1) != width {
		return x
	}
	return x.Mul(2)
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(2, 4), 4), fast(torch.Ones(2, 3), 4))
}`, "the marked line branches on a size", "MarkDynamic"},
	{"a captured number after a break", `
func main() {
	by := 1.0
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		y := x.Sin()
		compiler.GraphBreak()
		return y.Mul(by)
	})
	for range 3 {
		fmt.Println(fast(torch.Ones(3)))
		by *= 0.5
	}
}`, "look at that break first", "removes this"},
	{"Backward that counts", `
var runs int
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (double) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor {
	runs++
	return []*torch.Tensor{grads[0].Mul(2)}
}
func f(x *torch.Tensor) *torch.Tensor { return autograd.Apply(double{}, x.Sin())[0].Sum() }
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f)(x).Backward()
	fmt.Println(x.Grad(), runs)
}`, "fix: Backward may change nothing but what it makes itself", "fix: Backward is traced when Forward is"},
}

// TestGoAdviceHolds sees that the text which comes first fits the finding.
func TestGoAdviceHolds(t *testing.T) {
	for _, c := range goHeldAdvice {
		t.Run(c.name, func(t *testing.T) {
			first := firstAdvice(t, c.body)
			if !strings.Contains(first, c.text) || strings.Contains(first, c.never) {
				t.Errorf("says\n%s\nwant %q, never %q", first, c.text, c.never)
			}
		})
	}
}

// firstAdvice is what the report of a program says to do.
func firstAdvice(t *testing.T, body string) string {
	t.Helper()
	var out []string
	for _, s := range advised(t, t.TempDir(), body).fixes {
		out = append(out, "fix: "+s.text)
	}
	return strings.Join(out, "\n")
}
