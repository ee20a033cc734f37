package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"

	"tcdbg/internal/app/debugfolder"
	"tcdbg/internal/app/exported"
	"tcdbg/logs"
)

// This file is `tcdbg run`: which files make the program, and with which
// standard streams it runs.

// defaultLogs are the artifacts that --plain shows on standard error.
const defaultLogs = "graph_breaks,recompiles"

// runFlags are the flags of run.
type runFlags struct {
	plain bool
	logs  string
	pause bool
	// record keeps the run, for going back; pause does, too.
	record bool
}

// run runs model.go: under the screens where there is a terminal, else with
// the inherited streams.
func (s *session) run(f runFlags, argv []string) error {
	program, args, err := splitProgram(argv)
	if err != nil {
		return err
	}
	plain := f.plain || !s.onTerminal()
	if plain && f.record {
		return failf(ExitUsage, "--record is for the screens: where there are none, nothing steps back")
	}
	setting, err := s.logSetting(f.logs, plain)
	if err != nil {
		return err
	}
	if !plain {
		r, err := newRun("run", program, args, Options{Logs: setting, Pause: f.pause, Record: f.record || f.pause})
		if err != nil {
			return err
		}
		return s.runScreens(r)
	}
	r := s.newRunOrNone("run", program, args, Options{Logs: setting})
	c, err := startEngine(r, s.Stdin, s.Stdout, s.Stderr, false)
	if err != nil {
		return errors.Join(err, r.finish(ending{State: Crashed, Code: ExitEngine, Crash: err.Error()}))
	}
	err = s.endPlain(c)
	writeDebugFolder(s.Stderr, r)
	return err
}

// writeDebugFolder writes torch_compile_debug of a run that is over, where it was asked for. That it cannot
// be written is said, and changes nothing of how the program ended.
func writeDebugFolder(stderr io.Writer, r *Run) {
	asked := debugfolder.Asked()
	switch {
	case r.unrecorded() && asked:
		fmt.Fprintf(stderr, "tcdbg: %s: the run could not be recorded, so there is no debug folder\n", debugfolder.Variable)
		return
	case r.unrecorded() || !asked && !debugfolder.Wanted(r.file(engineLog)):
		return
	}
	dir := ""
	st, err := logs.Open([]string{r.file(engineLog)}, logs.Options{})
	if err == nil {
		defer st.Close()
		dir, err = debugfolder.Write(debugfolder.Root(r.Info.Dir), st, r.Info.Start)
	}
	if err != nil {
		fmt.Fprintf(stderr, "tcdbg: the debug folder is not whole: %s\n", shown(err.Error()))
		return
	}
	fmt.Fprintf(stderr, "tcdbg: debug folder: %s\n", shown(dir))
}

// endPlain waits for a child on the inherited streams and takes its code. What goes wrong
// with our own records is said, and changes nothing of how the program ended.
func (s *session) endPlain(c *child) error {
	e, err := c.waitForwarding()
	s.code = e.Code
	if err != nil {
		fmt.Fprintf(s.Stderr, "tcdbg: %v\n", err)
	}
	if e.Crash != "" && e.Code != ExitEngine && c.run.unrecorded() {
		fmt.Fprintf(s.Stderr, "tcdbg: %s\n", e.Crash)
	} else if e.Crash != "" && e.Code != ExitEngine {
		fmt.Fprintf(s.Stderr, "tcdbg: %s (run %s)\n", e.Crash, c.run.Info.ID)
	}
	return nil
}

// onTerminal reports whether the screens can be shown.
func (s *session) onTerminal() bool {
	return os.Getenv("TERM") != "dumb" &&
		term.IsTerminal(int(s.Stdin.Fd())) && term.IsTerminal(int(s.Stdout.Fd()))
}

// logSetting is which artifacts the engine writes as text: the flag, else
// TCDBG_LOGS, else TORCH_LOGS, else the default of --plain. TORCH_LOGS may be
// meant for PyTorch: a name in it that we do not know is said and passed over.
func (s *session) logSetting(flag string, plain bool) (string, error) {
	if flag != "" {
		return flag, checkLogs("--logs", flag)
	}
	if v := os.Getenv("TCDBG_LOGS"); v != "" {
		return v, checkLogs("TCDBG_LOGS", v)
	}
	if v := os.Getenv("TORCH_LOGS"); v != "" {
		err := checkLogs("TORCH_LOGS", v)
		if err == nil {
			return v, nil
		}
		fmt.Fprintf(s.Stderr, "tcdbg: TORCH_LOGS=%s is ignored (%v)\n", shown(v), err)
	}
	if plain {
		return defaultLogs, nil
	}
	return "", nil
}

func checkLogs(where, setting string) error {
	if _, err := logs.ParseLogs(setting); err != nil {
		return failf(ExitUsage, "%s: %v", where, err)
	}
	return nil
}

// splitProgram splits the leading .go files (or one folder) from the program's
// arguments, as go run does. A -- between the two is ours, as other debuggers
// have it: the program does not see it.
func splitProgram(argv []string) (program, args []string, err error) {
	n := 0
	for n < len(argv) && strings.HasSuffix(argv[n], ".go") {
		n++
	}
	if n == 0 {
		n = 1
	}
	for _, path := range argv[:n] {
		if err := checkProgram(path); err != nil {
			return nil, nil, err
		}
	}
	program, args = argv[:n], argv[n:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return program, args, nil
}

func checkProgram(path string) error {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failf(ExitNoFile, "cannot run %s: no such file", shown(path))
	case err != nil:
		return fileError("cannot run", shown(path), err, "")
	case !st.IsDir() && !strings.HasSuffix(path, ".go") && !exported.Is(path):
		return failf(
			ExitUsage, "cannot run %s: not a .go file or a folder, nor a .pt2 file of torch.export.save; "+
				"other programs go through tcdbg exec -- %s", shown(path), shown(path),
		)
	}
	return nil
}
