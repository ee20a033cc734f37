package export

import (
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file makes programs that no file holds yet.

// Make completes a program whose fields are set: tensors are those that its graph names, numbers the sizes.
func Make(p *Program, tensors map[string]*Tensor, numbers map[string]sym.Int) *Program {
	p.values, p.sizes, p.hints = tensors, map[string]string{}, map[string]int64{}
	for name, x := range numbers {
		p.sizes[name] = x.String()
	}
	for _, s := range p.Symbols {
		p.hints[s.Name] = s.Hint
	}
	p.Torch = writtenTorch
	return p
}

// TensorOf describes a tensor of a graph.
func TensorOf(m *ops.TensorMeta) *Tensor {
	return &Tensor{
		DType: m.DType, Shape: sizesFrom(m.Shape), Stride: sizesFrom(m.Stride), Offset: SizeFrom(m.Offset),
		Grad: m.RequiresGrad, Device: string(m.Device), Strided: true,
	}
}

func sizesFrom(list []sym.Int) []Size {
	out := make([]Size, len(list))
	for i, x := range list {
		out[i] = SizeFrom(x)
	}
	return out
}

// SizeFrom is a size of a number or an expression.
func SizeFrom(x sym.Int) Size {
	if c, ok := x.IsConst(); ok {
		return Size{Value: c}
	}
	return Size{Expr: x.String()}
}

// Value is what the program says of a value of its graph: a tensor, nil for a number.
func (p *Program) Value(name string) *Tensor { return p.values[name] }
