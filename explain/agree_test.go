package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// These tests hold together what is told more than once: a run by its trace and by
// its text log, a cause by every report.

// facts are what a report says of causes: breaks and recompiles with their advice.
// Ids and times are left out, which a text log does not have.
func facts(r *Report) string {
	var out []string
	for _, g := range r.Breaks {
		b := g.Lead
		out = append(out, fmt.Sprintf("break %s %s at %s:%d %s in %d places, %s: fix %q", b.Code, b.Title(), filepath.Base(b.Pos.File), b.Pos.Line, b.Pos.Func, len(g.Breaks), b.Fixability, g.Fix.Text))
	}
	for _, rc := range r.Recompiles {
		for _, g := range rc.Failures {
			out = append(out, fmt.Sprintf("recompile of %s, entry %s: %s at line %d: fix %q", rc.Compile.Frame.Name, g.Entry, failureText(&g), g.Pos.Line, rc.Fix.Text))
		}
	}
	for _, a := range r.Advice {
		out = append(out, fmt.Sprintf("advice at %s:%d: %s: %q", filepath.Base(a.Pos.File), a.Pos.Line, a.Text, a.Fix.Text))
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// TestTextTellsWhatTheTraceTells: breaks, causes and advice are the same, whichever
// of the two a run has left.
func TestTextTellsWhatTheTraceTells(t *testing.T) {
	for _, name := range []string{"nested_gb", "loops", "train_small", "ddp_train"} {
		trace := "testdata/traces/pytorch-2.15/" + name
		if name != "ddp_train" {
			trace += ".log.zst"
		}
		want := facts(report(t, trace))
		if got := facts(report(t, "testdata/traces/pytorch-2.15/"+name+".txt.zst")); got != want {
			t.Errorf("%s: the text against the trace:\n%s", name, lineDiff(want, got))
		}
		if len(want) < 200 {
			t.Errorf("%s: only %d bytes were compared", name, len(want))
		}
	}
}

// lineDiff lists the lines that only one of two sorted texts has.
func lineDiff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out = append(out, "+ "+l)
		}
	}
	return strings.Join(out, "\n")
}

// TestOneCauseHasOneName: text, HTML and JSON use the words that the report has for
// a cause, of breaks, recompiles and failures alike, and the same advice.
func TestOneCauseHasOneName(t *testing.T) {
	told := 0
	for _, path := range traces(t) {
		r := report(t, path)
		var text, page, data bytes.Buffer
		for _, err := range []error{WriteText(&text, r), WriteHTML(&page, r), WriteJSON(&data, r)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		if !json.Valid(data.Bytes()) {
			t.Fatalf("%s: no JSON", path)
		}
		forms := map[string]string{"HTML": squeeze(html.UnescapeString(page.String())), "JSON": squeeze(unquoted(data.String()))}
		check := func(what string) {
			told++
			for form, all := range forms {
				if !strings.Contains(all, squeeze(Clean(what))) && !strings.Contains(all, squeeze(what)) {
					t.Errorf("%s: %s lacks %q", path, form, what)
				}
			}
		}
		for _, g := range r.Breaks {
			check(g.Lead.Title())
			check(g.Fix.Text)
		}
		for _, rc := range r.Recompiles {
			check(rc.Fix.Text)
		}
		for _, f := range r.Failures {
			check(f.Title())
			check(f.Fix.Text)
		}
		forms = map[string]string{"text": squeeze(text.String())}
		for i, g := range r.Breaks {
			if i < rows && !g.Lead.Noise && (g.CausedBy == nil || g.CausedBy.Lead.Noise) {
				check(g.Lead.Title())
			}
		}
		for i, a := range r.Advice {
			if i < 5 {
				check(a.Text)
			}
		}
		for i, f := range r.Failures {
			if i < rows {
				check(clipText(f.Title(), 100))
			}
		}
	}
	if told < 500 {
		t.Errorf("only %d texts were compared", told)
	}
}

// unquoted undoes the escapes of JSON strings that words may hold.
func unquoted(s string) string {
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\n`, "\n", `\t`, "\t").Replace(s)
}

// TestTextLogsOfGoPrograms: a text log does not name its engine; the program's
// files do, and the advice is in their language.
func TestTextLogsOfGoPrograms(t *testing.T) {
	for file, want := range map[string]string{"/w/model.go": "compiler.MarkDynamic(x, 0)", "/w/model.py": "torch._dynamo.mark_dynamic(x, 0)"} {
		r := foldText(t, "Recompiling function step in "+file+":40\n    triggered by the following guard failure(s):\n    - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 8\n")
		if len(r.Recompiles) != 1 || !strings.Contains(r.Recompiles[0].Fix.Text, want) {
			t.Errorf("%s, of %s: %+v", file, r.Engine, r.Recompiles)
		}
	}
}

// TestNegatedGuards: a condition that was false is read whole.
func TestNegatedGuards(t *testing.T) {
	for reason, want := range map[string][2]string{
		"not ((L['c'].Steps + 1) > 3)": {"(L['c'].Steps + 1)", "not > 3"},
		"not (L['k'] == 3)":            {"L['k']", "not 3"},
		"not (a > 1) and (b > 2)":      {"not (a > 1) and (b", "> 2)"},
	} {
		if g := parseReason("0/0: " + reason); g.Source != want[0] || g.Expected != want[1] {
			t.Errorf("%s: %q, %q", reason, g.Source, g.Expected)
		}
	}
	if s := fixValue("c.Steps", &GuardFailure{Expected: "not > 3"}, true); !strings.Contains(s, "on c.Steps not > 3:") {
		t.Error(s)
	}
}
