package cpp

import (
	"fmt"
	"strings"
)

// text is C text that is being written.
type text struct {
	sb   strings.Builder
	ind  int
	line int // lines written so far
}

// p writes a line.
func (t *text) p(format string, args ...any) {
	from := t.sb.Len()
	for range t.ind {
		t.sb.WriteString("  ")
	}
	if len(args) == 0 && !strings.Contains(format, "%") {
		t.sb.WriteString(format)
	} else {
		fmt.Fprintf(&t.sb, format, args...)
	}
	t.sb.WriteByte('\n')
	t.line += strings.Count(t.sb.String()[from:], "\n")
}

// open writes a line that opens a block.
func (t *text) open(format string, args ...any) {
	t.p(format+" {", args...)
	t.ind++
}

// close ends the block opened last.
func (t *text) close() {
	t.ind--
	t.p("}")
}
