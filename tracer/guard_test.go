package tracer

import (
	"fmt"
	"strings"
	"testing"

	"tcdbg/ops/sym"
	"tcdbg/torch/compiler"
	"tcdbg/tracer/guard"
)

// TestGuards changes exactly one source of a program and wants exactly one
// recompile, whose first reason holds the given words; with none the change is
// of something that the graph does not depend on and must be served from the
// cache.
func TestGuards(t *testing.T) {
	for _, c := range guardCases {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, c.program)
			misses := o.recompiles()
			want := 1
			if c.reason == "" {
				want = 0
			}
			if len(misses) != want {
				t.Fatalf("%d recompiles, want %d\n%s\n%+v", len(misses), want, c.program, misses)
			}
			if want == 0 {
				return
			}
			f := misses[0].Failures
			if len(f) == 0 || !strings.Contains(f[0].Message, c.reason) || f[0].Guard.Kind != c.kind {
				t.Errorf("got %+v, want %s %q", f, c.kind, c.reason)
			}
			if len(f) > 0 && f[0].Guard.Pos.Line == 0 && c.kind != "GRAD_MODE" {
				t.Error("the guard does not know the line that asked for it")
			}
		})
	}
}

type guardCase struct{ name, program, kind, reason string }

// call wraps two calls around a change.
func twice(decl, first, change, second string) string {
	return decl + "\nfunc main() {\n\tg := torch.Compile(f)\n\t_ = g\n" + first + "\n" + change + "\n" + second + "\n}\n"
}

const tensorFunc = `func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }`

