package eval

import (
	"go/types"
	"unsafe"

	"tcdbg/tracer/guard"
	"tcdbg/tracer/value"
)

// This file records which entry memory a trace accesses, for the guards on aliasing.

// touch records that the trace has accessed the memory at loc.
func (hp *heap) touch(loc *value.Source, write bool) {
	for s := loc; s != nil; s = s.Parent {
		switch s.Kind {
		case value.Field, value.Item:
			continue
		case value.Deref, value.Global:
			hp.touchExtent(guard.ExtentKey{Src: s, Elems: false}, s.Type, write)
		case value.Elem:
			hp.touchExtent(guard.ExtentKey{Src: s.Parent, Elems: true}, s.Type, write)
		case value.Grad:
			hp.touchGrad(s.Parent, write)
		}
		return
	}
}

func (hp *heap) touchExtent(key guard.ExtentKey, t types.Type, write bool) {
	r := hp.touched[key]
	if r == nil {
		r = &guard.Extent{Src: key.Src, Elems: key.Elems, Typ: t, Size: hp.frames.In.Rep(t).Size()}
		hp.touched[key] = r
		hp.extents = append(hp.extents, r)
	}
	r.Written = r.Written || write
}

// mapAliasGuards tells a changed map from the others of its type.
func (hp *heap) mapAliasGuards() {
	for _, o := range hp.overlaid {
		for _, s := range hp.frames.src.All {
			if s == o.src || !types.Identical(s.Type, o.typ) {
				continue
			}
			if a, b := hp.capture.Entry.At(o.src), hp.capture.Entry.At(s); a != nil && b != nil {
				hp.guards.Identity(o.src, s, *(*unsafe.Pointer)(a) == *(*unsafe.Pointer)(b))
			}
		}
	}
}
