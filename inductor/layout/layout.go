// Package layout chooses how images lie in memory between convolutions: whole regions of
// a program keep 8 or 16 channels of a pixel side by side (blocked channels, NCHWc), where
// plain images have planes of one channel. A convolution reads such an image with vectors
// of channels, without laying it out first and without turning what it has computed.
//
// Blocks chooses and rewrites; it is a pass between lowering and fusion. Addresses stay
// affine: a loop over channels becomes one over blocks and one within a block. A region
// ends where a convolution reads or writes a plain image, which it does by itself, so no
// loop is added for a transition.
//
// Concat, before it, lets concatenations that begin alike share memory (concat.go), and Halves, after it, has convolutions of
// bfloat16 read such images as they are (halves.go).
//
// It imports ir, ops and sym; never sched or codegen. Open this file first (what is
// chosen), then address.go (which dimension a loop walks) and rewrite.go.
package layout

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Options say what is chosen for.
type Options struct {
	Lanes int  // float32 elements of a vector
	All   bool // choose every region that can be
}

// Region is a set of buffers that share a layout, as the pass chose it.
type Region struct {
	Block   int64
	Buffers []*ir.Buffer
	Convs   []*ir.Node // that read or write it
	// Saves and Costs are bytes: of laying images out and turning results, which
	// convolutions do without; of loops that walk a plain image in another order.
	Saves, Costs int64
	Chosen       bool
}

// Why says in a sentence what the choice was made by.
func (r *Region) Why() string {
	how := "in planes"
	if r.Chosen {
		how = fmt.Sprintf("with %d channels side by side", r.Block)
	}
	return fmt.Sprintf("%d images between %d convolutions are kept %s: blocks save %d B of copies and cost %d B",
		len(r.Buffers), len(r.Convs), how, r.Saves, r.Costs)
}

// image is a buffer that can be blocked.
type image struct {
	buf     *ir.Buffer
	c       int64 // channels
	hw, chw int64 // elements of a channel, of an image
	block   int64
	class   *image // of its region; itself for the representative
	region  *Region
	uses    []*ir.Node
}

func (m *image) root() *image {
	for m.class != m {
		m.class = m.class.class // ways stay short however many are joined
		m = m.class
	}
	return m
}

// chooser is one run of the pass.
type chooser struct {
	prog   *ir.Program
	lanes  int64
	all    bool
	images map[*ir.Buffer]*image
	order  []*image
	again  []*ir.Node // to be checked once more: who loses a neighbour may lose its own place
}

// Blocks chooses regions of a lowered program and rewrites them.
func Blocks(p *ir.Program, opt Options) []*Region {
	c := &chooser{prog: p, lanes: int64(opt.Lanes), all: opt.All, images: map[*ir.Buffer]*image{}}
	c.candidates()
	for _, n := range p.Nodes {
		c.check(n)
	}
	for len(c.again) > 0 { // each image is dropped once, and sends its users here once
		n := c.again[0]
		c.again = c.again[1:]
		c.check(n)
	}
	regions := c.regions()
	chosen := map[*ir.Buffer]*image{}
	for _, m := range c.order {
		if r := m.root().region; c.images[m.buf] != nil && r != nil && r.Chosen {
			m.block = r.Block
			chosen[m.buf] = m
		}
	}
	rewrite(p, chosen)
	return regions
}

// leastBlock is how many channels lie side by side where not more can.
const leastBlock = 8

// candidates are the images between loops: four dimensions, contiguous, of channels that
// fill blocks.
func (c *chooser) candidates() {
	outside := map[*ir.Buffer]bool{}
	for _, n := range c.prog.Nodes {
		if n.Hoisted || n.Kind == ir.Extern {
			n.Reads(func(b *ir.Buffer, _ *ir.Index) { outside[b] = true })
			n.Writes(func(b *ir.Buffer, _ *ir.Index) { outside[b] = true })
		}
	}
	for _, b := range c.prog.Buffers {
		if m := imageOf(b); m != nil && b.Kind == ir.Temp && !outside[b] {
			m.class = m
			c.images[b] = m
			c.order = append(c.order, m)
		}
	}
	for _, n := range c.prog.Nodes {
		used := func(b *ir.Buffer, _ *ir.Index) {
			if m := c.images[b]; m != nil {
				m.uses = append(m.uses, n)
			}
		}
		n.Reads(used)
		n.Writes(used)
	}
}

