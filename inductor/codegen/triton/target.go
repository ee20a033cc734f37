package triton

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/inductor/codegen"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes the program as a Python module that runs it on a GPU: the
// kernels in Triton, and a function call(args) that allocates the buffers, launches
// the kernels and calls PyTorch for what is extern.

// tritonHead opens every module.
const tritonHead = `import math
import time

import torch
` + Imports + `
aten = torch.ops.aten
device = torch.device("cuda")


def Mod(a, b):
    return a % b


Max, Min = max, min


def launch(kernel, programs, *args, **constants):
    if programs > 0:
        kernel[(programs,)](*args, **constants)


def view(x, shape, stride, offset):
    return torch.as_strided(x, shape, stride, x.storage_offset() + offset)


def fill(buffers, results):
    if isinstance(results, torch.Tensor):
        results = (results,)
    for buffer, result in zip(buffers, results):
        if result is not None:
            buffer.copy_(result)


def linear_grad(f, x, grad, dims):
    x = x.detach().requires_grad_()
    return torch.autograd.grad(f(x, grad.shape[-dims:]), x, grad)[0]
` + Helpers

// tritonMain ends it: python FILE times the graph.
const tritonMain = `

if __name__ == "__main__":
    args = example()
    call(args)
    torch.cuda.synchronize()
    start, runs = time.perf_counter(), 100
    for _ in range(runs):
        call(args)
    torch.cuda.synchronize()
    print(f"{(time.perf_counter() - start) / runs * 1e3:.3f} ms a call")
`

// module is one program in Python.
type module struct {
	plan    *plan.Plan
	sources []*Source // [] /* group */
	sb      strings.Builder
	names   []string // [] /* buffer */
	born    map[int]bool
	last    map[int]int // the step that uses a buffer last
	err     error
}

// Target writes Triton for a GPU.
type Target struct{}

// Name is the language.
func (Target) Name() string { return "triton" }

// Packing packs nothing: tiles are loaded from where the operands are.
func (Target) Packing(*plan.Plan, *ir.Node, int) (*ir.Buffer, plan.ConvForm, int64) { return nil, 0, 0 }

// Writer begins the module of a plan.
func (Target) Writer(p *plan.Plan) codegen.Writer {
	m := &module{plan: p, sources: make([]*Source, len(p.Kernels)), born: map[int]bool{}, last: map[int]int{}}
	for i := range p.Buffers {
		m.names = append(m.names, pythonName(p.Buffers[i].Name))
	}
	return m
}

// Kernel writes the kernel of a group.
func (m *module) Kernel(i int) (*codegen.Code, error) {
	src, err := Generate(m.plan.Kernels[i])
	if err != nil {
		return nil, err
	}
	m.sources[i] = src
	return &codegen.Code{Text: src.Text, Lines: src.Lines}, nil
}

// Head imports what the module needs.
func (m *module) Head() string {
	return fmt.Sprintf("# %s: %d kernels, %d extern calls; python THIS-FILE times it on a GPU\n", m.plan.Name, m.plan.Count(false),
		m.plan.Count(true)) + tritonHead
}

// Gap parts the kernels.
func (m *module) Gap() string { return "\n\n" }

// Tail is the function that runs the program, with an example.
func (m *module) Tail() (string, error) {
	m.call(m.sources)
	m.example()
	m.sb.WriteString(tritonMain)
	return m.sb.String(), m.err
}

// Build is nothing: the module is run as it is.
func (m *module) Build() *codegen.Build { return nil }

func (m *module) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

func (m *module) p(format string, args ...any) { fmt.Fprintf(&m.sb, format+"\n", args...) }

// pythonName is a name that Python takes and that is none of the module's own.
func pythonName(s string) string {
	s = graph.Word(s)
	switch s {
	case "args", "aten", "call", "pow_integer", "remainder", "device", "example", "fill", "launch", "libdevice", "linear_grad",
		"math", "Max", "Min", "Mod", "time", "tl", "torch", "triton", "triton_helpers", "view",
		"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "False",
		"finally", "for", "from", "global", "if", "import",
		"in", "is", "lambda", "None", "nonlocal", "not", "or", "pass", "raise", "return", "True", "try", "while", "with", "yield":
		return s + "_"
	}
	return s
}

// call writes the function that runs the graph.
func (m *module) call(sources []*Source) {
	m.uses(sources)
	m.p("\n\ndef call(args):")
	var names []string
	for i, slot := range m.plan.Inputs {
		if slot < 0 {
			names = append(names, fmt.Sprintf("number%d", i))
			continue
		}
		names = append(names, m.names[slot])
		m.born[slot] = true
	}
	if len(names) > 0 {
		m.p("    %s, = args", strings.Join(names, ", "))
	}
	for _, s := range m.plan.Symbols {
		m.p("    %s = %s", s.Sym.Name, symbolText(s, names[s.Input]))
	}
	for _, once := range []bool{true, false} { // what depends on parameters alone comes first
		for i, g := range m.plan.Groups {
			if g.Hoisted == once {
				m.step(i, sources[i])
			}
		}
	}
	var outs []string
	for i := range m.plan.Outputs {
		outs = append(outs, m.output(&m.plan.Outputs[i]))
	}
	m.p("    return [%s]", strings.Join(outs, ", "))
}

