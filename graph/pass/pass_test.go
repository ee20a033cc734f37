package pass

import (
	"encoding/json"
	"errors"
	"slices"
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

// TestTextsAreTold: a state whose text is known is not printed again, and where it is checked a pass that
// changes it without saying so is found.
func TestTextsAreTold(t *testing.T) {
	printed := 0
	row := func(name string, run func(t *trail) int) Pass[*trail] {
		return Pass[*trail]{
			Name: name, Doc: "x", Record: true,
			Run:   func(t *trail) (int, error) { return run(t), nil },
			Print: func(t *trail) string { printed++; return t.String() },
		}
	}
	nothing := func(*trail) int { return 0 }
	something := func(t *trail) int { t.ran = append(t.ran, "x"); return 1 }
	unsaid := func(t *trail) int { t.ran = append(t.ran, "y"); return 0 }
	after := func(p Pass[*trail], before string) Pass[*trail] {
		p.Needs = []Need{{before, "it says so"}}
		return p
	}
	sink := &steps{}
	silent := after(row("silent", something), "d") // one that is not recorded, and not printed
	silent.Print, silent.Record = nil, false
	notes := after(row("notes", unsaid), "e")
	notes.Notes = true
	r := &Runner{Log: sink}
	rows := []Pass[*trail]{
		row("a", nothing), after(row("b", something), "a"), after(row("c", nothing), "b"), after(row("d", something), "c"),
		silent, after(row("e", something), "silent"), notes, after(row("f", something), "notes"),
	}
	if err := run(r, NewTable("test", rows...), &trail{}, false); err != nil {
		t.Fatal(err)
	}
	want := []string{" > x", "x > x x", "x x x > x x x x", "x x x x y > x x x x y x"}
	if !slices.Equal(sink.told, want) || printed != 7 {
		t.Errorf("%q with %d texts", sink.told, printed)
	}
	if text, ok := r.Text(); !ok || text != "x x x x y x" {
		t.Errorf("at the end %q, %v", text, ok)
	}
	for _, c := range []struct {
		row  Pass[*trail]
		want string
	}{
		{row("unsaid", unsaid), "pass unsaid changed what it says it has not"},
		{func() Pass[*trail] { p := row("unsaid", unsaid); p.Record = false; return p }(), "before pass last something was changed"},
	} {
		c.row.Needs = []Need{{"first", "it says so"}}
		table := NewTable("test", row("first", something), c.row, after(row("last", something), "unsaid"))
		err := Run(&Runner{Check: true, Log: sink}, table, &trail{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// steps is a sink that keeps what passes did.
type steps struct{ told []string }

func (s *steps) Emit(o logs.Out) {
	var v struct{ Data logs.PassStep }
	if err := json.Unmarshal(o.Payload, &v); err != nil {
		panic(err)
	}
	s.told = append(s.told, v.Data.Before+" > "+v.Data.After)
}

func (*steps) Stack([]logs.Frame) any { return nil }
