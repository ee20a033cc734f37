// Package printable keeps what strangers wrote from acting on a terminal: a trace, a log, a
// program's name or output may hold escapes that move the cursor, marks that turn the
// direction of a line, or bytes that are no text. What is such a character is decided here
// alone, and how it is spelled; screens have glyphs for the controls of ASCII, and keep to this for
// the rest.
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
// being shown: controls, marks of direction and format, what takes no room (joiners, tags,
// selectors, fillers), separators of lines and paragraphs.
func Acts(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xad:
		return true
	case r <= 0xff:
		return false
	}
	return r == 0x2028 || r == 0x2029 || r == blank ||
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// blank is the Braille pattern without dots, which looks like a space.
const blank = 0x2800

// actsAfter is Acts but for the joiner and the selectors within emoji, which make one
// picture of several.
func actsAfter(before, r rune) bool {
	if r == 0x200d || r == 0xfe0e || r == 0xfe0f {
		return !(unicode.In(before, unicode.So, unicode.Sk) && before > 0xff || r == 0x200d && before == 0xfe0f)
	}
	return Acts(r)
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
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	for s = s[at:]; len(s) > 0; {
		r, n := utf8.DecodeRuneInString(s)
		if actsAfter(before, r) || r == utf8.RuneError && n == 1 {
			b.WriteString(spell(r, s[:n]))
			r = 0
		} else {
			b.WriteString(s[:n])
		}
		before, s = r, s[n:]
	}
	return b.String()
}

func firstActing(s string) int {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			continue
		}
		for before := rune(0); i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if actsAfter(before, r) || r == utf8.RuneError && n == 1 {
				return i
			}
			before = r
			i += n
		}
	}
	return len(s)
}

// Spell is the escape of what acts, as Go would write it in a string.
func Spell(r rune, raw string) string {
	switch {
	case r == utf8.RuneError:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// Clean writes escapes for what acts, and four spaces for a tab.
func Clean(s string) string {
	return Map(s, func(r rune, raw string) string {
		if r == '\t' {
			return "    "
		}
		return Spell(r, raw)
	})
}
