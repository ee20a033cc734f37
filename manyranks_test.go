//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tcdbg/internal/test/pty"
)

// This file opens the traces of more ranks than the process may have open files.

// rankTrace is the trace of a rank that compiled so many frames.
func rankTrace(rank, frames int) string {
	var b strings.Builder
	for f := range frames {
		fmt.Fprintf(&b, `V1121 12:00:00.%06d 7 torch/a.py:1] {"dynamo_start": {"stack": []}, "rank": %d, `, f, rank)
		fmt.Fprintf(&b, `"frame_id": %d, "frame_compile_id": 0, "attempt": 0}`+"\n", f)
	}
	return b.String()
}

// TestMoreRanksThanDescriptors: 300 files under 64 descriptors, in a report, in a comparison,
// and on the screens, which follow them as they grow.
func TestMoreRanksThanDescriptors(t *testing.T) {
	const ranks = 300
	s := newSession(t)
	dir := t.TempDir()
	path := func(rank int) string {
		return filepath.Join(dir, fmt.Sprintf("dedicated_log_torch_trace_rank_%d_x.log", rank))
	}
	for r := range ranks {
		if err := os.WriteFile(path(r), []byte(rankTrace(r, 2)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	limited := func(args ...string) *exec.Cmd {
		cmd := s.onTerminal("xterm-256color", args...)
		cmd.Args = append([]string{"sh", "-c", `ulimit -n 64; exec "$@"`, "sh"}, cmd.Args...)
		cmd.Path = lookPath(t, "sh")
		return cmd
	}
	for _, args := range [][]string{{"report", dir}, {"diff", dir, dir}, {"check", "--max-breaks", "0", dir}} {
		cmd := limited(args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, &errs)
		}
		if args[0] == "report" && (!strings.Contains(out.String(), "600 frames") ||
			!strings.Contains(out.String(), "pipe.log: is a named pipe, not a regular file: left out")) {
			t.Errorf("the report: %.1000s", out.String())
		}
	}
	var before pty.Settings
	tt := pty.Start(t, limited("replay", "--follow", dir), pty.Size(120, 40), func(tt *pty.Terminal) { before = tt.Settings() })
	tt.Wait(promptly, "frames", 0, func(s string) bool { return strings.Contains(s, "600 frames") })
	for _, r := range []int{0, 1, 150, ranks - 1} {
		f, err := os.OpenFile(path(r), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = f.WriteString(strings.TrimPrefix(rankTrace(r, 3), rankTrace(r, 2)))
		f.Close()
	}
	tt.Wait(promptly, "new frames", 0, func(s string) bool { return strings.Contains(s, "604 frames") })
	tt.Type("q")
	if code := tt.End(promptly); code != 0 {
		t.Errorf("exit %d", code)
	}
	checkGivenBack(t, tt, before)
}
