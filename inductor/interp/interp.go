// Package interp interprets kernels: for machines without a C compiler and as a
// second opinion in tests. It walks the same loops and phases as the generated C, a
// tile of the innermost loop at a time.
//
// It imports ir, sched, ops and sym; memory, sizes and failures of data reach it
// through Env, so that it knows neither tensors nor how programs run. Open this file
// first, then arith.go (one operation) and memory.go.
package interp

import (
	"slices"
	"unsafe"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// Env is what a call of a program gives its kernels.
type Env interface {
	// Eval is the value of a size in this call.
	Eval(x sym.Int) int64
	// Pointer is where the first element of a buffer's memory lies.
	Pointer(b *ir.Buffer) unsafe.Pointer
	// Failed notes that data is not as it must be.
	Failed()
}

// tileSize is the number of elements that an operation handles at once.
const tileSize = 512

// kernel is one kernel in one call.
type kernel struct {
	env   Env
	k     *sched.Kernel
	size  []int     // of each loop
	at    []int     // current value of each loop
	steps [][]value // [] /* step */ body with addresses in numbers
	rows  map[*ir.Buffer][]byte
	regs  map[*ir.Buffer]vec
	accs  map[[2]int]*accumulator
	scans map[[2]int]vec // the last results of scans
	vals  [][]vec        // [] /* step */ [] /* value */
	rowOf []int          // strides of a private row
}

// value is a value with its address in numbers.
type value struct {
	*ir.Value
	off   int
	coef  []int
	inner bool // depends on the inner loops
}

// Run runs one kernel in one call.
func Run(k *sched.Kernel, env Env) {
	if k.Before != nil {
		env = imageBefore(k, env)
	}
	newKernel(env, k).run()
}

func newKernel(env Env, k *sched.Kernel) *kernel {
	p := &kernel{
		env: env, k: k, rows: map[*ir.Buffer][]byte{}, regs: map[*ir.Buffer]vec{}, accs: map[[2]int]*accumulator{},
		scans: map[[2]int]vec{},
	}
	for _, l := range k.Loops {
		p.size = append(p.size, p.eval(l.Size))
	}
	p.at = make([]int, len(p.size))
	outer := map[*ir.Buffer]bool{}
	for _, st := range k.Steps {
		if !st.Inner || st.Reduces() {
			st.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { outer[b] = true })
		}
	}
	for _, st := range k.Steps {
		p.steps = append(p.steps, p.values(st, outer))
		p.vals = append(p.vals, make([]vec, len(st.Body)))
	}
	p.rowStrides()
	return p
}

func (p *kernel) eval(x sym.Int) int { return int(p.env.Eval(x)) }

func (p *kernel) ints(xs []sym.Int) []int {
	out := make([]int, len(xs))
	for i, x := range xs {
		out[i] = p.eval(x)
	}
	return out
}

func (p *kernel) values(st sched.Step, outer map[*ir.Buffer]bool) []value {
	out := make([]value, len(st.Body))
	for i := range st.Body {
		v := &st.Body[i]
		pv := value{Value: v, off: p.eval(v.Index.Off), coef: p.ints(v.Index.Coef)}
		if st.Inner {
			_, own := p.k.Place[v.Buf]
			pv.inner = v.Op == ir.Load && own && !outer[v.Buf]
			for k := p.k.Outer; k < len(pv.coef); k++ {
				pv.inner = pv.inner || pv.coef[k] != 0
			}
			for _, a := range v.Args {
				pv.inner = pv.inner || out[a].inner
			}
			if v.Op == ir.Reduce {
				pv.inner = false
			}
		}
		out[i] = pv
	}
	return out
}

// rowStrides lays out the private rows and allocates them.
func (p *kernel) rowStrides() {
	p.rowOf = make([]int, len(p.size))
	n := 1
	for k := len(p.size) - 1; k >= p.k.Outer; k-- {
		p.rowOf[k] = n
		n *= p.size[k]
	}
	for b, place := range p.k.Place {
		if place == sched.Row {
			p.rows[b] = make([]byte, max(1, n)*b.DType.Size())
		}
	}
}

// run walks the outer loops.
func (p *kernel) run() {
	if p.k.Group.Template {
		p.product()
		return
	}
	for _, n := range p.size[:p.k.Outer] {
		if n == 0 {
			return
		}
	}
	for {
		clear(p.regs)
		for ph := range p.k.Phases {
			p.outerItems(ph)
			p.inner(ph)
		}
		if !next(p.at[:p.k.Outer], p.size) {
			return
		}
	}
}

// next advances a counter, last digit fastest.
func next(at, size []int) bool {
	for k := len(at) - 1; k >= 0; k-- {
		if at[k]++; at[k] < size[k] {
			return true
		}
		at[k] = 0
	}
	return false
}

func (p *kernel) outerItems(ph int) {
	for i := range p.k.Steps {
		if st := &p.k.Steps[i]; st.Phase == ph && !st.Inner {
			for j := range p.steps[i] {
				p.value(i, j, 1)
			}
		}
	}
}

