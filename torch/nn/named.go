package nn

import "tcdbg/torch"

// This file is for modules whose parts have names that no Go field can have:
// denselayer1, encoder_layer_0, or any that a program chooses.

// Parter is a module that lists its own parts instead of having them read from
// its exported fields.
type Parter interface {
	Parts() []torch.Field
}

// parts lists the parts of a module.
func parts(module any) []torch.Field {
	if p, ok := module.(Parter); ok {
		return p.Parts()
	}
	return torch.Fields(module)
}

// NamedModule is a module with the name that a container gives it.
type NamedModule struct {
	Name   string
	Module Module
}

// NamedSequential applies modules one after the other, as a Sequential of an
// OrderedDict: its state has the given names.
type NamedSequential struct {
	Modules []NamedModule
}

// NewNamedSequential makes a NamedSequential.
func NewNamedSequential(modules ...NamedModule) *NamedSequential {
	return &NamedSequential{modules}
}

// AddModule adds a module at the end.
func (s *NamedSequential) AddModule(name string, m Module) {
	s.Modules = append(s.Modules, NamedModule{name, m})
}

// Forward applies the modules in order.
func (s *NamedSequential) Forward(x *torch.Tensor) *torch.Tensor {
	for _, m := range s.Modules {
		x = m.Module.Forward(x)
	}
	return x
}

// Parts lists the modules under their names.
func (s *NamedSequential) Parts() []torch.Field {
	out := make([]torch.Field, len(s.Modules))
	for i, m := range s.Modules {
		out[i] = torch.Field{Name: m.Name, Value: m.Module}
	}
	return out
}
