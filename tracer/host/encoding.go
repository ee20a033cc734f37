package host

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"
)

// This file is what decoders cannot know: they take an interface of the program for
// an empty one, and store there what Go refuses to. What they have stored is taken
// out again afterwards, the old value put back, and Go's error returned.

func addEncoding(m map[string]Intrinsic) {
	m["encoding/json.Unmarshal"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		data, v := arg[[]byte](a, 0), arg[any](a, 1)
		c := beforeDecode(th.In, v)
		put(r, c.json(json.Unmarshal(data, v), func() []byte { return data }))
	}
	m["(*encoding/json.Decoder).Decode"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		dec, v := arg[*json.Decoder](a, 0), arg[any](a, 1)
		c, start := beforeDecode(th.In, v), dec.InputOffset()
		put(r, c.json(dec.Decode(v), func() []byte { return lastDecoded(dec, dec.InputOffset()-start) }))
	}
	m["(*encoding/gob.Decoder).Decode"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		c := beforeDecode(th.In, arg[any](a, 1))
		put(r, c.gob(arg[*gob.Decoder](a, 0).Decode(arg[any](a, 1))))
	}
	m["(*encoding/gob.Decoder).DecodeValue"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v := arg[reflect.Value](a, 1)
		c := beforeDecodeValue(th.In, v)
		put(r, c.gob(arg[*gob.Decoder](a, 0).DecodeValue(v)))
	}
}

// holdsInterface reports whether values of r can hold an interface of the program.
func holdsInterface(in *Interp, r reflect.Type) bool {
	if yes, ok := in.interfaces.Load(r); ok {
		return yes.(bool)
	}
	yes := reaches(in, r, map[reflect.Type]bool{})
	in.interfaces.Store(r, yes)
	return yes
}

