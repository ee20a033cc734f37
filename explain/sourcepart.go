package explain

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/logs"
)

// This file handles source files of which only a part is available, as in a bundle: what replaces
// the missing lines, and which lines advice needs besides those that a trace names.

// notHere replaces a line that was left out. It is written as a comment, so that a Go file still parses.
const notHere = "not in this bundle"

// LeftOutLine stands for a line of a file that was left out.
func LeftOutLine(file string) string {
	if filepath.Ext(file) == ".go" {
		return "// " + notHere
	}
	return "# " + notHere
}

// LeftOut says whether a line stands for one that was left out.
func LeftOut(line string) bool { return line == "# "+notHere || line == "// "+notHere }

// LeftOutFrom counts the lines that were left out, from the line n on, of which the first is 1.
func LeftOutFrom(lines []string, n int) int {
	k := 0
	for n >= 1 && n-1+k < len(lines) && LeftOut(lines[n-1+k]) {
		k++
	}
	return k
}

// Asked are the lines of a file that were asked for, in no order: functions, and what was
// searched for in the file and found.
func (s *Source) Asked(file string) []Extent {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.asked[file]))
}

func (s *Source) ask(file string, e Extent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string]map[Extent]bool{}
	}
	if s.asked[file] == nil {
		s.asked[file] = map[Extent]bool{}
	}
	s.asked[file][e] = true
}

// Has says whether a line of the file that a place is in is one that is looked for.
func (s *Source) Has(p logs.Pos, is func(line string) bool) bool {
	i := slices.IndexFunc(s.File(p), is)
	if i >= 0 {
		s.ask(p.File, Extent{i + 1, i + 1})
	}
	return i >= 0
}

// About is the file that a place is in with those of its lines that tell of an attribute, or of
// the key at the end of an expression; the others are empty. They are the lines that name it,
// those that name a variable which is made of it, those that set attributes by any name, and the
// first lines of the functions in which these are. Nil where File is.
func (s *Source) About(p logs.Pos, expr string) []string {
	lines := s.File(p)
	if lines == nil {
		return nil
	}
	tells := telling(lines, expr)
	out := make([]string, len(lines))
	def := -1
	for i, l := range lines {
		if opensFunction(l) {
			def = i
		}
		if !tells[i] && !strings.Contains(l, "setattr(") {
			continue
		}
		for _, at := range []int{def, i} {
			if at >= 0 && out[at] == "" {
				out[at] = lines[at]
				s.ask(p.File, Extent{at + 1, at + 1})
			}
		}
	}
	return out
}

// telling says which lines tell of an attribute or a key.
func telling(lines []string, expr string) []bool {
	tells := make([]bool, len(lines))
	if at := strings.LastIndexByte(expr, '['); at >= 0 && strings.HasSuffix(expr, "]") {
		key := strings.ReplaceAll(expr[at:], `"`, "'")
		for i, l := range lines {
			tells[i] = strings.Contains(strings.ReplaceAll(l, `"`, "'"), key)
		}
		return tells
	}
	attribute := expr[strings.LastIndexByte(expr, '.')+1:]
	if !plainName(attribute) {
		return tells
	}
	names := []string{"." + attribute}
	for k := 0; k < len(names); k++ { // grows
		for i, l := range lines {
			if !named(l, names[k]) && (k > 0 || !strings.Contains(l, "maxlen") || !named(l, attribute)) {
				continue
			}
			tells[i] = true
			target, value, set := strings.Cut(l, " = ")
			target = strings.TrimSpace(target)
			if set && named(value, names[k]) && plainName(target) && !slices.Contains(names, target) {
				names = append(names, target)
			}
		}
	}
	return tells
}

// named says whether a line has a name as a word.
func named(line, name string) bool {
	for from := 0; ; {
		i := strings.Index(line[from:], name)
		if i < 0 {
			return false
		}
		at, end := from+i, from+i+len(name)
		before := name[0] == '.' || at == 0 || !LetterOrDigit(line[at-1])
		if before && (end == len(line) || !LetterOrDigit(line[end])) {
			return true
		}
		from = end
	}
}

func plainName(s string) bool {
	for i := range len(s) {
		if !LetterOrDigit(s[i]) {
			return false
		}
	}
	return s != ""
}
