package tracer

import (
	"fmt"
	"go/types"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/compiler/modes"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is the tracer's face to the host: it replaces torch.Compile and the
// compiler's markers, and gets every call of a compiled function.

// Config is what the tracer needs from its surroundings.
type Config struct {
	Sink logs.Sink // trace records; nil drops them
	// Backend finds a backend by name.
	Backend func(name string) (Backend, error)
	// DefaultBackend is that of functions which name none; empty: inductor.
	DefaultBackend string
	// KernelTimes, where set, returns the totals of kernels that are to be
	// written again; last: before the program ends.
	KernelTimes func(last bool) []logs.KernelTime
	// Note, where set, gets what a program's author should know and that is no error,
	// once each.
	Note func(text string)
	// Steps is how finely traces are logged, step by step.
	Steps StepLog
	// Safe, where set, is called at safe points; it may block (pause). kind is
	// frame, break or recompile.
	Safe func(kind string, where func() logs.Pos)
}

func (c *Config) note(text string) {
	if c.Note != nil {
		c.Note(text)
	}
}

// Tracer compiles the functions of one running program.
type Tracer struct {
	cfg      Config
	sink     logs.Sink
	prog     *host.Program
	in       *host.Interp
	bindings map[string]torch.Binding

	frames  atomic.Int64
	graphs  atomic.Int64
	resets  atomic.Int64 // calls of compiler.Reset
	off     sync.Map     // *host.Thread -> int: depth at which compiling was disabled
	active  sync.Map     // *host.Thread -> *Compiled: whose region waits for the host
	callees sync.Map     // calleeKey -> *Compiled: frames of their own
	same    sync.Map     // key of compileKey -> *Compiled
	alone   sync.Map     // key of aloneKey -> *atomic.Int64

	mu       sync.Mutex
	compiled []*Compiled
	caches   []*frameCache

	operators sync.Map // *ssa.Function -> bool
}

// New returns a tracer for prog.
func New(prog *host.Program, cfg Config) *Tracer {
	sink := cfg.Sink
	if sink == nil {
		sink = (*logs.Writer)(nil)
	}
	t := &Tracer{cfg: cfg, sink: sink, prog: prog, bindings: torch.Bindings()}
	forgetWith(t, prog.SSA)
	return t
}

// Install adds the tracer's intrinsics and its call hook to the host's
// configuration, before host.New.
func (t *Tracer) Install(cfg *host.Config) {
	if cfg.Intrinsics == nil {
		cfg.Intrinsics = map[string]host.Intrinsic{}
	}
	cfg.Intrinsics["tcdbg/torch.Compile"] = t.compileIntrinsic
	cfg.Intrinsics["tcdbg/torch.Explain"] = t.explainIntrinsic
	cfg.Intrinsics["tcdbg/torch/compiler.Disable"] = t.disableIntrinsic
	cfg.Intrinsics["tcdbg/torch/compiler.AssumeConstantResult"] = t.assumeConstantIntrinsic
	cfg.Intrinsics["tcdbg/torch/compiler.Reset"] = t.resetIntrinsic
	cfg.Compiled = t.onCall
	cfg.Counted = t.isOperator
}

// isOperator reports whether a native function is an operator, or how
// nn/functional calls one.
func (t *Tracer) isOperator(name string) bool {
	_, ok := t.bindings[name]
	return ok || strings.HasPrefix(name, "tcdbg/torch.Functional")
}

// Attach tells the tracer which interpreter runs the program, after host.New.
func (t *Tracer) Attach(in *host.Interp) { t.in = in }

// onCall gets every call of a closure whose Compiled field is set.
func (t *Tracer) onCall(th *host.Thread, f *host.Frame, cl *host.Closure) bool {
	c, ok := cl.Compiled.(*Compiled)
	if !ok || c.constant {
		return false
	}
	if d, ok := t.off.Load(th); ok {
		if th.Depth() > d.(int) {
			return false
		}
		t.off.Delete(th)
	}
	if c.disabled {
		if c.nested {
			return t.runDisabled(th, f)
		}
		t.off.Store(th, th.Depth())
		return false
	}
	if f.Deferred() { // only the host knows what follows a deferred call
		return false
	}
	t.safePoint("frame", f)
	return c.run(th, f)
}

func (t *Tracer) safePoint(kind string, f *host.Frame) {
	if t.cfg.Safe != nil {
		t.cfg.Safe(kind, func() logs.Pos { return t.posOf(f) })
	}
}

func (t *Tracer) nextFrame() int { return int(t.frames.Add(1)) - 1 }
func (t *Tracer) nextGraph() int { return int(t.graphs.Add(1)) - 1 }

func (t *Tracer) register(fc *frameCache) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.caches = append(t.caches, fc)
}

