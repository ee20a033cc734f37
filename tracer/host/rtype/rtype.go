// Package rtype makes reflect types for the types of an interpreted program:
// with their names, fields and methods, so that compiled code that asks for the
// type of a value (fmt, encoding/json, text/template, errors.As, reflect itself)
// finds what it would find under go run.
//
// package reflect makes types without names and without methods only. What is
// made here starts as a copy of such a type, which fixes the memory layout; then
// it gets its own name, its own element types and a table of methods, each of
// which is one of the entry points of slots_*.s.
//
// It imports the standard library only. Open this file first, then layout.go
// and slots.go.
package rtype

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// Method is one method of a type. The methods of a type are given in order:
// exported ones first, then by name.
type Method struct {
	Name    string
	PkgPath string       // of an unexported name
	Type    reflect.Type // func type without receiver
	// Ifn is called with one word, the receiver as an interface holds it; Tfn with
	// the receiver itself. They are of Slot, or nil: calling them panics.
	Ifn, Tfn unsafe.Pointer
}

// Field is one field of a struct type.
type Field struct {
	Name     string
	Tag      string
	Type     reflect.Type
	Exported bool
	Embedded bool
}

// Type is a type that is being made. Its values have their layout, so the type can be
// part of other types, before its elements and methods are set.
type Type struct {
	t       *header
	uncom   *uncommon
	methods []method
	tail    []*header // parameters and results of a func type
}

// New makes a type with the memory layout of another. str is what its method
// String returns; pkgPath is empty for a type without a name. It has room for
// that many methods.
func New(layout reflect.Type, str, pkgPath string, methods int) *Type {
	src := headerOf(layout)
	tail := 0
	if layout.Kind() == reflect.Func {
		tail = layout.NumIn() + layout.NumOut()
	}
	body := bodyOf(layout.Kind())
	whole := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "Body", Type: body},
		{Name: "Uncommon", Type: reflect.TypeFor[uncommon]()},
		{Name: "Tail", Type: reflect.ArrayOf(tail, reflect.TypeFor[*header]())},
		{Name: "Methods", Type: reflect.ArrayOf(methods, reflect.TypeFor[method]())},
		{Name: "End", Type: reflect.TypeFor[method]()}, // no pointer to a method past the end
	}))
	p := whole.UnsafePointer()
	reflect.NewAt(body, p).Elem().Set(reflect.NewAt(body, unsafe.Pointer(src)).Elem())
	st := whole.Elem().Type()
	t := &Type{t: (*header)(p)}
	t.uncom = (*uncommon)(unsafe.Add(p, st.Field(1).Offset))
	t.tail = unsafe.Slice((**header)(unsafe.Add(p, st.Field(2).Offset)), tail)
	t.methods = unsafe.Slice((*method)(unsafe.Add(p, st.Field(3).Offset)), methods)

	h := t.t
	h.tflag = h.tflag&^(flagExtraStar|flagNamed) | flagUncommon
	h.hash = nextHash.Add(1) * 0x9e3779b1
	h.str = nameOff(newName(str, "", true, false, ""))
	h.ptrToThis = 0
	if pkgPath != "" {
		h.tflag |= flagNamed
		t.uncom.pkgPath = nameOff(newName(pkgPath, "", false, false, ""))
	}
	t.uncom.moff = uint32(uintptr(unsafe.Pointer(unsafe.SliceData(t.methods))) - uintptr(unsafe.Pointer(t.uncom)))
	if layout.Kind() == reflect.Func {
		for i := range layout.NumIn() {
			t.tail[i] = headerOf(layout.In(i))
		}
		for i := range layout.NumOut() {
			t.tail[layout.NumIn()+i] = headerOf(layout.Out(i))
		}
	}
	keep(t)
	return t
}

var nextHash atomic.Uint32

// PointerTo makes the type of pointers to t: reflect.PointerTo finds it.
func (t *Type) PointerTo(methods int) *Type {
	p := New(reflect.TypeFor[*struct{}](), "*"+t.Reflect().String(), "", methods)
	p.SetElem(t.Reflect())
	t.t.ptrToThis = addReflectOff(unsafe.Pointer(p.t))
	return p
}

// Reflect is t as package reflect knows it.
func (t *Type) Reflect() reflect.Type {
	var v any
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[0] = unsafe.Pointer(t.t)
	return reflect.TypeOf(v)
}

// SetElem sets what a pointer, slice, array, channel or map has as elements.
func (t *Type) SetElem(elem reflect.Type) {
	switch p := unsafe.Pointer(t.t); t.Reflect().Kind() {
	case reflect.Array:
		a := (*arrayType)(p)
		a.elem, a.slice = headerOf(elem), headerOf(reflect.SliceOf(elem))
	case reflect.Map:
		(*mapType)(p).elem = headerOf(elem)
	default: // pointer, slice and channel
		(*elemType)(p).elem = headerOf(elem)
	}
}

// SetKey sets the key of a map.
func (t *Type) SetKey(key reflect.Type) { (*mapType)(unsafe.Pointer(t.t)).key = headerOf(key) }

// SetFunc sets the types of parameters and results of a func type.
func (t *Type) SetFunc(params, results []reflect.Type) {
	for i, p := range params {
		t.tail[i] = headerOf(p)
	}
	for i, r := range results {
		t.tail[len(params)+i] = headerOf(r)
	}
}

// SetFields sets the fields of a struct type, whose offsets stay. pkgPath is the
// package of those that are not exported.
func (t *Type) SetFields(pkgPath string, fields []Field) {
	s := (*structType)(unsafe.Pointer(t.t))
	out := make([]structField, len(fields))
	for i, f := range fields {
		out[i] = structField{name: newName(f.Name, f.Tag, f.Exported, f.Embedded, ""), typ: headerOf(f.Type), offset: s.fields[i].offset}
	}
	s.pkgPath = newName(pkgPath, "", false, false, "")
	s.fields = out
}

// SetMethods fills the table of methods.
func (t *Type) SetMethods(methods []Method) {
	if len(methods) != len(t.methods) {
		panic("rtype: number of methods")
	}
	exported := 0
	for i, m := range methods {
		ifn, tfn := m.Ifn, m.Tfn
		if ifn == nil {
			ifn = unreachable()
		}
		if tfn == nil {
			tfn = unreachable()
		}
		if m.PkgPath == "" {
			exported++
		}
		t.methods[i] = method{
			name: nameOff(newName(m.Name, "", m.PkgPath == "", false, m.PkgPath)),
			mtyp: addReflectOff(unsafe.Pointer(headerOf(m.Type))),
			ifn:  addReflectOff(ifn),
			tfn:  addReflectOff(tfn),
		}
	}
	t.uncom.mcount, t.uncom.xcount = uint16(len(methods)), uint16(exported)
}
