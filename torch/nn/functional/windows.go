package functional

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn/internal/ntuple"
)

// This file is windows of images: cut out, put together again, and pooled by a
// norm or at random places.

// window is the settings of windows over two dimensions.
type window struct{ kernel, dilation, padding, stride []int }

func windowOf(class string, kernel any, opts []torch.Option) window {
	w := window{pair(class, kernel), []int{1, 1}, []int{0, 0}, []int{1, 1}}
	for _, o := range opts {
		switch o.Name {
		case "dilation":
			w.dilation = pair(class, o.Value)
		case "padding":
			w.padding = pair(class, o.Value)
		case "stride":
			w.stride = pair(class, o.Value)
		default:
			unexpected(class, o)
		}
	}
	return w
}

// pair is an int twice, or two ints.
func pair(class string, v any) []int { return ntuple.Of(class, v, 2) }

// Unfold cuts windows out of images [batch, channel, height, width], each as one
// column: [batch, channel*window, windows]. Options: kw.Dilation(1),
// kw.Padding(0), kw.Stride(1).
func Unfold(input *torch.Tensor, kernelSize any, opts ...torch.Option) *torch.Tensor {
	w := windowOf("unfold", kernelSize, opts)
	return Im2col(input, w.kernel, kw.Dilation(w.dilation), kw.Padding(w.padding), kw.Stride(w.stride))
}

// Fold adds up windows, as Unfold cuts them, to images of a size. Options:
// kw.Dilation(1), kw.Padding(0), kw.Stride(1).
func Fold(input *torch.Tensor, outputSize, kernelSize any, opts ...torch.Option) *torch.Tensor {
	w, size := windowOf("fold", kernelSize, opts), pair("fold", outputSize)
	single := input.Dim() == 2
	if single {
		input = input.Unsqueeze(0)
	}
	area := w.kernel[0] * w.kernel[1]
	if input.Dim() != 3 || input.Size(1)%area != 0 {
		panic(&torch.Error{
			Op: "fold", Kind: "RuntimeError",
			Msg: fmt.Sprintf(
				"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got input.size(1)=%d and "+
					"kernel_size=(%d, %d).",
				input.Size(1), w.kernel[0], w.kernel[1],
			),
		})
	}
	counts, rest := w.counts(size)
	if counts[0]*counts[1] != input.Size(2) {
		panic(&torch.Error{
			Op: "fold", Kind: "RuntimeError",
			Msg: fmt.Sprintf("Given output_size=(%d, %d), kernel_size=(%d, %d), dilation=(%d, %d), padding=(%d, %d), stride=(%d, "+
				"%d), expected size of input's dimension 2 to match the calculated number of sliding blocks %d * %d = %d, but got "+
				"input.size(2)=%d.",
				size[0], size[1], w.kernel[0], w.kernel[1], w.dilation[0], w.dilation[1], w.padding[0], w.padding[1], w.stride[0],
				w.stride[1], counts[0], counts[1], counts[0]*counts[1], input.Size(2)),
		})
	}
	// A transposed convolution whose kernels each keep one element of the window
	// puts every element at its place and adds.
	channels := input.Size(1) / area
	kernels := torch.Eye(area, kw.Dtype(input.DType()), kw.Device(input.Device())).Reshape(area, 1, w.kernel[0], w.kernel[1])
	windows := input.Reshape(-1, area, counts[0], counts[1])
	y := ConvTranspose2d(windows, kernels, kw.Stride(w.stride), kw.Padding(w.padding), kw.OutputPadding(rest), kw.Dilation(w.dilation))
	y = y.Reshape(input.Size(0), channels, size[0], size[1])
	if single {
		return y.Squeeze(0)
	}
	return y
}

// counts is how many windows fit into an image, and what is left over.
func (w window) counts(size []int) (counts, rest []int) {
	counts, rest = make([]int, 2), make([]int, 2)
	for i := range 2 {
		span := size[i] + 2*w.padding[i] - w.dilation[i]*(w.kernel[i]-1) - 1
		if span < 0 {
			panic(&torch.Error{Op: "fold", Kind: "RuntimeError", Msg: "the windows are larger than the padded image"})
		}
		counts[i], rest[i] = span/w.stride[i]+1, span%w.stride[i]
	}
	return counts, rest
}

