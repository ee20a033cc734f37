package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

const summing = `import "fmt"

func add(a, b int) int {
	c := a + b
	return c
}

func main() {
	total := 0
	for i := 0; i < 5; i++ {
		total = add(total, i)
	}
	fmt.Println(total)
}
`

// Stepping back by lines, stops and forwards again shows the same each time; the program
// itself goes on where it stood.
func TestBack(t *testing.T) {
	d := debugKept(t, program(t, summing))
	var forth []logs.Stop
	for range 6 {
		forth = append(forth, d.step("line"))
	}
	for i := 4; i >= 2; i-- {
		s := d.back("")
		if state(s) != state(forth[i]) || s.Past != forth[5].Moment {
			t.Fatalf("back by stops to %d:\n%s\nwant\n%s", i, state(s), state(forth[i]))
		}
	}
	for i := 3; i < 5; i++ {
		if s := d.step("line"); state(s) != state(forth[i]) || s.Past == 0 {
			t.Fatalf("forwards to %d:\n%s\nwant\n%s", i, state(s), state(forth[i]))
		}
	}
	s := d.step("line")
	if state(s) != state(forth[5]) || s.Past != 0 || s.Note != "where the program itself stands" {
		t.Fatalf("in the present: %+v", s)
	}
	for i := 4; i >= 0; i-- {
		if s := d.back("line"); state(s) != state(forth[i]) {
			t.Fatalf("back by lines to %d:\n%s\nwant\n%s", i, state(s), state(forth[i]))
		}
	}
	d.send(ctl.Continue, "")
	if s := d.next(); s.Past != 0 || state(s) != state(forth[5]) {
		t.Fatalf("continue: %+v", s)
	}
	d.send(ctl.Continue, "")
	if _, why := d.nextOr("none"); !strings.HasPrefix(why, "exited") {
		t.Fatal(why)
	}
	if out := d.output(stdoutFile); out != "10\n" {
		t.Errorf("it printed %q", out)
	}
}

// fixture is the program of a fixture.
func fixture(name string) string { return filepath.Join("../../fixtures", name, "model.go") }

// Forwards and backwards: on every fixture the stops that were made forwards are met again
// backwards, with the same values. In the short form on some.
func TestBackOnFixtures(t *testing.T) {
	needCompiler(t)
	names := []string{"innersteps", "concurrent"}
	if test.IsLong() {
		names = nil
		all, err := filepath.Glob("../../fixtures/*/model.go")
		if err != nil || len(all) < 50 {
			t.Fatalf("%d fixtures: %v", len(all), err)
		}
		for _, f := range all {
			names = append(names, filepath.Base(filepath.Dir(f)))
		}
	}
	points := []string{"", "", "", "", ""} // where goroutines do all the work
	kinds := []string{"line", "operator", "", "into", "", "", "", "operator", "line", "", "line", "", ""}
	if !test.IsLong() {
		kinds = kinds[:7]
	}
	for _, name := range names {
		if name == "models_llama7b" {
			continue // it needs more memory than there is for two
		}
		t.Run(name, func(t *testing.T) {
			d, kinds, forth := steps(t, fixture(name), kinds)
			if len(forth) < 2 {
				d, kinds, forth = steps(t, fixture(name), points)
			}
			if len(forth) < 2 {
				t.Skipf("it has no more than %d stops", len(forth))
			}
			last := forth[len(forth)-1]
			for i := len(forth) - 2; i >= 0; i-- {
				d.send(ctl.Back, "")
				s, why := d.nextOr("back: ")
				if why == "" {
					s = d.stood(s)
				}
				if why != "" {
					if last.NoBack == "" || !strings.Contains(why, last.NoBack) {
						t.Fatalf("stop %d of %d: %s", i, len(forth), why)
					}
					t.Logf("from stop %d: %s", i+1, why)
					return
				}
				if strings.Contains(s.Why, "can be run again to") {
					t.Logf("from stop %d: %s", i+1, s.Why)
					return
				}
				if s.Note != "" || state(s) != state(forth[i]) {
					t.Fatalf("back at stop %d of %d (%s):\n%s\n%s\nwant\n%s", i, len(forth), kinds[i], s.Note, state(s), state(forth[i]))
				}
			}
			for i, k := range kinds[1:] {
				if s := d.step(k); state(s) != state(forth[i+1]) || (s.Past == 0) != (i+2 == len(forth)) {
					t.Fatalf("forwards at stop %d of %d (%s):\n%s\n%s\nwant\n%s", i+1, len(forth), k, s.Note, state(s), state(forth[i+1]))
				}
			}
		})
	}
}

