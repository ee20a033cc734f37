package fold

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/logs"
	"tcdbg/tracer/breaks"
)

// A guard of the new entry may exclude the size of the failed one: marking leaves two entries.
func TestGuardsThatExcludeASize(t *testing.T) {
	for guard, want := range map[string]bool{
		"s77 < 16":                   false,
		"s77 <= 16":                  true,
		"s77 >= 17":                  false,
		"s77 > 2":                    true,
		"s27 < 16":                   true, // another size
		"112*s77 + 4*s83 <= 3248":    true, // not read
		"Ne(s77, 16)":                true,
		"s77 < s83":                  true,
		"s77 <= 9223372036854775807": true,
	} {
		if got := diagnose.Admits(guard, "s77", 16); got != want {
			t.Errorf("%s admits 16: %v, want %v", guard, got, want)
		}
	}
}

// The length of a dict is read of both forms of its guard.
func TestLengthsOfDicts(t *testing.T) {
	for guard, want := range map[string]int{"not L['self'].cache": 0, "len(L['self'].cache) == 3": 3, "len(L['x']) > 1": -1, "": -1} {
		n, ok := diagnose.DictLength(guard)
		if !ok {
			n = -1
		}
		if n != want {
			t.Errorf("%q: %d, want %d", guard, n, want)
		}
	}
}

// A condition is a number of NumPy's where nothing on its way could make one of many.
func TestConditionsOfNumPyNumbers(t *testing.T) {
	for _, c := range []struct {
		steps []string
		want  string
	}{
		{[]string{"l_t_: graph input (L_t_)", "prev_t = wrapped_sub(l_t_, 12)", "wrapped_ge = wrapped_ge(prev_t, 0)"}, "t"},
		{[]string{"l_t_: graph input (L_t_)", "top = wrapped_max(l_t_)", "wrapped_ge = wrapped_ge(top, 0)"}, ""},
		{[]string{"l_x_: graph input (L_x_)", "gt = gt(l_x_, 0)"}, ""},
		{[]string{"l_self_t: graph input (L_self_t)", "wrapped_ge = wrapped_ge(l_self_t, 0)"}, ""},
		{[]string{"random_value_0: graph input (random_value_0)", "gt = gt(random_value_0, 0.9)"}, ""},
		{nil, ""},
	} {
		var value []logs.Pos
		for _, s := range c.steps {
			value = append(value, logs.Pos{Func: s})
		}
		if got := diagnose.NumPyNumber(value); got != c.want {
			t.Errorf("%v: %q, want %q", c.steps, got, c.want)
		}
	}
}

// An argument of which a function asks after a break alone is its own affair: the whole function
// is compiled again for it when the break is gone. What the whole asks for, or what it sets
// itself, is not.
func TestAnArgumentAskedForAfterTheBreak(t *testing.T) {
	file := "/m/gnn.py"
	lines := []string{
		"def forward(self, x, edges):", "    y = edges * 2", "    keep = y[y > 1]", "    return x * keep.sum()",
		"def forward(self, model):", "    return model(1)",
	}
	at := logs.Pos{File: file, Line: 3, Func: "forward", Code: "keep = y[y > 1]"}
	outer := logs.Pos{File: file, Line: 6, Func: "forward", Code: "return model(1)"} // the caller, of another class
	source := func(lines []string) *explain.Source {
		return explain.NewSource(func(string) ([]string, error) { return lines, nil })
	}
	whole := &explain.Frame{Name: "forward", Pos: logs.Pos{File: file, Line: 1}, Compiles: []*explain.Compile{
		{Sources: []string{"L['edges']"}, Breaks: []*explain.Break{{Pos: at, Stack: []logs.Pos{outer, at}}}},
	}}
	rest := &explain.Frame{Name: "torch_dynamo_resume_in_forward_at_3", Pos: logs.Pos{File: file, Line: 3}, Parent: whole}
	rc := &explain.Recompile{Compile: &explain.Compile{Frame: rest}}
	g := &explain.GuardFailure{Kind: breaks.SizeChanged, Source: "L['x']"}
	if got := diagnose.OwnArgument(rc, g, source(lines)); got != "x" {
		t.Errorf("%q, want x", got)
	}
	set := append([]string{}, lines...)
	if set[1] = "    x = edges * 2"; diagnose.OwnArgument(rc, g, source(set)) != "" {
		t.Error("what the function sets before the break is taken for what came in")
	}
	whole.Compiles[0].Sources = append(whole.Compiles[0].Sources, "L['x']")
	if got := diagnose.OwnArgument(rc, g, source(lines)); got != "" {
		t.Errorf("%q, for which the whole function recompiles itself", got)
	}
	if g.Source = "L['y']"; diagnose.OwnArgument(rc, g, source(lines)) != "" {
		t.Error("a local is taken for an argument")
	}
}

