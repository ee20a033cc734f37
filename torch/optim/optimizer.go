// Package optim is torch.optim: optimizers with PyTorch's update rules and
// defaults, learning-rate schedulers and state that can be saved.
//
// It is a source package: the interpreter runs it from source. It imports
// torch, torch/compiler, torch/kw and torch/nn only. Open this file first, then
// parameterstate.go and adam.go.
package optim

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/kw"
)

// Group is a set of parameters that share their settings. An optimizer reads
// the settings that it has; the others mean nothing to it.
type Group struct {
	Params []*torch.Tensor

	// LrTensor is the learning rate where it was given as a tensor of one element
	// (kw.Lr(torch.NewTensor(0.1))), which replaces Lr: a compiled step reads it in
	// every call, where the number Lr is a constant of its graph.
	LrTensor                         *torch.Tensor
	Lr, WeightDecay                  float64
	Momentum, Dampening              float64 // SGD, RMSprop
	Beta1, Beta2, Eps                float64 // Adam's family (Eps: all adaptive ones)
	Alpha                            float64 // RMSprop, ASGD
	LrDecay, InitialAccumulatorValue float64 // Adagrad
	MomentumDecay                    float64 // NAdam
	Rho                              float64 // Adadelta
	Lambd, T0                        float64 // ASGD
	EtaMinus, EtaPlus                float64 // Rprop: factors of a step that went too far, or well
	StepMin, StepMax                 float64 // Rprop: the smallest and the greatest step
	Beta2Decay, D                    float64 // Adafactor
	Eps1, Eps2                       float64 // Adafactor; Eps1 0: the dtype's
	NsCoefficients                   [3]float64
	NsSteps                          int    // Muon
	AdjustLrFn                       string // Muon
	Nesterov, Amsgrad, Centered      bool
	DecoupledWeightDecay, Maximize   bool
	InitialLr                        float64 // what the first scheduler found; 0 without one

	slots []*slot // of Params, in their order; see Group.ready
}

// Optimizer is what schedulers and training loops need of an optimizer.
type Optimizer interface {
	// Step changes the parameters by their gradients.
	Step()
	// ZeroGrad forgets the gradients.
	ZeroGrad()
	// ParamGroups are the groups; a change of their settings takes effect.
	ParamGroups() []*Group
	// StateDict is the state in PyTorch's form; see base.StateDict.
	StateDict() map[string]any
	// LoadStateDict takes over what StateDict returned.
	LoadStateDict(state map[string]any) error
}

// base is what all optimizers share.
type base struct {
	name   string
	groups []*Group
	keys   []setting      // settings that the state names
	fixed  map[string]any // settings of PyTorch's that have one value here
	rule   rule
	ready  func(graded []bool) // makes the state of parameters that have none; see makeState
}

// rule is how an optimizer changes one parameter.
type rule struct {
	// moments names what it remembers of a parameter that is zeros at first;
	// nil for nothing.
	moments func(g *Group) []string
	update  func(g *Group, s *slot, grad *torch.Tensor)
	begin   func(g *Group, s *slot) // makes what is no zeros at first; may be nil
}

// setting is one entry of a parameter group in the state.
type setting struct {
	name string
	get  func(g *Group) any
	set  func(g *Group, v any)
}

// newBase reads params: tensors, or groups whose unset settings (zero) are the
// optimizer's.
func newBase(name string, params any, defaults Group, opts []torch.Option, keys []setting, r rule) *base {
	b := &base{name: name, keys: keys, fixed: fixedSettings(name), rule: r}
	b.ready = compiler.AssumeConstantResult(b.makeState)
	defaults = apply(name, defaults, opts, keys)
	switch p := params.(type) {
	case []*torch.Tensor:
		defaults.Params = p
		b.groups = []*Group{&defaults}
	case []Group:
		for _, g := range p {
			b.groups = append(b.groups, merge(g, defaults))
		}
	default:
		panic(&torch.Error{
			Op: name, Kind: "TypeError",
			Msg: fmt.Sprintf("params argument given to the optimizer should be []*torch.Tensor or []optim.Group, not %T", params),
		})
	}
	if len(b.groups) == 0 || len(b.groups[0].Params) == 0 {
		panic(noParameters(name))
	}
	return b
}

func noParameters(name string) *torch.Error {
	return &torch.Error{
		Op: name, Kind: "ValueError",
		Msg: "optimizer got an empty parameter list; a module's parameters are the tensors in its exported fields and in those " +
			"of its parts",
	}
}

// fixedSettings are the settings that PyTorch's state has and that choose among
// its implementations.
func fixedSettings(name string) map[string]any {
	out := map[string]any{"foreach": nil, "differentiable": false}
	switch name {
	case "Muon", "SparseAdam":
		return map[string]any{}
	case "Adafactor":
		return map[string]any{"foreach": nil}
	case "SGD", "Adagrad":
		out["fused"] = nil
	case "Adam", "AdamW":
		out["fused"] = nil
		out["decoupled_weight_decay"] = name == "AdamW"
		out["capturable"] = false
	default:
		out["capturable"] = false
	}
	return out
}

