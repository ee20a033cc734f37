package tracer

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"
)

// This file is what a trial of a remedy needs: settings that override the program's own,
// and the results of the outermost calls of compiled functions.

// Override replaces what a program asks of torch.Compile. Zero fields leave it alone.
type Override struct {
	Backend string
	Mode    string
	// Dynamic is "true", "false" or "auto".
	Dynamic        string
	RecompileLimit int
	Off            bool // nothing is compiled
	Marks          []Mark
}

// Mark is a size of an argument that is dynamic from the first call on.
type Mark struct {
	Function string // as the trace names it
	Name     string // of a parameter
	Dim      int
}

// apply changes the options of one torch.Compile.
func (v *Override) apply(o *options) {
	if v == nil {
		return
	}
	if v.Backend != "" {
		o.backend, o.named = nil, v.Backend
	}
	if v.Mode != "" {
		o.mode = v.Mode
	}
	switch v.Dynamic {
	case "true":
		o.dynamic = dynamicAlways
	case "false":
		o.dynamic = dynamicNever
	case "auto":
		o.dynamic = dynamicAuto
	}
	if v.RecompileLimit > 0 {
		o.limit = v.RecompileLimit
	}
}

// Call is an outermost call of a compiled function that has ended.
type Call struct {
	Function string
	Thread   *host.Thread
	Took     time.Duration
	Compiled bool // something was compiled in it
	Raised   bool // it ended by a panic
	// Results are what it returned; Unused says that the program takes none of it.
	Results []Leaf
	Unused  bool
	// State are the tensors that it can reach, and their gradients; More says that there are more.
	State []StateLeaf
	More  bool
}

// Leaf is a tensor, or a number, text or flag, within the results of a call.
type Leaf struct {
	Path  string // "[1].Logits"
	Value any    // *torch.Tensor, or what fmt prints
}

// watch runs a call and tells of it where it is an outermost one.
func (t *Tracer) watch(c *Compiled, th *host.Thread, f *host.Frame) bool {
	of := t.goroutine(th)
	if _, inner := t.watched.LoadOrStore(of, true); inner {
		return (t.cfg.Override == nil || !t.cfg.Override.Off) && c.run(th, f)
	}
	t.mark(c, f)
	caller, at := f.Caller, f.Result()
	call := Call{Function: c.name(), Thread: of, Raised: true}
	var reach *reached
	if t.cfg.Recording == nil || t.cfg.Recording() {
		reach = t.reach(c, f)
	}
	if t.cfg.Calling != nil {
		t.cfg.Calling(th, reach.tensors())
	}
	compiles, start := t.compiles.Load(), time.Now()
	defer func() {
		t.watched.Delete(of)
		call.Compiled = t.compiles.Load() != compiles
		call.State, call.More = reach.state()
		t.cfg.Called(&call)
	}()
	if t.cfg.Override != nil && t.cfg.Override.Off || !c.run(th, f) {
		th.Run(caller) // the interpreter goes on with the frames
	}
	call.Took, call.Raised = time.Since(start), false
	call.Results, call.Unused = t.leaves(c, at)
	return true
}

// goroutine stands for the goroutine that th runs on: what native code calls back, as torch.NoGrad does, has a
// thread of its own.
func (t *Tracer) goroutine(th *host.Thread) *host.Thread {
	if th.CalledBack() {
		if of := host.ThreadOf(t.in); of != nil {
			return of
		}
	}
	return th
}

// mark marks the sizes of the arguments of f that the override names.
func (t *Tracer) mark(c *Compiled, f *host.Frame) {
	if t.cfg.Override == nil {
		return
	}
	for _, m := range t.cfg.Override.Marks {
		if m.Function != c.name() {
			continue
		}
		for _, p := range c.fn.Params {
			if p.Name() != m.Name || value.TypeName(p.Type()) != "*torch.Tensor" {
				continue
			}
			x := *(**torch.Tensor)(f.Addr(p))
			if x == nil || m.Dim >= x.Dim() || m.Dim < -x.Dim() {
				continue
			}
			x.SetDynamic(torch.DimMaybe, m.Dim)
			t.cfg.Marked(m)
		}
	}
}

// maxLeaves bounds what is told of one call.
const maxLeaves = 256

// leaves lists the results at p of a call of c.
func (t *Tracer) leaves(c *Compiled, p unsafe.Pointer) (out []Leaf, unused bool) {
	res := c.fn.Signature.Results()
	switch {
	case res.Len() == 0:
		return nil, false
	case p == nil:
		return nil, true
	}
	w := &walker{t: t, most: maxLeaves, deep: 4}
	if res.Len() == 1 {
		w.walk("", res.At(0).Type(), p, 0)
		return w.out, false
	}
	offs := t.in.TupleOffsets(res)
	for i := range res.Len() {
		w.walk(fmt.Sprintf("[%d]", i), res.At(i).Type(), unsafe.Add(p, offs[i]), 0)
	}
	return w.out, false
}

