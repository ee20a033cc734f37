package eval

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file writes numbers that come out of data as PyTorch does: sums of products, in
// sympy's order.

// sum is a sum of products.
type sum []product

// product is a coefficient and factors in their order, those that there are several of as
// often.
type product struct {
	k       float64
	factors []string
}

func atom(name string) sum { return sum{{1, []string{name}}} }

func constantSum(c float64) sum { return sum{{k: c}} }

// constant is the value of a sum that is a number.
func (s sum) constant() (float64, bool) {
	if len(s) == 1 && len(s[0].factors) == 0 {
		return s[0].k, true
	}
	return 0, len(s) == 0
}

func (s sum) plus(o sum) sum {
	out := slices.Clone(s)
	for _, p := range o {
		i := slices.IndexFunc(out, func(q product) bool { return slices.Equal(q.factors, p.factors) })
		if i < 0 {
			out = append(out, p)
			continue
		}
		out[i].k += p.k
	}
	out = slices.DeleteFunc(out, func(p product) bool { return p.k == 0 })
	slices.SortStableFunc(out, func(a, b product) int { return compareFactors(a.factors, b.factors) })
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

func (s sum) minus(o sum) sum { return s.plus(constantSum(-1).times(o)) }

// times multiplies: a number goes to all summands, another sum is a factor as it is.
func (s sum) times(o sum) sum {
	if k, ok := s.constant(); ok {
		return o.scaled(k)
	}
	if k, ok := o.constant(); ok {
		return s.scaled(k)
	}
	a, b := s.single(), o.single()
	factors := slices.Concat(a.factors, b.factors)
	slices.Sort(factors)
	return sum{{a.k * b.k, factors}}
}

func (s sum) scaled(k float64) sum {
	var out sum
	for _, p := range s {
		out = append(out, product{p.k * k, p.factors})
	}
	return out.plus(nil)
}

// single is a sum as one product.
func (s sum) single() product {
	if len(s) == 1 {
		return s[0]
	}
	return product{1, []string{"(" + s.String() + ")"}}
}

func quotient(a, b sum) sum { return atom("FloatTrueDiv(" + a.String() + ", " + b.String() + ")") }

func (s sum) String() string {
	if len(s) == 0 {
		return "0"
	}
	list := s
	if len(s) == 2 && len(s[1].factors) == 0 && s[1].k > 0 && s[0].k < 0 { // 2.0 - x
		list = sum{s[1], s[0]}
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
		b.WriteString(sign + product{math.Abs(p.k), p.factors}.String())
	}
	return b.String()
}

func (p product) String() string {
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
