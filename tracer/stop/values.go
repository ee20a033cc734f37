package stop

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/torch"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"
)

// This file shows values of the program. Nothing of it runs: methods like String are
// not called, memory is only read. The exception is the message of an error of compiled
// code.

// What is shown at most.
const (
	maxText   = 400 // characters of a text
	maxLine   = 120 // of a line that sums up a container
	maxItems  = 50  // of one container
	maxDepth  = 4   // containers in each other
	maxValues = 600 // values of one variable
	sortBelow = 2000
)

// show makes values of the memory of one stop.
type show struct {
	in *host.Interp
	// fake is what a trace knows of a tensor, nil outside of one.
	fake func(*torch.Tensor) *logs.TensorValue
	// maps may be read: no goroutine writes them.
	maps bool
	// seen, where set, are the tensors whose elements are in the digest bytes.
	seen  map[*torch.Tensor]bool
	bytes uint64
}

// walk is one variable being shown.
type walk struct {
	*show
	left int
	path map[seen]bool // what the value is inside of
}

type seen struct {
	p unsafe.Pointer
	t types.Type
}

func (s *show) local(l local) logs.Value {
	if l.unknown != "" {
		return logs.Value{Name: l.obj.Name(), Arg: l.arg, Type: value.TypeName(l.typ), Unknown: l.unknown}
	}
	v := s.value(l.obj.Name(), l.typ, l.addr)
	v.Arg = l.arg
	return v
}

// value shows the value of type t at p.
func (s *show) value(name string, t types.Type, p unsafe.Pointer) logs.Value {
	w := &walk{show: s, left: maxValues, path: map[seen]bool{}}
	v := w.value(t, p, 0)
	v.Name = name
	return v
}

// value shows one value. What panics, because memory of compiled code is not laid out as
// its type says, is unknown.
func (w *walk) value(t types.Type, p unsafe.Pointer, depth int) (v logs.Value) {
	w.left--
	v.Type = value.TypeName(t)
	defer func() {
		if r := recover(); r != nil {
			v = logs.Value{Type: value.TypeName(t), Unknown: fmt.Sprintf("cannot be read: %v", r)}
		}
	}()
	if text, ok := known(t, p); ok {
		v.Text = text
		return v
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		v.Text, v.More = basic(w.in.Rep(t), p)
	case *types.Pointer:
		w.pointer(&v, t, u, p, depth)
	case *types.Struct:
		w.structure(&v, t, u, p, depth)
	case *types.Slice:
		h := (*value.SliceHeader)(p)
		if h.Data == nil && h.Len == 0 {
			v.Text = "nil"
			return v
		}
		w.list(&v, u.Elem(), h.Data, h.Len, depth)
	case *types.Array:
		w.list(&v, u.Elem(), p, int(u.Len()), depth)
	case *types.Map:
		w.table(&v, t, u, p, depth)
	case *types.Interface:
		w.iface(&v, t, p, depth)
	case *types.Signature:
		v.Text = w.function(p)
	case *types.Chan:
		c := reflect.NewAt(w.in.Rep(t), p).Elem()
		if v.Text = "nil"; !c.IsNil() {
			v.Text = fmt.Sprintf("%d of %d", c.Len(), c.Cap())
		}
	default:
		v.Unknown = "a value of the compiler's own"
	}
	return v
}

// known are types of compiled code that have a text of their own.
func known(t types.Type, p unsafe.Pointer) (string, bool) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return "", false
	}
	switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
	case "time.Duration":
		return (*(*time.Duration)(p)).String(), true
	case "time.Time":
		return (*(*time.Time)(p)).Format(time.RFC3339Nano), true
	case "tcdbg/ops.DType", "tcdbg/torch.DType":
		return (*(*torch.DType)(p)).String(), true
	case "tcdbg/ops.Device", "tcdbg/torch.Device":
		return string(*(*torch.Device)(p)), true
	}
	return "", false
}

