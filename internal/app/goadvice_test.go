package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/explain/diagnose"
	"tcdbg/internal/test"
	"tcdbg/tracer/breaks"
)

// goPair is a program with a finding, and without it.
type goPair struct {
	name, advice  string
	code          string // of a break: its cause
	before, after string
}

// bucketed pads to three lengths, each of which is warmed up once.
const bucketed = `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f, kw.Dynamic(false))
	for _, n := range []int{8, 16, 32, 16, 8, 32, 8} {
		fmt.Println(fast(torch.Ones(n)).Sum())
	}
}`

// goAdvice are programs with a finding, the advice on it, and the program with the
// advice applied, which has no finding and prints the same.
var goAdvice = []goPair{
	{
		name: "kw.Dynamic(false)", advice: "leave that option out",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f, kw.Dynamic(false))
	for n := range 4 {
		fmt.Println(fast(torch.Ones(n + 2)))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 4 {
		x := torch.Ones(n + 2)
		compiler.MarkDynamic(x, 0)
		fmt.Println(fast(x))
	}
}`,
	},
	{
		name: "a few sizes under kw.Dynamic(false)", advice: "later calls find theirs, nothing to do",
		before: bucketed, after: bucketed,
	},
	{
		name: "a size that changes", advice: "call compiler.MarkDynamic(x, 0)",
		before: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 4 {
		x := torch.Ones(n + 2)
		fmt.Println(fast(x))
	}
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2).Sin() }
func main() {
	fast := torch.Compile(f)
	for n := range 4 {
		x := torch.Ones(n + 2)
		compiler.MarkDynamic(x, 0)
		fmt.Println(fast(x))
	}
}`,
	},
	{
		name: "torch.Compile in a loop", advice: "model.go:10 is called 5 times, and i, which the function captures, is not always " +
			"the same: move torch.Compile out of the loop and pass i to what it returns, as a tensor",
		before: `
func main() {
	for i := range 5 {
		fast := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(float64(i)).Sin() })
		fmt.Println(fast(torch.Ones(3)))
	}
}`,
		after: `
func main() {
	fast := torch.Compile(func(x, i *torch.Tensor) *torch.Tensor { return x.Mul(i).Sin() })
	for i := range 5 {
		fmt.Println(fast(torch.Ones(3), torch.NewTensor(float64(i))))
	}
}`,
	},
	{
		name: "compiler.Cond of an operand", code: breaks.DataDependentBranching, advice: "a Clone of what it was given",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(t ...*torch.Tensor) *torch.Tensor { return t[0] },
		func(t ...*torch.Tensor) *torch.Tensor { return t[0].Cos() }, x)
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(t ...*torch.Tensor) *torch.Tensor { return t[0].Clone() },
		func(t ...*torch.Tensor) *torch.Tensor { return t[0].Cos() }, x)
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
	},
	{
		name: "compiler.Cond that counts", code: breaks.DataDependentBranching, advice: "the break says what is in the way",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	n := 0.0
	y := compiler.Cond(x.Sum().Gt(0), func(t ...*torch.Tensor) *torch.Tensor { n = 2; return t[0].Sin() },
		func(t ...*torch.Tensor) *torch.Tensor { n = 3; return t[0].Cos() }, x)
	return y.Mul(n)
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(t ...*torch.Tensor) *torch.Tensor { return t[0].Sin().Mul(2) },
		func(t ...*torch.Tensor) *torch.Tensor { return t[0].Cos().Mul(3) }, x)
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
	},
	{
		name: "compiler.WhileLoop that passes on", code: breaks.DataDependentLoop, advice: "new tensors that are like what it got",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Sum().Lt(20) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(c[1]), c[1]} }, x, x.Mul(2))[0]
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	step := x.Mul(2)
	return compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Sum().Lt(20) },
		func(c ...*torch.Tensor) []*torch.Tensor { return []*torch.Tensor{c[0].Add(step)} }, x)[0]
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
	},
	{
		name: "append to a field with room", code: breaks.SliceGrown, advice: "append it in the caller",
		before: `
type rec struct{ seen []*torch.Tensor }
func (r *rec) f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	r.seen = append(r.seen, y)
	return y.Add(1)
}
func main() {
	r := &rec{make([]*torch.Tensor, 0, 8)}
	fast := torch.Compile(r.f)
	fmt.Println(fast(torch.Ones(3)), len(r.seen))
}`,
		after: `
type rec struct{ seen []*torch.Tensor }
func (r *rec) f(x *torch.Tensor) (y, z *torch.Tensor) {
	y = x.Mul(2)
	return y, y.Add(1)
}
func main() {
	r := &rec{make([]*torch.Tensor, 0, 8)}
	fast := torch.Compile(r.f)
	y, z := fast(torch.Ones(3))
	r.seen = append(r.seen, y)
	fmt.Println(z, len(r.seen))
}`,
	},
	{
		name: "append in every call", advice: "append to it outside of the compiled function",
		before: `
type rec struct{ seen []*torch.Tensor }
func (r *rec) f(x *torch.Tensor) *torch.Tensor {
	y := x.Mul(2)
	r.seen = append(r.seen[:len(r.seen):len(r.seen)], y)
	return y.Add(1)
}
func main() {
	r := &rec{}
	fast := torch.Compile(r.f)
	for range 3 {
		fmt.Println(fast(torch.Ones(3)))
	}
	fmt.Println(len(r.seen))
}`,
		after: `
type rec struct{ seen []*torch.Tensor }
func (r *rec) f(x *torch.Tensor) (y, z *torch.Tensor) {
	y = x.Mul(2)
	return y, y.Add(1)
}
func main() {
	r := &rec{}
	fast := torch.Compile(r.f)
	for range 3 {
		y, z := fast(torch.Ones(3))
		r.seen = append(r.seen, y)
		fmt.Println(z)
	}
	fmt.Println(len(r.seen))
}`,
	},
	{
		name: "a map key of a struct type", code: breaks.MapKey, advice: "Look the entry up before the call and pass it in",
		before: `
type key struct{ a, b int }
func f(x *torch.Tensor, m map[key]float64, k key) *torch.Tensor { return x.Mul(m[k]) }
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3), map[key]float64{{1, 2}: 3}, key{1, 2}))
}`,
		after: `
type key struct{ a, b int }
func f(x *torch.Tensor, scale float64) *torch.Tensor { return x.Mul(scale) }
func main() {
	fast := torch.Compile(f)
	m := map[key]float64{{1, 2}: 3}
	fmt.Println(fast(torch.Ones(3), m[key{1, 2}]))
}`,
	},
}

