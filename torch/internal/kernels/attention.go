package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/gemm"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/parallel"
	"tcdbg/torch/internal/simd"
	"tcdbg/torch/internal/strided"
)

// This file is scaled_dot_product_attention: a thread takes some rows of one
// head's queries through both products and the softmax between them, so that the
// scores never leave the cache. What a derivative needs of them is the logarithm
// of each row's sum.

// attentionRows is how many queries a thread takes at a time.
const attentionRows = 64

// attention is one call on dense float32 operands.
type attention struct {
	q, k, v, out      []float32
	heads, group      int // heads of q in all; how many share one of k and v
	rows, keys        int // queries and keys of a head
	width, valueWidth int // numbers of a query or key, and of a value
	scale             float32
	causal            bool
	mask              []float32 // added to the scores; nil for none
	maskHead, maskRow int       // its steps; 0 where it is broadcast
	sums              []float32 // logarithms of the rows' sums; nil where nobody asks
}

func attentionKernel(k *Call) {
	a := ops.In[ops.SdpaArgs](k.Call)
	attend(k, a, a.EnableGqa.Bool())
}

func flashKernel(k *Call) {
	a := ops.In[ops.FlashAttentionArgs](k.Call)
	attend(k, &ops.SdpaArgs{
		Query: a.Query, Key: a.Key, Value: a.Value, AttnMask: a.AttnMask, DropoutP: a.DropoutP, IsCausal: a.IsCausal, Scale: a.Scale,
	}, true)
}

// attend computes attention where heads of queries may share those of keys, if grouped.
func attend(k *Call, args *ops.SdpaArgs, grouped bool) {
	a, ok := newAttention(args, grouped)
	if !ok {
		k.Declined = true
		return
	}
	if len(k.Outs) > 1 {
		a.sums = strided.Slice[float32](k.Outs[1])
	}
	out := k.out()
	res := out
	if !out.IsContiguous() {
		res = strided.New(ops.Float32, out.Shape)
	}
	a.out = strided.Slice[float32](res)
	a.run()
	if res != out {
		strided.Copy(out, res)
	}
}

// newAttention reads the arguments; ok is false for calls that the blocked form
// does not know: other types, dropout, batches that are broadcast, small products.
func newAttention(args *ops.SdpaArgs, grouped bool) (a *attention, ok bool) {
	q, key, v := array(args.Query), array(args.Key), array(args.Value)
	n := len(q.Shape)
	if q.DType != ops.Float32 || key.DType != ops.Float32 || v.DType != ops.Float32 || args.DropoutP.Float() > 0 ||
		n < 2 || len(key.Shape) != n || len(v.Shape) != n || q.Numel() == 0 || key.Numel() == 0 || v.Numel() == 0 {
		return nil, false
	}
	a = &attention{
		heads: strided.Product(q.Shape[:n-2]), group: 1, rows: q.Shape[n-2], keys: key.Shape[n-2],
		width: q.Shape[n-1], valueWidth: v.Shape[n-1], causal: args.IsCausal.Bool(),
		scale: float32(1 / math.Sqrt(float64(q.Shape[n-1]))),
	}
	if !args.Scale.IsNone() {
		a.scale = float32(args.Scale.Float())
	}
	if n > 2 && grouped {
		a.group = q.Shape[n-3] / key.Shape[n-3]
	}
	for i := range n - 2 {
		heads := key.Shape[i]
		if i == n-3 {
			heads *= a.group
		}
		if heads != q.Shape[i] || key.Shape[i] != v.Shape[i] {
			return nil, false
		}
	}
	if ops.SmallAttention(a.rows, a.keys, a.width) {
		return nil, false
	}
	if mask := array(args.AttnMask); mask != nil && !a.takeMask(mask, q.Shape) {
		return nil, false
	}
	a.q, a.k, a.v = strided.Slice[float32](strided.Dense(q, ops.Float32)), strided.Slice[float32](strided.Dense(key,
		ops.Float32)), strided.Slice[float32](strided.Dense(v, ops.Float32))
	return a, true
}

