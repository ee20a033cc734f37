package backends

import (
	"maps"
	"runtime"
	"slices"

	"tcdbg/graph"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file runs control flow: a step between kernels that runs programs of its own, which
// write their results where the step's lie.

// addBody adds a body of the step of that name.
func (x *executable) addBody(step string, b *executable) {
	if x.bodies == nil {
		x.bodies = map[string][]*executable{}
	}
	x.bodies[step] = append(x.bodies[step], b)
}

// all are x and its bodies.
func (x *executable) all() []*executable {
	out := []*executable{x}
	for _, step := range slices.Sorted(maps.Keys(x.bodies)) {
		for _, b := range x.bodies[step] {
			out = append(out, b.all()...)
		}
	}
	return out
}

// flow runs a step of control flow.
func (f *frame) flow(e *plan.Extern) {
	bodies := f.x.bodies[e.Name]
	args := make([]torch.Value, len(e.Args))
	for i, a := range e.Args {
		args[i] = f.value(a)
	}
	outs := make([]*torch.Tensor, len(e.Outs))
	for i, b := range e.Outs {
		outs[i] = f.tensor(b)
	}
	switch {
	case e.Flow.Chooses:
		bodies[chosen(args[0].(*torch.Tensor), e.Flow)].into(args[1:], outs, f)
	case e.Flow.Sliced > 0:
		f.slices(e, bodies[0], args, outs)
	default:
		f.loop(e, bodies, args, outs)
	}
}

// chosen is the number of the body that a choice by t takes.
func chosen(t *torch.Tensor, f *ir.FlowInfo) int {
	if f.Op == graph.SwitchTarget {
		return min(max(t.ItemInt(), 0), len(f.Names)-1)
	}
	if t.Bool() {
		return 0
	}
	return 1
}

// slices calls a body for one slice after the other. What it gives goes into slices of the
// step's results; what is carried, into one set of tensors and another in turn.
func (f *frame) slices(e *plan.Extern, body *executable, args []torch.Value, outs []*torch.Tensor) {
	k, m := e.Flow.Carried, e.Flow.Sliced
	carry, whole, rest := slices.Clone(args[:k]), args[k:k+m], args[k+m:]
	sets := [2][]*torch.Tensor{outs[:k:k], nil}
	start := 0
	if e.Flow.Op == graph.AssocTarget {
		for i, x := range whole {
			copyInto(sliceOf(x.(*torch.Tensor), 0), sliceOf(outs[i], 0))
		}
		start = 1
	}
	for i := start; i < int(f.eval(e.Flow.Length)); i++ {
		if e.Flow.Op == graph.AssocTarget {
			carry = carry[:0]
			for _, y := range outs {
				carry = append(carry, contiguous(sliceOf(y, i-1)))
			}
		}
		in := carry
		for _, x := range whole {
			s := sliceOf(x.(*torch.Tensor), i)
			if e.Flow.Op != graph.MapTarget {
				s = contiguous(s)
			}
			in = append(in[:len(in):len(in)], s)
		}
		if k > 0 && sets[i%2] == nil {
			sets[1] = f.likes(e.Outs[:k])
		}
		into := slices.Clone(sets[i%2])
		for _, y := range outs[k:] {
			into = append(into, sliceOf(y, i))
		}
		body.into(append(in[:len(in):len(in)], rest...), into, f)
		for j := range k {
			carry[j] = into[j]
		}
	}
	for j := range k {
		if t := carry[j].(*torch.Tensor); t != outs[j] {
			copyInto(t, outs[j])
		}
	}
}

// sliceOf is slice i of a tensor along its first dimension.
func sliceOf(t *torch.Tensor, i int) *torch.Tensor {
	shape, stride, off := t.Layout()
	return torch.FromStorage(t.Storage(), t.DType(), shape[1:], stride[1:], off+i*stride[0])
}

// contiguous is t, or a contiguous copy of it.
func contiguous(t *torch.Tensor) *torch.Tensor {
	if t.IsContiguous() {
		return t
	}
	shape, _, _ := t.Layout()
	stride, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		stride[i] = n
		n *= max(shape[i], 1)
	}
	out := torch.FromStorage(torch.NewStorage(n*t.DType().Size()), t.DType(), shape, stride, 0)
	copyInto(t, out)
	return out
}

