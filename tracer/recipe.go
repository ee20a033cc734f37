package tracer

import (
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is recipes: how each value that outlives a segment is made again on
// every run of it, from entry values, graph outputs and constants.

// recipe writes a value of a fixed type.
type recipe interface {
	write(m *maker, dst unsafe.Pointer)
}

// maker holds what recipes draw on during one run of a segment.
type maker struct {
	in    *host.Interp
	entry *addresses
	outs  []torch.Value
	seg   *segment
	objs  []unsafe.Pointer // new objects, by objects index
	clos  []*host.Closure
	maps  []unsafe.Pointer
	errs  map[*errorSpec]error
	// inputs and results are kept for the next call: the list of the graph's
	// inputs, and places for the values that the segment returns.
	inputs  []torch.Value
	results []unsafe.Pointer
}

// takeMaker returns a maker for one call.
func (s *segment) takeMaker(in *host.Interp, a *addresses) *maker {
	m, ok := s.makers.Get().(*maker)
	if !ok {
		m = &maker{seg: s, in: in, results: make([]unsafe.Pointer, len(s.results))}
		for i, r := range s.results {
			m.results[i] = in.New(r.typ)
		}
	}
	m.entry = a
	return m
}

// release clears what belongs to the call and keeps the rest for the next.
func (m *maker) release() {
	for i, r := range m.seg.results {
		m.in.Zero(r.typ, m.results[i])
	}
	clear(m.inputs)
	m.entry, m.outs, m.objs, m.clos, m.maps, m.errs = nil, nil, nil, nil, nil, nil
	m.seg.makers.Put(m)
}

type constRecipe struct {
	typ  types.Type
	bits unsafe.Pointer
}

func (r constRecipe) write(m *maker, dst unsafe.Pointer) { m.in.Copy(r.typ, dst, r.bits) }

// sourceRecipe is the value that stands at a source on entry.
type sourceRecipe struct {
	typ types.Type
	src *source
}

func (r sourceRecipe) write(m *maker, dst unsafe.Pointer) {
	m.in.Copy(r.typ, dst, m.entry.at(r.src))
}

// changedRecipe is the interface value that stands at a source on entry, as one
// of another interface type: the two may be laid out differently.
type changedRecipe struct {
	typ types.Type
	src *source
}

func (r changedRecipe) write(m *maker, dst unsafe.Pointer) {
	m.in.ChangeInterface(r.typ, dst, r.src.typ, m.entry.at(r.src))
}

type exprRecipe struct{ e *expr }

func (r exprRecipe) write(m *maker, dst unsafe.Pointer) {
	v, ok := r.e.eval(m.entry)
	if !ok {
		panic("tracer: an expression that the guards admitted cannot be computed: " + r.e.String())
	}
	r.e.kind.store(dst, v)
}

type symRecipe struct{ x sym.Int }

func (r symRecipe) write(m *maker, dst unsafe.Pointer) { *(*int)(dst) = int(m.size(r.x)) }

// outputRecipe is output i of the graph.
type outputRecipe struct{ i int }

func (r outputRecipe) write(m *maker, dst unsafe.Pointer) {
	*(*unsafe.Pointer)(dst) = unsafe.Pointer(m.outs[r.i].(*torch.Tensor))
}

// addrRecipe is the address of a place in entry memory.
type addrRecipe struct{ loc *source }

func (r addrRecipe) write(m *maker, dst unsafe.Pointer) {
	*(*unsafe.Pointer)(dst) = m.entry.at(r.loc)
}

// objectRecipe is a pointer into an object that the segment makes.
type objectRecipe struct {
	obj int
	off uintptr
}

func (r objectRecipe) write(m *maker, dst unsafe.Pointer) {
	*(*unsafe.Pointer)(dst) = unsafe.Add(m.objs[r.obj], r.off)
}

// sliceRecipe is a slice over what data points to.
type sliceRecipe struct {
	typ      types.Type
	data     recipe
	len, cap int
}

func (r sliceRecipe) write(m *maker, dst unsafe.Pointer) {
	var h sliceHeader
	r.data.write(m, unsafe.Pointer(&h.data))
	h.len, h.cap = r.len, r.cap
	m.in.Copy(r.typ, dst, unsafe.Pointer(&h))
}

// elementRecipe is the address of element off of the slice at base on entry.
type elementRecipe struct {
	base *source
	off  uintptr
}

func (r elementRecipe) write(m *maker, dst unsafe.Pointer) {
	p := m.entry.at(r.base)
	if r.base.typ != nil {
		if _, isArray := r.base.typ.Underlying().(*types.Array); !isArray {
			p = (*sliceHeader)(p).data
		}
	}
	*(*unsafe.Pointer)(dst) = unsafe.Add(p, r.off)
}

// partsRecipe writes a composite part by part.
type partsRecipe struct {
	parts []recipe
	offs  []uintptr
}

func (r partsRecipe) write(m *maker, dst unsafe.Pointer) {
	for i, p := range r.parts {
		p.write(m, unsafe.Add(dst, r.offs[i]))
	}
}

type ifaceRecipe struct {
	typ, dyn types.Type
	inner    recipe
}

func (r ifaceRecipe) write(m *maker, dst unsafe.Pointer) {
	tmp := m.in.New(r.dyn)
	r.inner.write(m, tmp)
	m.in.MakeInterface(dst, r.typ, r.dyn, tmp)
}

type closureRecipe struct {
	sig *types.Signature
	i   int
}

func (r closureRecipe) write(m *maker, dst unsafe.Pointer) { m.in.MakeFunc(dst, r.sig, m.clos[r.i]) }

type mapRecipe struct {
	typ types.Type
	i   int
}

func (r mapRecipe) write(m *maker, dst unsafe.Pointer) { m.in.Copy(r.typ, dst, m.maps[r.i]) }

// object is memory that the segment makes on each run.
type object struct {
	typ   types.Type
	count int // elements of an array; 0: one value
	fill  []recipe
	size  uintptr // of one element
	// block is the whole content where it is constant; zero: fill makes it.
	block reflect.Value
}

// memory is the type of what the object takes.
func (o *object) memory(in *host.Interp) reflect.Type {
	rt := in.Rep(o.typ)
	if o.count > 0 {
		return reflect.ArrayOf(o.count, rt)
	}
	return rt
}

// closureSpec and mapSpec are closures and maps made on each run.
type closureSpec struct {
	fn   *ssa.Function
	free []recipe
}

type mapSpec struct {
	typ  types.Type
	keys []reflect.Value
	vals []recipe
}

// recipes builds the recipes of one segment.
type recipes struct {
	tr      *trace
	outs    map[*torch.Tensor]int
	order   []*torch.Tensor
	objs    map[*span]int
	objects []*object
	clos    map[*host.Closure]int
	specs   []*closureSpec
	maps    map[uintptr]int
	mapped  []*mapSpec
	errs    map[*freshError]*errorSpec
}

func newRecipes(tr *trace) *recipes {
	return &recipes{
		tr: tr, outs: map[*torch.Tensor]int{}, objs: map[*span]int{},
		clos: map[*host.Closure]int{}, maps: map[uintptr]int{}, errs: map[*freshError]*errorSpec{},
	}
}

// of builds the recipe of the value of type t at p.
func (rs *recipes) of(t types.Type, p unsafe.Pointer, n *note) recipe {
	switch {
	case n != nil && n.sym != nil:
		if v, ok := n.sym.IsConst(); ok {
			return rs.constant(types.Typ[types.Int], unsafe.Pointer(&v))
		}
		return symRecipe{*n.sym}
	case n != nil && n.expr != nil:
		return exprRecipe{n.expr}
	case isTensor(t):
		return rs.tensor(t, p, n)
	case n != nil && n.src != nil:
		if types.IsInterface(t) && !types.Identical(t, n.src.typ) {
			return changedRecipe{t, n.src}
		}
		return sourceRecipe{t, n.src}
	case n != nil && n.err != nil:
		return rs.newError(t, n.err)
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return rs.pointer(t, p, n)
	case *types.Slice:
		return rs.slice(t, u, p, n)
	case *types.Struct, *types.Array, *types.Tuple:
		return rs.composite(t, p, n)
	case *types.Interface:
		return rs.iface(t, p, n)
	case *types.Signature:
		return rs.fn(t, u, p)
	case *types.Map:
		return rs.mapOf(t, p)
	}
	return rs.constant(t, p)
}

func (rs *recipes) constant(t types.Type, p unsafe.Pointer) recipe {
	bits := rs.tr.in.New(t)
	rs.tr.in.Copy(t, bits, p)
	return constRecipe{t, bits}
}

func (rs *recipes) tensor(t types.Type, p unsafe.Pointer, n *note) recipe {
	x := *(**torch.Tensor)(p)
	if x == nil && (n == nil || n.src == nil) {
		return rs.constant(t, p)
	}
	if n != nil && n.src != nil { // not the input's source: that may be another tensor next time
		return sourceRecipe{t, n.src}
	}
	if in := rs.tr.inputOf[x]; in != nil {
		return sourceRecipe{t, in.src}
	}
	if rs.tr.nodes[x] == nil {
		return rs.constant(t, p)
	}
	i, ok := rs.outs[x]
	if !ok {
		i = len(rs.order)
		rs.outs[x] = i
		rs.order = append(rs.order, x)
	}
	return outputRecipe{i}
}

func (rs *recipes) pointer(t types.Type, p unsafe.Pointer, n *note) recipe {
	to := *(*unsafe.Pointer)(p)
	if to == nil {
		return rs.constant(t, p)
	}
	if s := rs.tr.mem.find(to); s != nil {
		return objectRecipe{rs.object(s), uintptr(to) - s.addr}
	}
	if n != nil && n.loc != nil {
		return addrRecipe{n.loc}
	}
	return rs.constant(t, p)
}

// object registers an object of the trace; its content follows.
func (rs *recipes) object(s *span) int {
	if i, ok := rs.objs[s]; ok {
		return i
	}
	i := len(rs.objects)
	rs.objs[s] = i
	size := rs.tr.in.Rep(s.typ).Size()
	o := &object{typ: s.typ, count: s.count, size: size}
	rs.objects = append(rs.objects, o)
	if !holdsPointer(s.typ) && !rs.tr.mem.noted(s.keep, s.size) {
		o.block = reflect.New(o.memory(rs.tr.in)).Elem()
		o.block.Set(reflect.NewAt(o.block.Type(), s.keep).Elem())
		return i
	}
	for k := range max(s.count, 1) {
		e := unsafe.Add(s.keep, uintptr(k)*size)
		o.fill = append(o.fill, rs.of(s.typ, e, rs.tr.loadNote(s.typ, e)))
	}
	return i
}

func (rs *recipes) slice(t types.Type, u *types.Slice, p unsafe.Pointer, n *note) recipe {
	h := (*sliceHeader)(p)
	size := rs.tr.in.Rep(u.Elem()).Size()
	if s := rs.tr.mem.find(h.data); s != nil {
		return sliceRecipe{t, objectRecipe{rs.object(s), uintptr(h.data) - s.addr}, h.len, h.cap}
	}
	if n != nil && n.base != nil {
		return sliceRecipe{t, elementRecipe{n.base, uintptr(n.off) * size}, h.len, h.cap}
	}
	return rs.constant(t, p)
}

func (rs *recipes) composite(t types.Type, p unsafe.Pointer, n *note) recipe {
	count, at := components(t)
	if at == nil || isBlock(t) && n == nil {
		return rs.constant(t, p)
	}
	r := partsRecipe{}
	for i := range count {
		off := rs.tr.offset(t, i)
		r.parts = append(r.parts, rs.of(at(i), unsafe.Add(p, off), rs.tr.part(n, t, i)))
		r.offs = append(r.offs, off)
	}
	return r
}

func (rs *recipes) iface(t types.Type, p unsafe.Pointer, n *note) recipe {
	dyn, q := rs.tr.in.Dynamic(t, p)
	if dyn == nil {
		return rs.constant(t, p)
	}
	var inner *note
	if n != nil {
		inner = n.inner
	}
	r := rs.of(dyn, q, inner)
	if _, isConst := r.(constRecipe); isConst {
		return rs.constant(t, p)
	}
	return ifaceRecipe{t, dyn, r}
}

func (rs *recipes) fn(t types.Type, sig *types.Signature, p unsafe.Pointer) recipe {
	c := rs.tr.in.ClosureOf(p)
	made := rs.tr.clos[c]
	if c == nil || made == nil {
		return rs.constant(t, p)
	}
	i, ok := rs.clos[c]
	if !ok {
		i = len(rs.specs)
		rs.clos[c] = i
		spec := &closureSpec{fn: made.fn}
		rs.specs = append(rs.specs, spec)
		for k, fv := range made.fn.FreeVars {
			spec.free = append(spec.free, rs.of(fv.Type(), c.Free[k], made.notes[k]))
		}
	}
	return closureRecipe{sig, i}
}

func (rs *recipes) mapOf(t types.Type, p unsafe.Pointer) recipe {
	m := rs.tr.maps[*(*uintptr)(p)]
	if m == nil {
		return rs.constant(t, p)
	}
	i, ok := rs.maps[*(*uintptr)(p)]
	if !ok {
		i = len(rs.mapped)
		rs.maps[*(*uintptr)(p)] = i
		spec := &mapSpec{typ: t}
		rs.mapped = append(rs.mapped, spec)
		vt := t.Underlying().(*types.Map).Elem()
		for _, k := range m.keys() {
			v := reflect.New(m.value.Type().Elem())
			v.Elem().Set(m.value.MapIndex(k))
			spec.keys = append(spec.keys, k)
			spec.vals = append(spec.vals, rs.of(vt, v.UnsafePointer(), rs.tr.entryNote(m, k)))
		}
	}
	return mapRecipe{t, i}
}

// prepare makes the objects, closures and maps of one run, empty, and then
// fills them, so that they may point to each other.
func (m *maker) prepare() {
	s := m.seg
	if len(s.objects)+len(s.closures)+len(s.maps) == 0 {
		return
	}
	m.objs = make([]unsafe.Pointer, len(s.objects))
	for i, o := range s.objects {
		v := reflect.New(o.memory(m.in))
		if o.block.IsValid() {
			v.Elem().Set(o.block)
		}
		m.objs[i] = v.UnsafePointer()
	}
	m.clos = make([]*host.Closure, len(s.closures))
	for i, c := range s.closures {
		m.clos[i] = &host.Closure{Fn: c.fn, Free: make([]unsafe.Pointer, len(c.free))}
		for k, fv := range c.fn.FreeVars {
			m.clos[i].Free[k] = m.in.New(fv.Type())
		}
	}
	m.maps = make([]unsafe.Pointer, len(s.maps))
	for i, spec := range s.maps {
		p := reflect.New(m.in.Rep(spec.typ))
		p.Elem().Set(reflect.MakeMapWithSize(m.in.Rep(spec.typ), len(spec.keys)))
		m.maps[i] = p.UnsafePointer()
	}
	m.fill()
}

func (m *maker) fill() {
	s := m.seg
	for i, o := range s.objects {
		for k, r := range o.fill {
			r.write(m, unsafe.Add(m.objs[i], uintptr(k)*o.size))
		}
	}
	for i, c := range s.closures {
		for k, r := range c.free {
			r.write(m, m.clos[i].Free[k])
		}
	}
	for i, spec := range s.maps {
		rt := m.in.Rep(spec.typ)
		mv := reflect.NewAt(rt, m.maps[i]).Elem()
		for k, key := range spec.keys {
			v := reflect.New(rt.Elem())
			spec.vals[k].write(m, v.UnsafePointer())
			mv.SetMapIndex(key, v.Elem())
		}
	}
}
