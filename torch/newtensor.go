package torch

import (
	"reflect"

	"tcdbg/internal/ops"
)

// NewTensor makes a tensor of Go data: a number, a bool, nested slices or
// arrays of them, or another tensor (which is copied). Integers become int64,
// floats float32, bools bool, unless kw.Dtype says otherwise; kw.RequiresGrad
// makes it a leaf that collects gradients.
func NewTensor(data any, opts ...Option) *Tensor {
	d, device, grad, given := tensorOptions("tensor", opts)
	if t, ok := data.(*Tensor); ok {
		if !given {
			d = t.dtype
		}
		return finishNew(dense(t, d), t, device, grad)
	}
	v := reflect.ValueOf(data)
	shape := shapeOf(v)
	if !given {
		d = elementType(v)
	}
	w := &dataWriter{shape: shape}
	w.write(v, 0)
	switch {
	case w.complexes == nil:
	case !given:
		d = ops.Complex64
	case !d.IsComplex():
		fail("tensor", "TypeError", "complex numbers do not fit in a tensor of dtype %s", d)
	}
	t := newTensor(d, shape)
	switch {
	case w.complexes != nil:
		finish(t, w.complexes, ops.Complex64)
	case w.floats != nil:
		finish(t, w.floats, ops.Float64)
	case w.bools != nil:
		finish(t, w.bools, ops.Bool)
	default:
		finish(t, w.ints, ops.Int64)
	}
	return finishNew(t, nil, device, grad)
}

func finishNew(t, from *Tensor, device Device, grad bool) *Tensor {
	if t == from {
		c := newTensor(t.dtype, t.shape)
		copyInto(c, t)
		t = c
	}
	if device == ops.Meta {
		t.device, t.storage = ops.Meta, &Storage{}
	}
	if grad {
		t.RequiresGrad_()
	}
	return t
}

func tensorOptions(name string, opts []Option) (d DType, device Device, grad, given bool) {
	d, device = ops.Float32, ops.CPU
	for _, o := range opts {
		switch o.Name {
		case "dtype":
			d, given = o.Value.(DType), true
		case "device":
			switch v := o.Value.(type) {
			case Device:
				device = v
			case string:
				device = Device(v)
			}
		case "requires_grad":
			grad, _ = o.Value.(bool)
		default:
			fail(name, "TypeError", "%s() got an unexpected keyword argument '%s'", name, o.Name)
		}
	}
	return d, device, grad, given
}

func shapeOf(v reflect.Value) []int {
	shape := []int{}
	for {
		for v.IsValid() && v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if !v.IsValid() || v.Kind() != reflect.Slice && v.Kind() != reflect.Array {
			return shape
		}
		shape = append(shape, v.Len())
		if v.Len() == 0 {
			return shape
		}
		v = v.Index(0)
	}
}

// elementType is the dtype that the leaves of nested slices call for.
func elementType(v reflect.Value) DType {
	for v.IsValid() {
		switch v.Kind() {
		case reflect.Interface:
			v = v.Elem()
			continue
		case reflect.Slice, reflect.Array:
			if v.Len() == 0 {
				return emptyType(v.Type())
			}
			v = v.Index(0)
			continue
		case reflect.Bool:
			return ops.Bool
		case reflect.Float32, reflect.Float64:
			return ops.Float32
		case reflect.Complex64, reflect.Complex128:
			return ops.Complex64
		case reflect.Uint8:
			return ops.Uint8
		}
		return ops.Int64
	}
	return ops.Float32
}

func emptyType(t reflect.Type) DType {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Int32:
		return ops.Int64
	case reflect.Bool:
		return ops.Bool
	case reflect.Complex64, reflect.Complex128:
		return ops.Complex64
	}
	return ops.Float32
}

type dataWriter struct {
	shape     []int
	floats    []float64
	ints      []int64
	bools     []bool
	complexes []complex64
}

func (w *dataWriter) write(v reflect.Value, dim int) {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		if dim >= len(w.shape) || v.Len() != w.shape[dim] {
			want := 0
			if dim < len(w.shape) {
				want = w.shape[dim]
			}
			fail("tensor", "ValueError", "expected sequence of length %d at dim %d (got %d)", want, dim, v.Len())
		}
		for i := range v.Len() {
			w.write(v.Index(i), dim+1)
		}
		return
	}
	if dim != len(w.shape) {
		fail("tensor", "TypeError", "only integer tensors of a single element can be converted to an index")
	}
	if w.complexes != nil {
		w.complexes = append(w.complexes, complexOf(v))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		w.bools = append(w.bools, v.Bool())
	case reflect.Float32, reflect.Float64:
		if w.floats == nil {
			for _, i := range w.ints {
				w.floats = append(w.floats, float64(i))
			}
		}
		w.floats = append(w.floats, v.Float())
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Int16, reflect.Int8:
		if w.floats != nil {
			w.floats = append(w.floats, float64(v.Int()))
		} else {
			w.ints = append(w.ints, v.Int())
		}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		w.ints = append(w.ints, int64(v.Uint()))
	case reflect.Complex64, reflect.Complex128:
		w.turnComplex()
		w.complexes = append(w.complexes, complex64(v.Complex()))
	default:
		fail("tensor", "TypeError", "must be real number, not %s", v.Kind())
	}
}

// turnComplex makes the numbers so far complex.
func (w *dataWriter) turnComplex() {
	for _, i := range w.ints {
		if w.floats == nil {
			w.complexes = append(w.complexes, complex(float32(i), 0))
		}
	}
	for _, f := range w.floats {
		w.complexes = append(w.complexes, complex(float32(f), 0))
	}
	w.ints, w.floats = nil, nil
}

// complexOf is a number among complex ones.
func complexOf(v reflect.Value) complex64 {
	switch {
	case v.CanComplex():
		return complex64(v.Complex())
	case v.CanFloat():
		return complex(float32(v.Float()), 0)
	case v.CanInt():
		return complex(float32(v.Int()), 0)
	case v.CanUint():
		return complex(float32(v.Uint()), 0)
	}
	fail("tensor", "TypeError", "must be a number, not %s", v.Kind())
	return 0
}
