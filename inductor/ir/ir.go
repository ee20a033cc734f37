package ir

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Buffer is memory that holds one tensor, seen through its own layout. Views
// have no buffer: they are other addresses into the buffer of their base.
type Buffer struct {
	Name   string
	DType  ops.DType
	Shape  []sym.Int
	Stride []sym.Int
	Kind   BufferKind
	Param  bool   // an input that changes rarely: a parameter or module buffer
	Node   string // graph node whose value it holds
	// Trained says that a step of training changes the parameter after every call.
	Trained bool
}

// BufferKind is where a buffer comes from.
type BufferKind uint8

// The kinds of buffers.
const (
	Input BufferKind = iota
	Temp
	Result // leaves the program as an output
)

// Span is the number of elements between the first and the last one, both
// counted: what must be allocated.
func (b *Buffer) Span() sym.Int {
	n := sym.Const(1)
	for i, s := range b.Shape {
		if sym.Is(s, 0) {
			return sym.Const(0)
		}
		n = sym.Add(n, sym.Mul(sym.Sub(s, sym.Const(1)), b.Stride[i]))
	}
	return n
}

// Bytes is the size of the buffer for the sizes seen when it was made.
func (b *Buffer) Bytes() int64 { return HintOf(b.Span()) * int64(b.DType.Size()) }

// HintOf is the value of x for the sizes seen at compile time; an unbacked
// size counts as 64.
func HintOf(x sym.Int) int64 {
	return x.Eval(func(s *sym.Symbol) int64 {
		if v, fixed := s.Fixed(); fixed || !s.Unbacked {
			return v
		}
		return 64
	})
}

// Index is an affine address in elements: Off + sum of Coef[k] * loop variable
// k. The loop variables are those of the node, outer ones first.
type Index struct {
	Off  sym.Int
	Coef []sym.Int
}

// Equal reports whether both addresses are surely the same function.
func (x Index) Equal(y Index) bool {
	if len(x.Coef) != len(y.Coef) || !sym.Same(x.Off, y.Off) {
		return false
	}
	for k := range x.Coef {
		if !sym.Same(x.Coef[k], y.Coef[k]) {
			return false
		}
	}
	return true
}

// Uses reports whether the address depends on loop variable k.
func (x Index) Uses(k int) bool { return k < len(x.Coef) && !sym.Is(x.Coef[k], 0) }

// ReduceOp is how a reduction combines elements.
type ReduceOp uint8

// The reductions. ArgMax and ArgMin yield the first index of the extreme
// element, counted over the reduction loops in their order.
const (
	RSum ReduceOp = iota
	RProd
	RMax
	RMin
	RAny
	RAll
	RArgMax
	RArgMin
)

// Value is one operation of a body. Its number is its position there.
type Value struct {
	Op    Op
	DType ops.DType // of the result; of the operand for Store; a Cast to a narrow one rounds or wraps
	Args  []int     // earlier values
	Buf   *Buffer   // Load, LoadAt, Store, StoreAt, FoldAt
	Index Index     // the same and IndexOf; of an argmax the position that it yields
	F     float64   // Const of a floating-point type
	I     int64     // Const of an integer type or bool
	Red   ReduceOp  // Reduce, Scan, FoldAt
}

// NodeKind is what a node does.
type NodeKind uint8

// The kinds of nodes.
const (
	Pointwise NodeKind = iota
	Reduction
	Sequential // stores in every iteration; its inner loops run in their order
	Matmul
	Extern
)

// Origin is a graph node that a loop node computes (a part of).
type Origin struct {
	Node  string // name in the graph
	Op    string // PyTorch's name of the operator
	Stack []graph.Frame
}

// Comment is the operator and the source line, safe inside a line comment. The file is
// named without its folder, so that code of a program is the same wherever it lies.
func (o Origin) Comment() string {
	if len(o.Stack) == 0 {
		return o.Op
	}
	f := o.Stack[len(o.Stack)-1]
	code := strings.ToValidUTF8(strings.ReplaceAll(f.Code, "\n", " "), "?")
	return fmt.Sprintf("%s: %s:%d %s", o.Op, filepath.Base(f.File), f.Line, strings.TrimRight(code, "\\ "))
}

// Node is one unit of scheduling.
type Node struct {
	Name    string // op0, op1, ... in program order
	Kind    NodeKind
	Outer   []sym.Int // sizes of the parallel loops
	Inner   []sym.Int // sizes of the inner loops; empty unless Reduction or Sequential
	Body    []Value
	MM      *MatmulInfo
	Ext     *ExternInfo
	Origins []Origin
	Hoisted bool // depends on parameters alone: the prologue runs it
}

// MatmulInfo is a batched product: Out[b, m, n] = sum over k of A[b, m, k] *
// B[b, k, n]. The addresses are over the variables (batch..., m, n, k), Out's
// over (batch..., m, n), which are the node's Outer loops.
type MatmulInfo struct {
	A, B, Out  *Buffer
	AIdx, BIdx Index
	OutIdx     Index
	K          sym.Int
	Conv       *ConvInfo // B is gathered from an image; A is then what may be packed
	Grad       *GradInfo // B is, with pixels along k: the product is the gradient of a convolution's weight
}

