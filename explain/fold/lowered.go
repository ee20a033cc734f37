package fold

import (
	"tcdbg/explain"
	"tcdbg/logs"
)

// This file folds how the kernels of a lowered graph differ from PyTorch's.

func tcdbgLowered(f *Fold, r *logs.Record) {
	var v logs.Lowered
	if !f.versioned(r, &v) {
		return
	}
	for _, list := range [][]logs.Regrouped{v.Apart, v.Joined} {
		for i := range list {
			for j := range list[i].Parts {
				part := &list[i].Parts[j]
				f.hold(heldEvent + len(part.Nodes)*heldCost)
				for k, p := range part.Pos {
					part.Pos[k] = f.pos(p)
				}
			}
		}
	}
	f.lowered = &explain.Lowered{ID: f.id(r), Lowered: v}
}
