package torch

import "tcdbg/ops"

// This file refuses writes whose result would depend on the order in which
// elements are computed, as PyTorch does.

// writesAlike are the in-place operators that PyTorch lets write to a tensor
// that shows one place of memory several times.
var writesAlike = map[ops.ID]bool{
	ops.Fill: true, ops.Zero: true, ops.MaskedFill: true, ops.IndexFill: true, ops.IndexPut: true, ops.Tril: true, ops.Triu: true,
}

// checkOverlap refuses to write a tensor that repeats its memory (expand), or
// one that a pointwise operator reads shifted.
func checkOverlap(f *ops.Op, args []ops.Arg, self *Tensor) {
	if !writesAlike[f.ID] {
		for i, n := range self.shape {
			if n > 1 && self.stride[i] == 0 {
				fail(f.Name+"_", "RuntimeError", "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the tensor before performing the operation.")
			}
		}
	}
	if !f.Tags.Has(ops.TagPointwise) && f.ID != ops.Copy {
		return
	}
	for _, a := range args {
		if t, ok := a.(*Tensor); ok && t != nil && t != self && showsPart(t, self) {
			fail(f.Name+"_", "RuntimeError", "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory location. Please clone() the tensor before performing the operation.")
		}
	}
}

// showsPart reports whether two dense tensors share part of their memory, or all
// of it in another order.
func showsPart(a, b *Tensor) bool {
	if a.storage != b.storage || a.storage == nil || a.Numel() == 0 || b.Numel() == 0 || sameLayout(a, b) || !fillsRun(a) || !fillsRun(b) {
		return false
	}
	return a.offset < b.offset+b.Numel() && b.offset < a.offset+a.Numel()
}

// fillsRun reports whether the elements fill one run of memory, in any order.
func fillsRun(t *Tensor) bool {
	last := t.offset
	for i, n := range t.shape {
		if t.stride[i] == 0 && n > 1 {
			return false
		}
		last += (n - 1) * t.stride[i]
	}
	return last-t.offset+1 == t.Numel()
}
