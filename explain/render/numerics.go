package render

import (
	"strings"

	"tcdbg/explain"
)

// This file writes what was compared with eager execution.

func (t *TextWriter) numerics(r *explain.Report) {
	if r.Numerics == nil {
		return
	}
	t.section("NUMERICS")
	var b strings.Builder
	_ = r.Numerics.WriteText(&b) // a Builder takes all
	for line := range strings.Lines(b.String()) {
		t.line("%s", "  "+strings.TrimRight(line, "\n"))
	}
}
