package backends

import (
	"crypto/sha256"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"tcdbg/backends/autotune"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/tune"
	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// This file is mode "max-autotune": a graph is built with other choices than those of the cost models, candidates are
// called on inputs of the real shapes, and what is faster is kept, in the cache of compiled code, too.

// tuningBudget bounds a search, but for the last build that it waits for.
const tuningBudget = 20 * time.Second

// autotuned are the choices for a graph, from the cache or by timing; a nil record: nobody asks for any.
func (e *engine) autotuned(g *graph.Graph, r *tracer.Request, opt inductor.Options) (tune.Choices, *logs.Autotuning) {
	asked := r.Options.Tuned(r.Mode)
	if !asked.Tunes() {
		return tune.Choices{}, nil
	}
	if e.cc == nil {
		e.set.warnOnce("max-autotune: without a C compiler there is nothing to choose from")
		return tune.Choices{}, nil
	}
	key := e.tuningKey(g, asked, opt)
	if c, record := e.keptChoices(key); record != nil && asked.KeepsTuning() {
		record.Graph, record.Cached = g.Name, true
		return c, record
	}
	t := &tuning{
		engine: e, graph: g, request: r, opt: opt, descent: asked.CoordinateDescent, only: onlyFor(asked),
		began: time.Now(), said: time.Now(),
	}
	defer torch.RandomState()()
	c, record, err := t.search()
	t.drop()
	if err != nil {
		e.set.warnOnce("max-autotune: %s is left to the cost models: %s", g.Name, firstLines(err.Error(), 3))
		return tune.Choices{}, nil
	}
	record.Graph = g.Name
	if t.spoke {
		t.say("%s", record.Summary())
	}
	if asked.KeepsTuning() {
		e.keepChoices(key, c, record)
	}
	return c, record
}

// onlyFor is the part of the kernels that is asked for.
func onlyFor(o modes.Options) autotune.Part {
	switch {
	case o.MaxAutotune || o.CoordinateDescent || o.TuneProducts == o.TunePointwise:
		return autotune.All
	case o.TuneProducts:
		return autotune.Products
	}
	return autotune.Others
}

// tuning is one search.
type tuning struct {
	*engine
	graph   *graph.Graph
	request *tracer.Request
	opt     inductor.Options
	descent bool
	only    autotune.Part // of the kernels, all by default
	inputs  []torch.Value
	want    []torch.Value // outputs by default
	began   time.Time
	said    time.Time
	spoke   bool
}

// say tells what is done.
func (t *tuning) say(format string, args ...any) {
	fmt.Fprintf(t.set.cfg.Stderr, "tcdbg: max-autotune %s: %s\n", t.graph.Name, fmt.Sprintf(format, args...))
	t.said, t.spoke = time.Now(), true
}

// progressEvery is how long nothing is said: a search that takes less is not heard of.
const progressEvery = 2 * time.Second

func (t *tuning) progress(what string) {
	if time.Since(t.said) > progressEvery {
		t.say("%.0f of at most %.0f s: %s", time.Since(t.began).Seconds(), tuningBudget.Seconds(), what)
	}
}

func (t *tuning) search() (tune.Choices, *logs.Autotuning, error) {
	var err error
	if t.inputs, err = t.example(); err != nil {
		return tune.Choices{}, nil, err
	}
	s := &autotune.Search{
		Build: t.build, FormName: cpp.FormName, Threads: t.rt.threads, Budget: tuningBudget, Progress: t.progress,
		Descent: t.descent, Runs: true, Only: t.only,
	}
	first, _, err := t.executable(tune.Choices{})
	if err != nil {
		return tune.Choices{}, nil, err
	}
	s.Runs = len(first.prog.Symbols) == 0 // what is best for one size may not be for the next
	s.Variants = t.variants(first.prog)
	if t.only != autotune.All {
		s.Variants = nil // which are of the whole graph
	} else {
		s.Last = []autotune.Variant{{What: "compiler", Name: "-O2", Set: func(c *tune.Choices) { c.Optimize = true }}}
	}
	return s.Do()
}

// variants are the choices for the whole graph that are worth trying for a program.
func (t *tuning) variants(p *inductor.Program) []autotune.Variant {
	var out []autotune.Variant
	add := func(what, name string, set func(c *tune.Choices)) {
		out = append(out, autotune.Variant{What: what, Name: name, Set: set})
	}
	if p.Blocked {
		add("layout", "planes", func(c *tune.Choices) { c.Layout = tune.LayoutPlanes })
	}
	if p.Unblocked {
		add("layout", "blocks of channels", func(c *tune.Choices) { c.Layout = tune.LayoutBlocks })
	}
	if p.Reorders {
		add("convolutions", "eager operator", func(c *tune.Choices) { c.Externs = true })
	}
	if t.descent {
		add("fusion", "8 nodes at most", func(c *tune.Choices) { c.MaxFusion = 8 })
		add("epilogues", "kernels of their own", func(c *tune.Choices) { c.Unfused = true })
	}
	return out
}

// executable is the graph built with some choices, loaded, of which nothing goes into the trace; code tells such programs
// apart.
func (t *tuning) executable(c tune.Choices) (x *executable, code string, err error) {
	quiet := *t.request
	quiet.Log, quiet.Watch = nil, nil
	opt := t.opt
	opt.Tuned = c
	if x, err = t.compiled(t.graph, &quiet, opt); err != nil {
		return nil, "", err
	}
	defer x.prog.DropText()
	sum := sha256.New()
	for _, y := range x.all() {
		fmt.Fprintln(sum, c.Optimize, y.prog.Shards)
		if err := t.load(y, &quiet); err != nil {
			return nil, "", err
		}
	}
	return x, string(sum.Sum(nil)), nil
}

// build is executable as a search wants it; its outputs are held against the first's.
func (t *tuning) build(c tune.Choices) (autotune.Program, []tune.Product, error) {
	x, code, err := t.executable(c)
	if err != nil {
		return nil, nil, err
	}
	p := &candidateProgram{x: x, code: code, in: t.inputs}
	if planned(x.prog) {
		p.homes = x.newPlan().homes
	}
	out, err := p.outputs()
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	switch {
	case x.overwrites(): // each call begins where the one before ended
		return p, x.prog.Products, nil
	case t.want == nil:
		t.want = out
		return p, x.prog.Products, nil
	}
	if err := alike(t.want, out); err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, x.prog.Products, nil
}

// drop lets go of what was only there to be timed.
func (t *tuning) drop() {
	t.inputs, t.want = nil, nil
	runtime.GC()
}

// candidateProgram is an executable that is called to be timed.
type candidateProgram struct {
	x     *executable
	code  string
	in    []torch.Value
	homes []home
}

// Kernels implements autotune.Program.
func (p *candidateProgram) Kernels() []string { return p.x.kernels() }

// Code implements autotune.Program.
func (p *candidateProgram) Code() string { return p.code }

// Choose implements autotune.Program.
func (p *candidateProgram) Choose(runs []autotune.Run) { p.x.choose(runs) }

// Close implements autotune.Program.
func (p *candidateProgram) Close() {
	if p.x.packed != nil {
		p.x.packed.free()
		p.x.packed = nil
	}
	p.homes = nil
}

// outputs calls the program once and copies what it gives.
func (p *candidateProgram) outputs() (out []torch.Value, err error) {
	err = p.call(func(f *frame) {
		for _, v := range f.outputs(p.in) {
			if t, ok := v.(*torch.Tensor); ok {
				v = torch.CallUntaped(ops.Clone, []ops.Arg{t, nil})[0]
			}
			out = append(out, v)
		}
	})
	return out, err
}

// Call implements autotune.Program.
func (p *candidateProgram) Call() (kernels []int64, whole int64, err error) {
	start := time.Now()
	err = p.call(func(f *frame) {
		whole = int64(time.Since(start))
		kernels = slices.Clone(f.times[:len(p.x.kernels())])
	})
	return kernels, whole, err
}

// call runs the program and has done see its frame.
func (p *candidateProgram) call(done func(f *frame)) (err error) {
	f := p.x.frames.Get().(*frame)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%v", v)
		}
	}()
	f.bind(p.in)
	f.place(p.homes)
	p.x.prof.always = true
	f.steps(p.in)
	done(f)
	runtime.KeepAlive(p.in)
	f.release()
	return nil
}

