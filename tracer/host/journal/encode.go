package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"time"
	"unsafe"
)

// This file keeps results: numbers, texts and what is made of them.

// clock is how much of a time.Time is numbers.
const clock = 16

var (
	errorType = reflect.TypeFor[error]()
	timeType  = reflect.TypeFor[time.Time]()
	errKind   = errors.New("it cannot be kept")
)

// Encode adds a value to b.
func Encode(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64:
		return append(b, bytesOf(v)...), nil
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...), nil
	case reflect.Struct:
		if v.Type() == timeType {
			return append(b, bytesOf(v)[:clock]...), nil
		}
		if !plain(v.Type()) {
			break
		}
		return append(b, bytesOf(v)...), nil
	case reflect.Interface:
		if v.Type() == errorType && v.IsNil() {
			return b, nil
		}
		return b, fmt.Errorf("it fails: %w", errKind)
	}
	return b, fmt.Errorf("a %s: %w", v.Type(), errKind)
}

// Decode fills v from b and returns the rest.
func Decode(b []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() {
	case reflect.String:
		n, w := binary.Uvarint(b)
		if w <= 0 || uint64(len(b)-w) < n {
			return nil, errKind
		}
		v.SetString(string(b[w : w+int(n)]))
		return b[w+int(n):], nil
	case reflect.Interface:
		v.SetZero()
		return b, nil
	}
	to := bytesOf(v)
	if v.Type() == timeType {
		v.Set(reflect.ValueOf(time.Now())) // its location is that of time.Now
		to = to[:clock]
	}
	if len(b) < len(to) {
		return nil, errKind
	}
	return b[copy(to, b):], nil
}

// bytesOf is the memory of an addressable value without pointers.
func bytesOf(v reflect.Value) []byte {
	return unsafe.Slice((*byte)(v.Addr().UnsafePointer()), v.Type().Size())
}

// plain reports whether values of a type are numbers and nothing else.
func plain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.NumField() {
			if !plain(t.Field(f).Type) {
				return false
			}
		}
		return true
	case reflect.Array:
		return plain(t.Elem())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64:
		return true
	}
	return false
}
