package ir

import (
	"fmt"
	"strings"
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
	}
}

// Numbers lists the fields in the order of tc_conv in the runtime's interface.
func (c *ConvInfo) Numbers() []int64 {
	var out []int64
	for _, f := range c.fields() {
		out = append(out, *f.at)
	}
	return out
}

// String is the line of the program's text.
func (c *ConvInfo) String() string {
	var parts []string
	for _, f := range c.fields() {
		parts = append(parts, fmt.Sprintf("%s=%d", f.name, *f.at))
	}
	return "im2col " + strings.Join(parts, " ")
}

// parseConv reads what String prints after its first word.
func parseConv(s string) (*ConvInfo, error) {
	c := &ConvInfo{}
	fields, words := c.fields(), strings.Fields(s)
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
	for _, f := range c.fields() {
		least := int64(0)
		switch f.name {
		case "kh", "kw", "sh", "sw", "dh", "dw", "outw":
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
func (c *ConvInfo) At(k, n int64) (int64, bool) {
	kw, kh, channel := k%c.KW, k/c.KW%c.KH, k/(c.KW*c.KH)
	h := n/c.OutW*c.StepH - c.PadH + kh*c.DilH
	w := n%c.OutW*c.StepW - c.PadW + kw*c.DilW
	return channel*c.ChanStride + h*c.RowStride + w*c.Stride, h >= 0 && h < c.Height && w >= 0 && w < c.Width
}
