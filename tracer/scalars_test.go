package tracer

import (
	"strings"
	"testing"
)

// scalarPrograms read numbers out of tensors, and tensors of sizes that data decides, each with the
// operators of its graphs and what the first break says.
var scalarPrograms = []struct{ name, body, ops, why string }{
	{"a number as a size and in arithmetic", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	return torch.Ones(2*n+1, 3).Mul(n-1).Sum().Add(x)
}`, "gt sum item ones mul sum add", ""},
	{"a check decides a branch", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	torch.Check(n >= 0)
	torch.Check(n <= 4, "too many")
	if n < 0 || n > 4 || n+1 == 0 { return x }
	return x.Mul(n / 2)
}`, "gt sum item mul", ""},
	{"a branch that nothing decides", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	if n > 2 { return x.Sin() }
	return x.Mul(n)
}`, "gt sum item | mul", "Could not guard on data-dependent expression u0 > 2 (unhinted: u0 > 2)"},
	{"a quotient of what may be negative", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Mul(3).To(torch.Int64).Sum().ItemInt()
	return x.Mul(n / 2)
}`, "mul to sum item | mul", "Could not guard on data-dependent expression u0 < 0"},
	{"a quotient of what is checked", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Mul(3).To(torch.Int64).Abs().Sum().ItemInt()
	torch.Check(n >= 0)
	return x.Mul(n / 2).Add(n % 3)
}`, "mul to abs sum item mul add", ""},
	{"a list of that length", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	return x.Mul(len(make([]int, n)))
}`, "gt sum item | mul", "Could not guard on data-dependent expression u0"},
	{"two numbers, one that a conversion makes", `
func f(x *torch.Tensor) *torch.Tensor {
	n, k := x.Gt(0).Sum().ItemInt(), int(x.Lt(0).Sum().Item())
	return torch.Zeros(n+2, k+2).Add(1).Sum(kw.Dim(0)).Sum().Add(x.Mul(n - k))
}`, "gt sum item lt sum item zeros add sum sum mul add", ""},
	{"a number that is returned with a tensor of that size", `
func g(x *torch.Tensor) (*torch.Tensor, int) {
	n := x.Gt(0).Sum().ItemInt()
	return torch.Ones(n + 1), n * 10
}
var fast = torch.Compile(g, kw.Fullgraph(true))
func f(x *torch.Tensor) *torch.Tensor { y, n := fast(x); return y.Sum().Add(x).Mul(n) }`, "gt sum item ones sum add mul", ""},
	{"a number with a fraction", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(x.Sum().Item()) }`, "sum item mul", ""},
	{"a branch by a number with a fraction", `
func f(x *torch.Tensor) *torch.Tensor {
	s := x.Sum().Item()
	if s/2 > 1.5 { return x.Sin() }
	return x.Cos()
}`, "sum item scalar_tensor | cos", "Could not guard on data-dependent expression FloatTrueDiv(zuf0, 2.0) > 1.5"},
	{"a number with a fraction as a whole one", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(int(x.Sum().Item())) }`, "sum item scalar_tensor | mul", "expression zuf0"},
	{"a function that asks for the number", `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(math.Exp(x.Sum().Item())) }`, "sum item scalar_tensor | mul", "expression zuf0"},
	{
		"a shape of a number with a fraction", `
func f(x *torch.Tensor) *torch.Tensor { return torch.Arange(0, x.Abs().Sum().Item()).Sum().Add(x) }`,
		"abs sum item scalar_tensor | sum add", "expression zuf0",
	},
	{"a write after it", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	n := x.Gt(0).Sum().ItemInt()
	y.Add_(1)
	return y.Mul(n)
}`, "mul gt sum item | mul", "add_ writes a tensor in place after a number is read out of a tensor"},
	{"a choice after it", `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	y := compiler.Cond(x.Sum().Gt(0), func(...*torch.Tensor) *torch.Tensor { return x.Sin() }, func(...*torch.Tensor) *torch.Tensor { return x.Cos() })
	return y.Mul(n)
}`, "gt sum item sum gt | cos mul", "it comes after a number that is read out of a tensor"},
	{"elements that a mask selects, and their places", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.MaskedSelect(x.Gt(0)).Exp()
	i := torch.Nonzero(x)
	return y.Sum().Add(x.Mul(y.Size(0) + i.Size(0))).Add(i.Sum())
}`, "gt masked_select exp nonzero sum mul add sum add", ""},
	{"the values that there are, with their places and counts", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Detach().Abs()
	v := torch.Unique(y)[0].Exp()
	all := torch.UniqueConsecutive(y, kw.ReturnInverse(true), kw.ReturnCounts(true))
	return v.Sum().Mul(all[0].Size(0)).Add(all[2].Mul(2).Sum()).Add(all[1].Sum()).Add(x)
}`, "detach abs unique exp unique_consecutive sum mul mul sum add sum add add", ""},
	{"how many values there are", `
