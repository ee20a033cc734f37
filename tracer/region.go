package tracer

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file runs a call of a compiled function: segments from the cache, traces
// where no entry fits, and the host between a break and the next operator.

// Compiled is a function under torch.Compile.
type Compiled struct {
	t        *Tracer
	fn       *ssa.Function
	opts     options
	disabled bool // compiler.Disable
	nested   bool // of a disabled function: callees still compile
	constant bool // compiler.AssumeConstantResult: no more than a mark

	account *account // of torch.Explain, nil otherwise

	fieldsOnce sync.Once
	fieldsSet  map[fieldID]bool // see setFields

	made   *atomic.Int64 // calls of torch.Compile that gave this function
	madeAt logs.Pos      // the first of them

	mu    sync.Mutex
	cache map[string]*frameCache // by the places of the region's frames
	entry atomic.Pointer[frameCache]
}

// frameCache holds the entries of one place: the compiled function's entry or a
// resume point.
type frameCache struct {
	id      int
	name    string
	parent  int
	from    *logs.CompileID // the compile behind whose break it was first entered
	entries atomic.Pointer[[]*segment]
	eager   atomic.Bool // the limit was reached, or nothing can be compiled here
	calls   atomic.Int64
	hits    atomic.Int64
	nanos   atomic.Int64            // run time of segments
	left    atomic.Int64            // operators that ran outside of graphs in one call, at most
	dynamic map[string]map[int]bool // dimensions seen to change, by source; under mu
	reset   atomic.Bool             // compiler.Reset took it away
	made    *atomic.Int64           // calls of torch.Compile that gave its function
	written logs.FrameCalls         // what the trace holds of it; under Tracer.mu
	at      logs.Pos                // where the frame begins, as the last trace says
}

func (fc *frameCache) list() []*segment {
	if p := fc.entries.Load(); p != nil {
		return *p
	}
	return nil
}

// find returns the first entry whose guards hold.
func (fc *frameCache) find(in *host.Interp, frames []*host.Frame) (*segment, *addresses) {
	for _, s := range fc.list() {
		a := takeAddresses(in, frames, s.sources)
		if s.holds(a) {
			return s, a
		}
		a.release()
	}
	return nil, nil
}

// run serves the call whose frame is on top of th. It reports whether the call
// has returned; false leaves the frames to the interpreter.
func (c *Compiled) run(th *host.Thread, f *host.Frame) bool {
	if c.opts.mode != modeReduceOverhead {
		return c.serve(th, nil)
	}
	tu := c.turnsOf(th)
	defer tu.end()
	return c.serve(th, tu)
}

// framePool keeps the lists of frames between calls.
var framePool = sync.Pool{New: func() any { return new([]*host.Frame) }}

// serve runs the segments of a call; tu is nil where every run of a graph gets
// fresh memory.
func (c *Compiled) serve(th *host.Thread, tu *turns) bool {
	base := th.Depth()
	list := framePool.Get().(*[]*host.Frame)
	counted := th.Counted
	defer func() {
		th.Counted = counted // what ran here is no concern of a region around
		clear(*list)
		framePool.Put(list)
	}()
	var last *segment // the one that broke
	for {
		*list = framesFrom(th, base, *list)
		frames := *list
		fc := c.cacheAt(frames, last)
		calls := fc.calls.Add(1)
		if fc.eager.Load() || c.staysEager(last == nil && calls == 1) {
			fc.runEager(th, frames[0].Caller)
			return true
		}
		seg, a := fc.find(th.In, frames)
		if seg != nil {
			fc.hits.Add(1)
			seg.hits.Add(1)
		} else if seg, a = c.compile(th, fc, slices.Clone(frames)); seg == nil { // a trace keeps its frames
			return false
		}
		start := time.Now()
		returned := seg.execute(th, frames, a, tu)
		fc.nanos.Add(int64(time.Since(start)))
		a.release()
		if returned {
			return true
		}
		last = seg
		c.t.safePoint("break", th.Top())
		before := th.Counted
		c.stepOver(th)
		more := c.seek(th, base)
		fc.leave(th.Counted - before)
		if !more {
			return true
		}
	}
}

