package replay

import (
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is reconstructions: how each value that outlives a cache entry is made again on
// every run of it, from entry values, graph outputs and constants.

// Reconstruction writes a value of a fixed type.
type Reconstruction interface {
	write(m *run, dst unsafe.Pointer)
}

// run holds what reconstructions draw on during one run of a cache entry.
type run struct {
	in     *host.Interp
	entry  *guard.Addresses
	outs   []torch.Value
	cached *Entry
	objs   []unsafe.Pointer // new objects, by objects index
	clos   []*host.Closure
	maps   []unsafe.Pointer
	errs   map[*ErrorSpec]error
	// inputs and results are kept for the next call: the list of the graph's
	// inputs, and places for the values that the cache entry returns.
	inputs  []torch.Value
	results []unsafe.Pointer
}

// takeMaker returns a maker for one call.
func (e *Entry) takeMaker(in *host.Interp, a *guard.Addresses) *run {
	m, ok := e.makers.Get().(*run)
	if !ok {
		m = &run{cached: e, in: in, results: make([]unsafe.Pointer, len(e.Results))}
		for i, r := range e.Results {
			m.results[i] = in.New(r.Type)
		}
	}
	m.entry = a
	return m
}

// release clears what belongs to the call and keeps the rest for the next.
func (m *run) release() {
	for i, r := range m.cached.Results {
		m.in.Zero(r.Type, m.results[i])
	}
	clear(m.inputs)
	m.entry, m.outs, m.objs, m.clos, m.maps, m.errs = nil, nil, nil, nil, nil, nil
	m.cached.makers.Put(m)
}

type Const struct {
	Typ  types.Type
	Bits unsafe.Pointer
}

func (r Const) write(m *run, dst unsafe.Pointer) { m.in.Copy(r.Typ, dst, r.Bits) }

// FromEntry is the value that is at a source on entry.
type FromEntry struct {
	Typ types.Type
	Src *value.Source
}

func (r FromEntry) write(m *run, dst unsafe.Pointer) {
	m.in.Copy(r.Typ, dst, m.entry.At(r.Src))
}

// Converted is the interface value that is at a source on entry, as one
// of another interface type: the two may be laid out differently.
type Converted struct {
	Typ types.Type
	Src *value.Source
}

func (r Converted) write(m *run, dst unsafe.Pointer) {
	m.in.ChangeInterface(r.Typ, dst, r.Src.Type, m.entry.At(r.Src))
}

type Computed struct{ E *value.Expr }

func (r Computed) write(m *run, dst unsafe.Pointer) {
	v, ok := r.E.Eval(m.entry)
	if !ok {
		panic("tracer: an expression that the guards admitted cannot be computed: " + r.E.String())
	}
	r.E.Kind.Store(dst, v)
}

type FromSize struct{ X sym.Int }

func (r FromSize) write(m *run, dst unsafe.Pointer) { *(*int)(dst) = int(m.size(r.X)) }

// FromNumber is the number that output I of the graph holds.
type FromNumber struct{ I int }

func (r FromNumber) write(m *run, dst unsafe.Pointer) {
	*(*float64)(dst) = m.outs[r.I].(*torch.Tensor).Item()
}

// Output is output i of the graph.
type Output struct{ I int }

func (r Output) write(m *run, dst unsafe.Pointer) {
	*(*unsafe.Pointer)(dst) = unsafe.Pointer(m.outs[r.I].(*torch.Tensor))
}

// Address is the address of a place in entry memory.
type Address struct{ Loc *value.Source }

func (r Address) write(m *run, dst unsafe.Pointer) {
	*(*unsafe.Pointer)(dst) = m.entry.At(r.Loc)
}

// IntoObject is a pointer into an object that the cache entry makes.
type IntoObject struct {
	Obj int
	Off uintptr
}

func (r IntoObject) write(m *run, dst unsafe.Pointer) {
	*(*unsafe.Pointer)(dst) = unsafe.Add(m.objs[r.Obj], r.Off)
}

// Slice is a slice over what data points to.
type Slice struct {
	Typ      types.Type
	Data     Reconstruction
	Len, Cap int
}

func (r Slice) write(m *run, dst unsafe.Pointer) {
	var h value.SliceHeader
	r.Data.write(m, unsafe.Pointer(&h.Data))
	h.Len, h.Cap = r.Len, r.Cap
	m.in.Copy(r.Typ, dst, unsafe.Pointer(&h))
}

// ElementAddress is the address of element off of the slice at base on entry.
type ElementAddress struct {
	Base *value.Source
	Off  uintptr
}

func (r ElementAddress) write(m *run, dst unsafe.Pointer) {
	p := m.entry.At(r.Base)
	if r.Base.Type != nil {
		if _, isArray := r.Base.Type.Underlying().(*types.Array); !isArray {
			p = (*value.SliceHeader)(p).Data
		}
	}
	*(*unsafe.Pointer)(dst) = unsafe.Add(p, r.Off)
}

// Parts writes a composite part by part.
type Parts struct {
	Parts []Reconstruction
	Offs  []uintptr
}

func (r Parts) write(m *run, dst unsafe.Pointer) {
	for i, p := range r.Parts {
		p.write(m, unsafe.Add(dst, r.Offs[i]))
	}
}

type Interface struct {
	Typ, Dyn types.Type
	Inner    Reconstruction
}

func (r Interface) write(m *run, dst unsafe.Pointer) {
	tmp := m.in.New(r.Dyn)
	r.Inner.write(m, tmp)
	m.in.MakeInterface(dst, r.Typ, r.Dyn, tmp)
}

type FromClosure struct {
	Sig *types.Signature
	I   int
}

func (r FromClosure) write(m *run, dst unsafe.Pointer) { m.in.MakeFunc(dst, r.Sig, m.clos[r.I]) }

type FromMap struct {
	Typ types.Type
	I   int
}

func (r FromMap) write(m *run, dst unsafe.Pointer) { m.in.Copy(r.Typ, dst, m.maps[r.I]) }

// Object is memory that the cache entry makes on each run.
type Object struct {
	Typ   types.Type
	Count int // elements of an array; 0: one value
	Fill  []Reconstruction
	Size  uintptr // of one element
	// Block is the whole content where it is constant; zero: fill makes it.
	Block reflect.Value
}

// Memory is the type of what the object takes.
func (o *Object) Memory(in *host.Interp) reflect.Type {
	rt := in.Rep(o.Typ)
	if o.Count > 0 {
		return reflect.ArrayOf(o.Count, rt)
	}
	return rt
}

// Closure and Map are closures and maps made on each run.
type Closure struct {
	Fn   *ssa.Function
	Free []Reconstruction
}

type Map struct {
	Typ  types.Type
	Keys []reflect.Value
	Vals []Reconstruction
}

// prepare makes the objects, closures and maps of one run, empty, and then
// fills them, so that they may point to each other.
func (m *run) prepare() {
	s := m.cached
	if len(s.Objects)+len(s.Closures)+len(s.Maps) == 0 {
		return
	}
	m.objs = make([]unsafe.Pointer, len(s.Objects))
	for i, o := range s.Objects {
		v := reflect.New(o.Memory(m.in))
		if o.Block.IsValid() {
			v.Elem().Set(o.Block)
		}
		m.objs[i] = v.UnsafePointer()
	}
	m.clos = make([]*host.Closure, len(s.Closures))
	for i, c := range s.Closures {
		m.clos[i] = &host.Closure{Fn: c.Fn, Free: make([]unsafe.Pointer, len(c.Free))}
		for k, fv := range c.Fn.FreeVars {
			m.clos[i].Free[k] = m.in.New(fv.Type())
		}
	}
	m.maps = make([]unsafe.Pointer, len(s.Maps))
	for i, spec := range s.Maps {
		p := reflect.New(m.in.Rep(spec.Typ))
		p.Elem().Set(reflect.MakeMapWithSize(m.in.Rep(spec.Typ), len(spec.Keys)))
		m.maps[i] = p.UnsafePointer()
	}
	m.fill()
}

func (m *run) fill() {
	s := m.cached
	for i, o := range s.Objects {
		for k, r := range o.Fill {
			r.write(m, unsafe.Add(m.objs[i], uintptr(k)*o.Size))
		}
	}
	for i, c := range s.Closures {
		for k, r := range c.Free {
			r.write(m, m.clos[i].Free[k])
		}
	}
	for i, spec := range s.Maps {
		rt := m.in.Rep(spec.Typ)
		mv := reflect.NewAt(rt, m.maps[i]).Elem()
		for k, key := range spec.Keys {
			v := reflect.New(rt.Elem())
			spec.Vals[k].write(m, v.UnsafePointer())
			mv.SetMapIndex(key, v.Elem())
		}
	}
}
