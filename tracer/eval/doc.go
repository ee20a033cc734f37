// Package eval is the symbolic evaluator, our TorchDynamo proper: it runs the SSA of a
// compiled function on a scratch thread of the host, captures calls of operators as nodes
// of a graph, tracks where every other value came from, guards what decides anything, and
// breaks where it cannot go on. What it leaves behind is a cache entry of package replay.
//
// A Trace is made of frames, capture, heap, history and functions, each with methods of its
// own; see trace.go. step.go dispatches on instructions, intrinsic.go on functions by name.
//
// It imports value, guard, replay, breaks, host, graph and torch; never a backend, nor the
// package tracer, which owns caches and records. Open trace.go first, then step.go.
package eval
