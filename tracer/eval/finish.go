package eval

import (
	"go/types"
	"slices"

	"tcdbg/graph"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/ssainfo"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file turns the end of a trace into a cache entry.

// finish turns the end of a trace into a cache entry.
func (tr *Trace) finish(s *stop) *replay.Entry {
	tr.fixSharedSizes()
	tr.Guards.Shapes(tr.Shapes, tr.Symbols)
	rs := newReconstructor(tr)
	entry := &replay.Entry{Break: s.brk, Symbols: tr.Symbols}
	if s.brk == nil {
		for _, v := range s.result {
			entry.Results = append(entry.Results, replay.Result{Type: v.Type(), From: rs.of(v.Type(), s.frame.Addr(v), tr.tracked(v))})
		}
	} else {
		rs.frames(entry)
	}
	rs.logged(entry)
	for _, w := range tr.mem.order {
		if w.n != nil && w.n.Src == w.loc && w.n.Src != nil {
			continue // what was there is there again
		}
		entry.Writes = append(entry.Writes, replay.WriteBack{Loc: w.loc, Type: w.typ, From: rs.of(w.typ, w.val, w.n)})
	}
	for _, o := range tr.overlaid {
		vt := o.typ.Underlying().(*types.Map).Elem()
		for _, s := range o.order {
			w := replay.MapWriteBack{Src: o.src, Key: s.key}
			if !s.deleted {
				w.Val = replay.Result{Type: vt, From: rs.of(vt, s.val, s.n)}
			}
			entry.Stores = append(entry.Stores, w)
		}
	}
	tr.checkOutside(rs)
	entry.Watched = tr.watched
	tr.Guards.Aliases(tr.extents)
	tr.mapAliasGuards()
	if of := tr.grads.of; tr.grads.written && len(of) > 1 {
		tr.Guards.GradAliases(of)
	}
	tr.Guards.TensorAliases(tr.tensorInputs())
	entry.Items = rs.items
	rs.closeGraph(entry)
	entry.Objects, entry.Closures, entry.Maps = rs.objects, rs.specs, rs.mapped
	rs.ownGrads(entry)
	entry.Sources = len(tr.src.All)
	return entry
}

// iterators are the running iterators over strings that outlive the trace: they
// cannot be made again, so that the trace has to break before them.
func (fs *frames) iterators() []ssa.Instruction {
	var out []ssa.Instruction
	for i, sh := range fs.shadows {
		live := fs.liveIn(sh, i == len(fs.shadows)-1)
		for v := range live {
			if r, ok := v.(*ssa.Range); ok && sh.known(v).assigned {
				out = append(out, r)
			}
		}
	}
	return out
}

// frames records the frames at a break.
func (rs *reconstructor) frames(entry *replay.Entry) {
	tr := rs.tr
	shadows := tr.shadows
	for i, sh := range shadows {
		spec := replay.Frame{Fn: sh.frame.Code.Fn, PC: sh.frame.PC}
		if sh.initial >= 0 {
			entry.Kept++
		} else {
			spec.Call, _ = tr.callOf(shadows[i-1]).(ssa.CallInstruction)
		}
		tr.shadows = shadows[:i+1] // tracked values are read as this frame sees them
		live := tr.liveIn(sh, i == len(shadows)-1)
		for _, v := range registersOf(sh.frame.Code.Fn) {
			if !live[v] || (sh.initial >= 0 && !sh.known(v).assigned) {
				continue
			}
			if _, free := v.(*ssa.FreeVar); free {
				continue
			}
			spec.Regs = append(
				spec.Regs,
				replay.Register{V: v, Result: replay.Result{Type: v.Type(), From: rs.of(v.Type(), sh.frame.Addr(v), tr.tracked(v))}},
			)
		}
		if sh.initial < 0 {
			for k, fv := range spec.Fn.FreeVars {
				spec.Free = append(spec.Free, replay.Result{Type: fv.Type(), From: rs.of(fv.Type(), sh.frame.Addr(fv), sh.free[k])})
			}
		}
		entry.Frames = append(entry.Frames, spec)
	}
	tr.shadows = shadows
}

// liveIn is what a frame still needs: the top one before the breaking
// instruction, the others after the call that they wait in.
func (fs *frames) liveIn(sh *shadow, top bool) ssainfo.LiveSet {
	l := ssainfo.LivenessOf(sh.frame.Code.Fn)
	if top {
		return l.At(sh.frame.Instr())
	}
	call := fs.callOf(sh)
	live := l.After(call.(ssa.Instruction))
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
func (rs *reconstructor) closeGraph(entry *replay.Entry) {
	tr := rs.tr
	g := tr.Graph
	var outs []any
	for _, t := range rs.order {
		outs = append(outs, tr.outward(t, tr.Nodes[t]))
	}
	entry.Freed, entry.Passes = settle(tr, rs.order), tr.passes.leaves
	g.SetOutput(outs)
	g.EliminateDead()
	tr.tidyBodies()
	carriers := map[*value.Source]bool{} // of symbols, which the graph reads from its inputs
	for _, o := range tr.Symbols {
		carriers[o.Src] = true
	}
	of := map[*graph.Node]replay.GraphInput{}
	for _, in := range tr.inputs {
		shape, _, _ := in.tensor.Layout()
		entry.Seen = append(entry.Seen, replay.SeenTensor{Src: in.src, Shape: slices.Clone(shape)})
		if in.node.NumUsers() == 0 && !carriers[in.src] {
			g.Erase(in.node)
			continue
		}
		of[in.node] = replay.GraphInput{Tensor: true, Src: in.src}
	}
	for n, in := range tr.NumberOf {
		if in.Expr != nil && n.NumUsers() == 0 {
			g.Erase(n)
			continue
		}
		of[n] = in
	}
	for _, n := range g.Placeholders() {
		entry.Inputs = append(entry.Inputs, of[n])
	}
	entry.Numbers = tr.numbers
	if g.NumOps() > 0 {
		entry.Graph = g
	}
}
