//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/internal/test/pty"
)

// This file is tcdbg on a terminal, without screens: it writes nothing there but what it
// was asked for, reads nothing that it was not asked to read, and changes no setting.

// onTerminal is command with the environment of a person at a terminal: no CI, and TERM
// as given ("" for none).
func (s *session) onTerminal(term string, args ...string) *exec.Cmd {
	cmd := s.command(args...)
	cmd.Env = slices.DeleteFunc(cmd.Env, func(e string) bool {
		return strings.HasPrefix(e, "CI=") || strings.HasPrefix(e, "TERM=")
	})
	if term != "" {
		cmd.Env = append(cmd.Env, "TERM="+term)
	}
	return cmd
}

// promptly is how long a command may take here at most; it is for a machine at work.
const promptly = time.Minute

// echoes is a program that prints n bytes of its standard input in hex.
const echoes = `package main

import (
	"fmt"
	"io"
	"os"

	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }

func main() {
	g := torch.Compile(f)
	g(torch.Ones(4))
	ci, ok := os.LookupEnv("CI")
	fmt.Println("CI:", ci, ok)
	b := make([]byte, %d)
	_, err := io.ReadFull(os.Stdin, b)
	fmt.Printf("%%x %%v\n", b, err)
}
`

// TestTypedAhead: over kinds of terminals, what was typed before a program reads reaches
// it byte for byte, and standard output has the program's bytes alone.
func TestTypedAhead(t *testing.T) {
	cooked := "one line\nand \\ x1b[6n another; äöü\n"
	all := make([]byte, 256) // in a raw terminal, each byte there is
	for i := range all {
		all[i] = byte(i)
	}
	modes := []struct {
		name, typed string
		settings    pty.Option
	}{
		{"lines", cooked, pty.Uncooked},
		{"raw", string(all) + "\x1b[1;1R\x1b]11;rgb:0000/0000/0000\x1b\\ and the rest", pty.Raw},
	}
	s := warmSession(t)
	for _, m := range modes {
		file := program(t, fmt.Sprintf(echoes, len(m.typed)))
		want := fmt.Sprintf("CI:  false\n%x <nil>\n", m.typed)
		for _, term := range []string{"", "dumb", "xterm", "xterm-256color"} {
			for _, answers := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/TERM=%s/answers=%v", m.name, term, answers), func(t *testing.T) {
					cmd := s.onTerminal(term, "run", "--plain", file)
					cmd.Stderr = &bytes.Buffer{}
					opts := []pty.Option{m.settings, pty.Typed(m.typed)}
					if answers {
						opts = append(opts, pty.Answering)
					}
					var before pty.Settings
					opts = append(opts, func(tt *pty.Terminal) { before = tt.Settings() })
					tt := pty.Start(t, cmd, opts...)
					if code := tt.End(promptly); code != 0 {
						t.Errorf("exit %d\n%s", code, cmd.Stderr)
					}
					if got := tt.Written(); got != want {
						t.Errorf("standard output is\n%q\nwant\n%q\n%s", got, want, cmd.Stderr)
					}
					if after := tt.Settings(); after != before {
						t.Errorf("settings were\n%+v\nand are\n%+v", before, after)
					}
				})
			}
		}
	}
}

