package ops

import "tcdbg/ops/sym"

// This file holds cov: covariances of variables with frequencies and weights.

// covariance treats each row as a variable, each column as an observation.
func covariance(b B, c *Call) Value {
	in := In[CovArgs](c)
	if n := len(in.Self.Meta().Shape); n > 2 {
		refuse(Errorf("cov(): expected input to have two or fewer dimensions but got an input with %d dimensions", n))
	}
	x := atLeast(b, in.Self.Value(), 2)
	if d := x.TensorMeta().DType; d == Bool {
		refuse(Errorf("cov(): bool dtype is not supported for input"))
	}
	n := x.TensorMeta().Shape[1]
	w := observationWeights(b, c, n)
	if d := x.TensorMeta().DType; !isFloaty(d) {
		x = b.cast(x, Float32)
	}
	if w == nil {
		d := b.sub(x, b.mean(x, true, 1))
		return b.Emit(Squeeze, b.div(b.mm(d, b.t(b.conj(d))), atLeastZero(b, sym.Sub(n, in.Correction.Int()))))
	}
	total := b.sum(w, false)
	mean := b.div(b.sum(b.mul(x, w), true, 1), total)
	norm := b.sub(total, in.Correction.Arg)
	if a := in.Aweights.Value(); a != nil && !sym.Is(in.Correction.Int(), 0) {
		norm = b.sub(total, b.div(b.mul(b.sum(b.mul(w, a), false), in.Correction.Arg), total))
	}
	norm = b.where(b.le(norm, 0), scalarLike(norm, 0), norm)
	d := b.sub(x, mean)
	out := b.mm(d, b.t(b.conj(b.cast(b.mul(d, w), d.TensorMeta().DType))))
	return b.Emit(Squeeze, b.div(out, norm))
}

// atLeastZero is a size that counts as zero where it would be negative.
func atLeastZero(b B, n sym.Int) Arg {
	if v, ok := n.IsConst(); ok && v < 0 {
		return symZero
	}
	return n
}

// observationWeights is the product of frequencies and weights; nil for none.
func observationWeights(b B, c *Call, n sym.Int) Value {
	a := In[CovArgs](c)
	var w Value
	for _, weights := range []struct {
		name string
		TensorArg
	}{{"fweights", a.Fweights}, {"aweights", a.Aweights}} {
		v, name := weights.Value(), weights.name
		if v == nil {
			continue
		}
		m := v.TensorMeta()
		if len(m.Shape) > 1 {
			refuse(Errorf("cov(): expected %s to have one or fewer dimensions but got %s with %d dimensions", name, name, len(m.Shape)))
		}
		if name == "fweights" && !m.DType.IsInt() {
			refuse(Errorf("cov(): expected fweights to have integral dtype but got fweights with %s dtype", m.DType.ScalarType()))
		}
		if name == "aweights" && !m.DType.IsFloat() {
			refuse(Errorf("cov(): expected aweights to have floating point dtype but got aweights with %s dtype", m.DType.ScalarType()))
		}
		if sym.Ne(numel(m.Shape), n) {
			refuse(Errorf(
				"cov(): expected %s to have the same numel as there are observations in the input but got %s != %s",
				name, numel(m.Shape), n,
			))
		}
		if w == nil {
			w = v
		} else {
			w = b.mul(w, v)
		}
	}
	return w
}
