package tracer

import (
	"strings"
	"testing"

	"tcdbg/tracer/eval"
)

// TestCapture runs small programs plainly and compiled, and states what must
// have been captured: operators of each graph and codes of the breaks.
func TestCapture(t *testing.T) {
	for _, c := range captureCases {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, c.program)
			if got := o.ops(); got != c.ops {
				t.Errorf("graphs: got %q, want %q", got, c.ops)
			}
			if got := o.codes(); got != c.breaks {
				t.Errorf("breaks: got %q, want %q", got, c.breaks)
			}
			if t.Failed() {
				t.Log(c.program, "\n", o.stdout, o.stderr)
			}
		})
	}
}

type captureCase struct{ name, program, ops, breaks string }

var captureCases = []captureCase{
	{"function", `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Sin().Add(y.Cos()) }
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Randn(3), torch.Randn(3)))
	fmt.Println(g(torch.Randn(3), torch.Randn(3)))
}`, "sin cos add", ""},
	{"a list that was there before the trace gets its elements in it", `
func f(y, ids, v *torch.Tensor) *torch.Tensor {
	compiler.GraphBreak()
	put := torch.IndexPut(y, []*torch.Tensor{ids.Remainder(4)}, v, kw.Accumulate(true))
	return torch.Cat([]*torch.Tensor{put.Sin(), y}, kw.Dim(0))
}
func main() {
	ids := torch.Arange(4).Mul(3).Remainder(5)
	fmt.Println(torch.Compile(f)(torch.Zeros(4, 2), ids, torch.Ones(4, 2)))
}`, "remainder index_put sin cat", "GB0025"},
	{"gradients are inputs, and replaced after the graph", `
func f(w, x *torch.Tensor) *torch.Tensor {
	y := w.Grad().Mul(x)
	w.SetGrad(y)
	x.SetGrad(nil)
	return w.Grad().Add(1)
}
func main() {
	w, x := torch.Ones(3).RequiresGrad_(), torch.Full([]int{3}, 2.0)
	w.Mul(3).Sum().Backward()
	x.SetGrad(torch.Ones(3))
	g := torch.Compile(f)
	for range 3 { fmt.Println(g(w, x), w.Grad(), x.Grad()) }
}`, "mul add", ""},
	{"a gradient of another shape is refused by the call itself", `
func f(w, x *torch.Tensor) *torch.Tensor {
	y := w.Mul(x)
	w.SetGrad(y.Sum())
	return y
}
func main() {
	defer func() { fmt.Println(recover()) }()
	torch.Compile(f)(torch.Ones(3), torch.Ones(3))
}`, "mul sum", "GB0088"},
	{"the gradient of what the graph computes", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Mul(2); return torch.Ones(2).Mul(y.Grad() == nil) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2))) }`, "mul ones | mul", "GB0156"},
	{"a step of an optimizer between a backward pass and a forward pass", `
func main() {
	w := torch.Ones(3).RequiresGrad_()
	opt := optim.NewAdam([]*torch.Tensor{w}, kw.Lr(0.25))
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		opt.ZeroGrad()
		w.Mul(x).Sum().Backward()
		opt.Step()
		return w.Sin()
	})
	for range 3 { fmt.Println(g(torch.Ones(3)), w.Grad()) }
}`, "mul sum | add_ lerp_ mul_ addcmul_ to mul expm1 neg mul expm1 neg sqrt sqrt div_ add_ div mul_ addcdiv_ sin", "GB0123"},
	{"a function whose result is assumed constant runs once, at once", `
type table struct { t *torch.Tensor }
func (b *table) make(n int) int { if b.t == nil { b.t = torch.Ones(n) }; return n }
func main() {
	b := &table{}
	ready := compiler.AssumeConstantResult(b.make)
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { k := ready(3); return b.t.Mul(x).Add(k) })
	fmt.Println(g(torch.Ones(3))); fmt.Println(g(torch.Ones(3)))
}`, "mul add", ""},
	{"method value", `
type Net struct{ k float64; W *torch.Tensor }
func (n *Net) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(n.k).Add(n.W) }
func main() {
	n := &Net{2, torch.Randn(3)}
	g := torch.Compile(n.Forward)
	fmt.Println(g(torch.Randn(3)), g(torch.Randn(3)))
}`, "mul add", ""},
	{"closure over tensor and scalar", `
func main() {
	w, k := torch.Randn(3), 3
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(w).Add(k) })
	fmt.Println(g(torch.Randn(3)), g(torch.Randn(3)))
}`, "mul add", ""},
	{"branch on data", `
