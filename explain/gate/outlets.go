package gate

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/explain"
	"tcdbg/logs/printable"
)

// This file writes violations for what shows them beside code: GitHub's annotations, SARIF,
// JUnit and the problem matchers of editors.

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
		return file, true
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

// The parts of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Text sarifText `json:"shortDescription"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations,omitempty"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI  string `json:"uri"`
				Base string `json:"uriBaseId"`
			} `json:"artifactLocation"`
			Region struct {
				Line int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// ruleTexts are the rules of a check.
var ruleTexts = []sarifRule{
	{"max-breaks", sarifText{"More graph breaks than are allowed"}},
	{"max-recompiles", sarifText{"More recompiles than are allowed"}},
	{"max-failures", sarifText{"More failed compiles than are allowed"}},
	{"max-compile-time", sarifText{"More compile time than is allowed"}},
	{"break", sarifText{"A graph break"}},
	{"recompile", sarifText{"A recompile"}},
	{"failure", sarifText{"A failed compile"}},
	{"compile-time", sarifText{"A function that takes long to compile"}},
	{"baseline-break", sarifText{"A graph break that the baseline does not have"}},
	{"baseline-recompile", sarifText{"A recompile that the baseline does not have"}},
	{"baseline-failure", sarifText{"A failed compile that the baseline does not have"}},
}

func writeSARIF(w io.Writer, list []Violation, root, tool string) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{"tcdbg", tool, ruleTexts}
	for _, v := range worstFirst(list) {
		r := sarifResult{
			RuleID: v.Rule, Level: "error", Message: sarifText{printable.Clean(v.Message)},
			Fingerprints: map[string]string{
				"tcdbg/v1": printable.Clean(v.Rule + "|" + filepath.Base(v.Pos.File) + "|" + explain.Squeeze(v.Pos.Code)),
			},
		}
		if path, ok := inProject(&v, root); ok {
			var at sarifLocation
			at.Physical.Artifact.URI = (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
			at.Physical.Artifact.Base = "%SRCROOT%"
			at.Physical.Region.Line = max(v.Pos.Line, 1)
			r.Locations = []sarifLocation{at}
		} else if v.Place != "" {
			r.Message.Text = printable.Clean(v.Place + ": " + v.Message)
		}
		run.Results = append(run.Results, r)
	}
	text, err := json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(explain.EscapeControls(text), '\n'))
	return err
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
