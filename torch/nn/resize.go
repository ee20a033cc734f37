package nn

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is modules that change the size of images or the order of their
// elements.

// Upsample resizes images.
type Upsample struct{ options []torch.Option }

// NewUpsample makes an Upsample. Options: kw.Size or kw.ScaleFactor,
// kw.Mode("nearest"), kw.AlignCorners.
func NewUpsample(opts ...torch.Option) *Upsample {
	known("Upsample", opts, "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor")
	return &Upsample{opts}
}

// NewUpsamplingNearest2d is an Upsample to the nearest element.
func NewUpsamplingNearest2d(opts ...torch.Option) *Upsample {
	known("UpsamplingNearest2d", opts, "size", "scale_factor")
	return &Upsample{append([]torch.Option{kw.Mode("nearest")}, opts...)}
}

// NewUpsamplingBilinear2d is a bilinear Upsample whose corners are aligned.
func NewUpsamplingBilinear2d(opts ...torch.Option) *Upsample {
	known("UpsamplingBilinear2d", opts, "size", "scale_factor")
	return &Upsample{append([]torch.Option{kw.Mode("bilinear"), kw.AlignCorners(true)}, opts...)}
}

// Forward applies the layer.
func (u *Upsample) Forward(x *torch.Tensor) *torch.Tensor { return F.Interpolate(x, u.options...) }

// PixelShuffle moves channels into space.
type PixelShuffle struct{ UpscaleFactor int }

// NewPixelShuffle makes a PixelShuffle.
func NewPixelShuffle(factor int) *PixelShuffle { return &PixelShuffle{factor} }

// Forward applies the layer.
func (p *PixelShuffle) Forward(x *torch.Tensor) *torch.Tensor {
	return F.PixelShuffle(x, p.UpscaleFactor)
}

// PixelUnshuffle moves space into channels.
type PixelUnshuffle struct{ DownscaleFactor int }

// NewPixelUnshuffle makes a PixelUnshuffle.
func NewPixelUnshuffle(factor int) *PixelUnshuffle { return &PixelUnshuffle{factor} }

// Forward applies the layer.
func (p *PixelUnshuffle) Forward(x *torch.Tensor) *torch.Tensor {
	return F.PixelUnshuffle(x, p.DownscaleFactor)
}

// ChannelShuffle mixes the channels of groups.
type ChannelShuffle struct{ Groups int }

// NewChannelShuffle makes a ChannelShuffle.
func NewChannelShuffle(groups int) *ChannelShuffle { return &ChannelShuffle{groups} }

// Forward applies the layer.
func (c *ChannelShuffle) Forward(x *torch.Tensor) *torch.Tensor {
	return F.ChannelShuffle(x, c.Groups)
}

// Unflatten splits a dimension into several.
type Unflatten struct {
	Dim             int
	UnflattenedSize []int `torch:"-"`
}

// NewUnflatten makes an Unflatten.
func NewUnflatten(dim int, sizes []int) *Unflatten { return &Unflatten{dim, sizes} }

// Forward applies the layer.
func (u *Unflatten) Forward(x *torch.Tensor) *torch.Tensor {
	return x.Unflatten(u.Dim, u.UnflattenedSize)
}

// Pad surrounds the last dimensions of its input.
type Pad struct {
	Padding []int  `torch:"-"` // of the last dimension first
	Mode    string // constant, reflect, replicate, circular
	Value   float64
	dims    int
	class   string
}

// newPad reads a padding of n dimensions: an int, or left and right of each,
// the last dimension first.
func newPad(class string, n int, mode string, padding any, value float64) *Pad {
	return &Pad{tuple(padding, 2*n), mode, value, n, class}
}

// Forward applies the layer.
func (p *Pad) Forward(x *torch.Tensor) *torch.Tensor {
	if n := x.Dim(); p.Mode != "constant" && n != p.dims+1 && n != p.dims+2 {
		panic(&torch.Error{
			Op: p.class, Kind: "NotImplementedError",
			Msg: fmt.Sprintf("%s: expected a %dD or %dD input, got %dD", p.class, p.dims+1, p.dims+2, n),
		})
	}
	if p.Mode == "constant" {
		return F.Pad(x, p.Padding, kw.Value(p.Value))
	}
	return F.Pad(x, p.Padding, kw.Mode(p.Mode))
}

// NewConstantPad1d pads with a value.
func NewConstantPad1d(padding any, value float64) *Pad {
	return newPad("ConstantPad1d", 1, "constant", padding, value)
}

// NewConstantPad2d pads with a value.
func NewConstantPad2d(padding any, value float64) *Pad {
	return newPad("ConstantPad2d", 2, "constant", padding, value)
}

// NewConstantPad3d pads with a value.
func NewConstantPad3d(padding any, value float64) *Pad {
	return newPad("ConstantPad3d", 3, "constant", padding, value)
}

// NewZeroPad1d pads with zeros.
func NewZeroPad1d(padding any) *Pad { return newPad("ZeroPad1d", 1, "constant", padding, 0) }

// NewZeroPad2d pads with zeros.
func NewZeroPad2d(padding any) *Pad { return newPad("ZeroPad2d", 2, "constant", padding, 0) }

// NewZeroPad3d pads with zeros.
func NewZeroPad3d(padding any) *Pad { return newPad("ZeroPad3d", 3, "constant", padding, 0) }

// NewReflectionPad1d pads with the mirror image.
func NewReflectionPad1d(padding any) *Pad { return newPad("ReflectionPad1d", 1, "reflect", padding, 0) }

// NewReflectionPad2d pads with the mirror image.
func NewReflectionPad2d(padding any) *Pad { return newPad("ReflectionPad2d", 2, "reflect", padding, 0) }

// NewReflectionPad3d pads with the mirror image.
func NewReflectionPad3d(padding any) *Pad { return newPad("ReflectionPad3d", 3, "reflect", padding, 0) }

// NewReplicationPad1d repeats the border.
func NewReplicationPad1d(padding any) *Pad {
	return newPad("ReplicationPad1d", 1, "replicate", padding, 0)
}

// NewReplicationPad2d repeats the border.
func NewReplicationPad2d(padding any) *Pad {
	return newPad("ReplicationPad2d", 2, "replicate", padding, 0)
}

// NewReplicationPad3d repeats the border.
func NewReplicationPad3d(padding any) *Pad {
	return newPad("ReplicationPad3d", 3, "replicate", padding, 0)
}

// NewCircularPad1d goes on at the other side.
func NewCircularPad1d(padding any) *Pad { return newPad("CircularPad1d", 1, "circular", padding, 0) }

// NewCircularPad2d goes on at the other side.
func NewCircularPad2d(padding any) *Pad { return newPad("CircularPad2d", 2, "circular", padding, 0) }

// NewCircularPad3d goes on at the other side.
func NewCircularPad3d(padding any) *Pad { return newPad("CircularPad3d", 3, "circular", padding, 0) }
