package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/internal/app/bundle"
	"tcdbg/internal/app/habits"
	"tcdbg/internal/app/jobs"
	"tcdbg/logs"
	"tcdbg/logs/printable"
	"tcdbg/logs/regular"
	"tcdbg/tui"
	"tcdbg/tui/theme"
)

// This file shows the screens: of a program that runs below them, or of saved
// traces.

// pollEvery is how often the screens ask for a new report.
const pollEvery = 80 * time.Millisecond

// runScreens runs the engine under the screens.
func (s *session) runScreens(r *Run) error {
	f, err := startRun(r)
	if err != nil {
		return err
	}
	return s.show(f)
}

// startRun starts the engine for the screens.
func startRun(r *Run) (*feed, error) {
	f := &feed{title: r.Info.title(), root: r.Info.Dir, exportDir: r.Path, files: r.Info.Program}
	start := func(f *feed, r *Run) error {
		return f.startChild(r, func(stdin, stdout, stderr *os.File) (*child, error) {
			return startEngine(r, stdin, stdout, stderr, true)
		}, false)
	}
	f.again = func(f *feed) error {
		next, err := newRun("run", r.Info.Program, r.Info.Args, r.Info.Engine)
		if err != nil {
			return err
		}
		return start(f, next)
	}
	return f, start(f, r)
}

// startChild starts a program with its output in the run's files and an empty
// standard input, and follows its trace.
func (f *feed) startChild(r *Run, start func(stdin, stdout, stderr *os.File) (*child, error), hide bool) error {
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return failf(ExitEngine, "cannot open %s: %s", os.DevNull, reason(err))
	}
	defer stdin.Close()
	var files [2]*os.File
	for i, name := range []string{stdoutFile, stderrFile} {
		file, err := os.OpenFile(r.file(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return fileError("cannot write", r.file(name), err, "")
		}
		defer file.Close()
		files[i] = file
	}
	c, err := start(stdin, files[0], files[1])
	if err != nil {
		return errors.Join(err, r.finish(ending{State: Crashed, Code: ExitEngine, Crash: err.Error()}))
	}
	f.mu.Lock()
	f.exportDir = r.Path
	f.mu.Unlock()
	st := &feedState{child: c, run: r, live: true, start: time.Now(), out: openOutput(r, hide)}
	if err := f.follow(st, []string{r.file(traceFile)}, logs.Options{Follow: true}); err != nil {
		c.signal(syscall.SIGKILL) // nobody would see it
		_, late := c.wait()
		return errors.Join(err, late)
	}
	f.watch(st)
	return nil
}

// show runs the screens until the user quits, and ends what runs below them.
func (s *session) show(f *feed) error {
	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	control := jobs.New(ctx, s.Stdin)
	defer control.End()
	go control.Watch(stop)
	run := ""
	if st := f.now(); st.run != nil && st.child == nil { // one that begins has not been left
		run = st.run.Path
	}
	mine, problems := habits.Settings()
	for _, p := range problems {
		fmt.Fprintf(s.Stderr, "tcdbg: %s\n", printable.Clean(p))
	}
	m := tui.New(f, tui.Options{
		Theme: mine.Theme, KeepTheme: habits.KeepTheme, Left: habits.Left(run), Hint: firstTime(),
		Colour: theme.UseColour(os.Getenv), Mouse: true, Editor: editor(), Poll: pollEvery,
		Suspend: control.Suspend, Away: control.Away,
		Copy: func(text string) error {
			_, err := osc52.New(text).WriteTo(s.Stdout)
			return err
		},
	})
	err := tui.Start(ctx, m, tea.WithInput(s.Stdin), tea.WithOutput(s.Stdout), tea.WithoutSignalHandler())
	st := f.close()
	if st.run != nil {
		habits.Leave(st.run.Path, tui.Left(m))
	}
	var sig jobs.Signalled
	if errors.As(context.Cause(ctx), &sig) {
		s.code = exitSignal + int(sig.Signal)
		return nil
	}
	if err != nil {
		return failf(ExitEngine, "the terminal interface failed: %v", err)
	}
	return s.afterShow(f, st)
}

// firstTime says whether the screens are opened for the first time.
func firstTime() bool {
	runs, err := runsRoot()
	return err == nil && habits.FirstTime(filepath.Dir(runs))
}

