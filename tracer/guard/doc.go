// Package guard is what a cache entry relies on and how it is tested: the kinds of guards,
// the addresses of the values that they test, and what a failed one reports, in PyTorch's
// words.
//
// A guard's closures take the interpreter and the addresses of a call, never the trace that
// made it, so that a cache entry keeps no trace alive. It imports value and host; never
// eval or replay. Open guard.go first, then kind.go (the table); values.go, tensor.go,
// shapes.go and alias.go hold the kinds.
package guard
