package tracer

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"sync"
	"tcdbg/logs"
	"unsafe"

	"tcdbg/torch"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is access paths: how a value is found again when a region is
// entered, and how the path is printed.

// source says where a value stands on entry of a region. Sources of one trace
// are interned: equal paths are equal pointers.
type source struct {
	kind   sourceKind
	parent *source
	frame  int         // srcRegister: frame of the region, 0 is the lowest
	value  ssa.Value   // srcRegister; the variable of srcFree
	global *ssa.Global // srcGlobal
	index  int         // field, element or free variable
	offset uintptr     // srcField, srcItem
	key    *mapKey     // srcMapValue
	dyn    types.Type  // srcDynamic: the guarded dynamic type
	typ    types.Type  // of the value that stands there
	slot   int         // place in the segment's table of addresses
	name   string
}

type sourceKind uint8

const (
	srcRegister sourceKind = iota
	srcGlobal
	srcDeref    // what the pointer at parent points to
	srcField    // field of the struct at parent
	srcItem     // element of the array at parent
	srcElem     // element of the slice at parent
	srcDynamic  // content of the interface at parent
	srcFree     // bound variable of the func value at parent
	srcMapValue // value under a constant key of the map at parent
	srcGrad     // gradient of the tensor that parent points to
)

// mapKey is a constant key of a map.
type mapKey struct {
	addr unsafe.Pointer
	text string
}

type sourceID struct {
	kind   sourceKind
	parent *source
	frame  int
	what   any
	index  int
}

// sources interns the paths of one trace in the order in which they were met:
// a parent always comes before its children.
type sources struct {
	in    *host.Interp
	all   []*source
	ids   map[sourceID]*source
	top   int            // index of the region's top frame
	names map[string]int // of registers
}

func newSources(in *host.Interp, top int) *sources {
	return &sources{in: in, ids: map[sourceID]*source{}, top: top, names: map[string]int{}}
}

func (ss *sources) intern(id sourceID, make func() *source) *source {
	if s, ok := ss.ids[id]; ok {
		return s
	}
	s := make()
	s.kind, s.parent, s.frame, s.index = id.kind, id.parent, id.frame, id.index
	s.slot = len(ss.all)
	ss.all = append(ss.all, s)
	ss.ids[id] = s
	return s
}

// register is a local variable of a frame. Those of the region's top frame go by
// their own name, those of its callers by function and name.
func (ss *sources) register(frame int, v ssa.Value) *source {
	return ss.intern(sourceID{kind: srcRegister, frame: frame, what: v}, func() *source {
		name := localName(v)
		if frame < ss.top {
			name = funcName(v.Parent()) + "." + name
		}
		if n := ss.names[name]; n > 0 { // two registers of one variable
			name = fmt.Sprintf("%s#%d", name, n)
		}
		ss.names[name]++
		return &source{value: v, typ: v.Type(), name: "L['" + name + "']"}
	})
}

func (ss *sources) globalVar(g *ssa.Global) *source {
	return ss.intern(sourceID{kind: srcGlobal, what: g}, func() *source {
		t := g.Type().Underlying().(*types.Pointer).Elem()
		name := g.Name()
		if g.Pkg != nil && g.Pkg.Pkg.Name() != "main" {
			name = g.Pkg.Pkg.Name() + "." + name
		}
		return &source{global: g, typ: t, name: "G['" + name + "']"}
	})
}

func (ss *sources) deref(p *source) *source {
	return ss.intern(sourceID{kind: srcDeref, parent: p}, func() *source {
		name := strings.Replace(p.name, "L['&", "L['", 1)
		if name != p.name { // a place, not a pointer that the user knows
			return &source{typ: p.typ.Underlying().(*types.Pointer).Elem(), name: name}
		}
		elem := p.typ.Underlying().(*types.Pointer).Elem()
		if _, isStruct := elem.Underlying().(*types.Struct); !isStruct {
			if !isFree(p.value) {
				name = "*" + name
			}
		}
		return &source{typ: elem, name: name}
	})
}

