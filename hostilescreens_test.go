//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/internal/test/pty"
	"tcdbg/logs/printable"
)

// This file opens hostile files on the screens.

// ours are the escape sequences that the screens draw with: colours, the cursor, erasing, and
// the modes that they take and give back; and the title of the window.
var ours = regexp.MustCompile(
	`^\x1b\[(?:[0-9;]*[mHJKABCDGrSTLMX]|\?[0-9;]+[hl]|[0-9;]* q|[<>=?]?[0-9;]*u|>[0-9;]*m|\?[0-9]+\$p)` +
		`|^\x1b[=>78]|^\x1b\]2;tcdbg [^\x00-\x1f\x7f]*\x07`,
)

// foreign is what of the terminal's bytes is neither text nor the screens' own.
func foreign(out string) []string {
	var found []string
	for i := 0; i < len(out); {
		if out[i] == 0x1b {
			n := len(ours.FindString(out[i:]))
			if n == 0 {
				found = append(found, fmt.Sprintf("%.30q", out[i:]))
				n = 1
			}
			i += n
			continue
		}
		end := strings.IndexByte(out[i:], 0x1b)
		if end < 0 {
			end = len(out) - i
		}
		text := strings.NewReplacer("\r", "", "\n", "", "\b", "", "\t", "").Replace(out[i : i+end])
		if shown := printable.Clean(text); shown != text {
			found = append(found, fmt.Sprintf("%.60q", text))
		}
		i += end
	}
	return found
}

// TestHostileScreens: every screen shows every hostile file without a panic, sends nothing of
// it to the terminal but text, and quits on q. In the short form a third of them, in the long form those
// too that are too large to be kept, or no files.
func TestHostileScreens(t *testing.T) {
	t.Parallel()
	s := newSession(t)
	entries, err := os.ReadDir("testdata/hostile")
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"testdata/hostile"}
	for _, e := range test.Some(t, 1+len(entries)/3, entries) {
		paths = append(paths, filepath.Join("testdata/hostile", e.Name()))
	}
	if test.IsLong() {
		large := t.TempDir()
		largeHostileFiles(t, large)
		made, err := os.ReadDir(large)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range made {
			paths = append(paths, filepath.Join(large, e.Name()))
		}
	}
	keys := screenKeys(t)
	shown := 0
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var before pty.Settings
			cmd := s.onTerminal("xterm-256color", "replay", path)
			tt := pty.Start(t, cmd, pty.Size(120, 40), func(tt *pty.Terminal) { before = tt.Settings() })
			for end := time.Now().Add(promptly); time.Now().Before(end) && cmdRuns(tt) && !strings.Contains(tt.Written(), "quit"); {
				time.Sleep(5 * time.Millisecond)
			}
			if cmdRuns(tt) { // else it was refused
				shown++
				for _, k := range keys {
					for _, press := range []string{k, "\r", "v", "G", "\x1b"} {
						tt.Type(press)
						time.Sleep(15 * time.Millisecond) // an escape and what comes after it are two keys
					}
				}
				for end := time.Now().Add(promptly); time.Now().Before(end) && cmdRuns(tt); time.Sleep(500 * time.Millisecond) {
					tt.Type("q") // one that comes with an escape is another key
				}
			}
			if code := tt.End(promptly); code != 0 && code != 65 && code != 66 {
				t.Errorf("exit %d", code)
			}
			out := tt.Written()
			if strings.Contains(out, "goroutine ") || strings.Contains(out, "internal error") {
				t.Errorf("%.3000s", out)
			}
			if found := foreign(out); found != nil {
				t.Errorf("%d pieces, first %s", len(found), found[0])
			}
			checkGivenBack(t, tt, before)
		})
	}
	if shown < 5 {
		t.Errorf("only %d files were shown", shown)
	}
}

// cmdRuns reports whether the program of a terminal has not ended.
func cmdRuns(tt *pty.Terminal) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d/exe", tt.Cmd.Process.Pid))
	return !errors.Is(err, fs.ErrNotExist)
}

// screenKeys are the keys that open the screens, as README has them, and that of the X-ray.
func screenKeys(t *testing.T) []string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{"*"}
	row := regexp.MustCompile("(?m)^\\| `(.)` \\| [A-Z][a-z]+: .* \\| everywhere \\|$")
	for _, m := range row.FindAllStringSubmatch(string(readme), -1) {
		keys = append(keys, m[1])
	}
	if len(keys) < 16 {
		t.Fatalf("README has keys of %d screens: %q", len(keys)-1, keys)
	}
	return keys
}
