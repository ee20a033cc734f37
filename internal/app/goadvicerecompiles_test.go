package app

// goRecompileAdvice are the pairs for recompiles.
var goRecompileAdvice = []goPair{
	{
		name: "a global that changes", advice: "the graph is specialised on the global step == 1: make it a tensor",
		before: `
var step = 0.0
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(step).Sin() }
func main() {
	fast := torch.Compile(f)
	for range 3 {
		step++
		fmt.Println(fast(torch.Ones(3)))
	}
}`,
		after: `
var step = torch.Zeros()
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(step).Sin() }
func main() {
	fast := torch.Compile(f)
	for range 3 {
		step.Add_(1)
		fmt.Println(fast(torch.Ones(3)))
	}
}`,
	},
	{
		name: "a field that changes", advice: "a buffer",
		before: `
type net struct{ step int }
func (n *net) Forward(xs []*torch.Tensor) *torch.Tensor { return xs[n.step].Sin() }
func main() {
	n := &net{}
	fast := torch.Compile(n.Forward)
	x := torch.Ones(3)
	for range 2 {
		fmt.Println(fast([]*torch.Tensor{x, x}))
		n.step++
	}
}`,
		after: `
type net struct{ step *torch.Tensor }
func (n *net) Forward(xs *torch.Tensor) *torch.Tensor { return xs.IndexSelect(0, n.step).Squeeze(0).Sin() }
func main() {
	n := &net{torch.NewTensor([]int{0})}
	fast := torch.Compile(n.Forward)
	x := torch.Ones(3)
	for range 2 {
		fmt.Println(fast(torch.Stack([]*torch.Tensor{x, x})))
		n.step.Add_(1)
	}
}`,
	},
	{
		name: "a layout that changes", advice: "the layout of x changes: pass x.Contiguous()",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	x := torch.Ones(3, 3)
	fmt.Println(fast(x), fast(x.T()))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	x := torch.Ones(3, 3)
	fmt.Println(fast(x.Contiguous()), fast(x.T().Contiguous()))
}`,
	},
	{
		name: "a dtype that changes", advice: "convert it before the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2.5) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Arange(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2.5) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Arange(3).To(torch.Float32)))
}`,
	},
	{
		name: "a rank that changes", advice: "the number of dimensions of x changes: reshape it before the call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(1, 3)), fast(torch.Ones(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(1, 3)), fast(torch.Ones(3).Reshape(1, 3)).Reshape(3))
}`,
	},
	{
		name: "a list whose length changes", advice: "there is an entry for each length of xs: keep its length, or, where " +
			"it holds tensors, stack them into one",
		before: `
func f(xs []*torch.Tensor) *torch.Tensor {
	y := xs[0]
	for _, x := range xs[1:] {
		y = y.Add(x)
	}
	return y
}
func main() {
	fast := torch.Compile(f)
	x := torch.Ones(3)
	fmt.Println(fast([]*torch.Tensor{x, x}), fast([]*torch.Tensor{x, x, x}))
}`,
		after: `
func f(xs *torch.Tensor) *torch.Tensor { return xs.Sum(kw.Dim(0)) }
func main() {
	fast := torch.Compile(f)
	x := torch.Ones(3)
	a, b := torch.Stack([]*torch.Tensor{x, x}), torch.Stack([]*torch.Tensor{x, x, x})
	compiler.MarkDynamic(a, 0)
	compiler.MarkDynamic(b, 0)
	fmt.Println(fast(a), fast(b))
}`,
	},
	{
		name: "a tensor of numbers that change", advice: "makes a tensor of numbers (returns[0]), which are constants of the graph: " +
			"make that tensor before the call, and pass it",
		before: `
func f(x *torch.Tensor, returns []float64) *torch.Tensor {
	return x.Sub(torch.NewTensor(returns, kw.Dtype(torch.Float32))).Square()
}
func main() {
	fast := torch.Compile(f)
	for i := range 3 {
		fmt.Println(fast(torch.Ones(2), []float64{float64(i) / 4, 2}))
	}
}`,
		after: `
func f(x, returns *torch.Tensor) *torch.Tensor { return x.Sub(returns).Square() }
func main() {
	fast := torch.Compile(f)
	for i := range 3 {
		fmt.Println(fast(torch.Ones(2), torch.NewTensor([]float64{float64(i) / 4, 2}, kw.Dtype(torch.Float32))))
	}
}`,
	},
	{
		name: "a tensor of more numbers", advice: "makes a tensor of numbers (ids), which are constants of the graph: make that " +
			"tensor before the call, and pass it",
		before: `
func f(w *torch.Tensor, ids []int) *torch.Tensor { return w.IndexSelect(0, torch.NewTensor(ids)).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 3 {
		fmt.Println(fast(torch.Arange(4), []int{3, 2, 1, 0}[:n+2]))
	}
}`,
		after: `
