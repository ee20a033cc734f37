package sym

import (
	"math/rand"
	"strconv"
	"strings"
	"testing"
)

func TestCanonicalForms(t *testing.T) {
	e := &Env{}
	a, b := e.NewSymbol("s0", "", 6), e.NewSymbol("s1", "", 5)
	for _, c := range []struct {
		got  Int
		want string
	}{
		{Add(a, Const(1)), "s0 + 1"},
		{Add(Const(1), a), "s0 + 1"},
		{Sub(a, a), "0"},
		{Add(a, a), "2*s0"},
		{Mul(Add(a, Const(1)), b), "s0*s1 + s1"},
		{Sub(Mul(a, b), Mul(b, a)), "0"},
		{FloorDiv(Mul(a, Const(4)), Const(2)), "2*s0"},
		{FloorDiv(Mul(a, b), b), "s0"},
		{FloorDiv(Mul(Mul(Const(4), a), b), Mul(Const(2), b)), "2*s0"},
		{FloorDiv(a, Const(2)), "(s0//2)"},
		{Mod(Mul(a, Const(6)), Const(3)), "0"},
		{Mod(a, Const(4)), "Mod(s0, 4)"},
		{Max(a, a), "s0"},
		{Max(Const(2), Const(7)), "7"},
		{Sub(Const(1), a), "-1*s0 + 1"},
		{FloorDiv(Const(-7), Const(2)), "-4"},
	} {
		if s := c.got.String(); s != c.want {
			t.Errorf("got %s, want %s", s, c.want)
		}
	}
}

// TestRangesSettleExtrema wants no Min or Max where a range tells which side it
// is, and order relations of those that stay to be settled by their form.
func TestRangesSettleExtrema(t *testing.T) {
	e := &Env{}
	a, b := e.NewSymbol("s0", "", 6), e.NewSymbol("s1", "", 5)
	four := Const(4)
	for _, c := range []struct {
		got  Int
		want string
	}{
		{Min(a, Const(1)), "1"},
		{Max(a, Const(2)), "s0"},
		{Max(Const(1), a), "s0"},
		{Min(a, Add(a, b)), "s0"},
		{Max(a, Add(a, b)), "s0 + s1"},
		{Min(a, four), "Min(4, s0)"},
		{Max(four, a), "Max(4, s0)"},
	} {
		if s := c.got.String(); s != c.want {
			t.Errorf("got %s, want %s", s, c.want)
		}
	}
	for _, c := range []struct {
		r            Rel
		value, known bool
	}{
		{Rel{OpLe, Min(a, four), a}, true, true},
		{Rel{OpLe, Min(a, four), four}, true, true},
		{Rel{OpLt, Min(a, four), a}, false, false},
		{Rel{OpLe, a, Min(a, four)}, false, false},
		{Rel{OpLe, a, Max(a, four)}, true, true},
		{Rel{OpLe, Max(a, four), a}, false, false},
		{Rel{OpLe, Max(a, b), Add(a, b)}, true, true},
		{Rel{OpLe, Max(a, b), a}, false, false},
		{Rel{OpLe, a, Min(Add(a, b), Mul(a, Const(2)))}, true, true},
		{Rel{OpLe, a, Min(Add(a, b), b)}, false, false},
	} {
		if v, known := c.r.static(); v != c.value || known != c.known {
			t.Errorf("%s: %v, known %v", c.r, v, known)
		}
	}
}

// TestManyExtrema compares chains of minima with chains of maxima, whose pairs of links
// are more than can be tried.
func TestManyExtrema(t *testing.T) {
	e := &Env{}
	chain := func(pick func(a, b Int) Int, from int) Int {
		x := e.NewSymbol("s"+strconv.Itoa(from), "", 6)
		for i := range 40 {
			x = pick(x, e.NewSymbol("s"+strconv.Itoa(from+1+i), "", 6))
		}
		return x
	}
	low, high := chain(Min, 0), chain(Max, 100)
	if _, known := (Rel{OpLe, low, high}).static(); known {
		t.Error("sizes that have nothing in common are ordered")
	}
	if v, known := (Rel{OpLe, low, Max(high, low)}).static(); !v || !known {
		t.Error("a maximum is not above its own argument")
	}
}

