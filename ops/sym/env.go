package sym

import (
	"fmt"
	"math"
	"slices"
)

// Symbol is one unknown size, e.g. s77.
type Symbol struct {
	Name     string
	Source   string // where its value comes from: L.x.size()[0]; empty when unbacked
	Min, Max int64  // inclusive range known so far
	Unbacked bool   // comes out of data: no hint (u0, u1, ...)
	// Low and High bound what the data may be, of an unbacked symbol, as far as Checks say so;
	// Min is that of a size: what is decided of shapes takes it for one of 2 and more.
	Low, High int64
	Checks    []Rel // that the program asserts
	Env       *Env

	value   int64 // hint; the value itself once fixed
	fixed   bool  // specialised to value
	fixedAt any
}

// Fixed returns the constant to which the symbol was specialised.
func (s *Symbol) Fixed() (int64, bool) { return s.value, s.fixed }

// FixedAt is what Env.Site answered when the symbol became a constant.
func (s *Symbol) FixedAt() any { return s.fixedAt }

// Env owns the symbols of one compilation and the guards on them (ShapeEnv).
// It is not safe for concurrent use.
type Env struct {
	Symbols []*Symbol
	Guards  []Guard
	// Site, where set, says which place of the user's program is being traced;
	// its answer is kept with each guard.
	Site func() any
	// OnSpecialize, where set, is told when a symbol becomes a constant.
	OnSpecialize func(s *Symbol, value int64, g Guard)

	known map[string]bool // text of relations already guarded
}

// Op is a comparison.
type Op uint8

// The comparisons; the others are their negations or swaps.
const (
	OpEq Op = iota
	OpNe
	OpLt
	OpLe
)

// Rel is a comparison of two expressions.
type Rel struct {
	Op   Op
	A, B Int
}

// String prints as sympy does: Eq(s77, 4), Ne(s77, 4), s77 < 4, s77 <= 4.
func (r Rel) String() string {
	switch r.Op {
	case OpEq:
		return fmt.Sprintf("Eq(%s, %s)", r.A, r.B)
	case OpNe:
		return fmt.Sprintf("Ne(%s, %s)", r.A, r.B)
	case OpLt:
		return fmt.Sprintf("%s < %s", r.A, r.B)
	default:
		return fmt.Sprintf("%s <= %s", r.A, r.B)
	}
}

// Holds evaluates r with the given values.
func (r Rel) Holds(look func(*Symbol) int64) bool {
	return holds(r.Op, r.A.Eval(look), r.B.Eval(look))
}

func holds(op Op, a, b int64) bool {
	switch op {
	case OpEq:
		return a == b
	case OpNe:
		return a != b
	case OpLt:
		return a < b
	default:
		return a <= b
	}
}

func (r Rel) negate() Rel {
	switch r.Op {
	case OpEq:
		return Rel{OpNe, r.A, r.B}
	case OpNe:
		return Rel{OpEq, r.A, r.B}
	case OpLt:
		return Rel{OpLe, r.B, r.A}
	default:
		return Rel{OpLt, r.B, r.A}
	}
}

// Guard is a relation on which the compiled code relies.
type Guard struct {
	Rel  Rel
	Site any // what Env.Site answered
}

// DataDependentError says that a decision needs the value of an unbacked symbol.
type DataDependentError struct{ Expr string }

func (e *DataDependentError) Error() string {
	return "the size expression " + e.Expr + " depends on tensor data"
}

// NewSymbol adds a backed symbol: hint is its value now. Sizes 0 and 1 are
// constants by convention (0/1 specialisation), so the range starts at 2.
func (e *Env) NewSymbol(name, source string, hint int64) Int {
	s := &Symbol{Name: name, Source: source, Min: 2, Max: math.MaxInt64, Env: e, value: hint}
	return e.add(s)
}

// NewUnbacked adds a symbol whose value comes out of tensor data.
func (e *Env) NewUnbacked() Int {
	n := 0
	for _, s := range e.Symbols {
		if s.Unbacked {
			n++
		}
	}
	s := &Symbol{
		Name: fmt.Sprintf("u%d", n), Min: 2, Max: math.MaxInt64, Unbacked: true, Env: e, Low: math.MinInt64, High: math.MaxInt64,
	}
	return e.add(s)
}

func (e *Env) add(s *Symbol) Int {
	e.Symbols = append(e.Symbols, s)
	return s.Int()
}

// Int is the symbol as an expression.
func (s *Symbol) Int() Int { return Int{x: &expr{kind: kSym, sym: s, key: s.Name}} }

