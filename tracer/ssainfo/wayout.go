package ssainfo

import (
	"strings"

	"tcdbg/torch"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file looks at where the sides of a branch on a tensor's value go: a Where can take
// the place of two results, not of a panic or of the way out of a loop. Of the results
// themselves see choice.go.

// WayOut is the remark on a break at the call that reads a tensor's truth: whether a side of
// the branch that it decides ends the program or leaves the loop, or the sides differ in more
// than tensors; whether a graph could hold both sides, or the loop; "" for all others. wantsGrad reports
// whether gradients flow through the tensor.
func WayOut(in *ssa.Call, bindings map[string]torch.Binding, wantsGrad func() bool) string {
	ends, leaves, more := sides(in)
	work := sideWork{bindings}
	switch {
	case ends:
		return breaks.SideEnds
	case leaves && work.loop(in) && !wantsGrad():
		return breaks.LoopTruth
	case leaves:
		return breaks.SideLeaves
	case more:
		return breaks.SideMore
	case onlyKept(in):
		return breaks.TruthKept
	case work.choice(in):
		return breaks.SideWork
	}
	return ""
}

// NumberWay is the remark on a break at the call that reads a tensor's number; that may lie on
// the way to the end of the program itself, and the number be used where no tensor can be.
func NumberWay(in *ssa.Call) string {
	ends, leaves, more := sides(in)
	switch {
	case ends:
		return breaks.NumberEnds
	case leaves:
		return breaks.NumberExit
	case more:
		return breaks.NumberMore
	case in.Block().Index != 0 && endsProgram(in.Block()):
		return breaks.WayEnds
	case needsNumber(in, map[ssa.Value]bool{}):
		return breaks.NumberUsed
	}
	return ""
}

// sides says of the branches that a value decides whether a side of one ends the program,
// whether a side leaves the loop, and whether the sides differ in more than tensors.
func sides(v ssa.Value) (ends, leaves, more bool) {
	for _, branch := range branchesOn(v, map[ssa.Value]bool{}) {
		b := branch.Block()
		yes, no := b.Succs[0], b.Succs[1]
		ends = ends || endsProgram(yes) || endsProgram(no)
		leaves = leaves || reaches(yes, b) != reaches(no, b)
		more = more || differsInMore(branch)
	}
	return ends, leaves, more
}

// branchesOn lists the branches that a value decides: by itself, or by what is computed of
// it, as math.IsNaN(x) || x > limit is.
func branchesOn(v ssa.Value, seen map[ssa.Value]bool) []*ssa.If {
	refs := v.Referrers()
	if refs == nil || seen[v] {
		return nil
	}
	seen[v] = true
	var found []*ssa.If
	for _, in := range *refs {
		switch in := in.(type) {
		case *ssa.If:
			found = append(found, in)
		case *ssa.BinOp:
			found = append(found, branchesOn(in, seen)...)
		case *ssa.UnOp:
			found = append(found, branchesOn(in, seen)...)
		case *ssa.Convert:
			found = append(found, branchesOn(in, seen)...)
		case *ssa.Call:
			if f := in.Call.StaticCallee(); f != nil && strings.HasPrefix(f.String(), "math.") {
				found = append(found, branchesOn(in, seen)...)
			}
		}
	}
	return found
}

// endsProgram says whether every path from a block panics or calls what does not come back.
func endsProgram(b *ssa.BasicBlock) bool { return ends(b, map[*ssa.Function]bool{}) }

// ends is endsProgram within calls of the functions given: what they do is not known yet.
func ends(from *ssa.BasicBlock, within map[*ssa.Function]bool) bool {
	seen := map[*ssa.BasicBlock]bool{}
	list, ended := []*ssa.BasicBlock{from}, false
	for len(list) > 0 {
		b := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[b] {
			continue
		}
		seen[b] = true
		if endsAt(b, within) {
			ended = true
			continue
		}
		if len(b.Succs) == 0 { // a return
			return false
		}
		list = append(list, b.Succs...)
	}
	return ended
}

// endsAt says whether one of a block's own instructions does not come back.
func endsAt(b *ssa.BasicBlock, within map[*ssa.Function]bool) bool {
	for _, in := range b.Instrs {
		switch in := in.(type) {
		case *ssa.Panic:
			return true
		case *ssa.Call:
			if f := in.Call.StaticCallee(); f != nil && neverReturns(f, within) {
				return true
			}
		}
	}
	return false
}

// neverReturns says whether each call of a function ends the program, by itself or by what
// it calls. One that recovers may return after a panic.
func neverReturns(f *ssa.Function, within map[*ssa.Function]bool) bool {
	if IsLastCall(f.String()) {
		return true
	}
	if len(f.Blocks) == 0 || f.Recover != nil || within[f] {
		return false
	}
	within[f] = true
	never := ends(f.Blocks[0], within)
	delete(within, f)
	return never
}

// reaches says whether a path leads from one block to another.
func reaches(from, to *ssa.BasicBlock) bool {
	seen := make([]bool, len(from.Parent().Blocks))
	list := []*ssa.BasicBlock{from}
	for len(list) > 0 {
		b := list[len(list)-1]
		list = list[:len(list)-1]
		if b == to {
			return true
		}
		if !seen[b.Index] {
			seen[b.Index] = true
			list = append(list, b.Succs...)
		}
	}
	return false
}
