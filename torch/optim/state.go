package optim

import (
	"fmt"

	"tcdbg/torch"
	"tcdbg/torch/kw"
)

// This file is state_dict of optimizers: what training needs to go on.

// StateDict is the state in PyTorch's form: "state" maps the number of a
// parameter to its moments (and "step"), "param_groups" lists the settings and
// the numbers of each group's parameters. The tensors are the optimizer's own.
func (b *base) StateDict() map[string]any {
	state := map[int]map[string]any{}
	var groups []map[string]any
	next := 0
	for _, g := range b.groups {
		entry := map[string]any{}
		for _, k := range b.keys {
			entry[k.name] = k.get(g)
		}
		for name, v := range b.fixed {
			entry[name] = v
		}
		if g.InitialLr != 0 {
			entry["initial_lr"] = g.InitialLr
		}
		ids := make([]int, len(g.Params))
		g.fillSlots()
		for i, s := range g.slots {
			ids[i] = next + i
			if m := s.dict(); m != nil {
				state[next+i] = m
			}
		}
		next += len(g.Params)
		entry["params"] = ids
		groups = append(groups, entry)
	}
	return map[string]any{"state": state, "param_groups": groups}
}

// dict is nil where nothing is remembered: of SGD without momentum.
func (s *slot) dict() map[string]any {
	if len(s.state) == 0 {
		return nil
	}
	m := map[string]any{}
	for name, t := range s.state {
		m[name] = t
	}
	if s.step != nil {
		m["step"] = s.step
	}
	return m
}

// LoadStateDict takes over the settings and moments of a state whose groups
// have as many parameters as the optimizer's. The tensors are copied.
func (b *base) LoadStateDict(state map[string]any) error {
	groups, ok := state["param_groups"].([]map[string]any)
	if !ok || len(groups) != len(b.groups) {
		return fmt.Errorf("%s: loaded state dict has a different number of parameter groups", b.name)
	}
	for i, entry := range groups {
		ids, ok := entry["params"].([]int)
		if !ok || len(ids) != len(b.groups[i].Params) {
			return fmt.Errorf("%s: loaded state dict contains a parameter group that doesn't match the size of optimizer's group", b.name)
		}
	}
	all, ok := state["state"].(map[int]map[string]any)
	if !ok {
		return fmt.Errorf("%s: loaded state dict has no state", b.name)
	}
	for i, entry := range groups {
		b.loadGroup(b.groups[i], entry, all)
	}
	return nil
}

func (b *base) loadGroup(g *Group, entry map[string]any, all map[int]map[string]any) {
	for _, k := range b.keys {
		if v, ok := entry[k.name]; ok {
			if t, isTensor := v.(*torch.Tensor); isTensor {
				v = t.Clone()
			}
			k.set(g, v)
		}
	}
	if v, ok := entry["initial_lr"].(float64); ok {
		g.InitialLr = v
	}
	g.fillSlots()
	for i, id := range entry["params"].([]int) {
		s := g.slots[i]
		s.state, s.step = map[string]*torch.Tensor{}, nil
		for name, v := range all[id] {
			t, ok := v.(*torch.Tensor)
			switch {
			case !ok:
			case name == "step":
				s.step = torch.NewTensor(t.Item(), kw.Dtype(torch.Float32))
			case t.Dim() == 0 && s.p.Dim() > 0:
				s.counter(name, t.Item())
			default:
				s.remembered(name, func() *torch.Tensor { return torch.Empty(t.Shape(), kw.Dtype(s.p.DType())) }).Copy_(t)
			}
		}
	}
}

// Settings of the groups by PyTorch's names.

func number(name string, field func(g *Group) *float64) setting {
	return setting{name, func(g *Group) any { return *field(g) }, func(g *Group, v any) {
		switch v := v.(type) {
		case float64:
			*field(g) = v
		case int:
			*field(g) = float64(v)
		default:
			panic(&torch.Error{Op: "optim", Kind: "TypeError", Msg: fmt.Sprintf("keyword %s must be a number, not %T", name, v)})
		}
	}}
}

// pair is two numbers, as a tuple.
func pair(name string, first, second func(g *Group) *float64) setting {
	return setting{name, func(g *Group) any { return [2]float64{*first(g), *second(g)} }, func(g *Group, v any) {
		two, ok := v.([2]float64)
		if list, isList := v.([]any); isList && len(list) == 2 { // as a file has it
			two, ok = [2]float64{numberOf(list[0]), numberOf(list[1])}, true
		}
		if !ok {
			panic(&torch.Error{Op: "optim", Kind: "TypeError", Msg: fmt.Sprintf("keyword %s must be two numbers, not %v", name, v)})
		}
		*first(g), *second(g) = two[0], two[1]
	}}
}

func betas() setting {
	return pair("betas", func(g *Group) *float64 { return &g.Beta1 }, func(g *Group) *float64 { return &g.Beta2 })
}

func flag(name string, field func(g *Group) *bool) setting {
	return setting{name, func(g *Group) any { return *field(g) }, func(g *Group, v any) {
		on, ok := v.(bool)
		if !ok {
			panic(&torch.Error{Op: "optim", Kind: "TypeError", Msg: fmt.Sprintf("keyword %s must be a bool, not %T", name, v)})
		}
		*field(g) = on
	}}
}

// common are the settings that every optimizer has, followed by more.
func common(more ...setting) []setting {
	return append([]setting{
		rate(), maximize(),
		number("weight_decay", func(g *Group) *float64 { return &g.WeightDecay }),
	}, more...)
}

func maximize() setting { return flag("maximize", func(g *Group) *bool { return &g.Maximize }) }

func epsilon() setting  { return number("eps", func(g *Group) *float64 { return &g.Eps }) }
func momentum() setting { return number("momentum", func(g *Group) *float64 { return &g.Momentum }) }
