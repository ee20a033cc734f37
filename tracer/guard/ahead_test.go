package guard

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"testing"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/tracer/value"
)

// TestLongProgram: negated bools of a long program are tested as words, what it reads is noted when it has held once, and
// its places are those of the values; a value that changes is seen, also where another object was noted.
func TestLongProgram(t *testing.T) {
	var on, other [2 * longProgram]bool
	for i := range on {
		on[i], other[i] = true, true
	}
	whole := &value.Source{Name: "modes", Type: types.NewArray(types.Typ[types.Bool], int64(len(on)))}
	addresses := func(of *[2 * longProgram]bool) *Addresses {
		return &Addresses{Slot: []Slot{{unsafe.Pointer(of), true}}}
	}
	gs := NewSet(nil, addresses(&on), func() logs.Pos { return logs.Pos{} })
	var fields []*value.Source
	for i := range on {
		f := &value.Source{Kind: value.Item, Parent: whole, Type: types.Typ[types.Bool], Offset: uintptr(i), Slot: 1 + i}
		f.Name = fmt.Sprintf("modes[%d]", i)
		e := value.LeafExpr(f)
		for range 2 {
			e = &value.Expr{Op: token.NOT, Kind: e.Kind, X: e}
		}
		fields = append(fields, f)
		gs.Expr(e, value.Scalar{I: 1})
	}
	p := gs.Program()
	if len(p.guards) != 0 {
		t.Errorf("%d guards test themselves, want words", len(p.guards))
	}
	if !p.Holds(addresses(&on)) {
		t.Fatal("does not hold on what it was made of")
	}
	if lines := p.lines.Load(); lines == nil || !slices.Contains(*lines, uintptr(unsafe.Pointer(&on))&^(line-1)) {
		t.Errorf("the modes are not among the lines that are asked for")
	}
	a := addresses(&other)
	if !p.Holds(a) {
		t.Error("does not hold on equal values elsewhere")
	}
	for i, f := range fields {
		at := p.Place(f)
		if !at.ok || a.Reach(at, f) != unsafe.Pointer(&other[i]) {
			t.Fatalf("%s is reached at another place", f.Name)
		}
	}
	other[77] = false
	if p.Holds(a) {
		t.Error("holds though a value has changed")
	}
}
