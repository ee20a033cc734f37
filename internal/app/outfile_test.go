package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// planted makes a folder in which name is a link to a file of the user's, whose path is
// returned as well.
func planted(t *testing.T, name string) (dir, victim string) {
	t.Helper()
	dir, victim = t.TempDir(), filepath.Join(t.TempDir(), "victim")
	receivedFile(t, victim, "mine")
	if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
	return dir, victim
}

func wantText(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want {
		t.Errorf("%s holds %q (%v), want %q", filepath.Base(path), got, err, want)
	}
}

// What x writes is a file that was not there, whatever lies in a received folder.
func TestExportFollowsNoLink(t *testing.T) {
	dir, victim := planted(t, "screen-breaks.txt")
	if err := os.Symlink(filepath.Join(filepath.Dir(victim), "made"), filepath.Join(dir, "screen-breaks-2.txt")); err != nil {
		t.Fatal(err)
	}
	f := &feed{exportDir: dir}
	for _, want := range []string{"screen-breaks-3.txt", "screen-breaks-4.txt"} {
		path, err := f.Export("screen-breaks.txt", "text")
		if err != nil || path != filepath.Join(dir, want) {
			t.Errorf("%s, %v, want %s", path, err, want)
		}
		wantText(t, path, "text")
	}
	wantText(t, victim, "mine")
	if _, err := os.Lstat(filepath.Join(filepath.Dir(victim), "made")); err == nil {
		t.Error("a file was made through a link that leads nowhere yet")
	}
}

func TestWriteOutFollowsNoLink(t *testing.T) {
	dir, victim := planted(t, "report.html")
	err := writeText(filepath.Join(dir, "report.html"), "text")
	if err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("%v", err)
	}
	wantText(t, victim, "mine")
	onlyFile(t, dir, "report.html")
}

// A file that is replaced is so at once, keeps its mode, and is as it was where writing the
// new one fails; another name of it keeps the old text.
func TestWriteOutReplacesAtOnce(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "base.json"), filepath.Join(t.TempDir(), "other")
	receivedFile(t, path, "old")
	if err := os.Link(path, other); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("no space")
	if err := writeOut(path, func(o *outFile) error {
		if _, err := o.Write([]byte("ne")); err != nil {
			t.Fatal(err)
		}
		wantText(t, path, "old")
		return failed
	}); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	wantText(t, path, "old")
	onlyFile(t, dir, "base.json")
	if err := writeText(path, "new"); err != nil {
		t.Fatal(err)
	}
	wantText(t, path, "new")
	wantText(t, other, "old")
	onlyFile(t, dir, "base.json")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// A pipe that the user names, and /dev/stdout, are written as they are.
func TestWriteOutToPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		got <- string(text)
	}()
	if err := writeText(pipe, "text"); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "text" {
		t.Errorf("%q came", text)
	}
	if err := writeText("/dev/null", "text"); err != nil {
		t.Error(err)
	}
}

func onlyFile(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// init unpacks nothing through a link.
func TestInitFollowsNoLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, ".tcdbg")); err != nil {
		t.Fatal(err)
	}
	s := &session{Process: Process{Source: os.DirFS(t.TempDir())}}
	if err := s.initFolder(dir, true); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("%v", err)
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) > 0 {
		t.Errorf("%v were made elsewhere", entries)
	}
	dir, victim := planted(t, "go.mod")
	if _, err := writeGoMod(dir); err == nil {
		t.Error("go.mod was written through a link")
	}
	wantText(t, victim, "mine")
}

// TestKilledWritersAreSwept: what a process leaves that is killed while it writes a report, a
// fix or a baseline is removed by whoever writes that file next; what one that lives
// writes, or what is none of ours, is left alone.
func TestKilledWritersAreSwept(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.go")
	begun := func() *outFile {
		t.Helper()
		o, err := createOut(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := o.Write([]byte("half")); err != nil {
			t.Fatal(err)
		}
		return o
	}
	living, killed := begun(), begun()
	for _, f := range []*os.File{killed.file, killed.temp.lock} { // as the system does for a process that is killed
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	foreign := []string{".model.go-abcd", ".other.go.tcdbg-0000", "model.go.tcdbg-0000"}
	for _, name := range foreign {
		receivedFile(t, filepath.Join(dir, name), "theirs")
	}
	link := filepath.Join(dir, ".model.go.tcdbg-1111")
	pipe := filepath.Join(dir, ".model.go.tcdbg-2222")
	if err := errors.Join(os.Symlink(living.temp.Name(), link), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	there := func(want bool, names ...string) {
		t.Helper()
		for _, name := range names {
			if _, err := os.Lstat(name); (err == nil) != want {
				t.Errorf("%s is there: %v", filepath.Base(name), err == nil)
			}
		}
	}
	there(true, killed.temp.Name(), living.temp.Name())
	if err := writeText(path, "new"); err != nil {
		t.Fatal(err)
	}
	there(false, killed.temp.Name())
	there(true, living.temp.Name(), link, pipe)
	for _, name := range foreign {
		wantText(t, filepath.Join(dir, name), "theirs")
	}
	if err := living.keep(nil); err != nil {
		t.Fatal(err)
	}
	wantText(t, path, "half")
	again := begun()
	for _, f := range []*os.File{again.file, again.temp.lock} {
		_ = f.Close()
	}
	if err := rewriteFile(path, "fixed"); err != nil {
		t.Fatal(err)
	}
	wantText(t, path, "fixed")
	there(false, again.temp.Name())
}