func f(w, ids *torch.Tensor) *torch.Tensor { return w.IndexSelect(0, ids).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 3 {
		ids := torch.NewTensor([]int{3, 2, 1, 0}[:n+2])
		compiler.MarkDynamic(ids, 0)
		fmt.Println(fast(torch.Arange(4), ids))
	}
}`,
	},
	{
		name:   "a tensor of what is picked out of an argument",
		advice: "makes a tensor of numbers (steps[0].act), which are constants of the graph",
		before: `
type step struct{ act int }
func f(x *torch.Tensor, steps []step) *torch.Tensor {
	acts := make([]int, len(steps))
	for i, s := range steps {
		acts[i] = s.act
	}
	return x.Gather(0, torch.NewTensor(acts)).Sin()
}
func main() {
	fast := torch.Compile(f)
	for i := range 3 {
		fmt.Println(fast(torch.Ones(4), []step{{i}, {1}}))
	}
}`,
		after: `
type step struct{ act int }
func f(x, acts *torch.Tensor) *torch.Tensor { return x.Gather(0, acts).Sin() }
func main() {
	fast := torch.Compile(f)
	for i := range 3 {
		steps := []step{{i}, {1}}
		acts := make([]int, len(steps))
		for i, s := range steps {
			acts[i] = s.act
		}
		fmt.Println(fast(torch.Ones(4), torch.NewTensor(acts)))
	}
}`,
	},
	{
		name: "a flag that changes with every call", advice: "if it changes with every call, use torch.Where on it as a tensor",
		before: `
func f(x *torch.Tensor, up bool) *torch.Tensor {
	if up {
		return x.Sin()
	}
	return x.Cos()
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), true), fast(torch.Ones(3), false))
}`,
		after: `
func f(x, up *torch.Tensor) *torch.Tensor { return torch.Where(up, x.Sin(), x.Cos()) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), torch.NewTensor(true)), fast(torch.Ones(3), torch.NewTensor(false)))
}`,
	},
	{
		name: "nil in some calls", advice: "mask is sometimes nil: pass a value always",
		before: `
func f(x, mask *torch.Tensor) *torch.Tensor {
	if mask != nil {
		return x.Mul(mask)
	}
	return x
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), nil), fast(torch.Ones(3), torch.Zeros(3)))
}`,
		after: `
func f(x, mask *torch.Tensor) *torch.Tensor { return x.Mul(mask) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), torch.Ones(3)), fast(torch.Ones(3), torch.Zeros(3)))
}`,
	},
	{
		name: "keys that change", advice: "the keys of m change: give it all its keys before the first call",
		before: `
func f(x *torch.Tensor, m map[string]float64) *torch.Tensor {
	if k, ok := m["b"]; ok {
		return x.Mul(k)
	}
	return x
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), map[string]float64{"a": 1}), fast(torch.Ones(3), map[string]float64{"b": 1}))
}`,
		after: `
func f(x *torch.Tensor, m map[string]float64) *torch.Tensor { return x.Mul(m["b"]) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), map[string]float64{"b": 1}), fast(torch.Ones(3), map[string]float64{"b": 1}))
}`,
	},
	{
		name: "types that change", advice: "pass one type",
		before: `
func f(x *torch.Tensor, v any) *torch.Tensor {
	switch v := v.(type) {
	case float64:
		return x.Mul(v)
	case int:
		return x.Mul(float64(v))
	}
	return x
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), 2.0), fast(torch.Ones(3), 2))
}`,
		after: `
func f(x *torch.Tensor, v any) *torch.Tensor {
	switch v := v.(type) {
	case float64:
		return x.Mul(v)
	case int:
		return x.Mul(float64(v))
	}
	return x
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), 2.0), fast(torch.Ones(3), 2.0))
}`,
	},
	{
		name: "a mode that changes", advice: "set it once before the first call",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	w := torch.Ones(3, kw.RequiresGrad(true))
	y := fast(w).Detach()
	torch.SetGradEnabled(false)
	fmt.Println(y, fast(w).Detach())
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	w := torch.Ones(3, kw.RequiresGrad(true))
	torch.SetGradEnabled(false)
	y := fast(w).Detach()
	fmt.Println(y, fast(w).Detach())
}`,
	},
	{
		name: "a number that chooses", advice: "the graph is specialised on k == 0: pass k as a tensor",
		before: `
func f(xs []*torch.Tensor, k int) *torch.Tensor { return xs[k].Sin() }
func main() {
	fast := torch.Compile(f)
	xs := []*torch.Tensor{torch.Ones(3), torch.Zeros(3), torch.Ones(3).Neg()}
	for k := range 3 {
		fmt.Println(fast(xs, k))
	}
}`,
		after: `
func f(xs, k *torch.Tensor) *torch.Tensor { return xs.IndexSelect(0, k).Squeeze(0).Sin() }
func main() {
	fast := torch.Compile(f)
	xs := torch.Stack([]*torch.Tensor{torch.Ones(3), torch.Zeros(3), torch.Ones(3).Neg()})
	for k := range 3 {
		fmt.Println(fast(xs, torch.NewTensor([]int{k})))
	}
}`,
	},
}
