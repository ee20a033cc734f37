package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// Muon steps along the matrix nearest to the momentum whose singular values are
// all about one. It is for the matrices of hidden layers; other parameters want
// another optimizer.
type Muon struct{ *base }

// NewMuon makes a Muon over matrices. Options: kw.Lr(1e-3), kw.WeightDecay(0.1),
// kw.Momentum(0.95), kw.Nesterov(true), kw.NsCoefficients([3]float64{3.4445,
// -4.775, 2.0315}), kw.Eps(1e-7), kw.NsSteps(5), kw.AdjustLrFn("original",
// "match_rms_adamw" or "spectral_unclamped").
func NewMuon(params any, opts ...torch.Option) *Muon {
	d := Group{
		Lr: 1e-3, WeightDecay: 0.1, Momentum: 0.95, Nesterov: true, Eps: 1e-7, NsSteps: 5,
		NsCoefficients: [3]float64{3.4445, -4.775, 2.0315},
	}
	keys := []setting{
		rate(), momentum(), epsilon(),
		number("weight_decay", func(g *Group) *float64 { return &g.WeightDecay }),
		flag("nesterov", func(g *Group) *bool { return &g.Nesterov }),
		{"ns_coefficients", func(g *Group) any { return g.NsCoefficients }, setCoefficients},
		{"ns_steps", func(g *Group) any { return g.NsSteps }, func(g *Group, v any) { g.NsSteps = int(numberOf(v)) }},
		{"adjust_lr_fn", adjustment, setAdjustment},
	}
	m := &Muon{newBase("Muon", params, d, opts, keys,
		rule{moments: func(*Group) []string { return []string{"momentum_buffer"} }, update: muon})}
	for _, g := range m.groups {
		if g.NsSteps >= 100 {
			refuse("Muon", "Number of steps must be less than 100 for computational efficiency")
		}
		for _, p := range g.Params {
			if p.Dim() != 2 {
				refuse("Muon", "Muon only supports 2D parameters whereas we found a parameter with size: %v", p.Shape())
			}
		}
	}
	return m
}

func adjustment(g *Group) any {
	if g.AdjustLrFn == "" {
		return nil
	}
	return g.AdjustLrFn
}

func setAdjustment(g *Group, v any) {
	name, _ := v.(string)
	if _, known := adjustments[name]; !known && v != nil {
		refuse("Muon", "Adjust learning rate function %v is not supported", v)
	}
	g.AdjustLrFn = name
}

func setCoefficients(g *Group, v any) {
	switch v := v.(type) {
	case [3]float64:
		g.NsCoefficients = v
		return
	case []any: // as a file has it
		if len(v) == 3 {
			g.NsCoefficients = [3]float64{numberOf(v[0]), numberOf(v[1]), numberOf(v[2])}
			return
		}
	}
	panic(&torch.Error{Op: "Muon", Kind: "ValueError", Msg: fmt.Sprintf("Coefficients must be a tuple of exactly 3 values, not %v", v)})
}

// adjustments are how much the step of a matrix of rows and columns is
// lengthened.
var adjustments = map[string]func(rows, columns float64) float64{
	"original":           func(r, c float64) float64 { return math.Sqrt(max(1, r/c)) },
	"match_rms_adamw":    func(r, c float64) float64 { return 0.2 * math.Sqrt(max(r, c)) },
	"spectral_unclamped": func(r, c float64) float64 { return math.Sqrt(r / c) },
}

func muon(g *Group, s *slot, grad *torch.Tensor) {
	buf := s.moment("momentum_buffer").Lerp_(grad, 1-g.Momentum)
	update := buf
	if g.Nesterov {
		update = grad.Lerp(buf, g.Momentum)
	}
	update = orthogonal(update, g)
	name := g.AdjustLrFn
	if name == "" {
		name = "original"
	}
	longer := adjustments[name](float64(s.p.Size(0)), float64(s.p.Size(1)))
	lr := g.pace()
	lr.shrink(s.p, g.WeightDecay)
	lr.times(longer).add(s.p, update)
}

// orthogonal moves the singular values towards one by Newton and Schulz's
// iteration, in half precision as PyTorch does.
func orthogonal(m *torch.Tensor, g *Group) *torch.Tensor {
	tall := m.Size(0) > m.Size(1)
	x := m.To(torch.Bfloat16)
	if tall {
		x = x.T()
	}
	x = x.Div(x.Norm().Clamp(kw.Min(g.Eps)))
	a, b, c := g.NsCoefficients[0], g.NsCoefficients[1], g.NsCoefficients[2]
	for range g.NsSteps {
		gram := x.Matmul(x.T())
		x = torch.Addmm(x, torch.Addmm(gram, gram, gram, kw.Beta(b), kw.Alpha(c)), x, kw.Beta(a))
	}
	if tall {
		return x.T()
	}
	return x
}

// SparseAdam is Adam for sparse gradients, which there are none of here.
type SparseAdam struct{ *base }

// NewSparseAdam makes a SparseAdam, whose Step refuses dense gradients as
// PyTorch's does. Options: kw.Lr(1e-3), kw.Betas, kw.Eps(1e-8),
// kw.Maximize(false).
func NewSparseAdam(params any, opts ...torch.Option) *SparseAdam {
	d := Group{Lr: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	return &SparseAdam{newBase("SparseAdam", params, d, opts, []setting{rate(), maximize(), betas(), epsilon()},
		rule{update: func(*Group, *slot, *torch.Tensor) {
			panic(&torch.Error{
				Op: "SparseAdam", Kind: "RuntimeError",
				Msg: "SparseAdam does not support dense gradients, please consider Adam instead",
			})
		}})}
}
