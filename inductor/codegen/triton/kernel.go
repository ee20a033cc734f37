// Package triton writes kernels as Triton Python text, from the same loops as
// package cpp. A kernel walks its loops in one of five forms: element by element;
// a program holding whole rows (values of an earlier phase stay in registers); a
// program going through rows block by block, once for each phase; the same one
// column at a time, where the columns must run in their order; and tiles of a
// matrix product with its epilogue.
//
// It imports codegen, plan, ir, sched, graph, ops and sym; never cpp. Open kernel.go first, then
// rows.go and product.go (the forms), address.go (where elements lie), ops.go (the
// text of one operation), target.go (the module) and extern.go.
package triton

import (
	"fmt"
	"slices"
	"strings"

	"tcdbg/inductor/codegen"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops/sym"
)

// form is how a kernel walks its loops.
type form uint8

const (
	pointwise  form = iota
	persistent      // a program holds whole rows
	looped          // a program goes through rows block by block
	sequential      // the same with blocks of one column
	product         // tiles of a matrix product
)

// longestRow is the longest row that a program holds where it does not have to:
// longer ones would not stay in registers.
const longestRow = 4096

// formOf picks the form; the error names what none of them can do.
func formOf(k *sched.Kernel) (form, error) {
	if k.Group.Template {
		return product, nil
	}
	if k.Pointwise {
		return pointwise, nil
	}
	n, static := k.RowSize()
	switch {
	case slices.ContainsFunc(k.Steps, scatters):
		if keepsRow(k) {
			return 0, fmt.Errorf("a kernel that stores at positions that are data and keeps a row is not generated")
		}
		return sequential, nil
	case keepsRow(k), static && n <= longestRow: // what a row keeps is short
		return persistent, nil
	}
	return looped, nil
}

func scatters(st sched.Step) bool {
	return slices.ContainsFunc(st.Body, func(v ir.Value) bool { return v.Scatters() })
}

// keepsRow reports whether some phase reads a row that an earlier one computed.
func keepsRow(k *sched.Kernel) bool {
	for _, p := range k.Place {
		if p == sched.Row {
			return true
		}
	}
	return false
}

// emitter writes one kernel.
type emitter struct {
	k     *sched.Kernel
	form  form
	outer int // the loops before it are those of the rows
	sb    strings.Builder
	ind   int
	line  int
	lines []codegen.Line
	where string // what the last comment named
	bufs  []*ir.Buffer
	sizes []sym.Int
	names []string // text of each loop variable
	masks [2]string
	block [2]string             // what rows and columns of a block are called
	after map[int][]bool        // what afterReduce has found
	vals  map[[2]int]string     // values that are defined now
	regs  map[*ir.Buffer]string // what a buffer's element is, in this iteration
	wrote bool                  // an earlier sweep stored what a later one may read
	again string                // suffix of names that are defined a second time
	err   error
}

// Source is one kernel as Triton text, with what a launch needs: its arguments
// are the buffers, then Sizes, then Numbers, then Constants by name.
type Source struct {
	Text      string
	Buffers   []*ir.Buffer
	Sizes     []sym.Int // that the text calls ks0, ks1, ...
	Numbers   []sym.Int // of iterations: of the rows, of the columns
	Constants []Constant
	Programs  sym.Int // how many to launch
	Lines     []codegen.Line
}

// Constant is an argument that Triton compiles into the kernel.
type Constant struct {
	Name  string
	Value int64
}

// Imports are the lines that kernels need before them.
const Imports = `import triton
import triton.language as tl
from torch._inductor.runtime import triton_helpers
from torch._inductor.runtime.triton_helpers import libdevice
`

