package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file holds further modules and settings for TestModulesAgreeWithPyTorch.

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

func windowCases() map[string]moduleCase {
	all := []torch.Option{kw.Dilation([]int{1, 2}), kw.Padding([]int{2, 1}), kw.Stride([]int{2, 3})}
	samples2 := torch.NewTensor([][][]float32{{{0.25, 0.75}, {0.5, 0.125}}, {{0.9, 0.1}, {0, 0.6}}})
	samples3 := torch.NewTensor([][][]float32{{{0.25, 0.75, 0.4}, {0.5, 0.125, 0.8}}})
	return map[string]moduleCase{
		"unfold":           plain(func() nn.Module { return nn.NewUnfold(2) }, 2, 3, 4, 5),
		"unfold_all":       plain(func() nn.Module { return nn.NewUnfold([]int{3, 2}, all...) }, 2, 3, 7, 8),
		"fold":             plain(func() nn.Module { return nn.NewFold([]int{4, 5}, 2) }, 2, 12, 12),
		"fold_all":         plain(func() nn.Module { return nn.NewFold([]int{7, 8}, []int{3, 2}, all...) }, 2, 18, 15),
		"fold_single":      plain(func() nn.Module { return nn.NewFold([]int{5, 6}, []int{2, 3}, kw.Stride(2)) }, 12, 4),
		"lp_pool1d":        plain(func() nn.Module { return nn.NewLPPool1d(2, 3) }, 2, 3, 9),
		"lp_pool1d_single": plain(func() nn.Module { return nn.NewLPPool1d(4, 2, kw.Stride(1), kw.CeilMode(true)) }, 3, 9),
		"lp_pool2d":        plain(func() nn.Module { return nn.NewLPPool2d(2, 3, kw.Stride(2)) }, 2, 3, 8, 9),
		"lp_pool2d_sum":    plain(func() nn.Module { return nn.NewLPPool2d(1, []int{2, 3}, kw.CeilMode(true)) }, 2, 3, 5, 7),
		"lp_pool3d":        plain(func() nn.Module { return nn.NewLPPool3d(2, []int{2, 1, 2}) }, 1, 2, 4, 5, 6),
		"fractional_max_pool2d": plain(func() nn.Module {
			return nn.NewFractionalMaxPool2d(2, kw.OutputSize([]int{4, 3}), kw.RandomSamples(samples2))
		}, 2, 2, 9, 8),
		"fractional_max_pool2d_places": called(func() *nn.FractionalMaxPool {
			return nn.NewFractionalMaxPool2d([]int{3, 2}, kw.OutputRatio([]float64{0.5, 0.4}), kw.RandomSamples(samples2))
		}, func(m *nn.FractionalMaxPool, in tensors) tensors { return two(m.ForwardWithIndices(in[0])) }, of([]int{2, 2, 9, 11})),
		"fractional_max_pool3d": plain(func() nn.Module {
			return nn.NewFractionalMaxPool3d([]int{2, 3, 2}, kw.OutputSize(3), kw.RandomSamples(samples3))
		}, 1, 2, 7, 8, 6),
		"max_unpool1d": called(func() *nn.MaxUnpool { return nn.NewMaxUnpool1d(2) }, func(m *nn.MaxUnpool, in tensors) tensors {
			y, at := nn.NewMaxPool1d(2).ForwardWithIndices(in[0])
			return tensors{m.Forward(y, at)}
		}, of([]int{2, 3, 8})),
		"max_unpool2d": called(func() *nn.MaxUnpool { return nn.NewMaxUnpool2d(3, kw.Stride(2), kw.Padding(1)) },
			func(m *nn.MaxUnpool, in tensors) tensors {
				y, at := nn.NewMaxPool2d(3, kw.Stride(2), kw.Padding(1)).ForwardWithIndices(in[0])
				return tensors{m.Forward(y, at, in[0].Shape()...)}
			}, of([]int{2, 3, 7, 8})),
		"max_unpool3d": called(func() *nn.MaxUnpool { return nn.NewMaxUnpool3d([]int{2, 1, 2}) },
			func(m *nn.MaxUnpool, in tensors) tensors {
				y, at := nn.NewMaxPool3d([]int{2, 1, 2}).ForwardWithIndices(in[0])
				return tensors{m.Forward(y, at)}
			}, of([]int{1, 2, 4, 3, 6})),
		"adaptive_max_pool1d_places": called(func() *nn.AdaptiveMaxPool1d { return nn.NewAdaptiveMaxPool1d(4) },
			func(m *nn.AdaptiveMaxPool1d, in tensors) tensors {
				return two(m.ForwardWithIndices(in[0]))
			}, of([]int{2, 3, 9})),
		"max_pool3d_places": called(func() *nn.MaxPool3d { return nn.NewMaxPool3d(2, kw.Stride(1)) },
			func(m *nn.MaxPool3d, in tensors) tensors {
				return two(m.ForwardWithIndices(in[0]))
			}, of([]int{1, 2, 4, 3, 5})),
		"adaptive_avg_pool2d_none": plain(func() nn.Module { return nn.NewAdaptiveAvgPool2d([]int{-1, 3}) }, 2, 3, 7, 8),
		"adaptive_max_pool2d_none": plain(func() nn.Module { return nn.NewAdaptiveMaxPool2d([]int{4, -1}) }, 2, 3, 7, 8),
	}
}

