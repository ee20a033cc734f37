// Package sym holds symbolic integers: the sizes, strides and offsets of
// tensors whose shapes are not fixed, and the guards that reasoning about them
// leaves behind (PyTorch's SymInt and ShapeEnv).
//
// It imports nothing of ours. Open int.go first (expressions), then env.go
// (symbols, ranges, guards).
package sym

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Int is an immutable integer expression over symbols. The zero Int is 0.
// A constant is held inline and allocates nothing.
type Int struct {
	c int64 // the value when x is nil
	x *expr
}

// expr is a non-constant expression in canonical form: equal expressions have
// equal keys, because sums and products are sorted and like terms are folded.
type expr struct {
	kind kind
	sym  *Symbol
	args []Int // operands; of a sum and a product the constant part comes first
	key  string
}

type kind uint8

const (
	kSym kind = iota
	kSum
	kProduct
	kFloorDiv
	kMod
	kMax
	kMin
)

// Const returns the constant v.
func Const(v int64) Int { return Int{c: v} }

// C is Const for the int that shape code works with.
func C(v int) Int { return Int{c: int64(v)} }

// Consts converts concrete sizes.
func Consts(vs []int) []Int {
	out := make([]Int, len(vs))
	for i, v := range vs {
		out[i] = C(v)
	}
	return out
}

// IsConst returns the value of a constant expression. A symbol that has been
// specialised counts as its constant.
func (a Int) IsConst() (int64, bool) {
	a = a.resolve()
	return a.c, a.x == nil
}

// resolve replaces specialised symbols by their constants.
func (a Int) resolve() Int {
	if a.x == nil || !a.x.stale() {
		return a
	}
	return a.Subst(func(s *Symbol) (Int, bool) {
		if s.fixed {
			return Const(s.value), true
		}
		return Int{}, false
	})
}

func (x *expr) stale() bool {
	if x.kind == kSym {
		return x.sym.fixed
	}
	for _, a := range x.args {
		if a.x != nil && a.x.stale() {
			return true
		}
	}
	return false
}

// Add returns a+b.
func Add(a, b Int) Int {
	if a.x == nil && b.x == nil {
		return Const(a.c + b.c)
	}
	return sum(a, b)
}

// Sub returns a-b.
func Sub(a, b Int) Int { return Add(a, Mul(Const(-1), b)) }

// Neg returns -a.
func Neg(a Int) Int { return Mul(Const(-1), a) }

// Mul returns a*b, distributing over sums so that the form stays canonical.
func Mul(a, b Int) Int {
	a, b = a.resolve(), b.resolve()
	if a.x == nil && b.x == nil {
		return Const(a.c * b.c)
	}
	if a.x == nil {
		a, b = b, a
	}
	if b.x == nil && b.c == 0 {
		return Int{}
	}
	if b.x == nil && b.c == 1 {
		return a
	}
	if a.x.kind == kSum || (b.x != nil && b.x.kind == kSum) {
		var terms []Int
		for _, s := range summands(a) {
			for _, t := range summands(b) {
				terms = append(terms, Mul(s, t))
			}
		}
		return sum(terms...)
	}
	return product(a, b)
}

// Product multiplies all of xs; the empty product is 1.
func Product(xs []Int) Int {
	p := Const(1)
	for _, x := range xs {
		p = Mul(p, x)
	}
	return p
}

// FloorDiv returns the floor of a/b. It panics when b is the constant 0.
func FloorDiv(a, b Int) Int {
	a, b = a.resolve(), b.resolve()
	if b.x == nil {
		if b.c == 0 {
			panic("sym: division by zero")
		}
		if a.x == nil {
			return Const(floorDiv(a.c, b.c))
		}
		if b.c == 1 {
			return a
		}
		if q, ok := exactDiv(a, b.c); ok {
			return q
		}
	}
	if a.same(b) {
		return Const(1)
	}
	if q, ok := cancel(a, b); ok {
		return q
	}
	return make2(kFloorDiv, a, b)
}

