//go:build linux

package main

import (
	"regexp"
	"strings"
	"testing"

	"tcdbg/internal/test/pty"
)

// The questions of a stranger are answered by at most four keys each, as the table of docs/walk.md says.
func TestWalkQuestions(t *testing.T) {
	_, text, ok := strings.Cut(read(t, "docs/walk.md"), "## Questions, and the keys")
	rows := regexp.MustCompile("(?m)^\\| (.*) \\| `(.*)` \\| (`.*`) \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1)
	if !ok || len(rows) == 0 {
		t.Fatal("no table of questions")
	}
	key := regexp.MustCompile("`([^`]*)`")
	for _, row := range rows {
		t.Run(row[1], func(t *testing.T) {
			keys := key.FindAllStringSubmatch(row[3], -1)
			if len(keys) > 4 {
				t.Errorf("%d keys", len(keys))
			}
			s := newSession(t)
			tt, before := showScreens(t, s.onTerminal("xterm-256color", "replay", row[2]), pty.Size(160, 50))
			shows := func(what string) {
				t.Helper()
				tt.Wait(promptly, what, 0, func(out string) bool { return strings.Contains(escapes.ReplaceAllString(out, ""), what) })
			}
			shows("saved")
			for _, k := range keys {
				tt.Type(strings.NewReplacer("enter", "\r", "tab", "\t").Replace(k[1]))
			}
			shows(row[4])
			tt.Type("q")
			tt.End(promptly)
			checkGivenBack(t, tt, before)
		})
	}
}