// isFree reports whether v is a captured variable: it is a pointer in SSA but
// an ordinary variable to the user.
func isFree(v ssa.Value) bool {
	switch v.(type) {
	case *ssa.FreeVar, *ssa.Alloc:
		return true
	}
	return false
}

func (ss *sources) field(p *source, i int) *source {
	return ss.intern(sourceID{kind: srcField, parent: p, index: i}, func() *source {
		f := p.typ.Underlying().(*types.Struct).Field(i)
		return &source{typ: f.Type(), name: p.name + "." + f.Name(), offset: ss.in.Rep(p.typ).Field(i).Offset}
	})
}

// elem is element i of the slice or array at p.
func (ss *sources) elem(p *source, i int) *source {
	kind, t := srcElem, p.typ.Underlying()
	if _, isArray := t.(*types.Array); isArray {
		kind = srcItem
	}
	return ss.intern(sourceID{kind: kind, parent: p, index: i}, func() *source {
		e := elemType(t)
		s := &source{typ: e, name: p.name + "[" + strconv.Itoa(i) + "]", offset: uintptr(i) * ss.in.Rep(e).Size()}
		if v := listed(p, i); v != nil {
			s.name = "L['" + localName(v) + "']"
		}
		return s
	})
}

// listed is what the program writes at place i of a slice that it gives no name: the
// arguments of a variadic parameter, a literal; nil where p is no such slice.
func listed(p *source, i int) ssa.Value {
	list, ok := p.value.(*ssa.Slice)
	if !ok || p.kind != srcRegister || list.Low != nil || varName(list) != "" {
		return nil
	}
	array, ok := list.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" && array.Comment != "slicelit" {
		return nil
	}
	for _, r := range *array.Referrers() {
		if at, ok := r.(*ssa.IndexAddr); ok && isConstInt(at.Index, i) {
			for _, r := range *at.Referrers() {
				if st, ok := r.(*ssa.Store); ok && st.Addr == at {
					return st.Val
				}
			}
		}
	}
	return nil
}

func isConstInt(v ssa.Value, i int) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Int64() == int64(i)
}

func elemType(t types.Type) types.Type {
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return t.Elem()
	case *types.Array:
		return t.Elem()
	case *types.Pointer:
		return elemType(t.Elem())
	}
	panic(fmt.Sprintf("tracer: no elements in %s", t))
}

func (ss *sources) dynamic(p *source, dyn types.Type) *source {
	return ss.intern(sourceID{kind: srcDynamic, parent: p, what: dyn}, func() *source {
		return &source{typ: dyn, dyn: dyn, name: p.name}
	})
}

func (ss *sources) free(p *source, i int, fv *ssa.FreeVar) *source {
	return ss.intern(sourceID{kind: srcFree, parent: p, index: i}, func() *source {
		name := p.name + ".__closure__['" + fv.Name() + "']"
		if _, literal := p.value.(*ssa.MakeClosure); literal {
			name = "L['" + fv.Name() + "']" // a variable of the function around it
		}
		return &source{value: fv, typ: fv.Type(), name: name}
	})
}

func (ss *sources) mapValue(p *source, key *mapKey) *source {
	return ss.intern(sourceID{kind: srcMapValue, parent: p, what: key.text}, func() *source {
		return &source{typ: p.typ.Underlying().(*types.Map).Elem(), key: key, name: p.name + "[" + key.text + "]"}
	})
}

// grad is the gradient of the tensor that the pointer at p points to.
func (ss *sources) grad(p *source) *source {
	return ss.intern(sourceID{kind: srcGrad, parent: p}, func() *source {
		return &source{typ: p.typ, name: p.name + ".grad"}
	})
}

