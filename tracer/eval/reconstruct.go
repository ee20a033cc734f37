package eval

import (
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/graph"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/host"
	"tcdbg/tracer/replay"
	"tcdbg/tracer/value"
)

// This file builds, for each value that outlives a trace, how it is made again on every
// run of the cache entry.

// reconstructor builds the reconstructions of one cache entry.
type reconstructor struct {
	tr      *Trace
	outs    map[*torch.Tensor]int
	order   []*torch.Tensor
	handed  map[int]int // of each output, how many places get it
	lent    bool        // a place gets a gradient that was there on entry
	objs    map[*span]int
	objects []*replay.Object
	clos    map[*host.Closure]int
	specs   []*replay.Closure
	maps    map[uintptr]int
	mapped  []*replay.Map
	errs    map[*value.FreshError]*replay.ErrorSpec
	items   map[*sym.Symbol]replay.Item
	numbers map[*graph.Node]int // of each, the output that holds it
}

func newReconstructor(tr *Trace) *reconstructor {
	return &reconstructor{
		tr: tr, outs: map[*torch.Tensor]int{}, handed: map[int]int{}, objs: map[*span]int{},
		clos: map[*host.Closure]int{}, maps: map[uintptr]int{}, errs: map[*value.FreshError]*replay.ErrorSpec{},
	}
}

