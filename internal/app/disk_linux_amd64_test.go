package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/internal/test/faults"
)

// TestFixesOnABrokenDisk has each call to the disk of a fix that is written, and of one
// that is taken back, fail in its turn: the file is the old one or the new one, as was
// said, with its mode, and nothing else is left beside it.
func TestFixesOnABrokenDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range test.Some(t, 1, []int{2, 1}) {
		for _, undo := range []string{"", "1"} {
			for _, call := range faults.Kinds() {
				tried := 0
				for n := 1; ; n++ {
					dir, state := t.TempDir(), t.TempDir()
					path := filepath.Join(dir, "model.go")
					if err := os.WriteFile(path, []byte(textBefore), 0o640); err != nil {
						t.Fatal(err)
					}
					if names == 2 {
						if err := os.Link(path, filepath.Join(state, "other")); err != nil {
							t.Fatal(err)
						}
					}
					env := append(os.Environ(), asFix+"="+dir, "TCDBG_TEST_UNDO="+undo, "XDG_STATE_HOME="+state)
					r := faults.Run(t, []string{self}, env, faults.Fault{Call: call, N: n, Errno: syscall.EIO, Under: []string{dir, state}})
					if r.Failed == "" {
						break
					}
					tried++
					checkFix(t, fmt.Sprintf("%d names, undo %q, %s number %d (%s)", names, undo, call, n, r.Failed), path, r)
				}
				t.Logf("%d names, undo %q: %s: %d tried", names, undo, call, tried)
			}
		}
	}
}

func checkFix(t *testing.T, what, path string, r faults.Result) {
	t.Helper()
	want := textBefore
	if strings.HasPrefix(r.Stdout, "fixed") && !strings.Contains(r.Stdout, "undone") {
		want = textAfter
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want {
		t.Errorf("%s: it says %q and %q, and the file holds %q, %v", what, r.Stdout, r.Stderr, text, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode() != 0o640 {
		t.Errorf("%s: the mode is %v, %v", what, st.Mode(), err)
	}
	if (r.Code == 0) != (r.Stderr == "") || strings.Count(r.Stderr, "\n") > 1 || strings.Contains(r.Stderr, "panic") {
		t.Errorf("%s: exit %d: %s", what, r.Code, r.Stderr)
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if len(left) > 0 && !strings.HasPrefix(r.Failed, "remove") {
		t.Errorf("%s: left %q", what, left)
	}
}
