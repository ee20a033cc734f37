package wire

import (
	"math"
	"reflect"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// every is an argument of each kind that has a letter.
var every = []ops.Arg{
	nil,
	[]ops.Arg{"a", nil, []ops.Arg{}},
	sym.C(-3), sym.Consts([]int{0, 7}), math.Inf(-1),
	[]float64{0.5, math.Copysign(0, -1)},
	true,
	[]bool{true, false},
	"text", ops.BFloat16, ops.CPU,
}

func TestArgumentsAreReadAsWritten(t *testing.T) {
	var w Writer
	w.Args(every)
	r := Reader{B: w.B}
	got := r.Args()
	if w.Lost || !r.Done() || !reflect.DeepEqual(got, every) {
		t.Errorf("%v, of %v, done %v", got, every, r.Done())
	}
	for n := range w.B {
		r := Reader{B: w.B[:n]}
		if r.Args(); r.Done() {
			t.Errorf("%d of %d bytes are the arguments", n, len(w.B))
		}
	}
}

// No two lists of arguments have the same bytes, which keys rest on.
func TestArgumentsAreToldApart(t *testing.T) {
	seen := map[string]ops.Arg{}
	for _, a := range append([]ops.Arg{
		"", "i", sym.C(0), 0.0, false,
		[]bool{},
		[]float64{},
		[]sym.Int{},
		[]ops.Arg{},
		[]ops.Arg{nil},
		sym.Consts([]int{0}),
		[]ops.Arg{sym.C(0)},
		[]bool{false},
		[]float64{0},
		ops.Float32, ops.Device(""), math.Copysign(0, -1),
		[]ops.Arg{"a", "b"},
		[]ops.Arg{"ab"},
	}, every...) {
		var w Writer
		w.Arg(a)
		if other, ok := seen[string(w.B)]; ok || w.Lost {
			t.Errorf("%#v is written as %#v is, lost %v", a, other, w.Lost)
		}
		seen[string(w.B)] = a
	}
}

func TestWhatHasNoBytesIsLost(t *testing.T) {
	varies := (&sym.Env{}).NewSymbol("s0", "L['x'].size()[0]", 5)
	for _, a := range []ops.Arg{varies, []ops.Arg{1.5, int32(2)}, []sym.Int{varies}} {
		var w Writer
		if w.Arg(a); !w.Lost {
			t.Errorf("%#v is written", a)
		}
	}
}

// Who knows more kinds writes and reads them among the others.
func TestOther(t *testing.T) {
	w := Writer{}
	w.Other = func(a ops.Arg) bool {
		n, ok := a.(int32)
		if ok {
			w.Letter('%')
			w.Int(int64(n))
		}
		return ok
	}
	w.Args([]ops.Arg{int32(5), "x"})
	r := Reader{B: w.B}
	r.Other = func(letter byte) (ops.Arg, bool) { return int32(r.Int()), letter == '%' }
	if got := r.Args(); w.Lost || !r.Done() || !reflect.DeepEqual(got, []ops.Arg{int32(5), "x"}) {
		t.Errorf("%v", got)
	}
	blind := Reader{B: w.B}
	if blind.Args(); !blind.Bad {
		t.Error("a letter that nobody knows is read")
	}
}

// What is read is bounded by the bytes that there are.
func TestReaderIsBounded(t *testing.T) {
	var w Writer
	w.Int(1 << 40)
	for name, read := range map[string]func(r *Reader){
		"list": func(r *Reader) { r.Ints() }, "text": func(r *Reader) { _ = r.Text() }, "at most": func(r *Reader) { r.AtMost(1 << 20) },
		"element type": func(r *Reader) { r.DType() }, "number": func(r *Reader) { r.Float() },
	} {
		r := Reader{B: append([]byte(nil), w.B...)}
		if read(&r); !r.Bad || r.Int() != 0 || r.Text() != "" || r.Bool() || r.Arg() != nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
