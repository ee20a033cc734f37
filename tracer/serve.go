package tracer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/graph/pass"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file runs a call of a compiled function: cache entries from the cache, traces
// where no entry fits, and the host between a break and the next operator.

// Compiled is a function under torch.Compile.
type Compiled struct {
	t        *Tracer
	fn       *ssa.Function
	opts     options
	disabled bool // compiler.Disable
	nested   bool // of a disabled function: callees still compile
	constant bool // compiler.AssumeConstantResult: no more than a mark

	account *account   // of torch.Explain, nil otherwise
	export  *capturing // of torch.Export, nil otherwise

	fieldsOnce sync.Once
	fieldsSet  map[value.FieldID]bool // see setFields

	made   *atomic.Int64 // calls of torch.Compile that gave this function
	madeAt logs.Pos      // the first of them

	alike *family // nil: what it compiles is for itself

	mu    sync.Mutex
	cache map[string]*frameCache // by the places of the region's frames
	taken map[string]bool        // places whose entries compiler.Reset took
	entry atomic.Pointer[frameCache]
}

// Disabled reports a function under compiler.Disable.
func (c *Compiled) Disabled() bool { return c.disabled }

// Constant reports a function under compiler.AssumeConstantResult.
func (c *Compiled) Constant() bool { return c.constant }

// run serves the call whose frame is on top of th. It reports whether the call
// has returned; false leaves the frames to the interpreter.
func (c *Compiled) run(th *host.Thread, f *host.Frame) bool {
	if !modes.Plans(c.opts.mode) {
		return c.serve(th, nil)
	}
	tu := replay.BeginCall(th, c, c.t.resets.Load())
	defer tu.End()
	return c.serve(th, tu)
}

// framePool keeps the lists of frames between calls.
var framePool = sync.Pool{New: func() any { return new([]*host.Frame) }}

// serve runs the cache entries of a call; tu is nil where every run of a graph gets
// fresh memory.
func (c *Compiled) serve(th *host.Thread, tu *replay.Turns) bool {
	base := th.Depth()
	list := framePool.Get().(*[]*host.Frame)
	counted := th.Counted
	atFirst, metered := torch.TrafficHere()
	var mark callMark
	defer func() {
		mark.cut()
		th.Counted = counted // what ran here is no concern of a region around
		torch.SetTraffic(atFirst)
		clear(*list)
		framePool.Put(list)
	}()
	var last *replay.Entry // the one that broke
	for {
		*list = framesFrom(th, base, *list)
		frames := *list
		fc := c.cacheAt(frames, last)
		calls := fc.calls.Add(1)
		if fc.eager.Load() || c.staysEager(last == nil && calls == 1) {
			mark = fc.runsEagerly(calls)
			fc.runEager(th, frames[0].Caller)
			mark.ended()
			return true
		}
		mark = callMark{fc: fc, call: calls}
		state := fc.entries.State()
		entry, a := fc.findTimed(th.In, frames, calls)
		if pass.Checking() {
			fc.checkFound(th.In, frames, entry, state)
		}
		hit, made := entry != nil, false
		if hit {
			fc.hits.Add(1)
			entry.Hits.Add(1)
		} else {
			mark.begun = time.Now()
			if entry, a, made = c.compile(th, fc, slices.Clone(frames)); entry == nil { // a trace keeps its frames
				mark.handedBack()
				return false
			}
		}
		mark.runs(entry, a)
		inside, _ := torch.TrafficHere()
		start := time.Now()
		returned := c.execute(th, entry, frames, a, tu)
		took := time.Since(start)
		fc.nanos.Add(int64(took))
		steady := !made && entry.Spent != nil
		if steady {
			entry.Spent.Inside(took, inside, metered)
		}
		if fc.track != nil {
			mark.served(entry, made, start, took)
		}
		a.Release()
		if returned {
			return true
		}
		last = entry
		c.stopAtBreak(th, entry)
		outside, _ := torch.TrafficHere()
		before, left := th.Counted, time.Now()
		top, pc := th.Top(), th.Top().PC
		c.stepOver(th)
		th.Ran(top, pc)
		more := c.seek(th, base)
		fc.leave(th.Counted - before)
		if hit { // a first call traces and compiles what it calls
			fc.away.add(time.Since(left))
		}
		if steady {
			entry.Spent.Outside(time.Since(left), outside, metered)
		}
		if !more {
			return true
		}
	}
}

