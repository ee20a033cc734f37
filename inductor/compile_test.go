package inductor

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/cpp"
	"tcdbg/internal/test/golden"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// build makes graphs without data.
type build struct {
	*graph.Builder
	env        *sym.Env
	inputs     int
	params     []bool
	noEpilogue bool
	noReuse    bool
	replaces   map[int]int // outputs that replace the content of inputs
}

func newBuild(name string) *build {
	env := &sym.Env{}
	return &build{Builder: &graph.Builder{G: graph.New(name, env)}, env: env}
}

func (b *build) add(d ops.DType, param bool, shape ...sym.Int) *graph.Node {
	m := &ops.TensorMeta{DType: d, Device: ops.CPU, Shape: shape, Stride: ops.ContiguousStrides(shape)}
	name := fmt.Sprintf("l_x%d_", b.inputs)
	b.inputs++
	b.params = append(b.params, param)
	return b.G.Input(name, strings.ToUpper(name[:1])+name[1:], "L.x", m)
}

func (b *build) input(shape ...int) *graph.Node {
	return b.add(ops.Float32, false, sym.Consts(shape)...)
}

func (b *build) param(shape ...int) *graph.Node {
	return b.add(ops.Float32, true, sym.Consts(shape)...)
}

// at gives the nodes made from here on a source line.
func (b *build) at(line int, code string) *build {
	b.Stack = []graph.Frame{{File: "model.go", Line: line, Func: "f", Code: code}}
	return b
}

