package tracer

import (
	"go/types"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is what a trace leaves behind: guards, a compiled graph, and
// recipes for the state of the program behind it.

// seenTensor is a tensor that a segment guards, with its shape when it was compiled.
type seenTensor struct {
	src   *source
	shape []int
}

// segment is one cache entry of a frame.
type segment struct {
	id      logs.CompileID
	sources int
	guards  []*guard
	inputs  []graphInput // of the graph
	seen    []seenTensor // also those that the graph does not read
	numbers []seenNumber // constants of the graph
	run     Runnable
	plan    func() Runnable // of Request; nil where every run gets fresh memory
	graph   *graph.Graph    // nil: no operators

	objects  []*object
	closures []*closureSpec
	maps     []*mapSpec
	writes   []writeBack
	stores   []mapWriteBack
	symbols  map[*sym.Symbol]symbolOrigin

	results []result    // of the compiled function, when the segment returns
	brk     *breakPoint // else where it breaks
	watched []watched
	kept    int         // region frames that stay
	frames  []frameSpec // all frames behind the segment, lowest first

	hits   atomic.Int64
	makers sync.Pool // of *maker
}

type result struct {
	typ types.Type
	r   recipe
}

type writeBack struct {
	loc *source
	typ types.Type
	r   recipe
}

// mapWriteBack is one key of a map of entry memory that the segment sets.
type mapWriteBack struct {
	src *source // of the map
	key *mapKey
	val result // of the value; r is nil where the key is deleted
}

// frameSpec is the state of one frame behind the segment.
type frameSpec struct {
	fn   *ssa.Function
	pc   int
	call ssa.CallInstruction // in the frame below, for pushed frames
	free []result
	regs []register
}

type register struct {
	v ssa.Value
	result
}

// finish turns the end of a trace into a segment.
func (tr *trace) finish(s *stop) *segment {
	tr.fixSharedSizes()
	tr.shapeGuards()
	rs := newRecipes(tr)
	seg := &segment{brk: s.brk, symbols: tr.symbols}
	if s.brk == nil {
		for _, v := range s.result {
			seg.results = append(seg.results, result{v.Type(), rs.of(v.Type(), s.frame.Addr(v), tr.noteOf(v))})
		}
	} else {
		tr.frameSpecs(seg, rs)
	}
	for _, w := range tr.mem.order {
		if w.n != nil && w.n.src == w.loc && w.n.src != nil {
			continue // what stood there stands there again
		}
		seg.writes = append(seg.writes, writeBack{w.loc, w.typ, rs.of(w.typ, w.val, w.n)})
	}
	for _, o := range tr.overlaid {
		vt := o.typ.Underlying().(*types.Map).Elem()
		for _, s := range o.order {
			w := mapWriteBack{src: o.src, key: s.key}
			if !s.deleted {
				w.val = result{vt, rs.of(vt, s.val, s.n)}
			}
			seg.stores = append(seg.stores, w)
		}
	}
	tr.checkOutside(rs)
	seg.watched = tr.watched
	tr.aliasGuards()
	tr.closeGraph(seg, rs)
	seg.guards = tr.guards.list
	seg.objects, seg.closures, seg.maps = rs.objects, rs.specs, rs.mapped
	seg.sources = len(tr.src.all)
	return seg
}

// iterators are the running iterators over strings that outlive the trace: they
// cannot be made again, so that the trace has to break in front of them.
func (tr *trace) iterators() []ssa.Instruction {
	var out []ssa.Instruction
	for i, sh := range tr.shadows {
		live := tr.liveIn(sh, i == len(tr.shadows)-1)
		for v := range live {
			if r, ok := v.(*ssa.Range); ok && sh.assigned[v] {
				out = append(out, r)
			}
		}
	}
	return out
}

// frameSpecs records the frames at a break.
func (tr *trace) frameSpecs(seg *segment, rs *recipes) {
	shadows := tr.shadows
	for i, sh := range shadows {
		spec := frameSpec{fn: sh.frame.Code.Fn, pc: sh.frame.PC}
		if sh.initial >= 0 {
			seg.kept++
		} else {
			spec.call, _ = tr.callOf(shadows[i-1]).(ssa.CallInstruction)
		}
		tr.shadows = shadows[:i+1] // notes are read as this frame sees them
		live := tr.liveIn(sh, i == len(shadows)-1)
		for _, v := range registersOf(sh.frame.Code.Fn) {
			if !live[v] || (sh.initial >= 0 && !sh.assigned[v]) {
				continue
			}
			if _, free := v.(*ssa.FreeVar); free {
				continue
			}
			spec.regs = append(spec.regs, register{v, result{v.Type(), rs.of(v.Type(), sh.frame.Addr(v), tr.noteOf(v))}})
		}
		if sh.initial < 0 {
			for k, fv := range spec.fn.FreeVars {
				spec.free = append(spec.free, result{fv.Type(), rs.of(fv.Type(), sh.frame.Addr(fv), sh.free[k])})
			}
		}
		seg.frames = append(seg.frames, spec)
	}
	tr.shadows = shadows
}

// liveIn is what a frame still needs: the top one in front of the breaking
// instruction, the others behind the call that they wait in.
func (tr *trace) liveIn(sh *shadow, top bool) liveSet {
	l := livenessOf(sh.frame.Code.Fn)
	if top {
		return l.at(sh.frame.Instr())
	}
	call := tr.callOf(sh)
	live := l.after(call.(ssa.Instruction))
	delete(live, call)
	return live
}

// registersOf lists the registers of a function in a fixed order.
func registersOf(fn *ssa.Function) []ssa.Value {
	var out []ssa.Value
	for _, p := range fn.Params {
		out = append(out, p)
	}
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if v, ok := in.(ssa.Value); ok {
				out = append(out, v)
			}
		}
	}
	return out
}

