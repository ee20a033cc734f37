package tracer

import (
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/tracer/breaks"

	"golang.org/x/tools/go/ssa"
)

// This file evaluates maps. Maps that the trace has made are real maps; of
// maps that existed on entry single keys are read under guards, and what is
// stored into them is kept beside them for the segment to replay.

// traceMap is a map made by the trace; notes of its values by the key's text.
type traceMap struct {
	typ   types.Type
	value reflect.Value
	notes map[string]*note
}

// mapOverlay is what the trace has stored into a map of entry memory.
type mapOverlay struct {
	src   *source
	typ   types.Type
	byKey map[string]*mapStore
	order []*mapStore
}

// mapStore is the last thing done to one key.
type mapStore struct {
	key     *mapKey
	val     unsafe.Pointer
	n       *note
	deleted bool
}

// overlayOf returns the overlay of the map in register v, which must come from
// entry memory; it is made where asked for.
func (tr *trace) overlayOf(v ssa.Value, make bool) *mapOverlay {
	word := *(*uintptr)(tr.addr(v))
	o := tr.overlays[word]
	if o != nil || !make {
		return o
	}
	n := tr.noteOf(v)
	if n == nil || n.src == nil {
		tr.breakAt(breaks.MapMutation, "store into a map of unknown origin")
	}
	tr.guardNil(n.src, false)
	o = &mapOverlay{src: n.src, typ: v.Type(), byKey: map[string]*mapStore{}}
	tr.overlays[word] = o
	tr.overlaid = append(tr.overlaid, o)
	return o
}

func (o *mapOverlay) put(s *mapStore) {
	if old := o.byKey[s.key.text]; old != nil {
		*old = *s
		return
	}
	o.byKey[s.key.text] = s
	o.order = append(o.order, s)
}

func (tr *trace) makeMap(in *ssa.MakeMap) {
	if in.Reserve != nil {
		tr.constant(in.Reserve)
	}
	tr.exec()
	p := tr.in.New(in.Type()) // the register may hold another map later
	tr.in.Copy(in.Type(), p, tr.shadowAddr(in))
	tr.maps[*(*uintptr)(p)] = &traceMap{typ: in.Type(), value: reflect.NewAt(tr.in.Rep(in.Type()), p).Elem(), notes: map[string]*note{}}
	tr.set(in, nil)
}

func (tr *trace) mapOf(v ssa.Value) *traceMap { return tr.maps[*(*uintptr)(tr.addr(v))] }

// keyOf makes the key a constant and names it.
func (tr *trace) keyOf(k ssa.Value) *mapKey {
	tr.constant(k)
	t := k.Type()
	key := &mapKey{addr: tr.in.New(t)}
	tr.in.Copy(t, key.addr, tr.addr(k))
	if _, basic := t.Underlying().(*types.Basic); !basic {
		tr.breakAt(breaks.MapKey, "a map key of type %s", typeName(t))
	}
	key.text = tr.valueText(t, key.addr)
	return key
}

func (tr *trace) mapUpdate(in *ssa.MapUpdate) {
	tr.inBackward("stores into a map")
	n := tr.noteOf(in.Value)
	if m := tr.mapOf(in.Map); m != nil {
		key := tr.keyOf(in.Key)
		tr.exec()
		m.notes[key.text] = n
		return
	}
	if *(*unsafe.Pointer)(tr.addr(in.Map)) == nil {
		tr.constantIface(in.Map, true)
		tr.exec() // panics: the trace ends here
	}
	o := tr.overlayOf(in.Map, true)
	s := &mapStore{key: tr.keyOf(in.Key), val: tr.in.New(in.Value.Type()), n: n}
	tr.in.Copy(in.Value.Type(), s.val, tr.addr(in.Value))
	o.put(s)
	tr.skip()
}

