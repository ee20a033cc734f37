package cpp

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file recognises the epilogues that the runtime computes itself while a convolution's sums are in registers
// (endings.c.txt): a bias, perhaps another array's numbers, perhaps ReLU or hardswish.

// The endings, by the runtime's numbers.
const (
	endBias = 1 + iota
	endReLU
	endMore
	endMoreReLU
	endHardswish
)

// hardswishShift and hardswishMost are the 3 and the 6 of x * min(max(x + 3, 0), 6) / 6.
const (
	hardswishShift = 3
	hardswishMost  = 6
)

// longestEnding is the most values that an ending's steps have.
const longestEnding = 32

// endingBlock is how many channels an ending has in a piece, the least that a vector has where there are endings.
const endingBlock = 8

// at is value j of step i.
type at struct{ i, j int }

// endingFinder looks for an ending in a kernel's steps.
type endingFinder struct {
	template
	stored map[*ir.Buffer]at // what the steps store in registers
	pixel  int               // the loop over pixels
	result *ir.Value         // the store to memory
	bias   *ir.Value         // the loads
	more   *ir.Value         // or nil
}

// ending is the epilogue as an ending, where as many loops walk its pixels as walked says; 0 where it is none.
func (e template) ending(walked int) (int, *endingFinder) {
	n := e.k.Steps[0].Node
	lanes := e.env.Machine.Lanes
	block, known := e.k.Loops[e.k.Vec].Size.IsConst()
	fits := known && block == int64(e.lanes) && block >= endingBlock
	if lanes < endingBlock || walked != 1 || !fits || !endsTiles(lanes, n, formOf(lanes, n, e.env.Packing)) ||
		n.MM.Out.DType != ops.Float32 || e.keepsProduct() {
		return 0, nil
	}
	f := &endingFinder{template: e, stored: map[*ir.Buffer]at{}, pixel: e.k.Vec - 1}
	value, ok := f.collect()
	if !ok || !f.each(f.result.Index) {
		return 0, nil
	}
	return f.kind(value), f
}

// endsTiles reports whether a form has tiles that compute an ending.
func endsTiles(lanes int, n *ir.Node, form plan.ConvForm) bool {
	return form == plan.ConvDirect || form == plan.ConvWinograd && n.MM.Conv.Block%int64(lanes) == 0
}

// collect notes what steps store and returns what the one store to memory has. What does more than compute and store has no ending.
func (f *endingFinder) collect() (value at, ok bool) {
	values := 0
	for i := range f.k.Steps {
		body := f.k.Steps[i].Body
		if values += len(body); i == 0 {
			continue // the product
		}
		for j := range body {
			v := &body[j]
			switch v.Op {
			case ir.StoreAt, ir.FoldAt, ir.Check, ir.Reduce, ir.Scan:
				return at{}, false
			case ir.Store:
			default:
				continue
			}
			if f.k.Place[v.Buf] != sched.Memory {
				f.stored[v.Buf] = at{i, v.Args[0]}
				continue
			}
			if f.result != nil || v.Buf.DType != ops.Float32 {
				return at{}, false
			}
			f.result, value = v, at{i, v.Args[0]}
		}
	}
	return value, f.result != nil && values <= longestEnding
}

// each reports whether x is another number for each pixel and channel, those of a pixel side by side.
func (f *endingFinder) each(x ir.Index) bool {
	return sym.Is(x.Coef[f.k.Vec], 1) && sym.Same(x.Coef[f.pixel], f.k.Loops[f.k.Vec].Size)
}

// kind is the ending whose result is x.
func (f *endingFinder) kind(x at) int {
	switch {
	case f.hardswish(x):
		return endHardswish
	case f.biased(x):
		return endBias
	case f.added(x):
		return endMore
	}
	arg, ok := f.relu(x)
	switch {
	case ok && f.biased(arg):
		return endReLU
	case ok && f.added(arg):
		return endMoreReLU
	}
	return 0
}