// leave notes that n operators ran outside of graphs.
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
// so that what stands between a break and the next tensor work costs no graph
// and no guards. It reports false when the region has returned.
func (c *Compiled) seek(th *host.Thread, base int) bool {
	for th.Depth() >= base {
		f := th.Top()
		switch in := f.Instr().(type) {
		case *ssa.Call:
			if c.t.beginsTensorWork(in) && !onComplex(f, in) && !byMask(f, in) && !underDeferred(th, base) {
				return true
			}
			if !c.t.entersPlainly(f, &in.Call) {
				c.stepOver(th)
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
// segment may begin there: only the host knows what follows such a frame.
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
	return fn != nil && !t.intrinsicNative(fn) && !f.CallsCompiledMethod(call)
}

// cacheAt finds the entries for the place where the frames stand.
func (c *Compiled) cacheAt(frames []*host.Frame, last *segment) *frameCache {
	resumed := last != nil
	if !resumed {
		if fc := c.entry.Load(); fc != nil {
			return fc
		}
	}
	key := placeKey(frames)
	c.mu.Lock()
	defer c.mu.Unlock()
	if fc := c.cache[key]; fc != nil {
		return fc
	}
	fc := &frameCache{id: c.t.nextFrame(), parent: -1, made: c.made, dynamic: map[string]map[int]bool{}}
	fc.name = c.name()
	if resumed {
		fn, line := c.t.resumesIn(frames)
		fc.name = fmt.Sprintf("torch_dynamo_resume_in_%s_at_%d", fn, line)
		fc.parent, fc.from = last.id.Frame, &last.id
		if entry := c.entry.Load(); entry != nil { // compiler.Reset may have taken it away
			fc.parent = entry.id
		}
	}
	c.cache[key] = fc
	c.t.register(fc)
	if !resumed {
		c.entry.Store(fc)
	}
	return fc
}

// resumesIn is where frames go on, as the program's author sees it: inside torch's
// own code it is the line that called it.
func (t *Tracer) resumesIn(frames []*host.Frame) (fn string, line int) {
	top := frames[len(frames)-1]
	at := t.posOf(top)
	for i := len(frames) - 1; i >= 0 && ownSource(at.File); i-- {
		if p := t.callerPos(frames[i]); i < len(frames)-1 && !ownSource(p.File) {
			return funcName(frames[i].Code.Fn), p.Line
		}
	}
	return funcName(top.Code.Fn), at.Line
}

func (c *Compiled) name() string {
	if c.opts.name != "" {
		return c.opts.name
	}
	return funcName(c.fn)
}

// placeKey identifies the functions and instructions that the frames stand at.
func placeKey(frames []*host.Frame) string {
	var sb strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&sb, "%p:%d;", f.Code, f.PC)
	}
	return sb.String()
}

// compile traces a new entry for the frames; nil when the frame runs eager.
func (c *Compiled) compile(th *host.Thread, fc *frameCache, frames []*host.Frame) (*segment, *addresses) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seg, a := fc.find(th.In, frames); seg != nil { // compiled while we waited
		return seg, a
	}
	old := fc.list()
	id := logs.CompileID{Frame: fc.id, Compile: len(old)}
	if !c.mayCompile(fc) || len(old) > 0 && !c.miss(th, fc, frames, id) {
		return nil, nil
	}
	tr, rec, seg := c.trace(th, fc, frames, &id)
	seg.id = id
	rec.traced(tr, seg)
	if seg.brk != nil && c.opts.fullgraph {
		panic(rec.fullgraph(tr, seg))
	}
	if err := c.build(tr, seg, rec); err != nil {
		panic(&torch.Error{Op: "torch.Compile", Msg: err.Error()})
	}
	tr.shapeGuards() // the backend, too, may have asked for more of the sizes
	seg.guards = tr.guards.list
	rec.done(tr, seg)
	entries := append(append([]*segment(nil), old...), seg)
	fc.entries.Store(&entries)
	return seg, newAddressesOf(tr, frames, seg)
}