// afterShow takes the program's exit code and says where the run is kept.
func (s *session) afterShow(f *feed, st *feedState) error {
	if st.child == nil {
		return nil
	}
	f.mu.Lock()
	ended := st.ended
	f.mu.Unlock()
	if ended != nil {
		s.code = ended.Code
		if ended.Crash != "" {
			fmt.Fprintf(s.Stderr, "tcdbg: %s\n", ended.Crash)
		}
	}
	if st.left.Load() && ended == nil {
		fmt.Fprintf(s.Stderr, "tcdbg: %s keeps running as process %d; tcdbg replay %s shows it, kill %d ends it\n",
			f.title, st.child.cmd.Process.Pid, st.run.Info.ID, st.child.cmd.Process.Pid)
		return nil
	}
	fmt.Fprintf(s.Stderr, "tcdbg: run %s is saved; tcdbg replay last opens it\n", st.run.Info.ID)
	if ended != nil && st.run.Info.Kind == "run" {
		writeDebugFolder(s.Stderr, st.run)
	}
	return nil
}

// editor is the user's editor.
func editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v := strings.TrimSpace(os.Getenv(name)); v != "" {
			return v
		}
	}
	return ""
}

// replayFlags are the flags of replay.
type replayFlags struct {
	follow bool
	maps   []string
}

// replay opens saved traces or a saved run.
func (s *session) replay(fl replayFlags, paths []string) error {
	maps, err := parseSourceMap(fl.maps)
	if err != nil {
		return err
	}
	src, err := findTraces(paths, fl.follow)
	if err != nil {
		return err
	}
	if !s.onTerminal() && !(s.stdinIsTrace(paths) && isTerminal(s.Stdout)) {
		if fl.follow {
			return s.followReport(src, s.Stdin)
		}
		return s.report(reportFlags{format: "text"}, paths)
	}
	o := logs.Options{Follow: fl.follow, Empty: src.allSaved()}
	if s.stdinIsTrace(paths) {
		o.Follow, o.Stdin = true, s.Stdin // the program at its other end may still run
	}
	f, err := src.open(maps, o)
	if err != nil {
		return err
	}
	if s.stdinIsTrace(paths) {
		tty, err := os.Open("/dev/tty")
		if err != nil {
			return failf(ExitUsage, "the trace comes from standard input and there is no terminal for the keyboard; use tcdbg report -")
		}
		defer tty.Close()
		s.Stdin = tty
	}
	return s.show(f)
}

// open reads the traces for the screens, and what else a saved run has. A run that has not
// ended is followed.
func (t *traces) open(maps sourceMap, o logs.Options) (*feed, error) {
	f := t.files()
	f.title, f.exportDir, f.maps = t.title, t.export, maps
	st := &feedState{run: t.run}
	running := false
	if t.run != nil {
		i := t.run.Info
		st.out = openOutput(t.run, i.Kind == "exec")
		if running = i.State == Running; running {
			st.start, o.Follow = i.Start, true
		} else {
			st.ended = endingIn(&i)
		}
		if i.End != nil {
			st.took = i.End.Sub(i.Start)
		}
	}
	st.live = o.Follow
	if err := f.follow(st, t.paths, o); err != nil {
		return nil, err
	}
	if running {
		f.watchOther(st)
	}
	if !o.Follow {
		if err := t.awaitRecord(st); err != nil {
			st.close()
			return nil, err
		}
	}
	return f, nil
}

// endingIn is how a saved run ended.
func endingIn(i *RunInfo) *ending {
	return &ending{State: i.State, Code: i.Code, Signal: i.Signal, Crash: i.Crash}
}

// watchOther waits for the end of a run that is not our child: one that was left
// running, or one under other screens.
func (f *feed) watchOther(st *feedState) {
	f.guard(func() {
		for st.run.alive() {
			select {
			case <-st.done: // the screens ended first
				return
			case <-time.After(watchEvery):
			}
		}
		e := &ending{State: Lost}
		if r, err := loadRun(st.run.Path); err == nil && r.Info.State != Running {
			e = endingIn(&r.Info)
		}
		if fault := readFault(st.run.file(faultFile)); fault != nil {
			*e = ending{State: Crashed, Code: ExitKernel, Signal: signalName(fault.Signal), Crash: fault.String()}
		}
		f.mu.Lock()
		st.live, st.ended, st.took = false, e, time.Since(st.start)
		f.mu.Unlock()
		st.cancel()
		<-st.done
	})
}

