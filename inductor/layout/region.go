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
	for _, n := range c.prog.Nodes {
		c.charge(n)
	}
	for _, r := range out {
		r.Chosen = c.all || r.Saves > r.Costs
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

// charge adds to the regions that a loop walks what it costs to walk plain images beside them.
func (c *chooser) charge(n *ir.Node) {
	if n.Kind == ir.Matmul || n.Kind == ir.Extern {
		return
	}
	var walked []*Region
	cost := int64(0)
	for i := range n.Body {
		v := &n.Body[i]
		if !v.Accesses() {
			continue
		}
		if m := c.images[v.Buf]; m != nil {
			if r := m.root().region; !slices.Contains(walked, r) {
				walked = append(walked, r)
			}
		} else if imageOf(v.Buf) != nil {
			cost += walkCost * v.Buf.Bytes()
		}
	}
	for _, r := range walked {
		r.Costs += cost
	}
}
