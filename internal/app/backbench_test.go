package app

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tcdbg/logs/ctl"
)

// BenchmarkKept is what keeping a run costs: its user time by that of a run that is not kept, the
// least of twelve of each in turns. A program that trains, a plain loop, which has nothing but
// lines, and goroutines that do little but wait.
func BenchmarkKept(b *testing.B) {
	needCompiler(b)
	for _, p := range []struct{ name, body string }{
		{"training", longSpiral(b, "range 6*steps")},
		{"loop", `import "fmt"
func main() {
	n := 0
	for i := range 20000000 {
		n += i & 3
	}
	fmt.Println(n)
}`},
		{"goroutines", `import ("fmt"; "sync")
func main() {
	c := make(chan int, 16)
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for x := range c {
				mu.Lock()
				n += x
				mu.Unlock()
			}
		}()
	}
	for i := range 200000 {
		c <- i
	}
	close(c)
	wg.Wait()
	fmt.Println(n)
}`},
	} {
		b.Run(p.name, func(b *testing.B) {
			path := program(b, p.body)
			with, without := time.Hour, time.Hour
			for range b.N {
				for range 12 {
					without = min(without, userTime(b, Options{}, path))
					with = min(with, userTime(b, Options{Record: true}, path))
				}
			}
			b.ReportMetric(float64(with)/float64(without), "times")
			b.ReportMetric(without.Seconds(), "s-without")
		})
	}
}

// BenchmarkBackInTraining is how long steps back take in a training that has run for seconds: the
// first runs it again, those after it are shown at once.
func BenchmarkBackInTraining(b *testing.B) {
	needCompiler(b)
	path := program(b, longSpiral(b, "range 24*steps"))
	var first, later time.Duration
	for range b.N {
		d := debugKept(b, path)
		d.send(ctl.Break, fmt.Sprintf("model.go:%d", lineOf(b, d, "torch.NoGrad(func()")))
		for range 3 {
			d.send(ctl.Continue, "")
			d.next()
		}
		for i := range 8 {
			begin := time.Now()
			d.send(ctl.Back, "line")
			d.next()
			if i == 0 {
				first = time.Since(begin)
			} else {
				later = max(later, time.Since(begin))
			}
		}
	}
	b.ReportMetric(first.Seconds(), "s-first")
	b.ReportMetric(float64(later.Milliseconds()), "ms-later")
}

// longSpiral is the fixture that trains for its results' sake, with a longer loop.
func longSpiral(b *testing.B, loop string) string {
	b.Helper()
	text, err := os.ReadFile(fixture("models_spiral"))
	if err != nil {
		b.Fatal(err)
	}
	const steps = "range steps"
	if !strings.Contains(string(text), steps) {
		b.Fatalf("the fixture has no %q", steps)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(string(text), steps, loop), "package main")
	return body
}

// userTime is the user time of a run.
func userTime(b *testing.B, o Options, path string) time.Duration {
	b.Helper()
	b.Setenv(asProgram, "1")
	b.Setenv(withSource, "../..")
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	r, err := newRun("run", []string{path}, nil, o)
	if err != nil {
		b.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	c, err := startEngine(r, null, null, null, true)
	if err != nil {
		b.Fatal(err)
	}
	e, err := c.wait()
	if err != nil || e.Code != 0 {
		b.Fatalf("%s: %+v %v", path, e, err)
	}
	return c.cmd.ProcessState.UserTime()
}
