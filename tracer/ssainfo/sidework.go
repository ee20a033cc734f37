package ssainfo

import (
	"slices"

	"tcdbg/ops"
	"tcdbg/torch"

	"golang.org/x/tools/go/ssa"
)

// This file looks at whether the sides of a branch on a tensor's value, or a loop that one
// ends, compute tensors and do nothing else: a graph can hold these, as compiler.Cond and
// compiler.WhileLoop have it. What is not seen to be so is not.

// sideWork knows torch's functions.
type sideWork struct{ bindings map[string]torch.Binding }

// choice says whether a truth is asked for by one branch, both sides of which compute one
// tensor, at least one of them not element by element, which Where would do for both.
func (w sideWork) choice(in *ssa.Call) bool {
	branch := onlyBranch(in)
	if branch == nil {
		return false
	}
	b := branch.Block()
	yes, no := reachedFrom(b.Succs[0], b), reachedFrom(b.Succs[1], b)
	work, results := false, 0
	for _, blk := range b.Parent().Blocks {
		i := blk.Index
		switch {
		case yes[i] && no[i]:
			results += tensorPhis(blk, func(p *ssa.BasicBlock) bool { return p == b || yes[p.Index] != no[p.Index] })
		case yes[i] || no[i]:
			some, ok := w.pure(blk)
			if !ok {
				return false
			}
			work = work || some
			if ret, is := last(blk).(*ssa.Return); is {
				if len(ret.Results) != 1 || !IsTensor(ret.Results[0].Type()) {
					return false
				}
				results++
			}
		}
	}
	joined := slices.ContainsFunc(b.Parent().Blocks, func(blk *ssa.BasicBlock) bool { return yes[blk.Index] && no[blk.Index] })
	if joined {
		return work && results == 1
	}
	return work && results == 2
}

// loop says whether a truth is that of a loop's condition, all of which computes tensors, and
// hands tensors alone from round to round.
func (w sideWork) loop(in *ssa.Call) bool {
	branch := onlyBranch(in)
	if branch == nil {
		return false
	}
	b := branch.Block()
	into := reachedFrom(b.Succs[0], b)
	if !reaches(b.Succs[0], b) || reaches(b.Succs[1], b) {
		return false
	}
	if _, ok := w.pure(b); !ok {
		return false
	}
	for _, blk := range b.Parent().Blocks {
		if !into[blk.Index] {
			continue
		}
		if _, ok := w.pure(blk); !ok || !reaches(blk, b) {
			return false
		}
	}
	return tensorPhis(b, func(*ssa.BasicBlock) bool { return true }) > 0
}

// onlyBranch is the branch that a truth decides by itself, where nothing else asks for it.
func onlyBranch(in *ssa.Call) *ssa.If {
	var found *ssa.If
	for _, use := range *in.Referrers() {
		switch use := use.(type) {
		case *ssa.If:
			found = use
		case *ssa.DebugRef:
		default:
			return nil
		}
	}
	return found
}

// tensorPhis is the number of tensors that a block chooses by where it is reached from, of
// blocks that count; -1000 where it chooses something else.
func tensorPhis(blk *ssa.BasicBlock, counts func(*ssa.BasicBlock) bool) int {
	n := 0
	if !slices.ContainsFunc(blk.Preds, counts) {
		return 0
	}
	for _, in := range blk.Instrs {
		if phi, ok := in.(*ssa.Phi); ok {
			if !IsTensor(phi.Type()) {
				return -1000
			}
			n++
		}
	}
	return n
}

// pure says whether a block computes tensors and does nothing else, and whether it calls an
// operator that is not element by element.
func (w sideWork) pure(blk *ssa.BasicBlock) (work, ok bool) {
	for _, in := range blk.Instrs {
		switch in := in.(type) {
		case *ssa.Phi, *ssa.If, *ssa.Jump, *ssa.Return, *ssa.DebugRef, *ssa.Slice, *ssa.MakeInterface, *ssa.FieldAddr, *ssa.Field,
			*ssa.IndexAddr, *ssa.Alloc:
		case *ssa.UnOp:
		case *ssa.Store:
			if _, argument := in.Addr.(*ssa.IndexAddr); !argument {
				return false, false
			}
		case *ssa.Call:
			row := w.operator(in)
			if row == nil {
				return false, false
			}
			work = work || !row.Tags.Has(ops.TagPointwise) && !row.Tags.Has(ops.TagView)
		default:
			return false, false
		}
	}
	return work, true
}

// operator is the operator of a call that a body may make, nil for none; the truth that the
// branch asks for counts as one.
func (w sideWork) operator(in *ssa.Call) *ops.Op {
	f := in.Call.StaticCallee()
	if f == nil {
		return nil
	}
	if f.String() == "(*tcdbg/torch.Tensor).Bool" {
		return ops.Get(ops.Neg)
	}
	b, ok := w.bindings[f.String()]
	if !ok {
		return nil
	}
	row := ops.Get(b.Op)
	if row.Tags&(ops.TagInPlace|ops.TagMutates|ops.TagRandom|ops.TagDataDependent) != 0 {
		return nil
	}
	return row
}
