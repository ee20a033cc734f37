package logs

import (
	"fmt"
	"io"
	"sync/atomic"
)

// This file is how much an archive may hold, and how much a pipe may bring. The traces that we know pack 10 to 40 to one;
// what packs thousands to one was made to fill a disk.

// The limits of what archives (.gz, .zst) unpack to. What goes beyond them is not read, and
// the report says so.
const (
	maxUnpacked   = 8 << 30   // bytes of all archives of a store
	maxRatio      = 200       // times the bytes of the archive that were read
	freeUnpacked  = 256 << 20 // bytes of an archive for which no ratio counts
	maxZstdMemory = 256 << 20 // of a decoder
)

// maxPiped is how much is read of what cannot be read again and so is kept in a temporary
// file: standard input, a named pipe. The report says that there was more.
const maxPiped = 8 << 30

// limits are those of a store.
type limits struct{ unpacked, ratio, free, piped int64 }

func standardLimits() limits { return limits{maxUnpacked, maxRatio, freeUnpacked, maxPiped} }

// pouring reads what a pipe brings, up to the limit.
type pouring struct {
	from        io.Reader
	size, limit int64
	err         error
}

// Read implements io.Reader.
func (p *pouring) Read(b []byte) (int, error) {
	if p.err != nil {
		return 0, p.err
	}
	if p.size >= p.limit {
		p.err = fmt.Errorf("it brought %s, what came after that is not read", sizeOf(p.limit))
		return 0, p.err
	}
	n, err := p.from.Read(b[:min(int64(len(b)), p.limit-p.size)])
	p.size += int64(n)
	return n, err
}

// unpacking reads what an archive holds, up to the limits.
type unpacking struct {
	limits
	from   io.Reader     // what the archive holds
	packed *counting     // the archive
	size   int64         // read of from
	all    *atomic.Int64 // read of all archives of the store
}

// Read implements io.Reader.
func (u *unpacking) Read(b []byte) (int, error) {
	if u.size > u.free && u.size > u.ratio*u.packed.n.Load() {
		return 0, fmt.Errorf("the archive unpacks to more than %d times its size", u.ratio)
	}
	if u.all.Load() > u.unpacked {
		return 0, fmt.Errorf("the archives unpack to more than %s", sizeOf(u.unpacked))
	}
	n, err := u.from.Read(b)
	u.size += int64(n)
	u.all.Add(int64(n))
	return n, err
}

// sizeOf is a size in words.
func sizeOf(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%d GB", n>>30)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// counting counts what is read of an archive.
type counting struct {
	from io.Reader
	n    atomic.Int64
}

// Read implements io.Reader.
func (c *counting) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.n.Add(int64(n))
	return n, err
}
