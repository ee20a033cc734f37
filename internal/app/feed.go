package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/explain/remedy"
	"tcdbg/explain/rewrite"
	"tcdbg/internal/app/bundle"
	"tcdbg/internal/app/lowering"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
	"tcdbg/logs/regular"
	"tcdbg/tui"
)

// This file joins a trace, its fold and a child process to what the screens
// ask for (tui.Feed). A feed outlives its run: running again replaces all of
// them at once.

// feed is the source of the screens.
type feed struct {
	mu        sync.Mutex
	title     string
	root      string // from which paths are shown
	exportDir string
	maps      sourceMap
	bundle    *bundle.Bundle    // that the trace is from; nil: it is from none
	again     func(*feed) error // starts the program once more; nil: it cannot
	state     *feedState
	broken    error           // a goroutine of ours failed
	before    *explain.Report // of the run before, after running again
	changes   string          // what differs from it
	watched   bool
	files     []string   // that make the program
	watches   int        // how often watching was begun: the last one alone goes on
	starting  sync.Mutex // a run is started or ended: one at a time
	closed    bool       // nothing is started any more; under starting
	folding   sync.Mutex // of rewritten, which nobody has seen before it is whole
	rewritten *explain.Report
	earlier   earlierRun
	lowered   atomic.Pointer[lowering.View] // a graph of the trace that is shown in its place; nil: the trace is
	unlowered *lowering.View                // the last one of before; under mu
	fixes     []written                     // to the user's files, the last one last
	applied   []appliedFixes
	copied    struct { // see withLedger
		of, report *explain.Report
		version    int
	}
}

// feedState is one run of a feed.
type feedState struct {
	store   *logs.Store
	fold    *fold.Fold
	out     *outputLog  // nil: none was saved
	printed *printedLog // what text logs hold of it; nil beside out
	child   *child      // nil: a saved run
	run     *Run        // nil: files that are no run of ours
	live    bool
	ended   *ending
	left    atomic.Bool // it runs on when the screens end
	start   time.Time
	took    time.Duration
	cancel  context.CancelFunc
	done    chan struct{}          // closed when the trace and the output were read to their ends
	exited  chan struct{}          // closed when the child has ended
	state   logs.State             // what the engine said last, as of the last snapshot
	trials  atomic.Pointer[trials] // of remedies; nil: none were asked for yet
	trying  sync.Mutex             // trials are made; not after the end, which is
	over    bool
	ledger  *remedy.Ledger // of trials of before; nil: none
	stops   bool           // the trace has stops, and
	stands  *explain.Stop  // the last one at which a thread stands, nil: none does
}

func (f *feed) now() *feedState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

// runs reports whether st has a child that has not ended.
func (f *feed) runs(st *feedState) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return st.child != nil && st.live
}

// follow opens a trace and folds it until ctx ends (or, when it does not grow,
// until its end).
func (f *feed) follow(st *feedState, paths []string, o logs.Options) error {
	store, err := logs.Open(paths, o)
	if err != nil {
		return failf(ExitData, "%s", traceError(err))
	}
	ctx, cancel := context.WithCancel(context.Background())
	st.store, st.cancel, st.done = store, cancel, make(chan struct{})
	st.fold = fold.New(store)
	st.fold.SetTitle(f.title)
	st.fold.SetSource(f.sourceOfRun)
	printed := make(chan struct{}) // closed when the output was read to its end
	live := st.live                // what watch is about to change
	if st.out != nil {
		f.guard(func() {
			defer close(printed)
			st.out.follow(ctx, live)
		})
	} else {
		close(printed)
		st.printed = newPrintedLog(store)
	}
	if st.run != nil {
		st.ledger = readLedger(st.run)
	}
	f.mu.Lock()
	f.state = st
	f.mu.Unlock()
	f.guard(func() {
		defer close(st.done)
		if o.Follow {
			err = fold.Follow(ctx, store, st.fold, st.printed.add)
			f.ends(st)
		} else {
			st.fold.SetLive(true) // nothing is said of the whole before it is read
			err = store.Read(ctx, func(r *logs.Record) {
				st.fold.Add(r)
				st.printed.add(r)
			})
			st.fold.AddUncaught(st.run.printedAtEnd())
			st.fold.SetLive(false) // how the sources ended belongs to the last report
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			f.fail(err)
		}
		if !live || ctx.Err() != nil { // otherwise the program may print more
			<-printed
		}
	})
	return nil
}

// ends notes that a followed trace came to its end, unless the program that writes it
// is our own to watch.
func (f *feed) ends(st *feedState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if st.child == nil {
		st.live = false
	}
}

