package autotune

import (
	"time"
)

// Program is a graph that was built with some choices and can be called.
type Program interface {
	// Call runs it once and gives the nanoseconds of each kernel, in the order of Kernels, and of the whole. An error
	// says why its times mean nothing.
	Call() (kernels []int64, whole int64, err error)
	// Choose has later calls run kernels as it says, by their positions; nil: as the runtime has it.
	Choose(runs []Run)
	Kernels() []string
	// Code is the same for programs that do not differ.
	Code() string
	Close()
}

// times are the least of many calls.
type times struct {
	whole   int64
	kernels []int64
	calls   int
	wrong   error
}

// add takes one call.
func (t *times) add(kernels []int64, whole int64) {
	if t.calls++; t.calls == 1 {
		t.whole, t.kernels = whole, append([]int64(nil), kernels...)
		return
	}
	t.whole = min(t.whole, whole)
	for i, k := range kernels {
		t.kernels[i] = min(t.kernels[i], k)
	}
}

// way is one thing that is timed: a program, run as runs say.
type way struct {
	program Program
	runs    []Run
}

// At most so many calls follow each other, the first of which finds the caches of another; fewer where a call is long.
const (
	callsInTurn = 4
	turnNanos   = 40e6
	leastRounds = 3
	mostRounds  = 120
	// hopeless is how much slower than the first way another is that gets no further turns after so many rounds.
	hopeless       = 1.6
	hopelessRounds = 8
	// overtime is how many times its limit the least rounds may take.
	overtime = 2
)

// inTurns times ways in turns, round after round, until the time is over. Nothing of a way with an error is timed again.
// The first way is what the others are held against; the last ones may get no turn.
func inTurns(ways []way, limit time.Duration) []times {
	out := make([]times, len(ways))
	start := time.Now()
	end, last := start.Add(limit), start.Add(overtime*limit)
	for round := 0; round < mostRounds && (round < leastRounds || time.Now().Before(end)); round++ {
		for i, w := range ways {
			if time.Now().After(last) && (round > 0 || i > 1) {
				return out
			}
			t := &out[i]
			late := i > 0 && round >= hopelessRounds && w.program != ways[0].program
			if t.wrong != nil || late && float64(t.whole) > hopeless*float64(out[0].whole) {
				continue
			}
			turn(w, t)
		}
	}
	return out
}

// turn is a few calls of one way.
func turn(w way, t *times) {
	w.program.Choose(w.runs)
	spent := int64(0)
	for n := 0; n < callsInTurn && (n < 1 || spent < turnNanos); n++ {
		kernels, whole, err := w.program.Call()
		if err != nil {
			t.wrong = err
			return
		}
		t.add(kernels, whole)
		spent += whole
	}
}
