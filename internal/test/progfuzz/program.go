package progfuzz

import (
	"fmt"
	"math/rand"
	"strings"
)

// This file is the frame of a program: fixed types and helpers, random
// functions, and a main that calls the compiled one.

// Generate returns the text of a program that goes after Prelude, without
// package clause and imports; the same seed gives the same program.
func Generate(seed int64) string {
	return generate(&generator{r: rand.New(rand.NewSource(seed))})
}

// GenerateTraining is Generate with a parameter that takes part in the
// computation: each call is followed by a backward pass, whose gradient is
// printed.
func GenerateTraining(seed int64) string {
	return generate(&generator{r: rand.New(rand.NewSource(seed)), grad: true})
}

func generate(g *generator) string {
	for i := range 1 + g.r.Intn(3) {
		g.helper(i)
	}
	g.compiledFunc()
	g.main()
	return g.sb.String()
}

// Prelude is what programs use: a type with pointer and value methods, an
// interface, generics, variadics, iterators and globals.
const Prelude = `
type Box struct {
	n    int
	s    float64
	t    *torch.Tensor
	next *Box
	xs   []int
	arr  [3]int
	m    map[string]int
}

type Shape interface {
	Apply(x *torch.Tensor) *torch.Tensor
	Num() int
}

type Lit struct{ k, j int }

type Op func(*torch.Tensor) *torch.Tensor

type Stack[T any] struct{ items []T }

func (s *Stack[T]) Push(v T) { s.items = append(s.items, v) }
func (s *Stack[T]) Len() int { return len(s.items) }

func (b *Box) Apply(x *torch.Tensor) *torch.Tensor { b.n++; return x.Mul(b.n % 3).Add(b.t) }
func (b *Box) Num() int                            { return b.n }
func (b *Box) Bump(k int) int                      { b.n += k; b.arr[1] = b.n; return b.n }
func (b Box) Sum() int                             { b.n += 10; return b.n + b.arr[0] + len(b.xs) }
func (l Lit) Apply(x *torch.Tensor) *torch.Tensor  { return x.Add(l.k - l.j) }
func (l Lit) Num() int                             { return l.k*2 + l.j }
func (o Op) Twice(x *torch.Tensor) *torch.Tensor   { return o(o(x)) }

func pick[T any](xs []T, i int) T {
	if len(xs) == 0 {
		var zero T
		return zero
	}
	return xs[((i%len(xs))+len(xs))%len(xs)]
}

func total(ks ...int) int {
	s := 0
	for _, k := range ks {
		s += k
	}
	return s
}

func count(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func safe(n int, xs []int) (r int) {
	defer func() {
		if e := recover(); e != nil {
			r = -1
			gi += 3
		}
	}()
	return xs[n]
}

func mod(n, k int) int { return ((n % k) + k) % k }

func learn(r *torch.Tensor) {
	gw.SetGrad(nil)
	if r.RequiresGrad() {
		r.Mul(r).Sum().Backward()
		fmt.Println("gradient", gw.Grad())
	}
}

func say(args ...any) { fmt.Println(args...) }

var gi = 1
var gt = torch.Ones(3)
var gs = []int{1, 2, 3}
var gm = map[string]int{"a": 1, "b": 2}
var gw = torch.Full([]int{3}, 0.75, kw.RequiresGrad(true))
var gb = &Box{n: 3, t: torch.Ones(3), xs: []int{4}, m: map[string]int{}}
`

// helper writes function h<i>; it may call the helpers before it.
func (g *generator) helper(i int) {
	g.helpers = i
	g.line("func h%d(x *torch.Tensor, n int, p *Box) (*torch.Tensor, int) {", i)
	s := g.scope()
	s.tensors, s.ints, s.boxes = []string{"x"}, []string{"n", "gi"}, []string{"p", "gb"}
	s.slices, s.maps = []string{"gs", "p.xs"}, []string{"gm"}
	g.block(s, 2+g.r.Intn(3), 1)
	g.line("return %s, %s", g.tensor(s), g.int(s))
	g.line("}")
	g.helpers = i + 1
}

// compiledFunc writes f, the function that main compiles.
func (g *generator) compiledFunc() {
	g.line("func f(x, y *torch.Tensor, n int, flag bool, p, q *Box, xs, ys []int, m map[string]int, v Shape, ip *int) " +
		"(*torch.Tensor, int) {")
	s := g.scope()
	s.tensors, s.ints, s.boxes = []string{"x", "y"}, []string{"n", "*ip", "gi", "p.n"}, []string{"p", "q", "gb"}
	s.slices, s.maps, s.bools = []string{"xs", "ys", "gs"}, []string{"m", "gm"}, []string{"flag"}
	s.shapes = []string{"v"}
	g.block(s, 4+g.r.Intn(7), 0)
	g.line("return %s, %s", g.tensor(s), g.int(s))
	g.line("}")
}