// LpPool1d is the norm of windows of [batch, channel, length]. Options:
// kw.Stride (the kernel's size), kw.CeilMode(false).
func LpPool1d(input *torch.Tensor, normType float64, kernelSize any, opts ...torch.Option) *torch.Tensor {
	return lpPool("lp_pool1d", 1, AvgPool1d, input, normType, kernelSize, opts)
}

// LpPool2d is the norm of windows of images; options as LpPool1d's.
func LpPool2d(input *torch.Tensor, normType float64, kernelSize any, opts ...torch.Option) *torch.Tensor {
	return lpPool("lp_pool2d", 2, AvgPool2d, input, normType, kernelSize, opts)
}

// LpPool3d is the norm of windows of volumes; options as LpPool1d's.
func LpPool3d(input *torch.Tensor, normType float64, kernelSize any, opts ...torch.Option) *torch.Tensor {
	return lpPool("lp_pool3d", 3, AvgPool3d, input, normType, kernelSize, opts)
}

// lpPool is the root of the mean of powers times the number of elements. The
// absolute value changes nothing but the derivative where the mean is zero.
func lpPool(
	class string, n int, mean func(*torch.Tensor, any, ...torch.Option) *torch.Tensor, x *torch.Tensor, p float64,
	kernel any, opts []torch.Option,
) *torch.Tensor {
	for _, o := range opts {
		if o.Name != "stride" && o.Name != "ceil_mode" {
			unexpected(class, o)
		}
	}
	k := ntuple.Of(class, kernel, n)
	count := 1
	for _, size := range k {
		count *= size
	}
	y := mean(x.Pow(p), k, append([]torch.Option{kw.Padding(0)}, opts...)...)
	return y.Sign().Mul(Relu(y.Abs())).Mul(count).Pow(1 / p)
}

// FractionalMaxPool2d takes maxima of windows at random places, to kw.OutputSize
// or to kw.OutputRatio of the input's size. Option: kw.RandomSamples, numbers of
// [0, 1) for each example, channel and dimension, drawn where left out.
func FractionalMaxPool2d(input *torch.Tensor, kernelSize any, opts ...torch.Option) *torch.Tensor {
	y, _ := FractionalMaxPool2dWithIndices(input, kernelSize, opts...)
	return y
}

// FractionalMaxPool2dWithIndices returns the places of the maxima too.
func FractionalMaxPool2dWithIndices(input *torch.Tensor, kernelSize any, opts ...torch.Option) (y, indices *torch.Tensor) {
	return fractional("fractional_max_pool2d", []int{1, 0}, input, kernelSize, opts)
}

// FractionalMaxPool3d is FractionalMaxPool2d for volumes.
func FractionalMaxPool3d(input *torch.Tensor, kernelSize any, opts ...torch.Option) *torch.Tensor {
	y, _ := FractionalMaxPool3dWithIndices(input, kernelSize, opts...)
	return y
}

// FractionalMaxPool3dWithIndices returns the places of the maxima too.
func FractionalMaxPool3dWithIndices(input *torch.Tensor, kernelSize any, opts ...torch.Option) (y, indices *torch.Tensor) {
	return fractional("fractional_max_pool3d", []int{0, 1, 2}, input, kernelSize, opts)
}

