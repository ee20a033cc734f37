package ops

import "tcdbg/ops/sym"

// This file is gradients of average pooling as loops that fuse, where windows lie side by side or
// there is one: each element has a share of one gradient.

// tilesBack decomposes the gradient of windows that cover the input once each.
func tilesBack(bb Builder, c *Call) []Value {
	a := In[AvgPoolBackwardArgs](c)
	kernel := a.KernelSize.Ints()
	if !spreadsExactly(a.Grad, a.Self) || !sym.AllSame(kernel, a.Stride.Ints()) {
		return nil
	}
	for _, p := range a.Padding.Ints() {
		if !sym.Is(p, 0) {
			return nil
		}
	}
	by := sym.Product(kernel)
	if !a.DivisorOverride.IsNone() {
		by = a.DivisorOverride.Int()
	}
	return spreadTiles(B{bb}, a.Grad.Value(), a.Self.Meta(), kernel, by)
}

// meansBack decomposes the gradient of means of equal parts.
func meansBack(bb Builder, c *Call) []Value {
	a := In[AdaptiveAvgPoolBackwardArgs](c)
	if !spreadsExactly(a.Grad, a.Self) {
		return nil
	}
	in, out := a.Self.Meta().Shape, a.Grad.Meta().Shape
	var kernel []sym.Int
	for d := len(in) - a.Dims.Num(); d < len(in); d++ {
		n, known := in[d].IsConst()
		o, known2 := out[d].IsConst()
		if !known || !known2 || o == 0 || n%o != 0 {
			return nil
		}
		kernel = append(kernel, sym.Const(n/o))
	}
	return spreadTiles(B{bb}, a.Grad.Value(), a.Self.Meta(), kernel, sym.Product(kernel))
}

// spreadsExactly says whether a quotient in the type of both is what the kernel makes of it, which
// divides in float64.
func spreadsExactly(grad, self TensorArg) bool {
	d := self.Meta().DType
	return grad.Meta().DType == d && (d == Float32 || d == Float64)
}

// spreadTiles gives each element of windows that lie side by side an equal part of the window's
// gradient; nil where they leave elements out.
func spreadTiles(b B, grad Value, self *TensorMeta, kernel []sym.Int, by sym.Int) []Value {
	lead := len(self.Shape) - len(kernel)
	out := grad.TensorMeta().Shape[lead:]
	for i, k := range kernel {
		if !sym.Same(sym.Mul(out[i], k), self.Shape[lead+i]) {
			return nil
		}
	}
	x := b.Emit(Div, grad, by)
	whole := cloneInts(self.Shape[:lead])
	for i, k := range kernel {
		whole = append(whole, out[i], k)
		x = b.unsqueeze(x, lead+2*i+1)
	}
	return []Value{b.view(b.Emit(Clone, b.expand(x, whole), "contiguous_format"), self.Shape...)}
}
