package torch_test

import (
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// compiled makes a function of two leaves whose backward pass is compiled code: its gradients are
// fresh, and saved is what it needs.
func compiled(a, b, saved *torch.Tensor, done func()) (out *torch.Tensor, made *[]*torch.Tensor) {
	made = new([]*torch.Tensor)
	fresh := func(like *torch.Tensor, by float64) *torch.Tensor {
		t := torch.FromFresh(torch.NewStorage(4*like.Numel()), torch.Float32, like.Shape(), []int{1}, 0)
		torch.NoGrad(func() { t.Fill_(by) })
		return t
	}
	torch.NoGrad(func() { out = a.Sum().Add(b.Sum()) })
	torch.WithCompiledBackward("Compiled", []*torch.Tensor{a, b}, []*torch.Tensor{out}, func([]*torch.Tensor) []*torch.Tensor {
		*made = []*torch.Tensor{fresh(a, saved.Float64s()[0]), fresh(b, 3)}
		return *made
	}, func([]*torch.Tensor) []*torch.Tensor { return nil }, done)
	return out, made
}

// A leaf keeps a gradient that compiled code made as it is, where nobody else can have it.
func TestKeptGradients(t *testing.T) {
	leaf := func() *torch.Tensor { return torch.Ones(5000).RequiresGrad_(true) }
	a, b := leaf(), leaf()
	saved := torch.Full([]int{1}, 2)
	out, made := compiled(a, b, saved, func() {})
	out.Backward()
	first := (*made)[0]
	if a.Grad() != first || b.Grad() != (*made)[1] {
		t.Error("gradients that nobody else has were copied")
	}
	out, made = compiled(a, b, saved, func() {})
	out.Backward() // adds
	if a.Grad() != first || a.Grad().Float64s()[7] != 4 || (*made)[0].Float64s()[7] != 2 {
		t.Errorf("after a second pass %v, want 4, and 2 in what the pass made", a.Grad().Float64s()[7])
	}

	c, d := leaf(), leaf()
	var seen *torch.Tensor
	c.RegisterHook(func(g *torch.Tensor) *torch.Tensor { seen = g; return nil })
	out, made = compiled(c, d, saved, func() {})
	out.Backward()
	if c.Grad().Storage() == seen.Storage() || d.Grad() != (*made)[1] {
		t.Error("a gradient that a hook has seen must be a copy, the other need not")
	}

	e, f := leaf(), leaf()
	out, made = compiled(e, f, saved, func() {})
	torch.WatchGrads(func(string, []*torch.Tensor) func([]*torch.Tensor) { return func([]*torch.Tensor) {} })
	out.Backward()
	torch.WatchGrads(nil)
	if e.Grad().Storage() == (*made)[0].Storage() {
		t.Error("a gradient that a debugger looks at must be a copy")
	}
}

// What the backward pass alone needs goes back when the pass has freed it, not before.
func TestReleaseOfSaved(t *testing.T) {
	a, b := torch.Ones(5000).RequiresGrad_(true), torch.Ones(5000).RequiresGrad_(true)
	st := torch.NewStorage(4 * 5000)
	saved := torch.FromFresh(st, torch.Float32, []int{5000}, []int{1}, 0)
	torch.NoGrad(func() { saved.Fill_(2) })
	out, _ := compiled(a, b, saved, func() { torch.Release(saved) })
	out.Backward(kw.RetainGraph(true))
	if len(st.Bytes()) == 0 {
		t.Fatal("released by a pass that retains the graph")
	}
	out.Backward()
	if len(st.Bytes()) != 0 {
		t.Error("not released")
	}
	if g := a.Grad().Float64s(); !slices.Equal(g[:2], []float64{4, 4}) {
		t.Errorf("gradient %v, want 4", g[:2])
	}
	torch.Release(saved) // again: nothing happens
	shared := torch.Ones(5000)
	torch.Release(shared)
	if len(shared.Storage().Bytes()) == 0 {
		t.Error("a tensor that others may have was released")
	}
	for range 3 { // the block goes out once, not twice
		x, y := torch.NewStorage(4*5000), torch.NewStorage(4*5000)
		if &x.Bytes()[0] == &y.Bytes()[0] {
			t.Fatal("two storages have the same memory")
		}
	}
}

// TestDropGrad: the memory of a gradient goes back with it where nobody else has seen it.
func TestDropGrad(t *testing.T) {
	for name, c := range map[string]struct {
		look func(w *torch.Tensor)
		gone bool
	}{
		"nobody":        {func(*torch.Tensor) {}, true},
		"the program":   {func(w *torch.Tensor) { w.Grad() }, false},
		"compiled code": {func(w *torch.Tensor) { torch.Seen(*w.GradPlace()) }, false},
	} {
		w := torch.Ones(5000).RequiresGrad_(true)
		g := torch.FromFresh(torch.NewStorage(4*5000), torch.Float32, []int{5000}, []int{1}, 0)
		*w.GradPlace() = g
		torch.OwnGrad(g)
		c.look(w)
		torch.DropGrad(w.GradPlace())
		if gone := len(g.Storage().Bytes()) == 0; gone != c.gone || *w.GradPlace() != nil {
			t.Errorf("%s: memory gone %v, want %v", name, gone, c.gone)
		}
	}
	shared := torch.Ones(5000)
	torch.OwnGrad(shared) // not fresh: others may have it
	torch.DropGrad(&[]*torch.Tensor{shared}[0])
	if len(shared.Storage().Bytes()) == 0 {
		t.Error("the memory of a tensor that is not fresh is gone")
	}
}
