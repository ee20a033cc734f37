// Command advice proves the table of advice (package explain/advice) on a real PyTorch:
// `make advice PYTHON=/path/to/python`.
//
// Of each row it runs the example program, looks for the row's text in what the trace is
// read as, then runs the program with the advice applied to the letter, and compares. Rows
// that pass are written to explain/advice/proven.tsv, and only those are ever shown; the
// trace of each example is kept beside it, so that go test needs no PyTorch. It then does
// the same with the scorecard, programs as people write them, where every finding is
// counted. The outcomes are docs/advice.md.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"regexp"

	"tcdbg/explain/advice"
)

func main() {
	python := flag.String("python", "python3", "the Python that has PyTorch")
	only := flag.String("run", "", "only the rows and programs that match this expression")
	verbose := flag.Bool("v", false, "say what was found, not only what failed")
	cache := flag.String("cache", "", "a folder of earlier runs: a program whose text, and whose PyTorch, has not changed is not run again")
	flag.Parse()
	if err := prove(*python, *only, *cache, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "advice:", err)
		os.Exit(1)
	}
}

// prove runs every trial and writes its outcome.
func prove(python, only, cache string, verbose bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "advice")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // a folder of ours below /tmp
	r, err := startRunner(python, work, cache)
	if err != nil {
		return err
	}
	defer r.stop()
	advice.ShowAll = true
	out := bufio.NewWriter(os.Stdout)
	defer func() { _ = out.Flush() }() // a closed terminal has nobody to tell

	outcomes := readOutcomes()
	failed := 0
	for _, row := range advice.Rows() {
		if row.Go || !pattern.MatchString(row.ID) {
			continue
		}
		t := tryRow(r, row)
		outcomes[row.ID] = t.outcome(r.version)
		if t.result != advice.Passed {
			failed++
		}
		if verbose || t.result != advice.Passed {
			fmt.Fprintf(out, "%-24s %s\n%s", row.ID, t.result, t.detail())
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
	cards, err := tryScorecard(r, pattern)
	if err != nil {
		return err
	}
	for _, c := range cards {
		fmt.Fprint(out, c.String(verbose))
	}
	if only != "" {
		return writeOutcomes(outcomes)
	}
	if err := writeOutcomes(outcomes); err != nil {
		return err
	}
	if err := writeDocs(outcomes, cards, r.version); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d rows did not pass and are not shown", failed)
	}
	return nil
}