// steps steps through a program, not to its end: the steps, and where it stopped.
func steps(t *testing.T, path string, kinds []string) (d *debugged, did []string, stops []logs.Stop) {
	t.Helper()
	d = debugKept(t, path)
	for i, k := range kinds {
		d.send(ctl.Step, k)
		s, over := d.nextOr("none")
		if over != "" {
			return steps(t, path, kinds[:max(i-1, 0)])
		}
		stops = append(stops, s)
	}
	return d, kinds, stops
}

// What is not determined by the program is the same when it runs again: the time, seeds, the
// order of a map, its arguments, files that it has written and read, and temporary folders.
func TestBackMeetsTheSame(t *testing.T) {
	d := debugKept(t, program(t, `import (
	"crypto/rand"
	"fmt"
	mrand "math/rand"
	rand2 "math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

func main() {
	begin := time.Now()
	time.Sleep(time.Millisecond)
	spent := time.Since(begin)
	a, b, c := mrand.Int63(), rand2.Float64(), rand2.N(1000000)
	perm := mrand.Perm(5)
	var bytes [8]byte
	_ = rand.Text
	dir, err := os.MkdirTemp("", "back")
	file := filepath.Join(dir, "x.txt")
	err = os.WriteFile(file, []byte(fmt.Sprint(a)), 0o600)
	text, err := os.ReadFile(file)
	err = os.RemoveAll(dir)
	_, gone := os.Stat(file)
	missing := gone != nil
	order := ""
	for k := range map[string]int{"x": 1, "y": 2, "z": 3, "u": 4, "v": 5} {
		order += k
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	heap := m.HeapAlloc
	ready := make(chan int, 1)
	other := make(chan int, 1)
	ready <- 1
	other <- 2
	got := 0
	select {
	case got = <-ready:
	case got = <-other:
	}
	now := time.Now
	later := now().UnixNano()
	fmt.Println(spent, b, c, perm, bytes, string(text), err, missing, order, heap, got, later, os.Args[1:], os.Getpid()) // end
	fmt.Println("over")
}
`), "one", "two")
	s := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	if !strings.Contains(s.Where.Code, "// end") {
		t.Fatalf("%+v", s.Where)
	}
	next := d.step("line")
	for _, name := range []string{"spent", "a", "b", "c", "perm", "text", "missing", "order", "heap", "got", "later"} {
		if v := local(t, s, name); v.Unknown != "" || v.Text == "" {
			t.Fatalf("%s: %+v", name, v)
		}
	}
	if got := local(t, s, "missing").Text; got != "true" {
		t.Errorf("missing is %s", got)
	}
	if p := d.back("line"); state(p) != state(s) || p.Past != next.Moment {
		t.Fatalf("%s\n%s\nwant\n%s", p.Note, state(p), state(s))
	}
	d.send(ctl.Continue, "")
	if p := d.next(); p.Note != "where the program itself stands" {
		t.Fatalf("%+v", p)
	}
}

