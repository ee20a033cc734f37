// Package linalg factors matrices of float64: LU with row exchanges, Cholesky, QR by
// Householder's reflections, eigenvalues and singular values by Jacobi's rotations, and
// the exponential. It knows no Tensor and imports package order alone. Open matrix.go
// first.
package linalg
