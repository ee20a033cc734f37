package triton

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes the forms that walk rows: a whole row at a time, and a row block
// by block.

// rows is the form in which a program holds whole rows: phases follow one another
// without loops.
func (e *emitter) rows(s *Source) {
	n, r := e.numels()
	row, _ := r.IsConst()
	width := int64(2) // Triton 3.6 cannot fold single columns of truth values
	for width < row {
		width *= 2
	}
	height := max(1, 1024/width)
	s.Numbers, s.Programs = []sym.Int{n, r}, sym.CeilDiv(n, height)
	s.Constants = []Constant{{"XBLOCK", height}, {"R0_BLOCK", width}, {warps, warpsFor(height * width)}}
	e.rowIndex()
	e.p("r0_index = tl.arange(0, R0_BLOCK)[None, :]")
	e.columns()
	for i := range e.k.Steps {
		e.step(i)
	}
}

func (e *emitter) columns() {
	e.p("r0_mask = r0_index < r0_numel")
	e.decode("r0_index", e.outer, len(e.k.Loops))
}

// warpsFor is how many groups of threads work on a block of n elements.
func warpsFor(n int64) int64 {
	switch {
	case n >= 1<<14:
		return 16
	case n >= 1<<12:
		return 8
	}
	return 4
}

// sweeps is the form in which a program goes through its rows once for each phase.
func (e *emitter) sweeps(s *Source) {
	n, r := e.numels()
	height, width := e.sweepBlock()
	s.Numbers, s.Programs = []sym.Int{n, r}, sym.CeilDiv(n, height)
	s.Constants = []Constant{{"XBLOCK", height}, {"R0_BLOCK", width}, {warps, warpsFor(height * width)}}
	e.rowIndex()
	e.p("r0_base = tl.arange(0, R0_BLOCK)[None, :]")
	for p := range e.k.Phases {
		inner := false
		for i := range e.k.Steps {
			if st := &e.k.Steps[i]; st.Phase == p {
				inner = inner || st.Inner
				if !st.Inner {
					e.step(i)
				}
			}
		}
		if inner {
			e.sweep(p)
		}
	}
}

// sweepBlock sizes a block along the loop whose elements lie side by side.
func (e *emitter) sweepBlock() (height, width int64) {
	switch {
	case e.form == sequential:
		return 64, 1
	case e.k.Vec < e.outer:
		return 64, 16
	}
	return 1, 2048
}

// sweep goes through the rows for the inner steps of phase p; what a reduction
// gives follows after the loop.
func (e *emitter) sweep(p int) {
	if e.wrote {
		e.p("tl.debug_barrier()") // other threads may have stored what this sweep reads
	}
	e.each(p, func(i, j int) { e.accumulator(i, j) })
	e.p("for r0_offset in range(0, r0_numel, R0_BLOCK):")
	e.ind++
	e.p("r0_index = r0_offset + r0_base")
	e.columns()
	e.each(p, func(i, j int) {
		if !e.afterReduce(i)[j] {
			e.value(i, j)
		}
	})
	if e.form == sequential {
		e.p("tl.debug_barrier()")
	}
	e.ind--
	e.forget()
	for i := range e.k.Steps {
		if st := &e.k.Steps[i]; st.Phase == p && st.Reduces() {
			e.result(i)
		}
	}
}

// each calls f for every operation of the inner steps of phase p.
func (e *emitter) each(p int, f func(i, j int)) {
	for i := range e.k.Steps {
		if st := &e.k.Steps[i]; st.Phase == p && st.Inner {
			for j := range st.Body {
				f(i, j)
			}
		}
	}
}

// afterReduce tells which operations of step i need a reduction's result.
func (e *emitter) afterReduce(i int) []bool {
	if out, ok := e.after[i]; ok {
		return out
	}
	body := e.k.Steps[i].Body
	out := make([]bool, len(body))
	e.after[i] = out
	for j := range body {
		for _, a := range body[j].Args {
			out[j] = out[j] || out[a] || body[a].Op == ir.Reduce
		}
	}
	return out
}

