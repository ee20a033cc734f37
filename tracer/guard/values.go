package guard

import (
	"bytes"
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"tcdbg/tracer/host"
	"tcdbg/tracer/value"

	"golang.org/x/tools/go/ssa"
)

// This file is guards on values of Go: constants, lengths, nil, types and identity.

// Room demands that the slice at s has no room for n elements.
func (gs *Set) Room(s *value.Source, n int) {
	gs.Check(LengthCheck, s, fmt.Sprintf("cap(%s) < %d", s.Name, n), fmt.Sprintf("< %d", n),
		at(s, func(p unsafe.Pointer) bool { return (*value.SliceHeader)(p).Cap < n }),
		found(s, func(p unsafe.Pointer) Failure { return plain(strconv.Itoa((*value.SliceHeader)(p).Cap)) }))
}

// Equals fixes the constant at s: EQUALS_MATCH, or TRUE_MATCH and
// FALSE_MATCH for bools.
func (gs *Set) Equals(s *value.Source, p unsafe.Pointer) {
	t := s.Type
	now := gs.in.New(t)
	gs.in.Copy(t, now, p)
	want := ValueText(gs.in, t, now)
	kind := EqualsMatch
	switch want {
	case "true":
		kind = TrueMatch
	case "false":
		kind = FalseMatch
	}
	in := gs.in
	test := at(s, func(p unsafe.Pointer) bool { return in.Equal(t, p, now) })
	k := value.KindOf(t)
	if k.Class != value.NotScalar {
		v := k.Load(now)
		test = at(s, func(p unsafe.Pointer) bool { return k.Load(p).Same(v) })
	}
	g := gs.Check(kind, s, s.Name+" == "+want, want, test,
		found(s, func(p unsafe.Pointer) Failure { return plain(ValueText(gs.in, t, p)) }))
	if k.Class != value.NotScalar {
		g.comparesScalar(k, now)
		g.tellsAt(s, "value", func(p unsafe.Pointer) uint64 { return scalarWord(k.Load(p)) }, scalarWord(k.Load(now)))
	} else if isString(t) {
		g.tellsAt(s, "value", stringWord, stringWord(now))
	}
}

// Block fixes all elements of a long array by one comparison.
func (gs *Set) Block(s *value.Source, p unsafe.Pointer) {
	t, n := s.Type, s.Type.Underlying().(*types.Array).Len()
	now := gs.in.New(t)
	gs.in.Copy(t, now, p)
	in, e := gs.in, value.ElemType(t)
	size := in.Rep(e).Size()
	same := func(p unsafe.Pointer) bool { return in.Equal(t, p, now) }
	if value.KindOf(e).Class != value.NotScalar { // by bits, so that NaN is what it was
		want := unsafe.Slice((*byte)(now), in.Rep(t).Size())
		same = func(p unsafe.Pointer) bool { return bytes.Equal(unsafe.Slice((*byte)(p), len(want)), want) }
	}
	gs.Check(EqualsMatch, s, fmt.Sprintf("%s holds the %d elements of the first call", s.Name, n), "the same elements",
		at(s, same),
		found(s, func(p unsafe.Pointer) Failure {
			for i := range uintptr(n) {
				if a, b := unsafe.Add(p, i*size), unsafe.Add(now, i*size); !in.Equal(e, a, b) {
					return plain(fmt.Sprintf("element %d is %s, not %s", i, ValueText(gs.in, e, a), ValueText(gs.in, e, b)))
				}
			}
			return plain("the bits of an element")
		}))
}

