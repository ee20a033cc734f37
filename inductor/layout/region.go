package layout

import (
	"slices"

	"tcdbg/inductor/ir"
)

// This file weighs regions: what convolutions save, what loops over plain images cost.

// walkCost is how many times the bytes of a plain image a loop pays that walks it by
// blocks of channels, whose elements lie planes apart.
const walkCost = 8

// regions gathers the images that are left by what joins them, and chooses.
func (c *chooser) regions() []*Region {
	var out []*Region
	for _, m := range c.order {
		if c.images[m.buf] == nil {
			continue
		}
		root := m.root()
		if root.region == nil {
			root.region = &Region{Block: c.widest()}
			out = append(out, root.region)
		}
		r := root.region
		r.Buffers = append(r.Buffers, m.buf)
		for r.Block > leastBlock && !c.blocksOf(m, r.Block) {
			r.Block /= 2
		}
		for _, n := range m.uses {
			r.add(m, n)
		}
	}
	for _, r := range out {
		for _, n := range c.prog.Nodes {
			r.Costs += c.plain(r, n)
		}
		r.Chosen = r.Saves > r.Costs
	}
	return out
}

func (c *chooser) widest() int64 { return max(leastBlock, c.lanes) }

// blocksOf reports whether all that walks an image can do so in blocks of so many channels.
func (c *chooser) blocksOf(m *image, block int64) bool {
	if m.c%block != 0 {
		return false
	}
	for _, n := range m.uses {
		for i := range n.Body {
			v := &n.Body[i]
			if v.Buf != m.buf || !v.Accesses() {
				continue
			}
			at, _ := m.split(v.Index, n.Sizes())
			if at.loop >= 0 && (at.channel%block != 0 || !divides(n.Sizes()[at.loop], block)) {
				return false
			}
		}
		if n.Kind == ir.Matmul && !m.blocksOfProduct(n, block) {
			return false
		}
	}
	return true
}

// add counts what a convolution saves: reading an image that needs no laying out, writing a
// result that needs no turning.
func (r *Region) add(m *image, n *ir.Node) {
	if n.Kind != ir.Matmul || n.MM.Conv == nil {
		return
	}
	if !slices.Contains(r.Convs, n) {
		r.Convs = append(r.Convs, n)
	}
	r.Saves += 2 * m.buf.Bytes()
}

// plain is what it costs a loop that walks a region to walk plain images beside it.
func (c *chooser) plain(r *Region, n *ir.Node) int64 {
	if n.Kind == ir.Matmul || n.Kind == ir.Extern {
		return 0
	}
	ours, cost := false, int64(0)
	for i := range n.Body {
		v := &n.Body[i]
		if !v.Accesses() {
			continue
		}
		if m := c.images[v.Buf]; m != nil {
			ours = ours || m.root().region == r
		} else if big := imageOf(v.Buf); big != nil {
			cost += walkCost * v.Buf.Bytes()
		}
	}
	if !ours {
		return 0
	}
	return cost
}
