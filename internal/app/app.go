// Package app is the only wiring of tcdbg: it reads the command line, starts
// the engine or a foreign program as a child process, keeps the run folder,
// and joins the trace (logs), the report (explain) and the screens (tui).
//
// It may import every other package; nothing but main.go imports it. Open
// app.go first (where a command line goes), then commands.go (the commands),
// child.go (the process model) and engine.go (the body of the engine).
package app

import (
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tcdbg/backends"
	"tcdbg/inductor"
	"tcdbg/internal/app/bundle"
	"tcdbg/internal/app/lowering"
	"tcdbg/internal/quietstart"
)

// Here everything that this package imports is initialised, and nothing has read or written.
func init() { quietstart.End() }

// Version is the version of this program, as traces and run folders carry it.
const Version = "0.1.0"

// Process is what the operating system hands to a program.
type Process struct {
	Args                  []string // without the program's name
	Stdin, Stdout, Stderr *os.File
	// Source is the tree of torch and the packages below it.
	Source fs.FS
	// Faults are put into what is compiled, for tests of what looks for them.
	Faults *inductor.Faults
}

// engineCommand is the hidden subcommand under which the same binary is the
// engine. It is decided before the commands are built: the engine's start is
// on the way to the program's first line.
const engineCommand = "engine"

// guardCommand is the same for the process that ends the engine's C compilers when the
// engine has ended without them.
const guardCommand = "guard"

// leaderCommand is the same for the process that leads the group of a foreign program.
const leaderCommand = "leader"

// partCommand is the same for the process in which repro --minify tries parts of a graph.
const partCommand = "part"

// Main runs one command line and returns its exit code.
func Main(p Process) int {
	if len(p.Args) == 2 && p.Args[0] == engineCommand {
		return engineMain(p, p.Args[1])
	}
	if len(p.Args) == 2 && p.Args[0] == guardCommand {
		backends.Guard(p.Stdin, p.Args[1])
		return 0
	}
	if len(p.Args) == 2 && p.Args[0] == leaderCommand {
		leaderMain(p.Stdin)
		return 0
	}
	if len(p.Args) == 1 && p.Args[0] == lowering.Command {
		return lowering.ChildMain(p.Stdin, p.Stdout)
	}
	if len(p.Args) == 2 && p.Args[0] == partCommand {
		return partMain(p)
	}
	defer bundle.CleanUp()
	s := &session{Process: p}
	cmd := s.commands()
	cmd.SetArgs(p.Args)
	cmd.SetIn(p.Stdin)
	cmd.SetOut(p.Stdout)
	cmd.SetErr(p.Stderr)
	if err := cmd.Execute(); err != nil {
		return s.fail(err)
	}
	return s.code
}

// session is one command line while it runs.
type session struct {
	Process
	code int // exit code of a command that ended without an error
}

// fail prints an error as one line (compile errors: one a line) and returns
// its exit code.
func (s *session) fail(err error) int {
	f := asFailure(err)
	f.text = shownLines(f.text)
	if f.bare {
		fmt.Fprintln(s.Stderr, f.text)
	} else {
		fmt.Fprintln(s.Stderr, "tcdbg: "+f.text)
	}
	return f.code
}

// usageText makes cobra's errors say what to do.
func usageText(err error) string {
	text := strings.TrimSpace(err.Error())
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		// cobra puts suggestions on lines of their own.
		lines := strings.Fields(strings.ReplaceAll(text[i:], "Did you mean this?", ""))
		text = text[:i]
		if len(lines) > 0 {
			text += "; did you mean " + strings.Join(lines, " or ") + "?"
			return text
		}
	}
	return text + "; see tcdbg --help"
}
