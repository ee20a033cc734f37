package rewrite

import (
	"errors"
	"testing"

	"tcdbg/explain"
)

// Hunks of several rewrites of a file are one diff: what two share is there once, near ones
// share their context.
func TestUnified(t *testing.T) {
	lines := []string{"a", "b", "\tc", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", ""}
	first := []explain.Hunk{{Line: 3, Lines: []string{"- c", "+ C", "+ CC"}}}
	second := []explain.Hunk{
		{Line: 3, Lines: []string{"- c", "+ C", "+ CC"}},
		{Line: 6, Lines: []string{"- f"}},
		{Line: 14, Lines: []string{"  n", "- o", "+ O"}},
	}
	joined, err := Join(first, second)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unified("x.py", lines, joined)
	if err != nil {
		t.Fatal(err)
	}
	want := `--- a/x.py
+++ b/x.py
@@ -1,9 +1,9 @@
 a
 b
-	c
+	C
+	CC
 d
 e
-f
 g
 h
 i
@@ -11,5 +11,5 @@
 k
 l
 m
 n
-o
+O
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if _, err := Join(first, []explain.Hunk{{Line: 2, Lines: []string{"- b", "- c"}}}); !errors.Is(err, ErrOverlap) {
		t.Errorf("two changes of a line: %v", err)
	}
}
