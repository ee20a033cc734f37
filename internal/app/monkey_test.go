package app

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/tui"
	"tcdbg/tui/theme"
)

// This file is a monkey at the screens of programs that run: the application's own feed, real
// engines and Bubble Tea's own loop, with the commands of the screens side by side. (The
// one of package tui plays with a feed made by hand, which is faster and knows no processes.)
// After every message the frame fits the window and holds nothing that acts on a terminal; no
// goroutine panics, no engine reports an error of its own, q quits, and nothing runs on that
// was not left running.

var (
	monkeyFor  = flag.Duration("monkey", 0, "how long TestMonkey plays; 0: three seconds, in the long form a minute")
	monkeySeed = flag.Uint64("monkeyseed", 0, "of the first game; 0: another one each time")
)

// looping compiles, recompiles, breaks and prints what a terminal would act on, for as many
// calls as it is told.
const looping = `import (
	"fmt"
	"os"
	"strconv"
	"time"

	"tcdbg/torch"
)

type layer struct {
	weight *torch.Tensor
	steps  int
}

func (l *layer) forward(x *torch.Tensor) *torch.Tensor {
	l.steps++
	y := x.Mul(l.weight).Relu()
	return y.Add(float64(l.steps % 3))
}

func bar(l *layer, a, b *torch.Tensor) *torch.Tensor {
	x := a.Div(a.Abs().Add(1))
	if b.Sum().Lt(0).Bool() {
		b = b.Mul(-1)
	}
	fmt.Println("in the middle \x1b[2J日本\x07")
	return l.forward(x).Mul(b).Log()
}

func main() {
	fast := torch.Compile(bar)
	l := &layer{weight: torch.Ones(1)}
	calls, _ := strconv.Atoi(os.Args[1])
	for i := range calls {
		n := 4 + i/3%4
		out := fast(l, torch.Randn(n), torch.Randn(n))
		fmt.Fprintln(os.Stderr, "call", i, out.Shape(), "\x1b]0;title\x07")
		time.Sleep(10 * time.Millisecond)
	}
}
`

// loopingPython stops in two processes and several functions; it needs no PyTorch.
const loopingPython = `import os, time
class Layer:
    def __init__(self):
        self.weight = [1.0, float('nan')]
        self.steps = 0
    def forward(self, x):
        self.steps += 1
        y = [w * x for w in self.weight]
        return y
def train(n):
    layer = Layer()
    text = 'odd \x1b[2J日本\x07'
    for i in range(n):
        out = layer.forward(i)
        print(text, i, out, flush=True)
        time.sleep(0.01)
child = os.fork()
train(100000)
`

// game is one start of the screens.
type game struct {
	f      *feed
	mu     sync.Mutex
	states []*feedState // every run that it started
}

// met counts what games came to, which says whether they are worth playing.
type met struct{ games, done, frames, runs, left, graphs, stops, past, answers, points, trials, fixes int }

func (m met) String() string {
	return fmt.Sprintf("%d games, %d keys and other messages, %d frames; %d runs, %d left running, %d graphs, %d stops and %d of them "+
		"in the past, %d expressions, %d breakpoints, %d trials, %d fixes written",
		m.games, m.done, m.frames, m.runs, m.left, m.graphs, m.stops, m.past, m.answers, m.points, m.trials, m.fixes)
}

// add counts what a game that is over came to.
func (m *met) add(g *game) {
	m.games++
	m.fixes += len(g.f.fixes)
	for _, st := range g.states {
		m.runs++
		if st.left.Load() {
			m.left++
		}
		r := st.fold.Snapshot()
		m.graphs += r.Totals.Graphs
		m.stops += len(r.Session.Stops)
		for _, s := range r.Session.Stops {
			if s.Past > 0 {
				m.past++
			}
		}
		m.answers += len(r.Session.Answers)
		m.points += len(r.Session.Points)
		if t := st.trials.Load(); t != nil {
			l, _ := t.Ledger()
			m.trials += len(l.Trials)
		}
	}
}

