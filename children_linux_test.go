package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/internal/test/pty"
)

// This file is what becomes of the processes that a program has started.

// starts is a program that starts another one and waits for it.
const starts = `package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	cmd := exec.Command("tail", "-f", os.Args[1])
	fmt.Println(cmd.Start(), cmd.Wait())
}
`

// TestChildrenOfThePrograms: the program ends with tcdbg, however that ends. What it has
// started ends as well under the screens, where all of it is one process group; without
// screens it is left alone, as the shell and go run leave it, unless the terminal goes.
func TestChildrenOfThePrograms(t *testing.T) {
	model := program(t, starts)
	for _, screens := range []bool{true, false} {
		for _, kind := range []string{"run", "exec"} {
			for _, w := range []way{
				{"viewer", syscall.SIGKILL},
				{"viewer", syscall.SIGTERM},
				{"viewer", syscall.SIGHUP},
				{"terminal", 0},
			} {
				name := "screens"
				if !screens {
					name = "plain"
				}
				t.Run(name+"/"+kind+"/"+w.String(), func(t *testing.T) {
					t.Parallel()
					s, child := newSession(t), marker(t)
					program := s.bin + "\x00engine\x00" + s.state
					args := []string{"run", "--plain", model, child}
					if kind == "exec" {
						program = "sh\x00-c\x00" + `tail -f "$0" & wait; : ` + s.state
						args = []string{"exec", "--plain", "--", "sh", "-c", `tail -f "$0" & wait; : ` + s.state, child}
					}
					if screens {
						args = append(args[:1], args[2:]...)
					}
					var v *victim
					if screens || w.who == "terminal" {
						v = onScreens(t, s, args...)
					} else { // with a terminal of its own, the end of tcdbg would be that of the terminal
						v = plainly(t, s, args...)
					}
					tail := "tail\x00-f\x00" + child
					until(t, "the program's child", func() bool { return len(naming(tail)) == 1 })
					t.Cleanup(func() {
						for _, pid := range naming(tail) {
							_ = syscall.Kill(pid, syscall.SIGKILL)
						}
					})
					if n := len(naming(program)); n == 0 {
						t.Fatal("the program is not found")
					}
					v.end(t, w)
					until(t, "the end of the program", func() bool { return len(naming(program)) == 0 })
					if screens || w.who == "terminal" {
						until(t, "the end of the program's child", func() bool { return len(naming(tail)) == 0 })
						return
					}
					time.Sleep(100 * time.Millisecond)
					if len(naming(tail)) == 0 {
						t.Error("the program's child was ended")
					}
				})
			}
		}
	}
}

// TestStubbornCommand: a command that does not end when it is told to is killed when the
// screens end, also where they are killed.
func TestStubbornCommand(t *testing.T) {
	for _, how := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(how.String(), func(t *testing.T) {
			t.Parallel()
			s, ready := newSession(t), filepath.Join(t.TempDir(), "ready")
			script := `trap "" TERM HUP INT; : > "$0"; while :; do sleep 0.1; done`
			v := onScreens(t, s, "exec", "--", "sh", "-c", script, ready)
			until(t, "the command", func() bool {
				_, err := os.Stat(ready)
				return err == nil
			})
			v.end(t, way{"viewer", how})
			until(t, "the end of the command", func() bool { return len(naming(ready)) == 0 })
		})
	}
}

// TestNoHangup: under nohup a closed terminal ends neither tcdbg nor the program.
func TestNoHangup(t *testing.T) {
	for _, args := range [][]string{
		{"exec", "--plain", "--", "sh", "-c", `sleep 1; echo done > "$0"`},
		{"run", "--plain", program(t, `package main

import (
	"os"
	"time"
)

func main() {
	time.Sleep(time.Second)
	if err := os.WriteFile(os.Args[1], []byte("done\n"), 0o600); err != nil {
		panic(err)
	}
}
`)},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			s, result := newSession(t), filepath.Join(t.TempDir(), "result")
			cmd := s.onTerminal("xterm-256color", append(args, result)...)
			cmd.Args = append([]string{"nohup"}, cmd.Args...)
			cmd.Path = lookPath(t, "nohup")
			cmd.Dir = t.TempDir()
			tt := pty.Start(t, cmd)
			time.Sleep(300 * time.Millisecond)
			tt.HangUp()
			if code := tt.End(promptly); code != 0 {
				said, _ := os.ReadFile(filepath.Join(cmd.Dir, "nohup.out"))
				t.Errorf("exit %d: %s", code, said)
			}
			if text, err := os.ReadFile(result); err != nil || strings.TrimSpace(string(text)) != "done" {
				t.Errorf("the program wrote %q, %v", text, err)
			}
		})
	}
}