// compileIntrinsic is torch.Compile under the tracer: it returns a function of
// the same type whose calls come to onCall. Of a module it compiles Forward, in place.
func (t *Tracer) compileIntrinsic(_ *host.Thread, call *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	typ := resultType(call, "torch.Compile")
	opts, err := t.parseOptions(*(*[]torch.Option)(args[1]))
	if err == nil && !opts.disable {
		opts.mode, err = t.checkBackend(opts)
	}
	if err != nil {
		panic(&torch.Error{Op: "torch.Compile", Msg: err.Error()})
	}
	sig, isFunc := typ.Underlying().(*types.Signature)
	if !isFunc {
		t.compileModule(typ, args[0], opts)
		if result != nil {
			t.in.Copy(typ, result, args[0])
		}
		return
	}
	cl := t.in.ClosureOf(args[0])
	if cl == nil {
		cl = t.in.WrapperOf(args[0])
	}
	switch {
	case cl != nil:
	case *(*unsafe.Pointer)(args[0]) == nil:
		panic(&torch.Error{Op: "torch.Compile", Msg: "the argument is nil"})
	case opts.fullgraph:
		panic(&torch.Error{Op: "torch.Compile", Msg: noProgram})
	default:
		t.cfg.note("torch.Compile: " + noProgram)
		t.in.Copy(typ, result, args[0])
		return
	}
	if opts.disable {
		t.in.MakeFunc(result, sig, cl)
		return
	}
	t.in.MakeFunc(result, sig, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: t.compiledOf(cl, opts, t.callerPos(call))})
}

// noProgram is said of torch.Compile(torch.Relu).
const noProgram = "the argument is a function of torch itself, which runs as it is: to capture it, compile a function that calls it"

// compiledOf is what an earlier Compile of the same function with the same options has
// made, so that Compile in a loop compiles once, as in PyTorch; else a new one. Results
// under reduce-overhead belong to what Compile returned.
func (t *Tracer) compiledOf(cl *host.Closure, opts options, at logs.Pos) *Compiled {
	key, ok := t.compileKey(cl, opts)
	if !ok {
		c := t.newCompiled(cl.Fn, opts)
		made, _ := t.alone.LoadOrStore(t.aloneKey(cl, opts, at), new(atomic.Int64))
		c.made, c.madeAt = made.(*atomic.Int64), at
		c.made.Add(1)
		return c
	}
	if c, there := t.same.Load(key); there {
		c := c.(*Compiled)
		c.made.Add(1)
		return c
	}
	c := t.newCompiled(cl.Fn, opts)
	c.made, c.madeAt = new(atomic.Int64), at
	c.made.Store(1)
	t.same.Store(key, c)
	return c
}

// compileKey identifies a function and options; false where two cannot be compared. A
// function literal is one function whatever it captures: guards compare that, as PyTorch's
// entries belong to a code object. A method value goes with its receiver.
func (t *Tracer) compileKey(cl *host.Closure, opts options) (string, bool) {
	if opts.backend != nil || opts.mode != modes.Default {
		return "", false
	}
	var sb strings.Builder
	fmt.Fprintf(&sb, "%p %+v", cl.Fn, opts)
	if cl.Fn.Parent() != nil {
		return sb.String(), true
	}
	for i, v := range cl.Fn.FreeVars {
		if _, ptr := v.Type().Underlying().(*types.Pointer); !ptr {
			return "", false
		}
		fmt.Fprintf(&sb, " %p", *(*unsafe.Pointer)(cl.Free[i]))
	}
	return sb.String(), true
}

// aloneKey identifies a function that a line gives to Compile, where each call compiles it
// apart. Numbers that a literal captures may differ, as they do in a loop; what it captures
// else is compared, so that the models of a constructor are not taken for one.
func (t *Tracer) aloneKey(cl *host.Closure, opts options, at logs.Pos) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%p %s:%d %s", cl.Fn, at.File, at.Line, opts.mode)
	for i, v := range cl.Fn.FreeVars {
		cell, ok := v.Type().Underlying().(*types.Pointer)
		if !ok {
			fmt.Fprintf(&sb, " %p", cl.Free[i])
			continue
		}
		at := *(*unsafe.Pointer)(cl.Free[i])
		if cl.Fn.Parent() != nil { // a literal: the variable, whose cell is new in each round
			switch cell.Elem().Underlying().(type) {
			case *types.Basic:
				continue
			case *types.Pointer:
				at = *(*unsafe.Pointer)(at)
			}
		}
		fmt.Fprintf(&sb, " %p", at)
	}
	return sb.String()
}

