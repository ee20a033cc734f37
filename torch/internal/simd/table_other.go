//go:build !amd64

package simd

func assembly() []kernels { return nil }

func bestLevel() Level { return Plain }

func storeFence() {}

// Pause is for loops that wait for another thread.
func Pause() {}

// Processor is not known here.
func Processor() int { return -1 }