func tableCases() map[string]moduleCase {
	type bag = nn.EmbeddingBag
	look := func(m *nn.Embedding, in tensors) tensors { return tensors{m.Forward(in[0])} }
	ids := func(below int, shape ...int) func() tensors {
		return func() tensors { return tensors{integers(0, below, shape...)} }
	}
	bags := func(offsets ...int) func(m *bag, in tensors) tensors {
		return func(m *bag, in tensors) tensors {
			return tensors{m.ForwardOffsets(in[0], torch.NewTensor(offsets), nil)}
		}
	}
	return map[string]moduleCase{
		"embedding_max_norm": called(func() *nn.Embedding { return nn.NewEmbedding(10, 4, kw.MaxNorm(0.8), kw.NormType(1.0)) },
			look, ids(10, 3, 4)),
		"embedding_freq": called(func() *nn.Embedding {
			return nn.NewEmbedding(5, 4, kw.ScaleGradByFreq(true), kw.PaddingIdx(-1))
		}, look, ids(5, 3, 4)),
		"embedding_pretrained": called(func() *nn.Embedding { return nn.NewEmbeddingFromPretrained(torch.Eye(5), false) }, look,
			ids(5, 3, 4)),
		"embedding_bag": called(func() *bag { return nn.NewEmbeddingBag(10, 4) },
			func(m *bag, in tensors) tensors { return tensors{m.Forward(in[0])} }, ids(10, 3, 4)),
		"embedding_bag_offsets": called(func() *bag { return nn.NewEmbeddingBag(10, 4, kw.Mode("sum"), kw.PaddingIdx(2)) },
			bags(0, 3, 3, 7), ids(10, 12)),
		"embedding_bag_max": called(func() *bag { return nn.NewEmbeddingBag(10, 4, kw.Mode("max"), kw.IncludeLastOffset(true)) },
			bags(0, 5, 12), ids(10, 12)),
		"embedding_bag_weights": called(func() *bag { return nn.NewEmbeddingBag(10, 4, kw.Mode("sum"), kw.MaxNorm(0.9)) },
			func(m *bag, in tensors) tensors {
				return tensors{m.ForwardOffsets(in[0], nil, in[1])}
			}, func() tensors { return tensors{integers(0, 10, 3, 4), numbers(1, 3, 4)} }),
	}
}

