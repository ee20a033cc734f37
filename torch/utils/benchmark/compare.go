package benchmark

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// This file prints measurements side by side: a table for each label, a row for each sub-label
// and number of threads, a column for each description.

// Compare holds measurements for a table.
type Compare struct {
	results          []*Measurement
	trim, warn       bool
	coloured, byRows bool
}

// NewCompare is a table of some measurements.
func NewCompare(results ...*Measurement) *Compare { return &Compare{results: results} }

// ExtendResults adds measurements.
func (c *Compare) ExtendResults(results ...*Measurement) { c.results = append(c.results, results...) }

// TrimSignificantFigures has the table show as many digits as the times allow.
func (c *Compare) TrimSignificantFigures() { c.trim = true }

// Colorize colours times by how they compare with the best of their column, or of their row.
func (c *Compare) Colorize(rowwise bool) { c.coloured, c.byRows = true, rowwise }

// HighlightWarnings marks times that spread far.
func (c *Compare) HighlightWarnings() { c.warn = true }

// Print prints the tables to standard output.
func (c *Compare) Print() { fmt.Println(c.String()) }

// String is the tables.
func (c *Compare) String() string {
	var order []string
	byLabel := map[string][]*Measurement{}
	for _, m := range merged(c.results) {
		label := m.Task.Label
		if byLabel[label] == nil {
			order = append(order, label)
		}
		byLabel[label] = append(byLabel[label], m)
	}
	tables := make([]string, len(order))
	for i, label := range order {
		tables[i] = c.table(byLabel[label])
	}
	return strings.Join(tables, "\n")
}

// merged makes one measurement of those with the same task.
func merged(list []*Measurement) []*Measurement {
	var out []*Measurement
	at := map[Task]*Measurement{}
	for _, m := range list {
		one := at[m.Task]
		if one == nil {
			one = &Measurement{NumberPerRun: 1, Task: m.Task}
			at[m.Task] = one
			out = append(out, one)
		}
		for _, t := range m.RawTimes {
			one.RawTimes = append(one.RawTimes, t/float64(m.NumberPerRun))
		}
	}
	return out
}

// rowKey is what measurements of one row share.
type rowKey struct {
	threads   int
	env, name string
}

// table is the measurements of one label.
type table struct {
	rows    []rowKey
	columns []string // descriptions
	cells   map[rowKey][]*Measurement
	unit    unit
}

func tableOf(results []*Measurement) *table {
	t := &table{cells: map[rowKey][]*Measurement{}}
	best := math.Inf(1)
	for _, m := range results {
		best = min(best, m.Median())
		if !slices.Contains(t.columns, m.Task.Description) {
			t.columns = append(t.columns, m.Task.Description)
		}
	}
	t.unit = unitFor(best)
	for _, m := range results {
		key := rowKey{m.Task.NumThreads, m.Task.Env, m.Task.rowName()}
		if t.cells[key] == nil {
			t.rows = append(t.rows, key)
			t.cells[key] = make([]*Measurement, len(t.columns))
		}
		t.cells[key][slices.Index(t.columns, m.Task.Description)] = m
	}
	slices.SortStableFunc(t.rows, func(a, b rowKey) int {
		if a.threads != b.threads {
			return a.threads - b.threads
		}
		return strings.Compare(a.env, b.env)
	})
	return t
}

// table is the text of a table.
func (c *Compare) table(results []*Measurement) string {
	t := tableOf(results)
	lines := make([][]string, 1, len(t.rows)+1)
	lines[0] = append([]string{""}, t.columns...)
	names := t.names()
	for i, key := range t.rows {
		lines = append(lines, []string{names[i]})
		_ = key
	}
	for j := range t.columns {
		for i, text := range c.column(t, j) {
			lines[i+1] = append(lines[i+1], text)
		}
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for j, text := range line {
			widths[j] = max(widths[j], len(text))
		}
	}
	head := make([]string, len(widths))
	for j, text := range lines[0] {
		head[j] = centred(text, widths[j], " ")
	}
	first := strings.Join(head, "  |  ")
	var b strings.Builder
	fmt.Fprintf(&b, "[%s]\n%s\n", centred(" "+results[0].Task.Label+" ", len(first)-2, "-"), first)
	for i, key := range t.rows {
		if i == 0 || key.threads != t.rows[i-1].threads {
			threads := fmt.Sprintf("%d threads: ", key.threads)
			b.WriteString(threads + strings.Repeat("-", max(len(first)-len(threads), 0)) + "\n")
		}
		parts := []string{fmt.Sprintf("%-*s", widths[0], lines[i+1][0])}
		for j, m := range t.cells[key] {
			text := centred(lines[i+1][j+1], widths[j+1], " ")
			if c.coloured && m != nil {
				text = coloured(text, m.Median(), c.best(t, i, j))
			}
			parts = append(parts, text)
		}
		b.WriteString(strings.Join(parts, "  |  ") + "\n")
	}
	fmt.Fprintf(&b, "\nTimes are in %s (%s).\n", t.unit.long, t.unit.short)
	if c.warn && slices.ContainsFunc(results, (*Measurement).HasWarnings) {
		b.WriteString("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n")
	}
	return b.String()
}

