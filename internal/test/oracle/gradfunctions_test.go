package oracle

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file holds samples of derivatives that are no single call: what a
// factorization needs is made of free numbers first, and of what it returns
// only that is compared which does not depend on a choice of signs.

// gradFunction is a function of tensors around one operator.
type gradFunction struct {
	in   []*torch.Tensor
	call func(in []*torch.Tensor) []*torch.Tensor
}

// gradFunctions are the functions by operator.
func gradFunctions() map[string]gradFunction {
	g := &grid{i: 1000}
	out := map[string]gradFunction{}
	for _, family := range []map[string]gradFunction{
		choleskyFunctions(g), spectralFunctions(g), solverFunctions(g),
		otherFunctions(g), nativeFunctions(g),
	} {
		for name, f := range family {
			out[name] = f
		}
	}
	return out
}

// definite makes a symmetric positive definite matrix of any one.
func definite(x *torch.Tensor) *torch.Tensor {
	return x.Matmul(x.Transpose(-2, -1)).Add(torch.Eye(x.Size(-1), kw.Dtype(torch.Float64)))
}

// called runs an operator and keeps its tensors of fractions.
func called(name string, args ...any) []*torch.Tensor {
	var out []*torch.Tensor
	for _, v := range torch.Op(name, args...) {
		if t, ok := v.(*torch.Tensor); ok && t.DType().IsFloat() {
			out = append(out, t)
		}
	}
	return out
}

func choleskyFunctions(g *grid) map[string]gradFunction {
	out := map[string]gradFunction{}
	for _, name := range []string{"cholesky", "linalg.cholesky", "linalg.cholesky_ex", "linalg.matrix_sqrth", "linalg.eigvalsh"} {
		out[name] = gradFunction{
			[]*torch.Tensor{g.regular(3)},
			func(in []*torch.Tensor) []*torch.Tensor { return called(name, definite(in[0])) },
		}
	}
	factor := func(x *torch.Tensor) *torch.Tensor { return called("linalg.cholesky", definite(x))[0] }
	out["cholesky_inverse"] = gradFunction{
		[]*torch.Tensor{g.regular(3)},
		func(in []*torch.Tensor) []*torch.Tensor { return called("cholesky_inverse", factor(in[0])) },
	}
	out["cholesky_solve"] = gradFunction{[]*torch.Tensor{g.regular(3), g.mixed(3, 2)}, func(in []*torch.Tensor) []*torch.Tensor {
		return called("cholesky_solve", in[1], factor(in[0]))
	}}
	return out
}

func spectralFunctions(g *grid) map[string]gradFunction {
	out := map[string]gradFunction{
		"linalg.eigh": {[]*torch.Tensor{g.regular(3)}, func(in []*torch.Tensor) []*torch.Tensor {
			o := called("linalg.eigh", definite(in[0]))
			return []*torch.Tensor{o[0], o[1].Mul(o[1])}
		}},
		"linalg.polar": {[]*torch.Tensor{g.regular(3)}, func(in []*torch.Tensor) []*torch.Tensor { return called("linalg.polar", in[0]) }},
	}
	for _, name := range []string{"linalg.svd", "svd"} {
		out[name] = gradFunction{[]*torch.Tensor{g.regular(3)}, func(in []*torch.Tensor) []*torch.Tensor {
			o := called(name, in[0])
			return []*torch.Tensor{o[0].Mul(o[0]), o[1], o[2].Mul(o[2])}
		}}
	}
	return out
}

func solverFunctions(g *grid) map[string]gradFunction {
	return map[string]gradFunction{
		"linalg.lstsq": {[]*torch.Tensor{g.mixed(4, 2), g.mixed(4, 3)}, func(in []*torch.Tensor) []*torch.Tensor {
			return called("linalg.lstsq", in[0], in[1])[:1]
		}},
		"linalg.tensorinv": {[]*torch.Tensor{g.regular(4)}, func(in []*torch.Tensor) []*torch.Tensor {
			return called("linalg.tensorinv", in[0].Reshape(2, 2, 4), kw.Ind(2))
		}},
		"linalg.tensorsolve": {[]*torch.Tensor{g.regular(4), g.mixed(2, 2)}, func(in []*torch.Tensor) []*torch.Tensor {
			return called("linalg.tensorsolve", in[0].Reshape(2, 2, 4), in[1])
		}},
	}
}

