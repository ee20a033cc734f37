package gate

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"tcdbg/logs"
)

// sarifOf is what is written, with no field that is not of the types.
func sarifOf(t *testing.T, list []Violation) *sarifRun {
	t.Helper()
	var doc sarifLog
	text := wrote(t, "sarif", list)
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Version != "2.1.0" || len(doc.Runs) != 1 {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, list := range []string{`"results": [`, `"toolExecutionNotifications": [`} { // null is no list of SARIF
		if !strings.Contains(text, list) {
			t.Errorf("%s is missing:\n%s", list, text)
		}
	}
	return &doc.Runs[0]
}

// TestSARIF holds what SARIF's schema and GitHub's code scanning ask for: every result has a place in the project, as a
// relative address under the root, and a rule, and every rule its texts.
func TestSARIF(t *testing.T) {
	run := sarifOf(t, append(someViolations(3),
		Violation{Rule: "failure", Message: "odd", Pos: logs.Pos{File: "c:a b#?%41.py", Line: -1}}))
	rules := map[string]bool{}
	for _, r := range run.Tool.Driver.Rules {
		if rules[r.ID] = true; r.Text.Text == "" || r.Full.Text == "" || r.Help.Text == "" {
			t.Errorf("a rule without its texts: %+v", r)
		}
	}
	for _, r := range run.Results {
		if !rules[r.RuleID] || r.Message.Text == "" || r.Level != "error" || r.Fingerprints["tcdbg/v1"] == "" || len(r.Locations) != 1 {
			t.Fatalf("%+v", r)
		}
		at := r.Locations[0].Physical
		u, err := url.Parse(at.Artifact.URI)
		if err != nil || u.Scheme != "" || strings.HasPrefix(u.Path, "/") || at.Artifact.Base != "%SRCROOT%" || at.Region.Line < 1 ||
			u.Path != "src/m.py" && u.Path != "./c:a b#?%41.py" {
			t.Errorf("%v %+v", err, at)
		}
	}
	notes := run.Invocations[0].Notes
	if len(run.Results) != 4 || len(notes) != 4 || len(run.Invocations) != 1 || !run.Invocations[0].Successful {
		t.Fatalf("%d results, %+v", len(run.Results), run.Invocations)
	}
	for i, want := range []string{"too many", "a.py:3 in g: not <ours> & %"} {
		if n := notes[i]; n.Message.Text != want || n.Level != "error" || n.Rule == nil || !rules[n.Rule.ID] {
			t.Errorf("%+v, want %s", n, want)
		}
	}
	if run := sarifOf(t, nil); len(run.Results)+len(run.Invocations[0].Notes) != 0 {
		t.Errorf("nothing found: %+v", run)
	}
}

// TestSARIFIsBounded: as many results as code scanning shows, the costliest, and the others counted.
func TestSARIFIsBounded(t *testing.T) {
	run := sarifOf(t, someViolations(maxResults+7))
	notes := run.Invocations[0].Notes
	if len(run.Results) != maxResults || run.Results[0].Locations[0].Physical.Region.Line != maxResults+7 {
		t.Errorf("%d results, the first %+v", len(run.Results), run.Results[0])
	}
	if last := notes[len(notes)-1]; !strings.HasPrefix(last.Message.Text, "7 more findings") || last.Rule != nil {
		t.Errorf("%+v", last)
	}
}

// TestSARIFWithoutARoot: an absolute path is an address of its own.
func TestSARIFWithoutARoot(t *testing.T) {
	v := Violation{Rule: "break", Pos: logs.Pos{File: "/w/../w/a b.py"}}
	path, _ := inProject(&v, "")
	at := sarifResultOf(&v, path).Locations[0].Physical.Artifact
	if at.URI != "file:///w/a%20b.py" || at.Base != "" {
		t.Errorf("%+v", at)
	}
}

// TestEveryRuleHasTexts: the rules of violations are those that SARIF describes.
func TestEveryRuleHasTexts(t *testing.T) {
	text, err := os.ReadFile("check.go")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]bool{}
	for _, r := range ruleTexts {
		rules[r.ID] = true
	}
	found := regexp.MustCompile(`"((?:max-|baseline-)[a-z-]+)"|Rule: +"([a-z-]+)"`).FindAllStringSubmatch(string(text), -1)
	if len(found) < len(ruleTexts) {
		t.Errorf("%d rules are read, of %d", len(found), len(ruleTexts))
	}
	for _, m := range found {
		if id := m[1] + m[2]; !rules[id] {
			t.Errorf("no texts of %s", id)
		}
	}
}
