package compiler

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Settings are the compiler's knobs, named as torch._dynamo.config names them. RecompileLimit,
// AutomaticDynamicShapes, AssumeStaticByDefault and TraceAutogradOps hold for the calls of torch.Compile
// that follow, whose own options go before them; the others for all calls of compiled functions from
// now on.
//
// What torch._dynamo.config has besides, and guides or hints of PyTorch name, has nothing to switch in a Go program:
//   - trace_numpy, use_numpy_random_stream, numpy_default_float: a Go program has no NumPy.
//   - allow_rnn: LSTM, GRU and RNN are captured as any operator.
//   - optimize_ddp, compiled_autograd: there is no distributed training, and no autograd engine apart from the compiler.
//   - inline_inbuilt_nn_modules, capture_func_transforms, nested_graph_breaks, enable_trace_contextlib,
//     enable_faithful_generator_behavior, enable_trace_load_build_class: what they ask for is always done, or is of
//     Python's own constructs.
//   - skip_nnmodule_hook_guards, guard_nn_modules: a module is a struct; each field that is read has its guard.
//   - dead_code_elimination, minimum_call_count, dynamic_shapes: they do nothing in PyTorch either.
type Settings struct {
	// RecompileLimit is how many entries a frame may have before it runs eagerly
	// (kw.RecompileLimit).
	RecompileLimit int
	// CacheSizeLimit is RecompileLimit under its older name: a change of one is one of both.
	CacheSizeLimit int
	// AccumulatedRecompileLimit is how many entries the code of a function may have in all, over every object and
	// option that it is compiled for, before what is compiled next runs eagerly.
	AccumulatedRecompileLimit int
	// AutomaticDynamicShapes makes a size that changes a symbol; without it every
	// size is a constant (kw.Dynamic(false)).
	AutomaticDynamicShapes bool
	// AssumeStaticByDefault compiles sizes as constants first; without it they are
	// symbols at once (kw.Dynamic(true)).
	AssumeStaticByDefault bool
	// ForceParameterStaticShapes has the sizes of a module's parameters be constants, also under kw.Dynamic(true) and where they
	// change. Without it they are treated as those of any tensor. A size that is marked is what its mark says.
	ForceParameterStaticShapes bool
	// SpecializeInt has every int that reaches an operator be a constant of the graph, also one that changes.
	SpecializeInt bool
	// SpecializeFloat has every float that reaches an operator be a constant of the graph, also one that changes.
	SpecializeFloat bool
	// AllowUnspecIntOnNNModule has an int that hangs below a pointer, as the fields of a module do, be a symbol once it
	// was seen to change. Without it such an int is a constant, unless the function itself sets it.
	AllowUnspecIntOnNNModule bool
	// AllowIgnoreMarkDynamic has MarkDynamic be MaybeMarkDynamic: a size that the code makes a constant is no error.
	AllowIgnoreMarkDynamic bool
	// CaptureScalarOutputs has a number that is read out of a tensor be a symbol of the graph, with which the
	// program may compute, and of whole numbers (u0) make tensors of that size; numbers with a fraction are
	// zuf0. Without it the graph breaks there.
	CaptureScalarOutputs bool
	// CaptureDynamicOutputShapeOps has Nonzero, MaskedSelect, Unique and UniqueConsecutive be nodes of the graph, with a
	// symbol (u0) for how many elements they find; without it the graph breaks there.
	CaptureDynamicOutputShapeOps bool
	// TraceAutogradOps has calls of Tensor.Backward captured (kw.CaptureBackward(true)).
	TraceAutogradOps bool
	// SuppressErrors has a function run eagerly whose graph the backend cannot compile, which
	// is said once; without it the error goes to the caller. Under kw.Fullgraph(true) it always does.
	SuppressErrors bool
	// ErrorOnRecompile refuses a call that would recompile.
	ErrorOnRecompile bool
	// FailOnRecompileLimitHit refuses the call that reaches RecompileLimit, in place of running it eagerly.
	FailOnRecompileLimitHit bool
	// Verbose has errors of the compiler hold the program's whole stack and the graph that was captured.
	Verbose bool
	// Disable has every call of a compiled function run eagerly.
	Disable bool
	// ReorderableLoggingFunctions are functions such as fmt.Println that print: a call of one does not break the graph,
	// it is made when the graph has run. So it prints what an object holds then, and a panic of the graph comes before it.
	// A call whose result the program uses breaks the graph all the same.
	ReorderableLoggingFunctions []any
	// IgnoreLoggingFunctions are functions that print, calls of which compiled code leaves out. A call whose result the
	// program uses breaks the graph all the same.
	IgnoreLoggingFunctions []any
}

