package nn

import (
	"fmt"
	"math"
	"slices"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
	"tcdbg/torch/nn/internal/ntuple"
)

// Conv is what the convolutions share.
type Conv struct {
	Weight, Bias                                         *torch.Tensor // Bias is nil without one
	InChannels, OutChannels, Groups                      int
	KernelSize, Stride, Padding, Dilation, OutputPadding []int `torch:"-"`
	PaddingMode                                          string

	// before is padding that the input gets before the convolution, as F.Pad
	// takes it; nil where the convolution itself pads with zeros.
	before []int
}

// newConv reads the options of a convolution over n dimensions.
func newConv(class string, n, in, out int, kernel any, transposed bool, opts []torch.Option) Conv {
	names := []string{"stride", "padding", "dilation", "groups", "bias", "padding_mode", "dtype", "device"}
	if transposed {
		names = append(names, "output_padding")
	}
	known(class, opts, names...)
	c := Conv{
		InChannels: in, OutChannels: out, Groups: option(opts, "groups", 1), KernelSize: tuple(kernel, n),
		Stride: tupleOption(opts, "stride", 1, n), Dilation: tupleOption(opts, "dilation", 1, n),
		OutputPadding: tupleOption(opts, "output_padding", 0, n), PaddingMode: option(opts, "padding_mode", "zeros"),
	}
	c.checkGroups(class)
	c.setPadding(class, n, transposed, optionAny(opts, "padding"))
	first, second := out, in
	if transposed {
		first, second = in, out
	}
	c.Weight = parameter(opts, append([]int{first, second / c.Groups}, c.KernelSize...)...)
	if option(opts, "bias", true) {
		c.Bias = parameter(opts, out)
	}
	c.ResetParameters()
	return c
}

// setPadding reads kw.Padding: an int, n ints, "valid" (none) or "same" (as much
// as keeps the size).
func (c *Conv) setPadding(class string, n int, transposed bool, padding any) {
	refuse := func(format string, args ...any) {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf(format, args...)})
	}
	c.Padding = tuple(0, n)
	left, right := make([]int, n), make([]int, n)
	switch p := padding.(type) {
	case nil:
	case string:
		switch {
		case transposed || p != "same" && p != "valid":
			refuse("Invalid padding string '%s', should be one of {'valid', 'same'}", p)
		case p == "same":
			for i := range n {
				if c.Stride[i] != 1 {
					refuse("padding='same' is not supported for strided convolutions")
				}
				total := c.Dilation[i] * (c.KernelSize[i] - 1)
				left[i], right[i] = total/2, total-total/2
			}
		}
	default:
		left = tuple(padding, n)
		right = left
	}
	switch c.PaddingMode {
	case "zeros":
		if slices.Equal(left, right) {
			c.Padding = left
			return
		}
	case "reflect", "replicate", "circular":
		if transposed {
			refuse("Only \"zeros\" padding mode is supported for %s", class)
		}
	default:
		refuse("padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got padding_mode='%s'", c.PaddingMode)
	}
	for i := n - 1; i >= 0; i-- {
		c.before = append(c.before, left[i], right[i])
	}
}

// padded is the input as the convolution wants it.
func (c *Conv) padded(x *torch.Tensor) *torch.Tensor {
	switch {
	case c.before == nil:
		return x
	case c.PaddingMode == "zeros":
		return F.Pad(x, c.before)
	}
	return F.Pad(x, c.before, kw.Mode(c.PaddingMode))
}

func (c *Conv) checkGroups(class string) {
	var name string
	switch {
	case c.Groups <= 0 || c.InChannels%c.Groups != 0:
		name = "in_channels"
	case c.OutChannels%c.Groups != 0:
		name = "out_channels"
	default:
		return
	}
	panic(&torch.Error{Op: class, Kind: "ValueError", Msg: name + " must be divisible by groups"})
}

// ResetParameters draws the weights again.
func (c *Conv) ResetParameters() {
	KaimingUniform_(c.Weight, kw.A(math.Sqrt(5)))
	if c.Bias == nil {
		return
	}
	if in, _ := fans(c.Weight); in > 0 {
		bound := 1 / math.Sqrt(float64(in))
		Uniform_(c.Bias, -bound, bound)
	}
}

func (c *Conv) options() []torch.Option {
	return []torch.Option{kw.Bias(c.Bias), kw.Stride(c.Stride), kw.Padding(c.Padding), kw.Dilation(c.Dilation), kw.Groups(c.Groups)}
}