// trace evaluates the frames. A break inside torch.NoGrad or autograd.Apply, or in
// a loop over a string, makes it start again with the break in front of that call
// or loop; so does what shows that an earlier autograd.Apply cannot be captured,
// and a gradient by what the graph computes.
func (c *Compiled) trace(th *host.Thread, fc *frameCache, frames []*host.Frame, id *logs.CompileID) (*trace, *recorder, *segment) {
	avoid := map[ssa.Instruction]string{}
	for {
		tr := c.newTrace(th, fc, frames)
		tr.avoid, tr.id = avoid, *id
		rec := c.t.begin(tr, fc, *id)
		s := tr.run()
		again := tr.restarts(s)
		for _, in := range again {
			avoid[in] = tr.cause(s.brk)
		}
		if len(again) == 0 {
			seg := tr.finish(s)
			if tr.retry == nil {
				return tr, rec, seg
			}
			avoid[tr.retry] = tr.retryWhy
		}
		id.Attempt++
	}
}

// restarts are the calls and loops in front of which the trace has to break instead of
// where it did.
func (tr *trace) restarts(s *stop) []ssa.Instruction {
	if s.brk == nil {
		return nil
	}
	if tr.retry != nil {
		return []ssa.Instruction{tr.retry}
	}
	again := append(tr.iterators(), tr.apart...)
	if call := tr.applyCall(); call != nil {
		again = append(again, call)
	} else if call := tr.noGradCall(); call != nil {
		again = append(again, call)
	}
	return again
}

// cause says in one line what broke the graph, and where.
func (tr *trace) cause(b *breakPoint) string {
	at := tr.userPos()
	return fmt.Sprintf("%s (%s) at %s:%d", breakTitle(b), b.detail, at.File, at.Line)
}

// newAddressesOf resolves from the real frames again: the trace looked at
// memory before it ran.
func newAddressesOf(tr *trace, frames []*host.Frame, seg *segment) *addresses {
	return newAddresses(tr.in, frames, seg.sources)
}

// build hands the graph to the backend.
func (c *Compiled) build(tr *trace, seg *segment, rec *recorder) error {
	if seg.graph == nil {
		return nil
	}
	seg.graph.Name = fmt.Sprintf("__compiled_fn_%d", c.t.nextGraph())
	m := graph.NewModule(seg.graph)
	rec.captured(tr, m)
	r := &Request{
		ID: seg.id, Module: m, Example: seg.values(tr.entry, nil), Mode: c.opts.mode, Log: c.t.sink,
		Changing: c.changing(tr),
	}
	run, err := c.t.backendFor(c.opts).Compile(r)
	if err != nil {
		return fmt.Errorf("backend %s failed on graph %s: %w", c.opts.backendName(), seg.graph.Name, err)
	}
	seg.run, seg.plan = run, r.Plan
	return nil
}

// miss reports why no entry fits and decides whether another may be made.
func (c *Compiled) miss(th *host.Thread, fc *frameCache, frames []*host.Frame, id logs.CompileID) bool {
	old := fc.list()
	limit := len(old) >= c.opts.limit
	c.t.safePoint("recompile", th.Top())
	c.t.logMiss(fc, id, frames, old, limit)
	c.learnDynamic(th, fc, frames, old)
	if !limit {
		return true
	}
	fc.eager.Store(true)
	if c.opts.fullgraph {
		panic(&torch.Error{Op: "torch.Compile", Msg: fmt.Sprintf("%s hit the recompile limit (%d) under fullgraph", fc.name, c.opts.limit)})
	}
	return false
}

