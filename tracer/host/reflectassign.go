package host

import (
	"reflect"
	"unsafe"
)

// This file is what package reflect must refuse where a value is assigned to an
// interface of the program, which it takes for an empty one.

// checkAssignable panics as package reflect does when x cannot be assigned to dst.
func checkAssignable(in *Interp, what string, dst reflect.Type, x reflect.Value) {
	if x.IsValid() && !fits(in, dst, x) {
		panic(what + ": value of type " + x.Type().String() + " is not assignable to type " + dst.String())
	}
}

// fits reports whether x implements dst, where that is an interface of the program;
// package reflect sees to the rest.
func fits(in *Interp, dst reflect.Type, x reflect.Value) bool {
	it := interfaceOf(in, dst)
	return it == nil || reflectImplements(in, x.Type(), it)
}

func addReflectAssign(m map[string]Intrinsic) {
	for name, call := range map[string]func(reflect.Value, []reflect.Value) []reflect.Value{
		"Call": reflect.Value.Call, "CallSlice": reflect.Value.CallSlice,
	} {
		m["(reflect.Value)."+name] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
			f, args := arg[reflect.Value](a, 0), arg[[]reflect.Value](a, 1)
			checkArguments(th.In, name, f, args)
			put(r, call(f, args))
		}
	}
	m["(reflect.Value).SetMapIndex"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		v, key, elem := arg[reflect.Value](a, 0), arg[reflect.Value](a, 1), arg[reflect.Value](a, 2)
		if v.Kind() == reflect.Map {
			checkAssignable(th.In, "reflect.Value.SetMapIndex", v.Type().Key(), key)
			checkAssignable(th.In, "reflect.Value.SetMapIndex", v.Type().Elem(), elem)
		}
		if v.Kind() == reflect.Map && !v.IsNil() {
			defer WritesMap(th.In, v.UnsafePointer()).End()
		}
		v.SetMapIndex(key, elem)
	}
	m["(reflect.Value).MapIndex"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v, key := arg[reflect.Value](a, 0), arg[reflect.Value](a, 1)
		if v.Kind() == reflect.Map {
			checkAssignable(th.In, "reflect.Value.MapIndex", v.Type().Key(), key)
		}
		if v.Kind() == reflect.Map && !v.IsNil() {
			defer ReadsMap(th.In, v.UnsafePointer(), unsafe.Pointer(th)).End()
		}
		put(r, v.MapIndex(key))
	}
	m["(reflect.Value).Send"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		v, x := arg[reflect.Value](a, 0), arg[reflect.Value](a, 1)
		checkSent(th.In, "reflect.Value.Send", v, x)
		if th.In.baton != nil {
			th.In.baton.Chans.Send(v, x)
		} else {
			v.Send(x)
		}
	}
	m["(reflect.Value).TrySend"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		v, x := arg[reflect.Value](a, 0), arg[reflect.Value](a, 1)
		checkSent(th.In, "reflect.Value.Send", v, x)
		if th.In.baton == nil {
			put(r, v.TrySend(x))
			return
		}
		i, _, _ := selects(th.In, []reflect.SelectCase{{Dir: reflect.SelectSend, Chan: v, Send: x}, {Dir: reflect.SelectDefault}})
		put(r, i == 0)
	}
	m["(reflect.Value).SetIterKey"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		v, it := arg[reflect.Value](a, 0), arg[*reflect.MapIter](a, 1)
		if v.IsValid() && interfaceOf(th.In, v.Type()) != nil {
			checkAssignable(th.In, "reflect.MapIter.SetKey", v.Type(), it.Key())
		}
		v.SetIterKey(it)
	}
	m["(reflect.Value).SetIterValue"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, _ unsafe.Pointer) {
		v, it := arg[reflect.Value](a, 0), arg[*reflect.MapIter](a, 1)
		if v.IsValid() && interfaceOf(th.In, v.Type()) != nil {
			checkAssignable(th.In, "reflect.MapIter.SetValue", v.Type(), it.Value())
		}
		v.SetIterValue(it)
	}
	m["reflect.Append"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		s, x := arg[reflect.Value](a, 0), arg[[]reflect.Value](a, 1)
		if s.Kind() == reflect.Slice {
			for _, x := range x {
				checkAssignable(th.In, "reflect.Set", s.Type().Elem(), x)
			}
		}
		put(r, reflect.Append(s, x...))
	}
	m["reflect.Select"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		cases := arg[[]reflect.SelectCase](a, 0)
		for _, c := range cases {
			if c.Dir == reflect.SelectSend {
				checkSent(th.In, "reflect.Select", c.Chan, c.Send)
			}
		}
		i, v, ok := selects(th.In, cases)
		put(r, struct {
			i  int
			v  reflect.Value
			ok bool
		}{i, v, ok})
	}
	m["reflect.MakeFunc"] = func(th *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		t, f, in := arg[reflect.Type](a, 0), arg[func([]reflect.Value) []reflect.Value](a, 1), th.In
		put(r, reflect.MakeFunc(t, func(args []reflect.Value) []reflect.Value {
			out := f(args)
			for i, v := range out[:min(len(out), t.NumOut())] {
				checkAssignable(in, "reflect.MakeFunc", t.Out(i), v)
			}
			return out
		}))
	}
}

func checkSent(in *Interp, what string, c, x reflect.Value) {
	if c.Kind() == reflect.Chan {
		checkAssignable(in, what, c.Type().Elem(), x)
	}
}

// checkArguments is what reflect.Value.Call checks of the arguments.
func checkArguments(in *Interp, op string, f reflect.Value, args []reflect.Value) {
	if f.Kind() != reflect.Func {
		return
	}
	t := f.Type()
	n := t.NumIn()
	if t.IsVariadic() && op == "Call" {
		n--
	}
	if len(args) < n {
		return
	}
	for i, x := range args {
		switch {
		case !x.IsValid():
			return
		case i < n:
			if !fits(in, t.In(i), x) {
				panic("reflect: " + op + " using " + x.Type().String() + " as type " + t.In(i).String())
			}
		case t.IsVariadic():
			if e := t.In(n).Elem(); !fits(in, e, x) {
				panic("reflect: cannot use " + x.Type().String() + " as type " + e.String() + " in " + op)
			}
		}
	}
}
