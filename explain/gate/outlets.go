package gate

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs/printable"
)

// This file writes violations for what shows them beside code: GitHub's annotations, JUnit and the problem matchers of
// editors; SARIF is in sarif.go.

// Formats are the forms in which a check tells what it found.
var Formats = []string{"text", "github", "sarif", "junit", "vscode"}

// Write writes violations in a form. Paths below root become relative to it.
func Write(w io.Writer, format string, list []Violation, root, tool string) error {
	switch format {
	case "github":
		return WriteAnnotations(w, list, root)
	case "sarif":
		return writeSARIF(w, list, root, tool)
	case "junit":
		return writeJUnit(w, list)
	case "vscode":
		return writeProblems(w, list, root)
	}
	return WriteViolations(w, list)
}

// maxAnnotations is how many annotations GitHub shows of a step.
const maxAnnotations = 10

// worstFirst sorts violations by what they cost; limits, which have no place, stay in front.
func worstFirst(list []Violation) []Violation {
	list = slices.Clone(list)
	rank := func(v *Violation) int {
		if strings.HasPrefix(v.Rule, "max-") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(b.Cost, a.Cost))
	})
	return list
}

// inProject is the path of a violation's file relative to root; not of one that is installed,
// or elsewhere: no line of the project can be marked for it.
func inProject(v *Violation, root string) (path string, ok bool) {
	file := v.Pos.File
	if file == "" || explain.InstalledPackage(file) != "" || explain.FrameworkFile(file) {
		return "", false
	}
	if !filepath.IsAbs(file) {
		return filepath.Clean(file), filepath.IsLocal(file)
	}
	if root == "" {
		return filepath.Clean(file), true
	}
	rel, err := filepath.Rel(root, file)
	return rel, err == nil && filepath.IsLocal(rel)
}

// WriteAnnotations writes violations as GitHub workflow commands, which show at the lines of a
// pull request: at most as many as GitHub shows, the costliest first. What is not in the project
// is told without a line.
func WriteAnnotations(w io.Writer, list []Violation, root string) error {
	list = worstFirst(list)
	left := 0
	if len(list) > maxAnnotations {
		left = len(list) - (maxAnnotations - 1)
		list = list[:maxAnnotations-1]
	}
	for i := range list {
		v := &list[i]
		where, text := "", v.Message
		if path, ok := inProject(v, root); ok {
			where = fmt.Sprintf("file=%s,line=%d,", property(path), max(v.Pos.Line, 1))
		} else if v.Place != "" {
			text = v.Place + ": " + text
		}
		if _, err := fmt.Fprintf(w, "::error %stitle=tcdbg %s::%s\n", where, property(v.Rule), message(text)); err != nil {
			return err
		}
	}
	if left == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "::error title=tcdbg::%s that cost less: tcdbg check without --annotate lists them\n",
		explain.Count(left, "more finding"))
	return err
}

// writeProblems writes a line a violation, "path:line: error: text [rule]", which problem
// matchers of editors read.
func writeProblems(w io.Writer, list []Violation, root string) error {
	for _, v := range worstFirst(list) {
		where := "tcdbg:1"
		if path, ok := inProject(&v, root); ok {
			where = fmt.Sprintf("%s:%d", path, max(v.Pos.Line, 1))
		} else if v.Pos.File != "" {
			where = fmt.Sprintf("%s:%d", v.Pos.File, max(v.Pos.Line, 1))
		}
		if _, err := fmt.Fprintf(w, "%s: error: %s [%s]\n", printable.Clean(where), printable.Clean(v.Message),
			printable.Clean(v.Rule)); err != nil {
			return err
		}
	}
	return nil
}

// The parts of JUnit's report that are written.
type (
	junitSuites struct {
		XMLName xml.Name   `xml:"testsuites"`
		Suite   junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"` // none, yet Jenkins' schema asks for it
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a test that failed for each violation, and one that passed where there is none.
func writeJUnit(w io.Writer, list []Violation) error {
	s := junitSuite{Name: "tcdbg check", Tests: max(len(list), 1), Failures: len(list)}
	for _, v := range worstFirst(list) {
		name := printable.Clean(v.Rule)
		if v.Place != "" {
			name += " " + printable.Clean(v.Place)
		}
		text := printable.Clean(v.Message)
		s.Cases = append(s.Cases, junitCase{"tcdbg." + printable.Clean(v.Rule), name, &junitFailure{text, printable.Clean(v.Pos.Code)}})
	}
	if len(list) == 0 {
		s.Cases = []junitCase{{"tcdbg", "check", nil}}
	}
	text, err := xml.MarshalIndent(junitSuites{Suite: s}, "", " ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}
