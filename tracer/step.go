package tracer

import (
	"go/token"
	"go/types"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates one SSA instruction: a dispatch, then one small method
// an instruction. Calls are in call.go.

// step evaluates the next instruction; it returns how the trace ended, nil to
// go on.
func (tr *trace) step() *stop {
	switch in := tr.th.Top().Instr().(type) {
	case *ssa.Alloc:
		tr.alloc(in)
	case *ssa.BinOp:
		tr.binOp(in)
	case *ssa.UnOp:
		tr.unOp(in)
	case *ssa.Call:
		tr.call(in)
	case *ssa.Store:
		tr.store(in)
	case *ssa.FieldAddr:
		tr.fieldAddr(in)
	case *ssa.IndexAddr:
		tr.indexAddr(in)
	case *ssa.Field:
		n := tr.part(tr.noteOf(in.X), in.X.Type(), in.Field)
		tr.exec()
		tr.set(in, n)
	case *ssa.Index:
		tr.index(in)
	case *ssa.Extract:
		n := tr.part(tr.noteOf(in.Tuple), in.Tuple.Type(), in.Index)
		tr.exec()
		tr.set(in, n)
	case *ssa.Phi:
		tr.exec() // its value and note were set on the edge
	case *ssa.If:
		tr.branch(in)
	case *ssa.Jump:
		tr.edge(in.Block(), in.Block().Succs[0], 0)
		tr.exec()
	case *ssa.Return:
		return tr.ret(in)
	case *ssa.MakeInterface:
		n := tr.noteOf(in.X)
		tr.exec()
		if n != nil {
			n = &note{inner: n}
		}
		tr.set(in, n)
	case *ssa.TypeAssert:
		tr.typeAssert(in)
	case *ssa.ChangeInterface, *ssa.ChangeType:
		tr.change(in.(ssa.Value))
	case *ssa.Convert:
		tr.convert(in)
	case *ssa.MakeClosure:
		tr.makeClosure(in)
	case *ssa.MakeSlice:
		tr.makeSlice(in)
	case *ssa.MakeMap:
		tr.makeMap(in)
	case *ssa.MapUpdate:
		tr.mapUpdate(in)
	case *ssa.Lookup:
		tr.lookup(in)
	case *ssa.Slice:
		tr.slice(in)
	case *ssa.Range, *ssa.Next:
		tr.iterate(in.(ssa.Value))
	case *ssa.RunDefers:
		if defers(in.Parent()) {
			tr.breakAt(breaks.DeferRecover, "deferred calls of %s", funcName(in.Parent()))
		}
		tr.exec()
	case *ssa.DebugRef:
		tr.exec()
	default:
		tr.refuse(in)
	}
	return nil
}

// refuse breaks at instructions that no graph can hold.
func (tr *trace) refuse(in ssa.Instruction) {
	switch in.(type) {
	case *ssa.Go:
		tr.breakAt(breaks.GoroutineStarted, "%s", tr.codeOf(in))
	case *ssa.Send, *ssa.MakeChan:
		tr.breakAt(breaks.ChannelOperation, "%s", tr.codeOf(in))
	case *ssa.Select:
		tr.breakAt(breaks.SelectStatement, "%s", tr.codeOf(in))
	case *ssa.Defer:
		tr.breakAt(breaks.DeferRecover, "%s", tr.codeOf(in))
	case *ssa.Panic:
		tr.breakAt(breaks.UserPanic, "%s", tr.codeOf(in))
	}
	tr.breakAt(breaks.UnsupportedInstr, "%T", in)
}

// constant makes sure that v has the same value on every run of the segment.
func (tr *trace) constant(v ssa.Value) {
	if n := tr.noteOf(v); n != nil {
		tr.freeze(n, v.Type(), tr.addr(v))
	}
}

// freeze guards everything that the value of type t at p depends on.
func (tr *trace) freeze(n *note, t types.Type, p unsafe.Pointer) {
	switch {
	case n == nil:
		return
	case n.sym != nil:
		sym.Force(*n.sym)
		return
	case n.expr != nil:
		tr.guardExpr(n.expr, n.expr.kind.load(p))
		return
	case n.parts != nil:
		_, at := components(t)
		for i, part := range n.parts {
			tr.freeze(part, at(i), unsafe.Add(p, tr.offset(t, i)))
		}
		return
	case n.inner != nil:
		if dyn, q := tr.in.Dynamic(t, p); dyn != nil {
			tr.freeze(n.inner, dyn, q)
		}
		return
	case n.src == nil && n.base != nil:
		tr.freezeElements(n, t, p)
		return
	case n.src == nil:
		return
	}
	if _, isSlice := t.Underlying().(*types.Slice); isSlice && n.base != nil {
		tr.guardLen(n.src, (*sliceHeader)(p).len)
		tr.freezeElements(n, t, p)
		return
	}
	tr.freezeSource(n.src, t, p)
}

// freezeElements guards the elements of a slice of entry memory. What the trace
// has stored there is not in memory yet, so that nobody else could read it.
func (tr *trace) freezeElements(n *note, t types.Type, p unsafe.Pointer) {
	h, e := (*sliceHeader)(p), elemType(t)
	size := tr.in.Rep(e).Size()
	for i := range h.len {
		q := unsafe.Add(h.data, uintptr(i)*size)
		if tr.mem.changed(q, size) {
			tr.breakAt(breaks.OpaqueValue, "a slice that the compiled code has changed is handed to native code")
		}
		s := tr.src.elem(n.base, n.off+i)
		tr.noteEntryRead(e, q, s)
		tr.touch(s, false)
		tr.freezeSource(s, e, q)
	}
}

// freezeSource guards the value that stands at s.
func (tr *trace) freezeSource(s *source, t types.Type, p unsafe.Pointer) {
	switch u := t.Underlying().(type) {
	case *types.Interface:
		dyn, q := tr.in.Dynamic(t, p)
		tr.guardType(s, dyn)
		if dyn != nil {
			tr.freezeSource(tr.src.dynamic(s, dyn), dyn, q)
		}
	case *types.Pointer:
		tr.guardPointer(s, *(*unsafe.Pointer)(p))
	case *types.Signature:
		if c := tr.in.ClosureOf(p); c != nil {
			tr.guardFunc(s, c.Fn)
			return
		}
		if value := *(*unsafe.Pointer)(p); value != nil {
			tr.guardNativeFunc(s, value)
			return
		}
		tr.guardNil(s, true)
	case *types.Slice:
		tr.guardLen(s, (*sliceHeader)(p).len)
		for i := range (*sliceHeader)(p).len {
			e := tr.src.elem(s, i)
			tr.noteEntryRead(u.Elem(), tr.entry.at(e), e)
			tr.touch(e, false)
			tr.freezeSource(e, u.Elem(), tr.entry.at(e))
		}
	case *types.Map, *types.Chan:
		tr.breakAt(breaks.OpaqueValue, "the value of %s would have to be a constant", s.argument())
	case *types.Struct, *types.Array:
		if isBlock(t) {
			tr.guardBlock(s, p)
			return
		}
		tr.notLarge(t, "the value of")
		n, at := components(t)
		for i := range n {
			tr.freezeSource(tr.component(s, i), at(i), unsafe.Add(p, tr.offset(t, i)))
		}
	default:
		tr.guardEquals(s, p)
	}
}

func (tr *trace) alloc(in *ssa.Alloc) {
	tr.exec()
	p := *(*unsafe.Pointer)(tr.shadowAddr(in))
	t := in.Type().Underlying().(*types.Pointer).Elem()
	tr.mem.allocated(p, tr.in.Rep(t).Size(), t, 0)
	tr.mem.forget(p, tr.in.Rep(t).Size())
	tr.set(in, nil)
}

// shadowAddr is where the frame that has just executed keeps v.
func (tr *trace) shadowAddr(v ssa.Value) unsafe.Pointer { return tr.top().frame.Addr(v) }

func (tr *trace) binOp(in *ssa.BinOp) {
	x, y := tr.noteOf(in.X), tr.noteOf(in.Y)
	if x == nil && y == nil {
		tr.exec()
		tr.set(in, nil)
		return
	}
	if n, ok := tr.symbolic(in, x, y); ok {
		tr.exec()
		tr.set(in, n)
		return
	}
	if e := tr.lazy(in, x, y); e != nil {
		tr.exec()
		tr.set(in, &note{expr: e})
		return
	}
	if isPointer(in.X.Type()) {
		tr.comparePointers(in, x, y)
		return
	}
	tr.constantIface(in.X, isNilConst(in.Y))
	tr.constantIface(in.Y, isNilConst(in.X))
	tr.exec()
	tr.set(in, nil)
}

func isNilConst(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.IsNil()
}

// constantIface is constant, but a comparison of an interface with nil asks
// only for its type.
func (tr *trace) constantIface(v ssa.Value, withNil bool) {
	n := tr.noteOf(v)
	if n != nil && n.src != nil {
		switch v.Type().Underlying().(type) {
		case *types.Interface:
			dyn, _ := tr.in.Dynamic(v.Type(), tr.addr(v))
			tr.guardType(n.src, dyn)
			if dyn == nil || withNil {
				return
			}
		case *types.Slice, *types.Map, *types.Signature: // comparable with nil alone
			tr.guardNil(n.src, *(*unsafe.Pointer)(tr.addr(v)) == nil)
			return
		}
	}
	tr.constant(v)
}

func isPointer(t types.Type) bool { _, ok := t.Underlying().(*types.Pointer); return ok }

// comparePointers guards the outcome of p == q where either existed on entry.
func (tr *trace) comparePointers(in *ssa.BinOp, x, y *note) {
	xs, ys := entryPointer(x), entryPointer(y)
	p, q := *(*unsafe.Pointer)(tr.addr(in.X)), *(*unsafe.Pointer)(tr.addr(in.Y))
	switch {
	case xs != nil && ys != nil:
		tr.guardIdentity(xs, ys, p == q)
	case xs != nil && q == nil:
		tr.guardNil(xs, p == nil)
	case ys != nil && p == nil:
		tr.guardNil(ys, q == nil)
	}
	tr.exec()
	tr.set(in, nil)
}

func entryPointer(n *note) *source {
	if n == nil {
		return nil
	}
	return n.src
}

// symbolic computes integer arithmetic on sizes.
func (tr *trace) symbolic(in *ssa.BinOp, x, y *note) (*note, bool) {
	if !isSize(x) && !isSize(y) || kindOf(in.X.Type()).class != signedInt || kindOf(in.Y.Type()).class != signedInt {
		return nil, false
	}
	a, b := tr.sizeOf(in.X, x), tr.sizeOf(in.Y, y)
	switch in.Op {
	case token.ADD:
		return symNote(sym.Add(a, b)), true
	case token.SUB:
		return symNote(sym.Sub(a, b)), true
	case token.MUL:
		return symNote(sym.Mul(a, b)), true
	case token.QUO, token.REM:
		return tr.symbolicQuotient(in.Op, a, b)
	case token.EQL:
		sym.Eq(a, b)
	case token.NEQ:
		sym.Ne(a, b)
	case token.LSS:
		sym.Lt(a, b)
	case token.LEQ:
		sym.Le(a, b)
	case token.GTR:
		sym.Gt(a, b)
	case token.GEQ:
		sym.Ge(a, b)
	default:
		return nil, false
	}
	return nil, true // a guard on the sizes has settled it
}

// symbolicQuotient divides sizes. Sizes round down and Go rounds to zero, so a
// negative dividend is divided without its sign; other divisors have to be
// constants, with what they divide.
func (tr *trace) symbolicQuotient(op token.Token, a, b sym.Int) (*note, bool) {
	zero, divide := sym.Const(0), sym.FloorDiv
	if op == token.REM {
		divide = sym.Mod
	}
	switch {
	case sym.Is(b, 0), !sym.Gt(b, zero):
		return nil, false
	case sym.Lt(a, zero):
		return symNote(sym.Neg(divide(sym.Neg(a), b))), true
	}
	return symNote(divide(a, b)), true
}

func symNote(x sym.Int) *note {
	if _, ok := x.IsConst(); ok {
		return nil
	}
	return &note{sym: &x}
}

func isSize(n *note) bool { return n != nil && n.sym != nil }

// sizeOf reads the integer v as a size: symbolic, or a number, which becomes a
// constant.
func (tr *trace) sizeOf(v ssa.Value, n *note) sym.Int {
	if isSize(n) {
		return *n.sym
	}
	if x, ok := tr.openInt(n); ok {
		return x
	}
	if n != nil && n.expr != nil {
		tr.noteNumber(n.expr)
	}
	tr.constant(v)
	return sym.Const(kindOf(v.Type()).load(tr.addr(v)).i)
}

// lazy builds the expression of a numeric operation on entry values; nil when
// it has to be settled now.
func (tr *trace) lazy(in *ssa.BinOp, x, y *note) *expr {
	if !lazyOp(in.Op) || kindOf(in.X.Type()).class == notScalar {
		return nil
	}
	a, b := tr.exprOf(in.X, x), tr.exprOf(in.Y, y)
	if a == nil || b == nil || depth(a)+depth(b) > 40 {
		return nil
	}
	return &expr{op: in.Op, kind: kindOf(in.Type()), x: a, y: b}
}

func depth(e *expr) int {
	if e == nil {
		return 0
	}
	return 1 + max(depth(e.x), depth(e.y))
}

// exprOf reads v as an expression; nil for sizes and other notes.
func (tr *trace) exprOf(v ssa.Value, n *note) *expr {
	k := kindOf(v.Type())
	switch {
	case k.class == notScalar:
		return nil
	case n == nil:
		return constExpr(k, k.load(tr.addr(v)))
	}
	return n.expr
}

func (tr *trace) unOp(in *ssa.UnOp) {
	switch in.Op {
	case token.MUL:
		tr.load(in)
		return
	case token.ARROW:
		tr.breakAt(breaks.ChannelOperation, "%s", tr.codeOf(in))
	}
	n := tr.noteOf(in.X)
	if e := tr.exprOf(in.X, n); n != nil && e != nil {
		tr.exec()
		tr.set(in, &note{expr: &expr{op: in.Op, kind: kindOf(in.Type()), x: e}})
		return
	}
	if n != nil && n.sym != nil && in.Op == token.SUB {
		tr.exec()
		tr.set(in, symNote(sym.Neg(*n.sym)))
		return
	}
	tr.constant(in.X)
	tr.exec()
	tr.set(in, nil)
}

// load reads *X.
func (tr *trace) load(in *ssa.UnOp) {
	n := tr.noteOf(in.X)
	p := *(*unsafe.Pointer)(tr.addr(in.X))
	if p == nil {
		if n != nil && n.src != nil {
			tr.guardNil(n.src, true)
		}
		tr.exec() // panics: the trace ends here
	}
	tr.exec()
	dst := tr.shadowAddr(in)
	switch {
	case tr.mem.find(p) != nil:
		tr.set(in, tr.loadNote(in.Type(), p))
	case n != nil && n.loc != nil:
		tr.notNil(n)
		tr.set(in, tr.loadEntry(in.Type(), p, dst, n.loc))
	case zeroSize(tr.in.Rep(in.Type())):
		tr.set(in, nil)
	default:
		tr.breakAt(breaks.OpaqueValue, "a load through a pointer of unknown origin: %s", tr.codeOf(in))
	}
}

// notNil guards a pointer of entry that is about to be followed.
func (tr *trace) notNil(n *note) {
	if n.src != nil {
		tr.guardNil(n.src, false)
	}
}

func (tr *trace) store(in *ssa.Store) {
	n := tr.noteOf(in.Addr)
	p := *(*unsafe.Pointer)(tr.addr(in.Addr))
	t := in.Val.Type()
	switch {
	case p == nil:
		tr.exec() // panics
	case tr.mem.find(p) != nil:
		v := tr.noteOf(in.Val)
		if v != nil {
			tr.notLarge(t, "a copy of")
		}
		tr.exec()
		tr.storeNote(t, p, v)
	case n != nil && n.loc != nil:
		tr.notNil(n)
		tr.storeEntry(t, p, tr.addr(in.Val), n.loc, tr.noteOf(in.Val))
		tr.skip()
	case zeroSize(tr.in.Rep(t)):
		tr.exec()
	default:
		tr.breakAt(breaks.OpaqueValue, "a store through a pointer of unknown origin: %s", tr.codeOf(in))
	}
}

func (tr *trace) fieldAddr(in *ssa.FieldAddr) {
	n := tr.noteOf(in.X)
	tr.exec()
	if n == nil || n.loc == nil {
		tr.set(in, nil)
		return
	}
	tr.notNil(n)
	tr.set(in, &note{loc: tr.src.field(n.loc, in.Field)})
}

func (tr *trace) indexAddr(in *ssa.IndexAddr) {
	n := tr.noteOf(in.X)
	tr.constant(in.Index)
	i := int(kindOf(in.Index.Type()).load(tr.addr(in.Index)).i)
	tr.exec()
	switch {
	case n == nil:
		tr.set(in, nil)
	case isPointer(in.X.Type()):
		if n.loc == nil {
			tr.set(in, nil)
			return
		}
		tr.notNil(n)
		tr.set(in, &note{loc: tr.src.elem(n.loc, i)})
	case n.base != nil:
		if n.src != nil {
			tr.guardLen(n.src, (*sliceHeader)(tr.shadowAddr(in.X)).len)
		}
		tr.set(in, &note{loc: tr.src.elem(n.base, n.off+i)})
	default:
		tr.set(in, nil)
	}
}

func (tr *trace) index(in *ssa.Index) {
	n := tr.noteOf(in.X)
	tr.constant(in.Index)
	i := int(kindOf(in.Index.Type()).load(tr.addr(in.Index)).i)
	if _, isArray := in.X.Type().Underlying().(*types.Array); !isArray {
		tr.constant(in.X) // a string
		n = nil
	}
	tr.exec()
	tr.set(in, tr.part(n, in.X.Type(), i))
}

// branch takes the way that the values of this call take and guards it.
func (tr *trace) branch(in *ssa.If) {
	tr.constant(in.Cond)
	b := in.Block()
	k := 0
	if !*(*bool)(tr.addr(in.Cond)) {
		k = 1
	}
	tr.edge(b, b.Succs[k], k)
	tr.exec()
}

// edge gives the phis of a block the notes of the values that flow along the
// k-th edge out of b.
func (tr *trace) edge(b, to *ssa.BasicBlock, k int) {
	pred := predIndex(b, to, k)
	var phis []*ssa.Phi
	var notes []*note
	for _, i := range to.Instrs {
		if phi, ok := i.(*ssa.Phi); ok {
			phis = append(phis, phi)
			notes = append(notes, tr.noteOf(phi.Edges[pred]))
		} else if _, dbg := i.(*ssa.DebugRef); !dbg {
			break
		}
	}
	for i, phi := range phis {
		tr.set(phi, notes[i])
	}
}

// predIndex finds edge k of b among the predecessors of to: where both edges of
// a branch lead to the same block it has b twice.
func predIndex(b, to *ssa.BasicBlock, k int) int {
	nth := 0
	for _, s := range b.Succs[:k] {
		if s == to {
			nth++
		}
	}
	for i, p := range to.Preds {
		if p == b {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	panic("tracer: edge without predecessor")
}

// ret ends the trace when the compiled function returns, else passes the notes
// of the results to the caller.
func (tr *trace) ret(in *ssa.Return) *stop {
	switch {
	case len(tr.shadows) == 1:
		return &stop{result: in.Results, frame: tr.top().frame}
	case tr.top().backward:
		tr.endBackward(in)
		return nil
	}
	notes := make([]*note, len(in.Results))
	for i, r := range in.Results {
		notes[i] = tr.noteOf(r)
	}
	tr.exec()
	tr.shadows = tr.shadows[:len(tr.shadows)-1]
	caller := tr.callOf(tr.top())
	if caller == nil {
		return nil
	}
	if len(notes) == 1 {
		tr.set(caller, notes[0])
	} else {
		tr.set(caller, withParts(notes))
	}
	return nil
}

func (tr *trace) typeAssert(in *ssa.TypeAssert) {
	n := tr.noteOf(in.X)
	dyn, _ := tr.in.Dynamic(in.X.Type(), tr.addr(in.X))
	var inner *note
	switch {
	case n == nil:
	case n.inner != nil:
		inner = n.inner
	case n.src != nil:
		tr.guardType(n.src, dyn)
		if dyn != nil {
			inner = tr.fromSource(tr.src.dynamic(n.src, dyn))
		}
	}
	tr.exec()
	if _, isIface := in.AssertedType.Underlying().(*types.Interface); isIface && inner != nil {
		inner = &note{inner: inner}
	}
	if !in.CommaOk {
		tr.set(in, inner)
		return
	}
	if !*(*bool)(unsafe.Add(tr.shadowAddr(in), tr.offset(in.Type(), 1))) {
		inner = nil
	}
	tr.set(in, withParts([]*note{inner, nil}))
}

// change is a conversion that keeps the representation.
func (tr *trace) change(in ssa.Value) {
	x := *in.(ssa.Instruction).Operands(nil)[0]
	n := tr.noteOf(x)
	if n != nil && n.src != nil && !types.IsInterface(x.Type()) {
		c := *n // the source keeps its own type; the bits are the same
		n = &c
	}
	tr.exec()
	tr.set(in, n)
}

func (tr *trace) convert(in *ssa.Convert) {
	n := tr.noteOf(in.X)
	from, to := kindOf(in.X.Type()), kindOf(in.Type())
	switch {
	case n == nil:
	case n.sym != nil && to.class == signedInt && to.bits == 64:
		tr.exec()
		tr.set(in, n)
		return
	case n.expr != nil && from.class != notScalar && to.class != notScalar:
		tr.exec()
		tr.set(in, &note{expr: &expr{op: token.ARROW, kind: to, x: n.expr}})
		return
	}
	tr.constant(in.X)
	tr.exec()
	if _, isSlice := in.Type().Underlying().(*types.Slice); isSlice {
		tr.backing(in.Type(), tr.shadowAddr(in))
	}
	tr.set(in, nil)
}

func (tr *trace) makeClosure(in *ssa.MakeClosure) {
	notes := make([]*note, len(in.Bindings))
	for i, b := range in.Bindings {
		notes[i] = tr.noteOf(b)
	}
	tr.exec()
	if c := tr.in.ClosureOf(tr.shadowAddr(in)); c != nil {
		tr.clos[c] = &closureNote{fn: in.Fn.(*ssa.Function), notes: notes}
	}
	tr.set(in, nil)
}

func (tr *trace) makeSlice(in *ssa.MakeSlice) {
	tr.constant(in.Len)
	tr.constant(in.Cap)
	tr.exec()
	tr.backing(in.Type(), tr.shadowAddr(in))
	tr.set(in, nil)
}

func (tr *trace) slice(in *ssa.Slice) {
	n := tr.noteOf(in.X)
	low := 0
	for _, v := range []ssa.Value{in.Low, in.High, in.Max} {
		if v != nil {
			tr.constant(v)
		}
	}
	if in.Low != nil {
		low = int(kindOf(in.Low.Type()).load(tr.addr(in.Low)).i)
	}
	tr.withinLength(in, n)
	_, isString := in.X.Type().Underlying().(*types.Basic)
	if isString || (n != nil && n.src != nil && !isPointer(in.X.Type())) {
		tr.sliceLength(in.X, n, isString)
	}
	tr.exec()
	switch {
	case n == nil || isString:
		tr.set(in, nil)
	case isPointer(in.X.Type()) && n.loc != nil:
		tr.notNil(n)
		tr.set(in, &note{base: n.loc, off: low})
	case n.base != nil:
		tr.set(in, &note{base: n.base, off: n.off + low})
	default:
		tr.set(in, nil)
	}
}

// withinLength breaks in front of a slicing beyond the length of a slice from
// entry memory: sources name elements up to the length only.
func (tr *trace) withinLength(in *ssa.Slice, n *note) {
	if n == nil || n.base == nil || in.High == nil || isPointer(in.X.Type()) {
		return
	}
	if high := kindOf(in.High.Type()).load(tr.addr(in.High)).i; high > int64((*sliceHeader)(tr.addr(in.X)).len) {
		tr.breakAt(breaks.OpaqueValue, "a slice is extended beyond its length")
	}
}

// sliceLength fixes what a slicing expression's bounds are checked against.
func (tr *trace) sliceLength(x ssa.Value, n *note, isString bool) {
	if isString {
		tr.constant(x)
		return
	}
	tr.guardLen(n.src, (*sliceHeader)(tr.addr(x)).len)
}
