package eval

import (
	"strings"

	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file looks at where the sides of a branch on a tensor's value go: a Where can take
// the place of two results, not of a panic or of the way out of a loop.

// wayOut is the remark on a branch of which one side ends the program or leaves the loop,
// "" for all others.
func wayOut(in *ssa.Call) string {
	branch := branchOn(in)
	if branch == nil {
		return ""
	}
	b := branch.Block()
	yes, no := b.Succs[0], b.Succs[1]
	switch {
	case endsProgram(yes) || endsProgram(no):
		return breaks.SideEnds
	case reaches(yes, b) != reaches(no, b):
		return breaks.SideLeaves
	}
	return ""
}

// branchOn is the branch that a condition, or its negation, alone decides.
func branchOn(v ssa.Value) *ssa.If {
	refs := v.Referrers()
	if refs == nil {
		return nil
	}
	var found *ssa.If
	for _, in := range *refs {
		next, _ := in.(*ssa.If)
		if not, ok := in.(*ssa.UnOp); ok {
			next = branchOn(not)
		}
		if _, named := in.(*ssa.DebugRef); named {
			continue
		}
		if next == nil || found != nil {
			return nil
		}
		found = next
	}
	return found
}

// endsProgram says whether a block panics or calls what does not come back.
func endsProgram(b *ssa.BasicBlock) bool {
	for _, in := range b.Instrs {
		switch in := in.(type) {
		case *ssa.Panic:
			return true
		case *ssa.Call:
			if f := in.Call.StaticCallee(); f != nil {
				name := f.String()
				if name == "os.Exit" || name == "runtime.Goexit" || strings.HasPrefix(name, "log.Fatal") ||
					strings.HasPrefix(name, "log.Panic") {
					return true
				}
			}
		}
	}
	return false
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
