package torch

import (
	"math"
	"testing"

	"tcdbg/torch/internal/special"
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
		{"airy_ai(-500)", special.AiryAi(-500), 0.07259012010404113961, 1e-12},
		{"airy_ai(-1000)", special.AiryAi(-1000), 0.05597189577301991884, 1e-12},
		{"airy_ai(-20)", special.AiryAi(-20.082988502465085), -0.2367838443678679, 1e-13},
		{"igamma, large", special.Igamma(2e6, 2.001e6), 0.760286560946936245, 1e-14},
		{"igamma, huge", special.Igamma(1e20, 1e20), 0.5000000000132981, 1e-15},
		{"igammac, huge", special.Igammac(1e20, 1e19), 1, 0},
		{"igamma(inf, nan)", special.Igamma(inf, nan), 0, 0},
		{"igamma(nan, inf)", special.Igamma(nan, inf), 1, 0},
		{"igammac(inf, nan)", special.Igammac(inf, nan), 1, 0},
		{"igamma(nan, 1)", special.Igamma(nan, 1), nan, 0},
		{"igamma(-inf, nan)", special.Igamma(-inf, nan), nan, 0},
		{"igamma(1, nan)", special.Igamma(1, nan), nan, 0},
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

// TestBesselAsPyTorch: its values of J and Y are wrong from the eighth digit on.
func TestBesselAsPyTorch(t *testing.T) {
	at := []float64{0.3, 2.5, 4.9, 5.5, 7.25, 30}
	for name, c := range map[string]struct {
		f    func(float64) float64
		want []float64
	}{
		"j0": {special.BesselJ(0), []float64{
			0.9776262465382961, -0.048383776468256645, -0.20973833620591686,
			-0.006844032739174986, 0.29199692560095125, -0.08636798358104034,
		}},
		"j1": {special.BesselJ(1), []float64{
			0.148318816273104, 0.4970941024644698, -0.3146946753606358, -0.3414382146061456,
			0.06858171786090907, -0.11875106261662309,
		}},
		"y0": {special.BesselY(0), []float64{
			-0.8072735778045196, 0.49807035961592067, -0.29205460404698097, -0.3394805932433183,
			0.048422522182999514, -0.11729573168666393,
		}},
		"y1": {special.BesselY(1), []float64{
			-2.2931051383885293, 0.14591813796695813, 0.18124669915853284, -0.023758610827091027,
			-0.28934799104110703, 0.08442557066174709,
		}},
	} {
		for i, x := range at {
			if got := c.f(x); math.Abs(got-c.want[i]) > 3e-15 {
				t.Errorf("%s(%v) is %v, want %v", name, x, got, c.want[i])
			}
		}
	}
	if got := special.BesselJ(1)(-9); math.Abs(got+0.24531178612114143) > 1e-15 {
		t.Errorf("j1(-9) is %v", got)
	}
	if got := special.BesselJ(0)(-9); math.Abs(got+0.09033361064231044) > 1e-15 {
		t.Errorf("j0(-9) is %v", got)
	}
}
