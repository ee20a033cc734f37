// Package triton writes kernels as Triton Python text, from the same loops as
// package cpp. A reduction is persistent: one program holds whole rows, so that
// values of an earlier phase stay in registers and the phases follow one another
// without loops. Templates are not written yet and are refused.
//
// It imports ir, sched, ops and sym; never cpp. Open kernel.go first, then
// ops.go (the text of one operation).
package triton

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/internal/ops"
	"tcdbg/internal/sym"
)

// maxRow is the longest row that a program holds.
const maxRow = 1 << 16

// emitter writes one kernel.
type emitter struct {
	k    *sched.Kernel
	sb   strings.Builder
	bufs []*ir.Buffer
	syms []string
	vals map[[2]int]string
	regs map[*ir.Buffer]string
	rows bool // the kernel has reduction loops
}

// Kernel generates the text of k. The error names what Triton text cannot hold.
func Kernel(k *sched.Kernel) (string, error) {
	if k.Group.Template {
		return "", fmt.Errorf("triton: %s: templates are not generated", k.Name)
	}
	e := &emitter{k: k, vals: map[[2]int]string{}, regs: map[*ir.Buffer]string{}, rows: !k.Pointwise}
	if n, ok := k.RowSize(); e.rows && (!ok || n > maxRow) {
		return "", fmt.Errorf("triton: %s: rows of more than %d elements, or of unknown length, are not generated", k.Name, maxRow)
	}
	e.body()
	return e.head() + e.sb.String(), nil
}

func (e *emitter) p(format string, args ...any) {
	fmt.Fprintf(&e.sb, "    "+format+"\n", args...)
}

// head is the decorator and the signature; it is written last, when the
// arguments are known.
func (e *emitter) head() string {
	var args []string
	for i, b := range e.bufs {
		kind := "in"
		if _, own := e.k.Place[b]; own {
			kind = "out"
		}
		args = append(args, fmt.Sprintf("%s_ptr%d", kind, i))
	}
	args = append(args, e.syms...)
	args = append(args, "xnumel")
	consts := []string{"XBLOCK: tl.constexpr"}
	if e.rows {
		args = append(args, "r0_numel")
		consts = append(consts, "R0_BLOCK: tl.constexpr")
	}
	return fmt.Sprintf("@triton.jit\ndef %s(%s):\n", e.k.Name, strings.Join(append(args, consts...), ", "))
}

// body writes the indices and every operation.
func (e *emitter) body() {
	column := ""
	if e.rows {
		column = "[:, None]"
	}
	e.p("xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)%s", column)
	e.p("xmask = xindex < xnumel")
	outer := len(e.k.Loops)
	if e.rows {
		outer = e.k.Outer
	}
	e.decode("x", "xindex", 0, outer)
	if e.rows {
		e.p("r0_index = tl.arange(0, R0_BLOCK)[None, :]")
		e.p("r0_mask = r0_index < r0_numel")
		e.decode("r", "r0_index", outer, len(e.k.Loops))
	}
	where := ""
	for i := range e.k.Steps {
		st := &e.k.Steps[i]
		for _, o := range st.Node.Origins {
			if t := sourceText(o); t != where {
				where = t
				e.p("# %s", t)
			}
		}
		for j := range st.Body {
			e.value(i, j)
		}
	}
}

func sourceText(o ir.Origin) string {
	if len(o.Stack) == 0 {
		return o.Op
	}
	f := o.Stack[len(o.Stack)-1]
	return fmt.Sprintf("%s: %s:%d %s", o.Op, f.File, f.Line, strings.ReplaceAll(f.Code, "\n", " "))
}

// decode names the loops first..end from a linear index.
func (e *emitter) decode(prefix, linear string, first, end int) {
	for k := end - 1; k >= first; k-- {
		if k == first {
			e.p("%s%d = %s", prefix, k-first, linear)
			return
		}
		size := e.size(e.k.Loops[k].Size)
		e.p("%s%d = %s %% %s", prefix, k-first, linear, size)
		linear = fmt.Sprintf("(%s // %s)", linear, size)
	}
}

// size is a size as text; symbols become arguments.
func (e *emitter) size(x sym.Int) string {
	for _, s := range x.Symbols() {
		if name := "ks_" + s.Name; !slices.Contains(e.syms, name) {
			e.syms = append(e.syms, name)
		}
	}
	text := x.String()
	for _, s := range x.Symbols() {
		text = strings.ReplaceAll(text, s.Name, "ks_"+s.Name)
	}
	return text
}

func (e *emitter) address(x ir.Index) string {
	outer := len(e.k.Loops)
	if e.rows {
		outer = e.k.Outer
	}
	var parts []string
	for k, c := range x.Coef {
		if !x.Uses(k) {
			continue
		}
		name := fmt.Sprintf("x%d", k)
		if k >= outer {
			name = fmt.Sprintf("r%d", k-outer)
		}
		if !sym.Is(c, 1) {
			name = "(" + e.size(c) + ") * " + name
		}
		parts = append(parts, name)
	}
	if !sym.Is(x.Off, 0) || len(parts) == 0 {
		parts = append(parts, e.size(x.Off))
	}
	return strings.Join(parts, " + ")
}

