package value

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file says what the author of the program calls a function or a register.

func TypeName(t types.Type) string {
	if t == nil {
		return "nil"
	}
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// FuncName is the function as the user knows it: bar, Decoder.Forward, or, as
// Go's own stacks name closures, main.func1 and main.func1.2.
func FuncName(fn *ssa.Function) string {
	if p := fn.Parent(); p != nil {
		n := fn.Name()[strings.LastIndexByte(fn.Name(), '$')+1:]
		if p.Parent() == nil {
			n = "func" + n
		}
		return FuncName(p) + "." + n
	}
	var t types.Type
	if fn.Signature.Recv() != nil {
		t = fn.Signature.Recv().Type()
	} else if isBound(fn) {
		t = fn.FreeVars[0].Type()
	}
	if t != nil {
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			return n.Obj().Name() + "." + strings.TrimSuffix(fn.Name(), "$bound")
		}
	}
	return strings.TrimSuffix(fn.Name(), "$thunk")
}

// isBound reports whether fn is the function that SSA makes for a method value;
// its receiver is a bound variable.
func isBound(fn *ssa.Function) bool {
	return strings.HasSuffix(fn.Name(), "$bound") && len(fn.FreeVars) == 1
}

// isFree reports whether v is a captured variable: it is a pointer in SSA but
// an ordinary variable to the user.
func isFree(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.FreeVar, *ssa.Alloc:
		return true
	}
	return false
}

// listed is what the program writes at place i of a slice that it gives no name: the
// arguments of a variadic parameter, a literal; nil where p is no such slice.
func listed(p *Source, i int) ssa.Value {
	list, ok := p.Reg.(*ssa.Slice)
	if !ok || p.Kind != Register || list.Low != nil || VarName(list) != "" {
		return nil
	}
	array, ok := list.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" && array.Comment != "slicelit" {
		return nil
	}
	for _, r := range *array.Referrers() {
		if at, ok := r.(*ssa.IndexAddr); ok && isConstInt(at.Index, i) {
			for _, r := range *at.Referrers() {
				if st, ok := r.(*ssa.Store); ok && st.Addr == at {
					return st.Val
				}
			}
		}
	}
	return nil
}

func isConstInt(v ssa.Value, i int) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Int64() == int64(i)
}

// LocalName is the name under which the user knows a register.
func LocalName(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.FreeVar:
		if isBound(v.Parent()) {
			return receiverName(v.Parent())
		}
		return v.Name()
	case *ssa.Parameter:
		if name := VarName(v); name != "" && v.Parent().Synthetic != "" {
			return name // a range over a function only numbers its variables
		}
		return v.Name()
	case *ssa.MakeInterface:
		return LocalName(v.X)
	case *ssa.Alloc:
		if v.Comment != "" {
			return v.Comment
		}
	case *ssa.Const:
		return v.Name()
	case *ssa.Phi:
		if v.Comment == rangeCount {
			return "rangecount" // a dot would make it a field
		}
		if v.Comment != "" {
			return v.Comment
		}
	}
	if name := VarName(v); name != "" {
		return name
	}
	if name := ExprName(v); name != "" {
		return name
	}
	return synthetic(v)
}

// What SSA calls the counters of range statements over elements and over a number.
const (
	rangeIndex = "rangeindex"
	rangeCount = "rangeint.iter"
)

// synthetic names a register that the program has no expression for: what a
// conversion converts, the arguments of a variadic call, what a range counts.
func synthetic(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.BinOp:
		if counter, ok := v.X.(*ssa.Phi); ok && counter.Comment == rangeIndex {
			return rangeIndex
		}
	case *ssa.Call:
		if b, ok := v.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" {
			return "len(" + LocalName(v.Call.Args[0]) + ")"
		}
	case *ssa.ChangeType:
		return LocalName(v.X)
	case *ssa.ChangeInterface:
		return LocalName(v.X)
	case *ssa.Convert:
		return LocalName(v.X)
	case *ssa.Extract:
		return LocalName(v.Tuple)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return strings.TrimPrefix(LocalName(v.X), "&")
		}
	case *ssa.Slice:
		return LocalName(v.X)
	}
	return v.Name()
}

// inTorch reports whether a function is one of torch's that the host interprets.
func inTorch(fn *ssa.Function) bool {
	return fn != nil && fn.Pkg != nil && OwnSource(fn.Pkg.Pkg.Path()+"/")
}

// spelled reports whether some line of the program spells a register: as a
// variable or as an expression.
func spelled(v ssa.Value) bool {
	if VarName(v) != "" || ExprName(v) != "" {
		return true
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return v.Comment != "" && v.Comment != rangeCount
	case *ssa.Alloc:
		return v.Comment != ""
	case *ssa.MakeInterface:
		return spelled(v.X)
	case *ssa.ChangeType:
		return spelled(v.X)
	case *ssa.ChangeInterface:
		return spelled(v.X)
	case *ssa.Convert:
		return spelled(v.X)
	case *ssa.Extract:
		return spelled(v.Tuple)
	case *ssa.UnOp:
		return v.Op == token.MUL && spelled(v.X)
	case *ssa.Slice:
		return spelled(v.X)
	}
	_, computed := v.(ssa.Instruction)
	return !computed
}

// OwnSource reports whether a file is one of torch's that the host interprets.
func OwnSource(file string) bool { return strings.HasPrefix(file, "tcdbg/torch/") }
