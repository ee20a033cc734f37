package host

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"unsafe"

	"tcdbg/tracer/host/baton"
	"tcdbg/tracer/host/journal"
	"tcdbg/tracer/host/rt"

	"golang.org/x/tools/go/ssa"
)

// This file is what a journal asks of the host: calls of compiled functions that do not
// give the same again, the order of maps, and who runs.

// keep puts a function of compiled code under the journal, where there is one.
func keep(in *Interp, b *boundFunc, fn *ssa.Function) {
	j := in.Config.Journal
	if j == nil || b.code != nil || b.intrinsic == nil && b.thunk == nil || fn.Name() == "init" {
		return
	}
	p := journal.Of(b.name)
	if p == journal.Pure {
		return
	}
	if p == journal.Wait {
		b.intrinsic = waits(in, b.name)
		return
	}
	k := &kept{tape: j, name: b.name, results: in.resultsOf(fn.Signature.Results()), run: b.intrinsic}
	if thunk := b.thunk; k.run == nil {
		k.run = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) { thunk(a, r) }
	}
	plain := k.run
	if p == journal.Random {
		k.random(in, fn)
	}
	by := k.by(p)
	b.intrinsic = func(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		if th.limited { // an expression of the debugger's user is no part of the run
			plain(th, f, a, r)
			return
		}
		by(th, f, a, r)
	}
}

// waits is a function that waits for other goroutines or wakes them.
func waits(in *Interp, name string) Intrinsic {
	call := in.waiting[name]
	return func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) { call(a, r) }
}

// keptMethod is a method of a compiled type that is called by an interface.
func keptMethod(in *Interp, name string, t rt.Thunk) rt.Thunk {
	j := in.Config.Journal
	if j == nil {
		return t
	}
	switch journal.Of(name) {
	case journal.Wait:
		return rt.Thunk(in.waiting[name])
	case journal.Refuse:
	default:
		return t
	}
	return func(a []unsafe.Pointer, r unsafe.Pointer) {
		j.Refuse("it calls " + name + ", whose result cannot be given again")
		t(a, r)
	}
}

// kept is a function under the journal.
type kept struct {
	tape    *journal.Tape
	name    string
	results resultInfo
	run     Intrinsic
}

func (k *kept) by(p journal.Policy) Intrinsic {
	switch p {
	case journal.Result:
		return k.result
	case journal.Random:
		return k.run
	case journal.Fill:
		return k.fill
	case journal.Skip:
		return func(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
			if !k.tape.Again() {
				k.run(th, f, a, r)
			}
		}
	case journal.Read, journal.Write, journal.Remove:
		at := journal.PathOf(k.name)
		return func(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
			k.with(th, f, a, r, at, p)
		}
	case journal.Rename:
		return func(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
			from, to := k.tape.Moves(arg[string](a, 0), arg[string](a, 1))
			r = k.results.place(r)
			k.run(th, f, []unsafe.Pointer{unsafe.Pointer(&from), unsafe.Pointer(&to)}, r)
			k.ended(r)
		}
	case journal.Open:
		return k.open
	case journal.Temp:
		return k.temp
	case journal.Name:
		return func(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
			r = k.results.place(r)
			k.run(th, f, a, r)
			*(*string)(r) = k.tape.Given(*(*string)(r))
		}
	}
	return func(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
		k.tape.Refuse("it calls " + k.name + ", whose result cannot be given again")
		k.run(th, f, a, r)
	}
}

// with is the call with the path that the tape has for its own.
func (k *kept) with(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer, at int, p journal.Policy) {
	path := k.tape.Path(p, k.name, arg[string](a, at))
	own := slices.Clone(a)
	own[at] = unsafe.Pointer(&path)
	r = k.results.place(r)
	k.run(th, f, own, r)
	k.ended(r)
}

