package cpp

import (
	"fmt"
	"slices"

	"tcdbg/inductor/codegen"
	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// part selects operations of an item.
type part uint8

const (
	all       part = iota
	innerPart      // what runs in the inner loops
	hoistPart      // what does not depend on them, and is not after a reduction
	postPart       // what follows the reduction
)

// class says where an operation of an inner item belongs.
func (e *emitter) class(st *sched.Step) []part {
	out := make([]part, len(st.Body))
	for i := range st.Body {
		v := &st.Body[i]
		out[i] = hoistPart
		switch v.Op {
		case ir.Load:
			if _, own := e.k.Place[v.Buf]; own && !e.outer[v.Buf] || e.usesInner(v.Index) {
				out[i] = innerPart
			}
		case ir.IndexOf, ir.LoadAt:
			if e.usesInner(v.Index) {
				out[i] = innerPart
			}
		case ir.Store, ir.StoreAt, ir.FoldAt, ir.Reduce, ir.Scan:
			out[i] = innerPart
		}
		for _, a := range v.Args {
			switch {
			case st.Body[a].Op == ir.Reduce || out[a] == postPart:
				out[i] = postPart
			case out[a] == innerPart && out[i] != postPart:
				out[i] = innerPart
			}
		}
	}
	return out
}

// alike marks the operations of step i that are the same for all columns of a kernel whose lanes are columns: what it
// reads of rows alone, and computes of that.
func (e *emitter) alike(i int) []bool {
	st := &e.k.Steps[i]
	if e.k.Group.Template || e.k.Vec >= e.k.Outer {
		return make([]bool, len(st.Body))
	}
	if out := e.same[i]; out != nil {
		return out
	}
	out := make([]bool, len(st.Body))
	for j := range st.Body {
		v := &st.Body[j]
		switch v.Op {
		case ir.Store, ir.StoreAt, ir.FoldAt, ir.Reduce, ir.Scan:
			continue
		case ir.Load, ir.LoadAt, ir.IndexOf:
			if v.Index.Uses(e.k.Vec) || v.Op != ir.IndexOf && e.own(v.Buf) {
				continue
			}
		}
		out[j] = !slices.ContainsFunc(v.Args, func(a int) bool { return !out[a] })
	}
	e.same[i] = out
	return out
}

// item writes the operations of step i that belong to part.
func (e *emitter) item(i, lanes int, inner bool, want part) {
	st := &e.k.Steps[i]
	var class []part
	if want != all {
		class = e.class(st)
	}
	for j := range st.Body {
		if want != all && class[j] != want {
			continue
		}
		if want == hoistPart && st.Body[j].Op == ir.Const {
			continue
		}
		e.value(i, j, lanes, inner && want == innerPart)
	}
}

// value writes operation j of step i for so many lanes.
func (e *emitter) value(i, j, lanes int, inner bool) {
	st := &e.k.Steps[i]
	v := &st.Body[j]
	if e.alike(i)[j] {
		lanes = 1
	}
	switch v.Op {
	case ir.Const:
		return // written where it is used
	case ir.Store:
		if e.k.Place[v.Buf] != sched.Register {
			e.note(st)
		}
		e.storeValue(i, v, lanes, inner)
		return
	case ir.StoreAt, ir.FoldAt:
		e.note(st)
		e.storeAt(i, j, lanes)
		return
	case ir.Scan:
		e.note(st)
		e.scan(i, j, lanes)
		return
	case ir.Reduce:
		e.note(st)
		e.accumulate(i, j, lanes)
		return
	case ir.Check:
		e.note(st)
		e.check(e.arg(i, v.Args[0], lanes), lanes)
		return
	case ir.Load:
		if r, ok := e.regs[v.Buf]; ok {
			e.vals[valKey{i, j}] = r.operand
			return
		}
	}
	e.note(st)
	name := fmt.Sprintf("t%d_%d%s", i, j, e.copies)
	e.p("const %s %s = %s;", regType(v.DType, lanes), name, e.expr(i, j, lanes))
	e.vals[valKey{i, j}] = operand{name, lanes}
}

// note writes the source comment and the provenance of what follows.
func (e *emitter) note(st *sched.Step) {
	for _, o := range st.Node.Origins {
		e.comment(o)
		e.code.Lines = append(e.code.Lines, codegen.Line{Line: e.line, Origin: o})
	}
}

// arg is operand a of step i as an expression of so many lanes.
func (e *emitter) arg(i, a, lanes int) string {
	v := &e.k.Steps[i].Body[a]
	if v.Op == ir.Const {
		return e.as(lanes).Constant(v)
	}
	o, ok := e.vals[valKey{i, a}]
	if !ok {
		panic(fmt.Sprintf("cpp: kernel %s: operand t%d_%d is not defined", e.k.Name, i, a))
	}
	return e.as(lanes).widen(o, v.DType)
}

// expr is the right-hand side of operation j of step i.
func (e *emitter) expr(i, j, lanes int) string {
	v := &e.k.Steps[i].Body[j]
	switch v.Op {
	case ir.Load:
		return e.load(v, lanes)
	case ir.LoadAt:
		return e.loadAt(i, v, lanes)
	case ir.IndexOf:
		return e.indexValue(v, lanes)
	}
	if text, ok := e.square(i, j, lanes); ok {
		return text
	}
	args := make([]string, len(v.Args))
	for k, a := range v.Args {
		args[k] = e.arg(i, a, lanes)
	}
	return ir.Evaluate(e.as(lanes), v, ir.OperandType(e.k.Steps[i].Body, v), args)
}

// place is the pointer expression of a load or store, and the step between
// lanes: 0 for one element for all lanes, 1 for a whole vector.
func (e *emitter) place(v *ir.Value, lanes int) (ptr string, step string) {
	if e.k.Place[v.Buf] == sched.Row && e.own(v.Buf) {
		return e.rowPlace(v.Buf, lanes)
	}
	ptr = fmt.Sprintf("%s + %s", e.ptr(v.Buf), e.address(v.Index))
	return ptr, e.size(v.Index.Coef[e.k.Vec])
}

// rowPlace addresses the thread's own row by the number of the inner iteration.
func (e *emitter) rowPlace(b *ir.Buffer, lanes int) (string, string) {
	x := ir.Index{Coef: make([]sym.Int, len(e.k.Loops))}
	step := sym.Const(1)
	if e.k.Vec < e.k.Outer {
		step = sym.C(e.lanes)
	}
	for k := len(e.k.Loops) - 1; k >= e.k.Outer; k-- {
		x.Coef[k] = step
		step = sym.Mul(step, e.k.Loops[k].Size)
	}
	return fmt.Sprintf("%s + %s", e.row(b), e.address(x)), "1"
}

func (e *emitter) load(v *ir.Value, lanes int) string {
	ptr, step := e.place(v, lanes)
	return e.loadFrom(ptr, step, v.Buf.DType, lanes)
}

// loadAt loads what lies a number of elements after an address: one number for
// all lanes, or one for each.
func (e *emitter) loadAt(i int, v *ir.Value, lanes int) string {
	ptr, step := e.place(v, lanes)
	at := &e.k.Steps[i].Body[v.Args[0]]
	if at.Op == ir.Const || e.vals[valKey{i, v.Args[0]}].lanes == 1 {
		return e.loadFrom(ptr+" + "+e.arg(i, v.Args[0], 1), step, v.Buf.DType, lanes)
	}
	x, d := e.arg(i, v.Args[0], lanes), v.Buf.DType
	return e.as(lanes).loaded(fmt.Sprintf("%s(%s, %s, %s)", e.pre.fn("ldx_"+memLetter(d), lanes), ptr, step, x), d)
}

// check sets the program's word where a condition does not hold.
func (e *emitter) check(x string, lanes int) {
	if lanes > 1 {
		x = fmt.Sprintf("!%s(~%s)", e.pre.fn("any_i", lanes), x)
	}
	e.p("if (!(%s)) *%s = 1;", x, e.ptr(e.env.Check))
}

// loadFrom loads an element, or one for each lane that lie step apart.
func (e *emitter) loadFrom(ptr, step string, d ops.DType, lanes int) string {
	elem := fmt.Sprintf("*(%s)", ptr)
	switch {
	case lanes == 1:
		return e.as(1).loaded(elem, d)
	case step == "0":
		return e.as(lanes).widen(operand{e.as(1).loaded(elem, d), 1}, d)
	case step == "1":
		return e.as(lanes).loaded(fmt.Sprintf("*(const %s%du *)(%s)", memLetter(d), lanes, ptr), d)
	}
	if l := memLetter(d); step == "2" && (l == "f" || l == "i") {
		return fmt.Sprintf("%s(%s)", e.pre.fn("even_"+l, lanes), ptr)
	}
	return e.as(lanes).loaded(fmt.Sprintf("%s(%s, %s)", e.pre.fn("lds_"+memLetter(d), lanes), ptr, step), d)
}

func (e *emitter) indexValue(v *ir.Value, lanes int) string {
	at := e.address(v.Index)
	if lanes == 1 {
		return at
	}
	return fmt.Sprintf("%s(%s, %s)", e.pre.fn("iota_"+letter(v.DType), lanes), at, e.size(v.Index.Coef[e.k.Vec]))
}

// rounded reports whether a value of a body is a number of bfloat16 by itself: it is one of its operands, or that without its
// sign, all of which were loaded as such.
func rounded(body []ir.Value, id int) bool {
	switch v := &body[id]; v.Op {
	case ir.Relu, ir.Neg, ir.Abs, ir.Max, ir.Min:
		return !slices.ContainsFunc(v.Args, func(x int) bool { return body[x].Op != ir.Load || body[x].Buf.DType != ops.BFloat16 })
	case ir.Load:
		return v.Buf.DType == ops.BFloat16
	}
	return false
}

// storeValue writes to memory or to the thread's row, and remembers the value
// for readers in the same iteration.
func (e *emitter) storeValue(i int, v *ir.Value, lanes int, inner bool) {
	x := e.arg(i, v.Args[0], lanes)
	if e.k.Steps[i].Body[v.Args[0]].Op == ir.Const || e.vals[valKey{i, v.Args[0]}].lanes != lanes {
		name := fmt.Sprintf("c%d_%d%s", i, v.Args[0], e.copies)
		e.p("const %s %s = %s;", regType(v.DType, lanes), name, x)
		x = name
	}
	d := v.Buf.DType
	var kept string
	switch {
	case d == ops.BFloat16 && rounded(e.k.Steps[i].Body, v.Args[0]): // already
		kept = fmt.Sprintf("%s(%s)", e.pre.fn("cut_bfloat", lanes), x)
	case d == ops.BFloat16: // as below, without a way through fewer bits and back
		name := fmt.Sprintf("n%d_%d%s", i, v.Args[0], e.copies)
		e.p("const %s %s = %s;", regType(d, lanes), name, e.as(lanes).narrowed(x, d))
		x = name
		kept = fmt.Sprintf("%s(%s)", e.pre.fn("cut_bfloat", lanes), x)
	case ir.Narrow(d): // readers in this iteration see what memory would hold
		kept = e.as(lanes).stored(x, d)
		name := fmt.Sprintf("n%d_%d%s", i, v.Args[0], e.copies)
		e.p("const %s%d m%s = %s;", memLetter(d), lanes, name, kept)
		kept = "m" + name
		e.p("const %s %s = %s;", regType(d, lanes), name, e.as(lanes).loaded(kept, d))
		x = name
	default:
		kept = e.as(lanes).stored(x, d)
	}
	if _, several := e.regs[v.Buf]; !several {
		e.regs[v.Buf] = regVal{operand{x, lanes}, inner}
	}
	if e.k.Place[v.Buf] == sched.Register {
		return
	}
	ptr, step := e.place(v, lanes)
	switch {
	case lanes == 1:
		e.p("*(%s) = %s;", ptr, kept)
	case step == "1" && e.nonTemporal(v):
		e.wrote = true
		e.p("%s(%s, %s);", e.pre.fn("nt_f", lanes), ptr, x)
	case step == "1":
		e.p("*(%s%du *)(%s) = %s;", memLetter(d), lanes, ptr, kept)
	default:
		e.p("%s(%s, %s, %s);", e.pre.fn("sts_"+memLetter(d), lanes), ptr, step, kept)
	}
}
