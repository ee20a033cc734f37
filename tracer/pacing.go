package tracer

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"unsafe"

	"tcdbg/tracer/host"
)

// This file lets the garbage collector come less often while a program starts and while
// anything is compiled: what a compile allocates lives about as long as it, and what is read of a program
// lives as long as the process, so that a quarter of the time went by in collections that found little.

const (
	usualPercent = 100 // what a Go program starts with; another was chosen by somebody
	mostPercent  = 400
	// mostGarbage is how much may be allocated between two collections, unless what lives is more.
	mostGarbage = 256 << 20
	// firstPercent has the first collection come when about mostGarbage was allocated: Go's heap is 4 MB then.
	firstPercent = 100 * mostGarbage / (4 << 20)
)

// pacing is the process's, as its collector is.
var pacing = pace{chosen: usualPercent, now: usualPercent}

type pace struct {
	sync.Mutex
	chosen   int  // by the program
	now      int  // what the collector was told
	young    bool // there was no collection since start
	compiles int  // that run
}

// StartPaced holds the first collection off until the process holds so much that it matters. It is for the
// process of an engine, at its start.
func StartPaced() { pacing.start() }

func (p *pace) start() {
	p.Lock()
	defer p.Unlock()
	p.young = true
	p.tell()
	// An object that nobody holds tells of the first collection.
	runtime.AddCleanup(new([1]*int), func(p *pace) {
		p.Lock()
		defer p.Unlock()
		p.young = false
		p.tell()
	}, p)
}

// compiling begins a compile and returns its end.
func compiling() (end func()) {
	p := &pacing
	p.Lock()
	defer p.Unlock()
	p.compiles++
	if p.compiles == 1 {
		p.tell()
	}
	return func() {
		p.Lock()
		defer p.Unlock()
		if p.compiles--; p.compiles == 0 {
			p.tell()
		}
	}
}

// tell tells the collector how much may be allocated, unless somebody else has.
func (p *pace) tell() {
	next := p.chosen
	switch {
	case p.chosen != usualPercent:
	case p.young:
		next = firstPercent
	case p.compiles > 0:
		next = compilePercent()
	}
	if before := debug.SetGCPercent(next); before != p.now {
		p.chosen, next = before, before
		debug.SetGCPercent(before)
	}
	p.now = next
}

// choose is debug.SetGCPercent of a program: it knows nothing of what is told besides.
func (p *pace) choose(percent int) (before int) {
	p.Lock()
	defer p.Unlock()
	before, p.chosen = p.chosen, max(percent, -1)
	p.tell()
	return before
}

// setPercent is debug.SetGCPercent in a program.
func setPercent(_ *host.Thread, _ *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	before := pacing.choose(*(*int)(args[0]))
	if result != nil {
		*(*int)(result) = before
	}
}

// compilePercent is how much may be allocated until the next collection, in percent of what lives.
func compilePercent() int {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return usualPercent
	}
	return int(min(max(100*mostGarbage/max(live[0].Value.Uint64(), 1), usualPercent), mostPercent))
}
