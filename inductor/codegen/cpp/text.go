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
	s := strings.Repeat("  ", t.ind) + fmt.Sprintf(format, args...) + "\n"
	t.sb.WriteString(s)
	t.line += strings.Count(s, "\n")
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
