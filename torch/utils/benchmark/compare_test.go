package benchmark

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"testing"
	"time"

	"tcdbg/torch"
)

// TestPrintsAsPyTorch compares prints with those that PyTorch made of the same times
// (testdata/measurements.py).
func TestPrintsAsPyTorch(t *testing.T) {
	f, err := os.Open("testdata/measurements.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Cases []struct {
			Measurements             []*Measurement
			Prints                   []string
			Figures                  []int
			Trim, Colour, Rows, Warn bool
			Table                    string
		}
	}
	if err := json.NewDecoder(z).Decode(&data); err != nil || len(data.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(data.Cases), err)
	}
	for i, c := range data.Cases {
		table := NewCompare()
		table.ExtendResults(c.Measurements...)
		if c.Trim {
			table.TrimSignificantFigures()
		}
		if c.Colour {
			table.Colorize(c.Rows)
		}
		if c.Warn {
			table.HighlightWarnings()
		}
		if got := table.String(); got != c.Table {
			t.Errorf("case %d: %+v\n%s\nwant\n%s", i, c, got, c.Table)
		}
		for k, m := range c.Measurements {
			if got := m.String(); got != c.Prints[k] {
				t.Errorf("case %d: %v\n%s\nwant\n%s", i, m.RawTimes, got, c.Prints[k])
			}
			if got := m.SignificantFigures(); got != c.Figures[k] {
				t.Errorf("case %d: %v has %d figures, want %d", i, m.RawTimes, got, c.Figures[k])
			}
		}
	}
}

// TestTimer measures what takes time that is known to be at least so long.
func TestTimer(t *testing.T) {
	calls, setups, threads := 0, 0, torch.GetNumThreads()
	timer := &Timer{
		Stmt: func() {
			calls++
			time.Sleep(time.Millisecond)
			if torch.GetNumThreads() != 1 {
				t.Error("operators use more than one thread")
			}
		},
		Setup: func() { setups++ }, Label: "sleep", Description: "a millisecond",
	}
	once := timer.Timeit(5)
	if calls != 7 || setups != 1 || once.NumberPerRun != 5 || len(once.RawTimes) != 1 || once.Median() < 1e-3 {
		t.Errorf("%d calls, %d set-ups: %+v", calls, setups, once)
	}
	for _, m := range []*Measurement{
		timer.BlockedAutorange(20 * time.Millisecond), timer.AdaptiveAutorange(0.5, 10*time.Millisecond, time.Second),
	} {
		total := 0.0
		for _, s := range m.RawTimes {
			total += s
		}
		if total < 0.01 || m.Median() < 1e-3 || m.Task != once.Task {
			t.Errorf("%+v", m)
		}
	}
	if torch.GetNumThreads() != threads {
		t.Errorf("%d threads are left, there were %d", torch.GetNumThreads(), threads)
	}
}
