package oracle

import (
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is calls of operators that the cases do not have, for the check of
// derivatives.

// positive is numbers in (0.15, 0.95) that differ, float64; further tensors of a
// sample have other numbers.
func (g *grid) positive(shape ...int) *torch.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	v := make([]float64, n)
	for i := range v {
		g.i++
		_, f := math.Modf(float64(g.i) * 0.6180339887498949)
		v[i] = 0.15 + 0.8*f
	}
	return torch.NewTensor(v, kw.Dtype(torch.Float64)).Reshape(shape...).Detach().RequiresGrad_()
}

// mixed is numbers on both sides of zero.
func (g *grid) mixed(shape ...int) *torch.Tensor {
	return g.positive(shape...).Sub(0.5531).Mul(2).Detach().RequiresGrad_()
}

// grid makes tensors whose numbers differ.
type grid struct{ i int }

func ints64(v ...int) *torch.Tensor { return torch.NewTensor(v) }

// gradSamples are the arguments of calls by operator.
func gradSamples() map[string][]any {
	g := &grid{}
	p, m := g.positive, g.mixed
	list := func(t ...*torch.Tensor) []*torch.Tensor { return t }
	out := map[string][]any{
		"_scaled_dot_product_flash_attention_for_cpu": {m(1, 2, 3, 4), m(1, 1, 5, 4), m(1, 1, 5, 4), kw.IsCausal(true)},
		"scaled_dot_product_attention":                {m(1, 2, 3, 4), m(1, 2, 2, 4), m(1, 2, 2, 4), kw.AttnMask(m(3, 2))},
		"adaptive_avg_pool1d":                         {m(2, 2, 7), []int{3}}, "adaptive_avg_pool3d": {m(1, 2, 4, 3, 5), []int{2, 2, 3}},
		"adaptive_max_pool1d": {m(2, 2, 7), []int{3}}, "adaptive_max_pool1d_with_indices": {m(2, 2, 7), []int{3}},
		"adaptive_max_pool2d_with_indices": {m(1, 2, 5, 4), []int{2, 3}},
		"adaptive_max_pool3d":              {m(1, 2, 4, 3, 5), []int{2, 2, 3}},
		"adaptive_max_pool3d_with_indices": {m(1, 2, 4, 3, 5), []int{2, 2, 3}},
		"avg_pool1d":                       {m(2, 2, 7), []int{3}, kw.Stride([]int{2}), kw.Padding([]int{1})},
		"avg_pool3d":                       {m(1, 2, 4, 3, 5), []int{2, 1, 2}},
		"max_pool1d_with_indices":          {m(2, 2, 7), []int{3}}, "max_pool2d_with_indices": {m(1, 2, 5, 4), []int{2, 2}},
		"max_pool3d": {m(1, 2, 4, 3, 5), []int{2, 2, 2}}, "max_pool3d_with_indices": {m(1, 2, 4, 3, 5), []int{2, 2, 2}},
		"addbmm": {m(3, 2), m(4, 3, 5), m(4, 5, 2), kw.Beta(0.5), kw.Alpha(2)}, "addmv": {m(3), m(3, 4), m(4), kw.Beta(0.5), kw.Alpha(2)},
		"addr": {m(3, 4), m(3), m(4), kw.Beta(0.5), kw.Alpha(2)}, "bilinear": {m(3, 4), m(3, 2), m(5, 4, 2), kw.Bias(m(5))},
		"block_diag": {list(m(2, 3), m(1, 2))}, "broadcast_tensors": {list(m(2, 1), m(3))}, "cartesian_prod": {list(m(2), m(3))},
		"column_stack": {list(m(3), m(3, 2))}, "dstack": {list(m(2, 3), m(2, 3))}, "hstack": {list(m(2, 3), m(2, 1))},
		"vstack":       {list(m(2, 3), m(1, 3))},
		"broadcast_to": {m(2, 1), []int{3, 2, 4}}, "channel_shuffle": {m(1, 4, 2, 2), 2},
		"constant_pad_nd":  {m(2, 3), []int{1, 2, 0, -1}, 0.5},
		"conv_transpose1d": {m(2, 4, 4), m(4, 3, 3), kw.Bias(m(6)), kw.Stride([]int{2}), kw.Padding([]int{1}), kw.Groups(2)},
		"conv_transpose2d": {m(1, 2, 3, 2), m(2, 1, 2, 2), kw.Stride([]int{2, 1})},
		"conv_transpose3d": {m(1, 2, 2, 3, 2), m(2, 2, 2, 1, 2), kw.Stride([]int{2, 1, 1})},
		"conv2d":           {m(1, 2, 4, 3), m(2, 1, 2, 2), kw.Groups(2), kw.Padding([]int{1})},
		"conv3d":           {m(1, 1, 3, 2, 3), m(2, 1, 2, 1, 2)},
		"convolution":      {m(2, 4, 6), m(6, 2, 3), m(6), []int{2}, []int{1}, []int{1}, false, []int{0}, 2},
		"copy":             {m(2, 3), m(1, 3)}, "corrcoef": {m(3, 5)}, "cov": {m(3, 5)},
		"cosine_embedding_loss": {m(4, 3), m(4, 3), ints64(1, -1, 1, -1), kw.Margin(-0.5)},
		"cross":                 {m(2, 3), m(2, 3), kw.Dim(1)}, "cummax": {m(3, 4), 1}, "cummin": {m(3, 4), 0},
		"logcumsumexp":         {m(3, 4), 1},
		"cumulative_trapezoid": {m(3, 4)}, "trapezoid": {m(3, 4)}, "diagonal_scatter": {m(3, 4), m(2), kw.Offset(-1)},
		"select_scatter": {m(3, 4), m(3), 1, 2}, "slice_scatter": {m(3, 4), m(3, 2), 1, 0, 4, 2}, "slice": {m(3, 4), 1, 0, 4, 2},
		"dist": {m(2, 3), m(2, 3), kw.P(3)}, "dsplit": {m(2, 2, 4), []int{1, 3}}, "hsplit": {m(2, 4), []int{1, 3}},
		"vsplit":           {m(4, 2), []int{1, 3}},
		"split_with_sizes": {m(5, 2), []int{2, 3}}, "tensor_split": {m(5, 2), []int{2, 3}}, "expand_as": {m(2, 1), m(2, 3)},
		"reshape_as": {m(2, 3), m(3, 2)},
		"view_as":    {m(2, 3), m(3, 2)}, "fill": {m(2, 3), p()}, "float_power": {p(2, 3), p(3)}, "fmax": {m(2, 3), m(3)},
		"fmin":                 {m(2, 3), m(3)},
		"gaussian_nll_loss":    {m(4, 3), m(4, 3), p(4, 3)},
		"hinge_embedding_loss": {p(4, 3), torch.NewTensor([]float64{1, -1, 1}, kw.Dtype(torch.Float64))},
		"inner":                {m(2, 3), m(4, 3)}, "kron": {m(2, 3), m(3, 2)}, "kthvalue": {m(3, 5), 2}, "ldexp": {m(3), ints64(1, -2, 3)},
		"logaddexp2": {m(2, 3), m(3)}, "median.dim": {m(3, 5), 1}, "moveaxis": {m(2, 3, 4), []int{0}, []int{2}},
		"swapdims":                    {m(2, 3), 0, 1},
		"multilabel_soft_margin_loss": {m(3, 4), ints64(1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 0).Reshape(3, 4)},
		"mvlgamma":                    {p(2, 3).Add(2).Detach().RequiresGrad_(), 2},
		"nll_loss":                    {m(3, 4), ints64(1, 0, 3), kw.Weight(p(4).Detach())},
		"pairwise_distance":           {m(4, 3), m(4, 3), kw.P(3)}, "pixel_unshuffle": {m(1, 2, 4, 2), 2},
		"poisson_nll_loss": {m(3, 4), p(3, 4).Detach()}, "polygamma": {1, p(2, 3)}, "prelu": {m(2, 3, 2), p(3)},
		"renorm":           {m(3, 4), 2, 0, 0.7},
		"soft_margin_loss": {m(3, 2), torch.NewTensor([]float64{1, -1}, kw.Dtype(torch.Float64))}, "softmin": {m(3, 4), 1},
		"special.xlog1py": {m(2, 3), p(3)}, "xlogy": {m(2, 3), p(3)}, "special.zeta": {p(2, 3).Add(1.5).Detach(), p(2, 3)},
		"std_mean":    {m(3, 4), kw.Dim(1)},
		"sum_to_size": {m(3, 4), []int{1, 4}}, "take": {m(3, 4), ints64(0, 5, 5, 11)}, "tensordot": {m(2, 3), m(3, 4), []int{1}, []int{0}},
		"triplet_margin_loss": {m(4, 3), m(4, 3), m(4, 3), kw.Swap(true)}, "vander": {m(4), kw.N(3)}, "vdot": {m(4), m(4)},
		"aminmax": {m(3, 4), kw.Dim(1)},
	}
	for _, name := range []string{
		"alias", "atleast_1d", "atleast_2d", "atleast_3d", "clone", "contiguous", "deg2rad", "rad2deg", "fliplr", "flipud",
		"positive", "ravel", "sgn", "sinc",
		"special.erfcx", "special.i0e", "special.i1", "special.i1e", "special.log_ndtr", "special.ndtr", "i0", "nan_to_num",
		"nanmean", "nansum",
		"msort", "median", "diag_embed", "diagflat", "diff", "trace", "t", "zero",
	} {
		out[name] = []any{m(3, 4)}
	}
	for _, name := range []string{"special.entr", "special.ndtri", "clamp_max"} {
		out[name] = []any{p(2, 3)}
	}
	out["clamp_max"] = append(out["clamp_max"], 0.5)
	for _, name := range []string{"conj", "conj_physical", "real"} { // of real numbers: complex ones have no differences in float64
		out[name] = []any{m(3, 4)}
	}
	out["angle"], out["fill_diagonal"] = []any{m(3, 4)}, []any{m(3, 3), 0.5}
	out["embedding_bag"] = []any{ints64(1, 3, 0, 3, 2), m(4, 3), kw.Offsets(ints64(0, 2)), kw.Mode("sum"), kw.PerSampleWeights(p(5))}
	out["grid_sampler_2d"] = []any{m(1, 2, 4, 5), m(1, 2, 3, 2), 0, 0, true}
	out["grid_sampler_3d"] = []any{m(1, 1, 3, 2, 4), m(1, 2, 1, 2, 3), 0, 0, true}
	g.linear(out)
	for name, args := range maskedSamples(g) {
		out[name] = args
	}
	return out
}

