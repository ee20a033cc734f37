package cpp

import (
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/ops/sym"
)

// This file chooses how the runtime's template runs a convolution.

// transposeSteps is what it costs to transpose a finished tile of pixels, in steps of k: some 160 cycles of 14 a step.
const transposeSteps = 12

// unpackedForm is the form of a convolution whose weight is not packed beforehand: each
// channel on its own where each has one filter, or few share them, direct where channels
// lie side by side, else what a packed weight would have, if that pays for packing it in each call.
func unpackedForm(lanes int, n *ir.Node) plan.ConvForm {
	switch c := n.MM.Conv; {
	case n.Depthwise() || c.GroupOut > 0 || smallGroups(lanes, n):
		return plan.ConvDepthwise
	case c.Block > 1 || c.Lanes > 1:
		return plan.ConvDirect
	}
	v := n.ConvView()
	channels, ok1 := v.Channels.IsConst()
	k, ok2 := n.MM.K.IsConst()
	pixels, ok3 := v.Pixels.IsConst()
	if !ok1 || !ok2 || !ok3 || !sym.Is(v.Groups, 1) {
		return plan.ConvColumns
	}
	form := ChooseConv(Machine{Lanes: lanes}, channels, k, pixels, n.MM.Conv)
	if form == plan.ConvWinograd && pixels*ir.HintOf(v.Images) < leastPerFilter {
		return byTiles(lanes, channels, k, pixels, n.MM.Conv)
	}
	return form
}

// leastPerFilter is how many pixels of all images pay for the transform of a filter in each call.
const leastPerFilter = 192

// smallGroups reports whether the groups of a plain image fill vectors together: each makes as
// many channels as it reads, by windows of three columns. The runtime moves numbers or sums between the lanes
// of a group.
func smallGroups(lanes int, n *ir.Node) bool {
	c, v := n.MM.Conv, n.ConvView()
	per, known := v.Rows.IsConst()
	all, fixed := v.Channels.IsConst()
	k, ok := n.MM.K.IsConst()
	if lanes < 8 || c.Block > 1 || c.Lanes > 1 || !known || !fixed || !ok || sym.Is(v.Groups, 1) {
		return false
	}
	wide := int64(8)
	if lanes == 16 && all%16 == 0 {
		wide = 16
	}
	whole := per > 1 && wide%per == 0 && all%wide == 0 && k == per*c.KH*c.KW
	return whole && c.KW == 3 && c.DilW == 1 && c.StepW <= 2
}

// ChooseConv picks the form for a convolution with so many output channels, from
// images of one group, by how much of the register tiles its sizes fill.
func ChooseConv(m Machine, channels, k, pixels int64, c *ir.ConvInfo) plan.ConvForm {
	if winogradPays(m, channels, k, pixels, c) {
		return plan.ConvWinograd
	}
	if directPays(k, c) {
		return plan.ConvDirect
	}
	return byTiles(m.Lanes, channels, k, pixels, c)
}

// byTiles chooses between pixels that are the columns of register tiles and their rows.
func byTiles(lanes int, channels, k, pixels int64, c *ir.ConvInfo) plan.ConvForm {
	wide := int64(2 * lanes)
	used := func(n, unit int64) float64 { return float64(n) / float64((n+unit-1)/unit*unit) }
	columns := float64(pixels) / float64(spread(pixels, c, int64(lanes)))
	rows := used(channels, wide) * float64(k) / float64(k+transposeSteps)
	if columns < rows {
		return plan.ConvPixels
	}
	return plan.ConvColumns
}

// What Winograd's form needs to pay: channels on both sides, over which the cost of
// transforming tiles is shared, and tiles that share the filters, of which 16 numbers come
// from memory instead of 9.
// In blocks of channels tiles are turned without shuffles, and pay for smaller images.
const (
	leastChannels = 32
	leastPixels   = 128
	leastInBlocks = 36
)

// mostInSteps is for how many threads Winograd's form pays in steps of two. Its filters are nearly three times as large, and of many
// threads each reads them for few tiles.
const mostInSteps = 3

// winogradPays reports whether a convolution is one of 3 x 3 that Winograd's products
// compute faster.
func winogradPays(m Machine, channels, k, pixels int64, c *ir.ConvInfo) bool {
	least := int64(leastPixels)
	if c.Block > 1 && c.Block%int64(m.Lanes) == 0 {
		least = leastInBlocks
	}
	if c.StepH == 2 && (m.Threads == 0 || m.Threads > mostInSteps || !fillsTiles(pixels, c)) {
		return false
	}
	return winogradFits(m.Lanes, c) && channels >= leastChannels && k/9 >= leastChannels && pixels >= least
}

