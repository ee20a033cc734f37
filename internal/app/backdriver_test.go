package app

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tcdbg/logs"
	"tcdbg/logs/ctl"
)

// debugged is a program under the engine, in a process of its own, and what it says.
type debugged struct {
	t    testing.TB
	c    *child
	r    *Run
	seen int // stops that the test has taken
	said []logs.State
	// answered are the commands that got an answer.
	answered map[int]bool
}

// debugKept starts a program whose run is kept, stopped before its first line.
func debugKept(t testing.TB, path string, args ...string) *debugged {
	t.Helper()
	return debugWith(t, Options{Pause: true, Record: true}, path, args...)
}

func debugWith(t testing.TB, o Options, path string, args ...string) *debugged {
	t.Helper()
	return debugFrom(t, os.DevNull, o, path, args...)
}

// debugFrom gives it a file as its standard input.
func debugFrom(t testing.TB, stdin string, o Options, path string, args ...string) *debugged {
	t.Helper()
	t.Setenv(asProgram, "1")
	if os.Getenv(withSource) == "" {
		t.Setenv(withSource, "../..")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	r, err := newRun("run", []string{path}, args, o)
	if err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(stdin)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(r.file(stdoutFile))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	errs, err := os.Create(r.file(stderrFile))
	if err != nil {
		t.Fatal(err)
	}
	defer errs.Close()
	c, err := startEngine(r, in, out, errs, true)
	if err != nil {
		t.Fatal(err)
	}
	d := &debugged{t: t, c: c, r: r, answered: map[int]bool{}}
	t.Cleanup(func() {
		c.signal(9)
		_, _ = c.wait() // it was killed, or has ended
	})
	if o.Pause {
		if s := d.next(); s.Kind != logs.StopStart {
			t.Fatalf("the first stop is %+v", s)
		}
	}
	return d
}

// read reads the records of the session so far.
func (d *debugged) read() (stops []logs.Stop, states []logs.State) {
	d.t.Helper()
	st, err := logs.Open([]string{d.r.file(traceFile)}, logs.Options{})
	if err != nil {
		return nil, nil
	}
	defer st.Close()
	_ = st.Read(d.t.Context(), func(r *logs.Record) { // a record that is being written comes again
		text := r.Keep().Text()
		switch {
		case r.Is("tcdbg_stop"):
			stops = whole(stops, text)
		case r.Is("tcdbg_state"):
			states = whole(states, text)
		case r.Is("tcdbg_answer"):
			for _, a := range whole([]logs.Answer(nil), text) {
				d.answered[a.Command] = true
			}
		}
	})
	return stops, states
}

// whole adds a record to those that were read, unless it is still being written: it is the last
// one then, and comes again.
func whole[T any](list []T, text string) []T {
	var body struct{ Data T }
	if json.Unmarshal([]byte(text), &body) != nil {
		return list
	}
	return append(list, body.Data)
}

const longest = 60 * time.Second

// next is the next stop.
func (d *debugged) next() logs.Stop {
	d.t.Helper()
	s, why := d.nextOr("")
	if why != "" {
		d.t.Fatalf("no further stop: %s\n%s", why, d.output(stderrFile))
	}
	return s
}

// nextOr is the next stop, or what a state says first whose text begins with part.
func (d *debugged) nextOr(part string) (logs.Stop, string) {
	d.t.Helper()
	for begin := time.Now(); time.Since(begin) < longest; time.Sleep(10 * time.Millisecond) {
		stops, states := d.read()
		if len(stops) > d.seen {
			d.seen++
			d.said = states
			return stops[d.seen-1], ""
		}
		for _, s := range states[min(len(d.said), len(states)):] {
			if part != "" && strings.HasPrefix(s.Text, part) || s.State == "exited" {
				d.said = states
				return logs.Stop{}, s.State + " " + s.Text
			}
		}
	}
	_, states := d.read()
	d.t.Fatalf("nothing happens; states %+v\n%s", states, d.output(stderrFile))
	return logs.Stop{}, ""
}

func (d *debugged) output(name string) string {
	text, _ := os.ReadFile(d.r.file(name))
	return string(text)
}

func (d *debugged) send(verb ctl.Verb, arg string) {
	d.t.Helper()
	if _, err := d.c.send(ctl.Command{Verb: verb, Arg: arg}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *debugged) step(kind string) logs.Stop {
	d.t.Helper()
	d.send(ctl.Step, kind)
	return d.next()
}

func (d *debugged) back(kind string) logs.Stop {
	d.t.Helper()
	d.send(ctl.Back, kind)
	return d.stood(d.next())
}

// stood is a stop in the past at which the program was run to that moment and found to be the
// same: it answers an expression. Otherwise it is what is said then.
func (d *debugged) stood(s logs.Stop) logs.Stop {
	d.t.Helper()
	if s.Past == 0 {
		return s
	}
	_, before := d.read()
	id, err := d.c.send(ctl.Command{Verb: ctl.Evaluate, Arg: "1"})
	if err != nil {
		d.t.Fatal(err)
	}
	for begin := time.Now(); time.Since(begin) < longest; time.Sleep(10 * time.Millisecond) {
		stops, states := d.read()
		if len(stops) > d.seen { // it was not the same
			return d.next()
		}
		if !d.answered[id] {
			continue
		}
		for _, st := range states[len(before):] {
			if st.State == "running" { // the screens would leave the stop
				d.t.Errorf("it stands, and a state says %+v", st)
			}
		}
		return s
	}
	d.t.Fatalf("nothing answers at moment %d\n%s", s.Moment, d.output(stderrFile))
	return s
}

// refused is why Back does not go.
func (d *debugged) refused(kind string) string {
	d.t.Helper()
	_, d.said = d.read()
	d.send(ctl.Back, kind)
	_, why := d.nextOr("back: ")
	return why
}

// lineOf is the line of the program that has a text.
func lineOf(t testing.TB, d *debugged, part string) int {
	t.Helper()
	text, err := os.ReadFile(d.r.Info.Program[0])
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(string(text), "\n") {
		if strings.Contains(l, part) {
			return i + 1
		}
	}
	t.Fatalf("no line has %s", part)
	return 0
}

// state is what there is to see at a stop.
func state(s logs.Stop) string {
	text, _ := json.Marshal(s.Stack)
	return fmt.Sprintf("%d %s", s.Moment, text)
}

func local(t *testing.T, s logs.Stop, name string) logs.Value {
	t.Helper()
	i := slices.IndexFunc(s.Stack[0].Locals, func(v logs.Value) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no variable %s: %+v", name, s.Stack[0])
	}
	return s.Stack[0].Locals[i]
}
