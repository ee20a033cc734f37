package cpp

import (
	"fmt"
	"strings"

	"tcdbg/inductor/codegen"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// Machine is what kernels are written for.
type Machine struct {
	Lanes int   // float32 elements in a vector: 4, 8 or 16
	Cache int64 // bytes of the last-level cache that are ours; larger outputs are stored past it
	// BFloat is how products of bfloat16 are computed.
	BFloat BFloat
	// Threads is how many run kernels; 0: it is not known.
	Threads int
}

// BFloat is a way to compute products of bfloat16.
type BFloat int

// Numbers are made float32 first; sums of two products are an instruction, the dot product; or products of 16 rows and
// columns are one, of tiles (AMX).
const (
	BFloatWidened BFloat = iota
	BFloatDot
	BFloatTiles
)

// Env is what the kernels of a program share.
type Env struct {
	Machine Machine
	// Slot is the position of a buffer in the program's table of pointers B; a
	// kernel gets a table of its own, so that equal kernels have equal texts.
	Slot func(b *ir.Buffer) int
	// Size is the position of a size expression in the table S.
	Size func(x sym.Int) int
	// Streams tells that nobody reads the buffer before so much else was written
	// that it would have left the caches.
	Streams func(b *ir.Buffer) bool
	// Packing is the packed copy of the template's operand; nil for none.
	Packing *plan.Packing
	// Check is the word that a kernel sets when data is not as it must be.
	Check *ir.Buffer
	// Ends says that the runtime runs the kernel on the first columns of its rows alone, too.
	Ends bool
	// Causal is what scores need not be masked, where the kernel computes those of an attention; nil for others.
	Causal *plan.Causal
	// Remark is what a reader of the kernel should know of how it is run; "" for nothing.
	Remark string
}

// Code is the C text of one kernel.
type Code struct {
	Name  string
	Text  string
	Lines []codegen.Line
	// Units and Grain are C expressions: the number of parallel iterations, and
	// how many a thread should at least get.
	Units, Grain string
	// Symbol is the function to call: one that alike kernels share where there are any.
	Symbol string
	Slots  []int  // program slots of the kernel's own table
	Gemm   string // initialiser of tc_gemm_args, with marks; empty for loops
	Pack   bool   // Text is the statement that packs a weight
	Ends   bool   // the function is told where rows end

	attention *attention // that the kernel begins; nil for none

	operands [2]location // of a product
	shape    shape
	given    []int64 // what a shared function is told of this kernel, in its table S
	work     work
	uses     uses
	widths   []int // lanes of registers
}

// emitter writes one kernel.
type emitter struct {
	pre *uses
	text
	memory
	code *Code

	lanes  int                   // of loops over vectors
	vals   map[valKey]operand    // values that are defined now
	regs   map[*ir.Buffer]regVal // what a buffer's element is, in this iteration
	outer  map[*ir.Buffer]bool   // in-kernel buffers whose value does not depend on the inner loops
	same   map[int][]bool        // [] /* step */ what is the same for all lanes of columns
	wrote  bool                  // some store went past the caches
	copies string                // suffix of the names in this copy of the body
	where  string                // operator named by the last comment
	asks   bool                  // without a tile the epilogue asks for lines ahead
	ends   int                   // the epilogue's ending, by the runtime's number; 0 for none
}

type valKey struct{ step, val int }

// operand is a C expression and how many lanes it has.
type operand struct {
	text  string
	lanes int
}

type regVal struct {
	operand
	inner bool
}

// Kernel generates the C function of k.
func Kernel(env *Env, k *sched.Kernel) *Code {
	code := &Code{Name: k.Name, Symbol: k.Name, Ends: env.Ends, work: workOf(k)}
	e := &emitter{memory: memory{env: env, k: k}, pre: &code.uses, lanes: env.Machine.Lanes, code: code}
	e.vals, e.regs, e.outer = map[valKey]operand{}, map[*ir.Buffer]regVal{}, map[*ir.Buffer]bool{}
	e.same = map[int][]bool{}
	e.names = make([]string, len(k.Loops))
	for i := range k.Loops {
		if i < k.Outer {
			e.names[i] = fmt.Sprintf("y%d", i)
		} else {
			e.names[i] = fmt.Sprintf("r%d", i-k.Outer)
		}
	}
	for _, st := range k.Steps {
		if !st.Inner || st.Reduces() {
			st.Node.Writes(func(b *ir.Buffer, _ *ir.Index) { e.outer[b] = true })
		}
	}
	if e.eightBytes() {
		e.lanes = max(e.lanes/2, 1)
	}
	e.lanes = e.filled(e.lanes)
	code.widths = []int{e.lanes}
	if k.Group.Template {
		template{e}.epilogue()
	} else {
		e.function()
	}
	marked := e.sb.String()
	code.Text, code.Slots, code.shape = unmarked(marked), e.slots, shapeOf(marked, code.Name)
	return code
}

// eightBytes reports whether vectors hold elements of eight bytes, and half as many. What does not change along the loop
// that is vectorised, as the position that a row picks, is computed one number at a time.
func (e *emitter) eightBytes() bool {
	k := e.k
	if k.Group.Template {
		return k.Lanes8()
	}
	for i := range k.Steps {
		st := &k.Steps[i]
		if k.Vec >= k.Outer && !st.Inner {
			continue
		}
		class, one := e.class(st), e.alike(i)
		for j := range st.Body {
			v := &st.Body[j]
			if v.DType.Size() == 8 && v.Op != ir.Const && !one[j] && (k.Vec < k.Outer || class[j] == innerPart) {
				return true
			}
		}
	}
	return false
}

// filled is the number of lanes that the vectorised loop fills: short loops, as over a
// block of channels, take a shorter vector than the machine's.
func (e *emitter) filled(lanes int) int {
	n, static := e.k.Loops[e.k.Vec].Size.IsConst()
	if static && n < int64(lanes) && (n == 4 || n == 8) {
		return int(n)
	}
	return lanes
}

// chunk is the number of iterations of a pointwise kernel's last loop that a
// thread takes at once.
const chunk = 16384

// unrolled is how many vectors a loop takes at the most that a C compiler writes out.
const unrolled = 8

// function writes the kernel and its loops.
func (e *emitter) function() {
	k := e.k
	e.header()
	e.open("void %s(%s)", k.Name, e.code.parameters())
	e.pointers()
	e.rows()
	if k.Pointwise {
		e.pointwise()
	} else if k.Vec < k.Outer {
		e.columns()
	} else {
		e.reductions()
	}
	if e.wrote {
		e.p("__builtin_ia32_sfence();")
	}
	e.close()
}

// header names the kernel's operators, nodes and source lines.
func (e *emitter) header() {
	var nodes []string
	for _, o := range e.k.Origins() {
		nodes = append(nodes, o.Node)
	}
	e.p("// %s: %s", e.k.Name, strings.Join(nodes, ", "))
	for line := range strings.Lines(e.env.Remark) {
		e.p("// %s", strings.TrimSuffix(line, "\n"))
	}
}

// pointers declares one pointer for each buffer in memory.
func (e *emitter) pointers() {
	seen := map[*ir.Buffer]bool{}
	written := map[*ir.Buffer]bool{}
	var bufs []*ir.Buffer
	if e.k.Group.Template && e.keepsProduct() {
		out := e.k.Steps[0].Node.MM.Out
		seen[out], written[out], bufs = true, true, append(bufs, out)
	}
	for _, st := range withBefore(e.k) {
		for i := range st.Body {
			v := &st.Body[i]
			if !v.Accesses() {
				continue
			}
			if _, own := e.k.Place[v.Buf]; own && e.k.Place[v.Buf] != sched.Memory {
				continue
			}
			written[v.Buf] = written[v.Buf] || v.Op == ir.Store || v.Scatters()
			if !seen[v.Buf] {
				seen[v.Buf] = true
				bufs = append(bufs, v.Buf)
			}
		}
	}
	if e.k.Checks() {
		written[e.env.Check], bufs = true, append(bufs, e.env.Check)
	}
	for _, b := range bufs {
		t, c := memType(b.DType), "const "
		if written[b] {
			c = ""
		}
		e.p("%s%s *const %s = (%s%s *)B[%d];  // %s", c, t, e.ptr(b), c, t, e.slot(b), b.Name)
	}
}

// rows declares the rows that a thread keeps between phases.
func (e *emitter) rows() {
	n, _ := e.k.RowSize()
	if e.k.Vec < e.k.Outer {
		n *= int64(e.lanes)
	}
	for _, st := range e.k.Steps {
		st.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
			if e.k.Place[b] == sched.Row {
				e.p("%s %s[%d] __attribute__((aligned(64)));", memType(b.DType), e.row(b), n)
			}
		})
	}
}

