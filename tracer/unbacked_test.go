package tracer

import (
	"slices"
	"strings"
	"testing"
)

// unbackedPrograms have an input of which a size is marked as unbacked, each with the operators
// of its graphs and what the first break says.
var unbackedPrograms = []struct{ name, body, ops, why string }{
	{"one compile for all sizes", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Add(x.Sum()) }`, "mul sum add", ""},
	{"a view, and the size as a number", `
func f(x *torch.Tensor) *torch.Tensor { return x.View(-1).Add(1).Mul(x.Size(0)) }`, "view add mul", ""},
	{"the size is returned", `
func g(x *torch.Tensor) (*torch.Tensor, int) { return x.Sum(kw.Dim(0)), x.Size(0) * 2 }
var fast = torch.Compile(g, kw.Fullgraph(true))
func f(x *torch.Tensor) *torch.Tensor { y, n := fast(x); return y.Mul(n) }`, "sum mul", ""},
	{"a branch", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	if x.Size(0) > 1 { return y.Sin() }
	return y.Cos()
}`, "mul | cos | sin", "Could not guard on data-dependent expression u0 > 1 (unhinted: u0 > 1)"},
	{"a check answers it", `
func f(x *torch.Tensor) *torch.Tensor {
	torch.Check(x.Size(0) < 9)
	if x.Size(0) < 0 || x.Size(0) > 8 { return x }
	return x.Sin()
}`, "sin", ""},
	{"a write in place", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	y.Add_(1)
	return y.Sin()
}`, "mul | sin", "add_ writes a tensor in place beside a size that is marked as unbacked"},
	{"a choice beside it", `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(...*torch.Tensor) *torch.Tensor { return x.Sin() },
		func(...*torch.Tensor) *torch.Tensor { return x.Cos() })
}`, "sum gt | cos | sin", "it comes beside a size that is marked as unbacked"},
}

const unbackedMain = `
func main() {
	g := torch.Compile(f)
	for _, n := range []int{SIZES} {
		x := torch.Arange(n*3).To(torch.Float32).View(n, 3).Detach().RequiresGrad_(true)
		compiler.MarkUnbacked(x, 0)
		y := g(x)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x.Grad())
	}
}`

// TestUnbacked wants one graph for sizes of 0, 1 and more, whichever comes first, and breaks
// where something would be decided by it.
func TestUnbacked(t *testing.T) {
	for _, c := range unbackedPrograms {
		for _, sizes := range []string{"0, 1, 2, 5, 7", "5, 2, 1, 0, 3"} {
			t.Run(c.name, func(t *testing.T) {
				o := both(t, c.body+strings.Replace(unbackedMain, "SIZES", sizes, 1))
				why := ""
				if bs := o.breaks(); len(bs) > 0 {
					why = bs[0].Detail
				}
				if got := sorted(withoutAgain(o.ops())); got != sorted(c.ops) || c.why == "" && why != "" || !strings.Contains(why, c.why) {
					t.Errorf("graphs %q with a break %q, want %q with %q", got, why, c.ops, c.why)
				}
				if c.why == "" && len(o.breaks()) == 0 && strings.Contains(o.ops(), " | ") {
					t.Errorf("more than one graph: %s", o.ops())
				}
			})
		}
	}
}

func sorted(list string) string {
	graphs := strings.Split(list, " | ")
	slices.Sort(graphs)
	return strings.Join(graphs, " | ")
}

// TestUnbackedLayouts wants one graph for whatever is marked, inner sizes and all, of tensors
// that lie as new ones do; and none for a size that has to be a certain one.
func TestUnbackedLayouts(t *testing.T) {
	const main = `
func main() {
	g := torch.Compile(f)
	for _, n := range []int{SIZES} {
		x, y := torch.Arange(n*6).To(torch.Float32).View(2, n, 3), torch.Ones(n, n)
		compiler.MarkUnbacked(x, 1)
		compiler.MarkUnbacked(y, 0, -1)
		fmt.Println(g(x, y))
	}
}`
	const f = `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Sum(kw.Dim(0)).Mul(2).Sum().Add(y.Mul(3).Sum()) }`
	const two = `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Select(2, 0).Add(y.Select(0, 0)).Sum() }`
	for _, sizes := range []string{"0, 1, 2, 5", "5, 1, 0, 3", "1, 3, 0, 2"} {
		o := both(t, f+strings.Replace(main, "SIZES", sizes, 1))
		if got := o.ops(); got != "sum mul sum mul sum add" || len(o.breaks()) > 0 {
			t.Errorf("%s: graphs %s, breaks %v", sizes, got, o.breaks())
		}
	}
	o := both(t, two+strings.Replace(main, "SIZES", "3, 2", 1))
	if bs := o.breaks(); len(bs) == 0 || !strings.Contains(bs[0].Detail, "Could not guard on data-dependent expression Eq(u") {
		t.Errorf("breaks %v", bs)
	}
	o = both(t, `
