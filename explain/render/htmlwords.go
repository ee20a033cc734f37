package render

import (
	"html"
	"strings"
)

// This file says where long names may break at the end of a line: between their parts. Without
// that a browser breaks them at any letter, and a narrow column breaks them at each.

const (
	longWord  = 20 // what is shorter stays on one line
	shortPart = 6  // no line begins or ends with less of a name
	longPart  = 18 // what has no parts, as a hash, breaks after so many
)

// words writes text of a trace as esc does, with places where long names may break. It is for
// text alone, not for attributes or code.
func (h *htmlElements) words(s string) {
	s = cleanLines(s)
	for len(s) > 0 {
		end := strings.IndexAny(s, " \n\t")
		if end < 0 {
			end = len(s)
		}
		h.word(s[:end])
		for end < len(s) && strings.IndexByte(" \n\t", s[end]) >= 0 {
			h.b.WriteByte(s[end])
			end++
		}
		s = s[end:]
	}
}

// word writes what has no space in it.
func (h *htmlElements) word(s string) {
	for len(s) > longWord {
		at := breakIn(s)
		if at == 0 {
			break
		}
		h.raw(html.EscapeString(s[:at]) + "<wbr>")
		s = s[at:]
	}
	h.raw(html.EscapeString(s))
}

// breakIn is where a long name may break first, 0 where it may not.
func breakIn(s string) int {
	for i, c := range s {
		switch {
		case i >= len(s)-shortPart:
			return 0
		case i+1 >= shortPart && strings.ContainsRune("_./,:=-[](){}|&", c) && !strings.ContainsRune("_./,:=-[](){}|&", rune(s[i+1])):
			return i + 1
		case i >= longPart && c < 0x80:
			return i
		}
	}
	return 0
}
