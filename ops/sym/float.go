package sym

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file writes numbers with a fraction that come out of data as PyTorch does: sums of
// products, in sympy's order.

// Float is a sum of products.
type Float []floatTerm

// floatTerm is a coefficient and factors in their order, those that there are several of as
// often.
type floatTerm struct {
	k       float64
	factors []string
}

// Atom is what is written as it is.
func Atom(name string) Float { return Float{{1, []string{name}}} }

// ConstFloat is a number.
func ConstFloat(c float64) Float { return Float{{k: c}} }

// IsConst is the value of a sum that is a number.
func (s Float) IsConst() (float64, bool) {
	if len(s) == 1 && len(s[0].factors) == 0 {
		return s[0].k, true
	}
	return 0, len(s) == 0
}

// Plus adds.
func (s Float) Plus(o Float) Float {
	out := slices.Clone(s)
	for _, p := range o {
		i := slices.IndexFunc(out, func(q floatTerm) bool { return slices.Equal(q.factors, p.factors) })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].k += p.k
	}
	out = slices.DeleteFunc(out, func(p floatTerm) bool { return p.k == 0 })
	slices.SortStableFunc(out, func(a, b floatTerm) int { return compareFactors(a.factors, b.factors) })
	return out
}

// compareFactors puts x before y, both before constants, and higher powers of x before lower ones.
func compareFactors(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if c := strings.Compare(a[i], b[i]); c != 0 {
			return c
		}
	}
	return len(b) - len(a)
}

// Minus subtracts.
func (s Float) Minus(o Float) Float { return s.Plus(ConstFloat(-1).Times(o)) }

// Times multiplies: a number goes to all summands, another sum is a factor as it is.
func (s Float) Times(o Float) Float {
	if k, ok := s.IsConst(); ok {
		return o.scaled(k)
	}
	if k, ok := o.IsConst(); ok {
		return s.scaled(k)
	}
	a, b := s.single(), o.single()
	factors := slices.Concat(a.factors, b.factors)
	slices.Sort(factors)
	return Float{{a.k * b.k, factors}}
}

func (s Float) scaled(k float64) Float {
	var out Float
	for _, p := range s {
		out = append(out, floatTerm{p.k * k, p.factors})
	}
	return out.Plus(nil)
}

// single is a sum as one product.
func (s Float) single() floatTerm {
	if len(s) == 1 {
		return s[0]
	}
	return floatTerm{1, []string{"(" + s.String() + ")"}}
}

// FloatQuotient divides.
func FloatQuotient(a, b Float) Float {
	return Atom("FloatTrueDiv(" + a.String() + ", " + b.String() + ")")
}

func (s Float) String() string {
	if len(s) == 0 {
		return "0"
	}
	list := s
	if len(s) == 2 && len(s[1].factors) == 0 && s[1].k > 0 && s[0].k < 0 { // 2.0 - x
		list = Float{s[1], s[0]}
	}
	var b strings.Builder
	for i, p := range list {
		sign := ""
		switch {
		case i > 0 && p.k < 0:
			sign = " - "
		case i > 0:
			sign = " + "
		case p.k < 0:
			sign = "-"
		}
		b.WriteString(sign + floatTerm{math.Abs(p.k), p.factors}.String())
	}
	return b.String()
}

func (p floatTerm) String() string {
	var parts []string
	if p.k != 1 || len(p.factors) == 0 {
		parts = append(parts, decimal(p.k))
	}
	for i := 0; i < len(p.factors); {
		n := 1
		for i+n < len(p.factors) && p.factors[i+n] == p.factors[i] {
			n++
		}
		text := p.factors[i]
		if n > 1 {
			text += "**" + strconv.Itoa(n)
		}
		parts = append(parts, text)
		i += n
	}
	return strings.Join(parts, "*")
}

// decimal is a number as sympy prints it, with a point.
func decimal(f float64) string {
	text := strconv.FormatFloat(f, 'g', 15, 64)
	if !strings.ContainsAny(text, ".eIN") {
		text += ".0"
	}
	return text
}