func bar(a, b *torch.Tensor) *torch.Tensor {
	x := a.Div(a.Abs().Add(1))
	if b.Sum().Lt(0).Bool() { b = b.Mul(-1) }
	return x.Mul(b)
}
func main() {
	g := torch.Compile(bar)
	a, b := torch.Randn(4), torch.Rand(4)
	fmt.Println(g(a, b)); fmt.Println(g(a, b.Neg())); fmt.Println(g(a, b))
}`, "abs add div sum lt | mul | mul mul", "GB0170"},
	{
		"print", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("mid"); return y.Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Randn(2))); fmt.Println(g(torch.Randn(2))) }`,
		"sin | cos", "GB0059",
	},
	{"item", `
func f(x *torch.Tensor) *torch.Tensor { k := x.Sum().Item(); return x.Mul(k) }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Rand(2))) }`, "sum | mul", "GB0124"},
	{"explicit break", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); compiler.GraphBreak(); return y.Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Rand(2))) }`, "sin | cos", "GB0025"},
	{"native call", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Sscan("3", new(int)); return y.Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Rand(2))) }`, "sin | cos", "GB9003"},
	{
		"print three calls deep", `
func say() { fmt.Println("deep") }
func inner(x *torch.Tensor) *torch.Tensor { y := x.Sin(); say(); return y.Cos() }
func outer(x *torch.Tensor) *torch.Tensor { z := x.Mul(2); w := inner(z); return w.Add(z) }
func main() { g := torch.Compile(outer); fmt.Println(g(torch.Rand(2))); fmt.Println(g(torch.Rand(2))) }`,
		"mul sin | cos add", "GB0059",
	},
	{
		"break in a loop", `
func f(x *torch.Tensor) *torch.Tensor {
	for i := 0; i < 4; i++ { x = x.Sin(); fmt.Println("i", i) }
	return x.Cos()
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Rand(2))); fmt.Println(g(torch.Rand(2))) }`,
		"sin | sin | cos", "GB0059 GB0059",
	},
	{"unrolled loop over modules", `
type Block struct{ k int }
func (b *Block) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(b.k) }
func main() {
	mods := []nn.Module{&Block{2}, nn.NewReLU(), &Block{3}}
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		for _, m := range mods { x = m.Forward(x) }
		return x
	})
	fmt.Println(g(torch.Rand(2)))
}`, "mul relu mul", ""},
	{"field mutation", `
type Net struct{ calls int }
func (n *Net) Forward(x *torch.Tensor) *torch.Tensor { n.calls++; return x.Mul(2) }
func main() {
	n := &Net{}
	g := torch.Compile(n.Forward)
	for range 5 { g(torch.Rand(2)) }
	fmt.Println(n.calls)
}`, "mul", ""},
	{"global and captured variables", `
var total int
var last *torch.Tensor
func main() {
	k := 0
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { total += 2; k++; last = x.Neg(); return last.Mul(2) })
	for range 3 { g(torch.Ones(2)) }
	fmt.Println(total, k, last)
}`, "neg mul", ""},
	{"slice written", `
func main() {
	buf := make([]*torch.Tensor, 2)
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { buf[1] = x.Sin(); buf[0] = buf[1].Cos(); return buf[0].Add(buf[1]) })
	fmt.Println(g(torch.Ones(2)), buf[0], buf[1])
	fmt.Println(g(torch.Zeros(2)), buf[0], buf[1])
}`, "sin cos add", ""},
	{"object made in the trace", `
type Pair struct{ a, b *torch.Tensor; n int; next *Pair }
var kept *Pair
func main() {
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		p := &Pair{a: x.Sin(), n: 3}
		p.next = &Pair{b: x, next: p}
		kept = p
		return p.a.Mul(p.n)
	})
	x := torch.Ones(2)
	fmt.Println(g(x), kept.a, kept.n, kept.next.b == x, kept.next.next == kept)
	old := kept
	fmt.Println(g(x), old == kept)
}`, "sin mul", ""},
	{"object across a break", `
type Acc struct{ xs []*torch.Tensor; names map[string]int }
func main() {
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		a := &Acc{names: map[string]int{"p": 1}}
		a.xs = append(a.xs, x.Sin())
		a.names["q"] = 2
		fmt.Println(len(a.xs), a.names["p"], a.names["q"])
		a.xs = append(a.xs, x.Cos())
		return a.xs[0].Add(a.xs[1])
	})
	fmt.Println(g(torch.Ones(2)))
	fmt.Println(g(torch.Ones(2)))
}`, "sin | cos add", "GB0059"},
	{"aliases", `
type Box struct{ n int }
func f(p, q *Box, x *torch.Tensor) *torch.Tensor { p.n = 5; q.n++; return x.Mul(p.n) }
func main() {
	g := torch.Compile(f)
	a, b := &Box{1}, &Box{1}
	fmt.Println(g(a, b, torch.Ones(1)), a.n, b.n)
	fmt.Println(g(a, a, torch.Ones(1)), a.n)
	fmt.Println(g(b, a, torch.Ones(1)), a.n, b.n)
}`, "mul | mul", ""},
	{"in place on an input", `
func f(x *torch.Tensor) *torch.Tensor { x.Add_(1); return x.Mul(2) }
func main() {
	g := torch.Compile(f)
	x := torch.Zeros(2)
	fmt.Println(g(x), x); fmt.Println(g(x), x)
}`, "add_ mul", ""},
	{"defer and recover", `
func f(x *torch.Tensor) (y *torch.Tensor) {
	defer func() { if r := recover(); r != nil { fmt.Println("recovered", r); y = x.Neg() } }()
	y = x.Sin()
	var m map[string]int
	m["a"] = 1
	return y
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2))) }`, "sin", "GB9002 GB0088"},
	{"panic of the program", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); if y.Size(0) == 2 { panic("two") }; return y }
func main() {
	g := torch.Compile(f)
	func() { defer func() { fmt.Println(recover()) }(); g(torch.Ones(2)) }()
	fmt.Println(g(torch.Ones(3)))
}`, "sin", "GB9013"},
	{"shape error", `
