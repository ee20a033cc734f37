package fold

import (
	"bytes"
	"strings"
	"testing"

	"tcdbg/explain/render"
	"tcdbg/internal/test/traces"
)

// TestTextHasAdviceWhole: an advice that is cut short cannot be followed, and one on a break within
// torch is with that break, however far down it ranks.
func TestTextHasAdviceWhole(t *testing.T) {
	for _, path := range traces.Files(t, "../testdata/traces/pytorch-2.15") {
		r := report(t, path)
		var text bytes.Buffer
		if err := render.WriteText(&text, r); err != nil {
			t.Fatal(err)
		}
		_, breaks, _ := strings.Cut(text.String(), "\nBREAKS: ")
		breaks, _, _ = strings.Cut(breaks, "\nRECOMPILES: ")
		if strings.Contains(breaks, "... and ") { // some are left out
			continue
		}
		for _, a := range r.Advice {
			if a.Break != nil && a.Fix.Text != "" && !strings.Contains(breaks, a.Fix.Text) {
				t.Errorf("%s: the text lacks %q", path, a.Fix.Text)
			}
		}
	}
}
