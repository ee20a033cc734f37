package backends

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"tcdbg/aot"
	"tcdbg/backends/codecache"
	"tcdbg/graph"
	"tcdbg/inductor"
	"tcdbg/logs"
	"tcdbg/tracer"
)

// This file makes graphs programs whose code is loaded. The C compiler works on the code of one while the rest of the compile
// goes on: of a forward graph while the backward graph is lowered, and then of both. What is to be said of it is said at the
// end, in the order of the graphs.

// codeKind is what the cache calls the code of graphs.
const codeKind = "graph"

// loading is a program, and its code, which is being made.
type loading struct {
	engine  *engine
	request *tracer.Request
	x       *executable
	kept    *keeping // nil where nothing is kept
	codes   []*code
	run     aot.Runnable // once it has ended
}

// compile makes one pure graph a program and loads it, where there is a compiler.
func (e *engine) compile(g *graph.Graph, r *tracer.Request, opt inductor.Options) (*executable, error) {
	l, err := e.begin(g, r, opt)
	if err != nil {
		return nil, err
	}
	l.end()
	return l.x, nil
}

// begin makes one pure graph a program, and begins to load it. opt tells what is known of its inputs and outputs.
func (e *engine) begin(g *graph.Graph, r *tracer.Request, opt inductor.Options) (*loading, error) {
	var record *logs.Autotuning
	if opt.Tuned, record = e.autotuned(g, r, opt); record != nil && r.Log != nil {
		defer func() { r.Log.Emit(logs.Artifact(r.ID, *record)) }()
	}
	x, kept, err := e.foundOrCompiled(g, r, opt)
	if err != nil {
		return nil, err
	}
	e.take(x, r, opt)
	l := &loading{engine: e, request: r, x: x, kept: kept}
	if e.cc != nil && x.entry == 0 { // else it was found
		for _, y := range x.all() {
			l.codes = append(l.codes, e.beginCode(y, r))
		}
	}
	return l, nil
}

// end waits for the code, once.
func (l *loading) end() {
	if l.run != nil {
		return
	}
	e, x, r := l.engine, l.x, l.request
	defer x.prog.DropText()
	if e.cc != nil {
		defer phase(r, phaseCC)()
		if x.entry != 0 && l.codes == nil {
			e.loaded(r, true, x.code)
		}
		for _, c := range l.codes {
			if err := c.end(r); err != nil {
				e.failed(c.x, r, err)
			} else if l.kept != nil && c.x == x {
				l.kept.keep(x, c.want.Made())
			}
		}
	}
	if l.run = x.run; x.rt == nil {
		l.run = x.interpreted
	}
}

// code is the code of a program that is being made, or looked for.
type code struct {
	engine *engine
	x      *executable
	want   codecache.Request
	hit    bool
	err    error
	ended  chan struct{}
}

// beginCode begins to compile the program's C, or to find it in the cache, and to load it.
func (e *engine) beginCode(x *executable, r *tracer.Request) *code {
	p := x.prog
	var libs []string
	if p.Libm {
		libs = []string{"-lm"}
	}
	units := unitsOf(p, x.tuned.Optimize, mathFlags(r.Options))
	parts := []string{strings.Join(libs, " "), e.cc.id, e.cpu.Flags}
	for _, u := range units {
		parts = append(parts, u.text, strings.Join(u.flags, " "))
	}
	c := &code{engine: e, x: x, ended: make(chan struct{}), want: codecache.Request{
		Kind: codeKind, Parts: parts,
		Build: func(dir, out string) error { return e.cc.build(dir, units, libs, out) },
		Load:  x.open,
	}}
	load := e.cache.Load
	if !r.Options.CachesCode() {
		load = e.cache.Once
	}
	c.want.Made()
	go func() {
		defer close(c.ended)
		c.hit, c.err = load(c.want)
	}()
	return c
}

// end waits until the code is loaded.
func (c *code) end(r *tracer.Request) error {
	if <-c.ended; c.err != nil {
		return fmt.Errorf("inductor: compiling %s: %w", c.x.prog.Name, c.err)
	}
	c.engine.loaded(r, c.hit, c.want.Name())
	c.x.rt = c.engine.rt
	c.x.graph = cstring(c.x.prog.Name)
	return nil
}

// load compiles the program's C, or finds it in the cache, and loads it.
func (e *engine) load(x *executable, r *tracer.Request) error { return e.beginCode(x, r).end(r) }

// open loads the program's code.
func (x *executable) open(path string) error {
	lib, err := dlopen(path)
	if err != nil {
		return err
	}
	if x.entry, err = dlsym(lib, x.prog.Entry); err != nil {
		dlclose(lib)
		return err
	}
	runtime.AddCleanup(x, dlclose, lib)
	return nil
}

// loaded writes where code came from.
func (e *engine) loaded(r *tracer.Request, hit bool, key string) {
	if r.Log == nil {
		return
	}
	name := "fx_graph_cache_miss"
	if hit {
		name = "fx_graph_cache_hit"
	}
	r.Log.Emit(logs.Text(r.ID, name, fmt.Sprintf(`{"key": %q, "path": %q}`, key, filepath.Join(e.cache.Dir(), key))))
}

// failed leaves a graph to the interpreter, because its code could not be made or loaded.
// The first such graph of a process is told, the trace has each.
func (e *engine) failed(x *executable, r *tracer.Request, err error) {
	e.failure.Do(func() {
		e.set.warnOnce("%s\n%s runs in the interpreter, which is slower; the report lists further graphs",
			firstLines(err.Error(), 5), x.prog.Name)
	})
	if r.Log != nil {
		r.Log.Emit(logs.Artifact(r.ID, logs.CompilerFailure{Graph: x.prog.Name, Error: err.Error()}))
	}
}
