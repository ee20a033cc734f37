package plan

import (
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file holds what a run of a program must know of its plan.

// Layout is the part of a plan by which a program runs: its steps, its memory, and
// where inputs, outputs and sizes are.
type Layout struct {
	Name string
	// Steps run in order: runs of kernels, and extern calls between them. After each
	// the check's word is looked at: a later one may write inputs.
	Steps   []Step
	Buffers []Buffer
	Inputs  []int // buffer of each placeholder; -1 for a scalar
	Outputs []Output
	Arena   int64 // bytes, for the sizes seen at compile time
	Symbols []Symbol
	// Prologue are the steps that depend on unmutated parameters alone; they
	// run once and again when a parameter's storage version changes.
	Prologue []Step
	// Params are the inputs that the prologue reads.
	Params []int
	// Passing are the buffers that the prologue alone reads, a scaled weight that it packs:
	// compiled code has no use for them afterwards. The interpreter packs nothing.
	Passing []int
	// PassingBytes is how much memory they take, in which each is at its offset.
	PassingBytes int64
	Memory       logs.MemoryPlan

	lives []*sched.Life // [] /* arena buffer */
	arena []int         // [] /* the same */ buffer
}

// Buffer is one tensor of a program.
type Buffer struct {
	Name   string // buf0; the placeholder's name for inputs
	DType  ops.DType
	Shape  []sym.Int
	Stride []sym.Int
	Span   sym.Int // elements that must be allocated
	Offset int64   // byte offset in the arena, or in the prologue's memory for what passes; -1 for inputs, outputs and allocations
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
	Extern *Extern
	// Names are what the step runs, in order: its kernels and packings, or the
	// extern call.
	Names   []string
	Kernels []*sched.Kernel // [] /* name */ of a segment; nil for the packing of a weight
	Groups  []int           // [] /* name */ the kernel's group; -1 for a packing
}

// Extern is an eager call on buffers: an Arg that is a BufferView means
// one, a []ops.Arg for a list of them.
type Extern struct {
	Op     ops.ID
	Name   string // kernel name of the step
	Args   []ops.Arg
	Outs   []int // buffers
	Reason string
	Flow   *ir.FlowInfo // in place of the operator, for control flow
}

// BufferView is a buffer, seen through a layout, in the arguments of an
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

// Life is when a buffer of the arena is in use: from one position in the order of kernels to another.
type Life struct{ Buffer, From, To int }

// Lives are those of all buffers of the arena.
func (p *Layout) Lives() []Life {
	out := make([]Life, len(p.lives))
	for i, l := range p.lives {
		out[i] = Life{p.arena[i], l.From, l.To}
	}
	return out
}

// PlanFor places the arena's buffers for other sizes than those seen at compile
// time: offsets in bytes by buffer, and the size of the arena.
func (p *Layout) PlanFor(size func(sym.Int) int64) (offsets []int64, arena int64) {
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
