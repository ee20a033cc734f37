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
			if !declared[c.Name] {
				declared[c.Name] = true
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
		return fmt.Sprintf("void %s(void *const *B, const i64 *S, const float *T, i64 ldt, i64 b, i64 m0, i64 n0, i64 m, i64 n);\n", c.Name)
	}
	if c.Pack {
		return ""
	}
	return fmt.Sprintf("void %s(void *const *B, const i64 *S, i64 lo, i64 hi);\n", c.Name)
}

// call is the statement that runs the kernel.
func (c *Code) call() string {
	switch {
	case c.Pack:
		return c.Text
	case c.Gemm != "":
		return fmt.Sprintf("{ const tc_gemm_args g = %s; R->gemm(&g, B, S, \"%s\"); }", c.Gemm, c.Name)
	}
	return fmt.Sprintf("R->parfor(%s, B, S, %s, %s, \"%s\");", c.Name, c.Units, c.Grain, c.Name)
}
