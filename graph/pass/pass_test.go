package pass

import (
	"errors"
	"strings"
	"testing"

	"tcdbg/logs"
)

// trail is a state: the names of the passes that ran.
type trail struct{ ran []string }

func (t *trail) String() string { return strings.Join(t.ran, " ") }

func step(name string, needs ...string) Pass[*trail] {
	p := Pass[*trail]{Name: name, Doc: "notes " + name, Print: (*trail).String, Run: func(t *trail) (int, error) {
		t.ran = append(t.ran, name)
		return 1, nil
	}}
	for _, n := range needs {
		p.Needs = append(p.Needs, Need{n, "it says so"})
	}
	return p
}

// TestOrderIsChecked wants tables refused that run a pass before what it needs.
func TestOrderIsChecked(t *testing.T) {
	for _, rows := range [][]Pass[*trail]{
		{step("b", "a"), step("a")},
		{step("a", "missing")},
		{step("a"), step("a")},
		{{Name: "no function", Doc: "x"}},
		{step("a"), {Name: "b", Doc: "x", Run: step("b").Run, Needs: []Need{{"a", ""}}}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("the table %s was taken", names(rows))
				}
			}()
			NewTable("test", rows...)
		}()
	}
}

// TestShuffle wants every order that the needs allow, and no other.
func TestShuffle(t *testing.T) {
	table := NewTable("test", step("a"), step("b", "a"), step("c", "a"), step("d", "b", "c"))
	seen := map[string]bool{}
	for range 100 {
		s := &trail{}
		if err := Run(&Runner{Check: true}, table, s); err != nil {
			t.Fatal(err)
		}
		seen[s.String()] = true
	}
	if len(seen) != 2 || !seen["a b c d"] || !seen["a c b d"] {
		t.Errorf("the passes ran in these orders: %v", seen)
	}
}

// TestRunnerNamesPasses wants the pass in the error where it panics, fails its check or
// is refused, and no later pass to run.
func TestRunnerNamesPasses(t *testing.T) {
	bad := step("bad")
	bad.Run = func(*trail) (int, error) { panic("boom") }
	broken := step("broken")
	broken.Check = func(*trail) error { return errors.New("out of shape") }
	for _, c := range []struct {
		row  Pass[*trail]
		want string
	}{{bad, "panic in pass bad: boom"}, {broken, "after pass broken: out of shape"}} {
		s := &trail{}
		c.row.Needs = []Need{{"first", "it says so"}}
		err := Run(&Runner{Check: true}, NewTable("test", step("first"), c.row, step("last", c.row.Name)), s)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(s.String(), "last") {
			t.Errorf("error %v after %q, want %q", err, s, c.want)
		}
	}
}

// TestRecords wants rows that say so in the trace, numbered, and nothing printed where
// nobody listens.
func TestRecords(t *testing.T) {
	printed := 0
	row := func(name string, needs ...string) Pass[*trail] {
		p := step(name, needs...)
		p.Record = true
		p.Print = func(s *trail) string { printed++; return s.String() }
		return p
	}
	idle := row("idle", "one")
	idle.Run = func(*trail) (int, error) { return 0, nil }
	table := NewTable("test", row("one"), idle, step("silent", "idle"), row("two", "silent"))
	if err := Run(&Runner{}, table, &trail{}); err != nil || printed > 0 {
		t.Fatalf("%v, printed %d times", err, printed)
	}
	var out []logs.Out
	sink := sinkFunc(func(o logs.Out) { out = append(out, o) })
	if err := Run(&Runner{Stage: "test", Log: sink}, table, &trail{}); err != nil {
		t.Fatal(err)
	}
	if len(out) != 2 || !strings.Contains(string(out[1].Payload), `"pass":"two","index":2,"before":"one silent","after":"one silent two"`) {
		t.Errorf("%d records, the last: %s", len(out), out[len(out)-1].Payload)
	}
}

type sinkFunc func(logs.Out)

func (f sinkFunc) Emit(o logs.Out)        { f(o) }
func (f sinkFunc) Stack([]logs.Frame) any { return nil }
