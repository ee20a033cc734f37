package torch

import (
	"runtime"
	"slices"
	"sync/atomic"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/kernels"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
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
		refusal.Fail(name, "AttributeError", "no operator named '%s'", name)
	}
	pos, kw := splitOptions(args)
	return callBound(ops.OverInput(row, bind(row, pos, kw)))
}

// callBound is Call of a row, by a user: under Autocast its tensors are cast.
func callBound(row *ops.Op, args []ops.Arg) []Value {
	return call(row, autocasted(row, args), GradEnabled())
}

// call is Call with the tape on or off: operators that an operator is made of
// must not depend on the gradient mode.
func call(row *ops.Op, args []ops.Arg, tape bool) []Value {
	if w := callWatch.Load(); w != nil {
		if done := (*w)(row, args); done != nil {
			outs := called(row, args, tape)
			done(outs)
			return outs
		}
	}
	return called(row, args, tape)
}

// callWatch is what WatchCalls was given.
var callWatch atomic.Pointer[func(row *ops.Op, args []ops.Arg) func(outs []Value)]

func called(row *ops.Op, args []ops.Arg, tape bool) []Value {
	checkReal(row, args)
	if err := ops.CheckComplex(row, args); err != nil {
		refusal.Raise(row, err)
	}
	if severalDevices(args) {
		if err := ops.CheckDevices(row, args); err != nil {
			refusal.Raise(row, err)
		}
	}
	if row.Tags.Has(ops.TagInPlace) {
		return []Value{callInPlace(row, args, tape)}
	}
	c := &ops.Call{Op: row, Args: args}
	outs := compose(c, tape && wantsGrad(row, args))
	if row.Tags.Has(ops.TagView) || row.Tags.Has(ops.TagMaybeView) {
		setViewMeta(row, args, outs, tape)
	}
	return outs
}