func g(x *torch.Tensor) (*torch.Tensor, int) {
	all := torch.Unique(x.Detach(), kw.ReturnCounts(true))
	return all[1].Add(1), all[0].Size(0)
}
var fast = torch.Compile(g, kw.Fullgraph(true))
func f(x *torch.Tensor) *torch.Tensor { y, n := fast(x); return y.Sum().Add(x).Mul(n) }`, "detach unique add sum add mul", ""},
	{"rows that are alike", `
func f(x *torch.Tensor) *torch.Tensor {
	return torch.Unique(x.Detach().View(2, 2), kw.Dim(0))[0].Sum().Add(x)
}`, "detach view | sum add", "operator unique"},
	{"a branch on how many a mask selects", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.MaskedSelect(x.Gt(0))
	if y.Size(0) == 2 { return y.Sum() }
	return y.Mul(2).Sum()
}`, "gt masked_select | sum | mul sum", "Could not guard on data-dependent expression Eq(u0, 2)"},
}

const scalarMain = `
func main() {
	old := compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs, s.CaptureDynamicOutputShapeOps = true, true })
	defer compiler.Configure(func(s *compiler.Settings) { *s = old })
	g := torch.Compile(f)
	for _, v := range []float32{-1, 1, 2, -3} {
		x := torch.NewTensor([]float32{v, 1.5, -v, -2}, kw.RequiresGrad(true))
		y := g(x)
		y.Sum().Backward()
		fmt.Println(y.Detach(), x.Grad())
	}
	fmt.Println(g(torch.NewTensor([]float32{-1, -2, -3, -4})))
}`

// TestScalars wants what a number is taken for, and what no graph decides by it.
func TestScalars(t *testing.T) {
	for _, c := range scalarPrograms {
		t.Run(c.name, func(t *testing.T) {
			o := both(t, c.body+scalarMain)
			why := ""
			if bs := o.breaks(); len(bs) > 0 {
				why = bs[0].Detail
			}
			if got := withoutAgain(o.ops()); got != c.ops || c.why == "" && why != "" || !strings.Contains(why, c.why) {
				t.Errorf("graphs %q with a break %q, want %q with %q", got, why, c.ops, c.why)
			}
		})
	}
}

// withoutAgain is a list of graphs without those that were there before: of calls without gradients.
func withoutAgain(list string) string {
	var out []string
	seen := map[string]bool{}
	for _, g := range strings.Split(list, " | ") {
		if !seen[g] {
			out = append(out, g)
		}
		seen[g] = true
	}
	return strings.Join(out, " | ")
}

// TestCheckFails wants the panic of a check when the graph runs.
func TestCheckFails(t *testing.T) {
	o := both(t, `
func f(x *torch.Tensor) *torch.Tensor {
	n := x.Gt(0).Sum().ItemInt()
	torch.Check(n >= 2)
	return torch.Ones(n).Add(1)
}
func try(g func(*torch.Tensor) *torch.Tensor, x *torch.Tensor) {
	defer func() { fmt.Println(recover() != nil) }()
	fmt.Println(g(x))
}
func main() {
	old := compiler.Configure(func(s *compiler.Settings) { s.CaptureScalarOutputs = true })
	defer compiler.Configure(func(s *compiler.Settings) { *s = old })
	g := torch.Compile(f, kw.Fullgraph(true))
	try(g, torch.Ones(3))
	try(g, torch.Ones(1))
}`)
	if withoutAgain(o.ops()) != "gt sum item ones add" || !strings.Contains(o.stdout, "true") {
		t.Errorf("graphs %q\n%s", o.ops(), o.stdout)
	}
}