func f(a, b *torch.Tensor) *torch.Tensor { return a.Add(b) }
func main() {
	g := torch.Compile(f)
	func() { defer func() { fmt.Println(recover()) }(); g(torch.Ones(2), torch.Ones(3)) }()
	fmt.Println(g(torch.Ones(2), torch.Ones(2)))
}`, "add", "GB0064"},
	{"generics, type switch, several results", `
type A struct{ k int }
type B struct{ s float64 }
func pick[T any](xs []T, i int) T { return xs[i] }
func scale(v any, x *torch.Tensor) (*torch.Tensor, int) {
	switch v := v.(type) {
	case A: return x.Mul(v.k), 1
	case *B: return x.Mul(v.s), 2
	}
	return x, 0
}
func main() {
	vs := []any{A{3}, &B{0.5}}
	g := torch.Compile(func(i int, x *torch.Tensor) (*torch.Tensor, int) { return scale(pick(vs, i), x) })
	fmt.Println(g(0, torch.Ones(1)))
	fmt.Println(g(1, torch.Ones(1)))
	fmt.Println(g(0, torch.Ones(1)))
}`, "mul | mul", ""},
	{"nested compiled function is inlined", `
func main() {
	in := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() })
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return in(x).Cos() })
	fmt.Println(g(torch.Ones(1)))
}`, "sin cos", ""},
	{"disabled function", `
func main() {
	quiet := compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return x.Exp() })
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return quiet(x.Sin()).Cos() })
	fmt.Println(g(torch.Ones(1)))
}`, "sin | cos", "GB0098"},
	{"range over func", `
func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) { for i := range n { if !yield(i) { return } } }
}
func main() {
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { for i := range count(3) { x = x.Add(i) }; return x })
	fmt.Println(g(torch.Ones(1)))
}`, "add add add", ""},
	{"tensor of a map", `
func main() {
	w := map[string]*torch.Tensor{"a": torch.Ones(2), "b": torch.Ones(2)}
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(w["a"]).Add(w["b"]) })
	fmt.Println(g(torch.Ones(2)))
	w["a"] = torch.Zeros(2)
	fmt.Println(g(torch.Ones(2)))
}`, "mul add", ""},
	{"map changed", `
func main() {
	m := map[string]int{"n": 1, "old": 4}
	last := map[string]*torch.Tensor{}
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		m["n"] += 2
		delete(m, "old")
		if _, ok := m["old"]; ok { return x }
		last["y"] = x.Mul(2)
		return last["y"].Add(1)
	})
	fmt.Println(g(torch.Ones(1)), m, last["y"])
	fmt.Println(g(torch.Zeros(1)), m, last["y"])
}`, "mul add", ""},
	{"no grad inside", `
func main() {
	w := torch.Ones(2).RequiresGrad_()
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		var y *torch.Tensor
		torch.NoGrad(func() { y = x.Mul(w) })
		return y.Add(w)
	})
	fmt.Println(g(torch.Ones(2)).RequiresGrad())
}`, "mul add", ""},
	{"break under no grad", `
func main() {
	w := torch.Ones(2).RequiresGrad_()
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		z := x.Sin()
		torch.NoGrad(func() { fmt.Println("in"); z = z.Mul(w) })
		return z.Cos()
	})
	fmt.Println(g(torch.Ones(2)))
}`, "sin | cos", "GB0066"},
	{"options: lists, tensors, sizes", `