// TestGoAdviceIsProven runs each program, in the short form of the tests a third of them,
// before and after its advice, and finds that every text that can be shown was seen to help so.
func TestGoAdviceIsProven(t *testing.T) {
	state := t.TempDir()
	proven := map[string]bool{}
	for _, c := range test.Some(t, 15, slices.Concat(
		goAdvice, goBreakAdvice, goRecompileAdvice, goSettledAdvice, goStateAdvice, goApartAdvice, goSizeAdvice, goHintAdvice,
		goBlindAdvice, goValueAdvice, goWayOutAdvice, goOpenAdvice,
	)) {
		t.Run(c.name, func(t *testing.T) {
			before, after := advised(t, state, c.before), advised(t, state, c.after)
			if before.stdout != after.stdout {
				t.Errorf("the advice changes the results:\n%s\nwas\n%s", after.stdout, before.stdout)
			}
			if c.code != "" && !slices.Contains(before.codes, c.code) {
				t.Errorf("breaks %q, want %s", before.codes, c.code)
			}
			var rows []string
			settled := false
			for _, said := range before.said {
				if strings.Contains(said.text, c.advice) {
					rows, settled = append(rows, said.row), said.settled
				}
			}
			switch {
			case len(rows) == 0:
				t.Errorf("advice %+v, want %q", before.said, c.advice)
			case settled && after.findings != before.findings:
				t.Errorf("%d findings, and %d in more calls: %+v", before.findings, after.findings, after.said)
			case !settled && after.findings > 0:
				t.Errorf("applied, it leaves %+v", after.said)
			}
			if t.Failed() {
				return
			}
			for _, row := range rows {
				proven[row] = true
			}
		})
	}
	t.Run("every text", func(t *testing.T) {
		test.Long(t, "all pairs")
		for _, row := range diagnose.GoRows() {
			if !proven[row] {
				t.Errorf("%s can be shown and no pair proves it", row)
			}
		}
	})
}