// Generate writes the text of k. The error names what Triton text cannot hold.
func Generate(k *sched.Kernel) (*Source, error) {
	f, err := formOf(k)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, err)
	}
	e := newEmitter(k, f)
	out := &Source{}
	switch f {
	case product:
		e.product(out)
	case pointwise:
		e.elements(out)
	case persistent:
		e.rows(out)
	default:
		e.sweeps(out)
	}
	if e.err != nil {
		return nil, fmt.Errorf("%s: %w", k.Name, e.err)
	}
	out.Text = e.head(out) + e.sb.String()
	out.Buffers, out.Sizes, out.Lines = e.bufs, e.sizes, e.lines
	return out, nil
}

func newEmitter(k *sched.Kernel, f form) *emitter {
	e := &emitter{
		k: k, form: f, ind: 1, outer: k.Outer, after: map[int][]bool{}, vals: map[[2]int]string{}, regs: map[*ir.Buffer]string{},
		masks: [2]string{"xmask", "r0_mask"}, block: [2]string{"XBLOCK", "R0_BLOCK"},
	}
	column := "r"
	switch f {
	case pointwise:
		e.outer = len(k.Loops)
	case product:
		e.outer, column = k.Vec, "n"
		e.masks, e.block = [2]string{"mmask", "nmask"}, [2]string{"BLOCK_M", "BLOCK_N"}
	}
	for i := range k.Loops {
		if i < e.outer {
			e.names = append(e.names, fmt.Sprintf("x%d", i))
		} else {
			e.names = append(e.names, fmt.Sprintf("%s%d", column, i-e.outer))
		}
	}
	return e
}

func (e *emitter) p(format string, args ...any) {
	fmt.Fprintf(&e.sb, strings.Repeat("    ", e.ind)+format+"\n", args...)
	e.line++
}

// head is the decorator and the signature; it is written last, when the
// arguments are known.
func (e *emitter) head(s *Source) string {
	var args []string
	for i := range e.bufs {
		args = append(args, e.pointer(i))
	}
	for i := range e.sizes {
		args = append(args, fmt.Sprintf("ks%d", i))
	}
	args = append(args, []string{"xnumel", "r0_numel"}[:len(s.Numbers)]...)
	for _, c := range s.Constants {
		if c.Name != warps {
			args = append(args, c.Name+": tl.constexpr")
		}
	}
	return fmt.Sprintf("@triton.jit\ndef %s(%s):\n", e.k.Name, strings.Join(args, ", "))
}

// headLines is how many lines head has.
const headLines = 2

// warps is the constant that Triton itself takes: how many groups of 32 threads
// work on a block.
const warps = "num_warps"

// numels are the numbers of iterations of the rows and of the columns.
func (e *emitter) numels() (rows, columns sym.Int) {
	rows, columns = sym.Const(1), sym.Const(1)
	for i, v := range e.k.Loops {
		if i < e.outer {
			rows = sym.Mul(rows, v.Size)
		} else {
			columns = sym.Mul(columns, v.Size)
		}
	}
	return rows, columns
}

// elements is the form of kernels without rows.
func (e *emitter) elements(s *Source) {
	const block = 256
	n, _ := e.numels()
	s.Numbers, s.Programs = []sym.Int{n}, sym.CeilDiv(n, block)
	s.Constants = []Constant{{"XBLOCK", block}}
	e.rowIndex()
	for i := range e.k.Steps {
		e.step(i)
	}
}

// step writes all operations of step i.
func (e *emitter) step(i int) {
	for j := range e.k.Steps[i].Body {
		e.value(i, j)
	}
}

// note writes the operator and the line of the program that step i computes, where
// they are others than before, and ties the next line of text to them.
func (e *emitter) note(i int) {
	for _, o := range e.k.Steps[i].Node.Origins {
		if t := o.Comment(); t != e.where {
			e.where = t
			e.p("# %s", t)
		}
	}
	for _, o := range e.k.Steps[i].Node.Origins {
		e.lines = append(e.lines, codegen.Line{Line: headLines + e.line, Origin: o})
	}
}

