package torch

import "tcdbg/ops"

// This file calls operators with three and four results for the generated
// functions.

func invoke3(op ops.ID, opts []Option, pos ...ops.Arg) (_, _, _ *Tensor) {
	out := invoke(op, opts, pos...)
	return out[0].(*Tensor), out[1].(*Tensor), out[2].(*Tensor)
}

func invoke4(op ops.ID, opts []Option, pos ...ops.Arg) (_, _, _, _ *Tensor) {
	out := invoke(op, opts, pos...)
	return out[0].(*Tensor), out[1].(*Tensor), out[2].(*Tensor), out[3].(*Tensor)
}