// forget drops what held in one iteration only; it is in memory.
func (e *emitter) forget() {
	for i := range e.k.Steps {
		st := &e.k.Steps[i]
		if !st.Inner || st.Reduces() {
			continue
		}
		st.Node.Writes(func(b *ir.Buffer, _ *ir.Index) {
			delete(e.regs, b)
			e.wrote = true
		})
	}
}

// result finishes the reductions of step i and writes what follows them. Operands
// that do not depend on the columns are computed again: the loop's are its own.
func (e *emitter) result(i int) {
	body := e.k.Steps[i].Body
	after := e.afterReduce(i)
	e.again = "_"
	for j := range body {
		if body[j].Op == ir.Reduce {
			e.finish(i, j)
		}
	}
	done := map[int]bool{}
	var need func(j int)
	need = func(j int) {
		if done[j] || body[j].Op == ir.Reduce {
			return
		}
		done[j] = true
		for _, a := range body[j].Args {
			need(a)
		}
		e.value(i, j)
	}
	for j := range body {
		if after[j] {
			need(j)
		}
	}
	e.again = ""
}

func accName(i, j int) string { return fmt.Sprintf("acc%d_%d", i, j) }

// accumulator declares what operation j of step i has combined so far.
func (e *emitter) accumulator(i, j int) {
	body := e.k.Steps[i].Body
	v := &body[j]
	switch v.Op {
	case ir.Scan:
		e.p("%s = tl.full(%s, %s, %s)", accName(i, j), e.shape(false), identity(v.Red, v.DType), typeName(v.DType))
	case ir.Reduce:
		d := body[v.Args[0]].DType
		e.p("%s = tl.full(%s, %s, %s)", accName(i, j), e.shape(true), identity(v.Red, d), typeName(summed(d)))
		if v.Red == ir.RArgMax || v.Red == ir.RArgMin {
			e.p("%s_at = tl.full(%s, 9223372036854775807, tl.int64)", accName(i, j), e.shape(true))
		}
	}
}

// summed is the type in which values of type d are combined: Triton's reductions
// know no truth values.
func summed(d ops.DType) ops.DType {
	if d == ops.Bool {
		return ops.Int32
	}
	return d
}

// operand is the value that a reduction or scan combines, the identity where there
// is none.
func (e *emitter) operand(i int, v *ir.Value) string {
	from := e.k.Steps[i].Body[v.Args[0]].DType
	x, d := e.arg(i, v, 0), summed(from)
	if d != from {
		x += ".to(" + typeName(d) + ")"
	}
	return fmt.Sprintf("tl.where(%s, %s, %s)", e.mask(true), x, identity(v.Red, from))
}

// reduce folds the columns: those of a whole row, or those of a block into what
// earlier ones came to.
func (e *emitter) reduce(i, j int, name string) {
	v := &e.k.Steps[i].Body[j]
	x := e.operand(i, v)
	block := fmt.Sprintf("tl.broadcast_to(%s, %s)", x, e.shape(true))
	at := fmt.Sprintf("tl.broadcast_to((%s).to(tl.int64), %s)", e.address(v.Index), e.shape(true))
	if e.form == persistent {
		e.p("%s = %s", name, e.folded(v, block, at))
		return
	}
	acc := accName(i, j)
	switch v.Red {
	case ir.RArgMax, ir.RArgMin:
		e.p("%s = %s", name, x)
		e.p(
			"%s_next, %s_at_next = triton_helpers.%s_with_index(%s, %s_at, tl.broadcast_to(%s, %s), %s)", acc, acc,
			extremum[v.Red], acc, acc, name, e.shape(true), at,
		)
		e.p("%s = tl.where(%s, %s_next, %s)", acc, e.mask(true), acc, acc)
		e.p("%s_at = tl.where(%s, %s_at_next, %s_at)", acc, e.mask(true), acc, acc)
	default:
		e.p("%s = %s", acc, combined(v.Red, acc, block))
	}
}

