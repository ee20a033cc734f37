package main

import (
	"fmt"
	"os"
	"strings"

	"tcdbg/explain/advice"
)

// This file writes docs/advice.md.

const docsFile = "docs/advice.md"

// settled reports whether a row says that there is nothing to change.
func settled(id string) bool {
	for _, r := range advice.Rows() {
		if r.ID == id {
			return r.Effect == advice.Accept
		}
	}
	return false
}

const docsIntro = `# Advice, and how each piece of it was tried

Written by ` + "`make advice`" + `. Each piece of advice that tcdbg gives on a PyTorch program is a row of one
table, in package explain/advice: a cause that can be read from the trace, what must be true
for the advice to hold, and a text that names the program's own expressions. Each row has an
example in explain/testdata/advice. The trial runs the example on a real PyTorch, looks for
the row's text, applies the advice to the letter and runs it again. A row that "removes it"
passes when the finding is gone, nothing new came, the output is the same and the program
ends with 0; one that says "nothing to change" when three rounds of the same calls bring no
more of it than one. A row that did not pass is never shown; where no row fits, PyTorch's own
recorded hint is shown as such, untried, if it says what to do, and otherwise nothing. How a row is
tried on a program of one's own (` + "`tcdbg try`" + `) is the table of docs/trials.md.

`

// writeDocs writes both tables.
func writeDocs(outcomes map[string]advice.Outcome, cards []*card, version string) error {
	var b strings.Builder
	b.WriteString(docsIntro)
	fmt.Fprintf(&b, "## Rows\n\nTried on PyTorch %s.\n\n| row | cause | effect | trial |\n|---|---|---|---|\n", version)
	for _, r := range advice.Rows() {
		if !r.Go {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, cell(r.Pattern), r.Effect, cell(outcomes[r.ID].Result))
		}
	}
	count := map[string]int{}
	total := 0
	for _, c := range cards {
		for _, v := range c.verdicts {
			count[v]++
			total++
		}
	}
	fmt.Fprintf(
		&b,
		"\n## Scorecard\n\n%d programs in explain/testdata/scorecard, %d findings, each with its advice applied: %d correct (%.1f "+
			"%%), %d useless, %d without advice, %d wrong.\n\n",
		len(cards), total, count[correct], 100*float64(count[correct])/float64(max(total, 1)), count[useless],
		count[none], count[wrong],
	)
	b.WriteString("| program | finding | row | advice | verdict |\n|---|---|---|---|---|\n")
	for _, c := range cards {
		for i, f := range c.findings {
			verdict := c.verdicts[i]
			if c.why[i] != "" {
				verdict += ": " + c.why[i]
			}
			fmt.Fprintf(&b, "| %s | %s at %s | %s | %s | %s |\n", c.name, f.kind, f.place, f.row, cell(f.text), cell(verdict))
		}
		if len(c.findings) == 0 {
			fmt.Fprintf(&b, "| %s | nothing found | | | |\n", c.name)
		}
	}
	rest, _ := os.ReadFile("cmd/advice/remains.md") // what people wrote on what is left
	b.WriteString("\n" + string(rest))
	return os.WriteFile(docsFile, []byte(b.String()), 0o600)
}

// cell is a text as a cell of a table holds it.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
