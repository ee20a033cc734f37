package ops

import (
	"slices"

	"tcdbg/ops/sym"
)

var (
	symZero = sym.C(0)
	symOne  = sym.C(1)
	// symEnd is the end of an open slice.
	symEnd = sym.Const(1<<63 - 1)
)

func cloneInts(s []sym.Int) []sym.Int { return slices.Clone(s) }
func symHalf(x sym.Int) sym.Int       { return sym.FloorDiv(x, sym.C(2)) }
func symOdd(x sym.Int) bool           { return sym.Ne(sym.Mod(x, sym.C(2)), symZero) }

// without removes position i.
func without[T any](s []T, i int) []T { return slices.Delete(slices.Clone(s), i, i+1) }

// replaced is s with position i set to x.
func replaced(s []sym.Int, i int, x sym.Int) []sym.Int {
	out := slices.Clone(s)
	out[i] = x
	return out
}

// inserted is s with x put in front of position i.
func inserted(s []sym.Int, i int, x sym.Int) []sym.Int { return slices.Insert(slices.Clone(s), i, x) }

// trueDims lists the marked positions.
func trueDims(mask []bool) []int {
	var out []int
	for i, m := range mask {
		if m {
			out = append(out, i)
		}
	}
	return out
}

// seq is from, from+1, ..., to-1.
func seq(from, to int) []int {
	out := make([]int, 0, max(to-from, 0))
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}
