// Package sub is imported by its module path.
package sub

// Calls counts.
var Calls = initial()

func initial() int { return 1 }

// Double doubles.
func Double(n int) int { Calls++; return 2 * n }