// overwrites reports whether the program writes its inputs.
func (x *executable) overwrites() bool {
	return slices.ContainsFunc(x.prog.Buffers, func(b plan.Buffer) bool { return b.Role == plan.RoleOver })
}

// kernels are the names of what runs in every call, in the order of the profile.
func (x *executable) kernels() []string {
	var out []string
	for i := range x.prof.slots {
		if s := &x.prof.slots[i]; !s.once {
			out = append(out, s.name)
		}
	}
	return out
}

// choose has kernels run as runs say, by their position.
func (x *executable) choose(runs []autotune.Run) {
	if runs == nil {
		x.chosen = nil
		return
	}
	x.chosen = make([]runChoice, len(runs))
	for i, r := range runs {
		x.chosen[i] = runChoice{threads: int32(r.Threads), rows: int32(r.Rows), cols: int32(r.Cols)}
	}
}

// looseness is how far outputs of two forms may be apart, of the largest number: a convolution in Winograd's form rounds
// otherwise.
const looseness = 1e-3

// alike says where outputs differ by more than rounding.
func alike(want, got []torch.Value) error {
	for i := range want {
		a, ok1 := want[i].(*torch.Tensor)
		b, ok2 := got[i].(*torch.Tensor)
		if !ok1 || !ok2 || !a.DType().IsFloat() || a.Numel() == 0 {
			continue
		}
		off, most := a.Sub(b).Abs().Max().Item(), a.Abs().Max().Item()
		if off > looseness*most && !math.IsInf(most, 0) {
			return fmt.Errorf("its result %d is off by %.2g of %.2g", i, off, most)
		}
	}
	return nil
}

