// Package bench is how long the compiled functions of a program take under each way to run them: eagerly,
// and compiled by each backend and mode. A program runs once for each; what its calls took is summed up here, and
// written as a table with bars, and as JSON.
//
// It imports explain for how times are spelt. Open this file first.
package bench

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tcdbg/explain"
)

// Call is one outermost call of a compiled function.
type Call struct {
	Function string
	Nanos    int64
	Compiled bool // something was compiled in it
	Failed   bool
}

// Run is a program that ran one way.
type Run struct {
	Way   string // eager, inductor, reduce-overhead ...
	Calls []Call // in their order
	RSS   int64  // bytes, the most that the process held; 0: not measured
	Why   string // why it says nothing; "" where it ended well
}

// Row is one function under one way. Times are nanoseconds; nil is not measured.
type Row struct {
	Function string `json:"function"`
	Way      string `json:"way"`
	Calls    int    `json:"calls"`
	Steady   int    `json:"steady_calls"` // that compiled nothing
	First    *int64 `json:"first_ns"`
	// WarmUp is all calls that compiled something, nil where none did.
	WarmUp *int64 `json:"warm_up_ns"`
	Least  *int64 `json:"least_ns"` // of the steady calls, as Median and P95
	Median *int64 `json:"median_ns"`
	P95    *int64 `json:"p95_ns"`
	// Speedup is the median of the first way divided by this one's.
	Speedup *float64 `json:"speedup"`
	RSS     *int64   `json:"peak_rss_bytes"` // of the process
	Why     string   `json:"why,omitempty"`  // why there are no times
}

// Table is what a program took.
type Table struct {
	Program string `json:"program"`
	Version int    `json:"version"`
	Rows    []Row  `json:"rows"` // by function as the first way called them, then by way
}

// noFunction heads the rows of runs of which nothing is known but why.
const noFunction = "(no call of a compiled function ended)"

// version is that of the JSON.
const version = 1

