// Package tracer is our TorchDynamo: it evaluates a compiled function's SSA
// symbolically, captures graphs of tensor operators, guards what they depend
// on, breaks where it cannot go on and resumes after the break.
//
// It has four rooms: value (what is known of a value), guard (what a cache entry relies
// on), replay (what runs on every hit) and eval (the symbolic evaluator). This package owns
// what is around them: options, compiled functions, the cache, misses and records.
//
// It imports its rooms, host, breaks, graph, ops, torch and logs; never a backend. Open
// serve.go first (one call of a compiled function), then compile.go and backend.go.
package tracer

import (
	"fmt"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/stop"
)

// Request is one graph to compile.
type Request struct {
	ID      logs.CompileID
	Module  *graph.Module
	Example []torch.Value // the values of this first call, one a placeholder
	Mode    string        // default, reduce-overhead
	Options modes.Options // kw.Options
	Log     logs.Sink
	// MemoryBudget is kw.ActivationMemoryBudget, 0 to 1; nil: 1.
	MemoryBudget *float64
	// Changing are the sources of inputs that are no parameters, whatever they look
	// like: what is computed of them alone must run in every call.
	Changing map[string]bool
	// Watch, where set, is told of the kernels that a backend has made as they run.
	Watch KernelWatch
}

// KernelWatch is a debugger.
type KernelWatch interface {
	// Kernels reports whether Before and After are to be called.
	Kernels() bool
	BeforeKernel(*KernelRun)
	AfterKernel(*KernelRun)
}

// KernelRun is one run of a kernel.
type KernelRun = stop.Kernel

// KernelTensor is a buffer that a kernel reads or writes.
type KernelTensor = stop.KernelTensor

// Runnable is a compiled graph.
type Runnable = replay.Runnable

// Backend compiles graphs.
type Backend interface {
	Name() string
	Compile(r *Request) (Runnable, error)
}

// Planner is a backend that honours "reduce-overhead". Each call of plan gives a form of
// the graph of its own, for one goroutine: its results keep their memory and are
// overwritten by its next run. A nil plan: every run gets fresh memory.
type Planner interface {
	Backend
	CompilePlanned(r *Request) (run Runnable, plan func() Runnable, err error)
}

// compileWith compiles r, with a plan where the backend makes one.
func compileWith(b Backend, r *Request) (run Runnable, plan func() Runnable, err error) {
	if run, err, is := compileParts(b, r); is {
		return run, nil, err
	}
	if p, ok := b.(Planner); ok {
		return p.CompilePlanned(r)
	}
	run, err = b.Compile(r)
	return run, nil, err
}

// backendFor returns the backend that the options ask for.
func (t *Tracer) backendFor(o options) Backend {
	b := t.namedBackend(o)
	if t.cfg.Wrap != nil {
		return t.cfg.Wrap(b)
	}
	return b
}

func (t *Tracer) namedBackend(o options) Backend {
	if o.backend != nil {
		return userBackend{o.backend}
	}
	b, err := t.cfg.Backend(o.named)
	if err != nil {
		panic(&torch.Error{Op: "torch.Compile", Msg: err.Error()})
	}
	return b
}

// userBackend runs a backend function of the program.
type userBackend struct{ f torch.BackendFunc }

func (userBackend) Name() string { return "custom" }

func (b userBackend) Compile(r *Request) (Runnable, error) {
	run, err := b.f(torch.NewGraphModule(r.Module), r.Example)
	if err == nil && run == nil {
		err = fmt.Errorf("it returned no function")
	}
	return run, err
}
