package eval

import (
	"reflect"
	"strings"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/torch"
	"tcdbg/tracer/breaks"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is the one place that knows functions by name: what a trace does at a call of
// each, and at which calls a region begins again after a break.

// intrinsic is what a trace does at a call of a function instead of running it.
type intrinsic struct {
	// eval does the call. Of a function with a body it may report false: then the body
	// is inlined as any other.
	eval func(tr *Trace, in *ssa.Call) bool
	// starts says that the call becomes operators, so that a graph may begin with it.
	starts bool
}

const (
	torchPath    = "tcdbg/torch."
	tensorMethod = "(*tcdbg/torch.Tensor)."
	compilerPath = "tcdbg/torch/compiler."
	optionPath   = "tcdbg/torch/kw."
	autogradPath = "tcdbg/torch/autograd."
	autogradType = "(*tcdbg/torch/autograd.Context)."
)

// intrinsics is the table. Operators are not in it: torch's bindings list them.
var intrinsics = map[string]intrinsic{
	tensorMethod + "At":       {eval: done(subscript), starts: true},
	tensorMethod + "SetAt":    {eval: done(storeAt), starts: true},
	tensorMethod + "Grad":     {eval: done(gradient)},
	tensorMethod + "SetGrad":  {eval: done(setGradient)},
	tensorMethod + "Backward": {eval: done(backward)},
	torchPath + "Range":       {eval: done(sliceRange)},
	torchPath + "NewTensor":   {eval: done(newTensor)},

	torchPath + "Check":                  {eval: done(checked)},
	torchPath + "NoGrad":                 {eval: done(inlineNoGrad), starts: true},
	torchPath + "Autocast":               {eval: done(inlineAutocast), starts: true},
	torchPath + "GradEnabled":            {eval: done(gradEnabled)},
	compilerPath + "IsCompiling":         {eval: done(isCompiling)},
	compilerPath + "GraphBreak":          {eval: refused(breaks.GraphBreakCall, "compiler.GraphBreak()")},
	compilerPath + "Cond":                {eval: enterCond, starts: true},
	compilerPath + "WhileLoop":           {eval: enterLoop, starts: true},
	compilerPath + "Switch":              {eval: enterSwitch, starts: true},
	compilerPath + "Map":                 {eval: enterMap, starts: true},
	compilerPath + "Scan":                {eval: enterScan, starts: true},
	compilerPath + "AssociativeScan":     {eval: enterAssociative, starts: true},
	torchPath + "Compile":                {eval: refused(breaks.RecursiveCompile, "call of torch.Compile")},
	torchPath + "HasGrad":                {eval: done(hasGradient)},
	torchPath + "Grad":                   {eval: done(gradientsAsked)},
	torchPath + "Backward":               {eval: done(gradientsAsked)},
	autogradPath + "Grad":                {eval: done(gradientsAsked)}, // at the program's call, not in the line that calls torch's
	autogradPath + "Backward":            {eval: done(gradientsAsked)},
	autogradPath + "Apply":               {eval: enterApply, starts: true},
	autogradPath + "recorded":            {eval: beginForward},
	autogradPath + "record":              {eval: done(enterBackward)},
	autogradPath + "version":             {eval: done(versionOf)},
	autogradPath + "nameOf":              {eval: done(nameOfFunction)},
	autogradType + "SetMaterializeGrads": {eval: setMaterializeGrads},

	"errors.New": {eval: done(makeError)},
	"fmt.Errorf": {eval: done(makeError)},
}

func init() {
	for _, name := range strings.Fields(`Size Shape Dim Numel Stride DType Device IsContiguous RequiresGrad IsLeaf StorageOffset`) {
		intrinsics[tensorMethod+name] = intrinsic{eval: done(func(tr *Trace, in *ssa.Call) { natives{tr}.query(in, "Tensor."+name) })}
	}
}

// done makes an intrinsic of a function that always does the whole call.
func done(eval func(*Trace, *ssa.Call)) func(*Trace, *ssa.Call) bool {
	return func(tr *Trace, in *ssa.Call) bool { eval(tr, in); return true }
}

// refused makes an intrinsic of a call that no graph can hold.
func refused(code, detail string) func(*Trace, *ssa.Call) bool {
	return func(*Trace, *ssa.Call) bool { breakAt(code, "%s", detail); return true }
}

// refusals are families of native functions that no graph can hold, by the first prefix
// that fits; anything else breaks as unknown.
var refusals = []struct{ prefix, code string }{
	{"fmt.Print", breaks.BuiltinPrint},
	{"fmt.Fprint", breaks.BuiltinPrint},
	{"log.", breaks.BuiltinPrint},
	{"time.", breaks.TimeFunction},
	{"(*sync/atomic.", breaks.GlobalWrite},
	{"sync/atomic.", breaks.GlobalWrite},
	{"(*sync.", breaks.LockHeld},
	{"math/rand", breaks.RandomState},
	{"(*math/rand", breaks.RandomState},
	{"(reflect.", breaks.ReflectCall},
	{"reflect.", breaks.ReflectCall},
}

// methodBreaks are the methods of a tensor that read what a graph has not computed yet.
var methodBreaks = map[string]string{
	"Bool": breaks.DataDependentBranching, "Item": breaks.TensorItem, "ItemInt": breaks.TensorItem,
	"Backward": breaks.TensorBackward, "RequiresGrad_": breaks.TensorRequiresGrad,
	"Data": breaks.TensorDataRead, "Float32s": breaks.TensorDataRead, "Float64s": breaks.TensorDataRead, "Ints": breaks.TensorDataRead,
	"Int64s": breaks.TensorDataRead, "Bools": breaks.TensorDataRead, "Complex64s": breaks.TensorDataRead, "String": breaks.TensorDataRead,
	"Format": breaks.TensorDataRead, "Storage": breaks.TensorDataRead, "Ptr": breaks.TensorDataRead,
}

// purePackages hold functions without state or effect on their arguments.
var purePackages = []string{
	"math.", "math/bits.", "math/cmplx.", "strings.", "strconv.", "unicode.", "unicode/utf8.", optionPath,
	"path.", "fmt.Sprint",
}

// impure are functions of those packages that write to their arguments or make
// objects with a state.
var impure = nameSet("", `strings.NewReader strings.NewReplacer strings.Map strings.FieldsFunc strings.IndexFunc
	strings.TrimFunc strings.TrimLeftFunc strings.TrimRightFunc strings.LastIndexFunc strings.ContainsFunc
	strconv.AppendInt strconv.AppendUint strconv.AppendFloat strconv.AppendBool strconv.AppendQuote
	strconv.AppendQuoteRune strconv.AppendQuoteToASCII strconv.AppendQuoteToGraphic
	unicode/utf8.AppendRune unicode/utf8.EncodeRune`)

func nameSet(prefix, names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[prefix+n] = true
	}
	return m
}