// begin watches what a feed starts.
func begin(f *feed) *game {
	g := &game{f: f, states: []*feedState{f.now()}}
	if again := f.again; again != nil {
		f.again = func(f *feed) error {
			err := again(f)
			g.mu.Lock()
			defer g.mu.Unlock()
			if st := f.now(); !slices.Contains(g.states, st) {
				g.states = append(g.states, st)
			}
			return err
		}
	}
	return g
}

// watched is the model between Bubble Tea and the screens: it looks at every frame.
type watched struct {
	*tui.Model
	w, h     int
	bad      atomic.Pointer[string] // what was wrong first
	underway atomic.Int64           // commands
	frames   int
}

func (m *watched) Init() tea.Cmd { return m.count(m.Model.Init()) }

func (m *watched) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		m.w, m.h = size.Width, size.Height
	}
	_, cmd := m.Model.Update(msg)
	if wrong := m.check(m.Model.View()); wrong != "" {
		wrong = fmt.Sprintf("after %T %v: %s", msg, msg, wrong)
		m.bad.CompareAndSwap(nil, &wrong)
	}
	m.frames++
	return m, m.count(cmd)
}

// count counts a command while it runs.
func (m *watched) count(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		m.underway.Add(1)
		defer m.underway.Add(-1)
		msg := cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, c := range batch {
				batch[i] = m.count(c)
			}
		}
		return msg
	}
}

// check says what is wrong with a frame.
func (m *watched) check(frame string) string {
	if frame == "" {
		return "" // it has quit; no window is without rows here
	}
	lines := strings.Split(frame, "\n")
	if len(lines) != m.h {
		return fmt.Sprintf("the frame has %d lines, not %d", len(lines), m.h)
	}
	for i, l := range lines {
		if l = plainLine(l); theme.Width(l) != m.w {
			return fmt.Sprintf("line %d is %d wide, not %d: %q", i, theme.Width(l), m.w, l)
		}
		if theme.Clean(l) != l {
			return fmt.Sprintf("line %d is not clean: %q", i, l)
		}
	}
	return ""
}

// plainLine is a line without styles.
func plainLine(l string) string {
	var b strings.Builder
	for {
		at := strings.Index(l, "\x1b[")
		if at < 0 {
			return b.String() + l
		}
		end := strings.IndexByte(l[at:], 'm')
		if end < 0 || strings.Trim(l[at+2:at+end], "0123456789;:") != "" {
			b.WriteString(l[:at+1]) // no style: check sees it
			l = l[at+1:]
			continue
		}
		b.WriteString(l[:at])
		l = l[at+end+1:]
	}
}

// monkey plays one game.
type monkey struct {
	t     *testing.T
	r     *rand.Rand
	m     *watched
	p     *tea.Program
	ended chan struct{} // the screens have
	keys  []string
	done  []string // what it did, the last at the end
}

// stuck is how long a message may wait until the screens take it.
const stuck = time.Minute

// send gives the screens a message; false when they have ended.
func (k *monkey) send(what string, msg tea.Msg) bool {
	k.done = append(k.done, what)
	taken := make(chan struct{})
	go func() {
		k.p.Send(msg)
		close(taken)
	}()
	select {
	case <-k.ended:
		return false
	case <-taken:
	case <-time.After(stuck):
		k.t.Errorf("the screens take no message for %v:\n%s", stuck, goroutines())
		return false
	}
	return k.m.bad.Load() == nil
}

func goroutines() string {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 2)
	return b.String()
}

// press presses keys one after the other.
func (k *monkey) press(names ...string) bool {
	for _, name := range names {
		if !k.send("key "+name, keyNamed(name)) {
			return false
		}
	}
	return true
}

// named are the keys that are no runes.
var named = func() map[string]tea.KeyMsg {
	out := map[string]tea.KeyMsg{}
	for t := tea.KeyType(-100); t < 128; t++ {
		if msg := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && msg.String() != "" {
			out[msg.String()] = msg
		}
	}
	return out
}()