// winogradFits reports whether the runtime has Winograd's products for a convolution: in steps of two it has them in blocks of
// channels alone.
func winogradFits(lanes int, c *ir.ConvInfo) bool {
	blocks := c.Block > 1 && c.Block%int64(lanes) == 0
	step := c.StepH == c.StepW && (c.StepH == 1 || c.StepH == 2 && blocks)
	return c.KH == 3 && c.KW == 3 && step && c.DilH == 1 && c.DilW == 1 && int64(lanes) >= PanelRows(lanes)
}

// fillsTiles reports whether most of the pixels of tiles of 2 x 2 are the result's: in steps of two there are 25 products for 36, and
// tiles have to be turned.
func fillsTiles(pixels int64, c *ir.ConvInfo) bool {
	height := pixels / c.OutW
	return 100*pixels >= 90*4*((height+1)/2)*((c.OutW+1)/2)
}

// TileChannels is how many channels of an image a tile's row has.
const TileChannels = 32

// convTiles reports whether tiles, or the dot product, multiply a convolution whose weight is packed: its numbers are of bfloat16,
// and channels of the result lie side by side, as do those of the image, where it is not a first layer.
func (m Machine) convTiles(n *ir.Node) bool {
	c, v := n.MM.Conv, n.ConvView()
	k, known := n.MM.K.IsConst()
	dense := sym.Is(v.Groups, 1) && c.GroupIn == 0 && c.ApartH+c.ApartW == 0
	if m.BFloat == BFloatWidened || !c.BFloat16 || !dense || !known || c.Lanes <= 1 {
		return false
	}
	if c.Block <= 1 {
		return FirstLayer(k/(c.KH*c.KW), c.KW, c.StepW, c.DilW)
	}
	return k%(TileChannels*c.KH*c.KW) == 0 && c.Block == int64(m.Lanes)
}

// mostStep is how far the windows of a first layer may be apart.
const mostStep = 4

// FirstLayer reports whether all that a row of the window sees of an image of few channels takes the place of a tile's channels: no
// more numbers than those, and no more of a channel than a vector has, as processors that have tiles or the dot product have it.
func FirstLayer(channels, width, step, dilation int64) bool {
	fits := width <= TileChannels/2 && channels*width <= TileChannels
	return channels <= fewChannels && width > 1 && fits && step <= mostStep && dilation == 1
}

// packedTerms is how many numbers of each filter a form packs, where the sum has k terms.
func packedTerms(form plan.ConvForm, k int64, c *ir.ConvInfo) int64 {
	switch {
	case form == plan.ConvTiles && c.Block <= 1:
		return c.KH * TileChannels
	case form == plan.ConvWinograd && c.StepH == 2:
		return k / 9 * 25
	case form == plan.ConvWinograd:
		return k / 9 * 16
	}
	return k
}

// fewChannels is up to how many channels of an image, as a first layer's, windows are read
// directly: the other forms lay the image out for each step first.
const fewChannels = 4

// directPays reports whether windows are read directly: in blocks of channels, and of few
// channels.
func directPays(k int64, c *ir.ConvInfo) bool {
	return c.Block > 1 || c.Lanes > 1 || c.KH*c.KW > 1 && k/(c.KH*c.KW) <= fewChannels
}

// PackedConv is how many numbers the packed weight of a convolution in a form takes.
func PackedConv(form plan.ConvForm, lanes int, groups, channels, k int64) int64 {
	height := PanelRows(lanes)
	switch form {
	case plan.ConvDepthwise:
		return depthPadded(lanes, groups*channels) * k
	case plan.ConvPixels, plan.ConvWinograd, plan.ConvDirect, plan.ConvTiles:
		height = int64(2 * lanes)
	}
	if form == plan.ConvTiles { // two numbers in the place of one
		k /= 2
	}
	return groups * ((channels + height - 1) / height * height) * k
}

// depthPadded is the number of channels with those that fill the last vector: of 16 where
// all of them are full, else of 8.
func depthPadded(lanes int, channels int64) int64 {
	if lanes == 16 && channels%16 == 0 {
		return channels
	}
	return (channels + 7) / 8 * 8
}

// spread is how many columns the form of columns computes: rows of padded planes
// are longer than those of the result.
func spread(pixels int64, c *ir.ConvInfo, lanes int64) int64 {
	n := pixels
	if c.KH*c.KW > 1 || c.StepH*c.StepW > 1 || c.PadH+c.PadW > 0 {
		n = (pixels/c.OutW-1)*(c.OutW+(c.KW-1)*c.DilW/c.StepW) + c.OutW
	}
	return (n + lanes - 1) / lanes * lanes
}
