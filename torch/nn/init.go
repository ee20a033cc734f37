package nn

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
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
	if len(s) < 2 {
		panic(&torch.Error{
			Op: "init", Kind: "ValueError",
			Msg: "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions",
		})
	}
	field := 1
	for _, n := range s[2:] {
		field *= n
	}
	return s[1] * field, s[0] * field
}

// CalculateGain is the factor by which a nonlinearity shrinks what passes it;
// param is the slope of "leaky_relu" (0.01 where left out).
func CalculateGain(nonlinearity string, param ...float64) float64 {
	switch nonlinearity {
	case "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid":
		return 1
	case "tanh":
		return 5.0 / 3
	case "relu":
		return math.Sqrt2
	case "leaky_relu":
		slope := 0.01
		if len(param) > 0 {
			slope = param[0]
		}
		return math.Sqrt(2 / (1 + slope*slope))
	case "selu":
		return 3.0 / 4
	}
	panic(&torch.Error{Op: "calculate_gain", Kind: "ValueError", Msg: "Unsupported nonlinearity " + nonlinearity})
}

// kaiming is the standard deviation of He initialisation.
func kaiming(class string, t *torch.Tensor, opts []torch.Option) float64 {
	known(class, opts, "a", "mode", "nonlinearity")
	in, out := fans(t)
	n := in
	switch mode := option(opts, "mode", "fan_in"); mode {
	case "fan_in":
	case "fan_out":
		n = out
	default:
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: "Mode " + mode + " not supported, please use one of ['fan_in', 'fan_out']"})
	}
	return CalculateGain(option(opts, "nonlinearity", "leaky_relu"), option(opts, "a", 0.0)) / math.Sqrt(float64(n))
}

// KaimingUniform_ is He initialisation. Options: kw.A(0), the slope of a leaky
// ReLU; kw.Mode("fan_in" or "fan_out"), kw.Nonlinearity("leaky_relu").
func KaimingUniform_(t *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	bound := math.Sqrt(3) * kaiming("kaiming_uniform_", t, opts)
	return Uniform_(t, -bound, bound)
}

// KaimingNormal_ is He initialisation with normal numbers; options as
// KaimingUniform_'s.
func KaimingNormal_(t *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return Normal_(t, 0, kaiming("kaiming_normal_", t, opts))
}

// XavierUniform_ is Glorot initialisation.
func XavierUniform_(t *torch.Tensor, gain float64) *torch.Tensor {
	in, out := fans(t)
	a := math.Sqrt(3) * (gain * math.Sqrt(2/float64(in+out)))
	return Uniform_(t, -a, a)
}

// XavierNormal_ is Glorot initialisation with normal numbers.
func XavierNormal_(t *torch.Tensor, gain float64) *torch.Tensor {
	in, out := fans(t)
	return Normal_(t, 0, gain*math.Sqrt(2/float64(in+out)))
}

// TruncNormal_ fills t with normal numbers of [a, b], as PyTorch 2.15 draws them: what
// falls outside is drawn again, together with all the rest. Where less than a third would
// fall inside, uniform numbers of [a, b] are accepted by the density instead.
func TruncNormal_(t *torch.Tensor, mean, std, a, b float64) *torch.Tensor {
	if t.Device() == torch.Device("meta") { // there is nothing to fill
		return t
	}
	torch.NoGrad(func() {
		if normalCDF((b-mean)/std)-normalCDF((a-mean)/std) > 0.3 {
			normalWithin(t, mean, std, a, b)
		} else {
			acceptedWithin(t, mean, std, a, b)
		}
	})
	return t
}

// normalWithin draws t from the normal distribution until all of it is in [a, b], whose
// ends count as numbers of t's type.
func normalWithin(t *torch.Tensor, mean, std, a, b float64) {
	ends := torch.NewTensor([]float64{a, b}, kw.Dtype(t.DType())).Float64s()
	drawn := t.Normal_(mean, std)
	for {
		outside := drawn.Lt(ends[0]).LogicalOr(drawn.Gt(ends[1]))
		if !outside.Any().Bool() {
			break
		}
		drawn = torch.Where(outside, torch.EmptyLike(drawn).Normal_(mean, std), drawn)
	}
	if drawn != t {
		t.Copy_(drawn)
	}
}

