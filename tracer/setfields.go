package tracer

import (
	"go/types"

	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file finds the fields that a compiled function sets: what they hold is no parameter,
// so that nothing that depends on it may be computed once.

// setFields are the fields that the compiled function, its closures and what it calls
// by name store to: themselves, or an element of the slice or map in them.
func (c *Compiled) setFields() map[value.FieldID]bool {
	c.fieldsOnce.Do(func() {
		c.fieldsSet = map[value.FieldID]bool{}
		seen := map[*ssa.Function]bool{}
		var visit func(fn *ssa.Function)
		visit = func(fn *ssa.Function) {
			if fn == nil || seen[fn] {
				return
			}
			seen[fn] = true
			for _, f := range fn.AnonFuncs {
				visit(f)
			}
			for _, b := range fn.Blocks {
				for _, in := range b.Instrs {
					c.noteSet(in)
					if call, ok := in.(ssa.CallInstruction); ok {
						visit(call.Common().StaticCallee())
					}
				}
			}
		}
		visit(c.fn)
	})
	return c.fieldsSet
}

// noteSet adds the field that an instruction stores to.
func (c *Compiled) noteSet(in ssa.Instruction) {
	var place ssa.Value
	switch in := in.(type) {
	case *ssa.Store:
		place = in.Addr
	case *ssa.MapUpdate:
		place = in.Map
	default:
		return
	}
	for {
		switch p := place.(type) {
		case *ssa.IndexAddr:
			place = p.X
		case *ssa.UnOp:
			place = p.X
		case *ssa.FieldAddr:
			if _, made := p.X.(*ssa.Alloc); !made { // else the fields of a literal
				c.fieldsSet[value.FieldOf(p.X.Type().Underlying().(*types.Pointer).Elem(), p.Field)] = true
			}
			return
		default:
			return
		}
	}
}