// localName is the name under which the user knows a register.
func localName(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.FreeVar:
		if isBound(v.Parent()) {
			return receiverName(v.Parent())
		}
		return v.Name()
	case *ssa.Parameter:
		if name := varName(v); name != "" && v.Parent().Synthetic != "" {
			return name // a range over a function only numbers its variables
		}
		return v.Name()
	case *ssa.MakeInterface:
		return localName(v.X)
	case *ssa.Alloc:
		if v.Comment != "" {
			return v.Comment
		}
	case *ssa.Const:
		return v.Name()
	case *ssa.Phi:
		if v.Comment == rangeCount {
			return "rangecount" // a dot would make it a field
		}
		if v.Comment != "" {
			return v.Comment
		}
	}
	if name := varName(v); name != "" {
		return name
	}
	if name := exprName(v); name != "" {
		return name
	}
	return synthetic(v)
}

// What SSA calls the counters of range statements over elements and over a number.
const (
	rangeIndex = "rangeindex"
	rangeCount = "rangeint.iter"
)

// synthetic names a register that the program has no expression for: what a
// conversion converts, the arguments of a variadic call, what a range counts.
func synthetic(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.BinOp:
		if counter, ok := v.X.(*ssa.Phi); ok && counter.Comment == rangeIndex {
			return rangeIndex
		}
	case *ssa.Call:
		if b, ok := v.Call.Value.(*ssa.Builtin); ok && b.Name() == "len" {
			return "len(" + localName(v.Call.Args[0]) + ")"
		}
	case *ssa.ChangeType:
		return localName(v.X)
	case *ssa.ChangeInterface:
		return localName(v.X)
	case *ssa.Convert:
		return localName(v.X)
	case *ssa.Extract:
		return localName(v.Tuple)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return strings.TrimPrefix(localName(v.X), "&")
		}
	case *ssa.Slice:
		return localName(v.X)
	}
	return v.Name()
}

// argument is the printed path of a source without the L['...'] dressing:
// net.Weight. Where it isSpelled it is the user's own expression.
func (s *source) argument() string {
	switch s.kind {
	case srcRegister:
		return localName(s.value)
	case srcGlobal:
		return s.global.Name()
	case srcDeref, srcDynamic:
		return strings.TrimPrefix(s.parent.argument(), "&")
	case srcField:
		return s.parent.argument() + "." + s.parent.typ.Underlying().(*types.Struct).Field(s.index).Name()
	case srcElem, srcItem:
		if v := listed(s.parent, s.index); v != nil {
			return localName(v)
		}
		return s.parent.argument() + "[" + strconv.Itoa(s.index) + "]"
	case srcFree:
		return s.value.Name()
	case srcMapValue:
		return s.parent.argument() + "[" + s.key.text + "]"
	case srcGrad:
		return s.parent.argument() + ".Grad()"
	}
	return s.name
}

// origin is what the expression of a source begins with.
func (s *source) origin() string {
	switch s.kind {
	case srcGlobal:
		return logs.OriginGlobal
	case srcFree:
		return logs.OriginCaptured
	case srcRegister:
		switch v := s.value.(type) {
		case *ssa.FreeVar:
			return logs.OriginCaptured
		case *ssa.Parameter:
			if s.frame == 0 {
				return logs.OriginArgument
			}
		case *ssa.Alloc: // a parameter whose address is taken has a variable of its name
			for _, p := range v.Parent().Params {
				if s.frame == 0 && p.Name() == v.Comment {
					return logs.OriginArgument
				}
			}
		}
		return logs.OriginLocal
	}
	return s.parent.origin()
}

// isSpelled reports whether the program has words for a source: it has none for what
// torch's own code computes within a call, nor for what a range counts. What is
// passed to a function of torch is known by the name of its parameter.
func (s *source) isSpelled() bool {
	switch s.kind {
	case srcRegister:
		_, passed := s.value.(*ssa.Parameter)
		return spelled(s.value) && (!inTorch(s.value.Parent()) || passed && s.frame == 0)
	case srcGlobal:
		return true
	case srcElem, srcItem:
		if v := listed(s.parent, s.index); v != nil {
			return spelled(v)
		}
	}
	return s.parent.isSpelled()
}

// inTorch reports whether a function is one of torch's that the host interprets.
func inTorch(fn *ssa.Function) bool {
	return fn != nil && fn.Pkg != nil && ownSource(fn.Pkg.Pkg.Path()+"/")
}

