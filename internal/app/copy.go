package app

import (
	"bytes"
	"io"
)

// copyLines copies lines that pass keep. A line is held back until its end
// came, unless it cannot be one that is dropped.
func copyLines(w io.Writer, r io.Reader, keep func(line []byte) bool) {
	buf := make([]byte, 64<<10)
	var held []byte
	for {
		n, err := r.Read(buf)
		held = append(held, buf[:n]...)
		for {
			i := bytes.IndexByte(held, '\n')
			if i < 0 {
				break
			}
			if keep(held[:i]) {
				_, _ = w.Write(held[:i+1])
			}
			held = held[i+1:]
		}
		if len(held) > 0 && (!mayBeLog(held) || len(held) > maxLine) {
			_, _ = w.Write(held) // a progress bar or a prompt has no line end
			held = nil
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