// imageOf is the image that a buffer holds; nil for none. Between convolutions of half precision, which compute in float32,
// sums with what goes around them are rounded images.
func imageOf(b *ir.Buffer) *image {
	if b.DType != ops.Float32 && b.DType != ops.BFloat16 && b.DType != ops.Float16 || len(b.Shape) != 4 {
		return nil
	}
	c, ok1 := b.Shape[1].IsConst()
	h, ok2 := b.Shape[2].IsConst()
	w, ok3 := b.Shape[3].IsConst()
	if !ok1 || !ok2 || !ok3 || c == 0 || c%leastBlock != 0 || h*w <= 1 || !sym.AllSame(b.Stride, ops.ContiguousStrides(b.Shape)) {
		return nil
	}
	return &image{buf: b, c: c, hw: h * w, chw: c * h * w}
}

// check drops the images that a node cannot walk in blocks, and joins those that it walks
// together.
func (c *chooser) check(n *ir.Node) {
	if n.Kind == ir.Matmul {
		c.checkProduct(n)
		return
	}
	var ms []*image
	loop := -1
	fits := true
	for i := range n.Body {
		v := &n.Body[i]
		m := c.images[v.Buf]
		if !v.Accesses() || m == nil {
			continue
		}
		ms = append(ms, m)
		at, ok := m.split(v.Index, n.Sizes())
		if !ok || v.Op != ir.Load && v.Op != ir.Store {
			fits = false
			continue
		}
		if at.loop >= 0 {
			fits = fits && (loop < 0 || loop == at.loop)
			loop = at.loop
		}
	}
	if loop >= len(n.Outer) && !ordered(n) {
		fits = false
	}
	c.settle(ms, fits)
}

// ordered reports whether the inner loops of a node may be walked in another order.
func ordered(n *ir.Node) bool {
	for i := range n.Body {
		if v := &n.Body[i]; v.Op == ir.Reduce && (v.Red == ir.RArgMax || v.Red == ir.RArgMin) {
			return false
		}
	}
	return n.Kind == ir.Reduction
}

// settle joins images of one node, or drops them.
func (c *chooser) settle(ms []*image, fits bool) {
	for _, m := range ms {
		switch {
		case !fits && c.images[m.buf] != nil:
			delete(c.images, m.buf)
			c.again = append(c.again, m.uses...)
		case fits:
			m.root().class = ms[0].root()
		}
	}
}

// checkProduct is check for templates: what a convolution reads and what it writes are in
// regions of their own, but of one in groups they are in the same.
func (c *chooser) checkProduct(n *ir.Node) {
	in, out := c.images[n.MM.B], c.images[n.MM.Out]
	c.settle(c.listed(c.images[n.MM.A]), false)
	if n.MM.Conv == nil {
		c.settle(c.listed(in, out), false)
		return
	}
	if n.Depthwise() && in == nil && out != nil && out.result(n) {
		return // reads a plain image
	}
	if n.Depthwise() || perGroup(n) > 0 {
		c.settle(c.listed(in, out), in != nil && out != nil && in.whole(n) && out.result(n))
		return
	}
	c.settle(c.listed(in), in != nil && n.Ungrouped() && in.whole(n))
	c.settle(c.listed(out), out != nil && n.Ungrouped() && out.result(n))
}

func (c *chooser) listed(ms ...*image) []*image {
	var out []*image
	for _, m := range ms {
		if m != nil {
			out = append(out, m)
		}
	}
	return out
}

// whole reports whether a convolution reads the image as it lies, or blocks of its channels.
func (m *image) whole(n *ir.Node) bool {
	mm, c := n.MM, n.MM.Conv
	off, ok := mm.BIdx.Off.IsConst()
	channels := m.c
	if !n.Depthwise() && perGroup(n) == 0 {
		k, known := mm.K.IsConst()
		channels, ok = k/(c.KH*c.KW), ok && known
	}
	w, _ := m.buf.Shape[3].IsConst()
	rows := c.RowStride == w || c.Height == 1 // one row, or all rows as one
	return ok && off%m.hw == 0 && off/m.hw%leastBlock == 0 && channels%leastBlock == 0 && c.ChanStride == m.hw && c.Stride == 1 && rows &&
		sym.Is(mm.BIdx.Coef[0], m.chw)
}

// result reports whether a convolution writes the image, or blocks of its channels.
func (m *image) result(n *ir.Node) bool {
	x, rows := n.MM.OutIdx, len(n.Outer)-2
	off, ok := x.Off.IsConst()
	count := n.Outer[rows]
	if n.Depthwise() {
		rows, count = 1, n.Outer[1]
	}
	if perGroup(n) > 0 {
		count = sym.Mul(count, n.Outer[1])
	}
	channels, known := count.IsConst()
	return ok && known && off%m.hw == 0 && off/m.hw%leastBlock == 0 && channels%leastBlock == 0 &&
		sym.Is(x.Coef[0], m.chw) && sym.Is(x.Coef[rows], m.hw) && sym.Is(x.Coef[len(x.Coef)-1], 1)
}