func (s *session) stdinIsTrace(paths []string) bool {
	for _, p := range paths {
		if p == "-" {
			return true
		}
	}
	return false
}

// traces is what a command line of paths and run ids means.
type traces struct {
	paths  []string
	title  string
	root   string
	export string // where exports go
	run    *Run   // the run, when it is one
	maps   sourceMap
	bundle *bundle.Bundle  // the bundle, when it is one
	saved  map[string]bool // of paths: they are runs' own, where nothing may have been compiled
}

// findTraces resolves paths, run ids and "last". An awaited path may be missing in a
// folder that is there: the program that will write it has not begun.
func findTraces(args []string, awaited bool) (*traces, error) {
	wd, _ := os.Getwd()
	t := &traces{root: wd, export: wd, saved: map[string]bool{}}
	for _, a := range args {
		if a == "-" {
			t.paths = append(t.paths, a)
			continue
		}
		if _, err := os.Stat(a); err == nil {
			if bundle.Is(a) {
				if err := t.unpack(a, len(args) == 1); err != nil {
					return nil, err
				}
				continue
			}
			path := a
			if r, err := loadRun(a); err == nil {
				t.use(r, len(args) == 1)
				path = r.file(traceFile)
				t.saved[path] = true
			} else if refused := new(regular.Error); errors.As(err, &refused) {
				return nil, failf(ExitData, "%s", shown(refused.Error()))
			} else if broken := new(fs.PathError); errors.As(err, &broken) &&
				!errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return nil, failf(ExitData, "cannot read %s: %s", shown(broken.Path), reason(err))
			}
			t.paths = append(t.paths, path)
			continue
		} else if strings.ContainsRune(a, os.PathSeparator) || filepath.Ext(a) != "" {
			if _, err := os.Stat(filepath.Dir(a)); awaited && err == nil {
				t.paths = append(t.paths, a)
				continue
			}
			return nil, failf(ExitNoFile, "cannot open %s: no such file", shown(a))
		}
		r, err := findRun(a)
		if err != nil {
			return nil, err
		}
		t.use(r, len(args) == 1)
		t.saved[r.file(traceFile)] = true
		t.paths = append(t.paths, r.file(traceFile))
	}
	if t.title == "" {
		t.title = filepath.Base(args[0])
		if len(args) > 1 {
			t.title += fmt.Sprintf(" and %d more", len(args)-1)
		}
	}
	return t, nil
}

// unpack adds the traces of a bundle.
func (t *traces) unpack(path string, alone bool) error {
	b, err := bundle.Open(path)
	if err != nil {
		return failf(ExitData, "%s", shown(err.Error()))
	}
	for _, p := range b.Paths {
		t.paths, t.saved[p] = append(t.paths, p), true
	}
	if alone {
		t.bundle, t.title = b, printable.Clean(b.Title)
	}
	return nil
}

// allSaved reports whether everything is of saved runs.
func (t *traces) allSaved() bool {
	return !slices.ContainsFunc(t.paths, func(p string) bool { return !t.saved[p] })
}

// refuse is the error of a path that holds no record, now that st was read; nil where
// each does.
func (t *traces) refuse(st *logs.Store) error {
	for _, path := range st.Foreign() {
		if !t.saved[path] {
			return failf(
				ExitData,
				"%s: neither a PyTorch trace nor a PyTorch log: no line is a record (to get a trace, set TORCH_TRACE or use tcdbg exec)",
				shown(path),
			)
		}
	}
	return nil
}

// awaitRecord waits until each path that is read has given a record, and refuses one
// that comes to its end without: no screens open for it.
func (t *traces) awaitRecord(st *feedState) error {
	for {
		select {
		case <-st.done:
			return t.refuse(st.store)
		case <-time.After(time.Millisecond):
			if len(st.store.Foreign()) == 0 {
				return nil
			}
		}
	}
}

// use takes title and folders from a saved run.
func (t *traces) use(r *Run, alone bool) {
	if !alone {
		return
	}
	t.run, t.root, t.export = r, r.dir(), r.Path
	t.title = r.Info.title()
}
