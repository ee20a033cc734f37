package backends

import (
	"tcdbg/aot"
	"tcdbg/inductor/lower"
	"tcdbg/tracer"
)

// eager runs the captured graph through torch's operators.
type eager struct{}

func (eager) Name() string { return "eager" }

func (eager) Compile(r *tracer.Request) (tracer.Runnable, error) {
	return r.Module.Run, nil
}

// aotEager runs the pure graphs that aot makes operator by operator, after the
// decompositions that the inductor applies: a difference to "eager" is the
// fault of functionalization, of a derivative or of a decomposition.
type aotEager struct{}

func (aotEager) Name() string { return "aot_eager" }

func (aotEager) Compile(r *tracer.Request) (tracer.Runnable, error) {
	return throughAOT(r, func(p aot.Part) (aot.Runnable, error) {
		return p.Graph.RunUntaped, nil
	})
}

// throughAOT compiles the pure graphs of a captured one.
func throughAOT(r *tracer.Request, compile func(aot.Part) (aot.Runnable, error)) (tracer.Runnable, error) {
	ar := aotRequest(r)
	ar.Compile = compile
	defer phase(r, phaseAOT)()
	done, err := aot.Compile(ar)
	if err != nil {
		return nil, err
	}
	return done.Run, nil
}

// aotRequest asks for the pure graphs of a captured one; Compile is still to be set.
func aotRequest(r *tracer.Request) *aot.Request {
	return &aot.Request{
		ID: r.ID, Graph: r.Module.G, Example: r.Example, Log: r.Log, Keep: lower.Has, MemoryBudget: r.MemoryBudget,
		NoPatterns: r.Options.NoPatterns,
	}
}
