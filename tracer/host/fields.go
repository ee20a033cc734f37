package host

import (
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/torch"
)

// This file is torch.Fields for the interpreted program: reflection sees boxes
// in place of its types, so the parts of a module are read by its Go types.

// torchFields replaces torch.Fields.
func torchFields(th *Thread, _ *Frame, args []unsafe.Pointer, result unsafe.Pointer) {
	in := th.In
	t, p := in.Dynamic(types.Universe.Lookup("any").Type(), args[0])
	var out []torch.Field
	if t != nil {
		out = fieldsOf(in, t, p)
	}
	if result != nil {
		*(*[]torch.Field)(result) = out
	}
}

// FieldsOf lists the parts of a module of the program, as torch.Fields does there.
func FieldsOf(in *Interp, module any) []torch.Field {
	t, p := in.Dynamic(types.Universe.Lookup("any").Type(), unsafe.Pointer(&module))
	if t == nil {
		return nil
	}
	return fieldsOf(in, t, p)
}

// fieldsOf lists the parts of the value of type t at p.
func fieldsOf(in *Interp, t types.Type, p unsafe.Pointer) []torch.Field {
	for {
		switch u := t.Underlying().(type) {
		case *types.Pointer:
			if p = *(*unsafe.Pointer)(p); p == nil {
				return nil
			}
			t = u.Elem()
			continue
		case *types.Interface:
			if t, p = in.Dynamic(t, p); t == nil {
				return nil
			}
			continue
		case *types.Struct:
			if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Name() == "Tensor" && n.Obj().Pkg() != nil &&
				n.Obj().Pkg().Path() == "tcdbg/torch" {
				return nil
			}
			return structFields(in, t, u, p)
		case *types.Slice:
			h := reflect.NewAt(in.Rep(t), p).Elem()
			return elements(in, u.Elem(), h.Len(), func(i int) unsafe.Pointer { return h.Index(i).Addr().UnsafePointer() })
		case *types.Array:
			size := in.Rep(u.Elem()).Size()
			return elements(in, u.Elem(), int(u.Len()), func(i int) unsafe.Pointer { return unsafe.Add(p, uintptr(i)*size) })
		case *types.Map:
			return entries(in, u, reflect.NewAt(in.Rep(t), p).Elem())
		}
		return nil
	}
}

func structFields(in *Interp, t types.Type, u *types.Struct, p unsafe.Pointer) []torch.Field {
	var out []torch.Field
	rep := in.Rep(t)
	for i := range u.NumFields() {
		f := u.Field(i)
		if !f.Exported() {
			continue
		}
		field, ok := torch.FieldOf(f.Name(), reflect.StructTag(u.Tag(i)))
		if !ok {
			continue
		}
		q := unsafe.Add(p, rep.Field(i).Offset)
		switch f.Type().Underlying().(type) {
		case *types.Struct:
			if f.Anonymous() {
				out = append(out, fieldsOf(in, f.Type(), q)...)
				continue
			}
			field.Value = boxed(in, types.NewPointer(f.Type()), unsafe.Pointer(&q))
		case *types.Pointer, *types.Interface, *types.Slice, *types.Array, *types.Map:
			if field.Value = boxed(in, f.Type(), q); field.Value == nil {
				continue
			}
		default:
			continue
		}
		out = append(out, field)
	}
	return out
}

func elements(in *Interp, t types.Type, n int, at func(int) unsafe.Pointer) []torch.Field {
	var out []torch.Field
	for i := range n {
		if v := boxed(in, t, at(i)); v != nil {
			out = append(out, torch.Field{Name: strconv.Itoa(i), Value: v})
		}
	}
	return out
}

func entries(in *Interp, t *types.Map, m reflect.Value) []torch.Field {
	if b, ok := t.Key().Underlying().(*types.Basic); !ok || b.Info()&types.IsString == 0 {
		return nil
	}
	var out []torch.Field
	for _, k := range m.MapKeys() {
		v := reflect.New(m.Type().Elem())
		v.Elem().Set(m.MapIndex(k))
		if v := boxed(in, t.Elem(), v.UnsafePointer()); v != nil {
			out = append(out, torch.Field{Name: k.String(), Value: v})
		}
	}
	slices.SortFunc(out, func(a, b torch.Field) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// boxed is the value of type t at p inside an interface, as the program would
// put it there; nil for nil pointers too, since absent parts are left out.
func boxed(in *Interp, t types.Type, p unsafe.Pointer) any {
	var v any
	if _, isIface := t.Underlying().(*types.Interface); isIface {
		dyn, q := in.Dynamic(t, p)
		if dyn == nil {
			return nil
		}
		t, p = dyn, q
	}
	if _, isPointer := t.Underlying().(*types.Pointer); isPointer && *(*unsafe.Pointer)(p) == nil {
		return nil
	}
	in.MakeInterface(unsafe.Pointer(&v), types.Universe.Lookup("any").Type(), t, p)
	return v
}
