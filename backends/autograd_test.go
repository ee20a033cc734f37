package backends

import (
	"os"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/progfuzz"
	"tcdbg/logs"
)

// This file runs programs with autograd functions of their own plainly and under each
// backend, and compares results and gradients.

// applied counts, in the records of a run, the calls of functions with a derivative of
// their own that were captured, and keeps why others were not.
type applied struct {
	captured int
	breaks   []string
}

func (a *applied) Emit(o logs.Out) {
	text := string(o.Payload)
	meta, _ := o.Meta.(map[string]string)
	switch {
	case o.Kind == "dynamo_output_graph":
		a.captured += strings.Count(text, "= torch.ops.higher_order.autograd_function_apply(")
	case meta["name"] == "dynamo_graph_break_reason":
		_, why, _ := strings.Cut(text, "Developer debug context: ")
		why, _, _ = strings.Cut(why, "\n")
		a.breaks = append(a.breaks, why)
	}
}

func (*applied) Stack([]logs.Frame) any { return nil }

// autogradPrograms are programs, how many calls of autograd.Apply they have captured
// (-1: any number),
// and what the reasons of their breaks say, in order.
var autogradPrograms = []struct {
	name, body string
	captured   int
	breaks     []string
}{
	{"straight through", `
type round struct{}
func (round) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Round()} }
func (round) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return g }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(round{}, x.Mul(3))[0].Mul(x) })
	x := torch.Randn(2, 3, kw.RequiresGrad(true))
	y := f(x)
	y.Sum().Backward()
	fmt.Println(y.Detach(), x.Grad())
}`, 1, nil},
	{"gradient reversal: the result shows its input's memory", `
type reverse struct{ by float64 }
func (reverse) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return in }
func (r reverse) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(-r.by)} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(reverse{0.5}, x)[0] })
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(reverse{2}, x.Sin())[0].Mul(2) })
	x := torch.Randn(4, kw.RequiresGrad(true))
	y := f(x)
	torch.NoGrad(func() { x.Add_(1) })
	fmt.Println(y.Detach(), x.Detach())
	y.Pow(2).Sum().Backward()
	fmt.Println(x.Grad())
	g(x).Sum().Backward()
	fmt.Println(x.Grad())
	count := torch.Zeros(1)
	h := torch.Compile(func(x *torch.Tensor) *torch.Tensor { count.Add_(1); return autograd.Apply(reverse{0.5}, x)[0] })
	z := h(x)
	torch.NoGrad(func() { x.Add_(1) })
	fmt.Println(z.Detach(), x.Detach(), count)
	z.Sum().Backward()
	fmt.Println(x.Grad())
	k := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
		y, own := autograd.Apply(reverse{3}, x)[0], x.Sin()
		own.Mul_(2)
		return own, y
	})
	_, z = k(x)
	z.Sum().Backward()
	torch.NoGrad(func() { x.Add_(1) })
	fmt.Println(z.Detach(), x)
	twice := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		return autograd.Apply(reverse{3}, autograd.Apply(reverse{3}, x)[0].View(2, 2))[0].T()
	})
	z = twice(x)
	z.Mul(torch.Arange(4.0).View(2, 2)).Sum().Backward()
	torch.NoGrad(func() { x.Mul_(torch.Arange(4.0)) })
	fmt.Println(z.Detach(), x)
	fmt.Println(x.Grad())
}`, 5, []string{"a graph that writes inputs"}},
	{"a saved result", `
type exp struct{}
func (exp) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	y := in[0].Exp()
	ctx.SaveForBackward(y)
	return []*torch.Tensor{y}
}
func (exp) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0])} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		for range 3 { x = autograd.Apply(exp{}, x.Sin())[0] }
		return x
	})
	x := torch.Randn(5, kw.RequiresGrad(true))
	y := f(x)
	y.Sum().Backward()
	fmt.Println(y.Detach(), x.Grad())
}`, 3, nil},
	{"two inputs of which one wants no gradient, and batches of several sizes", `
type scale struct{}
func (scale) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SaveForBackward(in[0], in[1])
	return []*torch.Tensor{in[0].Mul(in[1]).Sigmoid()}
}
func (scale) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	x, w := ctx.SavedTensors()[0], ctx.SavedTensors()[1]
	d := x.Mul(w).Cos().Mul(g[0])
	out := make([]*torch.Tensor, 2)
	if ctx.NeedsInputGrad[0] { out[0] = d.Mul(w) }
	if ctx.NeedsInputGrad[1] { out[1] = d.Mul(x).Sum(kw.Dim(0)) }
	return out
}
func main() {
	f := torch.Compile(func(x, w *torch.Tensor) *torch.Tensor { return autograd.Apply(scale{}, x, w)[0].Mul(x) })
	w := torch.Randn(3, kw.RequiresGrad(true))
	for n := range 4 {
		x := torch.Randn(n + 2, 3)
		f(x, w).Sum().Backward()
		fmt.Println(w.Grad())
		x.RequiresGrad_()
		f(x, w).Sum().Backward()
		fmt.Println(x.Grad(), w.Grad())
		v := w.Detach()
		f(x, v).Sum().Backward()
		fmt.Println(x.Grad())
	}
}`, 6, nil},
	{"two results, of which not all are used, and one without gradient", `
type split struct{}
func (split) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	s := in[0].Sign()
	ctx.MarkNonDifferentiable(s)
	return []*torch.Tensor{in[0].Mul(2), in[1].Mul(3), s, in[0].Argmax()}
}
func (split) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	return []*torch.Tensor{g[0].Mul(20).Add(g[2].Sum()).Add(g[3]), g[1].Mul(30)}
}
func grad(x *torch.Tensor) any {
	if x.Grad() == nil { return nil }
	g := x.Grad()
	x.SetGrad(nil)
	return g
}
func main() {
	f := torch.Compile(func(x, y *torch.Tensor) (*torch.Tensor, *torch.Tensor, *torch.Tensor, *torch.Tensor) {
		r := autograd.Apply(split{}, x, y)
		return r[0].Sin(), r[1], r[2].Mul(x), r[3]
	})
	h := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor { return autograd.Apply(split{}, x.Sin(), y.Cos())[1] })
	x, y := torch.Randn(4, kw.RequiresGrad(true)), torch.Randn(4, kw.RequiresGrad(true))
	for i := range 3 {
		a, b, c, d := f(x, y)
		fmt.Println(c.RequiresGrad(), d)
		switch i {
		case 0: a.Sum().Backward()
		case 1: b.Sum().Backward()
		case 2: a.Sum().Add(b.Sum()).Add(c.Sum()).Backward()
		}
		fmt.Println(grad(x), grad(y))
	}
	h(x, y).Sum().Backward()
	fmt.Println(grad(x), grad(y))
}`, 2, nil},
	{"a Backward that is no derivative", `
type clip struct{ most float64 }
func (clip) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Clone()} }
func (c clip) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Clamp(kw.Min(-c.most), kw.Max(c.most))} }
type block struct { L1, L2 *nn.Linear; C clip }
func (b *block) Forward(x *torch.Tensor) *torch.Tensor { return b.L2.Forward(autograd.Apply(b.C, b.L1.Forward(x).Relu())[0]) }
func main() {
	torch.ManualSeed(3)
	b := &block{nn.NewLinear(4, 8), nn.NewLinear(8, 2), clip{0.01}}
	fast := torch.Compile(b.Forward)
	opt := optim.NewSGD(nn.Parameters(b), kw.Lr(0.1))
	for i := range 5 {
		x := torch.Randn(6+i%2, 4)
		opt.ZeroGrad()
		l := fast(x).Pow(2).Mean()
		l.Backward()
		opt.Step()
		fmt.Println(l.Detach(), b.L1.Weight.Grad().Abs().Sum())
	}
}`, 2, nil},
	{"temporaries written in place", `
type relu struct{}
func (relu) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SaveForBackward(in[0])
	y := in[0].Clone()
	y.Clamp_(kw.Min(0))
	y.Select(0, 0).Mul_(2)
	return []*torch.Tensor{y}
}
func (relu) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	d := g[0].Clone()
	d.MaskedFill_(ctx.SavedTensors()[0].Lt(0), 0)
	d.Select(0, 0).Mul_(2)
	return []*torch.Tensor{d}
}
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { y := autograd.Apply(relu{}, x.Mul(2))[0]; y.Add_(1); return y.Pow(2) })
	x := torch.Randn(3, 4, kw.RequiresGrad(true))
	y := f(x)
	y.Sum().Backward()
	fmt.Println(y.Detach(), x.Grad())
}`, 1, nil},
	{"gradients that are not laid out as those of the trace, and shapes", `
type turn struct{}
func (turn) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].T().Reshape(-1)} }
func (turn) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].View(-1, 3).T().Mul(2)} }
type flat struct{}
func (flat) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (flat) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Reshape(-1).Mul(2).Reshape(g[0].Size(0), -1)} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(turn{}, x)[0].Add(0).Sum() })
	h := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(flat{}, x)[0].T().Sin() })
	s := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(flat{}, x)[0].Sum() })
	for n := range 3 {
		x := torch.Randn(3, n + 2, kw.RequiresGrad(true))
		f(x).Backward()
		h(x).Sum().Backward()
		s(x).Backward()
		fmt.Println(x.Grad())
	}
}`, 6, nil},
	{
		"what Forward leaves beside its results", `
type keep struct{ y, z *torch.Tensor; calls int }
func (k *keep) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	k.calls++
	k.y = in[0].Exp()
	k.z = k.y.Add(1)
	return []*torch.Tensor{k.z.Mul(in[0])}
}
func (*keep) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(7)} }
var last = &keep{}
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		r := autograd.Apply(last, x)[0]
		return r.Add(last.z)
	})
	x := torch.Randn(3, kw.RequiresGrad(true))
	y := f(x)
	y.Sum().Backward()
	fmt.Println(y.Detach(), x.Grad(), last.calls, last.y, last.z.RequiresGrad())
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		r := autograd.Apply(&shows{}, x)[0]
		whole.Mul_(2)
		return r.Add(row)
	})
	y = g(x)
	y.Sum().Backward()
	fmt.Println(y.Detach(), x.Grad(), whole, row)
}
var whole, row *torch.Tensor
type shows struct{}
func (shows) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	whole = in[0].Exp()
	row = whole.View(1, 3)
	return []*torch.Tensor{in[0].Mul(3)}
}
func (shows) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(7)} }`, 1,
		[]string{"writes to what"},
	},
	{"an input twice, one that is nil, one that is an integer, and a weight besides", `
type mix struct{ w *torch.Tensor }
func (m mix) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SaveForBackward(in[0], in[3], nil)
	return []*torch.Tensor{in[0].Mul(in[1]).Mul(in[3]).Mul(m.w)}
}
func (m mix) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	s := ctx.SavedTensors()
	return []*torch.Tensor{g[0].Mul(s[1]), g[0].Mul(m.w).Mul(s[0]), nil, nil}
}
func main() {
	w := torch.Randn(3)
	f := torch.Compile(func(x, k *torch.Tensor) *torch.Tensor { return autograd.Apply(mix{w}, x, x, nil, k)[0] })
	x := torch.Randn(3, kw.RequiresGrad(true))
	y := f(x, torch.NewTensor([]int{1, 2, 3}))
	y.Sum().Backward()
	fmt.Println(y.Detach(), x.Grad())
}`, 1, nil},
	{"a nil gradient where one is wanted, and one that needs no gradient of the result", `
type part struct{}
func (part) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SaveForBackward(in[0])
	return []*torch.Tensor{in[0].Mul(in[1])}
}
func (part) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{ctx.SavedTensors()[0], nil} }
func main() {
	f := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor { return autograd.Apply(part{}, x, y)[0] })
	x, y := torch.Randn(3, kw.RequiresGrad(true)), torch.Randn(3, kw.RequiresGrad(true))
	f(x, y).Sum().Backward()
	fmt.Println(x.Grad(), y.Grad() == nil)
}`, 1, nil},
	{"a Backward that is not reached does not count, whatever it gives", `
type constant struct{}
func (constant) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Mul(2)} }
func (constant) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Add(ctx.SavedTensors()[0])} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor, *torch.Tensor) {
		a := autograd.Apply(constant{}, x)[0]
		b := autograd.Apply(constant{}, a.Sin())[0]
		return x.Mul(a), b, x.Cos()
	})
	for i := range 8 {
		x := torch.Randn(3, kw.RequiresGrad(true))
		a, b, c := f(x)
		var of []*torch.Tensor
		for k, y := range []*torch.Tensor{a, b, c} {
			if i>>k&1 == 1 { of = append(of, y.Sum()) }
		}
		if of != nil { autograd.Backward(of) }
		fmt.Println(x.Grad())
	}
}`, 2, nil},
	{"a wrong number of gradients, and wrong shapes", `
type few struct{}
func (few) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (few) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return nil }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(few{}, x)[0] })
	defer func() { fmt.Println(recover()) }()
	f(torch.Randn(3, kw.RequiresGrad(true))).Sum().Backward()
}`, 0, []string{"Apply(few{}, x)"}},
	{"a Backward that prints", `
type loud struct{}
func (loud) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (loud) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { fmt.Println("backward"); return g }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(loud{}, x.Sin())[0].Cos() })
	x := torch.Randn(3, kw.RequiresGrad(true))
	f(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, 0, []string{"call of fmt.Println"}},
	{"a Backward that branches on data", `
type pick struct{}
func (pick) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (pick) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	if g[0].Sum().Gt(0).Bool() { return []*torch.Tensor{g[0].Mul(5)} }
	return g
}
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(pick{}, x.Sin())[0].Cos() })
	x := torch.Randn(3, kw.RequiresGrad(true))
	f(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, 0, []string{"Data-dependent"}},
	{"a Backward that counts", `
type count struct{ n int }
func (*count) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (c *count) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { c.n++; return g }
func main() {
	c := &count{}
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(c, x.Sin())[0].Cos() })
	x := torch.Randn(3, kw.RequiresGrad(true))
	f(x).Sum().Backward()
	f(x).Sum().Backward()
	fmt.Println(x.Grad(), c.n)
}`, 0, []string{"Backward changes"}},
	{"a Backward that leaves something behind", `
type leave struct{ d *torch.Tensor }
func (*leave) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (l *leave) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { l.d = g[0]; return g }
type sums struct{ by map[string]*torch.Tensor }
func (sums) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (s sums) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(s.by["k"])} }
type sizes struct{ dims []int }
func (sizes) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (s sizes) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Sum(kw.Dim(s.dims)).Expand(3)} }
func main() {
	l, s, z := &leave{}, sums{map[string]*torch.Tensor{"k": torch.Ones(1)}}, sizes{[]int{0}}
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(l, x.Sin())[0].Cos() })
	g := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *leave) {
		l := &leave{}
		return autograd.Apply(l, x.Sin())[0].Cos(), l
	})
	h := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(s, x.Sin())[0].Cos() })
	k := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(z, x.Sin())[0].Cos() })
	x := torch.Randn(3, kw.RequiresGrad(true))
	f(x).Sum().Backward()
	y, m := g(x)
	y.Sum().Backward()
	fmt.Println(x.Grad(), l.d, m.d)
	v, w := h(x), k(x)
	s.by["k"] = torch.Zeros(1)
	v.Add(w).Sum().Backward()
	fmt.Println(x.Grad())
}`, 1, []string{"Backward changes", "Backward changes", "Backward reads a map"}},
	{"state that changes between Forward and Backward", `
type times struct{ k float64 }
func (*times) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (c *times) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(c.k)} }
func main() {
	inside := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		c := &times{3}
		y := autograd.Apply(c, x)[0]
		c.k = 5
		return y.Mul(2)
	})
	after := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *times) {
		c := &times{3}
		return autograd.Apply(c, x)[0].Mul(2), c
	})
	kept := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(&times{3}, x)[0].Mul(2) })
	x := torch.Randn(3, kw.RequiresGrad(true))
	inside(x).Sum().Backward()
	fmt.Println(x.Grad())
	y, c := after(x)
	c.k = 7
	y.Sum().Backward()
	fmt.Println(x.Grad())
	kept(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, 1, []string{"changed after the call", "can be reached by the program"}},
	{"what Backward reads is written afterwards", `
type square struct{}
func (square) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Pow(2)} }
func (square) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0]).Mul(2)} }
func try(f func(*torch.Tensor) *torch.Tensor) {
	x := torch.Randn(3, kw.RequiresGrad(true))
	defer func() { fmt.Println(recover() != nil, x.Grad()) }()
	f(x).Sum().Backward()
}
func main() {
	try(torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		h := x.Sin()
		y := autograd.Apply(square{}, h)[0]
		h.Add_(1)
		return y.Mul(h)
	}))
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(square{}, x)[0].Mul(2) })
	try(func(x *torch.Tensor) *torch.Tensor {
		h := x.Sin()
		y := g(h)
		h.Add_(1)
		return y
	})
	v := torch.Compile(func(x, v *torch.Tensor) *torch.Tensor {
		y := autograd.Apply(square{}, x)[0]
		v.Add_(1)
		return y.Mul(2)
	})
	try(func(x *torch.Tensor) *torch.Tensor {
		h := x.Sin()
		return v(h, h.View(3, 1))
	})
}`, 1, []string{"writes to what a function", "writes to what a function"}},
	{"a result that shares memory with another output", `
