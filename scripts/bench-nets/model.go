// This program is our side of `make bench-nets`: it compiles the networks whose names are its arguments, which are no row of
// bench-peers: transposed and three-dimensional convolutions, recurrent networks, an encoder layer, a sort. It prints
// a line each: the name, microseconds of the first call, and of the least one.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	"tcdbg/torch/nn"
	"tcdbg/torch/optim"
)

// Forward is a network of one tensor.
type Forward func(x *torch.Tensor) *torch.Tensor

// block is a part of a U-Net.
func block(in, out int) *nn.Sequential {
	return nn.NewSequential(nn.NewConv2d(in, out, 3, kw.Padding(1)), nn.NewGroupNorm(8, out), nn.NewSiLU())
}

func unet() (any, Forward) {
	m := nn.NewSequential(
		block(3, 32), nn.NewMaxPool2d(2), block(32, 64),
		nn.NewConvTranspose2d(64, 32, 2, kw.Stride(2)), block(32, 32), nn.NewConv2d(32, 3, 1),
	)
	return m, m.Forward
}

func generator() (any, Forward) {
	m := nn.NewSequential(
		nn.NewConvTranspose2d(64, 128, 4), nn.NewBatchNorm2d(128), nn.NewReLU(),
		nn.NewConvTranspose2d(128, 64, 4, kw.Stride(2), kw.Padding(1)), nn.NewBatchNorm2d(64), nn.NewReLU(),
		nn.NewConvTranspose2d(64, 3, 4, kw.Stride(2), kw.Padding(1)), nn.NewTanh(),
	)
	return m, m.Forward
}

func volume() (any, Forward) {
	m := nn.NewSequential(
		nn.NewConv3d(1, 16, 3, kw.Padding(1)), nn.NewBatchNorm3d(16), nn.NewReLU(), nn.NewMaxPool3d(2),
		nn.NewConv3d(16, 32, 3, kw.Padding(1)), nn.NewReLU(), nn.NewAdaptiveAvgPool3d(1),
	)
	return m, m.Forward
}

func audio() (any, Forward) {
	m := nn.NewSequential(
		nn.NewConv1d(1, 64, 10, kw.Stride(5)), nn.NewGELU(), nn.NewConv1d(64, 64, 3, kw.Stride(2)), nn.NewGELU(),
		nn.NewConv1d(64, 64, 3, kw.Stride(2)), nn.NewGELU(),
	)
	return m, m.Forward
}

func lstm() (any, Forward) {
	m := nn.NewLSTM(128, 256, kw.BatchFirst(true))
	return m, func(x *torch.Tensor) *torch.Tensor { y, _, _ := m.Forward(x); return y }
}

func gru() (any, Forward) {
	m := nn.NewGRU(128, 256, kw.BatchFirst(true))
	return m, func(x *torch.Tensor) *torch.Tensor { y, _ := m.Forward(x); return y }
}

func encoder() (any, Forward) {
	m := nn.NewTransformerEncoderLayer(256, 8, kw.BatchFirst(true))
	return m, func(x *torch.Tensor) *torch.Tensor { return m.Forward(x) }
}

func sorted() (any, Forward) {
	return nn.NewIdentity(), func(x *torch.Tensor) *torch.Tensor { y, _ := x.Sort(); return y.Cumsum(-1) }
}

// tiny has the runtime library built before a first call is timed.
func tiny() (any, Forward) {
	return nn.NewIdentity(), func(x *torch.Tensor) *torch.Tensor { return x.Softmax(-1) }
}

// nets have the shape of their argument, in a step of training, too.
var nets = map[string]struct {
	make  func() (any, Forward)
	shape []int
}{
	"unet": {unet, []int{2, 3, 128, 128}}, "unet_step": {unet, []int{2, 3, 64, 64}},
	"generator": {generator, []int{16, 64, 8, 8}}, "generator_step": {generator, []int{16, 64, 8, 8}},
	"volume": {volume, []int{2, 1, 32, 32, 32}}, "volume_step": {volume, []int{2, 1, 24, 24, 24}},
	"audio": {audio, []int{2, 1, 16000}},
	"lstm":  {lstm, []int{8, 64, 128}}, "lstm_step": {lstm, []int{8, 32, 128}}, "gru": {gru, []int{8, 64, 128}},
	"encoder": {encoder, []int{4, 128, 256}}, "encoder_step": {encoder, []int{4, 128, 256}},
	"sort": {sorted, []int{64, 4096}}, "tiny": {tiny, []int{4, 4}},
}

// call makes a call of a compiled network, or of a step with AdamW.
func call(name string) func() {
	n, ok := nets[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "no network %s\n", name)
		os.Exit(1)
	}
	m, forward := n.make()
	x := torch.Randn(n.shape)
	if !strings.HasSuffix(name, "_step") {
		nn.Eval(m)
		fast := torch.Compile(forward)
		return func() { torch.NoGrad(func() { fast(x) }) }
	}
	opt := optim.NewAdamW(nn.Parameters(m), kw.Lr(1e-4))
	return torch.Compile(func() {
		opt.ZeroGrad()
		forward(x).Square().Mean().Backward()
		opt.Step()
	})
}

// timed is how long a call takes, in microseconds.
func timed(f func()) int64 {
	start := time.Now()
	f()
	return time.Since(start).Microseconds()
}

func main() {
	for _, name := range os.Args[1:] {
		f := call(name)
		first := timed(f)
		least := timed(f)
		for end := time.Now().Add(time.Second); time.Now().Before(end); {
			least = min(least, timed(f))
		}
		fmt.Println(name, first, least)
	}
}
