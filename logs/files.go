package logs

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"

	"tcdbg/logs/regular"
)

// This file reads regular files with a bounded number of descriptors: a job of 300 ranks
// writes 300 files, and a shell may allow 64 open ones. What was not read for the longest time
// is closed, and opened again where it was when it is read next.

// files are the regular files of a store, of which at most max are open, those aside that are
// being read at this moment.
type files struct {
	max int

	mu   sync.Mutex
	open list.List // of *plainFile, the one that was used last first
	shut bool
}

// openFiles is how many files a store holds open: a quarter of what the process may, which
// leaves room for a second store and for all else.
func openFiles() int {
	const least, most = 4, 1 << 10
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return least
	}
	return int(min(max(limit.Cur/4, least), most))
}

// plainFile is one of them. Read is for one goroutine, the other methods for any.
type plainFile struct {
	of   *files
	path string
	info fs.FileInfo // of the file that was opened first
	off  int64       // of Read

	f     *os.File // guarded by of.mu, as what follows; nil: closed until it is read again
	users int
	place *list.Element // in of.open
}

// errReplaced says that a file was replaced between two reads.
var errReplaced = errors.New("was removed or replaced while it was open here")

// add takes over a file that is open.
func (all *files) add(f *os.File, info fs.FileInfo) *plainFile {
	p := &plainFile{of: all, path: f.Name(), info: info, f: f}
	all.mu.Lock()
	defer all.mu.Unlock()
	p.place = all.open.PushFront(p)
	all.leave(all.max)
	return p
}

// leave closes what was not used for the longest time until n files are open, and reports
// whether it closed any.
func (all *files) leave(n int) (closed bool) {
	for e := all.open.Back(); e != nil && all.open.Len() > n; {
		p, newer := e.Value.(*plainFile), e.Prev()
		if p.users == 0 {
			p.close()
			closed = true
		}
		e = newer
	}
	return closed
}

// close closes a file until it is read again.
func (p *plainFile) close() {
	_ = p.f.Close() // it was only read
	p.of.open.Remove(p.place)
	p.f, p.place = nil, nil
}

// opened is what open gives, for which another file is closed where the process has no
// descriptor left.
func (all *files) opened(open func(string) (*os.File, error), path string) (*os.File, error) {
	for {
		f, err := open(path)
		if err == nil || !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) || !all.leave(all.open.Len()-1) {
			return f, err
		}
	}
}

// first opens a file for the first time.
func (all *files) first(open func(string) (*os.File, error), path string) (*os.File, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.opened(open, path)
}

// take gives the open file, which stays open until drop.
func (p *plainFile) take() (*os.File, error) {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	switch {
	case p.of.shut:
		return nil, os.ErrClosed
	case p.f != nil:
		p.of.open.MoveToFront(p.place)
	default:
		p.of.leave(p.of.max - 1)
		f, err := p.of.opened(regular.Open, p.path)
		if err != nil {
			return nil, p.gone(err)
		}
		if info, err := f.Stat(); err != nil || !os.SameFile(info, p.info) {
			_ = f.Close()
			return nil, p.gone(err)
		}
		p.f, p.place = f, p.of.open.PushFront(p)
	}
	p.users++
	return p.f, nil
}

// gone is why a file cannot be opened again.
func (p *plainFile) gone(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.As(err, new(*regular.Error)) {
		return errReplaced
	}
	return fmt.Errorf("opened again: %w", err)
}

func (p *plainFile) drop() {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.users--
	p.of.leave(p.of.max)
}

// ReadAt implements io.ReaderAt.
func (p *plainFile) ReadAt(b []byte, off int64) (int, error) {
	f, err := p.take()
	if err != nil {
		return 0, err
	}
	defer p.drop()
	return f.ReadAt(b, off)
}

// Read implements io.Reader. A file that is closed and has not grown since is not opened to
// find that out: followed files are asked five times a second.
func (p *plainFile) Read(b []byte) (int, error) {
	if size, ok := p.sizeByName(); ok && size <= p.off {
		return 0, io.EOF
	}
	n, err := p.ReadAt(b, p.off)
	p.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// sizeByName is the size of a file that is closed; one that is no longer there has not grown.
func (p *plainFile) sizeByName() (int64, bool) {
	p.of.mu.Lock()
	closed := p.f == nil
	p.of.mu.Unlock()
	if !closed || p.off == 0 {
		return 0, false
	}
	info, err := os.Stat(p.path)
	if err != nil || !os.SameFile(info, p.info) {
		return 0, errors.Is(err, fs.ErrNotExist) || err == nil
	}
	return info.Size(), true
}

// size is the size of the file now.
func (p *plainFile) size() (int64, error) {
	f, err := p.take()
	if err != nil {
		return 0, err
	}
	defer p.drop()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// shrank reports whether the file holds less than was read of it.
func (p *plainFile) shrank() bool {
	info, err := os.Stat(p.path)
	return err == nil && os.SameFile(info, p.info) && info.Size() < p.off
}

// Close implements io.Closer: of all files, for good.
func (all *files) Close() error {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.shut = true
	var errs []error
	for e := all.open.Front(); e != nil; e = all.open.Front() {
		p := e.Value.(*plainFile)
		errs = append(errs, p.f.Close())
		all.open.Remove(e)
		p.f, p.place = nil, nil
	}
	return errors.Join(errs...)
}