// regular is a matrix far from a singular one.
func (g *grid) regular(n int) *torch.Tensor {
	return g.mixed(n, n).Add(torch.Eye(n, kw.Dtype(torch.Float64)).Mul(2)).Detach().RequiresGrad_()
}

// linear adds the samples of linear algebra.
func (g *grid) linear(out map[string][]any) {
	r, m := g.regular, g.mixed
	for _, name := range []string{
		"det", "linalg.det", "logdet", "slogdet", "linalg.slogdet", "inverse", "linalg.inv", "linalg.inv_ex", "linalg.cond",
		"linalg.matrix_exp", "matrix_exp",
		"linalg.pinv", "pinverse", "linalg.qr", "linalg.svdvals", "linalg.norm", "linalg.vector_norm", "linalg.matrix_norm",
	} {
		out[name] = []any{r(3)}
	}
	out["linalg.matrix_power"], out["matrix_power"] = []any{r(3), 3}, []any{r(3), -2}
	out["linalg.solve"], out["linalg.solve_ex"] = []any{r(3), m(3, 2)}, []any{r(3), m(3, 2)}
	out["linalg.solve_triangular"] = []any{r(3), m(3, 2), kw.Upper(true)}
	out["linalg.multi_dot"] = []any{[]*torch.Tensor{m(2, 3), m(3, 4), m(4, 2)}}
	out["linalg.vecdot"], out["linalg.cross"] = []any{m(2, 3), m(2, 3)}, []any{m(2, 3), m(2, 3)}
}

