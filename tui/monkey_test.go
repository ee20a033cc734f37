package tui

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcdbg/explain"
	"tcdbg/explain/fold"
	"tcdbg/logs"
	"tcdbg/tui/keys"
	"tcdbg/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// This file is a monkey: it presses any key on any screen, clicks anywhere and resizes the
// window, while records of a trace arrive in between. Nothing panics, every frame fits the
// window, every key is handled within a bound, and q always quits in the end.

var (
	monkeyFor  = flag.Duration("monkey", 3*time.Second, "how long TestMonkey plays")
	monkeySeed = flag.Uint64("monkeyseed", 0, "of the first game; 0: another one each time")
)

// keyBound is the processor time that one message may take, its frame included.
const keyBound = 2 * time.Second

// growing is a feed whose records arrive when the monkey lets them.
type growing struct {
	*fakeFeed
	fold    *fold.Fold
	store   *logs.Store
	records []*logs.Record
	fed     int
}

func (g *growing) Snapshot() *explain.Report { return g.fold.Snapshot() }

func (g *growing) Records() Records { return grownRecords{g} }

// feed hands n records over.
func (g *growing) feed(n int) {
	for _, r := range g.records[g.fed:min(len(g.records), g.fed+n)] {
		g.fold.Add(r)
		g.output = append(g.output, OutputLine{Text: "at record " + r.Key(), Err: g.fed%5 == 0})
		g.fed++
	}
}

// arrive is what comes from outside: records, or a turn in the program's life.
func (g *growing) arrive(what byte) {
	switch what % 8 {
	case 0:
		g.run.Paused, g.run.Where = !g.run.Paused, "model.go:5"
	case 1:
		g.run.Live = !g.run.Live
		g.run.Ended, g.run.Failed = "", false
		if !g.run.Live {
			g.run.Ended, g.run.Failed = "panic: \x1b[2Jbad 日本", what&16 == 0
		}
		g.fold.SetLive(g.run.Live)
	case 2:
		g.feed(len(g.records) / 8)
	default:
		g.feed(int(what) % 16)
	}
}

type grownRecords struct{ g *growing }

func (r grownRecords) Len() int { return r.g.fed }

func (r grownRecords) At(i int) Record {
	e := r.g.store.Entry(i)
	return Record{Time: "12:00:00.000", Kind: e.Key(), ID: "1/0", Rank: e.Rank, Bytes: e.Size}
}

func (r grownRecords) Payload(i int) string {
	rec, err := r.g.store.Record(i)
	if err != nil {
		return err.Error()
	}
	return string(rec.Meta()) + "\n" + rec.Text()
}

func (r grownRecords) Search(_ context.Context, q string, hit func(int), progress func(float64)) {
	for i := range r.Len() {
		if theme.IndexFold(r.Payload(i), q) >= 0 {
			hit(i)
		}
	}
	progress(1)
}

// monkeyTraces are what the monkey plays with: small traces that fill all screens.
var monkeyTraces = []string{
	"testdata/bar.log",
	"testdata/calls.log",
	"../explain/testdata/traces/pytorch-2.15/fusion_small.log.zst",
	"../explain/testdata/traces/pytorch-2.15/varied.log.zst",
	"../explain/testdata/traces/pytorch-2.15/ddp_train",
	"../explain/testdata/traces/pytorch-2.7/crash.log.zst",
	"../testdata/hostile/escapes.log",
}

// saved are the traces that were read, by their paths. They stay open, as games are many.
var saved = map[string]*growing{}

