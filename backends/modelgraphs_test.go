package backends

import (
	"testing"

	"tcdbg/graph"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
)

// This file builds MobileNetV3-small and DenseNet-121 in evaluation mode from operators, as
// a trace of them would be, and measures them kernel by kernel as profile_test.go does
// ResNet-50.

// modelGraph is a graph of a convolutional network whose parameters are made as they are
// used.
type modelGraph struct {
	*testGraph
	seed int
}

// param is a new parameter of small numbers.
func (g *modelGraph) small(size ...int) ops.Value {
	g.seed++
	return g.param(filled(ops.Float32, g.seed, size...))
}

// norm normalizes so many channels, whose numbers are some times as large as the parameters.
func (g *modelGraph) norm(x ops.Value, channels, times int) ops.Value {
	mean, gamma, beta := g.small(channels), g.small(channels), g.small(channels)
	g.seed++
	variance := g.param(filled(ops.Float32, g.seed, channels).Abs().Add(1).Mul(3 * times))
	return g.Emit(ops.BatchNorm, x, mean, variance, gamma, beta, false, 0.1, 1e-5)
}

// conv is a convolution that keeps the size at stride 1.
func (g *modelGraph) conv(x ops.Value, in, out, kernel, stride, groups int) ops.Value {
	pad := kernel / 2
	w := g.small(out, in/groups, kernel, kernel)
	return g.Emit(ops.Convolution, x, w, nil, ints(stride, stride), ints(pad, pad), ints(1, 1), false, ints(0, 0), sym.C(groups))
}

// mobileRow is an inverted residual of MobileNetV3-small.
type mobileRow struct {
	in, kernel, expanded, out int
	squeeze                   bool
	act                       ops.ID
	stride                    int
}

// mobileRows are all of them.
func mobileRows() []mobileRow {
	return []mobileRow{
		{16, 3, 16, 16, true, ops.Relu, 2},
		{16, 3, 72, 24, false, ops.Relu, 2},
		{24, 3, 88, 24, false, ops.Relu, 1},
		{24, 5, 96, 40, true, ops.Hardswish, 2},
		{40, 5, 240, 40, true, ops.Hardswish, 1},
		{40, 5, 240, 40, true, ops.Hardswish, 1},
		{40, 5, 120, 48, true, ops.Hardswish, 1},
		{48, 5, 144, 48, true, ops.Hardswish, 1},
		{48, 5, 288, 96, true, ops.Hardswish, 2},
		{96, 5, 576, 96, true, ops.Hardswish, 1},
		{96, 5, 576, 96, true, ops.Hardswish, 1},
	}
}

// squeezed scales channels by what a small network makes of their means.
func (g *modelGraph) squeezed(x ops.Value, channels int) ops.Value {
	inner := max(8, (channels/4+4)/8*8)
	if 10*inner < 9*(channels/4) {
		inner += 8
	}
	dense := func(x ops.Value, in, out int) ops.Value {
		w, b := g.small(out, in, 1, 1), g.small(out)
		return g.Emit(ops.Convolution, x, w, b, ints(1, 1), ints(0, 0), ints(1, 1), false, ints(0, 0), sym.C(1))
	}
	s := g.Emit(ops.Relu, dense(g.Emit(ops.AdaptiveAvgPool2d, x, ints(1, 1)), channels, inner))
	return g.Emit(ops.Mul, x, g.Emit(ops.Hardsigmoid, dense(s, inner, channels)))
}

// mobilenet is MobileNetV3-small on so many images of size x size.
func mobilenet(images, size int) (*graph.Module, []torch.Value) {
	g := &modelGraph{testGraph: newTestGraph("mobilenet")}
	layer := func(x ops.Value, in, out, kernel, stride, groups int) ops.Value {
		return g.norm(g.conv(x, in, out, kernel, stride, groups), out, in/groups*kernel*kernel)
	}
	x := ops.Value(g.input(filled(ops.Float32, 0, images, 3, size, size)))
	x = g.Emit(ops.Hardswish, layer(x, 3, 16, 3, 2, 1))
	for _, r := range mobileRows() {
		y := x
		if r.expanded != r.in {
			y = g.Emit(r.act, layer(y, r.in, r.expanded, 1, 1, 1))
		}
		y = g.Emit(r.act, layer(y, r.expanded, r.expanded, r.kernel, r.stride, r.expanded))
		if r.squeeze {
			y = g.squeezed(y, r.expanded)
		}
		y = layer(y, r.expanded, r.out, 1, 1, 1)
		if r.stride == 1 && r.in == r.out {
			y = g.Emit(ops.Add, x, y)
		}
		x = y
	}
	x = g.Emit(ops.Hardswish, layer(x, 96, 576, 1, 1, 1))
	x = g.Emit(ops.Reshape, g.Emit(ops.AdaptiveAvgPool2d, x, ints(1, 1)), ints(images, 576))
	x = g.Emit(ops.Hardswish, g.Emit(ops.Linear, x, g.small(1024, 576), g.small(1024)))
	return g.outputs(g.Emit(ops.Linear, x, g.small(1000, 1024), g.small(1000))), g.in
}

// densenet is DenseNet-121 on so many images of size x size.
func densenet(images, size int) (*graph.Module, []torch.Value) {
	g := &modelGraph{testGraph: newTestGraph("densenet")}
	active := func(x ops.Value, channels, times int) ops.Value { return g.Emit(ops.Relu, g.norm(x, channels, times)) }
	x := ops.Value(g.input(filled(ops.Float32, 0, images, 3, size, size)))
	x = active(g.conv(x, 3, 64, 7, 2, 1), 64, 147)
	x = g.EmitN(ops.MaxPool2d, x, ints(3, 3), ints(2, 2), ints(1, 1), ints(1, 1), false)[0]
	channels := 64
	for stage, layers := range []int{6, 12, 24, 16} {
		features := []ops.Value{x}
		for range layers {
			in := features[0]
			if len(features) > 1 {
				in = g.Emit(ops.Cat, features, sym.C(1))
			}
			y := g.conv(active(in, channels, 1), channels, 128, 1, 1, 1)
			features = append(features, g.conv(active(y, 128, channels), 128, 32, 3, 1, 1))
			channels += 32
		}
		x = active(g.Emit(ops.Cat, features, sym.C(1)), channels, 1)
		if stage < 3 {
			x = g.conv(x, channels, channels/2, 1, 1, 1)
			x = g.Emit(ops.AvgPool2d, x, ints(2, 2), ints(2, 2), ints(0, 0), false, true, nil)
			channels /= 2
		}
	}
	x = g.Emit(ops.Reshape, g.Emit(ops.AdaptiveAvgPool2d, x, ints(1, 1)), ints(images, channels))
	return g.outputs(g.Emit(ops.Linear, x, g.small(1000, channels), g.small(1000))), g.in
}

// BenchmarkMobileNet is a call of the whole model on two images.
func BenchmarkMobileNet(b *testing.B) {
	m, in := mobilenet(2, 224)
	benchmarkModel(b, m, in)
}

// BenchmarkDenseNet is a call of the whole model on four images.
func BenchmarkDenseNet(b *testing.B) {
	m, in := densenet(4, 128)
	benchmarkModel(b, m, in)
}
