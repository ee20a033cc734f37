package tracer

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tcdbg/logs"
)

// This file tests what torch.Compile takes and refuses.

// TestCompileTakesModules compiles Forward of modules, however they are held and called.
func TestCompileTakesModules(t *testing.T) {
	got := both(t, `
type net struct {
	fc    *nn.Linear
	scale float64
	calls int
}

func (n *net) Forward(x *torch.Tensor) *torch.Tensor {
	n.calls++
	y := n.fc.Forward(x).Relu()
	if y.Sum().Gt(1000).Bool() {
		y = y.Neg()
	}
	return y.Mul(n.scale)
}

type outer struct{ *net }
type forwarder interface{ Forward(x *torch.Tensor) *torch.Tensor }

func main() {
	x := torch.Arange(6).Reshape(2, 3).Div(6)
	a, b := &net{nn.NewLinear(3, 3), 2, 0}, &net{nn.NewLinear(3, 3), 3, 0}
	c := torch.Compile(a)
	fmt.Println(c == a, c.Forward(x), a.Forward(x), b.Forward(x), a.calls)
	f := c.Forward
	fmt.Println(f(x))
	var m nn.Module = torch.Compile[nn.Module](nn.NewSequential(nn.NewLinear(3, 4), nn.NewTanh()))
	fmt.Println(m.Forward(x))
	o := torch.Compile(&outer{b})
	fmt.Println(o.Forward(x), o.net.Forward(x), forwarder(o).Forward(x))
	torch.Compile(a, kw.Fullgraph(true))
	defer func() { fmt.Println(recover() != nil) }()
	for _, w := range []*net{a, b} {
		whole := torch.Compile(func(x *torch.Tensor) *torch.Tensor { return w.Forward(x).Add(1) })
		fmt.Println(whole(x))
	}
	y := b.Forward(x)
	y.Sum().Backward()
	fmt.Println(b.fc.Weight.Grad().Sum())
	panic("end")
}`)
	if ops := got.ops(); strings.Count(ops, "linear") != 3 { // b has the entry of a
		t.Errorf("captured %q", ops)
	}
	if n := len(got.breaks()); n == 0 {
		t.Error("no break inside Forward")
	}
}

// TestCompileOfTorchsOwnFunctions captures functions and methods of torch that are given
// to Compile, directly or through variables.
func TestCompileOfTorchsOwnFunctions(t *testing.T) {
	got := both(t, strings.ReplaceAll(`
func main() {
	x := torch.Arange(6).Reshape(2, 3).Div(6)
	fmt.Println(torch.Compile(F.Softsign)(x), torch.Compile(F.Gelu)(x, kw.Approximate("tanh")), torch.Compile(F.Softmax)(x, 1))
	w := torch.Ones(4, 3)
	fmt.Println(torch.Compile(F.Linear)(x, w), torch.Compile((*torch.Tensor).Sin)(x), torch.Compile(x.Exp)())
	fmt.Println(torch.Compile(torch.Relu)(x), torch.Compile(torch.Cat)([]*torch.Tensor{x, x}))
	fmt.Println(torch.Compile(torch.Tanh, kw.Fullgraph(true))(x), torch.Compile(torch.Add)(x, x, kw.Alpha(3)))
	for _, g := range []func(*torch.Tensor) *torch.Tensor{torch.Sigmoid, torch.Cos} {
		fmt.Println(torch.Compile(g)(x))
	}
	f := torch.Compile(F.LayerNorm)
	for _, n := range []int{2, 5, 7} {
		fmt.Println(f(torch.Arange(n*3).Reshape(n, 3).Div(6), []int{3}))
	}
}`, "F.", "functional."))
	if ops := got.ops(); ops != "softsign | gelu | softmax | linear | sin | exp | relu | cat | tanh | add | sigmoid | cos | "+
		"layer_norm | layer_norm" {
		t.Errorf("captured %q", ops)
	}
}

