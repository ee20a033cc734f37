package tui

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tcdbg/explain/fold"
	"tcdbg/internal/test/traces"
)

// The questions of a stranger are answered by at most four keys each, as the table of docs/walk.md says.
func TestWalkQuestions(t *testing.T) {
	doc, err := os.ReadFile("../docs/walk.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(string(doc), "## Questions, and the keys")
	rows := regexp.MustCompile("(?m)^\\| (.*) \\| `(.*)` \\| (`.*`) \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1)
	if !ok || len(rows) == 0 {
		t.Fatal("no table of questions")
	}
	key := regexp.MustCompile("`([^`]*)`")
	for _, row := range rows {
		r, err := fold.All(traces.Open(t, filepath.Join("..", row[2])), filepath.Base(row[2]))
		if err != nil {
			t.Fatal(err)
		}
		d := newDriver(t, &fakeFeed{report: r, run: Run{Title: r.Title}}, Options{}, 160, 50)
		keys := key.FindAllStringSubmatch(row[3], -1)
		if len(keys) > 4 {
			t.Errorf("%s: %d keys", row[1], len(keys))
		}
		for _, k := range keys {
			d.script("keys " + k[1])
			d.frame() // a person sees the rows before the next key
		}
		if !strings.Contains(d.plain(), row[4]) {
			t.Errorf("%s: no %q in\n%s", row[1], row[4], d.plain())
		}
	}
}
