// Package inductor compiles a graph of core operators to a Program: it lowers
// nodes to loops (ir, lower), fuses and orders them (sched), plans memory and
// generates C (codegen/cpp) and Triton (codegen/triton).
//
// It imports graph, ops, sym, torch and logs of ours; it never runs a compiler
// or loads code: package backends does. Open program.go first (what comes
// out), then compile.go.
package inductor

import (
	"tcdbg/inductor/sched"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Program is a compiled graph before its C text was compiled.
type Program struct {
	Name string
	// Shards are C translation units without any #include; together they
	// define every kernel and, in shard 0, the entry function.
	Shards []string
	Entry  string // symbol of the entry function
	Libm   bool   // some shard calls functions of libm
	Lanes  int    // float32 elements of a vector; the runtime library must have the same
	// Steps run in order: runs of kernels in C, and extern calls between them.
	Steps   []Step
	Buffers []Buffer
	Inputs  []int // buffer of each placeholder; -1 for a scalar
	Outputs []Output
	Arena   int64 // bytes, for the sizes seen at compile time
	Symbols []Symbol
	// Sizes are the expressions behind the kernels' argument S.
	Sizes []sym.Int
	// Prologue are the steps that depend on unmutated parameters alone; they
	// run once and again when a parameter's storage version changes.
	Prologue []Step
	// Params are the inputs that the prologue reads.
	Params []int
	// Wrapper is the whole output code as shown to people.
	Wrapper string
	// IR is the lowered graph before fusion, as text.
	IR         string
	Provenance logs.Provenance
	Plan       logs.MemoryPlan
	Fusions    []logs.FusionStep

	lives []*sched.Life // [] /* arena buffer */
	arena []int         // [] /* the same */ buffer
	heads []string      // [] /* shard */ its prelude
	entry string        // text of the entry function
}

// Unit is the program as one translation unit whose kernels are the text that
// people read, Wrapper. It is there for programs of one shard.
func (p *Program) Unit() (text string, ok bool) {
	if len(p.heads) != 1 {
		return "", false
	}
	return p.heads[0] + "\n" + p.Wrapper + p.entry, true
}

// Buffer is one tensor of a program.
type Buffer struct {
	Name   string // buf0; the placeholder's name for inputs
	DType  ops.DType
	Shape  []sym.Int
	Stride []sym.Int
	Span   sym.Int // elements that must be allocated
	Offset int64   // byte offset in the arena, -1 for inputs, outputs and allocations
	Role   Role
	Over   int // the input, by position, in whose place a RoleOver buffer lies
}

// Role is where a buffer's memory comes from.
type Role uint8

// The roles.
const (
	RoleInput  Role = iota
	RoleArena       // lives in the arena
	RoleOutput      // freshly allocated on each run, given to the caller
	RolePacked      // written by the prologue
	RoleOver        // lies where an input lies, whose content it replaces
	RoleCheck       // one word: not zero after a run whose data was not as it must be
)

// Step is one piece of a run.
type Step struct {
	// Segment is the index that the C entry gets to run its next kernels; -1
	// when the step is an extern call.
	Segment int
	// Extern calls an operator eagerly on buffers.
	Extern  *Extern
	Kernels []*sched.Kernel // those of a segment; packing weights is none
	// Names are what the step runs, in order: its kernels and packings, or the
	// extern call.
	Names []string
}

// Extern is an eager call on buffers: an Arg that is a BufferView stands for
// one, a []ops.Arg for a list of them.
type Extern struct {
	Op     ops.ID
	Name   string // kernel name of the step
	Args   []ops.Arg
	Outs   []int // buffers
	Reason string
}

// BufferView stands for a buffer, seen through a layout, in the arguments of an
// extern call.
type BufferView struct {
	Buffer        int
	Shape, Stride []sym.Int
	Offset        sym.Int
}

// Output is one result of a program: a buffer seen through a layout, or a
// constant or size expression.
type Output struct {
	Buffer int // -1: Value
	Shape  []sym.Int
	Stride []sym.Int
	Offset sym.Int
	Value  any // sym.Int, float64, bool, nil
}

// Symbol is a dynamic size and where its value is read at run time.
type Symbol struct {
	Sym    *sym.Symbol
	Input  int  // placeholder
	Dim    int  // -1: the placeholder is the scalar itself
	Stride bool // Dim counts strides, not sizes
}

// PlanFor places the arena's buffers for other sizes than those seen at compile
// time: offsets in bytes by buffer, and the size of the arena.
func (p *Program) PlanFor(size func(sym.Int) int64) (offsets []int64, arena int64) {
	lives := make([]*sched.Life, len(p.lives))
	for i, l := range p.lives {
		c := *l
		b := &p.Buffers[p.arena[i]]
		c.Bytes = size(b.Span) * int64(b.DType.Size())
		lives[i] = &c
	}
	arena = sched.Plan(lives)
	offsets = make([]int64, len(p.Buffers))
	for i, l := range lives {
		offsets[p.arena[i]] = l.Offset
	}
	return offsets, arena
}