// main calls the compiled function with arguments that change a little.
func (g *generator) main() {
	g.line("func main() {")
	g.line("a, b := torch.Rand(2, 3), torch.Rand(2, 3)")
	g.line("p := &Box{n: 1, s: 0.5, t: torch.Rand(3), xs: []int{1, 2}, m: map[string]int{\"z\": 1}}")
	g.line("q := &Box{n: 2, s: 1.5, t: torch.Rand(3), xs: make([]int, 1, 4), m: map[string]int{}}")
	g.line("p.next = q")
	g.line("xs, m, k := []int{3, 1, 2}, map[string]int{\"a\": 5}, 0")
	g.line("v, ip := Shape(p), &k")
	g.line("_, _, _, _ = v, ip, xs, m")
	g.line(
		"c := %s",
		pickOf(g, "torch.Compile(f)", "torch.Compile(f, kw.Dynamic(true))", "torch.Compile(f)", "torch.Compile(f, kw.Dynamic(false))"),
	)
	g.line("call := func(x, y *torch.Tensor, n int, flag bool, p, q *Box, xs, ys []int, m map[string]int, v Shape, ip *int) {")
	g.line("defer func() { if e := recover(); e != nil { fmt.Println(\"recovered\", e) } }()")
	g.line("r, j := c(x, y, n, flag, p, q, xs, ys, m, v, ip)")
	g.line("fmt.Println(\"result\", r.Detach(), j)")
	if g.grad {
		g.line("learn(r)")
	}
	g.line("}")
	for range 3 + g.r.Intn(4) {
		g.change()
		g.line("call(%s, %s, %d, %v, %s, %s, %s, %s, m, %s, %s)",
			pickOf(g, "a", "a", "b", "torch.Ones(3, 3)", "a.Narrow(0, 0, 1)"), pickOf(g, "b", "b", "a"),
			pickOf(g, 1, 1, 1, 2, 3, 0, -1), g.r.Intn(3) > 0, pickOf(g, "p", "p", "p", "q"), pickOf(g, "q", "q", "p"),
			pickOf(g, "xs", "xs", "xs[1:]", "p.xs"), pickOf(g, "gs", "xs", "xs[:2]", "q.xs"),
			pickOf(g, "v", "v", "Lit{1, 2}", "q"), pickOf(g, "ip", "ip", "&p.n", "&xs[1]", "&gi", "&q.arr[1]"))
		g.line("fmt.Println(p.n, p.s, p.t, p.xs, p.arr, p.m, p.next == q, q.n, q.t, q.xs, q.arr, q.m, xs, m, k, gi, gt, gs, gm, " +
			"gb.n, gb.t, gb.xs, gb.arr, a, b)")
	}
	g.line("}")
}

// change alters something between two calls.
func (g *generator) change() {
	if g.r.Intn(2) == 0 {
		return
	}
	g.line("%s", pickOf(g, "p.n = 7", "q.n++", "gi = 2", "xs = append(xs, 4)", "m[\"b\"] = 2", "delete(m, \"a\")",
		"a.Add_(0.25)", "p.t = torch.Rand(3)", "gb = q", "q.next = p", "gs = gs[1:]", "xs = []int{5}", "v = Lit{2, 1}", "p.xs = nil",
		"gt = gt.Neg()", "p.arr[0] = 5", "k = 9", "a = b", "gb.t = gt", "q.xs = append(q.xs, 8)",
		"gb = &Box{n: 1, t: gt, m: map[string]int{}}"))
}

// generator writes one program.
type generator struct {
	r       *rand.Rand
	sb      strings.Builder
	vars    int
	helpers int // complete ones, which may be called
	grad    bool
}

func (g *generator) line(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	g.sb.WriteString(format + "\n")
}

// fresh returns an unused name of a variable.
func (g *generator) fresh(prefix string) string {
	g.vars++
	return fmt.Sprintf("%s%d", prefix, g.vars)
}

func pickOf[T any](g *generator, xs ...T) T { return xs[g.r.Intn(len(xs))] }

// variables are the names that a statement may use, by type.
type variables struct {
	tensors, ints, bools, boxes, slices, maps, shapes, lists []string
	loops                                                    []string // labels of the loops around
}

func (g *generator) scope() *variables { return &variables{} }

// inner is the scope of a nested block: what it declares stays inside.
func (v *variables) inner() *variables {
	c := *v
	for _, s := range []*[]string{&c.tensors, &c.ints, &c.bools, &c.boxes, &c.slices, &c.maps, &c.shapes, &c.lists, &c.loops} {
		*s = append([]string(nil), *s...)
	}
	return &c
}