func f(x, w, b *torch.Tensor, dims []int) *torch.Tensor {
	y := x.Sum(kw.Dim(dims), kw.Keepdim(true))
	return y.Reshape(x.Size(0), -1).Mul(w).Add(b, kw.Alpha(x.Dim()))
}
func main() {
	g := torch.Compile(f)
	for _, n := range []int{2, 3, 4} { fmt.Println(g(torch.Ones(n, 3), torch.Ones(1), torch.Ones(1), []int{1})) }
}`, "sum reshape mul add | sum reshape mul add", ""},
	{"shape that depends on data", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); return y.Nonzero().Mul(2) }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(2))) }`, "sin | mul", "GB0036"},
	{"loop over a string breaks", `
func f(x *torch.Tensor) *torch.Tensor { for _, c := range "abc" { x = x.Sin(); fmt.Println(c) }; return x.Cos() }
func main() { g := torch.Compile(f); for range 3 { fmt.Println(g(torch.Ones(1))) } }`, "sin | cos", "GB9005 GB0059"},
	{"loop over a string", `
func f(x *torch.Tensor) *torch.Tensor { for _, c := range "abc" { x = x.Add(int(c)) }; return x }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1)), g(torch.Ones(1))) }`, "add add add", ""},
	{"closure called again after a break", `
func f(x *torch.Tensor, say bool) *torch.Tensor {
	h := func() int { if say { fmt.Println("h", x.Dim()) }; x = x.Sin(); return 1 }
	n := h()
	return x.Mul(n + h())
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1), true), g(torch.Ones(1), true)) }`, "sin | sin mul", "GB0059 GB0059"},
	{"deferred operators while panicking", `
func inner(x *torch.Tensor) { defer func() { fmt.Println(x.Cos()) }(); fmt.Println("in"); x = x.Sin(); panic("out") }
func f(x *torch.Tensor) (y *torch.Tensor) {
	defer func() { fmt.Println(recover()); y = x.Neg() }()
	inner(x.Exp())
	return x
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1)), g(torch.Ones(1))) }`, "exp | sin", "GB9002 GB9002 GB9013"},
	{"panic goes on after a deferred call", `
var n int
func inner(p *int) int { defer func() { n++ }(); fmt.Println("in"); return *p }
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(inner(nil)).Sin() }
func main() {
	g := torch.Compile(f)
	for range 2 { func() { defer func() { fmt.Println(recover(), n) }(); fmt.Println(g(torch.Ones(1))) }() }
}`, "", "GB9002"},
	{"size of a tensor that is not used", `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Mul(y.Size(0)) }
func main() {
	g := torch.Compile(f, kw.Dynamic(true))
	for n := range 4 { fmt.Println(g(torch.Ones(2), torch.Ones(n+2))) }
}`, "mul | mul", ""},
	{"one tensor twice, then two", `
func f(x, y *torch.Tensor) (*torch.Tensor, *torch.Tensor) { return x.Sin(), y }
func main() {
	g := torch.Compile(f)
	a, b := torch.Ones(1), torch.Zeros(1)
	fmt.Println(g(a, a)); fmt.Println(g(a, b))
}`, "sin", ""},
	{"maps made in a loop", `
func f(x *torch.Tensor) *torch.Tensor {
	var ms []map[string]*torch.Tensor
	for i := range 3 { m := map[string]*torch.Tensor{}; m["t"] = x.Add(i); ms = append(ms, m) }
	fmt.Println(len(ms))
	return ms[0]["t"].Add(ms[2]["t"])
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1))) }`, "add add add | add", "GB0059"},
	{"long array", `
func f(x *torch.Tensor) *torch.Tensor {
	var ts [100]*torch.Tensor
	for i := range ts { ts[i] = x.Add(i) }
	us := ts
	fmt.Println(len(us))
	return us[3].Mul(us[99])
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1))) }`, strings.TrimSpace(strings.Repeat("add ", 100)) + " | mul", "GB0059"},
	{"disabled right after a break", `
var quiet = compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return x.Exp().Log() })
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("p"); return quiet(y).Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1))) }`, "sin | cos", "GB0059"},
	{
		"callees of a disabled function", `
func in(x *torch.Tensor) *torch.Tensor { return x.Sin().Cos() }
var quiet = compiler.Disable(func(x *torch.Tensor) *torch.Tensor { return in(x.Exp()).Log() }, kw.Recursive(false))
func f(x *torch.Tensor) *torch.Tensor { return quiet(x.Mul(2)).Add(1) }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1)), g(torch.Ones(1)), quiet(torch.Ones(1))) }`,
		"mul | sin cos | add", "GB0098",
	},
	{
		"recursion is bounded", `
func f(x *torch.Tensor, n int) *torch.Tensor { if n == 0 { return x }; return f(x.Add(1), n-1) }
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1), 3), g(torch.Ones(1), 300)) }`,
		"add add add | " + strings.TrimSpace(strings.Repeat("add ", eval.MaxInlined+1)), "GB9023",
	},
	{"native function with a state", `
func f(x *torch.Tensor) *torch.Tensor {
	r := strings.NewReader("ab")
	b, _ := r.ReadByte()
	return x.Add(int(b))
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1)), g(torch.Ones(1))) }`, "add", "GB9003"},
	{"written tensor seen through another input", `
func f(a, b *torch.Tensor) *torch.Tensor { a.Select(0, 0).Add_(1); return b.Mul(2) }
func main() {
	g := torch.Compile(f)
	a, b := torch.Ones(2, 2), torch.Ones(2, 2)
	fmt.Println(g(a, b)); fmt.Println(g(a, a.T())); fmt.Println(a)
}`, "select add_ mul | select add_ mul", ""},
	{"one memory as two element types or two histories", `
func f(a, b *torch.Tensor) *torch.Tensor { a.Add_(1); return b.Mul(2) }
func main() {
	g := torch.Compile(f)
	a := torch.Ones(2, 2)
	fmt.Println(g(a, a.Detach())); fmt.Println(a)
	torch.NoGrad(func() { fmt.Println(g(a, a.Detach()), a) })
}`, "add_ | add_ mul", "GB9004"},
	{"statistics of a normalisation are written", `
func f(m *nn.BatchNorm2d, x *torch.Tensor) *torch.Tensor { m.Forward(x); return m.RunningMean.Mul(2) }
func main() {
	g := torch.Compile(f)
	m := nn.NewBatchNorm2d(2)
	for range 2 { fmt.Println(g(m, torch.Rand(2, 2, 3, 3)), m.RunningVar) }
}`, "add_ batch_norm mul", ""},
	{"what the graph computes wants gradients as its inputs do", `
func f(w, x *torch.Tensor) *torch.Tensor {
	y := w.Mul(x)
	if y.RequiresGrad() && !y.IsLeaf() { y = y.Sin() }
	if d := y.Detach(); d.IsLeaf() && !d.RequiresGrad() { y = y.Cos() }
	if i := y.Argmax(); !i.RequiresGrad() { y = y.Exp() }
	return y
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2).RequiresGrad_(), torch.Ones(2)).Detach())
	torch.NoGrad(func() { fmt.Println(g(torch.Ones(2).RequiresGrad_(), torch.Ones(2))) })
	fmt.Println(g(torch.Ones(2), torch.Ones(2)))
}`, "mul sin cos exp | mul cos exp | mul cos exp", ""},
	{"everything is forgotten in the midst of a call", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); compiler.Reset(); return y.Cos() }
