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
// What is repeated to see whether a finding comes again follows the line "# again", or is a
// loop over ROUNDS.

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

// applied is a program with some fixes applied; without any it is the program itself.
func applied(text string, fixes ...string) string {
	chosen := func(words []string, sign string) bool {
		return slices.ContainsFunc(fixes, func(fix string) bool { return slices.Contains(words, sign+fix) })
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		all := strings.TrimLeft(marks.FindString(line), " ")
		words := strings.Fields(all)
		if chosen(words, "#-") || strings.Contains(all, "#+") && !chosen(words, "#+") {
			continue
		}
		b.WriteString(marks.ReplaceAllString(line, "") + "\n")
	}
	return b.String()
}

// again is the line of a program from which on it is repeated, where it has no loop of its
// own over ROUNDS.
const again = "\n# again\n"

func hasRounds(text string) bool {
	return strings.Contains(text, "ROUNDS") || strings.Contains(text, again)
}

// repeated is a program whose calls come several times.
func repeated(text string, times int) string {
	head, tail, ok := strings.Cut(text, again)
	if !ok {
		return text
	}
	return head + again + strings.Repeat(tail, times)
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
	before, err := r.program(file, applied(text), 1)
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
	var more *run
	claims := map[string]string{}
	for _, m := range claim.FindAllStringSubmatch(text, -1) {
		claims[m[2]] = m[1]
	}
	tried := map[string]outcome{}
	for _, f := range c.findings {
		key := f.row
		if key == "" {
			_, key, _ = strings.Cut(f.kind, " ")
		}
		fix, claimed := claims[key]
		switch {
		case f.text == "":
			c.add(none, "")
		case settled(f.row) && !hasRounds(text):
			c.add(useless, "the program does not say what to repeat")
		case settled(f.row):
			if more == nil {
				if more, err = r.program(file, repeated(applied(text), 3), 3); err != nil {
					return err
				}
			}
			if n := ofRow(findings(more.report), f.row); n > ofRow(all, f.row) || more.code != before.code {
				c.add(wrong, fmt.Sprintf("three rounds bring %d", n))
			} else {
				c.add(correct, "")
			}
		case !claimed:
			c.add(useless, "no way to apply it is given")
		default:
			if _, done := tried[fix+" "+key]; !done {
				t := &fixing{r: r, file: file, text: text, key: key, claims: claims, all: all, before: before}
				if tried[fix+" "+key], err = t.try(fix); err != nil {
					return err
				}
			}
			c.addTried(tried[fix+" "+key])
		}
	}
	return nil
}

// outcome is how an advice fared that was applied.
type outcome struct {
	failed error
	shows  string // what lay under the finding, and went by its own advice
}

// fixing is one fix of one program.
type fixing struct {
	r               *runner
	file, text, key string
	claims          map[string]string
	all             []finding
	before          *run
}

// try applies a fix. Where a function ran eagerly from a break on, what follows the break is
// compiled once that is gone, and has breaks and recompiles of its own: such a finding is
// no fault of the fix where its own advice, applied with it, removes it as well.
func (t *fixing) try(fix string) (outcome, error) {
	after, err := t.r.program(t.file, applied(t.text, fix), 1)
	if err != nil {
		return outcome{}, err
	}
	first := compareFix(t.key, t.all, t.before, after)
	fixes, shown, failed := []string{fix}, []string{}, first
	for failed != nil && strings.HasPrefix(failed.Error(), "brings ") && len(fixes) < 4 {
		more := len(fixes)
		for _, f := range findings(after.report) {
			own, claimed := t.claims[f.row]
			if f.row != "" && claimed && !slices.Contains(fixes, own) && ofRow(t.all, f.row) < ofRow(findings(after.report), f.row) {
				fixes, shown = append(fixes, own), append(shown, f.row)
			}
		}
		if len(fixes) == more && !t.settledAlone(after) {
			return outcome{failed: first}, nil
		}
		if len(fixes) == more {
			failed = nil
			break
		}
		if after, err = t.r.program(t.file, applied(t.text, fixes...), 1); err != nil {
			return outcome{}, err
		}
		failed = compareFix(t.key, t.all, t.before, after)
	}
	switch {
	case failed != nil:
		return outcome{failed: first}, nil
	case first != nil && len(shown) > 0:
		return outcome{shows: "shows " + strings.Join(shown, ", ") + ", which goes by its own advice"}, nil
	case first != nil:
		return outcome{shows: "shows what needs no change"}, nil
	}
	return outcome{}, nil
}

// settledAlone reports whether all that a fix brings are findings with which there is
// nothing to do.
func (t *fixing) settledAlone(after *run) bool {
	var rest []finding
	for _, f := range findings(after.report) {
		if !settled(f.row) {
			rest = append(rest, f)
		}
	}
	return len(grown(t.all, rest)) == 0
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

func (c *card) addTried(o outcome) {
	switch {
	case o.failed == nil:
		c.add(correct, o.shows)
	case strings.Contains(o.failed.Error(), "still there"):
		c.add(useless, o.failed.Error())
	default:
		c.add(wrong, o.failed.Error())
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
			fmt.Fprintf(
				&b, "%-20s %-8s %s [%s] %s %q\n    %s\n    %s\n", c.name, c.verdicts[i], f.kind, f.row, f.place, f.line,
				f.text, c.why[i],
			)
		}
	}
	if all && len(c.findings) == 0 {
		fmt.Fprintf(&b, "%-20s nothing found\n", c.name)
	}
	return b.String()
}
