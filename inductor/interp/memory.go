package interp

import (
	"unsafe"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file moves tiles between memory and vectors, whose elements are wider than
// those of narrow types in memory.

// readTile loads n elements of type d that lie step apart.
func readTile(d ops.DType, base unsafe.Pointer, first, step, n int) vec {
	out := newVec(ir.Register(d), n)
	switch d {
	case ops.Float32:
		gather(out.f32, base, first, step)
	case ops.Float64:
		gather(out.f64, base, first, step)
	case ops.Float16:
		gatherHalf(out.f32, base, first, step, ops.HalfToFloat)
	case ops.BFloat16:
		gatherHalf(out.f32, base, first, step, ops.BFloatToFloat)
	case ops.Int8:
		gatherInt[int8](out.i64, base, first, step)
	case ops.Int16:
		gatherInt[int16](out.i64, base, first, step)
	case ops.Int32:
		gatherInt[int32](out.i64, base, first, step)
	case ops.Int64:
		gatherInt[int64](out.i64, base, first, step)
	default:
		gatherInt[uint8](out.i64, base, first, step)
	}
	return out
}

// writeTile stores x as elements of type d that lie step apart.
func writeTile(d ops.DType, x vec, base unsafe.Pointer, first, step int) {
	switch d {
	case ops.Float32:
		scatter(x.f32, base, first, step)
	case ops.Float64:
		scatter(x.f64, base, first, step)
	case ops.Float16:
		scatterHalf(x.f32, base, first, step, ops.FloatToHalf)
	case ops.BFloat16:
		scatterHalf(x.f32, base, first, step, ops.FloatToBFloat)
	case ops.Int8:
		scatterInt[int8](x.i64, base, first, step)
	case ops.Int16:
		scatterInt[int16](x.i64, base, first, step)
	case ops.Int32:
		scatterInt[int32](x.i64, base, first, step)
	case ops.Int64:
		scatterInt[int64](x.i64, base, first, step)
	default:
		scatterInt[uint8](x.i64, base, first, step)
	}
}

// set makes element k that of a vector of one.
func (v vec) set(k int, one vec) {
	switch {
	case v.f32 != nil:
		v.f32[k] = one.f32[0]
	case v.f64 != nil:
		v.f64[k] = one.f64[0]
	default:
		v.i64[k] = one.i64[0]
	}
}

// narrowed is v as a way through memory of type d would leave it.
func (v vec) narrowed(d ops.DType) vec {
	if !ir.Narrow(d) {
		return v
	}
	out := newVec(ir.Register(d), v.len())
	for k := range v.f32 {
		if d == ops.Float16 {
			out.f32[k] = ops.HalfToFloat(ops.FloatToHalf(v.f32[k]))
		} else {
			out.f32[k] = ops.BFloatToFloat(ops.FloatToBFloat(v.f32[k]))
		}
	}
	for k, x := range v.i64 {
		out.i64[k] = wrap(d, x)
	}
	return out
}

func gather[T any](out []T, base unsafe.Pointer, first, step int) {
	var t T
	w := int(unsafe.Sizeof(t))
	for k := range out {
		out[k] = *(*T)(unsafe.Add(base, (first+k*step)*w))
	}
}

func gatherInt[T int8 | int16 | int32 | int64 | uint8](out []int64, base unsafe.Pointer, first, step int) {
	var t T
	w := int(unsafe.Sizeof(t))
	for k := range out {
		out[k] = int64(*(*T)(unsafe.Add(base, (first+k*step)*w)))
	}
}

func scatter[T any](x []T, base unsafe.Pointer, first, step int) {
	var t T
	w := int(unsafe.Sizeof(t))
	for k := range x {
		*(*T)(unsafe.Add(base, (first+k*step)*w)) = x[k]
	}
}

func scatterInt[T int8 | int16 | int32 | int64 | uint8](x []int64, base unsafe.Pointer, first, step int) {
	var t T
	w := int(unsafe.Sizeof(t))
	for k := range x {
		*(*T)(unsafe.Add(base, (first+k*step)*w)) = T(x[k])
	}
}

func gatherHalf(out []float32, base unsafe.Pointer, first, step int, up func(uint16) float32) {
	for k := range out {
		out[k] = up(*(*uint16)(unsafe.Add(base, (first+k*step)*2)))
	}
}

func scatterHalf(x []float32, base unsafe.Pointer, first, step int, down func(float32) uint16) {
	for k := range x {
		*(*uint16)(unsafe.Add(base, (first+k*step)*2)) = down(x[k])
	}
}
