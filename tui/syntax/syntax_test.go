package syntax

import (
	"testing"

	"tcdbg/tui/theme"
)

// Each lexer tells keywords, text, comments and calls apart and loses nothing.
func TestLine(t *testing.T) {
	var h Highlighter
	for _, c := range []struct {
		lang Lang
		text string
		part string
		want theme.Style
	}{
		{Go, "func bar(a *torch.Tensor) { // why", "func", theme.Magenta},
		{Go, "x := a.Add(1) // why", "// why", theme.Faint},
		{Python, "@triton.jit", "@triton.jit", theme.Blue},
		{Python, "def f(x): return 'text'", "'text'", theme.Green},
		{C, "    for (long i = 0; i < 10; i++) {", "for", theme.Magenta},
		{C, "float x = 1.5f;", "float", theme.Yellow},
		{FX, `add: "f32[8, 16]" = x + y;  x = None`, `"f32[8, 16]"`, theme.Yellow},
		{FX, "# File: m.py:3 in f, code: x", "# File: m.py:3 in f, code: x", theme.Faint},
		{Diff, "+ new", "+ new", theme.Green},
		{None, "as it is", "as it is", theme.Plain},
	} {
		line := h.Line(c.lang, c.text)
		if line.Text() != c.text {
			t.Errorf("%s: %q became %q", c.lang, c.text, line.Text())
		}
		found := false
		for _, s := range line {
			found = found || s.Text == c.part && s.Style == c.want
		}
		if !found {
			t.Errorf("%s: %q in %q is not in style %d: %v", c.lang, c.part, c.text, c.want, line)
		}
	}
}

// Any line comes back whole, in every language.
func FuzzLine(f *testing.F) {
	f.Add("x := `open", "\"\\")
	f.Add("'''doc", "/* open")
	f.Fuzz(func(t *testing.T, a, b string) {
		var h Highlighter
		for _, lang := range []Lang{Go, Python, C, FX, Diff, None} {
			text := theme.Clean(a + b)
			if got := h.Line(lang, text).Text(); got != text {
				t.Errorf("%s: %q became %q", lang, text, got)
			}
		}
	})
}
