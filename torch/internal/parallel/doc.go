// Package parallel splits the work of an operator over threads that linger between
// operators. It knows no Tensor and imports package simd alone, for the processor that
// a thread runs on. Open parallel.go first, then team.go.
package parallel
