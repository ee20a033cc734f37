// Package cpp generates C for kernels: C that a C++ compiler accepts too,
// without any #include, on GCC's vector types. A kernel is one function over a
// range of its parallel iterations; a program's entry runs one segment of
// kernels through the runtime's thread pool.
//
// It imports ir, sched, ops, sym and logs; it never runs a compiler. Open
// kernel.go first, then value.go (a body's operations), spell.go (one operation in C),
// memory.go (where elements lie) and prelude.go (types and
// polynomials).
package cpp
