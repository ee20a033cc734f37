package replay

import (
	"fmt"
	"testing"

	"tcdbg/logs"
	"tcdbg/tracer/guard"
)

// TestManyEntries: of very many entries a call tests few, and finds the one that it would
// have found by testing all in their order.
func TestManyEntries(t *testing.T) {
	const n = 1000
	var x, y uint64 // what the guards of this test look at
	tested := 0
	entry := func(i int) *Entry {
		gs := guard.NewSet(nil, nil, func() logs.Pos { return logs.Pos{} })
		compare := func(name string, word *uint64, want uint64) {
			gs.Check(guard.EqualsMatch, nil, fmt.Sprint(name, want), "", func(*guard.Addresses) bool {
				tested++
				return *word == want
			}, nil).Tells(guard.Probe{
				Name: func() string { return name },
				Read: func(*guard.Addresses) (uint64, bool) { return *word, true },
				Want: want,
			})
		}
		compare("y", &y, uint64(i%2))
		if i%100 != 50 { // some take any x
			compare("x", &x, uint64(i/2))
		}
		e := &Entry{ID: logs.CompileID{Compile: i}}
		e.Guard(gs)
		return e
	}
	var es Entries
	for i := range n {
		es.Add(entry(i))
		if got := len(es.List()); got != i+1 {
			t.Fatalf("%d entries after %d", got, i+1)
		}
	}
	most := 0
	for x = range uint64(n/2 + 3) {
		for y = range uint64(3) {
			want, _ := first(nil, nil, es.List(), nil)
			tested = 0
			got, _ := es.Find(nil, nil)
			most = max(most, tested)
			if got != want {
				t.Fatalf("x = %d, y = %d: entry %v, want %v", x, y, got, want)
			}
		}
	}
	if most > 20 {
		t.Errorf("%d guards were tested for one call", most)
	}
	es.Clear()
	if got, _ := es.Find(nil, nil); got != nil || es.List() != nil {
		t.Error("an entry outlives Clear")
	}
}

// TestFewEntries: where entries differ in nothing that a guard compares, all are tested.
func TestFewEntries(t *testing.T) {
	var es Entries
	now := 0
	for i := range 100 {
		gs := guard.NewSet(nil, nil, func() logs.Pos { return logs.Pos{} })
		gs.Check(guard.LambdaGuard, nil, "", "", func(*guard.Addresses) bool { return now == i }, nil)
		e := &Entry{ID: logs.CompileID{Compile: i}}
		e.Guard(gs)
		es.Add(e)
	}
	for now = range 101 {
		e, _ := es.Find(nil, nil)
		if (e == nil) != (now == 100) || e != nil && e.ID.Compile != now {
			t.Errorf("%d: %v", now, e)
		}
	}
}
