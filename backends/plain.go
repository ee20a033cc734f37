package backends

import (
	"math"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"tcdbg/inductor"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/internal/ops"
	"tcdbg/torch"
)

// This file is the plain executor: it interprets the kernels of a program, for
// machines without a C compiler and as a second opinion in tests. It walks the
// same loops and phases as the generated C, a tile of the innermost loop at a
// time.

// plain executes the program without compiled code.
func (x *executable) plain(in []torch.Value) []torch.Value {
	f := x.frames.Get().(*frame)
	f.bind(in)
	f.place(nil)
	slots := map[string]int{}
	for i := range x.prog.Buffers {
		slots[x.prog.Buffers[i].Name] = i
	}
	kernels := func(st *inductor.Step, slot int) {
		for i, k := range st.Kernels {
			start := time.Now()
			newPlainKernel(f, k, slots).run()
			x.prof.since(slot+i, start) // an interpreter has the time for a clock
		}
	}
	f.withPrologue(in, func(i int) { kernels(&x.prog.Prologue[i], x.prof.onceAt[i]) })
	for i := range x.prog.Steps {
		st := &x.prog.Steps[i]
		if st.Extern != nil {
			start := time.Now()
			f.extern(st.Extern)
			x.prof.since(x.prof.at[i], start)
			continue
		}
		kernels(st, x.prof.at[i])
	}
	x.prof.end()
	f.verify(in)
	out := f.outputs(in)
	runtime.KeepAlive(in)
	f.release()
	return out
}

// tileSize is the number of elements that an operation handles at once.
const tileSize = 512

// vec is a value over a tile, in the one slice that fits its type: float32,
// float64, or int64 for integers and bool.
type vec struct {
	f32 []float32
	f64 []float64
	i64 []int64
}

func newVec(d ops.DType, n int) vec {
	switch d {
	case ops.Float32:
		return vec{f32: make([]float32, n)}
	case ops.Float64:
		return vec{f64: make([]float64, n)}
	}
	return vec{i64: make([]int64, n)}
}

func (v vec) len() int { return len(v.f32) + len(v.f64) + len(v.i64) }

// stretch repeats a single element n times.
func (v vec) stretch(n int) vec {
	if v.len() == n {
		return v
	}
	return vec{repeat(v.f32, n), repeat(v.f64, n), repeat(v.i64, n)}
}

func repeat[T any](x []T, n int) []T {
	if len(x) == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = x[0]
	}
	return out
}

// plainKernel is one kernel in one call.
type plainKernel struct {
	f     *frame
	k     *sched.Kernel
	slots map[string]int
	size  []int          // of each loop
	at    []int          // current value of each loop
	steps [][]plainValue // [] /* step */ body with addresses in numbers
	rows  map[*ir.Buffer][]byte
	regs  map[*ir.Buffer]vec
	accs  map[[2]int]*accumulator
	scans map[[2]int]vec // the last results of scans
	vals  [][]vec        // [] /* step */ [] /* value */
	rowOf []int          // strides of a private row
}

// plainValue is a value with its address in numbers.
type plainValue struct {
	*ir.Value
	off   int
	coef  []int
	inner bool // depends on the inner loops
}

