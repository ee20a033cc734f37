package backends

import "tcdbg/inductor/codegen/cpp"

// This file chooses how products of bfloat16 are computed.

// bfloatWays are the ways that a processor has, as the runtime library tells them. On some processors with the dot
// product (of Intel, where AMX is left out) multiply-adds of numbers made float32 first are up to twice as fast.
type bfloatWays int

const (
	hasDot bfloatWays = 1 << iota
	fastDot
	hasTiles
)

// BFloatUse says which ways may be chosen.
type BFloatUse int

// Fastest is the default; the others are for tests.
const (
	Fastest     BFloatUse = iota
	AnyDot                // the dot product, fast or not
	Widened               // float32
	MadeUpTiles           // tiles in C, slowly, on a processor with the dot product
)

// chosen is the way that is taken.
func (w bfloatWays) chosen(u BFloatUse) cpp.BFloat {
	switch {
	case u != Widened && u != AnyDot && w&hasTiles != 0:
		return cpp.BFloatTiles
	case u == Fastest && w&fastDot != 0, u == AnyDot && w&hasDot != 0:
		return cpp.BFloatDot
	}
	return cpp.BFloatWidened
}
