package host

import (
	"fmt"
	"go/types"
	"io"
	"reflect"
	"sort"
	"strings"
	"unsafe"

	"tcdbg/tracer/host/rt"
)

// This file prints values of the program's types as package fmt does: their
// methods are interpreted and their names stand in types.Type.

var errorType = types.Universe.Lookup("error").Type()

func pointerElem(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return nil
}

// TypeName implements rt.Owner.
func (in *Interp) TypeName(b rt.Boxed) string { return typeString(b.T.Type) }

// Format implements rt.Owner.
func (in *Interp) Format(b rt.Boxed, s fmt.State, verb rune) {
	ti := in.info(b.T.Type)
	p := printer{in: in, s: s, verb: verb, plus: s.Flag('+'), sharp: s.Flag('#')}
	var v any = b
	p.value(ti, content(&v, ti), 0)
}

type printer struct {
	in          *Interp
	s           fmt.State
	verb        rune
	plus, sharp bool
}

func (p *printer) text(s string) { _, _ = io.WriteString(p.s, s) }

// native prints one leaf with fmt itself.
func (p *printer) native(v any) { fmt.Fprintf(p.s, fmt.FormatString(p.s, p.verb), v) }

// methods prints by Format, GoString, Error or String, if the type has one that
// the verb asks for.
func (p *printer) methods(ti *typeInfo, addr unsafe.Pointer) (handled bool) {
	if ti.exact || ti.iface {
		return false
	}
	b, ok := ti.box(addr).(rt.Boxed)
	if !ok {
		return false
	}
	in := p.in
	if m := in.methodOf(ti, "Format", nil); m != nil && m.sig.Params().Len() == 2 && m.sig.Params().At(0).Type().String() == "fmt.State" {
		defer p.guard(ti, addr, "Format")
		in.CallMethod(b, "Format", []unsafe.Pointer{unsafe.Pointer(&p.s), unsafe.Pointer(&p.verb)}, nil)
		return true
	}
	if p.sharp && p.verb == 'v' {
		if in.stringMethod(b, "GoString") {
			p.text(p.call(ti, addr, b, "GoString"))
			return true
		}
		return false
	}
	if !strings.ContainsRune("vsxXq", p.verb) {
		return false
	}
	for _, name := range []string{"Error", "String"} {
		if in.stringMethod(b, name) {
			if s, ok := p.tryCall(ti, addr, b, name); ok {
				p.native(s)
			}
			return true
		}
	}
	return false
}

func (p *printer) call(ti *typeInfo, addr unsafe.Pointer, b rt.Boxed, name string) string {
	s, _ := p.tryCall(ti, addr, b, name)
	return s
}

func (p *printer) tryCall(ti *typeInfo, addr unsafe.Pointer, b rt.Boxed, name string) (s string, ok bool) {
	defer p.guard(ti, addr, name)
	p.in.CallMethod(b, name, nil, unsafe.Pointer(&s))
	return s, true
}

// guard prints a panic of a method as fmt does.
func (p *printer) guard(ti *typeInfo, addr unsafe.Pointer, method string) {
	r := recover()
	if r == nil {
		return
	}
	if ti.class == clsPtr && *(*unsafe.Pointer)(addr) == nil {
		p.text("<nil>")
		return
	}
	switch r := r.(type) {
	case *nativePanic:
		if r.rec.goexit {
			panic(r)
		}
	case unsupported:
		panic(r)
	}
	fmt.Fprintf(p.s, "%%!%c(PANIC=%s method: %v)", p.verb, method, panicValue(r))
}

