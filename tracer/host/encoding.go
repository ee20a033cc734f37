package host

import (
	"encoding/json"
	"encoding/xml"
	"unsafe"
)

// This file is encoders of the standard library on values of the program: they
// see the plain memory, whose exported fields keep names and tags.

type bytesErr struct {
	data []byte
	err  error
}

func addEncoding(m map[string]Intrinsic) {
	m["encoding/json.Marshal"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		data, err := json.Marshal(deepPlain(arg[any](a, 0)))
		put(r, bytesErr{data, err})
	}
	m["encoding/json.MarshalIndent"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		data, err := json.MarshalIndent(deepPlain(arg[any](a, 0)), arg[string](a, 1), arg[string](a, 2))
		put(r, bytesErr{data, err})
	}
	m["encoding/json.Unmarshal"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, json.Unmarshal(arg[[]byte](a, 0), plain(arg[any](a, 1))))
	}
	m["(*encoding/json.Encoder).Encode"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, arg[*json.Encoder](a, 0).Encode(deepPlain(arg[any](a, 1))))
	}
	m["(*encoding/json.Decoder).Decode"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, arg[*json.Decoder](a, 0).Decode(plain(arg[any](a, 1))))
	}
	m["encoding/xml.Marshal"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		data, err := xml.Marshal(plain(arg[any](a, 0)))
		put(r, bytesErr{data, err})
	}
	m["encoding/xml.Unmarshal"] = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		put(r, xml.Unmarshal(arg[[]byte](a, 0), plain(arg[any](a, 1))))
	}
}

// deepPlain is plain for data that native code walks: maps and slices of any
// lose the boxes of their elements too.
func deepPlain(v any) any {
	v = plain(v)
	switch x := v.(type) {
	case []any:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = deepPlain(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = deepPlain(e)
		}
		return out
	}
	return v
}