// ValueText prints a basic value for a guard.
func ValueText(in *host.Interp, t types.Type, p unsafe.Pointer) string {
	if k := value.KindOf(t); k.Class != value.NotScalar {
		return k.Text(k.Load(p))
	}
	if isString(t) {
		return strconv.Quote(*(*string)(p))
	}
	return fmt.Sprintf("%v", reflect.NewAt(in.Rep(t), p).Elem())
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// Expr fixes the value of an expression. A bare leaf is an EQUALS_MATCH.
func (gs *Set) Expr(e *value.Expr, v value.Scalar) {
	if e.IsConst() {
		return
	}
	if e.Op == 0 && e.Leaf != nil {
		if gs.again(e.Leaf, EqualsMatch, 0) { // of the value on entry, which is one
			return
		}
		gs.Equals(e.Leaf, gs.entry.At(e.Leaf))
		return
	}
	text := e.String() + " == " + e.Kind.Text(v)
	if e.Kind.Class == value.Boolean {
		if text = e.String(); v.I == 0 {
			text = "not (" + text + ")"
		}
	}
	var first *value.Source
	e.Leaves(func(s *value.Source) {
		if first == nil {
			first = s
		}
	})
	g := gs.Check(LambdaGuard, first, text, e.Kind.Text(v),
		ExprTest(e, v),
		func(a *Addresses) Failure {
			w, ok := e.Eval(a)
			if !ok {
				return Failure{actual: "unreachable", dim: -1, broken: true}
			}
			return Failure{actual: e.Kind.Text(w) + gs.leafValues(e, a), dim: -1}
		})
	g.Tells(Probe{
		Name: func() string { return exprName(e) },
		Read: func(a *Addresses) (uint64, bool) { w, ok := e.Eval(a); return scalarWord(w), ok },
		Want: scalarWord(v),
	})
	g.comparesNegated(e, v)
}

// comparesNegated has a bool that is negated any number of times, as a module's mode is, tested as a word.
func (g *Guard) comparesNegated(e *value.Expr, v value.Scalar) {
	for ; e.Op == token.NOT; e = e.X {
		v.I ^= 1
	}
	if e.Op == token.ILLEGAL && e.Leaf != nil && e.Kind == (value.ScalarKind{Class: value.Boolean, Bits: 8}) {
		g.form = form{op: opWord8, want: uint64(v.I)}
	}
}

// leafValues lists what the leaves of a failed expression hold.
func (gs *Set) leafValues(e *value.Expr, a *Addresses) string {
	var parts []string
	e.Leaves(func(s *value.Source) {
		if p := a.At(s); p != nil {
			parts = append(parts, s.Argument()+" = "+ValueText(gs.in, s.Type, p))
		}
	})
	return " (" + strings.Join(parts, ", ") + ")"
}

// Len fixes the length of the slice, map or string at s.
func (gs *Set) Len(s *value.Source, n int) {
	length, kind := LengthOf(gs.in, s.Type), LengthCheck
	if _, ok := s.Type.Underlying().(*types.Map); ok {
		kind = DictLength
	}
	if gs.again(s, kind, n) {
		return
	}
	g := gs.Check(kind, s, fmt.Sprintf("len(%s) == %d", s.Name, n), strconv.Itoa(n),
		at(s, func(p unsafe.Pointer) bool { return length(p) == n }),
		found(s, func(p unsafe.Pointer) Failure { return plain(strconv.Itoa(length(p))) }))
	if kind == LengthCheck { // slices and strings keep it in their second word
		g.comparesWord(unsafe.Offsetof(value.SliceHeader{}.Len), uint64(n))
	}
	g.tellsAt(s, "len", func(p unsafe.Pointer) uint64 { return uint64(length(p)) }, uint64(n))
}

func LengthOf(in *host.Interp, t types.Type) func(unsafe.Pointer) int {
	switch t.Underlying().(type) {
	case *types.Slice:
		return func(p unsafe.Pointer) int { return (*value.SliceHeader)(p).Len }
	case *types.Basic:
		return func(p unsafe.Pointer) int { return len(*(*string)(p)) }
	}
	rt := in.Rep(t)
	return func(p unsafe.Pointer) int { return reflect.NewAt(rt, p).Elem().Len() }
}

// Nil fixes whether the pointer, slice, map, func or interface at s is nil.
func (gs *Set) Nil(s *value.Source, isNil bool) {
	kind := NotNone
	if isNil {
		kind = IDMatch
	}
	if gs.again(s, kind, 0) {
		return
	}
	rt := gs.in.Rep(s.Type)
	nilAt := func(p unsafe.Pointer) bool { return reflect.NewAt(rt, p).Elem().IsNil() }
	if _, isPtr := s.Type.Underlying().(*types.Pointer); isPtr {
		nilAt = func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil }
	}
	text, want := s.Name+" is not nil", "not nil"
	if isNil {
		text, want = s.Name+" is nil", "nil"
	}
	g := gs.Check(kind, s, text, want,
		at(s, func(p unsafe.Pointer) bool { return nilAt(p) == isNil }),
		found(s, func(p unsafe.Pointer) Failure {
			if nilAt(p) {
				return plain("nil")
			}
			return plain("not nil")
		}))
	g.comparesWord(0, 0) // all of them are nil where their first word is
	if !isNil {
		g.form.op = opNotZero
	}
}

