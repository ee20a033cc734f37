package tracer

import (
	"strings"
	"testing"
)

// settingPrograms are programs under settings of torch/compiler: what they print, in order, the operators of their
// graphs, and the number of breaks.
var settingPrograms = []struct {
	name, set, body string
	want            []string
	ops             string
	breaks          int
}{
	{
		"prints break", "", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("here"); return y.Cos() }
func run() { g := torch.Compile(f); g(torch.Ones(1)); g(torch.Ones(1)) }`,
		[]string{"here\nhere\n"},
		"sin | cos", 1,
	},
	{
		"reordered", "s.ReorderableLoggingFunctions = []any{fmt.Println, fmt.Printf}", `
func f(x *torch.Tensor, k int) *torch.Tensor {
	y := x.Sin()
	fmt.Println("sine", y, k)
	fmt.Printf("%d elements\n", y.Numel())
	return y.Cos()
}
func run() { g := torch.Compile(f, kw.Fullgraph(true)); for range 2 { fmt.Println(g(torch.Zeros(2), 7)) } }`,
		[]string{strings.Repeat("sine tensor([0., 0.]) 7\n2 elements\ntensor([1., 1.])\n", 2)},
		"sin cos", 0,
	},
	{
		"reordered, then a break", "s.ReorderableLoggingFunctions = []any{fmt.Println}", `
func f(x *torch.Tensor) *torch.Tensor {
	y := x.Sin()
	fmt.Println("first")
	fmt.Print("second\n")
	fmt.Println("third")
	return y.Cos()
}
func run() { g := torch.Compile(f); for range 2 { fmt.Println(g(torch.Zeros(1))) } }`,
		[]string{strings.Repeat("first\nsecond\nthird\ntensor([1.])\n", 2)},
		"sin | cos", 1,
	},
	{
		"a function of the program", "s.ReorderableLoggingFunctions = []any{say}", `
var n int
func say(what string, x *torch.Tensor) { n++; fmt.Println(what, n, x.Item()) }
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); say("call", y); return y.Cos() }
func run() { g := torch.Compile(f); for range 2 { fmt.Println(g(torch.Zeros(1))) } }`,
		[]string{"call 1 0\ntensor([1.])\ncall 2 0\ntensor([1.])\n"},
		"sin cos", 0,
	},
	{
		"what is changed after the print", "s.ReorderableLoggingFunctions = []any{fmt.Println}", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Add(1); fmt.Println(y); y.Mul_(5); return y }
func run() { torch.Compile(f)(torch.Ones(1)) }`,
		[]string{"tensor([10.])\n"},
		"add mul_", 0,
	},
	{
		"its result is used", "s.ReorderableLoggingFunctions = []any{fmt.Println}", `
func f(x *torch.Tensor) *torch.Tensor { n, _ := fmt.Println("four"); return x.Mul(n) }
func run() { fmt.Println(torch.Compile(f)(torch.Ones(1))) }`,
		[]string{"four\ntensor([5.])\n"},
		"mul", 1,
	},
	{
		"a logger", "s.ReorderableLoggingFunctions = []any{(*log.Logger).Printf}", `
var l = log.New(os.Stdout, "> ", 0)
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); l.Printf("%v", y); return y.Cos() }
func run() { g := torch.Compile(f); for range 2 { g(torch.Zeros(1)) } }`,
		[]string{"> tensor([0.])\n> tensor([0.])\n"},
		"sin cos", 0,
	},
	{
		"a method with its receiver", "s.ReorderableLoggingFunctions = []any{l.Printf}", `
var l = log.New(os.Stdout, "> ", 0)
func f(x *torch.Tensor) *torch.Tensor { l.Printf("%v", x); return x.Cos() }
func run() {
	defer func() { fmt.Println(recover()) }()
	torch.Compile(f)(torch.Zeros(1))
}`,
		[]string{"given as the method expression alone"},
		"", 0,
	},
	{
		"ignored", "s.IgnoreLoggingFunctions = []any{fmt.Println}", `
func f(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("never"); return y.Cos() }
func run() { g := torch.Compile(f); g(torch.Zeros(1)); fmt.Println(g(torch.Zeros(1))) }`,
		[]string{"settings\ntensor([1.])\n"},
		"sin cos", 0,
	},
	{
		"ints that change are symbols", "", intsChange, []string{"settings\n6 8 10 12 \n"}, "mul | mul", 0,
	},
	{
		"ints are constants", "s.SpecializeInt = true", intsChange, []string{"settings\n6 8 10 12 \n"}, "mul | mul | mul | mul", 0,
	},
	{
		"floats that change come in a tensor", "", floatsChange, []string{"settings\n3 5 7 9 \n"}, "mul | mul", 0,
	},
	{
		"floats are constants", "s.SpecializeFloat = true", floatsChange, []string{"settings\n3 5 7 9 \n"}, "mul | mul | mul | mul", 0,
	},
	{"ints of a module are constants", "", fieldsChange, []string{"settings\n6 8 10 12 \n"}, "mul | mul | mul | mul", 0},
	{
		"ints of a module are symbols", "s.AllowUnspecIntOnNNModule = true", fieldsChange,
		[]string{"settings\n6 8 10 12 \n"},
		"mul | mul", 0,
	},
	{
		"sizes of parameters are constants", "", widths,
		[]string{"settings\n2 3 4 5 \n"},
		"add sum | add sum | add sum | add sum", 0,
	},
	{
		"sizes of parameters vary", "s.ForceParameterStaticShapes = false", widths,
		[]string{"settings\n2 3 4 5 \n"},
		"add sum | add sum", 0,
	},
	{
		"a mark that the code makes a constant", "s.AllowIgnoreMarkDynamic = true", `
func f(x *torch.Tensor) *torch.Tensor { return x.Add(torch.Ones(3)) }
func run() { x := torch.Ones(3); compiler.MarkDynamic(x, 0); fmt.Println(torch.Compile(f)(x)) }`,
		[]string{"tensor([2., 2., 2.])\n"},
		"ones add", 0,
	},
	{
		"backward passes are captured", "s.TraceAutogradOps = true", `
func f(w *torch.Tensor) *torch.Tensor { y := w.Mul(2).Sum(); y.Backward(); return y.Detach() }
func run() { w := torch.Ones(2, kw.RequiresGrad(true)); fmt.Println(torch.Compile(f)(w), w.Grad()) }`,
		[]string{"tensor(4.) tensor([2., 2.])\n"},
		"mul sum ones_like reshape expand mul detach", 0,
	},
	{
		"disabled", "s.Disable = true", `
func run() { fmt.Println(torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() })(torch.Zeros(1))) }`,
		[]string{"tensor([0.])\n"},
		"", 0,
	},
	{
		"entries of all objects", "s.AccumulatedRecompileLimit = 2", `
type net struct{ k float64 }
func (n *net) f(x *torch.Tensor) *torch.Tensor { return x.Mul(n.k) }
func run() {
	for i := range 4 {
		fmt.Println(torch.Compile((&net{float64(i)}).f, kw.Mode("reduce-overhead"))(torch.Ones(1)))
	}
}`, []string{"tensor([0.])\ntensor([1.])\ntensor([2.])\ntensor([3.])\n"}, "mul | mul", 0,
	},
	{
		"more in errors", "s.Verbose = true", `
func g(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("here"); return y }
func f(x *torch.Tensor) *torch.Tensor { return g(x.Mul(2)) }
func run() {
	defer func() { fmt.Println(recover()) }()
	torch.Compile(f, kw.Fullgraph(true))(torch.Ones(1))
}`, []string{
			"fullgraph=true: Failed to trace builtin operator", "in run", "in f", "in g", "the graph that was captured:",
			"mul.sin()", "2 guards\n",
		}, "", 1,
	},
	{
		"more in errors of a backend", "s.Verbose = true", `
func no(*torch.GraphModule, []torch.Value) (func([]torch.Value) []torch.Value, error) { return nil, errors.New("backend says no") }
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func run() {
	defer func() { fmt.Println(recover()) }()
	torch.Compile(f, kw.Backend(torch.BackendFunc(no)))(torch.Ones(1))
}`, []string{
			"backend says no", "the program's stack, the innermost call last:", "in main", "in run",
			"torch.Compile(f, kw.Backend(torch.BackendFunc(no)))(torch.Ones(1))", "in f", "the graph that was captured:",
			"l_x_.sin()", "2 guards\n",
		}, "sin", 0,
	},
}

