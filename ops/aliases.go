package ops

import (
	"slices"
	"strings"
)

// This file holds PyTorch's second names of operators. A graph shows the first
// one; the Go spelling has both.

var aliases = map[string]string{
	"absolute": "abs", "negative": "neg", "fix": "trunc", "clip": "clamp", "multiply": "mul", "divide": "div", "subtract": "sub",
	"arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctanh": "atanh", "arctan2": "atan2",
	"greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
}

// firstName is the name of the operator that a second name means:
// "abs_" for "absolute_"; name itself where it is no second one.
func firstName(name string) string {
	plain := strings.TrimSuffix(name, "_")
	if first, ok := aliases[plain]; ok {
		return first + name[len(plain):]
	}
	return name
}

// AliasNames lists the second names in order, the in-place ones after them.
func AliasNames() []string {
	var names, inPlace []string
	for n := range aliases {
		names = append(names, n)
		inPlace = append(inPlace, n+"_")
	}
	slices.Sort(names)
	slices.Sort(inPlace)
	return append(names, inPlace...)
}
