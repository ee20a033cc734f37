package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// This file keeps out of JSON, which a person may print on a terminal, what encoding/json
// lets through: controls beyond ASCII and marks that turn the direction of text.

// JSONEncoder writes values whose strings are safe to print.
func JSONEncoder(w io.Writer) *json.Encoder {
	e := json.NewEncoder(safeJSON{w})
	e.SetEscapeHTML(false)
	return e
}

// safeJSON escapes in whole values.
type safeJSON struct{ w io.Writer }

// Write implements io.Writer.
func (s safeJSON) Write(text []byte) (int, error) {
	if _, err := s.w.Write(EscapeControls(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

// EscapeControls replaces in JSON, outside of whose strings there is nothing but ASCII.
func EscapeControls(text []byte) []byte {
	if bytes.IndexFunc(text, movesText) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if movesText(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

func movesText(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r > 0xa0 && unicode.Is(unicode.Bidi_Control, r)
}
