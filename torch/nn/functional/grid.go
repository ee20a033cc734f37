package functional

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is grids of positions for GridSample, and the older names of
// Interpolate.

// AffineGrid is where each pixel of images of a size comes from under affine
// maps: theta is [batch, 2, 3] for size [batch, channel, height, width], and
// [batch, 3, 4] for volumes. Positions go from -1 to 1, which are the centres of
// the outer pixels with kw.AlignCorners(true) and their outer edges without.
func AffineGrid(theta *torch.Tensor, size []int, opts ...torch.Option) *torch.Tensor {
	align := false
	for _, o := range opts {
		switch {
		case o.Name != "align_corners":
			unexpected("affine_grid", o)
		case o.Value != nil:
			align = truth("affine_grid", o)
		}
	}
	n := len(size) - 2
	checkAffine(theta, size, n)
	// The coordinates come last dimension first, and 1 for the shift.
	inner, columns := size[2:], []*torch.Tensor{}
	for d := n - 1; d >= 0; d-- {
		line := make([]int, n)
		for i := range line {
			line[i] = 1
		}
		line[d] = inner[d]
		columns = append(columns, between(inner[d], align, theta).Reshape(line...).Expand(inner...))
	}
	columns = append(columns, torch.Ones(inner, kw.Dtype(theta.DType()), kw.Device(theta.Device())))
	places := torch.Stack(columns, kw.Dim(-1)).Reshape(1, -1, n+1).Expand(size[0], -1, n+1)
	shape := append(append([]int{size[0]}, inner...), n)
	return places.Bmm(theta.Transpose(1, 2)).Reshape(shape...)
}

// checkAffine refuses maps and sizes that do not go together.
func checkAffine(theta *torch.Tensor, size []int, n int) {
	refuse := func(kind, format string, args ...any) {
		panic(&torch.Error{Op: "affine_grid", Kind: kind, Msg: fmt.Sprintf(format, args...)})
	}
	if !theta.DType().IsFloat() {
		refuse("ValueError", "Expected theta to have floating point type, but got %s", theta.DType())
	}
	if n != 2 && n != 3 {
		refuse(
			"NotImplementedError",
			"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size %v",
			size,
		)
	}
	if theta.Dim() != 3 || theta.Size(1) != n || theta.Size(2) != n+1 {
		refuse(
			"ValueError", "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %v. Got %v.", n, n, n+1,
			size, theta.Shape(),
		)
	}
	for _, s := range size {
		if s <= 0 {
			refuse("ValueError", "Expected non-zero, positive output size. Got %v", size)
		}
	}
}

// between is count places from -1 to 1: the ends, or the middles of equal parts.
func between(count int, align bool, like *torch.Tensor) *torch.Tensor {
	if count <= 1 {
		return torch.Zeros(1, kw.Dtype(like.DType()), kw.Device(like.Device()))
	}
	line := torch.Linspace(-1, 1, count, kw.Dtype(like.DType()), kw.Device(like.Device()))
	if align {
		return line
	}
	return line.Mul(count - 1).Div(count)
}

// Upsample is Interpolate by its older name.
func Upsample(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return Interpolate(input, opts...)
}

// UpsampleNearest is Interpolate by repeating pixels. Options: kw.Size,
// kw.ScaleFactor.
func UpsampleNearest(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return Interpolate(input, append(resizing("upsample_nearest", opts), kw.Mode("nearest"))...)
}

// UpsampleBilinear is Interpolate by lines between the pixels, corners on corners.
// Options: kw.Size, kw.ScaleFactor.
func UpsampleBilinear(input *torch.Tensor, opts ...torch.Option) *torch.Tensor {
	return Interpolate(input, append(resizing("upsample_bilinear", opts), kw.Mode("bilinear"), kw.AlignCorners(true))...)
}

// resizing is a copy of options that say how large the result is.
func resizing(class string, opts []torch.Option) []torch.Option {
	for _, o := range opts {
		if o.Name != "size" && o.Name != "scale_factor" {
			unexpected(class, o)
		}
	}
	return append([]torch.Option{}, opts...)
}
