package utils

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/nn"
)

// This file folds batch normalisations into the layers before them, for
// evaluation.

// FuseConvBnEval returns a convolution that does what conv, a Conv1d, Conv2d,
// Conv3d or one of their transposed forms, and bn after it do. Both must be in
// evaluation mode.
func FuseConvBnEval(conv, bn nn.Module) nn.Module {
	b := normOf("fuse_conv_bn_eval", bn)
	fuse := func(c nn.Conv, transpose bool) nn.Conv {
		c.Weight, c.Bias = FuseConvBnWeights(c.Weight, c.Bias, b.RunningMean, b.RunningVar, b.Eps, b.Weight, b.Bias, transpose)
		return c
	}
	switch c := conv.(type) {
	case *nn.Conv1d:
		return &nn.Conv1d{Conv: fuse(c.Conv, false)}
	case *nn.Conv2d:
		return &nn.Conv2d{Conv: fuse(c.Conv, false)}
	case *nn.Conv3d:
		return &nn.Conv3d{Conv: fuse(c.Conv, false)}
	case *nn.ConvTranspose1d:
		return &nn.ConvTranspose1d{Conv: fuse(c.Conv, true)}
	case *nn.ConvTranspose2d:
		return &nn.ConvTranspose2d{Conv: fuse(c.Conv, true)}
	case *nn.ConvTranspose3d:
		return &nn.ConvTranspose3d{Conv: fuse(c.Conv, true)}
	}
	panic(&torch.Error{Op: "fuse_conv_bn_eval", Kind: "TypeError", Msg: fmt.Sprintf("fuse_conv_bn_eval: %T is no convolution", conv)})
}

// normOf is the batch normalisation of a module in evaluation mode.
func normOf(class string, m nn.Module) *nn.BatchNorm {
	var b *nn.BatchNorm
	switch m := m.(type) {
	case *nn.BatchNorm1d:
		b = &m.BatchNorm
	case *nn.BatchNorm2d:
		b = &m.BatchNorm
	case *nn.BatchNorm3d:
		b = &m.BatchNorm
	default:
		panic(&torch.Error{Op: class, Kind: "TypeError", Msg: fmt.Sprintf("%s: %T is no batch normalisation", class, m)})
	}
	if b.IsTraining() {
		panic(&torch.Error{Op: class, Kind: "AssertionError", Msg: "Fusion only for eval!"})
	}
	if b.RunningMean == nil {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: "Only support fusing BatchNorm with tracking running stats enabled."})
	}
	return b
}

// FuseConvBnWeights is the weight and bias of a convolution with a batch
// normalisation in them. Biases and the normalisation's weight may be nil;
// transpose says that outputs are the weight's second dimension.
func FuseConvBnWeights(
	weight, bias, mean, variance *torch.Tensor, eps float64, bnWeight, bnBias *torch.Tensor, transpose bool,
) (w, b *torch.Tensor) {
	shape := make([]int, weight.Dim())
	for i := range shape {
		shape[i] = 1
	}
	shape[0] = -1
	if transpose {
		shape[0], shape[1] = 1, -1
	}
	torch.NoGrad(func() {
		scale := variance.Add(eps).Rsqrt()
		if bnWeight != nil {
			scale = scale.Mul(bnWeight)
		}
		w, b = weight.Mul(scale.Reshape(shape...)), mean.Neg()
		if bias != nil {
			b = bias.Sub(mean)
		}
		if b = b.Mul(scale); bnBias != nil {
			b = b.Add(bnBias)
		}
		w, b = nn.Parameter(w), nn.Parameter(b)
	})
	return w, b
}

// FuseLinearBnEval returns a Linear that does what linear and bn after it do.
// Both must be in evaluation mode.
func FuseLinearBnEval(linear *nn.Linear, bn nn.Module) *nn.Linear {
	const class = "fuse_linear_bn_eval"
	b := normOf(class, bn)
	if n := b.RunningMean.Size(0); n != linear.OutFeatures && n != 1 {
		panic(&torch.Error{
			Op: class, Kind: "AssertionError",
			Msg: "To fuse, linear.out_features == bn.num_features or bn.num_features == 1",
		})
	}
	out := *linear
	out.Weight, out.Bias = FuseLinearBnWeights(linear.Weight, linear.Bias, b.RunningMean, b.RunningVar, b.Eps, b.Weight, b.Bias)
	return &out
}

// FuseLinearBnWeights is FuseConvBnWeights of a Linear.
func FuseLinearBnWeights(weight, bias, mean, variance *torch.Tensor, eps float64, bnWeight, bnBias *torch.Tensor) (w, b *torch.Tensor) {
	return FuseConvBnWeights(weight, bias, mean, variance, eps, bnWeight, bnBias, false)
}
