package tracer

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"unsafe"

	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is jit.Script: it looks through the code of a function for what TorchScript's language
// has not. Nothing is compiled; the function runs as it is.

// scriptedIntrinsic is torch.Scripted: it says why TorchScript could not hold a function.
func (t *Tracer) scriptedIntrinsic(_ *host.Thread, _ *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	typ, p := t.in.Dynamic(types.Universe.Lookup("any").Type(), args[0])
	why := "the argument is no function of the program"
	if typ != nil {
		if _, isFunc := typ.Underlying().(*types.Signature); isFunc {
			if cl := t.in.ClosureOf(p); cl != nil {
				s := scripting{t: t, seen: map[*ssa.Function]bool{}}
				why = s.function(cl.Fn)
			}
		}
	}
	*(*string)(result) = why
}

// scripting is one look through a function and those of the program that it calls.
type scripting struct {
	t    *Tracer
	seen map[*ssa.Function]bool
}

// function is what the first instruction is that TorchScript has nothing for, with its line; "" for none.
func (s *scripting) function(fn *ssa.Function) string {
	if s.seen[fn] {
		return ""
	}
	s.seen[fn] = true
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			what := unscriptable(in)
			if call, ok := in.(*ssa.Call); ok && what == "" {
				var why string
				if what, why = s.call(&call.Call); why != "" {
					return why
				}
			}
			if what != "" {
				return fmt.Sprintf("%s is not supported in TorchScript:\n%s", what, s.line(in, fn))
			}
		}
	}
	return ""
}

// unscriptable names an instruction that no TorchScript has.
func unscriptable(in ssa.Instruction) string {
	switch in := in.(type) {
	case *ssa.Go:
		return "a goroutine"
	case *ssa.Defer:
		return "a deferred call"
	case *ssa.Send, *ssa.Select, *ssa.MakeChan:
		return "a channel"
	case *ssa.UnOp:
		if in.Op == token.ARROW {
			return "a channel"
		}
	case *ssa.MakeClosure:
		return "a function literal"
	case *ssa.Convert:
		if b, ok := in.Type().Underlying().(*types.Basic); ok && b.Kind() == types.UnsafePointer {
			return "an unsafe pointer"
		}
	}
	return ""
}

// call says what of a call is not supported, or why what is called is not.
func (s *scripting) call(c *ssa.CallCommon) (what, why string) {
	if _, builtin := c.Value.(*ssa.Builtin); builtin {
		return "", ""
	}
	if c.IsInvoke() {
		return "a call through the interface " + value.TypeName(c.Value.Type()), ""
	}
	fn := c.StaticCallee()
	if fn == nil {
		return "a call of a function value", ""
	}
	path := ""
	if p := packageOf(fn); p != nil {
		path = p.Pkg.Path()
	}
	switch {
	case path == "tcdbg/torch" || strings.HasPrefix(path, "tcdbg/torch/"):
		return "", ""
	case path == "math" || path == "fmt" && strings.HasPrefix(fn.Name(), "Print"):
		return "", ""
	case len(fn.Blocks) == 0: // of a library
		return "the call of " + path + "." + fn.Name(), ""
	}
	return "", s.function(fn)
}

// line is where an instruction is, with the text there; an instruction without a place has its function's.
func (s *scripting) line(in ssa.Instruction, fn *ssa.Function) string {
	pos := in.Pos()
	if !pos.IsValid() {
		pos = fn.Pos()
	}
	p := s.t.prog.Fset.Position(pos)
	return fmt.Sprintf("  File \"%s\", line %d\n    %s", filepath.ToSlash(p.Filename), p.Line,
		strings.TrimSpace(s.t.prog.SourceLine(p.Filename, p.Line)))
}