// inner runs phase ph of the inner loops, and what follows its reductions.
func (p *kernel) inner(ph int) {
	any := false
	for i := range p.k.Steps {
		if st := &p.k.Steps[i]; st.Phase == ph && st.Inner {
			any = true
			for j := range p.steps[i] {
				switch v := &p.steps[i][j]; v.Op {
				case ir.Reduce:
					p.accs[[2]int{i, j}] = newAccumulator(v.Value, p.steps[i][v.Args[0]].DType)
				case ir.Scan:
					delete(p.scans, [2]int{i, j})
				}
			}
		}
	}
	if !any {
		return
	}
	last := len(p.size) - 1
	for k := p.k.Outer; k <= last; k++ {
		p.at[k] = 0
		if p.size[k] == 0 {
			p.after(ph)
			return
		}
	}
	for {
		for p.at[last] = 0; p.at[last] < p.size[last]; p.at[last] += tileSize {
			p.tile(ph, min(tileSize, p.size[last]-p.at[last]))
		}
		p.at[last] = 0
		if !next(p.at[p.k.Outer:last], p.size[p.k.Outer:]) {
			break
		}
	}
	p.after(ph)
}

// tile runs the inner items of a phase over n iterations of the last loop.
func (p *kernel) tile(ph, n int) {
	for i := range p.k.Steps {
		st := &p.k.Steps[i]
		if st.Phase != ph || !st.Inner {
			continue
		}
		for j := range p.steps[i] {
			v := &p.steps[i][j]
			if v.Op == ir.Reduce {
				p.accs[[2]int{i, j}].add(p.vals[i][v.Args[0]].stretch(n), p.position(v, n))
				if st.Reduces() {
					break
				}
				continue
			}
			p.value(i, j, n)
		}
	}
	for i := range p.k.Steps { // values of this iteration end here
		if st := &p.k.Steps[i]; st.Phase == ph && st.Inner && !st.Reduces() {
			st.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { delete(p.regs, b) })
		}
	}
}

func (p *kernel) position(v *value, n int) func(k int) int64 {
	if len(v.coef) == 0 {
		return nil
	}
	base, step := p.address(v), v.coef[len(p.size)-1]
	return func(k int) int64 { return int64(base + k*step) }
}

// after runs what follows the reductions of a phase.
func (p *kernel) after(ph int) {
	for i := range p.k.Steps {
		st := &p.k.Steps[i]
		if st.Phase != ph || !st.Inner || !st.Reduces() {
			continue
		}
		done := false
		for j := range p.steps[i] {
			v := &p.steps[i][j]
			switch {
			case v.Op == ir.Reduce:
				p.vals[i][j] = p.accs[[2]int{i, j}].result()
				done = true
			case done:
				p.value(i, j, 1)
			}
		}
	}
}

func (p *kernel) address(v *value) int {
	a := v.off
	for k, c := range v.coef {
		a += c * p.at[k]
	}
	return a
}

// value computes operation j of step i over n iterations.
func (p *kernel) value(i, j, n int) {
	v := &p.steps[i][j]
	switch v.Op {
	case ir.Store:
		p.store(v, p.vals[i][v.Args[0]].stretch(n), n)
	case ir.Load:
		p.vals[i][j] = p.load(v, n)
	case ir.StoreAt, ir.FoldAt:
		p.storeAt(v, p.vals[i][v.Args[0]].stretch(n), p.vals[i][v.Args[1]].stretch(n))
	case ir.Scan:
		p.vals[i][j] = p.scan([2]int{i, j}, v, p.vals[i][v.Args[0]].stretch(n))
	case ir.LoadAt:
		p.vals[i][j] = p.loadAt(v, p.vals[i][v.Args[0]].stretch(n), n)
	case ir.Check:
		if slices.Contains(p.vals[i][v.Args[0]].i64, 0) {
			p.env.Failed()
		}
	case ir.IndexOf:
		out := newVec(v.DType, n)
		base, step := p.address(v), v.coef[len(p.size)-1]
		for k := range n {
			out.i64[k] = int64(base + k*step)
		}
		p.vals[i][j] = out
	default:
		args := make([]vec, len(v.Args))
		for k, a := range v.Args {
			args[k] = p.vals[i][a].stretch(n)
		}
		p.vals[i][j] = ir.Evaluate(numbers{n}, v.Value, ir.OperandType(p.k.Steps[i].Body, v.Value), args)
	}
}

// memory returns the elements of a load or store: where the first one is and
// the step to the next.
func (p *kernel) memory(v *value) (base unsafe.Pointer, first, step int) {
	last := len(p.size) - 1
	if row, ok := p.rows[v.Buf]; ok {
		a := 0
		for k, c := range p.rowOf {
			a += c * p.at[k]
		}
		return unsafe.Pointer(&row[0]), a, 1
	}
	return p.env.Pointer(v.Buf), p.address(v), v.coef[last]
}

func (p *kernel) load(v *value, n int) vec {
	if r, ok := p.regs[v.Buf]; ok {
		return r.stretch(n)
	}
	base, first, step := p.memory(v)
	return readTile(v.Buf.DType, base, first, step, n)
}

// loadAt loads the elements that lie so far after an address.
func (p *kernel) loadAt(v *value, at vec, n int) vec {
	base, first, step := p.memory(v)
	out := newVec(v.DType, n)
	for k := range n {
		one := readTile(v.Buf.DType, base, first+k*step+int(at.i64[k]), 0, 1)
		out.set(k, one)
	}
	return out
}

func (p *kernel) store(v *value, x vec, n int) {
	x = x.narrowed(v.Buf.DType)
	p.regs[v.Buf] = x
	if p.k.Place[v.Buf] == sched.Register {
		return
	}
	base, first, step := p.memory(v)
	writeTile(v.Buf.DType, x, base, first, step)
}
