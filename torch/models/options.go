package models

import (
	"fmt"

	"tcdbg/torch"
)

// This file reads the options of models.

// settings are the options of one model.
type settings struct {
	class string
	opts  []torch.Option
}

// read refuses options that the model does not have.
func read(class string, opts []torch.Option, names ...string) settings {
	for _, o := range opts {
		ok := false
		for _, n := range names {
			ok = ok || n == o.Name
		}
		if !ok {
			refuse(class, "TypeError", "%s() got an unexpected keyword argument '%s'", class, o.Name)
		}
	}
	return settings{class, opts}
}

func refuse(class, kind, format string, args ...any) {
	panic(&torch.Error{Op: class, Kind: kind, Msg: fmt.Sprintf(format, args...)})
}

func (s settings) value(name string) any {
	for _, o := range s.opts {
		if o.Name == name {
			return o.Value
		}
	}
	return nil
}

// whole is an option that is an int.
func (s settings) whole(name string, def int) int {
	switch v := s.value(name).(type) {
	case nil:
		return def
	case int:
		return v
	default:
		refuse(s.class, "TypeError", "keyword %s must be int, not %T", name, v)
		return 0
	}
}

// number is an option that is a number.
func (s settings) number(name string, def float64) float64 {
	switch v := s.value(name).(type) {
	case nil:
		return def
	case float64:
		return v
	case int:
		return float64(v)
	default:
		refuse(s.class, "TypeError", "keyword %s must be a number, not %T", name, v)
		return 0
	}
}

// flag is an option that is a bool, false where it is left out.
func (s settings) flag(name string) bool {
	switch v := s.value(name).(type) {
	case nil:
		return false
	case bool:
		return v
	default:
		refuse(s.class, "TypeError", "keyword %s must be bool, not %T", name, v)
		return false
	}
}

// or puts defaults after the options of a call: the first of a name counts.
func or(opts []torch.Option, defaults ...torch.Option) []torch.Option {
	return append(append([]torch.Option{}, opts...), defaults...)
}

// sized is the arguments of a factory function: sizes, then options.
func sized(opts []torch.Option, size ...int) []any {
	out := []any{size}
	for _, o := range opts {
		out = append(out, o)
	}
	return out
}
