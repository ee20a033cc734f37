package host

import (
	"go/types"
	"reflect"
	"unicode/utf8"
	"unsafe"

	"tcdbg/tracer/host/mapuse"

	"golang.org/x/tools/go/ssa"
)

// This file is maps, channels, ranges and select.

func (b *builder) collection(in ssa.Instruction) op {
	switch in := in.(type) {
	case *ssa.MakeMap:
		return makeMap(b, in)
	case *ssa.MapUpdate:
		return mapUpdate(b, in)
	case *ssa.Lookup:
		return lookup(b, in)
	case *ssa.Range:
		return rangeOp(b, in)
	case *ssa.Next:
		return next(b, in)
	case *ssa.MakeChan:
		return makeChan(b, in)
	case *ssa.Send:
		return send(b, in)
	case *ssa.Select:
		return selectOp(b, in)
	}
	panic("unreachable")
}

// mapType is the type of a map operand: the representation of its type, made
// from key and element, since a recursive map type is represented by a pointer.
func mapType(b *builder, t types.Type) (m *types.Map, r reflect.Type, key, elem *typeInfo) {
	m = coreMap(t)
	key, elem = b.in.info(m.Key()), b.in.info(m.Elem())
	return m, reflect.MapOf(key.R, elem.R), key, elem
}

func coreMap(t types.Type) *types.Map { return t.Underlying().(*types.Map) }

func makeMap(b *builder, in *ssa.MakeMap) op {
	d := b.dst(in)
	_, r, _, _ := mapType(b, in.Type())
	var size func(f *Frame) int64
	if in.Reserve != nil {
		size = b.sizeOperand(in.Reserve)
	}
	return func(f *Frame) *Frame {
		n := 0
		if size != nil {
			n = int(max(0, min(size(f), 1<<20)))
		}
		m := reflect.MakeMapWithSize(r, n)
		*at[unsafe.Pointer](f, d) = m.UnsafePointer()
		return f
	}
}

func mapUpdate(b *builder, in *ssa.MapUpdate) op {
	_, r, key, elem := mapType(b, in.Map.Type())
	m, k, v := b.ref(in.Map), b.ref(in.Key), b.ref(in.Value)
	if set := fastMapSet(r, key, elem, m, k, v); set != nil {
		return set
	}
	return func(f *Frame) *Frame {
		p := *(*unsafe.Pointer)(m.at(f))
		if p == nil {
			var none map[int]int
			none[0] = 0 //nolint:staticcheck // panics on purpose, with Go's own text
		}
		defer WritesMap(f.Code.in, p).End() // a key may have no hash
		asMap(r, &p).SetMapIndex(key.value(k.at(f)), elem.value(v.at(f)))
		return f
	}
}

// mapConflict ends the program, as Go's run time would end it.
type mapConflict string

// WritesMap notes that the map at m is being written, until the end of the use. It panics
// where another goroutine of the program writes it.
func WritesMap(in *Interp, m unsafe.Pointer) mapuse.Use {
	if !in.parallel.Load() {
		return mapuse.Use{}
	}
	u, ok := in.maps.Write(m)
	if !ok {
		panic(mapConflict("concurrent map writes"))
	}
	return u
}

// ReadsMap is WritesMap of a look-up; who tells goroutines apart.
func ReadsMap(in *Interp, m, who unsafe.Pointer) mapuse.Use {
	if !in.parallel.Load() {
		return mapuse.Use{}
	}
	u, ok := in.maps.Read(m, who)
	if !ok {
		panic(mapConflict("concurrent map read and map write"))
	}
	return u
}

// ReadMap has read look at the map at m while no code of the program writes it; it returns false where
// another goroutine does.
func ReadMap(in *Interp, m unsafe.Pointer, read func()) bool {
	if !in.parallel.Load() {
		read()
		return true
	}
	var who byte
	u, ok := in.maps.Read(m, unsafe.Pointer(&who))
	if ok {
		defer u.End()
		read()
	}
	return ok
}

// rangesMap is ReadsMap of a range over a map.
func rangesMap(in *Interp, m, who unsafe.Pointer) mapuse.Use {
	if !in.parallel.Load() {
		return mapuse.Use{}
	}
	u, ok := in.maps.Read(m, who)
	if !ok {
		panic(mapConflict("concurrent map iteration and map write"))
	}
	return u
}

