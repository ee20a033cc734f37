package host

import (
	"bytes"
	"fmt"
	"go/types"
	"reflect"
	"unsafe"

	"tcdbg/tracer/host/rt"

	"golang.org/x/tools/go/ssa"
)

// This file is the built-in functions.

// builtin compiles a call of a built-in function.
func (b *builder) builtin(in *ssa.Call, name string, c *ssa.CallCommon) op {
	d := b.dst(in)
	args := b.refs(c.Args)
	switch name {
	case "len", "cap":
		if o := b.length(name, c.Args[0], args[0], d); o != nil {
			return o
		}
	case "append":
		return b.appendOp(c, args, d)
	case "recover":
		ti := b.in.info(in.Type())
		return func(f *Frame) *Frame {
			f.th.In.writeIface(ti, unsafe.Add(f.fp, d), f.th.recoverIn(deferOwner(f)))
			return f
		}
	case "ssa:deferstack":
		return func(f *Frame) *Frame { *at[*Frame](f, d) = f; f.rare = true; return f }
	}
	run := builtinThunk(b, name, c)
	if run == nil {
		return refuse("host: built-in " + name + " is not supported")
	}
	return func(f *Frame) *Frame {
		th := f.th
		base := th.pushArgs(f, args)
		run(th.argv[base:], unsafe.Add(f.fp, d))
		th.popArgs(base)
		return f
	}
}

func (b *builder) length(name string, v ssa.Value, x ref, d uintptr) op {
	xo := x.off
	switch t := v.Type().Underlying().(type) {
	case *types.Slice:
		switch {
		case x.isConst():
			return nil
		case name == "len":
			return func(f *Frame) *Frame { *at[int](f, d) = at[sliceHeader](f, xo).len; return f }
		}
		return func(f *Frame) *Frame { *at[int](f, d) = at[sliceHeader](f, xo).cap; return f }
	case *types.Basic:
		return func(f *Frame) *Frame { *at[int](f, d) = len(*(*string)(x.at(f))); return f }
	case *types.Map:
		_, r, _, _ := mapType(b, t)
		return func(f *Frame) *Frame {
			p := *(*unsafe.Pointer)(x.at(f))
			*at[int](f, d) = asMap(r, &p).Len()
			return f
		}
	}
	return nil
}

// appendOp grows like Go: reflect and the run time share the growth rule.
func (b *builder) appendOp(c *ssa.CallCommon, args []ref, d uintptr) op {
	st := c.Args[0].Type().Underlying().(*types.Slice)
	elem := b.in.info(st.Elem())
	r := reflect.SliceOf(elem.R)
	x, y := args[0], args[1]
	fromString := isBasic(c.Args[1].Type(), types.IsString)
	return func(f *Frame) *Frame {
		s := *(*sliceHeader)(x.at(f))
		var more sliceHeader
		if fromString {
			h := *(*stringHeader)(y.at(f))
			more = sliceHeader{h.data, h.len, h.len}
		} else {
			more = *(*sliceHeader)(y.at(f))
		}
		*at[sliceHeader](f, d) = appendSlice(r, elem, s, more)
		return f
	}
}

func appendSlice(r reflect.Type, elem *typeInfo, s, more sliceHeader) sliceHeader {
	if more.len == 0 {
		return s
	}
	if s.len+more.len > s.cap {
		s = grow(r, elem, s, more.len)
	}
	old := s.len
	s.len += more.len
	switch {
	case elem.size == 0:
	case more.len == 1:
		elem.store(unsafe.Add(s.data, uintptr(old)*elem.size), more.data)
	default:
		tail := sliceHeader{unsafe.Add(s.data, uintptr(old)*elem.size), more.len, more.len}
		copySlice(r, elem, tail, more)
	}
	return s
}