// ExternInfo is an eager call. Arguments hold BufArg where the operator takes
// a tensor.
type ExternInfo struct {
	Op     ops.ID
	Args   []ops.Arg
	Outs   []*Buffer
	Reason Reason
	Flow   *FlowInfo // in place of the operator, for control flow
}

// FlowInfo is control flow as an extern call: graphs, of which the data decides which run.
// The arguments are those of the graph's node, without lists: what chooses, what is carried,
// what is taken apart, and what the bodies read besides.
type FlowInfo struct {
	Op      string
	Names   []string // of the bodies in the graph
	Bodies  []*graph.Graph
	Chooses bool    // the first argument chooses the body
	Carried int     // arguments that each call replaces
	Sliced  int     // arguments after those that are taken apart along their first dimension
	Length  sym.Int // slices that there are of those
}

// Program is the name of body k as a program, in a graph of that name.
func (f *FlowInfo) Program(graph string, k int) string { return graph + "_" + f.Names[k] }

// Name is the operator's.
func (x *ExternInfo) Name() string {
	if x.Flow != nil {
		return x.Flow.Op
	}
	return ops.Get(x.Op).Name
}

// BufArg is a tensor argument of an extern call: a buffer seen through a layout.
type BufArg struct {
	Buf           *Buffer
	Shape, Stride []sym.Int
	Off           sym.Int
}

// Reason says why a call is not compiled.
type Reason string

// The reasons for extern calls; nothing else may be in an ExternInfo.
const (
	ReasonRandom     Reason = "random: the numbers must be those of the eager generator"
	ReasonNoLowering Reason = "no lowering for this operator"
	ReasonDType      Reason = "no template for this dtype"
	ReasonArgs       Reason = "no lowering for these arguments"
	ReasonScalar     Reason = "reads a number from tensor data"
	ReasonComplex    Reason = "complex numbers: no code is generated for them"
)

// Program is a lowered graph.
type Program struct {
	Name    string
	Inputs  []*Buffer // one a placeholder; nil for a scalar
	Buffers []*Buffer // inputs first
	Nodes   []*Node
	Outputs []Output
}

// Output is one result: a buffer seen through a layout, or a plain value.
type Output struct {
	Buf           *Buffer
	Shape, Stride []sym.Int
	Off           sym.Int
	Value         any // sym.Int, float64, bool or nil when Buf is nil
	Scalar        ScalarRef
}

// ScalarRef names a placeholder that is a number; Input is -1 for none.
type ScalarRef struct{ Input int }

// Checks reports whether the node verifies data as it runs.
func (n *Node) Checks() bool {
	return slices.ContainsFunc(n.Body, func(v Value) bool { return v.Op == Check })
}

// Uncast is value at of the body, or what that is a cast of.
func (n *Node) Uncast(at int) *Value {
	v := &n.Body[at]
	for v.Op == Cast {
		v = &n.Body[v.Args[0]]
	}
	return v
}

// Sizes returns all loop sizes, outer ones first.
func (n *Node) Sizes() []sym.Int {
	return append(append([]sym.Int{}, n.Outer...), n.Inner...)
}

// Hoisted are the buffers that the prologue makes.
func (p *Program) Hoisted() map[*Buffer]bool {
	out := map[*Buffer]bool{}
	for _, n := range p.Nodes {
		if n.Hoisted {
			n.Writes(func(b *Buffer, _ *Index) { out[b] = true })
		}
	}
	return out
}

// Reads calls f for every buffer that n reads, with its address where it has one.
func (n *Node) Reads(f func(b *Buffer, x *Index)) {
	switch n.Kind {
	case Matmul:
		f(n.MM.A, nil)
		f(n.MM.B, nil)
	case Extern:
		eachBufArg(n.Ext.Args, func(a BufArg) { f(a.Buf, nil) })
	}
	for i := range n.Body {
		switch v := &n.Body[i]; v.Op {
		case Load:
			f(v.Buf, &v.Index)
		case LoadAt, StoreAt, FoldAt: // a store at some places leaves the others
			f(v.Buf, nil)
		}
	}
}

// Writes calls f for every buffer that n writes.
func (n *Node) Writes(f func(b *Buffer, x *Index)) {
	switch n.Kind {
	case Matmul:
		f(n.MM.Out, &n.MM.OutIdx)
	case Extern:
		for _, b := range n.Ext.Outs {
			f(b, nil)
		}
	}
	for i := range n.Body {
		switch v := &n.Body[i]; v.Op {
		case Store:
			f(v.Buf, &v.Index)
		case StoreAt, FoldAt:
			f(v.Buf, nil)
		}
	}
}

func eachBufArg(a any, f func(BufArg)) {
	switch a := a.(type) {
	case BufArg:
		f(a)
	case []ops.Arg:
		for _, x := range a {
			eachBufArg(x, f)
		}
	}
}

// Numel is the number of innermost iterations of n for the sizes seen.
func (n *Node) Numel() int64 {
	k := int64(1)
	for _, s := range n.Sizes() {
		k *= HintOf(s)
	}
	if n.Kind == Matmul {
		k *= HintOf(n.MM.K)
	}
	return k
}
