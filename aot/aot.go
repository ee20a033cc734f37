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
	// NoPatterns leaves out rewrites of operators that stand together in a certain way.
	NoPatterns bool
	// MemoryBudget is the part, 0 to 1, that values saved for the backward graph may take of the
	// memory that the fastest choice takes; nil: 1.
	MemoryBudget *float64
	// Compile compiles a pure graph.
	Compile func(Part) (Runnable, error)
}

// Part is one pure graph of a request and what is known of its inputs and outputs.
type Part struct {
	Graph *graph.Graph
	Stage string // inference, forward or backward
	// Written are the placeholders, by name, whose tensors change after every run.
	Written map[string]bool
	// Replaces are the outputs that do nothing but replace the content of a
	// placeholder, with the placeholder's position. A compiled graph may write them
	// where the argument lies and return that.
	Replaces map[int]int
}

// Compiled is a captured graph that can run.
type Compiled struct {
	// Run takes the inputs of the captured graph, applies its mutations and gives its
	// outputs, which carry gradients when those of the inputs are wanted.
	Run Runnable
	// Wrap makes another runnable of the pure graph one of the captured graph; nil
	// where gradients are wanted.
	Wrap func(Runnable) Runnable
	// Whole tells that the pure graph is all of it: its inputs and outputs are those of the
	// captured graph, and nothing is done around a run.
	Whole bool
	// Alone tells that all of this follows from the captured graph and the request's options, whatever the example was: no
	// gradients are wanted, nothing is written, and the pure graph is Whole. Copied are its outputs that are copied then, as
	// they would show memory of an input or of each other.
	Alone  bool
	Copied []int
}

// Again is what Compile gives where an earlier one was Alone, of the compiled pure graph.
func Again(run Runnable, copied []int) *Compiled {
	return &Compiled{
		Run: separate(run, copied), Wrap: func(run Runnable) Runnable { return run }, Whole: true, Alone: true, Copied: copied,
	}
}

// Pure is the pure graph that Compile made where it was Alone. Nothing is recorded.
func (r *Request) Pure() (*graph.Graph, error) {
	quiet := *r
	quiet.Log, quiet.Example = nil, nil
	c := &compilation{Request: &quiet}
	if err := pass.Run(quiet.runner("aot"), captured, c); err != nil {
		return nil, err
	}
	return c.pure.graph, quiet.rewrite(quiet.runner("aot inference"), c.pure.graph)
}

// Differentiates reports whether Compile makes a backward graph, too.
func (r *Request) Differentiates() bool {
	return torch.GradEnabled() && !r.Graph.Untaped && wantsGrad(r.Example)
}

// Compile compiles a captured graph.
func Compile(r *Request) (*Compiled, error) {
	c := &compilation{Request: r, train: r.Differentiates()}
	if err := pass.Run(r.runner("aot"), captured, c); err != nil {
		return nil, err
	}
	if c.train {
		run, err := c.training()
		return &Compiled{Run: run}, err
	}
	part := Part{Graph: c.pure.graph, Stage: "inference", Written: c.pure.written(), Replaces: c.pure.replaced(false)}
	run, copied, err := r.compilePure(part, c.pure.fresh())
	if err != nil {
		return nil, err
	}
	whole := c.pure.whole()
	return &Compiled{Run: c.pure.wrap(run), Wrap: c.pure.wrap, Whole: whole, Alone: whole && !c.pure.writes, Copied: copied}, nil
}

func (r *Request) budget() float64 {
	if r.MemoryBudget == nil {
		return 1
	}
	return *r.MemoryBudget
}

func wantsGrad(example []torch.Value) bool {
	for _, v := range example {
		if t, ok := v.(*torch.Tensor); ok && t.RequiresGrad() {
			return true
		}
	}
	return false
}

// compilePure runs the pass table on a pure graph and compiles it. The outputs named by
// fresh go to the program: each needs memory of its own, and those of copied get a copy.
func (r *Request) compilePure(p Part, fresh []int) (run Runnable, copied []int, err error) {
	g := p.Graph
	runner := r.runner("aot " + p.Stage)
	if err := r.rewrite(runner, g); err != nil {
		return nil, nil, err
	}
	if r.Log != nil {
		text, known := runner.Text()
		if !known {
			text = g.Code()
		}
		r.Log.Emit(logs.Out{Kind: "aot_" + p.Stage + "_graph", ID: r.ID, Payload: []byte(text), Place: logs.Here()})
	}
	compiled, err := r.Compile(p)
	if err != nil {
		return nil, nil, err
	}
	copied = notTheirOwn(g, fresh)
	return separate(compiled, copied), copied, nil
}

func (r *Request) rewrite(runner *pass.Runner, g *graph.Graph) error {
	return pass.Run(runner, pure, &pureGraph{g, r.Keep, r.NoPatterns})
}

func (r *Request) runner(stage string) *pass.Runner {
	return &pass.Runner{Stage: stage, ID: r.ID, Log: r.Log, Check: r.Check}
}
