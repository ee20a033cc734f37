package torch

import (
	"math"
	"testing"
)

// TestSpecialEdges holds special functions at large arguments and limits
// against values of 20 digits and PyTorch's rules.
func TestSpecialEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		name      string
		got, want float64
		tolerance float64
	}{
		{"airy_ai(-500)", airyAi(-500), 0.07259012010404113961, 1e-12},
		{"airy_ai(-1000)", airyAi(-1000), 0.05597189577301991884, 1e-12},
		{"airy_ai(-20)", airyAi(-20.082988502465085), -0.2367838443678679, 1e-13},
		{"igamma, large", igamma(2e6, 2.001e6), 0.760286560946936245, 1e-14},
		{"igamma, huge", igamma(1e20, 1e20), 0.5000000000132981, 1e-15},
		{"igammac, huge", igammac(1e20, 1e19), 1, 0},
		{"igamma(inf, nan)", igamma(inf, nan), 0, 0},
		{"igamma(nan, inf)", igamma(nan, inf), 1, 0},
		{"igammac(inf, nan)", igammac(inf, nan), 1, 0},
		{"igamma(nan, 1)", igamma(nan, 1), nan, 0},
		{"igamma(-inf, nan)", igamma(-inf, nan), nan, 0},
		{"igamma(1, nan)", igamma(1, nan), nan, 0},
	} {
		if math.IsNaN(c.want) && math.IsNaN(c.got) {
			continue
		}
		if !(math.Abs(c.got-c.want) <= c.tolerance) {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	for _, x := range []float64{inf, -inf} {
		at := NewTensor([]float64{x})
		for name, y := range map[string]*Tensor{"j0": BesselJ0(at), "j1": BesselJ1(at), "y0": BesselY0(at), "y1": BesselY1(at)} {
			if !math.IsNaN(y.Item()) {
				t.Errorf("bessel_%s(%v) is %v, want NaN", name, x, y.Item())
			}
		}
	}
}
