package tui

import (
	"regexp"
	"strings"
	"testing"
)

// TestQuestions presses the keys that docs/walk.md answers questions with: at most four each.
func TestQuestions(t *testing.T) {
	_, table, ok := strings.Cut(readFile(t, "../docs/walk.md"), "| question | trace | keys | on the screen |\n|---|---|---|---|\n")
	if !ok {
		t.Fatal("no table of questions")
	}
	quoted := regexp.MustCompile("`([^`]*)`")
	asked := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), "|")
		if len(cells) != 6 {
			break
		}
		asked++
		var words [6][]string
		for i, c := range cells {
			for _, q := range quoted.FindAllStringSubmatch(c, -1) {
				words[i] = append(words[i], strings.ReplaceAll(q[1], "\x00", "|"))
			}
		}
		d := newDriver(t, traceFeed(t, "../"+words[2][0]), Options{}, 120, 40)
		if len(words[3]) > 4 {
			t.Errorf("%s: %d keys", cells[1], len(words[3]))
		}
		for _, k := range words[3] {
			d.send(keyMsg(k))
		}
		// The detail wraps words: what is looked for may go on in the next line of its column.
		if text := strings.Join(strings.Fields(d.detailText()), " "); !strings.Contains(text, words[4][0]) {
			t.Errorf("%s: %v shows no %q:\n%s", strings.TrimSpace(cells[1]), words[3], words[4][0], d.plain())
		}
	}
	if asked < 3 {
		t.Errorf("%d questions are asked", asked)
	}
}

// detailText is the frame, and after it the parts right of the rule between list and detail.
func (d *driver) detailText() string {
	var left, right strings.Builder
	for line := range strings.Lines(d.plain()) {
		left.WriteString(line)
		if _, detail, ok := strings.Cut(line, "│"); ok {
			right.WriteString(detail)
		}
	}
	return left.String() + right.String()
}