func asMap(r reflect.Type, p *unsafe.Pointer) reflect.Value {
	return reflect.NewAt(r, unsafe.Pointer(p)).Elem()
}

func lookup(b *builder, in *ssa.Lookup) op {
	d, x := b.dst(in), b.ref(in.X)
	if isBasic(in.X.Type(), types.IsString) {
		i := b.index(in.Index)
		return func(f *Frame) *Frame { *at[uint8](f, d) = (*(*string)(x.at(f)))[i(f)]; return f }
	}
	_, r, key, elem := mapType(b, in.X.Type())
	k := b.ref(in.Index)
	okOff := uintptr(0)
	if in.CommaOk {
		okOff = d + b.in.info(in.Type()).offs[1]
	}
	if get := fastMapGet(r, key, elem, x, k, d, in.CommaOk, okOff); get != nil {
		return get
	}
	return func(f *Frame) *Frame {
		p := *(*unsafe.Pointer)(x.at(f))
		v := readMap(f, r, p, key.value(k.at(f)))
		if elem.size > 0 {
			to := unsafe.Add(f.fp, d)
			if v.IsValid() {
				elem.value(to).Set(v)
			} else {
				elem.zero(to)
			}
		}
		if in.CommaOk {
			*at[bool](f, okOff) = v.IsValid()
		}
		return f
	}
}

func readMap(f *Frame, r reflect.Type, m unsafe.Pointer, key reflect.Value) reflect.Value {
	if m != nil {
		defer ReadsMap(f.Code.in, m, unsafe.Pointer(f.th)).End() // a key may have no hash
	}
	return asMap(r, &m).MapIndex(key)
}

// The fast forms read and write maps through Go's own map type with a key of
// the same hash and an element of the same layout.

func fastMapGet(r reflect.Type, key, elem *typeInfo, x, k ref, d uintptr, commaOk bool, okOff uintptr) op {
	switch r.Key().Kind() {
	case reflect.String:
		return mapGetElem[string](elem, x, k, d, commaOk, okOff)
	case reflect.Int:
		return mapGetElem[int](elem, x, k, d, commaOk, okOff)
	case reflect.Int32:
		return mapGetElem[int32](elem, x, k, d, commaOk, okOff)
	}
	return nil
}

func mapGetElem[K comparable](elem *typeInfo, x, k ref, d uintptr, commaOk bool, okOff uintptr) op {
	switch elem.class {
	case cls8:
		return mapGet[K, uint64](x, k, d, commaOk, okOff)
	case cls1:
		return mapGet[K, uint8](x, k, d, commaOk, okOff)
	case clsPtr:
		return mapGet[K, unsafe.Pointer](x, k, d, commaOk, okOff)
	case clsString:
		return mapGet[K, string](x, k, d, commaOk, okOff)
	}
	return nil
}

func mapGet[K comparable, V any](x, k ref, d uintptr, commaOk bool, okOff uintptr) op {
	return func(f *Frame) *Frame {
		m := (*map[K]V)(x.at(f))
		var v V
		var ok bool
		if p := *(*unsafe.Pointer)(unsafe.Pointer(m)); p != nil {
			use := ReadsMap(f.Code.in, p, unsafe.Pointer(f.th))
			v, ok = (*m)[*(*K)(k.at(f))]
			use.End()
		}
		*at[V](f, d) = v
		if commaOk {
			*at[bool](f, okOff) = ok
		}
		return f
	}
}

func fastMapSet(r reflect.Type, key, elem *typeInfo, m, k, v ref) op {
	switch r.Key().Kind() {
	case reflect.String:
		return mapSetElem[string](elem, m, k, v)
	case reflect.Int:
		return mapSetElem[int](elem, m, k, v)
	case reflect.Int32:
		return mapSetElem[int32](elem, m, k, v)
	}
	return nil
}

func mapSetElem[K comparable](elem *typeInfo, m, k, v ref) op {
	switch elem.class {
	case cls8:
		return mapSet[K, uint64](m, k, v)
	case cls1:
		return mapSet[K, uint8](m, k, v)
	case clsPtr:
		return mapSet[K, unsafe.Pointer](m, k, v)
	case clsString:
		return mapSet[K, string](m, k, v)
	}
	return nil
}

