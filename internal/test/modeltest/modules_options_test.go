package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is the cases of modules that draw numbers, of options, and of lazy modules.

// drawingCases are modules that draw numbers in training; the recorded loss of
// a training call tells whether they are PyTorch's.
func drawingCases() map[string]moduleCase {
	return map[string]moduleCase{
		"dropout":                      plain(func() nn.Module { return nn.NewDropout(0.3) }, 5, 7),
		"dropout_all":                  plain(func() nn.Module { return nn.NewDropout(1) }, 5, 7),
		"dropout1d":                    plain(func() nn.Module { return nn.NewDropout1d(0.4) }, 3, 8, 4),
		"dropout1d_single":             plain(func() nn.Module { return nn.NewDropout1d(0.4) }, 8, 4),
		"dropout2d":                    plain(func() nn.Module { return nn.NewDropout2d(0.4) }, 3, 8, 2, 3),
		"dropout3d":                    plain(func() nn.Module { return nn.NewDropout3d(0.4) }, 3, 8, 2, 3, 2),
		"alpha_dropout":                plain(func() nn.Module { return nn.NewAlphaDropout(0.3) }, 5, 7),
		"alpha_dropout_few":            plain(func() nn.Module { return nn.NewAlphaDropout(0.6) }, 3, 4),
		"feature_alpha_dropout":        plain(func() nn.Module { return nn.NewFeatureAlphaDropout(0.4) }, 3, 7, 5),
		"feature_alpha_dropout_images": plain(func() nn.Module { return nn.NewFeatureAlphaDropout() }, 2, 9, 3, 2),
		"rrelu":                        plain(func() nn.Module { return nn.NewRReLU() }, 5, 7),
		"rrelu_range":                  plain(func() nn.Module { return nn.NewRReLU(kw.Lower(0.1), kw.Upper(0.7)) }, 2, 3, 4),
		"rrelu_inplace": called(func() *nn.RReLU { return nn.NewRReLU(kw.Inplace(true)) }, func(m *nn.RReLU, in tensors) tensors {
			y := in[0].Mul(2)
			return tensors{m.Forward(y), y}
		}, of([]int{3, 4})),
		"fractional_max_pool2d_drawn": plain(func() nn.Module { return nn.NewFractionalMaxPool2d(2, kw.OutputSize([]int{4, 3})) },
			2, 3, 9, 8),
		"fractional_max_pool3d_drawn": plain(func() nn.Module { return nn.NewFractionalMaxPool3d(2, kw.OutputRatio(0.5)) }, 1, 2, 8, 7, 6),
	}
}