// defaults are PyTorch's, and what its environment variables say.
func defaults() Settings {
	return Settings{
		RecompileLimit: 8, CacheSizeLimit: 8, AccumulatedRecompileLimit: 256, AssumeStaticByDefault: true,
		ForceParameterStaticShapes:   true,
		AutomaticDynamicShapes:       os.Getenv("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES") != "0",
		CaptureScalarOutputs:         os.Getenv("TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS") == "1",
		CaptureDynamicOutputShapeOps: os.Getenv("TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS") == "1",
		SuppressErrors:               os.Getenv("TORCHDYNAMO_SUPPRESS_ERRORS") != "",
		Verbose:                      os.Getenv("TORCHDYNAMO_VERBOSE") == "1",
		Disable:                      os.Getenv("TORCH_COMPILE_DISABLE") == "1",
	}
}

var config struct {
	mu  sync.Mutex // held while they are changed
	now atomic.Pointer[Settings]
}

// Config returns the settings.
func Config() Settings { return settings().clone() }

func settings() *Settings {
	if s := config.now.Load(); s != nil {
		return s
	}
	s := defaults()
	config.now.CompareAndSwap(nil, &s)
	return config.now.Load()
}

// clone is s with lists of its own.
func (s Settings) clone() Settings {
	s.ReorderableLoggingFunctions = slices.Clone(s.ReorderableLoggingFunctions)
	s.IgnoreLoggingFunctions = slices.Clone(s.IgnoreLoggingFunctions)
	return s
}

// Configure changes the settings and returns what they were. It panics for a
// limit below 1, for settings that contradict each other, and for a logging function that is none.
func Configure(change func(*Settings)) Settings {
	config.mu.Lock()
	defer config.mu.Unlock()
	old := settings().clone()
	s := old.clone()
	change(&s)
	switch {
	case s.CacheSizeLimit == old.CacheSizeLimit:
		s.CacheSizeLimit = s.RecompileLimit
	case s.RecompileLimit == old.RecompileLimit:
		s.RecompileLimit = s.CacheSizeLimit
	case s.RecompileLimit != s.CacheSizeLimit:
		panic("compiler.Configure: RecompileLimit and CacheSizeLimit are one setting, and were given two values")
	}
	if s.SuppressErrors && s.FailOnRecompileLimitHit {
		panic("compiler.Configure: SuppressErrors and FailOnRecompileLimitHit contradict each other")
	}
	if s.RecompileLimit < 1 {
		panic(fmt.Sprintf("compiler.Configure: RecompileLimit %d is below 1", s.RecompileLimit))
	}
	if s.AccumulatedRecompileLimit < 1 {
		panic(fmt.Sprintf("compiler.Configure: AccumulatedRecompileLimit %d is below 1", s.AccumulatedRecompileLimit))
	}
	checkLogging("ReorderableLoggingFunctions", s.ReorderableLoggingFunctions)
	checkLogging("IgnoreLoggingFunctions", s.IgnoreLoggingFunctions)
	s = s.clone()
	config.now.Store(&s)
	return old
}

// checkLogging panics for what is no function.
func checkLogging(setting string, list []any) {
	for _, f := range list {
		if v := reflect.ValueOf(f); v.Kind() != reflect.Func || v.IsNil() {
			panic(fmt.Sprintf("compiler.Configure: %s holds a %T, which is no function", setting, f))
		} else if name, bound := strings.CutSuffix(runtime.FuncForPC(v.Pointer()).Name(), "-fm"); bound {
			panic(fmt.Sprintf("compiler.Configure: %s is given with its receiver; a logging function is given as the method "+
				"expression alone, such as (*log.Logger).Println", name))
		}
	}
}
