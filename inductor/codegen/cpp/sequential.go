package cpp

import (
	"fmt"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file writes what runs in the order of the inner loops: scans and stores at
// positions that are data. It goes an element at a time; a row of them where the
// last outer loop is along the vector, whose lanes meet no element of another's, as
// no threads do, since the positions do not move along outer loops; or, where the
// inner loop is, all else by vectors and the store lane by lane.

// scans declares what the scans of phase p have combined so far.
func (e *emitter) scans(p, lanes int) {
	for i := range e.k.Steps {
		st := &e.k.Steps[i]
		for j := range st.Body {
			if v := &st.Body[j]; v.Op == ir.Scan && st.Phase == p {
				e.p("%s %s = %s;", regType(v.DType, lanes), scanName(i, j), e.as(lanes).Constant(identity(v.Red, v.DType)))
			}
		}
	}
}

func scanName(i, j int) string { return fmt.Sprintf("q%d_%d", i, j) }

// scan combines the element at hand with those before it.
func (e *emitter) scan(i, j, lanes int) {
	v := &e.k.Steps[i].Body[j]
	q := scanName(i, j)
	e.p("%s = %s;", q, e.as(lanes).combined(v.Red, v.DType, q, e.arg(i, v.Args[0], lanes)))
	name := fmt.Sprintf("t%d_%d%s", i, j, e.copies)
	e.p("const %s %s = %s;", regType(v.DType, lanes), name, q)
	e.vals[valKey{i, j}] = operand{name, lanes}
}

// storeAt stores, or folds into what lies there, a number of elements after an
// address: the same number for all lanes, or one for each.
func (e *emitter) storeAt(i, j, lanes int) {
	body := e.k.Steps[i].Body
	v := &body[j]
	d := v.Buf.DType
	ptr, step := e.place(v, lanes)
	at := v.Args[1]
	if lanes > 1 && e.k.Vec >= e.k.Outer {
		e.storeLanes(i, j, lanes)
		return
	}
	spread := lanes > 1 && body[at].Op != ir.Const && e.vals[valKey{i, at}].lanes > 1
	if spread {
		name := fmt.Sprintf("x%d_%d%s", i, j, e.copies)
		e.p("const %s %s = %s;", regType(ops.Int64, lanes), name, e.arg(i, at, lanes))
		step += ", " + name
	} else {
		ptr += " + " + e.arg(i, at, 1)
	}
	x := e.arg(i, v.Args[0], lanes)
	if v.Op == ir.FoldAt {
		var old string
		if spread {
			old = e.as(lanes).loaded(fmt.Sprintf("%s(%s, %s)", e.pre.fn("ldx_"+memLetter(d), lanes), ptr, step), d)
		} else {
			old = e.loadFrom(ptr, step, d, lanes)
		}
		name := fmt.Sprintf("f%d_%d%s", i, j, e.copies)
		e.p("const %s %s = %s;", regType(v.DType, lanes), name, old)
		x = e.as(lanes).combined(v.Red, v.DType, name, x)
	}
	x = e.as(lanes).stored("("+x+")", d)
	switch {
	case lanes == 1:
		e.p("*(%s) = %s;", ptr, x)
	case spread:
		e.p("%s(%s, %s, %s);", e.pre.fn("stx_"+memLetter(d), lanes), ptr, step, x)
	case step == "1":
		e.p("*(%s%du *)(%s) = %s;", memLetter(d), lanes, ptr, x)
	default:
		e.p("%s(%s, %s, %s);", e.pre.fn("sts_"+memLetter(d), lanes), ptr, step, x)
	}
}

// storeLanes is storeAt for lanes that may meet at one element: the first lane comes first.
func (e *emitter) storeLanes(i, j, lanes int) {
	v := &e.k.Steps[i].Body[j]
	d, one := v.Buf.DType, e.as(1)
	ptr, step := e.place(v, lanes)
	at, x := fmt.Sprintf("x%d_%d%s", i, j, e.copies), fmt.Sprintf("f%d_%d%s", i, j, e.copies)
	e.p("const %s %s = %s;", regType(ops.Int64, lanes), at, e.arg(i, v.Args[1], lanes))
	value := x + "[q]"
	if v.Op == ir.FoldAt {
		e.p("const %s %s = %s;", regType(v.DType, lanes), x, e.arg(i, v.Args[0], lanes))
		value = one.stored("("+one.combined(v.Red, v.DType, one.loaded("*to", d), value)+")", d)
	} else {
		e.p("const %s%d %s = %s;", memLetter(d), lanes, x, e.as(lanes).stored("("+e.arg(i, v.Args[0], lanes)+")", d))
	}
	e.open("for (int q = 0; q < %d; q++)", lanes)
	e.p("%s *const to = %s + q * %s + %s[q];", memType(d), ptr, step, at)
	e.p("*to = %s;", value)
	e.close()
}
