package repro

import (
	_ "embed" // the parts of the program
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tcdbg/explain"
	"tcdbg/internal/app/lowering"
	"tcdbg/logs/fx"
)

// This file writes a program of PyTorch of a captured graph's own text, where PyTorch has not put one into the
// trace: the class as it is there, inputs of the shapes, strides and dtypes that it names, and a comparison with eager execution.

//go:embed py/head.py
var programHead string

//go:embed py/tail.py
var programTail string

// TorchProgram is the program of a graph of PyTorch's trace. backend is a name, or "module:function".
func TorchProgram(r *explain.Report, c *explain.Compile, seed int64, backend string) (string, error) {
	source := text(c.Graph, captured)
	g := fx.Parse(source)
	if g == nil || !strings.Contains(source, "class ") {
		return "", errors.New("the trace has no text of the graph that is a program")
	}
	p := &torchProgram{g: g, c: c, sizes: lowering.Hints(r, c.Graph.ID)}
	if err := p.check(g); err != nil {
		return "", fmt.Errorf("graph %s cannot be written as a program: %w", c.ID.CompileID, err)
	}
	args, err := p.loadArgs()
	if err != nil {
		return "", fmt.Errorf("graph %s cannot be written as a program: %w", c.ID.CompileID, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"Graph %s of %s, compiled alone.\n\n", c.ID.CompileID, docText(c.Frame.Name))
	b.WriteString("It runs the graph compiled and eagerly on random inputs of the recorded shapes, strides and dtypes, prints\n" +
		"where results differ, and then exits with 1. Whole numbers are 0. Written by tcdbg repro.\n\"\"\"\n")
	b.WriteString(programHead)
	fmt.Fprintf(&b, "\nSEED = %d\nBACKEND = %s\n\n\n", seed, strconv.Quote(backend))
	b.WriteString(classText(source))
	b.WriteString("\n\n" + args + "\n\n" + programTail)
	return b.String(), nil
}

// DefaultBackend is the backend of graphs of PyTorch's.
const DefaultBackend = "inductor"

// docText is a text for a docstring.
func docText(s string) string { return strings.NewReplacer(`\`, "/", `"`, "'").Replace(shown(s)) }

var classLine = regexp.MustCompile(`(?m)^.*?\bclass (\w+)\(torch\.nn\.Module\):`)

// classText is the class of a graph under the name that programs of PyTorch's minifier have.
func classText(source string) string {
	at := classLine.FindStringIndex(source)
	if at == nil {
		return ""
	}
	var out []string
	for i, line := range strings.Split(source[at[1]:], "\n") {
		line = strings.TrimRight(strings.ReplaceAll(line, "\r", ""), " \t")
		if i > 0 && line != "" && line[0] != ' ' { // what follows the class
			break
		}
		out = append(out, line)
	}
	return "class Repro(torch.nn.Module):" + strings.TrimRight(strings.Join(out, "\n"), "\n") + "\n"
}

// torchProgram is a program that is being written.
type torchProgram struct {
	g     *fx.Graph
	c     *explain.Compile
	sizes map[string]int64
}

// roots are the names that the head of the program has.
var roots = []string{"torch", "operator", "_operator", "math", "device", "inf", "nan", "fx_pytree", "pytree", "NoneType"}

// check refuses what the text names and has not.
func (p *torchProgram) check(g *fx.Graph) error {
	for i := range g.Nodes {
		n := &g.Nodes[i]
		switch n.Op {
		case "call_module":
			return fmt.Errorf("its text does not have the module %s", shown(n.Target))
		case "get_attr":
			if !slices.ContainsFunc(g.Subs, func(s *fx.Graph) bool { return s.Name == n.Target }) {
				return fmt.Errorf("its text does not have the value of self.%s", shown(n.Target))
			}
		case "call_function":
			root, _, _ := strings.Cut(n.Target, ".")
			if !slices.Contains(roots, root) {
				return fmt.Errorf("it calls %s, which is the program's own", shown(n.Target))
			}
		}
	}
	for _, s := range g.Subs {
		if err := p.check(s); err != nil {
			return err
		}
	}
	return nil
}

// loadArgs is the function that makes the inputs.
func (p *torchProgram) loadArgs() (string, error) {
	var b strings.Builder
	b.WriteString("def load_args():\n    torch.manual_seed(SEED)\n")
	var values []string
	used := map[string]bool{}
	var bytes float64
	for i := range p.g.Nodes {
		n := &p.g.Nodes[i]
		if n.Op != "placeholder" {
			continue
		}
		v, err := p.value(n, used, &bytes)
		if err != nil {
			return "", fmt.Errorf("input %s: %w", shown(n.Target), err)
		}
		values = append(values, fmt.Sprintf("        %s,  # %s\n", v, shown(n.Target)))
	}
	if bytes > maxInputBytes {
		return "", fmt.Errorf("its inputs are more than %d GB", int64(maxInputBytes)>>30)
	}
	names := make([]string, 0, len(used))
	for name := range used {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "    %s = %d\n", name, p.sizes[name])
	}
	b.WriteString("    return [\n" + strings.Join(values, "") + "    ]\n")
	return b.String(), nil
}

const maxInputBytes = 64 << 30

// dtypes are PyTorch's names of the types that the text names in short.
var dtypes = map[string]string{
	"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128", "c32": "complex32",
	"i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "u16": "uint16", "u32": "uint32",
	"u64": "uint64", "b8": "bool",
	"f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
}

var (
	tensorType = regexp.MustCompile(`^([a-z0-9]+)\[([^\[\]]*)\]\[([^\[\]]*)\]([a-z]+(?::[0-9]+)?)$`)
	scalarType = regexp.MustCompile(`^Sym\((.*)\)$`)
	sizeText   = regexp.MustCompile(`^[A-Za-z0-9_ +*/()-]{1,400}$`)
	sizeName   = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// value is the expression that makes one input.
func (p *torchProgram) value(n *fx.Node, used map[string]bool, bytes *float64) (string, error) {
	if m := scalarType.FindStringSubmatch(n.Type); m != nil {
		return p.size(m[1], used)
	}
	m := tensorType.FindStringSubmatch(strings.TrimPrefix(strings.TrimSpace(n.Type), "Parameter "))
	if m == nil {
		return "", fmt.Errorf("the text does not say its dtype, shape and strides: %q", shown(n.Type))
	}
	d, ok := dtypes[m[1]]
	if !ok {
		return "", fmt.Errorf("the dtype %s is unknown", shown(m[1]))
	}
	shape, sizes, err := p.list(m[2], used)
	if err != nil {
		return "", err
	}
	stride, steps, err := p.list(m[3], used)
	if err != nil {
		return "", err
	}
	if len(sizes) != len(steps) {
		return "", errors.New("it has not as many sizes as strides")
	}
	*bytes += extent(sizes, steps) * 8
	out := fmt.Sprintf("rand_strided(%s, %s, torch.%s, '%s')", shape, stride, d, m[4])
	switch source := strings.ToLower(n.Target); {
	case !strings.Contains(d, "float"):
	case strings.Contains(source, "running_var"):
		out += ".abs_()"
	case len(sizes) > 1 && strings.Contains(source, "parameters"):
		out += fmt.Sprintf(".mul_(%.3g)", fanIn(sizes)) // results stay in bounds
	}
	if p.grad(n) && strings.Contains(d, "float") {
		out += ".requires_grad_()"
	}
	return out, nil
}

func fanIn(sizes []float64) float64 {
	n := 1.0
	for _, s := range sizes[1:] {
		n *= max(s, 1)
	}
	return 1 / math.Sqrt(n)
}

// extent is how many elements the memory of a tensor has.
func extent(sizes, steps []float64) float64 {
	n := 1.0
	for i, s := range sizes {
		n += max(s-1, 0) * steps[i]
	}
	return n
}

var notWord = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// grad reports whether an input requires gradients: its source does, and the graph was compiled to have some.
func (p *torchProgram) grad(n *fx.Node) bool {
	if slices.ContainsFunc(p.c.Graph.Stages, func(s explain.Stage) bool { return s.Name == "inference" }) {
		return false
	}
	return slices.ContainsFunc(p.c.GradSources, func(s string) bool { return notWord.ReplaceAllString(s, "_") == n.Target })
}

// list is a tuple of sizes, and what they are.
func (p *torchProgram) list(text string, used map[string]bool) (string, []float64, error) {
	if strings.TrimSpace(text) == "" {
		return "()", nil, nil
	}
	var exprs []string
	var values []float64
	for _, s := range strings.Split(text, ",") {
		expr, err := p.size(strings.TrimSpace(s), used)
		if err != nil {
			return "", nil, err
		}
		v, err := strconv.ParseFloat(expr, 64)
		if err != nil {
			if v = float64(p.sizes[expr]); v == 0 {
				v = 1
			}
		}
		exprs, values = append(exprs, expr), append(values, v)
	}
	return "(" + strings.Join(exprs, ", ") + ",)", values, nil
}

// size checks an expression of sizes, whose symbols the program sets.
func (p *torchProgram) size(expr string, used map[string]bool) (string, error) {
	if !sizeText.MatchString(expr) {
		return "", fmt.Errorf("the size %q has a form that programs do not have", shown(expr))
	}
	for _, name := range sizeName.FindAllString(expr, -1) {
		if _, ok := p.sizes[name]; !ok {
			return "", fmt.Errorf("the trace does not say what the size %s is", shown(name))
		}
		used[name] = true
	}
	return expr, nil
}
