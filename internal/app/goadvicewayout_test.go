package app

import (
	"fmt"

	"tcdbg/tracer/breaks"
)

// goWayOutAdvice are numbers and bodies of which no tensor can take the place: what they
// decide ends the program or leaves a loop.
var goWayOutAdvice = []goPair{
	{
		name: "item that ends the program", code: breaks.TensorItem,
		advice: "decides whether the program ends or panics, so Where cannot choose: return the tensor, and check its number " +
			"after the call",
		before: `
func fail(v float64) { panic(fmt.Sprint("sum is ", v)) }
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	if s := y.Sum().Item(); s > 5 || s < -5 {
		fail(s)
	}
	return y.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func fail(v float64) { panic(fmt.Sprint("sum is ", v)) }
func f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Sin()
	return y.Cos(), y.Sum()
}
func main() {
	z, sum := torch.Compile(f)(torch.Ones(3))
	if s := sum.Item(); s > 5 || s < -5 {
		fail(s)
	}
	fmt.Println(z)
}`,
	},
	{
		name: "item that leaves the loop", code: breaks.TensorItem,
		advice: "decides whether to leave the loop, so Where cannot choose: compile the body of the loop, and loop and check " +
			"outside of it",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	for x.Norm().Item() > 1 {
		x = x.Mul(0.5)
	}
	return x
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	x = x.Mul(0.5)
	return x, x.Norm()
}
func main() {
	fast, x := torch.Compile(f), torch.Ones(3)
	for norm := x.Norm(); norm.Item() > 1; {
		x, norm = fast(x)
	}
	fmt.Println(x)
}`,
	},
	{
		name: "item of a message", code: breaks.TensorItem,
		advice: "runs only where the program ends or panics: mend the branch that leads to it, and this break goes too",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Log()
	if !y.Isfinite().All().Bool() {
		panic(fmt.Sprint("least is ", y.Min().Item()))
	}
	return y
}
func main() {
	defer func() { fmt.Println(recover()) }()
	fmt.Println(torch.Compile(f)(torch.Zeros(3)))
}`,
		after: `
func f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Log()
	return y, y.Isfinite().All()
}
func main() {
	defer func() { fmt.Println(recover()) }()
	y, ok := torch.Compile(f)(torch.Zeros(3))
	if !ok.Bool() {
		panic(fmt.Sprint("least is ", y.Min().Item()))
	}
	fmt.Println(y)
}`,
	},
	{
		name: "a helper that ends the program", code: breaks.DataDependentBranching,
		advice: "A side of this branch ends the program or panics, so Where cannot choose: return the condition, and check it " +
			"after the call.",
		before: `
func die(hard bool) {
	if hard {
		os.Exit(3)
	}
	log.Fatal("negative")
}
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	if y.Sum().Lt(0).Bool() {
		die(false)
	}
	return y.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func die(hard bool) {
	if hard {
		os.Exit(3)
	}
	log.Fatal("negative")
}
func f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Sin()
	return y.Cos(), y.Sum().Lt(0)
}
func main() {
	z, negative := torch.Compile(f)(torch.Ones(3))
	if negative.Bool() {
		die(false)
	}
	fmt.Println(z)
}`,
	},
	{
		name: "a helper that may come back", code: breaks.DataDependentBranching, advice: "Compute both sides and choose with Where.",
		before: `
func warn(hard bool) {
	if hard {
		panic("negative")
	}
}
func f(x *torch.Tensor, hard bool) *torch.Tensor {
	y := x.Sin()
	if y.Sum().Lt(0).Bool() {
		warn(hard)
		y = y.Neg()
	}
	return y.Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), false)) }`,
		after: `
func f(x *torch.Tensor, hard bool) *torch.Tensor {
	y := x.Sin()
	return torch.Where(y.Sum().Lt(0), y.Neg(), y).Cos()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), false)) }`,
	},
	{
		name: "a branch that sets a flag", code: breaks.DataDependentBranching,
		advice: "so Where cannot choose: return the condition, and branch on it after the call.",
		before: `
func f(xs []*torch.Tensor) ([]*torch.Tensor, bool) {
	finite, out := true, []*torch.Tensor{}
	for _, x := range xs {
		if !x.Isfinite().All().Bool() {
			finite = false
		}
		out = append(out, x.Div(2))
	}
	return out, finite
}
func main() { fmt.Println(torch.Compile(f)([]*torch.Tensor{torch.Ones(2), torch.Zeros(2).Log()})) }`,
		after: `
func f(xs []*torch.Tensor) (out, finite []*torch.Tensor) {
	for _, x := range xs {
		finite = append(finite, x.Isfinite().All())
		out = append(out, x.Div(2))
	}
	return out, finite
}
func main() {
	out, finite := torch.Compile(f)([]*torch.Tensor{torch.Ones(2), torch.Zeros(2).Log()})
	all := true
	for _, ok := range finite {
		if !ok.Bool() {
			all = false
		}
	}
	fmt.Println(out, all)
}`,
	},
	{
		name: "a branch that returns an error", code: breaks.DataDependentBranching,
		advice: "The sides of this branch differ in what is no tensor (a flag, a text, an error, what is printed)",
		before: `
func f(x *torch.Tensor) (*torch.Tensor, error) {
	y := x.Sin()
	if y.Sum().Lt(0).Bool() {
		return nil, fmt.Errorf("negative")
	}
	return y.Cos(), nil
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3))) }`,
		after: `
func f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Sin()
	return y.Cos(), y.Sum().Lt(0)
}
func main() {
	y, negative := torch.Compile(f)(torch.Ones(3))
	var err error
	if negative.Bool() {
		y, err = nil, fmt.Errorf("negative")
	}
	fmt.Println(y, err)
}`,
	},
	{
		name: "item that returns an error", code: breaks.TensorItem,
		advice: "so Where cannot choose: return the tensor, and branch on its number after the call.",
		before: `
func f(x *torch.Tensor, limit float64) (*torch.Tensor, error) {
	y := x.Sin()
	if s := y.Sum().Item(); s != s || s > limit {
		return nil, fmt.Errorf("loss %.1f", s)
	}
	return y.Cos(), nil
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3), 5)) }`,
		after: `
func f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Sin()
	return y.Cos(), y.Sum()
}
func main() {
	y, sum := torch.Compile(f)(torch.Ones(3))
	var err error
	if s := sum.Item(); s != s || s > 5 {
		y, err = nil, fmt.Errorf("loss %.1f", s)
	}
	fmt.Println(y, err)
}`,
	},
	{
		name: "item that is a key", code: breaks.TensorItem,
		advice: "no tensor can be (a size, a map's key, a text, a result): read it outside of the compiled function",
		before: `
type agent struct{ visits map[int]int }
func (a *agent) choose(x *torch.Tensor) int {
	act := x.Softmax(-1).Argmax().ItemInt()
	a.visits[act]++
	return act
}
func main() {
	a := &agent{map[int]int{}}
	fmt.Println(torch.Compile(a.choose)(torch.Arange(3).Mul(0.5)), a.visits)
}`,
		after: `
type agent struct{ visits map[int]int }
func (a *agent) choose(x *torch.Tensor) *torch.Tensor { return x.Softmax(-1).Argmax() }
func main() {
	a := &agent{map[int]int{}}
	act := torch.Compile(a.choose)(torch.Arange(3).Mul(0.5)).ItemInt()
	a.visits[act]++
	fmt.Println(act, a.visits)
}`,
	},
	{
		name: "item that is a size", code: breaks.TensorItem, advice: "of an argument before the call",
		before: `
func f(x, k *torch.Tensor) *torch.Tensor {
	v, _ := x.Sin().Topk(k.ItemInt())
	return v.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Arange(5).Mul(0.25), torch.NewTensor(3))) }`,
		after: `
func f(x *torch.Tensor, k int) *torch.Tensor {
	v, _ := x.Sin().Topk(k)
	return v.Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Arange(5).Mul(0.25), torch.NewTensor(3).ItemInt())) }`,
	},
	{
		name: "item among sizes", code: breaks.TensorItem, advice: "of an argument before the call",
		before: `
func f(x, k *torch.Tensor) *torch.Tensor {
	n := k.ItemInt()
	return x.Sin().Repeat(n, 2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(1, 2), torch.NewTensor(3))) }`,
		after: `
func f(x *torch.Tensor, n int) *torch.Tensor { return x.Sin().Repeat(n, 2) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(1, 2), torch.NewTensor(3).ItemInt())) }`,
	},
	{
		name: "item of a shape", code: breaks.TensorItem, advice: "of an argument before the call",
		before: `
func f(x, k *torch.Tensor) *torch.Tensor {
	n := k.ItemInt()
	return torch.Zeros(n, 2).Add(x)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(1, 2), torch.NewTensor(3))) }`,
		after: `
func f(x *torch.Tensor, n int) *torch.Tensor { return torch.Zeros(n, 2).Add(x) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(1, 2), torch.NewTensor(3).ItemInt())) }`,
	},
	{
		name: "a truth that is returned", code: breaks.DataDependentBranching,
		advice: "return the tensor, and call Bool on it in the caller",
		before: `
func f(x, c *torch.Tensor) (*torch.Tensor, bool) {
	y := x.Mean(kw.Dim(0))
	return y, y.Sub(c).Abs().Max().Lt(1e-4).Bool()
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(3, 2), torch.Ones(2))) }`,
		after: `
func f(x, c *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Mean(kw.Dim(0))
	return y, y.Sub(c).Abs().Max().Lt(1e-4)
}
func main() {
	y, near := torch.Compile(f)(torch.Ones(3, 2), torch.Ones(2))
	fmt.Println(y, near.Bool())
}`,
	},
	{
		name: "item of a text", code: breaks.TensorItem,
		advice: "no tensor can be (a size, a map's key, a text, a result): read it outside of the compiled function",
		before: `
type log_ struct{ lines []string }
func (l *log_) f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	l.lines = append(l.lines, fmt.Sprintf("mean %.2f", y.Mean().Item()))
	return y.Mul(2)
}
func main() {
	l := &log_{}
	fmt.Println(torch.Compile(l.f)(torch.Ones(3)), l.lines)
}`,
		after: `
type log_ struct{ lines []string }
func (l *log_) f(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	y := x.Sin()
	return y.Mul(2), y.Mean()
}
func main() {
	l := &log_{}
	z, mean := torch.Compile(l.f)(torch.Ones(3))
	l.lines = append(l.lines, fmt.Sprintf("mean %.2f", mean.Item()))
	fmt.Println(z, l.lines)
}`,
	},
	{
		name: "the body of NoGrad", code: breaks.BreakUnderContext,
		advice: "and no graph can go on under its mode: leave what that line does to the caller of the compiled function",
		before: `
type net struct{ A, B *nn.Linear }
func (n *net) f(x *torch.Tensor) *torch.Tensor {
	torch.NoGrad(func() {
		from := nn.Parameters(n.A)
		for i, p := range nn.Parameters(n.B) {
			p.Lerp_(from[i], 0.5)
		}
	})
	return n.B.Forward(x)
}
func main() {
	torch.ManualSeed(0)
	n := &net{nn.NewLinear(2, 2), nn.NewLinear(2, 2)}
	fmt.Println(torch.Compile(n.f)(torch.Ones(1, 2)).Detach())
}`,
		after: `
type net struct{ A, B *nn.Linear }
func (n *net) f(x *torch.Tensor, from, to []*torch.Tensor) *torch.Tensor {
	torch.NoGrad(func() {
		for i, p := range to {
			p.Lerp_(from[i], 0.5)
		}
	})
	return n.B.Forward(x)
}
func main() {
	torch.ManualSeed(0)
	n := &net{nn.NewLinear(2, 2), nn.NewLinear(2, 2)}
	fmt.Println(torch.Compile(n.f)(torch.Ones(1, 2), nn.Parameters(n.A), nn.Parameters(n.B)).Detach())
}`,
	},
	{
		name: "a defer in a recursion", code: breaks.DeferRecover,
		advice: "what a defer without recover does can also stand before each return.",
		before: `
type walk struct{ depth, deepest int }
func (w *walk) f(x *torch.Tensor, n int) *torch.Tensor {
	w.depth++
	defer func() { w.depth-- }()
	w.deepest = max(w.deepest, w.depth)
	if n == 0 {
		return x.Sin()
	}
	return w.f(x.Mul(2), n-1).Add(1)
}
func main() {
	w := &walk{}
	fmt.Println(torch.Compile(w.f)(torch.Ones(3), 2), w.depth, w.deepest)
}`,
		after: `
type walk struct{ depth, deepest int }
func (w *walk) f(x *torch.Tensor, n int) *torch.Tensor {
	w.depth++
	w.deepest = max(w.deepest, w.depth)
	if n == 0 {
		w.depth--
		return x.Sin()
	}
	y := w.f(x.Mul(2), n-1).Add(1)
	w.depth--
	return y
}
func main() {
	w := &walk{}
	fmt.Println(torch.Compile(w.f)(torch.Ones(3), 2), w.depth, w.deepest)
}`,
	},
	{
		name: "a map that grows", code: breaks.MapIteration,
		advice: "where their number changes from call to call, loop outside of the compiled function, for each number would be " +
			"a compile.",
		before: `
func f(x *torch.Tensor, seen map[int]float64) *torch.Tensor {
	y := x.Sin()
	for i, v := range seen {
		y = y.Add(v * float64(i))
	}
	return y
}
func main() {
	fast, seen := torch.Compile(f), map[int]float64{}
	for i := range 3 {
		seen[i] = 0.5
		fmt.Println(fast(torch.Ones(3), seen))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	fast, seen := torch.Compile(f), map[int]float64{}
	for i := range 3 {
		seen[i] = 0.5
		y := fast(torch.Ones(3))
		for i, v := range seen {
			y = y.Add(v * float64(i))
		}
		fmt.Println(y)
	}
}`,
	},
}

