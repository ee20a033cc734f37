package ops

import "tcdbg/ops/sym"

// NumberOf reads a scalar argument as float64.
func NumberOf(a Arg) float64 {
	switch x := a.(type) {
	case float64:
		return x
	case sym.Int:
		return float64(sym.Force(x))
	case bool:
		if x {
			return 1
		}
	}
	return 0
}

// one is the result list of an operator with one tensor result.
func one(m *TensorMeta) []Result { return []Result{m} }
