package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"tcdbg/logs/printable"
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
	if bytes.IndexFunc(text, escaped) < 0 {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		if escaped(r) {
			out = appendEscape(out, r)
		} else {
			out = append(out, text[:n]...)
		}
		text = text[n:]
	}
	return out
}

// escaped is what encoding/json leaves as it is: it escapes controls of ASCII itself.
func escaped(r rune) bool { return r >= 0x7f && printable.Acts(r) }

func appendEscape(out []byte, r rune) []byte {
	for _, u := range utf16.Encode([]rune{r}) {
		out = fmt.Appendf(out, `\u%04x`, u)
	}
	return out
}
