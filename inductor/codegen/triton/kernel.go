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
	err  error
}

// Source is one kernel as Triton text, with what a launch needs: its arguments
// are the buffers, then the values of the symbols, then the numbers of iterations
// (r0_numel only where there are reduction loops), then the block sizes as
// constants.
type Source struct {
	Text    string
	Buffers []*ir.Buffer
	Symbols []string // ks_s0, ...
	XNumel  sym.Int
	R0Numel sym.Int // 0 in kernels without reduction loops
}

// Imports are the lines that kernels need before them.
const Imports = `import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_helpers import libdevice
`

// Kernel generates the text of k. The error names what Triton text cannot hold.
func Kernel(k *sched.Kernel) (text string, err error) {
	s, err := Generate(k)
	if err != nil {
		return "", err
	}
	return s.Text, nil
}

// Generate is Kernel with what a launch needs.
func Generate(k *sched.Kernel) (*Source, error) {
	if k.Group.Template {
		return nil, fmt.Errorf("triton: %s: templates are not generated", k.Name)
	}
	e := &emitter{k: k, vals: map[[2]int]string{}, regs: map[*ir.Buffer]string{}, rows: !k.Pointwise}
	if n, ok := k.RowSize(); e.rows && (!ok || n > maxRow) {
		return nil, fmt.Errorf("triton: %s: rows of more than %d elements, or of unknown length, are not generated", k.Name, maxRow)
	}
	e.body()
	if e.err != nil {
		return nil, fmt.Errorf("triton: %s: %w", k.Name, e.err)
	}
	out := &Source{XNumel: sym.Const(1)}
	outer := len(k.Loops)
	if e.rows {
		outer, out.R0Numel = k.Outer, sym.Const(1)
	}
	for i, v := range k.Loops {
		if i < outer {
			out.XNumel = sym.Mul(out.XNumel, v.Size)
		} else {
			out.R0Numel = sym.Mul(out.R0Numel, v.Size)
		}
	}
	out.Text = e.head() + e.sb.String()
	out.Buffers, out.Symbols = e.bufs, e.syms
	return out, nil
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

// uses reports whether an address depends on the parallel loops, on the reduction
// loops.
func (e *emitter) uses(x ir.Index) (outer, inner bool) {
	last := len(e.k.Loops)
	if e.rows {
		last = e.k.Outer
	}
	for k := range x.Coef {
		outer = outer || k < last && x.Uses(k)
		inner = inner || k >= last && x.Uses(k)
	}
	return outer, inner
}

// place is a pointer and the mask under which it may be used; full ones have one
// element for each iteration, whatever the address depends on.
func (e *emitter) place(v *ir.Value, behind string, full, wide bool) (ptr, mask string) {
	at := e.address(v.Index)
	if behind != "" {
		at += " + " + behind
	}
	ptr = fmt.Sprintf("%s + (%s)", e.ptr(v.Buf), at)
	outer, inner := e.uses(v.Index)
	shape, all := "[XBLOCK]", "xmask"
	if e.rows {
		shape = "[XBLOCK, 1]"
		if wide {
			shape, all = "[XBLOCK, R0_BLOCK]", "xmask & r0_mask"
		}
	}
	switch {
	case full && (!outer || wide && e.rows && !inner || behind != ""):
		return fmt.Sprintf("tl.broadcast_to(%s, %s)", ptr, shape), all
	case full:
		return ptr, all
	case outer && inner:
		return ptr, "xmask & r0_mask"
	case inner:
		return ptr, "r0_mask"
	case outer:
		return ptr, "xmask"
	}
	return ptr, "" // a single element
}

func (e *emitter) load(i int, v *ir.Value) string {
	full, behind := false, ""
	if v.Op == ir.LoadAt {
		full, behind = true, e.vals[[2]int{i, v.Args[0]}]
	}
	ptr, mask := e.place(v, behind, full, e.k.Steps[i].Inner)
	text := fmt.Sprintf("tl.load(%s, %s, other=0)", ptr, mask)
	if mask == "" {
		text = fmt.Sprintf("tl.load(%s)", ptr)
	}
	switch d := v.Buf.DType; {
	case d == ops.Bool:
		text += ".to(tl.int1)"
	case ir.Narrow(d):
		text += ".to(" + typeName(v.DType) + ")"
	}
	return text
}

// store writes one element for each iteration, or for each outer one behind a
// reduction.
func (e *emitter) store(i int, v *ir.Value) {
	st := &e.k.Steps[i]
	ptr, mask := e.place(v, "", true, st.Inner && !st.Reduces())
	e.p("tl.store(%s, %s, %s)", ptr, e.vals[[2]int{i, v.Args[0]}], mask)
}

// fullMask is the condition under which the iteration is one of the loops'.
func (e *emitter) fullMask(i int) string {
	if e.rows && e.k.Steps[i].Inner {
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
	case ir.Load, ir.LoadAt:
		if r, ok := e.regs[v.Buf]; ok && v.Op == ir.Load {
			e.vals[[2]int{i, j}] = r
			return
		}
		e.p("%s = %s", name, e.load(i, v))
	case ir.Check:
		e.p("tl.device_assert(%s | ~(%s), \"data is not as it must be\")", e.vals[[2]int{i, v.Args[0]}], e.fullMask(i))
		return
	case ir.Store:
		e.regs[v.Buf] = e.vals[[2]int{i, v.Args[0]}]
		if d := v.Buf.DType; ir.Narrow(d) { // readers see what memory would hold
			name = fmt.Sprintf("narrow%d_%d", i, j)
			e.p("%s = %s.to(%s).to(%s)", name, e.regs[v.Buf], typeName(d), typeName(v.DType))
			e.regs[v.Buf] = name
		}
		if e.k.Place[v.Buf] == sched.Memory {
			e.store(i, v)
		}
		return
	case ir.StoreAt, ir.FoldAt:
		e.err = fmt.Errorf("stores at positions that are data are not generated")
		return
	case ir.Scan:
		e.p("%s = %s", name, e.scan(i, v))
	case ir.Reduce:
		e.p("%s = %s", name, e.reduce(i, v))
	case ir.IndexOf:
		if outer, inner := e.uses(v.Index); outer || inner {
			e.p("%s = (%s).to(tl.int64)", name, e.address(v.Index))
		} else {
			e.p("%s = tl.full(%s, %s, tl.int64)", name, e.one(), e.address(v.Index))
		}
	default:
		e.operation(i, j, name)
	}
	e.vals[[2]int{i, j}] = name
}

// one is the shape of a constant.
func (e *emitter) one() string {
	if e.rows {
		return "[1, 1]"
	}
	return "[1]"
}

func (e *emitter) operation(i, j int, name string) {
	body := e.k.Steps[i].Body
	v := &body[j]
	args := make([]string, len(v.Args))
	from := v.DType
	for k, a := range v.Args {
		args[k], from = e.vals[[2]int{i, a}], body[a].DType
	}
	text, err := operation(v, from, args, e.one())
	if err != nil {
		e.err = err
	}
	e.p("%s = %s", name, text)
}

// reduce folds the columns; those beyond the row count as the identity.
func (e *emitter) reduce(i int, v *ir.Value) string {
	d := e.k.Steps[i].Body[v.Args[0]].DType
	x := fmt.Sprintf("tl.where(r0_mask, %s, %s)", e.vals[[2]int{i, v.Args[0]}], identity(v.Red, d))
	if d == ops.Bool {
		x += ".to(tl.int32)"
	}
	block := func(s string) string { return fmt.Sprintf("tl.broadcast_to(%s, [XBLOCK, R0_BLOCK])", s) }
	switch v.Red {
	case ir.RSum:
		return fmt.Sprintf("tl.sum(%s, 1)[:, None]", x)
	case ir.RProd:
		return fmt.Sprintf("triton_helpers.prod(%s, 1)[:, None]", x)
	case ir.RArgMax:
		return fmt.Sprintf("triton_helpers.max_with_index(%s, %s, 1)[1][:, None].to(tl.int64)", block(x), block(e.address(v.Index)))
	case ir.RArgMin:
		return fmt.Sprintf("triton_helpers.min_with_index(%s, %s, 1)[1][:, None].to(tl.int64)", block(x), block(e.address(v.Index)))
	}
	text := fmt.Sprintf("triton_helpers.max2(%s, 1)[:, None]", x)
	if v.Red == ir.RMin || v.Red == ir.RAll {
		text = fmt.Sprintf("triton_helpers.min2(%s, 1)[:, None]", x)
	}
	if d == ops.Bool {
		text += " != 0"
	}
	return text
}

// scan combines each column with those before it: a row is one block.
func (e *emitter) scan(i int, v *ir.Value) string {
	x := fmt.Sprintf("tl.broadcast_to(%s, [XBLOCK, R0_BLOCK])", e.vals[[2]int{i, v.Args[0]}])
	switch v.Red {
	case ir.RSum:
		return fmt.Sprintf("tl.cumsum(%s, 1)", x)
	case ir.RProd:
		return fmt.Sprintf("tl.cumprod(%s, 1)", x)
	case ir.RMax:
		return fmt.Sprintf("tl.associative_scan(%s, 1, triton_helpers.maximum)", x)
	}
	return fmt.Sprintf("tl.associative_scan(%s, 1, triton_helpers.minimum)", x)
}

// identity is what columns beyond the row count as.
func identity(r ir.ReduceOp, d ops.DType) string {
	low, high := `float("-inf")`, `float("inf")`
	switch d {
	case ops.Int64:
		low, high = "-9223372036854775808", "9223372036854775807"
	case ops.Int32:
		low, high = "-2147483648", "2147483647"
	case ops.Uint8:
		low, high = "0", "255"
	case ops.Bool:
		low, high = "0", "1"
	}
	switch r {
	case ir.RProd:
		return "1"
	case ir.RMax, ir.RArgMax, ir.RAny:
		return low
	case ir.RMin, ir.RArgMin, ir.RAll:
		return high
	}
	return "0"
}
