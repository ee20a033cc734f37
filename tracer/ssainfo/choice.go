package ssainfo

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file looks at what the sides of a branch on a tensor's value make, and at what its
// number is used for: a Where chooses between tensors, and no tensor can be a map's key.

// differsInMore says whether the sides of a branch differ in what is no tensor and no number:
// in a flag, a text or an error, in what is printed, or in an entry of a map.
func differsInMore(branch *ssa.If) bool {
	b := branch.Block()
	yes, no := reachedFrom(b.Succs[0], b), reachedFrom(b.Succs[1], b)
	returns := false
	for _, blk := range b.Parent().Blocks {
		switch i := blk.Index; {
		case yes[i] && no[i]:
			if joinsMore(blk, b, yes, no) {
				return true
			}
		case yes[i] || no[i]:
			if slices.ContainsFunc(blk.Instrs, leavesATrace) {
				return true
			}
			_, ok := last(blk).(*ssa.Return)
			returns = returns || ok
		}
	}
	return returns && returnsMore(b.Parent(), yes, no)
}

// reachedFrom marks the blocks that a path from one leads to which does not come through the branch again.
func reachedFrom(from, branch *ssa.BasicBlock) []bool {
	seen := make([]bool, len(from.Parent().Blocks))
	list := []*ssa.BasicBlock{from}
	for len(list) > 0 {
		b := list[len(list)-1]
		list = list[:len(list)-1]
		if b != branch && !seen[b.Index] {
			seen[b.Index] = true
			list = append(list, b.Succs...)
		}
	}
	return seen
}

func last(b *ssa.BasicBlock) ssa.Instruction { return b.Instrs[len(b.Instrs)-1] }

// joinsMore says whether a flag, a text or an error has another value in a block that both
// sides lead to, by the side that it is reached from.
func joinsMore(blk, branch *ssa.BasicBlock, yes, no []bool) bool {
	for _, in := range blk.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			break
		}
		if !noTensor(phi.Type()) || phi.Comment == "&&" || phi.Comment == "||" { // the latter are conditions
			continue
		}
		var first, second ssa.Value // of each side
		for i, p := range blk.Preds {
			if p == branch && branch.Succs[0] == blk || yes[p.Index] && !no[p.Index] {
				first = phi.Edges[i]
			} else if p == branch || no[p.Index] && !yes[p.Index] {
				second = phi.Edges[i]
			}
		}
		if first != nil && second != nil && !sameValue(first, second) {
			return true
		}
	}
	return false
}

// returnsMore says whether the returns that the sides lead to differ in a flag, a text or an error.
func returnsMore(f *ssa.Function, yes, no []bool) bool {
	var first []ssa.Value
	for _, blk := range f.Blocks {
		ret, ok := last(blk).(*ssa.Return)
		if !ok || !yes[blk.Index] && !no[blk.Index] {
			continue
		}
		if first == nil {
			first = ret.Results
			continue
		}
		for i, v := range ret.Results {
			if noTensor(v.Type()) && !sameValue(v, first[i]) {
				return true
			}
		}
	}
	return false
}

// noTensor says whether a type's values are such that no tensor can take their place, as one
// does that of a number.
func noTensor(t types.Type) bool {
	if types.Identical(t, types.Universe.Lookup("error").Type()) {
		return true
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsBoolean|types.IsString) != 0
}

func sameValue(a, b ssa.Value) bool {
	x, isConst := a.(*ssa.Const)
	y, both := b.(*ssa.Const)
	return a == b || isConst && both && x.String() == y.String()
}

// leavesATrace says whether an instruction prints, or changes a map, or a variable that holds
// a flag, a text or an error.
func leavesATrace(in ssa.Instruction) bool {
	switch in := in.(type) {
	case *ssa.MapUpdate, *ssa.Send:
		return true
	case *ssa.Store:
		_, element := in.Addr.(*ssa.IndexAddr) // of the arguments of a call
		return !element && noTensor(in.Val.Type())
	case *ssa.Call:
		return prints(&in.Call) && in.Call.Signature().Results().Len() != 1 // Sprint has one
	}
	return false
}

// printing are the packages whose functions make or write texts.
var printing = []string{"fmt", "log", "log/slog", "errors"}

func prints(c *ssa.CallCommon) bool {
	f := c.StaticCallee()
	return f != nil && f.Pkg != nil && slices.Contains(printing, f.Pkg.Pkg.Path())
}

// onlyKept says whether no branch asks for a truth: it is returned or stored as it is.
func onlyKept(v ssa.Value) bool {
	refs := v.Referrers()
	return refs != nil && len(*refs) > 0 && !slices.ContainsFunc(*refs, func(in ssa.Instruction) bool {
		switch in.(type) {
		case *ssa.Return, *ssa.Store, *ssa.MapUpdate, *ssa.MakeInterface, *ssa.DebugRef:
			return false
		}
		return true
	})
}

// needsNumber says whether a number, or what is computed of it, is a map's key, a part of a
// text, a result of the function, or what torch takes as a number alone, as a size.
func needsNumber(v ssa.Value, seen map[ssa.Value]bool) bool {
	refs := v.Referrers()
	if refs == nil || seen[v] {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(*refs, func(in ssa.Instruction) bool {
		switch in := in.(type) {
		case *ssa.Convert:
			return needsNumber(in, seen)
		case *ssa.BinOp:
			return needsNumber(in, seen)
		case *ssa.Return:
			return true
		case *ssa.MapUpdate:
			return in.Key == v
		case *ssa.Lookup:
			return in.Index == v
		case *ssa.MakeInterface:
			return inTextOrSize(in)
		case *ssa.Call:
			return ofTorch(&in.Call) && slices.Contains(in.Call.Args, v)
		case *ssa.Store:
			at, ok := in.Addr.(*ssa.IndexAddr)
			return ok && in.Val == v && listGoesTo(at.X, ofTorch)
		}
		return false
	})
}

// ofTorch says whether torch's own function is called, whose parameter of a number's type takes no tensor.
func ofTorch(c *ssa.CallCommon) bool {
	f := c.StaticCallee()
	return f != nil && f.Pkg != nil && (f.Pkg.Pkg.Path() == "tcdbg/torch" || strings.HasPrefix(f.Pkg.Pkg.Path(), "tcdbg/torch/"))
}

// makesOfSize says whether torch.Zeros or one like it is called, whose list has sizes.
func makesOfSize(c *ssa.CallCommon) bool {
	return ofTorch(c) && c.Signature().Recv() == nil && c.Signature().Variadic()
}

// inTextOrSize says whether an interface is an argument of a function that makes or writes a
// text, or a size of what torch makes.
func inTextOrSize(v *ssa.MakeInterface) bool {
	for _, in := range *v.Referrers() {
		switch in := in.(type) {
		case *ssa.Call:
			if prints(&in.Call) {
				return true
			}
		case *ssa.Store:
			at, ok := in.Addr.(*ssa.IndexAddr)
			if ok && (listGoesTo(at.X, prints) || listGoesTo(at.X, makesOfSize)) {
				return true
			}
		}
	}
	return false
}

// listGoesTo says whether a list is that of the last arguments of such a call.
func listGoesTo(list ssa.Value, such func(*ssa.CallCommon) bool) bool {
	for _, in := range *list.Referrers() {
		slice, ok := in.(*ssa.Slice)
		if !ok {
			continue
		}
		for _, use := range *slice.Referrers() {
			if c, ok := use.(*ssa.Call); ok && such(&c.Call) {
				return true
			}
		}
	}
	return false
}
