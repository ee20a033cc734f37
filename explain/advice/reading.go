package advice

import (
	"slices"
	"strings"
)

// This file asks of a line that reads a number out of a tensor what the number goes into.

// takesNumber names the function that the number goes into which a line reads out of a tensor,
// where a tensor would not do: round(x.item(), 3) fails for one, str(x.item()) gives another
// string, math.sqrt(x.item()) reads it out itself. "" where no such function is seen.
func takesNumber(f *Finding) string {
	at := readingAt(f)
	if at < 0 {
		return ""
	}
	var around []string // the functions in whose arguments the reading is
	for i, c := range f.Line[:at] {
		switch c {
		case '(', '[', '{':
			around = append(around, calleeBefore(f.Line[:i], c))
		case ')', ']', '}':
			around = around[:max(len(around)-1, 0)]
		}
	}
	for _, name := range slices.Backward(around) {
		if slices.Contains([]string{"round", "divmod", "str", "repr", "hex", "oct", "bin", "chr"}, name) ||
			strings.HasPrefix(name, "math.") {
			return name
		}
	}
	return ""
}

// readingAt is where a line reads the number that the break is about, -1 where that is not seen.
func readingAt(f *Finding) int {
	part := orElse(f.Expr, f.Line)
	how := strings.TrimSuffix(reading(part), "...)") // float(...)
	from := strings.Index(f.Line, part)
	if how == "" || from < 0 {
		return -1
	}
	return from + strings.Index(part, how)
}

// calleeBefore is the name that a bracket calls, "" where it calls none.
func calleeBefore(before string, bracket rune) string {
	if bracket != '(' {
		return ""
	}
	start := len(before)
	for start > 0 && (wordByte(before[start-1]) || before[start-1] == '.') {
		start--
	}
	return before[start:]
}

// mathCalled names the function of package math that the part of a line at fault calls, "" where
// it is none or the part is not known and the line calls several.
func mathCalled(f *Finding) string {
	part := f.Expr
	if at := strings.Index(f.Line, "math."); part == "" && at >= 0 && strings.Count(f.Line, "math.") == 1 {
		part = f.Line[at:]
	}
	name, _, ok := strings.Cut(part, "(")
	if fn, of := strings.CutPrefix(name, "math."); !ok || !of || !identifier(fn) {
		return ""
	}
	return name
}

// torchMath is the function of torch that computes what one of package math does, "" where there is none.
func torchMath(name string) string {
	fn, ok := strings.CutPrefix(name, "math.")
	if !ok || !slices.Contains(mathOfTorch, fn) {
		return ""
	}
	return "torch." + fn
}

// mathOfTorch are functions of one number that math and torch have alike.
var mathOfTorch = []string{
	"sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
	"isfinite", "isnan", "isinf",
}

// endsLoop says whether the loop around a line ends by the number that the line reads into a
// variable: err = x.item(), if err < tol: break.
func endsLoop(f *Finding) bool {
	name, _, ok := strings.Cut(strings.TrimSpace(f.Line), " = ")
	if !ok || !identifier(name) || reading(f.Line) == "" {
		return false
	}
	lines := loop(f)
	for i, line := range lines {
		if wordAt(line, name) < 0 || !opens(line, "if", "elif", "while") {
			continue
		}
		if opens(line, "while") || leaves(line, "break") || leaves(line, "return") {
			return true
		}
		for _, inner := range lines[i+1:] {
			if !blank(inner) && depth(inner) <= depth(line) {
				break
			}
			if word := strings.TrimSpace(inner); word == "break" || word == "return" || opens(inner, "return") {
				return true
			}
		}
	}
	return false
}