// maskedSamples are those of masked and picked elements and other rare ones.
func maskedSamples(g *grid) map[string][]any {
	m, p := g.mixed, g.positive
	out := map[string][]any{
		"masked_scatter": {m(2, 3), m(2, 3).Gt(0), m(6)}, "index_copy": {m(3, 4), 0, ints64(2, 0), m(2, 4)},
		"index_fill": {m(3, 4), 1, ints64(2, 0), 0.5},
		"put":        {m(3, 4), ints64(1, 7), m(2)}, "pdist": {m(4, 3)}, "multi_margin_loss": {m(3, 4), ints64(1, 0, 3)},
		"quantile": {m(3, 5), 0.3}, "nanquantile": {m(3, 5), 0.6}, "nanmedian": {m(3, 5)}, "mode": {m(3, 5)},
		"gradient": {m(3, 5)}, "combinations": {m(4)},
	}
	for _, name := range []string{
		"masked.sum", "masked.mean", "masked.prod", "masked.amax", "masked.amin", "masked.std",
		"masked.var", "masked.logsumexp",
	} {
		out[name] = []any{m(3, 4), 1}
	}
	for _, name := range []string{"masked.softmax", "masked.log_softmax", "masked.softmin", "masked.cumsum", "masked.cumprod"} {
		out[name] = []any{m(3, 4), 1}
	}
	for _, name := range []string{
		"special.bessel_j0", "special.bessel_j1", "special.bessel_y0", "special.bessel_y1",
		"special.modified_bessel_i0", "special.modified_bessel_i1", "special.modified_bessel_k0", "special.modified_bessel_k1",
	} {
		out[name] = []any{p(2, 3)}
	}
	return out
}
