package graph

import (
	"strings"
	"testing"

	"tcdbg/ops"
	"tcdbg/ops/sym"
)

func f32(shape ...int) *ops.TensorMeta {
	m := &ops.TensorMeta{DType: ops.Float32, Device: ops.CPU, Shape: sym.Consts(shape)}
	m.Stride = make([]sym.Int, len(shape))
	acc := 1
	for i := len(shape) - 1; i >= 0; i-- {
		m.Stride[i] = sym.C(acc)
		acc *= shape[i]
	}
	return m
}

// bar is the first graph of x := a / (|a| + 1); b.sum() < 0.
func bar(t *testing.T) *Graph {
	t.Helper()
	g := New("__compiled_fn_1", nil)
	a := g.Input("l_a_", "L_a_", "L['a']", f32(10))
	b := g.Input("l_b_", "L_b_", "L['b']", f32(10))
	call := func(id ops.ID, kind Kind, args ...ops.Arg) *Node {
		row := ops.Get(id)
		bound, err := ops.Bind(row, args, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := (&Builder{G: g, Stack: []Frame{{File: "model.go", Line: 5, Func: "bar", Code: "x := ..."}}}).Call(row, bound, kind)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	abs := call(ops.Abs, CallMethod, a)
	add := call(ops.Add, CallFunction, abs, sym.C(1))
	x := call(ops.Div, CallFunction, a, add)
	g.Rename(x, "x")
	sum := call(ops.Sum, CallMethod, b)
	lt := call(ops.Lt, CallFunction, sum, sym.C(0))
	g.SetOutput([]ops.Arg{x, lt})
	return g
}

func TestTableOfBar(t *testing.T) {
	const want = `opcode         name    target                       args         kwargs
-------------  ------  ---------------------------  -----------  ------
placeholder    l_a_    L_a_                         ()           {}
placeholder    l_b_    L_b_                         ()           {}
call_method    abs_1   abs                          (l_a_,)      {}
call_function  add     <built-in function add>      (abs_1, 1)   {}
call_function  x       <built-in function truediv>  (l_a_, add)  {}
call_method    sum_1   sum                          (l_b_,)      {}
call_function  lt      <built-in function lt>       (sum_1, 0)   {}
output         output  output                       ((x, lt),)   {}
`
	if got := bar(t).Table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestParseReadsWhatCodePrints(t *testing.T) {
	g := bar(t)
	text := g.Code()
	h, err := Parse(g.Name, text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if again := h.Code(); again != text {
		t.Errorf("printed\n%s\nread back and printed\n%s", text, again)
	}
}

// Expressions of sizes are read back, with the hints that are given.
func TestParseReadsSizes(t *testing.T) {
	const text = `class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s0, 4][4, 1]cpu", L_n_: "Sym(s0)"):
        l_x_ = L_x_
        l_n_ = L_n_

        slice_1: "f32[s0 - 1, 4][4, 1]cpu" = torch.ops.aten.slice.Tensor(l_x_, 0, 1, s0)
        view: "f32[4*s0 - 4][1]cpu" = torch.ops.aten.view.default(slice_1, [4*s0 - 4]);  slice_1 = None
        return (view,)
`
	g, err := ParseSized("f", text, map[string]int64{"s0": 9})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(g.Env.Symbols); n != 1 || hint(g.Env.Symbols[0]) != 9 {
		t.Errorf("%d symbols, the first %+v", n, g.Env.Symbols[0])
	}
	nested := strings.Replace(text, "0, 1, s0)", "0, 1, Max(2, (s0//1)))", 1)
	nested = strings.Replace(nested, `slice_1: "f32[s0 - 1, 4][4, 1]cpu"`, "slice_1", 1)
	nested = nested[:strings.Index(nested, "        view")] + "        return (slice_1,)\n"
	if _, err := ParseSized("f", nested, nil); err != nil {
		t.Errorf("nested brackets: %v", err)
	}
	view := g.OutputNode().Prev()
	if s := view.TensorMeta().Shape[0].String(); s != "4*s0 - 4" {
		t.Errorf("the view has %s elements", s)
	}
	if _, err := Parse("f", strings.Replace(text, "[4*s0 - 4])", "[4*s7])", 1)); err == nil {
		t.Error("a symbol that no shape brings in was read")
	}
}

// Arguments of every kind are read back as they are printed.
func TestParseReadsArguments(t *testing.T) {
	const head = "class GraphModule(torch.nn.Module):\n    def forward(self, L_x_: \"f32[4, 6][6, 1]cpu\"):\n        l_x_ = L_x_\n\n"
	text := func(call string) string { return head + "        " + call + "\n        return (y,)\n" }
	for _, call := range []string{
		`y: "f64[4, 6][6, 1]cpu" = l_x_.to(torch.float64)`,
		`y: "f32[4][1]cpu" = torch.ops.aten.sum.dim_IntList(l_x_, [1], False, None)`,
		`y: "f32[4, 6][6, 1]cpu" = torch.ops.aten.mul.Scalar(l_x_, 0.5)`,
		`y: "f32[4, 6][6, 1]cpu" = torch.ops.aten.gelu.default(l_x_, 'tanh')`,
	} {
		g, err := Parse("f", text(call))
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		h, err := Parse("f", g.Code())
		if err != nil {
			t.Errorf("%v\n%s", err, g.Code())
			continue
		}
		a, b := g.Last().Prev(), h.Last().Prev()
		if got, want := argsText(b.Args, nil), argsText(a.Args, nil); got != want || typeText(a.Meta) != typeText(b.Meta) {
			t.Errorf("%s is read back with (%s)", g.Code(), got)
		}
	}
	if _, err := Parse("f", text("y = l_x_.to(torch.float65)")); err == nil {
		t.Error("a dtype that does not exist was read")
	}
}

func hint(s *sym.Symbol) int64 {
	v, _ := s.Fixed()
	return v
}

func TestCheckFindsBrokenGraphs(t *testing.T) {
	if err := bar(t).Check(); err != nil {
		t.Fatal(err)
	}
	for name, breakIt := range map[string]func(g *Graph){
		"taken twice":   func(g *Graph) { g.Last().Prev().Name = "x" },
		"before it is":  func(g *Graph) { n := g.Placeholders()[1].Next(); n.Args[0] = g.Last().Prev() },
		"no output":     func(g *Graph) { g.Erase(g.OutputNode()) },
		"operator give": func(g *Graph) { g.Last().Prev().Meta = f32(3) },
		"arguments":     func(g *Graph) { n := g.Last().Prev(); n.Args = n.Args[:1] },
	} {
		g := bar(t)
		breakIt(g)
		if err := g.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDeadCode(t *testing.T) {
	g := bar(t)
	if n := g.NumOps(); n != 5 {
		t.Errorf("%d operators, want 5", n)
	}
	g.OutputNode().SetArgs([]ops.Arg{g.Placeholders()[1]})
	if n := g.EliminateDead(); n != 5 {
		t.Errorf("removed %d nodes, want 5", n)
	}
	if n := g.NumOps(); n != 0 {
		t.Errorf("%d operators are left", n)
	}
	if err := g.Check(); err != nil {
		t.Error(err)
	}
}

func TestNamesFollowFX(t *testing.T) {
	g := New("g", nil)
	var got []string
	for _, base := range []string{"abs", "abs", "add", "add", "add_1", "x.y", "3d"} {
		got = append(got, g.uniqueName(base))
	}
	if s := strings.Join(got, " "); s != "abs_1 abs_2 add add_1 add_2 x_y _3d" {
		t.Error(s)
	}
}

func TestSymbolsMustBeBound(t *testing.T) {
	env := &sym.Env{}
	s := env.NewSymbol("s0", "L['x'].size()[0]", 4)
	g := New("g", env)
	m := f32(4)
	m.Shape = []sym.Int{s}
	x := g.Input("x", "x", "", m)
	b := &Builder{G: g}
	y := b.Emit(ops.Abs, x).(*Node)
	g.SetOutput([]ops.Arg{y})
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	x.Meta = f32(4)
	if err := g.Check(); err == nil {
		t.Error("a graph whose symbol no input carries passes the check")
	}
}

// A value is set to None where it is used for the last time, one that nobody
// uses where it is made; what the graph returns stays.
func TestCodeDropsValues(t *testing.T) {
	const want = `class GraphModule(torch.nn.Module):
    def forward(self, L_a_: "f32[10][1]cpu", L_b_: "f32[10][1]cpu"):
        l_a_ = L_a_
        l_b_ = L_b_

         # File: model.go:5 in bar, code: x := ...
        abs_1: "f32[10][1]cpu" = l_a_.abs()
        add: "f32[10][1]cpu" = abs_1 + 1;  abs_1 = None
        x: "f32[10][1]cpu" = l_a_ / add;  l_a_ = add = None
        sum_1: "f32[][]cpu" = l_b_.sum();  l_b_ = None
        lt: "b8[][]cpu" = sum_1 < 0;  sum_1 = lt = None
        return (x,)
`
	g := bar(t)
	g.OutputNode().SetArgs(g.OutputNode().Args[:1])
	if got := g.Code(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestWord: names that go into code and into folders are ASCII letters, digits and
// underscores, one for each rune that is none of them.
func TestWord(t *testing.T) {
	for s, want := range map[string]string{
		"__compiled_fn_0": "__compiled_fn_0",
		"Net9.forward":    "Net9_forward",
		"../[a b]\n":      "____a_b__",
		"größe":           "gr__e",
		"":                "",
	} {
		if got := Word(s); got != want {
			t.Errorf("Word(%q) is %q, want %q", s, got, want)
		}
	}
}

// TestParseReadsSizesBesideSigns: a size that is computed, or a negative number, reads
// as the operand of a sign that it is.
func TestParseReadsSizesBesideSigns(t *testing.T) {
	env := &sym.Env{}
	s := env.NewSymbol("s0", "", 9)
	g := New("f", env)
	x := g.Input("l_x_", "L_x_", "L['x']", &ops.TensorMeta{
		DType: ops.Float32, Device: ops.CPU, Shape: []sym.Int{s},
		Stride: []sym.Int{sym.C(1)},
	})
	var outs []ops.Arg
	call := func(id ops.ID, args ...ops.Arg) {
		bound, err := ops.Bind(ops.Get(id), args, nil)
		if err != nil {
			t.Fatal(err)
		}
		n, err := (&Builder{G: g}).Call(ops.Get(id), bound, CallFunction)
		if err != nil {
			t.Fatal(err)
		}
		outs = append(outs, n)
	}
	for _, size := range []sym.Int{
		s, sym.C(-2), sym.Add(s, sym.C(1)), sym.Mul(s, sym.C(2)), sym.FloorDiv(s, sym.Mul(s, sym.C(2))),
		sym.Neg(s),
	} {
		for _, id := range []ops.ID{ops.Add, ops.Sub, ops.Mul, ops.Div, ops.Lt} {
			call(id, x, size)
		}
	}
	for _, left := range []ops.Arg{-1.5, sym.C(-2), 2.0} {
		call(ops.Pow, left, x)
	}
	g.SetOutput(outs)
	text := g.Code()
	for _, want := range []string{
		" / (2*s0);", " - (s0 + 1);", " * (-1*s0);", " / (s0//(2*s0));", "= (-1.5) ** l_x_;",
		"= (-2) ** l_x_;", "= 2.0 ** l_x_;", " + -2;",
	} {
		if !strings.Contains(text, strings.TrimSuffix(want, ";")) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	back, err := ParseSized("f", text, map[string]int64{"s0": 9})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got := back.Code(); got != text {
		t.Errorf("read back it prints\n%s\nwas\n%s", got, text)
	}
}
