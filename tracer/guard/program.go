package guard

import (
	"math"
	"sync/atomic"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"
)

// This file is how the guards of a cache entry are tested on each call, where nothing is to be said of them: as steps
// that lie side by side in memory. A model has thousands of guards, and between two calls its kernels have
// taken the caches: a closure, its source and the source's parents are read from memory then, one after the other,
// for each guard. A step has what nearly all of them need.

// Program tests the guards of a cache entry, in their order.
type Program struct {
	steps   []step
	sources []*value.Source // of opFind and opDynamic
	guards  []*Guard        // of opTest and opType
	tensors []tensorForm    // of opTensor
	found   map[int]bool    // slots whose address a step finds
	lines   atomic.Pointer[[]uintptr]
}

// step finds an address, or tests one guard.
type step struct {
	op    opcode
	base  int32   // the slot of an address, to which off is added
	slot  int32   // where the address that is found goes
	index int32   // in a list of the program; opElem: the element
	off   uintptr // in bytes
	want  uint64  // the word that has to be there; opElem: what is added to the address of the elements
}

type opcode uint8

const (
	opTest    opcode = iota // a guard tests itself
	opFind                  // an address is found as its source says
	opDeref                 // the address that is there
	opElem                  // an element of the slice there
	opDynamic               // the content of the interface there, of a type that is known by its word
	opWord8                 // whether the word there is the wanted one
	opWord16
	opWord32
	opWord64
	opNotZero // whether the word there is not 0
	opType    // opWord64; where it is another, the guard tests itself
	opTensor  // whether the tensor there has a form
)

// form is how a guard is tested by a step: the zero form is by its own test.
type form struct {
	op     opcode
	off    uintptr // from the value at the guard's source
	want   uint64
	tensor *tensorForm
}

// tensorForm is what a TENSOR_MATCH without open strides asks for. -1 is any size.
type tensorForm struct {
	dtype         ops.DType
	grad          bool
	device        ops.Device
	shape, stride []int
}

func (f *tensorForm) of(t *torch.Tensor) bool {
	if t == nil || t.DType() != f.dtype || t.RequiresGrad() != f.grad || t.Device() != f.device {
		return false
	}
	shape, stride, _ := t.Layout()
	return fits(shape, f.shape) && fits(stride, f.stride)
}

// comparesWord says that the guard holds where the word so many bytes into the value is the wanted one.
func (g *Guard) comparesWord(off uintptr, want uint64) *Guard {
	g.form = form{op: opWord64, off: off, want: want}
	return g
}

// comparesScalar says that the guard holds where the bits of a scalar of kind k are those at now.
func (g *Guard) comparesScalar(k value.ScalarKind, now unsafe.Pointer) {
	switch {
	case k.Bits == 64:
		g.form = form{op: opWord64, want: *(*uint64)(now)}
	case k.Bits == 16:
		g.form = form{op: opWord16, want: uint64(*(*uint16)(now))}
	case k.Bits == 8:
		g.form = form{op: opWord8, want: uint64(*(*uint8)(now))}
	case k.Bits == 32 && (k.Class != value.Floating || !math.IsNaN(float64(*(*float32)(now)))): // NaNs of other bits may be the Same
		g.form = form{op: opWord32, want: uint64(*(*uint32)(now))}
	}
}

// Program is the set's guards as steps.
func (gs *Set) Program() *Program {
	b := programmer{entry: gs.entry, p: &Program{found: map[int]bool{}}}
	for _, g := range gs.List {
		b.guard(g)
	}
	return b.p
}

// programmer writes a program.
type programmer struct {
	p     *Program
	entry *Addresses
}

func (b *programmer) emit(s step) { b.p.steps = append(b.p.steps, s) }

func (b *programmer) guard(g *Guard) {
	f := g.form
	s := step{op: f.op, off: f.off, want: f.want}
	if f.op != opTest {
		base, off := b.reach(g.Source)
		s.base, s.off = base, s.off+off
	}
	switch f.op {
	case opTest, opType:
		s.index = int32(len(b.p.guards))
		b.p.guards = append(b.p.guards, g)
	case opTensor:
		s.index = int32(len(b.p.tensors))
		b.p.tensors = append(b.p.tensors, *f.tensor)
	}
	b.emit(s)
}

// reach has the value at s found: it is so many bytes after the address in the slot.
func (b *programmer) reach(s *value.Source) (slot int32, off uintptr) {
	for s.Kind == value.Field || s.Kind == value.Item {
		off += s.Offset
		s = s.Parent
	}
	if !b.p.found[s.Slot] {
		b.find(s)
		b.p.found[s.Slot] = true
	}
	return int32(s.Slot), off
}

// find emits the step that finds the address at s.
func (b *programmer) find(s *value.Source) {
	at := step{op: opFind, slot: int32(s.Slot)}
	word := uint64(0)
	switch s.Kind {
	case value.Deref:
		at.op = opDeref
	case value.Elem:
		at.op, at.index, at.want = opElem, int32(s.Index), uint64(s.Offset)
	case value.Dynamic:
		if b.entry.At(s) != nil { // of the type that is wanted
			if w, direct := host.TypeWord(b.entry.in, s.Parent.Type, b.entry.At(s.Parent)); direct {
				at.op, word = opDynamic, uint64(w)
			}
		}
	}
	if at.op != opFind {
		at.base, at.off = b.reach(s.Parent)
	}
	if at.op == opFind || at.op == opDynamic {
		at.index = int32(len(b.p.sources))
		b.p.sources = append(b.p.sources, s)
	}
	if at.op == opDynamic {
		at.want = word
	}
	b.emit(at)
}

// Holds tests all guards. Where they hold, a has the addresses that they have asked for.
func (p *Program) Holds(a *Addresses) bool {
	if len(p.steps) < longProgram {
		return p.test(a)
	}
	return p.noted(a)
}

// test is Holds without asking for memory ahead.
func (p *Program) test(a *Addresses) bool {
	for i := range p.steps {
		s := &p.steps[i]
		var at unsafe.Pointer
		if s.op > opFind {
			at = unsafe.Add(a.Slot[s.base].P, s.off)
		}
		ok := true
		switch s.op {
		case opTest:
			ok = p.guards[s.index].Test(a)
		case opFind:
			ok = a.At(p.sources[s.index]) != nil
		case opDeref:
			q := *(*unsafe.Pointer)(at)
			a.Slot[s.slot] = Slot{q, true}
			ok = q != nil
		case opElem:
			if h := (*value.SliceHeader)(at); int(s.index) < h.Len {
				a.Slot[s.slot] = Slot{unsafe.Add(h.Data, s.want), true}
			} else {
				ok = false
			}
		case opDynamic:
			if *(*uint64)(at) == s.want {
				a.Slot[s.slot] = Slot{unsafe.Add(at, unsafe.Sizeof(s.want)), true}
			} else {
				ok = a.At(p.sources[s.index]) != nil
			}
		case opWord8:
			ok = *(*uint8)(at) == uint8(s.want)
		case opWord16:
			ok = *(*uint16)(at) == uint16(s.want)
		case opWord32:
			ok = *(*uint32)(at) == uint32(s.want)
		case opWord64:
			ok = *(*uint64)(at) == s.want
		case opNotZero:
			ok = *(*uint64)(at) != 0
		case opType:
			ok = *(*uint64)(at) == s.want || p.guards[s.index].Test(a)
		case opTensor:
			ok = p.tensors[s.index].of(*(**torch.Tensor)(at))
		}
		if !ok {
			return false
		}
	}
	return true
}
