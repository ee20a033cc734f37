package modeltest

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	F "tcdbg/torch/nn/functional"
)

// This file holds the modules of torch/nn against PyTorch's: what their state is
// named, how it starts, and what they answer. testdata/modules.py made the
// answers.

type tensors = []*torch.Tensor

// moduleCase is one module and a call of it.
type moduleCase struct {
	make   func() any
	call   func(m any, in tensors) tensors
	inputs func() tensors
}

// numbers is a leaf of numbers from the formula.
func numbers(i int, shape ...int) *torch.Tensor { return Input(i, shape, 0).RequiresGrad_() }

func data(i int, shape ...int) *torch.Tensor { return Input(i, shape, 0) }

func integers(i, below int, shape ...int) *torch.Tensor { return Input(i, shape, below) }

// plain is a module whose Forward takes one tensor of a shape.
func plain(make func() nn.Module, shape ...int) moduleCase {
	return moduleCase{
		func() any { return make() },
		func(m any, in tensors) tensors { return tensors{m.(nn.Module).Forward(in[0])} },
		func() tensors { return tensors{numbers(0, shape...)} },
	}
}

// called is a module with a call of its own.
func called[M any](make func() M, call func(m M, in tensors) tensors, inputs func() tensors) moduleCase {
	return moduleCase{func() any { return make() }, func(m any, in tensors) tensors { return call(m.(M), in) }, inputs}
}

// of makes the inputs of float shapes.
func of(shapes ...[]int) func() tensors {
	return func() tensors {
		var out tensors
		for i, s := range shapes {
			out = append(out, numbers(i, s...))
		}
		return out
	}
}

func two(a, b *torch.Tensor) tensors { return tensors{a, b} }

func three(a, b, c *torch.Tensor) tensors { return tensors{a, b, c} }

// padding is the mask that leaves out all but the first keys of each row.
func padding(keys int, kept ...int) *torch.Tensor {
	rows := make([][]bool, len(kept))
	for i, n := range kept {
		rows[i] = make([]bool, keys)
		for j := n; j < keys; j++ {
			rows[i][j] = true
		}
	}
	return torch.NewTensor(rows)
}

func lengthsOf(n []int) *torch.Tensor { return torch.NewTensor(n) }

var causal = nn.GenerateSquareSubsequentMask

func forward[M interface {
	Forward(*torch.Tensor, ...*torch.Tensor) (*torch.Tensor, *torch.Tensor)
}](m M, in tensors) tensors {
	return two(m.Forward(in[0], in[1:]...))
}

func lstm(m *nn.LSTM, in tensors) tensors { return three(m.Forward(in[0], in[1:]...)) }

