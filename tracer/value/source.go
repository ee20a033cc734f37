package value

import (
	"fmt"
	"go/types"
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/tracer/host"

	"golang.org/x/tools/go/ssa"
)

// This file is access paths: how a value is found again when a region is
// entered, and how the path is printed.

// Source says where a value is on entry of a region. Sources of one trace
// are interned: equal paths are equal pointers.
type Source struct {
	Kind   Kind
	Parent *Source
	Frame  int         // Register: frame of the region, 0 is the lowest
	Reg    ssa.Value   // Register; the variable of Free
	Global *ssa.Global // Global
	Index  int         // field, element or free variable
	Offset uintptr     // Field, Item
	Key    *MapKey     // MapValue
	Dyn    types.Type  // Dynamic: the guarded dynamic type
	Type   types.Type  // of the value that is there
	Slot   int         // place in the cache entry's table of addresses
	Name   string
}

type Kind uint8

const (
	Register Kind = iota
	Global
	Deref    // what the pointer at parent points to
	Field    // field of the struct at parent
	Item     // element of the array at parent
	Elem     // element of the slice at parent
	Dynamic  // content of the interface at parent
	Free     // bound variable of the func value at parent
	MapValue // value under a constant key of the map at parent
	Grad     // gradient of the tensor that parent points to
)

// MapKey is a constant key of a map.
type MapKey struct {
	Addr unsafe.Pointer
	Text string
}

type sourceID struct {
	kind   Kind
	parent *Source
	frame  int
	what   any
	index  int
}

// Sources interns the paths of one trace in the order in which they were met:
// a parent always comes before its children.
type Sources struct {
	in    *host.Interp
	All   []*Source
	ids   map[sourceID]*Source
	top   int            // index of the region's top frame
	names map[string]int // of registers
}

func NewSources(in *host.Interp, top int) *Sources {
	return &Sources{in: in, ids: map[sourceID]*Source{}, top: top, names: map[string]int{}}
}

func (ss *Sources) intern(id sourceID, make func() *Source) *Source {
	if s, ok := ss.ids[id]; ok {
		return s
	}
	s := make()
	s.Kind, s.Parent, s.Frame, s.Index = id.kind, id.parent, id.frame, id.index
	s.Slot = len(ss.All)
	ss.All = append(ss.All, s)
	ss.ids[id] = s
	return s
}

// Register is a local variable of a frame. Those of the region's top frame go by
// their own name, those of its callers by function and name.
func (ss *Sources) Register(frame int, v ssa.Value) *Source {
	return ss.intern(sourceID{kind: Register, frame: frame, what: v}, func() *Source {
		name := LocalName(v)
		if frame < ss.top {
			name = FuncName(v.Parent()) + "." + name
		}
		if n := ss.names[name]; n > 0 { // two registers of one variable
			name = fmt.Sprintf("%s#%d", name, n)
		}
		ss.names[name]++
		return &Source{Reg: v, Type: v.Type(), Name: "L['" + name + "']"}
	})
}

func (ss *Sources) GlobalVar(g *ssa.Global) *Source {
	return ss.intern(sourceID{kind: Global, what: g}, func() *Source {
		t := g.Type().Underlying().(*types.Pointer).Elem()
		name := g.Name()
		if g.Pkg != nil && g.Pkg.Pkg.Name() != "main" {
			name = g.Pkg.Pkg.Name() + "." + name
		}
		return &Source{Global: g, Type: t, Name: "G['" + name + "']"}
	})
}

func (ss *Sources) deref(p *Source) *Source {
	return ss.intern(sourceID{kind: Deref, parent: p}, func() *Source {
		name := strings.Replace(p.Name, "L['&", "L['", 1)
		if name != p.Name { // a place, not a pointer that the user knows
			return &Source{Type: p.Type.Underlying().(*types.Pointer).Elem(), Name: name}
		}
		elem := p.Type.Underlying().(*types.Pointer).Elem()
		if _, isStruct := elem.Underlying().(*types.Struct); !isStruct {
			if !isFree(p.Reg) {
				name = "*" + name
			}
		}
		return &Source{Type: elem, Name: name}
	})
}

func (ss *Sources) Field(p *Source, i int) *Source {
	return ss.intern(sourceID{kind: Field, parent: p, index: i}, func() *Source {
		f := p.Type.Underlying().(*types.Struct).Field(i)
		return &Source{Type: f.Type(), Name: p.Name + "." + f.Name(), Offset: ss.in.Rep(p.Type).Field(i).Offset}
	})
}