// value prints the value of type ti at addr.
func (p *printer) value(ti *typeInfo, addr unsafe.Pointer, depth int) {
	if p.verb == 'T' {
		p.text(typeString(ti.T))
		return
	}
	if p.verb == 'p' {
		p.native(*(*unsafe.Pointer)(addr))
		return
	}
	if ti.exact && !ti.iface {
		p.native(ti.value(addr).Interface())
		return
	}
	if p.methods(ti, addr) {
		return
	}
	switch t := ti.T.Underlying().(type) {
	case *types.Basic:
		p.basic(ti, addr)
	case *types.Struct:
		p.structure(ti, t, addr, depth)
	case *types.Map:
		p.mapping(ti, t, addr, depth)
	case *types.Interface:
		v := ti.readIface(addr)
		if v == nil {
			if p.sharp {
				p.text(typeString(ti.T) + "(nil)")
			} else {
				p.text("<nil>")
			}
			return
		}
		d := p.in.dynamicInfo(v)
		if d.exact {
			p.native(v)
			return
		}
		p.value(d, content(&v, d), depth+1)
	case *types.Slice:
		h := (*sliceHeader)(addr)
		p.list(ti, t.Elem(), h.data, h.len, depth, h.data == nil)
	case *types.Array:
		p.list(ti, t.Elem(), addr, int(t.Len()), depth, false)
	case *types.Pointer:
		p.pointer(ti, t, addr, depth)
	default:
		p.address(ti, *(*unsafe.Pointer)(addr), depth)
	}
}

// basic prints a value of a defined basic type: its kind decides.
func (p *printer) basic(ti *typeInfo, addr unsafe.Pointer) {
	if ti.R == tyPointer {
		p.address(ti, *(*unsafe.Pointer)(addr), 1)
		return
	}
	p.native(ti.value(addr).Interface())
}

func (p *printer) structure(ti *typeInfo, t *types.Struct, addr unsafe.Pointer, depth int) {
	if p.sharp {
		p.text(typeString(ti.T))
	}
	p.text("{")
	for i := range t.NumFields() {
		if i > 0 {
			if p.sharp {
				p.text(", ")
			} else {
				p.text(" ")
			}
		}
		if p.plus || p.sharp {
			p.text(t.Field(i).Name() + ":")
		}
		p.field(t.Field(i), unsafe.Add(addr, ti.R.Field(i).Offset), depth)
	}
	p.text("}")
}

// field prints a field; fmt does not call methods of unexported ones.
func (p *printer) field(f *types.Var, addr unsafe.Pointer, depth int) {
	ti := p.in.info(f.Type())
	if f.Exported() {
		p.value(ti, addr, depth+1)
		return
	}
	q := *p
	q.hidden(ti, addr, depth+1)
}

func (p *printer) hidden(ti *typeInfo, addr unsafe.Pointer, depth int) {
	switch t := ti.T.Underlying().(type) {
	case *types.Basic:
		if ti.R == tyPointer {
			p.address(ti, *(*unsafe.Pointer)(addr), 1)
			return
		}
		p.native(reflect.NewAt(basicTypes[kindOf(t)], addr).Elem().Interface())
	case *types.Struct:
		if ti.exact {
			p.hiddenNative(ti, addr)
			return
		}
		p.structure(ti, t, addr, depth)
	case *types.Interface:
		v := ti.readIface(addr)
		if v == nil {
			p.text("<nil>")
			return
		}
		d := p.in.dynamicInfo(v)
		p.hidden(d, content(&v, d), depth)
	case *types.Pointer:
		p.pointer(ti, t, addr, max(depth, 1))
	case *types.Slice:
		h := (*sliceHeader)(addr)
		p.list(ti, t.Elem(), h.data, h.len, depth, h.data == nil)
	case *types.Array:
		p.list(ti, t.Elem(), addr, int(t.Len()), depth, false)
	case *types.Map:
		p.mapping(ti, t, addr, depth)
	default:
		p.address(ti, *(*unsafe.Pointer)(addr), depth)
	}
}

// hiddenNative prints a native struct without its methods: as a field that is
// not exported.
func (p *printer) hiddenNative(ti *typeInfo, addr unsafe.Pointer) {
	wrapped := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "v", PkgPath: "main", Type: ti.R}})).Elem()
	reflect.NewAt(ti.R, wrapped.Field(0).Addr().UnsafePointer()).Elem().Set(ti.value(addr))
	s := fmt.Sprintf(fmt.FormatString(p.s, p.verb), wrapped.Interface())
	s = strings.TrimSuffix(strings.TrimPrefix(s, "{"), "}")
	p.text(strings.TrimPrefix(s, "v:"))
}