// acceptedWithin draws t from the uniform distribution over [a, b] until each number was
// accepted with the probability that its density has beside the largest one there.
func acceptedWithin(t *torch.Tensor, mean, std, a, b float64) {
	logDensity := func(x *torch.Tensor) *torch.Tensor { return x.Sub_(mean).Div_(std).Pow_(2).Mul_(-0.5) }
	mode := max(a, min(mean, b))
	logPeak := -0.5 * ((mode - mean) / std) * ((mode - mean) / std)
	chance := torch.EmptyLike(t)
	refused := func(x *torch.Tensor) *torch.Tensor {
		x = logDensity(x).Sub_(logPeak)
		return chance.Uniform_(0, 1).Log_().Gt(x)
	}
	drawn := t.Uniform_(a, b)
	candidates := drawn.Clone()
	pending := refused(candidates)
	for pending.Any().Bool() {
		drawn = torch.Where(pending, candidates.Uniform_(a, b), drawn)
		pending = torch.Where(pending, refused(candidates), pending)
	}
	if drawn != t {
		t.Copy_(drawn)
	}
}

func normalCDF(x float64) float64 { return (1 + math.Erf(x/math.Sqrt2)) / 2 }

// Eye_ fills a matrix with the identity.
func Eye_(t *torch.Tensor) *torch.Tensor {
	if t.Dim() != 2 {
		panic(&torch.Error{Op: "eye_", Kind: "ValueError", Msg: "Only tensors with 2 dimensions are supported"})
	}
	torch.NoGrad(func() {
		t.Zero_()
		t.Diagonal().Fill_(1)
	})
	return t
}

// Dirac_ makes a convolution's weight keep its input; channels are taken in
// groups.
func Dirac_(t *torch.Tensor, groups int) *torch.Tensor {
	if n := t.Dim(); n < 3 || n > 5 {
		panic(&torch.Error{Op: "dirac_", Kind: "ValueError", Msg: "Only tensors with 3, 4, or 5 dimensions are supported"})
	}
	size := t.Shape()
	if size[0]%groups != 0 {
		panic(&torch.Error{Op: "dirac_", Kind: "ValueError", Msg: "dim 0 must be divisible by groups"})
	}
	each := size[0] / groups
	torch.NoGrad(func() {
		t.Zero_()
		for g := range groups {
			for d := range min(each, size[1]) {
				one := t.Select(0, g*each+d).Select(0, d)
				for _, n := range size[2:] {
					one = one.Select(0, n/2)
				}
				one.Fill_(1)
			}
		}
	})
	return t
}

// Orthogonal_ makes the rows of t, taken as a matrix of t.Size(0) rows (or its
// columns, where there are fewer), orthogonal and of length gain.
func Orthogonal_(t *torch.Tensor, gain float64) *torch.Tensor {
	if t.Dim() < 2 {
		panic(&torch.Error{Op: "orthogonal_", Kind: "ValueError", Msg: "Only tensors with 2 or more dimensions are supported"})
	}
	if t.Numel() == 0 {
		return t
	}
	rows := t.Size(0)
	cols := t.Numel() / rows
	torch.NoGrad(func() {
		flat := torch.Empty(rows, cols, kw.Dtype(t.DType())).Normal_(0, 1)
		if rows < cols {
			flat = flat.T()
		}
		q, r := torch.LinalgQr(flat)
		q = q.Mul(r.Diagonal().Sign()) // the one decomposition whose R has a positive diagonal
		if rows < cols {
			q = q.T()
		}
		t.Copy_(q.Reshape(t.Shape()...)).Mul_(gain)
	})
	return t
}

// Sparse_ fills a matrix with normal numbers and zeroes a share of each column.
func Sparse_(t *torch.Tensor, sparsity, std float64) *torch.Tensor {
	if t.Dim() != 2 {
		panic(&torch.Error{Op: "sparse_", Kind: "ValueError", Msg: "Only tensors with 2 dimensions are supported"})
	}
	rows, cols := t.Size(0), t.Size(1)
	zeros := int(math.Ceil(sparsity * float64(rows)))
	torch.NoGrad(func() {
		t.Normal_(0, std)
		for c := range cols {
			for _, r := range torch.DefaultGenerator().Perm(rows)[:zeros] {
				t.Select(1, c).Select(0, r).Zero_()
			}
		}
	})
	return t
}
