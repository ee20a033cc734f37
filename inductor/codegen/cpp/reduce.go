package cpp

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes reductions: an accumulator for each copy of the vector body
// and one for the scalar rest, combined when the inner loops are done.

// hoist writes what the inner items of phase p need and what does not depend
// on the inner loops, once, with vector copies of it.
func (e *emitter) hoist(p int) {
	for i := range e.k.Steps {
		if st := &e.k.Steps[i]; st.Phase == p && st.Inner {
			e.item(i, 1, false, hoistPart)
		}
	}
}

// eachReduce calls f for every Reduce of phase p.
func (e *emitter) eachReduce(p int, f func(i, j int, v *ir.Value)) {
	for i := range e.k.Steps {
		st := &e.k.Steps[i]
		if st.Phase != p {
			continue
		}
		for j := range st.Body {
			if st.Body[j].Op == ir.Reduce {
				f(i, j, &st.Body[j])
			}
		}
	}
}

// sourceType is the type of the elements that a reduction folds.
func sourceType(st *sched.Step, v *ir.Value) ops.DType { return st.Body[v.Args[0]].DType }

func isArg(v *ir.Value) bool { return v.Red == ir.RArgMax || v.Red == ir.RArgMin }

func (e *emitter) acc(i, j int, copy string) string { return fmt.Sprintf("a%d_%d%s", i, j, copy) }

func (e *emitter) declareAcc(i, j int, v *ir.Value, copy string, lanes int) {
	d := sourceType(&e.k.Steps[i], v)
	init := e.as(lanes).Constant(identity(v.Red, d))
	e.p("%s %s = %s;", regType(d, lanes), e.acc(i, j, copy), init)
	if isArg(v) {
		e.p(
			"%s %sx = %s;", regType(ops.Int64, lanes), e.acc(i, j, copy),
			e.as(lanes).Constant(&ir.Value{DType: ops.Int64, I: math.MaxInt64}),
		)
	}
}

func (e *emitter) accumulators(p int, even, small bool) {
	e.eachReduce(p, func(i, j int, v *ir.Value) {
		if !small {
			e.declareAcc(i, j, v, "_0", e.lanes)
			if even {
				e.declareAcc(i, j, v, "_1", e.lanes)
			}
		}
		e.declareAcc(i, j, v, "_s", 1)
	})
}

// identity is the value that a reduction starts from.
func identity(r ir.ReduceOp, d ops.DType) *ir.Value {
	v := &ir.Value{Op: ir.Const, DType: d}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch d {
	case ops.Int32:
		low, high = math.MinInt32, math.MaxInt32
	case ops.Uint8:
		low, high = 0, math.MaxUint8
	case ops.Bool:
		low, high = 0, 1
	}
	switch r {
	case ir.RProd, ir.RAll:
		v.F, v.I = 1, 1
	case ir.RMax, ir.RArgMax:
		v.F, v.I = math.Inf(-1), low
	case ir.RMin, ir.RArgMin:
		v.F, v.I = math.Inf(1), high
	}
	return v
}

// accumulate folds the value at hand into the accumulator of this copy.
func (e *emitter) accumulate(i, j, lanes int) {
	v := &e.k.Steps[i].Body[j]
	a := e.acc(i, j, e.copies)
	x := e.arg(i, v.Args[0], lanes)
	if !isArg(v) {
		e.p("%s = %s;", a, e.as(lanes).combined(v.Red, sourceType(&e.k.Steps[i], v), a, x))
		return
	}
	at := fmt.Sprintf("x%d_%d%s", i, j, e.copies)
	e.p("const %s %s = %s;", regType(ops.Int64, lanes), at, e.indexValue(v, lanes))
	e.fold(v, sourceType(&e.k.Steps[i], v), a, x, at, lanes)
}

