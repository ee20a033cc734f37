package app

import (
	"slices"
	"strings"
	"testing"

	"tcdbg/explain"
	"tcdbg/tracer/breaks"
)

// goPair is a program with a finding, and without it.
type goPair struct {
	name, advice  string
	code          string // of a break: the cause whose hint is proven
	before, after string
}

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
		name: "torch.Compile in a loop", advice: "model.go:10 is called 5 times, and i, which the function captures, is not always the same: move torch.Compile out of the loop and pass i to what it returns, as a tensor",
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
		name: "compiler.Cond", code: breaks.DataDependentBranching, advice: "choose with Where",
		before: `
func f(x *torch.Tensor) *torch.Tensor {
	return compiler.Cond(x.Sum().Gt(0), func(t ...*torch.Tensor) *torch.Tensor { return t[0].Sin() },
		func(t ...*torch.Tensor) *torch.Tensor { return t[0].Cos() }, x)
}
func main() {
	fast := torch.Compile(f)
	fmt.Println(fast(torch.Ones(3)), fast(torch.Ones(3)))
}`,
		after: `
func f(x *torch.Tensor) *torch.Tensor {
	return torch.Where(x.Sum().Gt(0), x.Sin(), x.Cos())
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

// TestGoAdviceRemovesItsFinding runs each program before and after its advice.
func TestGoAdviceRemovesItsFinding(t *testing.T) {
	state := t.TempDir()
	for _, c := range slices.Concat(goAdvice, goBreakAdvice, goRecompileAdvice) {
		t.Run(c.name, func(t *testing.T) {
			was, before, codes := advised(t, state, c.before)
			now, after, _ := advised(t, state, c.after)
			if was != now {
				t.Errorf("the advice changes the results:\n%s\nwas\n%s", now, was)
			}
			if texts := strings.Join(before, "\n"); !strings.Contains(texts, c.advice) {
				t.Errorf("advice %q, want %q", texts, c.advice)
			}
			if c.code != "" && !slices.Contains(codes, c.code) {
				t.Errorf("breaks %q, want %s", codes, c.code)
			}
			if len(after) > 0 {
				t.Errorf("applied, it leaves %q", after)
			}
		})
	}
}

// TestGoAdviceIsProven: a cause whose hint is shown as advice has a pair of programs, and
// the other way round.
func TestGoAdviceIsProven(t *testing.T) {
	var proven []string
	for _, c := range slices.Concat(goAdvice, goBreakAdvice, goRecompileAdvice) {
		if c.code != "" {
			proven = append(proven, c.code)
		}
	}
	slices.Sort(proven)
	shown := explain.GoProven()
	slices.Sort(shown)
	if proven = slices.Compact(proven); !slices.Equal(shown, proven) {
		t.Errorf("advice is shown on\n%q\nand proven on\n%q", shown, proven)
	}
}

// advised runs a program and returns what it prints, the advice on each of its breaks and
// recompiles, and the codes of the breaks.
func advised(t *testing.T, state, body string) (stdout string, advice, codes []string) {
	t.Helper()
	imports := "import (\n\t\"fmt\"\n\t\"tcdbg/torch\"\n"
	for _, p := range []string{"compiler", "kw"} {
		if strings.Contains(body, p+".") {
			imports += "\t\"tcdbg/torch/" + p + "\"\n"
		}
	}
	for name, path := range map[string]string{"time": "time", "log": "log", "os": "os", "rand": "math/rand", "sync": "sync", "atomic": "sync/atomic", "reflect": "reflect"} {
		if strings.Contains(body, name+".") {
			imports += "\t\"" + path + "\"\n"
		}
	}
	path := program(t, imports+")\n"+body)
	out := run(t, tcdbg(t, state, "run", "--plain", path))
	if out.code != 0 {
		t.Fatalf("%+v", out)
	}
	r := foldLast(t, state, path)
	for _, b := range r.Breaks {
		advice, codes = append(advice, b.Fix.Text), append(codes, b.Lead.Code)
	}
	for _, rc := range r.Recompiles {
		advice = append(advice, rc.Fix.Text)
	}
	return out.stdout, advice, codes
}
