package render

import (
	"strings"
	"testing"
)

// A text that is too long keeps its first lines; of one line its beginning is left.
func TestLongTextsAreCut(t *testing.T) {
	for name, text := range map[string]string{
		"one line": strings.Repeat("x", longText+1), "lines": strings.Repeat("x\n", longText),
	} {
		p, packed := &packer{}, &packedText{title: "text", load: func() string { return text }}
		p.pack(packed)
		if !strings.Contains(packed.out, "Cut: 8 MB of ") {
			t.Errorf("%s: %.400s", name, packed.out)
		}
	}
}
