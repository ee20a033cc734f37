package value

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// This file answers what a path goes through: which fields, and whether its number may
// become an input.

// Openable reports whether the number at s is an argument, a part of one, or a
// captured variable.
func Openable(s *Source) bool {
	for ; s != nil; s = s.Parent {
		switch s.Kind {
		case Register, Free, Field, Dynamic:
		case Deref:
			if !capturedVariable(s.Parent) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// capturedVariable reports whether the pointer at s is to a variable of a function,
// which its closures share.
func capturedVariable(s *Source) bool {
	if s.Kind == Register {
		switch s.Reg.(type) {
		case *ssa.FreeVar, *ssa.Alloc:
			return true
		}
	}
	return s.Kind == Free
}

// Fields counts the fields on the way from what the program names to s.
func (s *Source) Fields() int {
	n := 0
	for ; s != nil; s = s.Parent {
		if s.Kind == Field {
			n++
		}
	}
	return n
}

// FieldID is a field of a struct type.
type FieldID struct {
	of    string
	index int
}

func FieldOf(t types.Type, index int) FieldID {
	return FieldID{types.TypeString(t, nil), index}
}

// IsSet reports whether a field on the way to s is among set.
func (s *Source) IsSet(set map[FieldID]bool) bool {
	for ; s != nil && len(set) > 0; s = s.Parent {
		if s.Kind == Field && set[FieldOf(s.Parent.Type, s.Index)] {
			return true
		}
	}
	return false
}
