// Package value is what a trace can say of a value of the program without looking at it
// again: where it was on entry (Source), how it is computed from such values (Expr), and
// both together with sizes and parts (Tracked). It is data: nothing here guards, captures
// or runs.
//
// It imports host for the layout of Go's types, and logs and sym; no other package of the
// tracer. Open tracked.go first, then source.go and expr.go; names.go and debug.go say what
// the program's author calls a value.
package value
