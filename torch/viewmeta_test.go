package torch

import (
	"strings"
	"testing"
)

// TestWritesToViews: a view that was taken under NoGrad, or with others by one
// operator, may not be written where gradients are wanted, nor used after a write to
// its memory, in PyTorch's words; where none are wanted it may.
func TestWritesToViews(t *testing.T) {
	const (
		untaped = "Given that this use case is ambiguous"
		several = "This view is the output of a function that returns multiple views."
	)
	under := func(f func() *Tensor) (v *Tensor) {
		NoGrad(func() { v = f() })
		return v
	}
	for _, c := range []struct {
		name string
		f    func(x, w *Tensor)
		want []string // nil: it is no error
	}{
		{
			"a view taken under NoGrad", func(x, w *Tensor) { under(func() *Tensor { return x.Select(0, 0) }).Mul_(w) },
			[]string{"A view was created in no_grad mode and is being modified inplace with grad mode enabled. ", untaped},
		},
		{
			"of what requires gradients", func(x, w *Tensor) { y := x.Mul(w); under(func() *Tensor { return y.Select(0, 0) }).Mul_(w) },
			[]string{"is being modified inplace with grad mode enabled. ", untaped},
		},
		{
			"of a leaf", func(_, w *Tensor) { under(func() *Tensor { return w.Narrow(0, 0, 1) }).Mul_(w.Narrow(0, 0, 1)) },
			[]string{"A view was created in no_grad mode and is being modified inplace", untaped},
		},
		{"a view of it", func(x, w *Tensor) {
			under(func() *Tensor { return x.Select(0, 0) }).Narrow(0, 1, 2).Mul_(w.Narrow(0, 1, 2))
		}, []string{"is being modified inplace with grad mode enabled. ", untaped}},
		{"a view of it under NoGrad of one of several", func(x, w *Tensor) {
			p := x.Mul(w).Unbind()[0]
			under(func() *Tensor { return p.Narrow(0, 0, 1) }).Mul_(w.Narrow(0, 0, 1))
		}, []string{"A view was created in no_grad mode and is being modified inplace", untaped}},
		{
			"one of several views", func(x, w *Tensor) { x.Mul(w).Unbind()[0].Mul_(2) },
			[]string{"Output 0 of Unbind is a view and is being modified inplace. ", several},
		},
		{
			"a view of one of several", func(x, w *Tensor) { x.Mul(w).Unbind()[1].Narrow(0, 0, 1).Mul_(2) },
			[]string{"Output 0 of Slice is a view and is being modified inplace. ", several},
		},
		{
			"one of several without gradients", func(x, w *Tensor) { x.Mul(2).Split([]int{2, 1})[0].Mul_(w) },
			[]string{"A view was created in no_grad mode and is being modified inplace with grad mode enabled. ", several},
		},
		{"its memory is written under NoGrad", func(x, w *Tensor) {
			y := x.Mul(w)
			v := under(func() *Tensor { return y.Select(0, 0).Mul_(w) })
			v.Add(1)
		}, []string{"A view was created in no_grad mode and its base or another view of its base has been modified inplace with " +
			"grad mode enabled. ", untaped}},

		{"view and write under NoGrad", func(x, w *Tensor) {
			y := x.Mul(w)
			under(func() *Tensor { return y.Select(0, 0).Mul_(w) })
			y.Sum()
		}, nil},
		{"no gradients are wanted", func(x, _ *Tensor) {
			under(func() *Tensor { return x.Select(0, 0) }).Mul_(2)
			x.Chunk(2, Option{Name: "dim", Value: 1})[0].Add_(1)
		}, nil},
		{
			"several pieces are written under NoGrad",
			func(x, w *Tensor) { p := x.Mul(w).Unbind()[0]; under(func() *Tensor { return p.Mul_(2) }) }, nil,
		},
		{"a detached view", func(x, w *Tensor) { x.Mul(w).Detach().Select(0, 0).Mul_(w) }, nil},
		{"a view on the tape", func(x, w *Tensor) { x.Mul(2).Select(0, 0).Mul_(w) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ""
			func() {
				defer func() {
					if e, ok := recover().(*Error); ok {
						got = e.Error()
					}
				}()
				c.f(Ones(3, 4), Full([]int{4}, 2.0, Option{Name: "requires_grad", Value: true}))
			}()
			if (got == "") != (c.want == nil) {
				t.Fatalf("got %q", got)
			}
			for _, w := range c.want {
				if !strings.Contains(got, w) {
					t.Errorf("got %q, want %q", got, w)
				}
			}
		})
	}
}

// TestRequiresGradOfAStaleView: what may not be used may be asked.
func TestRequiresGradOfAStaleView(t *testing.T) {
	y := Ones(3, 4).Mul(Full([]int{4}, 2.0, Option{Name: "requires_grad", Value: true}))
	var v *Tensor
	NoGrad(func() { v = y.Select(0, 0) })
	if v.RequiresGrad() || !v.IsLeaf() {
		t.Error("a view taken under NoGrad requires gradients")
	}
	NoGrad(func() { v.Mul_(2) })
	if !v.RequiresGrad() || v.IsLeaf() {
		t.Error("after a write it follows its base")
	}
}