// Of sums up the runs of a program; the first one is what others are held against.
func Of(program string, runs []Run) *Table {
	t := &Table{Program: program, Version: version, Rows: []Row{}}
	names := functions(runs)
	if len(names) == 0 && slices.ContainsFunc(runs, func(r Run) bool { return r.Why != "" }) {
		names = []string{noFunction} // why is what there is to say
	}
	for _, name := range names {
		var base *int64
		for i := range runs {
			row := runs[i].row(name)
			if i == 0 {
				base = row.Median
			}
			if base != nil && row.Median != nil && *row.Median > 0 {
				s := float64(*base) / float64(*row.Median)
				row.Speedup = &s
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// functions are the names of all that were called, in the order in which they were first.
func functions(runs []Run) []string {
	var names []string
	seen := map[string]bool{}
	for _, r := range runs {
		for _, c := range r.Calls {
			if !seen[c.Function] {
				seen[c.Function] = true
				names = append(names, c.Function)
			}
		}
	}
	return names
}

func (r *Run) row(name string) Row {
	row := Row{Function: name, Way: r.Way, Why: r.Why}
	if r.RSS > 0 {
		row.RSS = &r.RSS
	}
	var steady []int64
	warm := int64(0)
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Function != name {
			continue
		}
		if row.Calls++; row.Calls == 1 {
			row.First = &c.Nanos
		}
		switch {
		case c.Compiled:
			warm += c.Nanos
			row.WarmUp = &warm
		case !c.Failed:
			steady = append(steady, c.Nanos)
		}
	}
	switch {
	case row.Why != "":
		row.First, row.WarmUp = nil, nil
	case row.Calls == 0:
		row.Why = "it was not called"
	default:
		row.times(steady)
	}
	return row
}

func (r *Row) times(steady []int64) {
	r.Steady = len(steady)
	if len(steady) == 0 {
		r.Why = "each call compiled something, or failed"
		return
	}
	slices.SortFunc(steady, cmp.Compare[int64])
	at := func(share float64) *int64 { return &steady[min(int(share*float64(len(steady))), len(steady)-1)] }
	r.Least, r.Median, r.P95 = at(0), at(0.5), at(0.95)
}

// few is how many steady calls a median needs to be told without a mark.
const few = 5

// barWidth is how many cells the longest bar has.
const barWidth = 40

// WriteText writes the table, a function after the other, with a bar for each median. Its lines fit a terminal of 80 columns.
func (t *Table) WriteText(w io.Writer) error {
	if len(t.Rows) == 0 {
		_, err := fmt.Fprintln(w, "no compiled function was called")
		return err
	}
	marked := false
	for from := 0; from < len(t.Rows); {
		to := from
		for to < len(t.Rows) && t.Rows[to].Function == t.Rows[from].Function {
			to++
		}
		few, err := writeFunction(w, t.Rows[from:to])
		if err != nil {
			return err
		}
		marked, from = marked || few, to
	}
	text := "warm-up: all calls that compiled something; median and p95 are of the others\nspeed-up: against the first row's median"
	if marked {
		text += fmt.Sprintf("; ~: of fewer than %d calls", few)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

func writeFunction(w io.Writer, rows []Row) (marked bool, err error) {
	fmt.Fprintf(w, "%s\n", rows[0].Function)
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tfirst call\twarm-up\tmedian\tp95\tspeed-up\tmemory\t")
	slowest, width := int64(1), 0
	for i := range rows {
		width = max(width, len(rows[i].Way))
		if m := rows[i].Median; m != nil {
			slowest = max(slowest, *m)
		}
	}
	for i := range rows {
		r := &rows[i]
		mark := ""
		if r.Median != nil && r.Steady < few {
			mark, marked = "~", true
		}
		fmt.Fprintf(tw, "%-*s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", width, r.Way, nanos("", r.First), nanos("", r.WarmUp),
			nanos(mark, r.Median), nanos(mark, r.P95), speedup(r), memory(r.RSS))
	}
	if err := tw.Flush(); err != nil {
		return marked, err
	}
	_, err = fmt.Fprintln(w, chart(rows, width, slowest)+untimed(rows))
	return marked, err
}

// textWidth is how wide what the table says in words is: that of a narrow terminal.
const textWidth = 78

// untimed says why rows have no times, those of one reason together.
func untimed(rows []Row) string {
	var whys []string
	ways := map[string][]string{}
	for i := range rows {
		if r := &rows[i]; r.Median == nil {
			if ways[r.Why] == nil {
				whys = append(whys, r.Why)
			}
			ways[r.Why] = append(ways[r.Why], r.Way)
		}
	}
	var sb strings.Builder
	for _, why := range whys {
		line := " "
		for _, word := range strings.Fields(strings.Join(ways[why], ", ") + ": " + why) {
			if len([]rune(line))+1+len([]rune(word)) > textWidth && strings.TrimSpace(line) != "" {
				sb.WriteString(line + "\n")
				line = "   "
			}
			line += " " + word
		}
		sb.WriteString(line + "\n")
	}
	return sb.String()
}

func nanos(mark string, n *int64) string {
	if n == nil {
		return "-"
	}
	return mark + explain.Nanos(*n)
}

func speedup(r *Row) string {
	if r.Speedup == nil {
		return "-"
	}
	switch s := *r.Speedup; {
	case s >= 100:
		return fmt.Sprintf("%.0f", s)
	case s >= 0.1:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.2g", s)
	}
}

func memory(n *int64) string {
	if n == nil {
		return "-"
	}
	return explain.Bytes(*n)
}

// chart has a bar for each median, beside the slowest one's, where there are several.
func chart(rows []Row, width int, slowest int64) string {
	var sb strings.Builder
	bars := 0
	for i := range rows {
		if r := &rows[i]; r.Median != nil {
			bars++
			n := int(*r.Median * barWidth / slowest)
			fmt.Fprintf(&sb, "  %-*s  %s %s\n", width, r.Way, strings.Repeat("█", max(n, 1)), explain.Nanos(*r.Median))
		}
	}
	if bars < 2 {
		return ""
	}
	return sb.String()
}
