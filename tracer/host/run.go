package host

import (
	"fmt"
	"runtime"
	"unsafe"
)

// This file runs threads: the loop over instructions, single steps, and the
// way in from native code.

// status is how a run of the loop ended.
type status int

const (
	again   status = iota // a panic was caught: unwind
	done                  // the frame to stop at is reached, or is gone
	escaped               // the panic leaves through the barrier
)

// run executes until stop is the top frame. A panic that nobody below barrier
// recovers leaves as a Go panic (escape).
func (th *Thread) run(stop, barrier *Frame, depth int) {
	for {
		switch th.loop(stop, barrier, depth, false) {
		case done:
			return
		case escaped:
			panic(escape{th.cur})
		}
	}
}

// loop is the interpreter's inner loop. depth is the depth of stop; single runs
// the first instruction by itself. It reads operations that [Code.patch] may replace.
//
//go:norace
func (th *Thread) loop(stop, barrier *Frame, depth int, single bool) (st status) {
	argn := len(th.argv)
	defer func() {
		if st == again {
			r := recover()
			clear(th.argv[argn:])
			th.argv = th.argv[:argn]
			if r == nil {
				th.goexit(barrier, depth)
				return
			}
			th.caught(r)
		}
	}()
	f := th.top
	switch {
	case th.unwinding:
		next, out := th.unwind(barrier)
		if out {
			return escaped
		}
		if f = next; th.depth <= depth {
			return done
		}
	case single:
		pc := f.PC
		f.PC = pc + 1
		f = f.Code.ops[pc](f)
		if th.depth < depth {
			return done
		}
	}
	if th.limited {
		th.slow(f, stop)
		return done
	}
	for f != stop {
		pc := f.PC
		f.PC = pc + 1
		f = f.Code.fast[pc](f)
	}
	return done
}

// slow is the inner loop of a thread that can be told to end.
func (th *Thread) slow(f, stop *Frame) {
	for f != stop {
		if th.abort.CompareAndSwap(true, false) {
			panic(goexitPanic{})
		}
		pc := f.PC
		f.PC = pc + 1
		f = f.Code.ops[pc](f)
	}
}

// goexit runs the deferred calls of the frames above barrier where native code has
// called runtime.Goexit, as testing's FailNow does. Goexit itself goes on afterwards.
func (th *Thread) goexit(barrier *Frame, depth int) {
	defer func() {
		if e, ok := recover().(escape); ok && !e.rec.goexit {
			panic(e)
		}
	}()
	th.caught(goexitPanic{})
	th.run(barrier, barrier, depth)
}

// Step runs exactly one instruction of the top frame. A call of an interpreted
// function pushes its frame; a return pops one. A Go panic of the instruction
// (nil map, index, an explicit panic) is returned as p and changes nothing.
func (th *Thread) Step() (p any) {
	f, pc, depth := th.top, th.top.PC, th.depth
	defer func() {
		if r := recover(); r != nil {
			for th.depth > depth {
				th.pop()
			}
			f.PC = pc
			p = panicValue(r)
		}
	}()
	f.PC = pc + 1
	f.Code.ops[pc](f)
	return nil
}

// StepOver runs one instruction with everything that it calls. It reports
// false when the frame is gone afterwards (returned or unwound by a panic);
// Top says who runs next. A panic that reaches the frame below the one that
// Config.Compiled was called for leaves StepOver as a Go panic, which the hook
// must let pass.
func (th *Thread) StepOver() bool {
	f, depth := th.top, th.depth
	single := true
	for {
		switch th.loop(f, th.barrier, depth, single) {
		case done:
			return th.top == f && th.depth == depth
		case escaped:
			panic(escape{th.cur})
		}
		single = false
	}
}

// Run runs the frames of th until the frame stop is on top again; nil runs
// until the thread is empty.
func (th *Thread) Run(stop *Frame) {
	depth := 0
	for f := stop; f != nil; f = f.Caller {
		depth++
	}
	th.run(stop, stop, depth)
}

