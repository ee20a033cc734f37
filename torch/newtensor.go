package torch

import (
	"math"
	"reflect"

	"tcdbg/ops"
	"tcdbg/torch/internal/memory"
	"tcdbg/torch/internal/refusal"
	"tcdbg/torch/internal/strided"
)

// NewTensor makes a tensor of Go data: a number, a bool, nested slices or
// arrays of them, or another tensor (which is copied). Integers become int64,
// floats float32, bools bool, and of a mixture what all promote to, unless kw.Dtype
// says otherwise; kw.RequiresGrad
// makes it a leaf that collects gradients.
func NewTensor(data any, opts ...Option) *Tensor {
	d, device, grad, given := tensorOptions("tensor", opts)
	if t, ok := data.(*Tensor); ok {
		if !given {
			d = t.array.DType
		}
		return finishNew(denseTensor(t, d), t, device, grad)
	}
	v := reflect.ValueOf(data)
	shape, kind := shapeOf(v), elementType(v)
	if !given {
		d = kind
	}
	if kind.IsComplex() && !d.IsComplex() {
		refusal.Fail("tensor", "TypeError", "complex numbers do not fit in a tensor of dtype %s", d)
	}
	w := &dataWriter{shape: shape, kind: kind}
	w.write(v, 0)
	t := newTensor(d, shape)
	switch kind {
	case ops.Complex64:
		strided.Store(&t.array, w.complexes, ops.Complex64)
	case ops.Float32:
		strided.Store(&t.array, w.floats, ops.Float64)
	default:
		strided.Store(&t.array, w.ints, ops.Int64)
	}
	return finishNew(t, nil, device, grad)
}

func finishNew(t, from *Tensor, device Device, grad bool) *Tensor {
	if t == from {
		c := newTensor(t.array.DType, t.array.Shape)
		strided.Copy(&c.array, &t.array)
		t = c
	}
	if device == ops.Meta {
		t.array.Device, t.array.Storage = ops.Meta, &memory.Storage{}
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
			device = deviceNamed(name, o.Value)
		case "requires_grad":
			grad, _ = o.Value.(bool)
		default:
			refusal.Fail(name, "TypeError", "%s() got an unexpected keyword argument '%s'", name, o.Name)
		}
	}
	return d, device, grad, given
}

// deviceNamed is the device that an option gives.
func deviceNamed(op string, v any) Device {
	text := ""
	switch v := v.(type) {
	case nil:
		return ops.CPU
	case Device:
		text = string(v)
	case string:
		text = v
	default:
		refusal.Fail(op, "TypeError", "%s(): argument 'device' must be torch.device, not %T", op, v)
	}
	d, err := ops.ParseDevice(text)
	if err != nil {
		refusal.Raise(&ops.Op{Name: op}, err)
	}
	return d
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

// elementType is the dtype that the leaves of nested slices call for: that of them to
// which the others promote, as torch.tensor has it.
func elementType(v reflect.Value) DType {
	if !v.IsValid() {
		return ops.Float32
	}
	switch v.Kind() {
	case reflect.Interface:
		return elementType(v.Elem())
	case reflect.Slice, reflect.Array:
		if mixedLeaves(v.Type()) && v.Len() > 0 {
			return promotedType(v)
		}
		return emptyType(v.Type())
	}
	return leafType(v.Kind())
}

// mixedLeaves reports whether the leaves of a type may differ.
func mixedLeaves(t reflect.Type) bool {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.Kind() == reflect.Interface
}

func promotedType(v reflect.Value) DType {
	d := elementType(v.Index(0))
	for i := 1; i < v.Len(); i++ {
		d = ops.Promote(d, elementType(v.Index(i)))
	}
	return d
}

func emptyType(t reflect.Type) DType {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface {
		return ops.Float32
	}
	return leafType(t.Kind())
}

// leafType is the dtype of one number.
func leafType(k reflect.Kind) DType {
	switch k {
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

// dataWriter collects the leaves of nested slices as numbers of one kind.
type dataWriter struct {
	shape     []int
	kind      DType // Complex64, Float32, or else whole numbers
	floats    []float64
	ints      []int64
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
			refusal.Fail("tensor", "ValueError", "expected sequence of length %d at dim %d (got %d)", want, dim, v.Len())
		}
		for i := range v.Len() {
			w.write(v.Index(i), dim+1)
		}
		return
	}
	if dim != len(w.shape) {
		refusal.Fail("tensor", "TypeError", "only integer tensors of a single element can be converted to an index")
	}
	switch w.kind {
	case ops.Complex64:
		w.complexes = append(w.complexes, complexOf(v))
	case ops.Float32:
		w.floats = append(w.floats, floatOf(v))
	default:
		w.ints = append(w.ints, intOf(v))
	}
}

func complexOf(v reflect.Value) complex64 {
	if v.CanComplex() {
		return complex64(v.Complex())
	}
	return complex(float32(floatOf(v)), 0)
}

func floatOf(v reflect.Value) float64 {
	switch {
	case v.CanFloat():
		return v.Float()
	case v.CanUint():
		return float64(v.Uint())
	}
	return float64(intOf(v))
}

func intOf(v reflect.Value) int64 {
	switch {
	case v.Kind() == reflect.Bool && v.Bool():
		return 1
	case v.Kind() == reflect.Bool:
		return 0
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		if v.Uint() > math.MaxInt64 {
			refusal.Fail("tensor", "RuntimeError", "Overflow when unpacking long")
		}
		return int64(v.Uint())
	}
	refusal.Fail("tensor", "TypeError", "must be real number, not %s", v.Kind())
	return 0
}

// denseTensor returns t itself when it is contiguous and of type d, else a copy that is.
func denseTensor(t *Tensor, d DType) *Tensor {
	if t.array.DType == d && t.IsContiguous() {
		return t
	}
	c := newTensor(d, t.array.Shape)
	strided.Copy(&c.array, &t.array)
	return c
}