// A file that is read and changed meanwhile from outside is said, and the program stands
// where it stood.
func TestBackSaysWhatChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data.txt")
	if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := debugKept(t, program(t, `import ("fmt"; "os")
func main() {
	text, _ := os.ReadFile(os.Args[1])
	n := len(text)
	n++
	fmt.Println(n)
}
`), file)
	for range 3 {
		d.step("line")
	}
	s := d.step("line")
	if p := d.back("line"); p.Past == 0 {
		t.Fatalf("nothing has changed yet: %+v", p)
	}
	if err := os.WriteFile(file, []byte("2"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := d.back("line")
	if state(p) != state(s) || p.Past != 0 || !strings.Contains(p.Note, "os.ReadFile reads "+file+", which is not what it was then") {
		t.Fatalf("%+v", p)
	}
}

// What cannot be repeated ends what can be gone back to: before it is allowed, after it is refused.
func TestBackRefusesWhatIsNotKept(t *testing.T) {
	d := debugKept(t, program(t, `import ("fmt"; "sync")
func main() {
	n := 1
	m := &sync.Map{}
	m.Range(func(any, any) bool { return true })
	n += 2
	n++
	fmt.Println(n)
}
`))
	var forth []logs.Stop
	for range 5 {
		forth = append(forth, d.step("line"))
	}
	if why := d.refused("line"); !strings.Contains(why, "it calls (*sync.Map).Range") {
		t.Fatal(why)
	}
	s := d.back("")
	if state(s) != state(forth[2]) || !strings.Contains(s.Why, "then it calls (*sync.Map).Range") {
		t.Fatalf("%+v", s)
	}
	d.send(ctl.Step, "line")
	s = d.next()
	next := "what comes next cannot be run again: it calls (*sync.Map).Range"
	if state(s) != state(forth[4]) || s.Past != 0 || !strings.Contains(s.Note, next) {
		t.Fatalf("%+v", s)
	}
	if s := d.step("line"); s.Where.Line != forth[4].Where.Line+1 {
		t.Fatalf("%+v", s.Where)
	}
}

// A program whose run is not kept says so.
func TestBackIsOff(t *testing.T) {
	d := debugWith(t, Options{Pause: true}, program(t, summing))
	s := d.step("line")
	if !strings.Contains(s.NoBack, "--record") || s.Moment != 0 {
		t.Fatalf("%+v", s)
	}
	if why := d.refused("line"); !strings.Contains(why, "this run is not kept") {
		t.Fatal(why)
	}
	r := run(t, tcdbg(t, t.TempDir(), "run", "--plain", "--record", program(t, summing)))
	if r.code != ExitUsage || !strings.Contains(r.stderr, "--record is for the screens") {
		t.Errorf("%+v", r)
	}
}

const writing = `import (
	"fmt"

	"tcdbg/torch"
)

type box struct {
	n int
	w *torch.Tensor
	l []int
}

func fill(b *box, n int) {
	b.n = n // field
	if n < 0 {
		panic("no")
	}
}

func twice(x int) int {
	y := x * 2
	return y
}

func use(b *box) int {
	return b.n // used
}

func main() {
	b := &box{w: torch.Ones(3), l: make([]int, 2)}
	total := 0
	for i := range 4 {
		if i == 2 {
			total = twice(i) // total
		}
		fill(b, i)
		b.l[i%2] = i // element
	}
	b.w.Add_(1) // in place
	k := total
	loss := b.w.Mul(2).Sum() // made
	torch.Ones(2)
	fmt.Println(k, loss.Item(), b.l, use(b)) // end
}
`

// A value is followed back to the line or operator that has written it last: a variable, a
// field that another function writes, an element, a tensor in place, and what is an argument.
func TestBackToWhereItWasWritten(t *testing.T) {
	d := debugKept(t, program(t, writing))
	end := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	for _, c := range []struct{ names, at, name, value string }{
		{`["total"]`, "// total", "i", "2"},
		{`["b","n"]`, "// field", "n", "3"},
		{`["b","l","1"]`, "// element", "i", "3"},
		{`["b","l","0"]`, "// element", "i", "2"},
		{`["b","w"]`, "// in place", "total", "4"},
		{`["loss"]`, "// made", "k", "4"},
		{`["k"]`, "k := total", "total", "4"},
		{`["b"]`, "b := &box", "", ""},
	} {
		s := d.back(c.names)
		if s.Where.Line != lineOf(t, d, c.at) || s.Past != end.Moment || !strings.Contains(s.Why, "is written next") {
			t.Fatalf("%s: %d %s (%s %s)", c.names, s.Where.Line, s.Where.Code, s.Why, s.Note)
		}
		if c.name != "" && local(t, s, c.name).Text != c.value {
			t.Errorf("%s: %s is %+v", c.names, c.name, local(t, s, c.name))
		}
		if c.name == "i" { // from the past, too
			s := d.back(`["i"]`)
			if !strings.Contains(s.Where.Code, "range 4") {
				t.Errorf("i: %+v", s.Where)
			}
		}
		d.send(ctl.Continue, "")
		if s := d.next(); state(s) != state(end) {
			t.Fatalf("%s: %+v", c.names, s)
		}
	}
	d.step("into")
	s := d.back(`["b"]`)
	if s.Where.Line != end.Where.Line || !strings.Contains(s.Why, "it is an argument, or older") {
		t.Fatalf("%+v %s", s.Where, s.Why)
	}
	if why := d.refused(`["nothing"]`); !strings.Contains(why, "nothing has no value here") {
		t.Error(why)
	}
}

const nanBorn = `import (
	"fmt"

	"tcdbg/torch"
)

func forward(x *torch.Tensor) *torch.Tensor {
	y := x.Sub(2) // born: the kernel computes all three lines
	z := y.Sqrt()
	return z.Mul(3)
}

func main() {
	f := torch.Compile(forward)
	for i := range 4 {
		x := torch.Full([]int{3}, 5-i)
		loss := f(x).Sum()
		if i == 3 && OPTION {
			loss = loss.Add(torch.Zeros(1).Log())
		}
		fmt.Println(i, loss.Item())
	}
	fmt.Println("over") // end
}
`

// A NaN is followed back to the operator of the graph that it was born in, at the call that
// gave it first; where there is none, that is said.
func TestBackToTheNaN(t *testing.T) {
	needCompiler(t)
	text := strings.Replace(nanBorn, " && OPTION", "", 1)
	d := debugKept(t, program(t, strings.Replace(text, "5-i", "4.5-float64(i)", 1)))
	end := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	s := d.back("nan")
	if s.Kind != logs.StopNaN || s.Where.Line != lineOf(t, d, "// born") || s.Past != end.Moment || s.Compiled != "forward" {
		t.Fatalf("%+v", s)
	}
	var at string
	for _, v := range s.Stack[len(s.Stack)-1].Locals {
		if v.Name == "i" {
			at = v.Text
		}
	}
	if at != "3" {
		t.Errorf("at the call %s: %+v", at, s.Stack)
	}
	if p := d.back("line"); p.Past != end.Moment || p.Note != "" {
		t.Fatalf("%+v", p)
	}
	d = debugKept(t, program(t, strings.Replace(text, "i == 3", "i == 9", 1)))
	d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	if why := d.refused("nan"); !strings.Contains(why, "no operator and no kernel gave a NaN") {
		t.Error(why)
	}
}

// A NaN or Inf that comes into being in a backward pass is gone back to, in eager code and in a compiled graph's.
func TestBackToAGradient(t *testing.T) {
	needCompiler(t)
	for _, call := range []string{"loss(w)", "torch.Compile(loss)(w)"} {
		d := debugKept(t, program(t, strings.Replace(`import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

func loss(w *torch.Tensor) *torch.Tensor { return w.Sqrt().Sum() }

func main() {
	w := torch.Zeros(3, kw.RequiresGrad(true))
	l := CALL
	l.Backward() // born
	fmt.Println(w.Grad()) // end
}
`, "CALL", call, 1)))
		end := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
		s := d.back("nan")
		if s.Kind != logs.StopNaN || !strings.Contains(s.Reason, "3 Inf") || s.Past != end.Moment {
			t.Errorf("%s: %s: %s at %+v", call, s.Kind, s.Reason, s.Where)
		}
	}
}

// Every kind of stop is met again: in a trace, at its instructions, at a compile, a break and
// a miss, before a kernel, in the midst of a line that a call returns to, at a panic.
func TestBackToEveryKindOfStop(t *testing.T) {
	needCompiler(t)
	d := debugKept(t, program(t, `import (
	"fmt"

	"tcdbg/torch"
)

func fact(n int) int {
	if n == 0 {
		return 1
	}
	return n * fact(n-1)
}

func f(x *torch.Tensor, k int) *torch.Tensor {
	y := x.Add(k)
	if y.Sum().Gt(0).Bool() {
		y = y.Mul(2)
	}
	return y.Sub(1)
}

func main() {
	n := fact(4) // recursion
	g := torch.Compile(f)
	for i := range 3 {
		x := torch.Ones(3 + i)
		fmt.Println(g(x, i), n)
	}
	var none map[string]int
	none["a"] = n
}
`))
	var forth []logs.Stop
	kinds := map[logs.StopKind]int{}
	add := func(s logs.Stop) {
		t.Helper()
		if s.Moment == 0 || s.Past != 0 {
			t.Fatalf("%+v", s)
		}
		forth = append(forth, s)
		kinds[s.Kind]++
	}
	d.step("line")
	for range 12 {
		add(d.step("into"))
	}
	for range 3 {
		add(d.step("out"))
	}
	for range 2 {
		add(d.step(""))
	}
	for range 6 {
		add(d.step("instruction"))
	}
	for _, spec := range []string{"kernel", "break", "recompile", "raised"} {
		d.send(ctl.Break, spec)
	}
	for {
		d.send(ctl.Continue, "")
		s, over := d.nextOr("none")
		if over != "" {
			t.Fatal("it did not stop at the panic")
		}
		if add(s); s.Kind == logs.StopRaised {
			break
		}
	}
	for _, k := range []logs.StopKind{logs.StopKernel, logs.StopBreak, logs.StopRecompile, logs.StopCall, logs.StopLine, logs.StopPause} {
		if kinds[k] == 0 {
			t.Errorf("no stop at %s: %v", k, kinds)
		}
	}
	for i := len(forth) - 2; i >= 0; i-- {
		s, why := func() (logs.Stop, string) { d.send(ctl.Back, ""); return d.nextOr("back: ") }()
		if why == "" {
			s = d.stood(s)
		}
		if why != "" || s.Note != "" || state(s) != state(forth[i]) {
			t.Fatalf("stop %d of %d, %s at line %d: %s %s\n%s\nwant\n%s", i, len(forth), forth[i].Kind, forth[i].Where.Line, why, s.Note,
				state(s), state(forth[i]))
		}
	}
}

// What an expression calls is no part of the run: its time, its random numbers, what it
// prints.
func TestExpressionsAreNotKept(t *testing.T) {
	d := debugKept(t, program(t, `import (
	"fmt"
	"math/rand"
	"time"
)

func look() int64 {
	fmt.Println("looked")
	for k := range map[*int]int{new(int): 1, new(int): 2} {
		_ = k
	}
	return rand.Int63() + time.Now().UnixNano()
}

func main() {
	a := rand.Int63()
	b := rand.Int63()
	c := time.Now()
	fmt.Println(a, b, c) // end
	_ = look
}
`))
	d.step("line")
	d.step("line")
	for range 3 {
		d.send(ctl.Evaluate, "look()")
	}
	s := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	d.step("line")
	if n := strings.Count(d.output(stdoutFile), "looked"); n != 3 {
		t.Fatalf("it looked %d times", n)
	}
	if p := d.back(""); state(p) != state(s) || p.Note != "" {
		t.Fatalf("%s\n%s\nwant\n%s", p.Note, state(p), state(s))
	}
}

// A second process that is on its way is ended by a pause; the program stands where it stood.
func TestBackIsEnded(t *testing.T) {
	d := debugKept(t, program(t, `import "fmt"
func main() {
	n := 0
	for i := range 30000000 {
		n += i
	}
	n++ // end
	fmt.Println(n)
}
`))
	s := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	d.send(ctl.Back, "line")
	d.send(ctl.Evaluate, "n")
	d.send(ctl.Pause, "")
	if p := d.next(); p.Note != "the program is not run again" || state(p) != state(s) {
		t.Fatalf("%+v", p)
	}
	left, err := filepath.Glob(filepath.Join(d.r.Path, "again-*"))
	for begin := time.Now(); len(left) > 0 && err == nil && time.Since(begin) < longest; time.Sleep(20 * time.Millisecond) {
		left, err = filepath.Glob(filepath.Join(d.r.Path, "again-*"))
	}
	if len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
	if p := d.back("line"); p.Past != s.Moment || local(t, p, "n").Text != "449999955000000" && p.Where.Line >= s.Where.Line {
		t.Fatalf("%+v", p)
	}
}

// What nobody has kept is noticed by what comes of it, also between the stops: here a time that
// compiled code has written into a text.
func TestBackNoticesWhatDiffers(t *testing.T) {
	d := debugKept(t, program(t, `import (
	"bytes"
	"fmt"
	"log"
)

func main() {
	var b bytes.Buffer
	log.New(&b, "", log.Lmicroseconds).Print("now")
	text := b.String()
	n := 0
	for i := range 20000000 {
		n += i
	}
	fmt.Println(n, len(text))
	text = "" // middle
	b.Reset()
	fmt.Println(text) // end
}
`))
	d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// middle")))
	s := d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	p := d.back("line")
	if p.Past != 0 || state(p) != state(s) || !strings.Contains(p.Note, "variable b of main is not the same") {
		t.Fatalf("%+v", p)
	}
	d.send(ctl.Back, "") // what was seen there is shown, until a process is to stand there
	if p = d.next(); p.Past == 0 {
		t.Fatalf("%+v", p)
	}
	if p = d.stood(p); p.Past != 0 || !strings.Contains(p.Note, "is not the same") {
		t.Fatalf("%+v", p)
	}
}

// The line that has called what ran for long is the line before, however much ran in it.
func TestBackOverALongCall(t *testing.T) {
	d := debugKept(t, program(t, `import "fmt"
func long() int {
	n := 0
	for i := range 20000 {
		n += i
	}
	return n
}
func main() {
	a := long() // called
	b := a + 1
	fmt.Println(b) // end
}
`))
	d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, "// end")))
	d.back("line")
	if s := d.back("line"); s.Where.Line != lineOf(t, d, "// called") {
		t.Fatalf("%+v: %s", s.Where, s.Note)
	}
}