// of is the value at x, or what was stored where it loads a register.
func (f *endingFinder) of(x at) (*ir.Value, at) {
	for {
		v := &f.k.Steps[x.i].Body[x.j]
		from, ok := f.stored[v.Buf]
		if v.Op != ir.Load || !ok {
			return v, x
		}
		x = from
	}
}

// operands are those of x if it is op, in both orders where there are two.
func (f *endingFinder) operands(x at, op ir.Op) [][2]at {
	v, x := f.of(x)
	switch {
	case v.Op != op || v.DType != ops.Float32:
		return nil
	case len(v.Args) == 1:
		return [][2]at{{{x.i, v.Args[0]}}}
	}
	a, b := at{x.i, v.Args[0]}, at{x.i, v.Args[1]}
	return [][2]at{{a, b}, {b, a}}
}

func (f *endingFinder) constant(x at, c float64) bool {
	v, _ := f.of(x)
	return v.Op == ir.Const && v.DType == ops.Float32 && v.F == c
}

// load is the load from memory of float32 numbers that x is, or nil.
func (f *endingFinder) load(x at) *ir.Value {
	v, _ := f.of(x)
	if v.Op != ir.Load || v.Buf.DType != ops.Float32 || f.own(v.Buf) || !sym.Is(v.Index.Coef[f.k.Vec], 1) {
		return nil
	}
	return v
}

// biased reports whether x is the sums and a bias, a number for each channel.
func (f *endingFinder) biased(x at) bool {
	for _, p := range f.operands(x, ir.Add) {
		sum, _ := f.of(p[0])
		bias := f.load(p[1])
		if sum.Op == ir.Load && sum.Buf == f.k.Steps[0].Node.MM.Out && bias != nil && !bias.Index.Uses(f.pixel) {
			f.bias = bias
			return true
		}
	}
	return false
}

// added reports whether x is biased sums and another array's numbers.
func (f *endingFinder) added(x at) bool {
	for _, p := range f.operands(x, ir.Add) {
		if more := f.load(p[1]); more != nil && f.each(more.Index) && f.biased(p[0]) {
			f.more = more
			return true
		}
	}
	return false
}

// relu is the operand of x, if x is nothing below 0.
func (f *endingFinder) relu(x at) (at, bool) {
	for _, p := range f.operands(x, ir.Relu) {
		return p[0], true
	}
	for _, p := range f.operands(x, ir.Max) {
		if f.constant(p[0], 0) {
			return p[1], true
		}
	}
	return at{}, false
}

// hardswish reports whether x is that of biased sums.
func (f *endingFinder) hardswish(x at) bool {
	quotient := f.operands(x, ir.Div)
	if quotient == nil || !f.constant(quotient[0][1], hardswishMost) {
		return false
	}
	for _, p := range f.operands(quotient[0][0], ir.Mul) {
		if _, base := f.of(p[0]); f.gate(p[1], base) && f.biased(base) {
			return true
		}
	}
	return false
}

// gate reports whether x is min(max(base + 3, 0), 6).
func (f *endingFinder) gate(x, base at) bool {
	for _, least := range f.operands(x, ir.Min) {
		above, ok := f.relu(least[1])
		if !ok || !f.constant(least[0], hardswishMost) {
			continue
		}
		for _, p := range f.operands(above, ir.Add) {
			if _, shifted := f.of(p[0]); shifted == base && f.constant(p[1], hardswishShift) {
				return true
			}
		}
	}
	return false
}

// places writes what the function does when it is asked where a pixel's numbers lie.
func (f *endingFinder) places() {
	place := func(v *ir.Value) string {
		if v == nil {
			return "0"
		}
		return fmt.Sprintf("%s + %s", f.ptr(v.Buf), f.address(v.Index))
	}
	f.open("if (ldt < 0)")
	f.p("tc_place *const at = (tc_place *)T;")
	f.p("at->out = %s;", place(f.result))
	f.p("at->bias = %s;", place(f.bias))
	f.p("at->more = %s;", place(f.more))
	f.p("return;")
	f.close()
}
