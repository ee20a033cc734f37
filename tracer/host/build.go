package host

import (
	"fmt"
	"go/types"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file makes the closure of each instruction; the families of
// instructions are in op_*.go.

type builder struct {
	c  *Code
	in *Interp
}

// build fills ops and fast.
func (b *builder) build() {
	c := b.c
	c.ops = make([]op, len(c.Instrs))
	for i, in := range c.Instrs {
		c.ops[i] = b.instr(in)
	}
	c.ops = append(c.ops, c.leaveOp())
	c.fast = append([]op(nil), c.ops...)
	for i, in := range c.Instrs {
		switch in := in.(type) {
		case *ssa.Jump:
			c.fast[i] = b.fastJump(in)
		case *ssa.If:
			c.fast[i] = b.fastIf(in)
			if i > 0 {
				b.fuseCompare(i, in)
			}
		}
	}
}

// ref finds the operand v.
func (b *builder) ref(v ssa.Value) ref {
	if n, ok := b.c.numbers[v]; ok {
		return ref{off: b.c.offsets[n]}
	}
	return ref{abs: b.in.constant(b.c, v)}
}

func (b *builder) refs(vs []ssa.Value) []ref {
	out := make([]ref, len(vs))
	for i, v := range vs {
		out[i] = b.ref(v)
	}
	return out
}

func (b *builder) dst(v ssa.Value) uintptr { return b.c.offset(v) }

func (b *builder) instr(in ssa.Instruction) op {
	switch in := in.(type) {
	case *ssa.BinOp:
		return b.binOp(in)
	case *ssa.UnOp:
		return b.unOp(in)
	case *ssa.Phi:
		return b.phi(in)
	case *ssa.Jump:
		return b.jump(in.Block(), 0)
	case *ssa.If:
		return b.branch(in)
	case *ssa.Return:
		return b.ret(in)
	case *ssa.Panic:
		return b.panicOp(in)
	case *ssa.Store, *ssa.Alloc, *ssa.FieldAddr, *ssa.Field, *ssa.IndexAddr, *ssa.Index,
		*ssa.Slice, *ssa.SliceToArrayPointer, *ssa.MakeSlice, *ssa.Extract:
		return b.memory(in)
	case *ssa.Convert:
		return b.convert(in, in.X)
	case *ssa.MultiConvert:
		return b.convert(in, in.X)
	case *ssa.ChangeType:
		return b.move(in, in.X)
	case *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.TypeAssert:
		return b.iface(in)
	case *ssa.Call, *ssa.Go, *ssa.Defer:
		return b.callInstr(in.(ssa.CallInstruction))
	case *ssa.RunDefers:
		return func(f *Frame) *Frame { return f.th.runDefers(f) }
	case *ssa.MakeClosure:
		return b.makeClosure(in)
	case *ssa.MakeMap, *ssa.MapUpdate, *ssa.Lookup, *ssa.Range, *ssa.Next,
		*ssa.MakeChan, *ssa.Send, *ssa.Select:
		return b.collection(in)
	}
	return refuse(fmt.Sprintf("host: instruction %T is not supported", in))
}

// refuse is the op of what cannot be run: it panics when it is reached.
func refuse(text string) op {
	return func(*Frame) *Frame { panic(unsupported(text)) }
}

// move copies a value whose representation does not change.
func (b *builder) move(dst ssa.Value, x ssa.Value) op {
	ti, d, r := b.in.info(dst.Type()), b.dst(dst), b.ref(x)
	return func(f *Frame) *Frame {
		ti.store(unsafe.Add(f.fp, d), r.at(f))
		return f
	}
}

// phi copies all phis of the block at the first of them; the others do nothing.
func (b *builder) phi(in *ssa.Phi) op {
	block := in.Block()
	if first(block) != ssa.Instruction(in) {
		return func(f *Frame) *Frame { return f }
	}
	edges := make([]func(f *Frame), len(block.Preds))
	for i := range edges {
		edges[i] = b.edge(block, i)
	}
	return func(f *Frame) *Frame {
		edges[f.pred](f)
		return f
	}
}

// first is the first instruction of a block that is no debug reference.
func first(block *ssa.BasicBlock) ssa.Instruction {
	for _, in := range block.Instrs {
		if _, debug := in.(*ssa.DebugRef); !debug {
			return in
		}
	}
	return nil
}

type phiMove struct {
	ti  *typeInfo
	dst uintptr
	tmp uintptr
	src ref
}

func (b *builder) phis(block *ssa.BasicBlock, pred int) []phiMove {
	var moves []phiMove
	for _, in := range block.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			continue
		}
		moves = append(moves, phiMove{b.in.info(phi.Type()), b.dst(phi), b.c.temps[phi], b.ref(phi.Edges[pred])})
	}
	return moves
}

// edge returns the parallel copy of one edge, nil when there is nothing to do.
func (b *builder) edge(block *ssa.BasicBlock, pred int) func(f *Frame) {
	moves := b.phis(block, pred)
	switch {
	case len(moves) == 0:
		return nil
	case swaps(block):
		return func(f *Frame) {
			for i := range moves {
				m := &moves[i]
				m.ti.store(unsafe.Add(f.fp, m.tmp), m.src.at(f))
			}
			for i := range moves {
				m := &moves[i]
				m.ti.store(unsafe.Add(f.fp, m.dst), unsafe.Add(f.fp, m.tmp))
			}
		}
	case len(moves) == 1 && moves[0].ti.class == cls8:
		m := moves[0]
		return func(f *Frame) { *(*uint64)(unsafe.Add(f.fp, m.dst)) = *(*uint64)(m.src.at(f)) }
	}
	return func(f *Frame) {
		for i := range moves {
			m := &moves[i]
			m.ti.store(unsafe.Add(f.fp, m.dst), m.src.at(f))
		}
	}
}

