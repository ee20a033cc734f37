package host

import (
	"cmp"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file is panic, defer and recover. A panic of an instruction is a Go
// panic up to the run loop, which then unwinds the frames of the program.

// panicRec is one panic of the program.
type panicRec struct {
	value     any // interface content
	prev      *panicRec
	goexit    bool
	recovered bool
	aborted   bool
	segv      bool
	raised    bool // Config.Raised was told
	stack     []stackEntry
}

// Go panics of the interpreter itself.
type (
	userPanic    struct{ value any }     // an explicit panic of the program
	goexitPanic  struct{}                // runtime.Goexit
	unwindPanic  struct{ rec *panicRec } // a deferred call has returned: go on unwinding
	escape       struct{ rec *panicRec } // leaves a nested run of the same thread
	nativePanic  struct{ rec *panicRec } // leaves through native code
	exitingPanic struct{}                // the program ends
)

// Error lets native code that recovers print the value.
func (p *nativePanic) Error() string { return fmt.Sprint(p.rec.value) }

// Format prints the value that the program panicked with.
func (p *nativePanic) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), p.rec.value)
}

// panicValue is the value of the program behind a Go panic.
func panicValue(r any) any {
	switch r := r.(type) {
	case userPanic:
		return r.value
	case escape:
		return r.rec.value
	case *nativePanic:
		return r.rec.value
	}
	return r
}

// caught begins or continues unwinding after the Go panic r.
func (th *Thread) caught(r any) {
	th.unwinding = true
	switch r := r.(type) {
	case unwindPanic:
		th.cur = r.rec
		return
	case escape:
		th.cur = r.rec
		return
	case exitingPanic:
		select {} // the program is ending; nothing of it runs any more
	case stackOverflow:
		if !th.limited {
			th.In.fatal("", "stack overflow", th.stack())
		}
	}
	p := &panicRec{prev: th.cur, stack: th.stack()}
	switch r := r.(type) {
	case goexitPanic:
		p.goexit = true
	case userPanic:
		p.value = r.value
	case *nativePanic:
		p.value, p.goexit, p.segv = r.rec.value, r.rec.goexit, r.rec.segv
		p.stack = append(r.rec.stack, p.stack...)
	case unsupported:
		if !th.limited {
			th.In.fatal("", string(r), p.stack)
		}
		p.value = string(r)
	case mapConflict:
		if !th.limited {
			th.In.fatal(Goroutine(th.In), string(r), p.stack)
		}
		p.value = string(r)
	default:
		p.value = r
		if e, ok := r.(runtime.Error); ok {
			p.segv = strings.Contains(e.Error(), "invalid memory address")
		}
	}
	th.cur = p
	th.raise(p)
}

// leaving is the panic with which a thread has ended: r is what its run raised.
func (th *Thread) leaving(r any) *panicRec {
	if e, ok := r.(escape); ok {
		return e.rec
	}
	th.caught(r)
	return th.cur
}

// unwind pops frames until one has a deferred call to run (which is pushed) or
// has recovered. It reports out when barrier is reached. Native deferred calls
// run here; their panics are caught by the loop, which calls unwind again.
func (th *Thread) unwind(barrier *Frame) (next *Frame, out bool) {
	for {
		p, f := th.cur, th.top
		if f == barrier {
			th.unwinding = false
			return f, true
		}
		f.rare = true
		if f.panicking != nil && f.panicking != p {
			f.panicking.aborted = true
		}
		if p.recovered {
			th.finish(p, f)
			return th.runDefers(f), false
		}
		f.panicking = p
		if f.defers == nil {
			th.pop()
			continue
		}
		if g := th.startDeferred(f); g != f {
			th.unwinding = false
			return g, false
		}
	}
}

// finish ends a recovered panic: f goes on with its other deferred calls and
// then leaves.
func (th *Thread) finish(p *panicRec, f *Frame) {
	th.unwinding = false
	f.panicking = nil
	f.recovered = true
	f.PC = f.Code.leave()
	th.cur = p.prev
	for th.cur != nil && th.cur.aborted {
		th.cur = th.cur.prev
	}
}

