package functional

import (
	"math"
	"testing"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// TestInterpolateSums compares the sum of what resampling gives, weighted by place,
// with PyTorch's.
func TestInterpolateSums(t *testing.T) {
	x := torch.Arange(2*9*13).To(torch.Float32).Mul(0.37).Sin().Reshape(1, 2, 9, 13)
	for _, c := range []struct {
		name string
		opts []torch.Option
		want float64
	}{
		{"antialiased", []torch.Option{kw.Size([]int{5, 6}), kw.Mode("bilinear"), kw.Antialias(true)}, -17.218819},
		{"antialiased one way", []torch.Option{kw.Size([]int{5, 26}), kw.Mode("bicubic"), kw.Antialias(true)}, -299.7229},
		{"antialiased corners", []torch.Option{
			kw.Size([]int{4, 6}), kw.Mode("bicubic"), kw.Antialias(true),
			kw.AlignCorners(true),
		}, -23.901764},
		{"antialiased factor", []torch.Option{kw.ScaleFactor(0.6), kw.Mode("bilinear"), kw.Antialias(true)}, -34.316559},
		{"antialiased factor from sizes", []torch.Option{
			kw.ScaleFactor(0.6), kw.Mode("bicubic"), kw.Antialias(true),
			kw.RecomputeScaleFactor(true),
		}, -22.22995},
		{"factor", []torch.Option{kw.ScaleFactor(1.3), kw.Mode("bicubic")}, -1433.672241},
		{"factor from sizes", []torch.Option{kw.ScaleFactor(0.75), kw.Mode("bilinear"), kw.RecomputeScaleFactor(true)}, -3.160175},
	} {
		y := Interpolate(x, c.opts...)
		if got := y.Flatten().Mul(torch.Arange(y.Numel())).Sum().Item(); math.Abs(got-c.want) > 1e-3 {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// TestAntialiasRefuses wants other modes and ranks to be refused.
func TestAntialiasRefuses(t *testing.T) {
	for _, f := range []func(){
		func() { Interpolate(torch.Ones(1, 1, 4, 4), kw.Size(2), kw.Antialias(true)) },
		func() { Interpolate(torch.Ones(1, 1, 4), kw.Size(2), kw.Mode("linear"), kw.Antialias(true)) },
	} {
		func() {
			defer func() {
				if e, ok := recover().(*torch.Error); !ok || e.Kind != "ValueError" {
					t.Errorf("got %v", e)
				}
			}()
			f()
		}()
	}
}
