// Package fx is torch.fx's symbolic trace, as a foil to torch.Compile: it records the operators of
// one call, and refuses code whose way depends on a tensor's numbers where torch.Compile breaks the
// graph and goes on.
//
// It imports torch alone. There is one file.
package fx

import "tcdbg/torch"

// GraphModule is a function that was traced.
type GraphModule struct{ rec *torch.Recording }

// TraceError is what SymbolicTrace panics with where code asks a traced tensor for its number.
type TraceError struct{ Msg string }

// Error implements error.
func (e *TraceError) Error() string { return e.Msg }

// SymbolicTrace calls f once with example inputs, which PyTorch's does without, and records its
// operators. f is a func of one to three tensors, or of ...*torch.Tensor, that returns one, or has a method
// Forward of one tensor. It panics with a *TraceError where f reads a number or a truth of what it
// computes: the record has one way through the code and cannot say when another is taken.
func SymbolicTrace(f any, example ...*torch.Tensor) *GraphModule {
	return &GraphModule{torch.Record(torch.TensorFunc("fx.SymbolicTrace", f), example, torch.InputNames(len(example)), func(*torch.Tensor) {
		panic(&TraceError{"symbolically traced variables cannot be used as inputs to control flow"})
	})}
}

// Forward runs the recorded operators.
func (m *GraphModule) Forward(inputs ...*torch.Tensor) *torch.Tensor { return m.rec.Run(inputs)[0] }

// Graph is the graph as PyTorch prints it.
func (m *GraphModule) Graph() string { return m.rec.Graph() }
