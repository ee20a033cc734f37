// Package replay is what runs on every hit of a cache entry: it gives the graph its inputs,
// makes the values that outlive the entry again (Reconstruction), writes back what the
// program stored, and puts the frames where the trace broke.
//
// It cannot trace: it imports guard and value, never eval. Open entry.go first, then
// reconstruction.go; turns.go is the memory of mode "reduce-overhead".
package replay