// Type fixes the dynamic type of the interface at s.
func (gs *Set) Type(s *value.Source, dyn types.Type) {
	in := gs.in
	name := value.TypeName(dyn)
	text := fmt.Sprintf("type(%s) == %s", s.Name, name)
	same := func(t types.Type) bool {
		return t == dyn || (t != nil && dyn != nil && types.Identical(t, dyn))
	}
	g := gs.Check(TypeMatch, s, text, name,
		at(s, func(p unsafe.Pointer) bool { t, _ := in.Dynamic(s.Type, p); return same(t) }),
		found(s, func(p unsafe.Pointer) Failure {
			t, _ := in.Dynamic(s.Type, p)
			f := plain(value.TypeName(t))
			f.message = fmt.Sprintf("expected type of '%s' to be %s, but found %s", s.Argument(), name, f.actual)
			return f
		}))
	if word, _ := host.TypeWord(in, s.Type, gs.entry.At(s)); word != 0 && g.Test(gs.entry) {
		g.form = form{op: opType, want: uint64(word)}
	}
}

// Func fixes which function the func value at s calls.
func (gs *Set) Func(s *value.Source, fn *ssa.Function) {
	in := gs.in
	text := fmt.Sprintf("%s.__code__ is %s", s.Name, fn.RelString(nil))
	gs.Check(IDMatch, s, text, fn.RelString(nil),
		at(s, func(p unsafe.Pointer) bool { c := in.ClosureOf(p); return c != nil && c.Fn == fn }),
		found(s, func(p unsafe.Pointer) Failure {
			if c := in.ClosureOf(p); c != nil {
				return plain(c.Fn.RelString(nil))
			}
			return plain("another function")
		})).
		tellsAt(s, "func", func(p unsafe.Pointer) uint64 {
			if c := in.ClosureOf(p); c != nil {
				return pointerWord(unsafe.Pointer(c.Fn))
			}
			return 0
		}, pointerWord(unsafe.Pointer(fn)))
}

// NativeFunc is Func for compiled code, of which only the address of the func value
// tells one function from another.
func (gs *Set) NativeFunc(s *value.Source, fn unsafe.Pointer) {
	in, name := gs.in, runtime.FuncForPC(**(**uintptr)(unsafe.Pointer(&fn))).Name()
	gs.Check(IDMatch, s, fmt.Sprintf("%s.__code__ is %s", s.Name, name), name,
		at(s, func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == fn }),
		found(s, func(p unsafe.Pointer) Failure {
			if c := in.ClosureOf(p); c != nil {
				return plain(c.Fn.RelString(nil))
			}
			return plain("another function")
		})).
		comparesWord(0, pointerWord(fn)).
		tellsAt(s, "pointer", func(p unsafe.Pointer) uint64 { return pointerWord(*(*unsafe.Pointer)(p)) }, pointerWord(fn))
}

// Identity fixes whether the pointers at s and o are the same.
func (gs *Set) Identity(s, o *value.Source, same bool) {
	kind, sign := ObjectAliasing, " is "
	if !same {
		kind, sign = NoAliasing, " is not "
	}
	gs.Check(kind, s, s.Name+sign+o.Name, strconv.FormatBool(same),
		func(a *Addresses) bool {
			p, q := a.At(s), a.At(o)
			return p != nil && q != nil && (*(*unsafe.Pointer)(p) == *(*unsafe.Pointer)(q)) == same
		},
		func(*Addresses) Failure { return plain(strconv.FormatBool(!same)) })
}

// Pointer fixes the pointer at s to be p itself.
func (gs *Set) Pointer(s *value.Source, p unsafe.Pointer) {
	gs.Check(IDMatch, s, fmt.Sprintf("%s is the object of the first call", s.Name), "the same object",
		at(s, func(q unsafe.Pointer) bool { return *(*unsafe.Pointer)(q) == p }),
		func(*Addresses) Failure { return plain("another object") }).
		comparesWord(0, pointerWord(p)).
		tellsAt(s, "pointer", func(q unsafe.Pointer) uint64 { return pointerWord(*(*unsafe.Pointer)(q)) }, pointerWord(p))
}

// Key fixes whether the map at s holds a key.
func (gs *Set) Key(s *value.Source, k *value.MapKey, has bool) {
	in := gs.in
	text, want, found := fmt.Sprintf("___dict_contains(%s, %s)", k.Text, s.Name), "has "+k.Text, "lacks "+k.Text
	if !has {
		text, want, found = "not "+text, found, want
	}
	gs.Check(DictContains, s, text, want,
		at(s, func(p unsafe.Pointer) bool { return (MapLookup(in, s.Type, p, k.Addr) != nil) == has }),
		func(*Addresses) Failure { return plain(found) })
}
