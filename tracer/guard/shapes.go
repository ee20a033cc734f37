package guard

import (
	"fmt"
	"regexp"
	"strconv"
	"sync"

	"tcdbg/logs"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer/value"
)

// This file is guards on sizes and numbers that are symbols of the graph.

// fixedSizes demands the sizes of symbols that became constants: relations
// that hold of the constant say nothing any more.
func (gs *Set) fixedSizes(env *sym.Env, symbols Origins) {
	for _, x := range env.Symbols {
		v, fixed := x.Fixed()
		o, known := symbols[x]
		if !fixed || !known {
			continue
		}
		text := fmt.Sprintf("%s == %d", x.Source, v)
		pos, _ := x.FixedAt().(logs.Pos)
		gs.add(&Guard{
			kind: ShapeEnv, Source: o.Src, text: text, want: strconv.FormatInt(v, 10), pos: pos,
			Test: func(a *Addresses) bool { return SizeAt(a, o.Src, o.Dim) == int(v) },
			actual: func(a *Addresses) Failure {
				return Failure{actual: strconv.Itoa(SizeAt(a, o.Src, o.Dim)), dim: o.Dim}
			},
		})
	}
}

// dynamicSizes keep sizes that are symbols from being 0 or 1: those broadcast and
// squeeze, and are constants of graphs of their own.
func (gs *Set) dynamicSizes(env *sym.Env, symbols Origins) {
	for _, x := range env.Symbols {
		o, known := symbols[x]
		if _, fixed := x.Fixed(); fixed || !known || x.Min > 2 || x.Unbacked { // what it was compared with says so
			continue
		}
		text := "2 <= " + x.Source
		var pos logs.Pos
		if n := len(o.At); n > 0 {
			pos = o.At[n-1]
		}
		gs.add(&Guard{
			kind: ShapeEnv, Source: o.Src, text: text, want: text, pos: pos,
			Test: func(a *Addresses) bool { return SizeAt(a, o.Src, o.Dim) >= 2 },
			actual: func(a *Addresses) Failure {
				return Failure{actual: o.failure(a, x.Source), dim: o.Dim}
			},
		})
	}
}

// SizeAt is a size of the tensor at s, -1 where there is none, or the int at s.
func SizeAt(a *Addresses, s *value.Source, dim int) int {
	p := a.At(s)
	if p != nil && dim == AnyDim {
		return int(value.KindOf(s.Type).Load(p).I)
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

// Shapes turns what was learned of symbols into guards.
func (gs *Set) Shapes(env *sym.Env, symbols Origins) {
	gs.fixedSizes(env, symbols)
	gs.dynamicSizes(env, symbols)
	for _, g := range env.Guards {
		rel := g.Rel
		pos, _ := g.Site.(logs.Pos)
		text := RelText(rel)
		gs.add(&Guard{
			kind: ShapeEnv, Source: symbols.sourceOf(rel), text: text, want: text, pos: pos,
			Test: func(a *Addresses) bool { return rel.Holds(func(s *sym.Symbol) int64 { return symbols.value(a, s) }) },
			actual: func(a *Addresses) Failure {
				f := Failure{dim: -1}
				for _, s := range append(rel.A.Symbols(), rel.B.Symbols()...) {
					f.actual = fmt.Sprintf("%s = %d", s.Source, symbols.value(a, s))
					f.dim = symbols[s].Dim
				}
				return f
			},
		})
	}
}

// RelText prints a relation as Python writes it, with the symbols' sources:
// 2 <= L['x'].size()[0].
func RelText(r sym.Rel) string {
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

// sourceOf is where the first symbol of a relation is read.
func (os Origins) sourceOf(r sym.Rel) *value.Source {
	for _, s := range append(r.A.Symbols(), r.B.Symbols()...) {
		if o, ok := os[s]; ok {
			return o.Src
		}
	}
	return nil
}

// value reads a symbol from the tensor that carries it.
func (os Origins) value(a *Addresses, s *sym.Symbol) int64 {
	if v, ok := s.Fixed(); ok {
		return v
	}
	return int64(SizeAt(a, os[s].Src, os[s].Dim))
}

// Origins says of symbols where they are read.
type Origins map[*sym.Symbol]Origin

// Origin is where a dynamic size is read.
type Origin struct {
	Src  *value.Source // of the tensor
	Dim  int           // AnyDim: src is of an int
	Hint int
	Expr sym.Int    // the symbol itself
	At   []logs.Pos // the user's stack where the tensor was met
	// Named is the Dim of torch.Export that the size is, nil otherwise.
	Named *torch.Dim
}

// This file is numbers that change from call to call. A number that an operator is
// given is a constant of the graph at first. One that was seen to change is open in
// the next trace (automatic dynamic, as for sizes): an int is a symbol, which the
// graph gets as an input of its own; a float that scales or moves a tensor comes in
// a tensor without dimensions.
//
// What a function is given, has captured or itself changes is opened. Other fields of
// what pointers lead to, such as the widths of a module, differ from one object to the
// next but do not change.

// AnyDim means the value itself where a map or a symbol names a dimension.
const AnyDim = -1

// failure says what is where a symbol is read.
func (o Origin) failure(a *Addresses, name string) string {
	v := strconv.Itoa(SizeAt(a, o.Src, o.Dim))
	if o.Dim == AnyDim {
		return v
	}
	return name + " = " + v
}

// SameSize demands that dimension dim of the tensor at s equals symbol x (duck sizing).
func (gs *Set) SameSize(x *sym.Symbol, o Origin, s *value.Source, dim int) {
	text := fmt.Sprintf("%s.size()[%d] == %s", s.Name, dim, x.Source)
	gs.Check(ShapeEnv, s, text, text,
		func(a *Addresses) bool { return SizeAt(a, s, dim) == SizeAt(a, o.Src, o.Dim) },
		func(a *Addresses) Failure {
			return Failure{actual: fmt.Sprintf("%d != %d", SizeAt(a, s, dim), SizeAt(a, o.Src, o.Dim)), dim: dim}
		})
}
