package simd

// This file reads from the CPU what it and the system support.

//go:noescape
func cpuid(leaf, sub uint32) (a, b, c, d uint32)

// xgetbv returns which register files the system saves.
func xgetbv() uint32

// storeFence orders stores that went around the caches before what follows.
func storeFence()

// Pause is for loops that wait for another thread: it leaves the processor's
// units to others for a moment.
func Pause()

// processor is what the system noted in the register that goes with the clock.
func processor() uint32

// Processor is the number of the processor that runs the caller, as Linux counts; -1
// where it is not known.
func Processor() int {
	if !notesProcessor {
		return -1
	}
	return int(processor() & 0xfff) // above it is the number of the memory node
}

// notesProcessor says that the machine has the register.
var notesProcessor = func() bool {
	const extended, feature = 0x80000000, 1 << 27
	top, _, _, _ := cpuid(extended, 0)
	if top < extended+1 {
		return false
	}
	_, _, _, d := cpuid(extended+1, 0)
	return d&feature != 0
}()

func bestLevel() Level {
	const (
		fma, xsave, avx, f16c        = 1 << 12, 1 << 27, 1 << 28, 1 << 29
		avx2, bmi2                   = 1 << 5, 1 << 8
		f, dq, bw, vl                = 1 << 16, 1 << 17, 1 << 30, 1 << 31
		ymmSaved, zmmSaved           = 6, 0xe6
		basic, extended              = fma | xsave | avx | f16c, avx2 | bmi2
		wide                  uint32 = f | dq | bw | vl
	)
	top, _, _, _ := cpuid(0, 0)
	if top < 7 {
		return Plain
	}
	_, _, c, _ := cpuid(1, 0)
	if c&basic != basic || xgetbv()&ymmSaved != ymmSaved {
		return Plain
	}
	_, b, _, _ := cpuid(7, 0)
	switch {
	case b&extended != extended:
		return Plain
	case b&wide != wide || xgetbv()&zmmSaved != zmmSaved:
		return AVX2
	}
	return AVX512
}