// fold takes (x, at) into the accumulator where x is better, or as good and
// further to the front; NaN is best.
func (e *emitter) fold(v *ir.Value, d ops.DType, a, x, at string, lanes int) {
	with := func(o ir.Op, d ops.DType, x ...string) string { return e.as(lanes).Apply(o, d, d, x) }
	better := with(ir.Lt, d, a, x)
	if v.Red == ir.RArgMin {
		better = with(ir.Lt, d, x, a)
	}
	same := with(ir.Eq, d, a, x)
	if d.IsFloat() {
		xn, an := with(ir.Ne, d, x, x), with(ir.Ne, d, a, a)
		better = fmt.Sprintf("(%s | (%s & ~%s))", better, xn, an)
		same = fmt.Sprintf("(%s | (%s & %s))", same, xn, an)
	}
	first := with(ir.Lt, ops.Int64, at, a+"x")
	m := "m" + strings.NewReplacer("[", "_", "]", "").Replace(at)
	e.p("const %s %s = %s | (%s & %s);", regType(ops.Bool, lanes), m, better, same, first)
	e.p("%s = %s;", a, with(ir.Where, d, m, x, a))
	e.p("%sx = %s;", a, with(ir.Where, ops.Int64, m, at, a+"x"))
}

// finish combines the accumulators of phase p and writes what follows each
// reduction.
func (e *emitter) finish(p int, even, small bool) {
	e.eachReduce(p, func(i, j int, v *ir.Value) {
		d := sourceType(&e.k.Steps[i], v)
		a := e.acc(i, j, "_s")
		if !small {
			for _, c := range [...]string{"_0", "_1"} {
				if c == "_0" || even {
					e.lanesInto(i, j, v, d, c)
				}
			}
		}
		if isArg(v) {
			a += "x"
		}
		e.vals[valKey{i, j}] = operand{a, 1}
	})
	e.post(p, 1)
}

// lanesInto folds each lane of a vector accumulator into the scalar one.
func (e *emitter) lanesInto(i, j int, v *ir.Value, d ops.DType, copy string) {
	a, s := e.acc(i, j, copy), e.acc(i, j, "_s")
	if isArg(v) {
		e.open("for (int q = 0; q < %d; q++)", e.lanes)
		e.fold(v, d, s, a+"[q]", a+"x[q]", 1)
		e.close()
		return
	}
	name := fmt.Sprintf("fold_%s_%s", foldName(v.Red, d), letter(d))
	e.p("%s = %s(%s, %s);", s, e.pre.fn(name, e.lanes), a, s)
}

// foldName is the name of the helper that folds lanes; truth values are masks,
// whose extremes are "or" and "and".
func foldName(r ir.ReduceOp, d ops.DType) string {
	switch {
	case d == ops.Bool && r == ir.RMax:
		r = ir.RAny
	case d == ops.Bool && r == ir.RMin:
		r = ir.RAll
	}
	return r.String()
}

// foldSteps take element x into s; NaN wins in max and min.
var foldSteps = map[string]string{
	"sum": "s += x;", "prod": "s *= x;", "any": "s |= x;", "all": "s &= x;",
	"max": "s = x < s || s != s ? s : x;", "min": "s = s < x || s != s ? s : x;",
}

// halved are the reductions that fold a vector of floating-point numbers by taking its upper half to its
// lower one, again and again: of a row of a hundred numbers one lane after the other takes longer than
// the rest of the row.
var halved = map[string]string{"sum": "a += o;", "max": "a = max_f$(a, o);", "min": "a = min_f$(a, o);"}

// halves writes the steps of a reduction that goes by halves.
func halves(step, t string, lanes int) string {
	index := map[string]string{"f": "i", "d": "l"}[t]
	var gcc, clang strings.Builder
	for h := lanes / 2; h > 0; h /= 2 {
		from := make([]string, lanes)
		for q := range from {
			from[q] = strconv.Itoa((q + h) % lanes)
		}
		list := strings.Join(from, ", ")
		fmt.Fprintf(&gcc, " { const %s$ o = __builtin_shuffle(a, (%s$){%s}); %s }", t, index, list, step)
		fmt.Fprintf(&clang, " { const %s$ o = __builtin_shufflevector(a, a, %s); %s }", t, list, step)
	}
	return "\n#if defined(__clang__)\n " + clang.String() + "\n#else\n " + gcc.String() + "\n#endif\n "
}

