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
		"soft\u00adhyphen":   `soft\xadhyphen`,
		"pass\u200bword":     `pass\u200bword`,
		"a\u200db":           `a\u200db`,
		"a\u200cb\u2060c":    `a\u200cb\u2060c`,
		"\ufefftext":         `\ufefftext`,
		"a\u034fb\u115fc":    `a\u034fb\u115fc`,
		"a\u3164b\uffa0c":    `a\u3164b\uffa0c`,
		"a\u2800b":           `a\u2800b`,
		"a\ufe0fb\U000e0101": `a\ufe0fb\U000e0101`,
		"\u2065\U000e0fff":   `\u2065\U000e0fff`,
		"❤\ufe0f 🏳\ufe0f\u200d🌈 👍🏽": "❤\ufe0f 🏳\ufe0f\u200d🌈 👍🏽",
		"👩\u200d\u200d💻":            "👩\u200d\\u200d💻",
		"👩\u200d\ufe0f💻":            "👩\u200d\\ufe0f💻",
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
		if !utf8.ValidString(got) || Clean(got) != got || strings.ContainsFunc(got, unicode.IsControl) {
			t.Fatalf("%q gives %q", s, got)
		}
		if utf8.ValidString(s) && !strings.ContainsFunc(s, Acts) && got != s {
			t.Fatalf("%q became %q", s, got)
		}
	})
}
