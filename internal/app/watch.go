package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tcdbg/explain/gate"
)

// This file is watch mode: save a file, the program runs again, and the
// screens say what changed.

// watchEvery is how often the program's files are looked at.
const watchEvery = 250 * time.Millisecond

// Watch implements tui.Feed.
func (f *feed) Watch(on bool) error {
	if f.again == nil || len(f.files) == 0 {
		return errors.New("only a program that tcdbg started can be watched")
	}
	f.mu.Lock()
	was := f.watched
	f.watched = on
	if on && !was {
		f.watches++
	}
	n := f.watches
	f.mu.Unlock()
	if on && !was {
		seen := stamps(f.files)
		f.guard(func() { f.watchFiles(n, seen) })
	}
	return nil
}

// watchFiles runs the program again whenever its files change, until watching ends or is
// begun another time.
func (f *feed) watchFiles(n int, seen string) {
	for {
		time.Sleep(watchEvery)
		f.mu.Lock()
		on := f.watched && n == f.watches
		f.mu.Unlock()
		if !on {
			return
		}
		now := stamps(f.files)
		if now == seen {
			continue
		}
		seen = now
		if err := f.Rerun(); errors.Is(err, errClosed) {
			return
		} else if err != nil {
			f.fail(err)
			return
		}
	}
}

// stamps sums up the state of files: a folder stands for its Go files.
func stamps(files []string) string {
	var b strings.Builder
	for _, file := range files {
		if hasGoFiles(file) {
			found, _ := filepath.Glob(filepath.Join(file, "*.go"))
			b.WriteString(stamps(found))
			continue
		}
		if st, err := os.Stat(file); err == nil {
			fmt.Fprintln(&b, file, st.Size(), st.ModTime().UnixNano())
		}
	}
	return b.String()
}

// filesOf are the words of a command line that are files.
func filesOf(argv []string) []string {
	var out []string
	for _, a := range argv {
		if st, err := os.Stat(a); err == nil && (st.Mode().IsRegular() || hasGoFiles(a)) {
			out = append(out, a)
		}
	}
	return out
}

// compare notes what differs between a run and the one before it.
func (f *feed) compare(st *feedState) {
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	if before == nil {
		return
	}
	words := changeWords(gate.Diff(before, f.fold(st)))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state == st {
		f.changes = words
	}
}

// changeWords is a difference in a few words.
func changeWords(d *gate.Difference) string {
	var parts []string
	add := func(n int, one, several string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, several))
		}
	}
	add(len(d.Breaks.Fixed), "break fixed", "breaks fixed")
	add(len(d.Breaks.New), "new break", "new breaks")
	add(len(d.Breaks.Moved), "break moved", "breaks moved")
	add(len(d.Recompiles.Fixed), "recompile fixed", "recompiles fixed")
	add(len(d.Recompiles.New), "new recompile", "new recompiles")
	add(len(d.Breaks.Counted)+len(d.Recompiles.Counted), "cause seen more or less often", "causes seen more or less often")
	add(len(d.Failures.New), "new failure", "new failures")
	add(len(d.Failures.Fixed), "failure fixed", "failures fixed")
	add(len(d.Graphs), "function with different graphs", "functions with different graphs")
	if len(d.Code) > 0 {
		parts = append(parts, d.Code[0])
		add(len(d.Code)-1, "graph changed as well", "graphs changed as well")
	}
	add(len(d.KernelsNew), "new kernel", "new kernels")
	add(len(d.KernelsGone), "kernel gone", "kernels gone")
	if len(parts) == 0 {
		return "no break, recompile, failure, graph or kernel changed"
	}
	return strings.Join(parts, ", ")
}