// traceError words an error of logs.Open.
func traceError(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) && errno == syscall.ENOENT {
		return err.Error() + "; tcdbg runs lists the saved runs"
	}
	if special := new(regular.Error); errors.As(err, &special) && regular.Pipe(special.Path) {
		return err.Error() + "; tcdbg replay --follow reads from a pipe, and - is standard input: tcdbg report - < PIPE"
	}
	return err.Error()
}

// guard runs fn beside the screens; its panic ends them in good order instead
// of leaving the terminal raw.
func (f *feed) guard(fn func()) {
	go func() {
		defer func() {
			if v := recover(); v != nil {
				f.fail(fmt.Errorf("internal error: %v", v))
			}
		}()
		fn()
	}()
}

func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken == nil {
		f.broken = err
	}
}

// watch waits for the child's end and then lets the trace be read to its end.
func (f *feed) watch(st *feedState) {
	st.exited = make(chan struct{})
	f.guard(func() {
		e, err := st.child.wait()
		if err != nil {
			f.fail(err)
		}
		f.mu.Lock()
		st.live, st.ended, st.took = false, &e, time.Since(st.start)
		f.mu.Unlock()
		close(st.exited)
		st.cancel()
		<-st.done
		st.fold.AddUncaught(st.run.printedAtEnd())
		f.compare(st)
	})
}

// close ends the run that is shown, and waits for one that is being started. Nothing is
// started afterwards.
func (f *feed) close() *feedState {
	f.starting.Lock()
	defer f.starting.Unlock()
	f.closed = true
	f.Unlower()
	f.Unlower()
	f.mu.Lock()
	f.watched = false
	f.mu.Unlock()
	st := f.now()
	st.close()
	return st
}

// close ends the run: the engine with its control channel, a foreign program
// by a signal; a program that was left running runs on. A run that has been closed may be
// closed again: where the next one could not be started, it still is what the screens show.
func (st *feedState) close() {
	st.trying.Lock()
	t, again := st.trials.Load(), st.over
	st.over = true
	st.trying.Unlock()
	if t != nil && !again {
		t.close()
	}
	if st.child != nil && !st.left.Load() {
		st.child.end(st.exited)
	}
	st.cancel()
	<-st.done
}

// patience is how long a program that was told to end may take.
const patience = 2 * time.Second

// end tells the child and its group to end, and ends them where they do not. exited is
// closed when the child has.
func (c *child) end(exited <-chan struct{}) {
	select {
	case <-exited:
		return
	default:
	}
	if c.control != nil {
		c.control.Close()
	} else {
		c.leader.end()
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // where it has left the group
	}
	select {
	case <-exited:
	case <-time.After(patience):
		c.signal(syscall.SIGKILL)
		<-exited
	}
}

// Snapshot implements tui.Feed.
func (f *feed) Snapshot() *explain.Report {
	if v := f.lowered.Load(); v != nil {
		return v.Report
	}
	st := f.now()
	r := f.fold(st)
	f.mu.Lock()
	st.state, st.stops, st.stands = r.State, len(r.Session.Stops) > 0, nil
	if standing := r.Session.Standing(); len(standing) > 0 {
		st.stands = standing[len(standing)-1]
	}
	f.mu.Unlock()
	return f.withLedger(st, r)
}

// fold is the newest report of a run, with the fixes that need the user's files.
func (f *feed) fold(st *feedState) *explain.Report {
	f.folding.Lock()
	defer f.folding.Unlock()
	r := st.fold.Snapshot()
	if r != f.rewritten {
		rewrite.AddRewrites(r, f.sourceOfRun)
		f.rewritten = r
	}
	return r
}

// Run implements tui.Feed.
func (f *feed) Run() tui.Run {
	f.mu.Lock()
	defer f.mu.Unlock()
	st := f.state
	r := tui.Run{Title: f.shownTitle(), Root: f.root, Live: st.live, Start: st.start, Elapsed: st.took}
	r.Watched, r.Changes = f.watched, f.changes
	select {
	case <-st.done:
	default:
		r.Reading = !st.live && st.child == nil
	}
	r.Paused, r.Where = st.paused()
	r.Control = st.live && st.child != nil && st.child.controlled()
	r.Again = f.again != nil
	r.Ours = st.live && st.child != nil
	if f.broken != nil {
		r.Ended, r.Failed, r.Live = f.broken.Error(), true, false
		return r
	}
	if st.ended != nil {
		r.Ended, r.Failed = endWords(st)
	}
	return r
}

// paused reports whether the program stands, and where. Of a program with several threads
// and processes it is enough that one does.
func (st *feedState) paused() (bool, string) {
	at, paused := st.state.Where, st.state.State == "paused"
	if st.stops {
		paused = st.stands != nil
		if at = nil; paused {
			at = &st.stands.Where
		}
	}
	if !st.live || !paused {
		return false, ""
	}
	if at == nil || at.File == "" {
		return true, ""
	}
	return true, fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
}