var guardCases = []guardCase{
	{
		"how memory is shared", `
func f(a, b *torch.Tensor) *torch.Tensor { a.Add_(1); return b.Mul(2) }
func main() {
	g := torch.Compile(f)
	x := torch.Zeros(6)
	fmt.Println(g(x.Narrow(0, 0, 3), x.Narrow(0, 1, 3)))
	fmt.Println(g(x.Narrow(0, 1, 3), x.Narrow(0, 2, 3)))
	fmt.Println(g(x.Narrow(0, 0, 3), x.Narrow(0, 2, 3)))
}`,
		"NO_TENSOR_ALIASING", "L['a'] shares memory with L['b']",
	},
	{
		"whose gradient is replaced", `
func f(a, b, x *torch.Tensor) *torch.Tensor { a.SetGrad(x); return b.Grad().Mul(2) }
func main() {
	g := torch.Compile(f)
	a, b, x := torch.Ones(3), torch.Ones(3), torch.Full([]int{3}, 5.0)
	b.SetGrad(torch.Ones(3))
	fmt.Println(g(a, b, x), g(a, b, x))
	fmt.Println(g(b, b, x))
}`,
		"NO_TENSOR_ALIASING", "tensors whose gradients the function replaces are as distinct as on the first call",
	},
	{
		"whether there is a gradient", twice("func f(x *torch.Tensor) *torch.Tensor { if x.Grad() == nil { return x.Neg() }; return "+
			"x.Grad().Mul(2) }",
			"x := torch.Ones(3); fmt.Println(g(x))", "x.SetGrad(x.Sin())", "fmt.Println(g(x))"),
		"ID_MATCH", "L['x'].grad is nil",
	},
	{
		"size", twice(tensorFunc, `fmt.Println(g(torch.Ones(4, 2)))`, ``, `fmt.Println(g(torch.Ones(5, 2)))`),
		"TENSOR_MATCH", "tensor 'x' size mismatch at index 0. expected 4, actual 5",
	},
	{"same size", twice(tensorFunc, `fmt.Println(g(torch.Ones(4, 2)))`, ``, `fmt.Println(g(torch.Zeros(4, 2)))`), "", ""},
	{
		"rank", twice(tensorFunc, `fmt.Println(g(torch.Ones(4)))`, ``, `fmt.Println(g(torch.Ones(4, 2)))`),
		"TENSOR_MATCH", "rank mismatch. expected 1, actual 2",
	},
	{
		"stride", twice(tensorFunc, `fmt.Println(g(torch.Ones(3, 3)))`, ``, `fmt.Println(g(torch.Ones(3, 3).T()))`),
		"TENSOR_MATCH", "stride mismatch at index 0. expected 3, actual 1",
	},
	{
		"stride where sizes change", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g := torch.Compile(f, kw.Dynamic(true))
	fmt.Println(g(torch.Ones(3, 4)), g(torch.Ones(5, 6)), g(torch.Ones(4, 9).Narrow(1, 2, 4)))
}`,
		"TENSOR_MATCH", "stride mismatch at index 0. expected 4, actual 9",
	},
	{
		"dtype", twice(tensorFunc, `fmt.Println(g(torch.Ones(4)))`, ``, `fmt.Println(g(torch.Ones(4, kw.Dtype(torch.Float64))))`),
		"TENSOR_MATCH", "dtype mismatch. expected Float, actual Double",
	},
	{
		"requires_grad", twice(tensorFunc, `g(torch.Ones(4))`, ``, `g(torch.Ones(4).RequiresGrad_())`),
		"TENSOR_MATCH", "requires_grad mismatch. expected requires_grad=0",
	},
	{
		"a size of 1 where sizes change", `
func f(x *torch.Tensor) *torch.Tensor { return x.Squeeze(0) }
func main() {
	g := torch.Compile(f, kw.Dynamic(true))
	fmt.Println(g(torch.Ones(3, 2)), g(torch.Ones(4, 2)), g(torch.Ones(1, 2)))
}`,
		"SHAPE_ENV", "2 <= L['x'].size()[0]",
	},
	{
		"whether a tensor is a leaf", twice("func f(x *torch.Tensor) *torch.Tensor { if x.IsLeaf() { return x.Sin() }; return x.Cos() }",
			"x := torch.Ones(2).RequiresGrad_(); fmt.Println(g(x).Detach())", "", "fmt.Println(g(x.Mul(1)).Detach())"),
		"EQUALS_MATCH", "L['x'].is_leaf == True",
	},
	{
		"whether what is written is a leaf", twice("func f(x *torch.Tensor) *torch.Tensor { x.Mul_(2); return x.Sin() }",
			"x := torch.Ones(2).RequiresGrad_(); fmt.Println(g(x.Mul(1)).Detach())", "defer func() { fmt.Println(recover()) }()", "g(x)"),
		"EQUALS_MATCH", "L['x'].is_leaf == False",
	},
	{
		"which of two numbers is smaller", twice(`func f(x *torch.Tensor, k, m int) (*torch.Tensor, int) { return x.Mul(2), min(k, m) }`,
			`fmt.Println(g(torch.Ones(1), 2, 5)); fmt.Println(g(torch.Ones(1), 3, 4))`, ``, `fmt.Println(g(torch.Ones(1), 3, 1))`),
		"LAMBDA_GUARD", "L['k'] <= L['m']",
	},
	{
		"which of two numbers is larger", twice(`func f(x *torch.Tensor, k, m int) (*torch.Tensor, int) { return x.Mul(2), max(k, m) }`,
			`fmt.Println(g(torch.Ones(1), 2, 5)); fmt.Println(g(torch.Ones(1), 3, 4))`, ``, `fmt.Println(g(torch.Ones(1), 3, 1))`),
		"LAMBDA_GUARD", "not (L['k'] >= L['m'])",
	},
	{
		"grad mode", twice(tensorFunc, `g(torch.Ones(4))`, ``, `torch.NoGrad(func() { g(torch.Ones(4)) })`),
		"GRAD_MODE", "GLOBAL_STATE changed: grad_mode",
	},
	{
		"int", twice(`func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(k) }`, `fmt.Println(g(torch.Ones(1), 2))`, ``,
			`fmt.Println(g(torch.Ones(1), 3))`),
		"EQUALS_MATCH", "L['k'] == 2",
	},
	{"unused int", twice(`func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(2) }`, `fmt.Println(g(torch.Ones(1), 2))`,
		``, `fmt.Println(g(torch.Ones(1), 3))`), "", ""},
	{"returned int", twice(`func f(x *torch.Tensor, k int) (*torch.Tensor, int) { return x.Mul(2), k * 3 }`,
		`fmt.Println(g(torch.Ones(1), 2))`, ``, `fmt.Println(g(torch.Ones(1), 5))`), "", ""},
	{
		"bool", twice(`func f(x *torch.Tensor, b bool) *torch.Tensor { if b { return x.Sin() }; return x.Cos() }`,
			`fmt.Println(g(torch.Ones(1), true))`, ``, `fmt.Println(g(torch.Ones(1), false))`),
		"TRUE_MATCH", "L['b'] == true",
	},
	{
		"string", twice(`func f(x *torch.Tensor, s string) *torch.Tensor { if s == "a" { return x.Sin() }; return x.Cos() }`,
			`fmt.Println(g(torch.Ones(1), "a"))`, ``, `fmt.Println(g(torch.Ones(1), "b"))`),
		"EQUALS_MATCH", `L['s'] == "a"`,
	},
	{
		"float", twice(`func f(x *torch.Tensor, k float64) *torch.Tensor { return x.Mul(k) }`,
			`fmt.Println(g(torch.Ones(1), 2.5))`, ``, `fmt.Println(g(torch.Ones(1), 3.5))`),
		"EQUALS_MATCH", "L['k'] == 2.5",
	},
	{
		"comparison that changes", twice(`func f(x *torch.Tensor, n int) *torch.Tensor { if n+1 > 10 { return x.Sin() }; return `+
			`x.Cos() }`, `fmt.Println(g(torch.Ones(1), 2))`, ``, `fmt.Println(g(torch.Ones(1), 30))`),
		"LAMBDA_GUARD", "not ((L['n'] + 1) > 10)",
	},
	{"comparison that holds", twice(`func f(x *torch.Tensor, n int) *torch.Tensor { if n+1 > 10 { return x.Sin() }; return x.Cos() `+
		`}`, `fmt.Println(g(torch.Ones(1), 2))`, ``, `fmt.Println(g(torch.Ones(1), 3))`), "", ""},
	{
		"global", twice(`var K = 2; var other = 1
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(K) }`, `fmt.Println(g(torch.Ones(1)))`, `K = 3`, `fmt.Println(g(torch.Ones(1)))`),
		"EQUALS_MATCH", "G['K'] == 2",
	},
	{"another global", twice(`var K = 2; var other = 1
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(K) }`, `fmt.Println(g(torch.Ones(1)))`, `other = 3`,
		`fmt.Println(g(torch.Ones(1)))`), "", ""},
	{
		"list length", twice(`func f(xs []*torch.Tensor) *torch.Tensor { s := xs[0]; for _, x := range xs[1:] { s = s.Add(x) }; return s }`,
			`a := torch.Ones(1); fmt.Println(g([]*torch.Tensor{a, a.Neg()}))`, ``, `fmt.Println(g([]*torch.Tensor{a, a.Neg(), a.Exp()}))`),
		"LENGTH_CHECK", "len(L['xs']) == 2",
	},
	{
		"dynamic type", twice(`type A struct{}; type B struct{}
