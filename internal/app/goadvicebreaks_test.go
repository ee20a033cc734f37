package app

import "tcdbg/tracer/breaks"

// goBreakAdvice are the pairs for graph breaks; code is the cause whose hint is proven.
var goBreakAdvice = []goPair{
	{
		name: "a branch on data", code: breaks.DataDependentBranching, advice: "Compute both sides and choose with Where.",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	if x.Sum().Gt(0).Bool() {
		return x.Sin()
	}
	return x.Cos()
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3).Neg()))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return torch.Where(x.Sum().Gt(0), x.Sin(), x.Cos()) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3).Neg()))
}`,
	},
	{
		name: "a branch between two layers", code: breaks.DataDependentBranching,
		advice: "compiler.Cond(condition, a function for each side)",
		before: `
func f(x, w *torch.Tensor) *torch.Tensor {
	h := x.Mul(2)
	if h.Sum().Gt(0).Bool() {
		h = h.Matmul(w).Relu()
	} else {
		h = h.Softmax(1)
	}
	return h.Add(1)
}
func main() {
	fast := torch.Compile(f)
	x, w := torch.Ones(3, 3), torch.Full([]int{3, 3}, 0.5)
	fmt.Println(fast(x, w), fast(x.Neg(), w))
}`,
		after: `
func f(x, w *torch.Tensor) *torch.Tensor {
	h := x.Mul(2)
	h = compiler.Cond(h.Sum().Gt(0),
		func(...*torch.Tensor) *torch.Tensor { return h.Matmul(w).Relu() },
		func(...*torch.Tensor) *torch.Tensor { return h.Softmax(1) })
	return h.Add(1)
}
func main() {
	fast := torch.Compile(f)
	x, w := torch.Ones(3, 3), torch.Full([]int{3, 3}, 0.5)
	fmt.Println(fast(x, w), fast(x.Neg(), w))
}`,
	},
	{
		name: "a loop until a tensor says so", code: breaks.DataDependentBranching,
		advice: "compiler.WhileLoop(condition, body, what is carried)",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	for x.Sum().Lt(20).Bool() {
		x = x.Mul(1.5).Add(x.Mean())
	}
	return x.Sin()
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Full([]int{3}, 2.0)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	x = compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Sum().Lt(20) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Mul(1.5).Add(c[0].Mean())} }, x)[0]
	return x.Sin()
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Full([]int{3}, 2.0)))
}`,
	},
	{
		name: "a branch on a number that is captured", code: breaks.DataDependentBranching, advice: "torch.Check(condition) in front of",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	if n < 0 {
		return x
	}
	return x.Mul(n)
}
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs = true })
	fmt.Println(torch.Compile(f)(torch.Ones(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	torch.Check(n >= 0)
	if n < 0 {
		return x
	}
	return x.Mul(n)
}
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs = true })
	fmt.Println(torch.Compile(f)(torch.Ones(3)))
}`,
	},
	{
		name: "a map that counts", code: breaks.BodyNotCaptured,
		advice: "A graph holds the call where its function changes nothing outside of it",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	n := 0
	y := compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { n++; return []*torch.Tensor{a[0].Sin()} }, []*torch.Tensor{x})
	return y[0].Mul(n)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3, 2))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := compiler.Map(func(a ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{a[0].Sin()} }, []*torch.Tensor{x})
	return y[0].Mul(x.Size(0))
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3, 2))) }`,
	},
	{
		name: "item", code: breaks.TensorItem, advice: "Keep the value as a 0-dimensional tensor",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sum().Item()) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sum()) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
	},
	{
		name: "print", code: breaks.BuiltinPrint, advice: "Move printing out of the compiled function or behind a constant debug flag",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	fmt.Println("sum", y.Sum())
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) (y, z *torch.Tensor) {
	y = x.Sin()
	return y, y.Mul(2)
}
func main() {
	y, z := torch.Compile(f)(torch.Ones(3))
	fmt.Println("sum", y.Sum())
	fmt.Println(z)
}`,
	},
	{
		name: "print for debugging", code: breaks.BuiltinPrint,
		advice: "Move printing out of the compiled function or behind a constant debug flag",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	fmt.Println("in f")
	return y.Mul(2)
}
func main() { fmt.Println("in f"); torch.Compile(f)(torch.Ones(3)) }`,
		after: `
const debug = false
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	if debug {
		fmt.Println("in f")
	}
	return y.Mul(2)
}
func main() { fmt.Println("in f"); torch.Compile(f)(torch.Ones(3)); fmt.Println("in f") }`,
	},
	{
		name: "GraphBreak", code: breaks.GraphBreakCall, advice: "Remove the call of GraphBreak",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	compiler.GraphBreak()
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
	},
	{
		name: "Disable", code: breaks.Disabled, advice: "Remove the marker, or call the function outside of the compiled region.",
		before: `
var g = compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return x.Exp() })
func f(x *torch.Tensor) *torch.Tensor { return g(x.Sin()).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
var g = func(x *torch.Tensor) *torch.Tensor { return x.Exp() }
func f(x *torch.Tensor) *torch.Tensor { return g(x.Sin()).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
	},
	{
		name: "nonzero", code: breaks.DynamicShapeOperator, advice: "Use a mask and Where instead of selecting elements",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.MaskedSelect(x.Gt(0)).Sum().Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(4).Sub(2))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return torch.Where(x.Gt(0), x, torch.ZerosLike(x)).Sum().Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(4).Sub(2))) }`,
	},
	{
		name: "Backward", code: breaks.TensorBackward, advice: "call Backward outside of it",
		before: `
func f(x, w *torch.Tensor) *torch.Tensor {
	loss := x.Mul(w).Sum()
	loss.Backward()
	return loss.Detach()
}
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	fmt.Println(torch.Compile(f)(torch.Ones(3), w), w.Grad())
}`,
		after: `
func f(x, w *torch.Tensor) *torch.Tensor { return x.Mul(w).Sum() }
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	loss := torch.Compile(f)(torch.Ones(3), w)
	loss.Backward()
	fmt.Println(loss.Detach(), w.Grad())
}`,
	},
	{
		name: "Backward that can be captured", code: breaks.TensorBackward, advice: "kw.CaptureBackward(true)",
		before: `
func f(x, w *torch.Tensor) *torch.Tensor {
	loss := x.Mul(w).Sum()
	loss.Backward()
	return loss.Detach()
}
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	fmt.Println(torch.Compile(f)(torch.Ones(3), w), w.Grad())
}`,
		after: `
func f(x, w *torch.Tensor) *torch.Tensor {
	loss := x.Mul(w).Sum()
	loss.Backward()
	return loss.Detach()
}
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	fmt.Println(torch.Compile(f, kw.CaptureBackward(true))(torch.Ones(3), w), w.Grad())
}`,
	},
	{
		name: "a result with a history beside the loss", code: breaks.TensorBackward, advice: "return other results detached",
		before: `
func f(x, w *torch.Tensor) *torch.Tensor {
	x.Mul(w).Sum().Backward()
	return w.Norm()
}
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	fmt.Println(torch.Compile(f, kw.CaptureBackward(true))(torch.Ones(3), w).Item(), w.Grad())
}`,
		after: `
func f(x, w *torch.Tensor) *torch.Tensor {
	x.Mul(w).Sum().Backward()
	return w.Norm().Detach()
}
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	fmt.Println(torch.Compile(f, kw.CaptureBackward(true))(torch.Ones(3), w).Item(), w.Grad())
}`,
	},
	{
		name: "gradients that leave", code: breaks.TensorBackward, advice: "compile what computes this tensor together with it",
		before: `
func f(h *torch.Tensor) { h.Exp().Sum().Backward() }
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f, kw.CaptureBackward(true))(w.Mul(2))
	fmt.Println(w.Grad())
}`,
		after: `
func f(w *torch.Tensor) { w.Mul(2).Exp().Sum().Backward() }
func main() {
	w := torch.Ones(3, kw.RequiresGrad(true))
	torch.Compile(f, kw.CaptureBackward(true))(w)
	fmt.Println(w.Grad())
}`,
	},
	{
		name: "a part that is written before Backward", code: breaks.TensorBackward, advice: "no in-place operator changes a view",
		before: `
func f(w *torch.Tensor) {
	h := w.Mul(2)
	h.At(0).Mul_(3)
	h.Sum().Backward()
}
func main() {
	w := torch.Ones(3, 2, kw.RequiresGrad(true))
	torch.Compile(f, kw.CaptureBackward(true))(w)
	fmt.Println(w.Grad())
}`,
		after: `
func f(w *torch.Tensor) {
	h := w.Mul(2)
	h.At(0).Mul(3).Sum().Add(h.At(torch.Range(1, 3)).Sum()).Backward()
}
func main() {
	w := torch.Ones(3, 2, kw.RequiresGrad(true))
	torch.Compile(f, kw.CaptureBackward(true))(w)
	fmt.Println(w.Grad())
}`,
	},
	{
		name: "RequiresGrad_", code: breaks.TensorRequiresGrad,
		advice: "Call RequiresGrad_ before the compiled function, and pass the tensor in.",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2).Detach()
	y.RequiresGrad_()
	return y.Sin().Sum()
}
func main() { y := torch.Compile(f)(torch.Ones(3)); fmt.Println(y.Detach()) }`,
		after: `
