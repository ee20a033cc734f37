package remedy

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
)

func measured(breaks, recompiles, graphs, exit int) *Measured {
	failures, eager := 0, 0
	return &Measured{Breaks: &breaks, Recompiles: &recompiles, Graphs: &graphs, Failures: &failures, Eager: &eager, Exit: &exit}
}

func timed(m *Measured, low, median, high float64) *Measured {
	m.LowMS, m.CallMS, m.HighMS, m.Steady = &low, &median, &high, 20
	return m
}

func least(m *Measured, ms float64) *Measured {
	m.LeastMS = &ms
	return m
}

func whole(m *Measured, names ...string) *Measured {
	n := len(names)
	m.Eager, m.Whole = &n, names
	return m
}

// One change that removes two breaks of a line is tried once, for both.
func TestOneChangeOfTwoBreaks(t *testing.T) {
	l := &list{by: map[string]*Remedy{}}
	hunk := []explain.Hunk{{Line: 31, Lines: []string{"-print(x.item())", "+pass"}}}
	other := []explain.Hunk{{Line: 40, Lines: []string{"-print(x.item())", "+pass"}}}
	l.add(Remedy{ID: "patch:GB0124@a.py:31", File: "a.py", Hunks: hunk}, Finding{Key: "item"})
	l.add(Remedy{ID: "patch:GB0059@a.py:31", File: "a.py", Hunks: slices.Clone(hunk)}, Finding{Key: "print"})
	l.add(Remedy{ID: "patch:GB0059@a.py:40", File: "a.py", Hunks: other}, Finding{Key: "print"})
	l.add(Remedy{ID: "patch:GB0059@b.py:31", File: "b.py", Hunks: hunk}, Finding{Key: "print"})
	if len(l.all) != 3 || len(l.all[0].Findings) != 2 {
		t.Errorf("%d remedies, the first for %v", len(l.all), l.all[0].Findings)
	}
}

// A baseline that ran beside other work is as quick as its quickest run.
func TestQuicker(t *testing.T) {
	base := timed(measured(1, 0, 3, 0), 14, 15, 16)
	if got := base.Quicker(timed(measured(1, 0, 3, 0), 4, 5, 6)); *got.CallMS != 5 || *got.LowMS != 4 || *base.CallMS != 15 {
		t.Errorf("of 15 and 5 ms: %v", *got.CallMS)
	}
	if got := base.Quicker(timed(measured(1, 0, 3, 0), 20, 21, 22)); *got.CallMS != 15 {
		t.Errorf("of 15 and 21 ms: %v", *got.CallMS)
	}
	if got := least(base, 9).Quicker(least(timed(measured(1, 0, 3, 0), 20, 21, 22), 3)); *got.CallMS != 15 || *got.LeastMS != 3 {
		t.Errorf("of 15 and 21 ms, at least 3: %v, %v", *got.CallMS, *got.LeastMS)
	}
	if got := base.Quicker(measured(1, 0, 3, 0)); got != base {
		t.Error("a run without times has none")
	}
}

