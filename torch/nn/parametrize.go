package nn

import (
	"fmt"
	"strconv"

	"tcdbg/torch"
	"tcdbg/torch/kw"
	F "tcdbg/torch/nn/functional"
)

// This file is weights that are computed from what is learnt in their place. A
// Go field cannot compute its value, so Parametrized is the module with such a
// weight, to be put where the module was.

// weighted is a module whose weight can be another one.
type weighted interface {
	Module
	// withWeight is the module with w as its weight.
	withWeight(w *torch.Tensor) Module
}

func (l *Linear) withWeight(w *torch.Tensor) Module { c := *l; c.Weight = w; return &c }
func (c *Conv1d) withWeight(w *torch.Tensor) Module { d := *c; d.Weight = w; return &d }
func (c *Conv2d) withWeight(w *torch.Tensor) Module { d := *c; d.Weight = w; return &d }
func (c *Conv3d) withWeight(w *torch.Tensor) Module { d := *c; d.Weight = w; return &d }

func (c *ConvTranspose1d) withWeight(w *torch.Tensor) Module { d := *c; d.Weight = w; return &d }
func (c *ConvTranspose2d) withWeight(w *torch.Tensor) Module { d := *c; d.Weight = w; return &d }
func (c *ConvTranspose3d) withWeight(w *torch.Tensor) Module { d := *c; d.Weight = w; return &d }

func (e *Embedding) withWeight(w *torch.Tensor) Module { d := *e; d.Weight = w; return &d }

// weightRule says how a weight comes about.
type weightRule interface {
	// weight is computed from what is learnt.
	weight(learnt []*torch.Tensor) *torch.Tensor
	// module is the part with the rule's own parameters and buffers.
	module() Module
}

// Parametrized is a module whose weight is computed in each call. Its state has
// PyTorch's names: parametrizations.weight.original, or original0, original1
// where several tensors are learnt, and the rules' own under their numbers.
type Parametrized struct {
	plain  weighted // its weight is nil
	learnt []*torch.Tensor
	rules  []weightRule
}

// Weight is the weight as it is now.
func (p *Parametrized) Weight() *torch.Tensor {
	w := p.rules[0].weight(p.learnt)
	for _, r := range p.rules[1:] {
		w = r.weight([]*torch.Tensor{w})
	}
	return w
}

// Forward applies the module with the weight of now.
func (p *Parametrized) Forward(x *torch.Tensor) *torch.Tensor {
	return p.plain.withWeight(p.Weight()).Forward(x)
}

// Parts lists what the module and the rules hold.
func (p *Parametrized) Parts() []torch.Field {
	const prefix = "parametrizations.weight."
	out := append([]torch.Field{}, parts(p.plain)...)
	for i, t := range p.learnt {
		name := prefix + "original"
		if len(p.learnt) > 1 {
			name += strconv.Itoa(i)
		}
		out = append(out, torch.Field{Name: name, Value: t})
	}
	for i, r := range p.rules {
		out = append(out, torch.Field{Name: prefix + strconv.Itoa(i), Value: r.module()})
	}
	return out
}

// parametrize makes a rule the first of a module's weight. learnt are its
// originals, made of the weight.
func parametrize(class string, m Module, learnt []*torch.Tensor, rule weightRule) *Parametrized {
	return &Parametrized{plain: weightOf(class, m).withWeight(nil).(weighted), learnt: learnt, rules: []weightRule{rule}}
}

func weightOf(class string, m Module) weighted {
	w, ok := m.(weighted)
	if !ok {
		panic(&torch.Error{
			Op: class, Kind: "NotImplementedError",
			Msg: fmt.Sprintf("%s: the weight of %T cannot be parametrized", class, m),
		})
	}
	return w
}

// weightIn is the weight of a module that can have another.
func weightIn(class string, m Module) *torch.Tensor {
	for _, f := range parts(weightOf(class, m)) {
		if f.Name == "weight" {
			return f.Value.(*torch.Tensor)
		}
	}
	panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("%s: %T has no weight", class, m)})
}

// ownRule is a rule of a program: a module from weight to weight.
type ownRule struct{ m Module }

func (o ownRule) weight(learnt []*torch.Tensor) *torch.Tensor { return o.m.Forward(learnt[0]) }
func (o ownRule) module() Module                              { return o.m }

// RegisterParametrization makes rule's Forward compute the tensor called name,
// which must be "weight", of m from what is learnt in its place; on a Parametrized
// it comes after the rules that are there. A rule with a method RightInverse
// says what is to be learnt at first.
func RegisterParametrization(m Module, name string, rule Module) *Parametrized {
	const class = "register_parametrization"
	if name != "weight" {
		panic(&torch.Error{
			Op: class, Kind: "NotImplementedError",
			Msg: fmt.Sprintf("%s: only a weight can be parametrized, not '%s'", class, name),
		})
	}
	if p, ok := m.(*Parametrized); ok {
		if inverse, ok := rule.(inverter); ok && len(p.learnt) == 1 {
			torch.NoGrad(func() { p.learnt[0].Copy_(inverse.RightInverse(p.Weight())) })
		}
		p.rules = append(p.rules, ownRule{rule})
		return p
	}
	w := weightIn(class, m)
	if inverse, ok := rule.(inverter); ok {
		torch.NoGrad(func() { w = Parameter(inverse.RightInverse(w.Detach())) })
	}
	return parametrize(class, m, []*torch.Tensor{w}, ownRule{rule})
}

// inverter is a rule that knows what to learn for a weight.
type inverter interface {
	RightInverse(w *torch.Tensor) *torch.Tensor
}

