package app

import (
	"bytes"
	"io"
)

// copyLines copies lines that pass keep. A line is held back until its end
// came, unless it cannot be one that is dropped or is so long that its beginning
// decides: a line about a fused kernel has a hundred thousand characters.
func copyLines(w io.Writer, r io.Reader, keep func(line []byte) bool) {
	buf := make([]byte, 64<<10)
	var held []byte
	dropping := false // the rest of a line
	for {
		n, err := r.Read(buf)
		held = append(held, buf[:n]...)
		for {
			i := bytes.IndexByte(held, '\n')
			if i < 0 {
				break
			}
			if !dropping && keep(held[:i]) {
				_, _ = w.Write(held[:i+1])
			}
			held, dropping = held[i+1:], false
		}
		switch {
		case dropping:
			held = held[:0]
		case len(held) == 0:
		case !mayBeLog(held) || len(held) > maxLine && keep(held):
			_, _ = w.Write(held) // a progress bar or a prompt has no line end
			held = held[:0]
		case len(held) > maxLine:
			held, dropping = held[:0], true
		}
		if err != nil {
			if len(held) > 0 && keep(held) {
				_, _ = w.Write(held)
			}
			return
		}
	}
}

// mayBeLog reports whether a line that has begun so may be a log line.
func mayBeLog(b []byte) bool {
	return bytes.IndexByte([]byte("[VIWEC"), b[0]) >= 0 && bytes.IndexByte(b, '\r') < 0
}
