package explain

import (
	"strings"

	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// This file reads breaks whose cause is a backend that could not trace the graph: they are at the line of the operator
// that it came to, not where the graph ends.

// backendMark opens the message on such a break with the whole traceback: "WON'T CONVERT f /w/m.py line 6". A warning
// without the reason follows, and from 2.7 on a message of a break as others.
const (
	backendMark    = "WON'T CONVERT "
	backendWarning = "Backend compiler failed with "
)

// parseBackend reads the message with the traceback.
func parseBackend(text string) *BreakText {
	error, _, _ := strings.Cut(text, "\n\nWhile executing %")
	b := &BreakText{Blocks: []BreakBlock{{
		Typ: "Backend compiler exception", Code: breaks.BackendFailed, Explanation: FirstLine(LastError(error)), Context: executing(text),
	}}}
	b.placeExecuting()
	if b.Place.File == "" {
		head, _, _ := strings.Cut(strings.TrimPrefix(text, backendMark), "\n")
		name, rest, _ := strings.Cut(head, " ")
		if at := strings.LastIndex(rest, " line "); at > 0 {
			b.Place = logs.Pos{File: rest[:at], Line: Atoi(rest[at+len(" line "):]), Func: name}
		}
	}
	return b
}

// executing is the part of a message that names the operator.
func executing(text string) string {
	if _, rest, ok := strings.Cut(text, "While executing %"); ok {
		rest, _, _ = strings.Cut(rest, "\n\n")
		return "While executing %" + rest
	}
	return ""
}

// placeExecuting places a break of a backend at the line of the operator that the backend could not trace.
func (b *BreakText) placeExecuting() {
	if len(b.Blocks) == 0 || b.Blocks[0].Code != breaks.BackendFailed {
		return
	}
	if _, stack, _ := Executing(b.Blocks[0].Context); len(stack) > 0 {
		b.Stack, b.Place = stack, stack[len(stack)-1]
	}
}