// foldHelper folds the lanes of a vector into a scalar; sums go pairwise.
func foldHelper(name string, lanes int) (helper, bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 3 || parts[0] != "fold" || foldSteps[parts[1]] == "" {
		return helper{}, false
	}
	op, t := parts[1], parts[2]
	var sb strings.Builder
	fmt.Fprintf(&sb, "%[1]s1 %[2]s$(%[1]s$ a, %[1]s1 s) {", t, name)
	switch step := halved[op]; {
	case step != "" && (t == "f" || t == "d" && op == "sum"):
		fmt.Fprintf(&sb, "%sconst %s1 x = a[0]; %s return s; }", halves(step, t, lanes), t, foldSteps[op])
		var needs []string
		if op != "sum" {
			needs = []string{op + "_f"}
		}
		return helper{needs: needs, text: sb.String(), apart: true}, true
	case op == "sum":
		for h := lanes / 2; h > 0; h /= 2 {
			fmt.Fprintf(&sb, " for (int q = 0; q < %d; q++) a[q] += a[q + %d];", h, h)
		}
		sb.WriteString(" return s + a[0]; }")
	default:
		fmt.Fprintf(&sb, " for (int q = 0; q < $; q++) { const %s1 x = a[q]; %s } return s; }", t, foldSteps[op])
	}
	return helper{text: sb.String(), apart: true}, true
}

// post writes the operations after the reductions of phase p.
func (e *emitter) post(p, lanes int) {
	for i := range e.k.Steps {
		if st := &e.k.Steps[i]; st.Phase == p && st.Inner && st.Reduces() {
			e.stores(i, lanes)
		}
	}
}

// stores writes what follows the reduction of step i, stores included.
func (e *emitter) stores(i, lanes int) {
	for j, c := range e.class(&e.k.Steps[i]) {
		if c == postPart {
			e.value(i, j, lanes, false)
		}
	}
}

// columns vectorises the last outer loop: every lane reduces a column of its
// own, so nothing is combined across lanes.
func (e *emitter) columns() {
	k := e.k
	cols := k.Loops[k.Vec].Size
	width := int64(4 * e.lanes)
	per := sym.CeilDiv(cols, width)
	total := per
	for _, v := range k.Loops[:k.Outer-1] {
		total = mulSize(total, v.Size)
	}
	e.code.Units = e.size(total)
	depth := width
	for _, v := range k.Loops[k.Outer:] {
		depth *= max(1, ir.HintOf(v.Size))
	}
	e.code.Grain = e.grain(depth)
	e.open("for (i64 w = lo; w < hi; w++)")
	e.p("const i64 first = w %% %s * %d;", e.size(per), width)
	e.p("const i64 rest = %s - first;", e.size(cols))
	e.p("const i64 end = first + (rest < %d ? rest : %d);", width, width)
	if k.Outer > 1 {
		e.p("const i64 o = w / %s;", e.size(per))
		e.decode("o", k.Outer-1)
	}
	name := e.names[k.Vec]
	n, static := cols.IsConst()
	e.p("i64 %s = first;", name)
	if !static || n >= int64(e.lanes) {
		e.open("for (; %s + %d <= end; %s += %d)", name, e.lanes, name, e.lanes)
		e.columnPhases(e.lanes)
		e.close()
	}
	if !static || n%int64(e.lanes) != 0 {
		e.open("for (; %s < end; %s++)", name, name)
		e.columnPhases(1)
		e.close()
	}
	e.close()
}

