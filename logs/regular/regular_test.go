package regular

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is no regular file is refused in one line, at once.
func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	pipe, socket, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe: "a named pipe", socket: "a socket", link: "a device", "/dev/zero": "a device", dir: "a folder",
	} {
		for name, open := range map[string]func() error{
			"Open":      func() error { _, err := Open(path); return err },
			"OpenNamed": func() error { _, err := OpenNamed(path); return err },
			"Read":      func() error { _, err := Read(path, 10); return err },
		} {
			err := open()
			var refused *Error
			if !errors.As(err, &refused) || err.Error() != path+": is "+want+", not a regular file" {
				t.Errorf("%s of %s: %v", name, path, err)
			}
		}
	}
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestReadIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path, 10); err != nil || string(text) != "0123456789" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := Read(path, 9); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := Read("/proc/self/status", 10); err == nil {
		t.Errorf("%q of a file that says it is empty", text)
	}
}

// A pipe that a shell has opened is the user's.
func TestOpenPipeOfTheUser(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, _ = w.WriteString("text")
	w.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	f, err := OpenNamed(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Open(path); err == nil {
		t.Error("a pipe was opened that nobody has named")
	}
}
