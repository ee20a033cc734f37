package optim

import (
	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is what an optimizer remembers of one parameter.

// slot is a parameter with its state under PyTorch's names. The number of steps is
// a tensor as PyTorch's is: a number that changed from call to call would be a
// new program to the compiler each time.
type slot struct {
	p     *torch.Tensor
	step  *torch.Tensor // float32 without dimensions; nil before the first step
	state map[string]*torch.Tensor
}

// fillSlots gives every parameter its slot; the slots of those that were moved or
// taken away move and go with them.
func (g *Group) fillSlots() {
	if g.filled() {
		return
	}
	old := map[*torch.Tensor]*slot{}
	for _, s := range g.slots {
		old[s.p] = s
	}
	g.slots = make([]*slot, len(g.Params))
	for i, p := range g.Params {
		if g.slots[i] = old[p]; g.slots[i] == nil {
			g.slots[i] = &slot{p: p, state: map[string]*torch.Tensor{}}
		}
	}
}

// slot is that of parameter i.
func (g *Group) slot(i int) *slot {
	if s := g.slots[i]; s.p == g.Params[i] {
		return s
	}
	g.fillSlots()
	return g.slots[i]
}

func (g *Group) filled() bool {
	if len(g.slots) != len(g.Params) {
		return false
	}
	for i, s := range g.slots {
		if s.p != g.Params[i] {
			return false
		}
	}
	return true
}

// steps is the number of steps that the parameter has taken, this one included.
func (s *slot) steps() float64 { return s.step.Item() }

// moment returns what is remembered under name, zeros like the parameter at first.
func (s *slot) moment(name string) *torch.Tensor {
	return s.remembered(name, func() *torch.Tensor { return torch.ZerosLike(s.p) })
}

// counter returns a number that is remembered, kept as PyTorch keeps it: a
// float32 tensor.
func (s *slot) counter(name string, first float64) *torch.Tensor {
	return s.remembered(name, func() *torch.Tensor { return torch.NewTensor(first, kw.Dtype(torch.Float32)) })
}

func (s *slot) remembered(name string, first func() *torch.Tensor) *torch.Tensor {
	t := s.state[name]
	if t == nil {
		t = first()
		s.state[name] = t
	}
	return t
}
