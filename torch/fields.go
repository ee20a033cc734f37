package torch

import (
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode"
)

// Field is one part of a module: an exported field, or an element of a list.
type Field struct {
	Name  string // in PyTorch's spelling: in_proj_weight; "0" for elements
	Value any
	// Buffer marks tensors that are no parameters (running_mean).
	Buffer bool
	// Skip marks buffers that the state leaves out.
	Skip bool
}

// Named is a tensor with its place in a module: layers.0.weight.
type Named struct {
	Name   string
	Tensor *Tensor
	Buffer bool
}

// Fields lists the parts of a module, a pointer to a struct, in declaration
// order; the elements of a slice; or the entries of a map by key. Parts that are
// nil are left out. The tag
// torch:"name,buffer" renames a field, torch:"-" leaves it out, torch:",flat"
// gives the elements of a list no common name. Anything else
// has no parts. The interpreter puts its own function in place of this one,
// because reflection does not see the types of an interpreted program.
func Fields(module any) []Field {
	v := reflect.ValueOf(module)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		return structFields(v)
	case reflect.Slice, reflect.Array:
		var out []Field
		for i := range v.Len() {
			if !absent(v.Index(i)) {
				out = append(out, Field{Name: strconv.Itoa(i), Value: v.Index(i).Interface()})
			}
		}
		return out
	case reflect.Map:
		return mapFields(v)
	}
	return nil
}

func structFields(v reflect.Value) []Field {
	var out []Field
	t := v.Type()
	if t == reflect.TypeFor[Tensor]() {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		field, ok := FieldOf(f.Name, f.Tag)
		if !ok {
			continue
		}
		if f.Anonymous && f.Type.Kind() == reflect.Struct {
			out = append(out, structFields(v.Field(i))...)
			continue
		}
		switch f.Type.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map:
			if absent(v.Field(i)) {
				continue
			}
			field.Value = v.Field(i).Interface()
		case reflect.Struct:
			field.Value = v.Field(i).Addr().Interface()
		default:
			continue
		}
		out = append(out, field)
	}
	return out
}

// absent reports whether a part is nil, as an optional one is.
func absent(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil()
}

func mapFields(v reflect.Value) []Field {
	var out []Field
	for _, k := range v.MapKeys() {
		if k.Kind() != reflect.String {
			return nil
		}
		if !absent(v.MapIndex(k)) {
			out = append(out, Field{Name: k.String(), Value: v.MapIndex(k).Interface()})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// FieldOf reads the name and tag of a struct field; ok is false for fields
// that are left out.
func FieldOf(name string, tag reflect.StructTag) (f Field, ok bool) {
	f.Name = SnakeCase(name)
	text := tag.Get("torch")
	if text == "-" {
		return f, false
	}
	given, options, _ := strings.Cut(text, ",")
	if given != "" {
		f.Name = given
	}
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "buffer":
			f.Buffer = true
		case "nonpersistent":
			f.Buffer, f.Skip = true, true
		case "flat":
			f.Name = ""
		}
	}
	return f, true
}

// SnakeCase turns InProjWeight into in_proj_weight.
func SnakeCase(s string) string {
	var sb strings.Builder
	rs := []rune(s)
	for i, r := range rs {
		if unicode.IsUpper(r) {
			if i > 0 && (!unicode.IsUpper(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) && rs[i-1] != '_' {
				sb.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		sb.WriteRune(r)
	}
	return sb.String()
}
