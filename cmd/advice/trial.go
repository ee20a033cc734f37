package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"tcdbg/explain"
	"tcdbg/explain/advice"
)

// This file tries one row: its example before and after.

const (
	exampleDir = "explain/testdata/advice"
	outcomeTSV = "explain/advice/proven.tsv"
)

// finding is one thing that a report advises on.
type finding struct {
	kind  string // "break GB0170", "recompile size", "failure TorchRuntimeError"
	row   string
	text  string
	place string
	line  string
}

// findings lists what a report found, breaks within torch only where it advises on them.
func findings(r *explain.Report) []finding {
	var out []finding
	for _, g := range r.Breaks {
		if b := g.Lead; !b.Noise {
			out = append(out, finding{"break " + b.Code, g.Fix.Row, g.Fix.Text, place(b.Pos.File, b.Pos.Line), b.Pos.Code})
		}
	}
	for _, rc := range r.Recompiles {
		kind, at, line := "recompile", rc.Compile.Frame.Pos, ""
		if len(rc.Failures) > 0 {
			kind += " " + rc.Failures[0].Kind
			if g := &rc.Failures[0]; g.Pos.File != "" {
				at, line = g.Pos, g.Pos.Code
			}
		}
		out = append(out, finding{kind, rc.Fix.Row, rc.Fix.Text, place(at.File, at.Line), line})
	}
	for _, f := range r.Failures {
		if !f.Eager {
			out = append(out, finding{"failure " + f.Type, f.Fix.Row, f.Fix.Text, place(f.Pos.File, f.Pos.Line), f.Pos.Code})
		}
	}
	for _, a := range r.Advice {
		if a.Break != nil && a.Break.Lead.Noise {
			out = append(out, finding{"within " + a.Break.Lead.Code, a.Fix.Row, a.Fix.Text, place(a.Pos.File, a.Pos.Line), a.Pos.Code})
		}
	}
	return out
}

func place(file string, line int) string { return fmt.Sprintf("%s:%d", filepath.Base(file), line) }

// said lists findings with their advice as the example keeps them.
func said(list []finding) string {
	var b strings.Builder
	for _, f := range list {
		fmt.Fprintf(&b, "%s at %s [%s] %s\n", f.kind, f.place, f.row, f.text)
	}
	return b.String()
}

// kinds counts findings by kind.
func kinds(list []finding) map[string]int {
	out := map[string]int{}
	for _, f := range list {
		kind := f.kind
		if strings.HasPrefix(kind, "recompile") {
			kind = "recompile"
		}
		out[kind]++
	}
	return out
}

// ofRow counts the findings that a row advises on.
func ofRow(list []finding, id string) int {
	n := 0
	for _, f := range list {
		if f.row == id {
			n++
		}
	}
	return n
}

// grown lists the kinds of which there are more than before. A recompile is told by the
// first guard that failed: where that one is mended, the next may show, so that recompiles
// are counted together.
func grown(before, after []finding) []string {
	old, now := kinds(before), kinds(after)
	var out []string
	for k, n := range now {
		if n > old[k] {
			out = append(out, k)
		}
	}
	sort.Strings(out)
	return out
}

// trial is the outcome of one row.
type trial struct {
	row    advice.Row
	result string
	text   string // the advice as the example gets it
	before []finding
}

func (t *trial) outcome(version string) advice.Outcome {
	return advice.Outcome{ID: t.row.ID, Result: t.result, PyTorch: version}
}

func (t *trial) detail() string {
	var b strings.Builder
	for _, f := range t.before {
		fmt.Fprintf(&b, "    %s [%s] %s %q\n        %s\n", f.kind, f.row, f.place, f.line, f.text)
	}
	return b.String()
}

// tryRow tries a row on its example, and keeps the example's trace.
func tryRow(r *runner, row advice.Row) *trial {
	t := &trial{row: row}
	dir := filepath.Join(exampleDir, row.ID)
	if err := t.try(r, dir); err != nil {
		t.result = err.Error()
	} else {
		t.result = advice.Passed
	}
	return t
}

