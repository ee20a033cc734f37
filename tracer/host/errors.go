package host

import (
	"fmt"
	"go/types"
	"strings"
)

// This file is the run-time errors that Go does not raise for us.

// runtimeError is a run-time error of the program: it is a runtime.Error.
type runtimeError struct{ text string }

func runtimeErrorf(format string, args ...any) runtimeError {
	return runtimeError{fmt.Sprintf(format, args...)}
}

// RuntimeError marks e as a runtime.Error.
func (e runtimeError) RuntimeError() {}

func (e runtimeError) Error() string { return "runtime error: " + e.text }

// unsupported is what the interpreter cannot run; the program cannot recover
// from it.
type unsupported string

func (e unsupported) Error() string { return string(e) }

// stackOverflow ends the program: as in Go, it is no panic.
type stackOverflow struct{}

func (stackOverflow) Error() string { return "stack overflow" }

// typeString is the text of a type in run-time errors and for %T: packages by
// their name, interface{} for any.
func typeString(t types.Type) string {
	s := types.TypeString(unalias(t), func(p *types.Package) string { return p.Name() })
	return replaceAny(s)
}

// unalias replaces aliases in the types that types are mostly made of.
func unalias(t types.Type) types.Type {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return types.NewPointer(unalias(t.Elem()))
	case *types.Slice:
		return types.NewSlice(unalias(t.Elem()))
	case *types.Array:
		return types.NewArray(unalias(t.Elem()), t.Len())
	case *types.Map:
		return types.NewMap(unalias(t.Key()), unalias(t.Elem()))
	case *types.Chan:
		return types.NewChan(t.Dir(), unalias(t.Elem()))
	default:
		return t
	}
}

// replaceAny prints the predeclared alias as the run time does.
func replaceAny(s string) string {
	if !strings.Contains(s, "any") && !strings.Contains(s, "byte") && !strings.Contains(s, "rune") &&
		!strings.Contains(s, "interface{") && !strings.Contains(s, "struct{") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && isWordByte(s[j]) {
			j++
		}
		if j == i {
			b.WriteByte(s[i])
			i++
			continue
		}
		w := s[i:j]
		qualified := i > 0 && s[i-1] == '.'
		switch {
		case qualified:
			b.WriteString(w)
		case w == "any":
			b.WriteString("interface {}")
		case w == "byte":
			b.WriteString("uint8")
		case w == "rune":
			b.WriteString("int32")
		case (w == "interface" || w == "struct") && j < len(s) && s[j] == '{':
			b.WriteString(w + " ")
			if j+1 < len(s) && s[j+1] != '}' {
				b.WriteString("{ ")
				j++
				// The matching brace gets its space too.
				s = spaceClosing(s, j)
			}
		default:
			b.WriteString(w)
		}
		i = j
	}
	return b.String()
}

// spaceClosing puts a space before the brace that closes the one before i.
func spaceClosing(s string, i int) string {
	depth := 1
	for k := i; k < len(s); k++ {
		switch s[k] {
		case '{':
			depth++
		case '}':
			depth--
			if depth == 0 {
				return s[:k] + " " + s[k:]
			}
		}
	}
	return s
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
