package torch

import (
	"errors"
	"runtime"
	"slices"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/memory"
)

// This file runs operators: the rule of the table gives shape and dtype, a
// view, kernel or decomposition gives the result, the tape records it.

// Call runs an operator eagerly on bound arguments (see ops.Bind) whose
// tensors are *Tensor. It records the tape where gradients are wanted and
// panics with *Error for arguments that do not fit.
func Call(op ops.ID, args []ops.Arg) []Value {
	return call(ops.Get(op), args, GradEnabled())
}

// Op runs an operator by PyTorch's name on positional arguments and options.
func Op(name string, args ...any) []Value {
	row, ok := ops.Lookup(name)
	if !ok {
		fail(name, "AttributeError", "no operator named '%s'", name)
	}
	pos, kw := splitOptions(args)
	return callBound(ops.OverInput(row, bind(row, pos, kw)))
}

// callBound is Call of a row.
func callBound(row *ops.Op, args []ops.Arg) []Value { return call(row, args, GradEnabled()) }

// call is Call with the tape on or off: operators that an operator is made of
// must not depend on the gradient mode.
func call(row *ops.Op, args []ops.Arg, tape bool) []Value {
	checkReal(row, args)
	if err := ops.CheckComplex(row, args); err != nil {
		raise(row, err)
	}
	if severalDevices(args) {
		if err := ops.CheckDevices(row, args); err != nil {
			raise(row, err)
		}
	}
	if row.Tags.Has(ops.TagInPlace) {
		return []Value{callInPlace(row, args, tape)}
	}
	c := &ops.Call{Op: row, Args: args}
	outs := compose(c, tape && wantsGrad(row, args))
	if row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) {
		noteBirth(row, args, outs, tape)
	}
	return outs
}

// severalDevices reports whether some of the tensors are not on the CPU.
func severalDevices(args []ops.Arg) bool {
	for _, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil && a.device != ops.CPU {
				return true
			}
		case []ops.Value:
			for _, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil && t.device != ops.CPU {
					return true
				}
			}
		}
	}
	return false
}

// compose computes the results, on the tape where that is wanted.
func compose(c *ops.Call, tape bool) []Value {
	if composite(c.Op, tape) || c.Op.Decompose != nil && ops.Mutated(c.Op, c.Args) != nil {
		checkRule(c)
		return decompose(c, tape)
	}
	outs := forward(c)
	if tape && !c.Op.Tags.Has(ops.TagNoGrad) {
		record(c, outs)
	}
	return outs
}

// composite reports whether a call is its decomposition, gradient included.
func composite(row *ops.Op, tape bool) bool {
	if row.Decompose == nil {
		return false
	}
	if row.Tags.Has(ops.TagMaybeView) {
		return true
	}
	if row.Backward != nil || row.Tags.Has(ops.TagNoGrad) {
		return false
	}
	return tape || kernels()[row.ID] == nil
}

// checkRule runs the rule for its refusals alone.
func checkRule(c *ops.Call) {
	_, err := c.Op.Meta(c)
	var unknown *ops.DataDependentError
	if err != nil && !errors.As(err, &unknown) {
		raise(c.Op, err)
	}
}

// forward computes the results without tape.
func forward(c *ops.Call) []Value {
	if k := dynamicKernels()[c.Op.ID]; k != nil {
		e := memory.Begin()
		defer memory.End(e)
		outs := k(&kernelCall{Call: c})
		runtime.KeepAlive(c)
		return outs
	}
	res, err := c.Op.Meta(c)
	if err != nil {
		raise(c.Op, err)
	}
	if c.Op.Tags.Has(ops.TagView) {
		return viewsOf(c, res)
	}
	if onMeta(res) {
		return allocate(res)
	}
	k := kernels()[c.Op.ID]
	if k == nil {
		if c.Op.Decompose == nil {
			fail(c.Op.Name, "NotImplementedError", "operator '%s' has no eager kernel", c.Op.FullName())
		}
		outs := decompose(c, false)
		if c.Op.Tags.Has(ops.TagPointwise) {
			relay(outs, res)
		}
		return outs
	}
	outs := allocate(res)
	kc := &kernelCall{Call: c, outs: make([]*Tensor, len(outs)), dtype: res[0].(*ops.TensorMeta).DType}
	for i, o := range outs {
		kc.outs[i] = o.(*Tensor)
	}
	compute(k, kc)
	return outs
}