// value writes operation j of step i.
func (e *emitter) value(i, j int) {
	v := &e.k.Steps[i].Body[j]
	at := [2]int{i, j}
	name := fmt.Sprintf("tmp%d_%d%s", i, j, e.again)
	switch v.Op {
	case ir.Load, ir.LoadAt:
		if r, ok := e.regs[v.Buf]; ok && v.Op == ir.Load {
			e.vals[at] = r
			return
		}
		e.note(i)
		e.p("%s = %s", name, e.load(i, j))
	case ir.Check:
		e.note(i)
		e.p("tl.device_assert(%s | ~(%s), \"data is not as it must be\")", e.arg(i, v, 0), e.mask(e.wide(i, j)))
		return
	case ir.Store:
		e.keep(i, j, v)
		return
	case ir.StoreAt, ir.FoldAt:
		e.note(i)
		e.storeAt(i, j, name)
		return
	case ir.Scan:
		e.note(i)
		e.scan(i, j, name)
	case ir.Reduce:
		e.note(i)
		e.reduce(i, j, name)
	case ir.IndexOf:
		e.note(i)
		e.p("%s = %s", name, e.position(v))
	default:
		e.note(i)
		e.operation(i, j, name)
	}
	e.vals[at] = name
}

// arg is operand n of v, an operation of step i.
func (e *emitter) arg(i int, v *ir.Value, n int) string { return e.vals[[2]int{i, v.Args[n]}] }

// keep makes a stored value what its buffer holds in this iteration, and stores it
// where somebody else reads it.
func (e *emitter) keep(i, j int, v *ir.Value) {
	e.regs[v.Buf] = e.arg(i, v, 0)
	memory := e.k.Place[v.Buf] == sched.Memory
	if d := v.Buf.DType; ir.Narrow(d) { // readers see what memory would hold
		e.note(i)
		name := fmt.Sprintf("narrow%d_%d", i, j)
		e.p("%s = %s.to(%s).to(%s)", name, e.regs[v.Buf], typeName(d), typeName(v.DType))
		e.regs[v.Buf] = name
	}
	if memory {
		e.note(i)
		ptr, mask := e.place(v.Buf, e.address(v.Index), v.Index, true, e.wide(i, j))
		e.p("tl.store(%s, %s, %s)", ptr, e.arg(i, v, 0), mask)
	}
}

// storeAt stores a number of elements after an address, or folds into what lies
// there. No two programs, rows or columns of one meet at an element: the columns
// run in their order.
func (e *emitter) storeAt(i, j int, name string) {
	v := &e.k.Steps[i].Body[j]
	ptr, mask := e.place(v.Buf, e.address(v.Index)+" + "+e.arg(i, v, 1), v.Index, true, e.wide(i, j))
	x := e.arg(i, v, 0)
	if v.Op == ir.FoldAt {
		e.p("%s = %s", name, e.loaded(v.Buf.DType, v.DType, ptr, mask))
		x = combined(v.Red, name, x)
	}
	e.p("tl.store(%s, %s, %s)", ptr, x, mask)
}

// wide reports whether operation j of step i is computed for every column: what
// follows a reduction is not, nor what is computed again after a sweep.
func (e *emitter) wide(i, j int) bool {
	return e.form == product || e.k.Steps[i].Inner && e.again == "" && !e.afterReduce(i)[j]
}

// one is the shape of a constant.
func (e *emitter) one() string {
	if e.form == pointwise {
		return "[1]"
	}
	return "[1, 1]"
}

func (e *emitter) operation(i, j int, name string) {
	body := e.k.Steps[i].Body
	v := &body[j]
	args := make([]string, len(v.Args))
	for k, a := range v.Args {
		args[k] = e.vals[[2]int{i, a}]
	}
	s := &speller{shape: e.one()}
	text := ir.Evaluate(s, v, ir.OperandType(body, v), args)
	if s.err != nil {
		e.err = s.err
	}
	e.p("%s = %s", name, text)
}
