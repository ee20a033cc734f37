package backends

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"tcdbg/inductor"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// executable is a program that can be called. Calls may overlap: all that a call
// changes is in its frame.
type executable struct {
	prog   *inductor.Program
	rt     *runtimeLib
	entry  uintptr
	eager  func(in []torch.Value) []torch.Value // the graph as its operators run
	graph  *byte
	frames sync.Pool
	static []shape    // [] /* buffer */ sizes that are known; nil sizes where dynamic
	outs   []shape    // [] /* output */ the same of results
	alone  []bool     // [] /* output */ the only result of its memory
	pack   sync.Mutex // of packed and of who uses it
	packed *packedSet
	prof   *profile
	watch  tracer.KernelWatch // a debugger; nil without
	id     logs.CompileID
	bodies map[string][]*executable // of control flow, by the step that runs them
	chosen []runChoice              // [] /* slot of the profile */ how kernels run, where that was timed; nil where not
	frozen bool                     // parameters are taken not to change
	tuned  tune.Choices             // that it was built with
	code   string                   // entry of the cache that was found before anything was compiled
	// planned is the program with its kernels, which one that was found is without; nil: prog is.
	planned func() *inductor.Program
	kept    [32]byte // the plan that it was found as, or that was kept of it; zeros: none
}

// runChoice is the runtime library's tc_choice.
type runChoice struct{ threads, rows, cols, _ int32 }

// shape is a buffer's layout in numbers.
type shape struct {
	bytes        int
	size, stride []int
}

// frame is the working set of one call, kept for the next.
type frame struct {
	x       *executable
	ptrs    []uintptr // table B
	sizes   []int64   // table S
	bufs    []home    // [] /* buffer */
	arena   *torch.Storage
	check   *torch.Storage // the word that kernels set when data is not as it must be
	offsets []int64
	syms    map[*sym.Symbol]int64
	inner   bool       // of a body: sizes may be known from outside
	packed  *packedSet // in use by this call, nil for none
	args    [7]uintptr // of the call into C
	times   []int64    // [] /* slot of the profile */ nanoseconds of this call; nil when it is not timed
	clock   []int64    // memory of times
	within  int64      // nanoseconds of kernels in bodies of the step that runs
	outside *frame     // of a body: the frame that runs it, nil where that is not timed
}

// home is where a buffer lives in this call.
type home struct {
	st  *torch.Storage
	off int // in elements
}

func newExecutable(p *inductor.Program) *executable {
	x := &executable{prog: p, static: make([]shape, len(p.Buffers)), prof: newProfile(p), alone: aloneIn(p)}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		x.static[i] = staticLayout(b.Span, b.DType, b.Shape, b.Stride)
	}
	for i := range p.Outputs {
		o := &p.Outputs[i]
		x.outs = append(x.outs, staticLayout(sym.Int{}, ops.Bool, o.Shape, o.Stride))
	}
	x.frames.New = func() any { return x.newFrame() }
	for name, list := range p.Bodies {
		for _, b := range list {
			x.addBody(name, newExecutable(b))
		}
	}
	return x
}

func (x *executable) newFrame() *frame {
	return &frame{
		x: x, ptrs: make([]uintptr, len(x.prog.Buffers)+1), sizes: make([]int64, len(x.prog.Sizes)+1),
		bufs: make([]home, len(x.prog.Buffers)), syms: map[*sym.Symbol]int64{},
	}
}

// eval is the value of x in this call.
func (f *frame) eval(x sym.Int) int64 {
	if v, ok := x.IsConst(); ok {
		return v
	}
	return x.Eval(func(s *sym.Symbol) int64 {
		if v, ok := s.Fixed(); ok {
			return v
		}
		v, ok := f.syms[s]
		if !ok {
			panic("inductor: symbol " + s.Name + " has no value")
		}
		return v
	})
}

func (f *frame) ints(xs []sym.Int) []int {
	out := make([]int, len(xs))
	for i, x := range xs {
		out[i] = int(f.eval(x))
	}
	return out
}

