package tracer

import (
	"strings"
	"testing"
)

// This file runs training steps with kw.CaptureBackward(true) plainly and compiled: the
// loss, the gradients, what can still be asked of them and every refusal have to be those
// of eager mode, and what a graph can hold has to be in one.

// stepCase is a function step, compiled with the option, and a program that calls it.
type stepCase struct {
	name, program string
	graphs        int    // entries with a graph
	breaks        string // codes
	why           string // part of a break's detail
}

// stepPreamble is what all programs share.
const stepPreamble = `
func compiled[F any](f F) F { return torch.Compile(f, kw.CaptureBackward(true)) }

func show(ts ...*torch.Tensor) {
	for _, t := range ts {
		if t == nil {
			fmt.Println("nil")
			continue
		}
		fmt.Println(t.Shape(), t.Stride(), t.RequiresGrad(), t.IsLeaf(), t.Detach())
	}
}

func leaf(shape ...any) *torch.Tensor { return torch.Randn(shape...).RequiresGrad_() }

func tried(f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println("refused:", r)
		}
	}()
	f()
}
`

func TestCapturedBackward(t *testing.T) {
	for _, c := range stepCases {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, stepPreamble+c.program)
			if got := len(o.graphs()); got != c.graphs {
				t.Errorf("%d graphs, want %d: %s", got, c.graphs, o.ops())
			}
			if got := o.codes(); got != c.breaks {
				t.Errorf("breaks: got %q, want %q", got, c.breaks)
			}
			var details []string
			for _, b := range o.breaks() {
				details = append(details, b.Detail)
			}
			if text := strings.Join(details, "\n"); !strings.Contains(text, c.why) {
				t.Errorf("no break says %q:\n%s", c.why, text)
			}
			if t.Failed() {
				t.Log(c.program, "\n", o.stdout, o.stderr)
			}
		})
	}
}

var stepCases = []stepCase{
	{"a step of gradient descent", `
func main() {
	m := nn.NewSequential(nn.NewLinear(3, 4), nn.NewTanh(), nn.NewLinear(4, 2))
	ps := nn.Parameters(m)
	opt := optim.NewSGD(ps, kw.Lr(0.1))
	step := compiled(func(x *torch.Tensor) *torch.Tensor {
		loss := m.Forward(x).Square().Mean()
		opt.ZeroGrad()
		loss.Backward()
		opt.Step()
		return loss
	})
	for range 3 {
		show(step(torch.Randn(5, 3)))
		show(ps...)
		show(ps[0].Grad(), ps[1].Grad())
	}
}`, 1, "", ""},
	{"gradients that are there are added to in place", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) { w.Mul(x).Sum().Add(w.Sin().Sum()).Backward() })
	for range 3 {
		g := w.Grad()
		step(torch.Randn(3))
		fmt.Println(g == w.Grad())
		show(g, w.Grad())
	}
	w.SetGrad(nil)
	step(torch.Randn(3))
	show(w.Grad())
}`, 2, "", ""},
	{"two batches make one step", `
func main() {
	w := leaf(3)
	opt := optim.NewAdam([]*torch.Tensor{w})
	step := compiled(func(x *torch.Tensor) {
		for i := range 2 {
			w.Mul(x.At(i)).Tanh().Sum().Backward()
		}
		opt.Step()
		opt.ZeroGrad()
	})
	for range 3 {
		step(torch.Randn(2, 3))
		show(w, w.Grad())
	}
}`, 1, "", ""},
	{"two steps in one call", `