// grows is a run of which no record has arrived.
func grows(t testing.TB, path string) *growing {
	t.Helper()
	read := saved[path]
	if read == nil {
		st, err := logs.Open([]string{path}, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		read = &growing{store: st}
		if err := st.Read(t.Context(), func(r *logs.Record) { read.records = append(read.records, r.Keep()) }); err != nil {
			t.Fatal(err)
		}
		saved[path] = read
	}
	g := &growing{fakeFeed: richFeed(), store: read.store, records: read.records, fold: fold.New(read.store)}
	g.noSchedule, g.run.Again, g.before = true, true, richReport()
	g.fakeFeed.records, g.output = nil, nil
	g.fold.SetLive(true)
	return g
}

// monkey plays with one run. What it does comes from bytes, so that a fuzzer can choose.
type monkey struct {
	*driver
	g    *growing // nil: a report that does not grow
	data []byte
	done []string // what it did, the last at the end
}

func (m *monkey) next() byte {
	if len(m.data) == 0 {
		return 0
	}
	b := m.data[0]
	m.data = m.data[1:]
	return b
}

// oddText is what nobody types: wide, combining, invisible and broken.
var oddText = []rune{'日', 'é', '\u0301', '\u200b', '\u202e', '\U000e0041', '\U0001f469', 0x9b, '\t', ' ', '[', '\\', utf8Error}

const utf8Error = '\ufffd'

// someKeys are the keys of the table, of prompts and of nothing.
func someKeys(m *Model) []string {
	out := append(m.Keys(), "delete", "ctrl+w", "ctrl+n", "Q", "y", "é")
	slices.Sort(out)
	return slices.Compact(out)
}

// windows are sizes that the monkey takes now and then, up to what is more than a screen.
var windows = [][2]int{
	{0, 0},
	{1, 1},
	{2, 40},
	{200, 1},
	{200, 2},
	{20, 5},
	{60, 15},
	{80, 24},
	{120, 40},
	{500, 100},
	{65535, 3},
	{4, 65535},
}

// act draws the next message, or lets records arrive and draws the poll that finds them.
func (m *monkey) act() (what string, msg tea.Msg) {
	w, h := m.m.columns, m.m.sc.h
	switch b := m.next(); {
	case b < 170:
		all := someKeys(m.m)
		k := all[int(m.next())%len(all)]
		if k == "ctrl+c" && m.next() > 20 { // it ends the game
			k = "j"
		}
		return "key " + k, anyKey(k)
	case b < 180:
		r := oddText[int(m.next())%len(oddText)]
		return fmt.Sprintf("rune %q", r), tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}}
	case b < 185:
		text := strings.Repeat("paste 日本\x1b[2J\n", int(m.next())%9)
		return fmt.Sprintf("paste %q", text), tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text), Paste: m.next()%2 == 0}
	case b < 195:
		size := [2]int{int(m.next())%200 + 1, int(m.next())%60 + 1}
		if m.next()%3 == 0 {
			size = windows[int(m.next())%len(windows)]
		}
		return fmt.Sprintf("size %dx%d", size[0], size[1]), tea.WindowSizeMsg{Width: size[0], Height: size[1]}
	case b < 225:
		msg := tea.MouseMsg{
			X: int(m.next())*(w+4)/256 - 2, Y: int(m.next())*(h+4)/256 - 2,
			Button: tea.MouseButton(m.next() % 12), Action: tea.MouseAction(m.next() % 3),
		}
		return fmt.Sprintf("mouse %v at %d,%d", msg, msg.X, msg.Y), msg
	case m.g != nil:
		n := m.next()
		m.g.arrive(n)
		return fmt.Sprintf("arrive %d", n), pollMsg{}
	default:
		return "look", lookMsg{}
	}
}

// anyKey is the message of a key by its name.
func anyKey(k string) tea.KeyMsg {
	for t := tea.KeyType(-100); t < 128; t++ {
		if msg := (tea.KeyMsg{Type: t}); t != tea.KeyRunes && msg.String() == k && k != "" {
			return msg
		}
	}
	return keyMsg(k)
}

// play acts until the bytes are used up, and quits.
func (m *monkey) play() {
	for len(m.data) > 0 && !m.m.sc.quit && !m.t.Failed() {
		m.do(m.act())
	}
	for _, k := range []string{"esc", "esc", "esc", "esc", "esc", "q", "s", "y"} {
		if m.m.sc.quit || m.t.Failed() {
			break
		}
		m.do("key "+k, anyKey(k))
	}
	if !m.m.sc.quit && !m.t.Failed() {
		m.t.Errorf("q does not quit\n%s", m.plain())
	}
	if m.t.Failed() {
		m.confess()
	}
}

