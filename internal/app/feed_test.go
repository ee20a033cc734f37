package app

import (
	"os"
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/logs"
)

// TestReadingIsNoEnd: of a saved run that is not read to its end nothing is said of the whole.
func TestReadingIsNoEnd(t *testing.T) {
	st := &feedState{done: make(chan struct{}), fold: fold.New(nil)}
	f := &feed{state: st}
	if !f.Run().Reading {
		t.Error("it is not said to be read")
	}
	close(st.done)
	if f.Run().Reading {
		t.Error("it is read for ever")
	}
}

// TestOutputIsReadToItsEnd: what is read to its end has every line that the program printed,
// however long that took beside the trace.
func TestOutputIsReadToItsEnd(t *testing.T) {
	const lines = 500_000
	dir := t.TempDir()
	r := &Run{Path: dir}
	for name, text := range map[string]string{stdoutFile: strings.Repeat("epoch\n", lines), stderrFile: "", traceFile: ""} {
		if err := os.WriteFile(r.file(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, live := range []bool{false, true} {
		st, f := &feedState{live: live, out: openOutput(r, false)}, &feed{title: "model.go"}
		if err := f.follow(st, []string{r.file(traceFile)}, logs.Options{Follow: live}); err != nil {
			t.Fatal(err)
		}
		st.cancel()
		<-st.done
		if n := st.out.Len(); n != lines {
			t.Errorf("live %t: %d of %d lines", live, n, lines)
		}
	}
}
