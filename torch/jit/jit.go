// Package jit is what torch.jit's trace and script are to torch.Compile: foils. Trace records one
// call and runs its operators ever after, also where the code would go another way; Script keeps
// the code's ways and refuses what TorchScript's language has not.
//
// It imports torch alone. There is one file.
package jit

import (
	"fmt"
	"os"

	"tcdbg/torch"
)

// ScriptModule is a function that was traced.
type ScriptModule struct{ rec *torch.Recording }

// Trace calls f once with example inputs and records its operators. f is as in fx.SymbolicTrace. Where f
// reads a number or a truth of what it computes, a warning is printed, and the record keeps the way
// that these inputs took: for other inputs its results may be wrong, and nothing says so.
func Trace(f any, example ...*torch.Tensor) *ScriptModule {
	warned := false
	return &ScriptModule{torch.Record(torch.TensorFunc("jit.Trace", f), example, torch.InputNames(len(example)), func(*torch.Tensor) {
		if !warned {
			fmt.Fprintln(os.Stderr, "TracerWarning: the code reads a tensor's number. The trace keeps what it was for these inputs, as a "+
				"constant, and may not fit others.")
		}
		warned = true
	})}
}

// Forward runs the recorded operators.
func (m *ScriptModule) Forward(inputs ...*torch.Tensor) *torch.Tensor { return m.rec.Run(inputs)[0] }

// Graph is the graph as PyTorch prints that of a trace.
func (m *ScriptModule) Graph() string { return m.rec.TorchScript() }

// NotSupportedError is what Script panics with: the language has not what the code uses.
type NotSupportedError struct{ Msg string }

// Error implements error.
func (e *NotSupportedError) Error() string { return e.Msg }

// Script checks the code of f, with the functions of the program that it calls, against what TorchScript can
// hold: operators, numbers, texts, lists and maps of these, branches and loops. It panics with a *NotSupportedError that
// names the first line with something else, as calls of other libraries, goroutines, channels and deferred calls are.
// What it returns is f itself: all its ways are kept. Only tcdbg run can look at code; under `go run` Script
// panics.
func Script[F any](f F) F {
	if why := torch.Scripted(f); why != "" {
		panic(&NotSupportedError{why})
	}
	return f
}