func otherFunctions(g *grid) map[string]gradFunction {
	m, p := g.mixed, g.positive
	one := func(x *torch.Tensor, name string, rest ...any) gradFunction {
		return gradFunction{[]*torch.Tensor{x}, func(in []*torch.Tensor) []*torch.Tensor {
			return called(name, append([]any{in[0]}, rest...)...)
		}}
	}
	two := func(x, y *torch.Tensor, name string, rest ...any) gradFunction {
		return gradFunction{[]*torch.Tensor{x, y}, func(in []*torch.Tensor) []*torch.Tensor {
			return called(name, append([]any{in[0], in[1]}, rest...)...)
		}}
	}
	return map[string]gradFunction{
		"masked.norm": one(m(3, 4), "masked.norm", 2, 1), "masked.normalize": one(m(3, 4), "masked.normalize", 2, 1),
		"masked.median":    one(m(3, 5), "masked.median", 1),
		"masked.logaddexp": two(m(3, 4), m(3, 4), "masked.logaddexp"), "nanmedian.dim": one(m(3, 5), "nanmedian.dim", 1),
		"multilabel_margin_loss": one(m(3, 4), "multilabel_margin_loss", ints64(1, 3, -1, 0, 0, -1, 2, 2, 3, 2, 1, 0).Reshape(3, 4)),
		"index_reduce": {[]*torch.Tensor{p(3, 4), p(2, 4)}, func(in []*torch.Tensor) []*torch.Tensor {
			return called("index_reduce", in[0], 0, ints64(2, 0), in[1], "mean")
		}},
		"max_unpool1d":            one(m(1, 2, 3), "max_unpool1d", ints64(0, 3, 4, 1, 2, 5).Reshape(1, 2, 3), []int{2}),
		"max_unpool2d":            one(m(1, 2, 2), "max_unpool2d", ints64(0, 3, 9, 14).Reshape(1, 2, 2), []int{2}),
		"max_unpool3d":            one(m(1, 1, 2, 1), "max_unpool3d", ints64(5, 9).Reshape(1, 1, 2, 1), []int{2}),
		"segment_reduce":          one(m(5, 2), "segment_reduce", "mean", kw.Lengths(ints64(2, 3))),
		"native_dropout_backward": one(m(2, 3), "native_dropout_backward", m(2, 3).Gt(0), 2.0),
		"linear_cross_entropy":    two(m(3, 4), m(5, 4), "linear_cross_entropy", ints64(1, 0, 4)),
	}
}

// nativeFunctions are operators of which the first result alone has a derivative,
// and those whose input must have a form.
func nativeFunctions(g *grid) map[string]gradFunction {
	m, p := g.mixed, g.positive
	first := func(name string, in []*torch.Tensor, call func(in []*torch.Tensor) []any) gradFunction {
		return gradFunction{in, func(in []*torch.Tensor) []*torch.Tensor { return called(name, call(in)...)[:1] }}
	}
	stats := func() []*torch.Tensor { return []*torch.Tensor{m(2, 3, 4), p(3), m(3)} }
	mean, variance := torch.Zeros(3, kw.Dtype(torch.Float64)), torch.Ones(3, kw.Dtype(torch.Float64))
	return map[string]gradFunction{
		"native_layer_norm": first("native_layer_norm", []*torch.Tensor{m(2, 3), p(3), m(3)}, func(in []*torch.Tensor) []any {
			return []any{in[0], []int{3}, in[1], in[2], 1e-5}
		}),
		"native_group_norm": first("native_group_norm", []*torch.Tensor{m(2, 4, 3), p(4), m(4)}, func(in []*torch.Tensor) []any {
			return []any{in[0], in[1], in[2], 2, 4, 3, 2, 1e-5}
		}),
		"native_batch_norm": first("native_batch_norm", stats(), func(in []*torch.Tensor) []any {
			return []any{in[0], in[1], in[2], mean.Clone(), variance.Clone(), true, 0.1, 1e-5}
		}),
		"_native_batch_norm_legit": first("_native_batch_norm_legit", stats(), func(in []*torch.Tensor) []any {
			return []any{in[0], in[1], in[2], true, 0.1, 1e-5}
		}),
		"frexp": first("frexp", []*torch.Tensor{m(2, 3)}, func(in []*torch.Tensor) []any { return []any{in[0]} }),
		"linalg.householder_product": first("linalg.householder_product", []*torch.Tensor{m(4, 3), p(2)}, func(in []*torch.Tensor) []any {
			return []any{in[0], in[1]}
		}),
		"ctc_loss": first("ctc_loss", []*torch.Tensor{m(5, 2, 4)}, func(in []*torch.Tensor) []any {
			return []any{called("log_softmax", in[0], 2)[0], ints64(1, 2, 2, 3).Reshape(2, 2), ints64(5, 4), ints64(2, 2)}
		}),
		"multi_head_attention_forward": first("multi_head_attention_forward",
			[]*torch.Tensor{m(3, 4), m(3, 4), m(3, 4), m(12, 4), m(12), m(4, 4), m(4)}, func(in []*torch.Tensor) []any {
				return []any{in[0], in[1], in[2], 4, 2, in[3], in[4], nil, nil, false, 0.0, in[5], in[6]}
			}),
	}
}
