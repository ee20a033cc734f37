package remedy

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file writes a ledger as text: a table of trials, why each is proven or not, and what
// was not tried.

// Columns are the headings of the figures of a trial.
var Columns = []string{"breaks", "recompiles", "graphs", "compile", "ms a call", "memory", "results", "exit"}

// unmeasured is put where there is no figure.
const unmeasured = "?"

// Cells are the figures of a trial under Columns; what was not measured is "?".
func (t *Trial) Cells() []string {
	m := t.Measured
	if m == nil {
		m = &Measured{}
	}
	return []string{
		number(m.Breaks), number(m.Recompiles), number(m.Graphs), seconds(m.CompileSeconds), m.callText(), memoryText(m),
		t.resultsCell(), number(m.Exit),
	}
}

func (t *Trial) resultsCell() string {
	switch {
	case len(t.Remedies) == 0:
		return "-" // the baseline
	case t.Compared == nil:
		return unmeasured
	case t.Compared.Equal && t.Compared.Fewer > 0:
		return "less log"
	case t.Compared.Equal:
		return "equal"
	case t.Compared.Grown:
		return unmeasured
	}
	return "DIFFER"
}

func number(n *int) string {
	if n == nil {
		return unmeasured
	}
	return strconv.Itoa(*n)
}

func seconds(s *float64) string {
	switch {
	case s == nil:
		return unmeasured
	case *s < 1:
		return fmt.Sprintf("%.0f ms", *s*1e3)
	}
	return fmt.Sprintf("%.1f s", *s)
}

// maxSpread is how far the quartiles of a call's time may lie apart, as a share of the median, for it to be
// shown as a figure and not as about one.
const maxSpread = 0.2

// callText is the time of a call with two significant digits: more is not known of it on any machine.
func (m *Measured) callText() string {
	if m.CallMS == nil {
		return unmeasured
	}
	ms := *m.CallMS
	text := fmt.Sprintf("%#.2g", ms)
	if ms >= 10 || strings.Contains(text, "e") {
		text = strconv.FormatFloat(ms, 'f', 0, 64)
	}
	if m.Steady < minSteady || m.LowMS != nil && m.HighMS != nil && *m.HighMS-*m.LowMS > maxSpread*ms {
		return "~" + text
	}
	return text
}

func memoryText(m *Measured) string {
	switch {
	case m.PeakRSS == nil:
		return unmeasured
	case m.PeakCUDA != nil:
		return fmt.Sprintf("%d+%d MB", *m.PeakRSS>>20, *m.PeakCUDA>>20)
	}
	return fmt.Sprintf("%d MB", *m.PeakRSS>>20)
}

// Mark says in one sign how a trial ended.
func (t *Trial) Mark() string {
	switch {
	case len(t.Remedies) == 0:
		return " "
	case t.Verdict.Proven:
		return "✓"
	}
	return "✗"
}

// WriteText writes a ledger.
func (l *Ledger) WriteText(w io.Writer) error {
	var b strings.Builder
	l.writeList(&b)
	if l.Baseline != nil {
		l.writeTrials(&b)
	}
	l.writeNotes(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (l *Ledger) writeList(b *strings.Builder) {
	if len(l.Remedies) == 0 {
		b.WriteString("Nothing can be tried.\n")
	} else {
		b.WriteString("WHAT CAN BE TRIED\n")
	}
	for _, r := range l.Remedies {
		fmt.Fprintf(b, "  %s\n      %s (%s)\n", r.ID, r.Text, r.How)
		for _, f := range r.Findings {
			if f.What != "" {
				fmt.Fprintf(b, "      for %s\n", f.words())
			}
		}
	}
	if len(l.Untried) > 0 {
		b.WriteString("\nWITHOUT A TRIAL\n")
	}
	for _, u := range l.Untried {
		fmt.Fprintf(b, "  %s\n      %s\n", u.words(), u.Why)
	}
}

func (f Finding) words() string {
	if f.Place == "" || f.Place == "?" {
		return f.What
	}
	return f.What + " at " + f.Place
}

// writeTrials writes the table: the baseline, what is proven by its gain, then the others.
func (l *Ledger) writeTrials(b *strings.Builder) {
	list := append([]*Trial{l.Baseline}, l.Ranked()...)
	rows := [][]string{append([]string{"  trial"}, Columns...)}
	for _, t := range list {
		rows = append(rows, append([]string{t.Mark() + " " + t.ID()}, t.Cells()...))
	}
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	b.WriteString("\nLEDGER\n")
	for i, r := range rows {
		for j, c := range r {
			pad := strings.Repeat(" ", width[j]-utf8.RuneCountInString(c))
			if j == 0 {
				b.WriteString("  " + c + pad)
			} else {
				b.WriteString("  " + pad + c)
			}
		}
		b.WriteString("\n")
		if i > 1 {
			t, word := list[i-1], "not proven: "
			if t.Verdict.Proven {
				word = "proven: "
			}
			b.WriteString("        " + word + t.Verdict.Why + "\n")
			if t.Reason != "" && t.Reason != t.Verdict.Why {
				b.WriteString("        " + t.Reason + "\n")
			}
		}
	}
	if l.Together != nil && len(l.Together.Remedies) > 1 {
		b.WriteString("  together: " + l.Together.ID() + "\n")
	}
}

// writeNotes says what the figures are and are not.
func (l *Ledger) writeNotes(b *strings.Builder) {
	if l.Baseline == nil {
		return
	}
	b.WriteString("\n")
	m := l.Baseline.Measured
	if m != nil && m.CallMS != nil {
		fmt.Fprintf(b, "A call: median of the outermost compiled calls after the last compile (%d of %d in the baseline);\n"+
			"~: of fewer than %d, or half of them lie more than %.0f %% apart.\n", m.Steady, *m.Calls, minSteady, 100*maxSpread)
	} else if m != nil {
		fmt.Fprintf(b, "Time of a call: not measured, %s.\n", m.Missing["call_ms"])
	}
	if m != nil && m.Cut {
		fmt.Fprintf(b, "Each trial was ended after %d calls, with 0 and without what would run at the program's exit.\n", l.Steps)
	}
	b.WriteString(l.aboutCompiles() + " Seeds: " + l.Seeds + ".\n")
	if c := l.comparedCalls(); c != "" {
		b.WriteString(c + "\n")
	}
	if l.Unstable != "" {
		b.WriteString("The program's results differ from run to run without any change: " + l.Unstable + ".\n")
	}
	if l.Stopped != "" {
		b.WriteString("The trials were " + l.Stopped + ".\n")
	}
}

// aboutCompiles says what the time of compiles is.
func (l *Ledger) aboutCompiles() string {
	if l.Go {
		return "Every trial compiles with an empty cache."
	}
	return "Every trial compiles its graphs; C++ and Triton code that an earlier trial has built is not built again, so less " +
		"compile time in a later one is no gain."
}

// comparedCalls says what the results of trials were compared in.
func (l *Ledger) comparedCalls() string {
	for _, t := range l.Trials {
		if c := t.Compared; c != nil && c.Equal {
			s := "Results: " + c.What() + "."
			if len(c.Limits) > 0 {
				s += " Not compared: " + strings.Join(c.Limits, "; ") + "."
			}
			return s
		}
	}
	return ""
}