func keyNamed(name string) tea.KeyMsg {
	if msg, ok := named[name]; ok {
		return msg
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

// typed is what the monkey types at prompts, right and wrong.
var typed = []string{
	"model.go:19", "model.go:24", "model.go:27 if a.Sum().Lt(0).Bool()", "model.go:36", "model.go:99999", "kernel", "nan", "break",
	"frame", "recompile", "call", "train.py:8", "train.py:15 if i % 3 == 0", "a", "l.steps", "l.weight", "x.Sum()", "layer.weight",
	"i + ", "1/0", "3", "0", "-1", "bar", "日本\x1b[2J", "(((", "", "stop", "kernels", "99999999999999999999",
}

func pick[E any](k *monkey, of ...E) E { return of[k.r.IntN(len(of))] }

// act does one thing; false when the game is over.
func (k *monkey) act() bool {
	switch n := k.r.IntN(1000); {
	case n < 560:
		return k.any()
	case n < 640: // a stopped program
		return k.press("!", pick(k, "c", "n", "i", "o", "p", "I", "B", "N", "P", "V", "U", "z", "d", "tab", "enter", "j"))
	case n < 700:
		return k.press("!", pick(k, "b", "E", "W")) && k.fill()
	case n < 730: // trials
		return k.press(pick(k, "1", "3", "4"), pick(k, "j", "k", "g"), pick(k, "t", "T", "t"), pick(k, "enter", "y", "j"))
	case n < 780:
		return k.press(pick(k, "/", "f", ":", "ctrl+p", "|")) && k.fill()
	case n < 800:
		return k.fill()
	case n < 830: // joined, as a slow line does it
		var b strings.Builder
		for range 2 + k.r.IntN(6) {
			b.WriteString(pick(k, "j", "k", "2", "3", "!", "n", " ", "c", "s", "L", "?"))
		}
		return k.send(fmt.Sprintf("runes %q", b.String()), tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(b.String())})
	case n < 870:
		w, h := 20+k.r.IntN(201), 5+k.r.IntN(66)
		return k.send(fmt.Sprintf("size %dx%d", w, h), tea.WindowSizeMsg{Width: w, Height: h})
	case n < 930:
		msg := tea.MouseMsg{
			X: k.r.IntN(k.m.wide()+2) - 1, Y: k.r.IntN(72) - 1,
			Button: tea.MouseButton(k.r.IntN(8)), Action: tea.MouseAction(k.r.IntN(3)),
		}
		return k.send(fmt.Sprintf("mouse %v at %d,%d", msg, msg.X, msg.Y), msg)
	case n < 933:
		return k.press("q", pick(k, "s", "l", "esc", "j", "q"))
	case n < 938:
		return k.press("R", pick(k, "s", "l", "s", "esc", "R"))
	case n < 941:
		return k.press("ctrl+c")
	case n < 950:
		return k.press("w")
	case n < 960:
		return k.press(pick(k, "3", "1", "<"), pick(k, "a", "p", "u"), pick(k, "y", "enter", "esc"))
	default:
		wait := time.Duration(k.r.IntN(150)) * time.Millisecond
		k.done = append(k.done, fmt.Sprintf("waits %v", wait))
		select {
		case <-k.ended:
			return false
		case <-time.After(wait):
			return true
		}
	}
}

// any presses a key of the table.
func (k *monkey) any() bool {
	name := pick(k, k.keys...)
	if slices.Contains([]string{"q", "R", "ctrl+c"}, name) {
		return true // act has them
	}
	if k.r.IntN(4) == 0 {
		time.Sleep(time.Duration(k.r.IntN(10)) * time.Millisecond)
	}
	return k.press(name)
}

// fill types at a prompt, where one is open.
func (k *monkey) fill() bool {
	for _, c := range pick(k, typed...) {
		if !k.send(fmt.Sprintf("rune %q", c), tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}}) {
			return false
		}
	}
	return k.press(pick(k, "enter", "enter", "enter", "esc"))
}

// wide is at least how wide the window may be: the monkey may click beside it.
func (*watched) wide() int { return 222 }