// example makes inputs for the graph: those of the call that is compiled where it has them by name, of which those that
// the graph writes are copied, else numbers of the same shapes.
func (t *tuning) example() ([]torch.Value, error) {
	given := map[string]torch.Value{}
	for i, ph := range t.request.Module.G.Placeholders() {
		if i < len(t.request.Example) {
			given[ph.Name] = t.request.Example[i]
		}
	}
	written := map[int]bool{}
	for _, in := range t.opt.Replaces {
		written[in] = true
	}
	var out []torch.Value
	for i, ph := range t.graph.Placeholders() {
		v, err := exampleOf(ph, given[ph.Name], written[i])
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// exampleOf is the input for one placeholder.
func exampleOf(ph *graph.Node, given torch.Value, written bool) (torch.Value, error) {
	switch m := ph.Meta.(type) {
	case *ops.TensorMeta:
		size, stride := sym.Hints(m.Shape), sym.Hints(m.Stride)
		t, ok := given.(*torch.Tensor)
		if ok && t.DType() == m.DType && !written {
			if s, st, _ := t.Layout(); slices.Equal(s, size) && slices.Equal(st, stride) {
				return t, nil
			}
		}
		return numbers(m.DType, size, stride), nil
	case sym.Int:
		return sym.Hints([]sym.Int{m})[0], nil
	}
	if given == nil {
		return nil, fmt.Errorf("input %s has no example", ph.Name)
	}
	return given, nil
}

// numbers is a tensor of small numbers; whole ones are zero, which is a position everywhere.
func numbers(d ops.DType, size, stride []int) *torch.Tensor {
	span := 1
	for i, n := range size {
		if n == 0 {
			span = 0
			break
		}
		span += (n - 1) * stride[i]
	}
	values := make([]float32, span)
	for i, seed := 0, uint32(1); d.IsFloat() && i < span; i++ {
		seed = seed*1664525 + 1013904223
		values[i] = float32(seed>>8)/(1<<23) - 1
	}
	flat := torch.NewTensor(values).To(d)
	return torch.FromStorage(flat.Storage(), d, size, stride, 0)
}
