package kernels

import (
	"math"

	"tcdbg/ops"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// This file holds the forward and backward variables of the connectionist
// temporal classification loss, which are sums of logarithms in the type of the
// probabilities: in float32 their last digits are PyTorch's only if every step
// rounds as there.

func ctcKernels() map[ops.ID]Kernel {
	return map[ops.ID]Kernel{ops.CtcAlpha: ctcKernel, ops.CtcGrad: ctcBackKernel}
}

// ctcBatch is one sequence of a batch: its targets with blanks between.
type ctcBatch struct {
	steps, batch, classes int
	lp                    []float64 // [steps][batch][classes]
	single                bool      // of float32
	at                    int       // of the batch
	length                int       // of the input
	labels                []int     // blank, t0, blank, t1, ..., blank
}

// ctcBatches takes the arguments of a loss apart.
func ctcBatches(a ops.CtcAlphaArgs) []ctcBatch {
	lp, targets, blank := array(a.LogProbs), array(a.Targets), whole(a.Blank)
	steps, batch, classes := lp.Shape[0], lp.Shape[1], lp.Shape[2]
	probs, t := lp.Float64s(), targets.Int64s()
	inputs, sizes := array(a.InputLengths).Int64s(), array(a.TargetLengths).Int64s()
	out := make([]ctcBatch, batch)
	from := 0
	for i := range out {
		n := int(sizes[i])
		if int(inputs[i]) > steps {
			refusal.Fail(
				"ctc_loss", "RuntimeError",
				"Expected input_lengths to have value at most %d, but got value %d (while checking arguments for ctc_loss_cpu)",
				steps, inputs[i],
			)
		}
		if len(targets.Shape) == 2 {
			from = i * targets.Shape[1]
			if n > targets.Shape[1] {
				refusal.Fail(
					"ctc_loss", "RuntimeError",
					"Expected tensor to have size at least %d at dimension 1, but got size %d for argument #2 'targets' (while "+
						"checking arguments for ctc_loss_cpu)",
					n, targets.Shape[1],
				)
			}
		}
		if n < 0 || from+n > len(t) {
			refusal.Fail("ctc_loss", "RuntimeError", "ctc_loss: target_lengths add up to more than the %d targets", len(t))
		}
		b := ctcBatch{
			steps: steps, batch: batch, classes: classes, lp: probs, single: lp.DType == ops.Float32, at: i,
			length: int(inputs[i]), labels: []int{blank},
		}
		for _, l := range t[from : from+n] {
			if l < 0 || int(l) >= classes {
				refusal.Fail("ctc_loss", "RuntimeError", "ctc_loss: target %d is no class of %d", l, classes)
			}
			b.labels = append(b.labels, int(l), blank)
		}
		from += n
		out[i] = b
	}
	return out
}

// prob is the log probability of state s at time t.
func (b *ctcBatch) prob(t, s int) float64 {
	return b.lp[(t*b.batch+b.at)*b.classes+b.labels[s]]
}

// skips reports whether state s may follow state s-2.
func (b *ctcBatch) skips(s int) bool { return s >= 2 && b.labels[s] != b.labels[s-2] }

// round is x in the type of the probabilities.
func (b *ctcBatch) round(x float64) float64 {
	if b.single {
		return float64(float32(x))
	}
	return x
}

// logSum is the logarithm of a sum of exponentials.
func (b *ctcBatch) logSum(xs ...float64) float64 {
	high := math.Inf(-1)
	for _, x := range xs {
		high = math.Max(high, x)
	}
	if math.IsInf(high, -1) {
		return high
	}
	sum := 0.0
	for _, x := range xs {
		sum = b.round(sum + b.round(math.Exp(b.round(x-high))))
	}
	return b.round(b.round(math.Log(sum)) + high)
}

// forward returns the forward variables by time and the likelihood.
func (b *ctcBatch) forward() (alpha [][]float64, likelihood float64) {
	n := len(b.labels)
	low := math.Inf(-1)
	if b.length == 0 {
		if n == 1 {
			return nil, 0
		}
		return nil, low
	}
	for t := range b.length {
		row := make([]float64, n)
		for s := range row {
			switch {
			case t == 0 && s < 2:
				row[s] = b.prob(0, s)
			case t == 0:
				row[s] = low
			default:
				row[s] = b.round(b.prob(t, s) + b.arriving(alpha[t-1], s))
			}
		}
		alpha = append(alpha, row)
	}
	last := alpha[b.length-1]
	if n == 1 {
		return alpha, last[0]
	}
	return alpha, b.logSum(last[n-1], last[n-2])
}

// arriving sums the states from which s is reached.
func (b *ctcBatch) arriving(prev []float64, s int) float64 {
	low := math.Inf(-1)
	one, two := low, low
	if s > 0 {
		one = prev[s-1]
	}
	if b.skips(s) {
		two = prev[s-2]
	}
	return b.logSum(prev[s], one, two)
}

func ctcKernel(k *Call) {
	loss := make([]float64, k.Outs[0].Numel())
	steps, states := k.Outs[1].Shape[1], k.Outs[1].Shape[2]
	alphas := make([]float64, k.Outs[1].Numel())
	for i := range alphas {
		alphas[i] = math.Inf(-1)
	}
	for i, b := range ctcBatches(*ops.In[ops.CtcAlphaArgs](k.Call)) {
		alpha, like := b.forward()
		loss[i] = -like
		for t, row := range alpha {
			copy(alphas[(i*steps+t)*states:], row)
		}
	}
	strided.Store(k.Outs[0], loss, ops.Float64)
	strided.Store(k.Outs[1], alphas, ops.Float64)
}

// backward returns the backward variables by time.
func (b *ctcBatch) backward() [][]float64 {
	n := len(b.labels)
	low := math.Inf(-1)
	beta := make([][]float64, b.length)
	for t := b.length - 1; t >= 0; t-- {
		row := make([]float64, n)
		for s := range row {
			switch {
			case t == b.length-1 && s >= n-2:
				row[s] = b.prob(t, s)
			case t == b.length-1:
				row[s] = low
			default:
				one, two := low, low
				if s+1 < n {
					one = beta[t+1][s+1]
				}
				if s+2 < n && b.skips(s+2) {
					two = beta[t+1][s+2]
				}
				row[s] = b.round(b.prob(t, s) + b.logSum(beta[t+1][s], one, two))
			}
		}
		beta[t] = row
	}
	return beta
}

func ctcBackKernel(k *Call) {
	a := ops.In[ops.CtcGradArgs](k.Call)
	grad := array(a.Grad).Float64s()
	out := make([]float64, k.out().Numel())
	for i, b := range ctcBatches(ops.CtcAlphaArgs{
		LogProbs: a.LogProbs, Targets: a.Targets, InputLengths: a.InputLengths, TargetLengths: a.TargetLengths, Blank: a.Blank,
	}) {
		alpha, like := b.forward()
		if a.ZeroInfinity.Bool() && math.IsInf(like, -1) {
			continue
		}
		beta := b.backward()
		for t := range b.length {
			sums := make([]float64, b.classes)
			for c := range sums {
				sums[c] = math.Inf(-1)
			}
			for s := len(b.labels) - 1; s >= 0; s-- {
				l := b.labels[s]
				sums[l] = b.logSum(sums[l], b.round(alpha[t][s]+beta[t][s]))
			}
			row := out[(t*b.batch+i)*b.classes:][:b.classes]
			for c := range row {
				lp := b.lp[(t*b.batch+i)*b.classes+c]
				off := b.round(math.Exp(b.round(b.round(sums[c]-like) - lp)))
				row[c] = b.round(b.round(math.Exp(lp))-off) * grad[i]
			}
		}
	}
	strided.Store(k.out(), out, ops.Float64)
}