// leave is where a frame that recovered goes on: its recover block, else an
// operation that returns zero values.
func (c *Code) leave() int {
	if c.recover >= 0 {
		return c.recover
	}
	return len(c.Instrs)
}

// leaveOp returns the zero values of the results.
func (c *Code) leaveOp() op {
	return func(f *Frame) *Frame {
		if f.retp != nil && c.results.ti != nil {
			c.results.ti.zero(f.retp)
		}
		return f.th.returned(f)
	}
}

// deferred is a pending deferred call.
type deferred struct {
	call invocation
	args []unsafe.Pointer
	next *deferred
}

// runDefers runs the deferred calls of f, last first, and then f.
func (th *Thread) runDefers(f *Frame) *Frame {
	for f.defers != nil {
		if g := th.startDeferred(f); g != f {
			return g
		}
	}
	return f
}

// startDeferred runs the last deferred call of f: a native one at once, for an
// interpreted one it returns the frame.
func (th *Thread) startDeferred(f *Frame) *Frame {
	d := f.defers
	f.defers = d.next
	if d.call.recover {
		th.recoverIn(f)
		return f
	}
	if d.call.b == nil || d.call.b.code == nil {
		th.native(d.call, f, d.args, nil)
		return f
	}
	g := th.push(d.call.b.code, nil)
	g.rare, g.deferFor = true, f
	g.bind(d.call.free)
	for i, a := range d.args {
		p := &g.Code.params[i]
		p.ti.store(unsafe.Add(g.fp, p.off), a)
	}
	if c := d.call.closure; c != nil && c.Compiled != nil {
		return th.enter(g, c)
	}
	return g
}

// returned ends a frame that has stored its results.
func (th *Thread) returned(f *Frame) *Frame {
	if !f.rare {
		return th.pop()
	}
	if f.defers != nil { // no RunDefers: all defers are in the body of a range over a function
		f.PC--
		return th.runDefers(f)
	}
	owner := f.deferFor
	caller := th.pop()
	if owner == nil {
		return caller
	}
	if owner.panicking != nil {
		panic(unwindPanic{owner.panicking})
	}
	return th.runDefers(owner)
}

// recoverIn is the builtin recover called by the function of a deferred call
// of owner.
func (th *Thread) recoverIn(owner *Frame) any {
	if owner == nil || owner.panicking == nil {
		return nil
	}
	p := owner.panicking
	if p.recovered || p.goexit {
		return nil
	}
	p.recovered = true
	return p.value
}

// deferOwner is the frame whose deferred call f is; a synthetic wrapper in
// between does not count.
func deferOwner(f *Frame) *Frame {
	if f.deferFor != nil {
		return f.deferFor
	}
	if c := f.Caller; c != nil && c.deferFor != nil && c.Code.Fn.Synthetic != "" && f.Code.Fn.Synthetic == "" {
		return c.deferFor
	}
	return nil
}

func (b *builder) panicOp(in *ssa.Panic) op {
	x, ti := b.ref(in.X), b.in.info(in.X.Type())
	return func(f *Frame) *Frame {
		v := ti.readIface(x.at(f))
		if v == nil {
			panic(new(runtime.PanicNilError))
		}
		panic(userPanic{v})
	}
}

// stackEntry is one frame of a trace of the program.
type stackEntry struct {
	fn *ssa.Function
	in ssa.Instruction
}

// stack captures the frames of th, innermost first, at most 100. The watcher of
// deadlocks calls it for a goroutine that the run time has just reported asleep,
// an order that the race detector cannot know of.
//
//go:norace
func (th *Thread) stack() []stackEntry {
	var out []stackEntry
	for f := th.top; f != nil && len(out) < 100; f = f.Caller {
		if userVisible(f.Code.Fn) {
			out = append(out, stackEntry{f.Code.Fn, f.at()})
		}
	}
	return out
}

// text is the panic as Go prints it, without the stack.
func (p *panicRec) text(in *Interp) string {
	var b strings.Builder
	var chain []*panicRec
	for q := p; q != nil; q = q.prev {
		chain = append(chain, q)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		q := chain[i]
		if i < len(chain)-1 {
			b.WriteString("\t")
		}
		b.WriteString("panic: " + strings.ReplaceAll(panicText(in, q.value), "\n", "\n\t"))
		if q.recovered {
			b.WriteString(" [recovered]")
		}
		b.WriteString("\n")
	}
	if p.segv {
		b.WriteString("[signal SIGSEGV: segmentation violation]\n")
	}
	return b.String()
}