// copyInto copies a tensor into memory that there is.
func copyInto(from, to *torch.Tensor) { torch.CallInto(ops.Clone, cloneOf(from), []*torch.Tensor{to}) }

// value is an argument of a body: a tensor, or a size as a number.
func (f *frame) value(a ops.Arg) torch.Value {
	v := f.arg(a)
	if x, ok := v.(sym.Int); ok {
		return int(f.eval(x))
	}
	return v
}

// loop runs rounds, which read one set of tensors and write another.
func (f *frame) loop(e *plan.Extern, bodies []*executable, args []torch.Value, outs []*torch.Tensor) {
	k := e.Flow.Carried
	var spare []*torch.Tensor
	into := outs
	for bodies[0].into(args, nil, f)[0].(*torch.Tensor).Bool() {
		bodies[1].into(args, into, f)
		for i, t := range into {
			args[i] = t
		}
		if spare == nil {
			spare = f.likes(e.Outs)
		}
		if &into[0] == &outs[0] {
			into = spare
		} else {
			into = outs
		}
	}
	for i := range k {
		if t := args[i].(*torch.Tensor); t != outs[i] {
			copyInto(t, outs[i])
		}
	}
}

// likes are tensors like some buffers, in memory of their own.
func (f *frame) likes(buffers []int) []*torch.Tensor {
	out := make([]*torch.Tensor, len(buffers))
	for i, b := range buffers {
		s := f.layout(b)
		out[i] = torch.FromStorage(torch.NewStorage(s.bytes), f.x.prog.Buffers[b].DType, s.size, s.stride, 0)
	}
	return out
}

// into runs a body for the frame outside, which knows sizes; its results go into outs where
// that is set.
func (x *executable) into(in []torch.Value, outs []*torch.Tensor, outside *frame) []torch.Value {
	f := x.frames.Get().(*frame)
	maps.Copy(f.syms, outside.syms)
	f.inner = len(outside.syms) > 0
	if outside.times != nil || x.rt == nil {
		f.outside = outside
	}
	f.bind(in)
	homes, direct := f.homesIn(outs)
	f.place(homes)
	if x.rt == nil {
		f.interpret(in)
	} else {
		f.steps(in)
	}
	vals := f.outputs(in)
	for i := range outs {
		if !direct[i] {
			copyInto(vals[i].(*torch.Tensor), outs[i])
		}
	}
	runtime.KeepAlive(in)
	f.release()
	return vals
}

// homesIn are the buffers that can lie in outs, and of which results that is so: those that
// are the only result of a buffer, laid out as what they go into.
func (f *frame) homesIn(outs []*torch.Tensor) (homes []home, direct []bool) {
	p := f.x.prog
	homes, direct = make([]home, len(p.Buffers)), make([]bool, len(outs))
	for i := range outs {
		o := &p.Outputs[i]
		if !f.x.alone[i] || f.eval(o.Offset) != 0 || outs[i].DType() != p.Buffers[o.Buffer].DType {
			continue
		}
		s := f.layout(o.Buffer)
		shape, stride, off := outs[i].Layout()
		if slices.Equal(s.size, shape) && slices.Equal(s.stride, stride) &&
			slices.Equal(f.ints(o.Shape), shape) && slices.Equal(f.ints(o.Stride), stride) {
			homes[o.Buffer], direct[i] = home{outs[i].Storage(), off}, true
		}
	}
	return homes, direct
}

// cloneOf are the arguments of a copy.
func cloneOf(t *torch.Tensor) []ops.Arg {
	args, err := ops.Bind(ops.Get(ops.Clone), []ops.Arg{t}, nil)
	if err != nil {
		panic("inductor: clone: " + err.Error())
	}
	return args
}
