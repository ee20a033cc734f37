package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/logs/regular"
)

// This file is `tcdbg exec -- command`: any command, usually Python, with
// PyTorch's trace set to a new run folder.

// execFlags are the flags of exec.
type execFlags struct {
	plain        bool
	pause        bool
	profile      int // steps; 0: none
	noProvenance bool
	maps         []string
}

// torchLogsFile takes the text logs that have no record in a trace.
const torchLogsFile = "trace/torch_logs.txt"

// fusionLogs are the TORCH_LOGS artifacts that the trace lacks. Of the breaks it
// lacks nothing, but releases up to 2.10 put the ones that lose their frame into
// the trace only where they log them too.
const fusionLogs = "fusion,schedule,graph_breaks"

// traceEnv is our environment with PyTorch's variables set for a run. What
// the user set stays, but for TORCH_TRACE, which must lead to the run folder.
func traceEnv(r *Run, env []string, noProvenance bool) []string {
	set := map[string]bool{}
	var out []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if name == "TORCH_TRACE" {
			continue
		}
		set[name] = value != ""
		out = append(out, e)
	}
	out = append(out, "TORCH_TRACE="+filepath.Clean(r.file(traceFile)))
	if !set["TORCH_LOGS_OUT"] {
		out = append(out, "TORCH_LOGS_OUT="+r.file(torchLogsFile))
		if !set["TORCH_LOGS"] {
			out = append(out, "TORCH_LOGS="+fusionLogs)
		}
	}
	if !noProvenance && !set["INDUCTOR_PROVENANCE"] {
		out = append(out, "INDUCTOR_PROVENANCE=1")
	}
	return out
}

// logsAreKept says whether an environment's TORCH_LOGS lines go into the run
// folder, so that the Logs screen has what standard error repeats.
func logsAreKept(r *Run, env []string) bool {
	return slices.Contains(env, "TORCH_LOGS_OUT="+r.file(torchLogsFile))
}

// logsAreOurs says whether TORCH_LOGS was set by us: nobody waits for its lines.
func logsAreOurs(env []string) bool {
	return slices.Contains(env, "TORCH_LOGS="+fusionLogs) && os.Getenv("TORCH_LOGS") == ""
}

// exec runs a foreign command and shows the screens, or without a terminal
// the report at its end.
func (s *session) exec(fl execFlags, argv []string) error {
	maps, err := parseSourceMap(fl.maps)
	if err != nil {
		return err
	}
	plain := fl.plain || !s.onTerminal()
	if fl.pause && plain {
		return failf(ExitUsage, "exec --pause needs a terminal, and no --plain: the screens' keys say when to go on")
	}
	if plain {
		return s.execPlain(fl, argv)
	}
	f, err := startExec(fl, maps, argv)
	if err != nil {
		return err
	}
	return s.show(f)
}

// startExec starts a foreign command for the screens.
func startExec(fl execFlags, maps sourceMap, argv []string) (*feed, error) {
	options := Options{Pause: fl.pause, Profile: fl.profile}
	r, err := newRun("exec", argv[:1], argv[1:], options)
	if err != nil {
		return nil, err
	}
	f := &feed{title: r.Info.title(), root: r.Info.Dir, exportDir: r.Path, maps: maps, files: filesOf(argv)}
	f.again = func(f *feed) error {
		next, err := newRun("exec", argv[:1], argv[1:], options)
		if err != nil {
			return err
		}
		return f.startForeign(next, argv, traceEnv(next, os.Environ(), fl.noProvenance))
	}
	return f, f.startForeign(r, argv, traceEnv(r, os.Environ(), fl.noProvenance))
}

// startForeign starts a command under the screens, with a channel to its Python processes
// where its run is one that can be paused. Breakpoints of a run before are set again.
func (f *feed) startForeign(r *Run, argv, env []string) error {
	kept := logsAreKept(r, env)
	env, err := r.withHooks(env)
	if err != nil {
		return errors.Join(err, r.finish(ending{State: Crashed, Code: ExitEngine, Crash: err.Error()}))
	}
	var p *pauser
	if r.Info.Engine.Pause {
		var standing []ctl.Command
		if before := f.now(); before != nil && before.child != nil && before.child.pauser != nil {
			standing = before.child.pauser.commands()
		}
		if p, env, err = newPauser(env, standing); err != nil {
			return errors.Join(err, r.finish(ending{State: Crashed, Code: ExitEngine, Crash: err.Error()}))
		}
	}
	err = f.startChild(r, func(stdin, stdout, stderr *os.File) (*child, error) {
		c, err := startForeign(r, argv, env, stdin, stdout, stderr, true)
		if err == nil {
			c.pauser = p
		}
		return c, err
	}, kept)
	if err != nil && p != nil {
		p.close()
	}
	return err
}

// execPlain runs a command on our own streams. Its standard output is exactly
// its own; the report follows on standard error.
func (s *session) execPlain(fl execFlags, argv []string) error {
	r := s.newRunOrNone("exec", argv[:1], argv[1:], Options{Profile: fl.profile})
	if r.unrecorded() {
		c, err := startForeign(r, argv, os.Environ(), s.Stdin, s.Stdout, s.Stderr, false)
		if err != nil {
			return err
		}
		return s.endPlain(c)
	}
	env, err := r.withHooks(traceEnv(r, os.Environ(), fl.noProvenance))
	if err != nil {
		return errors.Join(err, r.finish(ending{State: Crashed, Code: ExitEngine, Crash: err.Error()}))
	}
	stderr, done, err := s.pipeStderr(r, env)
	if err != nil {
		return err
	}
	c, err := startForeign(r, argv, env, s.Stdin, s.Stdout, stderr, false)
	if err != nil {
		r.removeHooks()
		done()
		return errors.Join(err, r.finish(ending{State: Crashed, Code: ExitNoFile, Crash: err.Error()}))
	}
	err = s.endPlain(c)
	done()
	if err != nil {
		return err
	}
	return s.execReport(r)
}