// CeilDiv is a divided by n, rounded up.
func CeilDiv(a Int, n int64) Int { return FloorDiv(Add(a, Const(n-1)), Const(n)) }

// Mod returns a-b*floor(a/b).
func Mod(a, b Int) Int {
	a, b = a.resolve(), b.resolve()
	if a.x == nil && b.x == nil {
		return Const(a.c - b.c*floorDiv(a.c, b.c))
	}
	if a.same(b) || (b.x == nil && b.c == 1) {
		return Int{}
	}
	if b.x == nil {
		if _, ok := exactDiv(a, b.c); ok {
			return Int{}
		}
	}
	if _, ok := cancel(a, b); ok {
		return Int{}
	}
	return make2(kMod, a, b)
}

// Max returns the larger of a and b.
func Max(a, b Int) Int { return extremum(kMax, a, b) }

// Min returns the smaller of a and b.
func Min(a, b Int) Int { return extremum(kMin, a, b) }

// extremum drops an argument that the other's range settles.
func extremum(k kind, a, b Int) Int {
	a, b = a.resolve(), b.resolve()
	switch {
	case surelyLe(a, b):
		return pick(k == kMin, a, b)
	case surelyLe(b, a):
		return pick(k == kMin, b, a)
	case order(b, a) < 0:
		a, b = b, a
	}
	return make2(k, a, b)
}

// surelyLe reports whether a <= b for all sizes.
func surelyLe(a, b Int) bool {
	v, known := Rel{OpLe, a, b}.static()
	return known && v
}

