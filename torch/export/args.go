package export

import (
	"encoding/json"
	"errors"
	"math"

	"tcdbg/ops"
)

// This file reads arguments: JSON names the kind of each.

// arg reads an argument.
func (p *Program) arg(raw json.RawMessage) (Arg, error) {
	if isNull(raw) {
		return nil, nil
	}
	kind, v, ok := union(raw)
	if !ok {
		return nil, errors.New("a value without a kind")
	}
	switch kind {
	case "as_none":
		return nil, nil
	case "as_tensor":
		return refArg(v)
	case "as_name":
		s, err := scalar[string](v)
		return Ref(text(s)), err
	case "as_int":
		return scalar[int64](v)
	case "as_bool":
		return scalar[bool](v)
	case "as_string":
		return scalar[string](v)
	case "as_float":
		return floatArg(v)
	case "as_sym_int", "as_sym_bool", "as_sym_float", "as_optional_tensor":
		return p.arg(v)
	case "as_graph":
		return p.subArg(v)
	case "as_scalar_type", "as_layout", "as_memory_format", "as_device":
		return enumArg(kind, v)
	case "as_tensors":
		return listArg(v, refArg)
	case "as_ints":
		return listArg(v, scalar[int64])
	case "as_floats":
		return listArg(v, floatArg)
	case "as_bools":
		return listArg(v, scalar[bool])
	case "as_strings":
		return listArg(v, scalar[string])
	case "as_sym_ints", "as_sym_bools", "as_sym_floats", "as_optional_tensors":
		return listArg(v, p.arg)
	}
	return Unread(clip(kind)), nil
}

// enumArg reads a value that PyTorch numbers, and a device.
func enumArg(kind string, v json.RawMessage) (Arg, error) {
	if kind == "as_device" {
		var d fileDevice
		err := json.Unmarshal(v, &d)
		return ops.Device(clip(d.Type)), err
	}
	var n int
	if err := json.Unmarshal(v, &n); err != nil {
		return nil, err
	}
	switch kind {
	case "as_layout":
		return Layout(n), nil
	case "as_memory_format":
		return MemoryFormat(n), nil
	}
	d, err := dtypeOf(n)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func text(a Arg) string { s, _ := a.(string); return s }

func scalar[T any](v json.RawMessage) (Arg, error) {
	var x T
	err := json.Unmarshal(v, &x)
	return x, err
}

// floatArg reads a float, which is a text where JSON has no number for it.
func floatArg(v json.RawMessage) (Arg, error) {
	var x any
	if err := json.Unmarshal(v, &x); err != nil {
		return nil, err
	}
	switch x {
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	case "NaN":
		return math.NaN(), nil
	}
	f, ok := x.(float64)
	if !ok {
		return nil, errors.New("a float that is no number")
	}
	return f, nil
}

func refArg(v json.RawMessage) (Arg, error) {
	var n fileName
	err := json.Unmarshal(v, &n)
	return Ref(n.Name), err
}

func listArg(v json.RawMessage, one func(json.RawMessage) (Arg, error)) (Arg, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(v, &list); err != nil {
		return nil, err
	}
	out := make([]Arg, len(list))
	for i, e := range list {
		var err error
		if out[i], err = one(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}