// What was to be seen before the moment that a process was run to is shown at once, as are stops;
// what else is asked for there is answered by a process that is run to it.
func TestBackIsShownAtOnce(t *testing.T) {
	d := debugKept(t, program(t, `import "fmt"
func main() {
	n := 0
	for i := range 8000000 {
		n += i
	}
	a := n % 7
	b := a + 1 // b
	c := a * b
	for i := range 4 {
		c += i // c
	}
	fmt.Println(a, b, c) // end
	fmt.Println("more")
}
`))
	var forth []logs.Stop
	for _, part := range []string{"// b", "// c", "// end"} {
		forth = append(forth, d.step(fmt.Sprintf("model.go:%d", lineOf(t, d, part))))
	}
	end := d.step("line")
	s := d.back("line")
	if !strings.Contains(s.Why, "run again") && state(s) != state(forth[2]) {
		t.Fatalf("%s\n%s", s.Why, state(s))
	}
	back := func(kind, why string) {
		t.Helper()
		d.send(ctl.Back, kind)
		if s = d.next(); s.Past != end.Moment || !strings.HasPrefix(s.Why, why) || strings.Contains(s.Why, "run again") {
			t.Fatalf("%+v: %s", s.Where, s.Why)
		}
	}
	for i := 3; i >= 0; i-- {
		for s.Where.Line != lineOf(t, d, "// c") || i < 3 && local(t, s, "i").Text == strconv.Itoa(i+1) {
			back("line", "the line before: moment ")
		}
		if local(t, s, "i").Text != strconv.Itoa(i) {
			t.Fatalf("i is %+v, want %d", local(t, s, "i"), i)
		}
	}
	if first := s; state(first) != state(forth[1]) {
		t.Fatalf("%s\nwant\n%s", state(first), state(forth[1]))
	}
	back("", "the stop before: moment ")
	if state(s) != state(forth[0]) {
		t.Fatalf("%s\nwant\n%s", state(s), state(forth[0]))
	}
	if s = d.step("line"); local(t, s, "b").Text != local(t, forth[1], "b").Text || s.Past != end.Moment {
		t.Fatalf("a step from there: %s", state(s))
	}
}

