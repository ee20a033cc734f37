package host_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/tracer/host"
	"tcdbg/tracer/host/journal"
)

// turns runs a program whose run is kept, or that runs again.
func turns(t *testing.T, prog *host.Program, tape *journal.Tape) string {
	t.Helper()
	var out output
	in := host.New(prog, host.Config{Stdout: &out, Stderr: &out, Stdin: devNull(t), Args: []string{"model"}, Journal: tape})
	exit := make(chan host.Exit, 1)
	go func() { exit <- in.Run() }()
	select {
	case e := <-exit:
		return fmt.Sprintf("%sexit %d\n", out.String(), e.Code)
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not end; printed %q", out.String())
	}
	return ""
}

// output is what a program prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// turning are the programs whose goroutines take turns, by the names of their files.
func turning(t *testing.T) map[string]*host.Program {
	t.Helper()
	files, err := filepath.Glob("testdata/turns/*.go")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d programs: %v", len(files), err)
	}
	out := map[string]*host.Program{}
	for _, file := range files {
		out[filepath.Base(file)] = loaded(t, file)
	}
	return out
}

func loaded(t *testing.T, file string) *host.Program {
	t.Helper()
	prog, err := host.Load(host.LoadConfig{Paths: []string{file}, Source: os.DirFS("../..")})
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// written is a program of its own.
func written(t *testing.T, body string) *host.Program {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte("package main\n"+body), 0o600); err != nil {
		t.Fatal(err)
	}
	return loaded(t, file)
}

func devNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// Goroutines that take turns in any order, of any length, take the same when the program runs
// again: it prints the same.
func TestTurnsAgain(t *testing.T) {
	seeds := 5
	if test.IsLong() {
		seeds = 100
	}
	for name, prog := range turning(t) {
		t.Run(name, func(t *testing.T) {
			schedules := map[string]bool{}
			for seed := range seeds {
				rec := journal.Record()
				rec.Shuffle(uint64(seed))
				want := turns(t, prog, rec)
				if why, _ := rec.Refusal(); why != "" {
					t.Fatalf("seed %d: %s", seed, why)
				}
				schedules[string(rec.Data().Schedule)] = true
				again := journal.Replay(rec.Data(), t.TempDir())
				lost := ""
				again.Lost = func(why string) { lost = why }
				if got := turns(t, prog, again); got != want || lost != "" {
					t.Fatalf("seed %d: it prints\n%s(%s) and printed\n%s", seed, got, lost, want)
				}
			}
			if len(schedules) < 2 {
				t.Errorf("%d seeds made %d schedules", seeds, len(schedules))
			}
		})
	}
}

// Where the journal ends, at any time, the goroutines go on beside each other.
func TestTurnsEnd(t *testing.T) {
	runs := 2
	if test.IsLong() {
		runs = 60
	}
	for name, prog := range turning(t) {
		t.Run(name, func(t *testing.T) {
			for i := range runs {
				rec := journal.Record()
				time.AfterFunc(time.Duration(i)*50*time.Microsecond, func() { rec.Refuse("the test says so") })
				if out := turns(t, prog, rec); !strings.HasSuffix(out, "exit 0\n") {
					t.Fatalf("it prints\n%s", out)
				}
			}
		})
	}
}

// Goroutines that all wait for each other are found, at once.
func TestTurnsDeadlock(t *testing.T) {
	for body, want := range map[string]string{
		`func main() { ch := make(chan int); <-ch }`: "all goroutines are asleep - " +
			"deadlock!\n\ngoroutine 1",
		`func main() { a, b := make(chan int), make(chan int); go func() { a <- <-b }(); b <- <-a }`: "all goroutines are asleep",
		"import \"sync\"\nfunc main() { var m sync.Mutex; go m.Lock(); m.Lock(); m.Lock() }":         "all goroutines are asleep",
		"import \"sync\"\nfunc main() { var o sync.Once; o.Do(func() { o.Do(func() {}) }) }":         "all goroutines are asleep",
		`func main() { select {} }`: "all goroutines are asleep",
		"import \"runtime\"\nfunc main() { go func() {}(); runtime.Goexit() }": "no goroutines " +
			"(main called runtime.Goexit) - deadlock!",
		"import \"time\"\nfunc main() { c := make(chan int); time.AfterFunc(1000, func() { close(c) }); <-c }": "exit 0",
	} {
		if out := turns(t, written(t, body), journal.Record()); !strings.Contains(out, want) {
			t.Errorf("%s\nprints %q", body, out)
		}
	}
}

// A goroutine that waits in compiled code, for one that is not its turn, ends the journal: the
// program does not hang.
func TestTurnsInCompiledCode(t *testing.T) {
	t.Parallel()
	rec := journal.Record()
	out := turns(t, written(t, `import ("log"; "sync")
type slow struct{ c chan int }
func (s slow) Write(p []byte) (int, error) {
	<-s.c
	print(string(p))
	return len(p), nil
}
func main() {
	s := slow{make(chan int)}
	l := log.New(s, "", 0)
	var wg sync.WaitGroup
	wg.Go(func() { l.Print("one") })
	wg.Go(func() { l.Print("two") }) // waits for the lock of the logger
	wg.Go(func() { s.c <- 1; s.c <- 2 })
	wg.Wait()
}`), rec)
	if !strings.Contains(out, "one\n") || !strings.Contains(out, "two\n") || !strings.HasSuffix(out, "exit 0\n") {
		t.Errorf("it prints %q", out)
	}
	if why, _ := rec.Refusal(); why != "it waits in compiled code while other goroutines are to run" {
		t.Errorf("the journal ends: %q", why)
	}
}
