package replay

import (
	"bytes"
	"fmt"
	"go/types"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is the memory from before the trace that a captured Backward has read: a
// field of a function passed by pointer, a global variable. Eager mode reads it in the
// backward pass. The graph holds what it was after Forward, so every run of the
// cache entry remembers that, and the backward pass is refused where it has changed.

// Watched is one such place.
type Watched struct {
	Call ssa.Instruction
	Loc  *value.Source
	Typ  types.Type
	From uintptr // while tracing
}

// watch finds the watched places of one run. What it returns is called when the run has
// stored what it stores: it remembers what is there, and lets the backward pass of
// the run's outputs compare.
func (e *Entry) watch(in *host.Interp, a *guard.Addresses, outs []torch.Value) (arm func()) {
	if len(e.Watched) == 0 {
		return func() {}
	}
	places := make([]unsafe.Pointer, len(e.Watched))
	for i, w := range e.Watched {
		places[i] = a.At(w.Loc)
	}
	return func() {
		kept := make([]unsafe.Pointer, len(places))
		for i, w := range e.Watched {
			kept[i] = in.New(w.Typ)
			in.Copy(w.Typ, kept[i], places[i])
		}
		compare := func(*torch.Tensor) *torch.Tensor {
			for i, w := range e.Watched {
				if n := in.Rep(w.Typ).Size(); !bytes.Equal(unsafe.Slice((*byte)(kept[i]), n), unsafe.Slice((*byte)(places[i]), n)) {
					panic(&torch.Error{Op: "backward", Kind: "RuntimeError", Msg: fmt.Sprintf(
						"%s, which the Backward of a captured autograd function reads, has been changed since its Forward ran; pass "+
							"the function by value, or call it outside of the compiled function", w.Loc.Argument())})
				}
			}
			return nil
		}
		for _, v := range outs {
			if t, ok := v.(*torch.Tensor); ok && t.RequiresGrad() {
				t.RegisterHook(compare)
			}
		}
	}
}
