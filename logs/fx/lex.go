package fx

import "strings"

// dropClears cuts ";  x = y = None" at the end of a statement.
func dropClears(s string) string {
	for {
		i := strings.LastIndex(s, ";")
		if i < 0 {
			return strings.TrimRight(s, " ")
		}
		tail := strings.TrimSpace(s[i+1:])
		if tail != "" && !strings.HasSuffix(tail, "= None") {
			return strings.TrimRight(s, " ")
		}
		s = s[:i]
	}
}

// nesting follows a text through its brackets and quotes.
type nesting struct {
	depth int
	quote byte
}

// outside takes the next byte of the text, and reports whether it is outside
// of all brackets and quotes and is none of them.
func (n *nesting) outside(ch byte) bool {
	switch {
	case n.quote != 0:
		if ch == n.quote {
			n.quote = 0
		}
	case ch == '"' || ch == '\'':
		n.quote = ch
	case ch == '(' || ch == '[' || ch == '{':
		n.depth++
	case ch == ')' || ch == ']' || ch == '}':
		n.depth--
	default:
		return n.depth == 0
	}
	return false
}

// cutAssign cuts at the first " = " outside of brackets and quotes.
func cutAssign(s string) (lhs, rhs string, ok bool) {
	var n nesting
	for i := 0; i+2 < len(s); i++ {
		if n.outside(s[i]) && s[i] == ' ' && s[i+1] == '=' && s[i+2] == ' ' {
			return s[:i], strings.TrimSpace(s[i+3:]), true
		}
	}
	return s, "", false
}

// cutCall cuts "head(args)" where the closing bracket ends s.
func cutCall(s string) (head, args string, ok bool) {
	if !strings.HasSuffix(s, ")") {
		return s, "", false
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			depth--
			if depth == 0 {
				if s[i] != '(' || i == 0 {
					return s, "", false
				}
				return s[:i], s[i+1 : len(s)-1], true
			}
		}
	}
	return s, "", false
}

// splitTop splits at sep outside of brackets and quotes.
func splitTop(s string, sep byte) []string {
	var out []string
	var n nesting
	start := 0
	for i := 0; i < len(s); i++ {
		if n.outside(s[i]) && s[i] == sep {
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

func cutLastDot(s string) (before, after string) {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+1:]
}

// headName is the identifier that an expression begins with.
func headName(s string) string {
	i := 0
	for i < len(s) && (letter(s[i]) || i > 0 && s[i] >= '0' && s[i] <= '9') {
		i++
	}
	return s[:i]
}

func identifier(s string) bool { return s != "" && headName(s) == s }

func identifierPath(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !identifier(part) {
			return false
		}
	}
	return true
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
