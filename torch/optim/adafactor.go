package optim

import (
	"fmt"
	"math"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// Adafactor scales each step by the size of past gradients, of which it keeps
// a row and a column for each matrix.
type Adafactor struct{ *base }

// NewAdafactor makes an Adafactor. Options: kw.Lr(1e-2), kw.Beta2Decay(-0.8),
// kw.Eps([2]any{nil, 1e-3}), whose first is the least size of a gradient (nil: the
// dtype's epsilon) and whose second is the least size of a parameter; kw.D(1), to
// which steps are cut; kw.WeightDecay(0), kw.Maximize(false).
func NewAdafactor(params any, opts ...torch.Option) *Adafactor {
	keys := common(
		number("beta2_decay", func(g *Group) *float64 { return &g.Beta2Decay }),
		number("d", func(g *Group) *float64 { return &g.D }),
		setting{"eps", epsPair, setEpsPair},
	)
	a := &Adafactor{newBase("Adafactor", params, Group{Lr: 1e-2, Beta2Decay: -0.8, D: 1, Eps2: 1e-3}, opts, keys, rule{update: adafactor})}
	for _, g := range a.groups {
		switch {
		case g.Beta2Decay > 0:
			refuse("Adafactor", "beta2_decay should be <= 0 but is: %v", g.Beta2Decay)
		case g.D < 1:
			refuse("Adafactor", "Clipping threshold d should be >= 1 but is: %v", g.D)
		case g.Eps1 < 0 || g.Eps2 < 0:
			refuse("Adafactor", "epsilons should be >= 0 but are: %v", epsPair(g))
		}
	}
	return a
}

func refuse(class, format string, args ...any) {
	panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf(format, args...)})
}

// epsPair is eps as a group's state has it.
func epsPair(g *Group) any {
	if g.Eps1 == 0 {
		return [2]any{nil, g.Eps2}
	}
	return [2]any{g.Eps1, g.Eps2}
}

func setEpsPair(g *Group, v any) {
	two, ok := v.([2]any)
	if list, isList := v.([]any); isList && len(list) == 2 { // as a file has it
		two, ok = [2]any{list[0], list[1]}, true
	}
	if !ok {
		panic(&torch.Error{Op: "Adafactor", Kind: "TypeError", Msg: fmt.Sprintf("keyword eps must be [2]any, not %v", v)})
	}
	g.Eps1 = 0
	if two[0] != nil {
		if g.Eps1 = numberOf(two[0]); g.Eps1 == 0 {
			refuse("Adafactor", "epsilon1 of 0 is not supported: a gradient of zero would divide by it")
		}
	}
	g.Eps2 = numberOf(two[1])
}

func adafactor(g *Group, s *slot, grad *torch.Tensor) {
	p, step := s.p, s.steps()
	least := g.Eps1
	if least == 0 {
		least = epsilonOf(p.DType())
	}
	share := math.Pow(step, g.Beta2Decay)
	rate := max(g.Eps2, p.Norm().Item()/math.Sqrt(float64(p.Numel()))) * min(g.rate(), 1/math.Sqrt(step))
	if g.WeightDecay != 0 {
		g.pace().shrink(p, g.WeightDecay)
	}
	update := s.squares(grad, share, least).Clamp_(kw.Min(least * least)).Rsqrt_().Mul_(grad)
	size := update.Norm().Item() / (math.Sqrt(float64(update.Numel())) * g.D)
	p.Add_(update, kw.Alpha(-rate/max(1, size)))
}

// squares estimates the mean square of the gradients' elements: for a matrix from
// those of its rows and columns.
func (s *slot) squares(grad *torch.Tensor, share, least float64) *torch.Tensor {
	if grad.Dim() <= 1 {
		return s.moment("variance").Lerp_(grad.Mul(grad), share).Clone()
	}
	mean := func(name string, dim int) *torch.Tensor {
		now := torch.LinalgVectorNorm(grad, kw.Dim([]int{dim}), kw.Keepdim(true)).Square_().Div_(grad.Size(dim))
		return s.remembered(name, func() *torch.Tensor { return torch.ZerosLike(now) }).Lerp_(now, share)
	}
	rows, columns := mean("row_var", -1), mean("col_var", -2)
	return rows.Matmul(columns).Div_(rows.Mean(kw.Dim([]int{-2}), kw.Keepdim(true)).Clamp_(kw.Min(least)))
}

// epsilonOf is the distance from 1 to the next number.
func epsilonOf(d torch.DType) float64 {
	switch d {
	case torch.Float64:
		return 0x1p-52
	case torch.Float16:
		return 0x1p-10
	case torch.Bfloat16:
		return 0x1p-7
	}
	return 0x1p-23
}
