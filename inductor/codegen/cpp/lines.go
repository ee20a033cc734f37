package cpp

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file says which lines a product of short sums asks for while it computes a tile.

// shortSum is the most terms of such a sum, as the runtime has it, and mostLines of how many arrays a tile asks for lines:
// it has no more steps to ask at.
const (
	shortSum  = 128
	mostLines = 4
)

// lines is the part of a product's description that says what its epilogue reads and writes at the place of each
// number, where all of these arrays have rows that are alike; empty where it says nothing.
func (e template) lines(n *ir.Node) string {
	terms, known := n.MM.K.IsConst()
	if !known || terms > shortSum || len(n.Outer) != 2 || e.k.Vec != 1 || e.asks {
		return ""
	}
	var at []string
	row, alike := int64(0), true
	touch := func(b *ir.Buffer, x ir.Index, _ bool) {
		width, known := x.Coef[0].IsConst()
		if !sym.Is(x.Coef[1], 1) || width == 0 {
			return // the same for all rows, or scattered
		}
		alike = alike && known && sym.Is(x.Off, 0) && b.DType == ops.Float32 && (row == 0 || row == width)
		row = width
		if i := fmt.Sprint(e.slot(b)); !slices.Contains(at, i) {
			at = append(at, i)
		}
	}
	e.touched(touch)
	if !alike || len(at) == 0 || len(at) > mostLines {
		return ""
	}
	return fmt.Sprintf(", .lines = %d, .line = {%s}, .line_row = %d", len(at), strings.Join(at, ", "), row)
}

// touched calls f for what the epilogue reads from memory and writes to it.
func (e template) touched(f func(b *ir.Buffer, x ir.Index, write bool)) {
	k := e.k
	for i := range k.Steps[1:] {
		st := &k.Steps[i+1]
		for j := range st.Body {
			switch v := &st.Body[j]; {
			case v.Op == ir.Load && !e.own(v.Buf):
				f(v.Buf, v.Index, false)
			case v.Op == ir.Store && k.Place[v.Buf] == sched.Memory:
				f(v.Buf, v.Index, true)
			}
		}
	}
	if e.keepsProduct() {
		f(k.Steps[0].Node.MM.Out, k.Steps[0].Out, true)
	}
}
