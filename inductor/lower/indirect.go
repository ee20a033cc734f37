package lower

import (
	"cmp"
	"fmt"
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file lowers what picks elements by positions that are data: the position
// is checked, multiplied by the stride and added to an address.

// picked says that dimension dim of a tensor is walked by positions.
type picked struct {
	dim  int
	at   int  // the position, a value of the body
	wrap bool // a negative one counts from the end
}

// loadPicked loads the element of t at address x, in which the picked
// dimensions take no part, and at the positions of those.
func (b *body) loadPicked(t *tensor, x ir.Index, ps []picked) int {
	return b.add(ir.Value{Op: ir.LoadAt, DType: ir.Register(t.dtype), Buf: t.buf, Index: x, Args: []int{b.offset(t, ps)}})
}

// offset is how many elements after an address the picked positions are.
func (b *body) offset(t *tensor, ps []picked) int {
	var at int
	for i, p := range ps {
		step := b.mul2(b.position2(t.shape[p.dim], p), b.size(t.stride[p.dim], ops.Int64))
		if i == 0 {
			at = step
		} else {
			at = b.add2(at, step)
		}
	}
	return at
}

// position2 is a position within a dimension of n elements; one that lies
// outside fails the run and is 0 from here on.
func (b *body) position2(n sym.Int, p picked) int {
	size, zero := b.size(n, ops.Int64), b.int(ops.Int64, 0)
	at := p.at
	if p.wrap {
		at = b.op(ir.Where, b.op(ir.Lt, at, zero), b.add2(at, size), at)
	}
	inside := b.op(ir.And, b.op(ir.Le, zero, at), b.op(ir.Lt, at, size))
	if !b.checkedBefore(n, p) {
		b.add(ir.Value{Op: ir.Check, DType: ops.Bool, Args: []int{inside}})
	}
	return b.op(ir.Where, inside, at, zero)
}

// checkedBefore reports whether an earlier node checks the same elements of an input
// against the same bounds, as the gradient of an embedding finds the positions that its
// rows were read at: what such a node reads is checked as soon as that one has run.
func (b *body) checkedBefore(n sym.Int, p picked) bool {
	from, known := b.walked(p.at)
	if !known {
		return false
	}
	at := "[0, " + n.String() + ") " + from
	if b.l.checked[at] {
		return true
	}
	if p.wrap {
		at = "wrapped " + at
	}
	before := b.l.checked[at]
	b.l.checked[at] = true
	return before
}

// walked says which elements of an input a value takes over all iterations of the
// node: false where it is no plain load, or sizes are symbols.
func (b *body) walked(at int) (string, bool) {
	v := b.n.Uncast(at)
	if v.Op != ir.Load || v.Buf.Kind != ir.Input {
		return "", false
	}
	type loop struct{ step, size int64 }
	var loops []loop
	for k, s := range b.n.Sizes() {
		size, fixed := s.IsConst()
		if !fixed || size == 0 {
			return "", false
		}
		if size == 1 || !v.Index.Uses(k) {
			continue
		}
		step, fixed := v.Index.Coef[k].IsConst()
		if !fixed {
			return "", false
		}
		loops = append(loops, loop{step, size})
	}
	slices.SortFunc(loops, func(x, y loop) int { return cmp.Compare(x.step, y.step) })
	for i := 0; i+1 < len(loops); {
		if loops[i+1].step != loops[i].step*loops[i].size {
			i++
			continue
		}
		loops[i].size *= loops[i+1].size
		loops = slices.Delete(loops, i+1, i+2)
	}
	return fmt.Sprint(v.Buf.Name, v.Index.Off, loops), true
}

// still is t without a step along some dimensions, for a body over shape.
func (t *tensor) still(dims []int, shape []sym.Int) *tensor {
	v := *t
	v.shape, v.stride = shape, append([]sym.Int{}, t.stride...)
	for _, d := range dims {
		v.stride[d] = sym.Int{}
	}
	return &v
}

// empty reports whether a picked dimension has no elements, so that any position
// is wrong: eager tells how.
func empty(t *tensor, dim int) bool { return sym.Is(t.shape[dim], 0) }

// gather picks along one dimension by a position for each element of the result.
func gather(c *call) error {
	src, idx := c.real(c.self()), c.namedTensor("index")
	d, _ := c.arg("dim").(sym.Int)
	dim, err := ops.WrapDim(d, len(src.shape))
	if err != nil {
		return err
	}
	if len(src.shape) == 0 || len(idx.shape) != len(src.shape) || empty(src, dim) {
		return c.extern(ir.ReasonArgs)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	at := b.cast(b.load(idx), ops.Int64)
	x := b.index(src.still([]int{dim}, out.shape))
	b.store(out.buf, out.stride, b.loadPicked(src, x, []picked{{dim: dim, at: at}}))
	return nil
}

// indexSelect picks whole slices along one dimension.
func indexSelect(c *call) error {
	src, idx := c.real(c.self()), c.namedTensor("index")
	d, _ := c.arg("dim").(sym.Int)
	dim, err := ops.WrapDim(d, len(src.shape))
	if err != nil {
		return err
	}
	if len(src.shape) == 0 || len(idx.shape) != 1 || empty(src, dim) {
		return c.extern(ir.ReasonArgs)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	along := *idx // its only dimension is the result's dim
	along.shape, along.stride = out.shape, make([]sym.Int, len(out.shape))
	along.stride[dim] = idx.stride[0]
	at := b.cast(b.load(&along), ops.Int64)
	x := b.index(src.still([]int{dim}, out.shape))
	b.store(out.buf, out.stride, b.loadPicked(src, x, []picked{{dim: dim, at: at}}))
	return nil
}

// advancedIndex is x[i, j, ...] with tensors of positions, which broadcast.
func advancedIndex(c *call) error {
	src, list := c.real(c.self()), ops.In[ops.IndexArgs](&c.bound).Indices.Values()
	_, shape, err := ops.IndexShape(&ops.TensorMeta{Shape: src.shape}, list)
	if err != nil {
		return err
	}
	first, any := positionsAt(list)
	if !any {
		return clone(c)
	}
	if emptyPicked(src, list) {
		return c.extern(ir.ReasonArgs)
	}
	out := c.bindResult()
	b := c.l.pointwiseNode(out.shape)
	b.store(out.buf, out.stride, b.loadIndexed(c, src, list, first, shape))
	return nil
}

// positionsAt is the first dimension of x[list] that belongs to the positions:
// they stay where they were when they are neighbours, else in front.
func positionsAt(list []ops.Value) (first int, any bool) {
	first, last, count := -1, -1, 0
	for d, v := range list {
		if v == nil {
			continue
		}
		if first < 0 {
			first = d
		}
		last = d
		count++
	}
	if last-first+1 != count {
		first = 0
	}
	return first, count > 0
}

// emptyPicked reports whether a dimension that is picked has no elements.
func emptyPicked(t *tensor, list []ops.Value) bool {
	for d, v := range list {
		if v != nil && empty(t, d) {
			return true
		}
	}
	return false
}

// loadIndexed loads x[list]; the broadcast positions, of the given shape, are the
// result's dimensions from first on.
func (b *body) loadIndexed(c *call, src *tensor, list []ops.Value, first int, shape []sym.Int) int {
	rest, ps := b.indexed(c, src, list, first, shape)
	return b.loadPicked(src, b.index(rest), ps)
}

// indexed is what of src the loops walk by themselves, and the positions.
func (b *body) indexed(c *call, src *tensor, list []ops.Value, first int, shape []sym.Int) (*tensor, []picked) {
	rank := b.rank
	var ps []picked
	rest := &tensor{off: src.off, shape: make([]sym.Int, rank), stride: make([]sym.Int, rank)}
	for k, d := range b.dims { // every loop walks one dimension of the result
		rest.shape[d] = b.sizeOf(k)
	}
	at := 0 // dimension of the result
	for d := range src.shape {
		if at == first {
			at += len(shape)
		}
		if d >= len(list) || list[d] == nil {
			rest.stride[at] = src.stride[d]
			at++
			continue
		}
		idx := c.l.valueOf(list[d])
		along := *idx
		along.shape, along.stride = append([]sym.Int{}, rest.shape...), make([]sym.Int, rank)
		for i := range idx.shape {
			if to := first + len(shape) - len(idx.shape) + i; !sym.Is(idx.shape[i], 1) {
				along.stride[to] = idx.stride[i]
			}
		}
		ps = append(ps, picked{dim: d, at: b.cast(b.load(&along), ops.Int64), wrap: true})
	}
	return rest, ps
}
