package remedy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/advice"
	"tcdbg/explain/fold"
	"tcdbg/explain/remedy"
	"tcdbg/explain/rewrite"
	"tcdbg/internal/test/golden"
	"tcdbg/logs"
)

const trialsDoc = "../../docs/trials.md"

// The table of docs/trials.md says how each row of the advice is tried: what the row's example
// gives.
func TestRowsSayHowTheyAreTried(t *testing.T) {
	var b strings.Builder
	b.WriteString("<!-- rows -->\n| row | how it is tried |\n|---|---|\n")
	for _, row := range advice.Rows() {
		if row.Go || !advice.Shown(row.ID) {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s |\n", row.ID, howTried(t, row))
	}
	b.WriteString("<!-- /rows -->")
	old, err := os.ReadFile(trialsDoc)
	if err != nil {
		t.Fatal(err)
	}
	now := regexp.MustCompile(`(?s)<!-- rows -->.*<!-- /rows -->`).ReplaceAllLiteralString(string(old), b.String())
	switch {
	case now == string(old):
	case golden.Updating():
		if err := os.WriteFile(trialsDoc, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: go test ./explain/remedy -update", trialsDoc)
	}
}

// howTried names the remedies of a row's finding in the row's example.
func howTried(t *testing.T, row advice.Row) string {
	t.Helper()
	dir := filepath.Join("../testdata/advice", row.ID)
	st, err := logs.Open([]string{filepath.Join(dir, "trace.log.zst")}, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	source := func(file string) ([]string, error) {
		text, err := os.ReadFile(filepath.Join(dir, filepath.Base(file)))
		return strings.Split(string(text), "\n"), err
	}
	fd := fold.New(st)
	fd.SetSource(source)
	if err := st.Read(t.Context(), fd.Add); err != nil {
		t.Fatal(err)
	}
	printed, _ := os.ReadFile(filepath.Join(dir, "uncaught.txt")) // most end well
	fd.AddUncaught(string(printed))
	r := fd.Snapshot()
	rewrite.AddRewrites(r, source)
	how := remediesOf(r, row.ID)
	if how == inWords && row.Effect == advice.Accept {
		return "nothing to change, so nothing to try"
	}
	return how
}

const inWords = "in words"

func remediesOf(r *explain.Report, id string) string {
	all, _ := remedy.For(r)
	var out []string
	for _, m := range all {
		if !slices.ContainsFunc(m.Findings, func(f remedy.Finding) bool { return f.Row == id }) {
			continue
		}
		how := "patch"
		if len(m.Switches) > 0 {
			how = m.Switches[0].Name
			if how != "mark_dynamic" {
				how = m.Switches[0].String()
			}
		}
		if !slices.Contains(out, how) {
			out = append(out, how)
		}
	}
	if len(out) == 0 {
		return inWords
	}
	return strings.Join(out, ", ")
}
