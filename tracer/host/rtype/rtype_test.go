package rtype

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"text/template"
	"unsafe"
)

// makeConfig makes type Config struct { Name string `json:"name"`; hidden int;
// Kids []Config } with String and *Config.UnmarshalText.
func makeConfig(s *Slots) reflect.Type {
	layout := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[string]()},
		{Name: "B", Type: reflect.TypeFor[int]()},
		{Name: "C", Type: reflect.TypeFor[[]struct{}]()},
	})
	t := New(layout, "main.Config", "main", 1)
	p := t.PointerTo(2)
	r := t.Reflect()
	t.SetFields("main", []Field{
		{Name: "Name", Tag: `json:"name"`, Type: reflect.TypeFor[string](), Exported: true},
		{Name: "hidden", Type: reflect.TypeFor[int]()},
		{Name: "Kids", Type: reflect.SliceOf(r), Exported: true},
	})
	str := func(a []reflect.Value) []reflect.Value {
		runtime.GC()
		return []reflect.Value{reflect.ValueOf("cfg:" + *(*string)(a[0].UnsafePointer()))}
	}
	str2 := func(a []reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf("cfg:" + a[0].Field(0).String())}
	}
	ptrString := reflect.TypeFor[func(unsafe.Pointer) string]()
	sm := Method{Name: "String", Type: reflect.TypeFor[func() string](), Ifn: s.New(ptrString, str)}
	sm.Tfn = s.New(reflect.FuncOf([]reflect.Type{r}, []reflect.Type{reflect.TypeFor[string]()}, false), str2)
	t.SetMethods([]Method{sm})
	sm.Tfn = sm.Ifn
	p.SetMethods([]Method{sm, {
		Name: "Third", Type: reflect.TypeFor[func(a, b, c, d, e, f, g, h, i, j float64, s ...string) (string, error)](),
		Ifn: s.New(reflect.TypeFor[func(p unsafe.Pointer, a, b, c, d, e, f, g, h, i, j float64, s ...string) (string, error)](),
			func(a []reflect.Value) []reflect.Value {
				return []reflect.Value{
					reflect.ValueOf(fmt.Sprint(a[1].Float(), a[10].Float(), a[11])),
					reflect.ValueOf(errors.New("e")).Convert(reflect.TypeFor[error]()),
				}
			}),
	}})
	return r
}

func TestType(t *testing.T) {
	var s Slots
	defer s.Free()
	r := makeConfig(&s)
	if r.Name() != "Config" || r.PkgPath() != "main" || r.String() != "main.Config" || r.NumMethod() != 1 {
		t.Fatal(r, r.Name(), r.PkgPath(), r.NumMethod())
	}
	v := reflect.New(r)
	if err := json.Unmarshal([]byte(`{"name":"x","Kids":[{"name":"y"}]}`), v.Interface()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%v %T %s", v.Elem().Interface(), v.Interface(), v.Elem().Field(2).Index(0)); got != "cfg:x *main.Config cfg:y" {
		t.Error(got)
	}
	if str := v.Elem().Interface().(fmt.Stringer).String(); str != "cfg:x" {
		t.Error(str)
	}
	if str := reflect.ValueOf(v.Elem().Interface()).Method(0).Call(nil)[0].String(); str != "cfg:x" {
		t.Error(str)
	}
	if str := r.Method(0).Func.Call([]reflect.Value{v.Elem()})[0].String(); str != "cfg:x" {
		t.Error(str)
	}
	th, ok := v.Interface().(interface {
		Third(a, b, c, d, e, f, g, h, i, j float64, s ...string) (string, error)
	})
	if !ok {
		t.Fatal("interface")
	}
	for range 100 {
		if str, err := th.Third(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "u", "v"); str != "1 10 [u v]" || err.Error() != "e" {
			t.Error(str, err)
		}
	}
	var b strings.Builder
	if err := template.Must(template.New("").Parse(`{{range .Kids}}{{.Name}}={{.String}}{{end}}`)).Execute(&b,
		v.Interface()); err != nil || b.String() != "y=cfg:y" {
		t.Error(b.String(), err)
	}
	m := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), r))
	m.SetMapIndex(reflect.ValueOf("k"), v.Elem())
	runtime.GC()
	if got := fmt.Sprintf("%#v %T", m.Len(), m.Interface()); got != "1 map[string]main.Config" {
		t.Error(got)
	}
}