func (c *Conv) transposedOptions() []torch.Option {
	return append(c.options(), kw.OutputPadding(c.OutputPadding))
}

// Conv1d is a convolution over [batch, channel, length].
type Conv1d struct{ Conv }

// NewConv1d makes a Conv1d; kernel is an int. Options: kw.Stride(1),
// kw.Padding(0, "same" or "valid"), kw.Dilation(1), kw.Groups(1),
// kw.Bias(true), kw.PaddingMode("zeros", "reflect", "replicate", "circular"),
// kw.Dtype, kw.Device.
func NewConv1d(in, out int, kernel any, opts ...torch.Option) *Conv1d {
	return &Conv1d{newConv("Conv1d", 1, in, out, kernel, false, opts)}
}

// Forward applies the layer.
func (c *Conv1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Conv1d(c.padded(x), c.Weight, c.options()...)
}

// Conv2d is a convolution over [batch, channel, height, width].
type Conv2d struct{ Conv }

// NewConv2d makes a Conv2d; kernel is an int or a pair, and so are the
// options that NewConv1d lists.
func NewConv2d(in, out int, kernel any, opts ...torch.Option) *Conv2d {
	return &Conv2d{newConv("Conv2d", 2, in, out, kernel, false, opts)}
}

// Forward applies the layer.
func (c *Conv2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Conv2d(c.padded(x), c.Weight, c.options()...)
}

// Conv3d is a convolution over [batch, channel, depth, height, width].
type Conv3d struct{ Conv }

// NewConv3d makes a Conv3d; options as NewConv1d's.
func NewConv3d(in, out int, kernel any, opts ...torch.Option) *Conv3d {
	return &Conv3d{newConv("Conv3d", 3, in, out, kernel, false, opts)}
}

// Forward applies the layer.
func (c *Conv3d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.Conv3d(c.padded(x), c.Weight, c.options()...)
}

// ConvTranspose1d is the gradient of a Conv1d with respect to its input.
type ConvTranspose1d struct{ Conv }

// NewConvTranspose1d makes a ConvTranspose1d; options as NewConv1d's and
// kw.OutputPadding(0).
func NewConvTranspose1d(in, out int, kernel any, opts ...torch.Option) *ConvTranspose1d {
	return &ConvTranspose1d{newConv("ConvTranspose1d", 1, in, out, kernel, true, opts)}
}

// Forward applies the layer.
func (c *ConvTranspose1d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.ConvTranspose1d(x, c.Weight, c.transposedOptions()...)
}

// ConvTranspose2d is the gradient of a Conv2d with respect to its input.
type ConvTranspose2d struct{ Conv }

// NewConvTranspose2d makes a ConvTranspose2d; options as NewConv1d's and
// kw.OutputPadding(0).
func NewConvTranspose2d(in, out int, kernel any, opts ...torch.Option) *ConvTranspose2d {
	return &ConvTranspose2d{newConv("ConvTranspose2d", 2, in, out, kernel, true, opts)}
}

// Forward applies the layer.
func (c *ConvTranspose2d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.ConvTranspose2d(x, c.Weight, c.transposedOptions()...)
}

// ConvTranspose3d is the gradient of a Conv3d with respect to its input.
type ConvTranspose3d struct{ Conv }

// NewConvTranspose3d makes a ConvTranspose3d; options as NewConv1d's and
// kw.OutputPadding(0).
func NewConvTranspose3d(in, out int, kernel any, opts ...torch.Option) *ConvTranspose3d {
	return &ConvTranspose3d{newConv("ConvTranspose3d", 3, in, out, kernel, true, opts)}
}

// Forward applies the layer.
func (c *ConvTranspose3d) Forward(x *torch.Tensor) *torch.Tensor {
	return F.ConvTranspose3d(x, c.Weight, c.transposedOptions()...)
}

// tuple reads an int, which stands for n equal ones, or n ints.
func tuple(v any, n int) []int { return ntuple.Of("nn", v, n) }

// tupleOption is tuple of an option, or n times def.
func tupleOption(opts []torch.Option, name string, def, n int) []int {
	if v := optionAny(opts, name); v != nil {
		return tuple(v, n)
	}
	return tuple(def, n)
}

// optionAny returns the value of an option; nil without it.
func optionAny(opts []torch.Option, name string) any {
	for _, o := range opts {
		if o.Name == name {
			return o.Value
		}
	}
	return nil
}