// TestWhichFunctionOfTorchIsGuarded calls functions of torch through a func value, which
// changes: each is compiled, and gives its own result.
func TestWhichFunctionOfTorchIsGuarded(t *testing.T) {
	got := both(t, `
var act = torch.Relu

func use(x *torch.Tensor) *torch.Tensor { return act(x).Add(1) }

func own(x *torch.Tensor) *torch.Tensor { return x.Mul(7) }

func apply(f func(*torch.Tensor) *torch.Tensor, x *torch.Tensor) *torch.Tensor { return f(x).Mul(2) }

func main() {
	x := torch.Ones(2).Neg()
	u, a := torch.Compile(use), torch.Compile(apply)
	fmt.Println(u(x))
	for _, f := range []func(*torch.Tensor) *torch.Tensor{torch.Sigmoid, own, torch.Sigmoid} {
		act = f
		fmt.Println(u(x), a(f, x))
	}
}`)
	if ops := got.ops(); ops != "relu add | sigmoid add | sigmoid mul | mul add | mul mul" {
		t.Errorf("captured %q", ops)
	}
}

// TestCompileInALoop compiles one function again and again: what Compile gives is one
// function, and what a literal captures is compared by guards.
func TestCompileInALoop(t *testing.T) {
	for _, c := range []struct{ name, body, ops string }{
		{"a declared function", `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	for range 5 { fmt.Println(torch.Compile(f)(torch.Ones(3))) }
}`, "sin"},
		{"with other options", `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	for i := range 4 { fmt.Println(torch.Compile(f, kw.Fullgraph(i%2 == 0))(torch.Ones(3))) }
}`, "sin | sin"},
		{"a literal that captures nothing", `
func main() {
	for range 5 { fmt.Println(torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() })(torch.Ones(3))) }
}`, "sin"},
		{"a literal that captures another module each time", `
func main() {
	for range 5 {
		m := nn.NewLinear(3, 3)
		fmt.Println(torch.Compile(func(x *torch.Tensor) *torch.Tensor { return m.Forward(x) })(torch.Ones(1, 3)))
	}
}`, "linear"},
		{"a literal that captures another text each time", `
func main() {
	for _, s := range []string{"a", "b", "a", "b"} {
		f := torch.Compile(func(x *torch.Tensor) *torch.Tensor {
			if s == "a" { return x.Sin() }
			return x.Cos()
		})
		fmt.Println(f(torch.Ones(3)), f(torch.Zeros(3)))
	}
}`, "sin | cos"},
		{"a literal that writes what it captures", `
func main() {
	var all []func(*torch.Tensor) *torch.Tensor
	for range 3 {
		n := 0.0
		all = append(all, torch.Compile(func(x *torch.Tensor) *torch.Tensor { n++; return x.Mul(n) }))
		defer func() { fmt.Println(n) }()
	}
	for _, f := range all { fmt.Println(f(torch.Ones(3))) }
	fmt.Println(all[1](torch.Ones(3)), all[2](torch.Ones(3)))
}`, "mul | mul"},
		{"a method of two objects", `
type net struct{ k float64 }
func (n *net) f(x *torch.Tensor) *torch.Tensor { return x.Mul(n.k) }
func main() {
	a, b := &net{2}, &net{3}
	for range 3 { fmt.Println(torch.Compile(a.f)(torch.Ones(3)), torch.Compile(b.f)(torch.Ones(3))) }
}`, "mul | mul"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := both(t, c.body).ops(); got != c.ops {
				t.Errorf("captured %q, want %q", got, c.ops)
			}
		})
	}
}

