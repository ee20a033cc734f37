// Package benchmark is torch.utils.benchmark: Timer measures code, and Compare prints
// measurements side by side, as PyTorch prints them.
//
// It imports torch and nothing else of ours, and runs interpreted under tcdbg, so that what it
// measures there is what the program's own loops would see. Open timer.go first.
package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Measurement is the times of one Timer.
type Measurement struct {
	NumberPerRun int       // calls in each run
	RawTimes     []float64 // seconds of each run
	Task         Task
}

// Task says what was measured.
type Task struct {
	Stmt        string // the text of what is called; Label stands for it where it is given
	Label       string
	SubLabel    string
	Description string
	Env         string
	NumThreads  int
}

// The share of the median from which the spread of the times is remarked on.
const (
	spreadWarned = 0.1
	spreadGross  = 0.25
)

// Times are the seconds of a call in each run, in ascending order.
func (m *Measurement) Times() []float64 {
	out := make([]float64, len(m.RawTimes))
	for i, t := range m.RawTimes {
		out[i] = t / float64(m.NumberPerRun)
	}
	slices.Sort(out)
	return out
}

// quantile is a quantile of sorted numbers, between two of them by their distance.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Median is in seconds a call, as the other figures are.
func (m *Measurement) Median() float64 { return quantile(m.Times(), 0.5) }

// Mean is the mean of all runs.
func (m *Measurement) Mean() float64 {
	sum := 0.0
	for _, t := range m.RawTimes {
		sum += t
	}
	return sum / float64(len(m.RawTimes)*m.NumberPerRun)
}

// IQR is the distance between the quartiles.
func (m *Measurement) IQR() float64 {
	t := m.Times()
	return quantile(t, 0.75) - quantile(t, 0.25)
}

// SignificantFigures estimates how many digits of the median mean something: of the runs between the quartiles,
// how many decimal places the median is above 1.645 standard errors; 1 to 4.
func (m *Measurement) SignificantFigures() int {
	t := m.Times()
	n := len(t)
	middle := t[n/4 : int(math.Ceil(3*float64(n)/4))]
	if len(middle) == 0 {
		return 1
	}
	mean, square := 0.0, 0.0
	for _, x := range middle {
		mean += x / float64(len(middle))
	}
	for _, x := range middle {
		square += (x - mean) * (x - mean) / float64(len(middle))
	}
	interval := max(1.645*math.Sqrt(square)/math.Sqrt(float64(len(middle))), leastInterval)
	return min(max(int(math.Floor(math.Log10(m.Median()/interval))), 1), mostFigures)
}

const (
	leastInterval = 25e-9 // seconds: no clock tells less
	mostFigures   = 4
)

// HasWarnings says whether the times spread so far that the print remarks on it.
func (m *Measurement) HasWarnings() bool { return m.IQR()/m.Median() >= spreadWarned }

// Title is what the measurement is of, without its description.
func (t *Task) Title() string {
	title := t.Stmt
	if t.Label != "" {
		title = t.Label
	}
	if t.SubLabel != "" {
		title += ": " + t.SubLabel
	}
	return title
}

// rowName is what the row of a table is called.
func (t *Task) rowName() string {
	switch {
	case t.SubLabel != "":
		return t.SubLabel
	case t.Stmt != "":
		return t.Stmt
	}
	return "[Unknown]"
}

// unit is the unit that a time is told in.
type unit struct {
	short, long string
	scale       float64
}

func unitFor(seconds float64) unit {
	switch math.Floor(math.Log10(seconds) / 3) {
	case -3:
		return unit{"ns", "nanoseconds", 1e-9}
	case -2:
		return unit{"us", "microseconds", 1e-6}
	case -1:
		return unit{"ms", "milliseconds", 1e-3}
	}
	return unit{"s", "seconds", 1}
}

// String is the measurement as PyTorch prints it, without the line that names the object.
func (m *Measurement) String() string {
	var b strings.Builder
	b.WriteString(m.Task.Title() + "\n")
	if m.Task.Description != "" {
		b.WriteString(m.Task.Description + "\n")
	}
	times, median, spread := m.Times(), m.Median(), m.IQR()
	u, name, per := unitFor(median), "Median: ", "per measurement,"
	if len(times) == 1 {
		name, per = "", ","
	}
	fmt.Fprintf(&b, "  %s%.2f %s\n", name, median/u.scale, u.short)
	if len(times) >= quartiled {
		low, high := quantile(times, 0.25), quantile(times, 0.75)
		fmt.Fprintf(&b, "  IQR:    %.2f %s (%.2f to %.2f)\n", spread/u.scale, u.short, low/u.scale, high/u.scale)
	}
	fmt.Fprintf(&b, "  %s, %d runs %s %s", counted(len(times), "measurement"), m.NumberPerRun, per, counted(m.Task.NumThreads, "thread"))
	if m.HasWarnings() {
		remark := "This could indicate system fluctuation."
		if spread/median >= spreadGross {
			remark = "This suggests significant environmental influence."
		}
		fmt.Fprintf(&b, "\n  WARNING: Interquartile range is %.1f%% of the median measurement.\n           %s", spread/median*100, remark)
	}
	return b.String()
}

// quartiled is from how many runs on the print tells the quartiles.
const quartiled = 4

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
