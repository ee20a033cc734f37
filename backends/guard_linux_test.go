package backends

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file places the operands of products against pages that must not be touched:
// templates read images and matrices where they lie, and a tile that reaches beyond
// them would fault, which ends the process.

// guarded copies data between two forbidden pages, against the one after it or the
// one before it, and returns where it lies.
func guarded(t *testing.T, data []byte, atEnd bool) uintptr {
	t.Helper()
	page := syscall.Getpagesize()
	room := (len(data) + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, room+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(mem) })
	first := page
	if atEnd {
		first += room - len(data)
	}
	copy(mem[first:], data)
	for _, wall := range [][]byte{mem[:page], mem[page+room:]} {
		if err := syscall.Mprotect(wall, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return uintptr(unsafe.Pointer(&mem[first]))
}

// runGuarded runs a module whose every operand lies against a forbidden page.
func runGuarded(t *testing.T, lanes int, m *graph.Module, in []torch.Value, atEnd bool) []torch.Value {
	t.Helper()
	e := NewSet(Config{CacheDir: sharedCache, Lanes: lanes, Threads: 2}).engine()
	x, err := e.compile(m.G, &tracer.Request{Module: m, Example: in}, inductor.Options{Params: paramInputs(m.G, nil, nil)})
	if err != nil {
		t.Fatal(err)
	}
	f := x.frames.Get().(*frame)
	f.bind(in)
	f.place(nil)
	for i, buf := range x.prog.Inputs {
		f.ptrs[buf] = guarded(t, in[i].(*torch.Tensor).Storage().Bytes(), atEnd)
	}
	f.steps(in)
	return f.outputs(in)
}

// TestOperandsAreNotLeft runs convolutions and products, packed beforehand or not, on
// guarded operands.
func TestOperandsAreNotLeft(t *testing.T) {
	needCompiler(t)
	modules := map[string]func() (*graph.Module, []torch.Value){}
	for _, c := range convCases {
		for _, param := range []bool{true, false} {
			if c.kh*c.kw > 1 && (c.in < 32 || !param) { // whose image is copied as in those that remain
				continue
			}
			modules[fmt.Sprint(c, param)] = func() (*graph.Module, []torch.Value) {
				g := newTestGraph("guard")
				return g.outputs(c.emit(g, ops.Float32, param, nil)), g.in
			}
		}
	}
	for _, c := range gradCases {
		modules["gradients "+c.String()] = func() (*graph.Module, []torch.Value) {
			g := newTestGraph("guard")
			return g.outputs(c.gradients(g, []bool{true, true})...), g.in
		}
	}
	for _, s := range [][3]int{{1, 300, 129}, {15, 33, 65}, {100, 70, 600}} {
		modules[fmt.Sprint(s)] = func() (*graph.Module, []torch.Value) {
			g := newTestGraph("guard")
			a, b, w := g.input(filled(ops.Float32, 1, s[0], s[2])), g.input(filled(ops.Float32, 2, s[2],
				s[1])), g.param(filled(ops.Float32, 3, s[1], s[2]))
			return g.outputs(g.Emit(ops.Mm, a, b), g.Emit(ops.Linear, a, w)), g.in
		}
	}
	names := slices.Sorted(maps.Keys(modules))
	for _, name := range test.Some(t, len(names)/3, names) {
		make := modules[name]
		t.Run(name, func(t *testing.T) {
			m, in := make()
			want := m.Run(in)
			for _, lanes := range []int{8, thisCPU().Lanes} {
				for _, atEnd := range []bool{true, false} {
					if err := sameValues(runGuarded(t, lanes, m, in, atEnd), want, 1e-4); err != nil {
						t.Errorf("%d lanes, at the end %v: %v", lanes, atEnd, err)
					}
				}
			}
		})
	}
}
