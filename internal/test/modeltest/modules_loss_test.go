package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is the cases of losses.

func criterionCases() map[string]moduleCase {
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

func lossCases() map[string]moduleCase {
	out := map[string]moduleCase{}
	for name, make := range map[string]func() *nn.Loss{
		"mse_loss":             func() *nn.Loss { return nn.NewMSELoss() },
		"mse_loss_sum":         func() *nn.Loss { return nn.NewMSELoss(kw.Reduction("sum")) },
		"l1_loss":              func() *nn.Loss { return nn.NewL1Loss() },
		"smooth_l1_loss":       func() *nn.Loss { return nn.NewSmoothL1Loss(kw.Beta(0.5)) },
		"huber_loss":           func() *nn.Loss { return nn.NewHuberLoss(kw.Delta(0.3)) },
		"kl_div_loss":          func() *nn.Loss { return nn.NewKLDivLoss(kw.Reduction("batchmean"), kw.LogTarget(true)) },
		"soft_margin_loss":     func() *nn.Loss { return nn.NewSoftMarginLoss() },
		"hinge_embedding_loss": func() *nn.Loss { return nn.NewHingeEmbeddingLoss(kw.Margin(0.7)) },
		"poisson_nll_loss":     func() *nn.Loss { return nn.NewPoissonNLLLoss() },
		"bce_with_logits_loss": func() *nn.Loss { return nn.NewBCEWithLogitsLoss() },
	} {
		out[name] = called(make, pairLoss, func() tensors { return tensors{numbers(0, 4, 5), data(1, 4, 5)} })
	}
	out["multi_label_soft_margin_loss"] = called(func() *nn.Loss { return nn.NewMultiLabelSoftMarginLoss() }, pairLoss,
		func() tensors { return tensors{numbers(0, 4, 5), integers(1, 2, 4, 5)} })
	out["bce_loss"] = called(func() *nn.Loss { return nn.NewBCELoss() }, func(m *nn.Loss, in tensors) tensors {
		return tensors{m.Forward(in[0].Sigmoid(), in[1].Sigmoid())}
	}, func() tensors { return tensors{numbers(0, 4, 5), data(1, 4, 5)} })
	out["cross_entropy_loss"] = called(func() *nn.Loss { return nn.NewCrossEntropyLoss(kw.LabelSmoothing(0.1)) }, pairLoss,
		func() tensors { return tensors{numbers(0, 4, 5), integers(1, 5, 4)} })
	out["nll_loss"] = called(func() *nn.Loss { return nn.NewNLLLoss(kw.IgnoreIndex(1)) }, func(m *nn.Loss, in tensors) tensors {
		return tensors{m.Forward(in[0].LogSoftmax(1), in[1])}
	}, func() tensors { return tensors{numbers(0, 6, 5), integers(1, 5, 6)} })
	out["gaussian_nll_loss"] = called(func() *nn.Loss3 { return nn.NewGaussianNLLLoss(kw.Full(true)) },
		func(m *nn.Loss3, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1], in[2].Exp())}
		}, of([]int{4, 5}, []int{4, 5}, []int{4, 5}))
	signs := func(m *nn.Loss3, in tensors) tensors {
		return tensors{m.Forward(in[0], in[1], in[2].Mul(2).Sub(1))}
	}
	out["cosine_embedding_loss"] = called(func() *nn.Loss3 { return nn.NewCosineEmbeddingLoss(kw.Margin(0.1)) }, signs,
		func() tensors { return tensors{numbers(0, 4, 5), numbers(1, 4, 5), integers(2, 2, 4)} })
	out["margin_ranking_loss"] = called(func() *nn.Loss3 { return nn.NewMarginRankingLoss(kw.Margin(0.1)) }, signs,
		func() tensors { return tensors{numbers(0, 6), numbers(1, 6), integers(2, 2, 6)} })
	out["triplet_margin_loss"] = called(func() *nn.Loss3 { return nn.NewTripletMarginLoss(kw.Swap(true)) },
		func(m *nn.Loss3, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1], in[2])}
		}, of([]int{4, 5}, []int{4, 5}, []int{4, 5}))
	out["cosine_similarity"] = called(func() *nn.CosineSimilarity { return nn.NewCosineSimilarity() },
		func(m *nn.CosineSimilarity, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{4, 5}, []int{4, 5}))
	out["pairwise_distance"] = called(func() *nn.PairwiseDistance { return nn.NewPairwiseDistance(kw.P(3), kw.Keepdim(true)) },
		func(m *nn.PairwiseDistance, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{4, 5}, []int{4, 5}))
	return out
}

func pairLoss(m *nn.Loss, in tensors) tensors { return tensors{m.Forward(in[0], in[1])} }
