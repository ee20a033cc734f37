package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Place is where a kernel keeps a buffer that it writes.
type Place uint8

// The places.
const (
	Memory   Place = iota // the buffer itself
	Register              // the value lives for one iteration
	Row                   // one row of the inner loops, private to the thread
)

// Kernel is a group ready for code generation: loops in their final order, every
// item in the phase in which it runs.
//
// The outer loops are walked in parallel. In each outer iteration the phases
// run in turn: first the outer items of the phase, once, then the inner loops
// with the inner items. The result of a reduction of phase p is there from
// phase p+1 on.
type Kernel struct {
	Name  string
	Group *Group
	Loops []Var // outer ones first
	Outer int   // number of outer loops
	Steps []Step
	// Phases is one more than the largest phase of a step.
	Phases int
	Place  map[*ir.Buffer]Place
	// Vec is the loop that is vectorised, the last outer or the last inner one;
	// for a template the column loop.
	Vec int
	// Pointwise kernels have no reduction: their last loop may be cut into
	// chunks for threads.
	Pointwise bool
	// Sequential kernels walk their inner loops in order: one element at a time, or a vector of which what has an order goes
	// lane by lane, see Ordered.
	Sequential bool
	// Cached are buffers that pass between kernels that run together, see plan.Attention: they stay in a cache.
	Cached []*ir.Buffer
	// Before makes the image of a template, which is its one buffer in memory; nil for none.
	Before *Kernel
}

// Step is one item in its phase.
type Step struct {
	*Item
	Phase int
}

// rowBytes is the most that a kernel keeps of a row for a later phase; longer
// rows go through memory.
const rowBytes = 64 << 10

// NewKernel finishes a group. needed tells whether a buffer is read outside it
// or leaves the program.
func NewKernel(g *Group, needed func(*ir.Buffer) bool) *Kernel {
	k := &Kernel{Group: g, Place: map[*ir.Buffer]Place{}}
	g.arrange()
	k.Pointwise = !g.typed() && !g.Template
	k.Sequential = g.sequential()
	if k.Pointwise {
		if len(g.Vars) == 0 {
			g.rewrite(nil, 1)
			g.Vars = []Var{{Size: sym.Const(1)}}
		}
		g.Vars[len(g.Vars)-1].Inner = true
		for _, it := range g.Items {
			it.Inner = true
		}
	}
	for _, v := range g.Vars {
		if !v.Inner {
			k.Outer++
		}
	}
	k.Loops = g.Vars
	k.phases()
	k.delay(needed)
	k.places(needed)
	k.Vec = k.vector()
	if g.Before != nil {
		k.before()
	}
	return k
}

// before finishes what makes the image of a template.
func (k *Kernel) before() {
	b := k.Group.Before
	k.Before = &Kernel{Name: k.Name, Group: b, Loops: b.Vars, Outer: 3, Vec: 3, Pointwise: true, Place: map[*ir.Buffer]Place{}}
	k.Before.phases()
	for _, it := range b.Items {
		it.Node.Writes(func(w *ir.Buffer, _ *ir.Index) { k.Before.Place[w], k.Place[w] = Register, Register })
	}
	k.Before.Place[templateNode(k.Group).MM.A] = Memory
}

// arrange orders the loops by the strides of the addresses, outermost largest,
// and merges neighbours that all addresses walk as one.
func (g *Group) arrange() {
	xs, weight := g.addresses()
	if !g.Template { // whose loops are numbered by the template
		g.permute(loopOrder(g.Vars, xs, weight, g.sequential()), xs)
	}
	g.mergeLoops(xs)
}

// coalesce merges neighbouring loops without reordering them.
func (g *Group) coalesce() {
	xs, _ := g.addresses()
	g.mergeLoops(xs)
}

// addresses are all the addresses of g with their weights in the loops' order.
func (g *Group) addresses() (xs []*ir.Index, weight []int) {
	for _, it := range g.Items {
		if it.Node.Kind == ir.Matmul {
			xs, weight = append(xs, &it.Out), append(weight, 8)
		}
		for i := range it.Body {
			v := &it.Body[i]
			if !v.Accesses() && v.Op != ir.IndexOf && len(v.Index.Coef) == 0 {
				continue
			}
			w := 1
			if v.Op == ir.Store {
				w = 3
			}
			xs, weight = append(xs, &v.Index), append(weight, w)
		}
	}
	return xs, weight
}

// mergeLoops makes one loop of neighbours that all addresses walk as one.
func (g *Group) mergeLoops(xs []*ir.Index) {
	for k := 0; k+1 < len(g.Vars); {
		if !g.mergeable(k, xs) {
			k++
			continue
		}
		g.Vars[k].Size = sym.Mul(g.Vars[k].Size, g.Vars[k+1].Size)
		for _, x := range xs {
			x.Coef[k] = x.Coef[k+1]
			x.Coef = slices.Delete(x.Coef, k+1, k+2)
		}
		g.Vars = slices.Delete(slices.Clone(g.Vars), k+1, k+2)
	}
}

