package cpp

import "strings"

// This file takes comments out of a translation unit. They name lines and variables of
// the user's program, by which two graphs that are otherwise equal would be compiled, and
// kept, twice.

// withoutComments is C text without // comments and the lines that held nothing else.
func withoutComments(text string) string {
	var sb strings.Builder
	sb.Grow(len(text))
	for line := range strings.Lines(text) {
		code := line[:codeEnd(line)]
		if len(code) == len(line) {
			sb.WriteString(line)
			continue
		}
		if code = strings.TrimRight(code, " \t"); code != "" {
			sb.WriteString(code)
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

// codeEnd is where the comment of a line begins, or the line's length.
func codeEnd(line string) int {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch {
		case quoted && line[i] == '\\':
			i++
		case line[i] == '"':
			quoted = !quoted
		case !quoted && strings.HasPrefix(line[i:], "//"):
			return i
		}
	}
	return len(line)
}
