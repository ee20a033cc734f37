package logs

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollEvery is how often growing files are looked at where the kernel does not
// tell (network file systems, containers).
const pollEvery = 200 * time.Millisecond

// Follow reads all sources and goes on as they grow; files that appear in
// followed folders join. each gets every record; idle, if not nil, is called
// whenever all that is there has been delivered. Follow returns nil when ctx
// ends, after a last look. Where there are pipes alone it ends with them, as Read does.
func (st *Store) Follow(ctx context.Context, each func(*Record), idle func()) error {
	w := st.watch()
	defer w.close()
	defer context.AfterFunc(ctx, st.stopPipes)()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	free := newFree()
	for first := true; ; first = false {
		last := ctx.Err() != nil
		if err := st.lookForFiles(w); err != nil {
			return err
		}
		if n := st.drain(free, each, last); idle != nil && (n > 0 || first || last) {
			idle()
		}
		switch {
		case last:
			return nil
		case st.alive() == 0 && st.pipesAlone():
			return st.firstError()
		}
		select {
		case <-ctx.Done():
		case <-w.events():
		case <-tick.C:
		}
	}
}

// drain reads what is there now and returns the number of records and of
// sources that came to their end.
func (st *Store) drain(free chan *batch, each func(*Record), last bool) int {
	alive := st.alive()
	p := newPipe(context.Background())
	p.free = free
	go func() {
		defer close(p.out)
		for i := range st.sources {
			for st.advance(p, i, last) {
			}
		}
	}()
	n := 0
	for b := range p.batches() {
		st.deliver(b, each)
		n += len(b.recs)
		p.recycle(b)
	}
	return n + alive - st.alive()
}

// alive is how many sources may still grow.
func (st *Store) alive() int {
	n := 0
	for _, src := range st.sources {
		if !src.dead {
			n++
		}
	}
	return n
}

// stopPipes ends reads that wait for a pipe.
func (st *Store) stopPipes() {
	st.mu.RLock()
	defer st.mu.RUnlock()
	for _, src := range st.sources {
		if src.pipe != nil {
			src.pipe.stop()
		}
	}
}

// pipesAlone reports whether no file of what was named can grow or appear.
func (st *Store) pipesAlone() bool {
	return !slices.ContainsFunc(st.sources, func(src *source) bool { return src.pipe == nil }) && len(st.sources) == len(st.paths)
}

// errCutShort ends a file whose records are no longer where they were read.
var errCutShort = errors.New("shrank while it was followed (is another run writing it? open it again)")

// cutShort reports whether the file holds less than was read of it.
func (src *source) cutShort() bool { return src.file != nil && src.file.shrank() }

// lookForFiles adds files that appeared in folders, and named files that did
// not exist at first.
func (st *Store) lookForFiles(w *watcher) error {
	for _, p := range st.paths {
		if p == "-" {
			continue
		}
		if _, err := os.Stat(p); err != nil {
			continue
		}
		if _, err := st.addPath(p); err != nil {
			return err
		}
		w.add(p)
	}
	return nil
}

// watcher is fsnotify where it works; polling covers the rest.
type watcher struct {
	w    *fsnotify.Watcher
	seen map[string]bool
}

func (st *Store) watch() *watcher {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return &watcher{} // out of inotify instances: polling alone
	}
	return &watcher{w: w, seen: map[string]bool{}}
}

func (w *watcher) add(p string) {
	if w.w == nil || w.seen[p] {
		return
	}
	w.seen[p] = true
	if err := w.w.Add(p); err != nil {
		w.seen[p] = true // cannot be watched: polling alone
	}
}

func (w *watcher) events() <-chan fsnotify.Event {
	if w.w == nil {
		return nil
	}
	return w.w.Events
}

func (w *watcher) close() {
	if w.w != nil {
		_ = w.w.Close()
	}
}
