package bundle

import (
	"reflect"

	"tcdbg/explain"
	"tcdbg/logs"
)

// This file finds the places that a report names: all of them, wherever a report holds one. A
// screen or a section that is added shows no line that a bundle forgets.

// eachPlace calls f with the places that a report tells, those too that are read when they are asked for.
func eachPlace(r *explain.Report, f func(logs.Pos)) {
	w := walker{f: f, seen: map[pointer]bool{}, holds: map[reflect.Type]bool{}}
	w.walk(reflect.ValueOf(r))
	for _, g := range r.Graphs {
		w.walk(reflect.ValueOf(g.Nodes()))
	}
	for _, fr := range r.Frames {
		for _, c := range fr.Compiles {
			if root := c.Guards.Root(); root != nil {
				w.guards(root)
			}
		}
	}
	for _, s := range r.Session.Stops {
		if s.Load != nil {
			w.walk(reflect.ValueOf(s.Load()))
		}
	}
}

// walker goes through a report. What has two ways to it is looked at once.
type walker struct {
	f     func(logs.Pos)
	seen  map[pointer]bool
	holds map[reflect.Type]bool // types that may lead to a place
}

// pointer is one, with its type: a struct and its first field are at one address.
type pointer struct {
	to reflect.Type
	at uintptr
}

var placeType = reflect.TypeFor[logs.Pos]()

// guards are the places of conditions that a line asked for: what every program is asked for is left out.
func (w *walker) guards(g *explain.GuardNode) {
	if g.Kind != "" && !g.Noise {
		w.f(g.Pos)
	}
	for _, c := range g.Children {
		w.guards(c)
	}
}

func (w *walker) walk(v reflect.Value) {
	if !v.IsValid() || !w.mayHold(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		at := pointer{v.Type(), v.Pointer()}
		if v.IsNil() || w.seen[at] {
			return
		}
		w.seen[at] = true
		w.walk(v.Elem())
	case reflect.Interface:
		w.walk(v.Elem())
	case reflect.Struct:
		w.fields(v)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			w.walk(v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			w.walk(it.Key())
			w.walk(it.Value())
		}
	}
}

func (w *walker) fields(v reflect.Value) {
	if v.Type() == placeType {
		if p, ok := v.Interface().(logs.Pos); ok {
			w.f(p)
		}
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			w.walk(v.Field(i))
		}
	}
}

// mayHold says whether values of a type lead to places; what leads to itself does where another
// way does.
func (w *walker) mayHold(t reflect.Type) bool {
	if holds, known := w.holds[t]; known {
		return holds
	}
	w.holds[t] = true // while it is looked at: a type that leads to itself is walked
	holds := false
	switch t.Kind() {
	case reflect.Interface:
		holds = true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		holds = w.mayHold(t.Elem())
	case reflect.Map:
		holds = w.mayHold(t.Key()) || w.mayHold(t.Elem())
	case reflect.Struct:
		holds = t == placeType
		for i := 0; i < t.NumField() && !holds; i++ {
			holds = t.Field(i).IsExported() && w.mayHold(t.Field(i).Type)
		}
	}
	w.holds[t] = holds
	return holds
}