func f(y *torch.Tensor) *torch.Tensor { return y.Sin().Sum() }
func main() {
	x := torch.Ones(3).Mul(2).Detach()
	x.RequiresGrad_()
	fmt.Println(torch.Compile(f)(x).Detach())
}`,
	},
	{
		name: "the clock", code: breaks.TimeFunction, advice: "Measure outside of the compiled function.",
		before: `
func f(x *torch.Tensor) (*torch.Tensor, bool) {
	begun := time.Now()
	y := x.Sin()
	return y.Mul(2), time.Since(begun) < time.Hour
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	return y.Mul(2)
}
func main() {
	begun := time.Now()
	y := torch.Compile(f)(torch.Ones(3))
	fmt.Println(y, time.Since(begun) < time.Hour)
}`,
	},
	{
		name: "native code", code: breaks.UnknownNativeCall, advice: "before or after the compiled region.",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	os.Setenv("STEP", "1")
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3)), os.Getenv("STEP")) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	return y.Mul(2)
}
func main() {
	y := torch.Compile(f)(torch.Ones(3))
	os.Setenv("STEP", "1")
	fmt.Println(y, os.Getenv("STEP"))
}`,
	},
	{
		name: "a channel", code: breaks.ChannelOperation, advice: "Receive before the compiled call and pass the value in.",
		before: `
func f(x *torch.Tensor, c chan float64) *torch.Tensor { return x.Sin().Mul(<-c) }
func main() {
	c := make(chan float64, 1)
	c <- 2
	fmt.Println(torch.Compile(f)(torch.Ones(3), c))
}`,
		after: `
func f(x *torch.Tensor, v float64) *torch.Tensor { return x.Sin().Mul(v) }
func main() {
	c := make(chan float64, 1)
	c <- 2
	fmt.Println(torch.Compile(f)(torch.Ones(3), <-c))
}`,
	},
	{
		name: "select", code: breaks.SelectStatement, advice: "Wait outside of the compiled function.",
		before: `
func f(x *torch.Tensor, c chan float64) *torch.Tensor {
	y := x.Sin()
	select {
	case v := <-c:
		return y.Mul(v)
	default:
		return y
	}
}
func main() {
	c := make(chan float64, 1)
	c <- 2
	fmt.Println(torch.Compile(f)(torch.Ones(3), c))
}`,
		after: `
func f(x *torch.Tensor, v float64) *torch.Tensor { return x.Sin().Mul(v) }
func main() {
	c, v := make(chan float64, 1), 1.0
	c <- 2
	select {
	case v = <-c:
	default:
	}
	fmt.Println(torch.Compile(f)(torch.Ones(3), v))
}`,
	},
	{
		name: "recover", code: breaks.DeferRecover,
		advice: "Move the defer into the caller, or the tensor work into a function of its own, and compile that",
		before: `
func f(x *torch.Tensor) (y *torch.Tensor) {
	defer func() {
		if recover() != nil {
			y = x
		}
	}()
	return x.Sin().Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }
var fast = torch.Compile(f)
func safe(x *torch.Tensor) (y *torch.Tensor) {
	defer func() {
		if recover() != nil {
			y = x
		}
	}()
	return fast(x)
}
func main() { fmt.Println(safe(torch.Ones(3))) }`,
	},
	{
		name: "range over a map", code: breaks.MapIteration,
		advice: "Keep the keys in a slice beside the map, in their order, and iterate over that; where",
		before: `
func f(x *torch.Tensor, m map[string]float64) *torch.Tensor {
	for _, v := range m {
		x = x.Add(v)
	}
	return x
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), map[string]float64{"a": 1, "b": 2})) }`,
		after: `
func f(x *torch.Tensor, m map[string]float64, keys []string) *torch.Tensor {
	for _, k := range keys {
		x = x.Add(m[k])
	}
	return x
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), map[string]float64{"a": 1, "b": 2}, []string{"a", "b"})) }`,
	},
	{
		name: "a map that is changed", code: breaks.MapMutation,
		advice: "Change the map outside of the compiled function, or under constant keys.",
		before: `
func f(x *torch.Tensor, m map[string]float64) *torch.Tensor {
	y := x.Sin()
	clear(m)
	return y.Mul(2)
}
func main() {
	m := map[string]float64{"a": 1}
	fmt.Println(torch.Compile(f)(torch.Ones(3), m), len(m))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	return y.Mul(2)
}
func main() {
	m := map[string]float64{"a": 1}
	y := torch.Compile(f)(torch.Ones(3))
	clear(m)
	fmt.Println(y, len(m))
}`,
	},
	{
		name: "a loop that data ends", code: breaks.DataDependentLoop,
		advice: "Bound the loop by a constant and mask the surplus, or leave the loop outside and compile its body.",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.WhileLoop(func(t ...*torch.Tensor) *torch.Tensor { return t[0].Sum().Lt(20) },
		func(t ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{t[0].Mul(2)} }, x)[0].Sin()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3, kw.RequiresGrad(true))).Detach()) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	fast, x := torch.Compile(f), torch.Ones(3, kw.RequiresGrad(true))
	for x.Sum().Lt(20).Bool() {
		x = fast(x)
	}
	fmt.Println(x.Sin().Detach())
}`,
	},
	{
		name: "a lock", code: breaks.LockHeld, advice: "Take the lock outside of the compiled function.",
		before: `