func (t *Tracer) newCompiled(fn *ssa.Function, opts options) *Compiled {
	c := &Compiled{t: t, fn: fn, opts: opts, made: new(atomic.Int64), cache: map[string]*frameCache{}}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.compiled = append(t.compiled, c)
	return c
}

// compileModule compiles the method Forward of the module at p, for this one object.
func (t *Tracer) compileModule(typ types.Type, p unsafe.Pointer, opts options) {
	refuse := func(why string) {
		panic(&torch.Error{Op: "torch.Compile", Msg: why})
	}
	if types.IsInterface(typ) {
		typ, p = t.in.Dynamic(typ, p)
	}
	if typ == nil {
		refuse("the argument is nil")
	}
	sel := types.NewMethodSet(typ).Lookup(nil, "Forward")
	if sel == nil {
		refuse(fmt.Sprintf("the argument is of type %s, which is no function and has no method Forward", typeName(typ)))
	}
	path := sel.Index()
	for _, i := range path[:len(path)-1] { // Forward of what is embedded
		if ptr, ok := typ.Underlying().(*types.Pointer); ok {
			if p, typ = *(*unsafe.Pointer)(p), ptr.Elem(); p == nil {
				refuse("the argument embeds a module that is nil")
			}
		}
		st, ok := typ.Underlying().(*types.Struct)
		if !ok {
			break
		}
		p, typ = unsafe.Add(p, t.in.Rep(typ).Field(i).Offset), st.Field(i).Type()
		if types.IsInterface(typ) {
			t.compileModule(typ, p, opts)
			return
		}
	}
	recv := p
	if _, ok := typ.Underlying().(*types.Pointer); ok {
		recv = *(*unsafe.Pointer)(p)
	} else if len(path) == 1 {
		refuse(fmt.Sprintf("%s is no pointer: a copy of it has no code of its own; pass net.Forward", typeName(typ)))
	}
	fn := t.prog.SSA.FuncValue(sel.Obj().(*types.Func))
	switch {
	case recv == nil:
		refuse("the argument is nil")
	case fn == nil || fn.Signature.Recv() == nil || !isPointer(fn.Signature.Recv().Type()):
		refuse(fmt.Sprintf("%s has no Forward with a pointer receiver; pass net.Forward", typeName(typ)))
	case opts.disable:
	case !t.in.CompileMethod(fn, recv, t.newCompiled(fn, opts)):
		refuse(fmt.Sprintf("Forward of %s has no source here", typeName(typ)))
	}
}

// checkBackend refuses unknown backends and modes that a backend does not honour. It
// returns the mode to compile with: one that the backend only passes over is default.
func (t *Tracer) checkBackend(o options) (mode string, err error) {
	if o.backend == nil {
		if _, err := t.cfg.Backend(o.named); err != nil {
			return "", err
		}
	}
	over, err := modes.Check(o.backendName(), o.mode)
	if over {
		t.cfg.note(fmt.Sprintf("backend %s passes over mode %q", o.backendName(), o.mode))
		return modes.Default, nil
	}
	return o.mode, err
}

// disableIntrinsic is compiler.Disable: calls of what it returns run eager.
func (t *Tracer) disableIntrinsic(th *host.Thread, call *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	cl, sig := t.functionArgument(call, args[0], "compiler.Disable")
	c := &Compiled{t: t, fn: cl.Fn, disabled: true}
	for _, o := range *(*[]torch.Option)(args[1]) {
		switch v, isBool := o.Value.(bool); {
		case o.Name == "recursive" && isBool:
			c.nested = !v
		case o.Name == "reason":
		default:
			panic(&torch.Error{Op: "compiler.Disable", Msg: fmt.Sprintf("unexpected option %q", o.Name)})
		}
	}
	t.in.MakeFunc(result, sig, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: c})
}