func recurrentCases() map[string]moduleCase {
	x := of([]int{4, 3, 5})
	return map[string]moduleCase{
		"rnn": called(func() *nn.RNN { return nn.NewRNN(5, 7) }, forward, x),
		"rnn_relu": called(func() *nn.RNN {
			return nn.NewRNN(5, 7, kw.Nonlinearity("relu"), kw.NumLayers(2), kw.Bidirectional(true))
		}, forward, x),
		"rnn_no_bias": called(func() *nn.RNN { return nn.NewRNN(5, 7, kw.Bias(false), kw.BatchFirst(true)) }, forward, x),
		"gru":         called(func() *nn.GRU { return nn.NewGRU(5, 7) }, forward, x),
		"gru_deep": called(func() *nn.GRU {
			return nn.NewGRU(5, 6, kw.NumLayers(3), kw.Bidirectional(true), kw.BatchFirst(true))
		}, forward, of([]int{2, 5, 5})),
		"gru_state":  called(func() *nn.GRU { return nn.NewGRU(5, 7, kw.NumLayers(2)) }, forward, of([]int{4, 3, 5}, []int{2, 3, 7})),
		"gru_single": called(func() *nn.GRU { return nn.NewGRU(5, 7) }, forward, of([]int{4, 5})),
		"lstm":       called(func() *nn.LSTM { return nn.NewLSTM(5, 7) }, lstm, x),
		"lstm_deep": called(func() *nn.LSTM {
			return nn.NewLSTM(5, 6, kw.NumLayers(2), kw.Bidirectional(true), kw.BatchFirst(true))
		}, lstm, of([]int{2, 5, 5})),
		"lstm_proj": called(func() *nn.LSTM {
			return nn.NewLSTM(5, 8, kw.NumLayers(2), kw.ProjSize(3), kw.Bidirectional(true))
		}, lstm, x),
		"lstm_state":  called(func() *nn.LSTM { return nn.NewLSTM(5, 7) }, lstm, of([]int{4, 3, 5}, []int{1, 3, 7}, []int{1, 3, 7})),
		"lstm_single": called(func() *nn.LSTM { return nn.NewLSTM(5, 7, kw.Bias(false)) }, lstm, of([]int{4, 5}, []int{1, 7}, []int{1, 7})),
		"gru_packed": called(func() *nn.GRU { return nn.NewGRU(4, 5, kw.NumLayers(2), kw.Bidirectional(true)) },
			func(m *nn.GRU, in tensors) tensors {
				p, h := m.ForwardPacked(nn.PackPaddedSequence(in[0], []int{6, 4, 4, 1}), in[1])
				y, n := nn.PadPackedSequence(p)
				return tensors{y, h, lengthsOf(n)}
			}, of([]int{6, 4, 4}, []int{4, 4, 5})),
		"lstm_packed": called(func() *nn.LSTM { return nn.NewLSTM(4, 5, kw.Bidirectional(true), kw.BatchFirst(true)) },
			func(m *nn.LSTM, in tensors) tensors {
				p, h, c := m.ForwardPacked(nn.PackPaddedSequence(in[0], []int{2, 5, 3}, kw.BatchFirst(true), kw.EnforceSorted(false)))
				y, n := nn.PadPackedSequence(p, kw.BatchFirst(true))
				return tensors{y, h, c, lengthsOf(n)}
			}, of([]int{3, 5, 4})),
		"rnn_cell": called(func() *nn.RNNCell { return nn.NewRNNCell(5, 7) }, func(m *nn.RNNCell, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{3, 5}, []int{3, 7})),
		"rnn_cell_relu": called(func() *nn.RNNCell { return nn.NewRNNCell(5, 7, kw.Nonlinearity("relu")) },
			func(m *nn.RNNCell, in tensors) tensors {
				return tensors{m.Forward(in[0])}
			}, of([]int{5})),
		"gru_cell": called(func() *nn.GRUCell { return nn.NewGRUCell(5, 7) }, func(m *nn.GRUCell, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{3, 5}, []int{3, 7})),
		"lstm_cell": called(func() *nn.LSTMCell { return nn.NewLSTMCell(5, 7) }, func(m *nn.LSTMCell, in tensors) tensors {
			return two(m.Forward(in[0], in[1], in[2]))
		}, of([]int{3, 5}, []int{3, 7}, []int{3, 7})),
		"lstm_cell_zeros": called(func() *nn.LSTMCell { return nn.NewLSTMCell(5, 7, kw.Bias(false)) },
			func(m *nn.LSTMCell, in tensors) tensors {
				return two(m.Forward(in[0]))
			}, of([]int{3, 5})),
		"pad_sequence": called(nn.NewIdentity, func(_ *nn.Identity, in tensors) tensors {
			return tensors{nn.PadSequence(in, kw.PaddingValue(0.5))}
		}, of([]int{2, 3}, []int{4, 3}, []int{1, 3})),
	}
}

