package logs

import (
	"bufio"
	"bytes"
	"io"
	"path/filepath"
	"sync"
)

// This file finds the names that a forked process took over. Such a process writes a
// file of its own, but not the file names that its parent had interned before: they
// are in the parent's file alone.

// nameOf is the file name with the given id, "" where no file of the run tells it.
func (st *Store) nameOf(src *source, id int64) string {
	src.mu.Lock()
	name, known := src.names[id]
	_, own := src.names[0] // it numbers its names from the beginning
	taken := src.taken
	src.mu.Unlock()
	if known || own {
		return name
	}
	if taken == nil {
		taken = st.inherited(src)
		src.mu.Lock()
		src.taken = taken
		src.mu.Unlock()
	}
	return taken[id]
}

// inherited are the names that src's parent may have had: those of the process of its
// rank, or what all processes agree on.
func (st *Store) inherited(src *source) internTable {
	var tables []internTable
	ranked := false
	for _, other := range st.traces() {
		if other == src || filepath.Dir(other.Path) != filepath.Dir(src.Path) {
			continue
		}
		rank := src.rank()
		same := rank >= 0 && other.rank() == rank
		if ranked && !same {
			continue
		}
		names := other.listed.in(other.file)
		if names[0] == "" { // a child too
			continue
		}
		if same && !ranked {
			tables, ranked = nil, true
		}
		tables = append(tables, names)
	}
	return agreed(tables)
}

func (src *source) rank() int {
	src.mu.Lock()
	defer src.mu.Unlock()
	return src.Rank
}

// traces are the sources that can be read again from their beginnings.
func (st *Store) traces() []*source {
	st.mu.RLock()
	defer st.mu.RUnlock()
	var out []*source
	for _, s := range st.sources {
		s.mu.Lock()
		if s.file != nil && s.Format != FormatText {
			out = append(out, s)
		}
		s.mu.Unlock()
	}
	return out
}

// agreed keeps the names that are the same wherever their number is given.
func agreed(tables []internTable) internTable {
	out := internTable{}
	for i, names := range tables {
		for id, name := range names {
			if i == 0 {
				out[id] = name
			}
		}
		for id := range out {
			if names[id] != out[id] {
				delete(out, id)
			}
		}
	}
	return out
}

// namesAsRead are the names in a file, which are read once for all who were forked from its
// process, and again only where it has grown.
type namesAsRead struct {
	mu    sync.Mutex
	size  int64
	names internTable
}

func (n *namesAsRead) in(f *plainFile) internTable {
	n.mu.Lock()
	defer n.mu.Unlock()
	size, err := f.size()
	if n.names == nil || err != nil || size != n.size {
		n.names, n.size = namesIn(f), size
	}
	return n.names
}

// namesIn reads the string table of a trace, whose records may not have been read yet.
func namesIn(f io.ReaderAt) internTable {
	names := internTable{}
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 256<<10)
	for {
		line, err := in.ReadSlice('\n')
		if i := bytes.Index(line, []byte(`] {"str": [`)); i >= 0 && err == nil && isLevel(line[0]) {
			meta := line[i+len(`] {"str": `):]
			names.note(bytes.TrimRight(meta, "}\r\n"))
		}
		for err == bufio.ErrBufferFull { // the rest of a line that is no name's
			_, err = in.ReadSlice('\n')
		}
		if err != nil || len(names) > maxNames {
			return names
		}
	}
}

// maxNames bounds what is read of another file's table.
const maxNames = 1 << 16