func (A) K() int { return 1 }
func (B) K() int { return 2 }
func f(x *torch.Tensor, v interface{ K() int }) *torch.Tensor { return x.Mul(v.K()) }`,
			`fmt.Println(g(torch.Ones(1), A{}))`, ``, `fmt.Println(g(torch.Ones(1), B{}))`),
		"TYPE_MATCH", "expected type of 'v' to be main.A, but found main.B",
	},
	{
		"function", twice(`func f(x *torch.Tensor, h func(*torch.Tensor) *torch.Tensor) *torch.Tensor { return h(x) }
func s1(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func s2(x *torch.Tensor) *torch.Tensor { return x.Cos() }`,
			`fmt.Println(g(torch.Ones(1), s1))`, ``, `fmt.Println(g(torch.Ones(1), s2))`),
		"ID_MATCH", "L['h'].__code__",
	},
	{"functions that capture other things", `
func scaled(w *torch.Tensor) func(*torch.Tensor) *torch.Tensor {
	return func(x *torch.Tensor) *torch.Tensor { return x.Mul(w) }
}
func summed(ks []int) func(*torch.Tensor) *torch.Tensor {
	return func(x *torch.Tensor) *torch.Tensor { for _, k := range ks { x = x.Add(k) }; return x }
}
func main() {
	g := torch.Compile(func(x *torch.Tensor, h func(*torch.Tensor) *torch.Tensor) *torch.Tensor { return h(x) })
	fmt.Println(g(torch.Ones(1), scaled(torch.Ones(1))))
	fmt.Println(g(torch.Ones(1), summed([]int{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7})))
	fmt.Println(g(torch.Ones(1), scaled(torch.Full([]int{1}, 3.0))))
}`, "ID_MATCH", "L['h'].__code__"},
	{"captured variable", `
func main() {
	k, other := 2, 1
	g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(k) })
	fmt.Println(g(torch.Ones(1))); k = 3; other++; fmt.Println(g(torch.Ones(1)), other)
}`, "EQUALS_MATCH", "L['k'] == 2"},
	{"module attribute", `