type same struct{}
func (same) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].View(-1)} }
func (same) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].View(2, 2).Mul(3)} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) { h := x.Sin(); return h, autograd.Apply(same{}, h)[0] })
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(same{}, x)[0] })
	x := torch.Randn(2, 2, kw.RequiresGrad(true))
	a, b := f(x)
	torch.NoGrad(func() { a.Detach().Fill_(4) })
	fmt.Println(b.Detach())
	c := g(x)
	torch.NoGrad(func() { x.Fill_(4) })
	c.Mul(c.Detach()).Sum().Backward()
	fmt.Println(c.Detach(), x.Grad())
}`, 1, []string{"share memory"}},
	{"state from before the call, a function that is passed by pointer after a break", `
var eps = 2.0
type soft struct { k float64; name string; dims []int; w *torch.Tensor; last *torch.Tensor }
func (s *soft) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	s.last = in[0].Sin()
	return []*torch.Tensor{in[0].Mul(s.k)}
}
func (s *soft) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	d := g[0].Mul(s.k + eps).Mul(s.w).Mul(s.last)
	if s.name == "neg" { d = d.Neg() }
	return []*torch.Tensor{d.Add(d.Sum(kw.Dim(s.dims), kw.Keepdim(true)))}
}
func main() {
	s := &soft{3, "neg", []int{0}, torch.Randn(3), nil}
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(s, x.Mul(2))[0].Cos() })
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		y := x.Exp()
		fmt.Println("between")
		z := autograd.Apply(&soft{5, "", []int{-1}, s.w, nil}, y)[0]
		s.k += 0.5
		return z
	})
	x := torch.Randn(3, kw.RequiresGrad(true))
	for i := range 4 {
		f(x).Sum().Backward()
		g(x).Sum().Backward()
		fmt.Println(x.Grad(), s.last, s.k)
		eps++
		if i == 1 { s.name = "pos" }
	}
	h := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		y := autograd.Apply(s, x.Mul(2))[0].Cos()
		s.k = 1
		return y
	})
	h(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, 8, []string{"fmt.Println", "changed after the call"}},
	{"a Backward that draws random numbers, one that asks for the mode", `
type noise struct{ base }
type base struct{}
func (base) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (noise) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(torch.Rand(3))} }
type mode struct{ base }
func (mode) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	if torch.GradEnabled() { return g }
	return []*torch.Tensor{g[0].Mul(3)}
}
type history struct{ base }
func (history) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	if g[0].RequiresGrad() { return g }
	return []*torch.Tensor{g[0].Mul(3)}
}
type strides struct{ base }
func (strides) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	if g[0].IsContiguous() { return g }
	return []*torch.Tensor{g[0].Mul(3)}
}
func main() {
	for _, f := range []autograd.Function{noise{}, mode{}, history{}, strides{}} {
		compiler.Reset() // else the entry that ends before Apply serves every function
		run := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(f, x.Mul(2))[0].Sum() })
		x := torch.Randn(3, kw.RequiresGrad(true))
		run(x).Backward()
		fmt.Println(x.Grad())
	}
}`, 0, []string{"random numbers", "gradient mode", "history", "strides"}},
	{"a Forward that writes its input, a Backward that does, and a Forward that keeps statistics", `
type into struct{}
func (into) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { in[0].Mul_(2); return []*torch.Tensor{in[0].Add(1)} }
func (into) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return g }
type at struct{}
func (at) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Add(1)} }
func (at) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { g[0].SetAt(7, 1); return g }
type norm struct{ mean, sd *torch.Tensor }
func (n norm) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	return []*torch.Tensor{F.BatchNorm(in[0].Unsqueeze(1), n.mean, n.sd, kw.Training(true)).Squeeze(1)}
}
func (norm) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return g }
func main() {
	n := norm{torch.Zeros(1), torch.Ones(1)}
	for _, f := range []autograd.Function{into{}, at{}, n} {
		compiler.Reset() // else the entry that ends before Apply serves every function
		run := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(f, x.Sin())[0].Cos() })
		x := torch.Randn(3, kw.RequiresGrad(true))
		run(x).Sum().Backward()
		fmt.Println(x.Grad(), n.mean, n.sd)
	}
}`, 0, []string{"Forward did not make", "Backward did not make", "Forward did not make"}},
	{"after a normalisation that trains and writes in place", `
type half struct{}
func (half) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Div(2)} }
func (half) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(3)} }
type net struct { L *nn.Linear; B *nn.BatchNorm1d; Calls *torch.Tensor }
func (n *net) Forward(x *torch.Tensor) *torch.Tensor {
	n.Calls.Add_(1)
	return autograd.Apply(half{}, n.B.Forward(n.L.Forward(x)))[0].Mul(n.Calls)
}
func main() {
	torch.ManualSeed(3)
	n := &net{nn.NewLinear(4, 3), nn.NewBatchNorm1d(3), torch.Zeros(1)}
	fast := torch.Compile(n.Forward)
	for range 3 {
		y := fast(torch.Randn(5, 4))
		y.Pow(2).Sum().Backward()
		fmt.Println(y.Detach().Sum(), n.L.Weight.Grad().Abs().Sum(), n.Calls, n.B.RunningMean)
	}
	n.L.Weight.SetGrad(nil)
	g := torch.Compile(func(x, y *torch.Tensor) *torch.Tensor {
		x.Mul_(y)
		return autograd.Apply(half{}, x)[0]
	})
	w := torch.Randn(2, kw.RequiresGrad(true))
	g(torch.Ones(2), w).Sum().Backward()
	fmt.Println(w.Grad())
}`, 1, []string{"after an in-place operator"}},
	{"results that are not Forward's own, results that share memory, missing gradients, a gradient of another shape", `
type own struct{ w *torch.Tensor }
func (o own) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{o.w, in[0].Mul(2)} }
func (own) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Add(g[1])} }
type share struct{}
func (share) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { y := in[0].Mul(2); return []*torch.Tensor{y, y.View(1, 3)} }
func (share) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Add(g[1].View(3))} }
type missing struct{ n int }
func (m missing) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor {
	ctx.SetMaterializeGrads(false)
	if m.n == 1 { return []*torch.Tensor{in[0].Mul(2)} }
	return []*torch.Tensor{in[0].Mul(2), in[0].Mul(3)}
}
func (missing) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	if len(g) > 1 && g[1] == nil { return []*torch.Tensor{g[0].Mul(100)} }
	return []*torch.Tensor{g[0].Mul(2)}
}
type wide struct{}
func (wide) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (wide) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Unsqueeze(0)} }
func main() {
	for _, f := range []autograd.Function{own{torch.Ones(3)}, share{}, missing{1}, missing{2}, wide{}} {
		func() {
			defer func() {
				if e := recover(); e != nil { fmt.Println(e) }
			}()
			compiler.Reset() // else the entry that ends before Apply serves every function
			run := torch.Compile(func(x *torch.Tensor) []*torch.Tensor { return autograd.Apply(f, x.Mul(2)) })
			x := torch.Randn(3, kw.RequiresGrad(true))
			r := run(x)
			r[0].Sum().Backward()
			torch.NoGrad(func() { r[0].Mul_(5) })
			fmt.Println(x.Grad(), r[len(r)-1].Detach())
		}()
	}
	defer func() { fmt.Println(recover() != nil) }()
	fmt.Println(torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		r := autograd.Apply(share{}, x)
		torch.NoGrad(func() { r[0].Mul_(2) })
		return r[1].Mul(1)
	})(torch.Ones(3, kw.RequiresGrad(true))).Detach())
}`, 1, []string{"was not made by it", "share memory", "SetMaterializeGrads", "shape and type", "two results"}},
	{"numbers that change", `
type number struct { n int; k float64; by []int }
func (f number) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(f.k).Repeat(f.n, 1).Mul(f.n)} }
func (f number) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor {
	return []*torch.Tensor{g[0].Reshape(f.n, -1, 3).Sum(kw.Dim(0)).Mul(f.k + 1).Add(f.n)}
}
type state struct { n int; k float64 }
func (f *state) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { f.n++; return []*torch.Tensor{in[0].Mul(f.k).Add(f.n)} }
func (f *state) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(f.k + 1).Add(f.n)} }
func main() {
	f := torch.Compile(func(x *torch.Tensor, n int, k float64) *torch.Tensor { return autograd.Apply(number{n, k, nil}, x.Sin())[0].Mul(n) })
	s := &state{0, 0.5}
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(s, x.Sin())[0].Cos() })
	for i := range 5 {
		x := torch.Randn(2, 3, kw.RequiresGrad(true))
		f(x, i + 2, float64(i) + 0.5).Sum().Backward()
		g(x).Sum().Backward()
		s.k += 0.25
		fmt.Println(x.Grad(), s.n)
	}
}`, -1, nil},
	{"gradients of gradients", `
type cube struct{}
func (cube) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Pow(3)} }
func (cube) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0].Pow(2)).Mul(3)} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(cube{}, x)[0].Sin() })
	x := torch.Randn(3, kw.RequiresGrad(true))
	g := torch.Grad([]*torch.Tensor{f(x).Sum()}, []*torch.Tensor{x}, kw.CreateGraph(true))[0]
	g.Sum().Backward()
	fmt.Println(g.Detach(), x.Grad())
}`, 1, nil},
	{"gradients of what the graph computes, before a call and after it", `
type cube struct{}
func (cube) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Pow(3)} }
func (cube) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0].Pow(2)).Mul(30)} }
func main() {
	front := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		h := x.Sin()
		y := autograd.Apply(cube{}, h)[0].Cos()
		return torch.Grad([]*torch.Tensor{y.Sum()}, []*torch.Tensor{h}, kw.RetainGraph(true))[0].Add(y)
	})
	behind := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
		y := autograd.Apply(cube{}, x.Sin())[0]
		return torch.Grad([]*torch.Tensor{y.Cos().Sum()}, []*torch.Tensor{y}, kw.RetainGraph(true))[0].Add(y)
	})
	x := torch.Randn(3, kw.RequiresGrad(true))
	front(x).Sum().Backward()
	fmt.Println(x.Grad())
	behind(x).Sum().Backward()
	fmt.Println(x.Grad())
}`, 1, []string{"autograd.Apply(cube{}, h)", "torch.Grad", "an operand has to leave", "torch.Grad"}},
	{"a graph that is run backward twice", `
type cube struct{}
func (cube) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { ctx.SaveForBackward(in[0]); return []*torch.Tensor{in[0].Pow(3)} }
func (cube) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(ctx.SavedTensors()[0].Pow(2)).Mul(3)} }
func main() {
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(cube{}, x)[0].Sin() })
	x := torch.Randn(3, kw.RequiresGrad(true))
	y := f(x).Sum()
	y.Backward(kw.RetainGraph(true))
	y.Backward()
	fmt.Println(x.Grad())
}`, 1, nil},
}