// play acts until the time is over or it has quit, and quits.
func (k *monkey) play(until time.Time) {
	for time.Now().Before(until) && k.act() {
	}
	for range 3 {
		if k.t.Failed() || !k.press("esc", "esc", "esc", "esc", "esc", "q", "s") {
			break
		}
		select {
		case <-k.ended:
		case <-time.After(5 * time.Second):
		}
	}
	select {
	case <-k.ended:
	default:
		if k.m.bad.Load() == nil && !k.t.Failed() {
			k.t.Errorf("q does not quit\n%s", goroutines())
		}
		k.p.Kill()
		<-k.ended
	}
}

// screensOf plays with a feed, and ends it as the program does.
func screensOf(t *testing.T, f *feed, r *rand.Rand, length time.Duration, all *met) {
	t.Helper()
	g := begin(f)
	m := &watched{w: 80, h: 24, Model: tui.New(f, tui.Options{
		Colour: r.IntN(2) == 0, Mouse: true, Editor: "true", Poll: pollEvery,
		Suspend: func() error { return nil }, Copy: func(string) error { return nil },
	})}
	in, out, err := os.Pipe() // nobody types: messages come by Send
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer out.Close()
	k := &monkey{t: t, r: r, m: m, ended: make(chan struct{}), keys: m.Keys()}
	k.p = tea.NewProgram(m, tea.WithInput(in), tea.WithOutput(io.Discard), tea.WithoutSignalHandler())
	var failed error
	go func() {
		defer close(k.ended)
		_, failed = k.p.Run()
	}()
	k.play(time.Now().Add(length))
	if failed != nil && !t.Failed() && m.bad.Load() == nil {
		t.Errorf("the screens ended: %v (a panic is printed above)", failed)
	}
	if wrong := m.bad.Load(); wrong != nil {
		t.Error(*wrong)
	}
	k.end(g)
	if t.Failed() {
		t.Logf("it did last:\n%s", strings.Join(k.done[max(0, len(k.done)-60):], "\n"))
	}
	all.done, all.frames = all.done+len(k.done), all.frames+m.frames
	all.add(g)
}

// within waits for something that must come.
func (k *monkey) within(what string, d time.Duration, ok func() bool) {
	for end := time.Now().Add(d); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			k.t.Errorf("%s takes longer than %v:\n%s", what, d, goroutines())
			return
		}
	}
}

// end closes the feed as the program does when the screens have ended, and looks at what
// is left of it.
func (k *monkey) end(g *game) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		g.f.close()
	}()
	isClosed := func() bool {
		select {
		case <-closed:
			return true
		default:
			return false
		}
	}
	k.within("closing the feed", stuck, isClosed)
	k.within("a command of the screens", stuck, func() bool { return k.m.underway.Load() == 0 })
	if k.t.Failed() {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, st := range g.states {
		k.endOf(st, st.left.Load())
	}
	g.f.mu.Lock()
	defer g.f.mu.Unlock()
	if g.f.broken != nil {
		k.t.Errorf("the feed failed: %v", g.f.broken)
	}
}

// endOf looks at one run that has ended, or was left running.
func (k *monkey) endOf(st *feedState, left bool) {
	if st.child == nil {
		return
	}
	hasEnded := func() bool {
		select {
		case <-st.exited:
			return true
		default:
			return false
		}
	}
	if left {
		st.child.signal(syscall.SIGKILL)
	} else if !hasEnded() {
		k.t.Errorf("the program of run %s runs on", st.run.Info.ID)
		st.child.signal(syscall.SIGKILL)
	}
	k.within("the end of a program", stuck, hasEnded)
	text, _ := os.ReadFile(st.run.file(stderrFile))
	if i := bytes.Index(text, []byte("internal error")); i >= 0 {
		k.t.Errorf("the engine failed: %s", text[i:min(len(text), i+6000)])
	}
}

// players are the runs that the monkey plays with.
type players struct {
	t     *testing.T
	path  string // of the program
	saved string // a run folder
}