var mu sync.Mutex
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	mu.Lock()
	y = y.Mul(2)
	mu.Unlock()
	return y
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
var mu sync.Mutex
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	y = y.Mul(2)
	return y
}
func main() {
	fast := torch.Compile(f)
	mu.Lock()
	y := fast(torch.Ones(3))
	mu.Unlock()
	fmt.Println(y)
}`,
	},
	{
		name: "reflection", code: breaks.ReflectCall, advice: "Use the concrete type.",
		before: `
func f(x *torch.Tensor, v any) *torch.Tensor { return x.Sin().Mul(reflect.ValueOf(v).Float()) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), 2.0)) }`,
		after: `
func f(x *torch.Tensor, v any) *torch.Tensor { return x.Sin().Mul(v.(float64)) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), 2.0)) }`,
	},
	{
		name: "Compile in a compiled function", code: breaks.RecursiveCompile, advice: "Call Compile once, outside.",
		before: `
func g(x *torch.Tensor) *torch.Tensor { return x.Cos() }
func f(x *torch.Tensor) *torch.Tensor { return torch.Compile(g)(x.Sin()).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func g(x *torch.Tensor) *torch.Tensor { return x.Cos() }
var fast = torch.Compile(g)
func f(x *torch.Tensor) *torch.Tensor { return fast(x.Sin()).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
	},
	{
		name: "shared counters", code: breaks.GlobalWrite, advice: "Update shared state outside of the compiled function.",
		before: `
var n atomic.Int64
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	n.Add(1)
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3)), n.Load()) }`,
		after: `
var n atomic.Int64
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	return y.Mul(2)
}
func main() {
	y := torch.Compile(f)(torch.Ones(3))
	n.Add(1)
	fmt.Println(y, n.Load())
}`,
	},
	{
		name: "too long a loop", code: breaks.TraceTooLong, advice: "Compile the body of the loop instead of the loop.",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	n := 0
	for i := range 3000000 {
		n += i % 3
	}
	return x.Mul(float64(n)).Sin()
}
func main() { fmt.Println(torch.Compile(f)(torch.Zeros(3))) }`,
		after: `
func f(x *torch.Tensor, n float64) *torch.Tensor { return x.Mul(n).Sin() }
func main() {
	n := 0
	for i := range 3000000 {
		n += i % 3
	}
	fmt.Println(torch.Compile(f)(torch.Zeros(3), float64(n)))
}`,
	},
	{
		name: "a random number", code: breaks.RandomState,
		advice: "where only tensors are computed with it, torch.Rand draws it in the graph",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(rand.Float64()) }
func main() { fmt.Println(torch.Compile(f)(torch.Zeros(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(torch.Rand()) }
func main() { fmt.Println(torch.Compile(f)(torch.Zeros(3))) }`,
	},
	{
		name: "numbers of a generator", code: breaks.RandomState, advice: "Draw it before the call and pass it in;",
		before: `
func f(x *torch.Tensor, r *rand.Rand) *torch.Tensor { return x.Sin().Mul(r.Float64()) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), rand.New(rand.NewSource(1)))) }`,
		after: `
func f(x, r *torch.Tensor) *torch.Tensor { return x.Sin().Mul(r) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), torch.NewTensor(rand.New(rand.NewSource(1)).Float64()))) }`,
	},
	{
		name: "a random number that decides", code: breaks.RandomState, advice: "Draw it before the call and pass it in;",
		before: `
func f(x *torch.Tensor, r *rand.Rand, eps float64) *torch.Tensor {
	y := x.Sin()
	if r.Float64() < eps {
		return y.Neg()
	}
	return y.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), rand.New(rand.NewSource(1)), 0.7)) }`,
		after: `
func f(x *torch.Tensor, u, eps float64) *torch.Tensor {
	y := x.Sin()
	if u < eps {
		return y.Neg()
	}
	return y.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), rand.New(rand.NewSource(1)).Float64(), 0.7)) }`,
	},
	{
		name: "a goroutine", code: breaks.GoroutineStarted,
		advice: "Start goroutines outside of the compiled function, and compile what they run.",
		before: `
var done = make(chan bool)
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	go func() { done <- true }()
	return y.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3)), <-done) }`,
		after: `
var done = make(chan bool)
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }
func main() {
	fast := torch.Compile(f)
	var y *torch.Tensor
	go func() { y = fast(torch.Ones(3)); done <- true }()
	ok := <-done
	fmt.Println(y, ok)
}`,
	},
	{
		name: "numbers read out", code: breaks.TensorDataRead,
		advice: "Express the computation with tensor operators, or read the data after the compiled call.",
		before: `
func f(x *torch.Tensor) (*torch.Tensor, string) {
	y := x.Sin()
	return y.Mul(2), y.String()
}
func main() { fmt.Println(torch.Compile(f)(torch.Zeros(3))) }`,
		after: `
func f(x *torch.Tensor) (y, z *torch.Tensor) {
	y = x.Sin()
	return y.Mul(2), y
}
func main() {
	z, y := torch.Compile(f)(torch.Zeros(3))
	fmt.Println(z, y.String())
}`,
	},
	{
		name: "shapes that do not fit", code: breaks.FakeTensorFailure, advice: "Check the shapes and dtypes at the marked line.",
		before: `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Sin().Matmul(y) }
func main() {
	defer func() {
		if recover() != nil {
			fmt.Println(torch.Compile(f)(torch.Ones(2, 3), torch.Ones(3, 2)))
		}
	}()
	fmt.Println(torch.Compile(f)(torch.Ones(2, 3), torch.Ones(2, 3)))
}`,
		after: `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Sin().Matmul(y) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2, 3), torch.Ones(3, 2))) }`,
	},
	{
		name: "a panic", code: breaks.UserPanic, advice: "Look at the panic: the program itself fails here.",
		before: `
func f(x *torch.Tensor, n int) *torch.Tensor {
	y := x.Sin()
	if n < 0 {
		panic("negative")
	}
	return y.Mul(float64(n))
}
func main() {
	defer func() {
		if recover() != nil {
			fmt.Println(torch.Compile(f)(torch.Ones(3), 2))
		}
	}()
	fmt.Println(torch.Compile(f)(torch.Ones(3), -2))
}`,
		after: `
func f(x *torch.Tensor, n int) *torch.Tensor {
	y := x.Sin()
	if n < 0 {
		panic("negative")
	}
	return y.Mul(float64(n))
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), 2)) }`,
	},
	{
		name: "an array under an unknown index", code: breaks.OpaqueValue,
		advice: "Do what the line does before the compiled call, and pass the result in.",
		before: `
func f(x *torch.Tensor, s []float64) *torch.Tensor {
	s = s[:2]
	return x.Mul(s[1])
}
func main() {
	s := []float64{3, 4}
	fmt.Println(torch.Compile(f)(torch.Ones(3), s[:1]))
}`,
		after: `
func f(x *torch.Tensor, k float64) *torch.Tensor { return x.Mul(k) }
func main() {
	s := []float64{3, 4}
	s = s[:1]
	fmt.Println(torch.Compile(f)(torch.Ones(3), s[:2][1]))
}`,
	},
	{
		name: "rows that are captured: nonzero", code: breaks.DynamicShapeOperator,
		advice: "With the setting CaptureDynamicOutputShapeOps (compiler.Configure) the graph holds the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Nonzero().Mul(2) }
func main() {
	fmt.Println(torch.Compile(f)(torch.Arange(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Nonzero().Mul(2) }
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureDynamicOutputShapeOps = true })
	fmt.Println(torch.Compile(f)(torch.Arange(3)))
}`,
	},
	{
		name: "rows that are captured: masked_select", code: breaks.DynamicShapeOperator,
		advice: "With the setting CaptureDynamicOutputShapeOps (compiler.Configure) the graph holds the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.MaskedSelect(x.Gt(1)).Mul(2) }
func main() {
	fmt.Println(torch.Compile(f)(torch.Arange(4)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.MaskedSelect(x.Gt(1)).Mul(2) }
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureDynamicOutputShapeOps = true })
	fmt.Println(torch.Compile(f)(torch.Arange(4)))
}`,
	},
	{
		name: "rows that are captured: unique", code: breaks.DynamicShapeOperator,
		advice: "With the setting CaptureDynamicOutputShapeOps (compiler.Configure) the graph holds the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Unique()[0].Add(1) }
func main() {
	fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 1, 3})))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Unique()[0].Add(1) }
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureDynamicOutputShapeOps = true })
	fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 1, 3})))
}`,
	},
	{
		name: "rows that are captured: unique_consecutive", code: breaks.DynamicShapeOperator,
		advice: "With the setting CaptureDynamicOutputShapeOps (compiler.Configure) the graph holds the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).UniqueConsecutive()[0] }
func main() {
	fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 3, 1})))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).UniqueConsecutive()[0] }
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureDynamicOutputShapeOps = true })
	fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 3, 1})))
}`,
	},
	{
		name: "a number that is captured", code: breaks.TensorItem,
		advice: "with the setting CaptureScalarOutputs (compiler.Configure) the graph holds a whole number",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sum().ItemInt()) }