func moreLossCases() map[string]moduleCase {
	ctc := func(lengths ...int) func(m *nn.CTCLoss, in tensors) tensors {
		return func(m *nn.CTCLoss, in tensors) tensors {
			y := in[1]
			if lengths[0] == 9 { // blank is class 0 there
				y = y.Add(1)
			}
			return tensors{m.Forward(in[0].LogSoftmax(2), y, torch.NewTensor(lengths), torch.NewTensor([]int{4, 2, 3}))}
		}
	}
	spoken := func() tensors { return tensors{numbers(0, 9, 3, 6), integers(1, 5, 3, 4)} }
	classes := func() tensors { return tensors{numbers(0, 4, 5), integers(1, 5, 4)} }
	labels := func(y *torch.Tensor) func(m *nn.Loss, in tensors) tensors {
		return func(m *nn.Loss, in tensors) tensors { return tensors{m.Forward(in[0], y)} }
	}
	triplet := func(m *nn.Loss3, in tensors) tensors { return tensors{m.Forward(in[0], in[1], in[2])} }
	vectors := of([]int{4, 5}, []int{4, 5}, []int{4, 5})
	head := func(m *nn.LinearCrossEntropyLoss, in tensors) tensors { return tensors{m.Forward(in[0], in[1])} }
	type softmax = nn.AdaptiveLogSoftmaxWithLoss
	weights := func() *torch.Tensor { return torch.NewTensor([]float32{0.5, 1, 2, 0.25, 3}) }
	bits := func() tensors { return tensors{numbers(0, 4, 5), data(1, 4, 5)} }
	return map[string]moduleCase{
		"ctc_loss": called(func() *nn.CTCLoss { return nn.NewCTCLoss() }, ctc(9, 7, 8), spoken),
		"ctc_loss_sum": called(func() *nn.CTCLoss {
			return nn.NewCTCLoss(kw.Blank(5), kw.Reduction("sum"), kw.ZeroInfinity(true))
		}, ctc(3, 7, 8), spoken),
		"multi_margin_loss": called(func() *nn.Loss { return nn.NewMultiMarginLoss() }, pairLoss, classes),
		"multi_margin_loss_square": called(func() *nn.Loss {
			return nn.NewMultiMarginLoss(kw.P(2), kw.Margin(0.5), kw.Weight(weights()), kw.Reduction("sum"))
		}, pairLoss, classes),
		"multi_label_margin_loss": called(func() *nn.Loss { return nn.NewMultiLabelMarginLoss() },
			labels(torch.NewTensor([][]int{{3, 0, -1, 1}, {1, -1, 2, 0}})), of([]int{2, 4})),
		"multi_label_margin_loss_none": called(func() *nn.Loss { return nn.NewMultiLabelMarginLoss(kw.Reduction("none")) },
			labels(torch.NewTensor([]int{2, -1, 0, 0})), of([]int{4})),
		"triplet_distance_loss": called(func() *nn.Loss3 { return nn.NewTripletMarginWithDistanceLoss() }, triplet, vectors),
		"triplet_distance_loss_own": called(func() *nn.Loss3 {
			return nn.NewTripletMarginWithDistanceLoss(kw.DistanceFunction(func(a, b *torch.Tensor) *torch.Tensor {
				return a.Sub(b).Abs().Sum(kw.Dim(-1))
			}),
				kw.Margin(0.3), kw.Swap(true), kw.Reduction("sum"))
		}, triplet, vectors),
		"linear_cross_entropy_loss": called(func() *nn.LinearCrossEntropyLoss { return nn.NewLinearCrossEntropyLoss(4, 5) }, head,
			func() tensors { return tensors{numbers(0, 6, 4), integers(1, 5, 6)} }),
		"linear_cross_entropy_loss_bias": called(func() *nn.LinearCrossEntropyLoss {
			return nn.NewLinearCrossEntropyLoss(4, 5, kw.Bias(true), kw.Reduction("sum"), kw.IgnoreIndex(1), kw.LabelSmoothing(0.2))
		}, head, func() tensors { return tensors{numbers(0, 6, 4), integers(1, 5, 6)} }),
		"cross_entropy_weight": called(func() *nn.Loss { return nn.NewCrossEntropyLoss(kw.Weight(weights())) }, pairLoss, classes),
		"nll_weight": called(func() *nn.Loss { return nn.NewNLLLoss(kw.Weight(weights()), kw.Reduction("sum")) },
			func(m *nn.Loss, in tensors) tensors {
				return tensors{m.Forward(in[0].LogSoftmax(1), in[1])}
			}, func() tensors { return tensors{numbers(0, 6, 5), integers(1, 5, 6)} }),
		"bce_weight": called(func() *nn.Loss { return nn.NewBCELoss(kw.Weight(weights())) }, func(m *nn.Loss, in tensors) tensors {
			return tensors{m.Forward(in[0].Sigmoid(), in[1].Sigmoid())}
		}, bits),
		"bce_logits_weights": called(func() *nn.Loss {
			return nn.NewBCEWithLogitsLoss(kw.Weight(weights()), kw.PosWeight(weights().Flip(0)))
		}, func(m *nn.Loss, in tensors) tensors { return tensors{m.Forward(in[0], in[1].Sigmoid())} }, bits),
		"multi_label_soft_margin_weight": called(func() *nn.Loss {
			return nn.NewMultiLabelSoftMarginLoss(kw.Weight(weights()), kw.Reduction("none"))
		}, pairLoss, func() tensors { return tensors{numbers(0, 4, 5), integers(1, 2, 4, 5)} }),
		"linear_cross_entropy_weight": called(func() *nn.LinearCrossEntropyLoss {
			return nn.NewLinearCrossEntropyLoss(4, 5, kw.Weight(weights()))
		}, head,
			func() tensors { return tensors{numbers(0, 6, 4), integers(1, 5, 6)} }),
		"adaptive_log_softmax": called(func() *softmax { return nn.NewAdaptiveLogSoftmaxWithLoss(16, 20, []int{4, 9}) },
			func(m *softmax, in tensors) tensors {
				return two(m.Forward(in[0], in[1]))
			}, func() tensors { return tensors{numbers(0, 8, 16), integers(1, 20, 8)} }),
		"adaptive_log_softmax_bias": called(func() *softmax {
			return nn.NewAdaptiveLogSoftmaxWithLoss(10, 12, []int{3, 5, 8}, kw.DivValue(2), kw.HeadBias(true))
		}, func(m *softmax, in tensors) tensors {
			return append(two(m.Forward(in[0], in[1])), m.LogProb(in[0]), m.Predict(in[0]))
		}, func() tensors { return tensors{numbers(0, 6, 10), integers(1, 12, 6)} }),
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
