package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/rewrite"
)

// neg is a fix of three lines from line 2 on.
var neg = []explain.Hunk{{Line: 2, Lines: []string{"- if c {", "- \tx", "- }", "+ y"}}}

// A fix is written into the file it is for, and not where the lines are gone; it is
// taken back as a whole, and not where the file has changed since.
func TestApplyAndUndo(t *testing.T) {
	for name, text := range map[string]string{
		"unix":       "a\n\tif c {\n\t\tx\n\t}\nz\n",
		"dos":        "a\r\n\tif c {\r\n\t\tx\r\n\t}\r\nz\r\n",
		"no end":     "a\n\tif c {\n\t\tx\n\t}",
		"dos no end": "a\r\n\tif c {\r\n\t\tx\r\n\t}",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "model.go")
			if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
				t.Fatal(err)
			}
			f := &feed{root: dir}
			if err := f.Apply("model.go", neg); err != nil {
				t.Fatal(err)
			}
			end := "\n"
			if strings.Contains(text, "\r") {
				end = "\r\n"
			}
			want := "a" + end + "\ty"
			if strings.HasSuffix(text, "\n") {
				want += end + "z" + end
			}
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("the file is %q, want %q", got, want)
			}
			if err := f.Apply("model.go", neg); !errors.Is(err, rewrite.ErrWritten) {
				t.Errorf("the second time gives %v", err)
			}
			if _, err := f.Undo(); err != nil {
				t.Fatal(err)
			}
			if got, _ := os.ReadFile(path); string(got) != text {
				t.Errorf("undone, the file is %q", got)
			}
			if _, err := f.Undo(); err == nil {
				t.Error("more was undone than was written")
			}
			if err := f.Apply("model.go", neg); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("mine"), 0o640); err != nil {
				t.Fatal(err)
			}
			if _, err := f.Undo(); err == nil || !strings.Contains(err.Error(), "has changed since") {
				t.Errorf("an edit of the user's would be lost: %v", err)
			}
			if err := f.Apply("none.go", neg); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a missing file gives %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

// Symbolic and hard links, mode and inode of a file with several names stay.
func TestApplyKeepsFiles(t *testing.T) {
	const text = "a\n\tif c {\n\t\tx\n\t}\nz\n"
	for name, link := range map[string]func(old, made string) error{"symbolic": os.Symlink, "hard": os.Link} {
		dir := t.TempDir()
		path, other := filepath.Join(dir, "real.go"), filepath.Join(dir, "model.go")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Chmod(path, 0o754), link(path, other)); err != nil {
			t.Fatal(err)
		}
		f := &feed{root: dir}
		for _, step := range []func() error{
			func() error { return f.Apply("model.go", neg) },
			func() error { _, err := f.Undo(); return err },
			func() error { return f.Apply("model.go", neg) },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			a, _ := os.ReadFile(path)
			b, _ := os.ReadFile(other)
			real, _ := os.Stat(path)
			named, _ := os.Stat(other)
			as, _ := os.Lstat(other)
			if string(a) != string(b) || !os.SameFile(real, named) || real.Mode().Perm() != 0o754 ||
				name == "symbolic" && as.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s: %q and %q, mode %v", name, a, b, real.Mode())
			}
		}
	}
}