// of builds the reconstruction of the value of type t at p.
func (rs *reconstructor) of(t types.Type, p unsafe.Pointer, n *value.Tracked) replay.Reconstruction {
	switch {
	case isNumber(n):
		return rs.number(n)
	case n != nil && n.Size != nil:
		if v, ok := n.Size.IsConst(); ok {
			return rs.constant(types.Typ[types.Int], unsafe.Pointer(&v))
		}
		for _, u := range n.Size.Symbols() {
			rs.item(u)
		}
		return replay.FromSize{X: *n.Size}
	case n != nil && n.Expr != nil:
		return replay.Computed{E: n.Expr}
	case isTensor(t):
		return rs.tensor(t, p, n)
	case n != nil && n.Src != nil:
		rs.give(n.Src)
		if types.IsInterface(t) && !types.Identical(t, n.Src.Type) {
			return replay.Converted{Typ: t, Src: n.Src}
		}
		return replay.FromEntry{Typ: t, Src: n.Src}
	case n != nil && n.Err != nil:
		return rs.newError(t, n.Err)
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

func (rs *reconstructor) constant(t types.Type, p unsafe.Pointer) replay.Reconstruction {
	bits := rs.tr.In.New(t)
	rs.tr.In.Copy(t, bits, p)
	return replay.Const{Typ: t, Bits: bits}
}

func (rs *reconstructor) tensor(t types.Type, p unsafe.Pointer, n *value.Tracked) replay.Reconstruction {
	x := *(**torch.Tensor)(p)
	if x == nil && (n == nil || n.Src == nil) {
		return rs.constant(t, p)
	}
	if n != nil && n.Src != nil { // not the input's source: that may be another tensor next time
		rs.give(n.Src)
		return replay.FromEntry{Typ: t, Src: n.Src}
	}
	if in := rs.tr.inputOf[x]; in != nil {
		rs.give(in.src)
		return replay.FromEntry{Typ: t, Src: in.src}
	}
	if rs.tr.Nodes[x] == nil {
		return rs.constant(t, p)
	}
	i, ok := rs.outs[x]
	if !ok {
		i = len(rs.order)
		rs.outs[x] = i
		rs.order = append(rs.order, x)
	}
	rs.handed[i]++
	return replay.Output{I: i}
}

func (rs *reconstructor) pointer(t types.Type, p unsafe.Pointer, n *value.Tracked) replay.Reconstruction {
	to := *(*unsafe.Pointer)(p)
	if to == nil {
		return rs.constant(t, p)
	}
	if s := rs.tr.mem.find(to); s != nil {
		return replay.IntoObject{Obj: rs.object(s), Off: uintptr(to) - s.addr}
	}
	if n != nil && n.Loc != nil {
		return replay.Address{Loc: n.Loc}
	}
	return rs.constant(t, p)
}

// object registers an object of the trace; its content follows.
func (rs *reconstructor) object(s *span) int {
	if i, ok := rs.objs[s]; ok {
		return i
	}
	i := len(rs.objects)
	rs.objs[s] = i
	size := rs.tr.In.Rep(s.typ).Size()
	o := &replay.Object{Typ: s.typ, Count: s.count, Size: size}
	rs.objects = append(rs.objects, o)
	if !value.HoldsPointer(s.typ) && !rs.tr.mem.isTracked(s.keep, s.size) {
		o.Block = reflect.New(o.Memory(rs.tr.In)).Elem()
		o.Block.Set(reflect.NewAt(o.Block.Type(), s.keep).Elem())
		return i
	}
	for k := range max(s.count, 1) {
		e := unsafe.Add(s.keep, uintptr(k)*size)
		o.Fill = append(o.Fill, rs.of(s.typ, e, rs.tr.loadTracked(s.typ, e)))
	}
	return i
}

func (rs *reconstructor) slice(t types.Type, u *types.Slice, p unsafe.Pointer, n *value.Tracked) replay.Reconstruction {
	h := (*value.SliceHeader)(p)
	size := rs.tr.In.Rep(u.Elem()).Size()
	if s := rs.tr.mem.find(h.Data); s != nil {
		return replay.Slice{Typ: t, Data: replay.IntoObject{Obj: rs.object(s), Off: uintptr(h.Data) - s.addr}, Len: h.Len, Cap: h.Cap}
	}
	if n != nil && n.Base != nil {
		return replay.Slice{Typ: t, Data: replay.ElementAddress{Base: n.Base, Off: uintptr(n.Off) * size}, Len: h.Len, Cap: h.Cap}
	}
	return rs.constant(t, p)
}

func (rs *reconstructor) composite(t types.Type, p unsafe.Pointer, n *value.Tracked) replay.Reconstruction {
	count, at := value.Components(t)
	if at == nil || value.IsBlock(t) && n == nil {
		return rs.constant(t, p)
	}
	r := replay.Parts{}
	for i := range count {
		off := rs.tr.src.Offset(t, i)
		r.Parts = append(r.Parts, rs.of(at(i), unsafe.Add(p, off), rs.tr.src.Part(n, t, i)))
		r.Offs = append(r.Offs, off)
	}
	return r
}

func (rs *reconstructor) iface(t types.Type, p unsafe.Pointer, n *value.Tracked) replay.Reconstruction {
	dyn, q := rs.tr.In.Dynamic(t, p)
	if dyn == nil {
		return rs.constant(t, p)
	}
	var inner *value.Tracked
	if n != nil {
		inner = n.Inner
	}
	r := rs.of(dyn, q, inner)
	if _, isConst := r.(replay.Const); isConst {
		return rs.constant(t, p)
	}
	return replay.Interface{Typ: t, Dyn: dyn, Inner: r}
}

func (rs *reconstructor) fn(t types.Type, sig *types.Signature, p unsafe.Pointer) replay.Reconstruction {
	c := rs.tr.In.ClosureOf(p)
	made := rs.tr.clos[c]
	if c == nil || made == nil {
		return rs.constant(t, p)
	}
	i, ok := rs.clos[c]
	if !ok {
		i = len(rs.specs)
		rs.clos[c] = i
		spec := &replay.Closure{Fn: made.fn}
		rs.specs = append(rs.specs, spec)
		for k, fv := range made.fn.FreeVars {
			spec.Free = append(spec.Free, rs.of(fv.Type(), c.Free[k], made.tracked[k]))
		}
	}
	return replay.FromClosure{Sig: sig, I: i}
}

func (rs *reconstructor) mapOf(t types.Type, p unsafe.Pointer) replay.Reconstruction {
	m := rs.tr.maps[*(*uintptr)(p)]
	if m == nil {
		return rs.constant(t, p)
	}
	i, ok := rs.maps[*(*uintptr)(p)]
	if !ok {
		i = len(rs.mapped)
		rs.maps[*(*uintptr)(p)] = i
		spec := &replay.Map{Typ: t}
		rs.mapped = append(rs.mapped, spec)
		vt := t.Underlying().(*types.Map).Elem()
		for _, k := range m.keys() {
			v := reflect.New(m.value.Type().Elem())
			v.Elem().Set(m.value.MapIndex(k))
			spec.Keys = append(spec.Keys, k)
			spec.Vals = append(spec.Vals, rs.of(vt, v.UnsafePointer(), rs.tr.entryTracked(m, k)))
		}
	}
	return replay.FromMap{Typ: t, I: i}
}