// TestSlots calls through the first, the last and many entry points, and
// takes more than there are, in turns.
func TestSlots(t *testing.T) {
	for round := range 3 {
		var s Slots
		for i := range numSlots - 10 {
			p := s.New(reflect.TypeFor[func(int) int](), func(a []reflect.Value) []reflect.Value {
				return []reflect.Value{reflect.ValueOf(int(a[0].Int()) + i)}
			})
			f := &p
			if got := (*(*func(int) int)(unsafe.Pointer(&f)))(round); got != i+round {
				t.Fatal(round, i, got)
			}
		}
		s.Free()
	}
}

type withMethods map[string]int

func (withMethods) One() int { return 1 }
func (withMethods) Two() int { return 2 }
func (withMethods) three()   {}

// TestLayout reads descriptors that the compiler made through the types of
// layout.go.
func TestLayout(t *testing.T) {
	withMethods.three(nil)
	type fields struct {
		A int8
		b *string //nolint:unused // its descriptor is read
		C [3]int  `k:"v"`
	}
	all := []reflect.Type{
		reflect.TypeFor[int](), reflect.TypeFor[*fields](), reflect.TypeFor[[]string](), reflect.TypeFor[[3]*int](),
		reflect.TypeFor[<-chan int](),
		reflect.TypeFor[map[string]fields](), reflect.TypeFor[func(int, ...string) error](), reflect.TypeFor[fields](),
		reflect.TypeFor[fmt.Stringer](), reflect.TypeFor[withMethods](),
	}
	for _, r := range all {
		h := headerOf(r)
		if h.size != r.Size() || int(h.align) != r.Align() || reflect.Kind(h.kind) != r.Kind() ||
			(h.equal != nil) != r.Comparable() || (h.tflag&flagNamed != 0) != (r.Name() != "") {
			t.Errorf("%s: header %+v", r, *h)
		}
		ok := true
		switch p := unsafe.Pointer(h); r.Kind() {
		case reflect.Pointer, reflect.Slice:
			ok = (*elemType)(p).elem == headerOf(r.Elem())
		case reflect.Array:
			a := (*arrayType)(p)
			ok = a.elem == headerOf(r.Elem()) && a.len == uintptr(r.Len()) && a.slice == headerOf(reflect.SliceOf(r.Elem()))
		case reflect.Chan:
			ok = (*chanType)(p).elem == headerOf(r.Elem()) && (*chanType)(p).dir == int(r.ChanDir())
		case reflect.Map:
			m := (*mapType)(p)
			ok = m.key == headerOf(r.Key()) && m.elem == headerOf(r.Elem()) && m.group != nil && m.hasher != nil &&
				m.groupSize == m.group.size
		case reflect.Func:
			f := (*funcType)(p)
			ok = int(f.in) == r.NumIn() && int(f.out&(1<<15-1)) == r.NumOut() && f.out>>15 == 1
		case reflect.Struct:
			s := (*structType)(p)
			ok = len(s.fields) == r.NumField()
			for i, f := range s.fields {
				ok = ok && f.offset == r.Field(i).Offset && f.typ == headerOf(r.Field(i).Type)
			}
		case reflect.Interface:
			ok = len((*interfaceType)(p).methods) == r.NumMethod()
		}
		if !ok {
			t.Errorf("%s: its parts are elsewhere", r)
		}
	}
	r := reflect.TypeFor[withMethods]()
	u := (*uncommon)(unsafe.Add(unsafe.Pointer(headerOf(r)), bodyOf(r.Kind()).Size()))
	if u.xcount != 2 || u.mcount < 2 || u.moff == 0 {
		t.Errorf("methods: %+v", *u)
	}
}
