//go:build linux

package main

import (
	"regexp"
	"strings"
	"testing"

	"tcdbg/internal/test/pty"
)

// escapes are what a terminal does not show.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-9;?]*[a-zA-Z]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[=>])")

// The third walk: what its table says is typed on the screens, and what it says they show
// is there.
func TestWalkBack(t *testing.T) {
	_, text, ok := strings.Cut(read(t, "docs/walk.md"), "## Back to where a NaN was born")
	rows := regexp.MustCompile("(?m)^\\| (`.*`) \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1)
	if !ok || len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	s := warmSession(t)
	tt, before := showScreens(t, s.onTerminal("xterm-256color", "run", "--pause", "fixtures/nanloss/model.go"), pty.Size(160, 50))
	shows := func(from int, what string) {
		t.Helper()
		tt.Wait(promptly, what, from, func(out string) bool { return strings.Contains(escapes.ReplaceAllString(out, ""), what) })
	}
	shows(0, "before the first line")
	for _, row := range rows {
		from := len(tt.Written())
		for _, key := range regexp.MustCompile("`([^`]*)`").FindAllStringSubmatch(row[1], -1) {
			tt.Type(strings.NewReplacer("enter", "\r", "tab", "\t").Replace(key[1]))
		}
		shows(from, row[2])
	}
	tt.Type("qs")
	tt.End(promptly)
	checkGivenBack(t, tt, before)
}