type Net struct{ Scale float64; Note string }
func (n *Net) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(n.Scale) }
func main() {
	n := &Net{2, "a"}
	g := torch.Compile(n.Forward)
	fmt.Println(g(torch.Ones(1))); n.Scale = 4; fmt.Println(g(torch.Ones(1)))
}`, "EQUALS_MATCH", "L['n'].Scale == 2"},
	{"attribute that is not read", `
type Net struct{ Scale float64; Note string }
func (n *Net) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(n.Scale) }
func main() {
	n := &Net{2, "a"}
	g := torch.Compile(n.Forward)
	fmt.Println(g(torch.Ones(1))); n.Note = "b"; fmt.Println(g(torch.Ones(1)))
}`, "", ""},
	{
		"nil", twice(`type P struct{ w *torch.Tensor }
func f(x *torch.Tensor, p *P) *torch.Tensor { if p == nil { return x.Sin() }; return x.Mul(p.w) }`,
			`fmt.Println(g(torch.Ones(1), nil))`, ``, `fmt.Println(g(torch.Ones(1), &P{torch.Ones(1)}))`),
		"ID_MATCH", "L['p'] is nil",
	},
	{
		"map key", twice(`func f(x *torch.Tensor, m map[string]int) *torch.Tensor { if k, ok := m["a"]; ok { return x.Mul(k) }; return x }`,
			`fmt.Println(g(torch.Ones(1), map[string]int{"b": 1}))`, ``, `fmt.Println(g(torch.Ones(1), map[string]int{"a": 1}))`),
		"DICT_CONTAINS", `not ___dict_contains("a", L['m'])`,
	},
	{
		"same tensor twice", twice(`func f(x, y *torch.Tensor) *torch.Tensor { return x.Add(y) }`,
			`a, b := torch.Ones(1), torch.Zeros(1); fmt.Println(g(a, a))`, ``, `fmt.Println(g(a, b))`),
		"OBJECT_ALIASING", "L['y'] is L['x']",
	},
	{
		"pointer into a struct", twice(`type B struct{ n, m int }
func f(x *torch.Tensor, b *B, p *int) *torch.Tensor { b.n = 5; return x.Mul(*p) }`,
			`b, k := &B{1, 5}, 5; fmt.Println(g(torch.Ones(1), b, &k), b.n)`, `b.n = 5`, `fmt.Println(g(torch.Ones(1), b, &b.n), b.n)`),
		"NO_ALIASING", "L['b'] shares no memory with *L['p']",
	},
	{
		"slices of one array", twice(`func f(x *torch.Tensor, a, b []int) *torch.Tensor { a[0] = 5; return x.Mul(b[0]) }`,
			`a, b := []int{1, 2}, []int{5, 2}; fmt.Println(g(torch.Ones(1), a, b), a)`, `a[0] = 5`,
			`fmt.Println(g(torch.Ones(1), a, a), a)`),
		"NO_ALIASING", "L['a'] shares no memory with L['b']",
	},
	{
		"slice in a global", twice(`var gs = []int{1, 2}
func f(x *torch.Tensor, a []int) *torch.Tensor { gs[0] = 5; return x.Mul(a[0]) }`,
			`a := []int{5, 2}; fmt.Println(g(torch.Ones(1), a), a)`, `gs[0] = 5`, `fmt.Println(g(torch.Ones(1), gs), gs)`),
		"NO_ALIASING", "shares no memory with",
	},
	{
		"stores that fell together", twice(`type B struct{ n int }
