package nn

import (
	"strconv"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// CrossMapLRN2d is the older kind of LocalResponseNorm, for images, with what is
// odd about PyTorch's: channels after the first window count the first channel
// as well, and the derivative is that of a window which is elsewhere.
type CrossMapLRN2d struct {
	Size           int
	Alpha, Beta, K float64
}

// NewCrossMapLRN2d makes a CrossMapLRN2d. Options: kw.Alpha(1e-4), kw.Beta(0.75),
// kw.K(1.0).
func NewCrossMapLRN2d(size int, opts ...torch.Option) *CrossMapLRN2d {
	known("CrossMapLRN2d", opts, "alpha", "beta", "k")
	return &CrossMapLRN2d{size, option(opts, "alpha", 1e-4), option(opts, "beta", 0.75), option(opts, "k", 1.0)}
}

// Forward applies the layer.
func (c *CrossMapLRN2d) Forward(x *torch.Tensor) *torch.Tensor {
	if x.Dim() != 4 {
		panic(&torch.Error{
			Op: "CrossMapLRN2d", Kind: "ValueError",
			Msg: "CrossMapLRN2d: Expected input to be 4D, got " + strconv.Itoa(x.Dim()) + "D instead.",
		})
	}
	squares, reach, after := x.Square(), (c.Size-1)/2, (c.Size+1)/2
	late := torch.Arange(x.Size(1)).Gt(reach).Reshape(1, -1, 1, 1)
	value := overChannels(squares, reach, reach).Add(squares.Narrow(1, 0, 1).Mul(late))
	derivative := overChannels(squares, c.Size-1-after, after)
	sums := derivative.Add(value.Sub(derivative).Detach())
	return x.Mul(sums.Mul(c.Alpha / float64(c.Size)).Add(c.K).Pow(-c.Beta))
}

// overChannels adds to each channel those before and after it.
func overChannels(x *torch.Tensor, before, after int) *torch.Tensor {
	width := before + 1 + after
	padded := F.Pad(x.Unsqueeze(1), []int{0, 0, 0, 0, before, after})
	return F.AvgPool3d(padded, []int{width, 1, 1}, kw.Stride(1)).Squeeze(1).Mul(width)
}