// columnPhases writes all phases for so many columns at once.
func (e *emitter) columnPhases(lanes int) {
	e.regs = map[*ir.Buffer]regVal{}
	for p := range e.k.Phases {
		e.outerItems(p, lanes)
		if !e.innerItems(p) {
			continue
		}
		for i := range e.k.Steps {
			if st := &e.k.Steps[i]; st.Phase == p && st.Inner {
				e.item(i, lanes, false, hoistPart)
			}
		}
		names := e.partialNames(p, lanes)
		e.eachReduce(p, func(i, j int, v *ir.Value) {
			for _, name := range names {
				e.declareAcc(i, j, v, name, lanes)
			}
		})
		e.scans(p, lanes)
		e.columnLoops(p, lanes, names)
		e.eachReduce(p, func(i, j int, v *ir.Value) {
			a := e.acc(i, j, names[0])
			if isArg(v) {
				a += "x"
			}
			e.vals[valKey{i, j}] = operand{a, lanes}
		})
		e.post(p, lanes)
	}
}

// partial is how many accumulators a column has, each of every so many-th of its numbers: one alone would have each sum
// wait for the one before it. They are worth it from mostly so many numbers on.
const (
	partial     = 4
	worthParts  = 4 * partial
	mostPartial = 12 // accumulators of a kernel, in registers
)

// partialNames are the suffixes of a column's accumulators in phase p: one where numbers have an order, or are few.
func (e *emitter) partialNames(p, lanes int) []string {
	reduces, alone := 0, lanes == 1 || e.k.Sequential
	e.eachReduce(p, func(_, _ int, v *ir.Value) {
		reduces++
		alone = alone || isArg(v)
	})
	if alone || reduces == 0 || reduces*partial > mostPartial || ir.HintOf(e.k.Loops[len(e.k.Loops)-1].Size) < worthParts {
		return []string{""}
	}
	names := make([]string, partial)
	for c := range names {
		names[c] = fmt.Sprintf("_%d", c)
	}
	return names
}

// columnLoops writes the inner loops of phase p, whose innermost one goes by as many steps as there are accumulators, and
// adds those up.
func (e *emitter) columnLoops(p, lanes int, names []string) {
	inner := e.k.Loops[e.k.Outer:]
	last := len(inner) - 1
	for i, v := range inner[:last] {
		e.open("for (i64 r%d = 0; r%d < %s; r%d++)", i, i, e.size(v.Size), i)
	}
	if v := fmt.Sprintf("r%d", last); len(names) == 1 {
		e.open("for (i64 %s = 0; %s < %s; %s++)", v, v, e.size(inner[last].Size), v)
		e.items(p, lanes)
		e.close()
	} else {
		e.partialLoop(p, lanes, v, e.size(inner[last].Size), names)
	}
	for range inner[:last] {
		e.close()
	}
	e.eachReduce(p, func(i, j int, v *ir.Value) {
		d := sourceType(&e.k.Steps[i], v)
		for step := len(names) / 2; step > 0; step /= 2 {
			for c := range step {
				a, b := e.acc(i, j, names[c]), e.acc(i, j, names[c+step])
				e.p("%s = %s;", a, e.as(lanes).combined(v.Red, d, a, b))
			}
		}
	})
}

// partialLoop is the innermost loop, v from 0 to n, by several steps at a time and, for what is left, by one.
func (e *emitter) partialLoop(p, lanes int, v, n string, names []string) {
	at := len(e.k.Loops) - 1
	e.p("{")
	e.ind++
	e.p("i64 %s = 0;", v)
	e.open("for (; %s + %d <= %s; %s += %d)", v, len(names), n, v, len(names))
	for c, name := range names {
		if c > 0 {
			e.names[at] = fmt.Sprintf("%s + %d", v, c)
		}
		e.copies = name
		e.items(p, lanes)
	}
	e.names[at], e.copies = v, names[0]
	e.close()
	e.open("for (; %s < %s; %s++)", v, n, v)
	e.items(p, lanes)
	e.close()
	e.copies = ""
	e.close()
}
