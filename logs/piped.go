package logs

import (
	"errors"
	"io"
	"os"
	"sync"
)

// piped reads what lies in no file as if it did: what comes is kept in a spool, and
// Read gives what is there, io.EOF where nothing is, as a growing file does.
type piped struct {
	sp  *spool
	off int64

	mu    sync.Mutex
	more  sync.Cond
	size  int64 // of what came
	err   error // nil while more may come
	waits bool  // Read waits: readers of archives take io.EOF for the end
	over  bool  // nobody waits any longer
}

// newPiped reads in; what is not wanted of the pipe that it ends in is read and dropped, so
// that the program that writes into it goes on.
func newPiped(in, pipe io.Reader, sp *spool) *piped {
	p := &piped{sp: sp}
	p.more.L = &p.mu
	go func() {
		p.fill(in)
		_, _ = io.Copy(io.Discard, pipe)
	}()
	return p
}

func (p *piped) fill(raw io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := raw.Read(buf)
		if _, failed := p.sp.Write(buf[:n]); failed != nil {
			n, err = 0, failed
		}
		p.mu.Lock()
		p.size += int64(n)
		p.err = err
		p.more.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read implements io.Reader.
func (p *piped) Read(b []byte) (int, error) {
	p.mu.Lock()
	for p.waits && !p.over && p.off == p.size && p.err == nil {
		p.more.Wait()
	}
	there, err := p.size-p.off, p.err
	p.mu.Unlock()
	if there == 0 {
		if err == nil {
			err = io.EOF
		}
		return 0, err
	}
	n, err := p.sp.ReadAt(b[:min(int64(len(b)), there)], p.off)
	p.off += int64(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// waitingPipe is a named pipe that is opened when it is read: that waits until somebody
// writes to it.
type waitingPipe struct {
	path string
	file *os.File
}

// Read implements io.Reader.
func (w *waitingPipe) Read(b []byte) (int, error) {
	if w.file == nil {
		f, err := os.Open(w.path)
		if err != nil {
			return 0, err
		}
		w.file = f
	}
	n, err := w.file.Read(b)
	if err != nil {
		_ = w.file.Close()
	}
	return n, err
}

// stop ends a Read that waits.
func (p *piped) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.more.Broadcast()
}

// ended reports whether nothing comes any more.
func (p *piped) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err != nil
}
