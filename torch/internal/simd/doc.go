// Package simd is the arithmetic under torch's kernels that Go's compiler does
// not vectorize: register tiles of the matrix product, packing, and loops over
// float32 slices. Each exists three times: in AVX-512, in AVX2 (assembly that
// cmd/gensimd writes) and in plain Go, which is the reference of the tests and
// what other machines run.
//
// It imports nothing of ours.
package simd

//go:generate go run tcdbg/cmd/gensimd -part tile -o .
//go:generate go run tcdbg/cmd/gensimd -part pack -o .
//go:generate go run tcdbg/cmd/gensimd -part vec -o .
//go:generate go run tcdbg/cmd/gensimd -part wino -o .
//go:generate go run tcdbg/cmd/gensimd -part half -o .
//go:generate go run tcdbg/cmd/gensimd -part random -o .
