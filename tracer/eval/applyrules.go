package eval

import (
	"go/types"
	"slices"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file holds a captured Backward to what is the same whether it runs where it is
// traced, after Forward, or in the backward pass: it breaks before what is not,
// and where the trace changes afterwards what Backward has read.

// reading is memory of the trace that the Backward of a call has read.
type reading struct {
	call ssa.Instruction
	from uintptr
	size uintptr
}

// inBackward breaks where a Backward is being traced.
func (fn *functions) inBackward(format string, args ...any) {
	if fn.applying.backward() {
		breakAt(breaks.AutogradFunction, "Backward "+format, args...)
	}
}

// recordRead records that memory of the trace was read.
func (fn *functions) recordRead(p unsafe.Pointer, size uintptr) {
	if a := fn.applying; a.backward() {
		if s := fn.heap.mem.find(p); s != nil && s.id < a.spans {
			fn.reads[s] = append(fn.reads[s], reading{a.call, uintptr(p), size})
		}
	}
}

// checkWrite breaks before a store to memory of the trace that Backward did not
// make itself, or that an earlier Backward has read.
func (fn *functions) checkWrite(p unsafe.Pointer, size uintptr) {
	fn.checkFlowWrite(p)
	if a := fn.applying; a.backward() {
		if s := fn.heap.mem.find(p); s != nil && s.id < a.spans {
			fn.inBackward("changes what was made outside of it")
		}
	}
	if len(fn.reads) == 0 {
		return
	}
	for _, r := range fn.reads[fn.heap.mem.find(p)] {
		if from := uintptr(p); from < r.from+r.size && r.from < from+size {
			fn.avoidApply(r.call, "what Backward reads is changed after the call")
		}
	}
}

// checkOutside looks for calls of autograd.Apply that cannot be kept because of what
// outlives the cache entry: an object that Backward has read, which the program may change
// before it runs, and results that share memory with others.
func (fn *functions) checkOutside(rs *reconstructor) {
	for _, s := range fn.heap.mem.spans {
		if _, kept := rs.objs[s]; kept && fn.reads[s] != nil {
			fn.retry, fn.retryWhy = fn.reads[s][0].call, "what Backward reads can be reached by the program, which may change it "+
				"before Backward runs"
			return
		}
	}
	if call := fn.sharedResult(rs.order); call != nil {
		fn.retry, fn.retryWhy = call, "a result of Forward and another tensor that leaves the graph share memory"
	}
	if call := fn.shownInput(rs.order); call != nil {
		fn.retry, fn.retryWhy = call, "a result of Forward that shows an input's memory leaves a graph that writes inputs"
	}
}

// refuseInBackward breaks at operators whose values depend on when they run, or on the
// strides of a gradient.
func (fn *functions) refuseInBackward(row *ops.Op) {
	switch {
	case row.Tags.Has(ops.TagRandom):
		fn.inBackward("draws random numbers: %s", row.Name)
		fn.inFlow("draws random numbers: %s", row.Name)
	case row.ID == ops.AsStrided:
		fn.inBackward("goes by the strides of a tensor, which are not those of the trace: %s", row.Name)
	}
}

// onlyOwn breaks before a write, in Forward or Backward, to memory that it did not
// make itself.
func (fn *functions) onlyOwn(base *torch.Tensor, row *ops.Op) {
	fn.onlyOwnInFlow(base, row)
	a := fn.applying
	if a == nil {
		return
	}
	from := a.before
	if a.backward() {
		from = a.forward
	}
	if !slices.Contains(between(from, nil), fn.capture.Nodes[base]) {
		breakAt(breaks.AutogradFunction, "%s writes to a tensor that %s did not make", row.Name, a.phase())
	}
}

func (a *application) phase() string {
	if a.backward() {
		return "Backward"
	}
	return "Forward"
}

// seal records that nothing may write the memory of t any more: a body has read it, or
// it is shown by a tensor of which the graph does not know that.
func (fn *functions) seal(t *torch.Tensor, call ssa.Instruction) {
	fn.sealed[fn.history.baseOf(t)] = call
}

// unsealed breaks before a write to sealed memory.
func (fn *functions) unsealed(base *torch.Tensor, row *ops.Op) {
	for s, call := range fn.sealed {
		same := s == base
		if a, b := fn.capture.inputOf[s], fn.capture.inputOf[base]; a != nil && b != nil {
			same = same || s.Storage() == base.Storage()
		}
		if same {
			fn.avoidApply(call, "%s writes to what a function with a derivative of its own has read or returned", row.Name)
		}
	}
}

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