func mapSet[K comparable, V any](m, k, v ref) op {
	return func(f *Frame) *Frame {
		m := (*map[K]V)(m.at(f))
		if p := *(*unsafe.Pointer)(unsafe.Pointer(m)); p != nil {
			use := WritesMap(f.Code.in, p)
			(*m)[*(*K)(k.at(f))] = *(*V)(v.at(f))
			use.End()
			return f
		}
		(*m)[*(*K)(k.at(f))] = *(*V)(v.at(f)) // panics
		return f
	}
}

// iterator is the state of a range over a map or string.
type iterator struct {
	m   *reflect.MapIter
	r   reflect.Type // of the map
	s   string
	pos int
	// keep holds the map for the iterator.
	keep *unsafe.Pointer
	// ordered are the keys still to come, last first, where their order is kept.
	inOrder bool
	ordered []reflect.Value
	key     reflect.Value
	val     reflect.Value
}

// step is next where no other goroutine writes the map.
func (it *iterator) step(f *Frame) bool {
	if *it.keep == nil {
		return it.next()
	}
	use := rangesMap(f.Code.in, *it.keep, unsafe.Pointer(f.th))
	ok := it.next()
	use.End()
	return ok
}

// next goes to the next key that is still there.
func (it *iterator) next() bool {
	if !it.inOrder {
		return it.m.Next()
	}
	m := reflect.NewAt(it.r, unsafe.Pointer(it.keep)).Elem()
	for n := len(it.ordered); n > 0; n = len(it.ordered) {
		it.key = it.ordered[n-1]
		it.ordered = it.ordered[:n-1]
		if it.val = m.MapIndex(it.key); it.val.IsValid() {
			return true
		}
	}
	return false
}

// put stores the key and the value in v, where they are wanted.
func (it *iterator) put(key, val reflect.Value) {
	if key.IsValid() {
		if it.inOrder {
			key.Set(it.key)
		} else {
			key.SetIterKey(it.m)
		}
	}
	if val.IsValid() {
		if it.inOrder {
			val.Set(it.val)
		} else {
			val.SetIterValue(it.m)
		}
	}
}

func rangeOp(b *builder, in *ssa.Range) op {
	d, x := b.dst(in), b.ref(in.X)
	if isBasic(in.X.Type(), types.IsString) {
		return func(f *Frame) *Frame {
			*at[*iterator](f, d) = &iterator{s: *(*string)(x.at(f))}
			return f
		}
	}
	_, r, _, _ := mapType(b, in.X.Type())
	return func(f *Frame) *Frame {
		p := new(unsafe.Pointer)
		*p = *(*unsafe.Pointer)(x.at(f))
		m := asMap(r, p)
		it := &iterator{m: m.MapRange(), r: r, keep: p}
		if f.Code.in.Config.Journal != nil && m.Len() > 1 {
			use := rangesMap(f.Code.in, *p, unsafe.Pointer(f.th))
			it.ordered, it.inOrder = keysInOrder(f, m)
			use.End()
		}
		*at[*iterator](f, d) = it
		return f
	}
}

func next(b *builder, in *ssa.Next) op {
	d, it := b.dst(in), b.ref(in.Iter)
	tuple := b.in.info(in.Type())
	kOff, vOff := tuple.offs[1], tuple.offs[2]
	if in.IsString {
		return func(f *Frame) *Frame {
			it := *(**iterator)(it.at(f))
			ok := it.pos < len(it.s)
			*at[bool](f, d) = ok
			if ok {
				r, n := utf8.DecodeRuneInString(it.s[it.pos:])
				if tuple.R.Field(1).Type.Size() > 0 {
					*at[int](f, d+kOff) = it.pos
				}
				if tuple.R.Field(2).Type.Size() > 0 {
					*at[rune](f, d+vOff) = r
				}
				it.pos += n
			}
			return f
		}
	}
	kt, vt := tuple.R.Field(1).Type, tuple.R.Field(2).Type
	return func(f *Frame) *Frame {
		it := *(**iterator)(it.at(f))
		ok := it.step(f)
		*at[bool](f, d) = ok
		if !ok {
			return f
		}
		var key, val reflect.Value
		if kt.Size() > 0 {
			key = reflect.NewAt(kt, unsafe.Add(f.fp, d+kOff)).Elem()
		}
		if vt.Size() > 0 {
			val = reflect.NewAt(vt, unsafe.Add(f.fp, d+vOff)).Elem()
		}
		it.put(key, val)
		return f
	}
}

