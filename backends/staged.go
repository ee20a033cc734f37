package backends

import (
	"fmt"
	"slices"

	"tcdbg/aot"
	"tcdbg/inductor"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/lower"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file compiles a graph as far as one stage of the way to generated code, for a search
// of the stage that makes its numbers wrong. Nothing of it goes into the trace.

// Stage is how far a graph is compiled.
type Stage string

// The stages, each with all that the ones before it do.
const (
	StageAOT           Stage = "AOT"           // functionalized and differentiated; operators run eagerly
	StageDecomposition Stage = "decomposition" // decomposed; operators run eagerly
	StageLowering      Stage = "lowering"      // loops, of which none are fused, in the interpreter
	StageFusion        Stage = "fusion"        // fused loops, in the interpreter
	StageCode          Stage = "code"          // generated code, built and loaded
)

// CapturedStages compile captured graphs, PureStages what aot makes of them.
var (
	CapturedStages = []Stage{StageAOT, StageDecomposition}
	PureStages     = []Stage{StageLowering, StageFusion, StageCode}
)

// CompileStage compiles a captured graph as far as one of CapturedStages.
func (s *Set) CompileStage(stage Stage, r *tracer.Request) (tracer.Runnable, error) {
	keep := lower.Has
	if stage == StageAOT {
		keep = func(ops.ID) bool { return true }
	}
	return compileParts(r, keep, func(p aot.Part) (aot.Runnable, error) { return p.Graph.RunUntaped, nil })
}

// CompileParts compiles a captured graph to pure graphs, whose calls run gets.
func CompileParts(r *tracer.Request, run func(p aot.Part, in []torch.Value) []torch.Value) (tracer.Runnable, error) {
	return compileParts(r, lower.Has, func(p aot.Part) (aot.Runnable, error) {
		return func(in []torch.Value) []torch.Value { return run(p, in) }, nil
	})
}

func compileParts(r *tracer.Request, keep func(ops.ID) bool, compile func(aot.Part) (aot.Runnable, error)) (tracer.Runnable, error) {
	ar := aotRequest(r)
	ar.Keep, ar.Compile, ar.Log = keep, compile, nil
	done, err := aot.Compile(ar)
	if err != nil {
		return nil, err
	}
	return done.Run, nil
}

// StagedPart is a pure graph that is compiled as far as one of PureStages.
type StagedPart struct {
	Run     tracer.Runnable
	Program *inductor.Program

	x *executable
}

// CompilePart compiles a pure graph of r as far as one of PureStages. It fails for
// StageCode where there is no compiler.
func (s *Set) CompilePart(stage Stage, p aot.Part, r *tracer.Request) (*StagedPart, error) {
	if onMeta(p.Graph) {
		return nil, fmt.Errorf("graphs on the meta device have no data to compute")
	}
	e := s.engine()
	quiet := *r
	quiet.Log, quiet.Watch = nil, nil
	opt := inductor.Options{Params: paramInputs(p.Graph, p.Written, r.Changing), Training: p.Stage != "inference", Replaces: p.Replaces}
	if stage == StageLowering {
		opt.Decisions = -1
	}
	x, err := e.compiled(p.Graph, &quiet, opt)
	if err != nil {
		return nil, err
	}
	out := &StagedPart{Run: x.interpreted, Program: x.prog, x: x}
	if stage == StageCode {
		if e.cc == nil {
			return nil, fmt.Errorf("no C compiler: %w", e.err)
		}
		for _, y := range x.all() {
			if err := e.load(y, &quiet); err != nil {
				return nil, err
			}
		}
		out.Run = x.run
	}
	return out, nil
}

// Kernels runs the program kernel by kernel and tells after of each.
func (p *StagedPart) Kernels(in []torch.Value, after func(*tracer.KernelRun)) []torch.Value {
	p.x.watch = afterKernel(after)
	defer func() { p.x.watch = nil }()
	return p.Run(in)
}

// KernelsOf names the kernels that compute a node of the graph, in the order in which they run.
func (p *StagedPart) KernelsOf(node string) []string {
	var out []string
	for i := range p.Program.Steps {
		st := &p.Program.Steps[i]
		for k, kernel := range st.Kernels {
			if slices.ContainsFunc(kernel.Origins(), func(o ir.Origin) bool { return o.Node == node }) {
				out = append(out, st.Names[k])
			}
		}
	}
	return out
}

type afterKernel func(*tracer.KernelRun)

func (afterKernel) Kernels() bool                     { return true }
func (afterKernel) BeforeKernel(*tracer.KernelRun)    {}
func (f afterKernel) AfterKernel(k *tracer.KernelRun) { f(k) }
