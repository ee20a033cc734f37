package app

import "tcdbg/tracer/breaks"

// goSettledAdvice are pairs whose text says that nothing is to be done: the second program
// makes the same calls more often, and nothing is added.
var goSettledAdvice = []goPair{
	{
		name: "with and without gradients", advice: "x comes with and without requires_grad: a graph that computes gradients is " +
			"another one, so two entries are normal",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for range 2 {
		fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3, kw.RequiresGrad(true))).Detach())
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for i := range 4 {
		a, b := fast(torch.Ones(3)), fast(torch.Ones(3, kw.RequiresGrad(true))).Detach()
		if i < 2 {
			fmt.Println(a, b)
		}
	}
}`,
	},
	{
		name: "training and evaluation", advice: "changes between training and evaluation: two entries are normal",
		before: `
func main() {
	torch.ManualSeed(1)
	m := nn.NewSequential(nn.NewLinear(3, 3), nn.NewBatchNorm1d(3))
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return m.Forward(x) })
	for range 2 {
		nn.Train(m)
		fast(torch.Ones(4, 3))
		nn.Eval(m)
		fmt.Println(fast(torch.Zeros(4, 3)).Shape())
	}
}`,
		after: `
func main() {
	torch.ManualSeed(1)
	m := nn.NewSequential(nn.NewLinear(3, 3), nn.NewBatchNorm1d(3))
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return m.Forward(x) })
	for i := range 5 {
		nn.Train(m)
		fast(torch.Ones(4, 3))
		nn.Eval(m)
		if y := fast(torch.Zeros(4, 3)); i < 2 {
			fmt.Println(y.Shape())
		}
	}
}`,
	},
	{
		name: "a number that becomes dynamic", advice: "k was baked in by the first compile and is now dynamic: new values do not " +
			"recompile (an int that becomes 0 or 1 does), nothing to do",
		before: `
func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(float64(k)).Sin() }
func main() {
	fast := torch.Compile(f)
	for k := range 3 {
		fmt.Println(fast(torch.Ones(3), k+2))
	}
}`,
		after: `
func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(float64(k)).Sin() }
func main() {
	fast := torch.Compile(f)
	for k := range 6 {
		if y := fast(torch.Ones(3), k+2); k < 3 {
			fmt.Println(y)
		}
	}
}`,
	},
	{
		name: "a branch on a number", advice: "the marked line asks whether k > 3: an entry for each answer is normal",
		before: `
func f(x *torch.Tensor, k int) *torch.Tensor {
	if k > 3 {
		return x.Sin()
	}
	return x.Cos()
}
func main() {
	fast := torch.Compile(f)
	for _, k := range []int{2, 5, 6} {
		fmt.Println(fast(torch.Ones(3), k))
	}
}`,
		after: `
func f(x *torch.Tensor, k int) *torch.Tensor {
	if k > 3 {
		return x.Sin()
	}
	return x.Cos()
}
func main() {
	fast := torch.Compile(f)
	for i, k := range []int{2, 5, 6, 3, 4, 8} {
		if y := fast(torch.Ones(3), k); i < 3 {
			fmt.Println(y)
		}
	}
}`,
	},
	{
		name: "a branch on a size", advice: "the marked line branches on a size: an entry for each side is normal",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	if x.Size(0) > 4 {
		return x.Sin()
	}
	return x.Cos()
}
func main() {
	fast := torch.Compile(f, kw.Dynamic(true))
	for _, n := range []int{3, 6} {
		fmt.Println(fast(torch.Ones(n)))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	if x.Size(0) > 4 {
		return x.Sin()
	}
	return x.Cos()
}
func main() {
	fast := torch.Compile(f, kw.Dynamic(true))
	for i, n := range []int{3, 6, 2, 4, 5, 8, 9} {
		if y := fast(torch.Ones(n)); i < 2 {
			fmt.Println(y)
		}
	}
}`,
	},
}

