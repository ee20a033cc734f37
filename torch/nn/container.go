package nn

import "tcdbg/torch"

// Sequential applies modules one after the other.
type Sequential struct {
	Modules []Module `torch:",flat"`
}

// NewSequential makes a Sequential.
func NewSequential(modules ...Module) *Sequential { return &Sequential{modules} }

// Forward applies the modules in order.
func (s *Sequential) Forward(x *torch.Tensor) *torch.Tensor {
	for _, m := range s.Modules {
		x = m.Forward(x)
	}
	return x
}

// Append adds a module at the end.
func (s *Sequential) Append(m Module) *Sequential {
	s.Modules = append(s.Modules, m)
	return s
}

// Len is the number of modules.
func (s *Sequential) Len() int { return len(s.Modules) }

// ModuleList holds modules whose parameters count as its own.
type ModuleList struct {
	Modules []Module `torch:",flat"`
}

// NewModuleList makes a ModuleList.
func NewModuleList(modules ...Module) *ModuleList { return &ModuleList{modules} }

// Append adds a module at the end.
func (l *ModuleList) Append(m Module) *ModuleList {
	l.Modules = append(l.Modules, m)
	return l
}

// Len is the number of modules.
func (l *ModuleList) Len() int { return len(l.Modules) }

// At returns module i.
func (l *ModuleList) At(i int) Module { return l.Modules[i] }
