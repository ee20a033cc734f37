package tracer

import (
	"errors"
	"fmt"
	"reflect"

	"tcdbg/torch"
	"tcdbg/torch/compiler"
	"tcdbg/torch/compiler/modes"
)

// This file reads the keyword arguments of torch.Compile.

// checkBackend refuses unknown backends and modes that a backend does not honour. It
// returns the mode to compile with: one that the backend only passes over is default.
func (t *Tracer) checkBackend(o options) (mode string, err error) {
	if o.backend == nil {
		if _, err := t.cfg.Backend(o.named); err != nil {
			return "", err
		}
	}
	if name := o.backendName(); o.budget < 1 && (name == "eager" || name == "custom") {
		t.cfg.note(fmt.Sprintf("backend %s ignores activation_memory_budget", name))
	}
	if o.budget < 1 && o.backward {
		t.cfg.note("with capture_backward one graph computes loss and gradients and saves nothing between two: " +
			"activation_memory_budget is for backward passes that are not captured")
	}
	if o.optioned {
		switch name := o.backendName(); {
		case name == "custom":
			return "", errors.New(modes.NotCustom)
		case name != "inductor":
			t.cfg.note(fmt.Sprintf("backend %s ignores options", name))
		}
	}
	over, err := modes.Check(o.backendName(), o.mode)
	if over {
		t.cfg.note(fmt.Sprintf("backend %s ignores mode %q", o.backendName(), o.mode))
		return modes.Default, nil
	}
	return o.mode, err
}

// options are the keyword arguments of torch.Compile.
type options struct {
	backend   torch.BackendFunc // a user's own
	named     string
	mode      string
	inductor  modes.Options
	optioned  bool // kw.Options was given
	fullgraph bool
	dynamic   dynamicMode
	disable   bool
	name      string
	limit     int
	// backward has calls of Tensor.Backward captured.
	backward bool
	budget   float64 // of what is saved for the backward pass, 0 to 1
}

type dynamicMode uint8

const (
	dynamicAuto dynamicMode = iota
	dynamicAlways
	dynamicNever
)

// configured is how sizes are compiled where kw.Dynamic does not say.
func configured(s compiler.Settings) dynamicMode {
	switch {
	case !s.AssumeStaticByDefault:
		return dynamicAlways
	case !s.AutomaticDynamicShapes:
		return dynamicNever
	}
	return dynamicAuto
}

func (t *Tracer) parseOptions(list []torch.Option) (options, error) {
	s := compiler.Config()
	o := options{named: "inductor", limit: s.RecompileLimit, budget: 1, dynamic: configured(s), backward: s.TraceAutogradOps}
	if t.cfg.DefaultBackend != "" {
		o.named = t.cfg.DefaultBackend
	}
	for _, opt := range list {
		if err := o.set(opt); err != nil {
			return o, err
		}
	}
	switch {
	case o.optioned && o.mode != "":
		return o, errors.New(modes.Both)
	case o.inductor.CUDAGraphs:
		o.mode = modes.ReduceOverhead
	case o.mode == "":
		o.mode = modes.Default
	}
	return o, nil
}

func (o *options) set(opt torch.Option) error {
	var ok bool
	switch opt.Name {
	case "backend":
		return o.setBackend(opt.Value)
	case "mode":
		o.mode, ok = opt.Value.(string)
	case "options":
		var err error
		o.inductor, err = modes.ParseOptions(opt.Value)
		o.optioned = true
		return err
	case "fullgraph":
		o.fullgraph, ok = opt.Value.(bool)
	case "dynamic":
		var v bool
		if v, ok = opt.Value.(bool); ok {
			o.dynamic = map[bool]dynamicMode{true: dynamicAlways, false: dynamicNever}[v]
		}
	case "disable":
		o.disable, ok = opt.Value.(bool)
	case "capture_backward":
		o.backward, ok = opt.Value.(bool)
	case "name":
		o.name, ok = opt.Value.(string)
	case "recompile_limit":
		o.limit, ok = opt.Value.(int)
	case "activation_memory_budget":
		if o.budget, ok = opt.Value.(float64); ok && !(o.budget >= 0 && o.budget <= 1) {
			return fmt.Errorf("option activation_memory_budget: want 0 to 1, got %v", o.budget)
		}
	default:
		return fmt.Errorf("unknown option %q", opt.Name)
	}
	if !ok {
		return fmt.Errorf("option %s: unexpected value %v", opt.Name, opt.Value)
	}
	return nil
}

// setBackend takes a name or a function.
func (o *options) setBackend(v any) error {
	if name, ok := v.(string); ok {
		f, ours := modes.Registered(name).(torch.BackendFunc)
		if o.named = name; ours {
			o.backend = f
		}
		return nil
	}
	f, want := reflect.ValueOf(v), reflect.TypeFor[torch.BackendFunc]()
	if !f.IsValid() || !f.CanConvert(want) || f.IsNil() {
		return fmt.Errorf("option backend: want a name or a torch.BackendFunc, got %T", v)
	}
	o.backend = f.Convert(want).Interface().(torch.BackendFunc)
	return nil
}

func (o options) backendName() string {
	if o.backend != nil {
		return "custom"
	}
	return o.named
}