func settingCases() map[string]moduleCase {
	return map[string]moduleCase{
		"group_norm_no_bias":          plain(func() nn.Module { return nn.NewGroupNorm(3, 6, kw.Eps(1e-2), kw.Bias(false)) }, 2, 6, 4),
		"group_norm_plain":            plain(func() nn.Module { return nn.NewGroupNorm(3, 6, kw.Affine(false)) }, 2, 6, 4),
		"batch_norm2d_no_bias":        plain(func() nn.Module { return nn.NewBatchNorm2d(3, kw.Bias(false)) }, 2, 3, 4, 5),
		"instance_norm2d_no_bias":     plain(func() nn.Module { return nn.NewInstanceNorm2d(3, kw.Affine(true), kw.Bias(false)) }, 3, 4, 5),
		"local_response_norm_default": plain(func() nn.Module { return nn.NewLocalResponseNorm(2) }, 2, 5, 4, 3),
		"rms_norm_plain":              plain(func() nn.Module { return nn.NewRMSNorm(6, kw.ElementwiseAffine(false)) }, 2, 3, 6),
		"max_pool1d_single":           plain(func() nn.Module { return nn.NewMaxPool1d(2, kw.Dilation(2)) }, 3, 9),
		"avg_pool1d_ceil":             plain(func() nn.Module { return nn.NewAvgPool1d(2, kw.Stride(3), kw.CeilMode(true)) }, 2, 3, 9),
		"conv_transpose2d_groups": plain(func() nn.Module {
			return nn.NewConvTranspose2d(4, 6, 3, kw.Stride(2), kw.Padding(1), kw.OutputPadding(1), kw.Groups(2))
		}, 2, 4, 3, 4),
		"conv3d_groups": plain(func() nn.Module {
			return nn.NewConv3d(4, 6, []int{1, 2, 3}, kw.Stride([]int{1, 2, 1}), kw.Groups(2), kw.Bias(false))
		}, 1, 4, 3, 4, 5),
		"conv1d_reflect": plain(func() nn.Module { return nn.NewConv1d(3, 4, 3, kw.Padding(2), kw.PaddingMode("reflect")) }, 3, 6),
		"bilinear_no_bias": called(func() *nn.Bilinear { return nn.NewBilinear(4, 5, 3, kw.Bias(false)) },
			func(m *nn.Bilinear, in tensors) tensors {
				return tensors{m.Forward(in[0], in[1])}
			}, of([]int{2, 3, 4}, []int{2, 3, 5})),
		"pixel_shuffle_single":  plain(func() nn.Module { return nn.NewPixelShuffle(3) }, 9, 2, 2),
		"pixel_unshuffle_three": plain(func() nn.Module { return nn.NewPixelUnshuffle(3) }, 1, 2, 3, 6),
		"flatten_part":          plain(func() nn.Module { return nn.NewFlatten(kw.StartDim(2), kw.EndDim(-2)) }, 2, 3, 4, 5, 2),
		"unflatten_last":        plain(func() nn.Module { return nn.NewUnflatten(-1, []int{2, 2}) }, 2, 6, 4),
		"cosine_similarity_dim": called(func() *nn.CosineSimilarity { return nn.NewCosineSimilarity(kw.Dim(0), kw.Eps(0.5)) },
			func(m *nn.CosineSimilarity, in tensors) tensors {
				return tensors{m.Forward(in[0], in[1])}
			}, of([]int{4, 5}, []int{4, 5})),
		"pairwise_distance_one": called(func() *nn.PairwiseDistance { return nn.NewPairwiseDistance(kw.P(1), kw.Eps(0.1)) },
			func(m *nn.PairwiseDistance, in tensors) tensors {
				return tensors{m.Forward(in[0], in[1])}
			}, of([]int{4, 5}, []int{4, 5})),
		"upsample_trilinear": plain(func() nn.Module {
			return nn.NewUpsample(kw.ScaleFactor([]float64{1, 2, 1.5}), kw.Mode("trilinear"))
		}, 1, 2, 2, 3, 4),
		"upsample_bicubic": plain(func() nn.Module {
			return nn.NewUpsample(kw.Size([]int{5, 7}), kw.Mode("bicubic"), kw.AlignCorners(true))
		}, 1, 2, 3, 4),
		"parameter_dict": called(func() *nn.ParameterDict {
			return nn.NewParameterDict().Set("right", torch.Zeros(4)).Set("left", torch.Ones(2, 1))
		}, func(m *nn.ParameterDict, in tensors) tensors {
			return tensors{m.At("left").Mul(in[0]).Add(m.At("right"))}
		}, of([]int{2, 4})),
	}
}

// lazyCases are made by a first input, as the recorded ones were.
func lazyCases() map[string]moduleCase {
	out := map[string]moduleCase{}
	add := func(name string, make func() nn.Module, shape ...int) {
		out[name] = plain(func() nn.Module {
			m := make()
			nn.Eval(m)
			torch.NoGrad(func() { m.Forward(torch.Zeros(shape)) })
			nn.Train(m)
			return m
		}, shape...)
	}
	add("lazy_linear", func() nn.Module { return nn.NewLazyLinear(3) }, 2, 5)
	add("lazy_conv1d", func() nn.Module { return nn.NewLazyConv1d(4, 3, kw.Padding(1)) }, 3, 6)
	add("lazy_conv2d", func() nn.Module { return nn.NewLazyConv2d(6, 3, kw.Groups(3), kw.Bias(false)) }, 2, 6, 5, 5)
	add("lazy_conv3d", func() nn.Module { return nn.NewLazyConv3d(2, 2) }, 1, 2, 3, 3, 3)
	add("lazy_conv_transpose1d", func() nn.Module { return nn.NewLazyConvTranspose1d(4, 3, kw.Stride(2)) }, 2, 3, 6)
	add("lazy_conv_transpose2d", func() nn.Module { return nn.NewLazyConvTranspose2d(4, 3) }, 2, 3, 4, 4)
	add("lazy_conv_transpose3d", func() nn.Module { return nn.NewLazyConvTranspose3d(2, 2) }, 1, 2, 3, 3, 3)
	add("lazy_batch_norm1d", func() nn.Module { return nn.NewLazyBatchNorm1d(kw.Eps(1e-3)) }, 4, 5)
	add("lazy_batch_norm2d", func() nn.Module { return nn.NewLazyBatchNorm2d(kw.Affine(false)) }, 2, 3, 4, 4)
	add("lazy_batch_norm3d", func() nn.Module { return nn.NewLazyBatchNorm3d() }, 2, 3, 2, 2, 2)
	add("lazy_instance_norm1d", func() nn.Module { return nn.NewLazyInstanceNorm1d(kw.Affine(true)) }, 2, 4, 6)
	add("lazy_instance_norm2d", func() nn.Module { return nn.NewLazyInstanceNorm2d(kw.Affine(true)) }, 2, 3, 4, 4)
	add("lazy_instance_norm3d", func() nn.Module { return nn.NewLazyInstanceNorm3d(kw.Affine(true)) }, 2, 3, 2, 2, 2)
	return out
}