func f(x, y *torch.Tensor) *torch.Tensor { return x.Add(torch.Ones(2, 3, 3)) }`+strings.Replace(main, "SIZES", "3, 3", 1))
	if bs := o.breaks(); len(bs) == 0 || !strings.Contains(bs[0].Detail, "Could not guard on data-dependent expression Eq(u0, 3)") {
		t.Errorf("breaks %v", bs)
	}
}

// TestUnbackedCheck wants the panic of a check that a size fails, in whichever call.
func TestUnbackedCheck(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	torch.Check(x.Size(0) >= 2)
	return x.Add(1)
}
func try(g func(*torch.Tensor) *torch.Tensor, n int) {
	defer func() { fmt.Println(recover() != nil) }()
	x := torch.Ones(n, 2)
	compiler.MarkUnbacked(x, 0)
	fmt.Println(g(x))
}
func main() {
	g := torch.Compile(f)
	for _, n := range []int{1, 2, 0, 3} {
		try(g, n)
	}
}`)
	if got := o.ops(); got != "add" {
		t.Errorf("graphs %s", got)
	}
}

// TestUnbackedWith: bounds and names of sizes are tested in every call, and a strict size is no constant.
func TestUnbackedWith(t *testing.T) {
	o := runProgram(t, `
func f(x, y *torch.Tensor) *torch.Tensor {
	if x.Size(0) > 8 || x.Size(0) < 2 { return x }
	return x.Add(1).Sum().Add(y.Sum())
}
func both(x, y *torch.Tensor) *torch.Tensor { return x.Add(y) }
func three(x, y *torch.Tensor) *torch.Tensor { return x.Add(torch.Ones(3)) }
func try(g func(x, y *torch.Tensor) *torch.Tensor, n, m int, u compiler.Unbacked) {
	defer func() { if r := recover(); r != nil { fmt.Println("refused", r) } }()
	x, y := torch.Ones(n), torch.Ones(m)
	compiler.MarkUnbackedWith(x, u, 0)
	compiler.MarkUnbackedWith(y, u, -1)
	fmt.Println(g(x, y))
}
func main() {
	g := torch.Compile(f, kw.Fullgraph(true))
	for _, n := range []int{2, 8, 1, 9, 5} { try(g, n, 4, compiler.Unbacked{Min: 2, Max: 8}) }
	h := torch.Compile(both, kw.Fullgraph(true))
	for _, n := range []int{3, 1, 0, 5} { try(h, n, n, compiler.Unbacked{ShapeID: "batch"}) }
	try(h, 4, 2, compiler.Unbacked{ShapeID: "batch"})
	try(torch.Compile(three), 3, 3, compiler.Unbacked{Strict: true})
	try(torch.Compile(three), 3, 3, compiler.Unbacked{})
	try(h, 4, 4, compiler.Unbacked{Min: 3, Max: 2})
}`, true)
	checkLines(t, o, []string{
		"tensor(8.)", "tensor(20.)",
		"RuntimeError: Runtime assertion failed for expression 2 <= u0, where u0 is 1",
		"RuntimeError: Runtime assertion failed for expression u0 <= 8, where u0 is 9", "tensor(14.)",
		"tensor([2., 2., 2.])", "tensor([2.])", "tensor([])", "tensor([2., 2., 2., 2., 2.])",
		"Runtime assertion failed for expression Eq(L['x'].size()[0], L['y'].size()[0]): 4 and 2, which are marked as one size",
		"You marked L['x'].size()[0] as unbacked and strict but your code specialized it to be a constant (3)", "tensor([2., 2., 2.])",
		"compiler.MarkUnbackedWith: no size is at least 3 and at most 2",
	})
	if got := o.ops(); !strings.HasPrefix(got, "add sum sum add | add | ") {
		t.Errorf("graphs %s", got)
	}
}

// TestUnbackedExport: the range of such a size is what is checked of it, 0 and 1 included; a
// check that is no range cannot be part of a program.
func TestUnbackedExport(t *testing.T) {
	got := runProgram(t, `
func within(x *torch.Tensor) *torch.Tensor { torch.Check(x.Size(0) < 9); return x.Mul(2) }
func beside(x *torch.Tensor) *torch.Tensor { torch.Check(x.Size(0) < 2*x.Size(1)); return x.Mul(2) }

func main() {
	x := torch.Ones(5, 3)
	compiler.MarkUnbacked(x, 0, 1)
	for _, f := range []func(*torch.Tensor) *torch.Tensor{within, beside} {
		p, err := torch.Export(f, []any{x})
		fmt.Println(err)
		if err == nil {
			fmt.Println(p)
			fmt.Println(p.Call(torch.Ones(0, 1)), p.Call(torch.Ones(2, 4)))
		}
	}
}`, true)
	checkLines(t, got, []string{
		"<nil>",
		"Range constraints: {u0: VR[0, 8], u1: VR[0, int_oo]}",
		"[tensor([], size=(0, 1))] [tensor([[2., 2., 2., 2.],",
		"torch.Export: torch.Check asks for u0 < 2*u1, which is no range of one size: an exported program cannot test it",
	})
}
