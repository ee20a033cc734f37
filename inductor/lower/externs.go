package lower

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file lists the operators that no loop can hold yet, each with its reason.
// What is not in the list and has neither a lowering nor a decomposition is
// called eagerly for want of a lowering; tests count both.

// externs are the reasons, as people read them.
var externs = map[ops.ID]ir.Reason{
	ops.Sort: reasonOrder, ops.Topk: reasonOrder, ops.Kthvalue: reasonOrder, ops.Mode: reasonOrder,
	ops.MedianDim: reasonOrder, ops.NanmedianDim: reasonOrder, ops.Searchsorted: reasonSearch, ops.Histogram: reasonSearch,

	ops.Digamma: reasonSpecial, ops.Erfinv: reasonSpecial, ops.Polygamma: reasonSpecial, ops.Zeta: reasonSpecial,
	ops.I0: reasonSpecial, ops.I0e: reasonSpecial, ops.I1: reasonSpecial, ops.I1e: reasonSpecial, ops.Erfcx: reasonSpecial,
	ops.LogNdtr: reasonSpecial, ops.Igamma: reasonSpecial, ops.Igammac: reasonSpecial,
}

// The reasons that several operators share.
const (
	reasonOrder   ir.Reason = "sorting compares all elements of a row with each other"
	reasonHalf    ir.Reason = "half precision: its sums must round where eager's do"
	reasonSearch  ir.Reason = "a binary search takes a different path for each element"
	reasonSpecial ir.Reason = "a special function that only the eager kernels compute"
)

// externReason says why an operator without a lowering is called eagerly.
func externReason(id ops.ID) ir.Reason {
	if r, ok := externs[id]; ok {
		return r
	}
	return ir.ReasonNoLowering
}
