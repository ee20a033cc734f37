package app

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tcdbg/explain/remedy"
	"tcdbg/logs"
)

// restarted is a feed of a saved trace, which begin opens once more where a program would
// be started.
func restarted(t *testing.T, begin func()) *feed {
	t.Helper()
	src, err := findTraces([]string{"../../tui/testdata/bar.log"}, false)
	if err != nil {
		t.Fatal(err)
	}
	f, err := src.open(nil, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f.again = func(f *feed) error {
		begin()
		next, err := src.open(nil, logs.Options{})
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.state = next.state
		return nil
	}
	return f
}

// soon fails where do does not return.
func soon(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s never ends", what)
	}
}

// However often and from wherever a program is run again, one run is closed before the next
// is started; and none is started once the screens have ended.
func TestOneStartAtATime(t *testing.T) {
	var starting, most, starts atomic.Int64
	f := restarted(t, func() {
		starts.Add(1)
		if n := starting.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(20 * time.Millisecond)
		starting.Add(-1)
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := f.Rerun(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if starts.Load() != 4 || most.Load() != 1 {
		t.Errorf("%d starts, %d at once", starts.Load(), most.Load())
	}
	go func() { _ = f.Rerun() }() // before the end or after: its run is closed, or there is none
	f.close()
	if starting.Load() != 0 {
		t.Error("closed while a program was being started")
	}
	if err := f.Rerun(); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
	if !f.now().over {
		t.Error("the run that was started last is not closed")
	}
}

// Where the next run cannot be started, the one that is shown has been closed; to quit
// closes it a second time, and waits for no trials that will never end.
func TestQuitAfterAFailedStart(t *testing.T) {
	f := ranWithTrials(t)
	f.again = func(*feed) error { return errors.New("the disk is full") }
	soon(t, "running again", func() {
		if err := f.Rerun(); err == nil {
			t.Error("it was started")
		}
	})
	soon(t, "running again, again,", func() { _ = f.Rerun() })
	soon(t, "quitting", func() { f.close() })
	if _, _, err := f.Remedies(); err != nil {
		t.Errorf("its remedies cannot be seen any more: %v", err)
	}
}

// Nothing is tried of a run that has ended with the screens, and two trials do not begin
// together.
func TestTrialsBeginOnce(t *testing.T) {
	f := ranWithTrials(t)
	trials := f.now().trials.Load()
	m := remedy.OfSwitch(remedy.Switch{Name: "dynamic", Value: "true"})
	var begun atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if trials.begin(&m) {
				begun.Add(1)
			}
		})
	}
	wg.Wait()
	if begun.Load() != 1 {
		t.Errorf("%d begun", begun.Load())
	}
	st := f.now()
	st.trials.Store(nil) // none were asked for yet
	f.close()
	if err := f.Try([]*remedy.Remedy{&m}, false); err == nil {
		t.Error("a run that was closed is tried")
	}
	trials.close()
}

// ranWithTrials is the feed of a run whose remedies were asked for.
func ranWithTrials(t *testing.T) *feed {
	t.Helper()
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("TCDBG_BACKEND", "eager")
	r, err := newRun("run", []string{program(t, branching)}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := startRun(r)
	if err != nil {
		t.Fatal(err)
	}
	<-f.now().exited
	<-f.now().done
	if _, _, err := f.Remedies(); err != nil {
		t.Fatal(err)
	}
	return f
}

// Watching that was stopped and begun again at once runs the program once for a change.
func TestWatchedTwice(t *testing.T) {
	var starts atomic.Int64
	f := restarted(t, func() { starts.Add(1) })
	file := filepath.Join(t.TempDir(), "model.go")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("package main\n")
	f.files = []string{file}
	for _, on := range []bool{true, false, true, false, true} {
		if err := f.Watch(on); err != nil {
			t.Fatal(err)
		}
	}
	write("package main // changed\n")
	time.Sleep(4 * watchEvery)
	if n := starts.Load(); n != 1 {
		t.Errorf("%d starts for one change", n)
	}
	f.close()
	write("package main // changed once more\n")
	time.Sleep(2 * watchEvery)
	if n := starts.Load(); n != 1 {
		t.Error("started after the end")
	}
}

// A program whose trace cannot be read is not left without screens.
func TestUnreadableTraceEndsTheProgram(t *testing.T) {
	state := t.TempDir()
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", state)
	r, err := newRun("exec", []string{"sleep"}, []string{"1000"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Clean(r.file(traceFile))
	if err := os.RemoveAll(trace); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(trace, trace); err != nil { // it leads to itself
		t.Fatal(err)
	}
	f := &feed{title: "sleep", exportDir: r.Path}
	if err := f.startForeign(r, []string{"sleep", "1000"}, os.Environ()); err == nil {
		t.Fatal("the trace was read")
	}
	nothingRuns(t, state)
	if saved, err := loadRun(r.Path); err != nil || saved.Info.State != Killed {
		t.Errorf("%+v %v", saved, err)
	}
}
