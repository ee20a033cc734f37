// Package artifacts is where the engine says how the code that it has compiled becomes bytes
// and is taken up again, so that torch/compiler can offer it to programs without knowing of
// backends.
//
// It imports nothing of ours.
package artifacts

import "sync/atomic"

// Artifact is one piece of compiled code.
type Artifact struct {
	Key  string
	Kind string // "graph": the kernels of a graph; "runtime": what all kernels call
	Size int64  // bytes
}

// Store keeps compiled code.
type Store interface {
	// Save is what this process has compiled or loaded so far, as bytes; none where there is nothing.
	Save() ([]byte, []Artifact, error)
	// Load takes up what Save has written, here or on another machine of the same kind, and returns all of it.
	Load([]byte) ([]Artifact, error)
}

var current atomic.Pointer[Store]

// Use has a program's calls go to s, until restore is called.
func Use(s Store) (restore func()) {
	old := current.Swap(&s)
	return func() { current.Store(old) }
}

// Current is the store of this process; nil under `go run`, where nothing is compiled.
func Current() Store {
	if s := current.Load(); s != nil {
		return *s
	}
	return nil
}
