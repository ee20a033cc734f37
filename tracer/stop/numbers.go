package stop

import (
	"fmt"
	"go/types"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file stops at kernels, and where a NaN or an Inf comes into being: in a result of
// an operator or kernel none of whose inputs has one.

// Kernel is one run of a generated kernel or extern call of a graph.
type Kernel struct {
	ID      logs.CompileID
	Graph   string
	Name    string
	Ops     []string
	Lines   []logs.Pos // of the program that it computes
	Inputs  []KernelTensor
	Outputs []KernelTensor
}

// KernelTensor is a buffer that a kernel reads or writes.
type KernelTensor struct {
	Name string
	T    *torch.Tensor
}

// graphs stops at what runs in compiled graphs and eager operators.
type graphs struct {
	d       *Debugger
	regions sync.Map     // goroutine -> region
	refused sync.Map     // graph that is not compared -> true
	born    atomic.Int64 // NaN and Inf that stopped, or would have
}

// region is a compiled call that a goroutine is in.
type region struct {
	th                *host.Thread
	compiled, compile string
}

// Runs reports whether the runs of graphs are watched.
func (d *Debugger) Runs() bool {
	return d != nil && mask(d.wanted.Load())&(bit(logs.StopKernel)|bit(logs.StopNaN)|bit(logs.StopDiffers)) != 0
}

// Enter says that the calling goroutine runs the graph of a cache entry, until the
// function that it returns is called.
func (w *graphs) Enter(th *host.Thread, compiled, compile string) func() {
	me := host.Goroutine(w.d.in)
	old, nested := w.regions.Load(me)
	w.regions.Store(me, region{th, compiled, compile})
	return func() {
		if nested {
			w.regions.Store(me, old)
		} else {
			w.regions.Delete(me)
		}
	}
}

// here is an event on the calling goroutine, in the midst of a graph.
func (w *graphs) here(kind logs.StopKind) Event {
	e := Event{Kind: kind}
	if r, ok := w.regions.Load(host.Goroutine(w.d.in)); ok {
		r := r.(region)
		e.Thread, e.Compiled, e.Compile = r.th, r.compiled, r.compile
	} else if th := host.ThreadOf(w.d.in); th != nil { // a backward graph runs in a call of compiled code
		e.Thread, e.Ran = th, true
	}
	return e
}

// Kernels reports whether kernels are to be run one by one.
func (d *Debugger) Kernels() bool {
	return d != nil && mask(d.wanted.Load())&(bit(logs.StopKernel)|bit(logs.StopNaN)) != 0
}

// BeforeKernel stops before a kernel runs.
func (w *graphs) BeforeKernel(k *Kernel) {
	if !w.d.Wants(logs.StopKernel) {
		return
	}
	e := w.here(logs.StopKernel)
	e.Text = func() []string { return append([]string{k.Name, k.Graph}, k.Ops...) }
	w.kernel(e, k, fmt.Sprintf("kernel %s of %s: %s", k.Name, k.Graph, strings.Join(k.Ops, " ")))
}

// AfterKernel stops where a kernel has made a NaN or an Inf.
func (w *graphs) AfterKernel(k *Kernel) {
	if !w.d.Wants(logs.StopNaN) {
		return
	}
	for _, in := range k.Inputs {
		if torch.NonFinite(in.T) != "" {
			return
		}
	}
	for _, out := range k.Outputs {
		if what := torch.NonFinite(out.T); what != "" {
			w.born.Add(1)
			w.kernel(w.here(logs.StopNaN), k, fmt.Sprintf(
				"kernel %s of %s gives %s in %s; none of its input tensors has any. It computes %s", k.Name, k.Graph, what, out.Name,
				strings.Join(k.Ops, " "),
			))
			return
		}
	}
}

func (w *graphs) kernel(e Event, k *Kernel, reason string) {
	e.Reason = reason
	if e.Compile == "" {
		e.Compile = fmt.Sprintf("%d/%d", k.ID.Frame, k.ID.Compile)
	}
	if len(k.Lines) > 0 {
		e.At = &k.Lines[0]
	}
	after := e.Kind == logs.StopNaN
	e.Fill = func(s *logs.Stop) {
		show := &show{in: w.d.in}
		for _, in := range k.Inputs {
			s.Symbolic = append(s.Symbolic, show.kernelTensor(in, "input"))
		}
		for _, out := range k.Outputs {
			v := show.kernelTensor(out, "output")
			if !after { // it holds what was there before
				v.Tensor.Min, v.Tensor.Max, v.Tensor.Mean, v.Tensor.First, v.Tensor.Histogram = "", "", "", nil, nil
				v.Tensor.NaN, v.Tensor.Inf, v.Unknown = 0, 0, "the kernel has not run"
			}
			s.Symbolic = append(s.Symbolic, v)
		}
		if e.Thread == nil {
			s.Missing = append(s.Missing, "the stack: the graph runs on a goroutine of compiled code")
		}
	}
	w.d.At(e)
}

func (s *show) kernelTensor(k KernelTensor, role string) logs.Value {
	v := logs.Value{Name: k.Name, Type: role, Tensor: tensorValue(k.T), Arg: role == "input"}
	v.Text = tensorText(v.Tensor)
	return v
}

// afterOperator is called when f has run a call of an operator.
func (w *graphs) afterOperator(f *host.Frame, pc int) {
	if !w.d.Wants(logs.StopNaN) || f.Thread().Scratch() || w.d.evaluates() {
		return
	}
	call, ok := f.Code.Instrs[pc].(*ssa.Call)
	if !ok {
		return
	}
	name := w.d.calls(f, call)
	if name == "" {
		return
	}
	what := ""
	for _, t := range w.tensorsIn(call.Type(), f.Addr(call)) {
		if what = torch.NonFinite(t); what != "" {
			break
		}
	}
	if what == "" {
		return
	}
	args := call.Call.Args
	if call.Call.IsInvoke() {
		args = append([]ssa.Value{call.Call.Value}, args...)
	}
	for _, a := range args {
		for _, t := range w.tensorsIn(a.Type(), f.Addr(a)) {
			if torch.NonFinite(t) != "" && !sharesResult(w, call, f, t) {
				return
			}
		}
	}
	w.born.Add(1)
	w.d.At(Event{
		Kind: logs.StopNaN, Thread: f.Thread(), Frame: f, Ran: true,
		Reason: fmt.Sprintf("operator %s gives %s; none of its input tensors has any", name, what),
	})
}

// calls is the operator that f has called: by its name, as a func value, or as a method of an
// interface.
func (d *Debugger) calls(f *host.Frame, call *ssa.Call) string {
	if call.Call.StaticCallee() != nil {
		return d.isOperator(call)
	}
	full := f.NativeName(&call.Call)
	if full == "" || !d.operator(full) {
		return ""
	}
	return full[strings.LastIndexByte(full, '.')+1:]
}

// mayCall reports whether an instruction calls something that is known when it runs, and that
// may be an operator: it gives tensors, or takes some.
func mayCall(in ssa.Instruction) bool {
	c, ok := in.(*ssa.Call)
	if !ok || c.Call.StaticCallee() != nil {
		return false
	}
	if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
		return false
	}
	sig := c.Call.Signature()
	for _, vars := range []*types.Tuple{sig.Results(), sig.Params()} {
		for i := range vars.Len() {
			t := types.Unalias(vars.At(i).Type())
			if p, ok := t.(*types.Pointer); ok && isTensor(p.Elem()) || types.IsInterface(t) {
				return true
			}
		}
	}
	return false
}