// basic prints a number, bool or string; more is how many bytes of it were left out.
func basic(r reflect.Type, p unsafe.Pointer) (text string, more int) {
	v := reflect.NewAt(r, p).Elem()
	switch r.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), 0
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), 0
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return strconv.FormatUint(v.Uint(), 10), 0
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, r.Bits()), 0
	case reflect.Complex64, reflect.Complex128:
		return strconv.FormatComplex(v.Complex(), 'g', -1, r.Bits()), 0
	case reflect.String:
		s := v.String()
		cut := s
		if len(cut) > maxText {
			cut = cut[:maxText]
		}
		for len(strconv.Quote(cut)) > maxText {
			cut = cut[:len(cut)-max(1, (len(strconv.Quote(cut))-maxText)/6)]
		}
		for len(cut) < len(s) && len(cut) > 0 && !utf8.RuneStart(s[len(cut)]) {
			cut = cut[:len(cut)-1]
		}
		return strconv.Quote(cut), len(s) - len(cut)
	case reflect.UnsafePointer:
		if v.IsNil() {
			return "nil", 0
		}
		return fmt.Sprintf("%#x", v.Pointer()), 0
	}
	return fmt.Sprint(v), 0
}

func (w *walk) pointer(v *logs.Value, t types.Type, u *types.Pointer, p unsafe.Pointer, depth int) {
	q := *(*unsafe.Pointer)(p)
	if q == nil {
		v.Text = "nil"
		return
	}
	if isTensor(u.Elem()) {
		w.tensor(v, (*torch.Tensor)(q))
		return
	}
	w.inside(v, seen{q, u.Elem()}, depth, func() {
		to := w.value(u.Elem(), q, depth)
		if _, isStruct := u.Elem().Underlying().(*types.Struct); isStruct {
			v.Items, v.More, v.Unknown = to.Items, to.More, to.Unknown
		} else {
			to.Name = "*"
			v.Items = []logs.Value{to}
		}
		if to.Text != "" {
			v.Text = clip("&" + to.Text)
		}
	})
}

// inside shows what a container holds, unless it holds itself or lies too deep.
func (w *walk) inside(v *logs.Value, at seen, depth int, f func()) {
	switch {
	case w.path[at]:
		v.Text = "(what it is inside of)"
		return
	case depth >= maxDepth || w.left <= 0:
		v.Text = "..."
		return
	}
	w.path[at] = true
	defer delete(w.path, at)
	f()
}

func isTensor(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Tensor" && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "tcdbg/torch"
}

func (w *walk) tensor(v *logs.Value, t *torch.Tensor) {
	if w.fake != nil {
		v.Fake = w.fake(t)
	}
	v.Tensor = tensorValue(t)
	w.look(t)
	v.Text = tensorText(v.Tensor)
	if t.Fake() != nil {
		v.Fake, v.Tensor = cmpFake(v.Fake, v.Tensor), nil
		v.Text = tensorText(v.Fake)
		v.Unknown = "computed when the graph runs"
	}
}

func cmpFake(known, made *logs.TensorValue) *logs.TensorValue {
	if known != nil {
		return known
	}
	return made
}

func tensorText(t *logs.TensorValue) string {
	return "tensor " + t.Dtype + "[" + strings.Join(t.Shape, ", ") + "]"
}

func (w *walk) structure(v *logs.Value, t types.Type, u *types.Struct, p unsafe.Pointer, depth int) {
	r := w.in.Rep(t)
	if r.Kind() != reflect.Struct || r.NumField() != u.NumFields() {
		v.Unknown = "a value of compiled code"
		return
	}
	n := u.NumFields()
	if n > 0 && (depth >= maxDepth || w.left <= 0) {
		v.Text = "{...}"
		return
	}
	for i := range min(n, maxItems) {
		f := w.value(u.Field(i).Type(), unsafe.Add(p, r.Field(i).Offset), depth+1)
		f.Name = u.Field(i).Name()
		v.Items = append(v.Items, f)
	}
	v.More = n - len(v.Items)
	v.Text = sum("{", v, "}", func(x *logs.Value) string { return x.Name + ": " + x.Text })
}

func (w *walk) list(v *logs.Value, elem types.Type, data unsafe.Pointer, n, depth int) {
	w.inside(v, seen{data, elem}, depth, func() {
		size := w.in.Rep(elem).Size()
		for i := range min(n, maxItems) {
			if w.left <= 0 {
				break
			}
			x := w.value(elem, unsafe.Add(data, uintptr(i)*size), depth+1)
			x.Name = strconv.Itoa(i)
			v.Items = append(v.Items, x)
		}
		v.More = n - len(v.Items)
		v.Text = sum("[", v, "]", func(x *logs.Value) string { return x.Text })
	})
	if v.Text == "..." {
		v.Text, v.More = "[...]", n
	}
}

