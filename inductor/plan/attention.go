package plan

import (
	"slices"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file finds attention: three kernels in a row that multiply two matrices, make something of
// the rows of the product (softmax) and multiply what they made by a third matrix. A target can take
// some rows through all three while they are in a cache, so that scores never go to memory
// (FlashAttention keeps them on the chip in the same way: Dao et al., 2022).

// Attention is three kernels that run together.
type Attention struct {
	First   int        // group of the first product, which the other two follow
	Scores  *ir.Buffer // of the first product, [..., Rows, Columns] without gaps; the second kernel alone reads them
	Weights *ir.Buffer // made of them, of the same sizes; the left operand of the second product and nothing else
	Inner   *ir.Buffer // as Weights, but for the second kernel alone, which has it in memory where a row's length varies; nil for none
	Rows    sym.Int    // of a matrix
	Columns sym.Int
	Causal  *Causal  // what need not be computed; nil where all has to be
	Softmax *Softmax // what is made of sums, where it is no more than that
}

// What a target has to have room for: pointers of one of the three kernels, numbers of a right operand in a
// thread's cache, its columns filled up to whole panels.
const (
	MostPointers = 16
	mostRight    = 1 << 18
	panel        = 32
)

// FindAttention finds them. It comes before the arena: what one of the three reads must stay until
// the last of them has run.
func (p *Plan) FindAttention() {
	at, split := p.touches(), p.splitAt()
	for i := 0; i+2 < len(p.Groups); i++ {
		if split == i+1 || split == i+2 {
			continue
		}
		a, ok := p.attentionAt(i, at)
		if !ok {
			continue
		}
		a.Causal = p.causal(a)
		a.Softmax = p.softmax(a)
		p.Attentions = append(p.Attentions, a)
		for _, k := range p.Kernels[i : i+3] {
			k.Cached = []*ir.Buffer{a.Scores, a.Weights}
			if a.Inner != nil {
				k.Cached = append(k.Cached, a.Inner)
			}
		}
		i += 2
	}
}

// AttentionAt is the attention that a group belongs to; nil for none.
func (p *Plan) AttentionAt(group int) *Attention {
	at, found := slices.BinarySearchFunc(p.Attentions, group, func(a *Attention, g int) int { return a.First - g })
	if !found {
		at--
	}
	if at >= 0 && group < p.Attentions[at].First+3 {
		return p.Attentions[at]
	}
	return nil
}

// attentionAt is the attention that begins with group i.
func (p *Plan) attentionAt(i int, at map[*ir.Buffer]*touched) (*Attention, bool) {
	for k, g := range p.Groups[i : i+3] {
		kernel := p.Kernels[i+k]
		if g.Extern || g.Hoisted || g.Before != nil || p.writesInput(g) || kernel.Checks() || pointers(kernel) > MostPointers {
			return nil, false
		}
	}
	first, rows, second := p.Kernels[i], p.Kernels[i+1], p.Kernels[i+2]
	a := &Attention{First: i}
	if !plainProduct(first) || !plainProduct(second) || !a.scores(first) || !a.weights(rows, second) || !a.reads(second) {
		return nil, false
	}
	between := func(b *ir.Buffer, write, read int) bool {
		t := at[b]
		return b.Kind != ir.Result && multiplied(b) && len(t.writes) == 1 && t.writes[0] == write &&
			!slices.ContainsFunc(t.reads, func(g int) bool { return g != write && g != read })
	}
	if !between(a.Scores, i, i+1) || !between(a.Weights, i+1, i+2) || a.Scores == a.Weights {
		return nil, false
	}
	if a.Inner != nil && !between(a.Inner, i+1, i+1) {
		return nil, false
	}
	scores, values := first.Group.TemplateNode().MM, second.Group.TemplateNode().MM
	for _, b := range []*ir.Buffer{scores.A, scores.B, values.B} {
		if p.Fixed(b) || at[b].writtenBy(i) || at[b].writtenBy(i+1) {
			return nil, false
		}
	}
	return a, rowsAgree(rows, second, a.Weights)
}

// writesInput reports whether a group writes where an input lies, of which other rows may still be read.
func (p *Plan) writesInput(g *sched.Group) bool {
	found := false
	for _, it := range g.Members() {
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
			if slot, ok := p.slots[b]; ok && p.Buffers[slot].Role == RoleOver {
				found = true
			}
		})
	}
	return found
}

// multiplied reports whether the runtime takes numbers of a buffer through an attention.
func multiplied(b *ir.Buffer) bool {
	return b.DType == ops.Float32 || b.DType == ops.BFloat16 || b.DType == ops.Float16
}

// plainProduct reports whether a kernel is a product of matrices, of which the right one fits a thread's cache. Where
// sizes vary, it is the call that finds out: it runs the kernels one after the other where it does not.
func plainProduct(k *sched.Kernel) bool {
	if !k.Group.Template {
		return false
	}
	n := k.Group.TemplateNode()
	mm := n.MM
	if mm.Conv != nil || mm.Grad != nil || !multiplied(mm.A) || mm.A.DType != mm.B.DType || len(n.Outer) < 3 {
		return false
	}
	columns, known := n.Outer[len(n.Outer)-1].IsConst()
	depth, static := mm.K.IsConst()
	if !known || !static {
		return true
	}
	return depth > 0 && !slices.ContainsFunc(n.Outer, func(x sym.Int) bool { return sym.Is(x, 0) }) &&
		(columns+panel-1)/panel*panel*depth <= mostRight
}