// Eq decides a == b: by form where that settles it, else by the hints, with a
// guard recorded in the symbols' Env. So do Ne, Lt, Le, Gt and Ge.
func Eq(a, b Int) bool { return decide(Rel{OpEq, a, b}) }

// Ne decides a != b; see Eq.
func Ne(a, b Int) bool { return decide(Rel{OpNe, a, b}) }

// Lt decides a < b; see Eq.
func Lt(a, b Int) bool { return decide(Rel{OpLt, a, b}) }

// Le decides a <= b; see Eq.
func Le(a, b Int) bool { return decide(Rel{OpLe, a, b}) }

// Gt decides a > b; see Eq.
func Gt(a, b Int) bool { return decide(Rel{OpLt, b, a}) }

// Ge decides a >= b; see Eq.
func Ge(a, b Int) bool { return decide(Rel{OpLe, b, a}) }

// Is reports whether a is surely the constant c, without adding a guard.
func Is(a Int, c int64) bool {
	v, ok := a.IsConst()
	return ok && v == c
}

// Same reports whether a and b are surely equal, without adding a guard.
func Same(a, b Int) bool {
	v, known := Rel{OpEq, a.resolve(), b.resolve()}.static()
	return known && v
}

// AllSame reports whether two lists have as many sizes, each surely equal.
func AllSame(a, b []Int) bool { return slices.EqualFunc(a, b, Same) }

// Force specialises a to its hint and returns it: the answer for code that
// needs a plain number (an index, a printed size).
func Force(a Int) int64 {
	if v, ok := a.IsConst(); ok {
		return v
	}
	v := a.Hint()
	Eq(a, Const(v))
	return v
}

func decide(r Rel) bool {
	r.A, r.B = r.A.resolve(), r.B.resolve()
	if v, known := r.static(); known {
		return v
	}
	if HasUnbacked(r.A) || HasUnbacked(r.B) {
		panic(&DataDependentError{Expr: r.String()})
	}
	v := holds(r.Op, r.A.Hint(), r.B.Hint())
	if !v {
		r = r.negate()
	}
	env(r).learn(r.solved())
	return v
}

// solved is r with its symbol alone on one side, where r equates a sum of it: s0 - 1 == 4 is
// s0 == 5, which makes a constant of s0. Any other relation stays as it is.
func (r Rel) solved() Rel {
	if r.Op != OpEq {
		return r
	}
	var constant, k int64
	var unknown Int
	for _, t := range summands(Sub(r.A, r.B)) {
		if c, isC := t.IsConst(); isC {
			constant = c
			continue
		}
		if k != 0 {
			return r
		}
		k, unknown = coefficient(t)
	}
	if _, ok := unknown.AsSymbol(); !ok || constant%k != 0 {
		return r
	}
	return Rel{OpEq, unknown, Const(-constant / k)}
}

func env(r Rel) *Env {
	if s := r.A.Symbols(); len(s) > 0 {
		return s[0].Env
	}
	return r.B.Symbols()[0].Env
}

// Sure reports whether r holds for all sizes within the ranges of its symbols.
func (r Rel) Sure() bool {
	v, known := Rel{r.Op, r.A.resolve(), r.B.resolve()}.static()
	return known && v
}

// static decides r from its form and the ranges of its symbols alone.
func (r Rel) static() (value, known bool) { return r.staticWithin(maxForms) }

// maxForms bounds how many minima and maxima within each other static looks into: each
// may double what there is to compare.
const maxForms = 8

func (r Rel) staticWithin(forms int) (value, known bool) {
	d := Sub(r.A, r.B)
	if c, ok := d.IsConst(); ok {
		return holds(r.Op, c, 0), true
	}
	lo, hi := d.bounds()
	switch r.Op {
	case OpEq:
		return false, lo > 0 || hi < 0
	case OpNe:
		return true, lo > 0 || hi < 0
	case OpLt:
		value, known = hi < 0, hi < 0 || lo >= 0
	default:
		value, known = hi <= 0, hi <= 0 || lo > 0
	}
	if !known && forms > 0 && r.orderedByForm(forms-1) {
		return true, true
	}
	return value, known
}

// orderedByForm reports whether A is below B because of a minimum or maximum
// that either is: Min(a, b) is below what a or b is below.
func (r Rel) orderedByForm(forms int) bool {
	below := func(a, b Int) bool {
		v, known := Rel{r.Op, a, b}.staticWithin(forms)
		return known && v
	}
	if a, b, ok := r.A.operands(kMin); ok && (below(a, r.B) || below(b, r.B)) {
		return true
	}
	if a, b, ok := r.B.operands(kMax); ok && (below(r.A, a) || below(r.A, b)) {
		return true
	}
	if a, b, ok := r.A.operands(kMax); ok && below(a, r.B) && below(b, r.B) {
		return true
	}
	a, b, ok := r.B.operands(kMin)
	return ok && below(r.A, a) && below(r.A, b)
}