// ended makes sure that a call ends as it did; an error of a program that runs again gets the
// path that the program knows.
func (k *kept) ended(r unsafe.Pointer) {
	how := "well"
	for i, p := range k.results.parts {
		if p.R != tyError {
			continue
		}
		err := *(*error)(unsafe.Add(r, k.results.offs[i]))
		if err != nil {
			how = "with an error"
		}
		if p := (*fs.PathError)(nil); errors.As(err, &p) {
			p.Path = k.tape.Given(p.Path)
		} else if l := (*os.LinkError)(nil); errors.As(err, &l) {
			l.Old, l.New = k.tape.Given(l.Old), k.tape.Given(l.New)
		}
	}
	if !k.tape.Again() {
		k.tape.Put(k.name, []byte(how))
	} else if then, ok := k.tape.Take(k.name); ok && string(then) != how {
		k.tape.Lose(fmt.Sprintf("%s ended %s, then it ended %s", k.name, how, then))
	}
}

// result keeps the results, or gives them again.
func (k *kept) result(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	r = k.results.place(r)
	if k.tape.Again() {
		data, ok := k.tape.Take(k.name)
		var err error
		for i := 0; ok && err == nil && i < len(k.results.parts); i++ {
			data, err = journal.Decode(data, k.part(r, i))
		}
		if err != nil {
			k.tape.Lose("the journal of " + k.name + " is damaged")
		}
		return
	}
	k.run(th, f, a, r)
	var data []byte
	for i := range k.results.parts {
		var err error
		if data, err = journal.Encode(data, k.part(r, i)); err != nil {
			k.tape.Refuse("it calls " + k.name + ": " + err.Error())
			return
		}
	}
	k.tape.Put(k.name, data)
}

func (k *kept) part(r unsafe.Pointer, i int) reflect.Value {
	return reflect.NewAt(k.results.parts[i].R, unsafe.Add(r, k.results.offs[i])).Elem()
}

// fill keeps what runtime.ReadMemStats or crypto/rand.Read stores.
func (k *kept) fill(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	k.run(th, f, a, r)
	var b []byte
	if k.name == "crypto/rand.Read" {
		b = arg[[]byte](a, 0)
	} else {
		m := arg[*runtime.MemStats](a, 0)
		b = unsafe.Slice((*byte)(unsafe.Pointer(m)), unsafe.Sizeof(*m))
	}
	if !k.tape.Again() {
		k.tape.Put(k.name, slices.Clone(b))
	} else if data, ok := k.tape.Take(k.name); ok {
		copy(b, data)
	}
}

// random lets a function of math/rand draw from the journal's generator.
func (k *kept) random(in *Interp, fn *ssa.Function) {
	if fn.Origin() != nil || len(fn.TypeArgs()) > 0 { // rand.N: see randN
		return
	}
	v := reflect.ValueOf(k.tape.RandV2())
	if fn.Pkg.Pkg.Path() == "math/rand" {
		v = reflect.ValueOf(k.tape.Rand())
	}
	if m := v.MethodByName(fn.Name()); m.IsValid() {
		draw := thunk(in, m, fn.Signature)
		k.run = func(_ *Thread, _ *Frame, a []unsafe.Pointer, r unsafe.Pointer) { draw(a, r) }
	}
}

// open is os.OpenFile: it reads, or it writes what was not there.
func (k *kept) open(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	path, flag := arg[string](a, 0), arg[int](a, 1)
	p := journal.Read
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_TRUNC) != 0 {
		p = journal.Write
		if st, err := os.Stat(path); err == nil && st.Size() > 0 && flag&os.O_TRUNC == 0 && !k.tape.Again() {
			k.tape.Refuse("it changes the file " + path + ", which was there before")
		}
	}
	k.with(th, f, a, r, 0, p)
}

// temp is os.MkdirTemp: its result is kept, and when the program runs again the folder is
// another.
func (k *kept) temp(th *Thread, f *Frame, a []unsafe.Pointer, r unsafe.Pointer) {
	r = k.results.place(r)
	k.result(th, f, a, r)
	if k.tape.Again() {
		_ = os.MkdirAll(k.tape.Path(journal.Write, k.name, *(*string)(r)), 0o700) // what is missing fails where it is used
	}
}

