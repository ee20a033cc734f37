package benchmark

import (
	"time"

	"tcdbg/torch"
)

// This file measures.

// Timer measures a function. The zero values of its fields but Stmt are those of PyTorch's
// Timer: one thread, no labels.
type Timer struct {
	Stmt  func() // what is measured
	Setup func() // what is called once before each measurement; nil: nothing
	Text  string // what Stmt is called in prints; empty: "stmt"

	Label, SubLabel, Description, Env string
	NumThreads                        int // of operators, while it is measured; 0: one
}

func (t *Timer) task() Task {
	task := Task{
		Stmt: t.Text, Label: t.Label, SubLabel: t.SubLabel, Description: t.Description, Env: t.Env, NumThreads: max(t.NumThreads, 1),
	}
	if task.Stmt == "" {
		task.Stmt = "stmt"
	}
	return task
}

// Timeit calls Stmt a hundredth of n times, at least twice, to warm up, then n times, and measures
// all of these as one run.
func (t *Timer) Timeit(n int) *Measurement {
	defer t.threads()()
	t.setup()
	t.run(max(n/100, 2))
	return &Measurement{NumberPerRun: n, RawTimes: []float64{t.run(n)}, Task: t.task()}
}

// BlockedAutorange measures runs of as many calls as make the clock's part negligible, until
// minRunTime has passed; 0: 0.2 seconds.
func (t *Timer) BlockedAutorange(minRunTime time.Duration) *Measurement {
	if minRunTime == 0 {
		minRunTime = 200 * time.Millisecond
	}
	defer t.threads()()
	t.setup()
	n := t.block(minRunTime.Seconds())
	return t.runs(n, minRunTime.Seconds(), 0, func([]float64) bool { return true })
}

// AdaptiveAutorange measures runs until their quartiles are nearer to each other than threshold
// of the median, 0: 0.1; for minRunTime at least, 0: 0.01 seconds, and maxRunTime at most, 0: 10.
func (t *Timer) AdaptiveAutorange(threshold float64, minRunTime, maxRunTime time.Duration) *Measurement {
	if threshold == 0 {
		threshold = spreadWarned
	}
	if minRunTime == 0 {
		minRunTime = 10 * time.Millisecond
	}
	if maxRunTime == 0 {
		maxRunTime = 10 * time.Second
	}
	defer t.threads()()
	t.setup()
	n := t.block(0.05)
	return t.runs(n, minRunTime.Seconds(), maxRunTime.Seconds(), func(times []float64) bool {
		m := Measurement{NumberPerRun: n, RawTimes: times}
		return len(times) >= quartiled && m.IQR()/m.Median() < threshold
	})
}

// runs measures runs of n calls for least seconds and until enough says so, or most have passed; 0: no such bound.
func (t *Timer) runs(n int, least, most float64, enough func([]float64) bool) *Measurement {
	m := &Measurement{NumberPerRun: n, Task: t.task()}
	total := 0.0
	for stop := false; total < least || !stop; {
		took := t.run(n)
		m.RawTimes = append(m.RawTimes, took)
		total += took
		stop = enough(m.RawTimes)
		if most > 0 && total > most {
			break
		}
	}
	return m
}

// mostCalls is how many calls a run has at most.
const mostCalls = 1 << 31

// block is how many calls a run needs for the clock to take at most a ten-thousandth of it.
func (t *Timer) block(least float64) int {
	clock := make([]float64, 5)
	for i := range clock {
		clock[i] = t.run(0)
	}
	overhead := (&Measurement{NumberPerRun: 1, RawTimes: clock}).Median()
	for n := 1; ; n *= 10 {
		took := t.run(n)
		if overhead <= took*1e-4 && took >= least/1000 || took > least || n*10 >= mostCalls {
			return n
		}
	}
}

// run is the seconds of n calls.
func (t *Timer) run(n int) float64 {
	start := time.Now()
	for range n {
		t.Stmt()
	}
	return time.Since(start).Seconds()
}

func (t *Timer) setup() {
	if t.Setup != nil {
		t.Setup()
	}
}

// threads has operators use the Timer's number of threads until restore is called.
func (t *Timer) threads() (restore func()) {
	was := torch.GetNumThreads()
	torch.SetNumThreads(max(t.NumThreads, 1))
	return func() { torch.SetNumThreads(was) }
}