func reaches(in *Interp, r reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[r] {
		return false
	}
	seen[r] = true
	switch r.Kind() {
	case reflect.Interface:
		return r.NumMethod() == 0 // an empty one may hold a pointer to one
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return reaches(in, r.Elem(), seen)
	case reflect.Struct:
		for i := range r.NumField() {
			if reaches(in, r.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// decodeCheck is one call of a decoder.
type decodeCheck struct {
	in     *Interp
	target reflect.Value
	seen   map[unsafe.Pointer]bool
	// What there was before, by the address of the variable.
	contents map[unsafe.Pointer]reflect.Value
	slices   map[unsafe.Pointer]keptSlice
	saving   bool

	at    place
	outer reflect.Type // the struct whose embedded one is visited
	wrong []mismatch
}

// keptSlice is a slice's array before it grew.
type keptSlice struct {
	data unsafe.Pointer
	cap  int
}

// place is where a value is: steps leads to it through the document, fields names the
// fields on the way, owner the struct type that has the last of these.
type place struct {
	owner         string
	fields, steps []string
}

// mismatch is a value that does not implement the interface it was stored into.
type mismatch struct {
	place
	value, into reflect.Type
}

func beforeDecode(in *Interp, v any) *decodeCheck { return beforeDecodeValue(in, reflect.ValueOf(v)) }

// beforeDecodeValue keeps what decoding into v may overwrite; nil where nothing needs it.
func beforeDecodeValue(in *Interp, v reflect.Value) *decodeCheck {
	if !v.IsValid() || !holdsInterface(in, v.Type()) {
		return nil
	}
	c := &decodeCheck{
		in: in, target: v, seen: map[unsafe.Pointer]bool{}, contents: map[unsafe.Pointer]reflect.Value{},
		slices: map[unsafe.Pointer]keptSlice{}, saving: true,
	}
	c.value(v, nil)
	return c
}

// after looks at what has been decoded.
func (c *decodeCheck) after() {
	c.saving = false
	clear(c.seen)
	c.value(c.target, nil)
}

// value visits v, which was at the address was before: elements of slices move.
func (c *decodeCheck) value(v reflect.Value, was unsafe.Pointer) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || c.seen[v.UnsafePointer()] {
			return
		}
		c.seen[v.UnsafePointer()] = true
		c.value(v.Elem(), v.UnsafePointer())
	case reflect.Interface:
		c.iface(v, was)
	case reflect.Slice:
		c.slice(v, was)
	case reflect.Array:
		c.elements(v, was)
	case reflect.Map:
		c.mapping(v)
	case reflect.Struct:
		c.structure(v, was)
	}
}

func (c *decodeCheck) iface(v reflect.Value, was unsafe.Pointer) {
	it := interfaceOf(c.in, v.Type())
	if c.saving && it != nil && was != nil {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		c.contents[was] = old
	}
	if v.IsNil() {
		return
	}
	x := v.Elem()
	if c.saving || it == nil || reflectImplements(c.in, x.Type(), it) {
		if x.Kind() == reflect.Pointer { // decoders fill what an interface points to
			c.value(x, nil)
		}
		return
	}
	at := place{c.at.owner, append([]string(nil), c.at.fields...), append([]string(nil), c.at.steps...)}
	c.wrong = append(c.wrong, mismatch{at, x.Type(), v.Type()})
	if old, ok := c.contents[was]; ok && v.CanSet() {
		v.Set(old)
	} else if v.CanSet() {
		v.SetZero()
	}
}

func (c *decodeCheck) slice(v reflect.Value, was unsafe.Pointer) {
	if !holdsInterface(c.in, v.Type()) {
		return
	}
	data := v.UnsafePointer()
	if c.saving {
		if was != nil {
			c.slices[was] = keptSlice{data, v.Cap()}
		}
		c.elements(v.Slice(0, v.Cap()), data)
		return
	}
	old := c.slices[was]
	if old.data == data {
		c.elements(v, data)
		return
	}
	n := min(v.Len(), old.cap)
	c.elements(v.Slice(0, n), old.data)
	for i := n; i < v.Len(); i++ {
		c.step(strconv.Itoa(i), func() { c.value(v.Index(i), nil) })
	}
}

// elements visits an array that was at the address was.
func (c *decodeCheck) elements(v reflect.Value, was unsafe.Pointer) {
	if !holdsInterface(c.in, v.Type()) {
		return
	}
	elem := v.Type().Elem()
	size, empty := elem.Size(), elem.Kind() == reflect.Interface && interfaceOf(c.in, elem) == nil
	for i := range v.Len() {
		if empty && v.Index(i).Elem().Kind() != reflect.Pointer {
			continue
		}
		at := was
		if at != nil {
			at = unsafe.Add(was, uintptr(i)*size)
		}
		c.step(strconv.Itoa(i), func() { c.value(v.Index(i), at) })
	}
}

func (c *decodeCheck) step(name string, visit func()) {
	n := len(c.at.steps)
	c.at.steps = append(c.at.steps, name)
	visit()
	c.at.steps = c.at.steps[:n]
}

// mapping visits a map, whose values decoders make from nothing.
func (c *decodeCheck) mapping(v reflect.Value) {
	if elem := v.Type().Elem(); c.saving || !holdsInterface(c.in, elem) ||
		elem.Kind() == reflect.Interface && interfaceOf(c.in, elem) == nil {
		return
	}
	for it := v.MapRange(); it.Next(); {
		before := len(c.wrong)
		e := reflect.New(v.Type().Elem()).Elem()
		e.Set(it.Value())
		c.step(fmt.Sprint(it.Key()), func() { c.value(e, nil) })
		if len(c.wrong) > before {
			v.SetMapIndex(it.Key(), e)
		}
	}
}

func (c *decodeCheck) structure(v reflect.Value, was unsafe.Pointer) {
	if !holdsInterface(c.in, v.Type()) {
		return
	}
	owner := v.Type()
	if c.outer != nil {
		owner = c.outer
	}
	defer func(outer reflect.Type) { c.outer = outer }(c.outer)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Anonymous && isStruct(f.Type)
		if name == "-" || !f.IsExported() && !embedded {
			continue
		}
		at := was
		if at != nil {
			at = unsafe.Add(was, f.Offset)
		}
		promotes := embedded && name == ""
		if name == "" {
			name = f.Name
		}
		old, n := c.at.owner, len(c.at.fields)
		c.at.owner, c.at.fields, c.outer = owner.Name(), append(c.at.fields, name), nil
		if promotes {
			c.outer = owner
			c.value(v.Field(i), at)
		} else {
			c.step(name, func() { c.value(v.Field(i), at) })
		}
		c.at.owner, c.at.fields = old, c.at.fields[:n]
	}
}

func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// json is the error of package json, where the decoder returned err for the document
// that data returns. Of two wrong types the first of the document counts.
func (c *decodeCheck) json(err error, data func() []byte) error {
	if c == nil {
		return err
	}
	c.after()
	native := int64(math.MaxInt64)
	if err != nil {
		te, ok := err.(*json.UnmarshalTypeError) //nolint:errorlint // what the decoder itself returns
		if !ok || len(c.wrong) == 0 {
			return err
		}
		native = te.Offset
	}
	for _, w := range c.wrong {
		if offset := offsetOf(data(), w.steps); offset < native {
			native = offset
			err = &json.UnmarshalTypeError{
				Value: jsonKind(w.value), Type: w.into, Offset: offset, Struct: w.owner,
				Field: strings.Join(w.fields, "."),
			}
		}
	}
	return err
}

// gob is the error of package gob, which stops at the first value that does not fit.
func (c *decodeCheck) gob(err error) error {
	if c == nil {
		return err
	}
	if c.after(); err != nil || len(c.wrong) == 0 {
		return err
	}
	return errors.New("gob: " + c.wrong[0].value.String() + " is not assignable to type " + c.wrong[0].into.String())
}

// jsonKind is what package json calls a value that it has decoded into any.
func jsonKind(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.Number](), t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Map:
		return "object"
	case t.Kind() == reflect.Slice:
		return "array"
	}
	return t.Kind().String()
}

