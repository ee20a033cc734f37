package guard

import (
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"unsafe"

	"tcdbg/tracer/value"
)

// This file is how a place with very many entries is spared from testing each of them: most
// guards compare one word of the call with one of their own, and entries that differ in
// such a word are found by it.

// Probe is the word that a guard compares: where Read gives another word than Want, or none,
// the guard fails. Where it gives that word, the guard still has to be tested.
type Probe struct {
	// Name says which word it is: two guards at one place of the program whose probes have
	// one name read the same.
	Name func() string
	Read func(a *Addresses) (word uint64, ok bool)
	Want uint64
}

// Tells adds what a guard can be found by.
func (g *Guard) Tells(p Probe) { g.probe = &p }

// Probe is what a guard can be found by; nil for most kinds.
func (g *Guard) Probe() *Probe { return g.probe }

// tellsAt is Tells of a word that is read of the value at s.
func (g *Guard) tellsAt(s *value.Source, what string, read func(p unsafe.Pointer) uint64, want uint64) {
	g.Tells(Probe{
		Name: func() string { return what + placeName(s) },
		Read: func(a *Addresses) (uint64, bool) {
			if p := a.At(s); p != nil {
				return read(p), true
			}
			return 0, false
		},
		Want: want,
	})
}

// placeName is a name that two sources at one place of the program have in common only if
// they lead to the same value. What is printed for people may be alike for two.
func placeName(s *value.Source) string {
	var sb strings.Builder
	for ; s != nil; s = s.Parent {
		fmt.Fprintf(&sb, "/%d:%d", s.Kind, s.Index)
		switch s.Kind {
		case value.Register:
			fmt.Fprintf(&sb, ":%d:%p", s.Frame, s.Reg)
		case value.Free:
			fmt.Fprintf(&sb, ":%p", s.Reg)
		case value.Global:
			fmt.Fprintf(&sb, ":%p", s.Global)
		case value.Dynamic:
			fmt.Fprintf(&sb, ":%p", s.Dyn)
		case value.MapValue:
			fmt.Fprintf(&sb, ":%q", s.Key.Text)
		}
	}
	return sb.String()
}

// exprName is placeName of an expression.
func exprName(e *value.Expr) string {
	switch {
	case e == nil:
		return ""
	case e.Leaf != nil:
		return placeName(e.Leaf)
	}
	return fmt.Sprintf("(%v %d %v %x %s %s)", e.Op, e.Const.I, e.Kind, math.Float64bits(e.Const.F), exprName(e.X), exprName(e.Y))
}

var seed = maphash.MakeSeed()

// scalarWord is equal for two values of one type that are the Same.
func scalarWord(v value.Scalar) uint64 { return uint64(v.I) ^ math.Float64bits(v.F) }

func stringWord(p unsafe.Pointer) uint64 { return maphash.String(seed, *(*string)(p)) }

func pointerWord(p unsafe.Pointer) uint64 { return uint64(uintptr(p)) }

// shapeWord is a word of the sizes of a tensor, without those that may be any.
func shapeWord(shape, fixed []int) uint64 {
	h := uint64(len(shape))
	for i, n := range shape {
		if i < len(fixed) && fixed[i] < 0 {
			continue
		}
		h = (h ^ uint64(n)) * 0x9E3779B97F4A7C15
	}
	return h
}

// openDims names the sizes that may be any: "" where all are fixed.
func openDims(fixed []int) string {
	var sb strings.Builder
	for i, n := range fixed {
		if n < 0 {
			fmt.Fprintf(&sb, "%d,", i)
		}
	}
	return sb.String()
}