// layout returns buffer i's sizes in this call.
func (f *frame) layout(i int) shape {
	if s := f.x.static[i]; s.size != nil {
		return s
	}
	b := &f.x.prog.Buffers[i]
	return shape{int(f.eval(b.Span)) * b.DType.Size(), f.ints(b.Shape), f.ints(b.Stride)}
}

// run executes the program on compiled code.
func (x *executable) run(in []torch.Value) []torch.Value {
	f := x.frames.Get().(*frame)
	f.bind(in)
	f.place(nil)
	f.steps(in)
	out := f.outputs(in)
	runtime.KeepAlive(in)
	f.release()
	return out
}

// steps runs the program's steps, the prologue's first where it is due.
func (f *frame) steps(in []torch.Value) {
	f.time(f.x.prof.begin() || f.outside != nil)
	f.prologue(in)
	if w := f.x.watch; w != nil && w.Kernels() {
		f.watched(in)
		f.x.prof.end()
		return
	}
	for i := range f.x.prog.Steps {
		st := &f.x.prog.Steps[i]
		if st.Extern != nil {
			f.timedExtern(st.Extern, f.x.prof.at[i])
			continue
		}
		f.segment(st, f.x.prof.at[i])
		f.verify(in)
	}
	f.x.prof.end()
}

// time begins a call whose kernels are timed, or not.
func (f *frame) time(on bool) {
	f.times = nil
	if on {
		if f.clock == nil {
			f.clock = make([]int64, len(f.x.prof.slots))
		}
		f.times = f.clock
	}
}

// failed notes that data is not as it must be: a position outside of its
// dimension, an integer divided by zero.
func (f *frame) failed() { f.check.Bytes()[0] = 1 }

// verify runs the graph's operators one by one when a kernel met data that they
// refuse, so that the program panics as it does without a compiler.
func (f *frame) verify(in []torch.Value) {
	if f.check == nil || f.check.Bytes()[0] == 0 {
		return
	}
	if g := f.x.prog.Graph; g != nil {
		g.RunSized(in, f.syms)
	} else {
		f.x.eager(in)
	}
	panic("inductor: a kernel of " + f.x.prog.Name + " rejected data that its operators accept")
}

// segment runs one run of kernels in C; slot is the first of them in the profile.
func (f *frame) segment(st *plan.Step, slot int) {
	var times *int64
	if f.times != nil && len(st.Names) > 0 {
		times = &f.times[slot]
	}
	var chosen *runChoice
	if slot < len(f.x.chosen) && len(st.Names) > 0 {
		chosen = &f.x.chosen[slot]
	}
	f.enter(st.Segment, times, chosen)
	if times != nil {
		for i := range st.Names {
			f.took(slot+i, f.times[slot+i])
		}
	}
}

// enter calls into C; times is where the kernels' times go, nil for nowhere, and chosen how each runs. The
// arguments are in the frame, which outlives the call: a list of its own would
// be garbage of every call.
func (f *frame) enter(segment int, times *int64, chosen *runChoice) {
	f.args = [...]uintptr{
		f.x.entry, uintptr(segment), uintptr(unsafe.Pointer(&f.ptrs[0])),
		uintptr(unsafe.Pointer(&f.sizes[0])), uintptr(unsafe.Pointer(f.x.graph)), uintptr(unsafe.Pointer(times)),
		uintptr(unsafe.Pointer(chosen)),
	}
	r := ccall(f.x.rt.run, f.args[:]...)
	runtime.KeepAlive(f.x) // with it the code would go
	if r != 0 {
		panic(fmt.Sprintf("inductor: %s has no segment %d", f.x.prog.Name, segment))
	}
}

// bind reads the inputs: pointers, and the values of symbols.
func (f *frame) bind(in []torch.Value) {
	p := f.x.prog
	if len(in) != len(p.Inputs) {
		panic(fmt.Sprintf("inductor: %s takes %d inputs, not %d", p.Name, len(p.Inputs), len(in)))
	}
	for i, buf := range p.Inputs {
		if buf < 0 {
			continue
		}
		t := in[i].(*torch.Tensor)
		_, _, off := t.Layout()
		f.bufs[buf] = home{t.Storage(), off}
		f.ptrs[buf] = uintptr(t.Ptr())
	}
	for i := range p.Symbols {
		s := &p.Symbols[i]
		f.syms[s.Sym] = symbolValue(s, in[s.Input])
	}
	for i, e := range p.Sizes {
		f.sizes[i] = f.eval(e)
	}
}

