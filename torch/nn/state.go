package nn

import (
	"fmt"
	"strings"

	"tcdbg/torch"
)

// This file is the state of modules in files.

// Save writes the state of a module: a safetensors file where path ends in
// .safetensors, else what torch.save(module.state_dict(), path) writes. A
// compiled module has the state of the one it was made from.
func Save(module any, path string) error {
	if strings.HasSuffix(path, ".safetensors") {
		tensors := map[string]*torch.Tensor{}
		seen := map[*torch.Storage]bool{}
		for _, n := range StateDict(module) {
			if !seen[n.Tensor.Storage()] { // the format has no shared tensors
				tensors[n.Name] = n.Tensor
			}
			seen[n.Tensor.Storage()] = true
		}
		return torch.SaveSafetensors(tensors, path)
	}
	return torch.Save(StateDict(module), path)
}

// Load copies the state of a file that Save, PyTorch or safetensors wrote into
// a module. Keys that are missing or unexpected are an error; of tied weights
// one suffices.
func Load(module any, path string) error {
	var state map[string]*torch.Tensor
	if strings.HasSuffix(path, ".safetensors") {
		var err error
		if state, err = torch.LoadSafetensors(path); err != nil {
			return err
		}
		tie(module, state)
	} else {
		v, err := torch.Load(path)
		if err != nil {
			return err
		}
		dict, ok := v.(torch.OrderedDict)
		if !ok {
			return fmt.Errorf("%s holds no state_dict", path)
		}
		state = dict.Tensors()
	}
	return LoadStateDict(module, state, true)
}

// tie enters tied weights that a file has once under all of their names.
func tie(module any, state map[string]*torch.Tensor) {
	found := map[*torch.Storage]*torch.Tensor{}
	for _, n := range StateDict(module) {
		if t := state[n.Name]; t != nil {
			found[n.Tensor.Storage()] = t
		}
	}
	for _, n := range StateDict(module) {
		if t := found[n.Tensor.Storage()]; state[n.Name] == nil && t != nil {
			state[n.Name] = t
		}
	}
}
