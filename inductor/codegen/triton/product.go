package triton

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// This file writes tiles of a matrix product: the product of a tile by steps along
// k, then the epilogue on it. A convolution is the product of its weight and of
// the image, whose elements are gathered as they are needed.

// The tile and the step along k, for operands of four bytes; the columns where a product
// has a block of channels of them.
const (
	leastColumns = 16

	tileRows    = 64
	tileColumns = 64
	tileDepth   = 32
)

func (e *emitter) product(s *Source) {
	n := e.k.Steps[0].Node
	nb := len(n.Outer) - 2
	rows, columns := n.Outer[nb], n.Outer[nb+1]
	batches := sym.Product(n.Outer[:nb])
	tileWidth := int64(tileColumns)
	if conv := n.MM.Conv; conv != nil && conv.Lanes > 1 {
		tileWidth = leastColumns
	}
	s.Programs = sym.Mul(batches, sym.Mul(sym.CeilDiv(rows, tileRows), sym.CeilDiv(columns, tileWidth)))
	s.Constants = []Constant{{"BLOCK_M", tileRows}, {"BLOCK_N", tileWidth}, {"BLOCK_K", tileDepth}}
	e.note(0)
	e.p("tiles_m = (%s + BLOCK_M - 1) // BLOCK_M", e.size(rows))
	e.p("tiles_n = (%s + BLOCK_N - 1) // BLOCK_N", e.size(columns))
	e.p("tile = tl.program_id(0)")
	e.p("batch = tile // (tiles_m * tiles_n)")
	e.p("m_index = (tile // tiles_n) %% tiles_m * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]")
	e.p("n_index = tile %% tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]")
	e.p("mmask = m_index < %s", e.size(rows))
	e.p("nmask = n_index < %s", e.size(columns))
	e.accumulate(n, nb)
	e.epilogue(rows)
}

// accumulate is the loop along k.
func (e *emitter) accumulate(n *ir.Node, nb int) {
	mm := n.MM
	left, right := make([]string, nb), make([]string, nb)
	linear := "batch"
	for k := nb - 1; k >= 0; k-- {
		name := fmt.Sprintf("b%d", k)
		left[k], right[k] = name, name
		if k == 0 {
			e.p("b0 = %s", linear)
			break
		}
		size := e.size(n.Outer[k])
		e.p("%s = %s %% %s", name, linear, size)
		linear = fmt.Sprintf("(%s // %s)", linear, size)
	}
	depth := e.size(mm.K)
	e.p("acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)")
	if mm.Conv != nil && mm.Conv.Lanes > 1 {
		e.pixels(n, left)
		return
	}
	e.p("for k_offset in range(0, %s, BLOCK_K):", depth)
	e.ind++
	e.p("k_row = k_offset + tl.arange(0, BLOCK_K)[None, :]")
	e.p("k_column = k_offset + tl.arange(0, BLOCK_K)[:, None]")
	a := e.addressOver(mm.AIdx, append(left, "m_index", "n_index", "k_row")) + filtered(mm.Conv, "k_row")
	if mm.Grad != nil {
		pixel := fmt.Sprintf("(k_row %% %d)", mm.Grad.Pixels)
		a = e.addressOver(mm.AIdx, append(left, "m_index", "n_index", pixel))
		a += fmt.Sprintf(" + k_row // %d * %d", mm.Grad.Pixels, mm.Grad.NextA)
	}
	e.p("a = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_M, BLOCK_K]), mmask & (k_row < %s), other=0)", e.ptr(mm.A), a, depth)
	if mm.Grad != nil {
		e.pixelsOfImages(mm, right, depth)
		return
	}
	b, inside := e.addressOver(mm.BIdx, append(right, "m_index", "n_index", "k_column")), fmt.Sprintf("nmask & (k_column < %s)", depth)
	if mm.Conv != nil {
		b, inside = b+" + "+e.gathered(mm.Conv, "n_index", "k_column"), inside+" & inside"
	}
	e.p("b = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_K, BLOCK_N]), %s, other=0)", e.ptr(mm.B), b, inside)
	// Three products of TensorFloat-32 parts keep float32's digits. "ieee" multiplies
	// without tensor cores, and Triton 3.6 gives wrong sums there for some tiles.
	e.p(`acc = tl.dot(a, b, acc, input_precision="tf32x3")`)
	e.ind--
}