func symbolValue(s *plan.Symbol, v torch.Value) int64 {
	if s.Dim < 0 {
		return int64(v.(int))
	}
	size, stride, _ := v.(*torch.Tensor).Layout()
	if s.Stride {
		return int64(stride[s.Dim])
	}
	return int64(size[s.Dim])
}

// place gives every buffer that is no input its memory; results get that of
// homes, where it is set.
func (f *frame) place(homes []home) {
	p := f.x.prog
	bytes := p.Arena
	f.offsets = nil
	if len(p.Symbols) > 0 || f.inner {
		f.offsets, bytes = p.PlanFor(f.eval)
	}
	if bytes > 0 && (f.arena == nil || len(f.arena.Bytes()) < int(bytes)) {
		f.arena = torch.NewKeptStorage(int(bytes))
	}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		switch b.Role {
		case plan.RoleArena:
			off := b.Offset
			if f.offsets != nil {
				off = f.offsets[i]
			}
			f.bufs[i] = home{f.arena, int(off) / b.DType.Size()}
			f.ptrs[i] = storagePtr(f.arena, int(off))
		case plan.RoleCheck:
			if f.check == nil {
				f.check = torch.NewKeptStorage(f.layout(i).bytes)
			}
			clear(f.check.Bytes())
			f.bufs[i] = home{f.check, 0}
			f.ptrs[i] = storagePtr(f.check, 0)
		case plan.RoleOver:
			in := p.Inputs[b.Over]
			f.bufs[i], f.ptrs[i] = f.bufs[in], f.ptrs[in]
		case plan.RoleOutput:
			var h home
			if homes != nil {
				h = homes[i]
			}
			if h.st == nil {
				h.st = torch.NewStorage(f.layout(i).bytes)
			}
			f.bufs[i] = h
			f.ptrs[i] = storagePtr(h.st, h.off*b.DType.Size())
		}
	}
}

func storagePtr(st *torch.Storage, off int) uintptr {
	if st == nil || off >= len(st.Bytes()) {
		return 0
	}
	return uintptr(unsafe.Pointer(&st.Bytes()[off]))
}

// timedExtern is extern with its time, where this call is timed.
func (f *frame) timedExtern(e *plan.Extern, slot int) {
	if f.times == nil {
		f.extern(e)
		return
	}
	f.within = 0
	start := time.Now()
	f.extern(e)
	f.since(slot, start)
}

// since adds the time of an extern call. That of control flow is without the kernels of its
// bodies, which have times of their own.
func (f *frame) since(slot int, start time.Time) {
	f.took(slot, max(int64(time.Since(start))-f.within, 0))
	if f.outside != nil {
		f.outside.within += f.within
	}
}

// took adds the time of one run of a slot, for the step that runs this body as well.
func (f *frame) took(slot int, nanos int64) {
	f.x.prof.add(slot, nanos)
	if f.outside != nil {
		f.outside.within += nanos
	}
}

// extern calls an operator eagerly.
func (f *frame) extern(e *plan.Extern) {
	if e.Flow != nil {
		f.flow(e)
		return
	}
	args := make([]ops.Arg, len(e.Args))
	for i, a := range e.Args {
		args[i] = f.arg(a)
	}
	outs := make([]*torch.Tensor, len(e.Outs))
	for i, b := range e.Outs {
		outs[i] = f.tensor(b)
	}
	torch.CallInto(e.Op, args, outs)
}

func (f *frame) arg(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case plan.BufferView:
		return f.view(a.Buffer, f.ints(a.Shape), f.ints(a.Stride), int(f.eval(a.Offset)))
	case []ops.Arg:
		out := make([]ops.Value, len(a))
		for i, x := range a {
			if x != nil {
				out[i] = f.arg(x).(*torch.Tensor)
			}
		}
		return out
	case sym.Int:
		return sym.Const(f.eval(a))
	case []sym.Int:
		out := make([]sym.Int, len(a))
		for i, x := range a {
			out[i] = sym.Const(f.eval(x))
		}
		return out
	}
	return a
}

