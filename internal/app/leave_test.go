package app

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tcdbg/explain"
)

// waitsFor starts a program under a feed, as the screens do; it ends when the file
// at gate appears.
func waitsFor(t *testing.T, kind string) (f *feed, gate string) {
	t.Helper()
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	gate = filepath.Join(t.TempDir(), "go-on")
	program := []string{program(t, compiled)}
	r, err := newRun(kind, program, []string{gate}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f = &feed{title: "model.go", exportDir: r.Path}
	script := `echo begins; while [ ! -e "$0" ]; do sleep 0.01; done; echo ends`
	if err := f.startChild(r, func(in, out, errs *os.File) (*child, error) {
		if kind == "exec" {
			return startForeign(r, []string{"sh", "-c", script, gate}, os.Environ(), in, out, errs, true)
		}
		return startEngine(r, in, out, errs, true)
	}, false); err != nil {
		t.Fatal(err)
	}
	return f, gate
}

// A program that is left running runs on when the screens end, writes its run folder
// to the end, and its run says so meanwhile.
func TestLeaveRunning(t *testing.T) {
	for _, kind := range []string{"run", "exec"} {
		t.Run(kind, func(t *testing.T) {
			f, gate := waitsFor(t, kind)
			st := f.now()
			if kind == "run" {
				until(t, f, "a graph", func(r *explain.Report) bool { return r.Totals.Graphs > 0 })
			}
			if err := f.Leave(); err != nil {
				t.Fatal(err)
			}
			st.close() // as the end of the screens does
			pid := st.child.cmd.Process.Pid
			if err := syscall.Kill(pid, 0); err != nil {
				t.Fatalf("the program ended with the screens: %v", err)
			}
			// The viewer's files close when it ends; the lock stays with the program.
			st.run.lock.Close()
			r, err := loadRun(st.run.Path)
			if err != nil || r.Info.State != Running || r.Info.Left != pid {
				t.Fatalf("left running: %+v, %v", r.Info, err)
			}
			if w := stateWord(&r.Info); !strings.HasPrefix(w, "running, process ") {
				t.Errorf("runs says %q", w)
			}
			if err := os.WriteFile(gate, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			<-st.exited
			text, err := os.ReadFile(st.run.file(stdoutFile))
			if err != nil || strings.Count(string(text), "\n") != 2 {
				t.Errorf("output after the screens ended: %q, %v", text, err)
			}
		})
	}
}

// A run that was left and whose end nobody saw is neither running nor lost; a trace of
// ours tells its exit code.
func TestEndOfALeftRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r, err := newRun("exec", []string{"train.py"}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.leave(7); err != nil {
		t.Fatal(err)
	}
	if now, err := loadRun(r.Path); err != nil || now.Info.State != Running {
		t.Errorf("while it runs: %+v, %v", now.Info, err)
	}
	r.lock.Close()
	now, err := loadRun(r.Path)
	if err != nil || now.Info.State != Unseen {
		t.Fatalf("afterwards: %+v, %v", now.Info, err)
	}
	st := &feedState{ended: endingIn(&now.Info)}
	if words, failed := endWords(st); failed || !strings.Contains(words, "exit code is unknown") {
		t.Errorf("%q, failed %v", words, failed)
	}
	st.state.State, st.state.Code = "exited", 3
	if words, failed := endWords(st); !failed || words != "exit 3" {
		t.Errorf("%q, failed %v", words, failed)
	}
}