// names are what the rows begin with: the environment where there are several, and the name.
func (t *table) names() []string {
	longest := 0
	several := false
	for _, key := range t.rows {
		several = several || key.env != t.rows[0].env
		longest = max(longest, len(key.env))
	}
	if !several {
		longest = 0
	}
	out := make([]string, len(t.rows))
	for i, key := range t.rows {
		env := ""
		if several && (i == 0 || key.env != t.rows[i-1].env || key.threads != t.rows[i-1].threads) {
			env = "(" + key.env + ")"
		}
		out[i] = fmt.Sprintf("  %-*s%s", longest+4, env, key.name)
	}
	return out
}

// column is the times of a column as text, all with one number of decimals.
func (c *Compare) column(t *table, j int) []string {
	digits, decimals, marked := math.MinInt, math.MaxInt, false
	for _, key := range t.rows {
		m := t.cells[key][j]
		if m == nil {
			continue
		}
		d := leadingDigits(m.Median() / t.unit.scale)
		digits = max(digits, d)
		decimals = min(decimals, max(m.SignificantFigures()-d, 0))
		marked = marked || c.warn && m.HasWarnings()
	}
	if !c.trim {
		decimals = 1
	}
	width, mark := digits+decimals, 0
	if decimals > 0 {
		width++
	}
	if marked {
		mark = 7
	}
	out := make([]string, len(t.rows))
	for i, key := range t.rows {
		m := t.cells[key][j]
		if m == nil {
			out[i] = strings.Repeat(" ", len(fmt.Sprintf("%*.*f%*s", width, decimals, 1.0, mark, "")))
			continue
		}
		x, spread := m.Median()/t.unit.scale, ""
		if c.trim {
			x = trimmed(x, m.SignificantFigures())
		}
		if marked && m.HasWarnings() {
			spread = fmt.Sprintf(" (! %.0f%%)", m.IQR()/m.Median()*100)
		}
		out[i] = fmt.Sprintf("%*.*f%*s", width, decimals, x, mark, spread)
	}
	return out
}

func leadingDigits(x float64) int { return int(math.Ceil(math.Log10(x))) }

// trimmed is x with n significant figures.
func trimmed(x float64, n int) float64 {
	scale := math.Pow(10, float64(leadingDigits(math.Abs(x))-n))
	return math.RoundToEven(x/scale) * scale
}

// best is the least time that a cell is compared with: of its row, or of the part of its column
// that has as many threads.
func (c *Compare) best(t *table, row, column int) float64 {
	best := math.Inf(1)
	for i, key := range t.rows {
		for j, m := range t.cells[key] {
			same := i == row
			if !c.byRows {
				same = j == column && key.threads == t.rows[row].threads
			}
			if m != nil && same {
				best = min(best, m.Median())
			}
		}
	}
	return best
}

// The colours of a terminal.
const (
	bold    = "\x1b[1m"
	plain   = "\x1b[0m\x1b[0m"
	green   = "\x1b[92m"
	blue    = "\x1b[34m"
	faint   = "\x1b[2m\x1b[91m"
	darkRed = "\x1b[31m"
)

// coloured colours a time: the best and what no clock tells from it, what is within a tenth,
// and what takes twice and five times as long.
func coloured(text string, x, best float64) string {
	switch {
	case x <= best*1.01 || x <= best+100e-9:
		return green + bold + text + plain
	case x <= best*1.1:
		return blue + bold + text + plain
	case x >= best*5:
		return darkRed + bold + text + plain
	case x >= best*2:
		return faint + text + plain
	}
	return text
}

// centred puts text into the middle of a width; of an odd rest the larger part stands where
// Python's str.center puts it.
func centred(text string, width int, fill string) string {
	rest := width - len(text)
	if rest <= 0 {
		return text
	}
	left := rest/2 + rest&width&1
	return strings.Repeat(fill, left) + text + strings.Repeat(fill, rest-left)
}