// relay lays the result of a pointwise decomposition out as the operator's own
// rule says: its parts may order the dimensions otherwise.
func relay(outs []Value, res []ops.Result) {
	got, want := outs[0].(*Tensor), res[0].(*ops.TensorMeta)
	if slices.Equal(got.stride, plain(want.Stride)) || got.Numel() < 2 {
		return
	}
	t := fromMeta(want)
	copyInto(t, got)
	outs[0] = t
}

// decompose runs the row's decomposition.
func decompose(c *ops.Call, tape bool) (outs []Value) {
	vals := c.Op.Decompose(eager{tape}, c)
	outs = make([]Value, len(vals))
	for i, v := range vals {
		outs[i] = v
	}
	return outs
}

func onMeta(res []ops.Result) bool {
	for _, r := range res {
		if m, ok := r.(*ops.TensorMeta); ok && m.Device == ops.Meta {
			return true
		}
	}
	return false
}

// allocate makes tensors for the results of a rule.
func allocate(res []ops.Result) []Value {
	outs := make([]Value, len(res))
	for i, r := range res {
		outs[i] = fromMeta(r.(*ops.TensorMeta))
	}
	return outs
}

// fromMeta allocates a tensor as m describes it.
func fromMeta(m *ops.TensorMeta) *Tensor {
	t := &Tensor{dtype: m.DType, device: m.Device, shape: plain(m.Shape), stride: plain(m.Stride), requiresGrad: m.RequiresGrad}
	t.meta.Store(m)
	if m.Device == ops.Meta {
		t.storage = &Storage{}
		return t
	}
	t.storage = NewStorage(product(t.shape) * m.DType.Size())
	return t
}

func plain(s []sym.Int) []int {
	out := make([]int, len(s))
	for i, x := range s {
		v, ok := x.IsConst()
		if !ok {
			v = x.Hint()
		}
		out[i] = int(v)
	}
	return out
}

// newTensor allocates a contiguous tensor.
func newTensor(d DType, shape []int) *Tensor {
	return FromStorage(NewStorage(product(shape)*d.Size()), d, shape, contiguousStrides(shape), 0)
}

// viewsOf makes tensors over the storage of the first argument.
func viewsOf(c *ops.Call, res []ops.Result) []Value {
	base := c.Args[0].(*Tensor)
	outs := make([]Value, len(res))
	for i, r := range res {
		m := r.(*ops.TensorMeta)
		if c.Op.ID == ops.AsStrided && base.device != ops.Meta {
			if err := ops.CheckWithin(m.Shape, m.Stride, m.Offset, sym.C(m.DType.Size()), sym.C(base.storage.Size())); err != nil {
				raise(c.Op, err)
			}
		}
		v := FromStorage(base.storage, m.DType, plain(m.Shape), plain(m.Stride), int(m.Offset.Hint()))
		v.device = base.device
		if c.Op.ID != ops.Detach {
			v.base, v.seen = base.root(), base.storage.Version()
		}
		outs[i] = v
	}
	return outs
}

// root is the tensor whose memory t looks at.
func (t *Tensor) root() *Tensor {
	if t.base != nil {
		return t.base
	}
	return t
}

// callInPlace computes the functional operator and stores its result.
func callInPlace(row *ops.Op, args []ops.Arg, tape bool) *Tensor {
	self := args[0].(*Tensor)
	f := ops.Get(ops.Functional(row.ID))
	checkRule(&ops.Call{Op: row, Args: args})
	if f.Tags.Has(ops.TagView) {
		return reshapeInPlace(f, self, args, tape)
	}
	args = ops.PureArgs(row, args)
	checkOverlap(f, args, self)
	tape = tape && wantsGrad(row, args) && (self.dtype.IsFloat() || self.dtype.IsComplex())
	if tape {
		checkInPlaceGrad(self)
	}
	if ops.KeepsTape(row) {
		tape = false
	}
	if tape && f.Backward == nil && f.Decompose != nil {
		return storeComposite(f, args, self)
	}
	saved := args
	if tape && f.ID != ops.Add && f.ID != ops.Sub && f.ID != ops.Fill && f.ID != ops.Zero && f.ID != ops.Copy {
		saved = withOld(f, args, self)
	}
	if !tape {
		writeInPlace(&ops.Call{Op: f, Args: args}, self)
		return self
	}
	edges, kept := edgesOf(f, args), saveArgs(saved)
	writeInPlace(&ops.Call{Op: f, Args: args}, self)
	recordInPlace(&ops.Call{Op: f, Args: saved}, kept, self, edges)
	return self
}

// alias gives a copy of t the place of t on the tape.
func alias(t, copied *Tensor) *Tensor {
	copied.fn, copied.outIndex, copied.requiresGrad = t.edgeFn(), t.outIndex, t.RequiresGrad()
	return copied
}

