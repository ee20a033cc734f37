package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/remedy"
	"tcdbg/logs"
)

// The screens' way: what is found is tried, what is proven is written and taken back, and a
// replay of the run has the ledger.
func TestTrialsOfFeed(t *testing.T) {
	state := t.TempDir()
	t.Setenv(asProgram, "1")
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("TCDBG_BACKEND", "aot_eager")
	path := program(t, branching)
	r, err := newRun("run", []string{path}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &feed{title: "model.go", root: r.Info.Dir, exportDir: r.Path}
	if err := f.startChild(r, func(in, out, errs *os.File) (*child, error) { return startEngine(r, in, out, errs, true) },
		false); err != nil {
		t.Fatal(err)
	}
	<-f.now().done
	before := f.Snapshot()
	list, _, _ := f.Remedies()
	patch := remedy.ForFinding(list, "break", before.Breaks[0].Key)
	if len(patch) != 1 || f.Ledger() == nil || f.CancelTrials() {
		t.Fatalf("%+v", patch)
	}
	if err := f.Try(patch, false); err != nil {
		t.Fatal(err)
	}
	if err := f.Try(patch, false); err == nil {
		t.Error("two lists of trials run at once")
	}
	for f.Ledger().Running != nil {
		time.Sleep(5 * time.Millisecond)
	}
	l := f.Ledger()
	if l.Stopped != "" || len(l.Trials) != 1 || !l.Trials[0].Verdict.Proven {
		t.Fatalf("%+v", l)
	}
	if f.Snapshot() == before {
		t.Error("the screens do not see that the ledger has changed")
	}
	if err := f.EndAfter(3); err != nil {
		t.Fatal(err)
	}
	if err := f.Try(patch, false); err != nil {
		t.Fatal(err)
	}
	for f.Ledger().Running != nil {
		time.Sleep(5 * time.Millisecond)
	}
	if l := f.Ledger(); *l.Baseline.Measured.Calls != 3 || len(l.Trials) != 1 || *l.Trials[0].Measured.Calls != 3 {
		t.Errorf("trials that end after 3 calls: %+v", l)
	}

	text, _ := os.ReadFile(path)
	if n, err := f.ApplyRemedies(patch); n != 1 || err != nil {
		t.Fatalf("%d %v", n, err)
	}
	if now, _ := os.ReadFile(path); !strings.Contains(string(now), "torch.Where") {
		t.Errorf("not written:\n%s", now)
	}
	later := []explain.Hunk{{Line: 9, Lines: []string{
		"- func bar(a, b *torch.Tensor) *torch.Tensor {", "+ func bar(a, b *torch.Tensor) *torch.Tensor { // bar",
	}}}
	if err := f.Apply(path, later); err != nil {
		t.Fatal(err)
	}
	if err := f.UndoRemedies(); err == nil {
		t.Error("a fix that was written later was taken back for the remedy")
	}
	if _, err := f.Undo(); err != nil {
		t.Error(err)
	}
	if err := f.UndoRemedies(); err != nil {
		t.Error(err)
	}
	if now, _ := os.ReadFile(path); string(now) != string(text) {
		t.Errorf("not taken back:\n%s", now)
	}
	f.now().close()
	nothingLeft(t, state)
	if saved := readLedger(r); saved == nil || len(saved.Trials) != 1 || !saved.Trials[0].Verdict.Proven {
		t.Errorf("the saved ledger: %+v", saved)
	}
}

// A run folder from elsewhere names a command and patches: neither is run, offered or
// written.
func TestForeignRunIsNotTried(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	t.Setenv("TCDBG_BACKEND", "aot_eager")
	path := program(t, branching)
	if out := run(t, tcdbg(t, state, "try", path)); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	own := lastRun(t, state)
	received := filepath.Join(t.TempDir(), filepath.Base(own.Path))
	if err := os.CopyFS(received, os.DirFS(own.Path)); err != nil {
		t.Fatal(err)
	}
	foreign, err := loadRun(received)
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[*Run]bool{own: true, foreign: false} {
		f := &feed{root: r.Info.Dir}
		if err := f.follow(&feedState{run: r}, []string{r.file(traceFile)}, logs.Options{}); err != nil {
			t.Fatal(err)
		}
		<-f.now().done
		if (f.Ledger() != nil) != want {
			t.Errorf("ledger of %s: %v", r.Path, f.Ledger())
		}
		list, _, _ := f.Remedies()
		if (len(list) > 0) != want {
			t.Errorf("remedies of %s: %v", r.Path, list)
		}
		if l := f.Ledger(); want && len(l.Trials) != 1 {
			t.Errorf("what was tried before is gone: %+v", l)
		}
		m := remedy.OfSwitch(remedy.Switch{Name: "dynamic", Value: "true"})
		if err := f.Try([]*remedy.Remedy{&m}, false); (err == nil) != want {
			t.Errorf("a trial of %s: %v", r.Path, err)
		}
		f.now().close()
	}
}