// advice is what a report says on a program.
type advice struct {
	stdout   string
	codes    []string // of its breaks
	fixes    []saying // one for each finding
	said     []saying // these, and all hints
	findings int      // breaks, recompiles and failures
}

// saying is one text of the table.
type saying struct {
	row, text string
	settled   bool
}

// advised runs a program, and reads what its report says.
func advised(t *testing.T, state, body string) (a advice) {
	t.Helper()
	imports := "import (\n\t\"fmt\"\n\t\"tcdbg/torch\"\n"
	for _, p := range []string{"autograd", "compiler", "kw", "nn", "optim"} {
		if strings.Contains(body, p+".") {
			imports += "\t\"tcdbg/torch/" + p + "\"\n"
		}
	}
	for name, path := range map[string]string{
		"time": "time", "log": "log", "os": "os", "rand": "math/rand", "sync": "sync",
		"atomic": "sync/atomic", "reflect": "reflect",
	} {
		if strings.Contains(body, name+".") {
			imports += "\t\"" + path + "\"\n"
		}
	}
	path := program(t, imports+")\n"+body)
	c := tcdbg(t, state, "run", "--plain", path)
	module, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c.Env = append(c.Env, withSource+"="+module)
	out := run(t, c)
	if out.code != 0 {
		t.Fatalf("%+v", out)
	}
	r := foldLast(t, state, path)
	add := func(f explain.Fix) {
		if a.findings++; f.Text == "" {
			return
		}
		if !slices.Contains(diagnose.GoRows(), f.Row) {
			t.Errorf("%q is shown, and is no text of the table", f.Text)
		}
		a.fixes = append(a.fixes, saying{f.Row, f.Text, f.Settled})
		a.said = append(a.said, a.fixes[len(a.fixes)-1])
	}
	for _, b := range r.Breaks {
		a.codes = append(a.codes, b.Lead.Code)
		add(b.Fix)
		for n, h := range b.Lead.Hints {
			a.said = append(a.said, saying{row: fmt.Sprintf("go %s/%d", b.Lead.Code, n), text: h})
		}
	}
	for _, rc := range r.Recompiles {
		add(rc.Fix)
	}
	for _, f := range r.Failures {
		add(f.Fix)
	}
	for _, x := range r.Advice {
		switch {
		case x.Break == nil && x.Cause == nil:
			add(x.Fix)
		case x.Break != nil && x.Break.Lead.Noise: // the break is one finding already
			add(x.Fix)
			a.findings--
		}
	}
	a.stdout = out.stdout
	return a
}

// TestModelsOfAConstructor: models that one constructor compiles are no loop over one.
func TestModelsOfAConstructor(t *testing.T) {
	a := advised(t, t.TempDir(), `
type model struct{ fast func(*torch.Tensor) *torch.Tensor }
func build(by *torch.Tensor) *model {
	return &model{torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Mul(by) }, kw.Mode("reduce-overhead"))}
}
func (m *model) Forward(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	for range 3 {
		fmt.Println(build(torch.Rand(3)).fast(torch.Ones(3)).Shape(), torch.Compile((&model{}).Forward, kw.Mode("reduce-overhead"))(torch.Ones(3)))
	}
}`)
	if len(a.said) > 0 {
		t.Errorf("says %+v", a.said)
	}
}