// decode declares the loop variables of the outer loops [0, n) from a linear
// number.
func (e *emitter) decode(linear string, n int) {
	rest := linear
	for k := n - 1; k >= 0; k-- {
		size := e.size(e.k.Loops[k].Size)
		if k == 0 {
			e.p("const i64 y%d = %s;", k, rest)
			return
		}
		e.p("const i64 y%d = %s %% %s;", k, rest, size)
		e.p("const i64 o%d = %s / %s;", k, rest, size)
		rest = fmt.Sprintf("o%d", k)
	}
}

func (e *emitter) outerUnits(n int) string {
	total := sym.Const(1)
	for _, v := range e.k.Loops[:n] {
		total = sym.Mul(total, v.Size)
	}
	return e.size(total)
}

// grain is how many units of so many elements are worth a thread.
func (e *emitter) grain(perUnit int64) string {
	ops := int64(1)
	for _, st := range e.k.Steps {
		for i := range st.Body {
			ops += st.Body[i].Op.Cost()
		}
	}
	return fmt.Sprint(max(1, 65536/max(1, perUnit*ops/4)))
}

// pointwise walks all outer loops and chunks of the last one.
func (e *emitter) pointwise() {
	k := e.k
	last := k.Loops[len(k.Loops)-1].Size
	n, static := last.IsConst()
	chunks := !static || n > 2*chunk
	units := e.outerUnits(k.Outer)
	if static && n == int64(e.lanes) && k.Outer > 1 {
		e.vectorRows()
		return
	}
	if chunks {
		total := sym.Const(1)
		for _, v := range k.Loops[:k.Outer] {
			total = sym.Mul(total, v.Size)
		}
		per := sym.FloorDiv(sym.Add(last, sym.Const(chunk-1)), sym.Const(chunk))
		units = e.size(sym.Mul(total, per))
		e.code.Units, e.code.Grain = units, e.grain(min(chunk, ir.HintOf(last)))
		e.open("for (i64 w = lo; w < hi; w++)")
		e.p("const i64 first = w %% %s * %d;", e.number(per), chunk)
		e.p("const i64 rest = %s - first;", e.number(last))
		e.p("const i64 end = first + (rest < %d ? rest : %d);", chunk, chunk)
		if k.Outer > 0 {
			e.p("const i64 o = w / %s;", e.number(per))
			e.decode("o", k.Outer)
		}
	} else {
		e.code.Units, e.code.Grain = units, e.grain(n)
		e.open("for (i64 w = lo; w < hi; w++)")
		end := fmt.Sprint(n)
		if n > int64(unrolled*e.lanes) {
			end = e.number(last)
		}
		e.p("const i64 first = 0, end = %s;", end)
		if k.Outer > 0 {
			e.decode("w", k.Outer)
		}
	}
	e.phase(0, "first", "end", static && n%int64(2*e.lanes) == 0, static && n%int64(e.lanes) == 0, static && n < int64(e.lanes))
	e.close()
}

