// Package inductor compiles a graph of core operators to a Program: it lowers
// nodes to loops (ir, lower), fuses and orders them (sched), plans kernels, memory and
// packing (plan) and has targets write the code (codegen, with cpp and triton).
//
// It imports graph, ops, sym, torch and logs of ours; it never runs a compiler
// or loads code: package backends does. Open program.go first (what comes
// out), then compile.go (the table of passes, and that of targets).
package inductor

import (
	"tcdbg/graph"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
	"tcdbg/ops/sym"
)

// Program is a compiled graph before its C text was compiled.
type Program struct {
	plan.Layout
	// Shards are C translation units without any #include; together they
	// define every kernel and, in shard 0, the entry function.
	Shards []string
	Cold   int    // how many of them, the last ones, hold functions in which a call spends next to no time
	Entry  string // symbol of the entry function
	Libm   bool   // some shard calls functions of libm
	Lanes  int    // float32 elements of a vector; the runtime library must have the same
	// Sizes are the expressions that the kernels' argument S holds.
	Sizes []sym.Int
	// Wrapper is the whole output code as shown to people.
	Wrapper string
	// IR is the lowered graph before fusion, as text.
	IR         string
	Provenance logs.Provenance
	// Computes are the nodes of the graph that each kernel of Provenance computes.
	Computes [][]string
	// Bodies are the programs of control flow, by the name of the step that runs them; Graph
	// is the graph of such a program.
	Bodies  map[string][]*Program
	Graph   *graph.Graph
	Fusions []logs.FusionStep

	// What could be chosen otherwise: products, whether images lie in blocks of channels or could, and whether a
	// convolution's result lies in another order than its template writes.
	Products                     []tune.Product
	Blocked, Unblocked, Reorders bool

	heads []string // [] /* shard */ its prelude
	entry string   // text of the entry function
}

// DropText lets go of the program as text, which a compiler and people have read by now: of
// a process with thousands of graphs it is a third of the memory.
func (p *Program) DropText() {
	for _, q := range p.All() {
		q.Shards, q.Wrapper, q.IR, q.Fusions, q.heads, q.entry = nil, "", "", nil, nil, ""
	}
}

// Unit is the program as one translation unit whose kernels are the text that
// people read, Wrapper. It is there for programs of one shard.
func (p *Program) Unit() (text string, ok bool) {
	if len(p.heads) != 1 {
		return "", false
	}
	return p.heads[0] + "\n" + p.Wrapper + p.entry, true
}
