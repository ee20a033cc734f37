package tracer

import (
	"bytes"
	"fmt"
	"go/types"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"tcdbg/logs"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"

	"golang.org/x/tools/go/ssa"
)

// This file is guards: what a segment relies on, tested on every entry.

// guard is one leaf of the guard tree.
type guard struct {
	kind string // TENSOR_MATCH, EQUALS_MATCH, ...
	src  *source
	text string // the check as printed
	want string
	pos  logs.Pos
	test func(a *addresses) bool
	// actual describes what stands there now; only called after a failure.
	actual func(a *addresses) failure
}

// failure is what a guard found.
type failure struct {
	actual  string
	message string // PyTorch's words; empty: the guard's text
	dim     int    // -1
	broken  bool   // the path to the value does not exist
}

// guards collects the guards of a trace; equal ones are kept once.
type guards struct {
	list []*guard
	seen map[string]bool
}

func (gs *guards) add(g *guard) {
	key := g.kind + g.text
	if g.src != nil { // two places may print alike
		key += "@" + strconv.Itoa(g.src.slot)
	}
	if gs.seen[key] {
		return
	}
	if gs.seen == nil {
		gs.seen = map[string]bool{}
	}
	gs.seen[key] = true
	gs.list = append(gs.list, g)
}

func (tr *trace) guard(kind string, s *source, text, want string, test func(a *addresses) bool, actual func(a *addresses) failure) {
	tr.guards.add(&guard{kind: kind, src: s, text: text, want: want, pos: tr.userPos(), test: test, actual: actual})
}

// at wraps a test on the value at s: a broken path fails.
func at(s *source, f func(p unsafe.Pointer) bool) func(*addresses) bool {
	return func(a *addresses) bool {
		p := a.at(s)
		return p != nil && f(p)
	}
}

// found wraps the description of the value at s.
func found(s *source, f func(p unsafe.Pointer) failure) func(*addresses) failure {
	return func(a *addresses) failure {
		p := a.at(s)
		if p == nil {
			return failure{actual: "unreachable", dim: -1, broken: true}
		}
		return f(p)
	}
}

func plain(text string) failure { return failure{actual: text, dim: -1} }

// guardEquals fixes the constant at s: EQUALS_MATCH, or TRUE_MATCH and
// FALSE_MATCH for bools.
func (tr *trace) guardEquals(s *source, p unsafe.Pointer) {
	t := s.typ
	now := tr.in.New(t)
	tr.in.Copy(t, now, p)
	want := tr.valueText(t, now)
	kind := "EQUALS_MATCH"
	switch want {
	case "true":
		kind = "TRUE_MATCH"
	case "false":
		kind = "FALSE_MATCH"
	}
	in := tr.in
	test := at(s, func(p unsafe.Pointer) bool { return in.Equal(t, p, now) })
	if k := kindOf(t); k.class != notScalar {
		v := k.load(now)
		test = at(s, func(p unsafe.Pointer) bool { return k.load(p).same(v) })
	}
	tr.guard(kind, s, s.name+" == "+want, want, test,
		found(s, func(p unsafe.Pointer) failure { return plain(tr.valueText(t, p)) }))
}

// guardBlock fixes all elements of a long array by one comparison.
func (tr *trace) guardBlock(s *source, p unsafe.Pointer) {
	t, n := s.typ, s.typ.Underlying().(*types.Array).Len()
	now := tr.in.New(t)
	tr.in.Copy(t, now, p)
	in, e := tr.in, elemType(t)
	size := in.Rep(e).Size()
	same := func(p unsafe.Pointer) bool { return in.Equal(t, p, now) }
	if kindOf(e).class != notScalar { // by bits, so that NaN is what it was
		want := unsafe.Slice((*byte)(now), in.Rep(t).Size())
		same = func(p unsafe.Pointer) bool { return bytes.Equal(unsafe.Slice((*byte)(p), len(want)), want) }
	}
	tr.guard("EQUALS_MATCH", s, fmt.Sprintf("%s holds the %d elements of the first call", s.name, n), "the same elements",
		at(s, same),
		found(s, func(p unsafe.Pointer) failure {
			for i := range uintptr(n) {
				if a, b := unsafe.Add(p, i*size), unsafe.Add(now, i*size); !in.Equal(e, a, b) {
					return plain(fmt.Sprintf("element %d is %s, not %s", i, tr.valueText(e, a), tr.valueText(e, b)))
				}
			}
			return plain("the bits of an element")
		}))
}

