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
		name: "sizes that are the same one", advice: "call compiler.MarkDynamic(x, 0) and compiler.MarkDynamic(y, 0) before the " +
			"first call, all of them",
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
		name:   "a number that an operator takes as a number alone",
		advice: "the marked line needs k as a number, so there is an entry for each value: keep them few",
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
		name: "item that a branch needs", code: breaks.TensorItem,
		advice: "compute both sides and choose with Where on the tensor, or decide before the call",
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
		name: "item that is a position", code: breaks.TensorItem,
		advice: "where it is a position, IndexSelect, Gather and IndexFill take the tensor as it is",
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

// goValueAdvice are pairs for values that come and go, and for calls of torch that break.
var goValueAdvice = []goPair{
	{
		name: "the stride of a size of 1", advice: "pass x.View(x.Shape()...)",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 3 {
		fmt.Println(fast(torch.Ones(1, n+2, 4).At(torch.Colon, -1)))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 3 {
		x := torch.Ones(1, n+2, 4).At(torch.Colon, -1)
		fmt.Println(fast(x.View(x.Shape()...)))
	}
}`,
	},
	{
		name: "a branch that leaves a loop", code: breaks.DataDependentBranching, advice: "compile the body of the loop",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	for range 3 {
		if x.Sum().Gt(10).Bool() {
			break
		}
		x = x.Mul(2).Add(0.5)
	}
	return x
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) (y, done *torch.Tensor) {
	y = x.Mul(2).Add(0.5)
	return y, y.Sum().Gt(10)
}
func main() {
	fast, x := torch.Compile(f), torch.Ones(3)
	done := x.Sum().Gt(10)
	for range 3 {
		if done.Bool() {
			break
		}
		x, done = fast(x)
	}
	fmt.Println(x)
}`,
	},
	{
		name: "a branch that ends the program", code: breaks.DataDependentBranching, advice: "check it after the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Log()
	if y.Isnan().Any().Bool() {
		log.Fatal("no number")
	}
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) (y, bad *torch.Tensor) {
	y = x.Log()
	return y.Mul(2), y.Isnan().Any()
}
func main() {
	y, bad := torch.Compile(f)(torch.Ones(3))
	if bad.Bool() {
		log.Fatal("no number")
	}
	fmt.Println(y)
}`,
	},
	{
		name: "a call of torch that breaks within it", advice: "leave that call outside of the compiled function",
		before: `
func main() {
	torch.ManualSeed(0)
	loss, target := nn.NewAdaptiveLogSoftmaxWithLoss(4, 6, []int{2}), torch.Zeros(3).To(torch.Int64)
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		_, l := loss.Forward(x.Sin(), target)
		return l
	})
	fmt.Println(fast(torch.Ones(3, 4)).Detach())
}`,
		after: `
func main() {
	torch.ManualSeed(0)
	loss, target := nn.NewAdaptiveLogSoftmaxWithLoss(4, 6, []int{2}), torch.Zeros(3).To(torch.Int64)
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() })
	_, l := loss.Forward(fast(torch.Ones(3, 4)), target)
	fmt.Println(l.Detach())
}`,
	},
	{
		name: "an interface that is nil", advice: "n.hook is nil in one call and not in another: set it before the first call",
		before: `
type hook interface{ see(*torch.Tensor) *torch.Tensor }
type double struct{ by float64 }
func (d *double) see(x *torch.Tensor) *torch.Tensor { return x.Mul(d.by) }
type net struct{ hook hook }
func (n *net) f(x *torch.Tensor) *torch.Tensor {
	if n.hook != nil {
		x = n.hook.see(x)
	}
	return x.Sin()
}
func main() {
	n := &net{}
	fast := torch.Compile(n.f)
	fmt.Println(fast(torch.Zeros(3)))
	n.hook = &double{2}
	fmt.Println(fast(torch.Zeros(3)))
}`,
		after: `
type hook interface{ see(*torch.Tensor) *torch.Tensor }
type double struct{ by float64 }
func (d *double) see(x *torch.Tensor) *torch.Tensor { return x.Mul(d.by) }
type net struct{ hook hook }
func (n *net) f(x *torch.Tensor) *torch.Tensor {
	if n.hook != nil {
		x = n.hook.see(x)
	}
	return x.Sin()
}
func main() {
	n := &net{&double{2}}
	fast := torch.Compile(n.f)
	fmt.Println(fast(torch.Zeros(3)))
	fmt.Println(fast(torch.Zeros(3)))
}`,
	},
	{
		name: "the length of a map", advice: "the keys of m change: give it all its keys before the first call",
		before: `
func f(x *torch.Tensor, m map[string]float64) *torch.Tensor {
	if len(m) == 0 {
		return x
	}
	return x.Mul(m["a"])
}
func main() {
	fast, m := torch.Compile(f), map[string]float64{"a": 2}
	fmt.Println(fast(torch.Ones(3), m))
	m["b"] = 1
	fmt.Println(fast(torch.Ones(3), m))
}`,
		after: `