// PredIndex is the index in to.Preds of successor succ of from; a block may be
// both successors.
func PredIndex(from *ssa.BasicBlock, succ int) int {
	to := from.Succs[succ]
	nth := 0
	for _, s := range from.Succs[:succ] {
		if s == to {
			nth++
		}
	}
	for i, p := range to.Preds {
		if p == from {
			if nth == 0 {
				return i
			}
			nth--
		}
	}
	panic("host: edge without predecessor")
}

// jump goes to successor succ, before its phis.
func (b *builder) jump(from *ssa.BasicBlock, succ int) op {
	pc, pred := b.c.blocks[from.Succs[succ].Index], PredIndex(from, succ)
	return func(f *Frame) *Frame {
		f.PC, f.pred = pc, pred
		return f
	}
}

// target is a jump with its phis done: pc is after them.
type target struct {
	pc   int
	pred int
	copy func(f *Frame)
}

func (b *builder) target(from *ssa.BasicBlock, succ int) target {
	to := from.Succs[succ]
	t := target{pc: b.c.blocks[to.Index], pred: PredIndex(from, succ)}
	t.copy = b.edge(to, t.pred)
	if b.in.baton != nil && to.Index <= from.Index {
		t.copy = b.looped(t.copy)
	}
	for _, in := range to.Instrs {
		if _, ok := in.(*ssa.Phi); ok {
			t.pc++
		}
	}
	return t
}

// looped counts a loop before the phis of an edge.
func (b *builder) looped(edge func(f *Frame)) func(f *Frame) {
	return func(f *Frame) {
		f.th.again()
		if edge != nil {
			edge(f)
		}
	}
}

func (b *builder) fastJump(in *ssa.Jump) op {
	t := b.target(in.Block(), 0)
	pc, edge := t.pc, t.copy
	if edge == nil {
		return func(f *Frame) *Frame {
			f.PC = pc
			return f
		}
	}
	return func(f *Frame) *Frame {
		edge(f)
		f.PC = pc
		return f
	}
}

func (b *builder) branch(in *ssa.If) op {
	cond := b.ref(in.Cond)
	yes, no := b.jump(in.Block(), 0), b.jump(in.Block(), 1)
	return func(f *Frame) *Frame {
		if *(*bool)(cond.at(f)) {
			return yes(f)
		}
		return no(f)
	}
}

func (b *builder) fastIf(in *ssa.If) op {
	cond := b.ref(in.Cond)
	yes, no := b.target(in.Block(), 0), b.target(in.Block(), 1)
	return func(f *Frame) *Frame {
		if *(*bool)(cond.at(f)) {
			return yes.enter(f)
		}
		return no.enter(f)
	}
}

func (t *target) enter(f *Frame) *Frame {
	if t.copy != nil {
		t.copy(f)
	}
	f.PC = t.pc
	return f
}

// constant returns the memory of an operand that is no register.
func (in *Interp) constant(c *Code, v ssa.Value) unsafe.Pointer {
	if p, ok := c.consts.Load(v); ok {
		return p.(unsafe.Pointer)
	}
	got, _ := c.consts.LoadOrStore(v, in.makeConstant(v))
	return got.(unsafe.Pointer)
}

func (in *Interp) makeConstant(v ssa.Value) unsafe.Pointer {
	switch v := v.(type) {
	case *ssa.Const:
		ti := in.info(v.Type())
		p := ti.alloc()
		if v.Value != nil {
			setConst(ti, p, v)
		}
		return p
	case *ssa.Global:
		p := new(unsafe.Pointer)
		*p = in.GlobalAddr(v)
		return unsafe.Pointer(p)
	case *ssa.Function:
		p := new(unsafe.Pointer)
		*p = in.funcValue(v)
		return unsafe.Pointer(p)
	case *ssa.Builtin:
		return unsafe.Pointer(new(unsafe.Pointer))
	}
	panic(fmt.Sprintf("host: operand %T", v))
}

func setConst(ti *typeInfo, p unsafe.Pointer, c *ssa.Const) {
	v := ti.value(p)
	basic, ok := c.Type().Underlying().(*types.Basic)
	if !ok {
		panic("host: constant of type " + c.Type().String())
	}
	switch info := basic.Info(); {
	case info&types.IsBoolean != 0:
		*(*bool)(p) = constBool(c)
	case info&types.IsString != 0:
		*(*string)(p) = constString(c)
	case info&types.IsUnsigned != 0:
		v.SetUint(c.Uint64())
	case info&types.IsInteger != 0:
		v.SetInt(c.Int64())
	case info&types.IsFloat != 0:
		v.SetFloat(c.Float64())
	case info&types.IsComplex != 0:
		v.SetComplex(c.Complex128())
	case basic.Kind() == types.UnsafePointer:
		*(*uintptr)(p) = uintptr(c.Uint64())
	}
}

// isConst reports whether r is memory that never changes.
func (r ref) isConst() bool { return r.abs != nil }
