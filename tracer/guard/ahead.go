package guard

import (
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host/prefetch"
	"tcdbg/tracer/value"
)

// This file has the memory that a long program of guards reads asked for at once, before the first is tested. Kernels have
// taken the caches between two calls, and the tests wait for one address after the other: the next depends on
// what lies at the last. Nearly always they are those of the call before, which were noted.

// longProgram is so many steps that asking pays.
const longProgram = 64

// line is a cache line; closure is about what a guard's own test has captured.
const (
	line    = 64
	closure = 40
)

// noted asks for what the last program that was noted has read, and notes what this one reads where none was.
func (p *Program) noted(a *Addresses) bool {
	lines := p.lines.Load()
	if lines != nil {
		prefetch.Lines(*lines)
	}
	if !p.test(a) {
		return false
	}
	if lines == nil {
		found := p.reads(a)
		p.lines.Store(&found)
	}
	return true
}

// reads lists the cache lines that testing the guards on a, where they hold, has read, in that order.
func (p *Program) reads(a *Addresses) []uintptr {
	var lines []uintptr
	known := map[uintptr]bool{}
	add := func(at unsafe.Pointer, size uintptr) {
		if at == nil {
			return
		}
		for l := uintptr(at) &^ (line - 1); l < uintptr(at)+size; l += line {
			if !known[l] {
				known[l] = true
				lines = append(lines, l)
			}
		}
	}
	sizes := func(of []int) { add(unsafe.Pointer(unsafe.SliceData(of)), uintptr(len(of))*unsafe.Sizeof(0)) }
	for _, s := range p.steps {
		switch s.op {
		case opTest:
			g := p.guards[s.index]
			add(unsafe.Pointer(&g.Test), unsafe.Sizeof(g.Test))
			add(*(*unsafe.Pointer)(unsafe.Pointer(&g.Test)), closure)
			for at := g.Source; at != nil; at = at.Parent {
				add(unsafe.Pointer(at), unsafe.Sizeof(*at))
				if at.Kind != value.Field && at.Kind != value.Item { // At needs no parent of one that was found
					add(a.At(at), 8)
					break
				}
			}
			continue
		case opFind:
			continue
		}
		at := unsafe.Add(a.Slot[s.base].P, s.off)
		add(at, 8)
		if s.op != opTensor {
			continue
		}
		t, f := *(**torch.Tensor)(at), &p.tensors[s.index]
		add(unsafe.Pointer(t), unsafe.Sizeof(*t))
		shape, stride, _ := t.Layout()
		for _, of := range [][]int{shape, stride, f.shape, f.stride} {
			sizes(of)
		}
	}
	return lines
}

// Place is where a value is that the guards have found on their way: so many bytes after the address in a slot.
type Place struct {
	slot int32
	off  uintptr
	ok   bool
}

// Place is that of the value at s; it finds nothing where no guard asks for it.
func (p *Program) Place(s *value.Source) (at Place) {
	for s.Kind == value.Field || s.Kind == value.Item {
		at.off += s.Offset
		s = s.Parent
	}
	at.slot, at.ok = int32(s.Slot), p.found[s.Slot]
	return at
}

// Reach is At for a source whose place is known, in one look-up: sources are not in the caches when a call begins.
func (a *Addresses) Reach(at Place, s *value.Source) unsafe.Pointer {
	if at.ok && int(at.slot) < len(a.Slot) {
		if x := a.Slot[at.slot]; x.Done && x.P != nil {
			return unsafe.Add(x.P, at.off)
		}
	}
	return a.At(s)
}