func loopOrder(vars []Var, xs []*ir.Index, weight []int, sequential bool) []int {
	order := make([]int, len(vars))
	for i := range order {
		order[i] = i
	}
	before := func(a, b int) bool { // a is surely further out than b
		switch {
		case vars[a].Inner != vars[b].Inner:
			return vars[b].Inner
		case vars[a].Col != vars[b].Col:
			return vars[b].Col
		case sequential && vars[a].Inner:
			return a < b
		}
		votes := 0
		for i, x := range xs {
			ca, cb := abs64(ir.HintOf(x.Coef[a])), abs64(ir.HintOf(x.Coef[b]))
			if ca != 0 && cb != 0 {
				votes += weight[i] * cmp.Compare(ca, cb)
			}
		}
		if votes != 0 {
			return votes > 0
		}
		return a < b
	}
	for i := 1; i < len(order); i++ {
		for j := i; j > 0 && before(order[j], order[j-1]); j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	return order
}

func (g *Group) permute(order []int, xs []*ir.Index) {
	vars := make([]Var, len(order))
	for i, o := range order {
		vars[i] = g.Vars[o]
	}
	for _, x := range xs {
		*x = inOrder(*x, order)
	}
	g.Vars = vars
}

func (g *Group) mergeable(k int, xs []*ir.Index) bool {
	a, b := g.Vars[k], g.Vars[k+1]
	if a.Inner != b.Inner || a.Col || b.Col {
		return false
	}
	for _, x := range xs {
		if !sym.Same(x.Coef[k], sym.Mul(x.Coef[k+1], b.Size)) {
			return false
		}
	}
	return true
}

// written tells which item writes a buffer, where there is exactly one.
func (k *Kernel) written() map[*ir.Buffer]*Step {
	out := map[*ir.Buffer]*Step{}
	for i := range k.Steps {
		k.Steps[i].Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
			if _, twice := out[b]; twice {
				out[b] = nil
				return
			}
			out[b] = &k.Steps[i]
		})
	}
	return out
}

// Reduces reports whether the item folds the inner loops.
func (it *Item) Reduces() bool { return it.Node.Kind == ir.Reduction }

// phases gives each item the first phase in which its operands are there.
func (k *Kernel) phases() {
	ready := map[*ir.Buffer]*Step{}
	k.Steps = make([]Step, len(k.Group.Items))
	for i, it := range k.Group.Items {
		st := &k.Steps[i]
		st.Item = it
		it.Node.Reads(func(b *ir.Buffer, _ *ir.Index) {
			if d := ready[b]; d != nil {
				p := d.Phase
				if d.Reduces() {
					p++
				}
				st.Phase = max(st.Phase, p)
			}
		})
		it.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { ready[b] = st })
		last := st.Phase
		if it.Reduces() {
			last++
		}
		k.Phases = max(k.Phases, last+1)
	}
	slices.SortStableFunc(k.Steps, func(a, b Step) int {
		if x, y := a.Node.Kind == ir.Matmul, b.Node.Kind == ir.Matmul; x != y { // the template leads
			if x {
				return -1
			}
			return 1
		}
		return a.Phase - b.Phase
	})
}

func (k *Kernel) places(needed func(*ir.Buffer) bool) {
	for b, w := range k.written() {
		if w == nil || needed(b) || w.scatters() {
			k.Place[b] = Memory
			continue
		}
		k.Place[b] = k.privatePlace(b, w)
	}
}

// scatters reports whether the item stores at positions that are data.
func (it *Item) scatters() bool {
	return slices.ContainsFunc(it.Body, func(v ir.Value) bool { return v.Scatters() })
}

// privatePlace is for a buffer that only this kernel reads.
func (k *Kernel) privatePlace(b *ir.Buffer, w *Step) Place {
	if !w.Inner || w.Reduces() {
		return Register
	}
	place := Register
	for i := range k.Steps {
		k.Steps[i].Node.Reads(func(r *ir.Buffer, _ *ir.Index) {
			if r == b && k.Steps[i].Phase != w.Phase {
				place = Row
			}
		})
	}
	if place == Row {
		if n, ok := k.RowSize(); !ok || n*int64(b.DType.Size()) > rowBytes {
			return Memory
		}
	}
	return place
}

// RowSize is the number of inner iterations where it is static.
func (k *Kernel) RowSize() (int64, bool) {
	n := int64(1)
	for _, v := range k.Loops[k.Outer:] {
		c, ok := v.Size.IsConst()
		if !ok {
			return 0, false
		}
		n *= c
	}
	return n, true
}

