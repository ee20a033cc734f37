package torch

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"tcdbg/ops"
	"tcdbg/torch/internal/goroutine"
	"tcdbg/torch/internal/refusal"
)

// This file records the operators that a call runs, for packages torch/jit and torch/fx, which
// make programs of them: a program that has no other way through the code than the one that was
// recorded.

// Recording is the operators of one call, in the order in which they ran.
type Recording struct {
	calls   []recordedCall
	inputs  []int // values
	outputs []int
	values  []recordedValue
}

// recordedCall is one operator with its arguments; tensors among them are values.
type recordedCall struct {
	row  *ops.Op
	args []ops.Arg
	outs []int
}

// recordedValue is a tensor of the recorded call.
type recordedValue struct {
	name  string
	t     *Tensor // of what came from outside; else while it is recorded
	apart bool    // it came from outside: a parameter, or a constant
	meta  ops.TensorMeta
}

// recorder is a recording in progress.
type recorder struct {
	Recording
	ids    map[*Tensor]int
	names  map[string]int
	thread uint64
	depth  int
	onRead func(t *Tensor)
}

// recording is where calls of operators and reads of numbers are told to; nil: nothing is recorded.
var recording atomic.Pointer[recorder]

// Record calls f with inputs and records the operators that it calls on this goroutine. onRead is
// called before f reads the number or the truth of a tensor that the recording has made. One
// recording goes on at a time in a process; a second panics.
func Record(f func(inputs []*Tensor) []*Tensor, inputs []*Tensor, names []string, onRead func(t *Tensor)) *Recording {
	r := &recorder{ids: map[*Tensor]int{}, names: map[string]int{}, thread: goroutine.ID(), onRead: onRead}
	for i, t := range inputs {
		if t == nil {
			refusal.Fail("record", "TypeError", "example input %d is nil", i)
		}
		r.inputs = append(r.inputs, r.value(t, names[i], false))
	}
	defer r.start()()
	for _, t := range f(slices.Clone(inputs)) {
		if t == nil {
			refusal.Fail("record", "TypeError", "the function returns nil, which no program of operators gives")
		}
		r.outputs = append(r.outputs, r.operand(t))
	}
	for i := range r.values { // what was computed is not kept
		if v := &r.values[i]; !v.apart {
			v.meta, v.t = *v.t.TensorMeta(), nil
		}
	}
	return &r.Recording
}

// start has operators told to r until stop is called.
func (r *recorder) start() (stop func()) {
	if !recording.CompareAndSwap(nil, r) {
		refusal.Fail("record", "RuntimeError", "another call is being recorded")
	}
	before := callWatch.Load()
	watch := func(row *ops.Op, args []ops.Arg) func([]Value) {
		var others func([]Value)
		if before != nil {
			others = (*before)(row, args)
		}
		mine := r.begin(row, args)
		return func(outs []Value) {
			if mine != nil {
				mine(outs)
			}
			if others != nil {
				others(outs)
			}
		}
	}
	callWatch.Store(&watch)
	return func() {
		callWatch.Store(before)
		recording.Store(nil)
	}
}

// value makes a value of a tensor.
func (r *recorder) value(t *Tensor, name string, apart bool) int {
	r.names[name]++
	if n := r.names[name]; n > 1 {
		name = fmt.Sprintf("%s_%d", name, n-1)
	}
	r.values = append(r.values, recordedValue{name: name, t: t, apart: apart})
	r.ids[t] = len(r.values) - 1
	return len(r.values) - 1
}

// operand is the value of a tensor, which is from outside where nothing here has made it.
func (r *recorder) operand(t *Tensor) int {
	if id, ok := r.ids[t]; ok {
		return id
	}
	name := "constant"
	if t.RequiresGrad() {
		name = "param"
	}
	return r.value(t, name, true)
}

// valueRef stands for a tensor among recorded arguments.
type valueRef int

// begin notes an operator that is about to run; what it returns is called with the results.
func (r *recorder) begin(row *ops.Op, args []ops.Arg) func(outs []Value) {
	if goroutine.ID() != r.thread {
		return nil
	}
	r.depth++
	kept := make([]ops.Arg, len(args))
	if r.depth == 1 {
		for i, a := range args {
			kept[i] = r.argument(a)
		}
	}
	return func(outs []Value) {
		r.depth--
		if r.depth > 0 {
			return
		}
		c := recordedCall{row: row, args: kept}
		for _, o := range outs {
			t := o.(*Tensor)
			id, had := r.ids[t]
			if !had { // an operator in place returns what it got
				id = r.value(t, strings.TrimSuffix(row.Name, "_"), false)
			}
			c.outs = append(c.outs, id)
		}
		r.calls = append(r.calls, c)
	}
}