// learnDynamic notes which sizes and numbers differ from those of earlier entries;
// they become symbolic in the next one (automatic dynamic shapes).
func (c *Compiled) learnDynamic(th *host.Thread, fc *frameCache, frames []*host.Frame, old []*segment) {
	if c.opts.dynamic == dynamicNever {
		return
	}
	for _, s := range old {
		a := newAddresses(th.In, frames, s.sources)
		for _, was := range s.seen {
			p := a.at(was.src)
			if p == nil || *(**torch.Tensor)(p) == nil {
				continue
			}
			shape, _, _ := (*(**torch.Tensor)(p)).Layout()
			if len(shape) != len(was.shape) {
				continue
			}
			for d, n := range shape {
				if n != was.shape[d] {
					markDim(fc.dynamic, was.src.name, d)
				}
			}
		}
		for _, was := range s.numbers {
			if p := a.at(was.src); p != nil && !kindOf(was.src.typ).load(p).same(was.val) && s.opens(was.src) {
				markDim(fc.dynamic, was.src.name, anyDim)
			}
		}
	}
}

func markDim(m map[string]map[int]bool, name string, d int) {
	if m[name] == nil {
		m[name] = map[int]bool{}
	}
	m[name][d] = true
}

// newTrace prepares a trace with copies of the region's frames.
func (c *Compiled) newTrace(th *host.Thread, fc *frameCache, frames []*host.Frame) *trace {
	in := th.In
	tr := &trace{
		t: c.t, c: c, in: in, th: in.NewThread(), base: frames,
		entry: newAddresses(in, frames, 64), src: newSources(in, len(frames)-1), mem: newMemory(),
		maps: map[uintptr]*traceMap{}, overlays: map[uintptr]*mapOverlay{}, clos: map[*host.Closure]*closureNote{},
		touched: map[regionKey]*region{}, env: &sym.Env{}, symbols: map[*sym.Symbol]symbolOrigin{}, dynamic: fc.dynamic,
		nodes: map[*torch.Tensor]*graph.Node{}, inputOf: map[*torch.Tensor]*input{}, mutated: map[*torch.Tensor]bool{},
		reads: map[*span][]reading{}, calls: map[*graph.Graph]bodyOf{}, sealed: map[*torch.Tensor]ssa.Instruction{}, returned: map[*torch.Tensor]ssa.Instruction{},
		bases: map[*torch.Tensor]*torch.Tensor{}, born: map[*torch.Tensor]bornView{}, writes: map[*torch.Tensor]written{}, wants: map[*graph.Node]bool{},
	}
	tr.graph = graph.New("graph", tr.env)
	tr.env.Site = func() any { return tr.userPos() }
	for f := frames[0].Caller; f != nil; f = f.Caller {
		tr.callers = append([]*host.Frame{f}, tr.callers...)
	}
	for i, f := range frames {
		cp := f.Clone()
		tr.th.PushFrame(cp)
		tr.shadows = append(tr.shadows, &shadow{frame: cp, initial: i, notes: map[ssa.Value]*note{}, assigned: map[ssa.Value]bool{}})
	}
	return tr
}

// funcName is the function as the user knows it: bar, Decoder.Forward, or, as
// Go's own stacks name closures, main.func1 and main.func1.2.
func funcName(fn *ssa.Function) string {
	if p := fn.Parent(); p != nil {
		n := fn.Name()[strings.LastIndexByte(fn.Name(), '$')+1:]
		if p.Parent() == nil {
			n = "func" + n
		}
		return funcName(p) + "." + n
	}
	var t types.Type
	if fn.Signature.Recv() != nil {
		t = fn.Signature.Recv().Type()
	} else if isBound(fn) {
		t = fn.FreeVars[0].Type()
	}
	if t != nil {
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		if n, ok := types.Unalias(t).(*types.Named); ok {
			return n.Obj().Name() + "." + strings.TrimSuffix(fn.Name(), "$bound")
		}
	}
	return strings.TrimSuffix(fn.Name(), "$thunk")
}

// isBound reports whether fn is the function that SSA makes for a method value;
// its receiver is a bound variable.
func isBound(fn *ssa.Function) bool {
	return strings.HasSuffix(fn.Name(), "$bound") && len(fn.FreeVars) == 1
}

func breakTitle(b *breakPoint) string {
	if cause, ok := breaks.Lookup(b.code); ok {
		return cause.Type
	}
	return b.code
}