func (p *printer) list(ti *typeInfo, elem types.Type, data unsafe.Pointer, n, depth int, isNil bool) {
	e := p.in.info(elem)
	if e.R.Kind() == reflect.Uint8 && strings.ContainsRune("sqxX", p.verb) && n > 0 {
		p.native(unsafe.Slice((*byte)(data), n))
		return
	}
	open, sep, end := "[", " ", "]"
	if p.sharp {
		if isNil {
			p.text(typeString(ti.T) + "(nil)")
			return
		}
		open, sep, end = typeString(ti.T)+"{", ", ", "}"
	}
	p.text(open)
	for i := range n {
		if i > 0 {
			p.text(sep)
		}
		p.value(e, unsafe.Add(data, uintptr(i)*e.size), depth+1)
	}
	p.text(end)
}

func (p *printer) mapping(ti *typeInfo, t *types.Map, addr unsafe.Pointer, depth int) {
	k, e := p.in.info(t.Key()), p.in.info(t.Elem())
	m := *(*unsafe.Pointer)(addr)
	v := asMap(reflect.MapOf(k.R, e.R), &m)
	open, sep, end := "map[", " ", "]"
	if p.sharp {
		open, sep, end = typeString(ti.T)+"{", ", ", "}"
		if m == nil {
			p.text(typeString(ti.T) + "(nil)")
			return
		}
	}
	p.text(open)
	keys := v.MapKeys()
	sort.SliceStable(keys, func(i, j int) bool { return lessKey(keys[i], keys[j]) })
	for i, key := range keys {
		if i > 0 {
			p.text(sep)
		}
		kp, vp := k.alloc(), e.alloc()
		k.value(kp).Set(key)
		e.value(vp).Set(v.MapIndex(key))
		p.value(k, kp, depth+1)
		p.text(":")
		p.value(e, vp, depth+1)
	}
	p.text(end)
}

// lessKey orders map keys as fmt does.
func lessKey(a, b reflect.Value) bool {
	switch {
	case a.CanInt():
		return a.Int() < b.Int()
	case a.CanUint():
		return a.Uint() < b.Uint()
	case a.CanFloat():
		return a.Float() < b.Float()
	case a.Kind() == reflect.String:
		return a.String() < b.String()
	case a.Kind() == reflect.Bool:
		return !a.Bool() && b.Bool()
	case a.Kind() == reflect.Interface && !a.IsNil() && !b.IsNil():
		x, y := reflect.ValueOf(plain(a.Interface())), reflect.ValueOf(plain(b.Interface()))
		return x.Kind() == y.Kind() && lessKey(x, y)
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if lessKey(a.Field(i), b.Field(i)) {
				return true
			}
			if lessKey(b.Field(i), a.Field(i)) {
				return false
			}
		}
	case a.Kind() == reflect.Array:
		for i := range a.Len() {
			if lessKey(a.Index(i), b.Index(i)) {
				return true
			}
			if lessKey(b.Index(i), a.Index(i)) {
				return false
			}
		}
	}
	return false
}

func (p *printer) pointer(ti *typeInfo, t *types.Pointer, addr unsafe.Pointer, depth int) {
	q := *(*unsafe.Pointer)(addr)
	if depth == 0 && q != nil {
		switch t.Elem().Underlying().(type) {
		case *types.Array, *types.Slice, *types.Struct, *types.Map:
			p.text("&")
			p.value(p.in.info(t.Elem()), q, depth+1)
			return
		}
	}
	p.address(ti, q, depth)
}

func (p *printer) address(ti *typeInfo, q unsafe.Pointer, depth int) {
	switch {
	case p.verb == 'v' && p.sharp:
		if q == nil {
			p.text("(" + typeString(ti.T) + ")(nil)")
		} else {
			p.text(fmt.Sprintf("(%s)(%#x)", typeString(ti.T), uintptr(q)))
		}
	case p.verb == 'v' && q == nil:
		p.text("<nil>")
	default:
		if p.verb == 'v' {
			p.text(fmt.Sprintf("%#x", uintptr(q)))
		} else {
			p.native(uintptr(q))
		}
	}
}