func pick(first bool, a, b Int) Int {
	if first {
		return a
	}
	return b
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// exactDiv divides every term of a by the constant c where all are multiples.
func exactDiv(a Int, c int64) (Int, bool) {
	var terms []Int
	for _, t := range summands(a) {
		k, rest := coefficient(t)
		if k%c != 0 {
			return Int{}, false
		}
		terms = append(terms, Mul(Const(k/c), rest))
	}
	return sum(terms...), true
}

// cancel divides product by product where b's factors all occur in a.
func cancel(a, b Int) (Int, bool) {
	if a.x == nil || b.x == nil || a.x.kind == kSum || b.x.kind == kSum {
		return Int{}, false
	}
	ka, _ := coefficient(a)
	kb, _ := coefficient(b)
	if ka%kb != 0 {
		return Int{}, false
	}
	have := factors(a)
	for _, f := range factors(b) {
		i := slices.IndexFunc(have, f.same)
		if i < 0 {
			return Int{}, false
		}
		have = slices.Delete(slices.Clone(have), i, i+1)
	}
	return Mul(Const(ka/kb), Product(have)), true
}

func make2(k kind, a, b Int) Int { return newExpr(k, []Int{a, b}) }

func newExpr(k kind, args []Int) Int {
	x := &expr{kind: k, args: args}
	x.key = x.format()
	return Int{x: x}
}

func (a Int) same(b Int) bool {
	if a.x == nil || b.x == nil {
		return a.x == b.x && a.c == b.c
	}
	return a.x == b.x || a.x.key == b.x.key
}

// order sorts constants before expressions, and those by their text.
func order(a, b Int) int {
	switch {
	case a.x == nil && b.x == nil:
		return cmp.Compare(a.c, b.c)
	case a.x == nil:
		return -1
	case b.x == nil:
		return 1
	}
	return strings.Compare(a.x.key, b.x.key)
}

func summands(a Int) []Int {
	if a.x != nil && a.x.kind == kSum {
		return a.x.args
	}
	return []Int{a}
}

// factors returns the non-constant factors of a product.
func factors(a Int) []Int {
	if a.x == nil {
		return nil
	}
	if a.x.kind != kProduct {
		return []Int{a}
	}
	if a.x.args[0].x == nil {
		return a.x.args[1:]
	}
	return a.x.args
}

// coefficient splits a term into its constant factor and the rest.
func coefficient(t Int) (int64, Int) {
	if t.x == nil {
		return t.c, Const(1)
	}
	if t.x.kind == kProduct && t.x.args[0].x == nil {
		rest := t.x.args[1:]
		if len(rest) == 1 {
			return t.x.args[0].c, rest[0]
		}
		return t.x.args[0].c, newExpr(kProduct, rest)
	}
	return 1, t
}

func sum(terms ...Int) Int {
	var constant int64
	coef := map[string]int64{}
	rest := map[string]Int{}
	for _, t := range terms {
		for _, s := range summands(t.resolve()) {
			k, r := coefficient(s)
			if r.x == nil {
				constant += k * r.c
				continue
			}
			coef[r.x.key] += k
			rest[r.x.key] = r
		}
	}
	var out []Int
	for key, r := range rest {
		if k := coef[key]; k != 0 {
			out = append(out, scaled(k, r))
		}
	}
	if len(out) == 0 {
		return Const(constant)
	}
	slices.SortFunc(out, order)
	if constant != 0 {
		out = append([]Int{Const(constant)}, out...)
	}
	if len(out) == 1 {
		return out[0]
	}
	return newExpr(kSum, out)
}

func scaled(k int64, r Int) Int {
	if k == 1 {
		return r
	}
	return newExpr(kProduct, append([]Int{Const(k)}, factors(r)...))
}

func product(a, b Int) Int {
	ka, _ := coefficient(a)
	kb, _ := coefficient(b)
	fs := append(slices.Clone(factors(a)), factors(b)...)
	slices.SortFunc(fs, order)
	if k := ka * kb; k != 1 {
		fs = append([]Int{Const(k)}, fs...)
	}
	if len(fs) == 1 {
		return fs[0]
	}
	return newExpr(kProduct, fs)
}

// String prints as PyTorch prints SymInt expressions: s77, 2*s77, s77 + 1,
// (s77//2), Mod(s77, 4), Max(2, s77).
func (a Int) String() string {
	a = a.resolve()
	if a.x == nil {
		return strconv.FormatInt(a.c, 10)
	}
	return a.x.key
}

// Append is String at the end of b.
func (a Int) Append(b []byte) []byte {
	a = a.resolve()
	if a.x == nil {
		return strconv.AppendInt(b, a.c, 10)
	}
	return append(b, a.x.key...)
}

func (x *expr) format() string {
	switch x.kind {
	case kSym:
		return x.sym.Name
	case kSum:
		return formatSum(x.args)
	case kProduct:
		parts := make([]string, len(x.args))
		for i, a := range x.args {
			parts[i] = paren(a)
		}
		return strings.Join(parts, "*")
	case kFloorDiv:
		by := paren(x.args[1])
		if k := x.args[1].x; k != nil && k.kind == kProduct {
			by = "(" + by + ")"
		}
		return fmt.Sprintf("(%s//%s)", paren(x.args[0]), by)
	case kMod:
		return fmt.Sprintf("Mod(%s, %s)", x.args[0], x.args[1])
	case kMax:
		return fmt.Sprintf("Max(%s, %s)", x.args[0], x.args[1])
	default:
		return fmt.Sprintf("Min(%s, %s)", x.args[0], x.args[1])
	}
}

// GoText writes a as Go does: sizes are not negative, so / and % are what // and Mod
// are in PyTorch's text.
func (a Int) GoText() string {
	a = a.resolve()
	if a.x == nil {
		return strconv.FormatInt(a.c, 10)
	}
	x := a.x
	args := make([]string, len(x.args))
	for i, b := range x.args {
		args[i] = b.GoText()
		if k := b.resolve().x; k != nil && k.kind != kSym && k.kind < kMax && x.kind != kSum {
			args[i] = "(" + args[i] + ")"
		}
	}
	switch x.kind {
	case kSym:
		return x.sym.Name
	case kSum:
		if x.args[0].x == nil { // the constant comes last
			args = append(args[1:], args[0])
		}
		return strings.ReplaceAll(strings.Join(args, " + "), " + -", " - ")
	case kProduct:
		return strings.Join(args, "*")
	case kFloorDiv:
		return args[0] + "/" + args[1]
	case kMod:
		return args[0] + "%" + args[1]
	case kMax:
		return "max(" + strings.Join(args, ", ") + ")"
	default:
		return "min(" + strings.Join(args, ", ") + ")"
	}
}

// formatSum puts the constant last, as sympy's printer does for s + 1.
func formatSum(args []Int) string {
	if args[0].x == nil {
		args = append(slices.Clone(args[1:]), args[0])
	}
	var sb strings.Builder
	for i, a := range args {
		s := a.String()
		switch {
		case i == 0:
		case strings.HasPrefix(s, "-"):
			sb.WriteString(" - ")
			s = s[1:]
		default:
			sb.WriteString(" + ")
		}
		sb.WriteString(s)
	}
	return sb.String()
}

func paren(a Int) string {
	if a.x != nil && a.x.kind == kSum {
		return "(" + a.x.key + ")"
	}
	return a.String()
}

// Symbols returns the distinct symbols of a in the order of their names.
func (a Int) Symbols() []*Symbol {
	seen := map[*Symbol]bool{}
	a.walk(func(s *Symbol) { seen[s] = true })
	out := make([]*Symbol, 0, len(seen))
	for s := range seen {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *Symbol) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (a Int) walk(f func(*Symbol)) {
	if a.x == nil {
		return
	}
	if a.x.kind == kSym {
		f(a.x.sym)
	}
	for _, b := range a.x.args {
		b.walk(f)
	}
}

// AsSymbol returns the symbol when a is a bare one.
func (a Int) AsSymbol() (*Symbol, bool) {
	a = a.resolve()
	if a.x != nil && a.x.kind == kSym {
		return a.x.sym, true
	}
	return nil, false
}

// Eval computes a with the values that look gives for its symbols.
func (a Int) Eval(look func(*Symbol) int64) int64 {
	if a.x == nil {
		return a.c
	}
	if a.x.kind == kSym {
		return look(a.x.sym)
	}
	v := a.x.args[0].Eval(look)
	for _, b := range a.x.args[1:] {
		w := b.Eval(look)
		switch a.x.kind {
		case kSum:
			v += w
		case kProduct:
			v *= w
		case kFloorDiv:
			v = floorDiv(v, w)
		case kMod:
			v -= w * floorDiv(v, w)
		case kMax:
			v = max(v, w)
		case kMin:
			v = min(v, w)
		}
	}
	return v
}

// Subst replaces the symbols for which f answers true.
func (a Int) Subst(f func(*Symbol) (Int, bool)) Int {
	if a.x == nil {
		return a
	}
	if a.x.kind == kSym {
		if r, ok := f(a.x.sym); ok {
			return r
		}
		return a
	}
	v := a.x.args[0].Subst(f)
	for _, b := range a.x.args[1:] {
		w := b.Subst(f)
		switch a.x.kind {
		case kSum:
			v = Add(v, w)
		case kProduct:
			v = Mul(v, w)
		case kFloorDiv:
			v = FloorDiv(v, w)
		case kMod:
			v = Mod(v, w)
		case kMax:
			v = Max(v, w)
		case kMin:
			v = Min(v, w)
		}
	}
	return v
}

// Hint returns the value of a for the sizes that were seen when its symbols
// were made. It panics with a *DataDependentError when a holds an unbacked
// symbol, whose value no one knows before the program runs.
func (a Int) Hint() int64 {
	return a.Eval(func(s *Symbol) int64 {
		if s.Unbacked && !s.fixed {
			panic(&DataDependentError{Expr: a.String()})
		}
		return s.value
	})
}

// Hints is Hint for a list, as ints.
func Hints(xs []Int) []int {
	out := make([]int, len(xs))
	for i, x := range xs {
		out[i] = int(x.Hint())
	}
	return out
}

// AllConst reports whether no element depends on a symbol.
func AllConst(xs []Int) bool {
	for _, x := range xs {
		if _, ok := x.IsConst(); !ok {
			return false
		}
	}
	return true
}
