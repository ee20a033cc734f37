package backends

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tcdbg/internal/test"
	"tcdbg/logs"
	"tcdbg/tracer/host"
)

// This file compares control flow with PyTorch's answers (testdata/flow/make.py): values
// and gradients under each backend, and the captured graph as it is printed.

type flowAnswers struct {
	X     [][]float64
	W     []float64
	Cases []flowCase

	setup string // what main begins with
}

type flowCase struct {
	Name, Go string
	Grad     bool
	Runs     []map[string][]float64
	Graph    []string
}

func readFlowAnswers(t *testing.T, folder string) *flowAnswers {
	t.Helper()
	data, err := os.ReadFile("testdata/" + folder + "/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	a := &flowAnswers{}
	if err := json.Unmarshal(data, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// text is a program that prints what a case computes, a line for each run and tensor.
func (a *flowAnswers) text(c *flowCase, options string) string {
	x, w := fmt.Sprintf("%#v", a.X), fmt.Sprintf("%#v", a.W)
	return fmt.Sprintf(`
func f(x, w *torch.Tensor) *torch.Tensor {
%s
}
func show(name string, t *torch.Tensor) {
	for _, v := range t.Reshape(-1).Float64s() { fmt.Printf("%%s %%.6f\n", name, v) }
}
func main() {
	%s
	g := torch.Compile(f, kw.Fullgraph(true)%s)
	for _, sign := range []float64{1, -1} {
		x := torch.NewTensor(%s, kw.Dtype(torch.Float32)).Mul(sign)
		w := torch.NewTensor(%s, kw.Dtype(torch.Float32))
		if %t { x, w = x.Detach().RequiresGrad_(), w.RequiresGrad_() }
		y := g(x, w)
		show("value", y.Detach())
		if !x.RequiresGrad() { continue }
		y.Mul(torch.Arange(1, y.Numel()+1).Reshape(y.Shape()...)).Sum().Backward()
		for i, t := range []*torch.Tensor{x, w} {
			d := t.Grad()
			if d == nil { d = torch.ZerosLike(t.Detach()) }
			show([]string{"x", "w"}[i], d)
		}
	}
}`, c.Go, a.setup, options, x, w, c.Grad)
}

// TestFlowAgrees wants PyTorch's values and gradients under each backend, with sizes that
// are constants and with symbols, and with a plan of the calls.
func TestFlowAgrees(t *testing.T) { readFlowAnswers(t, "flow").agree(t, 12) }

// agree compares values and gradients; the short form of the tests runs some of the cases.
func (a *flowAnswers) agree(t *testing.T, some int) {
	for _, c := range test.Some(t, some, a.Cases) {
		t.Run(c.Name, func(t *testing.T) {
			for _, options := range []string{"", ", kw.Dynamic(true)", `, kw.Mode("reduce-overhead")`} {
				prog, err := loadText(t, a.text(&c, options))
				if err != nil {
					t.Fatal(err)
				}
				for _, way := range differentials(t) {
					mode := strings.Contains(options, "Mode")
					if mode && way.name != "inductor" || way.name == "inductor" && strings.Contains(options, "Dynamic") && !test.IsLong() {
						continue
					}
					out, code, stderr := runText(prog, NewSet(way.cfg), way.backend)
					if code != 0 {
						t.Errorf("%s%s: exit %d\n%s", way.name, options, code, stderr)
						continue
					}
					c.compare(t, way.name+options, out)
				}
			}
		})
	}
}

func (c *flowCase) compare(t *testing.T, way, out string) {
	t.Helper()
	var want []string
	for _, r := range c.Runs {
		for _, name := range []string{"value", "x", "w"} {
			for _, v := range r[name] {
				want = append(want, fmt.Sprintf("%s %.6f", name, v))
			}
		}
	}
	got := strings.Split(strings.TrimSpace(out), "\n")
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d:\n%s", way, len(got), len(want), out)
		return
	}
	for i := range want {
		name, w, _ := strings.Cut(want[i], " ")
		other, g, _ := strings.Cut(got[i], " ")
		x, _ := strconv.ParseFloat(w, 64)
		y, err := strconv.ParseFloat(g, 64)
		if name != other || err != nil || math.Abs(x-y) > 1e-5*(1+math.Abs(x)) {
			t.Errorf("%s: number %d is %q, want %q", way, i, got[i], want[i])
			return
		}
	}
}

// capturedGraphs keeps the captured graphs of a trace.
type capturedGraphs struct{ texts []string }

func (s *capturedGraphs) Emit(o logs.Out) {
	if o.Kind == "dynamo_output_graph" {
		s.texts = append(s.texts, string(o.Payload))
	}
}

func (s *capturedGraphs) Stack(f []logs.Frame) any { return f }

// TestFlowPrintsAlike wants the captured graph as PyTorch prints it, but for the names of
// values. A number that becomes a tensor is another operator there.
func TestFlowPrintsAlike(t *testing.T) { readFlowAnswers(t, "flow").printAlike(t) }

// printAlike compares the captured graphs.
func (a *flowAnswers) printAlike(t *testing.T) {
	for _, c := range a.Cases {
		if strings.Contains(c.Go, "NewTensor") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			prog, err := loadText(t, a.text(&c, ""))
			if err != nil {
				t.Fatal(err)
			}
			log := &capturedGraphs{}
			runLogged(prog, NewSet(Config{}), "eager", log)
			if len(log.texts) != 1 {
				t.Fatalf("%d graphs", len(log.texts))
			}
			want, got := renamedGraph(c.Graph), renamedGraph(strings.Split(log.texts[0], "\n"))
			if !slices.Equal(want, got) {
				t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

var (
	graphWord  = regexp.MustCompile(`[.]?[A-Za-z_][A-Za-z0-9_]*`)
	graphType  = regexp.MustCompile(`"[^"]*"`)
	argName    = regexp.MustCompile(`([(]|, )(?:min|max|dtype) = `)
	moved      = regexp.MustCompile(`(movedim[(].*), [[](\d)[]], [[](\d)[]]`)
	bodyNumber = regexp.MustCompile(
		`\b(cond_true|cond_false|cond_fn|body_fn|map_body|scan_combine_fn|associative_scan_combine_fn|switch_branch\d)_\d+`,
	)
)

var (
	sizeNode     = regexp.MustCompile(`^(\w+): "Sym[(](.*)[)]" = (.*?)(?:;  .*)?$`)
	maxOne       = regexp.MustCompile(`Max[(]1, (u\d+)[)]`)
	unbackedName = regexp.MustCompile(`^u\d+$`)
)

// sizesInPlace writes whole numbers that PyTorch computes in nodes of their own where they are
// used, as ours are, and drops its checks of them.
func sizesInPlace(lines []string) []string {
	var out []string
	sizes := map[string]string{}
	for _, line := range lines {
		line = maxOne.ReplaceAllString(strings.TrimSpace(line), "$1") // of sizes that are taken for 2 or more
		m := sizeNode.FindStringSubmatch(line)
		read := m != nil && strings.HasSuffix(m[3], ".item()")
		line = graphWord.ReplaceAllStringFunc(line, func(w string) string {
			if x, ok := sizes[w]; ok {
				return x
			}
			return w
		})
		if m != nil && strings.ContainsAny(m[2], "<>") { // what is checked
			continue
		}
		if m != nil && !strings.Contains(m[2], "zuf") && !strings.HasPrefix(m[2], "ToFloat") {
			sizes[m[1]] = m[2]
			if !read {
				continue
			}
		}
		if !strings.Contains(line, "torch.ops.aten._assert_scalar") {
			out = append(out, line)
		}
	}
	return out
}

// renamedGraph is a graph's text without comments and dead values, in which second names
// are gone, values are numbered, and arguments are as a program most often writes them.
func renamedGraph(lines []string) []string {
	var out []string
	names, count := map[string]string{}, 0
	for _, line := range sizesInPlace(lines) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "class ") {
			names, count = map[string]string{}, 0
		}
		line = moved.ReplaceAllString(argName.ReplaceAllString(line, "$1"), "$1, $2, $3")
		line, _, _ = strings.Cut(bodyNumber.ReplaceAllString(line, "$1"), ";  ")
		if left, right, ok := strings.Cut(line, " = "); ok && !strings.ContainsAny(right, " .([") && names[right] != "" {
			names[left] = names[right]
			continue
		}
		// PyTorch takes a slice as an example, and leaves it in the graph.
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "select_copy") {
			continue
		}
		types := graphType.FindAllString(line, -1)
		line = graphType.ReplaceAllString(line, `""`)
		line = graphWord.ReplaceAllStringFunc(line, func(w string) string {
			switch w {
			case "class", "def", "forward", "self", "return", "torch", "GraphModule", "dim",
				"cond_true", "cond_false", "cond_fn", "body_fn", "map_body", "scan_combine_fn", "associative_scan_combine_fn":
				return w
			}
			if w[0] == '.' || unbackedName.MatchString(w) || strings.HasPrefix(w, "switch_branch") {
				return w
			}
			if names[w] == "" {
				names[w] = fmt.Sprintf("v%d", count)
				count++
			}
			return names[w]
		})
		for _, t := range types {
			line = strings.Replace(line, `""`, t, 1)
		}
		out = append(out, line)
	}
	return out
}

// flowTimes has a choice within a choice, and a loop, whose bodies take long.
const flowTimes = `
type of = []*torch.Tensor

func work(o ...*torch.Tensor) *torch.Tensor { return o[0].Cos().Exp().Tan().Sin().Sum() }

func f(x *torch.Tensor) *torch.Tensor {
	y := compiler.Cond(x.Sum().Gt(0), func(o ...*torch.Tensor) *torch.Tensor {
		return compiler.Cond(o[0].Sum().Gt(1e9), func(o ...*torch.Tensor) *torch.Tensor { return o[0].Sum() }, work, o[0])
	}, func(o ...*torch.Tensor) *torch.Tensor { return o[0].Tan().Sum() }, x)
	r := compiler.WhileLoop(func(c ...*torch.Tensor) *torch.Tensor { return c[0].Lt(3) },
		func(c ...*torch.Tensor) []*torch.Tensor { return of{c[0].Add(1).Add(work(x).Mul(0))} }, torch.NewTensor([]float32{0}))
	return y.Add(r[0])
}

func main() {
	g, x := torch.Compile(f), torch.Ones(1<<14)
	for range 5 {
		fmt.Println(g(x))
	}
}
`

// TestFlowTimes wants a time for a step of control flow, without that of its bodies' kernels.
func TestFlowTimes(t *testing.T) {
	prog, err := loadText(t, flowTimes)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range differentials(t) {
		if way.backend != "inductor" {
			continue
		}
		// Other work on the machine may stop a call between two kernels: a fault shows in every run, this in some.
		apart := false
		for try := 0; try < 5 && !apart; try++ {
			own, kernels := flowTimesOf(t, prog, way)
			if apart = own <= kernels; !apart {
				t.Logf("%s: steps take %d ns by themselves, kernels %d", way.name, own, kernels)
			}
		}
		if !apart {
			t.Errorf("%s: the steps take longer by themselves than their kernels, in every run", way.name)
		}
	}
}

// flowTimesOf runs the program and returns what its steps of control flow took by themselves, and what kernels took.
func flowTimesOf(t *testing.T, prog *host.Program, way differential) (own, kernels int64) {
	set := NewSet(way.cfg)
	start := time.Now()
	if out, code, stderr := runText(prog, set, way.backend); code != 0 {
		t.Fatalf("%s: exit %d\n%s%s", way.name, code, out, stderr)
	}
	wall, steps := int64(time.Since(start)), 0
	for _, k := range set.KernelTimes(true) {
		if !strings.HasPrefix(k.Kernel, "extern_cond") && !strings.HasPrefix(k.Kernel, "extern_while_loop") {
			kernels += k.Nanos
			continue
		}
		steps++
		own += k.Nanos
		if k.Calls != 5 || k.Timed != 4 || k.Nanos <= 0 {
			t.Errorf("%s: %+v, want 5 calls, of which 4 are timed", way.name, k)
		}
	}
	if steps != 3 || own+kernels > wall {
		t.Errorf("%s: %d steps take %d ns by themselves, kernels %d, and the program %d", way.name, steps, own, kernels, wall)
	}
	return own, kernels
}
