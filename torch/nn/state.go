package nn

import (
	"fmt"
	"slices"
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
	return loadTensors(module, state, true)
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

// LoadStateDict copies tensors into the module: what StateDict of another module
// returned, the torch.OrderedDict of a file, or a map[string]*torch.Tensor. Keys
// that are missing or unexpected are an error unless strict is given as false;
// shapes that differ always are.
func LoadStateDict(module, state any, strict ...bool) error {
	tensors, err := tensorsOf(state)
	if err != nil {
		return err
	}
	return loadTensors(module, tensors, len(strict) == 0 || strict[0])
}

// tensorsOf are the tensors of a state by name.
func tensorsOf(state any) (map[string]*torch.Tensor, error) {
	switch s := state.(type) {
	case map[string]*torch.Tensor:
		return s, nil
	case torch.OrderedDict:
		return s.Tensors(), nil
	case []Named:
		tensors := map[string]*torch.Tensor{}
		for _, n := range s {
			tensors[n.Name] = n.Tensor
		}
		return tensors, nil
	}
	return nil, fmt.Errorf("expected state_dict to be dict-like, got %T", state)
}

func loadTensors(module any, state map[string]*torch.Tensor, strict bool) error {
	var missing, wrong []string
	used := map[string]bool{}
	for _, n := range StateDict(module) {
		src, ok := state[n.Name]
		if !ok {
			missing = append(missing, fmt.Sprintf("%q", n.Name))
			continue
		}
		used[n.Name] = true
		if !slices.Equal(src.Shape(), n.Tensor.Shape()) {
			wrong = append(
				wrong,
				fmt.Sprintf(
					"size mismatch for %s: copying a param with shape %v from checkpoint, the shape in current model is %v.",
					n.Name, src.Shape(), n.Tensor.Shape(),
				),
			)
			continue
		}
		torch.NoGrad(func() { n.Tensor.Copy_(src) })
	}
	var unexpected []string
	for name := range state {
		if !used[name] {
			unexpected = append(unexpected, fmt.Sprintf("%q", name))
		}
	}
	slices.Sort(unexpected)
	if strict && len(missing) > 0 {
		wrong = append(wrong, "Missing key(s) in state_dict: "+strings.Join(missing, ", ")+".")
	}
	if strict && len(unexpected) > 0 {
		wrong = append(wrong, "Unexpected key(s) in state_dict: "+strings.Join(unexpected, ", ")+".")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("error(s) in loading state_dict: %s", strings.Join(wrong, " "))
	}
	return nil
}