func grow(r reflect.Type, elem *typeInfo, s sliceHeader, n int) sliceHeader {
	if elem.class == cls8 {
		v := *(*[]uint64)(unsafe.Pointer(&s))
		v = append(v, make([]uint64, n)...)
		v = v[:s.len]
		return *(*sliceHeader)(unsafe.Pointer(&v))
	}
	v := reflect.New(r).Elem()
	*(*sliceHeader)(v.Addr().UnsafePointer()) = s
	v.Grow(n)
	return *(*sliceHeader)(v.Addr().UnsafePointer())
}

func copySlice(r reflect.Type, elem *typeInfo, dst, src sliceHeader) int {
	n := min(dst.len, src.len)
	if n == 0 || elem.size == 0 {
		return n
	}
	if !hasPointers(elem.R) {
		copy(unsafe.Slice((*byte)(dst.data), uintptr(n)*elem.size), unsafe.Slice((*byte)(src.data), uintptr(n)*elem.size))
		return n
	}
	return reflect.Copy(reflect.NewAt(r, unsafe.Pointer(&dst)).Elem(), reflect.NewAt(r, unsafe.Pointer(&src)).Elem())
}

// builtinThunk is a built-in function in the form of a native call, also for go
// and defer.
func builtinThunk(b *builder, name string, c *ssa.CallCommon) rt.Thunk {
	argType := func(i int) types.Type { return c.Args[i].Type() }
	switch name {
	case "len", "cap":
		return lengthThunk(b, name, argType(0))
	case "append":
		return func([]unsafe.Pointer, unsafe.Pointer) {}
	case "recover":
		return func([]unsafe.Pointer, unsafe.Pointer) {}
	case "copy":
		return copyThunk(b, argType(0), argType(1))
	case "delete":
		_, r, key, _ := mapType(b, argType(0))
		in := b.in
		return func(a []unsafe.Pointer, _ unsafe.Pointer) {
			p := *(*unsafe.Pointer)(a[0])
			if p != nil {
				defer WritesMap(in, p).End()
				asMap(r, &p).SetMapIndex(key.value(a[1]), reflect.Value{})
			} else {
				asMap(r, &p).MapIndex(key.value(a[1])) // an unhashable key panics even so
			}
		}
	case "clear":
		return clearThunk(b, argType(0))
	case "close":
		r, _ := chanType(b, argType(0))
		return func(a []unsafe.Pointer, _ unsafe.Pointer) {
			p := *(*unsafe.Pointer)(a[0])
			closes(b.in, reflect.NewAt(r, unsafe.Pointer(&p)).Elem())
		}
	case "print", "println":
		return printThunk(b, name == "println", c)
	case "complex":
		if b.in.info(argType(0)).R.Kind() == reflect.Float32 {
			return func(a []unsafe.Pointer, r unsafe.Pointer) {
				*(*complex64)(r) = complex(*(*float32)(a[0]), *(*float32)(a[1]))
			}
		}
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			*(*complex128)(r) = complex(*(*float64)(a[0]), *(*float64)(a[1]))
		}
	case "real", "imag":
		return partThunk(b, name == "imag", argType(0))
	case "min", "max":
		return minMaxThunk(b, name == "max", argType(0))
	case "panic":
		ti := b.in.info(argType(0))
		return func(a []unsafe.Pointer, _ unsafe.Pointer) { panic(userPanic{ti.readIface(a[0])}) }
	case "ssa:wrapnilchk":
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			p := *(*unsafe.Pointer)(a[0])
			if p == nil {
				panic(plainError(fmt.Sprintf("value method %s.%s called using nil *%s pointer",
					*(*string)(a[1]), *(*string)(a[2]), shortType(*(*string)(a[1])))))
			}
			*(*unsafe.Pointer)(r) = p
		}
	}
	return unsafeThunk(b, name, c)
}

func shortType(s string) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return s[i+1:]
		}
	}
	return s
}

