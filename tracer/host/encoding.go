package host

import (
	"encoding/json"
	"reflect"
	"strings"
	"unsafe"
)

// This file is what encoding/json cannot know: it takes an interface of the program
// for an empty one, and would store a map where Go refuses to.

func addEncoding(m map[string]Intrinsic) {
	m["encoding/json.Unmarshal"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := arg[any](a, 1)
		put(r, th.In.decoded(v, json.Unmarshal(arg[[]byte](a, 0), v)))
	}
	m["(*encoding/json.Decoder).Decode"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := arg[any](a, 1)
		put(r, th.In.decoded(v, arg[*json.Decoder](a, 0).Decode(v)))
	}
}

// decoded takes out of v what does not implement the interface that holds it, and
// returns the error that Go returns for the first of these.
func (in *Interp) decoded(v any, err error) error {
	r := reflect.ValueOf(v)
	if !r.IsValid() || !in.holdsInterface(r.Type()) {
		return err
	}
	c := decodeCheck{in: in, seen: map[unsafe.Pointer]bool{}}
	c.value(r)
	if err == nil && c.err != nil {
		return c.err
	}
	return err
}

// holdsInterface reports whether values of r can hold an interface of the program.
func (in *Interp) holdsInterface(r reflect.Type) bool {
	if yes, ok := in.interfaces.Load(r); ok {
		return yes.(bool)
	}
	yes := in.reaches(r, map[reflect.Type]bool{})
	in.interfaces.Store(r, yes)
	return yes
}

func (in *Interp) reaches(r reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[r] {
		return false
	}
	seen[r] = true
	switch r.Kind() {
	case reflect.Interface:
		return in.interfaceOf(r) != nil
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return in.reaches(r.Elem(), seen)
	case reflect.Struct:
		for i := range r.NumField() {
			if in.reaches(r.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

type decodeCheck struct {
	in    *Interp
	seen  map[unsafe.Pointer]bool
	path  []string
	owner string
	err   error
}

func (c *decodeCheck) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || c.seen[v.UnsafePointer()] {
			return
		}
		c.seen[v.UnsafePointer()] = true
		c.value(v.Elem())
	case reflect.Interface:
		c.iface(v)
	case reflect.Slice, reflect.Array:
		if c.in.holdsInterface(v.Type()) {
			for i := range v.Len() {
				c.value(v.Index(i))
			}
		}
	case reflect.Map:
		c.mapping(v)
	case reflect.Struct:
		c.structure(v)
	}
}

func (c *decodeCheck) iface(v reflect.Value) {
	it := c.in.interfaceOf(v.Type())
	if it == nil || v.IsNil() {
		return
	}
	if x := v.Elem(); c.in.reflectImplements(x.Type(), it) {
		c.value(x)
		return
	}
	if c.err == nil {
		c.err = &json.UnmarshalTypeError{Value: jsonKind(v.Elem().Kind()), Type: v.Type(), Struct: c.owner, Field: strings.Join(c.path, ".")}
	}
	if v.CanSet() {
		v.SetZero()
	}
}

// jsonKind is what encoding/json calls a value that it has decoded into any.
func jsonKind(k reflect.Kind) string {
	switch k {
	case reflect.Map:
		return "object"
	case reflect.Slice:
		return "array"
	case reflect.Float64:
		return "number"
	}
	return k.String()
}

func (c *decodeCheck) mapping(v reflect.Value) {
	if !c.in.holdsInterface(v.Type()) {
		return
	}
	for it := v.MapRange(); it.Next(); {
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(it.Value())
		c.value(e)
		v.SetMapIndex(it.Key(), e)
	}
}

func (c *decodeCheck) structure(v reflect.Value) {
	if !c.in.holdsInterface(v.Type()) {
		return
	}
	owner, depth := c.owner, len(c.path)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if !f.Anonymous || name != "" {
			if name == "" {
				name = f.Name
			}
			c.owner, c.path = v.Type().Name(), append(c.path[:depth:depth], name)
		}
		c.value(v.Field(i))
		c.owner, c.path = owner, c.path[:depth]
	}
}
