package inductor

import (
	"fmt"
	"strconv"
	"strings"

	"tcdbg/graph"
	"tcdbg/inductor/codegen/triton"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/logs"
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
` + triton.Imports + `
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
` + triton.Helpers

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

// tritonWriter writes one module.
type tritonWriter struct {
	c     *compiler
	sb    strings.Builder
	line  int
	names []string // [] /* buffer */
	born  map[int]bool
	last  map[int]int // the step that uses a buffer last
	err   error
}

// tritonCode is the program as a module.
func (c *compiler) tritonCode() *logs.TritonCode {
	w := &tritonWriter{c: c, line: 1, born: map[int]bool{}, last: map[int]int{}}
	for i := range c.out.Buffers {
		w.names = append(w.names, pythonName(c.out.Buffers[i].Name))
	}
	code := &logs.TritonCode{Graph: c.out.Name}
	w.p("# %s: %d kernels, %d extern calls; python THIS-FILE times it on a GPU", c.out.Name, c.count(false), c.count(true))
	w.add(tritonHead)
	sources := make([]*triton.Source, len(c.ks))
	for i, k := range c.ks {
		if k == nil {
			continue
		}
		entry := logs.TritonKernel{Name: k.Name}
		src, err := triton.Generate(k)
		if err != nil {
			entry.Missing = err.Error()
			w.fail(err)
		} else {
			w.add("\n\n")
			sources[i], entry.From = src, w.line
			for _, l := range src.Lines {
				entry.Lines = addLine(entry.Lines, w.line+l.Line, l.Origin)
			}
			w.add(src.Text)
			entry.To = w.line - 1
		}
		code.Kernels = append(code.Kernels, entry)
	}
	kernels := w.sb.Len()
	w.call(sources)
	w.example()
	w.add(tritonMain)
	code.Text = w.sb.String()
	if w.err != nil {
		code.Text, code.Missing = code.Text[:kernels], w.err.Error()
	}
	return code
}

func (w *tritonWriter) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *tritonWriter) add(s string) {
	w.sb.WriteString(s)
	w.line += strings.Count(s, "\n")
}

func (w *tritonWriter) p(format string, args ...any) { w.add(fmt.Sprintf(format+"\n", args...)) }

// pythonName is a name that Python takes and that is none of the module's own.
func pythonName(s string) string {
	s = graph.Word(s)
	switch s {
	case "args", "aten", "call", "pow_integer", "remainder", "device", "example", "fill", "launch", "libdevice", "linear_grad", "math", "Max", "Min", "Mod", "time", "tl", "torch", "triton", "triton_helpers", "view",
		"and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except", "False", "finally", "for", "from", "global", "if", "import",
		"in", "is", "lambda", "None", "nonlocal", "not", "or", "pass", "raise", "return", "True", "try", "while", "with", "yield":
		return s + "_"
	}
	return s
}

// call writes the function that runs the graph.
func (w *tritonWriter) call(sources []*triton.Source) {
	w.uses(sources)
	w.p("\n\ndef call(args):")
	var names []string
	for i, slot := range w.c.out.Inputs {
		if slot < 0 {
			names = append(names, fmt.Sprintf("number%d", i))
			continue
		}
		names = append(names, w.names[slot])
		w.born[slot] = true
	}
	if len(names) > 0 {
		w.p("    %s, = args", strings.Join(names, ", "))
	}
	for _, s := range w.c.out.Symbols {
		w.p("    %s = %s", s.Sym.Name, symbolText(s, names[s.Input]))
	}
	for _, once := range []bool{true, false} { // what depends on parameters alone comes first
		for i, g := range w.c.groups {
			if g.Once == once {
				w.step(i, sources[i])
			}
		}
	}
	var outs []string
	for i := range w.c.out.Outputs {
		outs = append(outs, w.output(&w.c.out.Outputs[i]))
	}
	w.p("    return [%s]", strings.Join(outs, ", "))
}

func symbolText(s Symbol, name string) string {
	switch {
	case s.Dim < 0:
		return name
	case s.Stride:
		return fmt.Sprintf("%s.stride(%d)", name, s.Dim)
	}
	return fmt.Sprintf("%s.size(%d)", name, s.Dim)
}

// uses notes which step uses each buffer last.
func (w *tritonWriter) uses(sources []*triton.Source) {
	for i := range w.c.groups {
		for _, slot := range w.touched(i, sources[i]) {
			w.last[slot] = i
		}
	}
}

// touched lists the buffers of step i.
func (w *tritonWriter) touched(i int, src *triton.Source) []int {
	var out []int
	add := func(b *ir.Buffer, _ *ir.Index) {
		if slot, ok := w.c.slots[b]; ok {
			out = append(out, slot)
		}
	}
	if src != nil {
		for _, b := range src.Buffers {
			add(b, nil)
		}
		return out
	}
	for _, it := range w.c.groups[i].Items {
		it.Node.Reads(add)
		it.Node.Writes(add)
	}
	return out
}

// step allocates what the step writes, runs it, and frees what nobody uses after it.
func (w *tritonWriter) step(i int, src *triton.Source) {
	touched := w.touched(i, src)
	for _, slot := range touched {
		w.allocate(slot)
	}
	if k := w.c.ks[i]; k == nil {
		w.extern(w.c.extern(w.c.groups[i].Items[0].Node, w.c.names[i]))
	} else if src != nil {
		w.launch(k, src)
	}
	var dead []string
	for _, slot := range touched {
		if w.last[slot] == i && w.c.out.Buffers[slot].Role == RoleArena && w.born[slot] {
			w.born[slot] = false
			dead = append(dead, w.names[slot])
		}
	}
	if len(dead) > 0 {
		w.p("    del %s", strings.Join(dead, ", "))
	}
}

func (w *tritonWriter) allocate(slot int) {
	b := &w.c.out.Buffers[slot]
	if w.born[slot] {
		return
	}
	w.born[slot] = true
	if b.Role == RoleOver {
		w.p("    %s = %s", w.names[slot], w.names[w.c.out.Inputs[b.Over]])
		return
	}
	w.p("    %s = torch.empty_strided(%s, %s, dtype=torch.%s, device=device)", w.names[slot], sizesText(b.Shape), sizesText(b.Stride), b.DType.Name())
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

func (w *tritonWriter) launch(k *sched.Kernel, src *triton.Source) {
	args := []string{k.Name, src.Programs.String()}
	for _, b := range src.Buffers {
		args = append(args, w.names[w.c.slot(b)])
	}
	for _, x := range append(src.Sizes, src.Numbers...) {
		args = append(args, x.String())
	}
	for _, c := range src.Constants {
		args = append(args, fmt.Sprintf("%s=%d", c.Name, c.Value))
	}
	w.p("    launch(%s)", strings.Join(args, ", "))
}

// output is one result.
func (w *tritonWriter) output(o *Output) string {
	if o.Buffer < 0 {
		return w.arg(o.Value)
	}
	w.allocate(o.Buffer) // one without elements is written by nobody
	b := &w.c.out.Buffers[o.Buffer]
	if b.Role == RoleOver || sym.AllSame(o.Shape, b.Shape) && sym.AllSame(o.Stride, b.Stride) && sym.Is(o.Offset, 0) {
		return w.names[o.Buffer]
	}
	return fmt.Sprintf("view(%s, %s, %s, %s)", w.names[o.Buffer], sizesText(o.Shape), sizesText(o.Stride), o.Offset)
}

// example writes inputs of the sizes seen at compile time.
func (w *tritonWriter) example() {
	w.p("\n\ndef example():")
	w.p("    return [")
	for i, slot := range w.c.out.Inputs {
		if slot < 0 {
			w.p("        %s,", w.number(i))
			continue
		}
		b := &w.c.out.Buffers[slot]
		shape, stride := sizesText(sym.Consts(hints(b.Shape))), sizesText(sym.Consts(hints(b.Stride)))
		w.p("        torch.empty_strided(%s, %s, dtype=torch.%s, device=device)%s,", shape, stride, b.DType.Name(), filling(b.DType))
	}
	w.p("    ]")
}

// number is what a scalar input was at compile time.
func (w *tritonWriter) number(input int) string {
	for _, s := range w.c.out.Symbols {
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
