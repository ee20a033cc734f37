package explain

import "strings"

// LastError is the exception's message without the framework's traceback.
func LastError(text string) string {
	lines := strings.Split(text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		l := lines[i]
		if l == "" || l[0] == ' ' || l[0] == '\t' {
			continue
		}
		if j := strings.Index(l, ": "); j > 0 && IsExceptionName(l[:j]) {
			return strings.TrimSpace(strings.Join(lines[i:], "\n"))
		}
	}
	return strings.TrimSpace(text)
}

// IsExceptionName reports whether s names an exception of Python.
func IsExceptionName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !LetterOrDigit(s[i]) && s[i] != '.' {
			return false
		}
	}
	return s != "" && (strings.Contains(s, "Error") || strings.Contains(s, "exc.") || strings.Contains(s, "Exception"))
}

// ParseError reads the block within an error's text: under fullgraph it is the
// break that was not allowed.
func ParseError(text string) *BreakText {
	msg := LastError(text)
	if i := strings.Index(msg, ": "); i > 0 && IsExceptionName(msg[:i]) {
		msg = msg[i+2:]
	}
	if i := strings.Index(msg, "\nSet TORCHDYNAMO_VERBOSE=1"); i >= 0 {
		msg = msg[:i]
	}
	head, stack := cutStack(msg)
	b := &BreakText{Stack: ParseStack(stack)}
	b.parseBlocks(strings.Split(head, "\n"))
	if n := len(b.Stack); n > 0 {
		b.Place = b.Stack[n-1]
	}
	return b
}

// RecompileError is the type of a failure under error_on_recompile.
const RecompileError = "RecompileError"

// NotAllowed reads the message of a recompile that raised an error: where no reasons are
// recorded beside it, the message has them.
func NotAllowed(message string) (head string, reasons []string) {
	head, list, _ := strings.Cut(message, "\n")
	for line := range strings.SplitSeq(list, "\n") {
		text := strings.TrimSpace(line)
		item, listed := strings.CutPrefix(text, "- ")
		id, _, _ := strings.Cut(item, ": ")
		switch {
		case listed && isCompileID(id):
			reasons = append(reasons, item)
		case len(reasons) > 0 && text != "": // such as the guard's stack
			reasons[len(reasons)-1] += "\n" + strings.TrimPrefix(strings.TrimLeft(line, " "), "- ")
		}
	}
	return head, reasons
}

// FirstLine is the first line of s that is not empty.
func FirstLine(s string) string {
	s = strings.TrimLeft(s, "\n ")
	s, _, _ = strings.Cut(s, "\n")
	return s
}