// finish folds the columns of an accumulator.
func (e *emitter) finish(i, j int) {
	v := &e.k.Steps[i].Body[j]
	name := fmt.Sprintf("tmp%d_%d_", i, j)
	e.note(i)
	e.p("%s = %s", name, e.folded(v, accName(i, j), accName(i, j)+"_at"))
	e.vals[[2]int{i, j}] = name
}

// extremum is Triton's name of what finds a position.
var extremum = map[ir.ReduceOp]string{ir.RArgMax: "maximum", ir.RArgMin: "minimum"}

// folded is a block folded along its columns; at holds the positions.
func (e *emitter) folded(v *ir.Value, x, at string) string {
	if e.form == sequential { // of one column
		switch {
		case v.Red == ir.RArgMax || v.Red == ir.RArgMin:
			return at
		case v.DType == ops.Bool:
			return x + " != 0"
		}
		return x
	}
	switch v.Red {
	case ir.RSum:
		return fmt.Sprintf("tl.sum(%s, 1)[:, None].to(%s)", x, typeName(v.DType))
	case ir.RProd:
		return fmt.Sprintf("triton_helpers.prod(%s, 1)[:, None].to(%s)", x, typeName(v.DType))
	case ir.RArgMax:
		return fmt.Sprintf("triton_helpers.max_with_index(%s, %s, 1)[1][:, None]", x, at)
	case ir.RArgMin:
		return fmt.Sprintf("triton_helpers.min_with_index(%s, %s, 1)[1][:, None]", x, at)
	}
	text := fmt.Sprintf("triton_helpers.max2(%s, 1)[:, None]", x)
	if v.Red == ir.RMin || v.Red == ir.RAll {
		text = fmt.Sprintf("triton_helpers.min2(%s, 1)[:, None]", x)
	}
	if v.DType == ops.Bool {
		text += " != 0"
	}
	return text
}

// scan combines each column with those before it, in this block and in those that
// came before.
func (e *emitter) scan(i, j int, name string) {
	v := &e.k.Steps[i].Body[j]
	x := e.operand(i, v)
	acc := accName(i, j)
	if e.form == sequential {
		e.p("%s = %s", name, combined(v.Red, acc, x))
		e.p("%s = %s", acc, name)
		return
	}
	e.p("%s = %s", name, scanned(v.Red, fmt.Sprintf("tl.broadcast_to(%s, %s)", x, e.shape(true))))
	if e.form == persistent {
		return
	}
	e.p("%s = %s", name, combined(v.Red, acc, name))
	e.p("%s = tl.sum(tl.where(r0_base == R0_BLOCK - 1, %s, 0), 1)[:, None].to(%s)", acc, name, typeName(v.DType))
}

func scanned(r ir.ReduceOp, x string) string {
	switch r {
	case ir.RSum:
		return fmt.Sprintf("tl.cumsum(%s, 1)", x)
	case ir.RProd:
		return fmt.Sprintf("tl.cumprod(%s, 1)", x)
	case ir.RMax:
		return fmt.Sprintf("tl.associative_scan(%s, 1, triton_helpers.maximum)", x)
	}
	return fmt.Sprintf("tl.associative_scan(%s, 1, triton_helpers.minimum)", x)
}

// combined is one step of a reduction.
func combined(r ir.ReduceOp, x, y string) string {
	switch r {
	case ir.RSum:
		return x + " + " + y
	case ir.RProd:
		return x + " * " + y
	case ir.RMin, ir.RAll:
		return fmt.Sprintf("triton_helpers.minimum(%s, %s)", x, y)
	}
	return fmt.Sprintf("triton_helpers.maximum(%s, %s)", x, y)
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