// goOpenAdvice are numbers and sizes that one compile leaves open and another does not.
var goOpenAdvice = []goPair{
	{
		name: "a number that becomes 1", advice: "pos is dynamic in another entry, and 0 and 1 have an entry of their own: nothing to do",
		before: `
func f(x *torch.Tensor, pos int) *torch.Tensor { return x.Mul(2).Add(torch.Arange(pos, pos+1)) }
func main() {
	fast := torch.Compile(f)
	for i, pos := range []int{0, 2, 3, 1} {
		x := torch.Ones(3 + i)
		fmt.Println(fast(x, pos))
	}
}`,
		after: `
func f(x *torch.Tensor, pos int) *torch.Tensor { return x.Mul(2).Add(torch.Arange(pos, pos+1)) }
func main() {
	fast := torch.Compile(f)
	for i, pos := range []int{0, 2, 3, 1, 7, 1, 9} {
		if y := fast(torch.Ones(3+i), pos); i < 4 {
			fmt.Println(y)
		}
	}
}`,
	},
	{
		name: "a number that is compared and used",
		advice: "t.temp was baked in by the first compile and is now dynamic: only a value that answers a comparison with it " +
			"in another way recompiles, nothing to do",
		before: `
type sampler struct{ temp float64 }
func (t *sampler) f(x *torch.Tensor) *torch.Tensor {
	if t.temp != 1 {
		x = x.Div(t.temp)
	}
	return x.Softmax(-1)
}
func main() {
	t := &sampler{1}
	fast := torch.Compile(t.f)
	for range 4 {
		fmt.Println(fast(torch.Arange(3).To(torch.Float32)))
		t.temp -= 0.125
	}
}`,
		after: `
type sampler struct{ temp float64 }
func (t *sampler) f(x *torch.Tensor) *torch.Tensor {
	if t.temp != 1 {
		x = x.Div(t.temp)
	}
	return x.Softmax(-1)
}
func main() {
	t := &sampler{1}
	fast := torch.Compile(t.f)
	for i := range 7 {
		if y := fast(torch.Arange(3).To(torch.Float32)); i < 4 {
			fmt.Println(y)
		}
		t.temp -= 0.125
	}
}`,
	},
	{
		name: "a size of which a sum is needed as a number",
		advice: "model.go:10 needs size 0 of x as a number, so each size is a compile of its own: pad to a few sizes, or keep " +
			"that line out",
		before: `
func f(x *torch.Tensor, q float64) *torch.Tensor {
	sorted, _ := x.Sort()
	i := int(q * float64(x.Size(0)-1))
	return sorted.Select(0, i)
}
func main() {
	fast := torch.Compile(f)
	for _, n := range []int{5, 9} {
		fmt.Println(fast(torch.Arange(n).To(torch.Float32), 0.5))
	}
}`,
		after: `
func f(x, i *torch.Tensor) *torch.Tensor {
	sorted, _ := x.Sort()
	return sorted.IndexSelect(0, i).Squeeze()
}
func main() {
	fast := torch.Compile(f)
	for _, n := range []int{5, 9} {
		x := torch.Arange(n).To(torch.Float32)
		compiler.MarkDynamic(x, 0)
		fmt.Println(fast(x, torch.NewTensor([]int{int(0.5 * float64(n-1))})))
	}
}`,
	},
	{
		name: "a size of which the half is needed as a number",
		advice: "needs (x.size()[0]//2) as a number, so there is a compile for each value of it: pad to a few sizes, or keep " +
			"that line out",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	k := float64(x.Size(0) / 2)
	return x.Mul(2).Sin().Sum().Add(torch.Full([]int{1}, k))
}
func main() {
	fast := torch.Compile(f)
	for _, n := range []int{4, 5, 6, 7, 8, 9} {
		fmt.Println(fast(torch.Ones(n)))
	}
}`,
		after: `
func f(x, half *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin().Sum().Add(half) }
func main() {
	fast := torch.Compile(f)
	for _, n := range []int{4, 5, 6, 7, 8, 9} {
		x := torch.Ones(n)
		compiler.MarkDynamic(x, 0)
		fmt.Println(fast(x, torch.Full([]int{1}, float64(n/2))))
	}
}`,
	},
	{
		name:   "a counter that a part after a break asks for",
		advice: "the marked line asks whether (t.step % 4) == 0: an entry for each answer is normal",
		before: `
type trainer struct{ step int }
func (t *trainer) f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	compiler.GraphBreak()
	y = y.Exp()
	if t.step%4 == 0 {
		y = y.Mul(2)
	}
	return y.Cos()
}
func main() {
	t := &trainer{}
	fast := torch.Compile(t.f)
	for range 3 {
		t.step++
		fmt.Println(fast(torch.Ones(3)))
	}
	t.step++
	fmt.Println(fast(torch.Ones(3)))
}`,
		after: `
type trainer struct{ step int }
func (t *trainer) f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	compiler.GraphBreak()
	y = y.Exp()
	if t.step%4 == 0 {
		y = y.Mul(2)
	}
	return y.Cos()
}
func main() {
	t := &trainer{}
	fast := torch.Compile(t.f)
	for i := range 12 {
		t.step++
		if y := fast(torch.Ones(3)); i < 4 {
			fmt.Println(y)
		}
	}
}`,
	},
	{
		name:   "a captured number, with and without gradients",
		advice: "scale was baked in by the first compile and is now dynamic",
		before: kindsOfCalls(2), after: kindsOfCalls(5),
	},
}

// kindsOfCalls is a program that calls a function with and without gradients, each time with
// some scales, of which it prints two.
func kindsOfCalls(scales int) string {
	return fmt.Sprintf(`
func main() {
	scale := 1.5
	fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Square().Mul(scale) })
	for i := range %d {
		for _, on := range []bool{true, false} {
			if y := fast(torch.Ones(3, kw.RequiresGrad(on))).Detach(); i < 2 {
				fmt.Println(y)
			}
		}
		scale += 0.5
	}
}`, scales)
}