func symbolText(s plan.Symbol, name string) string {
	switch {
	case s.Dim < 0:
		return name
	case s.Stride:
		return fmt.Sprintf("%s.stride(%d)", name, s.Dim)
	}
	return fmt.Sprintf("%s.size(%d)", name, s.Dim)
}

// uses notes which step uses each buffer last.
func (m *module) uses(sources []*Source) {
	for i := range m.plan.Groups {
		for _, slot := range m.touched(i, sources[i]) {
			m.last[slot] = i
		}
	}
}

// touched lists the buffers of step i.
func (m *module) touched(i int, src *Source) []int {
	var out []int
	add := func(b *ir.Buffer, _ *ir.Index) {
		if slot, ok := m.plan.Placed(b); ok {
			out = append(out, slot)
		}
	}
	if src != nil {
		for _, b := range src.Buffers {
			add(b, nil)
		}
		return out
	}
	for _, it := range m.plan.Groups[i].Members() {
		it.Node.Reads(add)
		it.Node.Writes(add)
	}
	return out
}

// step allocates what the step writes, runs it, and frees what nobody uses after it.
func (m *module) step(i int, src *Source) {
	touched := m.touched(i, src)
	for _, slot := range touched {
		m.allocate(slot)
	}
	if k := m.plan.Kernels[i]; k == nil {
		m.extern(m.plan.Extern(m.plan.Groups[i].Items[0].Node, m.plan.Names[i]))
	} else if src != nil {
		m.launch(k, src)
	}
	var dead []string
	for _, slot := range touched {
		if m.last[slot] == i && m.plan.Buffers[slot].Role == plan.RoleArena && m.born[slot] {
			m.born[slot] = false
			dead = append(dead, m.names[slot])
		}
	}
	if len(dead) > 0 {
		m.p("    del %s", strings.Join(dead, ", "))
	}
}

func (m *module) allocate(slot int) {
	b := &m.plan.Buffers[slot]
	if m.born[slot] {
		return
	}
	m.born[slot] = true
	if b.Role == plan.RoleOver {
		m.p("    %s = %s", m.names[slot], m.names[m.plan.Inputs[b.Over]])
		return
	}
	m.p(
		"    %s = torch.empty_strided(%s, %s, dtype=torch.%s, device=device)", m.names[slot], sizesText(b.Shape),
		sizesText(b.Stride), b.DType.Name(),
	)
}

func sizesText(xs []sym.Int) string {
	parts := make([]string, len(xs))
	for i, x := range xs {
		parts[i] = x.String()
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func (m *module) launch(k *sched.Kernel, src *Source) {
	args := []string{k.Name, src.Programs.String()}
	for _, b := range src.Buffers {
		args = append(args, m.names[m.plan.Slot(b)])
	}
	for _, x := range append(src.Sizes, src.Numbers...) {
		args = append(args, x.String())
	}
	for _, c := range src.Constants {
		args = append(args, fmt.Sprintf("%s=%d", c.Name, c.Value))
	}
	m.p("    launch(%s)", strings.Join(args, ", "))
}

// output is one result.
func (m *module) output(o *plan.Output) string {
	if o.Buffer < 0 {
		return m.arg(o.Value)
	}
	m.allocate(o.Buffer) // one without elements is written by nobody
	b := &m.plan.Buffers[o.Buffer]
	if b.Role == plan.RoleOver || sym.AllSame(o.Shape, b.Shape) && sym.AllSame(o.Stride, b.Stride) && sym.Is(o.Offset, 0) {
		return m.names[o.Buffer]
	}
	return fmt.Sprintf("view(%s, %s, %s, %s)", m.names[o.Buffer], sizesText(o.Shape), sizesText(o.Stride), o.Offset)
}

// example writes inputs of the sizes seen at compile time.
func (m *module) example() {
	m.p("\n\ndef example():")
	m.p("    return [")
	for i, slot := range m.plan.Inputs {
		if slot < 0 {
			m.p("        %s,", m.number(i))
			continue
		}
		b := &m.plan.Buffers[slot]
		shape, stride := sizesText(sym.Consts(hints(b.Shape))), sizesText(sym.Consts(hints(b.Stride)))
		m.p("        torch.empty_strided(%s, %s, dtype=torch.%s, device=device)%s,", shape, stride, b.DType.Name(), filling(b.DType))
	}
	m.p("    ]")
}

// number is what a scalar input was at compile time.
func (m *module) number(input int) string {
	for _, s := range m.plan.Symbols {
		if s.Input == input && s.Dim < 0 {
			return strconv.FormatInt(ir.HintOf(s.Sym.Int()), 10)
		}
	}
	return "None"
}

func hints(xs []sym.Int) []int {
	out := make([]int, len(xs))
	for i, x := range xs {
		out[i] = int(ir.HintOf(x))
	}
	return out
}

// filling gives an example its values: numbers that are positions are 0.
func filling(d ops.DType) string {
	if d.IsFloat() {
		return ".normal_()"
	}
	return ".zero_()"
}