func f(x *torch.Tensor, b *B, p *int) *torch.Tensor { b.n = 1; *p = 2; return x.Mul(2) }`,
			`b, k := &B{}, 0; fmt.Println(g(torch.Ones(1), b, &b.n), b.n)`, ``, `fmt.Println(g(torch.Ones(1), b, &k), b.n, k)`),
		"OBJECT_ALIASING", "L['b'] shares memory with *L['p']",
	},
	{
		"room for append", twice(`func f(x *torch.Tensor, a []int) (*torch.Tensor, []int) { return x.Mul(2), append(a, 9) }`,
			`a := []int{1, 2, 3}; fmt.Println(g(torch.Ones(1), a[1:]))`, ``, `fmt.Println(g(torch.Ones(1), a[:2])); fmt.Println(a)`),
		"LENGTH_CHECK", "cap(L['a']) < 3",
	},
	{
		"identity inside interfaces", twice(`type B struct{ n int }
func f(x *torch.Tensor, a, b any) *torch.Tensor { if a == b { return x.Sin() }; return x.Cos() }`,
			`p, q := &B{1}, &B{1}; fmt.Println(g(torch.Ones(1), p, p))`, ``, `fmt.Println(g(torch.Ones(1), p, q))`),
		"ID_MATCH", "L['b']",
	},
	{
		"part of a list handed to native code", twice(`func f(x *torch.Tensor, xs []string) *torch.Tensor { return `+
			`x.Mul(len(strings.Join(xs[1:], ","))) }`,
			`fmt.Println(g(torch.Ones(1), []string{"a", "b", "c"}))`, ``, `fmt.Println(g(torch.Ones(1), []string{"a", "b", "cc"}))`),
		"EQUALS_MATCH", `L['xs'][2] == "c"`,
	},
	{
		"offset that is asked for", twice(`func f(x *torch.Tensor) *torch.Tensor { return x.Add(x.StorageOffset()) }`,
			`a := torch.Ones(3); fmt.Println(g(a.Narrow(0, 0, 2)))`, ``, `fmt.Println(g(a.Narrow(0, 1, 2)))`),
		"EQUALS_MATCH", "storage_offset() == 0",
	},
}

// TestEveryFailingGuardIsReported changes two sources at once.
func TestEveryFailingGuardIsReported(t *testing.T) {
	o := both(t, twice(`func f(x *torch.Tensor, b bool, xs []int) *torch.Tensor { if b { x = x.Sin() }; for _, k := range xs { x = `+
		`x.Mul(k) }; return x }`,
		`fmt.Println(g(torch.Ones(1), true, []int{1}))`, ``, `fmt.Println(g(torch.Ones(2), false, []int{1, 2}))`))
	m := o.recompiles()
	if len(m) != 1 {
		t.Fatalf("%d recompiles", len(m))
	}
	var kinds []string
	for _, f := range m[0].Failures {
		kinds = append(kinds, f.Guard.Kind)
	}
	for _, k := range []string{"TENSOR_MATCH", "TRUE_MATCH", "LENGTH_CHECK"} {
		if !strings.Contains(strings.Join(kinds, " "), k) {
			t.Errorf("%s is missing from %v", k, kinds)
		}
	}
}

// TestSettings compiles a function for sizes 3 to 6 under each setting, which
// decides how often.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name, change string
		graphs       int
	}{
		{"default: a constant, then a symbol", "", 2},
		{"limit", "s.RecompileLimit, s.AutomaticDynamicShapes = 2, false", 2},
		{"always constants", "s.AutomaticDynamicShapes = false", 4},
		{"always symbols", "s.AssumeStaticByDefault = false", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	old := compiler.Configure(func(s *compiler.Settings) { `+c.change+` })
	g := torch.Compile(f)
	compiler.Configure(func(s *compiler.Settings) { *s = old })
	for n := range 4 { fmt.Println(g(torch.Ones(3 + n))) }
}`)
			if n := len(o.graphs()); n != c.graphs {
				t.Errorf("%d graphs, want %d", n, c.graphs)
			}
		})
	}
}

