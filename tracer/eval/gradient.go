package eval

import (
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file reads and replaces the gradients of tensors that existed on entry: to
// a trace x.Grad() is a field of x, so that it can be an input of the graph, and
// x.SetGrad a store that the cache entry replays.

// gradient evaluates x.Grad().
func gradient(tr *Trace, in *ssa.Call) {
	place, loc := natives{tr}.gradPlace(in)
	dst := tr.addr(in)
	tr.In.Copy(loc.Type, dst, place)
	n := tr.loadEntry(loc.Type, place, dst, loc)
	tr.skip()
	tr.set(in, n)
}

// hasGradient evaluates torch.HasGrad(x), which is x.Grad() != nil.
func hasGradient(tr *Trace, in *ssa.Call) {
	place, loc := natives{tr}.gradPlace(in)
	g := tr.In.New(loc.Type)
	tr.In.Copy(loc.Type, g, place)
	src, has := entryPointer(tr.loadEntry(loc.Type, place, g, loc)), *(*unsafe.Pointer)(g) != nil
	if src != nil {
		tr.Guards.Nil(src, !has)
	}
	*(*bool)(tr.addr(in)) = has
	tr.skip()
	tr.set(in, nil)
}

// setGradient evaluates x.SetGrad(g).
func setGradient(tr *Trace, in *ssa.Call) {
	place, loc := natives{tr}.gradPlace(in)
	g := in.Call.Args[1]
	if why := tr.tensorAt(in.Call.Args[0]).GradRefused(tr.tensorAt(g)); why != "" {
		breakAt(breaks.ObservedPanic, "%s", why)
	}
	tr.storeEntry(loc.Type, place, tr.addr(g), loc, tr.tracked(g))
	tr.skip()
}

// gradPlace is where the receiver of a call keeps its gradient, and how that
// place is found again. What the graph computes has its gradient later.
func (ns natives) gradPlace(in *ssa.Call) (unsafe.Pointer, *value.Source) {
	ns.inBackward("reads or replaces the gradient of a tensor")
	ns.inFlow("reads or replaces the gradient of a tensor")
	x := in.Call.Args[0]
	t, n := ns.tensorAt(x), ns.tracked(x)
	if n == nil || n.Src == nil {
		b := &replay.Break{
			Code:   breaks.UnsupportedMethod,
			Detail: "call of " + shortFunc(calledName(in)) + " on what the graph computes", Value: x,
		}
		panic(&breakSignal{b})
	}
	if t == nil {
		ns.Guards.Nil(n.Src, true)
		breakAt(breaks.ObservedPanic, "a nil tensor is used")
	}
	return unsafe.Pointer(t.GradPlace()), ns.src.Grad(n.Src)
}

func calledName(in *ssa.Call) string { return in.Call.StaticCallee().String() }

// gradPlaces are the tensors whose gradients a trace has accessed.
type gradPlaces struct {
	of      []*value.Source
	seen    map[*value.Source]bool
	read    map[unsafe.Pointer]*value.Source // those whose gradient on entry the trace has read, by where it is
	written bool
}

// readGrad records that the trace reads the gradient that is at a place on entry.
func (hp *heap) readGrad(place unsafe.Pointer, loc *value.Source) {
	if loc.Kind != value.Grad {
		return
	}
	if hp.grads.read == nil {
		hp.grads.read = map[unsafe.Pointer]*value.Source{}
	}
	hp.grads.read[place] = loc
}

// give notes that what is at a source on entry goes to a place that outlives the call.
func (rs *reconstructor) give(from *value.Source) {
	for s := from; s != nil; s = s.Parent {
		rs.lent = rs.lent || s.Kind == value.Grad
	}
}

// borrows reports whether nothing that outlives the call refers to the gradients that it reads, as in
// the step of an optimizer: no place gets one, the graph returns none and no view of one, and keeps
// none for a backward pass.
func (rs *reconstructor) borrows(g *graph.Graph) bool {
	if rs.lent {
		return false
	}
	if g == nil {
		return true
	}
	for n := g.First(); n != nil; n = n.Next() {
		call := n.Kind != graph.Placeholder && n.Kind != graph.Output
		if call && (!n.NoGrad && !g.Untaped || n.Flow != nil || n.Apply != nil) {
			return false
		}
	}
	const shares = ops.TagView | ops.TagMaybeView | ops.TagInPlace
	for _, a := range g.Outputs() {
		n, ok := a.(*graph.Node)
		if ok && n.IsTensor() && (n.OpRow() == nil || n.OpRow().Tags&shares != 0) {
			return false
		}
	}
	return true
}

// ownGrads finds the gradients that a call reads and lets others have, those that it replaces unread, which
// are let go before the graph computes the new ones, and those that it makes and hands to nobody else.
func (rs *reconstructor) ownGrads(entry *replay.Entry) {
	tr := rs.tr
	for _, loc := range tr.grads.read {
		entry.ReadGrads = append(entry.ReadGrads, loc)
	}
	entry.Borrows = rs.borrows(entry.Graph)
	for i, w := range entry.Writes {
		if w.Loc.Kind != value.Grad {
			continue
		}
		if tr.grads.read[tr.Entry.At(w.Loc)] == nil {
			entry.Replaced = append(entry.Replaced, w.Loc)
		}
		if o, ok := w.From.(replay.Output); ok && rs.handed[o.I] == 1 {
			entry.OwnGrads = append(entry.OwnGrads, i)
		}
	}
}

// touchGrad records that the gradient of the tensor at s was accessed.
func (hp *heap) touchGrad(s *value.Source, write bool) {
	gs := &hp.grads
	gs.written = gs.written || write
	if gs.seen[s] {
		return
	}
	if gs.seen == nil {
		gs.seen = map[*value.Source]bool{}
	}
	gs.seen[s] = true
	gs.of = append(gs.of, s)
}
