// Package gemm multiplies matrices in slices: float32 by packed panels on the tiles of
// package simd, other types by rows. It knows no Tensor. Open matrix.go first, then
// packed.go.
package gemm
