package host

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// This file refuses, before the program runs, what could only fail once it does.

// refusals lists what the program's own packages use and the interpreter does not
// have: functions and variables of compiled packages that are not bound.
func (p *Program) refusals() []error {
	c := refuser{in: New(p, Config{}), seen: map[*ssa.Function]bool{}, said: map[string]bool{}}
	for _, pkg := range p.SSA.AllPackages() {
		if !p.own(pkg.Pkg) {
			continue
		}
		for _, m := range pkg.Members {
			switch m := m.(type) {
			case *ssa.Function:
				c.function(m)
			case *ssa.Type:
				c.methods(m.Type())
			}
		}
	}
	return c.errs
}

// own reports whether a package is the user's: what is embedded is tested.
func (p *Program) own(pkg *types.Package) bool {
	path := pkg.Path()
	return p.source[path] && !strings.HasPrefix(path, "tcdbg/") && !p.embedded[path]
}

type refuser struct {
	in   *Interp
	seen map[*ssa.Function]bool
	said map[string]bool
	errs []error
}

func (c *refuser) methods(t types.Type) {
	for _, t := range []types.Type{t, types.NewPointer(t)} {
		if n, ok := types.Unalias(t).(*types.Named); ok && n.TypeParams().Len() > 0 {
			return
		}
		set := c.in.Prog.SSA.MethodSets.MethodSet(t)
		for i := range set.Len() {
			if fn := set.At(i).Obj().(*types.Func); c.in.Prog.SSA.FuncValue(fn) != nil {
				c.function(c.in.Prog.SSA.FuncValue(fn))
			}
		}
	}
}

// function looks at the operands of a function of the program, and of those that
// were made for it.
func (c *refuser) function(fn *ssa.Function) {
	if c.seen[fn] || fn.TypeParams().Len() > len(fn.TypeArgs()) {
		return
	}
	c.seen[fn] = true
	for _, a := range fn.AnonFuncs {
		c.function(a)
	}
	for _, block := range fn.Blocks {
		for _, in := range block.Instrs {
			for _, v := range in.Operands(nil) {
				switch v := (*v).(type) {
				case *ssa.Function:
					c.use(v, in)
				case *ssa.Global:
					c.global(v, in)
				}
			}
		}
	}
}

func (c *refuser) use(fn *ssa.Function, at ssa.Instruction) {
	switch {
	case fn.Blocks == nil:
		if !c.in.callable(fn) {
			c.refuse(at, fullName(fn), fn.Origin() != nil)
		}
	case fn.Pkg == nil || c.in.Prog.own(fn.Pkg.Pkg): // the program's, an instance or a wrapper
		c.function(fn)
	}
}

// callable reports whether a function without body can be called.
func (in *Interp) callable(fn *ssa.Function) bool {
	if fn.Name() == "init" && fn.Signature.Recv() == nil {
		return true
	}
	b := in.bind(fn)
	return b.code != nil || b.intrinsic != nil || b.thunk != nil
}

func (c *refuser) global(g *ssa.Global, at ssa.Instruction) {
	path := g.Pkg.Pkg.Path()
	if pkg := c.in.nativePkg(path); pkg != nil && !c.in.Prog.interpreted(path) && token.IsExported(g.Name()) && pkg.Vars[g.Name()] == nil {
		c.refuse(at, path+"."+g.Name(), false)
	}
}

func (c *refuser) refuse(at ssa.Instruction, name string, generic bool) {
	why := "tcdbg has no binding for it"
	if generic {
		why = "it is generic, and tcdbg has no code for it"
	}
	c.say(at, name+" cannot be used under tcdbg: "+why+"; write out what it does, or use go run")
}

func (c *refuser) say(at ssa.Instruction, text string) {
	pos := c.in.Prog.Pos(at)
	key := fmt.Sprint(pos, text)
	if c.said[key] {
		return
	}
	c.said[key] = true
	c.errs = append(c.errs, placedError{pos, text})
}

// placedError is an error with the place of what it is about.
type placedError struct {
	pos  token.Position
	text string
}

func (e placedError) Error() string { return e.pos.String() + ": " + e.text }