// call runs an interpreted function to its end on th, on top of its frames.
func (th *Thread) call(c *Code, closure *Closure, free, args []unsafe.Pointer, result unsafe.Pointer) {
	stop, depth := th.top, th.depth
	f := th.push(c, result)
	f.bind(free)
	for i, a := range args {
		p := &c.params[i]
		p.ti.store(unsafe.Add(f.fp, p.off), a)
	}
	if closure != nil && closure.Compiled != nil {
		if th.enter(f, closure); th.top == stop {
			return
		}
	}
	th.run(stop, stop, depth)
}

// enter hands a call of a compiled closure to the tracer; f has its arguments.
// It returns the frame that runs next.
func (th *Thread) enter(f *Frame, c *Closure) *Frame {
	hook := th.In.Config.Compiled
	if hook == nil || th.scratch {
		return f
	}
	old := th.barrier
	th.barrier = f.Caller
	defer func() { th.barrier = old }()
	hook(th, f, c)
	return th.top
}

// nativeCall runs fn, called from native code, on a thread of its own. Its
// panic goes on through the native code.
func (in *Interp) nativeCall(b *boundFunc, closure *Closure, free, args []unsafe.Pointer, result unsafe.Pointer) {
	th := in.takeThread()
	th.calledBack(b, closure, free, args, result)
	in.giveThread(th)
}

// calledBack is nativeCall on the thread th.
func (th *Thread) calledBack(b *boundFunc, closure *Closure, free, args []unsafe.Pointer, result unsafe.Pointer) {
	th.callback = true
	th.Number = th.In.baton.Running()
	if !th.In.parallel.Load() {
		th.In.parallel.Store(true) // the caller may be a goroutine of native code
	}
	if closure != nil && closure.ran != nil {
		before := th.Counted
		defer func() { closure.ran.Add(th.Counted - before) }()
	}
	switch {
	case b.code != nil:
		defer func() {
			r := recover()
			if r == nil {
				return
			}
			p := th.leaving(r)
			if p.goexit { // compiled code lets it pass, as panics it may not
				runtime.Goexit()
			}
			panic(&nativePanic{p})
		}()
		th.call(b.code, closure, free, args, result)
	case b.intrinsic != nil:
		b.intrinsic(th, nil, args, result)
	case b.thunk != nil:
		b.thunk(args, result)
	default:
		panic(unsupported(fmt.Sprintf("host: %s is not bound", b.name)))
	}
}

// takeThread returns an empty thread with its pool of frames.
func (in *Interp) takeThread() *Thread {
	if th, ok := in.threads.Get().(*Thread); ok {
		return th
	}
	return in.newThread()
}

func (in *Interp) giveThread(th *Thread) {
	if th.top == nil && th.cur == nil {
		th.Local = nil // the next call may be another goroutine's
		in.threads.Put(th)
	}
}

// goroutine runs a call as a goroutine of the program.
func (in *Interp) goroutine(call invocation, args []unsafe.Pointer) {
	in.live.Add(1)
	in.parallel.Store(true)
	run := routine(in, call, args)
	if in.baton != nil {
		in.baton.Go(run)
		return
	}
	go run()
}

// routine is a call as the function of a goroutine that counts as live.
func routine(in *Interp, call invocation, args []unsafe.Pointer) func() {
	th := in.newThread()
	return func() {
		defer in.live.Add(-1)
		th.Number = in.baton.Running()
		defer th.numbered()()
		defer in.runs(th)()
		defer th.base()
		th.invoke(call, args, nil)
	}
}

// numbered keeps which goroutine of the schedule the calling one is, until the function that
// it returns is called.
func (th *Thread) numbered() func() {
	in := th.In
	if !in.baton.Serial() {
		return func() {}
	}
	id := goroutineID()
	in.numbers.Store(id, th.Number)
	return func() { in.numbers.Delete(id) }
}

// base ends a goroutine: an uncaught panic ends the program.
func (th *Thread) base() {
	r := recover()
	if r == nil {
		return
	}
	p := th.leaving(r)
	if p.goexit {
		return
	}
	th.In.die(p)
}
