package logs

import (
	"io"
	"os"
	"sync"
)

// spool keeps bytes that cannot be read twice (standard input, archives,
// converted text): in memory first, in an unlinked temporary file beyond limit.
type spool struct {
	mu    sync.RWMutex
	dir   string
	limit int64
	mem   []byte
	f     *os.File
	size  int64
	shut  bool
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return 0, os.ErrClosed
	}
	if s.f == nil && s.size+int64(len(p)) > s.limit {
		f, err := os.CreateTemp(s.dir, "tcdbg-spool-*")
		if err != nil {
			return 0, err
		}
		if err := os.Remove(f.Name()); err != nil {
			return 0, err
		}
		if _, err := f.Write(s.mem); err != nil {
			return 0, err
		}
		s.f, s.mem = f, nil
	}
	s.size += int64(len(p))
	if s.f != nil {
		return s.f.Write(p)
	}
	s.mem = append(s.mem, p...)
	return len(p), nil
}

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.f != nil {
		return s.f.ReadAt(p, off)
	}
	if off < 0 || off >= int64(len(s.mem)) {
		return 0, io.EOF
	}
	n := copy(p, s.mem[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (s *spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f = nil
	return err
}