// valueText prints a basic value for a guard.
func (tr *trace) valueText(t types.Type, p unsafe.Pointer) string {
	if k := kindOf(t); k.class != notScalar {
		return k.text(k.load(p))
	}
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
		return strconv.Quote(*(*string)(p))
	}
	return fmt.Sprintf("%v", reflect.NewAt(tr.in.Rep(t), p).Elem())
}

// guardExpr fixes the value of an expression. A bare leaf is an EQUALS_MATCH.
func (tr *trace) guardExpr(e *expr, v scalar) {
	if e.isConst() {
		return
	}
	if e.op == 0 && e.leaf != nil {
		tr.guardEquals(e.leaf, tr.entry.at(e.leaf))
		return
	}
	text := e.String() + " == " + e.kind.text(v)
	if e.kind.class == boolean {
		if text = e.String(); v.i == 0 {
			text = "not (" + text + ")"
		}
	}
	var first *source
	e.leaves(func(s *source) {
		if first == nil {
			first = s
		}
	})
	tr.guard("LAMBDA_GUARD", first, text, e.kind.text(v),
		exprTest(e, v),
		func(a *addresses) failure {
			w, ok := e.eval(a)
			if !ok {
				return failure{actual: "unreachable", dim: -1, broken: true}
			}
			return failure{actual: e.kind.text(w) + tr.leafValues(e, a), dim: -1}
		})
}

// leafValues lists what the leaves of a failed expression hold.
func (tr *trace) leafValues(e *expr, a *addresses) string {
	var parts []string
	e.leaves(func(s *source) {
		if p := a.at(s); p != nil {
			parts = append(parts, s.argument()+" = "+tr.valueText(s.typ, p))
		}
	})
	return " (" + strings.Join(parts, ", ") + ")"
}

// guardLen fixes the length of the slice, map or string at s.
func (tr *trace) guardLen(s *source, n int) {
	length := lengthOf(tr, s.typ)
	tr.guard("LENGTH_CHECK", s, fmt.Sprintf("len(%s) == %d", s.name, n), strconv.Itoa(n),
		at(s, func(p unsafe.Pointer) bool { return length(p) == n }),
		found(s, func(p unsafe.Pointer) failure { return plain(strconv.Itoa(length(p))) }))
}

func lengthOf(tr *trace, t types.Type) func(unsafe.Pointer) int {
	switch t.Underlying().(type) {
	case *types.Slice:
		return func(p unsafe.Pointer) int { return (*sliceHeader)(p).len }
	case *types.Basic:
		return func(p unsafe.Pointer) int { return len(*(*string)(p)) }
	}
	rt := tr.in.Rep(t)
	return func(p unsafe.Pointer) int { return reflect.NewAt(rt, p).Elem().Len() }
}

// guardNil fixes whether the pointer, slice, map, func or interface at s is nil.
func (tr *trace) guardNil(s *source, isNil bool) {
	rt := tr.in.Rep(s.typ)
	nilAt := func(p unsafe.Pointer) bool { return reflect.NewAt(rt, p).Elem().IsNil() }
	if _, isPtr := s.typ.Underlying().(*types.Pointer); isPtr {
		nilAt = func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil }
	}
	kind, text, want := "NOT_NONE", s.name+" is not nil", "not nil"
	if isNil {
		kind, text, want = "ID_MATCH", s.name+" is nil", "nil"
	}
	tr.guard(kind, s, text, want,
		at(s, func(p unsafe.Pointer) bool { return nilAt(p) == isNil }),
		found(s, func(p unsafe.Pointer) failure {
			if nilAt(p) {
				return plain("nil")
			}
			return plain("not nil")
		}))
}

// guardType fixes the dynamic type of the interface at s.
func (tr *trace) guardType(s *source, dyn types.Type) {
	in := tr.in
	name := typeName(dyn)
	text := fmt.Sprintf("type(%s) == %s", s.name, name)
	same := func(t types.Type) bool {
		return t == dyn || (t != nil && dyn != nil && types.Identical(t, dyn))
	}
	tr.guard("TYPE_MATCH", s, text, name,
		at(s, func(p unsafe.Pointer) bool { t, _ := in.Dynamic(s.typ, p); return same(t) }),
		found(s, func(p unsafe.Pointer) failure {
			t, _ := in.Dynamic(s.typ, p)
			f := plain(typeName(t))
			f.message = fmt.Sprintf("expected type of '%s' to be %s, but found %s", s.argument(), name, f.actual)
			return f
		}))
}

