package tracer

import (
	"sync"
	"sync/atomic"

	"tcdbg/logs"
	"tcdbg/logs/calls"
	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/eval"
	"tcdbg/tracer/host"
	"tcdbg/tracer/stop"
	"tcdbg/tracer/value"
)

// This file is the tracer's face to the host: it replaces torch.Compile and the
// compiler's markers, and gets every call of a compiled function.

// Config is what the tracer needs from its surroundings.
type Config struct {
	Sink logs.Sink // trace records; nil drops them
	// Backend finds a backend by name.
	Backend func(name string) (Backend, error)
	// Wrap, where set, gets every backend before it compiles, those of the program too.
	Wrap func(Backend) Backend
	// DefaultBackend is that of functions which name none; empty: inductor.
	DefaultBackend string
	// KernelTimes, where set, returns the totals of kernels that are to be
	// written again; last: before the program ends.
	KernelTimes func(last bool) []logs.KernelTime
	// Note, where set, gets what a program's author should know and that is no error,
	// once each.
	Note func(text string)
	// Steps is how finely traces are logged, step by step.
	Steps eval.StepLog
	// Bytecode has the SSA of each traced frame recorded, and what its entry does in its place.
	Bytecode bool
	// RecordSteps has the steps of each trace recorded.
	RecordSteps bool
	// Calls has every call of a compiled function recorded; CallsMissing is what the trace
	// says where they are not.
	Calls        bool
	CallsMissing string
	// Stops, where set, stops the program.
	Stops *stop.Debugger

	// Of a trial: what replaces the program's options; what gets each outermost call of a
	// compiled function at its end, and each size that was marked.
	Override *Override
	Called   func(*Call)
	// Calling, where set, gets each outermost call at its beginning, with the tensors that it can reach.
	Calling func(th *host.Thread, reached []*torch.Tensor)
	// Graded, where set, gets the gradients after each backward pass; Recording says whether what
	// calls write and gradients are still wanted, nil: they are.
	Graded    func(*Graded)
	Recording func() bool
	Marked    func(Mark)
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
	env      *eval.Env

	frames  atomic.Int64
	graphs  atomic.Int64
	resets  atomic.Int64 // calls of compiler.Reset
	off     sync.Map     // *host.Thread -> int: depth at which compiling was disabled
	active  sync.Map     // *host.Thread -> *Compiled: whose region waits for the host
	callees sync.Map     // calleeKey -> *Compiled: frames of their own
	same    sync.Map     // key of compileKey -> *Compiled
	alone   sync.Map     // key of aloneKey -> *atomic.Int64
	alike   sync.Map     // key of familyKey -> *family

	accumulated sync.Map // place -> *atomic.Int64: entries

	named    names        // of tensors that collect gradients, in a trial
	watched  sync.Map     // *host.Thread -> true: it is in a call that Config.Called gets
	compiles atomic.Int64 // begun so far

	mu       sync.Mutex
	compiled []*Compiled
	caches   []*frameCache

	operators sync.Map // *ssa.Function -> bool
	exported  sync.Map // *torch.ExportedProgram -> *exportedProgram
}

// New returns a tracer for prog.
func New(prog *host.Program, cfg Config) *Tracer {
	sink := cfg.Sink
	if sink == nil {
		sink = (*logs.Writer)(nil)
	}
	t := &Tracer{cfg: cfg, sink: sink, prog: prog, bindings: torch.Bindings()}
	if cfg.Calls {
		torch.CountTraffic()
	}
	t.env = &eval.Env{Prog: prog, Bindings: t.bindings, Steps: cfg.Steps, Sink: sink}
	t.env.Scalars = func() bool { return compiler.Config().CaptureScalarOutputs }
	t.env.Rows = func() bool { return compiler.Config().CaptureDynamicOutputShapeOps }
	value.ForgetWith(t, prog.SSA)
	if cfg.Graded != nil {
		torch.OnBackward(t.graded)
	}
	return t
}

// IsOperator reports whether a function of that full name is a tensor operator.
func IsOperator(name string) bool { return eval.IsOperator(operatorNames(), name) }

var operatorNames = sync.OnceValue(torch.Bindings)

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
	cfg.Intrinsics["tcdbg/torch.Scripted"] = t.scriptedIntrinsic
	cfg.Intrinsics["runtime/debug.SetGCPercent"] = setPercent
	cfg.Compiled = t.onCall
	cfg.Counted = func(name string) bool { return eval.IsOperator(t.bindings, name) }
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
			c.aside(calls.Disabled)
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
		c.aside(calls.Deferred)
		return false
	}
	if t.cfg.Stops.Wants(logs.StopCall) {
		t.cfg.Stops.At(stop.Event{Kind: logs.StopCall, Thread: th, Frame: f, Compiled: c.name()})
	}
	if t.cfg.Called != nil {
		return t.watch(c, th, f)
	}
	return c.run(th, f)
}

func (t *Tracer) nextFrame() int { return int(t.frames.Add(1)) - 1 }

func (t *Tracer) nextGraph() int { return int(t.graphs.Add(1)) - 1 }

func (t *Tracer) register(fc *frameCache) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.caches = append(t.caches, fc)
}
