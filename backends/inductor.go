package backends

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"tcdbg/aot"
	"tcdbg/backends/autotune"
	"tcdbg/backends/codecache"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer"
)

// inductorBackend compiles graphs to C and loads them.
type inductorBackend struct{ set *Set }

func (*inductorBackend) Name() string { return "inductor" }

// engine is what all graphs of a process share: compiler, cache, runtime
// library. Without a compiler cc is nil and graphs run on the interpreter.
type engine struct {
	set   *Set
	cpu   cpuInfo
	lanes int
	cc    *compiler
	cache *codecache.Cache
	rt    *runtimeLib
	err   error // why there is no compiler or no runtime library

	failure sync.Once // a graph's code could not be made or loaded
}

// engine starts the engine on first use.
func (s *Set) engine() *engine {
	s.once.Do(func() {
		e := &engine{set: s, cpu: thisCPU()}
		e.lanes = e.cpu.Lanes
		if s.cfg.Lanes != 0 {
			e.lanes = s.cfg.Lanes
		}
		s.eng = e
		e.err = e.start()
		s.started.Store(true)
		if e.err != nil {
			e.cc = nil
			s.warnOnce("%s: compiled graphs run in the interpreter, which is slower", firstLines(e.err.Error(), 5))
		}
	})
	return s.eng
}

// engineFor is engine for a request, whose trace says where the time goes: the first
// one in a while builds the runtime library.
func (s *Set) engineFor(r *tracer.Request) *engine {
	if !s.started.Load() {
		defer phase(r, phaseCC)()
	}
	return s.engine()
}

func (e *engine) start() (err error) {
	if !canLoad {
		return fmt.Errorf("this build cannot load compiled code")
	}
	if e.set.cfg.CC == "none" {
		return fmt.Errorf("no C compiler wanted")
	}
	if e.cc, err = findCompiler(e.set.cfg.CC); err != nil {
		return err
	}
	if e.cache, err = e.set.openCache(); err != nil {
		return fmt.Errorf("compiled code is not kept: %w", err)
	}
	if g := e.set.cfg.Guard; len(g) > 0 {
		e.cc.guard.command = append(slices.Clone(g), e.cache.Dir())
	}
	e.rt, err = e.loadRuntime()
	return err
}

// Compile compiles the request's graph: aot makes pure graphs of it, of which
// each becomes a program.
func (b *inductorBackend) Compile(r *tracer.Request) (tracer.Runnable, error) {
	run, _, err := b.CompilePlanned(r)
	return run, err
}

// CompilePlanned is Compile with a plan, where the mode asks for one and the graph is one
// program that can keep its memory.
func (b *inductorBackend) CompilePlanned(r *tracer.Request) (run tracer.Runnable, plan func() tracer.Runnable, err error) {
	if err := checkMode(r.Mode); err != nil {
		return nil, nil, err
	}
	e, err := b.set.engineFor(r).ofWidth(r.Options.SIMDBits)
	if err != nil {
		return nil, nil, err
	}
	defer debugging(b.set, r)()
	var x *executable
	var parts []*loading
	ar := aotRequest(r)
	k := e.capturing(r, ar)
	ar.Compile = func(p aot.Part) (aot.Runnable, error) {
		g := p.Graph
		if onMeta(g) {
			b.set.warnOnce("graphs on the meta device have no data to compute: they run operator by operator")
			return g.Run, nil
		}
		if slices.ContainsFunc(g.Nodes(), computesComplex) {
			b.set.warnOnce("the inductor does not support code generation for complex operators: they run eagerly between the kernels")
			k = nil // who finds such a graph is to be told as well
		}
		opt := inductor.Options{Params: paramInputs(g, p.Written, r.Changing), Training: p.Stage != "inference", Replaces: p.Replaces}
		if !k.fits(opt) {
			k = nil
		}
		part, err := e.begin(g, r, opt)
		if err != nil {
			return nil, err
		}
		if x, parts = part.x, append(parts, part); r.Options.Tuned(r.Mode).Tunes() {
			part.end() // nothing else is to run while what comes next is timed
		}
		return asserting(r, g, func(in []torch.Value) []torch.Value { return part.run(in) }), nil
	}
	end := phase(r, phaseAOT)
	var done *aot.Compiled
	if x, done = k.find(); done == nil {
		b.set.pure.Add(1)
		ar.Log = k.recording(r.Log)
		done, err = aot.Compile(ar)
		for _, part := range parts {
			part.end()
		}
		if err == nil {
			k.keep(x, done)
		}
	}
	end()
	if err != nil {
		return nil, nil, err
	}
	if modes.Plans(r.Mode) && !r.Options.NaNAsserts && done.Wrap != nil && x != nil && x.rt != nil && planned(x.prog) {
		plan = func() tracer.Runnable { return done.Wrap(x.newPlan().run) }
	}
	return done.Run, plan, nil
}

// computesComplex reports whether a node is an operator that gives complex numbers.
func computesComplex(n *graph.Node) bool {
	m, ok := n.Meta.(*ops.TensorMeta)
	return ok && m.DType.IsComplex() && n.OpRow() != nil && !n.OpRow().Tags.Has(ops.TagView)
}

