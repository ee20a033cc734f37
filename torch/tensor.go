// Package torch is the API that users' programs are written against: tensors,
// operators, autograd and the entry points of the compiler. Under `go run` it
// executes eagerly; under `tcdbg run` the engine interprets the program,
// replaces Compile, Explain and the compiler markers, and traces the operators.
//
// It imports internal/ops, internal/sym and the standard library only. Open
// tensor.go first, then call.go (how an operator runs).
package torch

import (
	"sync/atomic"

	"tcdbg/internal/ops"
)

// DType is the element type of a tensor.
type DType = ops.DType

// Device is where a tensor lives.
type Device = ops.Device

// Value is what flows through graphs and compiled functions at run time:
// *Tensor, int, float64 or bool.
type Value = any

// Storage is the memory behind one or more tensors: untyped bytes, 64-byte
// aligned, from the package's caching allocator.
type Storage struct {
	data    []byte // nil on the meta device
	size    int    // bytes
	version atomic.Uint64
}

// Bytes returns the memory; it is nil for meta tensors.
func (s *Storage) Bytes() []byte { return s.data }

// Version counts the in-place changes of the storage. What is derived from a
// parameter (packed weights, a saved tensor) is valid while it stands still.
func (s *Storage) Version() uint64 { return s.version.Load() }

// Bump records an in-place change made behind torch's back (a compiled kernel).
func (s *Storage) Bump() { s.version.Add(1) }

// Tensor is an n-dimensional array: a strided view of a Storage.
type Tensor struct {
	storage      *Storage
	dtype        DType
	device       Device
	shape        []int
	stride       []int // in elements
	offset       int   // in elements
	requiresGrad bool
	grad         *Tensor
	fn           *gradFn // what computed it; nil for leaves
	outIndex     int     // which result of fn it is

	// fake is set on tensors that the tracer makes: it describes the value,
	// symbolic sizes included; there is no data.
	fake *ops.TensorMeta
}