func (f *frame) view(buf int, size, stride []int, off int) *torch.Tensor {
	h := f.bufs[buf]
	return torch.FromStorage(h.st, f.x.prog.Buffers[buf].DType, size, stride, h.off+off)
}

func (f *frame) tensor(buf int) *torch.Tensor {
	s := f.layout(buf)
	return f.view(buf, s.size, s.stride, 0)
}

func (f *frame) outputs(in []torch.Value) []torch.Value {
	out := make([]torch.Value, len(f.x.prog.Outputs))
	for i := range out {
		out[i] = f.output(i, in)
	}
	return out
}

// output makes result i: a fresh tensor, a view of an input where the graph
// returns such, or a plain value.
func (f *frame) output(i int, in []torch.Value) torch.Value {
	o := &f.x.prog.Outputs[i]
	if o.Buffer < 0 {
		return f.plainValue(o.Value)
	}
	if b := &f.x.prog.Buffers[o.Buffer]; b.Role == plan.RoleOver {
		return in[b.Over]
	}
	if k := f.wholeInput(o); k >= 0 {
		return in[k]
	}
	h, make := f.bufs[o.Buffer], torch.FromStorage
	if f.x.alone[i] {
		make = torch.FromFresh
	}
	return make(h.st, f.x.prog.Buffers[o.Buffer].DType, f.ints(o.Shape), f.ints(o.Stride), h.off+int(f.eval(o.Offset)))
}

// aloneIn says of each result whether it is the only one of a buffer that is made for results.
func aloneIn(p *inductor.Program) []bool {
	count := make([]int, len(p.Buffers))
	for i := range p.Outputs {
		if b := p.Outputs[i].Buffer; b >= 0 {
			count[b]++
		}
	}
	out := make([]bool, len(p.Outputs))
	for i := range out {
		b := p.Outputs[i].Buffer
		out[i] = b >= 0 && count[b] == 1 && p.Buffers[b].Role == plan.RoleOutput
	}
	return out
}

// wholeInput returns the input that an output simply is, -1 for none.
func (f *frame) wholeInput(o *plan.Output) int {
	b := &f.x.prog.Buffers[o.Buffer]
	if b.Role != plan.RoleInput || !sym.Is(o.Offset, 0) || !sym.AllSame(o.Shape, b.Shape) || !sym.AllSame(o.Stride, b.Stride) {
		return -1
	}
	for k, buf := range f.x.prog.Inputs {
		if buf == o.Buffer {
			return k
		}
	}
	return -1
}

func (f *frame) plainValue(v any) torch.Value {
	if x, ok := v.(sym.Int); ok {
		return int(f.eval(x))
	}
	return v
}

// release drops what belongs to the caller and keeps the rest for the next call.
func (f *frame) release() {
	for i := range f.bufs {
		if f.x.prog.Buffers[i].Role != plan.RoleArena {
			f.bufs[i] = home{}
		}
	}
	clear(f.syms)
	f.inner, f.outside = false, nil
	f.unpack()
	f.x.frames.Put(f)
}

// packedSet is what the prologue made for one set of parameters.
type packedSet struct {
	keys    []packedKey
	bufs    map[int]packedPart
	staying []*torch.Storage // that they lie in
	passing *torch.Storage   // of those that the prologue alone reads, while it runs
	users   int              // calls that run with it
}

// packedPart is where a buffer is that the prologue made.
type packedPart struct {
	st  *torch.Storage
	off int // in bytes
}

// packedKey identifies a parameter's content: its place and version.
type packedKey struct {
	st      *torch.Storage
	ptr     uintptr
	version uint64
}

// prologue provides the packed buffers: those of the last call when the
// parameters are unchanged, else new ones.
func (f *frame) prologue(in []torch.Value) {
	f.withPrologue(in, func(i int) { f.segment(&f.x.prog.Prologue[i], f.x.prof.hoistedAt[i]) })
}

