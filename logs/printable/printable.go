// Package printable keeps what strangers wrote from acting on a terminal: a trace, a log, a
// program's name or output may hold escapes that move the cursor, marks that turn the
// direction of a line, or bytes that are no text. What is such a character is decided here
// alone; how it is shown differs: escapes in reports (Clean), glyphs of one cell on screens.
//
// It imports nothing of ours. There is one file.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Acts reports whether r does something to a terminal or to the text around it instead of
// being shown: controls, format characters but the joiner within emoji, separators of lines
// and paragraphs.
func Acts(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r <= 0xff:
		return false
	}
	return r == 0x2028 || r == 0x2029 || r != 0x200d && unicode.Is(unicode.Cf, r)
}

// Map replaces what acts, and each byte that is not UTF-8 (r is then utf8.RuneError), by what
// spell makes of it. Text without any is returned as it is.
func Map(s string, spell func(r rune, raw string) string) string {
	at := firstActing(s)
	if at == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:at])
	for s = s[at:]; len(s) > 0; {
		r, n := utf8.DecodeRuneInString(s)
		if Acts(r) || r == utf8.RuneError && n == 1 {
			b.WriteString(spell(r, s[:n]))
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func firstActing(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			continue
		}
		for i < len(s) {
			r, n := utf8.DecodeRuneInString(s[i:])
			if Acts(r) || r == utf8.RuneError && n == 1 {
				return i
			}
			i += n
		}
	}
	return len(s)
}

// Clean writes escapes for what acts, as Go would in a string, and four spaces for a tab.
func Clean(s string) string {
	return Map(s, func(r rune, raw string) string {
		switch {
		case r == '\t':
			return "    "
		case r == utf8.RuneError:
			return fmt.Sprintf(`\x%02x`, raw[0])
		case r < 0x100:
			return fmt.Sprintf(`\x%02x`, r)
		case r > 0xffff:
			return fmt.Sprintf(`\U%08x`, r)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}
