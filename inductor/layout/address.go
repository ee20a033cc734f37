package layout

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops/sym"
)

// This file says which dimension of an image each loop walks.

// address is where a loop nest touches an image.
type address struct {
	loop    int   // that walks channels one by one; -1 for none
	channel int64 // the first one
	rest    int64 // offset within a channel
	image   int64 // offset of the first image
}

// split takes an address apart; false where loops do not walk one dimension each, or not
// blocks of channels.
func (m *image) split(x ir.Index, sizes []sym.Int) (address, bool) {
	off, ok := x.Off.IsConst()
	if !ok || off < 0 {
		return address{}, false
	}
	at := address{loop: -1, image: off / m.chw, channel: off % m.chw / m.hw, rest: off % m.hw}
	last := at.rest
	for k, coef := range x.Coef {
		by, known := coef.IsConst()
		if !known || by < 0 {
			return address{}, false
		}
		switch {
		case by == 0 || sym.Is(sizes[k], 1):
		case by%m.chw == 0:
		case by%m.hw == 0:
			if at.loop >= 0 || by != m.hw || at.channel%leastBlock != 0 || !divides(sizes[k], leastBlock) {
				return address{}, false
			}
			at.loop = k
		default:
			trips, fixed := sizes[k].IsConst()
			if !fixed {
				return address{}, false
			}
			last += by * (trips - 1)
		}
	}
	if at.loop >= 0 {
		n, _ := sizes[at.loop].IsConst()
		ok = at.channel+n <= m.c
	}
	return at, ok && last < m.hw
}

func divides(size sym.Int, block int64) bool {
	n, ok := size.IsConst()
	return ok && n%block == 0
}

// blocksOfProduct reports whether a convolution reads or writes whole blocks.
func (m *image) blocksOfProduct(n *ir.Node, block int64) bool {
	whole := func(off sym.Int, channels sym.Int) bool {
		at, _ := off.IsConst()
		return at/m.hw%block == 0 && divides(channels, block)
	}
	mm := n.MM
	rows := n.Outer[len(n.Outer)-2]
	if n.Depthwise() {
		rows = n.Outer[1]
	}
	per := perGroup(n)
	if per > 0 {
		rows = sym.Mul(rows, n.Outer[1])
	}
	if mm.Out == m.buf && !whole(mm.OutIdx.Off, rows) {
		return false
	}
	if mm.B != m.buf || n.Depthwise() {
		return true
	}
	if per > 0 {
		return whole(mm.BIdx.Off, rows)
	}
	k, _ := mm.K.IsConst()
	return whole(mm.BIdx.Off, sym.Const(k/(mm.Conv.KH*mm.Conv.KW)))
}
