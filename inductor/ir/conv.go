package ir

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tcdbg/ops/sym"
)

// This file holds the convolution as a product: B, seen as a matrix of (channel,
// kernel row, kernel column) by (output row, output column), is never in memory;
// the template gathers its panels from the image as it needs them.

// ConvInfo says how B is gathered. Sizes are static; strides are in elements.
type ConvInfo struct {
	Height, Width                 int64 // of the image
	ChanStride, RowStride, Stride int64 // from channel to channel, row to row, column to column
	KH, KW                        int64 // kernel
	StepH, StepW                  int64 // stride of the convolution
	PadH, PadW                    int64
	DilH, DilW                    int64
	OutW                          int64 // columns of the result
	// Block channels of the image lie side by side: Stride is from column to column,
	// ChanStride from block to block. Lanes is the same of the result, whose pixels are
	// then the product's rows and a block's channels its columns. 1 for none.
	Block, Lanes int64
	// FilterChan, FilterRow and FilterCol are the weight's strides from channel to channel of
	// the image, row to row and column to column of the kernel, where k does not walk it evenly:
	// its taps from the last to the first, say. Its address then has no coefficient for k.
	FilterChan, FilterRow, FilterCol int64
	// ApartH and ApartW are how many positions of a window lie between neighbours of the image, with zeros between them, as
	// in the gradient of the image of a convolution that moves by so much. 0 for none.
	ApartH, ApartW int64
	// GroupIn and GroupOut are the channels of a group, of the image and of the result, where channels of the result lie side by
	// side and are in groups: those of one group may fill several blocks, or several groups one block. 0 for no groups.
	GroupIn, GroupOut int64
}

type convField struct {
	name string
	at   *int64
}

// fields are the numbers in the order in which text and generated code have them.
func (c *ConvInfo) fields() []convField {
	return []convField{
		{"height", &c.Height},
		{"width", &c.Width},
		{"chan", &c.ChanStride},
		{"row", &c.RowStride},
		{"col", &c.Stride},
		{"kh", &c.KH},
		{"kw", &c.KW},
		{"sh", &c.StepH},
		{"sw", &c.StepW},
		{"ph", &c.PadH},
		{"pw", &c.PadW},
		{"dh", &c.DilH},
		{"dw", &c.DilW},
		{"outw", &c.OutW},
		{"block", &c.Block},
		{"lanes", &c.Lanes},
		{"fc", &c.FilterChan},
		{"fh", &c.FilterRow},
		{"fw", &c.FilterCol},
	}
}

// rare are the numbers that few convolutions have: text leaves them out where they are 0.
func (c *ConvInfo) rare() []convField {
	return []convField{{"uh", &c.ApartH}, {"uw", &c.ApartW}, {"gi", &c.GroupIn}, {"go", &c.GroupOut}}
}

// said are the numbers that text has.
func (c *ConvInfo) said() []convField {
	return append(c.fields(), slices.DeleteFunc(c.rare(), func(f convField) bool { return *f.at == 0 })...)
}

// Numbers lists the fields in the order of tc_conv in the runtime's interface, which knows groups from the product.
func (c *ConvInfo) Numbers() []int64 {
	var out []int64
	for _, f := range c.fields() {
		out = append(out, *f.at)
	}
	if c.ApartH > 0 {
		out = append(out, c.ApartH, c.ApartW)
	}
	return out
}

// String is the line of the program's text.
func (c *ConvInfo) String() string { return string(c.append(nil)) }

func (c *ConvInfo) append(b []byte) []byte {
	b = append(b, "im2col"...)
	for _, f := range c.said() {
		b = strconv.AppendInt(appendAll(b, " ", f.name, "="), *f.at, 10)
	}
	return b
}