// withPrologue is prologue with a way to run its i-th step.
func (f *frame) withPrologue(in []torch.Value, run func(i int)) {
	p := f.x.prog
	if len(p.Prologue) == 0 {
		return
	}
	f.x.pack.Lock()
	defer f.x.pack.Unlock()
	set := f.x.packed
	if set == nil || !f.current(set) {
		set = f.repack(run)
	}
	set.users++
	f.packed = set
	for buf, at := range set.bufs {
		f.bufs[buf] = home{at.st, at.off / f.x.prog.Buffers[buf].DType.Size()}
		f.ptrs[buf] = storagePtr(at.st, at.off)
	}
}

func (f *frame) current(set *packedSet) bool {
	for i, buf := range f.x.prog.Params {
		k := set.keys[i]
		if k.st != f.bufs[buf].st || k.ptr != f.ptrs[buf] || k.version != k.st.Version() && !f.x.frozen {
			return false
		}
	}
	return true
}

// unpack ends the use of what the prologue made. Once other parameters have taken its place and no
// call is left that reads it, its memory goes to the next such set: a step of training makes one,
// and waiting for the collector they would lie beside each other.
func (f *frame) unpack() {
	set := f.packed
	if set == nil {
		return
	}
	f.x.pack.Lock()
	defer f.x.pack.Unlock()
	f.packed = nil
	if set.users--; set.users == 0 && set != f.x.packed {
		set.free()
	}
}

func (s *packedSet) free() {
	for _, st := range s.staying {
		st.Release()
	}
}

// roomToPack is memory for what the prologue makes. Small buffers that stay lie side by side: of a network they are hundreds,
// which would take as many pieces of memory, cleared and in small pages. Large ones are pieces of their own, for which there
// may be memory that was used before. What the prologue alone reads lies where the plan has it.
func (f *frame) roomToPack() *packedSet {
	set := &packedSet{bufs: map[int]packedPart{}}
	stays := func(n int) *torch.Storage {
		st := torch.NewKeptStorage(n)
		set.staying = append(set.staying, st)
		return st
	}
	var small []int
	total := 0
	for i := range f.x.prog.Buffers {
		b := &f.x.prog.Buffers[i]
		switch n := f.layout(i).bytes; {
		case b.Role != plan.RolePacked:
		case f.passing(i):
			if set.passing == nil {
				set.passing = torch.NewKeptStorage(int(f.x.prog.PassingBytes))
			}
			set.bufs[i] = packedPart{set.passing, int(b.Offset)}
		case n >= ownPiece:
			set.bufs[i] = packedPart{stays(n), 0}
		default:
			small = append(small, i)
			set.bufs[i] = packedPart{off: total}
			total += (n + packedAlign - 1) &^ (packedAlign - 1)
		}
	}
	if len(small) > 0 {
		st := stays(total)
		for _, i := range small {
			set.bufs[i] = packedPart{st, set.bufs[i].off}
		}
	}
	for i, at := range set.bufs {
		f.ptrs[i] = storagePtr(at.st, at.off)
	}
	return set
}

// passing reports whether a buffer is needed until the prologue is done.
func (f *frame) passing(i int) bool {
	_, found := slices.BinarySearch(f.x.prog.Passing, i)
	return found && f.x.rt != nil
}

const (
	ownPiece    = 2 << 20 // bytes of a buffer that is a piece of memory of its own
	packedAlign = 64      // of the others
)

// repack runs the prologue for the parameters of this call.
func (f *frame) repack(run func(i int)) *packedSet {
	if old := f.x.packed; old != nil {
		f.x.packed = nil
		if old.users == 0 {
			old.free()
		}
	}
	set := f.roomToPack()
	for _, buf := range f.x.prog.Params {
		st := f.bufs[buf].st
		set.keys = append(set.keys, packedKey{st, f.ptrs[buf], st.Version()})
	}
	timed := f.times
	f.time(true) // it is rare
	for i := range f.x.prog.Prologue {
		run(i)
	}
	f.times = timed
	if set.passing != nil {
		set.passing.Release()
		set.passing = nil
		for _, buf := range f.x.prog.Passing {
			delete(set.bufs, buf)
			f.ptrs[buf] = 0
		}
	}
	f.x.prof.packed.Add(1)
	f.x.packed = set
	return set
}