// assumeConstantIntrinsic is compiler.AssumeConstantResult.
func (t *Tracer) assumeConstantIntrinsic(th *host.Thread, call *host.Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	cl, sig := t.functionArgument(call, args[0], "compiler.AssumeConstantResult")
	t.in.MakeFunc(result, sig, &host.Closure{Fn: cl.Fn, Free: cl.Free, Compiled: &Compiled{t: t, fn: cl.Fn, constant: true}})
}

// resetIntrinsic is compiler.Reset: it forgets all entries.
func (t *Tracer) resetIntrinsic(*host.Thread, *host.Frame, []unsafe.Pointer, unsafe.Pointer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.resets.Add(1)
	for _, c := range t.compiled {
		c.mu.Lock()
		for _, fc := range c.cache {
			fc.entries.Store(nil)
			fc.reset.Store(true)
		}
		c.cache = map[string]*frameCache{}
		c.entry.Store(nil)
		c.mu.Unlock()
	}
}

// resultType is the type F of a call of a generic marker F -> F.
func resultType(call *host.Frame, who string) types.Type {
	if call == nil {
		panic(&torch.Error{Op: who, Msg: "it cannot be called through native code"})
	}
	in := call.Code.Instrs[call.PC-1].(ssa.CallInstruction) // a waiting frame stands behind its call
	return in.Common().Signature().Results().At(0).Type()
}

// functionArgument reads a func value handed to a generic marker F -> F.
func (t *Tracer) functionArgument(call *host.Frame, arg unsafe.Pointer, who string) (*host.Closure, *types.Signature) {
	t0 := resultType(call, who)
	sig, ok := t0.Underlying().(*types.Signature)
	if !ok {
		panic(&torch.Error{Op: who, Msg: fmt.Sprintf("the argument is no function but of type %s; pass net.Forward", typeName(t0))})
	}
	cl := t.in.ClosureOf(arg)
	if cl == nil {
		panic(&torch.Error{Op: who, Msg: "the argument is nil or a native function"})
	}
	return cl, sig
}

// options are the keyword arguments of torch.Compile.
type options struct {
	backend   torch.BackendFunc // a user's own
	named     string
	mode      string
	fullgraph bool
	dynamic   dynamicMode
	disable   bool
	name      string
	limit     int
}

type dynamicMode uint8

const (
	dynamicAuto dynamicMode = iota
	dynamicAlways
	dynamicNever
)

// configured is how sizes are compiled where kw.Dynamic does not say.
func configured(s compiler.Settings) dynamicMode {
	switch {
	case !s.AssumeStaticByDefault:
		return dynamicAlways
	case !s.AutomaticDynamicShapes:
		return dynamicNever
	}
	return dynamicAuto
}

