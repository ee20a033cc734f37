package advice

import (
	"slices"
	"strings"
)

// This file asks the lines of the function that a finding is in, where the program's file
// can be read: what else breaks in a loop, where a number goes that a line reads.

// loop is the lines of the outermost loop that the line at fault is in, with its header,
// less that line itself; nil where the function cannot be read or has none around it.
func loop(f *Finding) []string {
	from := -1
	indent := depth(lineAt(f))
	for i := f.At - 1; i > 0 && i < len(f.Body); i-- { // the first line is the function's own
		line := f.Body[i]
		if blank(line) || depth(line) >= indent {
			continue
		}
		if indent = depth(line); opens(line, "for", "while") {
			from = i
		}
	}
	if from < 0 {
		return nil
	}
	to := from + 1
	for to < len(f.Body) && (blank(f.Body[to]) || depth(f.Body[to]) > depth(f.Body[from])) {
		to++
	}
	out := append([]string{}, f.Body[from:f.At]...)
	return append(out, f.Body[min(f.At+1, to):to]...)
}

// breaksElsewhere says whether another line of the loop around a finding may break, too: it
// asks for a value, or selects elements; true where the loop cannot be read.
func breaksElsewhere(f *Finding) bool {
	lines := loop(f)
	if lines == nil {
		return true
	}
	return has(strings.Join(lines, "\n"), "if ", "while ", "assert ", " < ", " > ", " == ", " <= ", " >= ", ".item(", ".tolist(", ".numpy(",
		"int(", "float(", "bool(", "nonzero(", "unique(", "mask", "print(")
}

// apart says whether the body of the loop around a finding is worth a function of its own: not
// where the line at fault is all of it, nor where a turn calls what it is given, for fn in fns: fn(x),
// of which each has entries of its own, or has it as an index, which a tensor breaks at.
func apart(f *Finding) bool {
	lines := loop(f)
	if lines == nil || !slices.ContainsFunc(lines[1:], func(line string) bool { return !blank(line) }) {
		return false
	}
	for _, target := range targets(lines[0]) {
		for _, line := range append(lines[1:len(lines):len(lines)], lineAt(f)) {
			code, _, _ := strings.Cut(line, "#")
			if called(code, target) || indexed(code, target) {
				return false
			}
		}
	}
	return true
}

// targets are the names that a for loop gives its elements.
func targets(header string) []string {
	names, _, ok := strings.Cut(strings.TrimSpace(header), " in ")
	names, isFor := strings.CutPrefix(names, "for ")
	if !ok || !isFor {
		return nil
	}
	return strings.FieldsFunc(names, func(c rune) bool { return c < 128 && !wordByte(byte(c)) })
}

// called says whether a line calls a name, fn(x).
func called(code, name string) bool {
	at := wordAt(code, name)
	return at >= 0 && (strings.HasPrefix(code[at+len(name):], "(") || called(code[at+len(name):], name))
}

// indexed says whether a line has a name in an index, x[i].
func indexed(code, name string) bool {
	for from := 0; ; {
		at := wordAt(code[from:], name)
		if at < 0 {
			return false
		}
		depth := 0
		for i, c := range code[:from+at] {
			switch {
			case c == '[' && (depth > 0 || i > 0 && (wordByte(code[i-1]) || code[i-1] == ']' || code[i-1] == ')')):
				depth++
			case c == ']':
				depth = max(depth-1, 0)
			}
		}
		if depth > 0 {
			return true
		}
		from += at + len(name)
	}
}

// LostLoop says what a break within a loop costs more, and what saves that: the body compiled
// by itself does where nothing else of it breaks, else each of its parts has entries of its own.
func LostLoop(f *Finding) string {
	const lost = " A break within a loop leaves the whole function eager: "
	if loop(f) == nil || breaksElsewhere(f) || !apart(f) { // nil: in what a loop calls, or not to be read
		return lost + "leave the loop outside of the compiled function."
	}
	return lost + "in place of the whole, compile the loop's body as a function of its own."
}