// walker lists the leaves of values.
type walker struct {
	t          *Tracer
	most, deep int
	// tensors says that tensors alone are wanted, each once.
	tensors bool
	// busy says that a map was left out, which another goroutine was writing.
	busy bool
	seen map[unsafe.Pointer]bool
	out  []Leaf
}

func (w *walker) add(path string, value any) {
	if x, ok := value.(*torch.Tensor); ok && w.tensors {
		if w.seen[unsafe.Pointer(x)] {
			return
		}
		w.seen[unsafe.Pointer(x)] = true
	} else if w.tensors {
		return
	}
	w.out = append(w.out, Leaf{path, value})
}

// walk appends the leaves of the value of type typ at p.
func (w *walker) walk(path string, typ types.Type, p unsafe.Pointer, depth int) {
	if len(w.out) >= w.most || depth > w.deep || p == nil {
		return
	}
	if value.TypeName(typ) == "*torch.Tensor" {
		if x := *(**torch.Tensor)(p); x != nil {
			w.add(path, x)
			return
		}
		w.add(path, "nil")
		return
	}
	if w.tensors && w.t.foreign(typ) {
		return
	}
	rep := w.t.in.Rep(typ)
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		if u.Kind() != types.UnsafePointer && u.Kind() != types.Uintptr {
			w.add(path, reflect.NewAt(rep, p).Elem().Interface())
		}
	case *types.Pointer:
		w.pointer(path, u, *(*unsafe.Pointer)(p), depth)
	case *types.Interface:
		if dyn, q := w.t.in.Dynamic(typ, p); dyn != nil {
			w.walk(path, dyn, q, depth+1)
			return
		}
		w.add(path, "nil")
	case *types.Struct:
		for i := range u.NumFields() {
			w.walk(path+"."+u.Field(i).Name(), u.Field(i).Type(), unsafe.Add(p, rep.Field(i).Offset), depth+1)
		}
	case *types.Slice:
		v := reflect.NewAt(rep, p).Elem()
		for i := range min(v.Len(), w.most) {
			w.walk(fmt.Sprintf("%s[%d]", path, i), u.Elem(), v.Index(i).Addr().UnsafePointer(), depth+1)
		}
	case *types.Array:
		size := w.t.in.Rep(u.Elem()).Size()
		for i := range min(int(u.Len()), w.most) {
			w.walk(fmt.Sprintf("%s[%d]", path, i), u.Elem(), unsafe.Add(p, uintptr(i)*size), depth+1)
		}
	case *types.Map:
		if _, basic := u.Key().Underlying().(*types.Basic); basic && (!w.tensors || w.once(*(*unsafe.Pointer)(p))) {
			w.walkMap(path, u, reflect.NewAt(rep, p).Elem(), depth)
		}
	}
}

// pointer appends the leaves of what a pointer leads to.
func (w *walker) pointer(path string, u *types.Pointer, q unsafe.Pointer, depth int) {
	switch {
	case q == nil:
		w.add(path, "nil")
	case w.tensors && !w.once(q):
	default:
		w.walk(path, u.Elem(), q, depth+1)
	}
}

// once reports whether a map, or what a pointer leads to, was not seen yet.
func (w *walker) once(q unsafe.Pointer) bool {
	if q == nil || w.seen[q] {
		return false
	}
	w.seen[q] = true
	return true
}

// walkMap appends the leaves of a map's values in the order of its keys. They are copied while no code of the
// program writes the map.
func (w *walker) walkMap(path string, u *types.Map, v reflect.Value, depth int) {
	var keys []reflect.Value
	elems := map[string]unsafe.Pointer{}
	if !host.ReadMap(w.t.in, v.UnsafePointer(), func() {
		keys = v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		keys = keys[:min(len(keys), w.most)]
		for _, k := range keys {
			x := v.MapIndex(k)
			if !x.IsValid() { // NaN
				continue
			}
			elem := reflect.New(v.Type().Elem())
			elem.Elem().Set(x)
			elems[fmt.Sprint(k)] = elem.UnsafePointer()
		}
	}) {
		w.busy = true
		return
	}
	for _, k := range keys {
		w.walk(fmt.Sprintf("%s[%v]", path, k), u.Elem(), elems[fmt.Sprint(k)], depth+1)
	}
}