// spelled reports whether some line of the program spells a register: as a
// variable or as an expression.
func spelled(v ssa.Value) bool {
	if varName(v) != "" || exprName(v) != "" {
		return true
	}
	switch v := v.(type) {
	case *ssa.Phi:
		return v.Comment != "" && v.Comment != rangeCount
	case *ssa.Alloc:
		return v.Comment != ""
	case *ssa.MakeInterface:
		return spelled(v.X)
	case *ssa.ChangeType:
		return spelled(v.X)
	case *ssa.ChangeInterface:
		return spelled(v.X)
	case *ssa.Convert:
		return spelled(v.X)
	case *ssa.Extract:
		return spelled(v.Tuple)
	case *ssa.UnOp:
		return v.Op == token.MUL && spelled(v.X)
	case *ssa.Slice:
		return spelled(v.X)
	}
	_, computed := v.(ssa.Instruction)
	return !computed
}

// addresses resolves sources on one entry of a region. It is a table by slot,
// filled as the guards ask; nil means that the path is broken (a nil pointer, a
// shorter slice, a missing key).
type addresses struct {
	in     *host.Interp
	frames []*host.Frame
	slot   []slot
}

// slot is the address of one source; done tells a broken path from one that
// nobody asked for yet.
type slot struct {
	p    unsafe.Pointer
	done bool
}

func newAddresses(in *host.Interp, frames []*host.Frame, n int) *addresses {
	return &addresses{in: in, frames: frames, slot: make([]slot, n)}
}

// addressPool keeps the tables of calls that are served from the cache.
var addressPool = sync.Pool{New: func() any { return new(addresses) }}

// takeAddresses is newAddresses from the pool; give it back with release.
func takeAddresses(in *host.Interp, frames []*host.Frame, n int) *addresses {
	a := addressPool.Get().(*addresses)
	a.in, a.frames = in, frames
	if cap(a.slot) < n {
		a.slot = make([]slot, n)
	}
	a.slot = a.slot[:n]
	return a
}

// release clears a, so that it keeps nothing alive, and returns it to the pool.
func (a *addresses) release() {
	clear(a.slot)
	a.in, a.frames = nil, nil
	addressPool.Put(a)
}

// at returns the address of the value at s.
func (a *addresses) at(s *source) unsafe.Pointer {
	if s.slot >= len(a.slot) { // only while tracing, when sources are still being found
		a.slot = append(a.slot, make([]slot, s.slot+16-len(a.slot))...)
	}
	if s.kind == srcField || s.kind == srcItem { // an addition is cheaper than a look-up
		p := a.at(s.parent)
		if p == nil {
			return nil
		}
		return unsafe.Add(p, s.offset)
	}
	if x := &a.slot[s.slot]; x.done {
		return x.p
	}
	p := a.find(s)
	a.slot[s.slot] = slot{p, true}
	return p
}

func (a *addresses) find(s *source) unsafe.Pointer {
	switch s.kind {
	case srcRegister:
		return a.frames[s.frame].Addr(s.value)
	case srcGlobal:
		return a.in.GlobalAddr(s.global)
	}
	p := a.at(s.parent)
	if p == nil {
		return nil
	}
	switch s.kind {
	case srcDeref:
		return *(*unsafe.Pointer)(p)
	case srcElem:
		h := (*sliceHeader)(p)
		if s.index >= h.len {
			return nil
		}
		return unsafe.Add(h.data, s.offset)
	case srcDynamic:
		t, q := a.in.Dynamic(s.parent.typ, p)
		if t == nil || !types.Identical(t, s.dyn) {
			return nil
		}
		return q
	case srcFree:
		if c := a.in.ClosureOf(p); c != nil && s.index < len(c.Free) {
			return c.Free[s.index]
		}
		return nil
	case srcMapValue:
		return mapLookup(a.in, s.parent.typ, p, s.key.addr)
	case srcGrad:
		if t := *(**torch.Tensor)(p); t != nil {
			return unsafe.Pointer(t.GradPlace())
		}
		return nil
	}
	panic("tracer: unknown source kind")
}

// sliceHeader is the layout of a slice value.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}