// The rule of what is proven, case by case.
func TestJudge(t *testing.T) {
	same := &Comparison{Equal: true, Calls: 3, Values: 30}
	five := 5
	eager := measured(0, 0, 1, 0)
	eager.Eager = &five
	unknown := measured(0, 0, 1, 0)
	unknown.Breaks = nil
	killed := measured(0, 0, 1, 0)
	killed.Exit = nil
	for _, c := range []struct {
		name    string
		base, m *Measured
		c       *Comparison
		proven  bool
		why     string
	}{
		{"fewer breaks", measured(1, 0, 3, 0), measured(0, 0, 1, 0), same, true, "1 break fewer, 2 graphs fewer; same results"},
		{"fewer graphs", measured(0, 0, 3, 0), measured(0, 0, 2, 0), same, true, "1 graph fewer"},
		{
			"microseconds of a loaded machine", least(timed(measured(1, 0, 3, 0), 0.062, 0.085, 0.115), 0.0251),
			least(timed(measured(1, 0, 3, 0), 0.022, 0.029, 0.036), 0.0197), same, false, "nothing is better",
		},
		{"nothing", measured(1, 1, 3, 0), measured(1, 1, 3, 0), same, false, "nothing is better"},
		{"more recompiles", measured(1, 0, 3, 0), measured(0, 2, 1, 0), same, false, "2 recompiles more"},
		{"exit", measured(1, 0, 3, 0), measured(0, 0, 1, 1), same, false, "ends with 1, and without the remedy with 0"},
		{"mended", measured(1, 0, 3, 1), measured(0, 0, 1, 0), same, false, "so what fails is in what the remedy changes"},
		{"killed", measured(1, 0, 3, 0), killed, same, false, "did not end by itself"},
		{"differs", measured(1, 0, 3, 0), measured(0, 0, 1, 0), &Comparison{First: "x"}, false, "the results differ: x"},
		{
			"prints differ", measured(1, 0, 3, 0), measured(0, 0, 1, 0),
			&Comparison{First: "line 1 of standard output is 2", Grown: true}, false,
			"is 2; what calls compute differs by no more than rounding",
		},
		{"not compared", measured(1, 0, 3, 0), measured(0, 0, 1, 0), nil, false, "could not be compared"},
		{
			"left eager", measured(1, 0, 3, 0), eager, same, false,
			"5 functions more left to eager execution",
		},
		{"compiled at last", eager, measured(0, 0, 1, 0), same, true, "5 functions fewer left to eager execution; same results"},
		{
			"a higher limit", whole(measured(1, 14, 16, 0), "update"), measured(1, 22, 24, 0), same, false,
			"8 recompiles more, though 1 function fewer left to eager execution",
		},
		{
			"more left eager", whole(measured(2, 8, 12, 0), "keep"), whole(measured(0, 7, 8, 0), "forward"), same, false,
			"forward is left to eager execution as a whole",
		},
		{"as much left eager", whole(measured(2, 8, 12, 0), "keep"), whole(measured(0, 7, 8, 0), "keep"), same, true, "2 breaks fewer"},
		{"nothing compiled", measured(1, 0, 3, 0), measured(0, 0, 0, 0), same, false, "nothing is compiled any more"},
		{"not measured", measured(1, 0, 3, 0), unknown, same, false, "breaks were not measured"},
		{"faster", timed(measured(0, 0, 1, 0), 9, 10, 11), timed(measured(0, 0, 1, 0), 4, 5, 6), same, true, "a call takes 50 % less"},
		{
			"very much faster", timed(measured(0, 0, 1, 0), 99, 100, 101), timed(measured(0, 0, 1, 0), 0.1, 0.2, 0.3), same, true,
			"a call takes more than 99 % less",
		},
		{"slower", timed(measured(1, 0, 3, 0), 4, 5, 6), timed(measured(0, 0, 1, 0), 9, 10, 11), same, true, "but a call takes 100 % more"},
		{"noise", timed(measured(0, 0, 1, 0), 4, 10, 11), timed(measured(0, 0, 1, 0), 4, 5, 6), same, false, "nothing is better"},
		{
			"a loaded baseline", least(timed(measured(0, 0, 1, 0), 9, 10, 11), 4), least(timed(measured(0, 0, 1, 0), 4, 5, 6), 3.9),
			same, false, "nothing is better",
		},
		{
			"hardly faster", timed(measured(0, 0, 1, 0), 9.9, 10, 11), timed(measured(0, 0, 1, 0), 9.4, 9.5, 9.6),
			same, false, "nothing is better",
		},
	} {
		v := Judge(c.base, c.m, c.c)
		if v.Proven != c.proven || !strings.Contains(v.Why, c.why) {
			t.Errorf("%s: %+v", c.name, v)
		}
		if c.name == "left eager" && v.Why != c.why { // what runs eagerly breaks nowhere: that is no gain
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// Proven ones are listed first, by gain; what failed comes after them.
func TestRanked(t *testing.T) {
	base := measured(3, 0, 6, 0)
	trial := func(id string, m *Measured) *Trial {
		return &Trial{Remedies: []string{id}, State: Done, Measured: m, Verdict: Judge(base, m, &Comparison{Equal: true, Calls: 1})}
	}
	l := &Ledger{Baseline: &Trial{Measured: base}, Trials: []*Trial{
		trial("worse", measured(4, 0, 6, 0)), trial("one", measured(2, 0, 5, 0)), trial("two", measured(1, 0, 6, 0)),
		trial("one graph", measured(2, 0, 4, 0)),
	}}
	var got []string
	for _, x := range l.Ranked() {
		got = append(got, x.ID())
	}
	if want := []string{"two", "one graph", "one", "worse"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// What an advice says to mark is what is tried.
func TestMarksInAdvice(t *testing.T) {
	got := marksIn("call torch._dynamo.maybe_mark_dynamic(x, 0) and torch._dynamo.maybe_mark_dynamic(batch['ids'], 1) before", "f")
	want := []Switch{{"mark_dynamic", "f:x:0"}, {"mark_dynamic", "f:batch['ids']:1"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := marksIn("call compiler.MarkDynamic(a, 0) and compiler.MarkDynamic(b, 1)", "f"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	if got := marksIn("mark_dynamic(f(x), 0), mark_dynamic(a + b, 0)", "f"); got != nil {
		t.Errorf("an expression that is no input is tried: %v", got)
	}
}

func TestParseSwitch(t *testing.T) {
	for _, row := range switchTable {
		values := row.values
		if values == nil {
			values = map[string][]string{"mark_dynamic": {"f:x['a']:0"}, "recompile_limit": {"9"}}[row.name]
		}
		for _, v := range values {
			s, err := ParseSwitch(row.name + "=" + v)
			if err != nil || s.Text() == "" || s.SetBy(false) == "" || s.ForGo() && s.SetBy(true) == "" {
				t.Errorf("%s=%s: %+v %v", row.name, v, s, err)
			}
		}
	}
	for _, bad := range []string{"dynamic", "dynamic=maybe", "nothing=1", "recompile_limit=0", "mark_dynamic=x", "mark_dynamic=f:x:y"} {
		if _, err := ParseSwitch(bad); err == nil {
			t.Errorf("%s is read", bad)
		}
	}
}

// Patches of the same lines are not applied together, nor one switch with two values.
func TestOverlapsAndContradicts(t *testing.T) {
	at := func(line int) *Remedy {
		return &Remedy{File: "a", Hunks: []explain.Hunk{{Line: line, Lines: []string{"- x", "- y", "+ z"}}}}
	}
	if !Overlaps(at(3), at(4)) || Overlaps(at(3), at(5)) {
		t.Error("overlaps")
	}
	a, b := OfSwitch(Switch{"dynamic", "true"}), OfSwitch(Switch{"dynamic", "false"})
	x, y := OfSwitch(Switch{"mark_dynamic", "f:x:0"}), OfSwitch(Switch{"mark_dynamic", "f:y:0"})
	if !Contradict(&a, &b) || Contradict(&x, &y) {
		t.Error("contradicts")
	}
}

func TestNear(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a, b, scale float64
		dtype       string
		near        bool
	}{
		{1, 1.00005, 0, "float32", true},
		{1, 1.001, 0, "float32", false},
		{1e-9, 2e-9, 1, "float32", true}, // next to nothing beside the rest of the tensor
		{1, 1.00005, 0, "float64", false},
		{1, 1.01, 0, "bfloat16", true},
		{nan, nan, 0, "float32", true},
		{nan, 1, 0, "float32", false},
		{inf, inf, 0, "float32", true},
		{inf, 1e38, 0, "float32", false},
		{1, 2, 0, "int64", false},
	} {
		if Near(c.a, c.b, Tolerance(c.dtype), c.scale) != c.near {
			t.Errorf("%g and %g of %s", c.a, c.b, c.dtype)
		}
	}
}

// What was not measured is said to be so, never 0.
func TestUnmeasured(t *testing.T) {
	var b strings.Builder
	l := &Ledger{Baseline: &Trial{Measured: &Measured{Missing: map[string]string{"call_ms": "no call came after the last compile"}}}}
	if err := l.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "not measured, no call came after the last compile") || strings.Contains(s, " 0 ") {
		t.Error(s)
	}
}

// The time of a call has two digits, and says where it is no more than about that.
func TestCallText(t *testing.T) {
	few := timed(&Measured{}, 5, 5, 5)
	few.Steady = minSteady - 1
	for want, m := range map[string]*Measured{
		"?": {}, "5.1": timed(&Measured{}, 5, 5.12, 5.2), "~5.1": timed(&Measured{}, 4, 5.12, 6), "~5.0": few,
		"0.027": timed(&Measured{}, 0.027, 0.0271, 0.028), "317": timed(&Measured{}, 310, 317.4, 320),
		"28": timed(&Measured{}, 28, 28.4, 29), "9.9": timed(&Measured{}, 9.9, 9.94, 10),
	} {
		if got := m.callText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// What is offered for a Go program, and taken, is what tcdbg's own compiler has.
func TestSwitchesOfGo(t *testing.T) {
	offered := RunWide(true)
	for _, id := range []string{"cudagraphs=false"} {
		if slices.Contains(offered, id) {
			t.Errorf("%s is offered", id)
		}
		if _, err := Asked(nil, id, true); err == nil || !strings.Contains(err.Error(), id+" is a switch of PyTorch") {
			t.Errorf("%s: %v", id, err)
		}
		if _, err := Asked(nil, id, false); err != nil || !slices.Contains(RunWide(false), id) {
			t.Errorf("%s of a Python program: %v", id, err)
		}
	}
	for _, id := range offered {
		if _, err := Asked(nil, id, true); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
