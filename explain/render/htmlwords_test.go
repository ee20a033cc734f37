package render

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/logs"
)

// TestLongNamesBreakBetweenParts: at the end of a line a long name breaks after a part of it, a short one does not, and
// the text is what it was.
func TestLongNamesBreakBetweenParts(t *testing.T) {
	for text, want := range map[string]string{
		"a short name": "a short name",
		"torch._dynamo.config.reorderable_logging_functions": "torch._|dynamo.|config.|reorderable_|logging_functions",
		"at /home/user/models/train_small.py:15 in f":        "at /home/|user/models/|train_small.py:15 in f",
		"0123456789abcdefghijklmnopqrstuvwxyz":               "0123456789abcdefgh|ijklmnopqrstuvwxyz",
		"<" + strings.Repeat("a", 20) + "_bbbbbbbbbb>":       "&lt;aaaaaaaaaaaaaaaaa|aaa_bbbbbbbbbb&gt;",
		"日本語の長い名前日本語の長い名前日本語の長い名前日本語":                        "日本語の長い名前日本語の長い名前日本語の長い名前日本語",
	} {
		h := &htmlElements{b: &bytes.Buffer{}}
		h.words(text)
		if got := strings.ReplaceAll(h.b.String(), "<wbr>", "|"); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestNoBreaksInCode: code and attributes have no places to break.
func TestNoBreaksInCode(t *testing.T) {
	name := "a_very_long_name_of_a_function_that_breaks"
	pos := logs.Pos{File: "/home/user/models/" + name + ".py", Line: 1, Func: name, Code: name + "(x)"}
	b := &explain.Break{Pos: pos, Code: "GB0059", Compile: &explain.Compile{Frame: &explain.Frame{Name: name, Pos: pos}}}
	r := &explain.Report{
		Breaks: []*explain.BreakGroup{{Key: "k", Lead: b, Breaks: []*explain.Break{b}}},
	}
	var page bytes.Buffer
	if err := WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), "<wbr>") {
		t.Error("no name may break")
	}
	for _, in := range regexp.MustCompile(`(?s)<pre.*?</pre>|="[^"]*<wbr>`).FindAllString(page.String(), -1) {
		if strings.Contains(in, "<wbr>") {
			t.Errorf("a place to break: %q", in)
		}
	}
}
