package app

import (
	"os"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
)

// Keeping a run costs little where it trains: the user time with and without, the least of
// several runs in turn, of the fixture that trains for its results' sake, made longer. A plain
// loop, which has nothing but lines, and goroutines that do little but wait are shown beside it.
func TestRecordCosts(t *testing.T) {
	if !test.IsLong() {
		t.Skip("it measures: in the long form")
	}
	needCompiler(t)
	text, err := os.ReadFile(fixture("models_spiral"))
	if err != nil {
		t.Fatal(err)
	}
	const steps = "range steps"
	if !strings.Contains(string(text), steps) {
		t.Fatalf("the fixture has no %q", steps)
	}
	_, body, _ := strings.Cut(strings.ReplaceAll(string(text), steps, "range 6*steps"), "package main")
	training := ratio(t, "training", program(t, body))
	ratio(t, "plain loop", program(t, `import "fmt"
func main() {
	n := 0
	for i := range 20000000 {
		n += i & 3
	}
	fmt.Println(n)
}`))
	ratio(t, "goroutines", program(t, `import ("fmt"; "sync")
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
}`))
	if training > 1.05 {
		t.Errorf("a run that is kept takes %.3f times what one takes that is not", training)
	}
}

// ratio is what keeping a run costs.
func ratio(t *testing.T, name, path string) float64 {
	t.Helper()
	with, without := time.Hour, time.Hour
	for range 12 {
		without = min(without, userTime(t, Options{}, path))
		with = min(with, userTime(t, Options{Record: true}, path))
	}
	t.Logf("%s: %v without, %v with: %+.1f%%", name, without, with, 100*(float64(with)/float64(without)-1))
	return float64(with) / float64(without)
}

// userTime is the user time of a run.
func userTime(t *testing.T, o Options, path string) time.Duration {
	t.Helper()
	t.Setenv(asProgram, "1")
	t.Setenv(withSource, "../..")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r, err := newRun("run", []string{path}, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c, err := startEngine(r, null, null, null, true)
	if err != nil {
		t.Fatal(err)
	}
	e, err := c.wait()
	if err != nil || e.Code != 0 {
		t.Fatalf("%s: %+v %v", strings.TrimSpace(path), e, err)
	}
	return c.cmd.ProcessState.UserTime()
}
