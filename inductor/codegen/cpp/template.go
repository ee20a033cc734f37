package cpp

import (
	"fmt"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
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

// template writes the kernel of a product.
type template struct{ *emitter }

// Marks in a product's description: for the epilogue's function and for its operands.
const (
	symbolMark = "@f"
	leftMark   = "@a"
	rightMark  = "@b"
)

func mulSize(a, b sym.Int) sym.Int { return sym.Mul(a, b) }

// epilogue writes the function over the tile T of m rows and n columns at
// (m0, n0) of matrix b.
func (e template) epilogue() {
	k := e.k
	mm := k.Steps[0].Node
	e.header()
	e.open("void %s(void *const *B, const i64 *S, const float *T, i64 ldt, i64 b, i64 m0, i64 n0, i64 m, i64 n)", k.Name)
	e.pointers()
	e.before()
	rows := mm.Outer[len(mm.Outer)-2]
	e.ahead(rows)
	if walked := e.pixelLoops(rows); walked > 0 {
		e.pixelRows(rows, walked)
	} else {
		e.open("for (i64 q = 0; q < m; q++)")
		e.p("const i64 row = b * %s + m0 + q;", e.number(rows))
		if k.Vec > 0 {
			e.decode("row", k.Vec)
		} else {
			e.p("(void)row;")
		}
		e.maskedRow(func(v *ir.Value) bool { return !v.Index.Uses(k.Vec) })
		e.close()
	}
	e.close()
	e.describe(mm)
}

// maskedRow writes one row, and before it the same for columns of which a causal mask hides none.
func (e template) maskedRow(still func(v *ir.Value) bool) {
	c, differ := e.env.Causal, false
	masked := e.k
	seen := *masked
	if c != nil {
		seen.Steps, differ = c.Seen()
	}
	if !differ {
		e.tileRow(still)
		return
	}
	e.k, e.same = &seen, map[int][]bool{}
	e.open("if (n0 + n <= m0 + q + %s + 1)", e.size(c.Past))
	e.tileRow(still)
	e.close()
	e.k, e.same = masked, map[int][]bool{}
	e.open("else")
	e.tileRow(still)
	e.close()
}

// leastAhead is how many bytes an epilogue reads and writes that asks for its lines ahead, leastStored how many one
// that only writes: fewer are in the caches.
const (
	leastAhead  = 1 << 20
	leastStored = 4 << 20
)

// ahead writes what the function does without a tile: it asks for the lines that it will read and write. Rows lie far
// apart, and no more than a few numbers of each belong to a tile, so that the processor does not foresee them.
func (e template) ahead(rows sym.Int) {
	k := e.k
	mm := k.Steps[0].Node.MM
	if mm.Grad != nil || mm.Conv != nil && mm.Conv.Lanes > 1 || k.Vec == 0 {
		return
	}
	lines, loads, bytes := e.asked(func(ir.Index) bool { return true })
	if bytes < leastAhead || loads == 0 && bytes < leastStored {
		return
	}
	e.asks = true
	e.open("if (!T)")
	e.open("for (i64 q = 0; q < m; q++)")
	e.p("const i64 row = b * %s + m0 + q;", e.number(rows))
	e.decode("row", k.Vec)
	e.open("for (i64 %s = n0; %[1]s < n0 + n; %[1]s += 16)", e.names[k.Vec])
	for _, line := range lines {
		e.p("%s", line)
	}
	e.close()
	e.close()
	e.p("return;")
	e.close()
}

// pixelsAhead is ahead for a block of channels of so many pixels, each of which is a line; next steps to the pixel after it. What
// is the same for all pixels is in the cache, and what is only written, half a line at a time, as good as there.
func (e template) pixelsAhead(next string, still func(x ir.Index) bool) {
	n := e.k.Steps[0].Node
	if formOf(e.env.Machine.Lanes, n, e.env.Packing) != plan.ConvDirect {
		return
	}
	lines, loads, bytes := e.asked(func(x ir.Index) bool { return !still(x) })
	whole := sym.Is(e.k.Loops[e.k.Vec].Size, 16)
	if bytes < leastAhead || loads == 0 && !whole {
		return
	}
	e.asks = true
	e.open("if (!T)")
	e.open("for (i64 q = 0; q < m; q++)")
	for _, line := range lines {
		e.p("%s", line)
	}
	e.p("%s;", next)
	e.close()
	e.p("return;")
	e.close()
}

// asked is what asks for the lines that an epilogue reads and writes side by side, of indices that want says; loads is how many of
// them it reads, bytes how large these buffers are.
func (e template) asked(want func(x ir.Index) bool) (lines []string, loads int, bytes int64) {
	e.touched(func(b *ir.Buffer, x ir.Index, write bool) {
		if !sym.Is(x.Coef[e.k.Vec], 1) || !want(x) {
			return
		}
		access := 0
		if write {
			access = 1
		} else {
			loads++
		}
		lines = append(lines, fmt.Sprintf("__builtin_prefetch(%s + %s, %d);", e.ptr(b), e.address(x), access))
		bytes += b.Bytes()
	})
	return lines, loads, bytes
}

// pixelLoops is how many loops walk the rows of a tile that are a convolution's pixels, one
// or, where rows of the image are longer in memory, two: those around them stand still. 0
// where no such loops do.
func (e template) pixelLoops(rows sym.Int) int {
	conv := e.k.Steps[0].Node.MM.Conv
	if conv == nil || conv.Lanes <= 1 {
		return 0
	}
	all := sym.Const(1)
	for walked := 1; walked <= min(2, e.k.Vec); walked++ {
		all = sym.Mul(all, e.k.Loops[e.k.Vec-walked].Size)
		if sym.Is(sym.Mod(all, rows), 0) {
			return walked
		}
	}
	return 0
}

// pixelRows is the loop over a tile whose rows are pixels, walked by one or two loops, and
// whose columns are a block of channels: what belongs to channels is loaded before it.
func (e template) pixelRows(rows sym.Int, walked int) {
	k, first := e.k, e.k.Vec-walked
	e.p("const i64 row = b * %s + m0;", e.number(rows))
	rest, next := "row", ""
	for loop := k.Vec - 1; loop >= first; loop-- {
		name, size := e.names[loop], e.size(k.Loops[loop].Size)
		if loop == 0 {
			e.p("i64 %s = %s;", name, rest)
		} else {
			e.p("i64 %s = %s %% %s;", name, rest, size)
			e.p("const i64 o%d = %s / %s;", loop, rest, size)
			rest = fmt.Sprintf("o%d", loop)
		}
		if loop == k.Vec-1 {
			next = name + "++"
		} else {
			last := e.names[k.Vec-1]
			next = fmt.Sprintf("if (++%s == %s) %s = 0, %s++", last, e.size(k.Loops[k.Vec-1].Size), last, name)
		}
	}
	if first > 0 {
		e.decode(rest, first)
	}
	e.p("const i64 %s = n0;", e.names[k.Vec])
	rests := func(x ir.Index) bool {
		for loop := first; loop < k.Vec; loop++ {
			if x.Uses(loop) {
				return false
			}
		}
		return true
	}
	still := func(v *ir.Value) bool { return rests(v.Index) }
	if kind, found := e.ending(walked); kind != 0 {
		e.ends = kind
		found.places()
	}
	e.pixelsAhead(next, rests)
	n, ok := k.Loops[k.Vec].Size.IsConst()
	if !ok || n != int64(e.lanes) { // a block wider than a vector
		e.open("for (i64 q = 0; q < m; q++)")
		e.blockColumns()
		e.p("%s;", next)
		e.close()
		return
	}
	e.copies = "_0"
	for i := range k.Steps[1:] {
		e.tileItem(i+1, e.lanes, still)
	}
	e.copies = ""
	e.open("for (i64 q = 0; q < m; q++)")
	e.tile(e.lanes, "_0", func(v *ir.Value) bool { return !still(v) })
	e.p("%s;", next)
	e.close()
}

// blockColumns walks the columns of a block that is wider than a vector.
func (e template) blockColumns() {
	name := e.names[e.k.Vec]
	e.open("for (i64 c = n0; c < n0 + n; c += %d)", e.lanes)
	e.p("const i64 %s = c;", name)
	e.tile(e.lanes, "_0", func(*ir.Value) bool { return true })
	e.close()
}

// tileRow writes one row: what is the same for all of it, then vectors and the rest.
func (e template) tileRow(still func(v *ir.Value) bool) {
	for i := range e.k.Steps[1:] {
		e.tileItem(i+1, 1, still)
	}
	moves := func(v *ir.Value) bool { return !still(v) }
	name := e.names[e.k.Vec]
	e.p("i64 %s = n0;", name)
	e.open("for (; %s + %d <= n0 + n; %s += %d)", name, e.lanes, name, e.lanes)
	e.tile(e.lanes, "_0", moves)
	e.close()
	e.open("for (; %s < n0 + n; %s++)", name, name)
	e.tile(1, "_s", moves)
	e.close()
}

// tile writes the epilogue's items, of their loads those that want says; the product's
// element comes from the tile.
func (e template) tile(lanes int, copies string, want func(v *ir.Value) bool) {
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
		e.rest(i+1, lanes, want)
	}
	e.copies = ""
}

