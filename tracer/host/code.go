package host

import (
	"fmt"
	"go/types"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/tools/go/ssa"
)

// This file compiles a function: it lays out the registers and makes one
// closure for each instruction.

// op runs one instruction of f, whose PC already points past it, and returns
// the frame that runs next.
type op func(f *Frame) *Frame

// Code is one compiled function: op i runs Instrs[i], blocks in order. Debug
// references are not instructions here.
type Code struct {
	Fn     *ssa.Function
	Instrs []ssa.Instruction
	// Marks is for a debugger, which sets it before the first trap: what it is to know of
	// each instruction at once.
	Marks *Marks

	in      *Interp
	id      int
	ready   atomic.Bool
	mu      sync.Mutex
	fast    []op // as ops, but a jump does the work of the phis after it
	ops     []op
	blocks  []int // pc of each block
	index   map[ssa.Instruction]int
	numbers map[ssa.Value]int // of the registers, whose places are offsets
	offsets []uintptr
	locals  map[*ssa.Alloc]uintptr // memory of locals that do not escape
	temps   map[*ssa.Phi]uintptr   // for phis that swap
	params  []slot
	free    []slot
	results resultInfo
	consts  sync.Map // ssa.Value to unsafe.Pointer
	recover int      // pc of the recover block, -1 without
	// compiled are the receivers for which the method is compiled; nil without any.
	compiled atomic.Pointer[map[unsafe.Pointer]*Closure]
	// trapped are the plain operations of fast that have a trap; nil without any.
	trapped atomic.Pointer[map[int]op]

	layout   reflect.Type
	nptrs    int // pointer registers at the start
	ptrWords int // words that may hold pointers
}

// Code returns (compiling it on first use) the code of fn; nil when fn is
// native (has no body in the program).
func (in *Interp) Code(fn *ssa.Function) *Code {
	c := in.code(fn)
	if c == nil {
		return nil
	}
	if !c.ready.Load() {
		c.compile()
	}
	return c
}

// code is Code without compiling.
func (in *Interp) code(fn *ssa.Function) *Code {
	if c, ok := in.codes.Load(fn); ok {
		return c.(*Code)
	}
	if len(fn.Blocks) == 0 {
		return nil
	}
	c := &Code{Fn: fn, in: in, id: int(in.nextCode.Add(1))}
	got, _ := in.codes.LoadOrStore(fn, c)
	return got.(*Code)
}

func (c *Code) compile() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready.Load() {
		return
	}
	c.number()
	c.results = c.in.resultsOf(c.Fn.Signature.Results())
	c.place()
	b := &builder{c: c, in: c.in}
	b.build()
	c.recover = -1
	if c.Fn.Recover != nil {
		c.recover = c.blocks[c.Fn.Recover.Index]
	}
	c.in.traps.born(c)
}

// Registers is how many registers a frame has: parameters, free variables and values of instructions.
func (c *Code) Registers() int { return len(c.offsets) }

// Register is the number of v among them; ok is false for what has none.
func (c *Code) Register(v ssa.Value) (n int, ok bool) {
	n, ok = c.numbers[v]
	return n, ok
}

func (c *Code) offset(v ssa.Value) uintptr { return c.offsets[c.numbers[v]] }

// instructions counts those of a function.
func instructions(fn *ssa.Function) int {
	n := 0
	for _, b := range fn.Blocks {
		n += len(b.Instrs)
	}
	return n
}

// number gives each instruction its pc. The recover block is not in Blocks.
func (c *Code) number() {
	c.index = make(map[ssa.Instruction]int, instructions(c.Fn))
	blocks := c.Fn.Blocks
	if r := c.Fn.Recover; r != nil && (r.Index >= len(blocks) || blocks[r.Index] != r) {
		blocks = append(blocks[:len(blocks):len(blocks)], r)
		r.Index = len(blocks) - 1
	}
	c.blocks = make([]int, len(blocks))
	for i, b := range blocks {
		c.blocks[i] = len(c.Instrs)
		for _, in := range b.Instrs {
			if _, debug := in.(*ssa.DebugRef); debug {
				continue
			}
			c.index[in] = len(c.Instrs)
			c.Instrs = append(c.Instrs, in)
		}
	}
}

// PC returns the index of an instruction; that of a debug reference is the next
// instruction's.
func (c *Code) PC(i ssa.Instruction) int {
	if pc, ok := c.index[i]; ok {
		return pc
	}
	instrs := i.Block().Instrs
	for k := len(instrs) - 1; k >= 0; k-- {
		if instrs[k] == i {
			for _, later := range instrs[k:] {
				if pc, ok := c.index[later]; ok {
					return pc
				}
			}
		}
	}
	panic("host: instruction of another function")
}

// BlockPC returns the pc at which block b starts.
func (c *Code) BlockPC(b *ssa.BasicBlock) int { return c.blocks[b.Index] }

// group is the part of a frame that a register lies in: registers of one kind
// are together, so that layouts are few and small.
type group int

const (
	groupPtr group = iota
	groupString
	groupAny
	groupSlice
	groupOther
	groupScalar
	groupNone
)