func main() {
	g := torch.Compile(f)
	for range 2 { fmt.Println(g(torch.Ones(2))) }
}`, "sin | cos | sin | cos", "GB9003 GB9003"},
	{"a view of a leaf is written: eager mode refuses, in its words", `
func f(w *torch.Tensor) *torch.Tensor { y := w.Sin(); w.Select(0, 0).Mul_(2); return y }
func main() {
	defer func() { fmt.Println(recover()) }()
	torch.Compile(f)(torch.Ones(2).RequiresGrad_())
}`, "sin select", "GB0064"},
	{"a view taken under NoGrad is written: eager mode refuses, in its words", `
func f(x, w *torch.Tensor) *torch.Tensor {
	var v *torch.Tensor
	torch.NoGrad(func() { v = x.Select(0, 0) })
	v.Narrow(0, 0, 1).Mul_(w.Narrow(0, 0, 1))
	return x.Sin()
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2, 2), torch.Ones(2)))
	defer func() { fmt.Println(recover()) }()
	g(torch.Ones(2, 2), torch.Ones(2).RequiresGrad_())
}`, "select narrow narrow mul_ sin | select narrow narrow", "GB0064"},
	{"complex numbers do not break", `
func f(x *torch.Tensor) *torch.Tensor {
	z := torch.Complex(x.Sin(), x)
	z = z.Mul(z.Conj()).Add(z)
	return torch.ViewAsReal(torch.Polar(z.Abs(), x)).Exp()
}
func main() {
	g := torch.Compile(f)
	for range 2 { fmt.Println(g(torch.Ones(2))) }
}`, "sin complex conj mul add abs polar view_as_real exp", ""},
	{"the branch of a Cond that is taken is captured", `
func f(x, w *torch.Tensor) *torch.Tensor {
	k := 2
	y := compiler.Cond(x.Sum().Gt(0), func(a ...*torch.Tensor) *torch.Tensor { return a[0].Sin().Mul(a[1]) },
		func(a ...*torch.Tensor) *torch.Tensor { k++; return a[0].Cos().Mul(k) }, x, w)
	return y.Exp().Add(k)
}
func main() {
	g := torch.Compile(f)
	w := torch.Full([]int{2}, 3.0, kw.RequiresGrad(true))
	for _, v := range []float64{1, -1, 1, -1} {
		y := g(torch.Full([]int{2}, v), w)
		fmt.Println(y.Detach())
		if y.RequiresGrad() { y.Sum().Backward(); fmt.Println(w.Grad()) }
	}
}`, "sum gt | sin mul exp add | cos mul exp add", "GB0170"},
	{"a Cond whose predicate is no number, and one of compiled branches", `
func half(a ...*torch.Tensor) *torch.Tensor { return a[0].Mul(0.5) }
var quick = torch.Compile(half)
func f(x *torch.Tensor, twice bool) *torch.Tensor {
	if twice { return compiler.Cond(x.Gt(0), half, half, x) }
	return compiler.Cond(x.Sum().Gt(0), quick, half, x).Neg()
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2), false))
	defer func() { fmt.Println(recover()) }()
	g(torch.Ones(2), true)
}`, "sum gt cond neg | gt", "GB0170"},
	{"a list of one view", `
func f(x *torch.Tensor) []*torch.Tensor {
	p := append(x.Chunk(2, kw.Dim(0)), x.Sin().Unbind()...)
	p[0].Mul_(2)
	return p
}
func main() {
	g := torch.Compile(f)
	for range 2 { fmt.Println(g(torch.Ones(1, 4))) }
}`, "chunk sin unbind mul_", ""},
	{"one of several views is written", `
func f(x, w *torch.Tensor) *torch.Tensor { y := x.Mul(2); p := y.Unbind(); p[1].Mul_(w); return y }
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(2, 2), torch.Ones(2)))
	defer func() { fmt.Println(recover()) }()
	g(torch.Ones(2, 2), torch.Ones(2).RequiresGrad_())
}`, "mul unbind mul_ | mul unbind", "GB0064"},
	{"a view given from outside is written, plain and taken under NoGrad", `
func f(v, w *torch.Tensor) *torch.Tensor { v.Mul_(w); return v.Sin() }
func main() {
	g := torch.Compile(f)
	for i := range 2 {
		func() {
			defer func() { fmt.Println(recover()) }()
			x := torch.Ones(2, 2)
			v := x.Select(0, 0)
			if i == 1 { torch.NoGrad(func() { v = x.Select(0, 0) }) }
			fmt.Println(g(v, torch.Ones(2).RequiresGrad_()).Detach())
		}()
	}
}`, "mul_ sin", "GB0064"},
	{"a view taken under NoGrad is used after a write to its memory", `
func f(x, w *torch.Tensor) *torch.Tensor {
	y := x.Mul(w)
	torch.NoGrad(func() { x = y.Select(0, 0); y.Mul_(2) })
	return x.Sin()
}
func main() {
	defer func() { fmt.Println(recover()) }()
	torch.Compile(f)(torch.Ones(2, 2), torch.Ones(2).RequiresGrad_())
}`, "mul select mul_", "GB0064"},
	{"the gradient mode is a guarded constant", `