// closeGraph gives the graph its outputs and drops what nobody reads.
func (tr *trace) closeGraph(seg *segment, rs *recipes) {
	g := tr.graph
	var outs []any
	for _, t := range rs.order {
		outs = append(outs, tr.outward(t, tr.nodes[t]))
	}
	g.SetOutput(outs)
	g.EliminateDead()
	tr.tidyBodies()
	carriers := map[*source]bool{} // of symbols, which the graph reads from its inputs
	for _, o := range tr.symbols {
		carriers[o.src] = true
	}
	of := map[*graph.Node]graphInput{}
	for _, in := range tr.inputs {
		shape, _, _ := in.tensor.Layout()
		seg.seen = append(seg.seen, seenTensor{in.src, slices.Clone(shape)})
		if in.node.NumUsers() == 0 && !carriers[in.src] {
			g.Erase(in.node)
			continue
		}
		of[in.node] = graphInput{tensor: true, src: in.src}
	}
	for n, in := range tr.numberOf {
		if in.expr != nil && n.NumUsers() == 0 {
			g.Erase(n)
			continue
		}
		of[n] = in
	}
	for _, n := range g.Placeholders() {
		seg.inputs = append(seg.inputs, of[n])
	}
	seg.numbers = tr.numbers
	if g.NumOps() > 0 {
		seg.graph = g
	}
}

// holds tests all guards.
func (s *segment) holds(a *addresses) bool {
	for _, g := range s.guards {
		if !g.test(a) {
			return false
		}
	}
	return true
}

// values appends the graph's inputs to in.
func (s *segment) values(a *addresses, in []torch.Value) []torch.Value {
	in = slices.Grow(in, len(s.inputs))
	for i := range s.inputs {
		in = append(in, s.inputs[i].value(a))
	}
	return in
}

// execute runs the segment on the frames of th from depth base up. It reports
// whether the compiled function has returned.
func (s *segment) execute(th *host.Thread, frames []*host.Frame, a *addresses, tu *turns) (returned bool) {
	m := s.takeMaker(th.In, a)
	switch {
	case s.run == nil:
	case tu == nil: // a backend of the user may keep the list
		m.outs = s.run(s.values(a, nil))
	default:
		m.inputs = s.values(a, m.inputs[:0])
		m.outs = tu.runnable(s)(m.inputs)
	}
	m.prepare()
	pending := s.pending(m)
	arm := s.watch(th.In, a, m.outs)
	if s.brk == nil {
		for i, r := range s.results {
			r.r.write(m, m.results[i])
		}
		s.commit(th, a, pending)
		arm()
		for range frames[1:] {
			th.Pop()
		}
		th.Return(m.results)
		m.release()
		return true
	}
	s.rebuild(th, frames, m, func() { s.commit(th, a, pending) })
	arm()
	return false
}

// pending makes the values of all write-backs, before the first is done.
func (s *segment) pending(m *maker) []unsafe.Pointer {
	if len(s.writes)+len(s.stores) == 0 {
		return nil
	}
	vals := m.make(len(s.writes), func(i int) result { return result{s.writes[i].typ, s.writes[i].r} })
	for _, w := range s.stores {
		var p unsafe.Pointer
		if w.val.r != nil {
			p = m.in.New(w.val.typ)
			w.val.r.write(m, p)
		}
		vals = append(vals, p)
	}
	return vals
}

func (s *segment) commit(th *host.Thread, a *addresses, pending []unsafe.Pointer) {
	for i, w := range s.writes {
		th.In.Copy(w.typ, a.at(w.loc), pending[i])
	}
	for i, w := range s.stores {
		rt := th.In.Rep(w.src.typ)
		var val reflect.Value // zero: delete
		if p := pending[len(s.writes)+i]; p != nil {
			val = reflect.NewAt(rt.Elem(), p).Elem()
		}
		reflect.NewAt(rt, a.at(w.src)).Elem().SetMapIndex(reflect.NewAt(rt.Key(), w.key.addr).Elem(), val)
	}
}

// rebuild puts the frames into the state of the break: all values are made
// before the first register is overwritten.
func (s *segment) rebuild(th *host.Thread, frames []*host.Frame, m *maker, commit func()) {
	vals := make([][]unsafe.Pointer, len(s.frames))
	frees := make([][]unsafe.Pointer, len(s.frames))
	for i, f := range s.frames {
		vals[i] = m.make(len(f.regs), func(k int) result { return f.regs[k].result })
		frees[i] = m.make(len(f.free), func(k int) result { return f.free[k] })
	}
	commit()
	for range frames[s.kept:] {
		th.Pop()
	}
	for i, f := range s.frames {
		var fr *host.Frame
		if i < s.kept {
			fr = frames[i]
		} else {
			fr = th.Push(f.fn, frees[i], f.call)
		}
		fr.PC = f.pc
		for k, r := range f.regs {
			th.In.Copy(r.typ, fr.Addr(r.v), vals[i][k])
		}
	}
}

func (m *maker) make(n int, at func(int) result) []unsafe.Pointer {
	out := make([]unsafe.Pointer, n)
	for i := range out {
		r := at(i)
		out[i] = m.in.New(r.typ)
		r.r.write(m, out[i])
	}
	return out
}

// size evaluates a size expression with the shapes of this call.
func (m *maker) size(x sym.Int) int64 {
	return x.Eval(func(y *sym.Symbol) int64 {
		if v, ok := y.Fixed(); ok {
			return v
		}
		o := m.seg.symbols[y]
		return int64(sizeAt(m.entry, o.src, o.dim))
	})
}
