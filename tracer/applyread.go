package tracer

import (
	"slices"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file holds a captured Backward to what is the same whether it runs where it is
// traced, behind Forward, or in the backward pass: it breaks in front of what is not,
// and where the trace changes afterwards what Backward has read.

// reading is memory of the trace that the Backward of a call has read.
type reading struct {
	call ssa.Instruction
	from uintptr
	size uintptr
}

// inBackward breaks where a Backward is being traced.
func (tr *trace) inBackward(format string, args ...any) {
	if tr.applying.backward() {
		tr.breakAt(breaks.AutogradFunction, "Backward "+format, args...)
	}
}

// noteRead notes that memory of the trace was read.
func (tr *trace) noteRead(p unsafe.Pointer, size uintptr) {
	if a := tr.applying; a.backward() {
		if s := tr.mem.find(p); s != nil && s.id < a.spans {
			tr.reads[s] = append(tr.reads[s], reading{a.call, uintptr(p), size})
		}
	}
}

// noteWrite breaks in front of a store to memory of the trace that Backward did not
// make itself, or that an earlier Backward has read.
func (tr *trace) noteWrite(p unsafe.Pointer, size uintptr) {
	if a := tr.applying; a.backward() {
		if s := tr.mem.find(p); s != nil && s.id < a.spans {
			tr.inBackward("changes what was made outside of it")
		}
	}
	if len(tr.reads) == 0 {
		return
	}
	for _, r := range tr.reads[tr.mem.find(p)] {
		if from := uintptr(p); from < r.from+r.size && r.from < from+size {
			tr.avoidApply(r.call, "what Backward reads is changed behind the call")
		}
	}
}

// checkOutside looks for calls of autograd.Apply that cannot be kept because of what
// outlives the segment: an object that Backward has read, which the program may change
// before it runs, and results that share memory with others.
func (tr *trace) checkOutside(rs *recipes) {
	for _, s := range tr.mem.spans {
		if _, kept := rs.objs[s]; kept && tr.reads[s] != nil {
			tr.retry, tr.retryWhy = tr.reads[s][0].call, "what Backward reads can be reached by the program, which may change it before Backward runs"
			return
		}
	}
	if call := tr.sharedResult(rs.order); call != nil {
		tr.retry, tr.retryWhy = call, "a result of Forward and another tensor that leaves the graph share memory"
	}
	if call := tr.shownInput(rs.order); call != nil {
		tr.retry, tr.retryWhy = call, "a result of Forward that shows an input's memory leaves a graph that writes inputs"
	}
}

// refuseInBackward breaks at operators whose values depend on when they run, or on the
// strides of a gradient.
func (tr *trace) refuseInBackward(row *ops.Op) {
	switch {
	case row.Tags.Has(ops.TagRandom):
		tr.inBackward("draws random numbers: %s", row.Name)
	case row.ID == ops.AsStrided:
		tr.inBackward("goes by the strides of a tensor, which are not those of the trace: %s", row.Name)
	}
}

// onlyOwn breaks in front of a write, in Forward or Backward, to memory that it did not
// make itself.
func (tr *trace) onlyOwn(base *torch.Tensor, row *ops.Op) {
	a := tr.applying
	if a == nil {
		return
	}
	from := a.before
	if a.backward() {
		from = a.forward
	}
	if !slices.Contains(between(from, nil), tr.nodes[base]) {
		tr.breakAt(breaks.AutogradFunction, "%s writes to a tensor that %s did not make", row.Name, a.phase())
	}
}

func (a *application) phase() string {
	if a.backward() {
		return "Backward"
	}
	return "Forward"
}

// seal notes that nothing may write the memory of t any more: a body has read it, or
// it is shown by a tensor of which the graph does not know that.
func (tr *trace) seal(t *torch.Tensor, call ssa.Instruction) {
	tr.sealed[tr.baseOf(t)] = call
}

// unsealed breaks in front of a write to sealed memory.
func (tr *trace) unsealed(base *torch.Tensor, row *ops.Op) {
	for s, call := range tr.sealed {
		same := s == base
		if a, b := tr.inputOf[s], tr.inputOf[base]; a != nil && b != nil {
			same = same || s.Storage() == base.Storage()
		}
		if same {
			tr.avoidApply(call, "%s writes to what a function with a derivative of its own has read or returned", row.Name)
		}
	}
}