// endWords says how a run ended, as the header shows it.
func endWords(st *feedState) (string, bool) {
	e := st.ended
	switch {
	case e.State == Unseen:
		if s := st.state; s.State == "exited" {
			return fmt.Sprintf("exit %d", s.Code), s.Code != 0
		}
		return "ended; it was left running, so its exit code is unknown", false
	case e.State == Lost:
		return "end unknown: tcdbg was killed", true
	case e.Crash != "":
		return e.Crash, true
	case e.Code == 0:
		return "exit 0", false
	}
	if st.out != nil {
		if p := st.out.panicLine(); p != "" {
			return p, true
		}
		if p := st.out.firstError(); p != "" && e.Code == ExitData {
			return p, true // it did not compile
		}
	}
	return fmt.Sprintf("exit %d", e.Code), true
}

// Records implements tui.Feed.
func (f *feed) Records() tui.Records {
	if v := f.lowered.Load(); v != nil {
		return storeRecords{v.Store}
	}
	return storeRecords{f.now().store}
}

// Output implements tui.Feed.
func (f *feed) Output() tui.Output {
	switch st := f.now(); {
	case st.out != nil:
		return st.out
	case st.printed.holds():
		return st.printed
	}
	return nil
}

// maxSource is the largest source file that is shown.
const maxSource = 8 << 20

// Source implements tui.Feed. Names come from traces: only regular files of a
// source's size are read, and nothing but their lines is shown.
func (f *feed) Source(name string) ([]string, error) {
	if lines, ok := f.bundle.Lines(name); ok {
		return lines, nil
	}
	text, err := regular.Read(f.Path(name), maxSource)
	if err != nil {
		return nil, err
	}
	return strings.Split(string(text), "\n"), nil
}

// Path implements tui.Feed.
func (f *feed) Path(name string) string {
	name = f.maps.apply(name)
	if !filepath.IsAbs(name) && f.root != "" {
		return filepath.Join(f.root, name)
	}
	return name
}

// Send implements tui.Feed.
func (f *feed) Send(c ctl.Command) error {
	st := f.now()
	if !f.runs(st) {
		return fmt.Errorf("%s: the program is not running", c.Verb)
	}
	_, err := st.child.send(c)
	return err
}

// Interrupt implements tui.Feed.
func (f *feed) Interrupt() {
	if st := f.now(); f.runs(st) {
		st.child.signal(syscall.SIGINT)
	}
}

// Leave implements tui.Feed.
func (f *feed) Leave() error {
	st := f.now()
	if !f.runs(st) {
		return errors.New("the program has already ended")
	}
	if err := st.child.leave(); err != nil {
		return fmt.Errorf("the program cannot be left running: %w", err)
	}
	st.left.Store(true)
	return nil
}

// errClosed is what starting a program says when the screens have ended.
var errClosed = errors.New("the screens have ended")

// Rerun implements tui.Feed.
func (f *feed) Rerun() error {
	if f.again == nil {
		return errors.New("only a program that tcdbg started can run again")
	}
	f.starting.Lock()
	defer f.starting.Unlock()
	if f.closed {
		return errClosed
	}
	f.Unlower()
	old := f.now()
	old.close()
	last := f.fold(old)
	f.mu.Lock()
	f.before, f.changes = last, ""
	if old.left.Load() {
		f.before = nil // it goes on, so there is nothing whole to compare with
	}
	f.mu.Unlock()
	return f.again(f)
}

// Export implements tui.Feed.
func (f *feed) Export(name, text string) (string, error) {
	f.mu.Lock()
	dir := f.exportDir
	f.mu.Unlock()
	return createNew(dir, filepath.Base(name), text)
}

// sourceMap maps the beginnings of paths: --source-map from=to.
type sourceMap []struct{ from, to string }

// parseSourceMap reads the flag's values.
func parseSourceMap(values []string) (sourceMap, error) {
	var m sourceMap
	for _, v := range values {
		from, to, ok := strings.Cut(v, "=")
		if !ok || from == "" {
			return nil, failf(
				ExitUsage,
				"--source-map %s: write it as FROM=TO: the start of a path in the trace, and what replaces it on this machine",
				v,
			)
		}
		m = append(m, struct{ from, to string }{from, to})
	}
	return m, nil
}

func (m sourceMap) apply(name string) string {
	for _, e := range m {
		if rest, ok := strings.CutPrefix(name, e.from); ok && (rest == "" || rest[0] == '/' || strings.HasSuffix(e.from, "/")) {
			return e.to + rest
		}
	}
	return name
}