const (
	intsChange = `
func f(x *torch.Tensor, n int) *torch.Tensor { return x.Mul(n) }
func run() { g := torch.Compile(f); for n := range 4 { fmt.Print(g(torch.Ones(1), n*2+6).Item(), " ") }; fmt.Println() }`
	floatsChange = `
func f(x *torch.Tensor, n float64) *torch.Tensor { return x.Mul(n) }
func run() { g := torch.Compile(f); for n := range 4 { fmt.Print(g(torch.Ones(1), float64(n*2+3)).Item(), " ") }; fmt.Println() }`
	fieldsChange = `
type net struct { n int }
func f(m *net, x *torch.Tensor) *torch.Tensor { return x.Mul(m.n) }
func run() {
	g := torch.Compile(f)
	m := &net{}
	for n := range 4 { m.n = n*2+6; fmt.Print(g(m, torch.Ones(1)).Item(), " ") }
	fmt.Println()
}`
	widths = `
type net struct { w *torch.Tensor }
func f(m *net) *torch.Tensor { return m.w.Add(0).Sum() }
func run() {
	g := torch.Compile(f)
	for n := range 4 { fmt.Print(g(&net{torch.Ones(n+2, kw.RequiresGrad(true))}).Item(), " ") }
	fmt.Println()
}`
)

// TestTraceSettings runs programs under settings that say what a trace does.
func TestTraceSettings(t *testing.T) {
	for _, c := range settingPrograms {
		t.Run(c.name, func(t *testing.T) {
			o := runProgram(t, c.body+`
func main() {
	old := compiler.Configure(func(s *compiler.Settings) { `+c.set+` })
	defer compiler.Configure(func(s *compiler.Settings) { *s = old })
	fmt.Println("settings")
	run()
}`, true)
			rest := o.stdout
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("no %q in\n%s%s", want, o.stdout, o.stderr)
				}
				rest = after
			}
			if got := o.ops(); got != c.ops || len(o.breaks()) != c.breaks || o.exit.Code != 0 {
				t.Errorf("graphs %q with %d breaks, want %q with %d; exit %d\n%s", got, len(o.breaks()), c.ops, c.breaks, o.exit.Code,
					o.stderr)
			}
		})
	}
}
