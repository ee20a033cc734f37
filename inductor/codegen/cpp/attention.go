package cpp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/plan"
)

// This file has the entry function run the three kernels of an attention in one call of the
// runtime, which takes some rows through all of them.

// attention is where the kernels' own tables have what passes between them.
type attention struct {
	scores  [2]int // of the first product and of the second kernel
	weights int    // of the second kernel
	inner   int    // of it, too; -1 for none
	columns string
	bytes   [3]int // of a score, of a weight and of what is inner
	// past and bound are those of plan.Causal, where there is one.
	past, bound string
	// soft says that it is plan.Softmax, of such a scale; sums is the place of its sums, -1 for none.
	soft, sums int
	scale      float64
}

// attention finds the places.
func (m *module) attention(a *plan.Attention) *attention {
	codes := m.codes[a.First : a.First+3]
	at := func(c *Code, b *ir.Buffer) int { return slices.Index(c.Slots, m.plan.Slot(b)) }
	out := &attention{
		scores: [2]int{at(codes[0], a.Scores), at(codes[1], a.Scores)}, weights: at(codes[1], a.Weights),
		inner: -1, columns: m.sizeText(a.Columns), bytes: [3]int{a.Scores.DType.Size(), a.Weights.DType.Size()},
	}
	if a.Inner != nil {
		out.inner, out.bytes[2] = at(codes[1], a.Inner), a.Inner.DType.Size()
	}
	if c := a.Causal; c != nil {
		out.past, out.bound = m.sizeText(c.Past), "__builtin_inff()"
		if !math.IsInf(c.Bound, 1) {
			out.bound = fmt.Sprintf("%ef", c.Bound)
		}
	}
	if s := a.Softmax; s != nil {
		if out.soft, out.sums, out.scale = 1, -1, s.Scale; s.Sums != nil {
			out.sums = at(codes[1], s.Sums)
		}
	}
	if out.scores[0] < 0 || out.scores[1] < 0 || out.weights < 0 || a.Inner != nil && out.inner < 0 {
		panic("cpp: " + codes[0].Name + " begins an attention whose kernels do not name its buffers")
	}
	for _, c := range codes {
		if len(c.Slots) > plan.MostPointers {
			panic("cpp: " + c.Name + " has more pointers than its plan says")
		}
	}
	return out
}

// attentionCall is the statement that runs three kernels together.
func attentionCall(codes []*Code) string {
	var sb strings.Builder
	var tables, sizes, names, pointers []string
	for i, c := range codes {
		fmt.Fprintf(&sb, "void *const L%d[] = {%s}; ", i, c.pointers())
		size := "S"
		if len(c.given) > 0 {
			size = fmt.Sprintf("K%d", i)
			fmt.Fprintf(&sb, "static const i64 %s[] = {%s}; ", size, joined(c.given))
		}
		if c.Gemm != "" {
			fmt.Fprintf(&sb, "const tc_gemm_args g%d = %s; ", i, c.product(c.operands[0].text(), c.operands[1].text()))
		}
		tables, sizes = append(tables, fmt.Sprintf("L%d", i)), append(sizes, size)
		names, pointers = append(names, fmt.Sprintf("%q", c.Name)), append(pointers, fmt.Sprint(len(c.Slots)))
	}
	list := func(xs []string) string { return "{" + strings.Join(xs, ", ") + "}" }
	a, rows := codes[0].attention, codes[1]
	begun, past, bound := "0", "0", "0"
	if rows.Ends {
		begun, past, bound = rows.Symbol, a.past, a.bound
	}
	fmt.Fprintf(
		&sb,
		"const tc_attention a = {{&g0, &g2}, %s, %s, %s, %s, %s, {%d, %d}, %d, %d, %s, {%d, %d, %d}, %s, %s, %s, %s, %s, %d, %d, %.9ef}; "+
			"R->attend(&a);",
		rows.onWholeRows(), list(tables), list(sizes), list(names), list(pointers), a.scores[0], a.scores[1], a.weights, a.inner, a.columns,
		a.bytes[0], a.bytes[1], a.bytes[2], rows.Units, rows.Grain, begun, past, bound, a.soft, a.sums, a.scale,
	)
	return "{ " + sb.String() + " }"
}
