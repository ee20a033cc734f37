package golden

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// totals are those of a JSON report that its lists and its other forms repeat.
type totals struct {
	Frames         int `json:"frames"`
	Compiles       int `json:"compiles"`
	Graphs         int `json:"graphs"`
	Breaks         int `json:"breaks"`
	DistinctBreaks int `json:"distinct_breaks"`
	Recompiles     int `json:"recompiles"`
	Kernels        int `json:"kernels"`
	Failures       int `json:"failures"`
	Restarts       int `json:"restarts"`
	ops            int
}

// Numbers holds the three forms of one report, text, HTML and JSON, against docs/numbers.md:
// their heads and sections show the totals, and what the lists hold adds up to them. It
// returns what does not, in words.
func Numbers(text, page string, data []byte) (wrong []string) {
	text, page = noneLogged.Replace(text), noneLogged.Replace(page)
	n, listed, err := totalsOf(data)
	if err != nil {
		return []string{err.Error()}
	}
	if n != listed {
		wrong = append(wrong, fmt.Sprintf("JSON lists %+v, totals %+v", listed, n))
	}
	_, head, _ := strings.Cut(text, "\n")
	head, _, _ = strings.Cut(head, "\n")
	page = html.UnescapeString(page)
	for _, c := range []struct {
		where, text, pattern string
		want                 int
		optional             bool // the section is left out where it is empty
	}{
		{"head", head, `(\d+) frame`, n.Frames, false},
		{"head", head, `(\d+) compiles?,`, n.Compiles, false},
		{"head", head, `(\d+) graph`, n.Graphs, false},
		{"head", head, `\((\d+) op`, n.ops, false},
		{"head", head, `(\d+) break`, n.Breaks, false},
		{"head", head, `at (\d+) place`, n.DistinctBreaks, false},
		{"head", head, `(\d+) recompile`, n.Recompiles, false},
		{"head", head, `(\d+) kernel`, n.Kernels, false},
		{"head", head, `(\d+) failure`, n.Failures, false},
		{"BREAKS", text, `\nBREAKS: (\d+) break`, n.Breaks, false},
		{"BREAKS", text, `\nBREAKS: \d+ breaks? at (\d+) place`, n.DistinctBreaks, false},
		{"RECOMPILES", text, `\nRECOMPILES: (\d+)`, n.Recompiles, true},
		{"FAILURES", text, `\nFAILURES: (\d+)`, n.Failures, true},
		{"HTML", page, `<b>(\d+)</b><span>breaks?</span>`, n.Breaks, false},
		{"HTML", page, `<b>(\d+)</b><span>failures?</span>`, n.Failures, false},
		{"HTML", page, `Breaks \((\d+) at`, n.Breaks, false},
		{"HTML", page, `Frames \((\d+)\)`, n.Frames, false},
		{"HTML", page, `Recompiles \((\d+)\)`, n.Recompiles, true},
	} {
		if got := numberIn(c.text, c.pattern); got != c.want && !(c.optional && got < 0 && c.want == 0) {
			wrong = append(wrong, fmt.Sprintf("%s has %d for %s, totals %d", c.where, got, c.pattern, c.want))
		}
	}
	return wrong
}

// totalsOf reads the totals of a JSON report, and those that its lists add up to.
func totalsOf(data []byte) (told, listed totals, err error) {
	var j struct {
		Totals totals
		Frames []struct {
			Compiles []struct {
				Status   string
				Restarts []string
			}
		}
		Breaks     []struct{ Count int }
		Recompiles []struct{ Limit bool }
		Failures   []struct{}
		Graphs     []struct{ Ops []string }
		Kernels    []struct{ Lang string }
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return told, listed, err
	}
	listed = totals{Frames: len(j.Frames), Graphs: len(j.Graphs), Failures: len(j.Failures)}
	for _, f := range j.Frames {
		for _, c := range f.Compiles {
			listed.Restarts += len(c.Restarts)
			if c.Status != "limit reached" {
				listed.Compiles++
			}
		}
	}
	for _, b := range j.Breaks {
		listed.Breaks += b.Count
		listed.DistinctBreaks += min(b.Count, 1)
	}
	for _, rc := range j.Recompiles {
		if !rc.Limit {
			listed.Recompiles++
		}
	}
	for _, g := range j.Graphs {
		listed.ops += len(g.Ops)
	}
	for _, k := range j.Kernels {
		if k.Lang != "extern" {
			listed.Kernels++
		}
	}
	told = j.Totals
	told.ops = listed.ops // the JSON report has no total of them: the text's is compared
	return told, listed, nil
}

// numberIn reads the number that a pattern's first group matches; -1: it matches nothing.
func numberIn(text, pattern string) int {
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		return -1
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return -1
	}
	return n
}

// noneLogged reads what a report says of a text log's counts of none, which must be 0.
var noneLogged = strings.NewReplacer(
	"no graphs logged", "0 graphs (0 ops)", "no breaks logged", "0 breaks at 0 places", "no recompiles logged", "0 recompiles",
	"no kernels logged", "0 kernels", "no failures logged", "0 failures", "<b>none logged:</b>", "<b>0</b>",
)
