package backends

import (
	"fmt"
	"sync"

	"tcdbg/graph"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// This file implements options of kw.Options that say how a graph is compiled and called.

// widthEngine is an engine for vectors of another width, started on first use.
type widthEngine struct {
	once sync.Once
	e    *engine
}

// ofWidth is the engine for vectors of so many bits; 0: the machine's.
func (e *engine) ofWidth(bits int) (*engine, error) {
	lanes := bits / 32
	switch {
	case bits == 0 || lanes == e.lanes:
		return e, nil
	case lanes > e.lanes:
		return nil, fmt.Errorf("optimization option \"cpp.simdlen\": vectors of %d bits: this machine has %d", bits, 32*e.lanes)
	}
	kept, _ := e.set.widths.LoadOrStore(lanes, &widthEngine{})
	w := kept.(*widthEngine)
	w.once.Do(func() {
		w.e = &engine{set: e.set, cpu: e.cpu, lanes: lanes}
		if err := w.e.start(); err != nil {
			w.e.cc, w.e.err = nil, err
			e.set.warnOnce("%s: graphs with vectors of %d bits run in the interpreter, which is slower", firstLines(err.Error(), 5), bits)
		}
	})
	return w.e, nil
}

// limitThreads has no kernel run on more than n threads; 0: on as many as there are.
func (x *executable) limitThreads(n int) {
	if n == 0 {
		return
	}
	if x.chosen == nil {
		x.chosen = make([]runChoice, len(x.prof.slots))
	}
	for i := range x.chosen {
		if c := &x.chosen[i]; c.threads == 0 || int(c.threads) > n {
			c.threads = int32(n)
		}
	}
}

// asserting is run, with arguments and results searched where the option nan_asserts is on.
func asserting(r *tracer.Request, g *graph.Graph, run func([]torch.Value) []torch.Value) func([]torch.Value) []torch.Value {
	if !r.Options.NaNAsserts {
		return run
	}
	names := make([]string, 0, len(g.Placeholders()))
	for _, p := range g.Placeholders() {
		names = append(names, "argument "+p.Name)
	}
	return func(in []torch.Value) []torch.Value {
		for i, v := range in {
			assertFinite(g, names[i], v)
		}
		out := run(in)
		for i, v := range out {
			assertFinite(g, fmt.Sprintf("result %d", i), v)
		}
		return out
	}
}

func assertFinite(g *graph.Graph, what string, v torch.Value) {
	t, ok := v.(*torch.Tensor)
	if !ok || !t.DType().IsFloat() || t.Numel() == 0 {
		return
	}
	for _, c := range []struct {
		op   ops.ID
		text string
	}{{ops.Isnan, "NaN"}, {ops.Isinf, "infinities"}} {
		found := torch.CallUntaped(c.op, []ops.Arg{t})[0].(*torch.Tensor)
		if torch.CallUntaped(ops.Any, []ops.Arg{found, nil, false})[0].(*torch.Tensor).Bool() {
			panic(&torch.Error{
				Op: "torch.Compile", Kind: "AssertionError",
				Msg: fmt.Sprintf("%s of graph %s holds %s (option nan_asserts)", what, g.Name, c.text),
			})
		}
	}
}

// debugging has the logs of a compile written to standard error where the option debug is on, until what it returns is called.
func debugging(s *Set, r *tracer.Request) (end func()) {
	if !r.Options.Debug {
		return func() {}
	}
	set, err := logs.ParseLogs("+inductor,schedule,fusion,ir_pre_fusion,ir_post_fusion,output_code")
	if err != nil {
		panic("backends: " + err.Error())
	}
	old := r.Log
	r.Log = logs.Tee(old, logs.NewRenderer(s.cfg.Stderr, set, logs.WriterOptions{}))
	return func() { r.Log = old }
}