// IsParametrized reports whether a module's weight is computed.
func IsParametrized(m Module) bool {
	_, ok := m.(*Parametrized)
	return ok
}

// RemoveParametrizations returns the plain module: with the weight of now, or
// with what was learnt in its place where leave is false, which must be one tensor.
func RemoveParametrizations(m Module, leave bool) Module {
	const class = "remove_parametrizations"
	p, ok := m.(*Parametrized)
	if !ok {
		panic(&torch.Error{Op: class, Kind: "ValueError", Msg: fmt.Sprintf("Module %T does not have a parametrization on weight", m)})
	}
	if leave {
		var w *torch.Tensor
		torch.NoGrad(func() { w = p.Weight() })
		return p.plain.withWeight(Parameter(w))
	}
	if len(p.learnt) > 1 {
		panic(&torch.Error{
			Op: class, Kind: "ValueError",
			Msg: "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence " +
				"of tensors.",
		})
	}
	return p.plain.withWeight(p.learnt[0])
}

// WeightNorm learns the length and the direction of each slice of m's weight
// apart. Option: kw.Dim(0), the dimension along which slices lie; kw.Dim(nil)
// takes the whole weight as one.
func WeightNorm(m Module, opts ...torch.Option) *Parametrized {
	known("weight_norm", opts, "dim")
	rule := weightNorm{dim: 0}
	for _, o := range opts {
		if o.Value == nil {
			rule.whole = true
		} else {
			rule.dim = option(opts, "dim", 0)
		}
	}
	v := weightIn("weight_norm", m)
	if rule.dim < 0 {
		rule.dim += v.Dim()
	}
	var g *torch.Tensor
	torch.NoGrad(func() { g = Parameter(rule.norm(v)) })
	return parametrize("weight_norm", m, []*torch.Tensor{g, v}, rule)
}

// weightNorm is the weight of a length and a direction.
type weightNorm struct {
	dim   int
	whole bool
}

func (n weightNorm) norm(v *torch.Tensor) *torch.Tensor {
	if n.whole {
		return v.Norm()
	}
	var others []int
	for d := range v.Dim() {
		if d != n.dim {
			others = append(others, d)
		}
	}
	return v.Norm(kw.P(2), kw.Dim(others), kw.Keepdim(true))
}

func (n weightNorm) weight(learnt []*torch.Tensor) *torch.Tensor {
	return learnt[1].Mul(learnt[0].Div(n.norm(learnt[1])))
}

func (weightNorm) module() Module { return &Identity{} }

// SpectralNorm divides m's weight by its largest singular value, which a step
// of power iteration follows in each call in training. Options:
// kw.NPowerIterations(1), kw.Eps(1e-12), kw.Dim, the dimension of the outputs.
func SpectralNorm(m Module, opts ...torch.Option) *Parametrized {
	known("spectral_norm", opts, "n_power_iterations", "eps", "dim")
	dim := 0
	switch m.(type) {
	case *ConvTranspose1d, *ConvTranspose2d, *ConvTranspose3d:
		dim = 1
	}
	s := &spectralNorm{steps: option(opts, "n_power_iterations", 1), eps: option(opts, "eps", 1e-12), dim: option(opts, "dim", dim)}
	if s.steps <= 0 {
		panic(&torch.Error{
			Op: "spectral_norm", Kind: "ValueError",
			Msg: fmt.Sprintf("Expected n_power_iterations to be positive, but got n_power_iterations=%d", s.steps),
		})
	}
	w := weightIn("spectral_norm", m)
	torch.NoGrad(func() {
		rows := s.matrix(w)
		s.U = F.Normalize(Normal_(torch.Empty(rows.Size(0), kw.Dtype(w.DType())), 0, 1), kw.Dim(0), kw.Eps(s.eps))
		s.V = F.Normalize(Normal_(torch.Empty(rows.Size(1), kw.Dtype(w.DType())), 0, 1), kw.Dim(0), kw.Eps(s.eps))
		s.iterate(rows, 15)
	})
	return parametrize("spectral_norm", m, []*torch.Tensor{w}, s)
}

// spectralNorm keeps the singular vectors that belong to the largest value.
type spectralNorm struct {
	Training
	U *torch.Tensor `torch:"_u,buffer"`
	V *torch.Tensor `torch:"_v,buffer"`

	steps, dim int
	eps        float64
}

// matrix is the weight with one row for each output.
func (s *spectralNorm) matrix(w *torch.Tensor) *torch.Tensor {
	return w.Movedim([]int{s.dim}, []int{0}).Flatten(kw.StartDim(1))
}

// iterate moves the vectors towards their values, in place.
func (s *spectralNorm) iterate(rows *torch.Tensor, steps int) {
	for range steps {
		s.U.Copy_(F.Normalize(rows.Mv(s.V), kw.Dim(0), kw.Eps(s.eps)))
		s.V.Copy_(F.Normalize(rows.T().Mv(s.U), kw.Dim(0), kw.Eps(s.eps)))
	}
}

func (s *spectralNorm) weight(learnt []*torch.Tensor) *torch.Tensor {
	rows := s.matrix(learnt[0])
	if s.IsTraining() {
		torch.NoGrad(func() { s.iterate(rows, s.steps) })
	}
	u, v := s.U.Clone(), s.V.Clone() // the next call changes them
	return learnt[0].Div(u.Dot(rows.Mv(v)))
}

func (s *spectralNorm) module() Module { return s }

// Forward is the weight of an original.
func (s *spectralNorm) Forward(w *torch.Tensor) *torch.Tensor {
	return s.weight([]*torch.Tensor{w})
}
