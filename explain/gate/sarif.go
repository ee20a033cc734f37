package gate

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"

	"tcdbg/explain"
	"tcdbg/logs/printable"
)

// This file writes violations as SARIF 2.1.0. GitHub's code scanning refuses a whole file where one result has no place, and
// asks for two descriptions of every rule: what has no line in the project is a notification of the run instead.

// maxResults is how many results code scanning shows of a run.
const maxResults = 5000

// The parts of SARIF that are written.
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
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Text sarifText `json:"shortDescription"`
		Full sarifText `json:"fullDescription"`
		Help sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful bool        `json:"executionSuccessful"` // of the check itself, whatever it found
		Notes      []sarifNote `json:"toolExecutionNotifications"`
	}
	sarifNote struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
		Rule    *sarifID  `json:"associatedRule,omitempty"`
	}
	sarifID struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI  string `json:"uri"`
				Base string `json:"uriBaseId,omitempty"`
			} `json:"artifactLocation"`
			Region struct {
				Line int `json:"startLine"`
			} `json:"region"`
		} `json:"physicalLocation"`
	}
)

// ruleTexts are the rules of a check: what it is, why it is looked at, and what to do.
var ruleTexts = func() []sarifRule {
	var out []sarifRule
	for _, r := range [][4]string{
		{"max-breaks", "More graph breaks than are allowed", whyBreak, "Fix a break that is listed, or raise --max-breaks."},
		{"max-recompiles", "More recompiles than are allowed", whyRecompile, "Fix a recompile that is listed, or raise --max-recompiles."},
		{"max-failures", "More failed compiles than are allowed", whyFailure, "Fix a failure that is listed, or raise --max-failures."},
		{"max-compile-time", "More compile time than is allowed", whyTime, "See which functions take long, or raise --max-compile-time."},
		{"break", "A graph break", whyBreak, helpReport},
		{"recompile", "A recompile", whyRecompile, helpReport},
		{"failure", "A failed compile", whyFailure, helpReport},
		{"compile-time", "A function that takes long to compile", whyTime, helpReport},
		{"baseline-break", "A graph break that the baseline does not have", whyBreak, helpBaseline},
		{"baseline-recompile", "A recompile that the baseline does not have", whyRecompile, helpBaseline},
		{"baseline-failure", "A failed compile that the baseline does not have", whyFailure, helpBaseline},
	} {
		out = append(out, sarifRule{r[0], sarifText{r[1]}, sarifText{r[2]}, sarifText{r[3]}})
	}
	return out
}()

const (
	whyBreak     = "At a graph break the compiled function is cut in two graphs, and what is between them runs eagerly."
	whyRecompile = "A function is recompiled where a guard fails: a call does not fit what was compiled."
	whyFailure   = "A function whose compile fails raises the error or runs eagerly."
	whyTime      = "Compiling delays the first call of a function, and each call that has it recompiled."
	helpReport   = "tcdbg report shows it with its cause and, where one is known, a fix."
	helpBaseline = helpReport + " Where it is meant to be, --write-baseline accepts it."
)

func writeSARIF(w io.Writer, list []Violation, root, tool string) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{"tcdbg", tool, ruleTexts}
	notes, left := []sarifNote{}, 0
	list = worstFirst(list)
	for i := range list {
		v := &list[i]
		path, ok := inProject(v, root)
		switch {
		case !ok:
			notes = append(notes, sarifNoteOf(v))
		case len(run.Results) == maxResults:
			left++
		default:
			run.Results = append(run.Results, sarifResultOf(v, path))
		}
	}
	if len(notes) > maxResults {
		left += len(notes) - maxResults
		notes = notes[:maxResults]
	}
	if left > 0 {
		text := explain.Count(left, "more finding") + " that cost less: the check tells them as text"
		notes = append(notes, sarifNote{Level: "error", Message: sarifText{text}})
	}
	run.Invocations = []sarifInvocation{{true, notes}}
	text, err := json.MarshalIndent(sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}, "", " ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(explain.EscapeControls(text), '\n'))
	return err
}

// sarifResultOf is a violation at a line of the project.
func sarifResultOf(v *Violation, path string) sarifResult {
	var at sarifLocation
	uri := url.URL{Path: filepath.ToSlash(path)}
	if filepath.IsAbs(path) {
		uri.Scheme = "file"
	} else {
		at.Physical.Artifact.Base = "%SRCROOT%"
	}
	at.Physical.Artifact.URI = uri.String()
	at.Physical.Region.Line = max(v.Pos.Line, 1)
	return sarifResult{
		RuleID: v.Rule, Level: "error", Message: sarifText{printable.Clean(v.Message)}, Locations: []sarifLocation{at},
		Fingerprints: map[string]string{
			"tcdbg/v1": printable.Clean(v.Rule + "|" + filepath.Base(v.Pos.File) + "|" + explain.Squeeze(v.Pos.Code)),
		},
	}
}

// sarifNoteOf is a violation that no line of the project can be marked for.
func sarifNoteOf(v *Violation) sarifNote {
	text := v.Message
	if v.Place != "" {
		text = v.Place + ": " + text
	}
	return sarifNote{Level: "error", Message: sarifText{printable.Clean(text)}, Rule: &sarifID{v.Rule}}
}