// printed is standard output, of which the journal has a digest.
type printed struct {
	w    io.Writer
	tape *journal.Tape
}

func (p printed) Write(b []byte) (int, error) {
	p.tape.Printed(b)
	return p.w.Write(b)
}

// keysInOrder are the keys of a map, last first, in an order that is the same again; false
// where there is none.
func keysInOrder(f *Frame, m reflect.Value) ([]reflect.Value, bool) {
	j := f.Code.in.Config.Journal
	if j == nil || m.Len() < 2 {
		return nil, false
	}
	keys := m.MapKeys()
	for _, k := range keys {
		if !orderly(k) && f.th.limited {
			return nil, false
		}
		if !orderly(k) {
			key := m.Type().Key().String()
			j.Refuse("it ranges over a map with keys of type " + key + ", whose order cannot be repeated")
			return nil, false
		}
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int { return compareKeys(b, a) })
	return keys, true
}

// orderly reports whether a key has an order that its memory's address plays no part in.
func orderly(k reflect.Value) bool {
	switch k.Kind() {
	case reflect.Bool, reflect.String:
		return true
	case reflect.Float32, reflect.Float64:
		return !math.IsNaN(k.Float())
	case reflect.Interface:
		return k.IsNil() || orderly(k.Elem())
	case reflect.Array:
		for i := range k.Len() {
			if !orderly(k.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Struct:
		for i := range k.NumField() {
			if !orderly(k.Field(i)) {
				return false
			}
		}
		return true
	}
	return k.CanInt() || k.CanUint() && k.Kind() != reflect.Uintptr
}

func compareKeys(a, b reflect.Value) int {
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	switch a.Kind() {
	case reflect.Bool:
		return bytes.Compare(strconv.AppendBool(nil, a.Bool()), strconv.AppendBool(nil, b.Bool()))
	case reflect.String:
		return cmp.Compare(a.String(), b.String())
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return cmp.Compare(fmt.Sprint(b.IsNil()), fmt.Sprint(a.IsNil()))
		}
		if x, y := a.Elem().Type(), b.Elem().Type(); x != y {
			return cmp.Compare(x.String(), y.String())
		}
		return compareKeys(a.Elem(), b.Elem())
	case reflect.Array:
		for i := range a.Len() {
			if c := compareKeys(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
	case reflect.Struct:
		for i := range a.NumField() {
			if c := compareKeys(a.Field(i), b.Field(i)); c != 0 {
				return c
			}
		}
	}
	return 0
}

// takeTurns has the goroutines of a run that is kept run one at a time.
func takeTurns(in *Interp) {
	if in.Config.Journal == nil {
		return
	}
	in.baton = baton.New(in.Config.Journal)
	in.baton.Start = func(p unsafe.Pointer) func() { return ownCall(in, p) }
	in.waiting = in.baton.Calls()
}

// selects is reflect.Select.
func selects(in *Interp, cases []reflect.SelectCase) (int, reflect.Value, bool) {
	if in.baton == nil {
		return reflect.Select(cases)
	}
	return in.baton.Chans.Select(cases)
}

// closes is close(ch).
func closes(in *Interp, ch reflect.Value) {
	if in.baton == nil {
		ch.Close()
	} else {
		in.baton.Chans.Close(ch)
	}
}

// again counts a loop of a thread whose run is kept: after a number of them others run.
// Compiled code that has called the program may hold locks that they want, so it keeps
// the baton longer.
func (th *Thread) again() {
	if th.slice--; th.slice >= 0 || th.scratch || th.limited {
		return
	}
	if th.callback && th.patience < patience {
		th.patience++
		th.slice = 1 << 14
		return
	}
	th.patience = 0
	th.slice = th.In.baton.Slice()
}

// patience is how many times as long as others a function runs that compiled code has called.
const patience = 256
