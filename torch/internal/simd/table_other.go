//go:build !amd64

package simd

func assembly() []kernels { return nil }

func bestLevel() Level { return Plain }