// TestCompileOfEqualBlocks compiles a method of many receivers, one at a time: those that are
// alike have one frame, and those that differ keep their own.
func TestCompileOfEqualBlocks(t *testing.T) {
	const block = `
type block struct {
	up, down *nn.Linear
	say bool
	seen int
}
func newBlock(n int) *block { return &block{up: nn.NewLinear(n, 2*n), down: nn.NewLinear(2*n, n)} }
func (b *block) Forward(x *torch.Tensor) *torch.Tensor {
	y := b.up.Forward(x).Relu()
	if b.say { fmt.Println(b.seen) }
	b.seen++
	return b.down.Forward(y).Add(x)
}
`
	for _, c := range []struct{ name, body, ops string }{
		{"methods", `
func main() {
	torch.SetGradEnabled(false)
	x := torch.Ones(2, 3)
	for range 12 { x = torch.Compile(newBlock(3).Forward)(x) }
	fmt.Println(x)
}`, "linear relu linear add"},
		{"modules", `
func main() {
	torch.SetGradEnabled(false)
	var all []*block
	for range 4 { all = append(all, torch.Compile(newBlock(3))) }
	for range 2 {
		x := torch.Ones(2, 3)
		for _, b := range all { x = b.Forward(x) }
		fmt.Println(x)
	}
	fmt.Println(all[0].seen, all[3].seen)
}`, "linear relu linear add"},
		{"two widths in turns", `
func main() {
	torch.SetGradEnabled(false)
	for range 2 { for n := 2; n < 4; n++ { fmt.Println(torch.Compile(newBlock(n).Forward)(torch.Ones(2, n))) } }
}`, "linear relu linear add | linear relu linear add"},
		{"more widths than entries are allowed", `
func main() {
	torch.SetGradEnabled(false)
	for n := 2; n < 14; n++ { fmt.Println(torch.Compile(newBlock(n).Forward)(torch.Ones(1, n))) }
}`, strings.Repeat("linear relu linear add | ", 11) + "linear relu linear add"},
		{"with a break", `
func main() {
	torch.SetGradEnabled(false)
	for range 3 {
		b := newBlock(3)
		b.say = true
		fmt.Println(torch.Compile(b.Forward)(torch.Ones(2, 3)), b.seen)
	}
}`, "linear relu | linear add"},
		{"after a reset", `
func main() {
	torch.SetGradEnabled(false)
	f, g := torch.Compile(newBlock(3).Forward), torch.Compile(newBlock(3).Forward)
	fmt.Println(f(torch.Ones(2, 3)), g(torch.Ones(2, 3)))
	compiler.Reset()
	fmt.Println(g(torch.Ones(2, 3)), f(torch.Ones(2, 3)))
}`, "linear relu linear add | linear relu linear add"},
		{"gradients go to each", `
func main() {
	x := torch.Ones(2, 3, kw.RequiresGrad(true))
	a, b := newBlock(3), newBlock(3)
	f, g := torch.Compile(a.Forward), torch.Compile(b.Forward)
	g(f(x)).Sum().Backward()
	fmt.Println(a.up.Weight.Grad(), b.up.Weight.Grad(), x.Grad())
}`, "linear relu linear add"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := both(t, block+c.body).ops(); got != c.ops {
				t.Errorf("captured %q, want %q", got, c.ops)
			}
		})
	}
}

// TestEqualBlocksAtOnce has goroutines call equal blocks that are compiled one at a time.
func TestEqualBlocksAtOnce(t *testing.T) {
	got := both(t, `
import "sync"
type block struct{ fc *nn.Linear }
func (b *block) f(x *torch.Tensor) *torch.Tensor { return b.fc.Forward(x).Relu() }
func main() {
	var group sync.WaitGroup
	results := make([]*torch.Tensor, 16)
	for i := range results {
		b := &block{nn.NewLinear(3, 3)}
		group.Add(1)
		go func() {
			defer group.Done()
			for range 5 { results[i] = torch.Compile(b.f)(torch.Ones(2, 3)) }
		}()
	}
	group.Wait()
	for _, r := range results { fmt.Println(r) }
}`)
	if n := len(got.breaks()); n != 0 {
		t.Errorf("%d breaks", n)
	}
}

