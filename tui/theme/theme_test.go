package theme

import (
	"strings"
	"testing"
)

// Colour comes from the terminal's palette; without it the attributes stay.
func TestStyles(t *testing.T) {
	if got := New(true).Render(Red|Bold, "x"); got != "\x1b[1;31mx\x1b[0m" {
		t.Errorf("%q", got)
	}
	if got := New(false).Render(Red|Bold, "x"); got != "\x1b[1mx\x1b[0m" {
		t.Errorf("without colour: %q", got)
	}
	if got := New(false).Render(Red, "x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
}

// Every theme tells the six states apart, and high contrast has no faint text.
func TestThemes(t *testing.T) {
	for _, name := range Names() {
		th := Named(name, true)
		seen := map[string]bool{}
		for _, s := range []Style{Red, Green, Yellow, Blue, Magenta, Cyan} {
			text := th.Render(s, "x")
			if seen[text] || text == "x" {
				t.Errorf("%s: %q is used twice, or is no colour", name, text)
			}
			seen[text] = true
		}
		if faint := th.Render(Faint, "x") != "x"; faint == (name == HighContrast) {
			t.Errorf("%s: faint text: %v", name, faint)
		}
		if got := Named(name, false).Render(Green, "x"); got != "x" {
			t.Errorf("%s without colour: %q", name, got)
		}
	}
	if got, want := Named("no such", true).Render(Red, "x"), New(true).Render(Red, "x"); got != want {
		t.Errorf("an unknown theme: %q, want %q", got, want)
	}
}

// NO_COLOR counts for any value that is not empty.
func TestUseColour(t *testing.T) {
	for env, want := range map[string]bool{"": true, "1": false, "0": false, "false": false} {
		get := func(k string) string { return map[string]string{"NO_COLOR": env, "TERM": "xterm"}[k] }
		if UseColour(get) != want {
			t.Errorf("NO_COLOR=%q: colour is %v", env, !want)
		}
	}
}

// Clean text holds nothing that acts on a terminal, and clean text stays.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"plain", "naïve ✂ 日本", "\x1b[2J", "\x00\x7f\u202e\u009b31m", "\xff\xfe", "tab\there", "a\r\nb"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c := Clean(s)
		if Clean(c) != c {
			t.Errorf("%q is not clean: %q", s, c)
		}
		for _, r := range c {
			if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e {
				t.Errorf("%q leaves %U", s, r)
			}
		}
	})
}

// Lines fit exactly, wherever wide characters fall.
func TestFit(t *testing.T) {
	l := Line{T(Red, "日本語"), T(Plain, "abc✂def")}
	for w := range 20 {
		if got := l.Fit(w).Width(); got != w {
			t.Errorf("fit to %d gives %d", w, got)
		}
		if got := Width(Fit("日本語abc", w)); got != w {
			t.Errorf("text fit to %d gives %d", w, got)
		}
		if got := Width(CutLeft("/a/long/日本/path.go", w)); got > w {
			t.Errorf("cut to %d gives %d", w, got)
		}
	}
}

// Wrapped lines are never wider than asked, and lose no word.
func TestWrap(t *testing.T) {
	text := "Which way the branch goes depends on numbers; see torch/_dynamo/symbolic_convert_with_a_long_name.py:2741, please.\n   " +
		" indented text that is long enough to wrap around"
	for w := 10; w < 90; w++ {
		lines := Wrap(text, w)
		for _, l := range lines {
			if Width(l) > w {
				t.Errorf("width %d: %q", w, l)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if got := squeeze(strings.Join(lines, " ")); got != squeeze(text) {
			t.Errorf("width %d loses text: %q", w, got)
		}
	}
}

// Mark shows every place of the query in either case.
func TestMark(t *testing.T) {
	got := Line{T(Plain, "add + Add_1")}.Mark("ADD")
	n := 0
	for _, s := range got {
		if s.Style&Reverse != 0 {
			n++
		}
	}
	if n != 2 || got.Text() != "add + Add_1" {
		t.Errorf("%v", got)
	}
}
