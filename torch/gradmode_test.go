package torch_test

import (
	"slices"
	"sync"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// TestGradModeOfGoroutines: what a goroutine does to the mode concerns itself alone.
func TestGradModeOfGoroutines(t *testing.T) {
	w := torch.Ones(3, kw.RequiresGrad(true))
	taped := func() bool { return w.Mul(2).Sum().RequiresGrad() }
	inside, leave, done := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		torch.NoGrad(func() {
			inside <- true
			<-leave
			if taped() || torch.GradEnabled() {
				t.Error("an operator inside NoGrad is on the tape")
			}
		})
		done <- true
	}()
	<-inside
	if !taped() || !torch.GradEnabled() {
		t.Error("another goroutine's NoGrad keeps operators off the tape")
	}
	torch.NoGrad(func() {
		leave <- true
		<-done
		if taped() || torch.GradEnabled() {
			t.Error("the end of another goroutine's NoGrad ends this one")
		}
		started := make(chan bool)
		go func() { started <- taped() && torch.GradEnabled() }()
		if !<-started {
			t.Error("a goroutine starts in the mode of another")
		}
	})
	if !taped() {
		t.Error("NoGrad outlasts its function")
	}
}

// TestGradModeAfterTheGoroutine: a mode that is set and never taken back ends with its
// goroutine.
func TestGradModeAfterTheGoroutine(t *testing.T) {
	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() {
			if !torch.GradEnabled() {
				t.Error("a goroutine starts without tape")
			}
			if !torch.SetGradEnabled(false) || torch.GradEnabled() {
				t.Error("SetGradEnabled(false) does nothing")
			}
		})
	}
	wg.Wait()
	if !torch.GradEnabled() {
		t.Error("the mode of goroutines that are over holds for another")
	}
}

// TestGradModeUnderLoad has goroutines go in and out of modes all the time, with
// panics between.
func TestGradModeUnderLoad(t *testing.T) {
	w := torch.Ones(3, kw.RequiresGrad(true))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				torch.NoGrad(func() {
					if w.Mul(2).RequiresGrad() {
						t.Error("on the tape inside NoGrad")
					}
					torch.EnableGrad(func() {
						if !w.Mul(2).RequiresGrad() {
							t.Error("off the tape inside EnableGrad")
						}
					})
					if i%2 == 0 {
						defer func() { _ = recover() }()
						panic("left")
					}
				})
				if !w.Mul(2).RequiresGrad() {
					t.Error("off the tape outside of NoGrad")
				}
			}
		})
	}
	wg.Wait()
}

// TestGradModeOfHooks: hooks record where the backward pass does, as in PyTorch.
func TestGradModeOfHooks(t *testing.T) {
	var modes []bool
	x := torch.Ones(3, kw.RequiresGrad(true))
	y := x.Mul(2)
	y.RegisterHook(func(*torch.Tensor) *torch.Tensor {
		modes = append(modes, torch.GradEnabled())
		return nil
	})
	z := y.Sum()
	z.Backward(kw.RetainGraph(true))
	torch.NoGrad(func() { z.Backward(kw.CreateGraph(true)) })
	if want := []bool{false, true}; !slices.Equal(modes, want) {
		t.Errorf("the modes of a hook are %t, want %t", modes, want)
	}
	if !torch.GradEnabled() {
		t.Error("the pass leaves its mode behind")
	}
}

// BenchmarkSmallMulWithModes is a small operator while no goroutine has a mode of its
// own, and while the benchmark's goroutine has.
func BenchmarkSmallMulWithModes(b *testing.B) {
	x := torch.Ones(16)
	run := func(b *testing.B) {
		for b.Loop() {
			x.Mul(x)
		}
	}
	b.Run("default", run)
	torch.NoGrad(func() { b.Run("another goroutine", run) })
	b.Run("no grad", func(b *testing.B) { torch.NoGrad(func() { run(b) }) })
}
