package explain

import (
	"strings"

	"tcdbg/tracer/breaks"
)

// unknownNumber says whether a branch asks a size or number that the compiler left
// without a value; such a branch chooses between programs, not between tensors.
func unknownNumber(b *Break) bool {
	return b.Code == breaks.DataDependentBranching && strings.Contains(b.Context, "SymNodeVariable")
}

// BuiltinName reads the built-in out of the context of a break at one:
// "builtin open [<class ...>] False", in older releases "builtin: open [...]" or
// "call_function BuiltinVariable(open) [...]"; "" where another cause broke.
func BuiltinName(b *Break) string {
	if b.Code != breaks.BuiltinPrint {
		return ""
	}
	for _, opening := range []string{"builtin ", "builtin: ", "call_function BuiltinVariable("} {
		if rest, ok := strings.CutPrefix(b.Context, opening); ok {
			if i := strings.IndexAny(rest, " )"); i > 0 {
				return rest[:i]
			}
			return rest
		}
	}
	return ""
}

// CodeOfFunction ends the name of a function whose code is checked.
const CodeOfFunction = ".__code__"

// PlainSource turns L['x'] and G['K'] into x and K, and what a Go function's literal
// captures, f.__closure__['n'], into n. In PyTorch's closures the cells have numbers.
func PlainSource(s string) string {
	for {
		function, rest, ok := strings.Cut(s, ".__closure__['")
		name, rest, closed := strings.Cut(rest, "']")
		if !ok || !closed {
			break
		}
		s = strings.TrimRightFunc(function, func(r rune) bool {
			return r != ' ' && r != '(' && r != '*' && r != '&' && r != '-'
		}) + name + rest
	}
	var b strings.Builder
	for {
		i := strings.Index(s, "['")
		if i < 0 {
			break
		}
		if i == 0 || s[i-1] != 'L' && s[i-1] != 'G' {
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		name, rest, ok := strings.Cut(s[i+2:], "']")
		if !ok || name == "" {
			break
		}
		b.WriteString(s[:i-1])
		b.WriteString(name)
		s = rest
	}
	b.WriteString(s)
	return valueOfDict(b.String())
}

// valueOfDict writes the values of a dict by their number as a program does:
// list(d.values())[0] for dict.__getitem__(d, list(dict.keys(d))[0]).
func valueOfDict(s string) string {
	before, rest, ok := strings.Cut(s, "dict.__getitem__(")
	dict, after, found := strings.Cut(rest, ", list(dict.keys(")
	after, same := strings.CutPrefix(after, dict+"))[")
	number, after, closed := strings.Cut(after, "])")
	if !ok || !found || !same || !closed || number == "" || strings.Trim(number, "0123456789") != "" {
		return s
	}
	return before + "list(" + dict + ".values())[" + number + "]" + after
}