func pure(name string) bool {
	if impure[name] {
		return false
	}
	for _, p := range purePackages {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return strings.HasPrefix(name, "(tcdbg/ops.DType).") || strings.HasPrefix(name, "(tcdbg/ops.Device).")
}

// makesOption reports whether a function makes a keyword argument.
func makesOption(name string) bool { return strings.HasPrefix(name, optionPath) }

// isFunctional reports whether a function is how nn/functional calls an operator.
func isFunctional(name string) bool { return strings.HasPrefix(name, torchPath+"Functional") }

// Native reports whether fn has a body under the host, but is not inlined: it is the
// compiler's, or of the standard library.
func (e *Env) Native(fn *ssa.Function) bool {
	if known, ok := e.native.Load(fn); ok { // asked of every call between graphs, where to write a name would cost most of it
		return known.(bool)
	}
	is := e.isNative(fn)
	e.native.Store(fn, is)
	return is
}

func (e *Env) isNative(fn *ssa.Function) bool {
	name := originName(fn)
	return strings.HasPrefix(name, compilerPath) || strings.HasPrefix(name, torchPath+"Compile") || e.Prog.StandardLibrary(fn)
}

// IsCond reports whether fn is compiler.Cond, of which, where no graph can hold the call,
// the branch that is taken is captured.
func IsCond(fn *ssa.Function) bool { return is(fn, "Cond") }

// IsSwitch is IsCond for compiler.Switch.
func IsSwitch(fn *ssa.Function) bool { return is(fn, "Switch") }

// is reports whether fn is that function of package compiler. Its full name is written only where it may be.
func is(fn *ssa.Function, name string) bool {
	return fn != nil && fn.Name() == name && fn.String() == compilerPath+name
}

// originName is the name of fn, or of the generic function that it is an instance of.
func originName(fn *ssa.Function) string {
	if o := fn.Origin(); o != nil {
		fn = o
	}
	return fn.String()
}

// IsOperator reports whether a native function is an operator, or how nn/functional
// calls one.
func IsOperator(bindings map[string]torch.Binding, name string) bool {
	_, ok := bindings[name]
	return ok || isFunctional(name)
}

// StartsGraph reports whether fn is an operator that a graph can begin with, or becomes
// some.
func StartsGraph(bindings map[string]torch.Binding, fn *ssa.Function) bool {
	b, ok := bindings[fn.String()]
	return ok && !ops.Get(b.Op).Tags.Has(ops.TagDataDependent) || intrinsics[fn.String()].starts
}

// TakesData reports whether a call in f of a function that starts a graph takes what no
// graph holds: a mask as a subscript, which selects a number of elements that depends on data.
func TakesData(f *host.Frame, c *ssa.Call) bool { return byMask(f, c) }

func byMask(f *host.Frame, c *ssa.Call) bool {
	if fn := c.Call.StaticCallee(); fn == nil || fn.String() != tensorMethod+"At" {
		return false
	}
	for _, s := range *(*[]any)(f.Addr(c.Call.Args[1])) {
		if t, ok := s.(*torch.Tensor); ok && t != nil && maskDims(t) > 0 {
			return true
		}
	}
	return false
}

// isCompiling evaluates compiler.IsCompiling.
func isCompiling(tr *Trace, in *ssa.Call) { tr.answer(in, true) }

// gradEnabled evaluates torch.GradEnabled.
func gradEnabled(tr *Trace, in *ssa.Call) {
	if !tr.underNoGrad() {
		tr.inBackward("asks for the gradient mode")
	}
	tr.Guards.GradMode()
	tr.answer(in, torch.GradEnabled() && !tr.underNoGrad())
}

// answer gives a call a bool as its result.
func (tr *Trace) answer(in *ssa.Call, yes bool) {
	*(*bool)(tr.addr(in)) = yes
	tr.skip()
	tr.set(in, nil)
}

// gradientsAsked breaks at a call of Grad or Backward of torch or autograd.
func gradientsAsked(tr *Trace, in *ssa.Call) {
	name := "torch." + in.Call.StaticCallee().Name()
	tr.apartFrom(in)
	breakAt(breaks.TensorBackward, "call of %s", name)
}

// What follows is calls of functions that only print, which the program has named in its settings: they are left out, or made when
// the graph has run.

// Logging is a function that only prints.
type Logging struct {
	Name    string
	Func    reflect.Value
	Ignored bool // its calls are left out
}

// loggedCall is a call that is made when the graph has run.
type loggedCall struct {
	fn   Logging
	args []loggedArg
}

// loggedArg is an argument as it was at the call. What it points to may change until the graph has run.
type loggedArg struct {
	v       ssa.Value
	at      unsafe.Pointer
	tracked *value.Tracked
}

// logsLater does a call of a function that only prints. It reports false for any other call, and where something needs
// its result or it is in a body of control flow, which may run often or not at all.
func logsLater(tr *Trace, in *ssa.Call) bool {
	if len(tr.rules.Logging) == 0 || in.Call.IsInvoke() || used(in) {
		return false
	}
	l, is := tr.rules.Logging[tr.calleeName(in)]
	if !is || !l.Ignored && (tr.flowing != nil || tr.applying != nil) {
		return false
	}
	if !l.Ignored {
		call := loggedCall{fn: l}
		for _, v := range in.Call.Args {
			at := tr.In.New(v.Type())
			tr.In.Copy(v.Type(), at, tr.addr(v))
			call.args = append(call.args, loggedArg{v, at, tr.tracked(v)})
		}
		tr.later = append(tr.later, call)
	}
	tr.skip()
	tr.set(in, nil)
	return true
}

// calleeName is the full name of the function that a call reaches.
func (fs *frames) calleeName(in *ssa.Call) string {
	f := fs.th.Top()
	if fn, _ := f.Callee(&in.Call); fn != nil {
		return originName(fn)
	}
	return f.NativeName(&in.Call)
}

// used reports whether the program reads what a call returns.
func used(in *ssa.Call) bool {
	for _, by := range *in.Referrers() {
		if _, debug := by.(*ssa.DebugRef); !debug {
			return true
		}
	}
	return false
}

// logged says how the arguments of the calls are made again.
func (rs *reconstructor) logged(entry *replay.Entry) {
	for _, c := range rs.tr.later {
		l := replay.Logged{Name: c.fn.Name, Func: c.fn.Func}
		for _, a := range c.args {
			l.Args = append(l.Args, replay.Result{Type: a.v.Type(), From: rs.of(a.v.Type(), a.at, a.tracked)})
		}
		entry.Logged = append(entry.Logged, l)
	}
}
