package cpp

import (
	"fmt"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// This file writes the part of a matrix product that is the graph's own: the
// epilogue, which the runtime calls on each finished tile while it is in the
// cache, and the description of the product.

// PanelRows is the height of the runtime's register tile, for vectors of so many
// lanes: packed left operands come in panels of so many rows.
func PanelRows(lanes int) int64 {
	if lanes == 16 {
		return 14
	}
	return 6
}

// symbolMark stands for the epilogue's function in a product's description.
const symbolMark = "@"

func mulSize(a, b sym.Int) sym.Int { return sym.Mul(a, b) }

// epilogue writes the function over the tile T of m rows and n columns at
// (m0, n0) of matrix b.
func (e *emitter) epilogue() {
	k := e.k
	mm := k.Steps[0].Node
	e.header()
	e.open("void %s(void *const *B, const i64 *S, const float *T, i64 ldt, i64 b, i64 m0, i64 n0, i64 m, i64 n)", k.Name)
	e.pointers()
	e.open("for (i64 q = 0; q < m; q++)")
	e.p("const i64 row = b * %s + m0 + q;", e.size(mm.Outer[len(mm.Outer)-2]))
	if k.Vec > 0 {
		e.decode("row", k.Vec)
	} else {
		e.p("(void)row;")
	}
	for i := range k.Steps[1:] {
		e.tileItem(i+1, 1, true)
	}
	name := e.names[k.Vec]
	e.p("i64 %s = n0;", name)
	e.open("for (; %s + %d <= n0 + n; %s += %d)", name, e.lanes, name, e.lanes)
	e.tile(e.lanes, "_0")
	e.close()
	e.open("for (; %s < n0 + n; %s++)", name, name)
	e.tile(1, "_s")
	e.close()
	e.close()
	e.close()
	e.describe(mm)
}

// tile writes the epilogue's items; the product's element comes from the tile.
func (e *emitter) tile(lanes int, copies string) {
	e.copies = copies
	out := e.k.Steps[0].Node.MM.Out
	name := e.names[e.k.Vec]
	t := fmt.Sprintf("T[q * ldt + %s - n0]", name)
	if lanes > 1 {
		t = fmt.Sprintf("*(const %su *)(T + q * ldt + %s - n0)", regType(out.DType, lanes), name)
	}
	e.note(&e.k.Steps[0])
	e.p("const %s acc%s = %s;", regType(out.DType, lanes), copies, t)
	e.regs = map[*ir.Buffer]regVal{out: {operand{"acc" + copies, lanes}, true}}
	if e.keepsProduct() {
		e.storeProduct(lanes, "acc"+copies)
	}
	for i := range e.k.Steps[1:] {
		e.tileItem(i+1, lanes, false)
	}
	e.copies = ""
}

// tileItem writes what step i loads for a whole row of the tile (a channel's bias, its
// mean), or the rest. C cannot take the former out of the loop over the columns, whose
// stores may be to anywhere.
func (e *emitter) tileItem(i, lanes int, still bool) {
	st := &e.k.Steps[i]
	for j := range st.Body {
		v := &st.Body[j]
		if same := v.Op == ir.Load && !e.own(v.Buf) && !v.Index.Uses(e.k.Vec); same == still {
			e.value(i, j, lanes, false)
		}
	}
}

// keepsProduct reports whether the product itself is needed in memory.
func (e *emitter) keepsProduct() bool { return e.k.Place[e.k.Steps[0].Node.MM.Out] == sched.Memory }

func (e *emitter) storeProduct(lanes int, x string) {
	mm := e.k.Steps[0].Node.MM
	at := fmt.Sprintf("%s + %s", e.ptr(mm.Out), e.address(e.k.Steps[0].Out))
	step := e.k.Steps[0].Out.Coef[e.k.Vec]
	switch {
	case lanes == 1:
		e.p("*(%s) = %s;", at, x)
	case sym.Is(step, 1):
		e.p("*(f%du *)(%s) = %s;", lanes, at, x)
	default:
		e.p("%s(%s, %s, %s);", e.pre.fn("sts_f", lanes), at, e.size(step), x)
	}
}

// describe fills in the arguments of the runtime's product.
func (e *emitter) describe(n *ir.Node) {
	mm := n.MM
	nb := len(n.Outer) - 2
	list := func(xs []sym.Int) string {
		parts := make([]string, 4)
		for i := range parts {
			parts[i] = "0"
			if i < len(xs) {
				parts[i] = e.size(xs[i])
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	b, packed := fmt.Sprintf("(const float *)B[%d] + %s", e.env.Slot(mm.B), e.size(mm.BIdx.Off)), 0
	pack := e.env.Packing
	if pack != nil && mm.Conv == nil {
		b, packed = fmt.Sprintf("(const float *)B[%d]", e.env.Slot(pack.Buffer)), 1
	}
	a := fmt.Sprintf("(const float *)B[%d] + %s", e.env.Slot(mm.A), e.size(mm.AIdx.Off))
	if pack != nil && mm.Conv != nil {
		a, packed = fmt.Sprintf("(const float *)B[%d]", e.env.Slot(pack.Buffer)), 1
	}
	e.code.Gemm = fmt.Sprintf("{%s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %s, %d, %s%s}",
		e.size(n.Outer[nb]), e.size(n.Outer[nb+1]), e.size(mm.K), nb,
		list(n.Outer[:nb]), list(mm.AIdx.Coef[:nb]), list(mm.BIdx.Coef[:nb]),
		e.size(mm.AIdx.Coef[nb]), e.size(mm.AIdx.Coef[nb+2]), e.size(mm.BIdx.Coef[nb+2]), e.size(mm.BIdx.Coef[nb+1]),
		a, b, packed, symbolMark, convText(n, pack))
}

// convText is the description of an image after that of the product.
func convText(n *ir.Node, pack *plan.Packing) string {
	mm := n.MM
	if mm.Conv == nil {
		return ""
	}
	form := unpackedForm(n)
	if pack != nil {
		form = pack.Form
	}
	return fmt.Sprintf(", %d, {%s}", form, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(mm.Conv.Numbers())), ", "), "[]"))
}