// Standard input is read once: run again, the program gets what it got.
func TestBackReadsTheSameInput(t *testing.T) {
	stdin := filepath.Join(t.TempDir(), "stdin")
	if err := os.WriteFile(stdin, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := debugFrom(t, stdin, Options{Pause: true, Record: true}, program(t, `import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	all := ""
	for lines.Scan() {
		text := lines.Text()
		all += text + ";" // read
	}
	fmt.Println(all)
}
`))
	seen := func(s logs.Stop) string { return local(t, s, "text").Text + local(t, s, "all").Text + s.Note }
	read := fmt.Sprintf("model.go:%d", lineOf(t, d, "// read"))
	var forth []logs.Stop
	for range 3 {
		forth = append(forth, d.step(read))
	}
	if got := local(t, forth[2], "all").Text; got != `"one;two;"` {
		t.Fatal(got)
	}
	for i := 1; i >= 0; i-- {
		if s := d.back(""); seen(s) != seen(forth[i]) || s.Past == 0 {
			t.Fatalf("%s, want %s", seen(s), seen(forth[i]))
		}
	}
	d.send(ctl.Continue, "")
	d.next()
	d.send(ctl.Continue, "")
	if _, why := d.nextOr("none"); !strings.HasPrefix(why, "exited") || d.output(stdoutFile) != "one;two;three;\n" {
		t.Fatalf("%s, it printed %q", why, d.output(stdoutFile))
	}
}

// A run that is kept prints what it prints anyway: the fixtures, and generators with seeds of
// the program's own. In the short form on some.
func TestKeepingChangesNothing(t *testing.T) {
	needCompiler(t)
	seeded := program(t, `import (
	"fmt"
	"math/rand"
	rand2 "math/rand/v2"
	"slices"
	"strconv"
)

func main() {
	own := rand.New(rand.NewSource(7))
	fmt.Println(own.Intn(1000), rand2.New(rand2.NewPCG(1, 2)).IntN(1000))
	deck := []int{1, 2, 3, 4, 5}
	own.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	fmt.Println(deck)
	seen := map[string]int{}
	for k, v := range map[string]int{"b": 2, "a": 1} {
		seen[k] += v
		delete(seen, "none")
	}
	fmt.Println(seen, slices.Max([]int{rand2.N(1), 3}))
}
`)
	paths := []string{seeded, fixture("bar"), fixture("concurrent"), fixture("autogradfunction")}
	if test.IsLong() {
		all, err := filepath.Glob("../../fixtures/*/model.go")
		if err != nil || len(all) < 50 {
			t.Fatalf("%d fixtures: %v", len(all), err)
		}
		paths = append(all, seeded)
	}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		if name == "steadymemory" || name == "models_llama7b" {
			continue // one prints the process's memory, the other needs a long time
		}
		t.Run(name, func(t *testing.T) {
			var printed [2]string
			for i, record := range []bool{false, true} {
				d := debugWith(t, Options{Record: record}, path)
				e, err := d.c.wait()
				if err != nil || e.State != Exited {
					t.Fatalf("%+v %v\n%s", e, err, d.output(stderrFile))
				}
				printed[i] = fmt.Sprint(e.Code, d.output(stdoutFile))
			}
			if printed[0] != printed[1] {
				t.Errorf("it prints\n%s\nand where it is kept\n%s", printed[0], printed[1])
			}
		})
	}
}