// fractional gathers the windows' elements dimension by dimension and takes the
// maxima of each. sampleOf says which sample a dimension goes by.
func fractional(class string, sampleOf []int, x *torch.Tensor, kernelSize any, opts []torch.Option) (y, indices *torch.Tensor) {
	n := len(sampleOf)
	single := x.Dim() == n+1
	if single {
		x = x.Unsqueeze(0)
	}
	if x.Dim() != n+2 {
		panic(&torch.Error{
			Op: class, Kind: "RuntimeError",
			Msg: fmt.Sprintf("%s: Expected %dD or %dD tensor, but got %dD", class, n+1, n+2, x.Dim()),
		})
	}
	k := ntuple.Of(class, kernelSize, n)
	size, samples := fractionalSize(class, x, n, opts)
	if samples == nil {
		samples = torch.Rand(x.Size(0), x.Size(1), n, kw.Dtype(x.DType()))
	}
	values := x
	places := torch.Zeros(1, kw.Dtype(torch.Int64)) // of each gathered element in its image
	for d := range n {
		in := x.Size(d + 2)
		if size[d]+k[d]-1 > in {
			panic(&torch.Error{
				Op: class, Kind: "RuntimeError",
				Msg: fmt.Sprintf("%s: pool size %d too large relative to input size %d", class, k[d], in),
			})
		}
		at := starts(samples.Select(2, sampleOf[d]), in, size[d], k[d]).Unsqueeze(-1).Add(torch.Arange(k[d])).Flatten(kw.StartDim(2))
		shape := []int{x.Size(0), x.Size(1)}
		for range n {
			shape = append(shape, 1)
		}
		shape[d+2] = size[d] * k[d]
		at = at.Reshape(shape...)
		places = places.Mul(in).Add(at)
		whole := append([]int{}, values.Shape()...)
		whole[d+2] = size[d] * k[d]
		values = values.Gather(d+2, at.Expand(whole...))
	}
	return largest(values, places, size, k, single)
}

// largest takes the maxima of windows that lie side by side in values, and
// their places.
func largest(values, places *torch.Tensor, size, k []int, single bool) (y, indices *torch.Tensor) {
	n := len(size)
	split := append([]int{}, values.Shape()[:2]...)
	outer, inner := []int{0, 1}, []int{}
	for d := range n {
		split = append(split, size[d], k[d])
		outer, inner = append(outer, 2+2*d), append(inner, 3+2*d)
	}
	windows := func(t *torch.Tensor) *torch.Tensor {
		return t.Reshape(split...).Permute(append(append([]int{}, outer...), inner...)...).Flatten(kw.StartDim(n + 2))
	}
	y, where := windows(values).MaxDim(-1)
	indices = windows(places.Expand(values.Shape()...)).Gather(n+2, where.Unsqueeze(-1)).Squeeze(-1)
	if single {
		return y.Squeeze(0), indices.Squeeze(0)
	}
	return y, indices
}

// fractionalSize reads the size of the output.
func fractionalSize(class string, x *torch.Tensor, n int, opts []torch.Option) (size []int, samples *torch.Tensor) {
	for _, o := range opts {
		switch o.Name {
		case "output_size":
			if o.Value != nil {
				size = ntuple.Of(class, o.Value, n)
			}
		case "output_ratio":
			for d, r := range ratios(class, n, o.Value) {
				size = append(size, int(float64(x.Size(d+2))*r))
			}
		case "random_samples":
			samples = o.Value.(*torch.Tensor)
		default:
			unexpected(class, o)
		}
	}
	if len(size) != n {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: class + " requires specifying either an output_size or an output_ratio"})
	}
	return size, samples
}

func ratios(class string, n int, v any) []float64 {
	out := make([]float64, n)
	switch v := v.(type) {
	case nil:
		return nil
	case float64:
		for i := range out {
			out[i] = v
		}
		return out
	case []float64:
		if len(v) == n {
			return v
		}
	}
	panic(&torch.Error{Op: class, Kind: "TypeError", Msg: fmt.Sprintf("%s: expected a ratio or %d ratios, got %v", class, n, v)})
}

// starts is where the windows of one dimension begin, for each example and
// channel: about evenly spread, the last one at the end.
func starts(sample *torch.Tensor, in, out, k int) *torch.Tensor {
	last := torch.Full([]int{sample.Size(0), sample.Size(1), 1}, in-k)
	if out == 1 {
		return last
	}
	step := float64(in-k) / float64(out-1)
	if sample.DType() == torch.Float32 { // PyTorch divides in the sample's type
		step = float64(float32(in-k) / float32(out-1))
	}
	sample = sample.Unsqueeze(-1)
	first := sample.Mul(step).Floor()
	places := torch.Arange(out-1, kw.Dtype(sample.DType())).Add(sample).Mul(step).Floor().Sub(first)
	return torch.Cat([]*torch.Tensor{places.To(torch.Int64), last}, kw.Dim(-1))
}