func attentionCases() map[string]moduleCase {
	type mha = nn.MultiheadAttention
	layer := func(opts ...torch.Option) []torch.Option {
		return append(opts, kw.DimFeedforward(20), kw.Dropout(0))
	}
	return map[string]moduleCase{
		"mha": called(func() *mha { return nn.NewMultiheadAttention(12, 3) }, func(m *mha, in tensors) tensors {
			return two(m.AttendWeights(in[0], in[0], in[0]))
		}, of([]int{5, 2, 12})),
		"mha_cross": called(func() *mha {
			return nn.NewMultiheadAttention(12, 3, kw.Kdim(10), kw.Vdim(7), kw.BatchFirst(true))
		}, func(m *mha, in tensors) tensors {
			return two(m.AttendWeights(in[0], in[1], in[2], kw.AverageAttnWeights(false)))
		}, of([]int{2, 5, 12}, []int{2, 6, 10}, []int{2, 6, 7})),
		"mha_bias_kv": called(func() *mha { return nn.NewMultiheadAttention(12, 3, kw.AddBiasKv(true), kw.AddZeroAttn(true)) },
			func(m *mha, in tensors) tensors {
				return two(m.AttendWeights(in[0], in[1], in[1]))
			}, of([]int{5, 2, 12}, []int{4, 2, 12})),
		"mha_no_bias": plain(func() nn.Module { return nn.NewMultiheadAttention(12, 4, kw.Bias(false)) }, 5, 12),
		"mha_mask": called(func() *mha { return nn.NewMultiheadAttention(12, 3, kw.BatchFirst(true)) }, func(m *mha, in tensors) tensors {
			mask := torch.Ones(5, 5).Triu(kw.Diagonal(1)).To(torch.Bool)
			return two(m.AttendWeights(in[0], in[0], in[0], kw.AttnMask(mask), kw.KeyPaddingMask(padding(5, 5, 3))))
		}, of([]int{2, 5, 12})),
		"mha_mask3": called(func() *mha { return nn.NewMultiheadAttention(12, 3, kw.BatchFirst(true)) }, func(m *mha, in tensors) tensors {
			return tensors{m.Attend(in[0], in[0], in[0], kw.AttnMask(in[1]))}
		}, of([]int{2, 5, 12}, []int{6, 5, 5})),
		"encoder_layer": plain(func() nn.Module { return nn.NewTransformerEncoderLayer(12, 3, layer()...) }, 5, 2, 12),
		"encoder_layer_first": called(func() *nn.TransformerEncoderLayer {
			return nn.NewTransformerEncoderLayer(12, 3,
				layer(kw.Activation("gelu"), kw.LayerNormEps(1e-3), kw.BatchFirst(true), kw.NormFirst(true), kw.Bias(false))...)
		}, func(m *nn.TransformerEncoderLayer, in tensors) tensors {
			return tensors{m.ForwardMasked(in[0], kw.SrcMask(causal(5)), kw.IsCausal(true))}
		}, of([]int{2, 5, 12})),
		"decoder_layer": called(func() *nn.TransformerDecoderLayer { return nn.NewTransformerDecoderLayer(12, 3, layer()...) },
			func(m *nn.TransformerDecoderLayer, in tensors) tensors {
				return tensors{m.Forward(in[0], in[1], kw.TgtMask(causal(5)))}
			}, of([]int{5, 2, 12}, []int{4, 2, 12})),
		"decoder_layer_first": called(func() *nn.TransformerDecoderLayer {
			return nn.NewTransformerDecoderLayer(12, 3,
				layer(kw.Activation(func(x *torch.Tensor) *torch.Tensor { return F.Gelu(x) }), kw.LayerNormEps(1e-3),
					kw.BatchFirst(true), kw.NormFirst(true))...)
		}, func(m *nn.TransformerDecoderLayer, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1], kw.MemoryKeyPaddingMask(padding(4, 4, 2)))}
		}, of([]int{2, 5, 12}, []int{2, 4, 12})),
		"encoder": called(func() *nn.TransformerEncoder {
			return nn.NewTransformerEncoder(nn.NewTransformerEncoderLayer(12, 3, layer(kw.BatchFirst(true))...), 3,
				kw.Norm(nn.NewLayerNorm(12)))
		}, func(m *nn.TransformerEncoder, in tensors) tensors {
			return tensors{m.ForwardMasked(in[0], kw.Mask(causal(5)))}
		}, of([]int{2, 5, 12})),
		"decoder": called(func() *nn.TransformerDecoder {
			return nn.NewTransformerDecoder(nn.NewTransformerDecoderLayer(12, 3, layer(kw.BatchFirst(true))...), 2)
		}, func(m *nn.TransformerDecoder, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{2, 5, 12}, []int{2, 4, 12})),
		"transformer": called(func() *nn.Transformer {
			return nn.NewTransformer(layer(kw.DModel(12), kw.Nhead(3), kw.NumEncoderLayers(2), kw.NumDecoderLayers(2),
				kw.BatchFirst(true))...)
		}, func(m *nn.Transformer, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1], kw.TgtMask(causal(4)), kw.SrcKeyPaddingMask(padding(5, 5, 4)))}
		}, of([]int{2, 5, 12}, []int{2, 4, 12})),
		"transformer_first": called(func() *nn.Transformer {
			return nn.NewTransformer(kw.DModel(12), kw.Nhead(2), kw.NumEncoderLayers(1), kw.NumDecoderLayers(2),
				kw.DimFeedforward(16), kw.Dropout(0), kw.Activation("gelu"), kw.NormFirst(true))
		}, func(m *nn.Transformer, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{5, 2, 12}, []int{4, 2, 12})),
	}
}