// vector picks the loop along which most addresses are contiguous, of those
// that change with the inner loops: what does not is read once a row.
func (k *Kernel) vector() int {
	last := len(k.Loops) - 1
	if k.Pointwise || k.Outer == 0 || k.Group.Template {
		return last
	}
	if k.Ordered() {
		return k.Outer - 1
	}
	score := func(loop int) int {
		n := 0
		for _, st := range k.Steps {
			for i := range st.Body {
				v := &st.Body[i]
				if !v.Accesses() || !k.walksInner(v.Index) || k.Place[v.Buf] != Memory && v.Op == ir.Store {
					continue
				}
				switch {
				case sym.Is(v.Index.Coef[loop], 1):
					n += 2
				case v.Index.Uses(loop):
					n--
				}
			}
		}
		return n
	}
	if score(k.Outer-1) > score(last) {
		return k.Outer - 1
	}
	return last
}

// walksInner reports whether an address changes with the inner loops.
func (k *Kernel) walksInner(x ir.Index) bool {
	for loop := k.Outer; loop < len(k.Loops); loop++ {
		if x.Uses(loop) {
			return true
		}
	}
	return false
}

// Origins lists the graph nodes that the kernel computes, in order.
func (k *Kernel) Origins() []ir.Origin {
	var out []ir.Origin
	seen := map[string]bool{}
	for _, it := range k.Group.Members() {
		for _, o := range it.Node.Origins {
			if !seen[o.Node] {
				seen[o.Node] = true
				out = append(out, o)
			}
		}
	}
	return out
}

// KernelName is named after the operators that are fused, as a word of C and
// Python: special.xlog1py is special_xlog1py.
func KernelName(origins []ir.Origin, number int) string {
	var parts []string
	for _, o := range origins {
		if !slices.Contains(parts, o.Op) {
			parts = append(parts, o.Op)
		}
	}
	s := strings.ReplaceAll(strings.Join(parts, "_"), ".", "_")
	if len(s) > 64 {
		s = s[:strings.LastIndexByte(s[:64], '_')] + "_etc"
	}
	return fmt.Sprintf("fused_%s_%d", s, number)
}

// Traffic is the number of bytes that one run reads and writes, each buffer
// counted once.
func (k *Kernel) Traffic() int64 {
	n := int64(0)
	seen := map[*ir.Buffer]bool{}
	for _, a := range k.Group.accesses() {
		if !seen[a.buf] && k.Place[a.buf] == Memory && !slices.Contains(k.Cached, a.buf) {
			seen[a.buf] = true
			n += a.buf.Bytes()
		}
	}
	return n
}

// Rereads reports whether the kernel loads from memory what it stores to b: in the
// iteration and the phase of the store readers get the value itself.
func (k *Kernel) Rereads(b *ir.Buffer) bool {
	var stored *Step
	for i := range k.Steps {
		st := &k.Steps[i]
		for j := range st.Body {
			switch v := &st.Body[j]; {
			case v.Buf != b:
			case v.Op == ir.Store:
				stored = st
			case stored == nil || v.Op != ir.Load || st.Phase != stored.Phase || st.Inner != stored.Inner:
				return true
			}
		}
	}
	return false
}

// FLOPs counts the arithmetic operations of one run.
func (k *Kernel) FLOPs() int64 {
	n := int64(0)
	for _, it := range k.Group.Members() {
		if it.Node.Kind == ir.Matmul {
			n += 2 * it.Node.Numel()
		}
		for i := range it.Body {
			switch it.Body[i].Op {
			case ir.Const, ir.Load, ir.LoadAt, ir.Store, ir.StoreAt, ir.IndexOf, ir.Cast, ir.Check:
			default:
				n += it.Node.Numel()
			}
		}
	}
	return n
}

// Checks reports whether the kernel verifies data as it runs.
func (k *Kernel) Checks() bool {
	return slices.ContainsFunc(k.Group.Members(), func(it *Item) bool { return it.Node.Checks() })
}

// Ordered reports whether each inner iteration has to end before the next begins: of a sequential kernel that scans, or
// scatters more than once or into what it reads. With one scatter that nothing reads, the scatter alone keeps the order.
func (k *Kernel) Ordered() bool {
	if !k.Sequential {
		return false
	}
	var target *ir.Buffer
	uses := map[*ir.Buffer]int{}
	for i := range k.Steps {
		for j := range k.Steps[i].Body {
			v := &k.Steps[i].Body[j]
			if v.Op == ir.Scan || v.Scatters() && target != nil {
				return true
			}
			if v.Scatters() {
				target = v.Buf
			}
			if v.Accesses() {
				uses[v.Buf]++
			}
		}
	}
	return target == nil || uses[target] > 1
}

// Lanes8 reports whether the kernel computes with elements of eight bytes, for
// which a vector holds half as many.
func (k *Kernel) Lanes8() bool {
	for _, it := range k.Group.Members() {
		for i := range it.Body {
			if it.Body[i].DType.Size() == 8 || it.Body[i].DType == ops.Int64 {
				return true
			}
		}
	}
	return false
}