// leave records that n operators ran outside of graphs.
func (fc *frameCache) leave(n int64) {
	for old := fc.left.Load(); n > old && !fc.left.CompareAndSwap(old, n); old = fc.left.Load() {
	}
}

// runEager lets the interpreter run the region to its end.
func (fc *frameCache) runEager(th *host.Thread, caller *host.Frame) {
	before := th.Counted
	th.Run(caller)
	fc.leave(th.Counted - before)
}

// stepOver lets the host run one instruction with everything that it calls; of a
// compiler.Cond it enters the branch.
func (c *Compiled) stepOver(th *host.Thread) {
	old, nested := c.t.active.Load(th)
	c.t.active.Store(th, c)
	defer func() { // also where a panic leaves the region
		if nested {
			c.t.active.Store(th, old)
		} else {
			c.t.active.Delete(th)
		}
	}()
	if !c.t.enterBranch(th) {
		th.StepOver()
	}
}

// framesFrom returns the frames of th from depth base up, lowest first, in the
// memory of old where that suffices.
func framesFrom(th *host.Thread, base int, old []*host.Frame) []*host.Frame {
	n := th.Depth() - base + 1
	out := slices.Grow(old[:0], n)[:n]
	for f := th.Top(); n > 0; f = f.Caller {
		n--
		out[n] = f
	}
	return out
}

// seek lets the host run until the next instruction is a call of an operator,
// so that what lies between a break and the next tensor work costs no graph
// and no guards. It reports false when the region has returned.
func (c *Compiled) seek(th *host.Thread, base int) bool {
	for th.Depth() >= base {
		f := th.Top()
		in, isCall := f.Instr().(*ssa.Call)
		if isCall && c.t.beginsTensorWork(in) && !eval.TakesData(f, in) && !underDeferred(th, base) {
			return true
		}
		th.Trap()
		switch in := f.Instr().(type) {
		case *ssa.Call:
			if !c.t.entersPlainly(f, &in.Call) {
				pc := f.PC
				c.stepOver(th)
				th.Ran(f, pc)
				continue
			}
		case *ssa.RunDefers, *ssa.Panic:
			c.stepOver(th)
			continue
		}
		if f.Deferred() { // its return may go on with a panic
			c.stepOver(th)
			continue
		}
		if p := th.Step(); p != nil {
			c.stepOver(th) // raises the panic in the program
		}
	}
	return false
}

// underDeferred reports whether a frame from base up runs a deferred call. No
// cache entry may begin there: only the host knows what follows such a frame.
func underDeferred(th *host.Thread, base int) bool {
	f := th.Top()
	for range th.Depth() - base {
		if f.Deferred() {
			return true
		}
		f = f.Caller
	}
	return false
}

// entersPlainly reports whether a call does nothing but push the frame of a
// function of the program. Other calls are run to their end: native code cannot
// be stepped into, and compiled and disabled functions see to themselves.
func (t *Tracer) entersPlainly(f *host.Frame, call *ssa.CallCommon) bool {
	if _, builtin := call.Value.(*ssa.Builtin); builtin {
		return true
	}
	if !call.IsInvoke() && call.StaticCallee() == nil {
		if cl := t.in.ClosureOf(f.Addr(call.Value)); cl != nil && cl.Compiled != nil {
			return false
		}
	}
	fn, _ := f.Callee(call)
	return fn != nil && !t.env.Native(fn) && !f.CallsCompiledMethod(call)
}

// beginsTensorWork reports whether a call is that of a tensor operator by name,
// or of a function that becomes operators.
func (t *Tracer) beginsTensorWork(c *ssa.Call) bool {
	fn := c.Call.StaticCallee()
	if fn == nil {
		return false
	}
	if v, ok := t.operators.Load(fn); ok {
		return v.(bool)
	}
	is := eval.StartsGraph(t.bindings, fn)
	t.operators.Store(fn, is)
	return is
}