// mask is the condition under which an address is valid.
func (e *emitter) mask(x ir.Index) string {
	if !e.rows {
		return "xmask"
	}
	for k := e.k.Outer; k < len(e.k.Loops); k++ {
		if x.Uses(k) {
			return "xmask & r0_mask"
		}
	}
	return "xmask"
}

// fullMask is the condition under which the iteration is one of the loops'.
func (e *emitter) fullMask() string {
	if e.rows {
		return "xmask & r0_mask"
	}
	return "xmask"
}

func (e *emitter) ptr(b *ir.Buffer) string {
	i := slices.Index(e.bufs, b)
	if i < 0 {
		i = len(e.bufs)
		e.bufs = append(e.bufs, b)
	}
	if _, own := e.k.Place[b]; own {
		return fmt.Sprintf("out_ptr%d", i)
	}
	return fmt.Sprintf("in_ptr%d", i)
}

// value writes operation j of step i.
func (e *emitter) value(i, j int) {
	v := &e.k.Steps[i].Body[j]
	name := fmt.Sprintf("tmp%d_%d", i, j)
	switch v.Op {
	case ir.Load:
		if r, ok := e.regs[v.Buf]; ok {
			e.vals[[2]int{i, j}] = r
			return
		}
		text := fmt.Sprintf("tl.load(%s + (%s), %s, other=0)", e.ptr(v.Buf), e.address(v.Index), e.mask(v.Index))
		if v.DType == ops.Bool {
			text += ".to(tl.int1)"
		}
		e.p("%s = %s", name, text)
	case ir.LoadAt:
		at := e.vals[[2]int{i, v.Args[0]}]
		text := fmt.Sprintf("tl.load(%s + (%s + %s), %s, other=0)", e.ptr(v.Buf), e.address(v.Index), at, e.fullMask())
		if v.DType == ops.Bool {
			text += ".to(tl.int1)"
		}
		e.p("%s = %s", name, text)
	case ir.Check:
		e.p("tl.device_assert((%s) | ~(%s), \"index out of bounds\")", e.vals[[2]int{i, v.Args[0]}], e.fullMask())
		return
	case ir.Store:
		x := e.vals[[2]int{i, v.Args[0]}]
		e.regs[v.Buf] = x
		if e.k.Place[v.Buf] == sched.Memory {
			e.p("tl.store(%s + (%s), %s, %s)", e.ptr(v.Buf), e.address(v.Index), x, e.mask(v.Index))
		}
		return
	case ir.Reduce:
		e.p("%s = %s", name, e.reduce(i, v))
	case ir.IndexOf:
		e.p("%s = (%s).to(tl.int64)", name, e.address(v.Index))
	default:
		args := make([]string, len(v.Args))
		for k, a := range v.Args {
			args[k] = e.vals[[2]int{i, a}]
		}
		shape := "[1]"
		if e.rows {
			shape = "[1, 1]"
		}
		e.p("%s = %s", name, operation(v, args, shape))
	}
	e.vals[[2]int{i, j}] = name
}

// reduce folds the columns; those beyond the row count as the identity.
func (e *emitter) reduce(i int, v *ir.Value) string {
	x := e.vals[[2]int{i, v.Args[0]}]
	masked := func(other string) string { return fmt.Sprintf("tl.where(r0_mask, %s, %s)", x, other) }
	switch v.Red {
	case ir.RSum:
		return fmt.Sprintf("tl.sum(%s, 1)[:, None]", masked("0"))
	case ir.RProd:
		return fmt.Sprintf("triton_helpers.prod(%s, 1)[:, None]", masked("1"))
	case ir.RMax:
		return fmt.Sprintf("triton_helpers.max2(%s, 1)[:, None]", masked("float(\"-inf\")"))
	case ir.RMin:
		return fmt.Sprintf("triton_helpers.min2(%s, 1)[:, None]", masked("float(\"inf\")"))
	case ir.RAny:
		return fmt.Sprintf("triton_helpers.any(%s, 1)[:, None]", masked("0"))
	case ir.RAll:
		return fmt.Sprintf("(triton_helpers.any(%s == 0, 1)[:, None] == 0)", masked("1"))
	case ir.RArgMax:
		return fmt.Sprintf("triton_helpers.max_with_index(%s, %s, 1)[1][:, None]", masked("float(\"-inf\")"), e.address(v.Index))
	}
	return fmt.Sprintf("triton_helpers.min_with_index(%s, %s, 1)[1][:, None]", masked("float(\"inf\")"), e.address(v.Index))
}
