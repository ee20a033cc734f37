package tracer

import (
	"fmt"
	"go/types"
	"reflect"
	"slices"
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
	Took     time.Duration
	Compiled bool // something was compiled in it
	Raised   bool // it ended by a panic
	// Results are what it returned; Unused says that the program takes none of it.
	Results []Leaf
	Unused  bool
}

// Leaf is a tensor, or a number, text or flag, within the results of a call.
type Leaf struct {
	Path  string // "[1].Logits"
	Value any    // *torch.Tensor, or what fmt prints
}

// watch runs a call and tells of it where it is an outermost one.
func (t *Tracer) watch(c *Compiled, th *host.Thread, f *host.Frame) bool {
	if _, inner := t.watched.LoadOrStore(th, true); inner {
		return c.run(th, f)
	}
	t.mark(c, f)
	caller, at := f.Caller, f.Result()
	call := Call{Function: c.name(), Raised: true}
	compiles, start := t.compiles.Load(), time.Now()
	defer func() {
		t.watched.Delete(th)
		call.Compiled = t.compiles.Load() != compiles
		t.cfg.Called(&call)
	}()
	if !c.run(th, f) {
		th.Run(caller) // the interpreter goes on with the frames
	}
	call.Took, call.Raised = time.Since(start), false
	call.Results, call.Unused = t.leaves(c, at)
	return true
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
			x.SetDynamic(torch.DimDynamic, m.Dim)
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
	case res.Len() == 1:
		return t.walk(out, "", res.At(0).Type(), p, 0), false
	}
	offs := t.in.TupleOffsets(res)
	for i := range res.Len() {
		out = t.walk(out, fmt.Sprintf("[%d]", i), res.At(i).Type(), unsafe.Add(p, offs[i]), 0)
	}
	return out, false
}

// walk appends the leaves of the value of type typ at p.
func (t *Tracer) walk(out []Leaf, path string, typ types.Type, p unsafe.Pointer, depth int) []Leaf {
	if len(out) >= maxLeaves || depth > 4 || p == nil {
		return out
	}
	if value.TypeName(typ) == "*torch.Tensor" {
		if x := *(**torch.Tensor)(p); x != nil {
			return append(out, Leaf{path, x})
		}
		return append(out, Leaf{path, "nil"})
	}
	rep := t.in.Rep(typ)
	switch u := typ.Underlying().(type) {
	case *types.Basic:
		if u.Kind() != types.UnsafePointer && u.Kind() != types.Uintptr {
			out = append(out, Leaf{path, reflect.NewAt(rep, p).Elem().Interface()})
		}
	case *types.Pointer:
		if q := *(*unsafe.Pointer)(p); q != nil {
			return t.walk(out, path, u.Elem(), q, depth+1)
		}
		out = append(out, Leaf{path, "nil"})
	case *types.Interface:
		if dyn, q := t.in.Dynamic(typ, p); dyn != nil {
			return t.walk(out, path, dyn, q, depth+1)
		}
		out = append(out, Leaf{path, "nil"})
	case *types.Struct:
		for i := range u.NumFields() {
			out = t.walk(out, path+"."+u.Field(i).Name(), u.Field(i).Type(), unsafe.Add(p, rep.Field(i).Offset), depth+1)
		}
	case *types.Slice:
		v := reflect.NewAt(rep, p).Elem()
		for i := range min(v.Len(), maxLeaves) {
			out = t.walk(out, fmt.Sprintf("%s[%d]", path, i), u.Elem(), v.Index(i).Addr().UnsafePointer(), depth+1)
		}
	case *types.Array:
		size := t.in.Rep(u.Elem()).Size()
		for i := range min(int(u.Len()), maxLeaves) {
			out = t.walk(out, fmt.Sprintf("%s[%d]", path, i), u.Elem(), unsafe.Add(p, uintptr(i)*size), depth+1)
		}
	case *types.Map:
		if _, basic := u.Key().Underlying().(*types.Basic); basic {
			out = t.walkMap(out, path, u, reflect.NewAt(rep, p).Elem(), depth)
		}
	}
	return out
}

// walkMap appends the leaves of a map's values in the order of its keys.
func (t *Tracer) walkMap(out []Leaf, path string, u *types.Map, v reflect.Value, depth int) []Leaf {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		x, y := fmt.Sprint(a), fmt.Sprint(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for _, k := range keys {
		elem := reflect.New(v.Type().Elem())
		elem.Elem().Set(v.MapIndex(k))
		out = t.walk(out, fmt.Sprintf("%s[%v]", path, k), u.Elem(), elem.UnsafePointer(), depth+1)
	}
	return out
}