func TestAutogradFunctions(t *testing.T) {
	ways := differentials(t)
	sets := make([]*Set, len(ways))
	for i, w := range ways {
		sets[i] = NewSet(w.cfg)
	}
	for _, c := range test.Some(t, len(autogradPrograms)/10, autogradPrograms) {
		t.Run(c.name, func(t *testing.T) {
			prog, err := loadText(t, c.body)
			if err != nil {
				t.Fatal(err)
			}
			want, code, errs := runText(prog, nil, "")
			if code != 0 {
				t.Fatalf("exit %d\n%s%s", code, want, errs)
			}
			for k, w := range ways {
				var got applied
				out, exit, errs := runLogged(prog, sets[k], w.backend, &got)
				if d := differs(want, out); d != "" || exit != 0 {
					t.Errorf("%s: exit %d\n%s%s", w.name, exit, d, errs)
				}
				if c.captured >= 0 && got.captured != c.captured || len(got.breaks) != len(c.breaks) {
					t.Errorf("%s: %d calls captured, want %d; breaks %q", w.name, got.captured, c.captured, got.breaks)
					continue
				}
				for i, why := range c.breaks {
					if !strings.Contains(got.breaks[i], why) {
						t.Errorf("%s: break %d is %q, want %q", w.name, i, got.breaks[i], why)
					}
				}
			}
		})
	}
}