func typeName(t types.Type) string {
	if t == nil {
		return "nil"
	}
	return types.TypeString(t, func(p *types.Package) string { return p.Name() })
}

// guardFunc fixes which function the func value at s calls.
func (tr *trace) guardFunc(s *source, fn *ssa.Function) {
	in := tr.in
	text := fmt.Sprintf("%s.__code__ is %s", s.name, fn.RelString(nil))
	tr.guard("ID_MATCH", s, text, fn.RelString(nil),
		at(s, func(p unsafe.Pointer) bool { c := in.ClosureOf(p); return c != nil && c.Fn == fn }),
		found(s, func(p unsafe.Pointer) failure {
			if c := in.ClosureOf(p); c != nil {
				return plain(c.Fn.RelString(nil))
			}
			return plain("another function")
		}))
}

// guardNativeFunc is guardFunc for compiled code, of which only the address of the func
// value tells one function from another.
func (tr *trace) guardNativeFunc(s *source, value unsafe.Pointer) {
	in, name := tr.in, runtime.FuncForPC(**(**uintptr)(unsafe.Pointer(&value))).Name()
	tr.guard("ID_MATCH", s, fmt.Sprintf("%s.__code__ is %s", s.name, name), name,
		at(s, func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == value }),
		found(s, func(p unsafe.Pointer) failure {
			if c := in.ClosureOf(p); c != nil {
				return plain(c.Fn.RelString(nil))
			}
			return plain("another function")
		}))
}

// guardIdentity fixes whether the pointers at s and o are the same.
func (tr *trace) guardIdentity(s, o *source, same bool) {
	kind, sign := "OBJECT_ALIASING", " is "
	if !same {
		kind, sign = "NO_ALIASING", " is not "
	}
	tr.guard(kind, s, s.name+sign+o.name, strconv.FormatBool(same),
		func(a *addresses) bool {
			p, q := a.at(s), a.at(o)
			return p != nil && q != nil && (*(*unsafe.Pointer)(p) == *(*unsafe.Pointer)(q)) == same
		},
		func(*addresses) failure { return plain(strconv.FormatBool(!same)) })
}

// guardPointer fixes the pointer at s to be p itself.
func (tr *trace) guardPointer(s *source, p unsafe.Pointer) {
	tr.guard("ID_MATCH", s, fmt.Sprintf("%s is the object of the first call", s.name), "the same object",
		at(s, func(q unsafe.Pointer) bool { return *(*unsafe.Pointer)(q) == p }),
		func(*addresses) failure { return plain("another object") })
}

// guardKey fixes whether the map at s holds a key.
func (tr *trace) guardKey(s *source, k *mapKey, has bool) {
	in := tr.in
	text, want, found := fmt.Sprintf("___dict_contains(%s, %s)", k.text, s.name), "has "+k.text, "lacks "+k.text
	if !has {
		text, want, found = "not "+text, found, want
	}
	tr.guard("DICT_CONTAINS", s, text, want,
		at(s, func(p unsafe.Pointer) bool { return (mapLookup(in, s.typ, p, k.addr) != nil) == has }),
		func(*addresses) failure { return plain(found) })
}

