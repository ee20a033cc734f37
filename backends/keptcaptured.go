package backends

import (
	"fmt"
	"slices"
	"sync"

	"tcdbg/aot"
	"tcdbg/backends/codecache"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/logs"
	"tcdbg/ops/wire"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file keeps what making a captured graph pure came to, by the captured graph: the plan that its pure graph was found
// or kept as (kept.go), and the records that aot wrote. Who has the same graph captured again gets the program without
// either. So it is for inference of graphs that write nothing and whose results are those of the pure graph: what aot makes
// of them follows from the graph and the options alone, and nothing is done around a run. The pure graph itself is made when
// somebody asks for it: a debugger that runs kernels one by one, or a kernel that met data which its operators refuse.

// capturing is one compile of a captured graph that may be found, or kept.
type capturing struct {
	engine  *engine
	request *tracer.Request
	aot     *aot.Request
	opt     inductor.Options
	parts   []string // that it depends on
	sum     [32]byte // of the parts
	said    *recorder
}

// capturing prepares it; nil for a graph that is compiled always.
func (e *engine) capturing(r *tracer.Request, ar *aot.Request) *capturing {
	if !e.keeps(r) || ar.Differentiates() || r.Options.NaNAsserts || r.Options.Debug {
		return nil
	}
	if tuned := r.Options.Tuned(r.Mode); tuned.Tunes() { // what was chosen by timing is found by the pure graph
		return nil
	}
	g := r.Module.G
	opt := e.asked(r, inductor.Options{Params: paramInputs(g, nil, r.Changing)})
	parts, ok := e.dependsOn(g, r, opt)
	if !ok {
		return nil
	}
	changing := make([]bool, 0, len(opt.Params))
	for _, p := range g.Placeholders() {
		changing = append(changing, r.Changing[p.Source])
	}
	parts = append(parts, "captured", fmt.Sprint(changing))
	return &capturing{engine: e, request: r, aot: ar, opt: opt, parts: parts, sum: codecache.PlanSum(parts)}
}

// recording is where aot is to write its records.
func (k *capturing) recording(log logs.Sink) logs.Sink {
	if k == nil || log == nil {
		return log
	}
	k.said = &recorder{to: log, id: k.request.ID, whole: true}
	return k.said
}

// find is the program, loaded, with the records of its compile written, and what aot makes of it; nil where it was not kept.
func (k *capturing) find() (*executable, *aot.Compiled) {
	if k == nil {
		return nil, nil
	}
	head, rest, ok := k.engine.cache.Plan(k.sum)
	if !ok {
		return nil, nil
	}
	plan, copied, records, err := readCaptured(head, rest.Len())
	if err != nil {
		k.engine.cache.DropPlan(k.sum, err)
		return nil, nil
	}
	pure := k.pure()
	below := &keeping{engine: k.engine, sum: plan, graph: pure, opt: k.opt, log: k.request.Log}
	x, write := below.find()
	if x == nil {
		return nil, nil
	}
	if slices.ContainsFunc(copied, func(i int) bool { return i < 0 || i >= len(x.outs) }) {
		k.engine.cache.DropPlan(k.sum, errKept)
		return nil, nil
	}
	writeAgain(k.request.Log, k.request.ID, records, rest)
	k.engine.takeFound(x, k.request, k.opt, write, func(in []torch.Value) []torch.Value { return pure().Run(in) })
	return x, aot.Again(x.run, copied)
}

// takeFound is compile for a program that was found by its captured graph.
func (e *engine) takeFound(x *executable, r *tracer.Request, opt inductor.Options, write func(), eager aot.Runnable) {
	end := phase(r, phaseInductor)
	write()
	end()
	x.ofRequest(eager, r, opt)
	e.take(x, r, opt)
	defer x.prog.DropText()
	defer phase(r, phaseCC)()
	e.loaded(r, true, x.code)
}

// pure makes the pure graph when it is first asked for.
func (k *capturing) pure() func() *graph.Graph {
	again := *k.aot
	again.Log, again.Example, again.Compile = nil, nil, nil
	return sync.OnceValue(func() *graph.Graph {
		g, err := again.Pure()
		if err != nil {
			panic(fmt.Sprintf("aot: %s was made pure once, and now is not: %v", again.Graph.Name, err))
		}
		return g
	})
}

// fits reports whether a pure graph is compiled with the options that it would have been found with.
func (k *capturing) fits(opt inductor.Options) bool {
	return k != nil && slices.Equal(opt.Params, k.opt.Params) && !opt.Training && len(opt.Replaces) == 0
}

// keep keeps what a compile came to.
func (k *capturing) keep(x *executable, done *aot.Compiled) {
	if k == nil || x == nil || x.kept == ([32]byte{}) || !done.Alone || k.said != nil && !k.said.whole {
		return
	}
	head, rest := k.written(x.kept, done.Copied)
	k.engine.keepPlan(k.sum, head, rest, k.request.Module.G.Name)
}

// written is the sum of the pure graph's plan, the outputs that are copied, and the records as keeping has them.
func (k *capturing) written(plan [32]byte, copied []int) (head, payloads []byte) {
	w := wire.Writer{B: slices.Clone(plan[:])}
	w.Ints(copied)
	return k.said.append(w)
}

// readCaptured reads what written has made.
func readCaptured(head []byte, payloads int) (plan [32]byte, copied []int, records []keptRecord, err error) {
	r := wire.Reader{B: head}
	copy(plan[:], r.Take(len(plan)))
	copied = r.Ints()
	records, err = readRecords(&r, payloads)
	return plan, copied, records, err
}
