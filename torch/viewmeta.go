package torch

import (
	"strconv"
	"strings"

	"tcdbg/ops"
)

// This file keeps how views came to be, since that decides whether an operator in
// place may write to them where gradients are wanted. A view taken without tape has
// nowhere to send its gradient, and a view that came with others of one operator
// shares that operator's node with them: PyTorch refuses both, and so do we.

// viewMeta is how a view was made (PyTorch's CreationMeta).
type viewMeta uint8

const (
	viewPlain   viewMeta = iota
	viewUntaped          // under NoGrad, or of such a view
	viewSeveral          // by an operator that gives several views, or of such a view
)

// setViewMeta says of the views that a call has made how they came to be.
func setViewMeta(row *ops.Op, args []ops.Arg, outs []Value, tape bool) {
	how := viewPlain
	switch {
	case !tape:
		how = viewUntaped
	case row.Tags.Has(ops.TagView) && strings.HasSuffix(row.Schema, "-> Tensor[]"):
		how = viewSeveral
	}
	var of *Tensor // what is viewed
	for _, a := range args {
		if t, ok := a.(*Tensor); ok && t != nil {
			of = t
			break
		}
	}
	for _, o := range outs {
		t, ok := o.(*Tensor)
		switch {
		case !ok || t == nil || t.base == nil || t == of:
		case how == viewPlain && of != nil && of.base != nil:
			t.viewMeta = of.viewMeta
		default:
			t.viewMeta = how
		}
	}
}

// inPlaceRefusal is what eager mode says to an in-place operator that writes to t
// and requires gradients; empty where it may.
func inPlaceRefusal(t *Tensor) string {
	if t.requiresGrad && t.fn == nil {
		return "a leaf Variable that requires grad is being used in an in-place operation."
	}
	if r := t.base; r != nil && r.requiresGrad && r.fn == nil && t.viewMeta == viewPlain {
		return "a view of a leaf Variable that requires grad is being used in an in-place operation."
	}
	return viewRefusal(t, "is being modified inplace")
}

// ViewRefused reports whether t is a view that, for how it came to be, no operator in
// place may write to that requires gradients.
func (t *Tensor) ViewRefused() bool { return t.base != nil && t.viewMeta != viewPlain }

// viewRefusal is why a view cannot follow a change of its memory; empty where it can.
func viewRefusal(t *Tensor, change string) string {
	if !t.ViewRefused() {
		return ""
	}
	var sb strings.Builder
	switch {
	case t.fn == nil:
		sb.WriteString("A view was created in no_grad mode and " + change + " with grad mode enabled.")
	case t.viewMeta == viewUntaped:
		sb.WriteString(fnOutput(t) + " is a view of a view which was created in no_grad mode and " + change + " with grad mode enabled.")
	default:
		sb.WriteString(fnOutput(t) + " is a view and " + change + ".")
	}
	if t.viewMeta == viewSeveral {
		sb.WriteString(" This view is the output of a function that returns multiple views. Such functions do not allow the output " +
			"views to be modified inplace. You should replace the inplace operation by an out-of-place one.")
	} else {
		sb.WriteString(" Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by " +
			"moving both the view and the inplace either both inside the no_grad block (if you don't want the inplace to be " +
			"tracked) or both outside (if you want the inplace to be tracked).")
	}
	return sb.String()
}

// fnOutput names t as a result of the operator that computed it.
func fnOutput(t *Tensor) string {
	return "Output " + strconv.Itoa(t.outIndex) + " of " + strings.TrimSuffix(t.fn.name, "Backward0")
}
