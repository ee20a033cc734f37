// Package ntuple reads sizes that may be one number for all dimensions.
//
// It is a source package: the interpreter runs it from source. It imports torch
// only.
package ntuple

import (
	"fmt"

	"tcdbg/torch"
)

// Of reads an int, which stands for n equal ones, or n ints; class is who asks.
func Of(class string, v any, n int) []int {
	switch v := v.(type) {
	case int:
		out := make([]int, n)
		for i := range out {
			out[i] = v
		}
		return out
	case []int:
		if len(v) == n {
			return v
		}
	}
	panic(&torch.Error{Op: class, Kind: "TypeError", Msg: fmt.Sprintf("%s: expected an int or %d ints, got %v", class, n, v)})
}