// The second process ends with the first one, as when the viewer is gone; and with the wish
// to let the program run on, which then ends by itself.
func TestBackLeavesNothing(t *testing.T) {
	for _, leave := range []bool{false, true} {
		d := debugKept(t, program(t, summing))
		d.step("line")
		d.step("line")
		if s := d.back("line"); s.Past == 0 {
			t.Fatalf("%+v", s)
		}
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", d.c.cmd.Process.Pid))
		var children []int
		for _, l := range lists {
			text, _ := os.ReadFile(l) // a thread may have ended
			for _, w := range strings.Fields(string(text)) {
				if pid, err := strconv.Atoi(w); err == nil {
					children = append(children, pid)
				}
			}
		}
		if len(children) == 0 {
			t.Skip("the system does not list the children of a process")
		}
		if leave {
			d.send(ctl.Leave, "")
		} else {
			d.c.control.Close()
		}
		e, _ := d.c.wait()
		if leave && (e.Code != 0 || d.output(stdoutFile) != "10\n") {
			t.Errorf("%+v, it printed %q", e, d.output(stdoutFile))
		}
		for _, pid := range children {
			for begin := time.Now(); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
				if time.Since(begin) > longest {
					t.Fatalf("process %d is left", pid)
				}
			}
		}
	}
}
