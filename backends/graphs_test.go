package backends

import (
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"slices"
	"testing"

	"tcdbg/graph"
	"tcdbg/internal/test"
	"tcdbg/ops"
	"tcdbg/ops/sym"
	"tcdbg/torch"
	"tcdbg/tracer"
)

// testGraph builds graphs by hand together with inputs that fit them.
type testGraph struct {
	*graph.Builder
	in []torch.Value
}

func newTestGraph(name string) *testGraph {
	return &testGraph{Builder: &graph.Builder{G: graph.New(name, nil)}}
}

// input adds a placeholder for t.
func (g *testGraph) input(t *torch.Tensor) *graph.Node {
	name := fmt.Sprintf("l_x%d_", len(g.in))
	g.in = append(g.in, t)
	return g.G.Input(name, "L_x"+fmt.Sprint(len(g.in)-1)+"_", "L.x"+fmt.Sprint(len(g.in)-1), t.TensorMeta())
}

// param adds a placeholder that counts as a module's parameter.
func (g *testGraph) param(t *torch.Tensor) *graph.Node {
	n := g.input(t)
	n.Source = "L.net.Weight" + n.Name
	return n
}

func (g *testGraph) outputs(vs ...ops.Value) *graph.Module {
	args := make([]ops.Arg, len(vs))
	for i, v := range vs {
		args[i] = v
	}
	g.G.SetOutput(args)
	return graph.NewModule(g.G)
}

// filled makes a tensor of the given type with numbers in about [-3, 3).
func filled(d ops.DType, seed int, shape ...int) *torch.Tensor {
	n := 1
	for _, s := range shape {
		n *= s
	}
	st := torch.NewStorage(n * d.Size())
	stride := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		stride[i] = step
		step *= shape[i]
	}
	state := uint64(seed)*2654435761 + 12345
	next := func() float64 {
		state = state*6364136223846793005 + 1442695040888963407
		return float64(state>>40)/float64(1<<24)*6 - 3
	}
	for i := range n {
		putElement(st.Bytes(), d, i, next())
	}
	return torch.FromStorage(st, d, shape, stride, 0)
}

func putElement(b []byte, d ops.DType, i int, v float64) {
	u := func(x uint64, w int) {
		for k := range w {
			b[i*w+k] = byte(x >> (8 * k))
		}
	}
	switch d {
	case ops.Float32:
		u(uint64(math.Float32bits(float32(v))), 4)
	case ops.Float64:
		u(math.Float64bits(v), 8)
	case ops.Int32:
		u(uint64(uint32(int32(v*3))), 4)
	case ops.Int64:
		u(uint64(int64(v*3)), 8)
	case ops.Uint8:
		u(uint64(uint8(math.Abs(v*3))), 1)
	case ops.Bool:
		b[i] = 0
		if v > 0 {
			b[i] = 1
		}
	}
}

// elements reads a tensor in row-major order as float64.
func elements(t *torch.Tensor) []float64 {
	shape, stride, off := t.Layout()
	d := t.TensorMeta().DType
	n := 1
	for _, s := range shape {
		n *= s
	}
	out := make([]float64, 0, n)
	at := make([]int, len(shape))
	for range n {
		i := off
		for k, x := range at {
			i += x * stride[k]
		}
		out = append(out, element(t.Storage().Bytes(), d, i))
		for k := len(at) - 1; k >= 0; k-- { // the last digit counts fastest
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
	return out
}

func element(b []byte, d ops.DType, i int) float64 {
	u := func(w int) (x uint64) {
		for k := range w {
			x |= uint64(b[i*w+k]) << (8 * k)
		}
		return x
	}
	switch d {
	case ops.Float32:
		return float64(math.Float32frombits(uint32(u(4))))
	case ops.Float64:
		return math.Float64frombits(u(8))
	case ops.Int32:
		return float64(int32(u(4)))
	case ops.Int64:
		return float64(int64(u(8)))
	}
	return float64(b[i])
}

// sameValues compares results with eager's: layout and type exactly, numbers
// within a relative tolerance.
func sameValues(got, want []torch.Value, tol float64) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d results, want %d", len(got), len(want))
	}
	for i := range got {
		g, ok := got[i].(*torch.Tensor)
		w, wok := want[i].(*torch.Tensor)
		if !ok || !wok {
			if got[i] != want[i] {
				return fmt.Errorf("result %d is %v, want %v", i, got[i], want[i])
			}
			continue
		}
		if err := sameTensor(g, w, tol); err != nil {
			return fmt.Errorf("result %d: %w", i, err)
		}
	}
	return nil
}

