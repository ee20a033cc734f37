package ops

import "tcdbg/ops/sym"

// This file holds distances between the rows of one matrix, and the loss over
// triplets under a distance of one's own.

func distanceRows() []*Op {
	return []*Op{
		loss(Pdist, "pdist", "(Tensor input, Scalar p=2) -> Tensor", func(b B, c *Call) Value {
			a := In[PdistArgs](c)
			m := a.Input.Meta()
			if len(m.Shape) != 2 {
				refuse(Errorf("pdist only supports 2D tensors, got: %dD", len(m.Shape)))
			}
			if !m.DType.IsFloat() {
				refuse(Errorf("pdist only supports floating-point dtypes"))
			}
			if a.P.Float() < 0 {
				refuse(Errorf("pdist only supports non-negative p values"))
			}
			n := int(sym.Force(m.Shape[0]))
			var left, right []int
			for i := range n {
				for j := i + 1; j < n; j++ {
					left, right = append(left, i), append(right, j)
				}
			}
			if len(left) == 0 {
				none := b.slice(a.Input.Value(), 0, symZero, symZero) // part of the tape
				return b.sum(none, false, 1)
			}
			pick := func(idx []int) Value { return b.Emit(IndexSelect, a.Input.Value(), 0, intTensor(b, idx, len(idx))) }
			return b.Emit(Norm, b.sub(pick(left), pick(right)), a.P.Arg, 1)
		}),
	}
}