// TestStateBeforeBackward wants a backward pass refused whose Backward would read what
// has changed since the trace was run, and only such a one.
func TestStateBeforeBackward(t *testing.T) {
	const text = `
type times struct{ k float64 }
func (*times) Forward(ctx *autograd.Context, in ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{in[0].Mul(2)} }
func (c *times) Backward(ctx *autograd.Context, g ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{g[0].Mul(c.k)} }
func main() {
	c := &times{3}
	f := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return autograd.Apply(c, x)[0].Mul(2) })
	x := torch.Randn(3, kw.RequiresGrad(true))
	y := f(x).Sum()
	c.k = 4
	z := f(x).Sum()
	z.Backward()
	fmt.Println("fine")
	y.Backward()
}`
	prog, err := loadText(t, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range differentials(t) {
		out, exit, errs := runText(prog, NewSet(w.cfg), w.backend)
		if out != "fine\n" || exit == 0 || !strings.Contains(errs,
			"c.k, which the Backward of a captured autograd function reads, has been changed") {
			t.Errorf("%s: exit %d\n%s%s", w.name, exit, out, errs)
		}
	}
}

// TestRandomApplies runs random programs with autograd functions of their own:
//
//	TCDBG_FUZZ=2000 TCDBG_FUZZ_FROM=1 go test ./backends -run TestRandomApplies -timeout 0
func TestRandomApplies(t *testing.T) {
	text := func(seed int64) (prelude, body string) { return "", progfuzz.GenerateApplies(seed) }
	comparePrograms(t, text, fuzzSeeds(t), os.Getenv("TCDBG_FUZZ") == "")
}
