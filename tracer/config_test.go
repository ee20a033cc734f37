package tracer

import (
	"strings"
	"testing"
)

// TestErrorSettings are those of torch._dynamo.config that turn an error into eager execution, or a
// recompile into an error.
func TestErrorSettings(t *testing.T) {
	const head = `
func f(x *torch.Tensor) *torch.Tensor { return x.Mul(2) }
func no(*torch.GraphModule, []torch.Value) (func([]torch.Value) []torch.Value, error) { return nil, errors.New("backend says no") }
func try(g func(*torch.Tensor) *torch.Tensor, n int) {
	defer func() { if r := recover(); r != nil { fmt.Println("refused", r) } }()
	fmt.Println(g(torch.Ones(n)))
}
func set(change func(*compiler.Settings)) func() {
	old := compiler.Configure(change)
	return func() { compiler.Configure(func(s *compiler.Settings) { *s = old }) }
}
`
	for _, c := range []struct {
		name, body string
		want       []string // in the output, in order
		graphs     int
	}{
		{
			"an error of the backend", `try(torch.Compile(f, kw.Backend(torch.BackendFunc(no))), 1)`,
			[]string{"refused", "backend says no"},
			1,
		},
		{
			"suppressed", `defer set(func(s *compiler.Settings) { s.SuppressErrors = true })()
g := torch.Compile(f, kw.Backend(torch.BackendFunc(no)))
for range 3 { try(g, 1) }`, []string{"tensor([2.])\ntensor([2.])\ntensor([2.])\n"}, 1,
		},
		{
			"suppressed after a break", `defer set(func(s *compiler.Settings) { s.SuppressErrors = true })()
g := torch.Compile(func(x *torch.Tensor) *torch.Tensor { y := x.Sin(); fmt.Println("here"); return y.Mul(0) },
	kw.Backend(torch.BackendFunc(no)))
for range 2 { try(g, 1) }`, []string{"here\ntensor([0.])\nhere\ntensor([0.])\n"}, 1,
		},
		{
			"not under fullgraph", `defer set(func(s *compiler.Settings) { s.SuppressErrors = true })()
try(torch.Compile(f, kw.Backend(torch.BackendFunc(no)), kw.Fullgraph(true)), 1)`, []string{"refused", "backend says no"}, 1,
		},
		{
			"a recompile", `g := torch.Compile(f)
try(g, 1)
defer set(func(s *compiler.Settings) { s.ErrorOnRecompile = true })()
try(g, 1)
try(g, 3)`, []string{
				"tensor([2.])\ntensor([2.])\nrefused Recompiling function f in ",
				":10\n    triggered by the following guard failure(s):\n    - 0/0:",
				"size mismatch at index 0. expected 1, actual 3",
			}, 1,
		},
		{
			"the limit", `defer set(func(s *compiler.Settings) { s.CacheSizeLimit = 2; s.FailOnRecompileLimitHit = true })()
g := torch.Compile(f, kw.Dynamic(false))
for n := range 3 { try(g, n + 2) }
fmt.Println(compiler.Config().RecompileLimit)`, []string{"refused f hit the recompile limit (2)", "\n2\n"}, 2,
		},
		{
			"contradictions", `defer func() { fmt.Println(recover()) }()
set(func(s *compiler.Settings) { s.FailOnRecompileLimitHit = true; s.SuppressErrors = true })`, []string{"contradict each other"}, 0,
		},
		{
			"two values", `defer func() { fmt.Println(recover()) }()
set(func(s *compiler.Settings) { s.RecompileLimit = 3; s.CacheSizeLimit = 4 })`, []string{"are one setting"}, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := runProgram(t, head+"func main() {\n"+c.body+"\n}", true)
			rest := o.stdout
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("no %q in\n%s%s", want, o.stdout, o.stderr)
				}
				rest = after
			}
			if n := len(o.graphs()); n != c.graphs || o.exit.Code != 0 {
				t.Errorf("%d graphs, want %d; exit %d\n%s", n, c.graphs, o.exit.Code, o.stderr)
			}
		})
	}
}
