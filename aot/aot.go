// Package aot is our AOTAutograd: it turns a captured graph into pure graphs
// of core operators that a compiler can take: views and in-place operators are
// functionalized, operators are decomposed, and where gradients are wanted the
// joint forward and backward graph is traced and split in two (partitioned).
//
// It imports graph, ops, sym, torch and logs; never tracer or inductor. Open
// this file first, then passes.go (what happens in which order), functionalize.go
// (with bases.go and views.go), joint.go and partition.go.
package aot

import (
	"tcdbg/graph"
	"tcdbg/graph/pass"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
)

// Runnable runs a compiled graph.
type Runnable = func([]torch.Value) []torch.Value

// Request is one captured graph with the compiler of its pure parts.
type Request struct {
	ID      logs.CompileID
	Graph   *graph.Graph
	Example []torch.Value
	Log     logs.Sink
	Check   bool // verify graphs after every pass
	// Keep tells which operators the compiler takes as they are although they
	// have a decomposition.
	Keep func(ops.ID) bool
	// Compile compiles a pure graph; stage is inference, forward or backward.
	Compile func(g *graph.Graph, stage string) (Runnable, error)
	// Written is set by Compile: the placeholders of pure graphs, by name, whose
	// tensors change after every run.
	Written map[string]bool
	// Replaces is set by Compile: outputs of the pure graph that do nothing but
	// replace the content of a placeholder, by the placeholder's position. A
	// compiled graph may write them where the argument lies and return that.
	Replaces map[int]int
	// Wrap is set by Compile where no gradients are wanted: it makes another
	// runnable of the pure graph one of the captured graph.
	Wrap func(Runnable) Runnable
}

// Compile compiles a captured graph. What it returns takes the inputs of the
// captured graph, applies its mutations and gives its outputs, which carry
// gradients when those of the inputs are wanted.
func Compile(r *Request) (Runnable, error) {
	c := &compilation{Request: r, train: torch.GradEnabled() && wantsGrad(r.Example)}
	if err := pass.Run(r.runner("aot"), captured, c); err != nil {
		return nil, err
	}
	r.Written = c.pure.written()
	if c.train {
		return c.training()
	}
	r.Replaces = c.pure.replaced(false)
	run, err := r.compilePure(c.pure.graph, "inference", c.pure.fresh())
	if err != nil {
		return nil, err
	}
	r.Wrap = c.pure.wrap
	return c.pure.wrap(run), nil
}

func wantsGrad(example []torch.Value) bool {
	for _, v := range example {
		if t, ok := v.(*torch.Tensor); ok && t.RequiresGrad() {
			return true
		}
	}
	return false
}

// compilePure runs the pass table on a graph and compiles it. The outputs named by
// fresh go to the program: each needs memory of its own.
func (r *Request) compilePure(g *graph.Graph, stage string, fresh []int) (Runnable, error) {
	if err := pass.Run(r.runner("aot "+stage), pure, &pureGraph{g, r.Keep}); err != nil {
		return nil, err
	}
	if r.Log != nil {
		r.Log.Emit(logs.Out{Kind: "aot_" + stage + "_graph", ID: r.ID, Payload: []byte(g.Code()), Place: logs.Here()})
	}
	compiled, err := r.Compile(g, stage)
	if err != nil {
		return nil, err
	}
	return separate(compiled, notTheirOwn(g, fresh)), nil
}

func (r *Request) runner(stage string) *pass.Runner {
	return &pass.Runner{Stage: stage, ID: r.ID, Log: r.Log, Check: r.Check}
}