// pixelsOfImages ends a step of the loop along k of a weight's gradient, whose columns are numbers of a filter.
func (e *emitter) pixelsOfImages(mm *ir.MatmulInfo, batch []string, depth string) {
	g := mm.Grad
	b := e.gathered(&g.ConvInfo, fmt.Sprintf("(k_column %% %d)", g.Pixels), "n_index")
	b += fmt.Sprintf(" + k_column // %d * %d + %s", g.Pixels, g.NextB, e.addressOver(mm.BIdx, append(batch, "0", "0", "0")))
	e.p("b = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_K, BLOCK_N]), nmask & (k_column < %s) & inside, other=0)", e.ptr(mm.B), b, depth)
	e.p(`acc = tl.dot(a, b, acc, input_precision="tf32x3")`)
	e.ind--
}

// pixels is the loop along k of a convolution whose rows are pixels and whose columns are
// channels side by side: the image is the left operand. Where each channel sees itself
// alone, columns have images of their own and there is no product of matrices.
func (e *emitter) pixels(n *ir.Node, batch []string) {
	mm, depth := n.MM, e.size(n.MM.K)
	if n.Depthwise() || mm.Conv.GroupOut > 0 {
		e.p("for k in range(0, %s):", depth)
		e.ind++
		a := e.addressOver(mm.AIdx, append(batch, "0", "n_index", "0")) + " + " + e.gathered(mm.Conv, "m_index", "k")
		e.p("a = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_M, BLOCK_N]), mmask & nmask & inside, other=0)", e.ptr(mm.A), a)
		b := e.addressOver(mm.BIdx, append(batch, "0", "n_index", "k")) + filtered(mm.Conv, "k")
		e.p("b = tl.load(%s + (%s), nmask, other=0)", e.ptr(mm.B), b)
		e.p("acc += a * b")
		e.ind--
		return
	}
	e.p("for k_offset in range(0, %s, BLOCK_K):", depth)
	e.ind++
	e.p("k_row = k_offset + tl.arange(0, BLOCK_K)[None, :]")
	e.p("k_column = k_offset + tl.arange(0, BLOCK_K)[:, None]")
	if e.k.Before != nil {
		e.before(batch[0], depth)
	} else {
		a := e.addressOver(mm.AIdx, append(batch, "0", "0", "0")) + " + " + e.gathered(mm.Conv, "m_index", "k_row")
		e.p("a = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_M, BLOCK_K]), mmask & (k_row < %s) & inside, other=0)", e.ptr(mm.A), a, depth)
	}
	b := e.addressOver(mm.BIdx, append(batch, "0", "n_index", "k_column")) + filtered(mm.Conv, "k_column")
	e.p("b = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_K, BLOCK_N]), nmask & (k_column < %s), other=0)", e.ptr(mm.B), b, depth)
	e.p(`acc = tl.dot(a, b, acc, input_precision="tf32x3")`)
	e.ind--
}

// before makes the elements of the image that a step along k takes: rows are pixels, columns
// the channels of blocks.
func (e *emitter) before(image, depth string) {
	k, block := e.k, e.k.Steps[0].Node.MM.Conv.Block
	names := []string{image, fmt.Sprintf("(k_row // %d)", block), "m_index", fmt.Sprintf("(k_row %% %d)", block)}
	e.k, e.again = k.Before, "_b"
	mask := fmt.Sprintf("mmask & (k_row < %s)", depth)
	for i := range e.k.Steps {
		body := e.k.Steps[i].Body
		for j := range body {
			v, name := &body[j], fmt.Sprintf("tmp%d_%d%s", i, j, e.again)
			switch r, known := e.regs[v.Buf]; {
			case v.Op == ir.Store && e.k.Place[v.Buf] == sched.Memory: // the image
				e.regs[v.Buf] = e.arg(i, v, 0)
				continue
			case v.Op == ir.Store:
				e.keep(i, j, v)
				continue
			case v.Op == ir.Load && known:
				e.vals[[2]int{i, j}] = r
				continue
			case v.Op == ir.Load:
				e.note(i)
				at := e.addressOver(v.Index, names)
				e.p("%s = tl.load(tl.broadcast_to(%s + (%s), [BLOCK_M, BLOCK_K]), %s, other=0)", name, e.ptr(v.Buf), at, mask)
			case v.Op == ir.LoadAt || v.Op == ir.IndexOf || v.Op == ir.Check:
				e.err = fmt.Errorf("an image that is made with positions as it is read is not generated")
				continue
			default:
				e.note(i)
				e.operation(i, j, name)
			}
			e.vals[[2]int{i, j}] = name
		}
	}
	e.p("a = tl.where(%s, %s, 0)", mask, e.regs[k.Steps[0].Node.MM.A])
	e.k, e.again = k, ""
	clear(e.vals)
	clear(e.regs)
}