// vectorRows is pointwise for rows of one vector, as blocks of channels are: a unit walks
// the loop around them as well.
func (e *emitter) vectorRows() {
	k, around := e.k, e.k.Outer-1
	size := k.Loops[around].Size
	e.code.Units, e.code.Grain = e.outerUnits(around), e.grain(int64(e.lanes)*max(1, ir.HintOf(size)))
	e.open("for (i64 w = lo; w < hi; w++)")
	e.decode("w", around)
	e.open("for (i64 %s = 0; %s < %s; %s++)", e.names[around], e.names[around], e.size(size), e.names[around])
	e.phase(0, "0", fmt.Sprint(e.lanes), false, true, false)
	e.close()
	e.close()
}

// reductions walks the outer loops in parallel and vectorises the innermost one.
func (e *emitter) reductions() {
	k := e.k
	e.code.Units = e.outerUnits(k.Outer)
	row := int64(1)
	for _, v := range k.Loops[k.Outer:] {
		row *= max(1, ir.HintOf(v.Size))
	}
	e.code.Grain = e.grain(row)
	e.open("for (i64 w = lo; w < hi; w++)")
	if k.Outer > 0 {
		e.decode("w", k.Outer)
	} else {
		e.p("(void)w;")
	}
	last := k.Loops[len(k.Loops)-1].Size
	n, static := last.IsConst()
	end := e.size(last)
	if e.env.Ends {
		e.p("const i64 end = most < %s ? most : %s;", end, end)
		end = "end"
	}
	for p := range k.Phases {
		e.outerItems(p, 1)
		if e.innerItems(p) {
			one := k.Ordered() || static && n < int64(e.lanes) // element at a time
			e.phase(p, "0", end, static && n%int64(2*e.lanes) == 0, static && n%int64(e.lanes) == 0, one)
		}
	}
	e.close()
}

func (e *emitter) innerItems(p int) bool {
	for _, st := range e.k.Steps {
		if st.Phase == p && st.Inner {
			return true
		}
	}
	return false
}

// outerItems writes the items that run once an outer iteration.
func (e *emitter) outerItems(p, lanes int) {
	for i := range e.k.Steps {
		if st := &e.k.Steps[i]; st.Phase == p && !st.Inner {
			e.item(i, lanes, false, all)
		}
	}
}