func unsafeThunk(b *builder, name string, c *ssa.CallCommon) rt.Thunk {
	switch name {
	case "Add":
		n := intReader(b, c.Args[1].Type())
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			*(*unsafe.Pointer)(r) = unsafe.Add(*(*unsafe.Pointer)(a[0]), n(a[1]))
		}
	case "Slice":
		n := intReader(b, c.Args[1].Type())
		elem := b.in.info(c.Args[0].Type().Underlying().(*types.Pointer).Elem())
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			l, p := n(a[1]), *(*unsafe.Pointer)(a[0])
			switch {
			case l < 0 || elem.size > 0 && uint64(l) > 1<<47/uint64(elem.size):
				panic(runtimeErrorf("unsafe.Slice: len out of range"))
			case p == nil && l > 0:
				panic(runtimeErrorf("unsafe.Slice: ptr is nil and len is not zero"))
			}
			*(*sliceHeader)(r) = sliceHeader{p, int(l), int(l)}
		}
	case "String":
		n := intReader(b, c.Args[1].Type())
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			l, p := n(a[1]), *(*unsafe.Pointer)(a[0])
			switch {
			case l < 0 || l > 1<<47:
				panic(runtimeErrorf("unsafe.String: len out of range"))
			case p == nil && l > 0:
				panic(runtimeErrorf("unsafe.String: ptr is nil and len is not zero"))
			}
			*(*stringHeader)(r) = stringHeader{p, int(l)}
		}
	case "SliceData", "StringData":
		return func(a []unsafe.Pointer, r unsafe.Pointer) { *(*unsafe.Pointer)(r) = *(*unsafe.Pointer)(a[0]) }
	case "Sizeof":
		size := b.in.info(c.Args[0].Type()).size
		return func(_ []unsafe.Pointer, r unsafe.Pointer) { *(*uintptr)(r) = size }
	case "Alignof":
		align := uintptr(b.in.info(c.Args[0].Type()).R.Align())
		return func(_ []unsafe.Pointer, r unsafe.Pointer) { *(*uintptr)(r) = align }
	}
	return nil
}

func intReader(b *builder, t types.Type) func(p unsafe.Pointer) int64 {
	k := kindOf(t.Underlying().(*types.Basic))
	return func(p unsafe.Pointer) int64 { return loadInt(k, p) }
}

func lengthThunk(b *builder, name string, t types.Type) rt.Thunk {
	ti := b.in.info(t)
	if p, ok := t.Underlying().(*types.Pointer); ok {
		n := int(p.Elem().Underlying().(*types.Array).Len())
		return func(_ []unsafe.Pointer, r unsafe.Pointer) { *(*int)(r) = n }
	}
	if t, ok := t.Underlying().(*types.Chan); ok {
		r0, _ := chanType(b, t)
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			p := *(*unsafe.Pointer)(a[0])
			ch := reflect.NewAt(r0, unsafe.Pointer(&p)).Elem()
			if *(*int)(r) = ch.Len(); name == "cap" {
				*(*int)(r) = ch.Cap()
			}
		}
	}
	return func(a []unsafe.Pointer, r unsafe.Pointer) {
		if *(*int)(r) = 0; name == "len" {
			*(*int)(r) = ti.value(a[0]).Len()
		} else {
			*(*int)(r) = ti.value(a[0]).Cap()
		}
	}
}

func copyThunk(b *builder, dst, src types.Type) rt.Thunk {
	elem := b.in.info(dst.Underlying().(*types.Slice).Elem())
	r0 := reflect.SliceOf(elem.R)
	if isBasic(src, types.IsString) {
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			n := copy(*(*[]byte)(a[0]), *(*string)(a[1]))
			if r != nil {
				*(*int)(r) = n
			}
		}
	}
	return func(a []unsafe.Pointer, r unsafe.Pointer) {
		n := copySlice(r0, elem, *(*sliceHeader)(a[0]), *(*sliceHeader)(a[1]))
		if r != nil {
			*(*int)(r) = n
		}
	}
}