func layerCases() map[string]moduleCase {
	return map[string]moduleCase{
		"linear":         plain(func() nn.Module { return nn.NewLinear(5, 7) }, 3, 5),
		"linear_no_bias": plain(func() nn.Module { return nn.NewLinear(5, 7, kw.Bias(false)) }, 2, 3, 5),
		"bilinear": called(func() *nn.Bilinear { return nn.NewBilinear(4, 5, 3) }, func(m *nn.Bilinear, in tensors) tensors {
			return tensors{m.Forward(in[0], in[1])}
		}, of([]int{6, 4}, []int{6, 5})),
		"embedding": called(func() *nn.Embedding { return nn.NewEmbedding(10, 4, kw.PaddingIdx(2)) },
			func(m *nn.Embedding, in tensors) tensors {
				return tensors{m.Forward(in[0])}
			}, func() tensors { return tensors{integers(0, 10, 3, 4)} }),
		"conv1d":      plain(func() nn.Module { return nn.NewConv1d(4, 6, 3, kw.Stride(2), kw.Padding(1), kw.Groups(2)) }, 2, 4, 9),
		"conv1d_same": plain(func() nn.Module { return nn.NewConv1d(4, 6, 4, kw.Padding("same"), kw.Dilation(2)) }, 2, 4, 9),
		"conv2d": plain(func() nn.Module {
			return nn.NewConv2d(3, 5, []int{3, 2}, kw.Stride([]int{2, 1}), kw.Padding([]int{1, 0}), kw.Dilation([]int{1, 2}))
		}, 2, 3, 8, 7),
		"conv2d_reflect": plain(func() nn.Module {
			return nn.NewConv2d(3, 5, 3, kw.Padding([]int{1, 2}), kw.PaddingMode("reflect"))
		}, 2, 3, 6, 7),
		"conv2d_circular_same": plain(func() nn.Module {
			return nn.NewConv2d(3, 4, []int{4, 3}, kw.Padding("same"), kw.PaddingMode("circular"))
		}, 2, 3, 6, 7),
		"conv2d_valid": plain(func() nn.Module { return nn.NewConv2d(3, 4, 3, kw.Padding("valid"), kw.Bias(false)) }, 3, 6, 7),
		"conv3d":       plain(func() nn.Module { return nn.NewConv3d(2, 4, 3, kw.Padding(1), kw.PaddingMode("replicate")) }, 1, 2, 4, 5, 3),
		"conv_transpose1d": plain(func() nn.Module {
			return nn.NewConvTranspose1d(4, 6, 3, kw.Stride(2), kw.Padding(1), kw.OutputPadding(1), kw.Groups(2))
		}, 2, 4, 5),
		"conv_transpose2d": plain(func() nn.Module {
			return nn.NewConvTranspose2d(4, 3, []int{3, 2}, kw.Stride(2), kw.Dilation([]int{1, 2}))
		}, 2, 4, 4, 3),
		"conv_transpose3d": plain(func() nn.Module { return nn.NewConvTranspose3d(2, 3, 2, kw.Stride(2), kw.Bias(false)) },
			1, 2, 2, 3, 2),
		"batch_norm1d":            plain(func() nn.Module { return nn.NewBatchNorm1d(5) }, 4, 5),
		"batch_norm1d_3d":         plain(func() nn.Module { return nn.NewBatchNorm1d(5, kw.Eps(1e-3), kw.Momentum(0.3)) }, 4, 5, 6),
		"batch_norm2d":            plain(func() nn.Module { return nn.NewBatchNorm2d(3, kw.Affine(false)) }, 2, 3, 4, 5),
		"batch_norm2d_cumulative": plain(func() nn.Module { return nn.NewBatchNorm2d(3, kw.Momentum(nil)) }, 2, 3, 4, 5),
		"batch_norm3d":            plain(func() nn.Module { return nn.NewBatchNorm3d(3, kw.TrackRunningStats(false)) }, 2, 3, 2, 3, 2),
		"instance_norm1d":         plain(func() nn.Module { return nn.NewInstanceNorm1d(4, kw.Affine(true)) }, 2, 4, 6),
		"instance_norm2d":         plain(func() nn.Module { return nn.NewInstanceNorm2d(3, kw.TrackRunningStats(true)) }, 2, 3, 4, 5),
		"instance_norm3d":         plain(func() nn.Module { return nn.NewInstanceNorm3d(2) }, 2, 3, 4, 2),
		"layer_norm":              plain(func() nn.Module { return nn.NewLayerNorm([]int{3, 4}, kw.Eps(1e-3)) }, 2, 3, 4),
		"layer_norm_no_bias":      plain(func() nn.Module { return nn.NewLayerNorm(4, kw.Bias(false)) }, 2, 3, 4),
		"layer_norm_plain":        plain(func() nn.Module { return nn.NewLayerNorm(4, kw.ElementwiseAffine(false)) }, 2, 3, 4),
		"group_norm":              plain(func() nn.Module { return nn.NewGroupNorm(2, 6) }, 2, 6, 3, 3),
		"rms_norm":                plain(func() nn.Module { return nn.NewRMSNorm(6) }, 2, 3, 6),
		"rms_norm_eps":            plain(func() nn.Module { return nn.NewRMSNorm([]int{3, 6}, kw.Eps(1e-2)) }, 2, 3, 6),
		"local_response_norm": plain(func() nn.Module {
			return nn.NewLocalResponseNorm(3, kw.Alpha(0.1), kw.Beta(0.5), kw.K(2))
		}, 2, 5, 4),
	}
}

