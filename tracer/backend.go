// Package tracer is our TorchDynamo: it evaluates a compiled function's SSA
// symbolically, captures graphs of tensor operators, guards what they depend
// on, breaks where it cannot go on and resumes behind the break.
//
// It imports host, breaks, graph, ops, sym, torch, logs and ctl; never a
// backend. Open backend.go first (what it hands over), then region.go.
package tracer

import (
	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
)

// Runnable is a compiled graph: inputs in placeholder order, outputs in the
// order of the output node. It is safe for concurrent use.
type Runnable func(inputs []torch.Value) []torch.Value

// Request is one graph to compile.
type Request struct {
	ID      logs.CompileID
	Module  *graph.Module
	Example []torch.Value // the values of this first call, one a placeholder
	Mode    string        // default, reduce-overhead, max-autotune
	Log     logs.Sink
	// Changing are the sources of inputs that are no parameters, whatever they look
	// like: what is computed of them alone must run in every call.
	Changing map[string]bool
	// Plan is set by a backend that honours "reduce-overhead". Each call of it
	// gives a form of the graph of its own, for one goroutine: its results keep
	// their memory and are overwritten by its next run.
	Plan func() Runnable
}

// Backend compiles graphs.
type Backend interface {
	Name() string
	Compile(r *Request) (Runnable, error)
}