func main() {
	w := leaf(3)
	opt := optim.NewSGD([]*torch.Tensor{w}, kw.Lr(0.5), kw.Momentum(0.9))
	step := compiled(func(x *torch.Tensor) {
		for i := range 2 {
			opt.ZeroGrad()
			w.Mul(x.At(i)).Tanh().Sum().Backward()
			opt.Step()
		}
	})
	for range 3 {
		step(torch.Randn(2, 3))
		show(w, w.Grad())
	}
}`, 1, "", ""},
	{"another pass through what a pass has freed is refused", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) *torch.Tensor {
		loss := w.Mul(x).Exp().Sum()
		loss.Backward()
		return loss
	})
	loss := step(torch.Ones(3))
	show(loss)
	tried(func() { loss.Backward() })
	tried(func() { loss.Mul(2).Backward() })
	show(w.Grad())
}`, 1, "", ""},
	{"two passes from one loss in one call", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) {
		loss := w.Mul(x).Exp().Sum()
		loss.Backward()
		loss.Backward()
	})
	tried(func() { step(torch.Ones(3)) })
	show(w.Grad())
}`, 1, "GB0123", "sum was differentiated by an earlier one"},
	{"a graph that is retained", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) {
		loss := w.Mul(x).Exp().Sum()
		loss.Backward(kw.RetainGraph(true))
		loss.Backward()
	})
	step(torch.Ones(3))
	show(w.Grad())
}`, 1, "GB0123", "options are given"},
	{"what wants no gradients", `
func main() {
	step := compiled(func(x *torch.Tensor) { x.Sum().Backward() })
	tried(func() { step(torch.Ones(3)) })
	tried(func() { torch.NoGrad(func() { step(leaf(3)) }) })
}`, 2, "GB0123 GB0123", "does not require gradients"},
	{"a loss of several elements", `
func main() {
	step := compiled(func(x *torch.Tensor) { x.Mul(2).Backward() })
	tried(func() { step(leaf(3)) })
}`, 1, "GB0123", "several elements"},
	{"a loss of one element that has dimensions", `
func main() {
	w := leaf(3)
	step := compiled(func() { w.Mul(2).Sum().Reshape(1, 1).Backward() })
	step()
	show(w.Grad())
}`, 1, "", ""},
	{"hooks", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) { w.Mul(x).Sum().Backward() })
	step(torch.Ones(3))
	show(w.Grad())
	w.SetGrad(nil)
	remove := w.RegisterHook(func(g *torch.Tensor) *torch.Tensor { return g.Mul(10) })
	step(torch.Ones(3))
	show(w.Grad())
	remove()
	w.SetGrad(nil)
	step(torch.Ones(3))
	show(w.Grad())
}`, 2, "GB0123", "a hook is registered on w"},
	{"an input with a history", `