func (r *recorder) argument(a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case *Tensor:
		if a == nil {
			return nil
		}
		return valueRef(r.operand(a))
	case []ops.Value:
		out := make([]valueRef, len(a))
		for i, v := range a {
			out[i] = -1
			if t, ok := v.(*Tensor); ok && t != nil {
				out[i] = valueRef(r.operand(t))
			}
		}
		return out
	}
	return a
}

// read tells a recording that the program reads a tensor's number.
func read(t *Tensor) {
	if r := recording.Load(); r != nil && r.onRead != nil && goroutine.ID() == r.thread {
		if id, ok := r.ids[t]; ok && !r.values[id].apart {
			r.onRead(t)
		}
	}
}

// Run runs the recorded operators on other inputs. Tensors that came from outside are those of the recording.
func (r *Recording) Run(inputs []*Tensor) []*Tensor {
	if len(inputs) != len(r.inputs) {
		refusal.Fail("forward", "TypeError", "forward() takes %d tensors, and got %d", len(r.inputs), len(inputs))
	}
	env := make([]*Tensor, len(r.values))
	for i, v := range r.values {
		if v.apart {
			env[i] = v.t
		}
	}
	for i, id := range r.inputs {
		env[id] = inputs[i]
	}
	for _, c := range r.calls {
		args := make([]ops.Arg, len(c.args))
		for i, a := range c.args {
			args[i] = resolved(env, a)
		}
		for i, o := range call(c.row, args, GradEnabled()) {
			env[c.outs[i]] = o.(*Tensor)
		}
	}
	out := make([]*Tensor, len(r.outputs))
	for i, id := range r.outputs {
		out[i] = env[id]
	}
	return out
}

// resolved is an argument with the tensors of one run.
func resolved(env []*Tensor, a ops.Arg) ops.Arg {
	switch a := a.(type) {
	case valueRef:
		return env[a]
	case []valueRef:
		list := make([]ops.Value, len(a))
		for i, v := range a {
			if v >= 0 {
				list[i] = env[v]
			}
		}
		return list
	}
	return a
}

// TensorFunc is a function of tensors, or a module with a method Forward of one, as Record takes it.
func TensorFunc(who string, f any) func([]*Tensor) []*Tensor {
	takes := func(n int, in []*Tensor) {
		if len(in) != n {
			refusal.Fail(who, "TypeError", "the function takes %d tensors, and %d examples are given", n, len(in))
		}
	}
	switch f := f.(type) {
	case func(*Tensor) *Tensor:
		return func(in []*Tensor) []*Tensor { takes(1, in); return []*Tensor{f(in[0])} }
	case func(_, _ *Tensor) *Tensor:
		return func(in []*Tensor) []*Tensor { takes(2, in); return []*Tensor{f(in[0], in[1])} }
	case func(_, _, _ *Tensor) *Tensor:
		return func(in []*Tensor) []*Tensor { takes(3, in); return []*Tensor{f(in[0], in[1], in[2])} }
	case func(...*Tensor) *Tensor:
		return func(in []*Tensor) []*Tensor { return []*Tensor{f(in...)} }
	case interface{ Forward(*Tensor) *Tensor }:
		return func(in []*Tensor) []*Tensor { takes(1, in); return []*Tensor{f.Forward(in[0])} }
	}
	refusal.Fail(who, "TypeError", "%T is no function of tensors that returns one, and has no method Forward of one", f)
	return nil
}

// InputNames are what n inputs are called: x, or x_0, x_1.
func InputNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "x"
		if n > 1 {
			names[i] = fmt.Sprintf("x_%d", i)
		}
	}
	return names
}

// Scripted is why TorchScript could not hold the code of f, "" where it could: the engine answers.
// It panics under `go run`, where nothing sees the code of a function.
func Scripted(any) string {
	refusal.Fail("jit.Script", "RuntimeError", "a function's code is seen by tcdbg run alone; under go run use jit.Trace")
	return ""
}
