package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program whose goroutines all wait for each other ends as under Go; one that
// something outside may wake goes on.
func TestDeadlock(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want string // on standard error; "" for a program that ends well
	}{
		"receive": {
			`func main() { ch := make(chan int); println("x"); <-ch }`,
			"fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [running]:\nmain.main(",
		},
		"two": {
			`func main() { a, b := make(chan int), make(chan int); go func() { a <- <-b }(); b <- <-a }`,
			"all goroutines are asleep",
		},
		"lock":      {"import \"sync\"\nfunc main() { var m sync.Mutex; m.Lock(); m.Lock() }", "all goroutines are asleep"},
		"waitgroup": {"import \"sync\"\nfunc main() { var w sync.WaitGroup; w.Add(1); w.Wait() }", "all goroutines are asleep"},
		"select":    {`func main() { select {} }`, "all goroutines are asleep"},
		"goexit":    {"import \"runtime\"\nfunc main() { runtime.Goexit() }", " - deadlock!"},
		"sleeper": {"import \"time\"\nfunc main() { ch := make(chan int); go func() { time.Sleep(2500 * time.Millisecond); ch <- " +
			"1 }(); <-ch }", ""},
		"timer": {"import \"time\"\nfunc main() { <-time.After(900 * time.Millisecond) }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte("package main\n"+c.body), 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs, exit := runFile(t, file)
			if c.want == "" {
				if exit.Code != 0 {
					t.Errorf("ended with %d: %s%s", exit.Code, out, errs)
				}
				return
			}
			if exit.Code != 2 || !strings.Contains(errs, c.want) {
				t.Errorf("ended with %d: %q, want %q", exit.Code, errs, c.want)
			}
		})
	}
}

// A goroutine that waits in compiled code of the program's own calls is told from one that waits
// for its turn, in the debugger, or for the compiler.
func TestHolderWaits(t *testing.T) {
	const me, below = "goroutine 1 [running]:\nmain.main()\n", "tcdbg/tracer/host.(*Thread).loop(0x1)\n\t/x/run.go:77\n"
	for stack, want := range map[string]bool{
		"goroutine 7 [sync.Mutex.Lock]:\nsync.(*Mutex).Lock(...)\nlog.(*Logger).output(0x1)\nlog.(*Logger).Print(0x1)\n" + below: true,
		"goroutine 7 [IO wait]:\ninternal/poll.(*FD).Read(0x1)\nos.(*File).Read(0x1)\nbufio.(*Scanner).Scan(0x1)\n" + below:      true,
		"goroutine 7 [chan receive]:\ntcdbg/tracer/host/baton.(*Sched).wait(0x1)\n" + below:                                      false,
		"goroutine 7 [chan receive]:\ntcdbg/tracer/host/baton.(*Sched).Yield(0x1)\n" + below:                                     false,
		"goroutine 7 [sync.Cond.Wait]:\nsync.(*Cond).Wait(0x1)\ntcdbg/tracer/stop.(*Debugger).stop(0x1)\n" + below:               false,
		"goroutine 7 [syscall]:\nsyscall.Syscall6(0x1)\nos.(*Process).Wait(0x1)\nos/exec.(*Cmd).Wait(0x1)\n" +
			"tcdbg/backends/codecache.build(0x1)\n" + below: false,
		"goroutine 7 [runnable]:\n" + below: false,
	} {
		if got := holderWaits([]byte(me + "\n" + stack)); got != want {
			t.Errorf("%v, want %v:\n%s", got, want, stack)
		}
	}
}