// withOld is args with a copy of the numbers that self is about to lose.
func withOld(f *ops.Op, args []ops.Arg, self *Tensor) []ops.Arg {
	out := append([]ops.Arg{}, args...)
	out[ops.SelfArg(f)] = alias(self, eager{}.Emit(ops.Clone, self).(*Tensor))
	return out
}

// writeInPlace stores the result of a functional call in self.
func writeInPlace(c *ops.Call, self *Tensor) {
	if self.device == ops.Meta {
		return
	}
	direct := c.Op.Tags.Has(ops.TagPointwise) || c.Op.Tags.Has(ops.TagRandom) // whose numbers depend on the layout
	if k := kernels()[c.Op.ID]; k != nil && direct && !overlaps(c.Args, self) {
		compute(k, &kernelCall{Call: c, outs: []*Tensor{self}, dtype: resultDType(c)})
	} else {
		copyInto(self, forward(c)[0].(*Tensor))
	}
	self.storage.Bump()
}

// resultDType is the type of the first result by the rule.
func resultDType(c *ops.Call) DType {
	res, err := c.Op.Meta(c)
	if err != nil {
		raise(c.Op, err)
	}
	return res[0].(*ops.TensorMeta).DType
}

// overlaps reports whether a tensor argument shares memory with self in
// another layout, so that writing self would change what is still to be read.
func overlaps(args []ops.Arg, self *Tensor) bool {
	for _, a := range args {
		if t, ok := a.(*Tensor); ok && t != nil && t.storage == self.storage && !sameLayout(t, self) {
			return true
		}
	}
	return false
}

func sameLayout(a, b *Tensor) bool {
	if a.offset != b.offset || len(a.shape) != len(b.shape) {
		return false
	}
	for i := range a.shape {
		if a.shape[i] != b.shape[i] || a.stride[i] != b.stride[i] {
			return false
		}
	}
	return true
}

// storeComposite runs a composite operator on the tape and copies the result
// into self, whose old numbers its parts may need to go back.
func storeComposite(f *ops.Op, args []ops.Arg, self *Tensor) *Tensor {
	out := decompose(&ops.Call{Op: f, Args: withOld(f, args, self)}, true)[0].(*Tensor)
	return callInPlace(ops.Get(ops.InPlace(ops.Copy)), []ops.Arg{self, out, false}, true)
}

// CallInto is Call without tape, writing the results into outs, which have the
// dtype and shape of the results (an arena buffer of a compiled program). For
// operators whose result is a view it copies.
func CallInto(op ops.ID, args []ops.Arg, outs []*Tensor) {
	row := ops.Get(op)
	c := &ops.Call{Op: row, Args: args}
	checkRule(c)
	if k := kernels()[op]; k != nil && !row.Tags.Has(ops.TagView) && !row.Tags.Has(ops.TagInPlace) {
		compute(k, &kernelCall{Call: c, outs: outs, dtype: resultDType(c)})
		return
	}
	for i, v := range call(row, args, false) {
		copyInto(outs[i], v.(*Tensor))
	}
}

// checkReal refuses the tracer's stand-ins: they have no data.
func checkReal(row *ops.Op, args []ops.Arg) {
	for _, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil && a.fake != nil {
				fail(row.Name, "RuntimeError", "operator '%s' was called on a tensor that stands for a traced value", row.Name)
			}
		case []ops.Value:
			for _, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil && t.fake != nil {
					fail(row.Name, "RuntimeError", "operator '%s' was called on a tensor that stands for a traced value", row.Name)
				}
			}
		}
	}
}

// eager is the Builder that computes at once.
type eager struct{ tape bool }

var _ ops.Builder = eager{}

// Emit implements ops.Builder.
func (e eager) Emit(op ops.ID, args ...ops.Arg) ops.Value { return e.EmitN(op, args...)[0] }

// EmitN implements ops.Builder.
func (e eager) EmitN(op ops.ID, args ...ops.Arg) []ops.Value {
	row := ops.Get(op)
	for i, a := range args {
		args[i] = unpack(a)
	}
	bound, err := ops.Bind(row, args, nil)
	if err != nil {
		raise(row, err)
	}
	outs := call(row, bound, e.tape)
	vals := make([]ops.Value, len(outs))
	for i, o := range outs {
		vals[i] = o.(*Tensor)
	}
	return vals
}

// bind binds the arguments that a generated function collected.
func bind(row *ops.Op, pos []ops.Arg, kw map[string]ops.Arg) []ops.Arg {
	for i, a := range pos {
		pos[i] = argOf(a)
	}
	for k, a := range kw {
		kw[k] = argOf(a)
	}
	bound, err := ops.Bind(row, pos, kw)
	if err != nil {
		raise(row, err)
	}
	return bound
}