func groupOf(ti *typeInfo) group {
	switch ti.class {
	case cls0:
		return groupNone
	case clsPtr:
		return groupPtr
	case clsString:
		return groupString
	case clsAny, clsIface:
		return groupAny
	case clsSlice:
		return groupSlice
	case cls1, cls2, cls4, cls8, clsBytes:
		return groupScalar
	}
	return groupOther
}

// place lays out the registers: parameters, free variables, instructions, then
// the memory of locals and the temporaries of swapping phis.
func (c *Code) place() {
	l := layouter{}
	c.numbers, c.locals, c.temps = make(map[ssa.Value]int, len(c.Instrs)), map[*ssa.Alloc]uintptr{}, map[*ssa.Phi]uintptr{}
	register := func(v ssa.Value, t types.Type) {
		n := len(c.offsets)
		c.numbers[v], c.offsets = n, append(c.offsets, 0)
		l.add(c.in.info(t), func(o uintptr) { c.offsets[n] = o })
	}
	for _, p := range c.Fn.Params {
		register(p, p.Type())
	}
	for _, v := range c.Fn.FreeVars {
		register(v, v.Type())
	}
	for _, in := range c.Instrs {
		if v, ok := in.(ssa.Value); ok {
			register(v, registerType(v))
		}
		switch in := in.(type) {
		case *ssa.Alloc:
			if !in.Heap {
				l.add(c.in.info(in.Type().Underlying().(*types.Pointer).Elem()), func(o uintptr) { c.locals[in] = o })
			}
		case *ssa.Phi:
			if swaps(in.Block()) {
				l.add(c.in.info(in.Type()), func(o uintptr) { c.temps[in] = o })
			}
		}
	}
	c.layout, c.nptrs, c.ptrWords = l.finish()
	for _, p := range c.Fn.Params {
		c.params = append(c.params, slot{c.offset(p), c.in.info(p.Type())})
	}
	for _, v := range c.Fn.FreeVars {
		c.free = append(c.free, slot{c.offset(v), c.in.info(v.Type())})
	}
}

// registerType is the type of v's register.
func registerType(v ssa.Value) types.Type {
	if t := v.Type(); t != nil {
		return t
	}
	return types.NewTuple()
}

// swaps reports whether a phi of b reads another phi of b, so that the copies
// on an edge need temporaries.
func swaps(b *ssa.BasicBlock) bool {
	for _, in := range b.Instrs {
		phi, ok := in.(*ssa.Phi)
		if !ok {
			if _, debug := in.(*ssa.DebugRef); debug {
				continue
			}
			return false
		}
		for _, e := range phi.Edges {
			if other, ok := e.(*ssa.Phi); ok && other != phi && other.Block() == b {
				return true
			}
		}
	}
	return false
}

type placed struct {
	ti  *typeInfo
	set func(uintptr)
}

type layouter struct {
	groups [groupNone][]placed
}

func (l *layouter) add(ti *typeInfo, set func(uintptr)) {
	g := groupOf(ti)
	if g == groupNone {
		set(0) // a pointer past the last register would be one to the next object
		return
	}
	l.groups[g] = append(l.groups[g], placed{ti, set})
}

var (
	tyString  = reflect.TypeFor[string]()
	tyBytes   = reflect.TypeFor[[]byte]()
	tyScalars = reflect.TypeFor[uint64]()
)

// finish assigns the offsets and returns the layout.
func (l *layouter) finish() (layout reflect.Type, nptrs, ptrWords int) {
	var fields []reflect.StructField
	var off uintptr
	field := func(t reflect.Type) {
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", len(fields)), Type: t})
	}
	uniform := func(g group, t reflect.Type) {
		ps := l.groups[g]
		if len(ps) == 0 {
			return
		}
		for i, p := range ps {
			p.set(off + uintptr(i)*t.Size())
		}
		field(reflect.ArrayOf(len(ps), t))
		off += uintptr(len(ps)) * t.Size()
	}
	uniform(groupPtr, tyPointer)
	nptrs = len(l.groups[groupPtr])
	uniform(groupString, tyString)
	uniform(groupAny, tyAny)
	uniform(groupSlice, tyBytes)
	for _, p := range l.groups[groupOther] {
		p.set(off)
		field(p.ti.R)
		off = (off + p.ti.size + 7) &^ 7
		if p.ti.size%8 != 0 {
			panic("host: composite with pointers of odd size")
		}
	}
	ptrWords = int(off / unsafe.Sizeof(uintptr(0)))
	words := 0
	for _, p := range l.groups[groupScalar] {
		p.set(off + uintptr(words)*8)
		words += int(p.ti.size+7) / 8
	}
	if words > 0 || len(fields) == 0 {
		field(reflect.ArrayOf(max(words, 1), tyScalars))
	}
	layout = reflect.StructOf(fields)
	if end := off + uintptr(max(words, 1))*8; layout.Size() != off+uintptr(words)*8 && layout.Size() != end {
		panic("host: the registers do not lie where they were placed")
	}
	return layout, nptrs, ptrWords
}

func (c *Code) newRegisters() unsafe.Pointer { return reflect.New(c.layout).UnsafePointer() }

// ref is where an operand lies: at a fixed address, or at an offset in the
// frame.
type ref struct {
	abs unsafe.Pointer
	off uintptr
}

func (r ref) at(f *Frame) unsafe.Pointer {
	if r.abs != nil {
		return r.abs
	}
	return unsafe.Add(f.fp, r.off)
}