// chanType is the bidirectional representation of a channel type.
func chanType(b *builder, t types.Type) (r reflect.Type, elem *typeInfo) {
	elem = b.in.info(t.Underlying().(*types.Chan).Elem())
	return reflect.ChanOf(reflect.BothDir, elem.R), elem
}

func makeChan(b *builder, in *ssa.MakeChan) op {
	d, n := b.dst(in), b.sizeOperand(in.Size)
	r, elem := chanType(b, in.Type())
	return func(f *Frame) *Frame {
		size := n(f)
		if size < 0 || elem.size > 0 && uint64(size) > 1<<47/uint64(elem.size) {
			panic(plainError("makechan: size out of range"))
		}
		*at[unsafe.Pointer](f, d) = reflect.MakeChan(r, int(size)).UnsafePointer()
		return f
	}
}

func send(b *builder, in *ssa.Send) op {
	ch, x := b.ref(in.Chan), b.ref(in.X)
	r, elem := chanType(b, in.Chan.Type())
	if turns := b.in.baton; turns != nil {
		return func(f *Frame) *Frame {
			p := *(*unsafe.Pointer)(ch.at(f))
			turns.Chans.Send(reflect.NewAt(r, unsafe.Pointer(&p)).Elem(), elem.value(x.at(f)))
			return f
		}
	}
	return func(f *Frame) *Frame {
		p := *(*unsafe.Pointer)(ch.at(f))
		reflect.NewAt(r, unsafe.Pointer(&p)).Elem().Send(elem.value(x.at(f)))
		return f
	}
}

func receive(b *builder, in *ssa.UnOp, d uintptr, ch ref) op {
	r, elem := chanType(b, in.X.Type())
	okOff := uintptr(0)
	if in.CommaOk {
		okOff = d + b.in.info(in.Type()).offs[1]
	}
	recv := reflect.Value.Recv
	if b.in.baton != nil {
		recv = b.in.baton.Chans.Recv
	}
	return func(f *Frame) *Frame {
		p := *(*unsafe.Pointer)(ch.at(f))
		v, ok := recv(reflect.NewAt(r, unsafe.Pointer(&p)).Elem())
		if elem.size > 0 {
			elem.value(unsafe.Add(f.fp, d)).Set(v)
		}
		if in.CommaOk {
			*at[bool](f, okOff) = ok
		}
		return f
	}
}

func selectOp(b *builder, in *ssa.Select) op {
	type state struct {
		dir  reflect.SelectDir
		r    reflect.Type
		elem *typeInfo
		ch   ref
		x    ref
	}
	d := b.dst(in)
	tuple := b.in.info(in.Type())
	var states []state
	for _, s := range in.States {
		r, elem := chanType(b, s.Chan.Type())
		st := state{dir: reflect.SelectRecv, r: r, elem: elem, ch: b.ref(s.Chan)}
		if s.Dir == types.SendOnly {
			st.dir, st.x = reflect.SelectSend, b.ref(s.Send)
		}
		states = append(states, st)
	}
	return func(f *Frame) *Frame {
		cases := make([]reflect.SelectCase, len(states), len(states)+1)
		chans := make([]unsafe.Pointer, len(states))
		for i, s := range states {
			chans[i] = *(*unsafe.Pointer)(s.ch.at(f))
			cases[i] = reflect.SelectCase{Dir: s.dir, Chan: reflect.NewAt(s.r, unsafe.Pointer(&chans[i])).Elem()}
			if s.dir == reflect.SelectSend {
				cases[i].Send = s.elem.value(s.x.at(f))
			}
		}
		if !in.Blocking {
			cases = append(cases, reflect.SelectCase{Dir: reflect.SelectDefault})
		}
		chosen, v, ok := selects(f.th.In, cases)
		if chosen == len(states) {
			chosen = -1
		}
		*at[int](f, d) = chosen
		*at[bool](f, d+tuple.offs[1]) = ok
		n := 2
		for i, s := range states {
			if s.dir != reflect.SelectRecv {
				continue
			}
			to := unsafe.Add(f.fp, d+tuple.offs[n])
			n++
			switch {
			case s.elem.size == 0:
			case i == chosen:
				s.elem.value(to).Set(v)
			default:
				s.elem.zero(to)
			}
		}
		return f
	}
}

// plainError is a run-time error whose text has no prefix.
type plainError string

// RuntimeError marks e as a runtime.Error.
func (e plainError) RuntimeError() {}

func (e plainError) Error() string { return string(e) }
