package torch

import (
	"io"
	"reflect"
	"slices"

	"tcdbg/torch/compiler/modes"
	"tcdbg/torch/internal/refusal"
)

// Option is a keyword argument of an operator, a module or Compile; package kw
// has a constructor for each: kw.Dim(1), kw.Mode("reduce-overhead").
type Option struct {
	Name  string
	Value any
}

// Compile returns a function of the same type that tcdbg compiles on its first
// call. Under `go run` it returns f itself. Of a module, a pointer with a method
// Forward, it returns the same pointer and compiles calls of that Forward, as
// PyTorch's net.compile() does. It panics for anything else. Compiling one function
// again with the same options shares what was compiled; a function literal is one
// function whatever it captures, and a change of that may recompile it.
//
// Options: kw.Backend (name or BackendFunc), kw.Mode, kw.Fullgraph, kw.Dynamic,
// kw.Options, kw.Disable, kw.Name, kw.RecompileLimit, kw.CaptureBackward,
// kw.ActivationMemoryBudget.
//
// With kw.CaptureBackward(true), which PyTorch does not have, loss.Backward() within f is
// captured: the gradients are computed in the graph that computes the loss, and what comes
// after, the step of an optimizer, is part of it, too. A call that no graph can hold
// breaks the graph as it does without the option, for a reason that says why.
//
// kw.ActivationMemoryBudget, 0 to 1, bounds the memory of what a graph saves for its backward pass, as
// torch._functorch.config.activation_memory_budget does. At 1, the default, it saves what makes
// a step fastest: what is cheap to compute again is not saved. Below, it saves at most that part
// of those bytes, and computes the rest again in the backward pass, at 0 all that is no input; only
// random numbers are never drawn twice. A backward pass that kw.CaptureBackward has captured is in the graph of
// its loss, for which nothing is saved: the budget has no effect there, and a note says so.
//
// kw.Options has names and values of torch._inductor.config: epilogue_fusion, layout_optimization,
// max_fusion_size, max_autotune, coordinate_descent_tuning and triton.cudagraphs, which is mode reduce-overhead,
// as compiler.ListOptions lists them. Others are refused, with the name that is spelt most like it. As in PyTorch
// there is either a mode or options.
//
// With kw.Mode("reduce-overhead") a call without gradients allocates nothing:
// each goroutine's results keep their memory, and a later call of the function
// on that goroutine overwrites them. The last call's results may be inputs of
// the next one; clone what must live longer.
//
// With kw.Mode("max-autotune") candidates are timed when a graph is compiled: layouts of images, forms of convolutions,
// threads and tiles of kernels. What is faster than the default beyond noise is kept, on disk, too, so that the next
// process times nothing. Results keep their memory as under reduce-overhead; under "max-autotune-no-cudagraphs" they do not.
func Compile[F any](f F, opts ...Option) F {
	checkCompile(f, opts)
	return f
}

// BackendFunc compiles a captured graph: gm is the graph, example has one value
// for each of its inputs. What it returns is called in place of the graph.
type BackendFunc func(gm *GraphModule, example []Value) (func([]Value) []Value, error)

// GraphModule is a captured graph as a user's backend sees it.
type GraphModule struct{ impl GraphImpl }

// GraphImpl is what the compiler puts behind a GraphModule (package graph).
type GraphImpl interface {
	// Name is the graph's name: __compiled_fn_1.
	Name() string
	// PrintTabular writes the table opcode, name, target, args, kwargs.
	PrintTabular(w io.Writer)
	// Code is the graph as FX Python text.
	Code() string
	// GoCode is the graph as a Go function that compiles.
	GoCode() string
	// Ops lists the operators in order: "abs", "add", ...
	Ops() []string
	// Run interprets the graph, operator by operator, eagerly.
	Run(inputs []Value) []Value
}

// NewGraphModule wraps a compiler's graph.
func NewGraphModule(g GraphImpl) *GraphModule { return &GraphModule{g} }

// Impl returns the compiler's graph.
func (m *GraphModule) Impl() GraphImpl { return m.impl }

// Name is the graph's name.
func (m *GraphModule) Name() string { return m.impl.Name() }

// PrintTabular writes the graph as a table to w.
func (m *GraphModule) PrintTabular(w io.Writer) { m.impl.PrintTabular(w) }

// Code is the graph as FX Python text.
func (m *GraphModule) Code() string { return m.impl.Code() }

