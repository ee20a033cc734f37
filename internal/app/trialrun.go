package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tcdbg/backends/codecache"
	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/remedy"
	"tcdbg/explain/rewrite"
	"tcdbg/internal/app/results"
	"tcdbg/logs"
	"tcdbg/logs/regular"
)

// This file runs a program once for a trial: in the background, in a process group of its
// own, with a limit of time, in a folder that is removed.

// trialProgram is a program that trials run again.
type trialProgram struct {
	inGo  bool
	files []string // of tcdbg run: the program
	args  []string // and its arguments
	argv  []string // of tcdbg exec: the command
	dir   string   // where it runs
	home  string   // folder for the folders of trials
	held  *os.File // the run's folder, locked as long as its program is tried
	steps int
	limit time.Duration
	// Of the next run: what it compares, what it compiles, and of which calls it notes operators.
	numerics  *NumericsOptions
	compile   string
	operators *results.Noting
	read      func(file string) ([]string, error) // a source file as the run read it
	path      func(file string) string            // where it is
}

// trialParts are what only a trial has in its folder.
var trialParts = []string{"results", "cache", "overlay", hookFolder}

// trialFolders is the folder of trials in a run folder; nothing is left in it.
const trialFolders = "trials"

// cache is the folder of generated code that the trials of a Python program share.
func (p *trialProgram) cache() string { return filepath.Join(filepath.Dir(p.home), sharedCache) }

// sharedCache is its name in the run folder.
const sharedCache = "trial-cache"