func shapeCases() map[string]moduleCase {
	return map[string]moduleCase{
		"max_pool1d": plain(func() nn.Module { return nn.NewMaxPool1d(3, kw.Stride(2), kw.Padding(1)) }, 2, 3, 9),
		"max_pool2d": plain(func() nn.Module {
			return nn.NewMaxPool2d([]int{3, 2}, kw.CeilMode(true), kw.Dilation([]int{1, 2}))
		}, 2, 3, 8, 9),
		"max_pool3d":            plain(func() nn.Module { return nn.NewMaxPool3d(2) }, 1, 2, 4, 5, 6),
		"avg_pool1d":            plain(func() nn.Module { return nn.NewAvgPool1d(3, kw.Padding(1), kw.CountIncludePad(false)) }, 2, 3, 9),
		"avg_pool2d":            plain(func() nn.Module { return nn.NewAvgPool2d(3, kw.Stride(2), kw.DivisorOverride(5)) }, 2, 3, 8, 9),
		"avg_pool3d":            plain(func() nn.Module { return nn.NewAvgPool3d([]int{2, 1, 2}, kw.CeilMode(true)) }, 1, 2, 5, 4, 3),
		"adaptive_avg_pool1d":   plain(func() nn.Module { return nn.NewAdaptiveAvgPool1d(4) }, 2, 3, 9),
		"adaptive_avg_pool2d":   plain(func() nn.Module { return nn.NewAdaptiveAvgPool2d([]int{2, 3}) }, 2, 3, 7, 8),
		"adaptive_avg_pool3d":   plain(func() nn.Module { return nn.NewAdaptiveAvgPool3d(2) }, 1, 2, 4, 5, 3),
		"adaptive_max_pool1d":   plain(func() nn.Module { return nn.NewAdaptiveMaxPool1d(4) }, 2, 3, 9),
		"adaptive_max_pool2d":   plain(func() nn.Module { return nn.NewAdaptiveMaxPool2d([]int{2, 3}) }, 2, 3, 7, 8),
		"adaptive_max_pool3d":   plain(func() nn.Module { return nn.NewAdaptiveMaxPool3d(2) }, 1, 2, 4, 5, 3),
		"constant_pad1d":        plain(func() nn.Module { return nn.NewConstantPad1d([]int{1, 2}, 0.5) }, 2, 3, 4),
		"constant_pad3d":        plain(func() nn.Module { return nn.NewConstantPad3d(1, -1) }, 1, 2, 2, 3, 2),
		"zero_pad2d":            plain(func() nn.Module { return nn.NewZeroPad2d([]int{1, -1, 2, 0}) }, 2, 3, 4, 4),
		"reflection_pad1d":      plain(func() nn.Module { return nn.NewReflectionPad1d(2) }, 2, 3, 5),
		"reflection_pad2d":      plain(func() nn.Module { return nn.NewReflectionPad2d([]int{1, 2, 0, 1}) }, 2, 3, 4, 4),
		"replication_pad2d":     plain(func() nn.Module { return nn.NewReplicationPad2d([]int{1, 2, 0, 1}) }, 3, 4, 4),
		"replication_pad3d":     plain(func() nn.Module { return nn.NewReplicationPad3d(1) }, 1, 2, 3, 2, 3),
		"circular_pad1d":        plain(func() nn.Module { return nn.NewCircularPad1d([]int{2, 1}) }, 2, 3, 4),
		"circular_pad2d":        plain(func() nn.Module { return nn.NewCircularPad2d(1) }, 2, 3, 4, 3),
		"upsample":              plain(func() nn.Module { return nn.NewUpsample(kw.ScaleFactor(2.0)) }, 1, 2, 3, 4),
		"upsample_size":         plain(func() nn.Module { return nn.NewUpsample(kw.Size([]int{5, 7}), kw.Mode("bilinear")) }, 1, 2, 3, 4),
		"upsampling_bilinear2d": plain(func() nn.Module { return nn.NewUpsamplingBilinear2d(kw.ScaleFactor(2.0)) }, 1, 2, 3, 4),
		"upsampling_nearest2d":  plain(func() nn.Module { return nn.NewUpsamplingNearest2d(kw.Size([]int{5, 6})) }, 1, 2, 3, 4),
		"pixel_shuffle":         plain(func() nn.Module { return nn.NewPixelShuffle(2) }, 1, 8, 2, 3),
		"pixel_unshuffle":       plain(func() nn.Module { return nn.NewPixelUnshuffle(2) }, 1, 2, 4, 6),
		"channel_shuffle":       plain(func() nn.Module { return nn.NewChannelShuffle(2) }, 1, 6, 2, 3),
		"flatten":               plain(func() nn.Module { return nn.NewFlatten() }, 2, 3, 4),
		"unflatten":             plain(func() nn.Module { return nn.NewUnflatten(1, []int{2, 3}) }, 2, 6, 4),
	}
}