// guardTensor fixes dtype, device, requires_grad and layout of the tensor t at s;
// sizes that are symbols of m are left to the shape guards, and strides that
// follow from them have to follow from other sizes likewise.
func (tr *trace) guardTensor(s *source, t *torch.Tensor, m *ops.TensorMeta) {
	sizes, strides := make([]int, len(m.Shape)), make([]int, len(m.Shape))
	shape, stride, _ := t.Layout()
	behind, _ := lyingBehind(shape, stride)
	for i := range sizes {
		sizes[i], strides[i] = fixedSize(m.Shape[i]), fixedSize(m.Stride[i])
	}
	want := func(shape, stride []int) []int { // strides of a tensor with these sizes
		out := slices.Clone(strides)
		for i, w := range strides {
			if w < 0 {
				out[i] = max(shape[behind[i]], 1) * stride[behind[i]] // as torch lays out what has no elements
			}
		}
		return out
	}
	open := slices.Contains(strides, -1)
	d, dev, grad := m.DType, m.Device, m.RequiresGrad
	text := fmt.Sprintf("check_tensor(%s, Tensor, %s, device=%s, requires_grad=%s, size=%s, stride=%s)",
		s.name, d, dev, pyBool(grad), sizesText(sizes), sizesText(strides))
	tr.guard("TENSOR_MATCH", s, text, tensorText(d, sizes),
		at(s, func(p unsafe.Pointer) bool {
			t := *(**torch.Tensor)(p)
			if t == nil || t.DType() != d || t.Device() != dev || t.RequiresGrad() != grad {
				return false
			}
			shape, stride, _ := t.Layout()
			return fits(shape, sizes) && fits(stride, strides) && (!open || fits(stride, want(shape, stride)))
		}),
		found(s, func(p unsafe.Pointer) failure {
			return tensorMismatch(s.argument(), *(**torch.Tensor)(p), d, dev, grad, sizes, want)
		}))
}

// fixedSize is the constant of a size, -1 when it is dynamic.
func fixedSize(x sym.Int) int {
	if v, ok := x.IsConst(); ok {
		return int(v)
	}
	return -1
}

func fits(have, want []int) bool {
	if len(have) != len(want) {
		return false
	}
	for i, w := range want {
		if w >= 0 && have[i] != w {
			return false
		}
	}
	return true
}

// tensorMismatch says in PyTorch's words what differs first.
func tensorMismatch(name string, t *torch.Tensor, d ops.DType, dev ops.Device, grad bool, sizes []int, strides func(shape, stride []int) []int) failure {
	if t == nil {
		return failure{actual: "nil", dim: -1, message: fmt.Sprintf("tensor '%s' is nil", name)}
	}
	shape, stride, _ := t.Layout()
	f := failure{actual: tensorText(t.DType(), shape), dim: -1}
	say := func(format string, args ...any) failure {
		f.message = "tensor '" + name + "' " + fmt.Sprintf(format, args...)
		return f
	}
	switch {
	case t.DType() != d:
		return say("dtype mismatch. expected %s, actual %s", d.ScalarType(), t.DType().ScalarType())
	case t.Device() != dev:
		return say("device mismatch. expected %s, actual %s", dev, t.Device())
	case t.RequiresGrad() != grad:
		return say("requires_grad mismatch. expected requires_grad=%d", map[bool]int{true: 1}[grad])
	case len(shape) != len(sizes):
		return say("rank mismatch. expected %d, actual %d", len(sizes), len(shape))
	}
	for i, w := range sizes {
		if w >= 0 && shape[i] != w {
			f.dim = i
			return say("size mismatch at index %d. expected %d, actual %d", i, w, shape[i])
		}
	}
	for i, w := range strides(shape, stride) {
		if stride[i] != w {
			return say("stride mismatch at index %d. expected %d, actual %d", i, w, stride[i])
		}
	}
	return f
}

func tensorText(d ops.DType, sizes []int) string { return d.Name() + sizesText(sizes) }