// What an argument holds is as the argument itself, until a line gives it another value.
func TestWhatAnArgumentHoldsIsAskedForAfterTheBreak(t *testing.T) {
	const file = "/m/serve.py"
	at := logs.Pos{File: file, Line: 2, Func: "step", Code: "token = sample(logits).item()"}
	for _, c := range []struct{ before, source, asked, want string }{
		{"", "L['kv'][0]", "L['logits']", "kv[0]"},
		{"", "L['batch']['x']", "L['batch']['x_mask']", "batch['x']"},
		{"", "L['kv'][0]", "L['kv'][0]", ""}, // the whole function recompiles for it itself
		{"", "L['kv'][0][1]", "L['logits']", ""},
		{"    kv = grow(kv)", "L['kv'][0]", "L['logits']", ""},
		{"    kv[0] = logits", "L['kv'][0]", "L['logits']", ""},
		{"", "L['state'][0]", "L['logits']", ""},
	} {
		lines := []string{"def step(logits, kv, batch):", "    " + at.Code, "    return model(token, kv)"}
		if at.Line = 2; c.before != "" {
			lines, at.Line = slices.Insert(lines, 1, c.before), 3
		}
		whole := &explain.Frame{Name: "step", Pos: logs.Pos{File: file, Line: 1}, Compiles: []*explain.Compile{
			{Sources: []string{c.asked}, Breaks: []*explain.Break{{Pos: at, Stack: []logs.Pos{at}}}},
		}}
		rest := &explain.Frame{Name: "torch_dynamo_resume_in_step_at_2", Pos: logs.Pos{File: file, Line: 2}, Parent: whole}
		rc := &explain.Recompile{Compile: &explain.Compile{Frame: rest}}
		g := &explain.GuardFailure{Kind: breaks.SizeChanged, Source: c.source}
		src := explain.NewSource(func(string) ([]string, error) { return lines, nil })
		if got := diagnose.OwnArgument(rc, g, src); got != c.want {
			t.Errorf("%s after %q, asked for %s: %q, want %q", c.source, c.before, c.asked, got, c.want)
		}
	}
}

// A function that another one calls, which is compiled and left to eager execution there, has no
// arguments that could be marked: it is a part of that one's graph once nothing breaks, and a call
// of maybe_mark_dynamic within what is compiled ends the program.
func TestArgumentsOfAFunctionThatACompiledOneCalls(t *testing.T) {
	const file = "/m/vit.py"
	lines := []string{
		"def prune(x, att):", "    keep = int(att.sum())", "    return x[:, :keep]",
		"def forward(x):", "    return prune(x, att(x))", "forward(x)",
	}
	at := logs.Pos{File: file, Line: 2, Func: "prune", Code: lines[1]}
	call, top := logs.Pos{File: file, Line: 5, Func: "forward"}, logs.Pos{File: file, Line: 6, Func: "<module>"}
	for _, calls := range []bool{false, true} {
		whole := &explain.Frame{Name: "prune", Pos: logs.Pos{File: file, Line: 1}, Compiles: []*explain.Compile{
			{Breaks: []*explain.Break{{Pos: at, Stack: []logs.Pos{at}}}},
		}}
		rest := &explain.Frame{Name: "torch_dynamo_resume_in_prune_at_2", Pos: logs.Pos{File: file, Line: 2}, Parent: whole}
		rest.ID.Frame = 5
		rc := &explain.Recompile{
			Compile:  &explain.Compile{Frame: rest, Stack: []logs.Pos{top, call}},
			Failures: []explain.GuardFailure{{Kind: breaks.SizeChanged, Source: "L['x']", Dim: 1, Expected: "17", Actual: "37"}},
		}
		x := &explain.TraceFacts{
			Source: explain.NewSource(func(string) ([]string, error) { return lines, nil }),
			Sites:  map[explain.CallSite][]logs.Pos{},
		}
		if calls {
			x.Sites[explain.CallSite{File: file, Line: 6}] = []logs.Pos{{File: file, Line: 4}} // forward, which breaks
		}
		f := diagnose.RecompileFinding(rc, x)
		if marked := f.OfArgument != ""; marked == calls || f.OwnArgument != "x" {
			t.Errorf("called within a compiled function %v: to mark %q, argument %q", calls, f.OfArgument, f.OwnArgument)
		}
	}
}

