package cpp

import (
	"fmt"
	"slices"
	"strings"
)

// Prelude collects the helper functions and register widths of one shard.
type Prelude struct {
	p      *prelude
	widths []int
}

// NewPrelude returns an empty prelude.
func NewPrelude() *Prelude { return &Prelude{p: newPrelude()} }

func (p *Prelude) width(n int) {
	if n > 1 && !slices.Contains(p.widths, n) {
		p.widths = append(p.widths, n)
		slices.Sort(p.widths)
	}
}

// Libm reports whether the shard calls functions of libm.
func (p *Prelude) Libm() bool { return p.p.libm }

// Text is the head of the shard.
func (p *Prelude) Text() string { return p.p.text(p.widths) }

// Segment is a run of kernels without an eager call in between.
type Segment struct{ Kernels []*Code }

// Entry writes the function that runs one segment: it declares the kernels of
// all shards and calls them through the runtime.
func Entry(name string, segments []Segment) string {
	var sb strings.Builder
	declared := map[string]bool{}
	for _, s := range segments {
		for _, c := range s.Kernels {
			if !declared[c.Symbol] {
				declared[c.Symbol] = true
				sb.WriteString(prototype(c))
			}
		}
	}
	sb.WriteString("#ifdef __cplusplus\nextern \"C\"\n#endif\n")
	fmt.Fprintf(&sb, "i64 %s(i64 segment, void *const *B, const i64 *S, const tc_runtime *R) {\n  switch (segment) {\n", name)
	for i, s := range segments {
		fmt.Fprintf(&sb, "  case %d:\n", i)
		for _, c := range s.Kernels {
			sb.WriteString("    " + c.call() + "\n")
		}
		sb.WriteString("    return 0;\n")
	}
	sb.WriteString("  }\n  return 1;\n}\n")
	return sb.String()
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
	return fmt.Sprintf("void %s(void *const *B, const i64 *S, i64 lo, i64 hi);\n", c.Symbol)
}

// call is the statement that runs the kernel on its own table of pointers.
func (c *Code) call() string {
	if c.Pack {
		return c.Text
	}
	table := make([]string, len(c.Slots))
	for i, s := range c.Slots {
		table[i] = fmt.Sprintf("B[%d]", s)
	}
	if len(table) == 0 {
		table = []string{"0"}
	}
	run := fmt.Sprintf("R->parfor(%s, L, S, %s, %s, \"%s\");", c.Symbol, c.Units, c.Grain, c.Name)
	if c.Gemm != "" {
		run = fmt.Sprintf("const tc_gemm_args g = %s; R->gemm(&g, L, S, \"%s\");", strings.Replace(c.Gemm, symbolMark, c.Symbol, 1), c.Name)
	}
	return fmt.Sprintf("{ void *const L[] = {%s}; %s }", strings.Join(table, ", "), run)
}

// Shape is the kernel's text without its name and comments: kernels of the same
// shape compute the same and are compiled once.
func (c *Code) Shape() string {
	var sb strings.Builder
	for line := range strings.Lines(c.Text) {
		line, _, _ = strings.Cut(line, "//")
		if line = strings.TrimSpace(line); line != "" {
			sb.WriteString(strings.Replace(line, "void "+c.Name+"(", "void (", 1))
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}