// onMeta reports whether a graph reads or makes tensors without data.
func onMeta(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes(), func(n *graph.Node) bool {
		m, ok := n.Meta.(*ops.TensorMeta)
		return ok && m.Device == ops.Meta
	})
}

// take sets up a program as the request asks.
func (e *engine) take(x *executable, r *tracer.Request, opt inductor.Options) {
	x.choose(autotune.Table(x.kernels(), opt.Tuned.Runs))
	for _, y := range x.all() {
		y.limitThreads(r.Options.Threads)
		y.frozen = r.Options.Freezing && !opt.Training
		e.set.register(y.prof)
		runtime.AddCleanup(y, func(p *profile) { p.gone.Store(true) }, y.prof)
	}
}

// foundOrCompiled is a pure graph's program: what an earlier compile came to, which is loaded then, or a new one, of which
// kept is what can be kept once it is loaded; nil for nothing.
func (e *engine) foundOrCompiled(g *graph.Graph, r *tracer.Request, opt inductor.Options) (x *executable, kept *keeping, err error) {
	defer phase(r, phaseInductor)()
	opt = e.asked(r, opt)
	if kept = e.keeping(g, r, opt); kept != nil {
		var write func()
		if x, write = kept.find(); x != nil {
			write()
			x.ofRequest(g.Run, r, opt)
			return x, nil, nil
		}
		if kept.said != nil {
			opt.Log = kept.said
		}
	}
	x, err = e.newProgram(g, r, opt)
	return x, kept, err
}

// compiled makes a pure graph a program that is not loaded.
func (e *engine) compiled(g *graph.Graph, r *tracer.Request, opt inductor.Options) (*executable, error) {
	return e.newProgram(g, r, e.asked(r, opt))
}

func (e *engine) newProgram(g *graph.Graph, r *tracer.Request, opt inductor.Options) (*executable, error) {
	e.set.lowered.Add(1)
	prog, err := inductor.Compile(g, opt)
	if err != nil {
		return nil, err
	}
	x := newExecutable(prog)
	x.ofRequest(g.Run, r, opt)
	return x, nil
}

// ofRequest says whose graph the program is, and what runs that operator by operator.
func (x *executable) ofRequest(eager aot.Runnable, r *tracer.Request, opt inductor.Options) {
	x.watch, x.id = r.Watch, r.ID
	x.eager, x.tuned = eager, opt.Tuned
}

// asked is opt with what the request and the machine say.
func (e *engine) asked(r *tracer.Request, opt inductor.Options) inductor.Options {
	opt.Faults = e.set.cfg.Faults
	o := &r.Options
	opt.NoEpilogueFusion, opt.NoLayout, opt.MaxFusion = o.NoEpilogueFusion, o.NoLayoutOptimization, o.MaxFusionSize
	opt.NoPatterns, opt.NoReuse, opt.AllBlocked = o.NoPatterns, o.NoReuse, o.AllBlocked
	if o.NoInPlace {
		opt.Replaces = nil
	}
	opt.Machine = cmp.Or(opt.Machine, e.machine())
	opt.Cores, opt.ID, opt.Log = cmp.Or(o.CompileThreads, runtime.GOMAXPROCS(0)), r.ID, r.Log
	return opt
}

// machine is what kernels are written for.
func (e *engine) machine() cpp.Machine {
	m := cpp.Machine{Lanes: e.lanes, Cache: e.cpu.Cache}
	if e.rt != nil {
		m.BFloat, m.Threads = e.rt.bfloat.chosen(e.set.cfg.BFloat), e.rt.threads
	}
	return m
}

// checkMode refuses what is not honoured.
func checkMode(mode string) error {
	_, err := modes.Check("inductor", mode)
	return err
}

// paramInputs tells which placeholders are parameters: tensors that want
// gradients, or that hang below an object (L.net.Weight), unless they are written
// in every call or the tracer knows better. Gradients are new in every call.
func paramInputs(g *graph.Graph, written, changing map[string]bool) []bool {
	var out []bool
	for _, ph := range g.Placeholders() {
		m, ok := ph.Meta.(*ops.TensorMeta)
		fixed := !written[ph.Name] && !changing[ph.Source] && !strings.HasSuffix(ph.Source, ".grad")
		out = append(out, ok && fixed && (m.RequiresGrad || strings.Count(ph.Source, ".") >= 2))
	}
	return out
}

// firstLines is the beginning of a text.
func firstLines(text string, n int) string {
	lines := strings.SplitAfterN(text, "\n", n+1)
	return strings.TrimRight(strings.Join(lines[:min(n, len(lines))], ""), "\n")
}

// openCache opens the cache that the configuration names, else the user's.
func (s *Set) openCache() (*codecache.Cache, error) {
	dir, err := s.cacheDir()
	if err != nil {
		return nil, err
	}
	return codecache.Open(dir, 0, s.warnOnce)
}

func (s *Set) cacheDir() (string, error) {
	if s.cfg.CacheDir != "" {
		return s.cfg.CacheDir, nil
	}
	return codecache.DefaultDir()
}
