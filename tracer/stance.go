package tracer

import (
	"tcdbg/torch"
	"tcdbg/torch/compiler"
)

// This file honours compiler.SetStance.

// staysEager reports whether a call runs eagerly whatever is compiled; first is
// set for the first call of a compiled function.
func (c *Compiled) staysEager(first bool) bool {
	if compiler.Config().Disable {
		return true
	}
	switch compiler.Stance() {
	case compiler.ForceEager:
		return true
	case compiler.EagerThenCompile:
		return first
	}
	return false
}

// mayCompile reports whether a call that no entry fits may be compiled. It
// panics where that is to fail.
func (c *Compiled) mayCompile(fc *frameCache) bool {
	switch compiler.Stance() {
	case compiler.EagerOnRecompile:
		return false
	case compiler.FailOnRecompile:
		panic(&torch.Error{
			Op: "torch.Compile", Kind: "RuntimeError",
			Msg: "Detected recompile of " + fc.name + " when torch.compile stance is 'fail_on_recompile'.",
		})
	}
	return true
}
