// Package memory is where elements lie: storages of bytes from a caching allocator,
// scratch memory that kernels borrow, and the rule by which the memory of the dead is
// handed out again. It knows no Tensor, no element types and no shapes, and imports the
// standard library alone. Open allocator.go first.
package memory
