package aot

import (
	"slices"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file estimates what operators of a joint graph cost and which of them will share a kernel,
// long before kernels are made. The unit of time is that of moving one byte to or from memory.

const (
	// flopsPerByte is how many operations of a product take as long as a byte of memory.
	flopsPerByte = 8
	// unknownSize stands for a size that only the data tells.
	unknownSize = 4096
)

// timePerElement is what an element of a pointwise operator costs besides its traffic, in halves.
const (
	plainArithmetic = 1  // an addition, a comparison, a cast
	division        = 4  // a quotient, a root
	transcendental  = 10 // exp and what is made of it
)

// pointwiseTime is where an operator is not transcendental.
var pointwiseTime = map[ops.ID]int64{
	ops.Div: division, ops.TrueDivide: division, ops.Sqrt: division, ops.Rsqrt: division, ops.Reciprocal: division,
	ops.Add: plainArithmetic, ops.Sub: plainArithmetic, ops.Mul: plainArithmetic, ops.Neg: plainArithmetic,
	ops.Abs: plainArithmetic, ops.Square: plainArithmetic, ops.Sign: plainArithmetic,
	ops.Relu: plainArithmetic, ops.Clamp: plainArithmetic, ops.ClampMin: plainArithmetic, ops.ClampMax: plainArithmetic,
	ops.Maximum: plainArithmetic, ops.Minimum: plainArithmetic, ops.Where: plainArithmetic, ops.MaskedFill: plainArithmetic,
	ops.Le: plainArithmetic, ops.Lt: plainArithmetic, ops.Ge: plainArithmetic, ops.Gt: plainArithmetic,
	ops.Eq: plainArithmetic, ops.Ne: plainArithmetic,
	ops.LogicalNot: plainArithmetic, ops.LogicalAnd: plainArithmetic, ops.LogicalOr: plainArithmetic, ops.BitwiseAnd: plainArithmetic,
	ops.Clone: plainArithmetic, ops.To: plainArithmetic, ops.ToCopy: plainArithmetic, ops.Reshape: plainArithmetic,
	ops.Contiguous: plainArithmetic,
}

// loopKind is a sort of operator, as far as kernels go.
type loopKind uint8

const (
	viewing   loopKind = iota // no work: a view, one result of several
	making                    // a constant or a range
	pointwise                 // a loop that fuses with whatever is beside it
	row                       // folds some dimensions: readers can stay in the loop over the others
	folding                   // folds all dimensions: readers wait for all of it
	product                   // a template: readers can be its epilogue
	alone                     // everything else
)

func kindOf(n *graph.Node) loopKind {
	r := n.OpRow()
	switch {
	case n.Flow != nil, n.IsResultOfFlow():
		return alone
	case r == nil, r.Tags.Has(ops.TagView), n.Op == ops.Detach, n.Op == ops.Alias:
		return viewing
	case r.Tags.Has(ops.TagRandom):
		return alone
	case r.Tags.Has(ops.TagFactory):
		return making
	case r.Tags.Has(ops.TagPointwise), r.Tags.Has(ops.TagMaybeView):
		return pointwise
	case r.Tags.Has(ops.TagReduction):
		if elements(n.Meta) > 1 {
			return row
		}
		return folding
	}
	switch n.Op {
	case ops.Softmax, ops.LogSoftmax, ops.LayerNorm, ops.NativeLayerNorm, ops.RmsNorm:
		return row
	case ops.Mm, ops.Bmm, ops.Matmul, ops.Linear, ops.Addmm, ops.Convolution, ops.Conv1d, ops.Conv2d, ops.Conv3d:
		return product
	}
	return alone
}

// elements of a value, with hints for sizes that vary.
func elements(meta any) int64 {
	m, ok := meta.(*ops.TensorMeta)
	if !ok {
		return 0
	}
	return sym.Product(m.Shape).Eval(func(s *sym.Symbol) int64 {
		if v, ok := s.Fixed(); ok {
			return v
		}
		if s.Unbacked {
			return unknownSize
		}
		return s.Int().Hint()
	})
}

func bytesOf(n *graph.Node) int64 {
	if list, several := n.Meta.([]ops.Result); several {
		sum := int64(0)
		for _, r := range list {
			sum += bytesOfMeta(r)
		}
		return sum
	}
	return bytesOfMeta(n.Meta)
}

func bytesOfMeta(meta any) int64 {
	m, ok := meta.(*ops.TensorMeta)
	if !ok {
		return 0
	}
	return elements(m) * int64(m.DType.Size())
}

// computing is what computing n takes besides reading and writing memory where it shares a kernel
// with its neighbours, or all that it takes where it does not.
func computing(n *graph.Node) int64 {
	switch kindOf(n) {
	case viewing, making:
		return 0
	case pointwise:
		per, known := pointwiseTime[n.Op]
		if !known {
			per = transcendental
		}
		return (elements(n.Meta)*per + 1) / 2
	case product:
		return flops(n)/flopsPerByte + moved(n)
	}
	return moved(n)
}

// moved are the bytes that n reads and writes.
func moved(n *graph.Node) int64 {
	sum := bytesOf(n)
	for _, in := range n.Inputs() {
		sum += bytesOf(in)
	}
	return sum
}

// flops are the operations of a product.
func flops(n *graph.Node) int64 {
	in := n.Inputs()
	switch n.Op {
	case ops.Addmm:
		in = in[1:]
	case ops.Convolution, ops.Conv1d, ops.Conv2d, ops.Conv3d:
		w := in[1].TensorMeta()
		return 2 * elements(n.Meta) * elements(w) / max(elements(&ops.TensorMeta{Shape: w.Shape[:1]}), 1)
	}
	x := in[0].TensorMeta()
	return 2 * elements(n.Meta) * elements(&ops.TensorMeta{Shape: x.Shape[max(len(x.Shape)-1, 0):]})
}

// kernels estimates in which kernel each node of a graph will be: a number that grows along the
// graph, equal for what can share one.
type kernels struct {
	at   map[*graph.Node]int
	base map[*graph.Node]*graph.Node // whose memory a view shows
	kind map[*graph.Node]loopKind
}

// kernelsOf looks at the nodes in order; those of before count as being there from the start.
func kernelsOf(nodes []*graph.Node, before func(*graph.Node) bool) *kernels {
	k := &kernels{map[*graph.Node]int{}, map[*graph.Node]*graph.Node{}, map[*graph.Node]loopKind{}}
	for _, n := range nodes {
		if before(n) {
			continue
		}
		s := kindOf(n)
		k.kind[n] = s
		at := 0
		for _, in := range n.Inputs() {
			at = max(at, k.at[k.root(in)]+k.gap(k.root(in), s))
		}
		k.at[n] = at
		if in := n.Inputs(); s == viewing && len(in) > 0 {
			k.base[n] = k.root(in[0])
		}
	}
	return k
}

func (k *kernels) root(n *graph.Node) *graph.Node {
	if b := k.base[n]; b != nil {
		return b
	}
	return n
}

// gap is 1 where what reads in has to be in a later kernel.
func (k *kernels) gap(in *graph.Node, reader loopKind) int {
	s, here := k.kind[in]
	switch {
	case !here, s == making, reader == viewing:
		return 0
	case reader == product, reader == alone, s == folding, s == alone, s == product && reader != pointwise:
		return 1
	}
	return 0
}

// readers are the kernels in which nodes read n or a view of it.
type readers struct {
	kernels []int
	heavy   bool // one reads it from memory in any case
}

func (r *readers) add(kernel int, s loopKind) {
	if !slices.Contains(r.kernels, kernel) {
		r.kernels = append(r.kernels, kernel)
	}
	r.heavy = r.heavy || s == product || s == alone
}