// computesOn says whether the body of the loop that a line begins goes on with what it computes, and
// puts nothing into an object, usage[e] += c, which is to stay a number; false where it cannot be read.
func computesOn(f *Finding) bool {
	if f.At >= len(f.Body) {
		return false
	}
	lines := 0
	for _, line := range f.Body[f.At+1:] {
		switch code, _, _ := strings.Cut(line, "#"); {
		case blank(line):
		case depth(line) <= depth(f.Body[f.At]):
			return lines > 0
		case keeps(strings.TrimSpace(code)):
			return false
		default:
			lines++
		}
	}
	return lines > 0
}

func lineAt(f *Finding) string {
	if f.At < len(f.Body) {
		return f.Body[f.At]
	}
	return ""
}

// depth is how far a line is indented.
func depth(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// blank says whether a line is empty, or a comment alone.
func blank(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}

// enclosing says whether a name that a function reads is of the function around it: no argument
// and set by no line. False where the function cannot be read.
func enclosing(f *Finding) bool {
	if len(f.Body) == 0 || !identifier(f.Name) {
		return false
	}
	signature := true
	for _, line := range f.Body {
		code, _, _ := strings.Cut(line, "#")
		if signature {
			if wordAt(code, f.Name) >= 0 {
				return false
			}
			signature = !strings.HasSuffix(strings.TrimSpace(code), ":")
			continue
		}
		target, _, set := strings.Cut(code, "=")
		binds := opens(code, "for", "with", "import", "from", "global") || set && !strings.ContainsAny(target, "[.(")
		if binds && wordAt(target, f.Name) >= 0 {
			return false
		}
	}
	return !signature
}

// keptLater says whether the number that a line reads into a variable, or what is computed of
// it, goes on into an object that was not made in the function: kl = x.item(), self.kls.append(kl).
func keptLater(f *Finding) bool {
	name, _, ok := strings.Cut(strings.TrimSpace(f.Line), " = ")
	if !ok || !identifier(name) || f.At >= len(f.Body) {
		return false
	}
	names := []string{name}
	for _, line := range f.Body[f.At+1:] {
		code, _, _ := strings.Cut(line, "#")
		if !slices.ContainsFunc(names, func(n string) bool { return wordAt(code, n) >= 0 }) {
			continue
		}
		if keeps(code) && !madeHere(f, code) {
			return true
		}
		if target, _, set := strings.Cut(strings.TrimSpace(code), " = "); set && identifier(target) && !slices.Contains(names, target) {
			names = append(names, target)
		}
	}
	return false
}

// madeHere says whether the object that a line puts something into, out[name] = x, is set by
// a line of the function.
func madeHere(f *Finding, code string) bool {
	root := strings.TrimSpace(code)
	if end := strings.IndexFunc(root, func(c rune) bool { return c > 127 || !wordByte(byte(c)) }); end >= 0 {
		root = root[:end]
	}
	return slices.ContainsFunc(f.Body, func(line string) bool {
		target, _, set := strings.Cut(strings.TrimSpace(line), " = ")
		return set && root != "" && wordAt(target, root) >= 0 && !strings.ContainsAny(target, ".[(")
	})
}

// onlyComputes says whether the lines of a file count with an attribute, or compute with it,
// and do no more: none branches on it, has it as an index or hands it to a function, which may
// need its value. What a line sets from it is followed; false where there are no lines.
func onlyComputes(lines []string, attribute string) bool {
	if len(lines) == 0 || !identifier(attribute) {
		return false
	}
	names := []string{"." + attribute}
	for k := 0; k < len(names); k++ { // grows
		for _, line := range lines {
			code, _, _ := strings.Cut(line, "#")
			at := wordAt(code, names[k])
			if at < 0 {
				continue
			}
			target, value, set := strings.Cut(code, " = ")
			target = strings.TrimSpace(target)
			switch {
			case asks(code), within(code[:at]):
				return false
			case !set || wordAt(value, names[k]) < 0 || strings.HasSuffix(target, names[0]):
			case identifier(target) && !slices.Contains(names, target):
				names = append(names, target)
			case !identifier(target): // another object keeps it
				return false
			}
		}
	}
	return true
}

// setOnce says whether a line of a constructor sets an attribute and no other line of the file
// does: what changes then is not the attribute but the object. False where there are no lines.
func setOnce(lines []string, attribute string) bool {
	sets, constructs := 0, false
	for _, line := range lines {
		code, _, _ := strings.Cut(line, "#")
		if has(code, "setattr(") {
			return false
		}
		if opens(code, "def", "async") {
			constructs = has(code, " __init__(")
		}
		at := wordAt(code, "."+attribute)
		if at < 0 {
			continue
		}
		if target, _, set := strings.Cut(code[at:], "="); set && !strings.ContainsAny(target, "()[]:") && !has(code[at:], "==") {
			if sets++; !constructs {
				return false
			}
		}
	}
	return sets == 1 && identifier(attribute)
}

// asks says whether a line may ask what a number is.
func asks(code string) bool {
	return opens(code, "if", "elif", "while", "assert", "for", "match", "case") ||
		has(code, " if ", " and ", " or ", "not ", " in ", "==", "!=", "<", ">", "%", "{", "lambda", "def ")
}

// within says whether what comes after the beginning of a line is in a call's arguments or an index.
func within(before string) bool {
	var open []bool // brackets: those of a call or an index
	for i, c := range before {
		switch c {
		case '(', '[':
			open = append(open, c == '[' || i > 0 && wordByte(before[i-1]))
		case ')', ']':
			open = open[:max(len(open)-1, 0)]
		}
	}
	return slices.Contains(open, true)
}

// wordAt finds a name as a word, -1 where there is none; one that begins with a dot is an attribute.
func wordAt(code, name string) int {
	for from := 0; ; {
		i := strings.Index(code[from:], name)
		if i < 0 {
			return -1
		}
		at := from + i
		end := at + len(name)
		before := name[0] == '.' || at == 0 || !wordByte(code[at-1]) && code[at-1] != '.'
		if before && (end == len(code) || !wordByte(code[end])) {
			return at
		}
		from = end
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func identifier(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// Parameter says whether a name is an argument of a Python function, which no line up to a given
// one binds to something else; known is false where the function cannot be read.
func Parameter(body []string, at int, name string) (is, known bool) {
	if len(body) == 0 || at >= len(body) || !identifier(name) {
		return false, false
	}
	signature := true
	for _, line := range body[:at+1] {
		code, _, _ := strings.Cut(line, "#")
		if signature {
			is = is || wordAt(code, name) >= 0
			signature = !strings.HasSuffix(strings.TrimSpace(code), ":")
			continue
		}
		if binds(code, name) {
			return false, true
		}
	}
	return is, !signature
}

// binds says whether a line gives a name another value.
func binds(code, name string) bool {
	if opens(code, "for", "with", "import", "from", "global", "nonlocal") || has(code, ":=") {
		return wordAt(code, name) >= 0
	}
	for i := 1; i+1 < len(code); i++ { // a target before each "=" that compares nothing
		if code[i] != '=' || code[i+1] == '=' || strings.IndexByte("=!<>:", code[i-1]) >= 0 {
			continue
		}
		target := strings.TrimRight(code[:i], " +-*/%@&|^")
		if wordAt(target, name) >= 0 && strings.Count(target, "(") == strings.Count(target, ")") {
			return true
		}
	}
	return false
}

// OnlyLine says whether one line alone of a function, its signature apart, has a name or an
// attribute, s.p; false where the function cannot be read.
func OnlyLine(body []string, name string) bool {
	if at := strings.LastIndexByte(name, '.'); at >= 0 {
		name = name[at:]
	}
	if !identifier(strings.TrimPrefix(name, ".")) {
		return false
	}
	signature, lines := true, 0
	for _, line := range body {
		code, _, _ := strings.Cut(line, "#")
		if signature {
			signature = !strings.HasSuffix(strings.TrimSpace(code), ":")
		} else if wordAt(code, name) >= 0 {
			lines++
		}
	}
	return lines == 1
}