// GoCode is the graph as a Go function.
func (m *GraphModule) GoCode() string { return m.impl.GoCode() }

// Ops lists the graph's operators in order.
func (m *GraphModule) Ops() []string { return m.impl.Ops() }

// Forward runs the graph eagerly; a backend that only looks returns it.
func (m *GraphModule) Forward(inputs []Value) []Value { return m.impl.Run(inputs) }

// ExplainOutput is what Explain reports.
type ExplainOutput struct {
	GraphCount      int
	GraphBreakCount int
	OpCount         int
	BreakReasons    []BreakReason
	OpsPerGraph     [][]string
	OutGuards       []string
	CompileTimes    string
	text            string
}

// BreakReason is one graph break of an ExplainOutput.
type BreakReason struct {
	Code      string // GB0170
	Reason    string
	UserStack []string // outermost first, FILE:LINE in FUNC
}

// NewExplainOutput is for the compiler: text is what String returns.
func NewExplainOutput(o ExplainOutput, text string) *ExplainOutput {
	o.text = text
	return &o
}

// String is the report as torch._dynamo.explain prints it.
func (o *ExplainOutput) String() string { return o.text }

// Explain runs f under the compiler and reports graphs, breaks and guards.
// Under `go run` it runs f and reports that the program needs tcdbg.
func Explain(f any) func(args ...any) *ExplainOutput {
	return func(args ...any) *ExplainOutput {
		callAny(f, args)
		return &ExplainOutput{text: "torch.Explain needs the compiler: run this program with `tcdbg run`\n"}
	}
}

// checkCompile panics for arguments that Compile refuses in both worlds.
func checkCompile(f any, opts []Option) {
	refuse := func(format string, args ...any) { refusal.Fail("torch.Compile", "RuntimeError", format, args...) }
	v := reflect.ValueOf(f)
	switch {
	case !v.IsValid() || (v.Kind() == reflect.Func || v.Kind() == reflect.Pointer) && v.IsNil():
		refuse("the argument is nil")
	case v.Kind() == reflect.Func:
	case !v.MethodByName("Forward").IsValid():
		refuse("the argument is of type %T, which is not a function and has no method Forward", f)
	case v.Kind() != reflect.Pointer:
		refuse("%T is not a pointer: a copy of it has no code of its own; pass net.Forward", f)
	}
	backend, mode, optioned := "inductor", "", false
	for _, o := range opts {
		ok := true
		switch o.Name {
		case "backend":
			if name, named := o.Value.(string); named {
				if backend = name; modes.Registered(name) != nil {
					backend = ""
				}
			} else if b := reflect.ValueOf(o.Value); !b.IsValid() || !b.CanConvert(reflect.TypeFor[BackendFunc]()) || b.IsNil() {
				refuse("option backend: want a name or a torch.BackendFunc, got %T", o.Value)
			} else {
				backend = ""
			}
		case "mode":
			mode, ok = o.Value.(string)
		case "options":
			optioned = true
			if _, err := modes.ParseOptions(o.Value); err != nil {
				refuse("%v", err)
			}
		case "fullgraph", "dynamic", "disable", "capture_backward":
			_, ok = o.Value.(bool)
		case "name":
			_, ok = o.Value.(string)
		case "recompile_limit":
			_, ok = o.Value.(int)
		case "activation_memory_budget":
			b, number := o.Value.(float64)
			if number && !(b >= 0 && b <= 1) {
				refuse("option activation_memory_budget: want 0 to 1, got %v", b)
			}
			ok = number
		default:
			refuse("unknown option %q", o.Name)
		}
		if !ok {
			refuse("option %s: unexpected value %v", o.Name, o.Value)
		}
	}
	if optioned && mode != "" {
		refuse(modes.Both)
	}
	if slices.ContainsFunc(opts, func(o Option) bool { return o.Name == "disable" && o.Value == true }) {
		return
	}
	if backend == "" {
		backend = "custom"
	} else if err := modes.CheckBackend(backend); err != nil {
		refuse("%v", err)
	}
	if _, err := modes.Check(backend, mode); err != nil {
		refuse("%v", err)
	}
	if optioned && backend == "custom" {
		refuse(modes.NotCustom)
	}
}

func callAny(f any, args []any) {
	v := reflect.ValueOf(f)
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		if a == nil {
			in[i] = reflect.Zero(v.Type().In(i))
			continue
		}
		in[i] = reflect.ValueOf(a)
	}
	v.Call(in)
}
