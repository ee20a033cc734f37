package torch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"tcdbg/torch/internal/pickle"
)

// This file is the Go containers that Save takes.

// container turns maps, slices and arrays into those of a pickle; keys are
// sorted, so that a file depends on the values alone.
func (s *saver) container(v any) (any, error) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Array:
		out := &pickle.List{}
		for i := range r.Len() {
			x, err := s.tree(scalarValue(r.Index(i)))
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, x)
		}
		if r.Kind() == reflect.Array { // betas of an optimizer are a tuple
			return pickle.Tuple(out.Items), nil
		}
		return out, nil
	case reflect.Map:
		return s.dict(r)
	}
	return nil, fmt.Errorf("values of type %T cannot be saved", v)
}

func (s *saver) dict(r reflect.Value) (any, error) {
	keys := r.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.Kind() == reflect.String {
			return strings.Compare(a.String(), b.String())
		}
		return int(a.Int() - b.Int())
	})
	out := &pickle.Dict{}
	for _, k := range keys {
		x, err := s.tree(scalarValue(r.MapIndex(k)))
		if err == nil {
			err = out.Set(scalarValue(k), x)
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// scalarValue reads numbers of any width as int and float64.
func scalarValue(r reflect.Value) any {
	switch {
	case r.CanInt():
		return int(r.Int())
	case r.CanFloat():
		return r.Float()
	}
	return r.Interface()
}