// operands are the two of an expression of kind k.
func (a Int) operands(k kind) (x, y Int, ok bool) {
	if a.x == nil || a.x.kind != k {
		return Int{}, Int{}, false
	}
	return a.x.args[0], a.x.args[1], true
}

// bounds returns an inclusive interval that holds a. Infinity is the extreme
// int64, and arithmetic on it stays there.
func (a Int) bounds() (lo, hi int64) {
	a = a.resolve()
	if a.x == nil {
		return a.c, a.c
	}
	switch a.x.kind {
	case kSym:
		return a.x.sym.Min, a.x.sym.Max
	case kSum:
		for _, t := range a.x.args {
			l, h := t.bounds()
			lo, hi = satAdd(lo, l), satAdd(hi, h)
		}
		return lo, hi
	case kProduct:
		lo, hi = 1, 1
		for _, t := range a.x.args {
			l, h := t.bounds()
			p := [4]int64{satMul(lo, l), satMul(lo, h), satMul(hi, l), satMul(hi, h)}
			lo, hi = min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])
		}
		return lo, hi
	case kFloorDiv:
		l, h := a.x.args[0].bounds()
		bl, _ := a.x.args[1].bounds()
		if l >= 0 && bl >= 1 {
			return 0, h / bl
		}
	case kMod:
		bl, bh := a.x.args[1].bounds()
		if bl >= 1 && bh < math.MaxInt64 {
			return 0, bh - 1
		}
		if bl >= 1 {
			return 0, bh
		}
	case kMax:
		l1, h1 := a.x.args[0].bounds()
		l2, h2 := a.x.args[1].bounds()
		return max(l1, l2), max(h1, h2)
	case kMin:
		l1, h1 := a.x.args[0].bounds()
		l2, h2 := a.x.args[1].bounds()
		return min(l1, l2), min(h1, h2)
	}
	return math.MinInt64, math.MaxInt64
}

func infinite(v int64) bool { return v == math.MaxInt64 || v == math.MinInt64 }

func satAdd(a, b int64) int64 {
	switch {
	case infinite(a):
		return a
	case infinite(b):
		return b
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}

func satMul(a, b int64) int64 {
	if a == 0 || b == 0 {
		return 0
	}
	p := a * b
	if infinite(a) || infinite(b) || p/b != a {
		if (a < 0) == (b < 0) {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return p
}

// learn records r, narrows ranges by it and specialises a symbol that it fixes.
func (e *Env) learn(r Rel) {
	text := r.String()
	if e.known[text] {
		return
	}
	if e.known == nil {
		e.known = map[string]bool{}
	}
	e.known[text] = true
	g := Guard{Rel: r}
	if e.Site != nil {
		g.Site = e.Site()
	}
	e.Guards = append(e.Guards, g)
	e.narrow(r, g)
}

func (e *Env) narrow(r Rel, g Guard) {
	if s, ok := r.A.AsSymbol(); ok {
		if c, isC := r.B.IsConst(); isC {
			s.restrict(r.Op, c)
		}
	}
	if s, ok := r.B.AsSymbol(); ok {
		if c, isC := r.A.IsConst(); isC {
			s.restrict(swapped(r.Op), c)
		}
	}
	for _, s := range append(r.A.Symbols(), r.B.Symbols()...) {
		if s.Min == s.Max && !s.fixed {
			s.value, s.fixed, s.fixedAt = s.Min, true, g.Site
			if e.OnSpecialize != nil {
				e.OnSpecialize(s, s.value, g)
			}
		}
	}
}

// opGe and opGt exist only while a relation is read from its right side.
const (
	opGe Op = 100 + iota
	opGt
)

func swapped(op Op) Op {
	switch op {
	case OpLt:
		return opGt
	case OpLe:
		return opGe
	}
	return op
}

func (s *Symbol) restrict(op Op, c int64) {
	switch op {
	case OpEq:
		s.Min, s.Max = c, c
	case OpLt:
		s.Max = min(s.Max, c-1)
	case OpLe:
		s.Max = min(s.Max, c)
	case opGe:
		s.Min = max(s.Min, c)
	case opGt:
		s.Min = max(s.Min, c+1)
	}
}