// gathered is where step k of a pixel's window lies in the image; the text defines whether
// it is inside of it.
func (e *emitter) gathered(c *ir.ConvInfo, pixel, k string) string {
	e.p("image_h = %s // %d * %d - %d + %s // %d %% %d * %d", pixel, c.OutW, c.StepH, c.PadH, k, c.KW, c.KH, c.DilH)
	e.p("image_w = %s %% %d * %d - %d + %s %% %d * %d", pixel, c.OutW, c.StepW, c.PadW, k, c.KW, c.DilW)
	if c.ApartH > 0 {
		e.p("between = (image_h %% %d != 0) | (image_w %% %d != 0)", c.ApartH, c.ApartW)
		e.p("inside = (image_h >= 0) & (image_h < %d) & (image_w >= 0) & (image_w < %d)", c.Height*c.ApartH, c.Width*c.ApartW)
		e.p("inside = inside & (between == 0)")
		e.p("image_h, image_w = image_h // %d, image_w // %d", c.ApartH, c.ApartW)
	} else {
		e.p("inside = (image_h >= 0) & (image_h < %d) & (image_w >= 0) & (image_w < %d)", c.Height, c.Width)
	}
	channel := fmt.Sprintf("%s // %d * %d", k, c.KW*c.KH, c.ChanStride)
	if c.GroupOut > 0 { // of rows that are pixels, by columns that are channels of block b1
		e.p("seen = (b1 * %d + n_index) // %d * %d + %s // %d", c.Lanes, c.GroupOut, c.GroupIn, k, c.KW*c.KH)
		channel := fmt.Sprintf("seen // %d * %d + seen %% %[1]d", c.Block, c.ChanStride)
		return fmt.Sprintf("%s + image_h * %d + image_w * %d", channel, c.RowStride, c.Stride)
	}
	if c.Block > 1 {
		channel = fmt.Sprintf("%s // %d * %d + %s // %d %% %d", k, c.KW*c.KH*c.Block, c.ChanStride, k, c.KW*c.KH, c.Block)
	}
	return fmt.Sprintf("%s + image_h * %d + image_w * %d", channel, c.RowStride, c.Stride)
}

// filtered is what step k adds to a weight's address that has no coefficient for it.
func filtered(c *ir.ConvInfo, k string) string {
	if c == nil || !c.Uneven() {
		return ""
	}
	return fmt.Sprintf(" + %s // %d * %d + %s // %d %% %d * %d + %s %% %d * %d",
		k, c.KW*c.KH, c.FilterChan, k, c.KW, c.KH, c.FilterRow, k, c.KW, c.FilterCol)
}

// epilogue writes what is computed of each element of the product.
func (e *emitter) epilogue(rows sym.Int) {
	if e.outer > 0 {
		e.p("row = batch * %s + m_index", e.size(rows))
		e.decode("row", 0, e.outer)
	}
	e.p("%s = n_index", e.names[e.outer])
	first := e.k.Steps[0]
	out := first.Node.MM.Out
	e.regs[out] = "acc"
	if e.k.Place[out] == sched.Memory {
		ptr, mask := e.place(out, e.address(first.Out), first.Out, true, true)
		e.p("tl.store(%s, acc, %s)", ptr, mask)
	}
	for i := 1; i < len(e.k.Steps); i++ {
		e.step(i)
	}
}
