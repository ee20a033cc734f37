package eval

import (
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/tracer/breaks"
	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates maps. Maps that the trace has made are real maps; of
// maps that existed on entry single keys are read under guards, and what is
// stored into them is kept beside them for the cache entry to replay.

// traceMap is a map made by the trace; what is tracked of its values by the key's text.
type traceMap struct {
	typ     types.Type
	value   reflect.Value
	tracked map[string]*value.Tracked
}

// mapOverlay is what the trace has stored into a map of entry memory.
type mapOverlay struct {
	src   *value.Source
	typ   types.Type
	byKey map[string]*mapStore
	order []*mapStore
}

// mapStore is the last thing done to one key.
type mapStore struct {
	key     *value.MapKey
	val     unsafe.Pointer
	n       *value.Tracked
	deleted bool
}

// mapOps evaluates what is done to maps.
type mapOps struct{ *Trace }

// overlayOf returns the overlay of the map in register v, which must come from
// entry memory; it is made where asked for.
func (mo mapOps) overlayOf(v ssa.Value, make bool) *mapOverlay {
	word := *(*uintptr)(mo.addr(v))
	o := mo.overlays[word]
	if o != nil || !make {
		return o
	}
	n := mo.tracked(v)
	if n == nil || n.Src == nil {
		breakAt(breaks.MapMutation, "store into a map of unknown origin")
	}
	mo.Guards.Nil(n.Src, false)
	o = &mapOverlay{src: n.Src, typ: v.Type(), byKey: map[string]*mapStore{}}
	mo.overlays[word] = o
	mo.overlaid = append(mo.overlaid, o)
	return o
}

func (o *mapOverlay) put(s *mapStore) {
	if old := o.byKey[s.key.Text]; old != nil {
		*old = *s
		return
	}
	o.byKey[s.key.Text] = s
	o.order = append(o.order, s)
}

func (mo mapOps) makeMap(in *ssa.MakeMap) {
	if in.Reserve != nil {
		mo.constant(in.Reserve)
	}
	mo.exec()
	p := mo.In.New(in.Type()) // the register may hold another map later
	mo.In.Copy(in.Type(), p, mo.shadowAddr(in))
	mo.maps[*(*uintptr)(p)] = &traceMap{
		typ: in.Type(), value: reflect.NewAt(mo.In.Rep(in.Type()), p).Elem(), tracked: map[string]*value.Tracked{},
	}
	mo.set(in, nil)
}

func (mo mapOps) mapOf(v ssa.Value) *traceMap { return mo.maps[*(*uintptr)(mo.addr(v))] }

// keyOf makes the key a constant and names it.
func (mo mapOps) keyOf(k ssa.Value) *value.MapKey {
	mo.constant(k)
	t := k.Type()
	key := &value.MapKey{Addr: mo.In.New(t)}
	mo.In.Copy(t, key.Addr, mo.addr(k))
	if _, basic := t.Underlying().(*types.Basic); !basic {
		breakAt(breaks.MapKey, "a map key of type %s", value.TypeName(t))
	}
	key.Text = guard.ValueText(mo.In, t, key.Addr)
	return key
}

func (mo mapOps) mapUpdate(in *ssa.MapUpdate) {
	mo.inBackward("stores into a map")
	mo.inFlow("stores into a map")
	n := mo.tracked(in.Value)
	if m := mo.mapOf(in.Map); m != nil {
		key := mo.keyOf(in.Key)
		mo.exec()
		m.tracked[key.Text] = n
		return
	}
	if *(*unsafe.Pointer)(mo.addr(in.Map)) == nil {
		mo.constantIface(in.Map, true)
		mo.exec() // panics: the trace ends here
	}
	o := mo.overlayOf(in.Map, true)
	s := &mapStore{key: mo.keyOf(in.Key), val: mo.In.New(in.Value.Type()), n: n}
	mo.In.Copy(in.Value.Type(), s.val, mo.addr(in.Value))
	o.put(s)
	mo.skip()
}

func (mo mapOps) mapDelete(in *ssa.Call, args []ssa.Value) {
	if _, isMap := args[0].Type().Underlying().(*types.Map); !isMap {
		breakAt(breaks.UnsupportedInstr, "builtin clear of a slice")
	}
	mo.inBackward("deletes from a map")
	mo.inFlow("deletes from a map")
	m := mo.mapOf(args[0])
	if m == nil {
		if len(args) == 1 {
			breakAt(breaks.MapMutation, "clear of a map that existed before the compiled call")
		}
		mo.overlayOf(args[0], true).put(&mapStore{key: mo.keyOf(args[1]), deleted: true})
		mo.skip()
		return
	}
	if len(args) == 2 {
		delete(m.tracked, mo.keyOf(args[1]).Text)
	} else {
		clear(m.tracked)
	}
	mo.exec()
	mo.set(in, nil)
}

func (mo mapOps) lookup(in *ssa.Lookup) {
	if _, isMap := in.X.Type().Underlying().(*types.Map); !isMap {
		mo.constant(in.X)
		mo.constant(in.Index)
		mo.exec()
		mo.set(in, nil)
		return
	}
	mo.inBackward("reads a map")
	key := mo.keyOf(in.Index)
	n := mo.tracked(in.X)
	var val *value.Tracked
	if m := mo.mapOf(in.X); m != nil {
		val = m.tracked[key.Text]
	} else if o := mo.overlayOf(in.X, false); o != nil && o.byKey[key.Text] != nil {
		mo.lookupOverlaid(in, o.byKey[key.Text])
		return
	} else if n != nil && n.Src != nil {
		has := guard.MapLookup(mo.In, in.X.Type(), mo.addr(in.X), key.Addr) != nil
		mo.Guards.Key(n.Src, key, has)
		if has {
			val = mo.src.Track(mo.src.MapValue(n.Src, key))
		}
	}
	mo.exec()
	if in.CommaOk {
		val = value.WithParts([]*value.Tracked{val, nil})
	}
	mo.set(in, val)
}

// lookupOverlaid reads a key that the trace has stored or deleted.
func (mo mapOps) lookupOverlaid(in *ssa.Lookup, s *mapStore) {
	t, dst := in.Type(), mo.addr(in)
	if in.CommaOk {
		tuple := t.(*types.Tuple)
		t = tuple.At(0).Type()
		*(*bool)(unsafe.Add(dst, mo.In.TupleOffsets(tuple)[1])) = !s.deleted
		dst = unsafe.Add(dst, mo.In.TupleOffsets(tuple)[0])
	}
	val := s.val
	if s.deleted {
		val = mo.In.New(t)
	}
	mo.In.Copy(t, dst, val)
	mo.skip()
	n := s.n
	if in.CommaOk {
		n = value.WithParts([]*value.Tracked{n, nil})
	}
	mo.set(in, n)
}

// iterate evaluates range over strings; the order of maps is not fixed.
func (tr *Trace) iterate(in ssa.Value) {
	if r, ok := in.(*ssa.Range); ok {
		if _, isMap := r.X.Type().Underlying().(*types.Map); isMap {
			breakAt(breaks.MapIteration, "range over a map")
		}
		if why, ok := tr.Avoid[r]; ok {
			breakAt(breaks.OpaqueValue, "the body of a loop over a string breaks the graph: %s", why)
		}
		tr.constant(r.X)
	}
	if n, ok := in.(*ssa.Next); ok && !n.IsString {
		breakAt(breaks.MapIteration, "range over a map")
	}
	if n, ok := in.(*ssa.Next); ok {
		if it := tr.tracked(n.Iter); it != nil {
			breakAt(breaks.OpaqueValue, "an iterator that was running before the region")
		}
	}
	tr.exec()
	tr.set(in, nil)
}

// rebuild fills a new map from the traced one.
func (m *traceMap) keys() []reflect.Value { return m.value.MapKeys() }

// entryTracked is what is tracked of the value under a key.
func (hp *heap) entryTracked(m *traceMap, key reflect.Value) *value.Tracked {
	kt := m.typ.Underlying().(*types.Map).Key()
	p := reflect.New(key.Type())
	p.Elem().Set(key)
	return m.tracked[guard.ValueText(hp.frames.In, kt, unsafe.Pointer(p.Pointer()))]
}