func f(x *torch.Tensor) *torch.Tensor {
	if torch.GradEnabled() { x = x.Add(1) }
	torch.NoGrad(func() { if torch.GradEnabled() { x = x.Cos() } else { x = x.Sin() } })
	return x
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(1)))
	torch.NoGrad(func() { fmt.Println(g(torch.Ones(1))) })
}`, "add sin | sin", ""},
	{"errors are made again by each call", `
type result struct { y *torch.Tensor; err error }
func check(x *torch.Tensor) error {
	if x.Size(0) > 3 { return fmt.Errorf("size %d is too large", x.Size(0)) }
	return nil
}
func f(x *torch.Tensor, r *result) (*torch.Tensor, error, any) {
	e := errors.New("late")
	r.err = e
	if err := check(x); err != nil { return x.Mul(2), err, e }
	return x.Sin(), nil, e
}
func main() {
	g := torch.Compile(f)
	r, q := &result{}, &result{}
	_, err, e := g(torch.Ones(4), r)
	fmt.Println(r.err == e)
	_, again, _ := g(torch.Ones(4), q)
	y, none, _ := g(torch.Ones(2), r)
	fmt.Println(err, again, err == again, e, q.err == e, y, none, r.err)
}`, "mul | sin", ""},
	{"subscripts", `
func f(x *torch.Tensor, i int, at *torch.Tensor) *torch.Tensor {
	y := x.At(i).Add(x.At(torch.Range(0, 2), torch.End-torch.End))
	y = y.Add(x.At(torch.Ellipsis, 1)).Add(x.At(torch.Colon, 0)).Sum()
	return y.Add(x.At(at).Sum()).Add(x.At(nil, torch.Range(1, torch.End), torch.Slice_{Step: 2}).Sum()).Add(x.At().Sum())
}
func main() {
	g := torch.Compile(f)
	x := torch.Arange(4.0).Reshape(2, 2)
	fmt.Println(g(x, 0, torch.NewTensor([]int{1, 0, 1}))); fmt.Println(g(x, 1, torch.NewTensor([]int{0})))
}`, "select slice select add select add slice select add sum index sum add unsqueeze slice slice sum add sum add | select slice " +
		"select add select add slice select add sum index sum add unsqueeze slice slice sum add sum add", ""},
	{"stores by subscript", `
func f(x, v, at *torch.Tensor) *torch.Tensor {
	x.SetAt(v, 0)
	x.SetAt(5, 1, torch.Range(0, 1))
	x.SetAt(v.Mul(2), at)
	return x.Mul(2)
}
func main() {
	g := torch.Compile(f)
	x := torch.Zeros(3, 2)
	fmt.Println(g(x, torch.Ones(2), torch.NewTensor([]int{2})), x)
}`, "select copy_ select slice fill_ mul index_put_ mul", ""},
	{"bounds of a range are sizes", `
var table = torch.Arange(20.0)
func f(x *torch.Tensor) *torch.Tensor { return x.Add(table.At(torch.Range(0, x.Size(0)))) }
func main() {
	g := torch.Compile(f)
	for n := range 4 { fmt.Println(g(torch.Zeros(n + 3))) }
}`, "slice add | slice add", ""},
	{"an open bound of a range is told from a closed one", `
func f(x *torch.Tensor, n int) *torch.Tensor { return x.At(torch.Range(1, n)).Mul(2) }
func main() {
	g := torch.Compile(f)
	for _, n := range []int{torch.End, 3, 4, 2, torch.End} { fmt.Println(g(torch.Arange(6.0), n)) }
}`, "slice mul | slice mul | slice mul", ""},
	{"lists as subscripts and as what is stored", `
func f(x *torch.Tensor, at []int) *torch.Tensor {
	y := x.At(at).Mul(2)
	y.SetAt([]float64{7, 8}, 0)
	y.SetAt([]int{1, 1}, torch.Slice_{}, 1)
	return y
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Arange(6.0).Reshape(3, 2), []int{2, 0}))
	fmt.Println(g(torch.Arange(6.0).Reshape(3, 2), []int{1, 1}))
}`, "full full cat index mul select full full cat copy_ slice select full copy_ | full index mul select full full cat copy_ slice " +
		"select full copy_", ""},
	{"tensors that are written down", `
var weights = []float64{1, -0.0, 0.5, 0.5}
func f(x *torch.Tensor, k float64) *torch.Tensor {
	w := torch.NewTensor(weights)
	w.Mul_(2)
	grid := torch.NewTensor([][]int{{1, 2}, {2, 2}}, kw.Dtype(torch.Float64))
	n := torch.NewTensor(x.Size(0))
	even := torch.NewTensor([]bool{true, false, true, false})
	return even.Where(x.Add(w).Mul(torch.NewTensor(k)).Add(grid.Sum()).Add(n), torch.NewTensor([]float32{}).Sum())
}
func main() {
	g := torch.Compile(f)
	fmt.Println(g(torch.Ones(4), 0.25), g(torch.Ones(4), 0.5), torch.NewTensor(weights))
	weights[0] = 3
	fmt.Println(g(torch.Ones(4), 0.5))
}`, "full full full cat mul_ full full cat view full full full full full cat add full mul sum add add full sum where | full full " +
		"full cat mul_ full full cat view full full full full full cat add full mul sum add add full sum where | full full full cat " +
		"mul_ full full cat view full full full full full cat add full mul sum add add full sum where", ""},
	{"no numbers, uneven lists and a great many numbers are left to eager mode", `