// TestCompileRefusesInTheSameWords runs a program under go run and under the tracer.
func TestCompileRefusesInTheSameWords(t *testing.T) {
	body := `
type plain struct{ n int }
type value struct{ w *torch.Tensor }

func (v value) Forward(x *torch.Tensor) *torch.Tensor { return x.Mul(v.w) }
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }

func try(what string, g func()) {
	defer func() { fmt.Println(what, recover()) }()
	g()
}

func main() {
	var none func(*torch.Tensor) *torch.Tensor
	var nobody *nn.Linear
	bad := torch.BackendFunc(func(*torch.GraphModule, []torch.Value) (func([]torch.Value) []torch.Value, error) { return nil, nil })
	try("struct", func() { torch.Compile(&plain{}) })
	try("value", func() { torch.Compile(value{}) })
	try("int", func() { torch.Compile(3) })
	try("nil", func() { torch.Compile(none) })
	try("nil module", func() { torch.Compile(nobody) })
	try("mode", func() { torch.Compile(f, kw.Mode("fast")) })
	try("autotune", func() { torch.Compile(f, kw.Mode("max_autotune")) })
	try("autotuned", func() { torch.Compile(f, kw.Mode("max-autotune")) })
	try("eager mode", func() { torch.Compile(f, kw.Backend("eager"), kw.Mode("fast")) })
	try("passed over", func() { torch.Compile(f, kw.Backend("eager"), kw.Mode("reduce-overhead")) })
	try("passed over", func() { torch.Compile(f, kw.Backend("aot_eager"), kw.Mode("reduce-overhead")) })
	try("backend", func() { torch.Compile(f, kw.Backend("nvfuser")) })
	try("backend 3", func() { torch.Compile(f, kw.Backend(3)) })
	try("option", func() { torch.Compile(f, kw.Lr(0.1)) })
	try("type", func() { torch.Compile(f, torch.Option{Name: "fullgraph", Value: 1}) })
	try("disabled", func() { torch.Compile(f, kw.Mode("fast"), kw.Disable(true)) })
	try("tuned", func() { torch.Compile(f, kw.Options(map[string]any{"memory_planning": false})) })
	try("near", func() { torch.Compile(f, kw.Options(map[string]any{"epilog_fusion": true})) })
	try("far", func() { torch.Compile(f, kw.Options(map[string]any{"quux": 1})) })
	try("bool", func() { torch.Compile(f, kw.Options(map[string]any{"epilogue_fusion": 1})) })
	try("size", func() { torch.Compile(f, kw.Options(map[string]any{"max_fusion_size": 0})) })
	try("fixed", func() { torch.Compile(f, kw.Options(map[string]any{"shape_padding": false})) })
	try("gpu", func() { torch.Compile(f, kw.Options(map[string]any{"cuda.arch": "90"})) })
	try("bits", func() { torch.Compile(f, kw.Options(map[string]any{"cpp.simdlen": 100})) })
	try("word", func() { torch.Compile(f, kw.Options(map[string]any{"cpp.enable_floating_point_contract_flag": "yes"})) })
	try("both", func() { torch.Compile(f, kw.Mode("default"), kw.Options(map[string]any{}), kw.Disable(true)) })
	try("custom", func() { torch.Compile(f, kw.Backend(bad), kw.Options(map[string]any{})) })
	try("ok", func() {
		torch.Compile(f, kw.Options(map[string]any{"max-fusion-size": 8, "triton.cudagraphs": true, "max_autotune": true, "coordinate_descent_tuning": true}))
	})
	fmt.Println(compiler.ListBackends(), compiler.ListBackends("debug"), compiler.ListOptions())
	fmt.Println(compiler.ListModeOptions("default"), compiler.ListModeOptions("reduce-overhead"))
	fmt.Println(compiler.ListModeOptions("max-autotune"), compiler.ListModeOptions("max-autotune-no-cudagraphs"))
	try("list", func() { compiler.ListModeOptions("fast") })
	try("fine", func() { torch.Compile(f, kw.Mode("reduce-overhead"), kw.Dynamic(true)) })
}`
	dir := t.TempDir()
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(program(body)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := runProgram(t, body, true)
	if got.stdout != string(out) {
		t.Errorf("under the tracer\n%s%s\nunder go run\n%s", got.stdout, got.stderr, out)
	}
	for _, want := range []string{
		`autotune mode "max_autotune" is not supported, did you mean "max-autotune"? there are`, "autotuned <nil>",
		`tuned optimization option "memory_planning" is not supported with false: memory is always planned`,
		`near unexpected optimization option "epilog_fusion", did you mean "epilogue_fusion"? known options are`,
		`far unexpected optimization option "quux"; known options are`,
		`bool optimization option "epilogue_fusion": got int, should be bool`, `size optimization option "max_fusion_size": 0 is below 1`,
		`fixed optimization option "shape_padding" is not supported with false: what products pack is always padded to whole tiles`,
		`gpu optimization option "cuda.arch" is Inductor's, but is of GPUs, and kernels run on the CPU here; leave it out`,
		`bits optimization option "cpp.simdlen": 100 is no size of vectors: they have 128, 256 or 512 bits`,
		`word optimization option "cpp.enable_floating_point_contract_flag": "yes" is none of "off", "on" and "fast"`,
		"both either mode or options can be specified", "custom options are Inductor's", "ok <nil>",
		"[aot_eager eager inductor] [inductor] [allow_buffer_reuse autotune_local_cache compile_threads coordinate_descent_tuning " +
			"cpp.enable_floating_point_contract_flag cpp.simdlen cpp.threads debug epilogue_fusion force_disable_caches " +
			"force_layout_optimization freezing fx_graph_cache inplace_buffers layout_optimization max_autotune max_autotune_gemm " +
			"max_autotune_pointwise max_fusion_size nan_asserts pattern_matcher trace.enabled triton.cudagraphs]",
		"map[] map[triton.cudagraphs:true]", `list compiler.ListModeOptions: mode "fast" is not supported`,
		"map[coordinate_descent_tuning:true max_autotune:true triton.cudagraphs:true] " +
			"map[coordinate_descent_tuning:true max_autotune:true]",
		`mode mode "fast" is not supported; there are "default", "reduce-overhead", "max-autotune" and "max-autotune-no-cudagraphs"`,
		"eager mode mode \"fast\" is not supported", "passed over <nil>", "has no method Forward",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}

// TestResetIsNoOtherCompile: what is compiled anew after compiler.Reset says so.
func TestResetIsNoOtherCompile(t *testing.T) {
	got := both(t, `
func f(x *torch.Tensor) *torch.Tensor { return x.Sin() }
func main() {
	g := torch.Compile(f)
	for range 2 { fmt.Println(g(torch.Ones(2))); compiler.Reset() }
}`)
	var again []bool
	for _, info := range artifacts[logs.FrameInfo](got.log) {
		again = append(again, info.Again)
	}
	if !slices.Equal(again, []bool{false, true}) {
		t.Errorf("again: %v", again)
	}
}

// TestRegisterBackend: a backend that a program has registered is found by its name, and listed; a name that is taken
// is refused, as is none.
func TestRegisterBackend(t *testing.T) {
	got := both(t, `
func counting(gm *torch.GraphModule, _ []torch.Value) (func([]torch.Value) []torch.Value, error) { return gm.Forward, nil }
func refused(name string, f torch.BackendFunc) {
	defer func() { fmt.Println(recover()) }()
	compiler.RegisterBackend(name, f)
}
func main() {
	name := fmt.Sprintf("counting_%d", len(compiler.ListBackends())) // both ways of running it share a process
	compiler.RegisterBackend(name, counting, "mine")
	fmt.Println(torch.Compile(func(x *torch.Tensor) *torch.Tensor { return x.Sin() }, kw.Backend(name))(torch.Ones(2)))
	fmt.Println(len(compiler.ListBackends()) - len(compiler.ListBackends("mine")) > 0)
	refused("eager", counting)
	refused("custom", counting)
	refused("", counting)
	refused("none", nil)
}`)
	if ops := got.ops(); ops != "sin" {
		t.Errorf("captured %q", ops)
	}
	for _, want := range []string{
		`there is a backend "eager" already`, `there is a backend "custom" already`, "a backend needs a name", "the backend is nil",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
}