// TestRecompileLimit gives twelve constants to one function: eight entries, then
// eager, with right results throughout.
func TestRecompileLimit(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor, k int) *torch.Tensor { return x.Mul(k) }
func main() { g := torch.Compile(f, kw.Dynamic(false)); for k := range 12 { fmt.Println(g(torch.Ones(1), k)) } }`)
	if n := len(o.graphs()); n != compiler.Config().RecompileLimit {
		t.Errorf("%d graphs, want %d", n, compiler.Config().RecompileLimit)
	}
	m := o.recompiles()
	if len(m) == 0 || !m[len(m)-1].Limit {
		t.Error("the limit is not reported")
	}
	places := map[any]int{}
	for _, out := range o.log.out {
		if meta, ok := out.Meta.(map[string]any); ok && out.Kind == "compilation_metrics" {
			places[meta["co_firstlineno"]]++
		}
	}
	if len(places) != 1 || places[nil] != 0 {
		t.Errorf("the frame's lines %v: the metrics of the limit name another than those of compiles", places)
	}
}

// TestDynamicSizes wants the second size to make the dimension symbolic and the
// third to be served by that entry.
func TestDynamicSizes(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor { return x.Reshape(x.Size(0)*x.Size(1)).Mul(2) }
func main() { g := torch.Compile(f); for _, n := range []int{4, 5, 6, 7} { fmt.Println(g(torch.Ones(n, 3))) } }`)
	if len(o.graphs()) != 2 || len(o.recompiles()) != 1 {
		t.Errorf("%d graphs, %d recompiles; want 2 and 1", len(o.graphs()), len(o.recompiles()))
	}
}

// TestConstantSizesAreGuarded makes a dynamic size a constant (it has to equal
// another one) and wants a call with another size to recompile, not to run the
// graph of the first and lose what comes before the error.
func TestConstantSizesAreGuarded(t *testing.T) {
	both(t, `
var calls int
func f(x, y *torch.Tensor, xs []int) *torch.Tensor { calls++; calls += len(xs); return y.Add(x) }
func main() {
	g := torch.Compile(f)
	for i, n := range []int{2, 3, 2, 3} {
		func() {
			defer func() { fmt.Println(recover(), calls) }()
			fmt.Println(g(torch.Ones(n, 3), torch.Ones(2, 3), make([]int, 1+i/2)))
		}()
	}
}`)
}

// TestMarkedSizes wants a marked dimension to be a symbol at once, and one
// marked static to stay a constant.
func TestMarkedSizes(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func main() {
	g, h := torch.Compile(f), torch.Compile(f, kw.Name("h"))
	for n := range 3 {
		x := torch.Ones(n+2)
		compiler.MarkDynamic(x, 0)
		fmt.Println(g(x))
		y := torch.Ones(n+2)
		compiler.MarkStatic(y)
		fmt.Println(h(y))
	}
}`)
	if n := len(o.graphs()); n != 4 {
		t.Errorf("%d graphs, want 1 for the marked size and 3 for the static one", n)
	}
}

// TestRelationText wants relations as Python writes them, and each symbol's own source
// where one name begins another.
func TestRelationText(t *testing.T) {
	env := &sym.Env{}
	var s [12]sym.Int
	for i := range s {
		s[i] = env.NewSymbol(fmt.Sprintf("s%d", i), fmt.Sprintf("L['s%d'].size()[0]", 11-i), int64(i+2))
	}
	for want, r := range map[string]sym.Rel{
		"L['s10'].size()[0] == L['s0'].size()[0]":  {Op: sym.OpEq, A: s[1], B: s[11]},
		"L['s1'].size()[0] != 3":                   {Op: sym.OpNe, A: s[10], B: sym.Const(3)},
		"L['s10'].size()[0] < L['s1'].size()[0]":   {Op: sym.OpLt, A: s[1], B: s[10]},
		"L['s11'].size()[0] <= L['s10'].size()[0]": {Op: sym.OpLe, A: s[0], B: s[1]},
	} {
		if got := guard.RelText(r); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
