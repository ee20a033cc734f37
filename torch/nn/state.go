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
// a module. Keys that are missing or unexpected are an error, unless kw.Strict(false) is given; of
// tied weights one suffices. kw.Assign is that of LoadStateDict.
func Load(module any, path string, opts ...any) error {
	how := loadingBy(opts)
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
	return how.load(module, state)
}

// tie enters tied weights that a file has once under all of their names.
func tie(module any, state map[string]*torch.Tensor) {
	own, found := stored(module), map[any]*torch.Tensor{}
	for _, n := range own {
		if t := state[n.Name]; t != nil {
			found[memoryOf(n.Tensor)] = t
		}
	}
	for _, n := range own {
		if t := found[memoryOf(n.Tensor)]; state[n.Name] == nil && t != nil {
			state[n.Name] = t
		}
	}
}

// memoryOf is what tied weights have in common: their storage, or, on the meta device, that they are one.
func memoryOf(t *torch.Tensor) any {
	if s := t.Storage(); s != nil {
		return s
	}
	return t
}

// LoadStateDict copies tensors into the module: what StateDict of another module
// returned, the torch.OrderedDict of a file, or a map[string]*torch.Tensor. Keys
// that are missing or unexpected are an error unless strict is given as false, plainly
// or as kw.Strict; shapes that differ always are.
//
// With kw.Assign(true) nothing is copied: parameters and buffers take the memory and the dtype of the
// given tensors, which both share from then on. So a model that was built with kw.Device("meta"),
// which draws no weights, takes those of a file.
func LoadStateDict(module, state any, opts ...any) error {
	how := loadingBy(opts)
	tensors, err := tensorsOf(state)
	if err != nil {
		return err
	}
	return how.load(module, tensors)
}

// loading is how a state goes into a module.
type loading struct{ strict, assign bool }

func loadingBy(opts []any) loading {
	l := loading{strict: true}
	for _, o := range opts {
		l.option(o)
	}
	return l
}

func (l *loading) option(o any) {
	set := &l.strict
	if k, ok := o.(torch.Option); ok {
		known("Module.load_state_dict", []torch.Option{k}, "strict", "assign")
		if k.Name == "assign" {
			set = &l.assign
		}
		o = k.Value
	}
	on, ok := o.(bool)
	if !ok {
		panic(&torch.Error{
			Op: "load_state_dict", Kind: "TypeError", Msg: fmt.Sprintf("load_state_dict() received an invalid argument of type %T", o),
		})
	}
	*set = on
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

func (l loading) load(module any, state map[string]*torch.Tensor) error {
	var missing, wrong []string
	used := map[string]bool{}
	for _, n := range stored(module) {
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
		if l.assign {
			n.Tensor.SetData(src.Detach())
		} else {
			torch.NoGrad(func() { n.Tensor.Copy_(src) })
		}
	}
	var unexpected []string
	for name := range state {
		if !used[name] {
			unexpected = append(unexpected, fmt.Sprintf("%q", name))
		}
	}
	slices.Sort(unexpected)
	if l.strict && len(missing) > 0 {
		wrong = append(wrong, "Missing key(s) in state_dict: "+strings.Join(missing, ", ")+".")
	}
	if l.strict && len(unexpected) > 0 {
		wrong = append(wrong, "Unexpected key(s) in state_dict: "+strings.Join(unexpected, ", ")+".")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("error(s) in loading state_dict: %s", strings.Join(wrong, " "))
	}
	return nil
}
