// Package kernels computes operators on arrays: one table from an operator to the
// function that computes it, and a file for each family of them. It knows no Tensor, no
// tape and no views; what is a composition of operators is left to its decomposition.
// Open table.go first, then the file of the family: unary.go, binary.go, reduce.go.
package kernels
