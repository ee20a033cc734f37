package torch

import (
	"math"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/memory"
)

// This file holds the kernels that make tensors and copy them.

func factoryKernels() map[ops.ID]kernel {
	return map[ops.ID]kernel{
		ops.Full:     func(k *kernelCall) { fillNumber(k.out(), k.Args[1]) },
		ops.FullLike: func(k *kernelCall) { fillNumber(k.out(), k.Args[1]) },
		ops.Empty:    func(*kernelCall) {},
		ops.Arange:   arangeKernel,
		ops.Rand:     func(k *kernelCall) { defaultGenerator().fillUniform(k.out(), 0, 1) },
		ops.Randn:    func(k *kernelCall) { defaultGenerator().fillNormal(k.out(), 0, 1) },

		ops.EmptyLike:   func(*kernelCall) {},
		ops.RandLike:    func(k *kernelCall) { defaultGenerator().fillUniform(k.out(), 0, 1) },
		ops.RandnLike:   func(k *kernelCall) { defaultGenerator().fillNormal(k.out(), 0, 1) },
		ops.Uniform:     func(k *kernelCall) { defaultGenerator().fillUniform(k.out(), k.Float(1), k.Float(2)) },
		ops.Normal:      func(k *kernelCall) { defaultGenerator().fillNormal(k.out(), k.Float(1), k.Float(2)) },
		ops.Bernoulli:   bernoulliKernel,
		ops.Exponential: func(k *kernelCall) { defaultGenerator().fillExponential(k.out(), k.Float(1)) },
		ops.Multinomial: multinomialKernel,
		ops.Randint:     func(k *kernelCall) { defaultGenerator().fillIntegers(k.out(), int64(k.num(0)), int64(k.num(1))) },
		ops.Randperm: func(k *kernelCall) {
			s, store := drawn[int64](k.out(), ops.Int64)
			defaultGenerator().permute(s)
			store()
		},
	}
}

func fillNumber(t *Tensor, a ops.Arg) {
	var buf [16]byte
	storeNumber(unsafe.Pointer(&buf), t.dtype, a)
	src := &Tensor{dtype: t.dtype, storage: memory.Over(buf[:])}
	copyInto(t, src)
}

func arangeKernel(k *kernelCall) {
	start, end, step := ops.ArangeBounds(k.Call)
	_ = end
	n := k.out().Numel()
	if s, ok := start.(sym.Int); ok && !k.out().dtype.IsFloat() {
		if t, ok := step.(sym.Int); ok {
			out := make([]int64, n)
			v, d := s.Hint(), t.Hint()
			for i := range out {
				out[i] = v + int64(i)*d
			}
			finish(k.out(), out, ops.Int64)
			return
		}
	}
	out := make([]float64, n)
	v, d := ops.NumberOf(start), ops.NumberOf(step)
	if !k.out().dtype.IsFloat() { // start and step are cut off, not the elements
		v, d = math.Trunc(v), math.Trunc(d)
	}
	for i := range out {
		out[i] = v + float64(i)*d
	}
	finish(k.out(), out, ops.Float64)
}

func copyKernels() map[ops.ID]kernel {
	toOut := func(k *kernelCall) { copyInto(k.out(), k.in(0)) }
	return map[ops.ID]kernel{
		ops.Clone: toOut, ops.ToCopy: toOut,
		ops.Copy: func(k *kernelCall) { copyInto(k.out(), k.in(1)) },
		ops.Cat:  catKernel,
	}
}

func catKernel(k *kernelCall) {
	out := k.out()
	d := k.num(1)
	if d < 0 {
		d += len(out.shape)
	}
	at := 0
	for _, v := range k.Values(0) {
		t := v.(*Tensor)
		if len(t.shape) == 1 && t.shape[0] == 0 {
			continue
		}
		shape := append([]int{}, out.shape...)
		shape[d] = t.shape[d]
		copyInto(FromStorage(out.storage, out.dtype, shape, out.stride, out.offset+at*out.stride[d]), t)
		at += t.shape[d]
	}
}

// shapeKernels are the operators whose result depends on data.
func shapeKernels() map[ops.ID]dynamicKernel {
	return map[ops.ID]dynamicKernel{ops.Item: itemKernel}
}

func itemKernel(k *kernelCall) []Value {
	checkRule(k.Call)
	t := k.in(0)
	switch {
	case t.dtype == ops.Bool:
		return []Value{t.Bools()[0]}
	case t.dtype.IsFloat():
		return []Value{t.Float64s()[0]}
	}
	return []Value{int(t.Int64s()[0])}
}

// bernoulliKernel draws with one probability, or with those of the input.
func bernoulliKernel(k *kernelCall) {
	if !k.IsNone(1) {
		defaultGenerator().fillBernoulli(k.out(), k.Float(1))
		return
	}
	defaultGenerator().fillEachBernoulli(k.out(), k.in(0))
}
