package modeltest

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
)

// This file is the cases of windows: pooling, folding and resizing.

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
