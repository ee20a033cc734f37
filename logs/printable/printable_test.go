package printable

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":              "plain",
		"é 漢 👩\u200d💻":       "é 漢 👩\u200d💻",
		"a\tb":               "a    b",
		"\x1b[2J":            `\x1b[2J`,
		"a\x9bb\u009bc":      `a\x9bb\x9bc`,
		"x\u202ey":           `x\u202ey`,
		"one\u2028two\r\n":   `one\u2028two\x0d\x0a`,
		"\xff\xfe":           `\xff\xfe`,
		"tag \U000e0041":     `tag \U000e0041`,
		"a real \ufffd mark": "a real \ufffd mark",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

// FuzzClean: nothing that acts is left, and what does not act is all there.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "a\x1b]0;x\a", "\xf0\x9f", "\u202e\u2066"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, Acts) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q gives %q", s, got)
		}
		if utf8.ValidString(s) && !strings.ContainsFunc(s, Acts) && got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
