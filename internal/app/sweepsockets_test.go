package app

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// The socket of a viewer that was killed goes; one that is listened on stays, and so does
// everything else.
func TestSocketsOfTheKilled(t *testing.T) {
	dir := t.TempDir()
	folder := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.Mkdir(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	listen := func(folder string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(folder, socketName), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false) // as a process leaves it that is killed
		return l
	}
	killed, alive, open := folder("tcdbg-1", 0o700), folder("tcdbg-2", 0o700), folder("tcdbg-3", 0o755)
	full, others, empty := folder("tcdbg-4", 0o700), folder("else-5", 0o700), folder("tcdbg-6", 0o700)
	for _, f := range []string{killed, open, full, others} {
		if err := listen(f).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(full, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l := listen(alive)
	defer func() { _ = l.Close() }()
	sweepSockets(dir)
	for _, f := range []string{alive, open, full, others, empty} {
		if _, err := os.Stat(f); err != nil {
			t.Errorf("%s is gone", f)
		}
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("the folder of the viewer that was killed stays")
	}
}

// What x writes is whole as soon as it has its name, and leaves nothing beside it.
func TestExportsAreWhole(t *testing.T) {
	dir := t.TempDir()
	for _, want := range []string{"screen.txt", "screen-2.txt"} {
		path, err := createNew(dir, "screen.txt", "text of "+want)
		if err != nil || filepath.Base(path) != want {
			t.Fatal(path, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != "text of "+want {
			t.Errorf("%q, %v", b, err)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}
