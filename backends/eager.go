package backends

import (
	"tcdbg/inductor/lower"
	"tcdbg/tracer"
)

// eager runs the captured graph through torch's operators.
type eager struct{}

func (eager) Name() string { return "eager" }

func (eager) Compile(r *tracer.Request) (tracer.Runnable, error) {
	return r.Module.Run, nil
}

// aotEager runs the graph after the decompositions that the inductor applies,
// so that a difference to "eager" is a decomposition's fault.
type aotEager struct{}

func (aotEager) Name() string { return "aot_eager" }

func (aotEager) Compile(r *tracer.Request) (tracer.Runnable, error) {
	g := lower.Decompose(r.Module.G)
	return g.Run, nil
}