// phase writes the inner loops of phase p, vectorised along the innermost.
// even and whole tell that its length is a multiple of two vectors, of one;
// small that it is shorter than one.
func (e *emitter) phase(p int, first, end string, even, whole, small bool) {
	e.hoist(p)
	e.accumulators(p, even, small)
	e.scans(p, 1)
	inner := e.k.Loops[e.k.Outer:]
	for i, v := range inner[:len(inner)-1] {
		e.open("for (i64 r%d = 0; r%d < %s; r%d++)", i, i, e.size(v.Size), i)
	}
	v := len(e.k.Loops) - 1
	name := e.names[v]
	if !small {
		copies := 1
		if even {
			copies = 2
		}
		bound := end
		if !whole {
			e.p("{")
			e.ind++
			e.p("i64 %s = %s;", name, first)
			e.open("for (; %s + %d <= %s; %s += %d)", name, e.lanes*copies, bound, name, e.lanes*copies)
		} else {
			e.open("for (i64 %s = %s; %s < %s; %s += %d)", name, first, name, bound, name, e.lanes*copies)
		}
		e.prefetch(p, copies)
		for c := range copies {
			e.body(p, c, name)
		}
		e.close()
	}
	if small {
		e.open("for (i64 %s = %s; %s < %s; %s++)", name, first, name, end, name)
		e.scalarBody(p)
		e.close()
	} else if !whole {
		e.open("for (; %s < %s; %s++)", name, end, name)
		e.scalarBody(p)
		e.close()
		e.close()
	}
	for range inner[:len(inner)-1] {
		e.close()
	}
	e.finish(p, even, small)
}

// body writes copy c of the vector body.
func (e *emitter) body(p, c int, name string) {
	v := len(e.k.Loops) - 1
	if c > 0 {
		e.names[v] = fmt.Sprintf("%s + %d", name, c*e.lanes)
	}
	e.copies = fmt.Sprintf("_%d", c)
	e.items(p, e.lanes)
	e.copies = ""
	e.names[v] = name
}

func (e *emitter) scalarBody(p int) {
	e.copies = "_s"
	e.items(p, 1)
	e.copies = ""
}

func (e *emitter) items(p, lanes int) {
	for i := range e.k.Steps {
		if st := &e.k.Steps[i]; st.Phase == p && st.Inner {
			e.item(i, lanes, true, innerPart)
		}
	}
	for b, r := range e.regs {
		if r.inner {
			delete(e.regs, b)
		}
	}
}

// prefetch asks for what a streaming kernel reads later: the same buffers some
// lines ahead or, in a later phase of a reduction, whose own data is in the cache
// by then, what the first phase reads in the next outer iteration.
func (e *emitter) prefetch(p, copies int) {
	if !e.streams() {
		return
	}
	ahead := "512"
	if !e.k.Pointwise {
		if p != 1 {
			return
		}
		p, ahead = 0, ""
	}
	seen := map[string]bool{}
	for i := range e.k.Steps {
		st := &e.k.Steps[i]
		for j := range st.Body {
			v := &st.Body[j]
			if st.Phase != p || !st.Inner || v.Op != ir.Load || !e.contiguous(v.Index) || e.own(v.Buf) {
				continue
			}
			to := ahead
			if to == "" {
				if e.k.Outer == 0 || !v.Index.Uses(e.k.Outer-1) {
					continue
				}
				to = e.size(v.Index.Coef[e.k.Outer-1])
			}
			t := fmt.Sprintf("%s + %s", e.ptr(v.Buf), e.address(v.Index))
			for c := 0; c < copies && !seen[t]; c++ {
				e.p("__builtin_prefetch(%s + %s + %d);", t, to, c*e.lanes)
			}
			seen[t] = true
		}
	}
}

// streams reports whether any store of the kernel goes past the caches.
func (e *emitter) streams() bool {
	for _, st := range e.k.Steps {
		for i := range st.Body {
			if v := &st.Body[i]; v.Op == ir.Store && e.nonTemporal(v) {
				return true
			}
		}
	}
	return false
}

// nonTemporal decides whether a store goes past the caches: it must be a whole
// aligned vector of float32, walked once.
func (e *emitter) nonTemporal(v *ir.Value) bool {
	if v.Buf.DType != ops.Float32 || e.k.Place[v.Buf] != sched.Memory || e.env.Streams == nil || !e.env.Streams(v.Buf) {
		return false
	}
	if e.k.Group.Template || e.k.Vec < e.k.Outer || !e.contiguous(v.Index) {
		return false
	}
	n, ok := e.k.Loops[e.k.Vec].Size.IsConst()
	if !ok || n%int64(e.lanes) != 0 {
		return false
	}
	aligned := func(x sym.Int) bool { return sym.Is(sym.Mod(x, sym.C(e.lanes)), 0) }
	for k, c := range v.Index.Coef {
		if k != e.k.Vec && !aligned(c) {
			return false
		}
	}
	return aligned(v.Index.Off)
}

// comment names the operator and source line before its operations.
func (e *emitter) comment(o ir.Origin) {
	if text := o.Comment(); text != e.where {
		e.where = text
		e.p("// %s", text)
	}
}
