package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// This file counts the findings of programs as people write them, one by one.
//
// A program of the scorecard carries its own fixes: a line that ends in "#-2" is left out
// and one that ends in "#+2" comes in when fix 2 is applied, and a line "# fix 2: item"
// says which row's advice that is ("# fix 2: GB0142" where the advice is PyTorch's own hint).

const scorecardDir = "explain/testdata/scorecard"

// card is one program.
type card struct {
	name     string
	findings []finding
	verdicts []string
	why      []string
}

// The verdicts.
const (
	correct = "correct"
	useless = "useless"
	none    = "none"
	wrong   = "wrong"
)

var (
	marks = regexp.MustCompile(`(?:\s*#[-+]\d+)+$`)
	claim = regexp.MustCompile(`(?m)^# fix (\d+): (\S+)`)
)

// applied is a program with one fix applied; fix "" is the program itself.
func applied(text, fix string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		all := strings.TrimLeft(marks.FindString(line), " ")
		words := strings.Fields(all)
		if slices.Contains(words, "#-"+fix) || strings.Contains(all, "#+") && !slices.Contains(words, "#+"+fix) {
			continue
		}
		b.WriteString(marks.ReplaceAllString(line, "") + "\n")
	}
	return b.String()
}

// tryScorecard tries every program.
func tryScorecard(r *runner, pattern *regexp.Regexp) ([]*card, error) {
	files, err := filepath.Glob(filepath.Join(scorecardDir, "*.py"))
	if err != nil {
		return nil, err
	}
	sort.Strings(files)
	var out []*card
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".py")
		if !pattern.MatchString(name) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		c := &card{name: name}
		if err := c.try(r, string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, c)
	}
	return out, nil
}

func (c *card) try(r *runner, text string) error {
	file := c.name + ".py"
	before, err := r.program(file, applied(text, ""), 1)
	if err != nil {
		return err
	}
	all := findings(before.report)
	seen := map[string]bool{}
	for _, f := range all { // a cause that recompiles ten times is one finding
		if key := f.kind + f.row + f.place + f.text; !seen[key] {
			seen[key] = true
			c.findings = append(c.findings, f)
		}
	}
	var again *run
	claims := map[string]string{}
	for _, m := range claim.FindAllStringSubmatch(text, -1) {
		claims[m[2]] = m[1]
	}
	tried := map[string]error{}
	for _, f := range c.findings {
		key := f.row
		if key == "" {
			_, key, _ = strings.Cut(f.kind, " ")
		}
		fix, claimed := claims[key]
		switch {
		case f.text == "":
			c.add(none, "")
		case settled(f.row):
			if again == nil {
				if again, err = r.program(file, applied(text, ""), 3); err != nil {
					return err
				}
			}
			if n := ofRow(findings(again.report), f.row); n > ofRow(all, f.row) || again.code != before.code {
				c.add(wrong, fmt.Sprintf("three rounds bring %d", n))
			} else {
				c.add(correct, "")
			}
		case !claimed:
			c.add(useless, "no way to apply it is given")
		default:
			if _, done := tried[fix]; !done {
				after, err := r.program(file, applied(text, fix), 1)
				if err != nil {
					return err
				}
				tried[fix] = compareFix(key, all, before, after)
			}
			c.addTried(tried[fix])
		}
	}
	return nil
}

// compareFix is compare for a claim that may name a code instead of a row.
func compareFix(key string, all []finding, before, after *run) error {
	if err := compare(key, all, before, after); err != nil {
		return err
	}
	for _, f := range findings(after.report) {
		if f.row == "" && strings.HasSuffix(f.kind, " "+key) {
			return fmt.Errorf("the finding is still there")
		}
	}
	return nil
}

func (c *card) addTried(err error) {
	switch {
	case err == nil:
		c.add(correct, "")
	case strings.Contains(err.Error(), "still there"):
		c.add(useless, err.Error())
	default:
		c.add(wrong, err.Error())
	}
}

func (c *card) add(verdict, why string) {
	c.verdicts, c.why = append(c.verdicts, verdict), append(c.why, why)
}

// String lists the program's findings; those that are correct only where all are wanted.
func (c *card) String(all bool) string {
	var b strings.Builder
	for i, f := range c.findings {
		if all || c.verdicts[i] != correct {
			fmt.Fprintf(&b, "%-20s %-8s %s [%s] %s %q\n    %s\n    %s\n", c.name, c.verdicts[i], f.kind, f.row, f.place, f.line, f.text, c.why[i])
		}
	}
	if all && len(c.findings) == 0 {
		fmt.Fprintf(&b, "%-20s nothing found\n", c.name)
	}
	return b.String()
}