// TestEvalAgreesWithArithmetic builds random expressions and compares their
// value with the same arithmetic on numbers.
func TestEvalAgreesWithArithmetic(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 3000 {
		e := &Env{}
		xs := []Int{e.NewSymbol("s0", "", 7), e.NewSymbol("s1", "", 3), Const(2), Const(-5)}
		vs := []int64{7, 3, 2, -5}
		for range 6 {
			i, j := r.Intn(len(xs)), r.Intn(len(xs))
			var x Int
			var v int64
			switch r.Intn(7) {
			case 6:
				x, v = Min(xs[i], xs[j]), min(vs[i], vs[j])
			case 0:
				x, v = Add(xs[i], xs[j]), vs[i]+vs[j]
			case 1:
				x, v = Sub(xs[i], xs[j]), vs[i]-vs[j]
			case 2:
				x, v = Mul(xs[i], xs[j]), vs[i]*vs[j]
			case 3:
				x, v = Max(xs[i], xs[j]), max(vs[i], vs[j])
			case 4:
				x, v = FloorDiv(xs[i], Const(3)), floorDiv(vs[i], 3)
			default:
				x, v = Mod(xs[i], Const(4)), vs[i]-4*floorDiv(vs[i], 4)
			}
			if v > 1<<40 || v < -1<<40 {
				continue
			}
			xs, vs = append(xs, x), append(vs, v)
			if x.Hint() != v {
				t.Fatalf("%s is %d, want %d", x, x.Hint(), v)
			}
		}
	}
}

func TestDecisionsLeaveGuards(t *testing.T) {
	e := &Env{Site: func() any { return "here" }}
	a, b := e.NewSymbol("s0", "L['x'].size()[0]", 6), e.NewSymbol("s1", "", 5)
	if Eq(a, Const(1)) || Lt(a, Const(2)) || !Ge(a, Const(2)) {
		t.Error("a size of 2 or more is settled by its range")
	}
	if len(e.Guards) != 0 {
		t.Errorf("settled questions left guards: %v", e.Guards)
	}
	if !Lt(b, a) || Eq(a, b) {
		t.Error("wrong answers")
	}
	Lt(b, a)
	var texts []string
	for _, g := range e.Guards {
		texts = append(texts, g.Rel.String())
	}
	if s := strings.Join(texts, "; "); s != "s1 < s0; Ne(s0, s1)" {
		t.Error(s)
	}
	if e.Guards[0].Site != "here" {
		t.Error("a guard does not know its place")
	}
}

func TestSpecialisation(t *testing.T) {
	e := &Env{}
	var told int64
	e.OnSpecialize = func(_ *Symbol, v int64, _ Guard) { told = v }
	a := e.NewSymbol("s0", "", 6)
	twice := Mul(a, Const(2))
	if Force(a) != 6 || told != 6 {
		t.Error("Force does not fix the symbol")
	}
	if v, ok := twice.IsConst(); !ok || v != 12 {
		t.Errorf("an older expression stays symbolic: %s", twice)
	}
}

func TestUnbackedAsksForData(t *testing.T) {
	e := &Env{}
	u := e.NewUnbacked()
	defer func() {
		if _, ok := recover().(*DataDependentError); !ok {
			t.Error("no DataDependentError")
		}
	}()
	Eq(u, Const(3))
}

func TestConstantsDoNotAllocate(t *testing.T) {
	n := testing.AllocsPerRun(100, func() {
		x := Mul(Add(Const(3), Const(4)), Const(5))
		if !Eq(x, Const(35)) {
			t.Fatal("wrong")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestEqualityFixesItsSymbol: a size that the program turns into a number after a sum is as
// fixed as one of which it takes the number itself.
func TestEqualityFixesItsSymbol(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(s, other Int) Int
		fixed bool
	}{
		"itself":          {func(s, _ Int) Int { return s }, true},
		"less one":        {func(s, _ Int) Int { return Sub(s, Const(1)) }, true},
		"twice and more":  {func(s, _ Int) Int { return Add(Mul(s, Const(2)), Const(3)) }, true},
		"from a constant": {func(s, _ Int) Int { return Sub(Const(10), s) }, true},
		"half":            {func(s, _ Int) Int { return FloorDiv(s, Const(2)) }, false},
		"with another":    {func(s, other Int) Int { return Add(s, other) }, false},
	} {
		e := &Env{}
		a, b := e.NewSymbol("s0", "", 6), e.NewSymbol("s1", "", 5)
		s, _ := a.AsSymbol() // while it is one
		Force(c.of(a, b))
		if v, fixed := s.Fixed(); fixed != c.fixed || fixed && v != 6 || len(e.Guards) != 1 {
			t.Errorf("%s: fixed %v to %d, guards %v", name, fixed, v, e.Guards)
		}
	}
}