func sameTensor(g, w *torch.Tensor, tol float64) error {
	gm, wm := g.TensorMeta(), w.TensorMeta()
	if gm.DType != wm.DType || ops.ShapeText(gm.Shape) != ops.ShapeText(wm.Shape) {
		return fmt.Errorf("is %s%s, want %s%s", gm.DType, ops.ShapeText(gm.Shape), wm.DType, ops.ShapeText(wm.Shape))
	}
	if ops.ShapeText(gm.Stride) != ops.ShapeText(wm.Stride) {
		return fmt.Errorf("has strides %s, want %s", ops.ShapeText(gm.Stride), ops.ShapeText(wm.Stride))
	}
	a, b := elements(g), elements(w)
	for k := range a {
		if math.IsNaN(a[k]) && math.IsNaN(b[k]) || a[k] == b[k] {
			continue
		}
		if !(math.Abs(a[k]-b[k]) <= tol*(1+math.Abs(b[k]))) {
			return fmt.Errorf("element %d is %v, want %v", k, a[k], b[k])
		}
	}
	return nil
}

// sharedCache keeps the runtime library between the tests of one run.
var sharedCache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tcdbg-test-")
	if err != nil {
		panic(err)
	}
	sharedCache = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// inductorAt is the inductor backend with vectors of so many lanes; 0 is the
// interpreter.
func inductorAt(t testing.TB, lanes int) tracer.Backend {
	t.Helper()
	cfg := Config{CacheDir: sharedCache, Lanes: lanes, Threads: 2, Stderr: t.Output()}
	if lanes == 0 {
		cfg.CC, cfg.Lanes = "none", 8
	} else {
		needCompiler(t)
		needLanes(t, lanes)
	}
	b, err := NewSet(cfg).Get("inductor")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func needCompiler(t testing.TB) {
	t.Helper()
	if _, err := findCompiler(""); err != nil || !canLoad {
		t.Skip("no C compiler: compiled code is not tested")
	}
}

// widths are the vector widths that are tested; 0 is the interpreter.
var widths = slices.DeleteFunc([]int{0, 4, 8, 16}, tooWide)

// tooWide reports whether the library cannot be compiled for vectors of so many numbers: vectors of 16 have instructions of AVX-512
// alone, where a compiler would need minutes to do without.
func tooWide(lanes int) bool { return lanes > max(thisCPU().Lanes, 8) }

func needLanes(t testing.TB, lanes int) {
	t.Helper()
	if tooWide(lanes) {
		t.Skipf("this processor has no vectors of %d numbers: code for them is not run", lanes)
	}
}

// widthsOf are the widths that a test runs on: all of them in the long form; the interpreter
// and one more in the short form. That one depends on the test's name, so that every width
// has its share of the tests.
func widthsOf(t testing.TB) []int {
	t.Helper()
	if !slices.Contains(widths, 16) {
		t.Log("this processor has no vectors of 16 numbers: code for them is not run")
	}
	if test.IsLong() {
		return widths
	}
	h := fnv.New32a()
	_, _ = io.WriteString(h, t.Name())
	compiled := widths[1:]
	return []int{0, compiled[int(h.Sum32()>>4)%len(compiled)]}
}

// everywhere runs the module on the widths of the test and compares with eager.
func everywhere(t *testing.T, m *graph.Module, in []torch.Value, tol float64) {
	t.Helper()
	want := m.Run(in)
	for _, w := range widthsOf(t) {
		t.Run(fmt.Sprintf("lanes%d", w), func(t *testing.T) {
			run, err := inductorAt(t, w).Compile(&tracer.Request{Module: m, Example: in})
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := sameValues(run(in), want, tol); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func ints(xs ...int) []sym.Int { return sym.Consts(xs) }