// goStateAdvice are pairs for recompiles by what a program keeps between calls.
var goStateAdvice = []goPair{
	{
		name: "the learning rate", advice: "the learning rate changes: make it a tensor, kw.Lr(torch.NewTensor(...))",
		before: `
func main() {
	w := torch.Ones(4, kw.RequiresGrad(true))
	opt := optim.NewSGD([]*torch.Tensor{w}, kw.Lr(0.5))
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
	opt := optim.NewSGD([]*torch.Tensor{w}, kw.Lr(torch.NewTensor(0.5)))
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
		name: "a number that a break gives", advice: "Keep the value as a 0-dimensional tensor",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	n := x.Sum().Item()
	return y.Mul(n)
}
func main() {
	fast := torch.Compile(f)
	for i := range 3 {
		fmt.Println(fast(torch.Full([]int{3}, float64(i))))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	n := x.Sum()
	return y.Mul(n)
}
func main() {
	fast := torch.Compile(f)
	for i := range 3 {
		fmt.Println(fast(torch.Full([]int{3}, float64(i))))
	}
}`,
	},
	{
		name: "a loop that a break splits", advice: "is handed across the graph break at model.go:12 to the rest of the function: " +
			"look at that break first",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	for i := 0; i < 4; i++ {
		x = x.Sin().Add(float64(i))
		compiler.GraphBreak()
	}
	return x.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	for i := 0; i < 4; i++ {
		x = x.Sin().Add(float64(i))
	}
	return x.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
	},
	{
		name: "texts", advice: "there is an entry for each value of mode (here \"b\"): keep them few, or choose by it before the " +
			"compiled function",
		before: `
func f(x *torch.Tensor, mode string) *torch.Tensor {
	switch mode {
	case "a":
		return x.Mul(1)
	case "b":
		return x.Mul(2)
	}
	return x.Mul(3)
}
func main() {
	fast := torch.Compile(f)
	for _, mode := range []string{"b", "c", "d"} {
		fmt.Println(fast(torch.Ones(3), mode))
	}
}`,
		after: `
func f(x, by *torch.Tensor) *torch.Tensor { return x.Mul(by) }
func main() {
	fast := torch.Compile(f)
	for _, mode := range []string{"b", "c", "d"} {
		by := 3.0
		switch mode {
		case "a":
			by = 1
		case "b":
			by = 2
		}
		fmt.Println(fast(torch.Ones(3), torch.NewTensor(by)))
	}
}`,
	},
	{
		name: "a captured number that chooses", advice: "the graph is specialised on the captured variable k",
		before: `
func main() {
	k := 0
	fast := torch.Compile(func(xs []*torch.Tensor) *torch.Tensor { return xs[k].Sin() })
	xs := []*torch.Tensor{torch.Ones(3), torch.Zeros(3)}
	for ; k < 2; k++ {
		fmt.Println(fast(xs))
	}
}`,
		after: `
func main() {
	k := torch.NewTensor([]int{0})
	fast := torch.Compile(func(xs *torch.Tensor) *torch.Tensor { return xs.IndexSelect(0, k).Squeeze(0).Sin() })
	xs := torch.Stack([]*torch.Tensor{torch.Ones(3), torch.Zeros(3)})
	for i := 0; i < 2; i++ {
		fmt.Println(fast(xs))
		k.Add_(1)
	}
}`,
	},
	{
		name: "rounds of a loop", advice: "the loop at the marked line is unrolled, so there is an entry for each number of rounds: " +
			"keep these few, or leave the loop outside and compile its body",
		before: `
var calls int
func f(x *torch.Tensor) *torch.Tensor {
	calls++
	for i := 0; i < calls; i++ {
		x = x.Sin()
	}
	return x
}
func main() {
	fast := torch.Compile(f)
	for range 5 {
		fmt.Println(fast(torch.Ones(3)))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	calls, fast := 0, torch.Compile(f)
	for range 5 {
		calls++
		x := torch.Ones(3)
		for range calls {
			x = fast(x)
		}
		fmt.Println(x)
	}
}`,
	},
	{
		name: "a counter", advice: "calls counts up with every call: keep the counter outside of the compiled function, or make " +
			"it a tensor",
		before: `
var calls int
func f(xs []*torch.Tensor) *torch.Tensor {
	calls++
	return xs[calls].Sin()
}
func main() {
	fast := torch.Compile(f)
	x := torch.Ones(3)
	for range 5 {
		fmt.Println(fast([]*torch.Tensor{x, x, x, x, x, x}))
	}
}`,
		after: `
func f(xs, calls *torch.Tensor) *torch.Tensor { return xs.IndexSelect(0, calls).Squeeze(0).Sin() }
func main() {
	fast, calls := torch.Compile(f), torch.NewTensor([]int{0})
	x := torch.Ones(3)
	for range 5 {
		calls.Add_(1)
		fmt.Println(fast(torch.Stack([]*torch.Tensor{x, x, x, x, x, x}), calls))
	}
}`,
	},
	{
		name: "a counter in a field", advice: "m.calls is another number with every call: where it counts, keep it outside of the " +
			"compiled function",
		before: `
type model struct{ calls int }
func (m *model) f(xs []*torch.Tensor) *torch.Tensor {
	m.calls++
	return xs[m.calls].Sin()
}
func main() {
	fast := torch.Compile((&model{}).f)
	x := torch.Ones(3)
	for range 5 {
		fmt.Println(fast([]*torch.Tensor{x, x, x, x, x, x}))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	fast, calls := torch.Compile(f), 0
	x := torch.Ones(3)
	for range 5 {
		calls++
		fmt.Println(fast([]*torch.Tensor{x, x, x, x, x, x}[calls]))
	}
}`,
	},
	{
		name: "a field that is nil at first", advice: "m.mask is nil in one call and not in another: set it before the first call",
		before: `
type model struct{ mask *torch.Tensor }
func (m *model) f(x *torch.Tensor) *torch.Tensor {
	if m.mask == nil {
		m.mask = torch.Ones(3)
	}
	return x.Mul(m.mask)
}
func main() {
	fast := torch.Compile((&model{}).f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
		after: `
type model struct{ mask *torch.Tensor }
func (m *model) f(x *torch.Tensor) *torch.Tensor {
	if m.mask == nil {
		m.mask = torch.Ones(3)
	}
	return x.Mul(m.mask)
}
func main() {
	fast := torch.Compile((&model{torch.Ones(3)}).f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
	},
	{
		name:   "lists of functions",
		advice: "the functions in fs are a part of the graph, so there is an entry for each list of them: keep these few",
		before: `
func double(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func flip(x *torch.Tensor) *torch.Tensor { return x.Flip(0) }
func f(x *torch.Tensor, fs []func(*torch.Tensor) *torch.Tensor) *torch.Tensor {
	for _, g := range fs {
		x = g(x)
	}
	return x.Sin()
}
func main() {
	fast, fs := torch.Compile(f), []func(*torch.Tensor) *torch.Tensor{double, flip, double}
	fmt.Println(fast(torch.Arange(3), fs[:2]), fast(torch.Arange(3), fs))
}`,
		after: `
func double(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func flip(x *torch.Tensor) *torch.Tensor { return x.Flip(0) }
func f(x *torch.Tensor, fs []func(*torch.Tensor) *torch.Tensor) *torch.Tensor {
	for _, g := range fs {
		x = g(x)
	}
	return x.Sin()
}
func main() {
	fast, fs := torch.Compile(f), []func(*torch.Tensor) *torch.Tensor{double, flip, double}
	fmt.Println(fast(torch.Arange(3), fs[:2]), fast(torch.Arange(3), fs))
	for n := range 6 {
		fast(torch.Arange(3), fs[:n%2+2])
	}
}`,
	},
	{
		name: "functions", advice: "there is an entry for each function that act is: keep them few, and make each once, not in every call",
		before: `
func f(x *torch.Tensor, act func(*torch.Tensor) *torch.Tensor) *torch.Tensor { return act(x).Mul(2) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), func(x *torch.Tensor) *torch.Tensor { return x.Sin() }))
	fmt.Println(fast(torch.Ones(3), func(x *torch.Tensor) *torch.Tensor { return x.Sin() }))
}`,
		after: `
func f(x *torch.Tensor, act func(*torch.Tensor) *torch.Tensor) *torch.Tensor { return act(x).Mul(2) }
func sin(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), sin))
	fmt.Println(fast(torch.Ones(3), sin))
}`,
	},
}

// goApartAdvice are pairs for torch.Compile in a loop where each call compiles apart.
var goApartAdvice = []goPair{
	{
		name: "a mode, in a loop", advice: "each call of torch.Compile makes entries of its own: call it once, before the loop",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	for range 4 {
		fmt.Println(torch.Compile(f, kw.Mode("reduce-overhead"))(torch.Ones(3)))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	fast := torch.Compile(f, kw.Mode("reduce-overhead"))
	for range 4 {
		fmt.Println(fast(torch.Ones(3)))
	}
}`,
	},
	{
		name:   "a function as backend, in a loop",
		advice: "each call of torch.Compile makes entries of its own: call it once, before the loop",
		before: `
func run(g *torch.GraphModule, _ []torch.Value) (func([]torch.Value) []torch.Value, error) { return g.Forward, nil }
func main() {
	for i := range 4 {
		fmt.Println(torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(float64(i)) }, kw.Backend(run))(torch.Ones(3)))
	}
}`,
		after: `
func run(g *torch.GraphModule, _ []torch.Value) (func([]torch.Value) []torch.Value, error) { return g.Forward, nil }
func main() {
	fast := torch.Compile(func(x, i *torch.Tensor) *torch.Tensor { return x.Mul(i) }, kw.Backend(run))
	for i := range 4 {
		fmt.Println(fast(torch.Ones(3), torch.NewTensor(float64(i))))
	}
}`,
	},
}

// goSizeAdvice are pairs for recompiles by sizes.
var goSizeAdvice = []goPair{
	{
		name: "a size of one", advice: "0 and 1 have an entry of their own in any case; pad to 2 or more",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sum() }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(1)), fast(torch.Ones(4)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sum() }
func pad(x *torch.Tensor) *torch.Tensor { return torch.Cat([]*torch.Tensor{x, torch.Zeros(4 - x.Size(0))}) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(pad(torch.Ones(1))), fast(pad(torch.Ones(4))))
}`,
	},
	{
		name:   "a size that a line needs as a number",
		advice: "needs size 0 of x as a number, so each size is a compile of its own: pad to a few sizes",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := torch.Zeros(2)
	for i := range x.Size(0) {
		y = y.Add(x.Select(0, i))
	}
	return y
}
func main() {
	fast := torch.Compile(f)
	for _, n := range []int{3, 4, 5} {
		fmt.Println(fast(torch.Ones(n, 2)))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := torch.Zeros(2)
	for i := range x.Size(0) {
		y = y.Add(x.Select(0, i))
	}
	return y
}
func main() {
	fast := torch.Compile(f)
	for _, n := range []int{3, 4, 5} {
		fmt.Println(fast(torch.Cat([]*torch.Tensor{torch.Ones(n, 2), torch.Zeros(5-n, 2)}, kw.Dim(0))))
	}
}`,
	},
	{
		name:   "a size below what the entry serves",
		advice: "a size of 0 or 1 has an entry of its own: accept one entry more, or pass at least 2",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sum() }
func main() {
	fast := torch.Compile(f, kw.Dynamic(true))
	fmt.Println(fast(torch.Ones(4)), fast(torch.Ones(1)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sum() }
func main() {
	fast := torch.Compile(f, kw.Dynamic(true))
	fmt.Println(fast(torch.Ones(4)), fast(torch.Cat([]*torch.Tensor{torch.Ones(1), torch.Zeros(1)})))
}`,
	},
}

