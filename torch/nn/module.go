// Package nn is torch.nn: modules, their parameters and their state. A module
// is any type with a Forward method; its parameters are the tensors in its
// exported fields and those of its parts.
//
// It is a source package: the interpreter runs it from source, so that traced
// programs see through it. It imports torch, torch/kw, torch/compiler and
// nn/functional only. Open this file first, then linear.go.
package nn

import (
	"fmt"
	"strings"

	"tcdbg/torch"
)

// Module is a part of a network.
type Module interface {
	Forward(x *torch.Tensor) *torch.Tensor
}

// Named is a tensor with its place in a module: layers.0.weight. Lists of them
// are what torch.Save writes as a state_dict.
type Named = torch.Named

// Training is embedded by modules that behave differently in training.
type Training struct {
	eval bool
}

// IsTraining reports whether the module is in training mode, which is how
// modules start.
func (t *Training) IsTraining() bool { return !t.eval }

// SetTraining chooses the mode of this module alone.
func (t *Training) SetTraining(on bool) { t.eval = !on }

// Walk calls visit for module and every part of it, parents first. The name of
// the module itself is empty.
func Walk(module any, visit func(name string, part any)) {
	walk("", module, visit)
}

func walk(prefix string, part any, visit func(name string, part any)) {
	visit(prefix, part)
	if _, isTensor := part.(*torch.Tensor); isTensor {
		return
	}
	for _, f := range parts(part) {
		if f.Value == nil {
			continue
		}
		if _, isTensor := f.Value.(*torch.Tensor); isTensor {
			continue
		}
		walk(join(prefix, f.Name), f.Value, visit)
	}
}

// join puts a dot between the parts of a name. The list that Sequential and
// ModuleList hold has no name of its own.
func join(prefix, name string) string {
	switch {
	case prefix == "":
		return name
	case name == "":
		return prefix
	}
	return prefix + "." + name
}

// tensors lists the tensors of a module: its own first, then those of its parts.
func tensors(prefix string, module any, out []entry) []entry {
	fields := parts(module)
	for _, f := range fields {
		if t, ok := f.Value.(*torch.Tensor); ok && t != nil {
			out = append(out, entry{Named{Name: join(prefix, f.Name), Tensor: t, Buffer: f.Buffer}, f.Skip})
		}
	}
	for _, f := range fields {
		if _, ok := f.Value.(*torch.Tensor); ok || f.Value == nil {
			continue
		}
		out = tensors(join(prefix, f.Name), f.Value, out)
	}
	return out
}

type entry struct {
	Named
	skip bool
}

// NamedParameters lists the parameters in PyTorch's order, each once.
func NamedParameters(module any) []Named {
	var out []Named
	seen := map[*torch.Tensor]bool{}
	for _, n := range tensors("", module, nil) {
		if !n.Buffer && !seen[n.Tensor] {
			seen[n.Tensor] = true
			out = append(out, n.Named)
		}
	}
	return out
}

// NamedBuffers lists the tensors that are no parameters.
func NamedBuffers(module any) []Named {
	var out []Named
	for _, n := range tensors("", module, nil) {
		if n.Buffer {
			out = append(out, n.Named)
		}
	}
	return out
}

// Parameters lists the parameters of a module.
func Parameters(module any) []*torch.Tensor {
	var out []*torch.Tensor
	for _, n := range NamedParameters(module) {
		out = append(out, n.Tensor)
	}
	return out
}

// StateDict lists parameters and buffers under PyTorch's keys; tied weights
// appear under each of their names.
func StateDict(module any) []Named {
	out := stored(module)
	for i := range out {
		out[i].Tensor = out[i].Tensor.Detach()
	}
	return out
}

// stored lists the tensors of StateDict, which are the module's own.
func stored(module any) []Named {
	var out []Named
	for _, n := range tensors("", module, nil) {
		if !n.skip {
			out = append(out, n.Named)
		}
	}
	return out
}

type trainable interface{ SetTraining(on bool) }

// Train puts a module and its parts in training mode.
func Train(module any) { setTraining(module, true) }

// Eval puts a module and its parts in evaluation mode.
func Eval(module any) { setTraining(module, false) }

func setTraining(module any, on bool) {
	Walk(module, func(_ string, part any) {
		if t, ok := part.(trainable); ok {
			t.SetTraining(on)
		}
	})
}

// Apply calls f for every part of a module, children in order and before their
// parents.
func Apply(module any, f func(part any)) {
	if _, isTensor := module.(*torch.Tensor); isTensor {
		return
	}
	for _, p := range parts(module) {
		if p.Value != nil {
			Apply(p.Value, f)
		}
	}
	f(module)
}

// ZeroGrad clears the gradients of all parameters.
func ZeroGrad(module any) {
	for _, p := range Parameters(module) {
		p.SetGrad(nil)
	}
}

// RequiresGrad sets whether the parameters collect gradients.
func RequiresGrad(module any, on bool) {
	for _, p := range Parameters(module) {
		p.RequiresGrad_(on)
	}
}

// option returns the value of an option, or def.
func option[T any](opts []torch.Option, name string, def T) T {
	for _, o := range opts {
		if o.Name != name {
			continue
		}
		v, ok := o.Value.(T)
		if n, whole := o.Value.(int); whole && !ok { // 1 stands for 1.0
			v, ok = any(float64(n)).(T)
		}
		if !ok {
			panic(&torch.Error{Op: "nn", Kind: "TypeError", Msg: fmt.Sprintf("keyword %s must be %T, not %T", name, def, o.Value)})
		}
		return v
	}
	return def
}

// known panics for options that a module or a function does not have.
func known(who string, opts []torch.Option, names ...string) {
	for _, o := range opts {
		ok := false
		for _, n := range names {
			ok = ok || n == o.Name
		}
		if ok {
			continue
		}
		called := who
		if who[0] <= 'Z' && !strings.Contains(who, ".") { // a class: its constructor refuses
			called += ".__init__"
		}
		panic(&torch.Error{Op: who, Kind: "TypeError", Msg: fmt.Sprintf("%s() got an unexpected keyword argument '%s'", called, o.Name)})
	}
}

// factory keeps the options that say where parameters live.
func factory(opts []torch.Option) []any {
	var out []any
	for _, o := range opts {
		if o.Name == "dtype" || o.Name == "device" {
			out = append(out, o)
		}
	}
	return out
}

// parameter makes an uninitialised parameter.
func parameter(opts []torch.Option, size ...int) *torch.Tensor {
	args := []any{size}
	return torch.Empty(append(args, factory(opts)...)...).RequiresGrad_()
}