// apply sets the options; one that the optimizer does not have panics.
func apply(name string, g Group, opts []torch.Option, keys []setting) Group {
	for _, o := range opts {
		found := false
		for _, k := range keys {
			if k.name == o.Name {
				k.set(&g, o.Value)
				found = true
			}
		}
		if !found {
			panic(&torch.Error{
				Op: name, Kind: "TypeError",
				Msg: fmt.Sprintf("%s.__init__() got an unexpected keyword argument '%s'", name, o.Name),
			})
		}
	}
	if lr := g.rate(); lr < 0 {
		panic(&torch.Error{Op: name, Kind: "ValueError", Msg: fmt.Sprintf("Invalid learning rate: %v", lr)})
	}
	return g
}

// merge fills the settings that a group leaves at zero.
func merge(g, defaults Group) *Group {
	out := defaults
	out.Params = g.Params
	if g.LrTensor != nil || g.Lr != 0 {
		out.LrTensor = g.LrTensor
	}
	for _, f := range []struct{ to, from *float64 }{
		{&out.Lr, &g.Lr},
		{&out.WeightDecay, &g.WeightDecay},
		{&out.Momentum, &g.Momentum},
		{&out.Dampening, &g.Dampening},
		{&out.Beta1, &g.Beta1},
		{&out.Beta2, &g.Beta2},
		{&out.Eps, &g.Eps},
		{&out.Alpha, &g.Alpha},
		{&out.LrDecay, &g.LrDecay},
		{&out.InitialAccumulatorValue, &g.InitialAccumulatorValue},
		{&out.MomentumDecay, &g.MomentumDecay},
		{&out.Rho, &g.Rho},
		{&out.Lambd, &g.Lambd},
		{&out.T0, &g.T0},
		{&out.EtaMinus, &g.EtaMinus},
		{&out.EtaPlus, &g.EtaPlus},
		{&out.StepMin, &g.StepMin},
		{&out.StepMax, &g.StepMax},
		{&out.Beta2Decay, &g.Beta2Decay},
		{&out.D, &g.D},
		{&out.Eps1, &g.Eps1},
		{&out.Eps2, &g.Eps2},
	} {
		if *f.from != 0 {
			*f.to = *f.from
		}
	}
	if g.NsCoefficients != [3]float64{} {
		out.NsCoefficients = g.NsCoefficients
	}
	if g.NsSteps != 0 {
		out.NsSteps = g.NsSteps
	}
	if g.AdjustLrFn != "" {
		out.AdjustLrFn = g.AdjustLrFn
	}
	out.Nesterov = out.Nesterov || g.Nesterov
	out.Amsgrad = out.Amsgrad || g.Amsgrad
	out.Centered = out.Centered || g.Centered
	out.DecoupledWeightDecay = out.DecoupledWeightDecay || g.DecoupledWeightDecay
	out.Maximize = out.Maximize || g.Maximize
	return &out
}

// ParamGroups are the groups; a change of their settings takes effect.
func (b *base) ParamGroups() []*Group { return b.groups }

// ZeroGrad forgets the gradients.
func (b *base) ZeroGrad() {
	for _, g := range b.groups {
		for _, p := range g.Params {
			p.SetGrad(nil)
		}
	}
}

// Step changes the parameters by their gradients; those without one stay.
func (b *base) Step() {
	b.ready(b.graded())
	torch.NoGrad(func() {
		for _, g := range b.groups {
			for i, p := range g.Params {
				grad := p.Grad()
				if grad == nil {
					continue
				}
				if g.Maximize {
					grad = grad.Neg()
				}
				s := g.slot(i)
				if b.counts() {
					s.step.Add_(1)
				}
				b.rule.update(g, s, grad)
			}
		}
	})
}

// counts reports whether the optimizer remembers how many steps a parameter has
// taken.
func (b *base) counts() bool { return b.name != "SGD" && b.name != "Muon" }

// graded tells which parameters have a gradient, in order. Where a backward pass is
// captured with the step, only the compiler's tracer knows that before the first call.
func (b *base) graded() []bool {
	var out []bool
	for _, g := range b.groups {
		for _, p := range g.Params {
			out = append(out, torch.HasGrad(p))
		}
	}
	return out
}

// makeState gives the parameters that have a gradient what the optimizer
// remembers of them. A compiled step does that while it is traced, as PyTorch
// does, so that it finds the state on its first call as on every later one.
func (b *base) makeState(graded []bool) {
	for _, g := range b.groups {
		g.fillSlots()
		for i, s := range g.slots {
			if graded[i] {
				b.begin(g, s)
			}
		}
		graded = graded[len(g.slots):]
	}
}

func (b *base) begin(g *Group, s *slot) {
	if b.counts() && s.step == nil {
		s.step = torch.NewTensor(0.0, kw.Dtype(torch.Float32))
	}
	if b.rule.moments != nil {
		for _, name := range b.rule.moments(g) {
			s.moment(name)
		}
	}
	if b.rule.begin != nil {
		b.rule.begin(g, s)
	}
}