func (t *trial) try(r *runner, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "before.py"))
	if err != nil {
		return fmt.Errorf("no example")
	}
	before, err := r.program("before.py", string(text), 1)
	if err != nil {
		return err
	}
	t.before = findings(before.report)
	if before.code != 0 && t.row.Kind != advice.Failure {
		return fmt.Errorf("the example ends with %d: %s", before.code, lastLine(before.stderr))
	}
	i := slices.IndexFunc(t.before, func(f finding) bool { return f.row == t.row.ID })
	if i < 0 {
		return fmt.Errorf("the row does not fire on its example")
	}
	t.text = t.before[i].text
	if err := keep(filepath.Join(dir, "trace.log.zst"), before.trace); err != nil {
		return err
	}
	if err := keepText(filepath.Join(dir, "uncaught.txt"), before.uncaught); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "advice.txt"), []byte(said(t.before)), 0o600); err != nil {
		return err
	}
	if t.row.Effect == advice.Accept {
		return t.again(r, string(text))
	}
	fixes, _ := filepath.Glob(filepath.Join(dir, "fixed*.py"))
	if len(fixes) == 0 {
		return fmt.Errorf("no example with the advice applied")
	}
	for _, path := range fixes {
		fixed, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after, err := r.program("before.py", string(fixed), 1)
		if err != nil {
			return err
		}
		if after.code != 0 {
			return fmt.Errorf("%s ends with %d: %s", filepath.Base(path), after.code, lastLine(after.stderr))
		}
		if err := compare(t.row.ID, t.before, before, after); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

// keepText writes a text, and no file for none.
func keepText(path, text string) error {
	if text != "" {
		return os.WriteFile(path, []byte(text), 0o600)
	}
	if err := os.Remove(path); !os.IsNotExist(err) {
		return err
	}
	return nil
}

// again tries that a finding with which there is nothing to do does not come again when
// the same calls do.
func (t *trial) again(r *runner, text string) error {
	if !strings.Contains(text, "ROUNDS") {
		return fmt.Errorf("the example has no rounds")
	}
	after, err := r.program("before.py", text, 3)
	if err != nil {
		return err
	}
	if after.code != 0 {
		return fmt.Errorf("three rounds end with %d: %s", after.code, lastLine(after.stderr))
	}
	if more := grown(t.before, findings(after.report)); len(more) > 0 {
		return fmt.Errorf("three rounds bring more: %s", strings.Join(more, ", "))
	}
	return nil
}

// compare checks that an advice that was applied removed its finding and did no harm.
func compare(row string, list []finding, before, after *run) error {
	now := findings(after.report)
	switch more := grown(list, now); {
	case after.code != 0 && before.code == 0: // one that died before may have another cause to
		return fmt.Errorf("ends with %d: %s", after.code, lastLine(after.stderr))
	case before.code == 0 && !sameOutput(before.stdout, after.stdout):
		return fmt.Errorf("prints %q, and before %q", after.stdout, before.stdout)
	case len(more) > 0:
		return fmt.Errorf("brings %s", strings.Join(more, ", "))
	case ofRow(now, row) > 0:
		return fmt.Errorf("the finding is still there")
	}
	return nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}

// readOutcomes reads the outcomes of the last trials of all rows that there still are.
func readOutcomes() map[string]advice.Outcome {
	out := map[string]advice.Outcome{}
	for _, row := range advice.Rows() {
		if o, ok := advice.Proven(row.ID); ok {
			out[row.ID] = o
		}
	}
	return out
}

// writeOutcomes writes the list of what may be shown.
func writeOutcomes(outcomes map[string]advice.Outcome) error {
	var b strings.Builder
	for _, row := range advice.Rows() {
		if o, ok := outcomes[row.ID]; ok {
			fmt.Fprintf(&b, "%s\t%s\t%s\n", o.ID, strings.Join(strings.Fields(o.Result), " "), o.PyTorch)
		}
	}
	return os.WriteFile(outcomeTSV, []byte(b.String()), 0o600)
}