func f(x *torch.Tensor) *torch.Tensor { return torch.NewTensor(x.Sin()).Cos() }
func long(x *torch.Tensor) *torch.Tensor {
	n := make([]int, 65)
	for i := range n { n[i] = i }
	return x.Sin().Add(torch.NewTensor(n).Sum())
}
func main() {
	fmt.Println(torch.Compile(f)(torch.Ones(1)), torch.Compile(long)(torch.Ones(1)))
	defer func() { fmt.Println(recover()) }()
	torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Add(torch.NewTensor([][]int{{1}, {1, 2}})) })(torch.Ones(1))
}`, "sin | cos | sin | sum add", "GB9003 GB9003 GB9003"},
	{
		"a subscript begins a graph, unless it is a mask", `
func f(x *torch.Tensor) *torch.Tensor {
	at := x.Gt(0).Nonzero()
	y := x.At(at.At(torch.Slice_{}, 0))
	z := y.At(y.Gt(2))
	z.SetAt(9, 0)
	return z
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.NewTensor([]float32{-1, 2, 3}))) }`,
		"gt | slice select index gt | select fill_", "GB0036 GB0036",
	},
	{"a mask as subscript begins none", `
func f(x *torch.Tensor) *torch.Tensor {
	m := x.Gt(0)
	x.Nonzero()
	return x.At(m).Mul(2)
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.NewTensor([]float32{-1, 2, 3}))) }`, "gt | mul", "GB0036"},
	{"zeros that are written down keep their signs", `
var zeros = []float64{0, math.Copysign(0, -1)}
func f(x *torch.Tensor) *torch.Tensor { return x.Div(torch.NewTensor(zeros)) }
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2))) }`, "full full cat div", ""},
	{"a mask as subscript", `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin().At(x.Gt(0)).Cos() }