func activationCases() map[string]moduleCase {
	out := map[string]moduleCase{}
	for name, make := range map[string]func() nn.Module{
		"relu": func() nn.Module { return nn.NewReLU() }, "relu6": func() nn.Module { return nn.NewReLU6() },
		"silu": func() nn.Module { return nn.NewSiLU() }, "mish": func() nn.Module { return nn.NewMish() },
		"hardswish": func() nn.Module { return nn.NewHardswish() }, "hardsigmoid": func() nn.Module { return nn.NewHardsigmoid() },
		"hardtanh":         func() nn.Module { return nn.NewHardtanh(kw.MinVal(-0.5), kw.MaxVal(0.3)) },
		"leaky_relu":       func() nn.Module { return nn.NewLeakyReLU() },
		"leaky_relu_slope": func() nn.Module { return nn.NewLeakyReLU(kw.NegativeSlope(0.2)) },
		"elu":              func() nn.Module { return nn.NewELU(kw.Alpha(0.7)) },
		"celu":             func() nn.Module { return nn.NewCELU(kw.Alpha(1.3)) },
		"selu":             func() nn.Module { return nn.NewSELU() }, "threshold": func() nn.Module { return nn.NewThreshold(0.1, 2) },
		"gelu": func() nn.Module { return nn.NewGELU() }, "gelu_tanh": func() nn.Module { return nn.NewGELU(kw.Approximate("tanh")) },
		"softplus":      func() nn.Module { return nn.NewSoftplus() },
		"softplus_beta": func() nn.Module { return nn.NewSoftplus(kw.Beta(2), kw.Threshold(0.5)) },
		"softshrink":    func() nn.Module { return nn.NewSoftshrink() },
		"hardshrink":    func() nn.Module { return nn.NewHardshrink(kw.Lambd(0.3)) },
		"glu":           func() nn.Module { return nn.NewGLU() }, "glu_dim": func() nn.Module { return nn.NewGLU(kw.Dim(1)) },
		"softmax": func() nn.Module { return nn.NewSoftmax(1) }, "log_softmax": func() nn.Module { return nn.NewLogSoftmax(-1) },
		"softmin": func() nn.Module { return nn.NewSoftmin(0) }, "softmax2d": func() nn.Module { return nn.NewSoftmax2d() },
		"sigmoid": func() nn.Module { return nn.NewSigmoid() }, "log_sigmoid": func() nn.Module { return nn.NewLogSigmoid() },
		"tanh": func() nn.Module { return nn.NewTanh() }, "tanhshrink": func() nn.Module { return nn.NewTanhshrink() },
		"softsign": func() nn.Module { return nn.NewSoftsign() }, "prelu": func() nn.Module { return nn.NewPReLU() },
		"prelu_channels": func() nn.Module { return nn.NewPReLU(kw.NumParameters(4), kw.Init(0.1)) },
	} {
		out[name] = plain(make, 3, 4, 2, 6)
	}
	for name, make := range map[string]func() nn.Module{
		"silu_inplace":     func() nn.Module { return nn.NewSiLU(kw.Inplace(true)) },
		"elu_inplace":      func() nn.Module { return nn.NewELU(kw.Inplace(true)) },
		"relu_inplace":     func() nn.Module { return nn.NewReLU(kw.Inplace(true)) },
		"hardtanh_inplace": func() nn.Module { return nn.NewHardtanh(kw.Inplace(true)) },
	} {
		out[name] = called(make, func(m nn.Module, in tensors) tensors {
			y := in[0].Mul(2)
			return tensors{m.Forward(y), y}
		}, of([]int{3, 4}))
	}
	return out
}