func (tr *trace) mapDelete(in *ssa.Call, args []ssa.Value) {
	if _, isMap := args[0].Type().Underlying().(*types.Map); !isMap {
		tr.breakAt(breaks.UnsupportedInstr, "builtin clear of a slice")
	}
	tr.inBackward("deletes from a map")
	m := tr.mapOf(args[0])
	if m == nil {
		if len(args) == 1 {
			tr.breakAt(breaks.MapMutation, "clear of a map that existed before the compiled call")
		}
		tr.overlayOf(args[0], true).put(&mapStore{key: tr.keyOf(args[1]), deleted: true})
		tr.skip()
		return
	}
	if len(args) == 2 {
		delete(m.notes, tr.keyOf(args[1]).text)
	} else {
		clear(m.notes)
	}
	tr.exec()
	tr.set(in, nil)
}

func (tr *trace) lookup(in *ssa.Lookup) {
	if _, isMap := in.X.Type().Underlying().(*types.Map); !isMap {
		tr.constant(in.X)
		tr.constant(in.Index)
		tr.exec()
		tr.set(in, nil)
		return
	}
	tr.inBackward("reads a map")
	key := tr.keyOf(in.Index)
	n := tr.noteOf(in.X)
	var val *note
	if m := tr.mapOf(in.X); m != nil {
		val = m.notes[key.text]
	} else if o := tr.overlayOf(in.X, false); o != nil && o.byKey[key.text] != nil {
		tr.lookupOverlaid(in, o.byKey[key.text])
		return
	} else if n != nil && n.src != nil {
		has := mapLookup(tr.in, in.X.Type(), tr.addr(in.X), key.addr) != nil
		tr.guardKey(n.src, key, has)
		if has {
			val = tr.fromSource(tr.src.mapValue(n.src, key))
		}
	}
	tr.exec()
	if in.CommaOk {
		val = withParts([]*note{val, nil})
	}
	tr.set(in, val)
}

// lookupOverlaid reads a key that the trace has stored or deleted.
func (tr *trace) lookupOverlaid(in *ssa.Lookup, s *mapStore) {
	t, dst := in.Type(), tr.addr(in)
	if in.CommaOk {
		tuple := t.(*types.Tuple)
		t = tuple.At(0).Type()
		*(*bool)(unsafe.Add(dst, tr.in.TupleOffsets(tuple)[1])) = !s.deleted
		dst = unsafe.Add(dst, tr.in.TupleOffsets(tuple)[0])
	}
	val := s.val
	if s.deleted {
		val = tr.in.New(t)
	}
	tr.in.Copy(t, dst, val)
	tr.skip()
	n := s.n
	if in.CommaOk {
		n = withParts([]*note{n, nil})
	}
	tr.set(in, n)
}

// iterate evaluates range over strings; the order of maps is not fixed.
func (tr *trace) iterate(in ssa.Value) {
	if r, ok := in.(*ssa.Range); ok {
		if _, isMap := r.X.Type().Underlying().(*types.Map); isMap {
			tr.breakAt(breaks.MapIteration, "range over a map")
		}
		if why, ok := tr.avoid[r]; ok {
			tr.breakAt(breaks.OpaqueValue, "the body of a loop over a string breaks the graph: %s", why)
		}
		tr.constant(r.X)
	}
	if n, ok := in.(*ssa.Next); ok && !n.IsString {
		tr.breakAt(breaks.MapIteration, "range over a map")
	}
	if n, ok := in.(*ssa.Next); ok {
		if it := tr.noteOf(n.Iter); it != nil {
			tr.breakAt(breaks.OpaqueValue, "an iterator that was running before the region")
		}
	}
	tr.exec()
	tr.set(in, nil)
}

// rebuild fills a new map from the traced one.
func (m *traceMap) keys() []reflect.Value { return m.value.MapKeys() }

// entryNote is the note of the value under a key.
func (tr *trace) entryNote(m *traceMap, key reflect.Value) *note {
	kt := m.typ.Underlying().(*types.Map).Key()
	p := reflect.New(key.Type())
	p.Elem().Set(key)
	return m.notes[tr.valueText(kt, unsafe.Pointer(p.Pointer()))]
}