// watchGrads looks at backward passes from now on, or no longer.
func (d *Debugger) watchGrads(on bool) {
	if on == d.gradsWatched {
		return
	}
	d.gradsWatched = on
	if on {
		torch.WatchGrads(d.grads)
	} else {
		torch.WatchGrads(nil)
	}
}

// grads looks at a function of a backward pass, where that runs on a goroutine of the program.
func (w *graphs) grads(name string, got []*torch.Tensor) func(gave []*torch.Tensor) {
	if !w.d.Wants(logs.StopNaN) || w.d.evaluates() || host.ThreadOf(w.d.in) == nil {
		return nil
	}
	for _, g := range got {
		if torch.NonFinite(g) != "" {
			return nil
		}
	}
	born := w.born.Load()
	return func(gave []*torch.Tensor) {
		if w.born.Load() != born { // a kernel of it has
			return
		}
		for _, g := range gave {
			if what := torch.NonFinite(g); what != "" {
				w.born.Add(1)
				e := w.here(logs.StopNaN)
				e.Reason = fmt.Sprintf("%s, in the backward pass, gives %s; none of the gradients that it got has any", name, what)
				w.d.At(e)
				return
			}
		}
	}
}

// sharesResult reports whether an argument is where an operator has written its result.
func sharesResult(w *graphs, call *ssa.Call, f *host.Frame, t *torch.Tensor) bool {
	for _, r := range w.tensorsIn(call.Type(), f.Addr(call)) {
		if r == t || r.Storage() == t.Storage() {
			return true
		}
	}
	return false
}

// tensorsIn are the tensors that a value of type t at p is, or holds as a tuple, list or
// interface.
func (w *graphs) tensorsIn(t types.Type, p unsafe.Pointer) []*torch.Tensor {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if isTensor(u.Elem()) {
			if x := *(**torch.Tensor)(p); x != nil {
				return []*torch.Tensor{x}
			}
		}
	case *types.Tuple:
		var out []*torch.Tensor
		for i, off := range w.d.in.TupleOffsets(u) {
			out = append(out, w.tensorsIn(u.At(i).Type(), unsafe.Add(p, off))...)
		}
		return out
	case *types.Slice:
		var out []*torch.Tensor
		if e, ok := u.Elem().Underlying().(*types.Pointer); ok && isTensor(e.Elem()) {
			for _, x := range *(*[]*torch.Tensor)(p) {
				if x != nil {
					out = append(out, x)
				}
			}
		}
		return out
	case *types.Interface:
		if dyn, q := w.d.in.Dynamic(t, p); dyn != nil && !types.IsInterface(dyn) {
			return w.tensorsIn(dyn, q)
		}
	}
	return nil
}