func containerCases() map[string]moduleCase {
	return map[string]moduleCase{
		"sequential": plain(func() nn.Module {
			return nn.NewSequential(nn.NewLinear(4, 5), nn.NewReLU(), nn.NewSequential(nn.NewLinear(5, 3)))
		}, 2, 4),
		"module_dict": called(func() *nn.ModuleDict {
			return nn.NewModuleDict(nn.NamedModule{Name: "up", Module: nn.NewLinear(4, 6)},
				nn.NamedModule{Name: "a_b", Module: nn.NewLinear(6, 2)})
		}, func(m *nn.ModuleDict, in tensors) tensors {
			return tensors{m.At("a_b").Forward(m.At("up").Forward(in[0]))}
		}, of([]int{2, 4})),
		"module_list": called(func() *nn.ModuleList { return nn.NewModuleList(nn.NewLinear(4, 4), nn.NewLinear(4, 4)) },
			func(m *nn.ModuleList, in tensors) tensors {
				return tensors{m.At(1).Forward(m.At(0).Forward(in[0]))}
			}, of([]int{2, 4})),
		"parameter_list": called(func() *nn.ParameterList { return nn.NewParameterList(torch.Zeros(2, 4), torch.Ones(4)) },
			func(m *nn.ParameterList, in tensors) tensors {
				return tensors{m.At(0).Mul(in[0]).Add(m.At(1))}
			}, of([]int{2, 4})),
	}
}

// answer is what PyTorch says for a case.
type answer struct {
	RawState [][2]json.RawMessage `json:"state"` // name and shape
	Init     [][2]float64
	Outs     []struct {
		Shape    []int
		Sum, Abs float64
		First    []float64
	}
	InputGrads []*float64          `json:"input_grads"`
	Grads      map[string]*float64 `json:"grads"`
	TrainLoss  float64             `json:"train_loss"`
	Buffers    map[string]float64
}

