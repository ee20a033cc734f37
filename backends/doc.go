// Package backends compiles and runs captured graphs. Its table has "eager"
// (the graph interpreter), "aot_eager" (the same after decomposition) and
// "inductor" (C through the machine's compiler, or the interpreter where
// there is none). It alone runs compilers, loads shared objects and calls C.
//
// It may import everything of the engine below internal/app. Open table.go
// first, then inductor.go (from a graph to a program), loading.go (its code) and run.go (one
// call).
package backends
