package compiler

import (
	"tcdbg/torch"
	"tcdbg/torch/compiler/modes"
)

// This file lists what torch.Compile takes, from the tables that it is checked against.

// ListBackends lists the backends that kw.Backend takes. Those with one of the tags are left
// out: "debug" are eager and aot_eager, which PyTorch's list leaves out where it is not asked.
func ListBackends(excludeTags ...string) []string { return modes.Backends(excludeTags...) }

// RegisterBackend is torch._dynamo.register_backend: kw.Backend(name) then means f, and ListBackends lists it, unless one of
// its tags is left out. It panics where the name is taken.
func RegisterBackend(name string, f torch.BackendFunc, tags ...string) {
	if f == nil {
		panic("compiler.RegisterBackend: the backend is nil")
	}
	if err := modes.Register(name, f, tags); err != nil {
		panic("compiler.RegisterBackend: " + err.Error())
	}
}

// ListModeOptions returns the options that a mode sets. It panics for a mode that
// kw.Mode does not take.
func ListModeOptions(mode string) map[string]any {
	opts, err := modes.ModeOptions(mode)
	if err != nil {
		panic("compiler.ListModeOptions: " + err.Error())
	}
	return opts
}

// ListOptions lists the options of Inductor's that kw.Options takes.
func ListOptions() []string { return modes.ListOptions() }
