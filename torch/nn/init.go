package nn

import (
	"math"

	"tcdbg/torch"
)

// This file is torch.nn.init: how parameters start. The functions change their
// argument in place and draw PyTorch's numbers.

// Uniform_ fills t with numbers of [a, b).
func Uniform_(t *torch.Tensor, a, b float64) *torch.Tensor {
	torch.NoGrad(func() { t.Uniform_(a, b) })
	return t
}

// Normal_ fills t with normal numbers.
func Normal_(t *torch.Tensor, mean, std float64) *torch.Tensor {
	torch.NoGrad(func() { t.Normal_(mean, std) })
	return t
}

// Constant_ fills t with one value.
func Constant_(t *torch.Tensor, v float64) *torch.Tensor {
	torch.NoGrad(func() { t.Fill_(v) })
	return t
}

// Ones_ fills t with ones.
func Ones_(t *torch.Tensor) *torch.Tensor { return Constant_(t, 1) }

// Zeros_ fills t with zeros.
func Zeros_(t *torch.Tensor) *torch.Tensor { return Constant_(t, 0) }

// fans are the numbers of inputs and outputs of one weight.
func fans(t *torch.Tensor) (in, out int) {
	s := t.Shape()
	field := 1
	for _, n := range s[2:] {
		field *= n
	}
	return s[1] * field, s[0] * field
}

// KaimingUniform_ is He initialisation for a leaky ReLU of negative slope a.
func KaimingUniform_(t *torch.Tensor, a float64) *torch.Tensor {
	in, _ := fans(t)
	bound := math.Sqrt(3) * math.Sqrt(2/(1+a*a)) / math.Sqrt(float64(in))
	return Uniform_(t, -bound, bound)
}

// KaimingNormal_ is He initialisation with normal numbers, for ReLU, scaled by
// the number of outputs when fanOut is set.
func KaimingNormal_(t *torch.Tensor, fanOut bool) *torch.Tensor {
	in, out := fans(t)
	n := in
	if fanOut {
		n = out
	}
	return Normal_(t, 0, math.Sqrt2/math.Sqrt(float64(n)))
}

// XavierUniform_ is Glorot initialisation.
func XavierUniform_(t *torch.Tensor, gain float64) *torch.Tensor {
	in, out := fans(t)
	a := math.Sqrt(3) * gain * math.Sqrt(2/float64(in+out))
	return Uniform_(t, -a, a)
}

// XavierNormal_ is Glorot initialisation with normal numbers.
func XavierNormal_(t *torch.Tensor, gain float64) *torch.Tensor {
	in, out := fans(t)
	return Normal_(t, 0, gain*math.Sqrt(2/float64(in+out)))
}