// in says in whose run folder the trials are made. What others have left there, or in other
// runs, that were killed while they tried is removed.
func (p *trialProgram) in(run string) {
	sweepTrials(filepath.Dir(run))
	p.home = filepath.Join(run, trialFolders)
	var err error
	if p.held, err = os.Open(run); err == nil {
		_ = syscall.Flock(int(p.held.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) // without locks nothing is swept either
	}
}

// out ends in.
func (p *trialProgram) out() {
	if p.held != nil {
		_ = p.held.Close()
	}
}

// sweepTrials removes what is only there during trials from the folders of runs in which
// nobody tries anything.
func sweepTrials(runs string) {
	folders, err := os.ReadDir(runs)
	if err != nil {
		return
	}
	for _, folder := range folders {
		for _, name := range append([]string{trialFolders, sharedCache}, trialParts...) {
			run := filepath.Join(runs, folder.Name())
			if _, err := os.Lstat(filepath.Join(run, name)); err == nil && nobodyTries(run) {
				_ = os.RemoveAll(filepath.Join(run, name))
			}
		}
	}
}

func nobodyTries(run string) bool {
	dir, err := os.Open(run)
	if err != nil {
		return false
	}
	defer dir.Close()
	return syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// outcome is one run of a trial.
type outcome struct {
	state    remedy.TrialState
	reason   string
	took     time.Duration
	measured *remedy.Measured
	results  *results.Trial
	folder   *Run
	kept     bool // it is the run itself: what only trials need goes, the rest stays
}

// discard removes what the trial wrote.
func (o *outcome) discard() {
	if o == nil || o.folder == nil {
		return
	}
	if o.kept {
		for _, name := range trialParts {
			_ = os.RemoveAll(o.folder.file(name)) // ours, in the run's own folder
		}
		return
	}
	_ = os.RemoveAll(o.folder.Path)            // likewise
	_ = os.Remove(filepath.Dir(o.folder.Path)) // once it is empty
}

// run runs the program under remedies. Its folder is there until it is discarded.
func (p *trialProgram) run(ctx context.Context, remedies []*remedy.Remedy) (*outcome, error) {
	kind, program, args := "exec", p.argv[:min(1, len(p.argv))], p.argv[min(1, len(p.argv)):]
	if p.inGo {
		kind, program, args = "run", p.files, p.args
	}
	r, err := newRunIn(p.home, kind, program, args, Options{})
	if err != nil {
		return nil, err
	}
	o := &outcome{folder: r}
	if err = p.prepare(r, remedies); err == nil {
		err = p.execute(ctx, r, o)
	}
	if err != nil {
		r.lock.Close()
		o.discard()
		return nil, err
	}
	return o, nil
}

// prepare writes the texts of changed files and the options of the trial.
func (p *trialProgram) prepare(r *Run, remedies []*remedy.Remedy) error {
	t := &TrialOptions{
		Results: r.file("results"), Steps: p.steps, Overlay: map[string]string{},
		Numerics: p.numerics, Compile: p.compile, Operators: p.operators,
	}
	for _, name := range trialParts[:3] { // the last one is made with what is in it
		if err := os.Mkdir(r.file(name), 0o700); err != nil {
			return err
		}
	}
	hunks := map[string][][]explain.Hunk{}
	for _, m := range remedies {
		if m.Patch() {
			hunks[m.File] = append(hunks[m.File], m.Hunks)
		}
		t.Switches = append(t.Switches, m.Switches...)
	}
	for _, file := range slices.Sorted(maps.Keys(hunks)) {
		joined, err := rewrite.Join(hunks[file]...)
		if err != nil {
			return err
		}
		lines, err := p.read(file)
		if err != nil {
			return err
		}
		after, err := rewrite.ApplyRewrite(lines, joined)
		if err != nil {
			return err
		}
		path, err := filepath.EvalSymlinks(p.path(file))
		if err != nil {
			return err
		}
		copied := filepath.Join(r.file("overlay"), strconv.Itoa(len(t.Overlay))+"-"+filepath.Base(path))
		if err := os.WriteFile(copied, []byte(strings.Join(after, "\n")), 0o600); err != nil {
			return err
		}
		t.Overlay[path] = copied
		t.Overlay[filepath.Clean(absolute(p.dir, p.path(file)))] = copied
	}
	r.Info.Dir, r.Info.Engine.Trial = p.dir, t
	return r.save()
}

// execute starts the program, waits for its end and reads what it gave.
func (p *trialProgram) execute(ctx context.Context, r *Run, o *outcome) error {
	var files [3]*os.File
	for i, name := range []string{os.DevNull, r.file(stdoutFile), r.file(stderrFile)} {
		mode := os.O_RDONLY
		if i > 0 {
			mode = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		}
		f, err := os.OpenFile(name, mode, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		files[i] = f
	}
	start := time.Now()
	c, err := p.start(r, files)
	if err != nil {
		return err
	}
	exited := make(chan struct{})
	var e ending
	go func() {
		defer close(exited)
		e, err = c.wait()
	}()
	limit := time.NewTimer(p.limit)
	defer limit.Stop()
	select {
	case <-exited:
		o.state = remedy.Done
	case <-limit.C:
		o.state, o.reason = remedy.TimedOut, fmt.Sprintf("it had not ended after %s", p.limit)
	case <-ctx.Done():
		o.state, o.reason = remedy.Cancelled, "cancelled"
	}
	c.end(exited)
	<-exited
	c.signal(syscall.SIGKILL) // what it started and left behind
	o.took = time.Since(start)
	if err != nil {
		return err
	}
	return p.collect(r, o, e)
}

// start starts the program.
func (p *trialProgram) start(r *Run, files [3]*os.File) (*child, error) {
	if !p.inGo {
		return p.startPython(r, files)
	}
	// What is compiled is compiled from the start, as in the run that it is compared with. The
	// runtime library is no part of that.
	if from, err := codecache.DefaultDir(); err == nil {
		codecache.Seed(filepath.Join(r.file("cache"), "tcdbg"), from)
	}
	env := append(os.Environ(), "XDG_CACHE_HOME="+r.file("cache"))
	return startEngineIn(r, p.dir, env, files[0], files[1], files[2], true)
}

// maxCompared is how much of standard output and of standard error is compared.
const maxCompared = 1 << 20

// begins reads the beginning of a file; cut says that there is more.
func begins(name string) (text string, cut bool, err error) {
	f, err := os.Open(name)
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxCompared+1))
	return string(b[:min(len(b), maxCompared)]), len(b) > maxCompared, err
}

// collect reads what an ended trial left.
func (p *trialProgram) collect(r *Run, o *outcome, e ending) error {
	t, err := results.Read(r.file("results"))
	if err != nil {
		return err
	}
	if t.Output, t.Long, err = begins(r.file(stdoutFile)); err != nil {
		return err
	}
	if t.Errors, t.ErrorsCut, err = begins(r.file(stderrFile)); err != nil {
		return err
	}
	t.Errors = results.Programs(t.Errors)
	o.results = t
	var exit *int
	if o.state == remedy.Done {
		exit = &e.Code
		if e.Crash != "" {
			o.reason = e.Crash
		}
	}
	report, err := trialReport(r)
	if err != nil {
		return err
	}
	o.measured = results.Measure(t, report, exit)
	return nil
}

// trialReport reads the trace of a trial; nil where it wrote none.
func trialReport(r *Run) (*explain.Report, error) {
	st, err := logs.Open([]string{r.file(traceFile)}, logs.Options{Empty: true})
	if err != nil {
		return nil, nil // the program compiled nothing
	}
	defer st.Close()
	return fold.All(st, r.Info.title())
}

// lastWords is what a trial's standard error says of its end, for a message.
func (o *outcome) lastWords() string {
	text, err := regular.Read(o.folder.file(stderrFile), 16<<20)
	if err != nil {
		return ""
	}
	return shown(lastError(results.Programs(string(text))))
}

// lastError is the exception that a Python program ends with, below which PyTorch prints what could be set, or the panic
// that a Go program ends with, above its stacks; else the last line of standard error.
func lastError(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	stacks := false // a panic that the program only tells of has none
	for i := len(lines) - 1; i >= 0; i-- {
		stacks = stacks || strings.HasPrefix(lines[i], "goroutine ")
		if stacks && (strings.HasPrefix(lines[i], "panic: ") || strings.HasPrefix(lines[i], "fatal error: ")) {
			return strings.TrimSpace(lines[i])
		}
		if !strings.HasPrefix(lines[i], "Traceback (most recent call last):") {
			continue
		}
		for _, l := range lines[i+1:] {
			if l != "" && l[0] != ' ' && l[0] != '\t' {
				return strings.TrimSpace(l)
			}
		}
		break
	}
	return strings.TrimSpace(lines[len(lines)-1])
}

// unwatched says why no call of the program was seen.
func (p *trialProgram) unwatched() string {
	if p.inGo {
		return "calls no compiled function"
	}
	return "calls no compiled function where tcdbg sees it: python -I, -E and -S keep its module out"
}
