package value

import (
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file reads what SSA's debug references know: which variable or expression
// of the user a register is.

// debugInfo is what the user calls the registers of one function.
type debugInfo struct {
	vars  map[ssa.Value]string // the first variable that a register was read or written as
	exprs map[ssa.Value]string // the first other expression that it is the value of
}

func debugOf(fn *ssa.Function) *debugInfo { return Fact(fn, readDebug) }

func readDebug(fn *ssa.Function) *debugInfo {
	d := &debugInfo{vars: map[ssa.Value]string{}, exprs: map[ssa.Value]string{}}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if ref, ok := in.(*ssa.DebugRef); ok {
				d.add(ref)
			}
		}
	}
	return d
}

func (d *debugInfo) add(ref *ssa.DebugRef) {
	if id, ok := ref.Expr.(*ast.Ident); ok {
		if _, isVar := ref.Object().(*types.Var); isVar && !ref.IsAddr && id.Name != "_" && d.vars[ref.X] == "" {
			d.vars[ref.X] = id.Name
		}
		return
	}
	if d.exprs[ref.X] != "" {
		return
	}
	text := exprText(ref.Expr)
	if ref.IsAddr {
		text = "&" + text
	}
	d.exprs[ref.X] = text
}

// maxExprText is how long an expression may be that names a value.
const maxExprText = 60

// exprText writes an expression as the user did, in one line: what is too long
// to name a value loses its arguments.
func exprText(e ast.Expr) string {
	text := strings.ReplaceAll(types.ExprString(e), "'", "`") // guards quote names
	if len(text) <= maxExprText {
		return text
	}
	if c, ok := e.(*ast.CallExpr); ok {
		if f := exprText(c.Fun); !strings.HasSuffix(f, "...") {
			return f + "(...)"
		}
	}
	return "..." + text[len(text)-maxExprText/2:]
}

// VarName is the variable that v is, empty where it is none.
func VarName(v ssa.Value) string {
	if v.Parent() == nil {
		return ""
	}
	return debugOf(v.Parent()).vars[v]
}

// ExprName is the expression that v is the value of, empty where the program
// has none.
func ExprName(v ssa.Value) string {
	if v.Parent() == nil {
		return ""
	}
	return debugOf(v.Parent()).exprs[v]
}

// receiverName is what the method of a method value calls its receiver.
func receiverName(fn *ssa.Function) string {
	if m, ok := fn.Object().(*types.Func); ok {
		if r := m.Signature().Recv(); r != nil && r.Name() != "" {
			return r.Name()
		}
	}
	return "self"
}