// parseConv reads what String prints after its first word.
func parseConv(s string) (*ConvInfo, error) {
	c := &ConvInfo{}
	fields, words := c.fields(), strings.Fields(s)
	for _, f := range c.rare() {
		if len(words) > len(fields) && strings.HasPrefix(words[len(fields)], f.name+"=") {
			fields = append(fields, f)
		}
	}
	if len(words) != len(fields) {
		return nil, fmt.Errorf("im2col has %d fields, not %d", len(fields), len(words))
	}
	for i, f := range fields {
		if _, err := fmt.Sscanf(words[i], f.name+"=%d", f.at); err != nil || words[i] != fmt.Sprintf("%s=%d", f.name, *f.at) {
			return nil, fmt.Errorf("im2col: field %q, want %s=NUMBER", words[i], f.name)
		}
	}
	return c, nil
}

// check verifies the numbers that the template divides by or counts with.
func (c *ConvInfo) check() error {
	if far := c.ApartH > 1 || c.ApartW > 1; far && c.StepH*c.StepW != 1 {
		return fmt.Errorf("im2col: steps of %d and %d over an image with zeros between", c.StepH, c.StepW)
	}
	if (c.ApartH > 0) != (c.ApartW > 0) || (c.GroupIn > 0) != (c.GroupOut > 0) || c.GroupOut > 0 && c.Lanes == 1 {
		return fmt.Errorf("im2col: uh %d and uw %d, gi %d and go %d, lanes %d", c.ApartH, c.ApartW, c.GroupIn, c.GroupOut, c.Lanes)
	}
	for _, f := range c.said() {
		least := int64(0)
		switch f.name {
		case "fc", "fh", "fw":
			continue // a weight is walked either way
		case "kh", "kw", "uh", "uw", "sh", "sw", "dh", "dw", "outw", "block", "lanes":
			least = 1
		}
		if *f.at < least {
			return fmt.Errorf("im2col: %s is %d", f.name, *f.at)
		}
	}
	return nil
}

// At is the offset of element (k, n) of the matrix in the image, and false where
// it lies in the padding.
func (c *ConvInfo) At(k, n int64) (int64, bool) { return c.at(k/(c.KW*c.KH), k, n) }

// Seen is At for channel o of a result whose channels are in groups.
func (c *ConvInfo) Seen(k, n, o int64) (int64, bool) {
	return c.at(o/c.GroupOut*c.GroupIn+k/(c.KW*c.KH), k, n)
}

func (c *ConvInfo) at(channel, k, n int64) (int64, bool) {
	kw, kh := k%c.KW, k/c.KW%c.KH
	h := n/c.OutW*c.StepH - c.PadH + kh*c.DilH
	w := n%c.OutW*c.StepW - c.PadW + kw*c.DilW
	if c.ApartH > 0 {
		if h%c.ApartH != 0 || w%c.ApartW != 0 {
			return 0, false
		}
		h, w = h/c.ApartH, w/c.ApartW
	}
	return channel/c.Block*c.ChanStride + channel%c.Block + h*c.RowStride + w*c.Stride, h >= 0 && h < c.Height && w >= 0 && w < c.Width
}

// Uneven reports whether k does not walk the weight evenly.
func (c *ConvInfo) Uneven() bool { return c.FilterChan != 0 || c.FilterRow != 0 || c.FilterCol != 0 }

// Filter is the offset in the weight of element k of a filter; the index's own coefficient for k is added to it.
func (c *ConvInfo) Filter(k int64) int64 {
	return k/(c.KW*c.KH)*c.FilterChan + k/c.KW%c.KH*c.FilterRow + k%c.KW*c.FilterCol
}

// GradInfo says how the gradient of a convolution's weight, Out[channel, (channel of the image, kernel
// row, kernel column)], is summed: k walks the pixels of the result's gradient A, which follow one another in
// each image, and the image after image; column n of B is what element n of a filter sees. Where channels
// are in groups, the loop before the rows walks them.
type GradInfo struct {
	ConvInfo           // of the convolution; its image is B
	Pixels       int64 // of the result
	NextA, NextB int64 // elements from image to image
}

// String is the line of the program's text.
func (g *GradInfo) String() string {
	return fmt.Sprintf("grad %d %d %d %s", g.Pixels, g.NextA, g.NextB, g.ConvInfo.String())
}