// severalDevices reports whether some of the tensors are not on the CPU.
func severalDevices(args []ops.Arg) bool {
	for _, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil && a.array.Device != ops.CPU {
				return true
			}
		case []ops.Value:
			for _, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil && t.array.Device != ops.CPU {
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
		refusal.CheckRule(c)
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
	return tape || kernels.Fixed()[row.ID] == nil
}

// forward computes the results without tape.
func forward(c *ops.Call) []Value {
	if c.Op.ID == ops.OneHot {
		return oneHot(c)
	}
	if k := kernels.Dynamic()[c.Op.ID]; k != nil {
		return tensorsOf(computeDynamic(k, &kernels.Call{Call: c}))
	}
	res, err := c.Op.Meta(c)
	if err != nil {
		refusal.Raise(c.Op, err)
	}
	if c.Op.Tags.Has(ops.TagView) {
		return viewsOf(c, res)
	}
	if onMeta(res) {
		return allocate(res)
	}
	k := kernels.Fixed()[c.Op.ID]
	if k == nil {
		if c.Op.Decompose == nil {
			refusal.Fail(c.Op.Name, "NotImplementedError", "operator '%s' has no eager kernel", c.Op.FullName())
		}
		outs := decompose(c, false)
		if c.Op.Tags.Has(ops.TagPointwise) {
			relay(outs, res)
		}
		return outs
	}
	outs := allocate(res)
	kc := kernels.NewCall(c, res[0].(*ops.TensorMeta).DType)
	kc.New = true
	for _, o := range outs {
		kc.AddOut(&o.(*Tensor).array)
	}
	compute(k, kc)
	return outs
}

// relay lays the result of a pointwise decomposition out as the operator's own
// rule says: its parts may order the dimensions otherwise.
func relay(outs []Value, res []ops.Result) {
	got, want := outs[0].(*Tensor), res[0].(*ops.TensorMeta)
	if slices.Equal(got.array.Stride, strided.Plain(want.Stride)) || got.Numel() < 2 {
		return
	}
	t := fromMeta(want)
	strided.Copy(&t.array, &got.array)
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
	t := &Tensor{
		array:        strided.Array{DType: m.DType, Device: m.Device, Shape: strided.Plain(m.Shape), Stride: strided.Plain(m.Stride)},
		requiresGrad: m.RequiresGrad,
	}
	t.meta.Store(m)
	if m.Device == ops.Meta {
		t.array.Storage = &memory.Storage{}
		return t
	}
	t.array.Storage = memory.NewStorage(strided.Product(t.array.Shape) * m.DType.Size())
	return t
}

// newTensor allocates a contiguous tensor.
func newTensor(d DType, shape []int) *Tensor {
	return FromStorage(NewStorage(strided.Product(shape)*d.Size()), d, shape, strided.ContiguousStrides(shape), 0)
}

// viewsOf makes tensors over the storage of the first argument.
func viewsOf(c *ops.Call, res []ops.Result) []Value {
	base := ops.In[ops.SelfArgs](c).Self.Arg.(*Tensor)
	outs := make([]Value, len(res))
	for i, r := range res {
		m := r.(*ops.TensorMeta)
		if c.Op.ID == ops.AsStrided && base.array.Device != ops.Meta {
			if err := ops.CheckWithin(m.Shape, m.Stride, m.Offset, sym.C(m.DType.Size()), sym.C(base.array.Storage.Size())); err != nil {
				refusal.Raise(c.Op, err)
			}
		}
		v := FromStorage((*Storage)(base.array.Storage), m.DType, strided.Plain(m.Shape), strided.Plain(m.Stride), int(m.Offset.Hint()))
		v.array.Device = base.array.Device
		if c.Op.ID != ops.Detach {
			v.base, v.seen = root(base), base.array.Storage.Version()
		}
		outs[i] = v
	}
	return outs
}

// root is the tensor whose memory t looks at.
func root(t *Tensor) *Tensor {
	if t.base != nil {
		return t.base
	}
	return t
}

// callInPlace computes the functional operator and stores its result.
func callInPlace(row *ops.Op, args []ops.Arg, tape bool) *Tensor {
	self := args[0].(*Tensor)
	f := ops.Get(ops.Functional(row.ID))
	refusal.CheckRule(&ops.Call{Op: row, Args: args})
	if f.Tags.Has(ops.TagView) {
		return reshapeInPlace(f, self, args, tape)
	}
	args = ops.PureArgs(row, args)
	checkOverlap(f, args, self)
	tape = tape && wantsGrad(row, args) && (self.array.DType.IsFloat() || self.array.DType.IsComplex())
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
	if self.array.Device == ops.Meta {
		return
	}
	direct := c.Op.Tags.Has(ops.TagPointwise) || c.Op.Tags.Has(ops.TagRandom) // whose numbers depend on the layout
	if k := kernels.Fixed()[c.Op.ID]; k != nil && direct && !overlaps(c.Args, self) {
		kc := kernels.NewCall(c, refusal.ResultDType(c))
		kc.AddOut(&self.array)
		compute(k, kc)
	} else {
		strided.Copy(&self.array, &forward(c)[0].(*Tensor).array)
	}
	self.array.Storage.Bump()
}

// overlaps reports whether a tensor argument shares memory with self in
// another layout, so that writing self would change what is still to be read.
func overlaps(args []ops.Arg, self *Tensor) bool {
	for _, a := range args {
		if t, ok := a.(*Tensor); ok && t != nil && t.array.Storage == self.array.Storage && !strided.SameLayout(&t.array, &self.array) {
			return true
		}
	}
	return false
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
	refusal.CheckRule(c)
	if k := kernels.Fixed()[op]; k != nil && !row.Tags.Has(ops.TagView) && !row.Tags.Has(ops.TagInPlace) {
		kc := kernels.NewCall(c, refusal.ResultDType(c))
		for _, o := range outs {
			kc.AddOut(&o.array)
		}
		compute(k, kc)
		return
	}
	for i, v := range call(row, args, false) {
		strided.Copy(&outs[i].array, &v.(*Tensor).array)
	}
}

// checkReal refuses the tracer's stand-ins: they have no data.
func checkReal(row *ops.Op, args []ops.Arg) {
	for _, a := range args {
		switch a := a.(type) {
		case *Tensor:
			if a != nil && a.fake != nil {
				refusal.Fail(row.Name, "RuntimeError", "operator '%s' was called on a tensor that stands for a traced value", row.Name)
			}
		case []ops.Value:
			for _, v := range a {
				if t, ok := v.(*Tensor); ok && t != nil && t.fake != nil {
					refusal.Fail(row.Name, "RuntimeError", "operator '%s' was called on a tensor that stands for a traced value", row.Name)
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
		refusal.Raise(row, err)
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
		refusal.Raise(row, err)
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
	if len(opts) == 0 && callWatch.Load() == nil {
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
			refusal.Fail(ops.Get(op).Name, "TypeError", "%s(): sizes must be ints, not %T", ops.Get(op).Name, a)
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
		refusal.Fail(name, "AttributeError", "no operator named '%s'", name)
	}
	return invoke(row.ID, opts, args...)
}

// compute runs a kernel: what it reads and writes stays where it is until then.
func compute(k kernels.Kernel, c *kernels.Call) {
	e := memory.Begin()
	defer memory.End(e)
	k(c)
	runtime.KeepAlive(c)
	if c.Declined {
		for i, v := range decompose(c.Call, false) {
			strided.Copy(c.Outs[i], &v.(*Tensor).array)
		}
	}
}

// computeDynamic is compute of a kernel that makes its results.
func computeDynamic(k kernels.DynamicKernel, c *kernels.Call) []any {
	e := memory.Begin()
	defer memory.End(e)
	outs := k(c)
	runtime.KeepAlive(c)
	return outs
}

// tensorsOf makes tensors of the arrays among the results of a kernel.
func tensorsOf(outs []any) []Value {
	for i, o := range outs {
		if a, ok := o.(*strided.Array); ok {
			outs[i] = &Tensor{array: *a}
		}
	}
	return outs
}

// oneHot is one_hot as its decomposition, for which it counts the classes where none are given.
func oneHot(c *ops.Call) []Value {
	a := ops.In[ops.OneHotArgs](c)
	x, n := a.Input.Arg.(*Tensor), int(a.NumClasses.Int().Hint())
	ids := []int64{}
	if x.array.DType == ops.Int64 {
		ids = x.Int64s()
	}
	if n == -1 && len(ids) == 0 {
		refusal.Fail("one_hot", "RuntimeError", "Can not infer total number of classes from empty tensor.")
	}
	if n == -1 {
		n = 0
		for _, i := range ids {
			n = max(n, int(i)+1)
		}
		n = max(n, 1) // of negative classes alone, which are refused
	}
	return decompose(&ops.Call{Op: c.Op, Args: []ops.Arg{x, ops.Arg(kernels.ToMeta([]int{n})[0])}}, false)
}

// HasKernel reports whether an operator has an eager kernel of its own.
func HasKernel(id ops.ID) bool {
	return kernels.Fixed()[id] != nil || kernels.Dynamic()[id] != nil || id == ops.OneHot
}
