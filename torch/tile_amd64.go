package torch

import "unsafe"

// tile32 multiplies one register tile; the assembly runs where CPUID allows.
func tile32(k int, a, b, c unsafe.Pointer, ldc int, first bool) {
	if hasFMA {
		tileFMA(k, a, b, c, ldc, first)
		return
	}
	tilePlain(k, a, b, c, ldc, first)
}

var hasFMA = cpuHasFMA()

// tileFMA is tile_amd64.s: 6x16 in twelve AVX2 registers.
//
//go:noescape
func tileFMA(k int, a, b, c unsafe.Pointer, ldc int, first bool)

// cpuHasFMA reports whether CPU and system support AVX2 and FMA.
func cpuHasFMA() bool
