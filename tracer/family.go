package tracer

import (
	"slices"
	"sync"

	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file shares entries between methods that are compiled for one receiver each: of twelve
// equal blocks of a network one is compiled, and the other eleven join its frame. In PyTorch,
// too, entries belong to the code; here receivers that differ keep frames of their own, so that
// the layers of a network do not use up each other's recompile limit.

// family is what is compiled of one function with the same options.
type family struct {
	mu     sync.Mutex
	frames map[string][]*frameCache // by place, the oldest first
}

// joinWindow is how many frames of a place, the newest, are asked for an entry that fits.
const joinWindow = 16

// familyOf is the family of a function with options; nil where it has none.
func (t *Tracer) familyOf(fn *ssa.Function, opts options) *family {
	key, ok := sharedKey(fn, opts)
	if !ok {
		return nil
	}
	f, _ := t.alike.LoadOrStore(key, &family{frames: map[string][]*frameCache{}})
	return f.(*family)
}

// join returns a frame of the place that has an entry for the call.
func (f *family) join(place string, in *host.Interp, frames []*host.Frame) *frameCache {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	list := f.frames[place]
	f.mu.Unlock()
	for _, fc := range slices.Backward(list[max(0, len(list)-joinWindow):]) {
		if fc.eager.Load() {
			continue
		}
		if entry, a := fc.entries.Find(in, frames); entry != nil {
			a.Release()
			return fc
		}
	}
	return nil
}

// add offers a frame to those who come later.
func (f *family) add(place string, fc *frameCache) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frames[place] = append(f.frames[place], fc)
}

// forget drops all frames.
func (f *family) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.frames)
}
