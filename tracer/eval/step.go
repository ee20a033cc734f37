package eval

import (
	"go/token"
	"go/types"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates one SSA instruction: a dispatch, then one small method
// an instruction. Calls are in call.go.

// step evaluates the next instruction; it returns how the trace ended, nil to
// go on.
func (tr *Trace) step() *stop {
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
		n := tr.src.Part(tr.tracked(in.X), in.X.Type(), in.Field)
		tr.exec()
		tr.set(in, n)
	case *ssa.Index:
		tr.index(in)
	case *ssa.Extract:
		n := tr.src.Part(tr.tracked(in.Tuple), in.Tuple.Type(), in.Index)
		tr.exec()
		tr.set(in, n)
	case *ssa.Phi:
		tr.exec() // its value and what is tracked of it were set on the edge
	case *ssa.If:
		tr.branch(in)
	case *ssa.Jump:
		tr.edge(in.Block(), in.Block().Succs[0], 0)
		tr.exec()
	case *ssa.Return:
		return tr.ret(in)
	case *ssa.MakeInterface:
		n := tr.tracked(in.X)
		tr.exec()
		if n != nil {
			n = &value.Tracked{Inner: n}
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
		mapOps{tr}.makeMap(in)
	case *ssa.MapUpdate:
		mapOps{tr}.mapUpdate(in)
	case *ssa.Lookup:
		mapOps{tr}.lookup(in)
	case *ssa.Slice:
		tr.slice(in)
	case *ssa.Range, *ssa.Next:
		tr.iterate(in.(ssa.Value))
	case *ssa.RunDefers:
		if defers(in.Parent()) {
			breakAt(breaks.DeferRecover, "deferred calls of %s", value.FuncName(in.Parent()))
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
func (tr *Trace) refuse(in ssa.Instruction) {
	switch in.(type) {
	case *ssa.Go:
		breakAt(breaks.GoroutineStarted, "%s", tr.codeOf(in))
	case *ssa.Send, *ssa.MakeChan:
		breakAt(breaks.ChannelOperation, "%s", tr.codeOf(in))
	case *ssa.Select:
		breakAt(breaks.SelectStatement, "%s", tr.codeOf(in))
	case *ssa.Defer:
		breakAt(breaks.DeferRecover, "%s", tr.codeOf(in))
	case *ssa.Panic:
		breakAt(breaks.UserPanic, "%s", tr.codeOf(in))
	}
	breakAt(breaks.UnsupportedInstr, "%T", in)
}

func (tr *Trace) alloc(in *ssa.Alloc) {
	tr.exec()
	p := *(*unsafe.Pointer)(tr.shadowAddr(in))
	t := in.Type().Underlying().(*types.Pointer).Elem()
	tr.mem.allocated(p, tr.In.Rep(t).Size(), t, 0)
	tr.mem.forget(p, tr.In.Rep(t).Size())
	tr.set(in, nil)
}

// shadowAddr is where the frame that has just executed keeps v.
func (fs *frames) shadowAddr(v ssa.Value) unsafe.Pointer { return fs.top().frame.Addr(v) }

func (tr *Trace) unOp(in *ssa.UnOp) {
	switch in.Op {
	case token.MUL:
		tr.load(in)
		return
	case token.ARROW:
		breakAt(breaks.ChannelOperation, "%s", tr.codeOf(in))
	}
	n := tr.tracked(in.X)
	if isNumber(n) && in.Op == token.SUB {
		tr.exec()
		tr.set(in, (floats{tr}).negated(n))
		return
	}
	if e := tr.exprOf(in.X, n); n != nil && e != nil {
		tr.exec()
		tr.set(in, &value.Tracked{Expr: &value.Expr{Op: in.Op, Kind: value.KindOf(in.Type()), X: e}})
		return
	}
	if n != nil && n.Size != nil && in.Op == token.SUB {
		tr.exec()
		tr.set(in, sizeTracked(sym.Neg(*n.Size)))
		return
	}
	tr.constant(in.X)
	tr.exec()
	tr.set(in, nil)
}

// load reads *X.
func (tr *Trace) load(in *ssa.UnOp) {
	n := tr.tracked(in.X)
	p := *(*unsafe.Pointer)(tr.addr(in.X))
	if p == nil {
		if n != nil && n.Src != nil {
			tr.Guards.Nil(n.Src, true)
		}
		tr.exec() // panics: the trace ends here
	}
	tr.exec()
	dst := tr.shadowAddr(in)
	switch {
	case tr.mem.find(p) != nil:
		tr.set(in, tr.loadTracked(in.Type(), p))
	case n != nil && n.Loc != nil:
		tr.notNil(n)
		tr.set(in, tr.loadEntry(in.Type(), p, dst, n.Loc))
	case zeroSize(tr.In.Rep(in.Type())):
		tr.set(in, nil)
	default:
		breakAt(breaks.OpaqueValue, "a load through a pointer of unknown origin: %s", tr.codeOf(in))
	}
}

// notNil guards a pointer of entry that is about to be followed.
func (tr *Trace) notNil(n *value.Tracked) {
	if n.Src != nil {
		tr.Guards.Nil(n.Src, false)
	}
}

func (tr *Trace) store(in *ssa.Store) {
	n := tr.tracked(in.Addr)
	p := *(*unsafe.Pointer)(tr.addr(in.Addr))
	t := in.Val.Type()
	switch {
	case p == nil:
		tr.exec() // panics
	case tr.mem.find(p) != nil:
		v := tr.tracked(in.Val)
		if v != nil {
			notLarge(t, "a copy of")
		}
		tr.exec()
		tr.storeTracked(t, p, v)
	case n != nil && n.Loc != nil:
		tr.notNil(n)
		tr.storeEntry(t, p, tr.addr(in.Val), n.Loc, tr.tracked(in.Val))
		tr.skip()
	case zeroSize(tr.In.Rep(t)):
		tr.exec()
	default:
		breakAt(breaks.OpaqueValue, "a store through a pointer of unknown origin: %s", tr.codeOf(in))
	}
}

func (tr *Trace) fieldAddr(in *ssa.FieldAddr) {
	n := tr.tracked(in.X)
	tr.exec()
	if n == nil || n.Loc == nil {
		tr.set(in, nil)
		return
	}
	tr.notNil(n)
	tr.set(in, &value.Tracked{Loc: tr.src.Field(n.Loc, in.Field)})
}

func (tr *Trace) indexAddr(in *ssa.IndexAddr) {
	n := tr.tracked(in.X)
	tr.constant(in.Index)
	i := int(value.KindOf(in.Index.Type()).Load(tr.addr(in.Index)).I)
	tr.exec()
	switch {
	case n == nil:
		tr.set(in, nil)
	case IsPointer(in.X.Type()):
		if n.Loc == nil {
			tr.set(in, nil)
			return
		}
		tr.notNil(n)
		tr.set(in, &value.Tracked{Loc: tr.src.Elem(n.Loc, i)})
	case n.Base != nil:
		if n.Src != nil {
			tr.Guards.Len(n.Src, (*value.SliceHeader)(tr.shadowAddr(in.X)).Len)
		}
		tr.set(in, &value.Tracked{Loc: tr.src.Elem(n.Base, n.Off+i)})
	default:
		tr.set(in, nil)
	}
}

func (tr *Trace) index(in *ssa.Index) {
	n := tr.tracked(in.X)
	tr.constant(in.Index)
	i := int(value.KindOf(in.Index.Type()).Load(tr.addr(in.Index)).I)
	if _, isArray := in.X.Type().Underlying().(*types.Array); !isArray {
		tr.constant(in.X) // a string
		n = nil
	}
	tr.exec()
	tr.set(in, tr.src.Part(n, in.X.Type(), i))
}

// branch takes the way that the values of this call take and guards it.
func (tr *Trace) branch(in *ssa.If) {
	tr.constant(in.Cond)
	b := in.Block()
	k := 0
	if !*(*bool)(tr.addr(in.Cond)) {
		k = 1
	}
	tr.edge(b, b.Succs[k], k)
	tr.exec()
}

// edge gives the phis of a block what is tracked of the values that flow along the
// k-th edge out of b.
func (tr *Trace) edge(b, to *ssa.BasicBlock, k int) {
	pred := host.PredIndex(b, k)
	var phis []*ssa.Phi
	var tracked []*value.Tracked
	for _, i := range to.Instrs {
		if phi, ok := i.(*ssa.Phi); ok {
			phis = append(phis, phi)
			tracked = append(tracked, tr.tracked(phi.Edges[pred]))
		} else if _, dbg := i.(*ssa.DebugRef); !dbg {
			break
		}
	}
	for i, phi := range phis {
		tr.set(phi, tracked[i])
	}
}

// ret ends the trace when the compiled function returns, else passes what is tracked
// of the results to the caller.
func (tr *Trace) ret(in *ssa.Return) *stop {
	switch {
	case len(tr.shadows) == 1:
		return &stop{result: in.Results, frame: tr.top().frame}
	case tr.top().flow != nil:
		flows{tr}.endFlowBody(in)
		return nil
	case tr.top().backward:
		tr.endBackward(in)
		return nil
	}
	tracked := make([]*value.Tracked, len(in.Results))
	for i, r := range in.Results {
		tracked[i] = tr.tracked(r)
	}
	done := tr.top()
	tr.exec()
	tr.shadows = tr.shadows[:len(tr.shadows)-1]
	tr.drop(done)
	caller := tr.callOf(tr.top())
	if caller == nil {
		return nil
	}
	if len(tracked) == 1 {
		tr.set(caller, tracked[0])
	} else {
		tr.set(caller, value.WithParts(tracked))
	}
	return nil
}

func (tr *Trace) typeAssert(in *ssa.TypeAssert) {
	n := tr.tracked(in.X)
	dyn, _ := tr.In.Dynamic(in.X.Type(), tr.addr(in.X))
	var inner *value.Tracked
	switch {
	case n == nil:
	case n.Inner != nil:
		inner = n.Inner
	case n.Src != nil:
		tr.Guards.Type(n.Src, dyn)
		if dyn != nil {
			inner = tr.src.Track(tr.src.Dynamic(n.Src, dyn))
		}
	}
	tr.exec()
	if _, isIface := in.AssertedType.Underlying().(*types.Interface); isIface && inner != nil {
		inner = &value.Tracked{Inner: inner}
	}
	if !in.CommaOk {
		tr.set(in, inner)
		return
	}
	if !*(*bool)(unsafe.Add(tr.shadowAddr(in), tr.src.Offset(in.Type(), 1))) {
		inner = nil
	}
	tr.set(in, value.WithParts([]*value.Tracked{inner, nil}))
}

// change is a conversion that keeps the representation.
func (tr *Trace) change(in ssa.Value) {
	x := *in.(ssa.Instruction).Operands(nil)[0]
	n := tr.tracked(x)
	if n != nil && n.Src != nil && !types.IsInterface(x.Type()) {
		c := *n // the source keeps its own type; the bits are the same
		n = &c
	}
	tr.exec()
	tr.set(in, n)
}

func (tr *Trace) convert(in *ssa.Convert) {
	n := tr.tracked(in.X)
	from, to := value.KindOf(in.X.Type()), value.KindOf(in.Type())
	switch {
	case n == nil:
	case (floats{tr}).converted(in, n, to):
		return
	case n.Size != nil && to.Class == value.SignedInt && to.Bits == 64:
		tr.exec()
		tr.set(in, n)
		return
	case n.Expr != nil && from.Class != value.NotScalar && to.Class != value.NotScalar:
		tr.exec()
		tr.set(in, &value.Tracked{Expr: &value.Expr{Op: token.ARROW, Kind: to, X: n.Expr}})
		return
	}
	tr.constant(in.X)
	tr.exec()
	if _, isSlice := in.Type().Underlying().(*types.Slice); isSlice {
		tr.backing(in.Type(), tr.shadowAddr(in))
	}
	tr.set(in, nil)
}

func (tr *Trace) makeClosure(in *ssa.MakeClosure) {
	tracked := make([]*value.Tracked, len(in.Bindings))
	for i, b := range in.Bindings {
		tracked[i] = tr.tracked(b)
	}
	tr.exec()
	if c := tr.In.ClosureOf(tr.shadowAddr(in)); c != nil {
		tr.clos[c] = &madeClosure{fn: c.Fn, tracked: tracked}
	}
	tr.set(in, nil)
}

func (tr *Trace) makeSlice(in *ssa.MakeSlice) {
	tr.constant(in.Len)
	tr.constant(in.Cap)
	tr.exec()
	tr.backing(in.Type(), tr.shadowAddr(in))
	tr.set(in, nil)
}

func (tr *Trace) slice(in *ssa.Slice) {
	n := tr.tracked(in.X)
	low := 0
	for _, v := range []ssa.Value{in.Low, in.High, in.Max} {
		if v != nil {
			tr.constant(v)
		}
	}
	if in.Low != nil {
		low = int(value.KindOf(in.Low.Type()).Load(tr.addr(in.Low)).I)
	}
	tr.withinLength(in, n)
	_, isString := in.X.Type().Underlying().(*types.Basic)
	if isString || (n != nil && n.Src != nil && !IsPointer(in.X.Type())) {
		tr.sliceLength(in.X, n, isString)
	}
	tr.exec()
	switch {
	case n == nil || isString:
		tr.set(in, nil)
	case IsPointer(in.X.Type()) && n.Loc != nil:
		tr.notNil(n)
		tr.set(in, &value.Tracked{Base: n.Loc, Off: low})
	case n.Base != nil:
		tr.set(in, &value.Tracked{Base: n.Base, Off: n.Off + low})
	default:
		tr.set(in, nil)
	}
}

// withinLength breaks before a slicing beyond the length of a slice from
// entry memory: sources name elements up to the length only.
func (tr *Trace) withinLength(in *ssa.Slice, n *value.Tracked) {
	if n == nil || n.Base == nil || in.High == nil || IsPointer(in.X.Type()) {
		return
	}
	if high := value.KindOf(in.High.Type()).Load(tr.addr(in.High)).I; high > int64((*value.SliceHeader)(tr.addr(in.X)).Len) {
		breakAt(breaks.OpaqueValue, "a slice is extended beyond its length")
	}
}

// sliceLength fixes what a slicing expression's bounds are checked against.
func (tr *Trace) sliceLength(x ssa.Value, n *value.Tracked, isString bool) {
	if isString {
		tr.constant(x)
		return
	}
	tr.Guards.Len(n.Src, (*value.SliceHeader)(tr.addr(x)).Len)
}

// defers reports whether fn has a defer statement.
func defers(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if _, ok := in.(*ssa.Defer); ok {
				return true
			}
		}
	}
	return false
}
