package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tcdbg/internal/test"
)

// guideRow is a row of docs/guide.md: number, what, state, command, what it prints.
var guideRow = regexp.MustCompile("^\\| (\\d+) \\| .+? \\| (works|works, .+?|in part.*?|not there|not tried.*?) \\| " +
	"(?:`tcdbg (.+)`)? ?\\| (?:`(.+)`)? ?\\|$")

// TestGuide runs the commands of docs/guide.md, each once, and wants what its rows say that it prints. In
// the short form of the tests one command is run.
func TestGuide(t *testing.T) {
	text, err := os.ReadFile("docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	wants := map[string][]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| #") {
			continue
		}
		n++
		m := guideRow.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m == nil:
			t.Fatalf("no row: %s", line)
		case m[1] != strconv.Itoa(n):
			t.Errorf("row %s is in the place of %d", m[1], n)
		case (m[3] == "") != (m[4] == ""):
			t.Errorf("row %d has a command or a text without the other", n)
		}
		if m[3] == "" {
			continue
		}
		if wants[m[3]] == nil {
			commands = append(commands, m[3])
		}
		wants[m[3]] = append(wants[m[3]], m[4])
	}
	if n != 83 {
		t.Errorf("%d rows, want 83", n)
	}
	bin, err := buildBinary()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range test.Some(t, 1, commands) {
		state, debug := "XDG_STATE_HOME="+t.TempDir(), "TORCH_COMPILE_DEBUG_DIR="+t.TempDir()
		var out []byte
		for part := range strings.SplitSeq(command, " && tcdbg ") {
			cmd := exec.Command(bin, strings.Fields(part)...)
			cmd.Env = append(os.Environ(), state, debug)
			said, _ := cmd.CombinedOutput() // some rows are about errors
			out = append(out, said...)
		}
		for _, want := range wants[command] {
			if !strings.Contains(string(out), want) {
				t.Errorf("tcdbg %s: no %q in\n%s", command, want, out)
			}
		}
	}
}