func f(x *torch.Tensor, m map[string]float64) *torch.Tensor {
	if len(m) == 0 {
		return x
	}
	return x.Mul(m["a"])
}
func main() {
	fast, m := torch.Compile(f), map[string]float64{"a": 2, "b": 0}
	fmt.Println(fast(torch.Ones(3), m))
	m["b"] = 1
	fmt.Println(fast(torch.Ones(3), m))
}`,
	},
	{
		name: "Item that is printed", code: breaks.TensorItem, advice: "print its number after the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Exp()
	fmt.Println(y.Sum().Item())
	return y.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Zeros(3))) }`,
		after: `
func f(x *torch.Tensor) (y, sum *torch.Tensor) {
	y = x.Exp()
	return y.Cos(), y.Sum()
}
func main() {
	y, sum := torch.Compile(f)(torch.Zeros(3))
	fmt.Println(sum.Item())
	fmt.Println(y)
}`,
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
	{"a local of a function that is called, after a restart", `
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (double) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor {
	runs++
	return []*torch.Tensor{grads[0].Mul(2)}
}
var runs int
type net struct{ W *torch.Tensor }
func (n *net) part(x *torch.Tensor) *torch.Tensor {
	h := autograd.Apply(double{}, x.Mul(n.W))[0]
	w := autograd.Apply(double{}, n.W)[0]
	return h.Mul(w)
}
func main() {
	n := &net{torch.Ones(3, kw.RequiresGrad(true))}
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { compiler.GraphBreak(); return n.part(x).Sum() })
	for i := range 2 {
		fast(torch.Ones(i+2, 3)).Backward()
	}
	fmt.Println(n.W.Grad(), runs)
}`, "h is handed across the graph break at", "MarkDynamic(h"},
	{"arguments that are passed one by one", `
func f(x *torch.Tensor, by ...float64) *torch.Tensor {
	for _, b := range by {
		x = x.Mul(b)
	}
	return x
}
func main() {
	fast, by := torch.Compile(f), []float64{1, 2, 3, 4}
	for i := range 4 {
		fmt.Println(fast(torch.Ones(3), by[:i]...))
	}
}`, "there is an entry for each length of by", "append"},
	{"lists of the elements of an argument", `
type example struct{ ids []float64 }
func f(x *torch.Tensor, batch []example) *torch.Tensor {
	longest := 0
	for _, e := range batch {
		longest = max(longest, len(e.ids))
	}
	return x.Mul(2).Repeat(longest)
}
func main() {
	fast, ids := torch.Compile(f), []float64{1, 2, 3, 4}
	for i := range 4 {
		fmt.Println(fast(torch.Ones(3), []example{{ids[:i+1]}}))
	}
}`, "there is an entry for each length of batch[0].ids", "grows"},
	{"a number that is chosen", `
func f(grads []*torch.Tensor, clip float64) []*torch.Tensor {
	norm := torch.Zeros()
	for _, g := range grads {
		norm = norm.Add(g.Square().Sum())
	}
	scale := 1.0
	if n := norm.Sqrt().Item(); n > clip {
		scale = clip / n
	}
	out := make([]*torch.Tensor, len(grads))
	for i, g := range grads {
		out[i] = g.Mul(scale)
	}
	return out
}
func main() { fmt.Println(torch.Compile(f)([]*torch.Tensor{torch.Ones(3)}, 0.5)) }`, "compute both sides and choose with Where", "cannot"},
	{"a condition of two parts", `
func f(x *torch.Tensor, up bool) *torch.Tensor {
	y := x.Sin()
	ok := up && y.Sum().Gt(0).Bool()
	if ok {
		y = y.Neg()
	}
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), true)) }`, "Compute both sides and choose with Where.", "cannot"},
	{"results that differ in tensors alone", `
func f(x *torch.Tensor) (*torch.Tensor, error) {
	y := x.Sin()
	if y.Sum().Gt(0).Bool() {
		return y.Neg(), nil
	}
	return y, nil
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`, "Compute both sides and choose with Where.", "cannot"},
	{"a case that counts", `
type run struct{ count int; limits [2]int }
func (r *run) f(x *torch.Tensor) *torch.Tensor {
	r.count++
	switch {
	case r.count >= r.limits[1]:
		return x.Sin()
	case r.count >= r.limits[0]:
		return x.Cos()
	}
	return x.Exp()
}
func main() {
	r := &run{limits: [2]int{2, 4}}
	fast := torch.Compile(r.f)
	for range 5 {
		fmt.Println(fast(torch.Ones(3)))
	}
}`, "an entry for each answer is normal", "tensor"},
	{"sizes of 1 among those that are dynamic", `
type batch struct{ x *torch.Tensor; by map[string]float64 }
func g(b *batch) *torch.Tensor {
	y := b.x.Mul(2)
	if k, ok := b.by["k"]; ok {
		y = y.Mul(k)
	}
	return y
}
func main() {
	fast := torch.Compile(g)
	for _, b := range []*batch{{torch.Ones(2), nil}, {torch.Ones(3), nil}, {torch.Ones(1), nil}, {torch.Ones(2), map[string]float64{"k": 2}}} {
		fmt.Println(fast(b))
	}
}`, "pad to 2 or more", "nothing to do"},
	{"shapes that do not fit after others", `
func main() {
	l := nn.NewLinear(3, 2)
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return l.Forward(x.Sin()).Cos() })
	defer func() { fmt.Println(recover() != nil) }()
	fast(torch.Ones(2, 3))
	fast(torch.Ones(2, 4))
}`, "Check the shapes and dtypes", "is normal"},
	{"shapes that do not fit", `
func main() {
	l := nn.NewLinear(3, 2)
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return l.Forward(x.Sin()).Cos() })
	defer func() { fmt.Println(recover() != nil) }()
	fast(torch.Ones(2, 4))
}`, "Check the shapes and dtypes", "Leave this call"},
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