func main() {
	w := leaf(3)
	step := compiled(func(h *torch.Tensor) { h.Exp().Sum().Backward() })
	step(w.Mul(2))
	show(w.Grad())
	x := leaf(3)
	step(x)
	show(x.Grad())
}`, 2, "GB0123", "h, which gradients reach, is no leaf"},
	{"an output with a history of its own", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
		h := w.Mul(x)
		loss := h.Exp().Sum()
		loss.Backward()
		return loss, w.Sin().Sum()
	})
	_, other := step(torch.Ones(3))
	other.Backward()
	show(w.Grad())
}`, 2, "GB0123", "gradients may still be asked for through"},
	{"outputs of which the history is gone", `
func main() {
	w := leaf(2, 3)
	step := compiled(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor, *torch.Tensor, *torch.Tensor) {
		h := w.Mul(x).Exp()
		loss := h.Sum()
		loss.Backward()
		return loss.Div(2), h.T(), h.Detach(), loss.Detach()
	})
	a, b, c, d := step(torch.Ones(3))
	show(a, b, c, d)
	tried(func() { a.Backward() })
	tried(func() { b.Sum().Backward() })
	show(w.Grad())
}`, 1, "", ""},
	{"a view of a leaf that leaves", `
func main() {
	w := leaf(2, 3)
	step := compiled(func(x *torch.Tensor) *torch.Tensor {
		v := w.T()
		v.Mul(x).Sum().Backward()
		return v
	})
	v := step(torch.Ones(2))
	v.Sin().Sum().Backward()
	show(w.Grad())
}`, 1, "GB0123", "a view of an input that requires gradients"},
	{"views and pieces of a leaf", `
func main() {
	w := leaf(4, 3)
	step := compiled(func(x *torch.Tensor) {
		parts := w.Chunk(2)
		a, b := parts[0], parts[1]
		a.Matmul(x).Sum().Add(b.T().Sum(kw.Dim(0)).Exp().Sum()).Add(w.At(1, torch.Range(0, 2)).Prod()).Backward()
	})
	step(torch.Randn(3, 2))
	show(w.Grad())
}`, 1, "", ""},
	{"tied weights", `
func main() {
	e := nn.NewEmbedding(5, 3)
	head := nn.NewLinear(3, 5)
	head.Weight = e.Weight
	opt := optim.NewAdamW([]*torch.Tensor{e.Weight, head.Bias})
	step := compiled(func(ids, y *torch.Tensor) *torch.Tensor {
		opt.ZeroGrad()
		loss := functional.CrossEntropy(head.Forward(e.Forward(ids)), y)
		loss.Backward()
		opt.Step()
		return loss
	})
	for range 3 {
		show(step(torch.Randint(0, 5, []int{4}), torch.Randint(0, 5, []int{4})))
	}
	show(e.Weight, e.Weight.Grad(), head.Bias, head.Bias.Grad())
}`, 1, "", ""},
	{"one gradient for two leaves", `
func main() {
	a, b := leaf(3), leaf(3)
	step := compiled(func() {
		a.Add(b).Sum().Backward()
		torch.NoGrad(func() { a.Grad().Mul_(2) })
	})
	step()
	show(a.Grad(), b.Grad())
	b.Grad().Mul_(5)
	show(a.Grad(), b.Grad())
}`, 1, "", ""},
	{"two leaves that share a gradient", `
func main() {
	a, b := leaf(3), leaf(3)
	step := compiled(func() { a.Exp().Add(b.Sin()).Sum().Backward() })
	g := torch.Ones(3)
	a.SetGrad(g)
	b.SetGrad(g)
	step()
	show(g)
	b.SetGrad(torch.Zeros(3))
	step()
	show(a.Grad(), b.Grad())
}`, 2, "", ""},
	{"a part without gradients", `
func main() {
	w, v := leaf(3), leaf(3)
	step := compiled(func(x *torch.Tensor) {
		h := w.Mul(x)
		var mask *torch.Tensor
		torch.NoGrad(func() { mask = h.Mul(v).Gt(0).To(torch.Float32) })
		h.Mul(mask).Add(v.Detach()).Sum().Backward()
	})
	step(torch.Randn(3))
	show(w.Grad(), v.Grad())
}`, 1, "", ""},
	{"the pass itself under NoGrad", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) {
		loss := w.Mul(x).Sum()
		torch.NoGrad(func() { loss.Backward() })
	})
	step(torch.Randn(3))
	show(w.Grad())
}`, 1, "", ""},
	{"operators in place that gradients flow through", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) {
		h := w.Mul(x)
		h.Relu_()
		k := h.Mul(x)
		k.Add_(w).Tanh_()
		k.Sum().Backward()
	})
	step(torch.Randn(3))
	show(w.Grad())
}`, 1, "", ""},
	{"what is made where gradients come in", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) {
		sum := torch.Zeros(3)
		first := sum.Mul(2)
		for i := range 2 {
			sum.Add_(w.Mul(x.At(i)))
		}
		sum.Exp().Sum().Add(first.Sum()).Backward()
	})
	step(torch.Randn(2, 3))
	show(w.Grad())
}`, 1, "", ""},
	{"a saved value that is changed", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) {
		h := w.Mul(x).Exp()
		y := h.Mul(2)
		h.Mul_(3)
		y.Sum().Backward()
	})
	tried(func() { step(torch.Ones(3)) })
	show(w.Grad())
}`, 1, "GB0123", "which is changed in place after it"},
	{"a weight that is changed before the pass", `
func main() {
	w, x := leaf(3), leaf(3)
	step := compiled(func() {
		y := w.Mul(x)
		torch.NoGrad(func() { w.Mul_(2) })
		y.Sum().Backward()
	})
	tried(func() { step() })
	show(w, w.Grad())
}`, 1, "GB0123", "which is changed in place after it"},
	{"an input that is changed where gradients flow", `
func main() {
	w := leaf(3)
	step := compiled(func(x *torch.Tensor) { x.Mul_(w); x.Sum().Backward() })
	x := torch.Ones(3)
	step(x)
	show(x, w.Grad())
	tried(func() { x.Sum().Backward() })
}`, 1, "GB0123", "which existed before the call"},
	{"a view that is changed", `
func main() {
	w := leaf(2, 3)
	step := compiled(func(x *torch.Tensor) {
		h := w.Mul(x)
		h.At(0).Mul_(3)
		h.Sum().Backward()
	})
	step(torch.Ones(3))
	show(w.Grad())
}`, 1, "GB0123", "mul_ changes in place a view"},
	{"statistics of a norm that trains", `
func main() {
	m := nn.NewSequential(nn.NewConv2d(2, 4, 3), nn.NewBatchNorm2d(4), nn.NewReLU(), nn.NewFlatten(), nn.NewLinear(16, 2))
	ps := nn.Parameters(m)
	opt := optim.NewSGD(ps, kw.Lr(0.1), kw.Momentum(0.9))
	step := compiled(func(x *torch.Tensor) *torch.Tensor {
		opt.ZeroGrad()
		loss := m.Forward(x).Square().Mean()
		loss.Backward()
		opt.Step()
		return loss
	})
	for range 2 {
		show(step(torch.Randn(3, 2, 4, 4)))
	}
	show(ps...)
	for _, b := range nn.StateDict(m) {
		show(b.Tensor)
	}
	nn.Eval(m)
	show(step(torch.Randn(3, 2, 4, 4)))
}`, 2, "", ""},
	{"dropout", `
func main() {
	w := leaf(40)
	drop := nn.NewDropout(kw.P(0.5))
	step := compiled(func(x *torch.Tensor) { drop.Forward(w.Mul(x)).Sum().Backward() })
	step(torch.Randn(40))
	show(w.Grad())
	nn.Eval(drop)
	step(torch.Randn(40))
	show(w.Grad())
}`, 2, "", ""},
	{"batches of several sizes", `
func main() {
	w := leaf(3, 2)
	step := compiled(func(x *torch.Tensor) *torch.Tensor {
		w.SetGrad(nil)
		loss := x.Matmul(w).Tanh().Mean()
		loss.Backward()
		return loss
	})
	for _, n := range []int{4, 5, 6, 7} {
		show(step(torch.Randn(n, 3)), w.Grad())
	}
}`, 2, "", ""},
	{"a gradient that wants gradients", `
func main() {
	w := leaf(3)
	w.Exp().Sum().Backward(kw.CreateGraph(true))
	step := compiled(func() { w.Sin().Sum().Backward() })
	step()
	show(w.Grad().Detach())
}`, 1, "GB0123", "requires gradients itself"},
	{"an autograd function", `
type double struct{}

func (double) Forward(c *autograd.Context, xs ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{xs[0].Mul(2)} }

func (double) Backward(c *autograd.Context, gs ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{gs[0].Mul(5)} }

func main() {
	w := leaf(3)
	step := compiled(func() { autograd.Apply(double{}, w)[0].Exp().Sum().Backward() })
	step()
	show(w.Grad())
}`, 1, "GB0123", "autograd function"},
	{"a break between the pass and the step", `
func main() {
	w := leaf(3)
	opt := optim.NewAdam([]*torch.Tensor{w})
	step := compiled(func(x *torch.Tensor) *torch.Tensor {
		opt.ZeroGrad()
		loss := w.Mul(x).Exp().Sum()
		loss.Backward()
		fmt.Println(loss.Item())
		opt.Step()
		return loss
	})
	for range 3 {
		show(step(torch.Randn(3)), w, w.Grad())
	}
}`, 2, "GB0124", ""},
	{"a weight that is frozen", `
func main() {
	a, b := leaf(3), leaf(3)
	opt := optim.NewSGD([]*torch.Tensor{a, b}, kw.Lr(1.0))
	step := compiled(func(x *torch.Tensor) {
		opt.ZeroGrad()
		a.Mul(x).Add(b).Tanh().Sum().Backward()
		opt.Step()
	})
	step(torch.Randn(3))
	show(a, b, a.Grad(), b.Grad())
	b.RequiresGrad_(false)
	step(torch.Randn(3))
	show(a, b, a.Grad(), b.Grad())
}`, 2, "", ""},
	{"a loss that is a leaf", `
func main() {
	w := leaf()
	step := compiled(func() { w.Backward(); torch.NoGrad(func() { w.Add_(1) }) })
	step()
	show(w, w.Grad())
}`, 1, "", ""},
	{"without the option", `
func main() {
	w := leaf(3)
	step := torch.Compile(func(x *torch.Tensor) { w.Mul(x).Sum().Backward() })
	step(torch.Ones(3))
	show(w.Grad())
}`, 1, "GB0123", "call of Tensor.Backward"},
}
