package optim

import (
	"fmt"

	"tcdbg/torch"
)

// This file is the state of optimizers and schedulers in files.

// Stateful is an optimizer or a scheduler.
type Stateful interface {
	StateDict() map[string]any
	LoadStateDict(state map[string]any) error
}

// Save writes what torch.save(o.state_dict(), path) writes.
func Save(o Stateful, path string) error { return torch.Save(o.StateDict(), path) }

// Load takes over the state of a file that Save or PyTorch wrote.
func Load(o Stateful, path string) error {
	v, err := torch.Load(path)
	if err != nil {
		return err
	}
	dict, ok := v.(torch.OrderedDict)
	if !ok {
		return fmt.Errorf("%s holds no state_dict", path)
	}
	return o.LoadStateDict(StateOf(dict))
}

// StateOf turns a state_dict as torch.Load returns it into one that
// LoadStateDict takes. A checkpoint often holds it under a key of its own.
func StateOf(dict torch.OrderedDict) map[string]any {
	out := map[string]any{}
	for _, it := range dict {
		name, ok := it.Key.(string)
		if !ok {
			continue
		}
		switch name {
		case "state":
			out[name] = parameterStates(it.Value)
		case "param_groups":
			out[name] = groupStates(it.Value)
		default:
			out[name] = numbersOr(it.Value)
		}
	}
	return out
}

// parameterStates is the states of parameters by number.
func parameterStates(v any) map[int]map[string]any {
	out := map[int]map[string]any{}
	dict, _ := v.(torch.OrderedDict)
	for _, it := range dict {
		if i, ok := it.Key.(int); ok {
			out[i] = named(it.Value)
		}
	}
	return out
}

func groupStates(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, len(list))
	for i, g := range list {
		out[i] = named(g)
		ids, _ := out[i]["params"].([]any)
		params := make([]int, len(ids))
		for k, id := range ids {
			params[k], _ = id.(int)
		}
		out[i]["params"] = params
	}
	return out
}

// named is the entries of a dict with names.
func named(v any) map[string]any {
	out := map[string]any{}
	dict, _ := v.(torch.OrderedDict)
	for _, it := range dict {
		if name, ok := it.Key.(string); ok {
			out[name] = it.Value
		}
	}
	return out
}

// numbersOr is a list of numbers as []float64; other values stay as they are.
func numbersOr(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]float64, len(list))
	for i, x := range list {
		switch x := x.(type) {
		case float64:
			out[i] = x
		case int:
			out[i] = float64(x)
		default:
			return v
		}
	}
	return out
}
