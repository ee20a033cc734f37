package autotune

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tcdbg/inductor/tune"
	"tcdbg/logs"
)

// This file tries searches on a machine whose times are made up: what a call takes is known, so that what is chosen is.

// world is how long kernels take.
type world struct {
	kernel func(name string, c tune.Choices, r Run) int64
	noise  int64 // added to every second call
	calls  int
	open   int // programs
	wrong  string
}

// model is a program of this world.
type model struct {
	w    *world
	c    tune.Choices
	runs []Run
}

var kernelNames = []string{"conv_0", "conv_1", "add_2"}

func (m *model) Kernels() []string { return kernelNames }
func (m *model) Choose(runs []Run) { m.runs = runs }
func (m *model) Code() string      { return fmt.Sprint(m.c) }
func (m *model) Close()            { m.w.open-- }

func (m *model) Call() (kernels []int64, whole int64, err error) {
	m.w.calls++
	for i, name := range kernelNames {
		r := Run{}
		if m.runs != nil {
			r = m.runs[i]
		}
		ns := m.w.kernel(name, m.c, r) + m.w.noise*int64(m.w.calls%2)
		kernels, whole = append(kernels, ns), whole+ns
	}
	return kernels, whole, nil
}

// search is a search in a world of two equal convolutions and a sum.
func search(w *world) *Search {
	product := func(kernel string, c tune.Choices) tune.Product {
		p := tune.Product{
			Kernel: kernel, Key: "conv", Op: "convolution", Shapes: []string{"2x8x4x4", "8x8x3x3"},
			Form: 1, Forms: []int{1, 2, 3}, Tiled: true,
		}
		if f := c.Forms["conv"]; f > 0 {
			p.Form = f
		}
		return p
	}
	return &Search{
		Build: func(c tune.Choices) (Program, []tune.Product, error) {
			if w.wrong != "" && c.Layout == tune.LayoutPlanes {
				return nil, nil, errors.New(w.wrong)
			}
			w.open++
			return &model{w: w, c: c}, []tune.Product{product("conv_0", c), product("conv_1", c)}, nil
		},
		Variants: []Variant{{"layout", "planes", func(c *tune.Choices) { c.Layout = tune.LayoutPlanes }}},
		FormName: func(f int) string { return []string{"", "columns", "pixels", "winograd"}[f] },
		Threads:  4, Runs: true, Budget: 2 * time.Second, Descent: true,
	}
}

func done(t *testing.T, w *world) (tune.Choices, *logs.Autotuning) {
	t.Helper()
	c, record, err := search(w).Do()
	if err != nil {
		t.Fatal(err)
	}
	if w.open != 0 {
		t.Errorf("%d programs were not closed", w.open)
	}
	return c, record
}

func TestTheFastestIsChosen(t *testing.T) {
	w := &world{noise: 3000, kernel: func(name string, c tune.Choices, r Run) int64 {
		ns := int64(100_000)
		if name == "add_2" {
			if r.Threads == 2 {
				return 20_000
			}
			return 50_000
		}
		if c.Forms["conv"] == 3 {
			ns = 60_000
		}
		if r.Rows == 6 {
			ns -= 10_000
		}
		if c.Layout == tune.LayoutPlanes {
			ns *= 2
		}
		return ns
	}}
	c, record := done(t, w)
	if c.Layout != "" || c.Forms["conv"] != 3 || c.Runs["add_2"].Threads != 2 || c.Runs["conv_0"].Rows != 6 || c.Runs["conv_1"].Rows != 6 {
		t.Errorf("chosen: %+v", c)
	}
	if record.Kept || record.Default != 250_000 || record.Chosen != 120_000 {
		t.Errorf("default %d, chosen %d, kept %v", record.Default, record.Chosen, record.Kept)
	}
	text := record.Text()
	for _, want := range []string{
		"AUTOTUNE graph()\n  default 0.2500 ms 100.0% ← chosen\n  planes 0.4500 ms 55.6%",
		"AUTOTUNE convolution(2x8x4x4, 8x8x3x3)\nkernels: conv_0, conv_1\n  winograd 0.1200 ms 100.0% ← chosen\n",
		"AUTOTUNE add_2()\nkernels: add_2\n  2 threads 0.0200 ms 100.0% ← chosen\n  default 0.0500 ms 40.0%",
		"SingleProcess AUTOTUNE benchmarking takes ", "a call takes 0.12 ms where it took 0.25",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the record lacks %q:\n%s", want, text)
		}
	}
}

// TestTheDefaultStays where nothing is faster by more than noise, and where what is faster alone is slower together.
func TestTheDefaultStays(t *testing.T) {
	for name, kernel := range map[string]func(name string, c tune.Choices, r Run) int64{
		"equal": func(string, tune.Choices, Run) int64 { return 100_000 },
		"a little faster": func(_ string, c tune.Choices, r Run) int64 {
			if c.Forms["conv"] == 2 || r.Threads == 1 {
				return 98_000
			}
			return 100_000
		},
	} {
		c, record := done(t, &world{kernel: kernel})
		if !record.Kept || c.Forms != nil || c.Runs != nil || c.Layout != "" {
			t.Errorf("%s: %+v, kept %v", name, c, record.Kept)
		}
	}
}

// TestOneNumberOfThreadsForAll is chosen where kernels alone say nothing and the whole does: they hinder each other.
func TestOneNumberOfThreadsForAll(t *testing.T) {
	alike := 0
	w := &world{kernel: func(name string, _ tune.Choices, r Run) int64 {
		if name == kernelNames[0] {
			alike = 0
		}
		if r.Threads == 2 {
			alike++
		}
		if name == kernelNames[2] && alike == 3 {
			return 50_000
		}
		return 100_000
	}}
	c, record := done(t, w)
	if record.Kept || len(c.Runs) == 0 || record.Chosen != 250_000 {
		t.Errorf("%+v, kept %v, %d", c, record.Kept, record.Chosen)
	}
}

// TestWhatIsWrongIsNotChosen: a candidate that cannot be built, or whose results differ, is noted and left.
func TestWhatIsWrongIsNotChosen(t *testing.T) {
	w := &world{wrong: "its result 0 is off by 3 of 1", kernel: func(string, tune.Choices, Run) int64 { return 100_000 }}
	c, record := done(t, w)
	if c.Layout != "" || !strings.Contains(record.Text(), "planes: not timed: its result 0 is off by 3 of 1") {
		t.Errorf("%+v\n%s", c, record.Text())
	}
}

// TestTheSearchIsBounded by its budget, whatever a call takes.
func TestTheSearchIsBounded(t *testing.T) {
	w := &world{kernel: func(string, tune.Choices, Run) int64 {
		time.Sleep(30 * time.Millisecond)
		return 30e6
	}}
	s := search(w)
	s.Budget = 500 * time.Millisecond
	start := time.Now()
	_, record, err := s.Do()
	if took := time.Since(start); err != nil || took > 5*time.Second {
		t.Errorf("%v after %v", err, took)
	}
	if record.Ended == "" {
		t.Error("the record does not say that the time was over")
	}
}
