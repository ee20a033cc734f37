package codecache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tcdbg/internal/test/faults"
)

// asFill makes the test binary fill the cache in a folder, and nothing else.
const asFill = "TCDBG_TEST_FILL"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asFill); dir != "" {
		os.Exit(fill(dir))
	}
	os.Exit(m.Run())
}

// fill asks for an entry and prints what was loaded.
func fill(dir string) int {
	c, err := Open(dir, 0, func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) })
	if err == nil {
		_, err = c.Load(Request{
			Kind: "graph", Parts: []string{"a"},
			Build: func(_, out string) error { return os.WriteFile(out, []byte("code of a"), 0o600) },
			Load: func(path string) error {
				text, err := os.ReadFile(path)
				if err == nil {
					fmt.Printf("%.9s\n", text)
				}
				return err
			},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestCacheOnABrokenDisk has each call to the disk of a process that fills the cache, and
// of one that loads from it, fail in its turn: what is loaded is what was built, an error
// is one line, and the process after it finds a cache as good as new.
func TestCacheOnABrokenDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, filled := range []bool{false, true} {
		for _, call := range faults.Kinds() {
			tried, failed := 0, 0
			for n := 1; ; n++ {
				base := t.TempDir()
				dir := filepath.Join(base, "cache")
				if filled {
					open(t, dir, 0).want("a", false)
				}
				r := faults.Run(t, []string{self}, append(os.Environ(), asFill+"="+dir),
					faults.Fault{Call: call, N: n, Errno: syscall.EIO, Under: []string{base}})
				if r.Failed == "" {
					break
				}
				tried++
				what := fmt.Sprintf("filled %t, %s number %d (%s)", filled, call, n, r.Failed)
				if r.Code != 0 {
					failed++
				}
				if r.Code == 0 && r.Stdout != "code of a\n" || strings.Trim(r.Stdout, "\n") != "" && r.Stdout != "code of a\n" ||
					r.Code > 1 || r.Code == 1 && r.Stderr == "" || strings.Count(r.Stderr, "\n") > 2 {
					t.Errorf("%s: exit %d, %q, %q", what, r.Code, r.Stdout, r.Stderr)
				}
				c := open(t, dir, 0)
				if _, err := c.get("a"); err != nil || len(c.said) > 0 {
					t.Errorf("%s: the next process: %v, %q", what, err, c.said)
				}
				c.want("a", true)
				for _, e := range c.list() {
					if !strings.HasPrefix(e.Name(), lockPrefix) && !strings.HasPrefix(e.Name(), "graph-") {
						t.Errorf("%s: left %s", what, e.Name())
					}
				}
			}
			t.Logf("filled %t, %s: %d tried, %d ended with an error", filled, call, tried, failed)
		}
	}
}