func main() { g := torch.Compile(f); fmt.Println(g(torch.NewTensor([]float32{-1, 2, 3}))) }`, "sin gt | cos", "GB0036"},
	{"a function with a derivative of its own", `
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Mul(2)} }
func (double) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0])} }
func main() {
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(double{}, x.Exp())[0].Sin() })
	x := torch.Ones(2).RequiresGrad_()
	g(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, "exp autograd_function_apply sin", ""},
	{"a function with a derivative of its own, where no gradient is wanted", `
type double struct{ k int }
func (d *double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SaveForBackward(in[0])
	if ctx.NeedsInputGrad[0] { d.k += 100 }
	d.k++
	return []*torch.Tensor{in[0].Mul(2), in[0]}
}
func (*double) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0])} }
func main() {
	d := &double{}
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { y := autograd.Apply(d, x.Exp()); return y[0].Sin().Add(y[1]) })
	fmt.Println(g(torch.Ones(2)), g(torch.Ones(2)), d.k)
	x := torch.Ones(2).RequiresGrad_()
	torch.NoGrad(func() { fmt.Println(g(x), d.k) })
	g(x).Sum().Backward()
	fmt.Println(x.Grad(), d.k)
}`, "exp mul view_as sin add | exp mul view_as sin add | exp autograd_function_apply sin add", ""},
	{"a function with a derivative of its own that breaks", `
type double struct{}
func (double) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { y := in[0].Mul(2); fmt.Println("mid"); return []*torch.Tensor{y} }
func (double) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return g }
func main() {
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(double{}, x.Exp())[0].Sin() })
	fmt.Println(g(torch.Ones(2)), g(torch.Ones(2)))
}`, "exp | sin", "GB9025"},
	{"gradients asked for inside", `
func f(x *torch.Tensor) *torch.Tensor {
	x = x.Sin().Detach().RequiresGrad_()
	y := x.Exp()
	return torch.Grad([]*torch.Tensor{y.Sum()}, []*torch.Tensor{x})[0].Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2))) }`, "sin detach | exp sum | mul", "GB0125 GB0123"},
	{"floats that change", `
func f(x *torch.Tensor, s float64) *torch.Tensor { return x.Mul(s).Add(s * 2).Div(s) }
func main() {
	g := torch.Compile(f)
	for k := range 5 { fmt.Println(g(torch.Arange(3.0), 1 / float64(k+1))) }
}`, "mul add div | mul add div", ""},
	{"a float that changes is of the tensor's type", `
func f(x *torch.Tensor, s float64) *torch.Tensor { return x.Mul(s) }
func main() {
	g := torch.Compile(f)
	for k := range 3 {
		for _, x := range []*torch.Tensor{torch.Ones(2), torch.Ones(), torch.Ones(2).To(torch.Float64)} { fmt.Println(g(x, 0.1*float64(k+1)), g(x, 0.1*float64(k+1)).DType()) }
	}
}`, "mul | mul | mul | mul | mul | mul", ""},
	{"a float that changes is a constant of half precision and of integers", `
func f(x *torch.Tensor, s float64) *torch.Tensor { return x.Mul(s) }
func main() {
	for _, d := range []torch.DType{torch.Float16, torch.Int64} {
		g := torch.Compile(f)
		for k := range 3 { fmt.Println(g(torch.Arange(1, 4).To(d), 0.1*float64(k+1))) }
	}
}`, "mul | mul | mul | mul | mul | mul", ""},
	{"ints that change", `
func f(x *torch.Tensor, i int) *torch.Tensor {
	y := torch.Full([]int{2}, i).Add(x.At(i)).Mul(i)
	if i > 7 { y = y.Neg() }
	return y
}
func main() {
	g := torch.Compile(f)
	for _, i := range []int{6, 5, 4, 2, 8, 1} { fmt.Println(g(torch.Arange(10.0), i)) }
	func() {
		defer func() { fmt.Println(recover()) }()
		g(torch.Arange(5.0), 5)
	}()
}`, "full select add mul | full select add mul | full select add mul neg | full select add mul | full", "GB0064"},
	{"numbers that are dynamic from the first call on", `
func f(x *torch.Tensor, i int, s float64) *torch.Tensor { return x.Narrow(0, i, 2).Mul(s) }
func main() {
	g := torch.Compile(f, kw.Dynamic(true))
	for i := range 4 { fmt.Println(g(torch.Arange(8.0), i + 2, float64(i) / 2)) }
}`, "narrow mul", ""},
	{"zeros of both signs, and no number", `
func f(x *torch.Tensor, s float64) *torch.Tensor { return x.Clamp(kw.Min(s)).Div(s) }
func main() {
	g, zero := torch.Compile(f, kw.Dynamic(false)), 0.0
	for _, s := range []float64{0, -zero, math.Copysign(0, -1), math.NaN(), math.NaN(), 0} { fmt.Println(g(torch.Ones(1), s)) }
}`, "clamp div | clamp div | clamp div", ""},
	{"ints that are no sizes", `
func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(k).Add(k - 2) }
func main() {
	g := torch.Compile(f)
	for _, k := range []int{-3, -2, 0, 1, 2, 7, -9} { fmt.Println(g(torch.Arange(3.0), k)) }
}`, "mul add | mul add", ""},
	{"state that the function changes", `
type stats struct { Count int; Scale float64 }
func (s *stats) Update(x *torch.Tensor) *torch.Tensor {
	total := s.Count + x.Size(0)
	y := x.Mul(s.Count).Div(total).Mul(s.Scale)
	s.Count, s.Scale = total, s.Scale / 2
	return y
}
func main() {
	s := &stats{Scale: 8}
	g := torch.Compile(s.Update)
	for k := range 6 { fmt.Println(g(torch.Ones(2 + k % 3)), *s) }
}`, "mul div mul | mul div mul", ""},
	{"a counter and fields that change", `
type config struct { Scale float64; N int }
func main() {
	count := 1
	g := torch.Compile(func(x *torch.Tensor, c config) *torch.Tensor { count++; return x.Mul(c.Scale).Add(count).Repeat(c.N) })
	for k := range 5 { fmt.Println(g(torch.Ones(1), config{float64(k), k + 2}), count) }
}`, "mul add repeat | mul add repeat", ""},
	{"fields of objects are constants", `
type layer struct { N int }
func (l *layer) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(l.N) }
func main() {
	g := torch.Compile(func(l *layer, x *torch.Tensor) *torch.Tensor { return l.Forward(x) })
	for k := range 4 { fmt.Println(g(&layer{k + 3}, torch.Ones(2))) }
}`, "mul | mul | mul | mul", ""},
	{"gradients by what the graph has computed", `
func f(x *torch.Tensor) *torch.Tensor {
	h := x.Sin().Cos()
	y := h.Exp().Add(h)
	return torch.Grad([]*torch.Tensor{y.Sum()}, []*torch.Tensor{h})[0].Mul(2)
}
func main() { fmt.Println(torch.Compile(f)(torch.Ones(2).RequiresGrad_())) }`, "sin cos | add sum | mul", "GB0123 GB0123"},
	{"no tensor work", `
func f(n int) int { return n * 2 }
func main() { g := torch.Compile(f); fmt.Println(g(2), g(3), g(4)) }`, "", ""},
}

// TestBreakKnowsItsPlace wants the chain of calls, the value's history and the
// operators before the break.
func TestBreakKnowsItsPlace(t *testing.T) {
	o := both(t, `
func check(b *torch.Tensor) bool { return b.Sum().Lt(0).Bool() }
func f(a, b *torch.Tensor) *torch.Tensor {
	if check(b) { return a }
	return a.Mul(b)
}
func main() { g := torch.Compile(f); fmt.Println(g(torch.Ones(1), torch.Ones(1))) }`)
	bs := o.breaks()
	if len(bs) != 1 {
		t.Fatalf("%d breaks", len(bs))
	}
	b := bs[0]
	var chain, value []string
	for _, p := range b.Stack {
		chain = append(chain, p.Func)
	}
	for _, p := range b.Value {
		value = append(value, p.Func)
	}
	if s := strings.Join(chain, " "); s != "main f check" {
		t.Errorf("chain %q", s)
	}
	if s := strings.Join(value, " "); s != "L['b'] sum lt" {
		t.Errorf("value %q", s)
	}
	if s := strings.Join(b.Before, " "); s != "sum lt" {
		t.Errorf("before %q", s)
	}
	if !strings.Contains(b.Pos.Code, "Bool()") || b.Pos.Line == 0 {
		t.Errorf("place %+v", b.Pos)
	}
}