func clearThunk(b *builder, t types.Type) rt.Thunk {
	if s, ok := t.Underlying().(*types.Slice); ok {
		r := reflect.SliceOf(b.in.info(s.Elem()).R)
		return func(a []unsafe.Pointer, _ unsafe.Pointer) { reflect.NewAt(r, a[0]).Elem().Clear() }
	}
	_, r, _, _ := mapType(b, t)
	in := b.in
	return func(a []unsafe.Pointer, _ unsafe.Pointer) {
		if p := *(*unsafe.Pointer)(a[0]); p != nil {
			defer WritesMap(in, p).End()
			asMap(r, &p).Clear()
		}
	}
}

func partThunk(b *builder, im bool, t types.Type) rt.Thunk {
	if b.in.info(t).size == 8 {
		return func(a []unsafe.Pointer, r unsafe.Pointer) {
			c := *(*complex64)(a[0])
			if *(*float32)(r) = real(c); im {
				*(*float32)(r) = imag(c)
			}
		}
	}
	return func(a []unsafe.Pointer, r unsafe.Pointer) {
		c := *(*complex128)(a[0])
		if *(*float64)(r) = real(c); im {
			*(*float64)(r) = imag(c)
		}
	}
}

func minMaxThunk(b *builder, isMax bool, t types.Type) rt.Thunk {
	ti := b.in.info(t)
	switch ti.R.Kind() {
	case reflect.String:
		return minMax[string](isMax)
	case reflect.Float64:
		return minMax[float64](isMax)
	case reflect.Float32:
		return minMax[float32](isMax)
	case reflect.Int8:
		return minMax[int8](isMax)
	case reflect.Int16:
		return minMax[int16](isMax)
	case reflect.Int32:
		return minMax[int32](isMax)
	case reflect.Int, reflect.Int64:
		return minMax[int64](isMax)
	case reflect.Uint8:
		return minMax[uint8](isMax)
	case reflect.Uint16:
		return minMax[uint16](isMax)
	case reflect.Uint32:
		return minMax[uint32](isMax)
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return minMax[uint64](isMax)
	}
	return nil
}

func minMax[T ordered](isMax bool) rt.Thunk {
	return func(a []unsafe.Pointer, r unsafe.Pointer) {
		v := *(*T)(a[0])
		for _, p := range a[1:] {
			if isMax {
				v = max(v, *(*T)(p))
			} else {
				v = min(v, *(*T)(p))
			}
		}
		*(*T)(r) = v
	}
}

// printThunk is print and println, which write to standard error.
func printThunk(b *builder, line bool, c *ssa.CallCommon) rt.Thunk {
	infos := make([]*typeInfo, len(c.Args))
	for i, a := range c.Args {
		infos[i] = b.in.info(a.Type())
	}
	host := b.in
	return func(a []unsafe.Pointer, _ unsafe.Pointer) {
		var buf bytes.Buffer
		for i, p := range a {
			if i > 0 && line {
				buf.WriteByte(' ')
			}
			printValue(&buf, infos[i], p)
		}
		if line {
			buf.WriteByte('\n')
		}
		_, _ = host.Config.Stderr.Write(buf.Bytes())
	}
}

func printValue(w *bytes.Buffer, ti *typeInfo, p unsafe.Pointer) {
	switch v := ti.value(p); v.Kind() {
	case reflect.String:
		w.WriteString(v.String())
	case reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		s, _ := basicText(v)
		w.WriteString(s)
	case reflect.Interface:
		e := (*eface)(p)
		fmt.Fprintf(w, "(%#x,%#x)", uintptr(e.typ), uintptr(e.data))
	case reflect.Slice:
		h := (*sliceHeader)(p)
		fmt.Fprintf(w, "[%d/%d]%#x", h.len, h.cap, uintptr(h.data))
	case reflect.Pointer, reflect.UnsafePointer, reflect.Map, reflect.Chan, reflect.Func:
		fmt.Fprintf(w, "%#x", uintptr(*(*unsafe.Pointer)(p)))
	default:
		fmt.Fprint(w, v.Interface())
	}
}