// execReport prints the report of a run that has ended.
func (s *session) execReport(r *Run) error {
	st, err := logs.Open([]string{r.file(traceFile)}, logs.Options{})
	if err != nil {
		fmt.Fprintf(
			s.Stderr,
			"tcdbg: the program wrote no trace: it compiled nothing, or its PyTorch is older than 2.1 (run %s)\n",
			r.Info.ID,
		)
		return nil
	}
	defer st.Close()
	fmt.Fprintln(s.Stderr) // the program's last line may have no end
	report, err := foldStore(st, r.Info.title(), r)
	if err != nil {
		return err
	}
	if err := writeReport(s.Stderr, report, &feed{root: r.Info.Dir}, reportFlags{format: "text"}); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "tcdbg: run %s is saved; tcdbg replay last opens it\n", r.Info.ID)
	return nil
}

// pipeStderr gives the command a pipe for standard error, and keeps what comes there in
// the run's folder as well: it tells the error that ended the program. TORCH_LOGS lines
// that we asked for come there too, although a file was named, and are left out; those
// that the user asked for are shown, and the log has them.
func (s *session) pipeStderr(r *Run, env []string) (*os.File, func(), error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, failf(ExitEngine, "cannot make a pipe: %v", err)
	}
	kept, err := os.Create(r.file(stderrFile))
	if err != nil {
		fmt.Fprintf(s.Stderr, "tcdbg: %s; what the program prints to standard error is shown, and not kept\n",
			asFailure(fileError("cannot write", r.file(stderrFile), err, "")).text)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		printed := func(line []byte) bool { return !torchLogLine().Match(line) }
		shown, saved := whileItCan{s.Stderr}, whileItCan{kept}
		if logsAreOurs(env) {
			copyLines(io.MultiWriter(shown, saved), read, printed)
		} else {
			copyLines(saved, io.TeeReader(read, shown), printed)
		}
	}()
	return write, func() {
		write.Close()
		select {
		case <-ended:
			kept.Close()
		case <-time.After(patience): // a grandchild holds the pipe
		}
	}, nil
}

// whileItCan writes what can be written: one stream that fails takes nothing from another,
// and the program that writes to us is not held up.
type whileItCan struct{ w io.Writer }

func (w whileItCan) Write(b []byte) (int, error) {
	_, _ = w.w.Write(b) // that of a file that could not be made fails as well
	return len(b), nil
}

// maxPrinted is how much of the end of what a program printed is read for the error
// that ended it.
const maxPrinted = 1 << 20

// dir is where the program of a run was started, "" where there is no run. A folder that
// run.json names by no absolute path is none, and the run's own is taken.
func (r *Run) dir() string {
	if r == nil {
		return ""
	}
	if !filepath.IsAbs(r.Info.Dir) {
		return r.Path
	}
	return r.Info.Dir
}

// printedAtEnd is the end of what a foreign program printed to standard error, without its
// log, "" where
// that was not kept or nothing went wrong.
func (r *Run) printedAtEnd() string {
	if r == nil || r.Info.Kind != "exec" || r.Info.Code == 0 {
		return ""
	}
	f, err := regular.Open(r.file(stderrFile))
	if err != nil {
		return ""
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > maxPrinted {
		if _, err := f.Seek(-maxPrinted, io.SeekEnd); err != nil {
			return ""
		}
	}
	var text strings.Builder
	copyLines(&text, io.LimitReader(f, maxPrinted), func(line []byte) bool { return !torchLine().Match(line) })
	return text.String()
}

// copyLines copies lines that pass keep. A line is held back until its end
// came, unless it cannot be one that is dropped or is so long that its beginning
// decides: a line about a fused kernel has a hundred thousand characters.
func copyLines(w io.Writer, r io.Reader, keep func(line []byte) bool) {
	buf := make([]byte, 64<<10)
	var held []byte
	dropping := false // the rest of a line
	for {
		n, err := r.Read(buf)
		held = append(held, buf[:n]...)
		for {
			i := bytes.IndexByte(held, '\n')
			if i < 0 {
				break
			}
			if !dropping && keep(held[:i]) {
				_, _ = w.Write(held[:i+1])
			}
			held, dropping = held[i+1:], false
		}
		switch {
		case dropping:
			held = held[:0]
		case len(held) == 0:
		case !mayBeLog(held) || len(held) > maxLine && keep(held):
			_, _ = w.Write(held) // a progress bar or a prompt has no line end
			held = held[:0]
		case len(held) > maxLine:
			held, dropping = held[:0], true
		}
		if err != nil {
			if len(held) > 0 && keep(held) {
				_, _ = w.Write(held)
			}
			return
		}
	}
}

// mayBeLog reports whether a line that has begun so may be a log line.
func mayBeLog(b []byte) bool {
	return bytes.IndexByte([]byte("[VIWEC"), b[0]) >= 0 && bytes.IndexByte(b, '\r') < 0
}
