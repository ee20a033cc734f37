package host

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file finds the range statement of what SSA makes of its head. These instructions have
// no position, and blocks are joined: the count of a range over a number is compared at the
// end of the loop's body.

// rangeOf is the range statement whose head an instruction without a position belongs to,
// nil for all others.
func rangeOf(in ssa.Instruction) *ast.RangeStmt {
	branch := rangeBranch(in)
	syntax := in.Parent().Syntax()
	if branch == nil || syntax == nil {
		return nil
	}
	from, to := extent(branch.Block().Succs[0])
	var found *ast.RangeStmt
	ast.Inspect(syntax, func(n ast.Node) bool {
		if n == nil || n != syntax && isFuncLit(n) {
			return false
		}
		if r, ok := n.(*ast.RangeStmt); ok && from.IsValid() && r.Pos() <= from && to <= r.End() {
			found = r // the innermost comes last
		}
		return true
	})
	return found
}

func isFuncLit(n ast.Node) bool {
	_, ok := n.(*ast.FuncLit)
	return ok
}

// rangeBranch is the branch into the body of a range statement that an instruction decides:
// the branch itself, the comparison of the count, the next count, or the length.
func rangeBranch(in ssa.Instruction) *ssa.If {
	if branch, ok := in.(*ssa.If); ok {
		if c := branch.Block().Succs[0].Comment; strings.HasPrefix(c, "range") && strings.HasSuffix(c, ".body") {
			return branch
		}
		return nil
	}
	switch in := in.(type) {
	case *ssa.Call:
		if b, ok := in.Call.Value.(*ssa.Builtin); !ok || b.Name() != "len" {
			return nil
		}
	case *ssa.BinOp, *ssa.Extract, *ssa.Next:
	default:
		return nil
	}
	for _, user := range *in.(ssa.Value).Referrers() {
		if _, joins := user.(*ssa.Phi); joins || user.Pos().IsValid() {
			continue
		}
		if branch := rangeBranch(user); branch != nil {
			return branch
		}
	}
	return nil
}

// extent is the first and the last position in a loop's body: in the block and those that
// it dominates. A variable is where it is declared.
func extent(body *ssa.BasicBlock) (from, to token.Pos) {
	for _, in := range body.Instrs {
		if _, variable := in.(*ssa.Phi); variable || !in.Pos().IsValid() {
			continue
		}
		if at := in.Pos(); !from.IsValid() || at < from {
			from = at
		}
		to = max(to, in.Pos())
	}
	for _, b := range body.Dominees() {
		first, last := extent(b)
		if first.IsValid() && (!from.IsValid() || first < from) {
			from = first
		}
		to = max(to, last)
	}
	return from, to
}