// argOf brings what users pass into the forms that ops.Bind knows.
func argOf(a any) ops.Arg {
	switch x := a.(type) {
	case []*Tensor:
		out := make([]ops.Value, len(x))
		for i, t := range x {
			if t != nil {
				out[i] = t
			}
		}
		return out
	case *Tensor:
		if x == nil {
			return nil
		}
	}
	return a
}

// splitOptions separates a mixed argument list.
func splitOptions(args []any) (pos []ops.Arg, kw map[string]ops.Arg) {
	for _, a := range args {
		if o, ok := a.(Option); ok {
			if kw == nil {
				kw = map[string]ops.Arg{}
			}
			kw[o.Name] = o.Value
			continue
		}
		pos = append(pos, a)
	}
	return pos, kw
}

func keywords(opts []Option) map[string]ops.Arg {
	if len(opts) == 0 {
		return nil
	}
	kw := make(map[string]ops.Arg, len(opts))
	for _, o := range opts {
		kw[o.Name] = o.Value
	}
	return kw
}

// invoke is the body of generated functions.
func invoke(op ops.ID, opts []Option, pos ...ops.Arg) []Value {
	row := ops.Get(op)
	return callBound(ops.OverInput(row, bind(row, pos, keywords(opts))))
}

func invoke1(op ops.ID, opts []Option, pos ...ops.Arg) *Tensor {
	if len(opts) == 0 {
		if t := quick(op, pos); t != nil {
			return t
		}
	}
	return invoke(op, opts, pos...)[0].(*Tensor)
}

func invoke2(op ops.ID, opts []Option, pos ...ops.Arg) (*Tensor, *Tensor) {
	out := invoke(op, opts, pos...)
	return out[0].(*Tensor), out[1].(*Tensor)
}

func invokeList(op ops.ID, opts []Option, pos ...ops.Arg) []*Tensor {
	out := invoke(op, opts, pos...)
	list := make([]*Tensor, len(out))
	for i, v := range out {
		list[i] = v.(*Tensor)
	}
	return list
}

// mixed reads the ...any of a factory: ints or one []int, then options.
func mixed(op ops.ID, args []any) ([]int, []Option) {
	var size []int
	var opts []Option
	for _, a := range args {
		switch x := a.(type) {
		case int:
			size = append(size, x)
		case []int:
			size = append(size, x...)
		case Option:
			opts = append(opts, x)
		default:
			fail(ops.Get(op).Name, "TypeError", "%s(): sizes must be ints, not %T", ops.Get(op).Name, a)
		}
	}
	if size == nil {
		size = []int{}
	}
	return size, opts
}

// positional separates the ...any of a function such as Arange.
func positional(args []any) (pos []any, opts []Option) {
	for _, a := range args {
		if o, ok := a.(Option); ok {
			opts = append(opts, o)
		} else {
			pos = append(pos, a)
		}
	}
	return pos, opts
}

// Functional1 calls an operator by name. Functional1, 2, 3 and List are the
// bodies of nn/functional, which imports nothing but torch.
func Functional1(name string, opts []Option, args ...any) *Tensor {
	return functional(name, opts, args)[0].(*Tensor)
}

// Functional2 is Functional1 for operators with two results.
func Functional2(name string, opts []Option, args ...any) (_, _ *Tensor) {
	out := functional(name, opts, args)
	return out[0].(*Tensor), out[1].(*Tensor)
}

// Functional3 is Functional1 for operators with three results.
func Functional3(name string, opts []Option, args ...any) (_, _, _ *Tensor) {
	out := functional(name, opts, args)
	return out[0].(*Tensor), out[1].(*Tensor), out[2].(*Tensor)
}

// FunctionalList is Functional1 for operators that return a list.
func FunctionalList(name string, opts []Option, args ...any) []*Tensor {
	out := functional(name, opts, args)
	list := make([]*Tensor, len(out))
	for i, v := range out {
		list[i] = v.(*Tensor)
	}
	return list
}

func functional(name string, opts []Option, args []any) []Value {
	row, ok := ops.Lookup(name)
	if !ok {
		fail(name, "AttributeError", "no operator named '%s'", name)
	}
	return invoke(row.ID, opts, args...)
}

// compute runs a kernel: what it reads and writes stays where it is until then.
func compute(k kernel, c *kernelCall) {
	e := memory.Begin()
	defer memory.End(e)
	k(c)
	runtime.KeepAlive(c)
}