// pointers is how many buffers in memory a kernel reads and writes beside the operands of a product.
func pointers(k *sched.Kernel) int {
	bufs := map[*ir.Buffer]bool{}
	note := func(b *ir.Buffer) {
		if place, own := k.Place[b]; !own || place == sched.Memory {
			bufs[b] = true
		}
	}
	for _, st := range k.Steps {
		if st.Node.Kind == ir.Matmul {
			note(st.Node.MM.Out)
		}
		for i := range st.Body {
			if v := &st.Body[i]; v.Accesses() {
				note(v.Buf)
			}
		}
	}
	return len(bufs)
}

// scores finds what the first product writes: one buffer, row after row.
func (a *Attention) scores(k *sched.Kernel) bool {
	var index *ir.Index
	for b, x := range stores(k) {
		if a.Scores != nil {
			return false
		}
		a.Scores, index = b, x
	}
	if a.Scores == nil || index == nil {
		return false
	}
	n := k.Group.TemplateNode()
	a.Rows, a.Columns = n.Outer[len(n.Outer)-2], n.Outer[len(n.Outer)-1]
	return byRows(*index, k.Loops, k.Vec, a.Columns) && sym.Is(index.Coef[k.Vec], 1) && sym.Same(k.Loops[k.Vec].Size, a.Columns)
}

// weights finds what the second kernel makes of a row of scores: a row of the same length, and perhaps one on the way to it.
func (a *Attention) weights(k, second *sched.Kernel) bool {
	if k.Group.Template || k.Pointwise || k.Sequential || k.Outer != len(k.Loops)-1 || k.Vec != k.Outer ||
		!sym.Same(k.Loops[k.Outer].Size, a.Columns) {
		return false
	}
	row := func(x ir.Index) bool {
		return byRows(x, k.Loops, k.Outer, a.Columns) && sym.Is(x.Coef[k.Outer], 1)
	}
	for b, x := range stores(k) {
		switch {
		case x == nil:
			return false
		case row(*x) && b == second.Group.TemplateNode().MM.A:
			a.Weights = b
		case row(*x) && a.Inner == nil:
			a.Inner = b
		case x.Uses(k.Outer) || !byRows(*x, k.Loops, k.Outer, sym.Const(1)): // but for one number a row
			return false
		}
	}
	for _, st := range k.Steps {
		for i := range st.Body {
			v := &st.Body[i]
			if !v.Accesses() || v.Buf != a.Scores && v.Buf != a.Weights && v.Buf != a.Inner {
				continue
			}
			if v.Op == ir.LoadAt || v.Op == ir.Load && (v.Buf == a.Scores || k.Place[v.Buf] == sched.Memory) && !row(v.Index) {
				return false
			}
		}
	}
	return a.Weights != nil
}

// reads reports whether the second product reads the weights as they were written, as its left operand alone.
func (a *Attention) reads(k *sched.Kernel) bool {
	n := k.Group.TemplateNode()
	nb := len(n.Outer) - 2
	x := n.MM.AIdx
	if n.MM.A != a.Weights || n.MM.B == a.Weights || !sym.Same(n.MM.K, a.Columns) || !sym.Same(n.Outer[nb], a.Rows) ||
		!sym.Is(x.Off, 0) || !sym.Is(x.Coef[nb+2], 1) {
		return false
	}
	step := a.Columns
	for d := nb; d >= 0; d-- {
		if !sym.Is(n.Outer[d], 1) && !sym.Same(x.Coef[d], step) {
			return false
		}
		step = sym.Mul(step, n.Outer[d])
	}
	for _, st := range k.Steps {
		for i := range st.Body {
			if v := &st.Body[i]; v.Accesses() && v.Buf == a.Weights {
				return false
			}
		}
	}
	whole := sym.Const(1)
	for _, s := range a.Weights.Shape {
		whole = sym.Mul(whole, s)
	}
	return sym.Same(whole, step)
}

// rowsAgree reports whether what follows the second product reads numbers of the second kernel, but for the weights, only
// of the rows that it is at.
func rowsAgree(rows, second *sched.Kernel, weights *ir.Buffer) bool {
	made := stores(rows)
	for _, st := range second.Steps {
		for i := range st.Body {
			v := &st.Body[i]
			if _, ok := made[v.Buf]; !ok || !v.Accesses() || v.Buf == weights {
				continue
			}
			if v.Op != ir.Load || v.Index.Uses(second.Vec) || !byRows(v.Index, second.Loops, second.Vec, sym.Const(1)) {
				return false
			}
		}
	}
	return true
}

// stores are the buffers in memory that a kernel writes, and where; nil where it is more than one place.
func stores(k *sched.Kernel) map[*ir.Buffer]*ir.Index {
	out := map[*ir.Buffer]*ir.Index{}
	note := func(b *ir.Buffer, x *ir.Index) {
		if place, own := k.Place[b]; own && place != sched.Memory {
			return
		}
		if _, twice := out[b]; twice {
			x = nil
		}
		out[b] = x
	}
	for _, st := range k.Steps {
		if st.Node.Kind == ir.Matmul {
			note(st.Node.MM.Out, &st.Out)
		}
		for i := range st.Body {
			switch v := &st.Body[i]; {
			case v.Op == ir.Store:
				note(v.Buf, &v.Index)
			case v.Scatters():
				note(v.Buf, nil)
			}
		}
	}
	return out
}

// byRows reports whether the first n loops walk rows of so many elements one behind the other, from the
// beginning of a buffer.
func byRows(x ir.Index, loops []sched.Var, n int, elements sym.Int) bool {
	if !sym.Is(x.Off, 0) || len(x.Coef) < n {
		return false
	}
	step := elements
	for k := n - 1; k >= 0; k-- {
		if !sym.Same(x.Coef[k], step) {
			return false
		}
		step = sym.Mul(step, loops[k].Size)
	}
	return true
}