// offsetOf is where package json says that the value at steps is: after the bracket
// that opens it, or after it.
func offsetOf(data []byte, steps []string) int64 {
	dec := json.NewDecoder(bytes.NewReader(data))
	for _, want := range steps {
		if !enter(dec, want) {
			return 0
		}
	}
	start := dec.InputOffset()
	value := bytes.TrimLeft(data[start:], " \t\r\n:,")
	start = int64(len(data) - len(value))
	if len(value) > 0 && (value[0] == '{' || value[0] == '[') {
		return start + 1
	}
	var raw json.RawMessage
	if dec.Decode(&raw) != nil {
		return 0
	}
	return dec.InputOffset()
}

// enter moves dec before the element want of the array or object that it is before.
func enter(dec *json.Decoder, want string) bool {
	open, err := dec.Token()
	if err != nil {
		return false
	}
	for i := 0; dec.More(); i++ {
		name := strconv.Itoa(i)
		if open == json.Delim('{') {
			key, err := dec.Token()
			if err != nil {
				return false
			}
			name, _ = key.(string)
		}
		if strings.EqualFold(name, want) {
			return true
		}
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			return false
		}
	}
	return false
}

// lastDecoded is the n bytes that dec has decoded last.
func lastDecoded(dec *json.Decoder, n int64) []byte {
	v := reflect.ValueOf(dec).Elem()
	buf, scanp := v.FieldByName("buf"), v.FieldByName("scanp")
	if !buf.IsValid() || !scanp.IsValid() || scanp.Int() < n {
		return nil
	}
	return bytes.TrimLeft(buf.Bytes()[scanp.Int()-n:scanp.Int()], ",:")
}
