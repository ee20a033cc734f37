package tracer

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/internal/test/progfuzz"
	"tcdbg/tracer/host"
)

// This file compares random programs, about Go and about objects that are rearranged, run plainly and compiled. A longer run:
//
//	go test ./tracer -run TestRandomPrograms -fuzz.n 2000 -fuzz.from 1

var (
	fuzzN      = flag.Int("fuzz.n", 0, "number of random programs (0: 150, or 30 in the short form)")
	fuzzFrom   = flag.Int64("fuzz.from", 1, "seed of the first random program")
	fuzzShrink = flag.Int("fuzz.shrink", 3, "number of failing programs to shrink")
)

// TestRandomPrograms wants every program to print and end as it does plainly.
func TestRandomPrograms(t *testing.T) {
	failed := 0
	n := *fuzzN
	if n == 0 {
		n = 30
		if test.IsLong() {
			n = 150
		}
	}
	for i := range n {
		seed := *fuzzFrom + int64(i)
		for _, text := range []string{progfuzz.Prelude + progfuzz.Generate(seed), progfuzz.HeapPrelude + progfuzz.GenerateHeap(seed)} {
			diff := difference(t, text)
			if diff == "" {
				continue
			}
			t.Errorf("seed %d: %s", seed, diff)
			if failed++; failed <= *fuzzShrink && !strings.HasPrefix(diff, unloadable) {
				report(t, seed, text)
			}
		}
	}
}

// report logs the smallest form of a failing program.
func report(t *testing.T, seed int64, text string) {
	small := progfuzz.Shrink(text, func(s string) bool {
		d := inTime(t, s)
		return d != "" && !strings.HasPrefix(d, unloadable)
	})
	t.Logf("seed %d, shrunk: %s\n%s", seed, difference(t, small), small)
}

// inTime is difference for texts that shrinking has made, which may run for
// ever: those count as no difference, and their run is left behind.
func inTime(t *testing.T, text string) string {
	done := make(chan string, 1)
	go func() { done <- difference(t, text) }()
	select {
	case d := <-done:
		return d
	case <-time.After(2 * time.Second):
		return ""
	}
}

// unloadable begins the difference of a text that is no program.
const unloadable = "does not load: "

// difference runs a program both ways and says what differs, "" for nothing.
func difference(t *testing.T, text string) string {
	prog, err := load(t, text)
	if err != nil {
		return unloadable + err.Error()
	}
	want := runLoaded(prog, nil)
	got, crash := guarded(prog, eager{t})
	switch {
	case crash != "":
		return "the tracer crashes: " + crash
	case got.stdout != want.stdout:
		return "output differs: " + firstDifference(want.stdout, got.stdout) + got.stderr
	case got.exit.Code != want.exit.Code:
		return fmt.Sprintf("exit code %d, want %d: %s", got.exit.Code, want.exit.Code, got.stderr)
	}
	return ""
}

// guarded turns a panic of the tracer into text.
func guarded(prog *host.Program, b Backend) (o *outcome, crash string) {
	defer func() {
		if r := recover(); r != nil {
			crash = fmt.Sprint(r)
		}
	}()
	return runLoaded(prog, b), ""
}

func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n  plain    %s\n  compiled %s\n", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d\n", len(b), len(a))
}
