package layout

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file rewrites what walks chosen images.

// rewrite gives the chosen buffers their layout, and what uses them its loops.
func rewrite(p *ir.Program, chosen map[*ir.Buffer]*image) {
	for _, n := range p.Nodes {
		if n.Kind == ir.Matmul {
			if n.MM.Conv != nil {
				rewriteConv(n, chosen)
			}
			continue
		}
		rewriteLoops(n, chosen)
	}
	for b, m := range chosen {
		b.Shape = []sym.Int{b.Shape[0], sym.Const(m.c / m.block), b.Shape[2], b.Shape[3], sym.Const(m.block)}
		b.Stride = ops.ContiguousStrides(b.Shape)
	}
}

// rewriteLoops parts the loop over channels into blocks and a loop within, the last one of
// those that run in parallel, or of those within.
func rewriteLoops(n *ir.Node, chosen map[*ir.Buffer]*image) {
	loop, block := -1, int64(0)
	sizes := n.Sizes()
	at := map[int]address{}
	for i := range n.Body {
		v := &n.Body[i]
		if m := chosen[v.Buf]; m != nil && v.Accesses() {
			a, _ := m.split(v.Index, sizes)
			at[i] = a
			if a.loop >= 0 {
				loop, block = a.loop, m.block
			}
		}
	}
	if len(at) == 0 {
		return
	}
	place := len(sizes) // of the new loop
	if loop >= 0 && loop < len(n.Outer) {
		place = len(n.Outer)
	}
	for i := range n.Body {
		v := &n.Body[i]
		if len(v.Index.Coef) == 0 && !v.Accesses() && v.Op != ir.IndexOf {
			continue
		}
		x := ir.Index{Off: v.Index.Off, Coef: slices.Clone(v.Index.Coef)}
		within := sym.Int{}
		if loop >= 0 {
			within = x.Coef[loop]
			x.Coef[loop] = sym.Mul(within, sym.Const(block))
		}
		if m := chosen[v.Buf]; m != nil && v.Accesses() {
			a := at[i]
			x.Off = m.offset(a)
			for k := range x.Coef {
				by, _ := v.Index.Coef[k].IsConst()
				if k != loop && by%m.chw != 0 {
					x.Coef[k] = sym.Const(by * m.block)
				}
			}
			if a.loop >= 0 {
				x.Coef[loop], within = sym.Const(m.hw*m.block), sym.Const(1)
			}
		}
		if loop >= 0 {
			x.Coef = slices.Insert(x.Coef, place, within)
		}
		v.Index = x
	}
	if loop < 0 {
		return
	}
	lanes := sym.Const(block)
	if loop < len(n.Outer) {
		n.Outer = slices.Clone(n.Outer)
		n.Outer[loop] = sym.FloorDiv(n.Outer[loop], lanes)
		n.Outer = append(n.Outer, lanes)
		return
	}
	n.Inner = slices.Clone(n.Inner)
	n.Inner[loop-len(n.Outer)] = sym.FloorDiv(n.Inner[loop-len(n.Outer)], lanes)
	n.Inner = append(n.Inner, lanes)
}

// offset is that of an address in blocks.
func (m *image) offset(a address) sym.Int {
	return sym.Const(a.image*m.chw + a.channel/m.block*m.hw*m.block + a.rest*m.block + a.channel%m.block)
}

// rewriteConv lets a convolution read blocks, write them, or both.
func rewriteConv(n *ir.Node, chosen map[*ir.Buffer]*image) {
	in, out := chosen[n.MM.B], chosen[n.MM.Out]
	if in == nil && out == nil {
		return
	}
	depthwise, per, conv := n.Depthwise(), perGroup(n), *n.MM.Conv
	mm := *n.MM
	mm.Conv, n.MM = &conv, &mm
	lane := conv.ChanStride // from channel to channel of a block
	if in != nil {
		off, _ := mm.BIdx.Off.IsConst()
		mm.BIdx.Off = in.offset(address{image: off / in.chw, channel: off % in.chw / in.hw})
		conv.Block = in.block
		conv.ChanStride *= in.block
		conv.RowStride *= in.block
		conv.Stride *= in.block
		lane = 1
	}
	if out == nil {
		return
	}
	conv.Lanes, conv.GroupIn, conv.GroupOut = out.block, per, per
	swapped(n, out, depthwise, lane)
}

// swapped makes pixels the rows of a convolution's product and the channels of a block its
// columns: the image is the left operand then, the weight the right one.
func swapped(n *ir.Node, out *image, depthwise bool, lane int64) {
	mm, c := n.MM, sym.Const
	last := len(n.Outer) - 1
	channels, pixels, row := n.Outer[last-1], n.Outer[last], mm.AIdx.Coef[last-1]
	if depthwise {
		channels, row = n.Outer[1], mm.AIdx.Coef[1]
	}
	if mm.Conv.GroupOut > 0 {
		channels = sym.Mul(channels, n.Outer[1])
	}
	images, k := n.Outer[0], mm.AIdx.Coef[last+1]
	n.Outer = []sym.Int{images, sym.FloorDiv(channels, c(out.block)), pixels, c(out.block)}
	weight := ir.Index{Off: mm.AIdx.Off, Coef: []sym.Int{c(0), sym.Mul(row, c(out.block)), c(0), row, k}}
	image := ir.Index{Off: mm.BIdx.Off, Coef: []sym.Int{mm.BIdx.Coef[0], c(0), c(0), c(0), c(0)}}
	if depthwise { // each column has its own channel
		group := lane * out.block
		if mm.Conv.Block > 1 {
			group = mm.Conv.ChanStride
		}
		image.Coef[1], image.Coef[3] = c(group), c(lane)
	}
	off, _ := mm.OutIdx.Off.IsConst()
	mm.A, mm.B = mm.B, mm.A
	mm.AIdx, mm.BIdx = image, weight
	mm.OutIdx = ir.Index{
		Off:  out.offset(address{image: off / out.chw, channel: off % out.chw / out.hw}),
		Coef: []sym.Int{c(out.chw), c(out.hw * out.block), c(out.block), c(1)},
	}
}