// Of what a graph break hands on from the stack, the last is what the call at the break gives; what
// is below it was looked up before that call.
func TestWhatTheStackHandsOn(t *testing.T) {
	for _, c := range []struct {
		source         string
		given, operand bool
	}{
		{"L['___stack3']", true, false}, {"L['___stack0']", false, true}, {"L['___stack0'].stats", false, true}, {"L['x']", false, false},
	} {
		root := &explain.GuardNode{}
		for _, s := range []string{"L['___stack0']", "L['___stack2']", "L['___stack3']", "L['x']"} {
			root.Children = append(root.Children, &explain.GuardNode{Kind: "TYPE_MATCH", Source: s})
		}
		rc := &explain.Recompile{
			Compile: &explain.Compile{
				Frame: &explain.Frame{Name: "f"}, Guards: &explain.GuardTree{Load: func() *explain.GuardNode { return root }},
			},
			Failures: []explain.GuardFailure{{Kind: breaks.LengthChanged, Source: c.source, Expected: "2"}},
		}
		if f := diagnose.RecompileFinding(rc, &explain.TraceFacts{}); f.Given != c.given || f.Operand != c.operand {
			t.Errorf("%s: given %v, operand %v", c.source, f.Given, f.Operand)
		}
	}
}

// A size that equals the length of a list which a break hands on is a constant for as long as the
// break is there: no line needs it as a number. Of a list that is an argument it stays one.
func TestASizeThatAListAcrossTheBreakFixes(t *testing.T) {
	const file = "/m/kge.py"
	lines := []string{"def step(pos, neg):", "    w = torch.tensor(pos.tolist())", "    return (w * neg).sum()"}
	at := logs.Pos{File: file, Line: 2, Func: "step", Code: "w = torch.tensor(pos.tolist())"}
	for length, needed := range map[string]string{
		"len(L['___stack0']) == 12": "", "len(L['___stack0']) == 16": "kge.py:3", "len(L['names']) == 12": "kge.py:3",
	} {
		source, _, _ := strings.Cut(strings.TrimPrefix(length, "len("), ")")
		root := &explain.GuardNode{Children: []*explain.GuardNode{{Kind: "LENGTH_CHECK", Source: source, Text: length}}}
		whole := &explain.Frame{Name: "step", Pos: logs.Pos{File: file, Line: 1}, Compiles: []*explain.Compile{
			{Breaks: []*explain.Break{{Pos: at, Stack: []logs.Pos{at}}}},
		}}
		rest := &explain.Frame{Name: "torch_dynamo_resume_in_step_at_2", Pos: logs.Pos{File: file, Line: 2}, Parent: whole}
		rc := &explain.Recompile{
			Compile: &explain.Compile{
				Frame: rest, Status: explain.Compiled,
				Guards: &explain.GuardTree{Load: func() *explain.GuardNode { return root }},
			},
			Failures: []explain.GuardFailure{{Kind: breaks.SizeChanged, Source: "L['neg']", Expected: "16", Actual: "12"}},
		}
		x := &explain.TraceFacts{
			Any: true, Symbols: map[explain.ID][]*explain.Symbol{rc.Compile.ID: {{
				Name: "s1", Source: "L['neg'].size()[0]", Hint: "12", Specialized: "12", Pos: logs.Pos{File: file, Line: 3, Func: "step"},
			}}},
			Source: explain.NewSource(func(string) ([]string, error) { return lines, nil }),
		}
		f := diagnose.RecompileFinding(rc, x)
		if f.NeededAt != needed || needed == "" && (f.OwnArgument != "neg" || f.OfArgument != "") {
			t.Errorf("%s: needed at %q, argument %q %q", length, f.NeededAt, f.OwnArgument, f.OfArgument)
		}
	}
}