func (t *Tracer) parseOptions(list []torch.Option) (options, error) {
	s := compiler.Config()
	o := options{named: "inductor", mode: "default", limit: s.RecompileLimit, dynamic: configured(s)}
	if t.cfg.DefaultBackend != "" {
		o.named = t.cfg.DefaultBackend
	}
	for _, opt := range list {
		if err := o.set(opt); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (o *options) set(opt torch.Option) error {
	var ok bool
	switch opt.Name {
	case "backend":
		return o.setBackend(opt.Value)
	case "mode":
		o.mode, ok = opt.Value.(string)
	case "fullgraph":
		o.fullgraph, ok = opt.Value.(bool)
	case "dynamic":
		var v bool
		if v, ok = opt.Value.(bool); ok {
			o.dynamic = map[bool]dynamicMode{true: dynamicAlways, false: dynamicNever}[v]
		}
	case "disable":
		o.disable, ok = opt.Value.(bool)
	case "name":
		o.name, ok = opt.Value.(string)
	case "recompile_limit":
		o.limit, ok = opt.Value.(int)
	default:
		return fmt.Errorf("unknown option %q", opt.Name)
	}
	if !ok {
		return fmt.Errorf("option %s: unexpected value %v", opt.Name, opt.Value)
	}
	return nil
}

// setBackend takes a name or a function.
func (o *options) setBackend(v any) error {
	if name, ok := v.(string); ok {
		o.named = name
		return nil
	}
	f, want := reflect.ValueOf(v), reflect.TypeFor[torch.BackendFunc]()
	if !f.IsValid() || !f.CanConvert(want) || f.IsNil() {
		return fmt.Errorf("option backend: want a name or a torch.BackendFunc, got %T", v)
	}
	o.backend = f.Convert(want).Interface().(torch.BackendFunc)
	return nil
}

func (o options) backendName() string {
	if o.backend != nil {
		return "custom"
	}
	return o.named
}

// backendFor returns the backend that the options ask for.
func (t *Tracer) backendFor(o options) Backend {
	if o.backend != nil {
		return userBackend{o.backend}
	}
	b, err := t.cfg.Backend(o.named)
	if err != nil {
		panic(&torch.Error{Op: "torch.Compile", Msg: err.Error()})
	}
	return b
}

// userBackend runs a backend function of the program.
type userBackend struct{ f torch.BackendFunc }

func (userBackend) Name() string { return "custom" }

func (b userBackend) Compile(r *Request) (Runnable, error) {
	run, err := b.f(torch.NewGraphModule(r.Module), r.Example)
	if err == nil && run == nil {
		err = fmt.Errorf("it returned no function")
	}
	return run, err
}

// worksOnTensors are functions that are no operators of their own and become some.
var worksOnTensors = map[string]bool{
	"tcdbg/torch.NoGrad": true, "tcdbg/torch/autograd.Apply": true, "(*tcdbg/torch.Tensor).At": true, "(*tcdbg/torch.Tensor).SetAt": true,
}

// beginsTensorWork reports whether a call is that of a tensor operator by name,
// or of a function that becomes operators.
func (t *Tracer) beginsTensorWork(c *ssa.Call) bool {
	fn := c.Call.StaticCallee()
	if fn == nil {
		return false
	}
	if v, ok := t.operators.Load(fn); ok {
		return v.(bool)
	}
	b, ok := t.bindings[fn.String()]
	is := ok && !ops.Get(b.Op).Tags.Has(ops.TagDataDependent) && !makesComplex(b.Op) || worksOnTensors[fn.String()]
	t.operators.Store(fn, is)
	return is
}

// onComplex reports whether a call in f takes a complex tensor, which no graph holds.
func onComplex(f *host.Frame, c *ssa.Call) bool {
	for _, a := range c.Call.Args {
		if !isTensor(a.Type()) {
			continue
		}
		if t := *(**torch.Tensor)(f.Addr(a)); t != nil && t.DType() == ops.Complex64 {
			return true
		}
	}
	return false
}

// byMask reports whether a call in f is a subscript by a mask: the shape of what it
// selects depends on data.
func byMask(f *host.Frame, c *ssa.Call) bool {
	if fn := c.Call.StaticCallee(); fn == nil || fn.String() != "(*tcdbg/torch.Tensor).At" {
		return false
	}
	for _, s := range *(*[]any)(f.Addr(c.Call.Args[1])) {
		if t, ok := s.(*torch.Tensor); ok && t != nil && maskDims(t) > 0 {
			return true
		}
	}
	return false
}

// intrinsicNative reports whether fn has a body but is handled by name.
func (t *Tracer) intrinsicNative(fn *ssa.Function) bool {
	name := originName(fn)
	return strings.HasPrefix(name, "tcdbg/torch/compiler.") || strings.HasPrefix(name, "tcdbg/torch.Compile") ||
		t.prog.StandardLibrary(fn)
}

func originName(fn *ssa.Function) string {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	return fn.String()
}

// closure is the closure behind the callee of a call through a func value.
func (tr *trace) closure(c *ssa.CallCommon) *host.Closure {
	if c.IsInvoke() || c.StaticCallee() != nil {
		return nil
	}
	return tr.in.ClosureOf(tr.addr(c.Value))
}

// posOf is the place in the user's program where the top frame of a thread
// stands.
func (t *Tracer) posOf(f *host.Frame) logs.Pos { return t.posAt(f, 0) }

// callerPos is the place of the call in which a frame waits.
func (t *Tracer) callerPos(f *host.Frame) logs.Pos { return t.posAt(f, -1) }

func (t *Tracer) posAt(f *host.Frame, off int) logs.Pos {
	if f == nil || f.PC+off < 0 || f.PC+off >= len(f.Code.Instrs) {
		return logs.Pos{}
	}
	p := t.prog.Pos(f.Code.Instrs[f.PC+off])
	if !p.IsValid() || f.Code.Fn.Synthetic != "" && f.Code.Fn.Pkg == nil {
		return logs.Pos{}
	}
	return logs.Pos{
		File: filepath.ToSlash(p.Filename), Line: p.Line, Col: p.Column,
		Func: funcName(f.Code.Fn), Code: strings.TrimRight(t.prog.SourceLine(p.Filename, p.Line), " \t\r"),
	}
}
