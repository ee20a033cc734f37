package plan

import (
	"fmt"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file gives each template whose constant operand a target wants packed a packed
// copy that the prologue makes.

// Packing is the packed copy of an operand. Templates that read the operand alike share it: the steps of a recurrent
// net read one weight, of which a copy for each would have to come from memory in every step.
type Packing struct {
	Groups  []int    // of the templates, in order
	Node    *ir.Node // of the first of them
	Operand *ir.Buffer
	Buffer  *ir.Buffer // where the prologue packs it
	Form    ConvForm   // of a convolution
}

// Packer is a target's choice of what is packed.
type Packer interface {
	// Packing is the operand of a template that is packed, the form of a convolution and
	// the number of elements that the copy takes; nil for none. uses is how many products could
	// share the copy.
	Packing(p *Plan, n *ir.Node, uses int) (operand *ir.Buffer, form ConvForm, size int64)
}

// ConvForm is how a template runs a convolution; the numbers are those of the runtime
// library.
type ConvForm int

// The forms.
const (
	ConvColumns   ConvForm = 1 + iota // pixels are the columns of the register tile
	ConvPixels                        // pixels are its rows, the channels of a packed weight its columns
	ConvWinograd                      // the same with tiles of 2 x 2 pixels and filters transformed for them, by Winograd's F(2x2, 3x3)
	ConvDepthwise                     // channels are the lanes of a vector, each with a filter of its own, or in groups within one
	ConvDirect                        // pixels are the rows, read where they lie; channels may lie side by side
	_                                 // the gradient of a weight
	ConvTiles                         // the same with numbers of bfloat16, multiplied by the processor's tiles or dot product
)

// Pack lets the target choose what is packed and places the copies.
func (p *Plan) Pack(by Packer) {
	uses, made := p.reads(), map[packKey][]*Packing{}
	p.packed = map[int]*Packing{}
	for i, g := range p.Groups {
		if !g.Template || g.Hoisted {
			continue
		}
		n := g.TemplateNode()
		operand, form, size := by.Packing(p, n, uses[keyOf(n)])
		if operand == nil {
			continue
		}
		key := keyOf(n)
		k := slices.IndexFunc(made[key], func(k *Packing) bool { return k.serves(operand, form, size) })
		if k < 0 {
			k = len(made[key])
			made[key] = append(made[key], p.newPacking(n, operand, form, size))
		}
		p.packed[i] = made[key][k]
		p.packed[i].Groups = append(p.packed[i].Groups, i)
	}
}

// newPacking places a copy.
func (p *Plan) newPacking(n *ir.Node, operand *ir.Buffer, form ConvForm, size int64) *Packing {
	b := &ir.Buffer{
		Name: "packed_" + operand.Name, DType: ops.Float32, Shape: sym.Consts([]int{int(size)}),
		Stride: sym.Consts([]int{1}),
	}
	k := &Packing{Node: n, Operand: operand, Buffer: b, Form: form}
	p.Packs = append(p.Packs, k)
	p.slots[b] = len(p.Buffers)
	p.Buffers = append(p.Buffers, Buffer{
		Name: b.Name, DType: ops.Float32, Shape: b.Shape, Stride: b.Stride, Span: sym.Const(size), Offset: -1, Role: RolePacked,
	})
	return k
}

// packKey is equal for templates that may share a packed copy: of a product's right operand, or of a filter.
type packKey struct {
	operand *ir.Buffer
	address string // of the operand
	conv    ir.ConvInfo
}

func keyOf(n *ir.Node) packKey {
	mm := n.MM
	if mm.Grad != nil {
		return packKey{}
	}
	if mm.Conv == nil {
		nb := len(n.Outer) - 2
		return packKey{operand: mm.B, address: fmt.Sprint(mm.K, n.Outer[nb+1], mm.BIdx.Off, mm.BIdx.Coef[nb+1:])}
	}
	v := n.ConvView()
	return packKey{v.Weight, fmt.Sprint(mm.K, v.Rows, v.Groups, v.NextFilter, v.Row, v.K, v.WeightOff), *mm.Conv}
}

// reads counts the products that read each operand alike.
func (p *Plan) reads() map[packKey]int {
	out := map[packKey]int{}
	for _, g := range p.Groups {
		if g.Template && !g.Hoisted {
			out[keyOf(g.TemplateNode())]++
		}
	}
	return out
}

// serves reports whether the copy is what another template of its key wants packed.
func (k *Packing) serves(operand *ir.Buffer, form ConvForm, size int64) bool {
	return k.Operand == operand && k.Form == form && sym.Is(k.Buffer.Shape[0], size)
}

// PackOf is the packing of a group's template; nil for none.
func (p *Plan) PackOf(group int) *Packing { return p.packed[group] }