func (b *build) compile(t testing.TB, outs ...ops.Value) *Program {
	t.Helper()
	args := make([]ops.Arg, len(outs))
	for i, o := range outs {
		args[i] = o
	}
	b.G.SetOutput(args)
	p, err := Compile(b.G, Options{
		Machine: cpp.Machine{Lanes: 8, Cache: 8 << 20}, Cores: 2, Params: b.params, Replaces: b.replaces,
		NoEpilogueFusion: b.noEpilogue, NoReuse: b.noReuse,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// kernels lists the names of a program's kernels and extern calls.
func kernels(p *Program) []string {
	var out []string
	for _, k := range p.Provenance.Kernels {
		out = append(out, k.Name)
	}
	return out
}

func wantKernels(t *testing.T, p *Program, want ...string) {
	t.Helper()
	if got := strings.Join(kernels(p), " "); got != strings.Join(want, " ") {
		t.Errorf("kernels are %s, want %s", got, strings.Join(want, " "))
		for _, f := range p.Fusions {
			t.Logf("%s %s with %s: %v %s (%s)", f.Kind, f.A, f.B, f.Fused, f.Reason, f.Why)
		}
	}
}

// graphs are small programs that show what the compiler does with each kind of
// operator; their loops, schedule and C are golden files.
var graphs = []struct {
	name string
	make func(b *build) []ops.Value
	want []string
}{
	{"bar", func(b *build) []ops.Value {
		x, y := b.input(10), b.input(10)
		b.at(10, "x := a.Div(a.Abs().Add(1))")
		q := b.Emit(ops.Div, x, b.Emit(ops.Add, b.Emit(ops.Abs, x), sym.C(1)))
		b.at(11, "if b.Sum().Lt(0).Bool() {")
		return []ops.Value{q, b.Emit(ops.Lt, b.Emit(ops.Sum, y), sym.C(0))}
	}, []string{"fused_abs_add_div_0", "fused_sum_lt_1"}},
	{"linear_relu_mul", func(b *build) []ops.Value {
		x, w, c := b.input(64, 32), b.param(48, 32), b.param(48)
		y := b.at(5, "y := net.Forward(x)").Emit(ops.Relu, b.Emit(ops.Linear, x, w, c))
		return []ops.Value{b.at(6, "return y.Mul(2)").Emit(ops.Mul, y, 2.0)}
	}, []string{"fused_linear_relu_mul_0"}},
	{"softmax", func(b *build) []ops.Value {
		return []ops.Value{b.Emit(ops.Softmax, b.Emit(ops.Mul, b.input(16, 128), 0.125), sym.C(-1))}
	}, []string{"fused_mul_softmax_0"}},
	{"layer_norm", func(b *build) []ops.Value {
		x, r, w, c := b.input(8, 96), b.input(8, 96), b.param(96), b.param(96)
		return []ops.Value{b.EmitN(ops.LayerNorm, b.Emit(ops.Add, x, r), sym.Consts([]int{96}), w, c)[0]}
	}, []string{"fused_add_layer_norm_0"}},
	{"two_reductions", func(b *build) []ops.Value {
		x := b.input(32, 100)
		dim := sym.Consts([]int{1})
		return []ops.Value{b.Emit(ops.Sum, x, dim), b.Emit(ops.Amax, x, dim)}
	}, []string{"fused_sum_amax_0"}},
	{"columns", func(b *build) []ops.Value {
		return []ops.Value{b.Emit(ops.Mean, b.input(100, 33), sym.Consts([]int{0}))}
	}, []string{"fused_mean_0"}},
	{"transposed", func(b *build) []ops.Value {
		x := b.input(12, 20)
		y := b.Emit(ops.Transpose, b.Emit(ops.Sin, x), sym.C(0), sym.C(1))
		return []ops.Value{b.Emit(ops.Contiguous, y)}
	}, []string{"fused_sin_contiguous_0"}},
	{"extern", func(b *build) []ops.Value {
		x := b.Emit(ops.Exp, b.input(8, 8))
		y := b.Emit(ops.Rand, sym.Consts([]int{8, 8}))
		return []ops.Value{b.Emit(ops.Mul, x, y)}
	}, []string{"extern_rand_0", "fused_exp_mul_1"}},
	{"concat", func(b *build) []ops.Value {
		x, y := b.input(4, 8), b.input(4, 3)
		return []ops.Value{b.Emit(ops.Cat, []ops.Value{b.Emit(ops.Relu, x), y}, sym.C(1))}
	}, nil},
	{"conv_bn_relu", func(b *build) []ops.Value {
		x, w := b.input(2, 3, 8, 8), b.param(4, 3, 3, 3)
		mean, v, gamma, beta := b.param(4), b.param(4), b.param(4), b.param(4)
		y := b.Emit(ops.Conv2d, x, w, nil, sym.Consts([]int{1, 1}), sym.Consts([]int{1, 1}))
		return []ops.Value{b.Emit(ops.Relu, b.Emit(ops.BatchNorm, y, mean, v, gamma, beta))}
	}, nil},
	{"attention", func(b *build) []ops.Value {
		q, k, v := b.input(2, 4, 16, 8), b.input(2, 4, 16, 8), b.input(2, 4, 16, 8)
		s := b.Emit(ops.Matmul, q, b.Emit(ops.Transpose, k, sym.C(-2), sym.C(-1)))
		p := b.Emit(ops.Softmax, b.Emit(ops.Div, s, 2.5), sym.C(-1))
		return []ops.Value{b.Emit(ops.Matmul, p, v)}
	}, []string{"fused_matmul_div_0", "fused_softmax_1", "fused_matmul_2"}},
}

func TestGraphs(t *testing.T) {
	for _, g := range graphs {
		t.Run(g.name, func(t *testing.T) {
			b := newBuild(g.name)
			p := b.compile(t, g.make(b)...)
			if g.want != nil {
				wantKernels(t, p, g.want...)
			}
			var sb strings.Builder
			sb.WriteString("== loops\n" + p.IR + "\n== decisions\n")
			for _, f := range p.Fusions {
				once := ""
				if f.Once {
					once = ", once"
				}
				fmt.Fprintf(&sb, "%s %s with %s: %s; score %d%s\n    %s\n", f.Kind, f.A, f.B, f.Reason, f.Score, once, f.Why)
			}
			sb.WriteString("\n== code\n" + p.Wrapper)
			golden.Equal(t, filepath.Join("testdata", g.name+".txt"), []byte(sb.String()))
		})
	}
}

func TestCompileTwiceGivesTheSame(t *testing.T) {
	for _, g := range graphs {
		b, c := newBuild(g.name), newBuild(g.name)
		p, q := b.compile(t, g.make(b)...), c.compile(t, g.make(c)...)
		if strings.Join(p.Shards, "\n") != strings.Join(q.Shards, "\n") || p.Wrapper != q.Wrapper {
			t.Errorf("%s: two compilations differ", g.name)
		}
	}
}

// TestCodeIsCPlusPlusToo feeds every program to a C++ compiler.
func TestCodeIsCPlusPlusToo(t *testing.T) {
	cxx, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no C++ compiler: that the code is C++ too is not tested")
	}
	for _, g := range graphs {
		b := newBuild(g.name)
		p := b.compile(t, g.make(b)...)
		cmd := exec.Command(cxx, "-fsyntax-only", "-w", "-march=native", "-x", "c++", "-")
		cmd.Stdin = strings.NewReader(p.Shards[0])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", g.name, err, out)
		}
	}
}

func TestMemoryPlanReuses(t *testing.T) {
	b := newBuild("chain")
	x := b.input(64, 64)
	w := b.input(64, 64)
	var v ops.Value = x
	for range 6 {
		v = b.Emit(ops.Mm, v, w)
	}
	p := b.compile(t, v)
	const one = 64 * 64 * 4
	if p.Memory.SumBytes != 5*one || p.Arena != 2*one {
		t.Errorf("arena of %d bytes for buffers of %d, want %d for %d", p.Arena, p.Memory.SumBytes, 2*one, 5*one)
	}
	reused := 0
	for _, l := range p.Memory.Buffers {
		if l.Reuses != "" {
			reused++
		}
	}
	if reused != 3 {
		t.Errorf("%d buffers take another's place, want 3: %+v", reused, p.Memory.Buffers)
	}
}

// TestOnceHoldsForWholeBuffers: a buffer of which one piece depends on an input is
// made in every call, all of it.
func TestOnceHoldsForWholeBuffers(t *testing.T) {
	b := newBuild("pieces")
	x, w := b.input(6), b.param(6)
	list := []ops.Value{b.Emit(ops.Exp, w), b.Emit(ops.Exp, x)}
	p := b.compile(t, b.Emit(ops.Sum, b.Emit(ops.Cat, list)))
	if n := strings.Count(p.IR, " once"); n != 1 {
		t.Errorf("%d nodes run once, want 1, the exponential of the parameter:\n%s", n, p.IR)
	}
}

func TestProvenance(t *testing.T) {
	b := newBuild("prov")
	x := b.input(64)
	y := b.at(7, "y := x.Sin()").Emit(ops.Sin, x)
	p := b.compile(t, b.at(8, "return y.Add(1)").Emit(ops.Add, y, sym.C(1)))
	lines := strings.Split(p.Wrapper, "\n")
	k := p.Provenance.Kernels[0]
	found := map[int]string{}
	for _, l := range k.Lines {
		if l.Line < k.From || l.Line > k.To {
			t.Errorf("line %d lies outside the kernel's %d-%d", l.Line, k.From, k.To)
		}
		found[l.Pos[0].Line] = lines[l.Line-1]
	}
	if !strings.Contains(found[7], "sin") && !strings.Contains(found[7], "= ") || !strings.Contains(found[8], "= ") {
		t.Errorf("source lines lead to %v", found)
	}
	if !strings.Contains(p.Wrapper, "// sin: model.go:7 y := x.Sin()") {
		t.Error("the code does not name the source line")
	}
}

// TestProvenanceNamesTheLine: the line that a node is said to be computed at is a
// statement, and the comment above it names the node's operator.
func TestProvenanceNamesTheLine(t *testing.T) {
	for _, g := range graphs {
		b := newBuild(g.name)
		p := b.compile(t, g.make(b)...)
		opOf := map[string]string{}
		for n := b.G.First(); n != nil; n = n.Next() {
			if row := n.OpRow(); row != nil {
				opOf[n.Name] = row.Name
			}
		}
		lines := strings.Split(p.Wrapper, "\n")
		for _, k := range p.Provenance.Kernels {
			if k.Extern {
				continue
			}
			if !strings.HasPrefix(lines[k.From-1], "// "+k.Name+":") || lines[k.To-1] != "}" {
				t.Errorf("%s: %s is said to be lines %d to %d: %q, %q", g.name, k.Name, k.From, k.To, lines[k.From-1], lines[k.To-1])
			}
			for _, l := range k.Lines {
				at := l.Line - 1
				if s := strings.TrimSpace(lines[at]); !strings.HasSuffix(s, ";") {
					t.Errorf("%s: line %d is no statement: %q", g.name, l.Line, s)
				}
				for !strings.HasPrefix(strings.TrimSpace(lines[at]), "//") {
					at--
				}
				node := l.Nodes[len(l.Nodes)-1]
				if op := opOf[node]; op != "" && !strings.HasPrefix(strings.TrimSpace(lines[at]), "// "+op) {
					t.Errorf("%s: line %d computes %s (%s), but is below %q", g.name, l.Line, node, op, lines[at])
				}
			}
		}
	}
}

func TestMutationIsRefusedByName(t *testing.T) {
	b := newBuild("mut")
	x := b.input(4)
	row, ok := ops.Lookup("add_")
	if !ok {
		t.Fatal("no row add_")
	}
	bound, err := ops.Bind(row, []ops.Arg{x, sym.C(1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n, err := b.Call(row, bound, graph.CallMethod)
	if err != nil {
		t.Fatal(err)
	}
	b.G.SetOutput([]ops.Arg{n})
	if _, err = Compile(b.G, Options{Machine: cpp.Machine{Lanes: 8}}); err == nil || !strings.Contains(err.Error(), "add_") {
		t.Errorf("error: %v", err)
	}
}

// farNodes is more than lie between nodes that are fused for a common input.
const farNodes = 70

// TestRefusalReasons: each pair is refused for the reason that PyTorch gives.
func TestRefusalReasons(t *testing.T) {
	cases := []struct {
		reason string
		make   func(b *build) []ops.Value
	}{
		{"node2 is extern or nop", func(b *build) []ops.Value {
			r := b.Emit(ops.Rand, sym.Consts([]int{8}))
			return []ops.Value{b.Emit(ops.Sin, r)}
		}},
		{"template epilogue not satisfied", func(b *build) []ops.Value {
			y := b.Emit(ops.Mm, b.input(8, 8), b.input(8, 8))
			return []ops.Value{b.Emit(ops.Sum, y, sym.Consts([]int{1}))}
		}},
		{"prologue fusion turned off", func(b *build) []ops.Value {
			return []ops.Value{b.Emit(ops.Mm, b.Emit(ops.Relu, b.input(8, 8)), b.input(8, 8))}
		}},
		{"numel/rnumel mismatch (reduce)", func(b *build) []ops.Value {
			x := b.input(8, 12)
			return []ops.Value{b.Emit(ops.Sum, x, sym.Consts([]int{0})), b.Emit(ops.Sum, x, sym.Consts([]int{1}))}
		}},
		{"Nodes are too far away", func(b *build) []ops.Value {
			x := b.input(8, 8)
			first := b.Emit(ops.Sin, x)
			var v ops.Value = b.input(8, 8)
			for range farNodes {
				v = b.Emit(ops.Mm, v, b.input(8, 8))
			}
			return []ops.Value{first, b.Emit(ops.Cos, x), b.Emit(ops.Tan, x), v, b.Emit(ops.Exp, x)}
		}},
		{"memory deps did not match", func(b *build) []ops.Value {
			x := b.Emit(ops.Sin, b.input(8))
			return []ops.Value{x, b.Emit(ops.Mul, x, b.Emit(ops.Flip, x, sym.Consts([]int{0})))}
		}},
	}
	for _, c := range cases {
		b := newBuild("refused")
		p := b.compile(t, c.make(b)...)
		found := false
		for _, f := range p.Fusions {
			found = found || !f.Fused && f.Reason == c.reason
		}
		if !found {
			t.Errorf("no refusal for %q: %+v", c.reason, p.Fusions)
		}
	}
}

// distinctGraph has n operators in layers of ten of which no two are alike.
func distinctGraph(b *build, n int) ops.Value {
	unary := []ops.ID{ops.Tanh, ops.Sigmoid, ops.Sin, ops.Relu, ops.Abs, ops.Exp, ops.Cos, ops.Erf}
	var v ops.Value = b.input(4, 32)
	width := 32
	for layer := range n / 10 {
		next := 17 + layer%331
		v = b.Emit(ops.Mm, v, b.param(width, next))
		for k := range 4 {
			v = b.Emit(unary[(layer>>(2*k)+k)%len(unary)], v)
		}
		v = b.Emit(ops.Softmax, v, sym.C(-1))
		for k := range 4 {
			v = b.Emit(unary[(layer>>(2*k)+k+3)%len(unary)], v)
		}
		width = next
	}
	return v
}

// longGraph is a chain of n operators with products, rows and a long-lived input
// between them.
func longGraph(b *build, n int) ops.Value {
	x := b.input(64, 64)
	w := b.param(64, 64)
	var v ops.Value = x
	for i := range n {
		switch i % 10 {
		case 9:
			v = b.Emit(ops.Mm, v, w)
		case 4:
			v = b.Emit(ops.Softmax, v, sym.C(-1))
		case 2:
			v = b.Emit(ops.Add, v, x)
		default:
			v = b.Emit(ops.Tanh, v)
		}
	}
	return v
}

func benchmarkCompile(b *testing.B, graph func(b *build, n int) ops.Value, n int) {
	for b.Loop() {
		g := newBuild("long")
		v := graph(g, n)
		g.compile(b, v)
	}
}

func BenchmarkCompile100Nodes(b *testing.B)     { benchmarkCompile(b, longGraph, 100) }
func BenchmarkCompile1000Nodes(b *testing.B)    { benchmarkCompile(b, longGraph, 1000) }
func BenchmarkCompile4000Nodes(b *testing.B)    { benchmarkCompile(b, longGraph, 4000) }
func BenchmarkCompile1000Distinct(b *testing.B) { benchmarkCompile(b, distinctGraph, 1000) }
func BenchmarkCompile4000Distinct(b *testing.B) { benchmarkCompile(b, distinctGraph, 4000) }

// TestEveryPassIsChecked wants a check in each row but the one that only writes records.
func TestEveryPassIsChecked(t *testing.T) {
	for _, p := range passes.Rows() {
		if p.Check == nil && p.Name != "show" {
			t.Errorf("nothing checks what the pass %s leaves", p.Name)
		}
	}
}

// Positions that were checked are not checked again: the same elements of an input, against
// the same bounds.
func TestPositionsAreCheckedOnce(t *testing.T) {
	for name, c := range map[string]struct {
		make func(b *build, ids *graph.Node) []ops.Value
		want int
	}{
		"two tables of one length": {func(b *build, ids *graph.Node) []ops.Value {
			return []ops.Value{b.Emit(ops.Embedding, ids, b.input(9, 4)), b.Emit(ops.Embedding, ids, b.input(9, 5))}
		}, 1},
		"two lengths": {func(b *build, ids *graph.Node) []ops.Value {
			return []ops.Value{b.Emit(ops.Embedding, ids, b.input(9, 4)), b.Emit(ops.Embedding, ids, b.input(8, 4))}
		}, 2},
		"in another shape": {func(b *build, ids *graph.Node) []ops.Value {
			return []ops.Value{
				b.Emit(ops.Embedding, ids, b.input(9, 4)),
				b.Emit(ops.Embedding, b.Emit(ops.View, ids, dims(6)), b.input(9, 5)),
			}
		}, 1},
		"a part, then all": {func(b *build, ids *graph.Node) []ops.Value {
			part := b.Emit(ops.Slice, ids, sym.C(1), sym.C(0), sym.C(2))
			return []ops.Value{b.Emit(ops.Embedding, part, b.input(9, 4)), b.Emit(ops.Embedding, ids, b.input(9, 5))}
		}, 2},
		"no elements": {func(b *build, ids *graph.Node) []ops.Value {
			return []ops.Value{b.Emit(ops.Embedding, ids, b.input(9, 0)), b.Emit(ops.Embedding, ids, b.input(9, 5))}
		}, 2},
	} {
		b := newBuild("positions")
		p := b.compile(t, c.make(b, b.add(ops.Int64, false, dims(2, 3)...))...)
		if n := strings.Count(p.IR, "= check."); n != c.want {
			t.Errorf("%s: %d checks, want %d\n%s", name, n, c.want, p.IR)
		}
	}
}
