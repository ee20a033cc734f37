package tracer

import (
	"bytes"
	"fmt"
	"go/types"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is the memory from before the trace that a captured Backward has read: a
// field of a function passed by pointer, a global variable. Eager mode reads it in the
// backward pass. The graph holds what it was behind Forward, so every run of the
// segment remembers that, and the backward pass is refused where it has changed.

// watched is one such place.
type watched struct {
	call ssa.Instruction
	loc  *source
	typ  types.Type
	from uintptr // while tracing
}

// noteEntryRead notes that entry memory was read.
func (tr *trace) noteEntryRead(t types.Type, from unsafe.Pointer, loc *source) {
	if a := tr.applying; a.backward() {
		tr.watched = append(tr.watched, watched{a.call, loc, t, uintptr(from)})
	}
}

// noteEntryWrite breaks in front of a store to entry memory by a Backward, or to what
// an earlier one has read.
func (tr *trace) noteEntryWrite(t types.Type, to unsafe.Pointer, loc *source) {
	tr.inBackward("changes %s", loc.argument())
	for _, w := range tr.watched {
		if p := uintptr(to); w.from < p+tr.in.Rep(t).Size() && p < w.from+tr.in.Rep(w.typ).Size() {
			tr.avoidApply(w.call, "what Backward reads is changed behind the call")
		}
	}
}

// watch finds the watched places of one run. What it returns is called when the run has
// stored what it stores: it remembers what stands there, and lets the backward pass of
// the run's outputs compare.
func (s *segment) watch(in *host.Interp, a *addresses, outs []torch.Value) (arm func()) {
	if len(s.watched) == 0 {
		return func() {}
	}
	places := make([]unsafe.Pointer, len(s.watched))
	for i, w := range s.watched {
		places[i] = a.at(w.loc)
	}
	return func() {
		kept := make([]unsafe.Pointer, len(places))
		for i, w := range s.watched {
			kept[i] = in.New(w.typ)
			in.Copy(w.typ, kept[i], places[i])
		}
		compare := func(*torch.Tensor) *torch.Tensor {
			for i, w := range s.watched {
				if n := in.Rep(w.typ).Size(); !bytes.Equal(unsafe.Slice((*byte)(kept[i]), n), unsafe.Slice((*byte)(places[i]), n)) {
					panic(&torch.Error{Op: "backward", Kind: "RuntimeError", Msg: fmt.Sprintf(
						"%s, which the Backward of a captured autograd function reads, has been changed since its Forward ran; pass the function by value, or call it outside of the compiled function", w.loc.argument())})
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
