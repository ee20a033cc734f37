package plan

import (
	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file gives each template whose constant operand a target wants packed a packed
// copy that the prologue makes.

// Packing is the packed copy of a template's operand.
type Packing struct {
	Group   int // of the template
	Node    *ir.Node
	Operand *ir.Buffer
	Buffer  *ir.Buffer // where the prologue packs it
	Form    ConvForm   // of a convolution
}

// Packer is a target's choice of what is packed.
type Packer interface {
	// Packing is the operand of a template that is packed, the form of a convolution and
	// the number of elements that the copy takes; nil for none.
	Packing(p *Plan, n *ir.Node) (operand *ir.Buffer, form ConvForm, size int64)
}

// ConvForm is how a template runs a convolution; the numbers are those of the runtime
// library.
type ConvForm int

// The forms.
const (
	ConvColumns   ConvForm = 1 + iota // pixels are the columns of the register tile
	ConvPixels                        // pixels are its rows, the channels of a packed weight its columns
	ConvWinograd                      // the same with tiles of 2 x 2 pixels and filters transformed for them (Winograd's F(2x2, 3x3))
	ConvDepthwise                     // channels are the lanes of a vector, each with a filter of its own, or in groups within one
	ConvDirect                        // pixels are the rows, read where they lie; channels may lie side by side
)

// Pack lets the target choose what is packed and places the copies.
func (p *Plan) Pack(by Packer) {
	for i, g := range p.Groups {
		if !g.Template || g.Hoisted {
			continue
		}
		n := g.TemplateNode()
		operand, form, size := by.Packing(p, n)
		if operand == nil {
			continue
		}
		b := &ir.Buffer{
			Name: "packed_" + operand.Name, DType: ops.Float32, Shape: sym.Consts([]int{int(size)}),
			Stride: sym.Consts([]int{1}),
		}
		p.Packs = append(p.Packs, &Packing{Group: i, Node: n, Operand: operand, Buffer: b, Form: form})
		p.slots[b] = len(p.Buffers)
		p.Buffers = append(p.Buffers, Buffer{
			Name: b.Name, DType: ops.Float32, Shape: b.Shape, Stride: b.Stride, Span: sym.Const(size), Offset: -1, Role: RolePacked,
		})
	}
}

// PackOf is the packing of a group's template; nil for none.
func (p *Plan) PackOf(group int) *Packing {
	for _, k := range p.Packs {
		if k.Group == group {
			return k
		}
	}
	return nil
}
