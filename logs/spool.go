package logs

import (
	"io"
	"os"
	"sort"
	"sync"
)

// This file keeps bytes that cannot be read twice (standard input, archives, converted
// text): in memory first, in an unlinked temporary file beyond a limit. Memory and file are
// shared by all sources of a store, however many there are.

// spools are what the spools of a store share.
type spools struct {
	dir   string
	limit int64 // bytes in memory

	mu   sync.Mutex
	held int64    // bytes in memory
	f    *os.File // nil: none was needed yet
	size int64    // of f
	shut bool
}

// hold makes room for n bytes in memory, and reports false where there is none.
func (all *spools) hold(n int) (bool, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.shut {
		return false, os.ErrClosed
	}
	if all.held+int64(n) > all.limit {
		return false, nil
	}
	all.held += int64(n)
	return true, nil
}

// write appends to the file and returns where.
func (all *spools) write(b []byte) (at int64, err error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.shut {
		return 0, os.ErrClosed
	}
	if all.f == nil {
		if all.f, err = unlinked(all.dir); err != nil {
			return 0, err
		}
	}
	at = all.size
	n, err := all.f.WriteAt(b, at)
	all.size += int64(n)
	return at, err
}

// unlinked is a file that nobody else finds, and that goes with us.
func unlinked(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "tcdbg-spool-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// free tells that n bytes are no longer in memory.
func (all *spools) free(n int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.held -= int64(n)
}

// file is the file, nil where there is none.
func (all *spools) file() *os.File {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.f
}

// Close implements io.Closer.
func (all *spools) Close() error {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.shut = true
	if all.f == nil {
		return nil
	}
	return all.f.Close()
}

// spool keeps the bytes of one source.
type spool struct {
	of *spools

	mu    sync.RWMutex
	mem   []byte
	parts []spoolPart // in order, where it is in the file
	size  int64
}

// spoolPart is what lies in one piece in the file; it ends where the next begins.
type spoolPart struct {
	off int64 // in the spool
	at  int64 // in the file
}

// Write implements io.Writer.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.parts == nil {
		ok, err := s.of.hold(len(b))
		if err != nil {
			return 0, err
		}
		if ok {
			s.mem = append(s.mem, b...)
			s.size += int64(len(b))
			return len(b), nil
		}
		if err := s.leaveMemory(); err != nil {
			return 0, err
		}
	}
	return s.put(b)
}

// leaveMemory moves what is there into the file.
func (s *spool) leaveMemory() error {
	b := s.mem
	s.size = 0
	if _, err := s.put(b); err != nil {
		s.parts, s.size = nil, int64(len(b))
		return err
	}
	s.mem = nil
	s.of.free(len(b))
	return nil
}

// put appends to the file.
func (s *spool) put(b []byte) (int, error) {
	at, err := s.of.write(b)
	if err != nil {
		return 0, err
	}
	if n := len(s.parts); n == 0 || s.parts[n-1].at+s.size-s.parts[n-1].off != at {
		s.parts = append(s.parts, spoolPart{off: s.size, at: at})
	}
	s.size += int64(len(b))
	return len(b), nil
}

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(b []byte, off int64) (n int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if off < 0 || off >= s.size {
		return 0, io.EOF
	}
	if int64(len(b)) > s.size-off {
		b, err = b[:s.size-off], io.EOF
	}
	if s.parts == nil {
		return copy(b, s.mem[off:]), err
	}
	f := s.of.file()
	for i := sort.Search(len(s.parts), func(i int) bool { return s.parts[i].off > off }) - 1; n < len(b); i++ {
		p, end := s.parts[i], s.size
		if i+1 < len(s.parts) {
			end = s.parts[i+1].off
		}
		want := min(int64(len(b)-n), end-off)
		m, failed := f.ReadAt(b[n:n+int(want)], p.at+off-p.off)
		n, off = n+m, off+int64(m)
		if int64(m) < want {
			return n, failed
		}
	}
	return n, err
}