func newPlainKernel(f *frame, k *sched.Kernel, slots map[string]int) *plainKernel {
	p := &plainKernel{f: f, k: k, slots: slots, rows: map[*ir.Buffer][]byte{}, regs: map[*ir.Buffer]vec{}, accs: map[[2]int]*accumulator{}, scans: map[[2]int]vec{}}
	for _, l := range k.Loops {
		p.size = append(p.size, int(f.eval(l.Size)))
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

func (p *plainKernel) values(st sched.Step, outer map[*ir.Buffer]bool) []plainValue {
	out := make([]plainValue, len(st.Body))
	for i := range st.Body {
		v := &st.Body[i]
		pv := plainValue{Value: v, off: int(p.f.eval(v.Index.Off)), coef: p.f.ints(v.Index.Coef)}
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
func (p *plainKernel) rowStrides() {
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
func (p *plainKernel) run() {
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

func (p *plainKernel) outerItems(ph int) {
	for i := range p.k.Steps {
		if st := &p.k.Steps[i]; st.Phase == ph && !st.Inner {
			for j := range p.steps[i] {
				p.value(i, j, 1)
			}
		}
	}
}

// inner runs phase ph of the inner loops, and what follows its reductions.
func (p *plainKernel) inner(ph int) {
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
func (p *plainKernel) tile(ph, n int) {
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

func (p *plainKernel) position(v *plainValue, n int) func(k int) int64 {
	if len(v.coef) == 0 {
		return nil
	}
	base, step := p.address(v), v.coef[len(p.size)-1]
	return func(k int) int64 { return int64(base + k*step) }
}

// after runs what follows the reductions of a phase.
func (p *plainKernel) after(ph int) {
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

func (p *plainKernel) address(v *plainValue) int {
	a := v.off
	for k, c := range v.coef {
		a += c * p.at[k]
	}
	return a
}

// value computes operation j of step i over n iterations.
func (p *plainKernel) value(i, j, n int) {
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
			p.f.failed()
		}
	case ir.Const:
		out := newVec(v.DType, 1)
		if v.DType.IsFloat() {
			setFloat(out, 0, v.F)
		} else {
			out.i64[0] = v.I
		}
		p.vals[i][j] = out.stretch(n)
	case ir.IndexOf:
		out := newVec(ops.Int64, n)
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
		from := v.DType
		if len(v.Args) > 0 {
			from = p.steps[i][v.Args[len(v.Args)-1]].DType
		}
		p.vals[i][j] = apply(v.Op, from, v.DType, args, n)
	}
}

// memory returns the elements of a load or store: where the first one is and
// the step to the next.
func (p *plainKernel) memory(v *plainValue) (base unsafe.Pointer, first, step int) {
	last := len(p.size) - 1
	if row, ok := p.rows[v.Buf]; ok {
		a := 0
		for k, c := range p.rowOf {
			a += c * p.at[k]
		}
		return unsafe.Pointer(&row[0]), a, 1
	}
	ptr := p.f.ptrs[p.slots[v.Buf.Name]]
	return *(*unsafe.Pointer)(unsafe.Pointer(&ptr)), p.address(v), v.coef[last]
}

func (p *plainKernel) load(v *plainValue, n int) vec {
	if r, ok := p.regs[v.Buf]; ok {
		return r.stretch(n)
	}
	base, first, step := p.memory(v)
	return readTile(v.Buf.DType, base, first, step, n)
}

// loadAt loads the elements that lie so far after an address.
func (p *plainKernel) loadAt(v *plainValue, at vec, n int) vec {
	base, first, step := p.memory(v)
	out := newVec(v.DType, n)
	for k := range n {
		one := readTile(v.Buf.DType, base, first+k*step+int(at.i64[k]), 0, 1)
		out.set(k, one)
	}
	return out
}

func (p *plainKernel) store(v *plainValue, x vec, n int) {
	x = x.narrowed(v.Buf.DType)
	p.regs[v.Buf] = x
	if p.k.Place[v.Buf] == sched.Register {
		return
	}
	base, first, step := p.memory(v)
	writeTile(v.Buf.DType, x, base, first, step)
}

// product computes a template: the product row by row, then its epilogue.
func (p *plainKernel) product() {
	n := p.k.Steps[0].Node
	mm := n.MM
	nb := len(n.Outer) - 2
	outer := p.f.ints(n.Outer)
	rows, cols, depth := outer[nb], outer[nb+1], int(p.f.eval(mm.K))
	ai, bi := p.f.ints(mm.AIdx.Coef), p.f.ints(mm.BIdx.Coef)
	aOff, bOff := int(p.f.eval(mm.AIdx.Off)), int(p.f.eval(mm.BIdx.Off))
	a, b := p.pointer(mm.A), p.pointer(mm.B)
	batch := make([]int, nb)
	line := make([]float32, cols)
	linear := 0
	for cols > 0 && rows > 0 {
		for m := range rows {
			ra, rb := aOff+m*ai[nb], bOff
			for d, x := range batch {
				ra += x * ai[d]
				rb += x * bi[d]
			}
			if mm.Conv != nil {
				convRow(line, operand{a, ra, ai[nb+2]}, operand{b, rb, 1}, depth, mm.Conv)
			} else {
				productRow(line, operand{a, ra, ai[nb+2]}, operand{b, rb, bi[nb+2]}, depth, bi[nb+1])
			}
			p.epilogue(linear*rows+m, line)
		}
		linear++
		if !next(batch, outer) {
			return
		}
	}
}

func (p *plainKernel) pointer(b *ir.Buffer) unsafe.Pointer {
	ptr := p.f.ptrs[p.slots[b.Name]]
	return *(*unsafe.Pointer)(unsafe.Pointer(&ptr))
}

// operand is numbers in memory: where they begin, the first that is meant and the
// step from one to the next. Only what is read has an address: the first one of a
// padded window may lie before the memory.
type operand struct {
	base        unsafe.Pointer
	first, step int
}

// at is the k-th number, shifted by so many others.
func (o operand) at(k, shift int) float32 {
	return *(*float32)(unsafe.Add(o.base, 4*(o.first+k*o.step+shift)))
}

func productRow(out []float32, a, b operand, depth, bcol int) {
	clear(out)
	for k := range depth {
		x := a.at(k, 0)
		for c := range out {
			out[c] += float32(x * b.at(k, c*bcol))
		}
	}
}

// convRow is one output channel of a convolution, its columns gathered from the
// image.
func convRow(out []float32, a, image operand, depth int, c *ir.ConvInfo) {
	clear(out)
	for k := range depth {
		x := a.at(k, 0)
		for n := range out {
			if at, inside := c.At(int64(k), int64(n)); inside {
				out[n] += float32(x * image.at(int(at), 0))
			}
		}
	}
}

// epilogue runs the pointwise items on one row of the product.
func (p *plainKernel) epilogue(row int, line []float32) {
	st := &p.k.Steps[0]
	for k := p.k.Vec - 1; k >= 0; k-- {
		p.at[k] = row % p.size[k]
		row /= p.size[k]
	}
	out := st.Node.MM.Out
	store := plainValue{Value: &ir.Value{Op: ir.Store, DType: out.DType, Buf: out}, off: int(p.f.eval(st.Out.Off)), coef: p.f.ints(st.Out.Coef)}
	for c := 0; c < len(line); c += tileSize {
		n := min(tileSize, len(line)-c)
		p.at[p.k.Vec] = c
		clear(p.regs)
		p.store(&store, vec{f32: line[c : c+n]}, n)
		for i := range p.k.Steps[1:] {
			for j := range p.steps[i+1] {
				p.value(i+1, j, n)
			}
		}
	}
}

func setFloat(v vec, k int, x float64) {
	if v.f32 != nil {
		v.f32[k] = float32(x)
		return
	}
	v.f64[k] = x
}

// accumulator folds a reduction; sums of floats are kept in float64.
type accumulator struct {
	v  *ir.Value
	d  ops.DType
	f  float64
	i  int64
	at int64
}

func newAccumulator(v *ir.Value, d ops.DType) *accumulator {
	a := &accumulator{v: v, d: d, at: math.MaxInt64}
	switch v.Red {
	case ir.RProd, ir.RAll:
		a.f, a.i = 1, 1
	case ir.RMax, ir.RArgMax:
		a.f, a.i = math.Inf(-1), math.MinInt64
	case ir.RMin, ir.RArgMin:
		a.f, a.i = math.Inf(1), math.MaxInt64
	}
	return a
}

func (a *accumulator) add(x vec, at func(int) int64) {
	for k := range x.len() {
		if a.d.IsFloat() {
			a.addFloat(floatAt(x, k), k, at)
		} else {
			a.addInt(x.i64[k], k, at)
		}
	}
}

func floatAt(x vec, k int) float64 {
	if x.f32 != nil {
		return float64(x.f32[k])
	}
	return x.f64[k]
}

func (a *accumulator) addFloat(x float64, k int, at func(int) int64) {
	nan := math.IsNaN(x) && !math.IsNaN(a.f)
	switch a.v.Red {
	case ir.RSum:
		a.f += x
	case ir.RProd:
		a.f *= x
	case ir.RMax:
		if x > a.f || nan {
			a.f = x
		}
	case ir.RMin:
		if x < a.f || nan {
			a.f = x
		}
	case ir.RArgMax:
		a.pick(x > a.f || nan, x == a.f || math.IsNaN(x) && math.IsNaN(a.f), at(k), func() { a.f = x })
	case ir.RArgMin:
		a.pick(x < a.f || nan, x == a.f || math.IsNaN(x) && math.IsNaN(a.f), at(k), func() { a.f = x })
	}
}

func (a *accumulator) addInt(x int64, k int, at func(int) int64) {
	switch a.v.Red {
	case ir.RSum:
		a.i += x
	case ir.RProd:
		a.i *= x
	case ir.RMax:
		a.i = max(a.i, x)
	case ir.RMin:
		a.i = min(a.i, x)
	case ir.RAny:
		a.i |= x
	case ir.RAll:
		a.i &= x
	case ir.RArgMax:
		a.pick(x > a.i, x == a.i, at(k), func() { a.i = x })
	case ir.RArgMin:
		a.pick(x < a.i, x == a.i, at(k), func() { a.i = x })
	}
}

func (a *accumulator) pick(better, same bool, at int64, take func()) {
	if better || same && at < a.at {
		take()
		a.at = at
	}
}

func (a *accumulator) result() vec {
	if a.v.Red == ir.RArgMax || a.v.Red == ir.RArgMin {
		return vec{i64: []int64{a.at}}
	}
	out := newVec(a.d, 1)
	if a.d.IsFloat() {
		setFloat(out, 0, a.f)
	} else {
		out.i64[0] = wrap(a.d, a.i)
	}
	return out
}

// wrap keeps an integer within its type.
func wrap(d ops.DType, x int64) int64 {
	switch d {
	case ops.Int32:
		return int64(int32(x))
	case ops.Int16:
		return int64(int16(x))
	case ops.Int8:
		return int64(int8(x))
	case ops.Uint8:
		return int64(uint8(x))
	}
	return x
}
