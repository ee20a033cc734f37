package torch

import (
	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

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
		for i, n := range self.array.Shape {
			if n > 1 && self.array.Stride[i] == 0 {
				refusal.Fail(
					f.Name+"_", "RuntimeError",
					"unsupported operation: more than one element of the written-to tensor refers to a single memory location. "+
						"Please clone() the tensor before performing the operation.",
				)
			}
		}
	}
	if !f.Tags.Has(ops.TagPointwise) && f.ID != ops.Copy {
		return
	}
	for _, a := range args {
		if t, ok := a.(*Tensor); ok && t != nil && t != self && showsPart(t, self) {
			refusal.Fail(
				f.Name+"_", "RuntimeError",
				"unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "+
					"location. Please clone() the tensor before performing the operation.",
			)
		}
	}
}

// showsPart reports whether two dense tensors share part of their memory, or all
// of it in another order.
func showsPart(a, b *Tensor) bool {
	if a.array.Storage != b.array.Storage || a.array.Storage == nil || a.Numel() == 0 || b.Numel() == 0 ||
		strided.SameLayout(&a.array, &b.array) || !fillsRun(a) || !fillsRun(b) {
		return false
	}
	return a.array.Offset < b.array.Offset+b.Numel() && b.array.Offset < a.array.Offset+a.Numel()
}

// fillsRun reports whether the elements fill one run of memory, in any order.
func fillsRun(t *Tensor) bool {
	last := t.array.Offset
	for i, n := range t.array.Shape {
		if t.array.Stride[i] == 0 && n > 1 {
			return false
		}
		last += (n - 1) * t.array.Stride[i]
	}
	return last-t.array.Offset+1 == t.Numel()
}
