package cpp

import (
	"fmt"
	"math"
	"strings"
)

// shard is a translation unit without the entry function.
type shard struct {
	prelude *prelude
	body    strings.Builder
}

// shards distributes functions over n translation units of about the same length, for compilers
// that run side by side. The entry function goes into the first.
func shards(functions []function, n, entry int) []*shard {
	out := make([]*shard, n)
	for i := range out {
		out[i] = &shard{prelude: newPrelude()}
	}
	for _, f := range functions {
		best, least := 0, 0
		for i, s := range out {
			length := s.body.Len()
			if i == 0 {
				length += entry / entryShare
			}
			if i == 0 || length < least {
				best, least = i, length
			}
		}
		out[best].prelude.add(f.code)
		out[best].body.WriteString(f.text + "\n")
	}
	return out
}

// Segment is a run of kernels without an eager call in between.
type Segment struct{ Kernels []*Code }

// manyCalls is how many kernels an entry function calls at the most that is optimized: it has
// nothing to gain, and its length makes a compiler take as long for it as for the kernels. With
// more, those calls that are the same for all sizes are rows of a table.
const manyCalls = 32

// entryShare is how many letters of an entry function take as long as one of a kernel.
const entryShare = 12

// Entry writes the function that runs one segment: it declares the kernels of
// all shards and calls them through the runtime.
func Entry(name string, segments []Segment) string {
	var sb strings.Builder
	declared, calls := map[string]bool{}, 0
	for _, s := range segments {
		calls += len(s.Kernels)
		for _, c := range s.Kernels {
			if !declared[c.Symbol] {
				declared[c.Symbol] = true
				sb.WriteString(prototype(c))
			}
		}
	}
	many := calls > manyCalls
	var body strings.Builder
	body.WriteString("#ifdef __cplusplus\nextern \"C\"\n#endif\n")
	if many {
		body.WriteString("#ifdef __clang__\n__attribute__((optnone))\n#else\n__attribute__((optimize(\"O0\")))\n#endif\n")
	}
	fmt.Fprintf(&body, "i64 %s(i64 segment, void *const *B, const i64 *S, const tc_runtime *R) {\n  switch (segment) {\n", name)
	var t callTable
	for i, s := range segments {
		fmt.Fprintf(&body, "  case %d:\n", i)
		for k := 0; k < len(s.Kernels); k++ {
			from := len(t.rows)
			for many && k < len(s.Kernels) && s.Kernels[k].fixed() {
				t.add(s.Kernels[k])
				k++
			}
			if n := len(t.rows); n > from {
				fmt.Fprintf(&body, "    tc_calls(tc_rows + %d, tc_rows + %d, B, S, R);\n", from, n)
			}
			switch {
			case k == len(s.Kernels):
			case s.Kernels[k].attention != nil:
				body.WriteString("    " + attentionCall(s.Kernels[k:k+3]) + "\n")
				k += 2
			default:
				body.WriteString("    " + s.Kernels[k].call() + "\n")
			}
		}
		body.WriteString("    return 0;\n")
	}
	body.WriteString("  }\n  return 1;\n}\n")
	return sb.String() + t.text() + body.String()
}

func prototype(c *Code) string {
	if c.Gemm != "" {
		return fmt.Sprintf(
			"void %s(void *const *B, const i64 *S, const float *T, i64 ldt, i64 b, i64 m0, i64 n0, i64 m, i64 n);\n",
			c.Symbol,
		)
	}
	if c.Pack {
		return ""
	}
	text := fmt.Sprintf("void %s(%s);\n", c.Symbol, c.parameters())
	if c.Ends {
		text += fmt.Sprintf(
			"static void %s(void *const *B, const i64 *S, i64 lo, i64 hi) { %s(B, S, lo, hi, %d); }\n",
			c.onWholeRows(), c.Symbol, int64(math.MaxInt64),
		)
	}
	return text
}

// parameters are those of a function of loops: most is how many columns of a row it takes at the most.
func (c *Code) parameters() string {
	if c.Ends {
		return "void *const *B, const i64 *S, i64 lo, i64 hi, i64 most"
	}
	return "void *const *B, const i64 *S, i64 lo, i64 hi"
}

// onWholeRows is the function of loops that takes all columns.
func (c *Code) onWholeRows() string {
	if c.Ends {
		return c.Symbol + "_whole"
	}
	return c.Symbol
}

// call is the statement that runs the kernel on its own table of pointers.
func (c *Code) call() string {
	if c.Pack {
		return c.Text
	}
	sizes, own := "S", ""
	if len(c.given) > 0 {
		sizes, own = "K", fmt.Sprintf("static const i64 K[] = {%s}; ", joined(c.given))
	}
	run := fmt.Sprintf("R->parfor(%s, L, %s, %s, %s, \"%s\");", c.onWholeRows(), sizes, c.Units, c.Grain, c.Name)
	if c.Gemm != "" {
		run = fmt.Sprintf("const tc_gemm_args g = %s; R->gemm(&g, L, %s, \"%s\");",
			c.product(c.operands[0].text(), c.operands[1].text()), sizes, c.Name)
	}
	return fmt.Sprintf("{ void *const L[] = {%s}; %s%s }", c.pointers(), own, run)
}

// pointers are the elements of the kernel's own table.
func (c *Code) pointers() string {
	if len(c.Slots) == 0 {
		return "0"
	}
	table := make([]string, len(c.Slots))
	for i, s := range c.Slots {
		table[i] = fmt.Sprintf("B[%d]", s)
	}
	return strings.Join(table, ", ")
}

// product is the description of the kernel's product with these operands.
func (c *Code) product(a, b string) string {
	return strings.NewReplacer(symbolMark, c.Symbol, leftMark, a, rightMark, b).Replace(c.Gemm)
}
