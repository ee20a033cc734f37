package sched

import (
	"slices"

	"tcdbg/inductor/ir"
)

// This file puts off what only later phases read: in the phase that reads it, it is a register, where else a row of it would be
// written in one phase and read in another. The gradient of a loss over 50,000 classes is such a row in the kernel of the loss.

// delay moves items to the first phase in which their result is read, where that reads no more memory than the result would be.
func (k *Kernel) delay(needed func(*ir.Buffer) bool) {
	if k.Phases < 2 || k.Sequential || k.Group.Template {
		return
	}
	written, readers := k.written(), map[*ir.Buffer][]*Step{}
	for i := range k.Steps {
		k.Steps[i].Node.Reads(func(b *ir.Buffer, _ *ir.Index) { readers[b] = append(readers[b], &k.Steps[i]) })
	}
	moved := false
	for i := range slices.Backward(k.Steps) {
		st := &k.Steps[i]
		if !st.Inner || st.Node.Kind != ir.Pointwise || st.scatters() {
			continue
		}
		first, bytes := k.Phases, int64(0)
		st.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
			bytes += int64(b.DType.Size())
			if needed(b) || written[b] == nil {
				first = 0
			}
			for _, r := range readers[b] {
				first = min(first, r.Phase)
			}
		})
		if first > st.Phase && first < k.Phases && k.rereads(st, first, written, readers) <= bytes {
			st.Phase, moved = first, true
		}
	}
	if moved {
		slices.SortStableFunc(k.Steps, func(a, b Step) int { return a.Phase - b.Phase })
	}
}

// rereads are the bytes of an element that st would load in a phase where nothing else does.
func (k *Kernel) rereads(st *Step, phase int, written map[*ir.Buffer]*Step, readers map[*ir.Buffer][]*Step) (bytes int64) {
	seen := map[*ir.Buffer]bool{}
	for _, v := range st.Body {
		if v.Op != ir.Load && v.Op != ir.LoadAt || seen[v.Buf] || v.Op == ir.Load && !k.walksInner(v.Index) {
			continue
		}
		seen[v.Buf] = true
		w, here := written[v.Buf]
		there := slices.ContainsFunc(readers[v.Buf], func(r *Step) bool { return r != st && r.Phase == phase })
		switch {
		case here && w == nil: // what several items write may be another value by then
			return 1 << 30
		case !there:
			bytes += int64(v.Buf.DType.Size())
		}
	}
	return bytes
}
