package app

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

const tallying = `import (
	"fmt"
	"sync"
)

type tally struct {
	n  int
	by string
}

func main() {
	t := &tally{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	jobs := make(chan int)
	for g := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range jobs {
				mu.Lock()
				t.n += j // add
				if j == 5 {
					t.by = fmt.Sprint(g, " has ", j) // five
				}
				mu.Unlock()
			}
		}()
	}
	for j := range 9 {
		jobs <- j
	}
	close(jobs)
	wg.Wait()
	fmt.Println(t.n, t.by) // end
}
`

// After goroutines were started one goes back as before: by lines of a goroutine, by stops, and
// to where a value was written, which names the goroutine that wrote it.
func TestBackAfterGo(t *testing.T) {
	d := debugKept(t, program(t, tallying))
	for _, part := range []string{"// add", "// end"} {
		d.send(ctl.Break, fmt.Sprintf("model.go:%d", lineOf(t, d, part)))
	}
	d.step("line")
	var forth []logs.Stop
	had := 0 // the stop at which a goroutine has 5
	for i := range 9 {
		d.send(ctl.Continue, "")
		if forth = append(forth, d.next()); local(t, forth[i], "j").Text == "5" {
			had = i
		}
	}
	d.send(ctl.Continue, "")
	end := d.next()
	s := d.back(`["t","by"]`)
	if s.Where.Line != lineOf(t, d, "// five") || local(t, s, "j").Text != "5" || !strings.HasPrefix(s.Thread, "goroutine ") {
		t.Fatalf("%+v %s %s\n%s", s.Where, s.Why, s.Note, state(s))
	}
	five := s
	if s = d.back("line"); !strings.Contains(s.Where.Code, "j == 5") || s.Thread != five.Thread {
		t.Fatalf("the line before is %+v of %s", s.Where, s.Thread)
	}
	if s = d.back("line"); s.Where.Line != lineOf(t, d, "// add") || state(s) != state(forth[had]) || s.Thread != forth[had].Thread {
		t.Fatalf("the line before is\n%s\nwant\n%s", state(s), state(forth[had]))
	}
	for i := had - 1; i >= 0; i-- {
		if s = d.back(""); state(s) != state(forth[i]) || s.Thread != forth[i].Thread {
			t.Fatalf("stop %d is\n%s\nwant\n%s", i, state(s), state(forth[i]))
		}
	}
	d.send(ctl.Continue, "")
	for s = d.next(); s.Past != 0; s = d.next() {
		d.send(ctl.Continue, "")
	}
	if state(s) != state(end) {
		t.Fatalf("the program itself is at\n%s\nand was at\n%s", state(s), state(end))
	}
}

// Forwards and backwards through programs whose goroutines take turns.
func TestBackOnTurns(t *testing.T) {
	lines := map[string]string{"pool": "sum := 0"}
	if test.IsLong() {
		needCompiler(t)
		lines = map[string]string{
			"pool": "sum := 0", "timeouts": "if n++", "counters": "order +=", "group": "results[i]++", "compiled": "y := f(x",
			"recovered": "*p++",
		}
	}
	for name, line := range lines {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("../../tracer/host/testdata/turns", name+".go")
			d := debugKept(t, file)
			d.send(ctl.Break, fmt.Sprintf("%s.go:%d", name, lineOf(t, d, line)))
			kinds := []string{"line", "", "", "line", "into", "line", "line"}
			var forth []logs.Stop
			for _, k := range kinds {
				if k == "" {
					d.send(ctl.Continue, "")
				} else {
					d.send(ctl.Step, k)
				}
				forth = append(forth, d.next())
			}
			for i := len(forth) - 2; i >= 0; i-- {
				if s := d.back(""); s.Past == 0 || state(s) != state(forth[i]) || s.Thread != forth[i].Thread {
					t.Fatalf("back at stop %d:\n%s %s\n%s\nwant\n%s", i, s.Note, s.Why, state(s), state(forth[i]))
				}
			}
			for i := 1; i < len(forth); i++ {
				if kinds[i] == "" {
					d.send(ctl.Continue, "")
				} else {
					d.send(ctl.Step, kinds[i])
				}
				if s := d.next(); state(s) != state(forth[i]) || (s.Past == 0) != (i+1 == len(forth)) {
					t.Fatalf("forwards at stop %d:\n%s\n%s\nwant\n%s", i, s.Note, state(s), state(forth[i]))
				}
			}
		})
	}
}
