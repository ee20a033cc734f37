// Package progfuzz makes random Go programs over torch, for differential
// testing of the tracer: each program compiles a function, calls it several
// times with changed arguments and prints everything that it can reach, so that
// a compiled run which differs from a plain one prints something else.
//
// Five kinds: programs are about Go (structs, closures, slices, panics), models
// about tensors of many shapes and types, modules, batch sizes and training, mixed
// programs are models that write views, hook gradients, nest compiled functions and
// change what closures and containers hold; one kind is about autograd functions
// with a Backward of their own, one about objects that lead to each other and are rearranged.
//
// It knows nothing of the compiler and imports nothing of ours. Open program.go
// first (the shape of a program), then stmt.go (the tables of statements),
// model.go and modelexpr.go (the same of models), mixed.go (what mixed programs add),
// applies.go (autograd functions), heap.go (objects) and shrink.go (making a failing program small).
package progfuzz