// panicText is the value as Go prints it after "panic: ".
func panicText(in *Interp, v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case string:
		return v
	}
	r := reflect.ValueOf(v)
	text, ok := basicText(r)
	switch {
	case !ok:
		return fmt.Sprintf("(%s) %#x", r.Type(), uintptr(dataOf(&v, false)))
	case r.Type().PkgPath() != "" || r.Type().Name() != r.Kind().String():
		return fmt.Sprintf("%s(%s)", r.Type(), text)
	}
	return text
}

// basicText prints basic values as print does; ok is false for others.
func basicText(r reflect.Value) (text string, ok bool) {
	switch r.Kind() {
	case reflect.String:
		return fmt.Sprintf("%q", r.String()), true
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(r.Float(), 'g', -1, r.Type().Bits()), true
	case reflect.Complex64, reflect.Complex128:
		return strconv.FormatComplex(r.Complex(), 'g', -1, r.Type().Bits()), true
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return fmt.Sprint(r.Interface()), true
	}
	return "", false
}

// stackText prints a trace in Go's form.
func stackText(in *Interp, stack []stackEntry) string { return stackTextOf(in, "", stack) }

// stackTextOf is stackText of a goroutine; "" is that of main.
func stackTextOf(in *Interp, who string, stack []stackEntry) string {
	var b strings.Builder
	b.WriteString(cmp.Or(who, "goroutine 1") + " [running]:\n")
	for _, e := range stack {
		pos := in.Prog.Pos(e.in)
		fmt.Fprintf(&b, "%s(...)\n\t%s:%d\n", goName(e.fn), absolute(pos.Filename), pos.Line)
	}
	return b.String()
}

// Raised is a panic of the program that nobody catches, told to a debugger.
type Raised struct {
	Value string // as Go prints it behind "panic: "
	// Thread is the one that panics; the instruction before the PC of its top frame did it.
	// It is nil where that was known only when the frames were gone: a deferred function, or
	// compiled code that had called the program, could have recovered.
	Thread *Thread
	// At are the instructions of the stack, innermost first, also where the frames are gone.
	At []ssa.Instruction
}

// raise tells of a panic that has just begun, if it is sure that nobody catches it.
func (th *Thread) raise(p *panicRec) {
	if th.In.Config.Raised == nil || p.goexit || th.scratch || th.callback || th.mayRecover() {
		return
	}
	p.raised = true
	th.In.Config.Raised(p.told(th))
}

// raisedTooLate tells of a panic that has ended the program without [Thread.raise].
func raisedTooLate(in *Interp, p *panicRec) {
	if in.Config.Raised != nil && !p.raised && !p.goexit {
		p.raised = true
		r := p.told(nil)
		r.Value = strings.TrimSpace(strings.TrimPrefix(p.text(in), "panic: "))
		in.Config.Raised(r)
	}
}

func (p *panicRec) told(th *Thread) Raised {
	r := Raised{Thread: th}
	if th != nil {
		r.Value = panicText(th.In, p.value)
	}
	for _, e := range p.stack {
		r.At = append(r.At, e.in)
	}
	return r
}

// mayRecover reports whether a pending deferred call calls recover: whether it does so in
// this run is not known before it runs.
func (th *Thread) mayRecover() bool {
	for f := th.top; f != nil; f = f.Caller {
		for d := f.defers; d != nil; d = d.next {
			if d.call.recover || d.call.b != nil && d.call.b.code != nil && recovers(d.call.b.code.Fn) {
				return true
			}
		}
	}
	return false
}

// recovers reports whether fn itself, or what a synthetic fn wraps, calls recover.
func recovers(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(ssa.CallInstruction)
			if !ok {
				continue
			}
			if blt, ok := c.Common().Value.(*ssa.Builtin); ok && blt.Name() == "recover" {
				return true
			}
			if callee := c.Common().StaticCallee(); fn.Synthetic != "" && callee != nil && callee != fn && recovers(callee) {
				return true
			}
		}
	}
	return false
}