// goHintAdvice are pairs for the hints after the first, and texts about one call.
var goHintAdvice = []goPair{
	{
		name: "a branch on configuration", code: breaks.DataDependentBranching,
		advice: "If the condition is about configuration, make it a constant or an argument that is not a tensor.",
		before: `
func f(x, deep *torch.Tensor) *torch.Tensor {
	if deep.Bool() {
		x = x.Sin()
	}
	return x.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), torch.NewTensor(true))) }`,
		after: `
func f(x *torch.Tensor, deep bool) *torch.Tensor {
	if deep {
		x = x.Sin()
	}
	return x.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), true)) }`,
	},
	{
		name: "native code on constants", code: breaks.UnknownNativeCall,
		advice: "If it only looks at sizes and constants, pass its result in as an argument.",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	if os.Getenv("DEEP") == "" {
		x = x.Sin()
	}
	return x.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor, deep string) *torch.Tensor {
	if deep == "" {
		x = x.Sin()
	}
	return x.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), os.Getenv("DEEP"))) }`,
	},
	{
		name: "Grad", code: breaks.TensorBackward, advice: "else compile what gives the loss and call Grad outside",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	loss := x.Pow(3).Sum()
	g := torch.Grad([]*torch.Tensor{loss}, []*torch.Tensor{x}, kw.CreateGraph(true))[0]
	return g.Square().Sum()
}
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f)(x).Backward()
	fmt.Println(x.Grad())
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Pow(3).Sum() }
func g(g *torch.Tensor) *torch.Tensor { return g.Square().Sum() }
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	loss := torch.Compile(f)(x)
	torch.Compile(g)(torch.Grad([]*torch.Tensor{loss}, []*torch.Tensor{x}, kw.CreateGraph(true))[0]).Backward()
	fmt.Println(x.Grad())
}`,
	},
	{
		name: "argwhere", code: breaks.DynamicShapeOperator,
		advice: "or NonzeroStatic where a bound on their number is known and what fills it up is masked",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Argwhere().Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return torch.NonzeroStatic(x, kw.Size(2)).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
	},
	{
		name: "Backward that counts", code: breaks.AutogradFunction,
		advice: "Backward may change nothing but what it makes itself: counting and printing belong outside of it.",
		before: `
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
}`,
		after: `
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (double) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{grads[0].Mul(2)} }
func f(x *torch.Tensor) *torch.Tensor { return autograd.Apply(double{}, x.Sin())[0].Sum() }
func main() {
	runs, x := 0, torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f)(x).Backward()
	runs++
	fmt.Println(x.Grad(), runs)
}`,
	},
	{
		name: "a function with a derivative, for inference", code: breaks.AutogradFunction,
		advice: "For inference call the compiled function under torch.NoGrad",
		before: `
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (double) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor {
	fmt.Println("backward")
	return []*torch.Tensor{grads[0].Mul(2)}
}
func f(x *torch.Tensor) *torch.Tensor { return autograd.Apply(double{}, x.Sin())[0].Sum() }
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	fmt.Println(torch.Compile(f)(x).Detach())
}`,
		after: `
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (double) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor {
	fmt.Println("backward")
	return []*torch.Tensor{grads[0].Mul(2)}
}
func f(x *torch.Tensor) *torch.Tensor { return autograd.Apply(double{}, x.Sin())[0].Sum() }
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	torch.NoGrad(func() { fmt.Println(torch.Compile(f)(x).Detach()) })
}`,
	},
	{
		name: "Backward that reads a map", code: breaks.AutogradFunction,
		advice: "Backward is traced when Forward is: what it needs, hand over by SaveForBackward or in fields of the function, " +
			"passed by value.",
		before: `
var by = map[string]float64{"k": 3}
type scale struct{}
func (scale) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(3)} }
func (scale) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{grads[0].Mul(by["k"])} }
func f(x *torch.Tensor) *torch.Tensor { return autograd.Apply(scale{}, x.Sin())[0].Sum() }
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f)(x).Backward()
	fmt.Println(x.Grad())
}`,
		after: `
type scale struct{ k float64 }
func (s scale) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(s.k)} }
func (s scale) Backward(ctx *autograd.Context, grads ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{grads[0].Mul(s.k)} }
func f(x *torch.Tensor) *torch.Tensor { return autograd.Apply(scale{3}, x.Sin())[0].Sum() }
func main() {
	x := torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f)(x).Backward()
	fmt.Println(x.Grad())
}`,
	},
}