// confess says what the monkey did last.
func (m *monkey) confess() {
	m.t.Logf("go test ./tui -run TestMonkey -monkeyseed N plays it again; last it did\n%s",
		strings.Join(m.done[max(0, len(m.done)-40):], "\n"))
}

// do sends a message and looks at the frame.
func (m *monkey) do(what string, msg tea.Msg) {
	m.done = append(m.done, what)
	defer func() {
		if v := recover(); v != nil {
			m.confess()
			panic(v)
		}
	}()
	before := cpuTime()
	m.send(msg)
	frame := m.frame()
	if took := cpuTime() - before; took > keyBound {
		m.t.Errorf("%s took %v", what, took)
	}
	if w, h := m.m.columns, m.m.sc.h; !m.m.sc.quit && w > 0 && h > 0 {
		checkFrame(m.t, frame, w, h)
	} else if frame != "" {
		m.t.Errorf("a frame without a window: %q", frame)
	}
}

// cpuTime is the processor time of the process: unlike the clock it does not run while
// others have the processor.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// playWith lets a monkey play with the trace of that number; the one after the last is the
// report made by hand.
func playWith(t *testing.T, which int, data []byte) {
	t.Helper()
	opt := Options{Colour: which%2 == 0, Mouse: true, Copy: func(string) error { return nil }, Editor: "vi"}
	which %= len(monkeyTraces) + 1
	if which == len(monkeyTraces) {
		f := richFeed()
		f.before, f.run.Again = richReport(), true
		m := &monkey{driver: newDriver(t, f, opt, 80, 24), data: data}
		m.play()
		return
	}
	g := grows(t, monkeyTraces[which])
	m := &monkey{driver: newDriver(t, g, opt, 80, 24), g: g, data: data}
	m.play()
}

// TestMonkey plays with each trace in turn, every game by a seed of its own.
func TestMonkey(t *testing.T) {
	seed := *monkeySeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	end := time.Now().Add(*monkeyFor)
	for n := uint64(0); time.Now().Before(end) || n <= uint64(len(monkeyTraces)); n++ {
		ok := t.Run(fmt.Sprintf("seed %d", seed+n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed+n, 1))
			data := make([]byte, 1200)
			for i := range data {
				data[i] = byte(r.Uint32())
			}
			playWith(t, int((seed+n)%uint64(len(monkeyTraces)+1)), data)
		})
		if !ok {
			return
		}
	}
}

// TestTinyWindows draws every screen, with and without help over it, in windows in which
// nothing can be read.
func TestTinyWindows(t *testing.T) {
	for name, f := range map[string]Feed{"by hand": richFeed(), "saved": savedFeed(t)} {
		d := newDriver(t, f, Options{Colour: true}, 80, 24)
		for s := range screens() {
			for w := range 14 {
				for h := range 8 {
					d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
					d.send(keyMsg(title(keys.Screen(s)).Key))
					d.send(tea.WindowSizeMsg{Width: w, Height: h})
					d.send(pollMsg{})
					for _, k := range []string{"enter", "j", "?", "esc", "/", "esc", "esc"} {
						if frame := d.frame(); w > 0 && h > 0 {
							checkFrame(t, frame, w, h)
						} else if frame != "" {
							t.Errorf("a frame in no window: %q", frame)
						}
						d.send(keyMsg(k))
					}
					if t.Failed() {
						t.Fatalf("%s, screen %d in %dx%d", name, s, w, h)
					}
				}
			}
		}
	}
}

// A share of what is nothing, less than nothing or more than all has a bar that fits.
func TestBarsOfAnyNumbers(t *testing.T) {
	odd := []float64{0, 1, -1, 3, 1e300, -1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, n := range odd {
		for _, total := range odd {
			if b := bar(n, total, 9); theme.Width(b) > 9 {
				t.Errorf("%v of %v is %q", n, total, b)
			}
		}
	}
}

// FuzzKeys lets the fuzzer be the monkey.
func FuzzKeys(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for which := range len(monkeyTraces) + 1 {
		data := make([]byte, 100)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(byte(which), data)
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) { playWith(t, int(which), data[:min(len(data), 600)]) })
}
