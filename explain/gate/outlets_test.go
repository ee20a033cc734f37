package gate

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tcdbg/logs"
)

// someViolations are a limit, some in the project and some that are not.
func someViolations(n int) []Violation {
	list := []Violation{{Rule: "max-breaks", Message: "too many"}}
	for i := range n {
		list = append(list, Violation{
			Rule: "break", Message: fmt.Sprintf("GB0059 %d", i), Pos: logs.Pos{File: "/w/src/m.py", Line: i + 1, Code: "print(1)"},
			Place: "m.py:1 in f", Cost: float64(i),
		})
	}
	for _, file := range []string{"/w/venv/lib/python3.12/site-packages/timm/a.py", "/elsewhere/b.py", "/w/../etc/c.py"} {
		list = append(list, Violation{
			Rule: "break", Message: "not <ours> & %", Pos: logs.Pos{File: file, Line: 3}, Place: "a.py:3 in g", Cost: 1e6,
		})
	}
	return list
}

func wrote(t *testing.T, format string, list []Violation) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, list, "/w", "9.9"); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestAnnotationsAreFew: as many as GitHub shows, the costliest first, and none at a line that is
// not the project's.
func TestAnnotationsAreFew(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(wrote(t, "github", someViolations(30))), "\n")
	if len(lines) != 10 {
		t.Fatalf("%d annotations", len(lines))
	}
	if !strings.Contains(lines[0], "max-breaks") || !strings.Contains(lines[4], "file=src/m.py,line=30,") ||
		!strings.Contains(lines[5], "file=src/m.py,line=29,") || !strings.Contains(lines[9], "25 more findings") {
		t.Errorf("the costliest are not first:\n%s", strings.Join(lines, "\n"))
	}
	for _, l := range lines[1:4] {
		if strings.Contains(l, "file=") || !strings.Contains(l, "a.py:3 in g") {
			t.Errorf("an annotation at a line that is not the project's: %s", l)
		}
	}
	if n := strings.Count(wrote(t, "github", someViolations(6)), "\n"); n != 10 {
		t.Errorf("ten violations give %d annotations", n)
	}
}

// TestJUnit: each violation is a test that failed; one passed where there is none.
func TestJUnit(t *testing.T) {
	var doc junitSuites
	if err := xml.Unmarshal([]byte(wrote(t, "junit", someViolations(3))), &doc); err != nil || doc.Suite.Failures != 7 ||
		len(doc.Suite.Cases) != 7 || doc.Suite.Cases[1].Failure == nil || doc.Suite.Cases[1].Failure.Message != "not <ours> & %" {
		t.Errorf("%v %+v", err, doc)
	}
	if !strings.Contains(wrote(t, "junit", nil), ` errors="0"`) {
		t.Error("no count of errors, which Jenkins' schema asks for")
	}
	if err := xml.Unmarshal([]byte(wrote(t, "junit", nil)), &doc); err != nil || doc.Suite.Failures != 0 || doc.Suite.Tests != 1 {
		t.Errorf("%v %+v", err, doc)
	}
}

// TestProblems: every line is one that the documented problem matcher reads.
func TestProblems(t *testing.T) {
	matcher := regexp.MustCompile(`^(.+):(\d+): (error): (.*) \[(.+)\]$`)
	for _, l := range strings.Split(strings.TrimSpace(wrote(t, "vscode", someViolations(2))), "\n") {
		if !matcher.MatchString(l) {
			t.Errorf("%q", l)
		}
	}
}

// TestHostileViolations: no form lets through what acts.
func TestHostileViolations(t *testing.T) {
	evil := "\x1b[31m</failure><x>\u202e\r\n::error::\x07\x00"
	list := []Violation{{Rule: "break", Message: evil, Pos: logs.Pos{File: "m" + evil + ".py", Line: -1, Code: evil}, Place: evil}}
	for _, format := range Formats {
		text := wrote(t, format, list)
		for _, bad := range []string{"\x1b", "\x07", "\r", "\u202e", "\x00", "\n::error::", "</failure><x>"} {
			if strings.Contains(text, bad) && (format == "junit" || bad[0] != '<') {
				t.Errorf("%s has %q:\n%s", format, bad, text)
			}
		}
	}
}