func sizesText(sizes []int) string {
	parts := make([]string, len(sizes))
	for i, s := range sizes {
		if parts[i] = strconv.Itoa(s); s < 0 {
			parts[i] = "None"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func pyBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// fixGradMode guards, once a trace, whether gradients are recorded.
func (tr *trace) fixGradMode() {
	if tr.grad {
		return
	}
	tr.grad = true
	on := torch.GradEnabled()
	tr.guard("GRAD_MODE", nil, "grad_mode == "+pyBool(on), pyBool(on),
		func(*addresses) bool { return torch.GradEnabled() == on },
		func(*addresses) failure {
			return failure{actual: pyBool(!on), dim: -1, message: "GLOBAL_STATE changed: grad_mode "}
		})
}

// fixedGuards demands the sizes of symbols that became constants: relations
// that hold of the constant say nothing any more.
func (tr *trace) fixedGuards() {
	for _, x := range tr.env.Symbols {
		v, fixed := x.Fixed()
		o, known := tr.symbols[x]
		if !fixed || !known {
			continue
		}
		text := fmt.Sprintf("%s == %d", x.Source, v)
		pos, _ := x.FixedAt().(logs.Pos)
		tr.guards.add(&guard{
			kind: "SHAPE_ENV", src: o.src, text: text, want: strconv.FormatInt(v, 10), pos: pos,
			test: func(a *addresses) bool { return sizeAt(a, o.src, o.dim) == int(v) },
			actual: func(a *addresses) failure {
				return failure{actual: strconv.Itoa(sizeAt(a, o.src, o.dim)), dim: o.dim}
			},
		})
	}
}

// dynamicGuards keep sizes that are symbols from being 0 or 1: those broadcast and
// squeeze, and are constants of graphs of their own.
func (tr *trace) dynamicGuards() {
	for _, x := range tr.env.Symbols {
		o, known := tr.symbols[x]
		if _, fixed := x.Fixed(); fixed || !known || x.Min > 2 { // what it was compared with says so
			continue
		}
		text := "2 <= " + x.Source
		var pos logs.Pos
		if n := len(o.at); n > 0 {
			pos = o.at[n-1]
		}
		tr.guards.add(&guard{
			kind: "SHAPE_ENV", src: o.src, text: text, want: text, pos: pos,
			test: func(a *addresses) bool { return sizeAt(a, o.src, o.dim) >= 2 },
			actual: func(a *addresses) failure {
				return failure{actual: o.failure(a, x.Source), dim: o.dim}
			},
		})
	}
}

// sizeAt is a size of the tensor at s, -1 where there is none, or the int at s.
func sizeAt(a *addresses, s *source, dim int) int {
	p := a.at(s)
	if p != nil && dim == anyDim {
		return int(kindOf(s.typ).load(p).i)
	}
	if p == nil || *(**torch.Tensor)(p) == nil {
		return -1
	}
	shape, _, _ := (*(**torch.Tensor)(p)).Layout()
	if dim >= len(shape) {
		return -1
	}
	return shape[dim]
}

// shapeGuards turns what was learned of symbols into guards.
func (tr *trace) shapeGuards() {
	tr.fixedGuards()
	tr.dynamicGuards()
	for _, g := range tr.env.Guards {
		rel := g.Rel
		pos, _ := g.Site.(logs.Pos)
		look := tr.symbolReader()
		text := relText(rel)
		tr.guards.add(&guard{
			kind: "SHAPE_ENV", src: tr.symbolSource(rel), text: text, want: text, pos: pos,
			test: func(a *addresses) bool { return rel.Holds(func(s *sym.Symbol) int64 { return look(a, s) }) },
			actual: func(a *addresses) failure {
				f := failure{dim: -1}
				for _, s := range append(rel.A.Symbols(), rel.B.Symbols()...) {
					f.actual = fmt.Sprintf("%s = %d", s.Source, look(a, s))
					f.dim = tr.symbols[s].dim
				}
				return f
			},
		})
	}
}

// relText prints a relation as Python writes it, with the symbols' sources:
// 2 <= L['x'].size()[0].
func relText(r sym.Rel) string {
	text := r.String()
	switch r.Op {
	case sym.OpEq:
		text = fmt.Sprintf("%s == %s", r.A, r.B)
	case sym.OpNe:
		text = fmt.Sprintf("%s != %s", r.A, r.B)
	}
	sources := map[string]string{}
	for _, s := range append(r.A.Symbols(), r.B.Symbols()...) {
		sources[s.Name] = s.Source
	}
	return symbolNames().ReplaceAllStringFunc(text, func(name string) string {
		if source, ok := sources[name]; ok {
			return source
		}
		return name
	})
}

// symbolNames finds whole names: s1 is no part of s10.
var symbolNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bs\d+\b`) })

func (tr *trace) symbolSource(r sym.Rel) *source {
	for _, s := range append(r.A.Symbols(), r.B.Symbols()...) {
		if o, ok := tr.symbols[s]; ok {
			return o.src
		}
	}
	return nil
}

// symbolReader reads symbols from the tensors that carry them.
func (tr *trace) symbolReader() func(a *addresses, s *sym.Symbol) int64 {
	origin := tr.symbols
	return func(a *addresses, s *sym.Symbol) int64 {
		if v, ok := s.Fixed(); ok {
			return v
		}
		return int64(sizeAt(a, origin[s].src, origin[s].dim))
	}
}

// symbolOrigin is where a dynamic size is read.
type symbolOrigin struct {
	src  *source // of the tensor
	dim  int     // anyDim: src is of an int
	hint int
	expr sym.Int    // the symbol itself
	at   []logs.Pos // the user's stack where the tensor was met
}
