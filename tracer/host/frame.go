package host

import (
	"go/types"
	"reflect"
	"sync/atomic"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is frames and the stack of a thread.

// Frame is one activation. Its registers are one object of the layout of its
// function; frames are pooled, so whoever keeps one beyond its return clones it.
type Frame struct {
	Code   *Code
	PC     int
	Caller *Frame

	fp   unsafe.Pointer // the registers
	th   *Thread
	retp unsafe.Pointer // where the results go, nil for nowhere
	pred int            // edge by which the block was entered, index in Preds
	// Born is for a debugger: the moment at which it first saw this activation, 0: not yet.
	Born int64

	// The rest is zero in most frames; rare says that some of it is not.
	rare      bool
	private   bool // of Clone: not pooled
	heapVars  bool // locals whose address is taken live on the heap
	recovered bool // a deferred call recovered: leave by the Recover block
	rebuilt   Rebuilt
	defers    *deferred
	deferFor  *Frame    // frame whose deferred call this is
	panicking *panicRec // the panic that runs this frame's deferred calls
	next      *Frame    // in the pool
}

// Rebuilt tells which registers of a frame hold what the program would have stored in
// them: compiled code that breaks restores those that are still needed.
type Rebuilt uint8

const (
	asRun       Rebuilt = iota // all
	RebuiltHere                // those that are live, and the parameters
	RebuiltNew                 // those that are live
)

// SetRebuilt says that compiled code has put f into its state.
func (f *Frame) SetRebuilt(r Rebuilt) {
	if f.rebuilt == RebuiltNew {
		r = RebuiltNew
	}
	f.rare, f.rebuilt = true, r
}

// Rebuilt is what [Frame.SetRebuilt] was told of this activation.
func (f *Frame) Rebuilt() Rebuilt { return f.rebuilt }

// Thread is the thread that f is on.
func (f *Frame) Thread() *Thread { return f.th }

// Thread is one goroutine of the program: a stack of frames.
type Thread struct {
	In *Interp
	// Local is for the tracer: what it keeps for the goroutine.
	Local any
	// Counted is the number of calls of functions that Config.Counted names.
	Counted int64
	// Number is which goroutine of the schedule it is, where the run is kept: 1 for that of
	// main, 0 where goroutines run beside each other.
	Number int

	top     *Frame
	depth   int
	pool    []*Frame // free frames by code id
	argv    []unsafe.Pointer
	scratch bool
	// barrier is the frame at which unwinding leaves the running hook: it
	// belongs to an outer run loop.
	barrier   *Frame
	cur       *panicRec // the latest panic in progress
	unwinding bool
	callback  bool  // called by native code, which may catch its panics
	limited   bool  // of CallLimited
	slice     int32 // loops until others run, of a run that is kept
	patience  int32
	abort     atomic.Bool // a limited thread is to end
}

// maxDepth is where a stack counts as overflown.
const maxDepth = 2_500_000

// NewThread returns a thread without frames: the tracer's scratch thread. Its
// frames keep every local variable on the heap, so that an address means one
// object for as long as anybody holds it.
func (in *Interp) NewThread() *Thread { return &Thread{In: in, scratch: true} }

func (in *Interp) newThread() *Thread { return &Thread{In: in} }

// Top is the running frame, nil when the thread is empty.
func (th *Thread) Top() *Frame { return th.top }

// Depth is the number of frames.
func (th *Thread) Depth() int { return th.depth }

// Instr is the instruction that runs next.
func (f *Frame) Instr() ssa.Instruction { return f.Code.Instrs[f.PC] }

// push starts an activation of c; its registers hold garbage of the kind that
// the collector can bear (zeros where there are pointers).
func (th *Thread) push(c *Code, retp unsafe.Pointer) *Frame {
	if !c.ready.Load() {
		c.compile()
	}
	var f *Frame
	if c.id < len(th.pool) && th.pool[c.id] != nil {
		f = th.pool[c.id]
		th.pool[c.id] = f.next
		f.next = nil
	} else {
		f = &Frame{Code: c, th: th, heapVars: th.scratch}
		f.fp = c.newRegisters()
	}
	f.PC, f.Born = 0, 0
	f.retp = retp
	f.Caller = th.top
	th.top = f
	th.depth++
	if th.depth > maxDepth {
		panic(stackOverflow{})
	}
	return f
}

// pop ends the top frame and returns its caller.
func (th *Thread) pop() *Frame {
	f := th.top
	caller := f.Caller
	th.top = caller
	th.depth--
	c := f.Code
	if c.ptrWords > 0 {
		clear(unsafe.Slice((*unsafe.Pointer)(f.fp), c.ptrWords))
	}
	f.retp, f.Caller = nil, nil
	if f.rare {
		f.clearRare()
	}
	if f.private {
		f.private = false
		return caller
	}
	for c.id >= len(th.pool) {
		th.pool = append(th.pool, make([]*Frame, c.id+16-len(th.pool))...)
	}
	f.next = th.pool[c.id]
	th.pool[c.id] = f
	return caller
}

func (f *Frame) clearRare() {
	f.rare, f.recovered, f.rebuilt = false, false, asRun
	f.defers, f.deferFor, f.panicking = nil, nil, nil
}

// Push starts a call of fn with zeroed registers. free are the values of the
// closure's free variables (addresses), nil for none. Results of the call go
// to the register of call in the pushing frame, or nowhere when call is nil.
func (th *Thread) Push(fn *ssa.Function, free []unsafe.Pointer, call ssa.CallInstruction) *Frame {
	var retp unsafe.Pointer
	if call != nil && call.Value() != nil && th.top != nil {
		retp = th.top.Addr(call.Value())
	}
	c := th.In.Code(fn)
	f := th.push(c, retp)
	f.bind(free)
	return f
}

// bind stores the free variables of a closure.
func (f *Frame) bind(free []unsafe.Pointer) {
	for i, p := range free {
		v := &f.Code.free[i]
		v.ti.store(unsafe.Add(f.fp, v.off), p)
	}
}

// Pop ends the top frame without storing results.
func (th *Thread) Pop() { th.pop() }

// Return ends the top frame as if it had returned the results at the given
// addresses, storing them in the caller's register. Deferred calls of the frame
// are not run.
func (th *Thread) Return(results []unsafe.Pointer) {
	f := th.top
	if f.retp != nil {
		sig := f.Code.results
		if len(sig.parts) != len(results) {
			panic("host: Return with the wrong number of results")
		}
		for i, p := range results {
			sig.parts[i].store(unsafe.Add(f.retp, sig.offs[i]), p)
		}
	}
	th.pop()
}

// Result is where the results of f go, nil for nowhere.
func (f *Frame) Result() unsafe.Pointer { return f.retp }

// Clone copies f (its registers, not its callers) for a scratch thread.
// Pointers to local variables that live in the frame point into the copy.
func (f *Frame) Clone() *Frame {
	c := f.Code
	g := &Frame{
		Code: c, PC: f.PC, Born: f.Born, pred: f.pred, private: true, rare: true, heapVars: true, recovered: f.recovered,
		rebuilt: f.rebuilt,
	}
	g.fp = c.newRegisters()
	src, dst := reflect.NewAt(c.layout, f.fp).Elem(), reflect.NewAt(c.layout, g.fp).Elem()
	dst.Set(src)
	lo, hi := uintptr(f.fp), uintptr(f.fp)+c.layout.Size()
	words := unsafe.Slice((*unsafe.Pointer)(g.fp), c.nptrs)
	for i, p := range words {
		if a := uintptr(p); a >= lo && a < hi {
			words[i] = unsafe.Add(g.fp, a-lo)
		}
	}
	g.defers = f.defers
	return g
}

// PushFrame puts a prepared frame (of Clone) on top of th. Its results go to
// the register of the call at which the frame below is.
func (th *Thread) PushFrame(f *Frame) {
	f.th, f.Caller = th, th.top
	f.heapVars = f.heapVars || th.scratch
	if t := th.top; t != nil && t.PC > 0 && f.retp == nil {
		if call, ok := t.Code.Instrs[t.PC-1].(*ssa.Call); ok {
			f.retp = t.Addr(call)
		}
	}
	th.top = f
	th.depth++
}

// Addr returns the address of v's value as seen from f: a register, parameter
// or free variable of f, or the memory of a constant, a function value or a
// global's address. The memory is of the representation type of v.Type().
func (f *Frame) Addr(v ssa.Value) unsafe.Pointer {
	if n, ok := f.Code.numbers[v]; ok {
		return unsafe.Add(f.fp, f.Code.offsets[n])
	}
	return f.Code.in.constant(f.Code, v)
}

// SetPred says that the current block was entered from b, for its phis.
func (f *Frame) SetPred(b *ssa.BasicBlock) {
	f.pred = -1
	if f.PC >= len(f.Code.Instrs) {
		return
	}
	for i, p := range f.Instr().Block().Preds {
		if p == b {
			f.pred = i
			return
		}
	}
}

// Pred is the index of the predecessor block by which the current block was
// entered (for Phi), -1 at the entry.
func (f *Frame) Pred() int { return f.pred }

// CallSite is the call in which f waits: an intrinsic's calling frame, or a
// frame below the top. nil when f waits in no call (a deferred function runs).
func (f *Frame) CallSite() ssa.CallInstruction {
	c, _ := f.at().(ssa.CallInstruction)
	return c
}

// Deferred reports whether f runs a deferred call: what comes after its return
// (more deferred calls, a panic that goes on) belongs to the run loop.
func (f *Frame) Deferred() bool { return f.deferFor != nil }

// at is the instruction that f runs (the call it waits in). Not watched for
// races for the reason that [Thread.stack] gives.
//
//go:norace
func (f *Frame) at() ssa.Instruction {
	pc := f.PC - 1
	if f.th != nil && f.th.top == f && pc < 0 {
		pc = 0
	}
	return f.Code.Instrs[min(max(pc, 0), len(f.Code.Instrs)-1)]
}

// slot is a place in a frame.
type slot struct {
	off uintptr
	ti  *typeInfo
}

// resultInfo describes the results of a function.
type resultInfo struct {
	parts []*typeInfo
	offs  []uintptr
	ti    *typeInfo // of the whole, nil for none
}

func (in *Interp) resultsOf(t *types.Tuple) resultInfo {
	switch t.Len() {
	case 0:
		return resultInfo{}
	case 1:
		ti := in.info(t.At(0).Type())
		return resultInfo{parts: []*typeInfo{ti}, offs: []uintptr{0}, ti: ti}
	}
	ti := in.info(t)
	r := resultInfo{offs: ti.offs, ti: ti}
	for i := range t.Len() {
		r.parts = append(r.parts, in.info(t.At(i).Type()))
	}
	return r
}
