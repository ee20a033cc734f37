package eval

import (
	"go/types"
	"unsafe"

	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"
)

// This file records the entry memory that a captured Backward reads: it may not change
// before Backward runs.

// recordEntryRead records that entry memory was read.
func (fn *functions) recordEntryRead(t types.Type, from unsafe.Pointer, loc *value.Source) {
	if a := fn.applying; a.backward() {
		fn.watched = append(fn.watched, replay.Watched{Call: a.call, Loc: loc, Typ: t, From: uintptr(from)})
	}
}

// checkEntryWrite breaks before a store to entry memory by a Backward, or to what
// an earlier one has read.
func (fn *functions) checkEntryWrite(t types.Type, to unsafe.Pointer, loc *value.Source) {
	fn.inBackward("changes %s", loc.Argument())
	fn.inFlow("changes %s, which is outside of it", loc.Argument())
	for _, w := range fn.watched {
		if p := uintptr(to); w.From < p+fn.frames.In.Rep(t).Size() && p < w.From+fn.frames.In.Rep(w.Typ).Size() {
			fn.avoidApply(w.Call, "what Backward reads is changed after the call")
		}
	}
}