// start starts the n-th kind of run.
func (p *players) start(n uint64) (string, *feed, error) {
	if err := os.WriteFile(p.path, []byte("package main\n\n"+looping), 0o600); err != nil {
		return "", nil, err // fixes were written to it
	}
	o := Options{}
	p.t.Setenv("TCDBG_BACKEND", "")
	switch n % 4 {
	case 1:
		o = Options{Pause: true, Record: true}
	case 2:
		src, err := findTraces([]string{p.saved}, false)
		if err != nil {
			return "", nil, err
		}
		p.t.Setenv("TCDBG_BACKEND", "aot_eager") // trials that take long are cancelled
		f, err := src.open(nil, logs.Options{Empty: true})
		return "a saved run", f, err
	case 3:
		python := os.Getenv("TCDBG_PYTHON")
		if python == "" {
			python = "python3"
		}
		file := filepath.Join(filepath.Dir(p.path), "train.py")
		if err := os.WriteFile(file, []byte(loopingPython), 0o600); err != nil {
			return "", nil, err
		}
		f, err := startExec(execFlags{pause: true}, nil, []string{python, file})
		return "Python that stops", f, err
	}
	r, err := newRun("run", []string{p.path}, []string{"2000"}, o)
	if err != nil {
		return "", nil, err
	}
	f, err := startRun(r)
	return fmt.Sprintf("Go, %+v", o), f, err
}

// save makes the run that is replayed.
func (p *players) save(state string) {
	p.t.Helper()
	if err := os.WriteFile(p.path, []byte("package main\n\n"+looping), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if out := run(p.t, tcdbg(p.t, state, "run", "--plain", p.path, "8")); out.code != 0 {
		p.t.Fatalf("%+v", out)
	}
	r, err := findRun("last")
	if err != nil {
		p.t.Fatal(err)
	}
	p.saved = r.Path
}

// TestMonkey plays with each kind of run in turn, every game by a seed of its own. What the
// programs do meanwhile is the scheduler's.
func TestMonkey(t *testing.T) {
	needCompiler(t)
	length := *monkeyFor
	switch {
	case length != 0:
	case test.IsLong():
		length = time.Minute
	default:
		length = 3 * time.Second
	}
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	freshCache(t)
	t.Setenv("TORCH_LOGS", "")
	t.Setenv("TCDBG_LOGS", "")
	p := &players{t: t, path: filepath.Join(t.TempDir(), "model.go")}
	p.save(state)
	t.Setenv(asProgram, "1")
	seed := *monkeySeed
	if seed == 0 {
		seed = rand.Uint64() &^ 3 // the kinds in their order
	}
	end := time.Now().Add(length)
	var all met
	for n := uint64(0); !t.Failed() && (time.Now().Before(end) || n < 4); n++ {
		r := rand.New(rand.NewPCG(seed+n, 2))
		each := min(length/4, 2*time.Second+time.Duration(r.IntN(15))*time.Second)
		name, f, err := p.start(seed + n)
		if missing := new(failure); errors.As(err, &missing) && missing.code == ExitNoFile {
			t.Logf("not played with %s: %v", name, err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		screensOf(t, f, r, each, &all)
		if t.Failed() {
			t.Errorf("with %s, seed %d: go test ./internal/app -run TestMonkey -monkeyseed %[2]d", name, seed+n)
		}
	}
	t.Log(all)
	if length >= time.Minute && min(all.graphs, all.stops, all.points, all.answers) == 0 {
		t.Error("it came to nothing worth looking at")
	}
	nothingRuns(t, state)
}

// nothingRuns sees that no process is left that was started with a state folder. What cleans up
// after an engine that was killed ends soon after it.
func nothingRuns(t *testing.T, state string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left := processesOf(state)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("processes are left: %q", left)
			return
		}
	}
}

// processesOf are the command lines of the processes that were started with a state folder.
func processesOf(state string) (out []string) {
	envs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range envs {
		text, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(text, []byte("XDG_STATE_HOME="+state)) {
			continue
		}
		if line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")); err == nil && len(line) > 0 {
			out = append(out, filepath.Dir(name)+": "+string(line))
		}
	}
	return out
}