// TestCommandsLeaveTheTerminalAlone: every command without screens writes to a terminal, one
// that answers or a silent one, what it writes into a pipe, and leaves what was typed to whoever
// reads next. (replay is not among them: on a terminal it opens the screens.)
func TestCommandsLeaveTheTerminalAlone(t *testing.T) {
	s := warmSession(t)
	model := program(t, strings.Replace(echoes, "%d", "0", 1))
	t.Setenv("TCDBG_BACKEND", "aot_eager") // trials build with an empty cache
	if _, errs, code := s.run(t, "run", "--plain", model); code != 0 {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	for _, args := range [][]string{
		{"version"},
		{"--help"},
		{"nonsense"},
		{"report", "last"},
		{"report", "--format", "json", "last"},
		{"diff", "last", "last"},
		{"check", "last"},
		{"runs"},
		{"completion", "bash"},
		{"explain", model},
		{"exec", "--plain", "--", "sh", "-c", `echo "${CI-unset}"`},
		{"run", "--logs", "help"},
		{"doctor"},
		{"init"},
		{"code", "-o", "-", "last"},
		{"code", "last"},
		{"runs", "list"},
		{"runs", "prune", "--keep", "100"},
		{"check", "--max-breaks", "0", model},
		{"diff", "--json", "last", "last"},
		{"try", "--only", "backend=eager", model},
		{"fix", "last"},
		{"fix", model},
		{"report", "--format", "html", "last"},
		{"replay", "no such file"},
	} {
		for _, answers := range []bool{false, true} {
			name := fmt.Sprintf("%s/answers=%v", strings.Join(args[:min(2, len(args))], " "), answers)
			t.Run(name, func(t *testing.T) { s.leavesTheTerminalAlone(t, args, answers) })
		}
	}
}

// leavesTheTerminalAlone runs a command once into a pipe and once on a terminal.
func (s *session) leavesTheTerminalAlone(t *testing.T, args []string, answers bool) {
	t.Helper()
	var want bytes.Buffer
	piped := s.onTerminal("xterm-256color", args...)
	piped.Stdout, piped.Dir = &want, t.TempDir()
	_ = piped.Run() // some refuse; the codes are compared
	cmd := s.onTerminal("xterm-256color", args...)
	cmd.Stderr, cmd.Dir = &bytes.Buffer{}, t.TempDir()
	const typed = "the next command\n"
	var before pty.Settings
	opts := []pty.Option{pty.Uncooked, pty.Typed(typed), func(tt *pty.Terminal) { before = tt.Settings() }}
	if answers {
		opts = append(opts, pty.Answering)
	}
	tt := pty.Start(t, cmd, opts...)
	if code := tt.End(promptly); code != piped.ProcessState.ExitCode() {
		t.Errorf("exit %d on a terminal and %d without", code, piped.ProcessState.ExitCode())
	}
	if got := steady(tt.Written()); got != steady(want.String()) {
		t.Errorf("a terminal gets\n%q\nand a pipe\n%q", got, steady(want.String()))
	}
	if got := tt.Unread(); got != typed {
		t.Errorf("of %q that was typed, %q is left", typed, got)
	}
	if after := tt.Settings(); after != before {
		t.Errorf("settings were\n%+v\nand are\n%+v", before, after)
	}
}

// unsteady is what differs from run to run, or between a terminal and a pipe: times, and what
// doctor says of the terminal.
var unsteady = regexp.MustCompile(`µ| ms|\d s |^(ok|missing) +terminal `)

// steady leaves unsteady lines out; never one with an escape sequence.
func steady(s string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(s, "\n"), func(l string) bool {
		return !strings.Contains(l, "\x1b") && unsteady.MatchString(l)
	}), "\n")
}

// sleeps is a program that goes on when its graph has run, whatever its standard input is.
const sleeps = `package main

import (
	"time"

	"tcdbg/torch"
)

func f(x *torch.Tensor) *torch.Tensor { return x.Sin().Mul(2) }

func main() {
	torch.Compile(f)(torch.Ones(4))
	time.Sleep(time.Hour)
}
`

// TestInterruptAtTheStart: Ctrl-C at any moment of a start leaves the settings of the
// terminal as they were, whether or not it answers.
func TestInterruptAtTheStart(t *testing.T) {
	s := warmSession(t)
	model := program(t, sleeps)
	ending := []string{"version", "doctor"} // before somebody has typed anything
	for _, args := range [][]string{
		{"version"},
		{"run", "--plain", model},
		{"exec", "--plain", "--", "sleep", "60"},
		{"check", model},
		{"explain", model},
		{"try", model},
		{"fix", model},
		{"doctor"},
	} {
		for _, after := range test.Some(t, 5, []time.Duration{0, 2, 5, 10, 20, 50, 100, 200, 400, 1000}) {
			t.Run(fmt.Sprintf("%s/%d ms", args[0], after), func(t *testing.T) {
				t.Parallel()
				cmd := s.onTerminal("xterm-256color", args...)
				var before pty.Settings
				tt := pty.Start(t, cmd, func(tt *pty.Terminal) { before = tt.Settings() })
				time.Sleep(after * time.Millisecond)
				tt.Type("\x03") // the line discipline makes it SIGINT
				code := tt.End(promptly)
				if code != 128+int(syscall.SIGINT) && (code != 0 || !slices.Contains(ending, args[0])) {
					t.Errorf("exit %d", code)
				}
				if got := tt.Written(); strings.Contains(got, "\x1b") {
					t.Errorf("the terminal got %q", got)
				}
				if after := tt.Settings(); after != before {
					t.Errorf("settings were\n%+v\nand are\n%+v", before, after)
				}
			})
		}
	}
}

// BenchmarkVersion is the start of the program without an engine.
func BenchmarkVersion(b *testing.B) {
	bin, err := buildBinary()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if out, err := exec.Command(bin, "version").Output(); err != nil {
			b.Fatal(err, string(out))
		}
	}
}