func main() {
	fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 3, 1})))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sum().ItemInt()) }
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs = true })
	fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 3, 1})))
}`,
	},
	{
		name: "a print that waits", code: breaks.BuiltinPrint,
		advice: "among the setting ReorderableLoggingFunctions (compiler.Configure) prints when the graph has run",
		before: `
func f(x *torch.Tensor) *torch.Tensor { y := x.Mul(2); fmt.Println("here"); return y.Add(1) }
func main() {
	fmt.Println(torch.Compile(f)(torch.Ones(2)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { y := x.Mul(2); fmt.Println("here"); return y.Add(1) }
func main() {
	compiler.Configure(func(s *compiler.Settings) { s.ReorderableLoggingFunctions = []any{fmt.Println} })
	fmt.Println(torch.Compile(f)(torch.Ones(2)))
}`,
	},
	{
		name: "NonzeroStatic", code: breaks.DynamicShapeOperator,
		advice: "or NonzeroStatic where a bound on their number is known and what fills it up is masked",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Nonzero().Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return torch.NonzeroStatic(x, kw.Size(2)).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
	},
	{
		name: "unique", code: breaks.DynamicShapeOperator, advice: "call it outside of the compiled function, and compile",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Unique()[0].Add(1) }
func main() { fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 1, 3}))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func g(x *torch.Tensor) *torch.Tensor { return x.Add(1) }
func main() { fmt.Println(torch.Compile(g)(torch.Compile(f)(torch.NewTensor([]int{3, 1, 3})).Unique()[0])) }`,
	},
	{
		name: "unique_consecutive", code: breaks.DynamicShapeOperator, advice: "How many values there are is known only when it has run",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).UniqueConsecutive()[0] }
func main() { fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 3, 1}))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.NewTensor([]int{3, 3, 1})).UniqueConsecutive()[0]) }`,
	},
	{
		name: "rows that are repeated", code: breaks.DynamicShapeOperator, advice: "Where the sum n of the counts is known",
		before: `
func f(x, counts *torch.Tensor) *torch.Tensor { return x.RepeatInterleave(counts, kw.Dim(0)).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(6).View(3, 2), torch.NewTensor([]int{2, 0, 3}))) }`,
		after: `
func f(x, counts *torch.Tensor) *torch.Tensor {
	return x.IndexSelect(0, torch.Searchsorted(counts.Cumsum(0), torch.Arange(5), kw.Right(true))).Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Arange(6).View(3, 2), torch.NewTensor([]int{2, 0, 3}))) }`,
	},
	{
		name: "bincount", code: breaks.DynamicShapeOperator,
		advice: "count with ScatterAdd: torch.Zeros(n).ScatterAdd(0, index, torch.Ones(...)), or sum a OneHot",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Bincount().To(torch.Float32).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return torch.Zeros(3).ScatterAdd(0, x, torch.Ones(3)).Mul(2) }
func main() { fmt.Println(torch.Compile(f)(torch.Arange(3))) }`,
	},
}