// A file of somebody else's stays theirs, whatever leads to it: owner, group, mode, links
// and line ends are kept when a fix is written, taken back and written again.
func TestApplyKeepsOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const text = "a\r\n\tif c {\r\n\t\tx\r\n\t}\r\nz\r\nno end"
	for _, mode := range []os.FileMode{0o640, 0o644 | os.ModeSetgid, 0o400} {
		dir := t.TempDir()
		path, hard, soft := filepath.Join(dir, "real.go"), filepath.Join(dir, "second.go"), filepath.Join(dir, "model.go")
		if err := errors.Join(
			os.WriteFile(path, []byte(text), 0o600), os.Chown(path, 12345, 23456), os.Chmod(path, mode),
			os.Link(path, hard), os.Symlink("second.go", soft), os.Lchown(soft, 12345, 23456),
		); err != nil {
			t.Fatal(err)
		}
		first, _ := os.Stat(path)
		f := &feed{root: dir}
		apply := func() error { return f.Apply("model.go", neg) }
		undo := func() error { _, err := f.Undo(); return err }
		for i, step := range []func() error{apply, undo, apply} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{path, hard, soft} {
				st, err := os.Stat(name)
				if err != nil {
					t.Fatal(err)
				}
				if sys := st.Sys().(*syscall.Stat_t); sys.Uid != 12345 || sys.Gid != 23456 || sys.Nlink != 2 || !os.SameFile(first, st) {
					t.Errorf("%s: belongs to %d:%d, has %d names", name, sys.Uid, sys.Gid, sys.Nlink)
				}
				if st.Mode() != mode {
					t.Errorf("%s: mode %v, was %v", name, st.Mode(), mode)
				}
			}
			if st, _ := os.Lstat(soft); st.Mode()&os.ModeSymlink == 0 {
				t.Error("the link is a file now")
			}
			got, _ := os.ReadFile(path)
			if (string(got) == text) != (i == 1) || strings.Count(string(got), "\n") != strings.Count(string(got), "\r\n") ||
				!strings.HasSuffix(string(got), "\r\nno end") {
				t.Errorf("step %d: %q", i, got)
			}
		}
		if made, _ := os.ReadDir(dir); len(made) != 3 {
			t.Errorf("files are left over: %v", made)
		}
	}
}

// Fixes of one run go into one file one after the other, each moved by those before it; an
// import that two of them need is written once. What overlaps a written one is refused, as
// is what no longer fits. They are taken back last first. After the program has run again
// the lines are those of the new run.
func TestFixesOfOneFile(t *testing.T) {
	const text = "import a\nfunc f() {\n\tone\n\ttwo\n\tthree\n\tfour\n}\n"
	fix := func(line int, lines ...string) []explain.Hunk {
		return []explain.Hunk{{Line: 1, Lines: []string{"  import a", "+ import b"}}, {Line: line, Lines: lines}}
	}
	third := fix(5, "- three", "+ if c {", "+ \tthree", "+ }")
	first := fix(3, "- one", "+ 1a", "+ 1b")
	last := []explain.Hunk{{Line: 6, Lines: []string{"- four"}}}
	dir := t.TempDir()
	path := filepath.Join(dir, "model.go")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &feed{root: dir, state: &feedState{}}
	texts := []string{text}
	is := func(want string) {
		t.Helper()
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Fatalf("the file is %q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		hunks []explain.Hunk
		want  string
	}{
		{third, "import a\nimport b\nfunc f() {\n\tone\n\ttwo\n\tif c {\n\t\tthree\n\t}\n\tfour\n}\n"},
		{first, "import a\nimport b\nfunc f() {\n\t1a\n\t1b\n\ttwo\n\tif c {\n\t\tthree\n\t}\n\tfour\n}\n"},
		{last, "import a\nimport b\nfunc f() {\n\t1a\n\t1b\n\ttwo\n\tif c {\n\t\tthree\n\t}\n}\n"},
	} {
		if err := f.Apply("model.go", c.hunks); err != nil {
			t.Fatal(err)
		}
		is(c.want)
		texts = append(texts, c.want)
		lines, err := f.sourceOfRun("model.go")
		if err != nil || strings.Join(lines, "\n") != text {
			t.Errorf("the run's source is %q (%v)", lines, err)
		}
	}
	for want, hunks := range map[error][]explain.Hunk{
		rewrite.ErrWritten: first,
		rewrite.ErrOverlap: {{Line: 4, Lines: []string{"- two", "- three"}}},
		rewrite.ErrChanged: {{Line: 4, Lines: []string{"- zwei"}}},
	} {
		if err := f.Apply("model.go", hunks); !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", hunks, err, want)
		}
	}
	is(texts[3])
	for i := 2; i >= 0; i-- {
		if _, err := f.Undo(); err != nil {
			t.Fatal(err)
		}
		is(texts[i])
	}
	if err := f.Apply("model.go", first); err != nil {
		t.Fatal(err)
	}
	f.state = &feedState{} // R
	if err := f.Apply("model.go", []explain.Hunk{{Line: 6, Lines: []string{"- two"}}}); err != nil {
		t.Errorf("a fix of the new run: %v", err)
	}
}