// takeMask brings a mask into the form of numbers that are added. It knows
// masks that are the same for all heads, or differ by head.
func (a *attention) takeMask(mask *strided.Array, q []int) bool {
	lead := len(q) - len(mask.Shape)
	if lead < 0 || len(mask.Shape) < 2 {
		return false
	}
	heads := strided.Product(mask.Shape[:len(mask.Shape)-2])
	if heads != 1 && (lead > 0 || heads != a.heads) {
		return false
	}
	m := mask
	if mask.DType == ops.Bool {
		m = strided.New(ops.Float32, mask.Shape)
		keep, to := strided.Slice[bool](strided.Dense(mask, ops.Bool)), strided.Slice[float32](m)
		for i, ok := range keep {
			to[i] = 0
			if !ok {
				to[i] = float32(math.Inf(-1))
			}
		}
	}
	rows, keys := mask.Shape[len(mask.Shape)-2], mask.Shape[len(mask.Shape)-1]
	if keys != a.keys || rows != a.rows && rows != 1 {
		return false
	}
	a.mask = strided.Slice[float32](strided.Dense(m, ops.Float32))
	if rows > 1 {
		a.maskRow = keys
	}
	if heads > 1 {
		a.maskHead = rows * keys
	}
	return true
}

func (a *attention) run() {
	blocks := (a.rows + attentionRows - 1) / attentionRows
	threads := parallel.Threads()
	if a.heads*a.rows*a.keys*(a.width+a.valueWidth) < 1<<18 {
		threads = 1
	}
	parallel.Each(threads, a.heads*blocks, func(i int) {
		first := i % blocks * attentionRows
		a.block(i/blocks, first, min(first+attentionRows, a.rows))
	})
}

// block computes rows first to end of one head.
func (a *attention) block(head, first, end int) {
	l, m, keys := simd.Active(), end-first, a.keys
	if a.causal {
		keys = min(keys, end)
	}
	q := a.q[(head*a.rows+first)*a.width:][:m*a.width]
	k := a.k[head/a.group*a.keys*a.width:][:a.keys*a.width]
	v := a.v[head/a.group*a.keys*a.valueWidth:][:a.keys*a.valueWidth]
	room := memory.Borrow(m * (keys + a.width))
	defer room.GiveBack()
	scores, scaled := room.Floats[:m*keys], room.Floats[m*keys:][:m*a.width]
	l.WithScalar(simd.Mul, scaled, q, a.scale)
	gemm.Panels(
		gemm.Target{Data: scores, LD: keys, Cols: keys, Jump: 0}, gemm.Lanes{Data: scaled, Lane: a.width, Step: 1},
		gemm.Lanes{Data: k, Lane: a.width, Step: 1}, m, keys, a.width, 1,
	)
	for r := range m {
		sum := a.softmax(l, scores[r*keys:(r+1)*keys], head, first+r)
		if a.sums != nil {
			a.sums[head*a.rows+first+r] = sum
		}
	}
	out := a.out[(head*a.rows+first)*a.valueWidth:][:m*a.valueWidth]
	gemm.Panels(
		gemm.Target{Data: out, LD: a.valueWidth, Cols: a.valueWidth, Jump: 0},
		gemm.Lanes{Data: scores, Lane: keys, Step: 1}, gemm.Lanes{Data: v, Lane: 1, Step: a.valueWidth}, m,
		a.valueWidth, keys, 1,
	)
}

// softmax turns one row of scores into weights and gives the logarithm of their
// sum; a row whose keys are all masked is zero, its sum infinite.
func (a *attention) softmax(l simd.Level, s []float32, head, row int) float32 {
	seen := s
	if a.causal {
		seen = s[:min(row+1, len(s))]
		clear(s[len(seen):])
	}
	if a.mask != nil {
		l.Binary(simd.Add, seen, seen, a.mask[head*a.maskHead+row*a.maskRow:][:len(seen)])
	}
	high := l.Largest(seen)
	if a.mask != nil && math.IsInf(float64(high), -1) {
		clear(s)
		return float32(math.Inf(1))
	}
	sum := l.ExpSum(seen, seen, high)
	l.WithScalar(simd.Mul, seen, seen, float32(1/sum))
	return high + float32(math.Log(sum))
}
