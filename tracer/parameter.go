package tracer

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// This file tells parameters from other inputs. A backend computes once what depends
// on parameters alone, so an activation must not pass for one.

// changing are the sources of the trace's inputs that are no parameters: what was
// computed from one (an activation that a break has made an input), what hangs below
// no object of an object, and what the compiled function itself sets.
func (c *Compiled) changing(tr *trace) map[string]bool {
	out := map[string]bool{}
	for t, in := range tr.inputOf {
		switch {
		case t.RequiresGrad():
			out[in.src.name] = !t.IsLeaf()
		case in.src.fields() < 2:
			out[in.src.name] = true
		default:
			out[in.src.name] = in.src.isSet(c.setFields())
		}
	}
	return out
}

// fields counts the fields on the way from what the program names to s.
func (s *source) fields() int {
	n := 0
	for ; s != nil; s = s.parent {
		if s.kind == srcField {
			n++
		}
	}
	return n
}

// fieldID is a field of a struct type.
type fieldID struct {
	of    string
	index int
}

func fieldOf(t types.Type, index int) fieldID {
	return fieldID{types.TypeString(t, nil), index}
}

// isSet reports whether a field on the way to s is among set.
func (s *source) isSet(set map[fieldID]bool) bool {
	for ; s != nil; s = s.parent {
		if s.kind == srcField && set[fieldOf(s.parent.typ, s.index)] {
			return true
		}
	}
	return false
}

// setFields are the fields that the compiled function, its closures and what it calls
// by name store to: themselves, or an element of the slice or map in them.
func (c *Compiled) setFields() map[fieldID]bool {
	c.fieldsOnce.Do(func() {
		c.fieldsSet = map[fieldID]bool{}
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
				c.fieldsSet[fieldOf(p.X.Type().Underlying().(*types.Pointer).Elem(), p.Field)] = true
			}
			return
		default:
			return
		}
	}
}