// tileItem writes what step i loads for a whole row of the tile, or for all its rows (a
// channel's bias, its mean). C cannot take these out of the loop, whose stores may be to
// anywhere.
func (e template) tileItem(i, lanes int, still func(v *ir.Value) bool) {
	st := &e.k.Steps[i]
	for j := range st.Body {
		if v := &st.Body[j]; v.Op == ir.Load && !e.own(v.Buf) && still(v) {
			e.value(i, j, lanes, false)
		}
	}
}

// rest writes what tileItem leaves.
func (e template) rest(i, lanes int, want func(v *ir.Value) bool) {
	st := &e.k.Steps[i]
	for j := range st.Body {
		if v := &st.Body[j]; v.Op != ir.Load || e.own(v.Buf) || want(v) {
			e.value(i, j, lanes, false)
		}
	}
}

// keepsProduct reports whether the product itself is needed in memory.
func (e *emitter) keepsProduct() bool { return e.k.Place[e.k.Steps[0].Node.MM.Out] == sched.Memory }

func (e template) storeProduct(lanes int, x string) {
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
func (e template) describe(n *ir.Node) {
	if n.MM.Conv != nil {
		e.describeConv(n)
		return
	}
	mm := n.MM
	if mm.Grad != nil {
		e.describeGrad(mm, n.Outer)
		return
	}
	nb := len(n.Outer) - 2
	packed := 0
	e.code.operands = [2]location{
		locate(mm.A, e.env.Slot(mm.A), e.size(mm.AIdx.Off)), locate(mm.B, e.env.Slot(mm.B), e.size(mm.BIdx.Off)),
	}
	if pack := e.env.Packing; pack != nil {
		packed, e.code.operands[1] = 1, locate(pack.Buffer, e.env.Slot(pack.Buffer), "0")
	}
	e.code.Gemm = fmt.Sprintf("{%s, %s, %s, %d, %s, %s, %s, %s, %s, %s, %s, %s, %s, %d, %s%s}",
		e.size(n.Outer[nb]), e.size(n.Outer[nb+1]), e.size(mm.K), nb,
		e.four(n.Outer[:nb]), e.four(mm.AIdx.Coef[:nb]), e.four(mm.BIdx.Coef[:nb]),
		e.size(mm.AIdx.Coef[nb]), e.size(mm.AIdx.Coef[nb+2]), e.size(mm.BIdx.Coef[nb+2]), e.size(mm.BIdx.Coef[nb+1]),
		leftMark, rightMark, packed, symbolMark, e.env.Machine.typeText(mm.A.DType))
	if e.asks {
		e.code.Gemm = strings.TrimSuffix(e.code.Gemm, "}") + ", .ahead = 1}"
	}
	if text := e.lines(n); text != "" {
		e.code.Gemm = strings.TrimSuffix(e.code.Gemm, "}") + text + "}"
	}
}

// location is where a product's operand begins: so many elements into a buffer.
type location struct {
	slot   int
	off    string
	narrow bool // elements of two bytes; the runtime's type says what they are
}

func locate(b *ir.Buffer, slot int, off string) location {
	return location{slot, off, b.DType != ops.Float32}
}

// nowhere is the slot of an operand that lies in no buffer.
const nowhere = -1

// text is the pointer in C.
func (l location) text() string {
	if l.slot == nowhere {
		return "0"
	}
	if l.narrow {
		return fmt.Sprintf("(const float *)((const h1 *)B[%d] + %s)", l.slot, l.off)
	}
	return fmt.Sprintf("(const float *)B[%d] + %s", l.slot, l.off)
}

// row is the position of the buffer and the number of bytes, for a table.
func (l location) row() string {
	if l.slot == nowhere {
		return "0, 0" // nobody reads it
	}
	size := 4
	if l.narrow {
		size = 2
	}
	return fmt.Sprintf("%d, %d * %s", l.slot, size, l.off)
}

// typeText is the type of a product's operands after the rest of its description, by the
// runtime's numbers; float32 is not said.
func (m Machine) typeText(d ops.DType) string {
	switch {
	case d == ops.BFloat16 && m.BFloat == BFloatDot:
		return ", .type = 3 /* bfloat16 dot product */"
	case d == ops.BFloat16 && m.BFloat == BFloatTiles:
		return ", .type = 4 /* bfloat16 tiles */"
	case d == ops.BFloat16:
		return ", .type = 1 /* bfloat16 in float32 */"
	case d == ops.Float16:
		return ", .type = 2 /* float16 in float32 */"
	}
	return ""
}

// four lists sizes as the runtime's four.
func (e template) four(xs []sym.Int) string {
	parts := make([]string, 4)
	for i := range parts {
		parts[i] = "0"
		if i < len(xs) {
			parts[i] = e.size(xs[i])
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// describeConv is describe for a convolution, of which the weight is the left operand,
// channels are rows and pixels are columns, however its node has them.
func (e template) describeConv(n *ir.Node) {
	v := n.ConvView()
	packed := 0
	made, image := ", .made = 1", location{slot: nowhere} // by the epilogue, in float32
	if e.k.Before == nil {
		made, image = "", locate(v.Image, e.env.Slot(v.Image), e.size(v.ImageOff))
	}
	e.code.operands = [2]location{{slot: e.env.Slot(v.Weight), off: e.size(v.WeightOff)}, image}
	by := ""
	if v.Image.DType == ops.BFloat16 && e.k.Before == nil {
		if e.env.Packing == nil || e.env.Packing.Form != plan.ConvTiles { // for which the pass "halves" had them
			panic("cpp: " + e.k.Name + " reads an image of bfloat16 in a form that does not multiply it")
		}
		by = ", .stored = 1 /* in bfloat16 */"
	}
	if pack := e.env.Packing; pack != nil {
		packed, e.code.operands[0] = 1, location{slot: e.env.Slot(pack.Buffer), off: "0"}
		if pack.Form == plan.ConvTiles && e.env.Machine.BFloat == BFloatDot {
			by += e.env.Machine.typeText(ops.BFloat16)
		}
	}
	size, as, bs := []sym.Int{v.Images}, []sym.Int{{}}, []sym.Int{v.NextImage}
	if !sym.Is(v.Groups, 1) {
		size, as, bs = append(size, v.Groups), append(as, v.NextFilter), append(bs, v.NextPart)
	}
	e.code.Gemm = fmt.Sprintf("{%s, %s, %s, %d, %s, %s, %s, %s, %s, 0, 0, %s, %s, %d, %s%s%s%s}",
		e.size(v.Rows), e.size(v.Pixels), e.size(n.MM.K), len(size), e.four(size), e.four(as), e.four(bs), e.size(v.Row), e.size(v.K),
		leftMark, rightMark, packed, symbolMark, convText(e.env.Machine.Lanes, n, e.env.Packing), by, made)
	if e.asks {
		e.code.Gemm = strings.TrimSuffix(e.code.Gemm, "}") + ", .ahead = 1}"
	}
	if e.ends != 0 {
		e.code.Gemm = strings.TrimSuffix(e.code.Gemm, "}") + fmt.Sprintf(", .ending = %d}", e.ends)
	}
}

// describeGrad is describe for the gradient of a convolution's weight; k is the pixels of one image.
func (e template) describeGrad(mm *ir.MatmulInfo, outer []sym.Int) {
	g := mm.Grad
	e.code.operands = [2]location{
		locate(mm.A, e.env.Slot(mm.A), e.size(mm.AIdx.Off)), locate(mm.B, e.env.Slot(mm.B), e.size(mm.BIdx.Off)),
	}
	nb := len(outer) - 2
	size := append([]sym.Int{sym.FloorDiv(mm.K, sym.Const(g.Pixels))}, outer[:nb]...)
	as, bs := append([]sym.Int{sym.Const(g.NextA)}, mm.AIdx.Coef[:nb]...), append([]sym.Int{sym.Const(g.NextB)}, mm.BIdx.Coef[:nb]...)
	e.code.Gemm = fmt.Sprintf("{%s, %s, %d, %d, %s, %s, %s, %s, 1, 0, 0, %s, %s, 0, %s, %d, {%s}}",
		e.size(outer[nb]), e.size(outer[nb+1]), g.Pixels, nb+1, e.four(size), e.four(as), e.four(bs), e.size(mm.AIdx.Coef[nb]),
		leftMark, rightMark, symbolMark, convGrad, numbersText(&g.ConvInfo))
}

// convGrad is the runtime's number for what no convolution computes.
const convGrad = 6

func numbersText(c *ir.ConvInfo) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.Numbers())), ", "), "[]")
}

// convText is the description of an image after that of the product.
func convText(lanes int, n *ir.Node, pack *plan.Packing) string {
	mm := n.MM
	if mm.Conv == nil {
		return ""
	}
	return fmt.Sprintf(", %d, {%s}", formOf(lanes, n, pack), numbersText(mm.Conv))
}

// formOf is the form of a convolution, whose weight is packed for it or not.
func formOf(lanes int, n *ir.Node, pack *plan.Packing) plan.ConvForm {
	if pack != nil {
		return pack.Form
	}
	return unpackedForm(lanes, n)
}