// sum is a container in one line.
func sum(open string, v *logs.Value, end string, item func(*logs.Value) string) string {
	var sb strings.Builder
	sb.WriteString(open)
	for i := range v.Items {
		if i > 0 {
			sb.WriteString(", ")
		}
		text := item(&v.Items[i])
		if v.Items[i].Unknown != "" && v.Items[i].Text == "" {
			text += "?"
		}
		if sb.Len()+len(text) > maxLine {
			return sb.String() + "..." + end
		}
		sb.WriteString(text)
	}
	if v.More > 0 {
		sb.WriteString(", ...")
	}
	return sb.String() + end
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	s = s[:maxText-3]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "..."
}

func (w *walk) table(v *logs.Value, t types.Type, u *types.Map, p unsafe.Pointer, depth int) {
	m := reflect.NewAt(w.in.Rep(t), p).Elem()
	switch {
	case m.IsNil():
		v.Text = "nil"
		return
	case !w.maps:
		v.Text, v.More = fmt.Sprintf("map of %d", m.Len()), m.Len()
		v.Unknown = "another goroutine is at work: a map is not read meanwhile"
		return
	}
	w.inside(v, seen{m.UnsafePointer(), t}, depth, func() {
		for _, k := range w.keys(m, u) {
			if w.left <= 0 || len(v.Items) == maxItems {
				break
			}
			val := reflect.New(m.Type().Elem())
			val.Elem().Set(m.MapIndex(k.key))
			x := w.value(u.Elem(), val.UnsafePointer(), depth+1)
			x.Name = k.text
			v.Items = append(v.Items, x)
		}
		v.More = m.Len() - len(v.Items)
		v.Text = sum("map[", v, "]", func(x *logs.Value) string { return x.Name + ": " + x.Text })
	})
	if v.Text == "..." {
		v.Text, v.More = "map[...]", m.Len()
	}
}

type key struct {
	key  reflect.Value
	text string
}

// keys are the keys of a map in order; of a very large one any first ones.
func (w *walk) keys(m reflect.Value, u *types.Map) []key {
	var out []key
	for it := m.MapRange(); it.Next(); {
		if m.Len() > sortBelow && len(out) == maxItems {
			break
		}
		k := reflect.New(m.Type().Key())
		k.Elem().Set(it.Key())
		inner := &walk{show: w.show, left: 20, path: map[seen]bool{}}
		out = append(out, key{k.Elem(), clip(inner.value(u.Key(), k.UnsafePointer(), maxDepth-1).Text)})
	}
	slices.SortFunc(out, func(a, b key) int {
		switch {
		case a.key.CanInt():
			return cmpOrdered(a.key.Int(), b.key.Int())
		case a.key.CanFloat():
			return cmpOrdered(a.key.Float(), b.key.Float())
		}
		return strings.Compare(a.text, b.text)
	})
	return out
}

func cmpOrdered[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (w *walk) iface(v *logs.Value, t types.Type, p unsafe.Pointer, depth int) {
	dyn, q := w.in.Dynamic(t, p)
	if dyn == nil {
		v.Text = "nil"
		return
	}
	static := v.Type
	*v = w.value(dyn, q, depth)
	v.Type = static + "(" + v.Type + ")"
	if text, ok := w.errorText(t, dyn, p); ok {
		v.Text, v.Items, v.More, v.Unknown = strconv.Quote(clip(text)), nil, 0, ""
	}
}

// errorText is the message of an error of compiled code.
func (w *walk) errorText(t, dyn types.Type, p unsafe.Pointer) (string, bool) {
	if ptr, ok := dyn.Underlying().(*types.Pointer); ok && !isNamed(dyn) {
		dyn = ptr.Elem()
	}
	n, ok := types.Unalias(dyn).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || w.in.Prog.FromSource(n.Obj().Pkg().Path()) {
		return "", false
	}
	err, ok := reflect.NewAt(w.in.Rep(t), p).Elem().Interface().(error)
	if !ok {
		return "", false
	}
	return err.Error(), true
}

func isNamed(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Named)
	return ok
}

// function is the name of the func value at p.
func (w *walk) function(p unsafe.Pointer) string {
	if *(*unsafe.Pointer)(p) == nil {
		return "nil"
	}
	if c := w.in.ClosureOf(p); c != nil {
		return value.FuncName(c.Fn)
	}
	return "a function of compiled code"
}