// parseGrad reads what String prints after its first word.
func parseGrad(s string) (*GradInfo, error) {
	g := &GradInfo{}
	numbers, conv, ok := strings.Cut(s, " im2col ")
	if _, err := fmt.Sscanf(numbers, "%d %d %d", &g.Pixels, &g.NextA, &g.NextB); err != nil || !ok {
		return nil, fmt.Errorf("grad %q: want three numbers and im2col", s)
	}
	c, err := parseConv(conv)
	if err != nil {
		return nil, err
	}
	g.ConvInfo = *c
	return g, nil
}

func (g *GradInfo) check() error {
	if g.Pixels < 1 || g.Block != 1 || g.Lanes != 1 {
		return fmt.Errorf("grad: %d pixels, block %d, lanes %d", g.Pixels, g.Block, g.Lanes)
	}
	return g.ConvInfo.check()
}

// Depthwise reports whether a convolution has one filter for each channel.
func (n *Node) Depthwise() bool {
	mm := n.MM
	if mm.Conv == nil || len(n.Outer) != 4 || !sym.Is(mm.K, mm.Conv.KH*mm.Conv.KW) {
		return false
	}
	if mm.Conv.Lanes > 1 {
		return mm.AIdx.Uses(3)
	}
	return sym.Is(n.Outer[2], 1)
}

// Ungrouped reports whether each channel of a convolution's result sees all of the image's.
func (n *Node) Ungrouped() bool {
	return n.MM.Conv.Lanes > 1 && n.MM.Conv.GroupOut == 0 && !n.Depthwise() || len(n.Outer) == 3
}

// ConvView is a convolution in the terms of images, whichever operand they are.
type ConvView struct {
	Image, Weight       *Buffer
	ImageOff, WeightOff sym.Int
	Images, Groups      sym.Int
	Channels, Rows      sym.Int // of the result, in all and in a group
	Pixels              sym.Int // of the result
	NextImage, NextPart sym.Int // of the image: from image to image, from group to group
	NextFilter, Row, K  sym.Int // of the weight: from group to group, channel to channel of the result, and along k
}

// ConvView reads a convolution's node.
func (n *Node) ConvView() ConvView {
	mm, last, one := n.MM, len(n.Outer)-1, sym.Const(1)
	v := ConvView{Images: n.Outer[0], Groups: one}
	if mm.Conv.Lanes > 1 {
		v.Image, v.Weight, v.ImageOff, v.WeightOff = mm.A, mm.B, mm.AIdx.Off, mm.BIdx.Off
		v.Channels, v.Pixels = sym.Mul(n.Outer[1], n.Outer[3]), n.Outer[2]
		v.NextImage, v.Row, v.K = mm.AIdx.Coef[0], mm.BIdx.Coef[3], mm.BIdx.Coef[4]
		v.Rows = v.Channels
		if n.Depthwise() {
			v.Groups, v.Rows, v.NextPart, v.NextFilter = v.Channels, one, mm.AIdx.Coef[3], v.Row
		}
		if per := sym.Const(mm.Conv.GroupOut); mm.Conv.GroupOut > 0 {
			v.Groups, v.Rows, v.NextFilter = sym.FloorDiv(v.Channels, per), per, sym.Mul(v.Row, per)
		}
		return v
	}
	v.Image, v.Weight, v.ImageOff, v.WeightOff = mm.B, mm.A, mm.BIdx.Off, mm.AIdx.Off
	v.Rows, v.Channels, v.Pixels = n.Outer[last-1], n.Outer[last-1], n.Outer[last]
	v.NextImage, v.Row, v.K = mm.BIdx.Coef[0], mm.AIdx.Coef[last-1], mm.AIdx.Coef[last+1]
	if len(n.Outer) == 4 {
		v.Groups, v.NextPart, v.NextFilter = n.Outer[1], mm.BIdx.Coef[1], mm.AIdx.Coef[1]
		v.Channels = sym.Mul(v.Rows, v.Groups)
	}
	return v
}
