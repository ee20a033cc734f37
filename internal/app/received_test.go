package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/logs/printable"
	"tcdbg/tui/theme"
)

// This file opens run folders that somebody else wrote.

// received makes a run folder whose run.json holds info.
func received(t *testing.T, info string) string {
	t.Helper()
	dir := t.TempDir()
	receivedFile(t, filepath.Join(dir, infoFile), info)
	if err := os.Mkdir(filepath.Join(dir, traceFile), 0o755); err != nil {
		t.Fatal(err)
	}
	receivedFile(t, filepath.Join(dir, engineLog), "")
	return dir
}

func receivedFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The folder of its program is one by an absolute path or none: names in the trace never
// mean files of the folder in which tcdbg happens to run.
func TestReceivedRunHasNoFolderOfOurs(t *testing.T) {
	for _, dir := range []string{"", ".", "..", "+!touch x/", "-c"} {
		run := received(t, `{"v":1,"id":"a","kind":"run","state":"exited","dir":"`+dir+`"}`)
		src, err := findTraces([]string{run}, false)
		if err != nil {
			t.Fatal(err)
		}
		f := &feed{root: src.root}
		if got, want := f.Path("+!id"), filepath.Join(run, "+!id"); got != want || src.run.dir() != run {
			t.Errorf("dir %q: %q, want %q", dir, got, want)
		}
	}
}

// A run.json, lock, output or fault page that is no regular file is refused at once, and one
// line says which.
func TestReceivedSpecialFilesAreRefused(t *testing.T) {
	good := `{"v":1,"id":"a","kind":"exec","state":"exited","code":1}`
	for _, name := range []string{infoFile, lockFile, stdoutFile, stderrFile, faultFile} {
		for _, kind := range []string{"pipe", "zero"} {
			run := received(t, strings.Replace(good, "exited", map[bool]string{true: "running", false: "exited"}[name == lockFile], 1))
			path := filepath.Join(run, name)
			_ = os.Remove(path)
			err := os.Symlink("/dev/zero", path)
			if kind == "pipe" {
				_ = os.Remove(path)
				err = syscall.Mkfifo(path, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				src, err := findTraces([]string{run}, false)
				if err == nil {
					src.run.printedAtEnd()
					readFault(src.run.file(faultFile))
					if o := openOutput(src.run, false); o != nil && name != infoFile && name != lockFile {
						err = errors.New("its output was opened")
					}
				}
				ended <- err
			}()
			select {
			case err := <-ended:
				refused := err != nil && strings.Contains(err.Error(), "not a regular file")
				if refused != (name == infoFile) || err != nil && !refused {
					t.Errorf("%s, a %s: %v", name, kind, err)
				}
			case <-time.After(5 * time.Second):
				t.Errorf("%s, a %s: it hangs", name, kind)
			}
		}
	}
	run := received(t, `{"id":"`+strings.Repeat("a", maxInfo)+`"}`)
	if _, err := findTraces([]string{run}, false); err == nil || !strings.Contains(err.Error(), "larger than 16 MB") {
		t.Errorf("a run.json of %d MB: %v", maxInfo>>20, err)
	}
}

// Reports, screens and messages escape the same characters, and spell them alike.
func TestOneSanitiser(t *testing.T) {
	for r, want := range map[rune]string{
		0x200b: `a\u200bb`, 0x202e: `a\u202eb`, 0x2066: `a\u2066b`, 0xe0041: `a\U000e0041b`, 0xfeff: `a\ufeffb`,
		0x3164: `a\u3164b`, 0x9b: `a\x9bb`, 0xad: `a\xadb`, 0x200d: `a\u200db`, 0xe0100: `a\U000e0100b`,
	} {
		text := "a" + string(r) + "b"
		for name, got := range map[string]string{
			"reports": printable.Clean(text), "screens": theme.Clean(text), "messages": shown(text),
		} {
			if got != want {
				t.Errorf("%s show %U as %q", name, r, got)
			}
		}
	}
	if got := shownLines("one\x1b[2J\ntwo\u202e"); got != "one\\x1b[2J\ntwo\\u202e" {
		t.Errorf("%q", got)
	}
}
