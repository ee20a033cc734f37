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

// ModuleDict holds modules under names that a program chooses.
type ModuleDict struct {
	modules []NamedModule
}

// NewModuleDict makes a ModuleDict.
func NewModuleDict(modules ...NamedModule) *ModuleDict {
	d := &ModuleDict{}
	for _, m := range modules {
		d.Set(m.Name, m.Module)
	}
	return d
}

// Set adds a module, or replaces the one of that name.
func (d *ModuleDict) Set(name string, m Module) {
	for i := range d.modules {
		if d.modules[i].Name == name {
			d.modules[i].Module = m
			return
		}
	}
	d.modules = append(d.modules, NamedModule{name, m})
}

// At returns the module of a name; nil without one.
func (d *ModuleDict) At(name string) Module {
	for _, m := range d.modules {
		if m.Name == name {
			return m.Module
		}
	}
	return nil
}

// Keys lists the names in the order in which they were added.
func (d *ModuleDict) Keys() []string {
	var out []string
	for _, m := range d.modules {
		out = append(out, m.Name)
	}
	return out
}

// Len is the number of modules.
func (d *ModuleDict) Len() int { return len(d.modules) }

// Parts lists the modules under their names.
func (d *ModuleDict) Parts() []torch.Field {
	var out []torch.Field
	for _, m := range d.modules {
		out = append(out, torch.Field{Name: m.Name, Value: m.Module})
	}
	return out
}

// ParameterList holds parameters of a module.
type ParameterList struct {
	Parameters []*torch.Tensor `torch:",flat"`
}

// NewParameterList makes parameters of tensors.
func NewParameterList(tensors ...*torch.Tensor) *ParameterList {
	l := &ParameterList{}
	for _, t := range tensors {
		l.Append(t)
	}
	return l
}

// Append adds a tensor, which becomes a parameter.
func (l *ParameterList) Append(t *torch.Tensor) *ParameterList {
	l.Parameters = append(l.Parameters, Parameter(t))
	return l
}

// Len is the number of parameters.
func (l *ParameterList) Len() int { return len(l.Parameters) }

// At returns parameter i.
func (l *ParameterList) At(i int) *torch.Tensor { return l.Parameters[i] }

// ParameterDict holds parameters under names that a program chooses.
type ParameterDict struct {
	names  []string
	values map[string]*torch.Tensor
}

// NewParameterDict makes an empty ParameterDict.
func NewParameterDict() *ParameterDict {
	return &ParameterDict{values: map[string]*torch.Tensor{}}
}

// Set adds a tensor, which becomes a parameter, or replaces the one of that
// name.
func (d *ParameterDict) Set(name string, t *torch.Tensor) *ParameterDict {
	if d.values[name] == nil {
		d.names = append(d.names, name)
	}
	d.values[name] = Parameter(t)
	return d
}

// At returns the parameter of a name; nil without one.
func (d *ParameterDict) At(name string) *torch.Tensor { return d.values[name] }

// Keys lists the names in the order in which they were added.
func (d *ParameterDict) Keys() []string { return append([]string{}, d.names...) }

// Len is the number of parameters.
func (d *ParameterDict) Len() int { return len(d.names) }

// Parts lists the parameters under their names.
func (d *ParameterDict) Parts() []torch.Field {
	var out []torch.Field
	for _, name := range d.names {
		out = append(out, torch.Field{Name: name, Value: d.values[name]})
	}
	return out
}

// Parameter makes t a parameter: a leaf that collects gradients.
func Parameter(t *torch.Tensor) *torch.Tensor {
	if !t.IsLeaf() {
		t = t.Detach()
	}
	return t.RequiresGrad_()
}