func answers(t *testing.T) map[string]answer {
	f, err := os.Open("testdata/modules.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Cases map[string]answer }
	if err := json.NewDecoder(z).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out.Cases
}

func TestModulesAgreeWithPyTorch(t *testing.T) {
	want := answers(t)
	seen := 0
	for _, family := range []map[string]moduleCase{
		recurrentCases(), attentionCases(), layerCases(), shapeCases(), activationCases(), lossCases(), containerCases(),
		drawingCases(), windowCases(), embeddingCases(), criterionCases(), settingCases(), lazyCases(),
		parametrizedCases(), functionalCases(),
	} {
		for name, c := range family {
			w, ok := want[name]
			if !ok {
				t.Errorf("%s: PyTorch has no answer", name)
				continue
			}
			seen++
			t.Run(name, func(t *testing.T) { w.check(t, c) })
		}
	}
	if seen != len(want) {
		t.Errorf("%d of PyTorch's %d cases are here", seen, len(want))
	}
}

func (w *answer) check(t *testing.T, c moduleCase) {
	torch.ManualSeed(0)
	m := c.make()
	w.checkStart(t, nn.StateDict(m))
	if t.Failed() {
		return
	}
	FillState(m)
	nn.Eval(m)
	in := c.inputs()
	outs := c.call(m, in)
	w.checkOuts(t, outs)
	if loss := meanSquares(outs); loss.RequiresGrad() {
		loss.Backward()
	}
	for i, x := range in {
		near(t, "gradient of an input", norm(x.Grad()), w.InputGrads[i])
	}
	params := nn.NamedParameters(m)
	for _, p := range params {
		near(t, "gradient of "+p.Name, norm(p.Tensor.Grad()), w.Grads[p.Name])
	}
	if len(params) != len(w.Grads) {
		t.Errorf("%d parameters, want %d", len(params), len(w.Grads))
	}
	nn.Train(m)
	loss := meanSquares(c.call(m, in)).Item()
	near(t, "loss in training mode", &loss, &w.TrainLoss)
	for _, b := range nn.NamedBuffers(m) {
		got, want := b.Tensor.Sum().Item(), w.Buffers[b.Name]
		near(t, b.Name+" after training", &got, &want)
	}
}

// checkStart compares the state's names and shapes, and the numbers drawn.
func (w *answer) checkStart(t *testing.T, state []nn.Named) {
	if len(state) != len(w.RawState) {
		t.Fatalf("%d entries in the state, want %d", len(state), len(w.RawState))
	}
	for i, n := range state {
		var name string
		var shape []int
		if json.Unmarshal(w.RawState[i][0], &name) != nil || json.Unmarshal(w.RawState[i][1], &shape) != nil {
			t.Fatal("bad answer")
		}
		if n.Name != name || !slices.Equal(n.Tensor.Shape(), shape) {
			t.Fatalf("entry %d is %s %v, want %s %v", i, n.Name, n.Tensor.Shape(), name, shape)
		}
		var sum, abs float64
		for _, x := range n.Tensor.Float64s() {
			sum += x
			abs += math.Abs(x)
		}
		near(t, "start of "+name, &abs, &w.Init[i][1])
		if math.Abs(sum-w.Init[i][0]) > 1e-5*(1+abs) {
			t.Errorf("sum of %s at the start is %v, want %v", name, sum, w.Init[i][0])
		}
	}
}

func (w *answer) checkOuts(t *testing.T, outs tensors) {
	if len(outs) != len(w.Outs) {
		t.Fatalf("%d results, want %d", len(outs), len(w.Outs))
	}
	for i, y := range outs {
		want := w.Outs[i]
		if !slices.Equal(y.Shape(), want.Shape) {
			t.Fatalf("result %d is %v, want %v", i, y.Shape(), want.Shape)
		}
		v := y.Float64s()
		var sum, abs float64
		for _, x := range v {
			sum += x
			abs += math.Abs(x)
		}
		near(t, "magnitude of a result", &abs, &want.Abs)
		if math.Abs(sum-want.Sum) > 1e-5*(1+want.Abs) {
			t.Errorf("sum of result %d is %v, want %v", i, sum, want.Sum)
		}
		for j, x := range want.First {
			if math.Abs(v[j]-x) > 1e-5*(1+math.Abs(x)) {
				t.Errorf("result %d begins with %v, want %v", i, v[:len(want.First)], want.First)
				break
			}
		}
	}
}

// meanSquares is the sum of the mean squares of the float results.
func meanSquares(outs tensors) *torch.Tensor {
	loss := torch.NewTensor(0.0, kw.Dtype(torch.Float32))
	for _, y := range outs {
		if y.DType().IsFloat() {
			loss = loss.Add(y.Square().Mean())
		}
	}
	return loss
}

// norm is the length of a gradient; nil for none.
func norm(g *torch.Tensor) *float64 {
	if g == nil {
		return nil
	}
	var sq float64
	for _, x := range g.Float64s() {
		sq += x * x
	}
	sq = math.Sqrt(sq)
	return &sq
}

func near(t *testing.T, what string, got, want *float64) {
	t.Helper()
	switch {
	case got == nil && want == nil:
	case got == nil:
		t.Errorf("%s is missing", what)
	case want == nil:
		t.Errorf("%s should not be there", what)
	case !(math.Abs(*got-*want) <= 2e-5*math.Abs(*want)+1e-6):
		t.Errorf("%s is %v, want %v", what, *got, *want)
	}
}
