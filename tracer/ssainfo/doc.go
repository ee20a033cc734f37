// Package ssainfo is what the SSA of a function says by itself, whatever its values are: which
// registers a frame still needs, where the sides of a branch on a tensor's value lead, and
// whether they compute tensors alone.
//
// It imports tracer/value, tracer/breaks, ops and torch of ours. Open wayout.go first.
package ssainfo
