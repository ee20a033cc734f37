package kernels

import (
	"math"
	"unsafe"

	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/rng"
	"tcdbg/torch/internal/strided"
)

// This file holds the kernels that make tensors and copy them.

func factoryKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{
		ops.Full:     func(k *Call) { fullNumber(k, ops.In[ops.FullArgs](k.Call).FillValue.Arg) },
		ops.FullLike: func(k *Call) { fullNumber(k, ops.In[ops.FullLikeArgs](k.Call).FillValue.Arg) },
		ops.Empty:    func(*Call) {},
		ops.Arange:   arangeKernel,
		ops.Rand:     func(k *Call) { fillUniform(k.out(), 0, 1) },
		ops.Randn:    func(k *Call) { FillNormal(k.out(), 0, 1) },

		ops.EmptyLike: func(*Call) {},
		ops.RandLike:  func(k *Call) { fillUniform(k.out(), 0, 1) },
		ops.RandnLike: func(k *Call) { FillNormal(k.out(), 0, 1) },
		ops.Uniform: func(k *Call) {
			a := ops.In[ops.UniformArgs](k.Call)
			fillUniform(k.out(), a.From.Float(), a.To.Float())
		},
		ops.Normal: func(k *Call) {
			a := ops.In[ops.NormalArgs](k.Call)
			FillNormal(k.out(), a.Mean.Float(), a.Std.Float())
		},
		ops.Bernoulli:   bernoulliKernel,
		ops.Exponential: func(k *Call) { fillExponential(k.out(), ops.In[ops.ExponentialArgs](k.Call).Lambd.Float()) },
		ops.Multinomial: multinomialKernel,
		ops.Randint: func(k *Call) {
			a := ops.In[ops.RandintArgs](k.Call)
			fillIntegers(k.out(), int64(whole(a.Low)), int64(whole(a.High)))
		},
		ops.Randperm: func(k *Call) {
			s, store := drawn[int64](k.out(), ops.Int64)
			rng.Default().Permute(s)
			store()
		},
	}
}

// fullNumber makes a tensor of one number. Zeros in memory that is zero already are not written.
func fullNumber(k *Call, a ops.Arg) {
	var zero [16]byte
	if k.New && numberBytes(k.out().DType, a) == zero && k.out().Storage.Cleared() {
		return
	}
	fillNumber(k.out(), a)
}

// numberBytes is a number as an element lies in memory, and zeros.
func numberBytes(d ops.DType, a ops.Arg) (buf [16]byte) {
	strided.StoreNumber(unsafe.Pointer(&buf), d, a)
	return buf
}

func fillNumber(t *strided.Array, a ops.Arg) {
	buf := numberBytes(t.DType, a)
	src := &strided.Array{DType: t.DType, Storage: memory.Over(buf[:])}
	strided.Copy(t, src)
}

func arangeKernel(k *Call) {
	start, end, step := ops.ArangeBounds(k.Call)
	_ = end
	n := k.out().Numel()
	if s, ok := start.(sym.Int); ok && !k.out().DType.IsFloat() {
		if t, ok := step.(sym.Int); ok {
			out := make([]int64, n)
			v, d := s.Hint(), t.Hint()
			for i := range out {
				out[i] = v + int64(i)*d
			}
			strided.Store(k.out(), out, ops.Int64)
			return
		}
	}
	out := make([]float64, n)
	v, d := ops.NumberOf(start), ops.NumberOf(step)
	if !k.out().DType.IsFloat() { // start and step are cut off, not the elements
		v, d = math.Trunc(v), math.Trunc(d)
	}
	for i := range out {
		out[i] = v + float64(i)*d
	}
	strided.Store(k.out(), out, ops.Float64)
}

func copyKernels() map[ops.ID]Kernel {
	toOut := func(k *Call) { strided.Copy(k.out(), k.self()) }
	return map[ops.ID]Kernel{
		ops.Clone: toOut, ops.ToCopy: toOut,
		ops.Copy: func(k *Call) { strided.Copy(k.out(), array(ops.In[ops.CopyArgs](k.Call).Src)) },
		ops.Cat:  catKernel,
	}
}

func catKernel(k *Call) {
	out := k.out()
	a := ops.In[ops.CatArgs](k.Call)
	d := whole(a.Dim)
	if d < 0 {
		d += len(out.Shape)
	}
	at := 0
	for _, v := range a.Tensors.Values() {
		t := v.(strided.Holder).Array()
		if len(t.Shape) == 1 && t.Shape[0] == 0 {
			continue
		}
		shape := append([]int{}, out.Shape...)
		shape[d] = t.Shape[d]
		strided.Copy(strided.Over(out.Storage, out.DType, shape, out.Stride, out.Offset+at*out.Stride[d]), t)
		at += t.Shape[d]
	}
}

// shapeKernels are the operators whose result depends on data.
func shapeKernels() map[ops.ID]DynamicKernel {
	return map[ops.ID]DynamicKernel{ops.Item: itemKernel}
}

func itemKernel(k *Call) []any {
	refusal.CheckRule(k.Call)
	t := k.self()
	switch {
	case t.DType == ops.Bool:
		return []any{t.Bools()[0]}
	case t.DType.IsFloat():
		return []any{t.Float64s()[0]}
	}
	return []any{int(t.Int64s()[0])}
}

// bernoulliKernel draws with one probability, or with those of the input.
func bernoulliKernel(k *Call) {
	a := ops.In[ops.BernoulliArgs](k.Call)
	if !a.P.IsNone() {
		fillBernoulli(k.out(), a.P.Float())
		return
	}
	fillEachBernoulli(k.out(), array(a.Self))
}