// Elem is element i of the slice or array at p.
func (ss *Sources) Elem(p *Source, i int) *Source {
	kind, t := Elem, p.Type.Underlying()
	if _, isArray := t.(*types.Array); isArray {
		kind = Item
	}
	return ss.intern(sourceID{kind: kind, parent: p, index: i}, func() *Source {
		e := ElemType(t)
		s := &Source{Type: e, Name: p.Name + "[" + strconv.Itoa(i) + "]", Offset: uintptr(i) * ss.in.Rep(e).Size()}
		if v := listed(p, i); v != nil {
			s.Name = "L['" + LocalName(v) + "']"
		}
		return s
	})
}

func ElemType(t types.Type) types.Type {
	switch t := t.Underlying().(type) {
	case *types.Slice:
		return t.Elem()
	case *types.Array:
		return t.Elem()
	case *types.Pointer:
		return ElemType(t.Elem())
	}
	panic(fmt.Sprintf("tracer: no elements in %s", t))
}

func (ss *Sources) Dynamic(p *Source, dyn types.Type) *Source {
	return ss.intern(sourceID{kind: Dynamic, parent: p, what: dyn}, func() *Source {
		return &Source{Type: dyn, Dyn: dyn, Name: p.Name}
	})
}

func (ss *Sources) Free(p *Source, i int, fv *ssa.FreeVar) *Source {
	return ss.intern(sourceID{kind: Free, parent: p, what: fv, index: i}, func() *Source {
		name := p.Name + ".__closure__['" + fv.Name() + "']"
		if _, literal := p.Reg.(*ssa.MakeClosure); literal {
			name = "L['" + fv.Name() + "']" // a variable of the function around it
		}
		return &Source{Reg: fv, Type: fv.Type(), Name: name}
	})
}

func (ss *Sources) MapValue(p *Source, key *MapKey) *Source {
	return ss.intern(sourceID{kind: MapValue, parent: p, what: key.Text}, func() *Source {
		return &Source{Type: p.Type.Underlying().(*types.Map).Elem(), Key: key, Name: p.Name + "[" + key.Text + "]"}
	})
}

// Grad is the gradient of the tensor that the pointer at p points to.
func (ss *Sources) Grad(p *Source) *Source {
	return ss.intern(sourceID{kind: Grad, parent: p}, func() *Source {
		return &Source{Type: p.Type, Name: p.Name + ".grad"}
	})
}

// Argument is the printed path of a source without the L['...'] dressing:
// net.Weight. Where it IsSpelled it is the user's own expression.
func (s *Source) Argument() string {
	switch s.Kind {
	case Register:
		return LocalName(s.Reg)
	case Global:
		return s.Global.Name()
	case Deref, Dynamic:
		return strings.TrimPrefix(s.Parent.Argument(), "&")
	case Field:
		return s.Parent.Argument() + "." + s.Parent.Type.Underlying().(*types.Struct).Field(s.Index).Name()
	case Elem, Item:
		if v := listed(s.Parent, s.Index); v != nil {
			return LocalName(v)
		}
		return s.Parent.Argument() + "[" + strconv.Itoa(s.Index) + "]"
	case Free:
		return s.Reg.Name()
	case MapValue:
		return s.Parent.Argument() + "[" + s.Key.Text + "]"
	case Grad:
		return s.Parent.Argument() + ".Grad()"
	}
	return s.Name
}

// Origin is what the expression of a source begins with.
func (s *Source) Origin() string {
	switch s.Kind {
	case Global:
		return logs.OriginGlobal
	case Free:
		return logs.OriginCaptured
	case Register:
		switch v := s.Reg.(type) {
		case *ssa.FreeVar:
			return logs.OriginCaptured
		case *ssa.Parameter:
			if s.Frame == 0 {
				return logs.OriginArgument
			}
		case *ssa.Alloc: // a parameter whose address is taken has a variable of its name
			for _, p := range v.Parent().Params {
				if s.Frame == 0 && p.Name() == v.Comment {
					return logs.OriginArgument
				}
			}
		}
		return logs.OriginLocal
	}
	return s.Parent.Origin()
}

// IsSpelled reports whether the program has words for a source: it has none for what
// torch's own code computes within a call, nor for what a range counts. What is
// passed to a function of torch is known by the name of its parameter.
func (s *Source) IsSpelled() bool {
	switch s.Kind {
	case Register:
		_, passed := s.Reg.(*ssa.Parameter)
		return spelled(s.Reg) && (!inTorch(s.Reg.Parent()) || passed && s.Frame == 0)
	case Global:
		return true
	case Elem, Item:
		if v := listed(s.Parent, s.Index); v != nil {
			return spelled(v)
		}
	}
	return s.Parent.IsSpelled()
}

// SliceHeader is the layout of a slice value.
type SliceHeader struct {
	Data     unsafe.Pointer
	Len, Cap int
}
