package interp

import "tcdbg/ops"

// This file holds the values that operations work on.

// vec is a value over a tile, in the one slice that fits its type: float32,
// float64, or int64 for integers and bool.
type vec struct {
	f32 []float32
	f64 []float64
	i64 []int64
}

func newVec(d ops.DType, n int) vec {
	switch d {
	case ops.Float32:
		return vec{f32: make([]float32, n)}
	case ops.Float64:
		return vec{f64: make([]float64, n)}
	}
	return vec{i64: make([]int64, n)}
}

func (v vec) len() int { return len(v.f32) + len(v.f64) + len(v.i64) }

// stretch repeats a single element n times.
func (v vec) stretch(n int) vec {
	if v.len() == n {
		return v
	}
	return vec{repeat(v.f32, n), repeat(v.f64, n), repeat(v.i64, n)}
}

func repeat[T any](x []T, n int) []T {
	if len(x) == 0 {
		return nil
	}
	out := make([]T, n)
	for i := range out {
		out[i] = x[0]
	}
	return out
}

func setFloat(v vec, k int, x float64) {
	if v.f32 != nil {
		v.f32[k] = float32(x)
		return
	}
	v.f64[k] = x
}

func floatAt(x vec, k int) float64 {
	if x.f32 != nil {
		return float64(x.f32[k])
	}
	return x.f64[k]
}

// wrap keeps an integer within its type.
func wrap(d ops.DType, x int64) int64 {
	switch d {
	case ops.Int32:
		return int64(int32(x))
	case ops.Int16:
		return int64(int16(x))
	case ops.Int8:
		return int64(int8(x))
	case ops.Uint8:
		return int64(uint8(x))
	}
	return x
}
