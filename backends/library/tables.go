package library

import (
	_ "embed"
	"fmt"
	"math"
	"strings"

	"tcdbg/inductor/plan"
	"tcdbg/ops"
	"tcdbg/ops/sym"
)

// This file writes the tables that library.c.txt goes by. All sizes, strides and numbers of bytes are entries of
// one table, which a function makes of the sizes that differ from call to call.

//go:embed library.c.txt
var common string

// tables is the text of the tables while it is written.
type tables struct {
	*Library
	values []sym.Int // what the table of sizes holds; those that kernels read come first
	sb     strings.Builder
}

// Unit is the translation unit that runs the program. It reads the header, NAME.h.
func (l *Library) Unit() string {
	t := &tables{Library: l, values: append([]sym.Int{}, l.Program.Sizes...)}
	t.head()
	t.buffers()
	t.tensors()
	t.steps()
	t.sizes()
	t.guards()
	t.features()
	return t.start() + t.sb.String() + common
}

func (t *tables) p(format string, args ...any) { fmt.Fprintf(&t.sb, format+"\n", args...) }

// at adds sizes to the table and returns the position of the first.
func (t *tables) at(xs ...sym.Int) int {
	t.values = append(t.values, xs...)
	return len(t.values) - len(xs)
}

// start is the head of the unit, written when the numbers are known.
func (t *tables) start() string {
	p := t.Program
	return fmt.Sprintf(`/* What runs %[1]s. Written by tcdbg. */
#pragma GCC visibility push(default)
#include "%[1]s.h"
#pragma GCC visibility pop
#include <pthread.h>

#define API(x) %[1]s_##x
#define CODE(x) %[2]s_##x
#define LIBRARY "%[1]s"

#if defined(__x86_64__)
#define SYS_AFFINITY 204
#else
#define SYS_AFFINITY 123
#endif

typedef long i64;
typedef unsigned long u64;
typedef unsigned char u8;

enum { INPUTS = %[3]d, OUTPUTS = %[4]d, BUFFERS = %[5]d, STEPS = %[6]d, PROLOGUE = %[7]d, VALUES = %[8]d, SYMBOLS = %[9]d };
`, t.Name, strings.ToUpper(t.Name), t.given(), len(p.Outputs), len(p.Buffers), len(p.Steps), len(p.Prologue), len(t.values), len(p.Symbols))
}

// given counts the inputs that a caller gives.
func (l *Library) given() int {
	n := 0
	for _, in := range l.Inputs {
		if in.Given {
			n++
		}
	}
	return n
}

func (t *tables) head() {
	rank := 1
	for i := range t.Program.Buffers {
		rank = max(rank, len(t.Program.Buffers[i].Shape))
	}
	for i := range t.Program.Outputs {
		rank = max(rank, len(t.Program.Outputs[i].Shape))
	}
	t.p("enum { MAX_NDIM = %d, DTYPES = %d };", rank, ops.NumDTypes)
	t.p("enum { GIVEN, WEIGHT, ARENA, RESULT, PACKED, CHECK };")
	var names, sizes []string
	for d := range ops.NumDTypes {
		names, sizes = append(names, fmt.Sprintf("%q", d.Name())), append(sizes, fmt.Sprint(d.Size()))
	}
	t.p("static const char *const dtype_names[] = {%s};", strings.Join(names, ", "))
	t.p("static const int dtype_sizes[] = {%s};", strings.Join(sizes, ", "))
	t.p(`
/* A buffer of the program: arg is the input that it is, or the first output that lies in it. bytes is, as all
   sizes are below, a position in the table of sizes; a buffer of the arena is in use from one step to another. */
struct buffer { int role, arg, bytes, from, to, passing; i64 at; };
/* An input or an output, in elements: sizes and strides of each dimension, and where it begins in its buffer. An
   output without a buffer, -1, is one of the sizes itself: that at offset. */
struct value { const char *name; int dtype, ndim, sizes, strides, offset, buffer; };
/* A size that differs from call to call, and where it is read. */
struct symbol { int input, dim; i64 min, max; };
`)
}

// argument is the number of a placeholder among the inputs that a caller gives.
func (l *Library) argument(placeholder int) int {
	n := 0
	for _, in := range l.Inputs[:placeholder] {
		if in.Given {
			n++
		}
	}
	return n
}

func (t *tables) buffers() {
	p := t.Program
	from, to := map[int]int{}, map[int]int{}
	for _, l := range p.Lives() {
		from[l.Buffer], to[l.Buffer] = l.From, l.To
	}
	passing := map[int]bool{}
	for _, b := range p.Passing {
		passing[b] = true
	}
	t.p("static const struct buffer buffers[] = {")
	for i := range p.Buffers {
		b := &p.Buffers[i]
		role, arg, at := t.role(i)
		bytes := t.at(sym.Mul(b.Span, sym.C(b.DType.Size())))
		t.p("  {%s, %d, %d, %d, %d, %d, %d}, /* %s */", role, arg, bytes, from[i], to[i], number(passing[i]), at, Printable(b.Name))
	}
	t.p("  {0}};")
}

// role is where the memory of a buffer comes from.
func (t *tables) role(buf int) (role string, arg int, at int64) {
	p := t.Program
	switch p.Buffers[buf].Role {
	case plan.RoleInput:
		for k, b := range p.Inputs {
			if b == buf && !t.Inputs[k].Given {
				return "WEIGHT", 0, t.Inputs[k].Weight
			} else if b == buf {
				return "GIVEN", t.argument(k), 0
			}
		}
	case plan.RoleOutput:
		for k := range p.Outputs {
			if p.Outputs[k].Buffer == buf {
				return "RESULT", k, 0
			}
		}
		return "RESULT", -1, 0
	case plan.RolePacked:
		return "PACKED", 0, 0
	case plan.RoleCheck:
		return "CHECK", 0, 0
	}
	return "ARENA", 0, 0
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tensors writes inputs and outputs, for the library and for its users.
func (t *tables) tensors() {
	p := t.Program
	var values, infos strings.Builder
	one := func(name string, d ops.DType, shape, stride []sym.Int, offset sym.Int, buf int, dims string) {
		fmt.Fprintf(&values, "  {\"%s\", %d, %d, %d, %d, %d, %d},\n",
			Printable(name), d, len(shape), t.at(shape...), t.at(stride...), t.at(offset), buf)
		t.p("static const int64_t %s[] = {%s};", dims, strings.Join(append(numbers(shape), "0"), ", "))
		fmt.Fprintf(&infos, "  {\"%s\", %d, %d, %s},\n", Printable(name), d, len(shape), dims)
	}
	write := func(what string) {
		t.p("static const struct value %ss[] = {\n%s  {0}};", what, values.String())
		t.p("static const API(info) %s_infos[] = {\n%s  {0}};", what, infos.String())
		values.Reset()
		infos.Reset()
	}
	for k, buf := range p.Inputs {
		if in := &t.Inputs[k]; in.Given {
			b := &p.Buffers[buf]
			one(in.Name, b.DType, b.Shape, b.Stride, sym.Int{}, buf, fmt.Sprintf("input_sizes_%d", t.argument(k)))
		}
	}
	write("input")
	for k := range p.Outputs {
		o := &p.Outputs[k]
		at := o.Offset
		if x, size := o.Value.(sym.Int); size && o.Buffer < 0 {
			at = x
		}
		one(t.Outputs[k], t.result(k), o.Shape, o.Stride, at, o.Buffer, fmt.Sprintf("output_sizes_%d", k))
	}
	write("output")
}

// numbers are sizes as users see them: -1 for one that differs from call to call.
func numbers(shape []sym.Int) []string {
	var out []string
	for _, x := range shape {
		v, ok := x.IsConst()
		if !ok {
			v = -1
		}
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func (t *tables) steps() {
	write := func(name string, steps []plan.Step) {
		var list []string
		for i := range steps {
			list = append(list, fmt.Sprint(steps[i].Segment))
		}
		t.p("static const int %s[] = {%s};", name, strings.Join(append(list, "0"), ", "))
	}
	write("prologue", t.Program.Prologue)
	write("steps", t.Program.Steps)
}

// sizes writes the symbols, and the function that makes all sizes of them.
func (t *tables) sizes() {
	t.p("static const struct symbol symbols[] = {")
	for i := range t.Program.Symbols {
		s := &t.Program.Symbols[i]
		t.p("  {%d, %d, %d, %d}, /* %s */", t.argument(s.Input), s.Dim, s.Sym.Min, min(s.Sym.Max, maxSize), Printable(s.Sym.Name))
	}
	t.p("  {0}};")
	t.p("static inline i64 max(i64 a, i64 b) { return a > b ? a : b; }")
	t.p("static inline i64 min(i64 a, i64 b) { return a < b ? a : b; }")
	t.p("static void evaluate(const i64 *s, i64 *v) {")
	for i, x := range t.values {
		t.p("  v[%d] = %s;", i, t.text(x))
	}
	t.p("}")
}

// text is a size as C has it.
func (t *tables) text(x sym.Int) string {
	if v, ok := x.IsConst(); ok {
		if v == math.MinInt64 {
			return "(-9223372036854775807L - 1)"
		}
		return fmt.Sprintf("%dL", v)
	}
	return x.Subst(func(s *sym.Symbol) (sym.Int, bool) {
		for i := range t.Program.Symbols {
			if t.Program.Symbols[i].Sym == s {
				return (&sym.Symbol{Name: fmt.Sprintf("s[%d]", i), Min: s.Min, Max: s.Max}).Int(), true
			}
		}
		return sym.Int{}, false
	}).GoText()
}

// guards writes what else must hold of the sizes.
func (t *tables) guards() {
	t.p("static const char *const guards[] = {")
	for _, g := range t.Guards {
		t.p("  \"%s\",", sizeText(g.String()))
	}
	t.p("  0};")
	t.p("static int guard(const i64 *s) {")
	for i, g := range t.Guards {
		t.p("  if (!(%s %s %s)) return %d;", t.text(g.A), relation[g.Op], t.text(g.B), i+1)
	}
	t.p("  return 0;\n}")
}

var relation = [...]string{sym.OpEq: "==", sym.OpNe: "!=", sym.OpLt: "<", sym.OpLe: "<="}

// sizeText is the text of sizes for comments and strings, without anything but names, numbers and signs.
func sizeText(text string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" ()+-*,<=", c) {
			return c
		}
		if c == '/' { // would end a comment behind *
			return ':'
		}
		return rune(Printable(string(c))[0])
	}, text)
}

// features writes the function that names what the processor lacks.
func (t *tables) features() {
	if len(t.Features) > 0 {
		t.p(`#include <cpuid.h>
static int has_f16c(void) {
  unsigned a, b, c, d;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}`)
	}
	t.p("static const char *missing_feature(void) {")
	if len(t.Features) > 0 {
		t.p("  __builtin_cpu_init();")
	}
	for _, f := range t.Features {
		t.p("  if (!%s) return %q;", f.Test, f.Name)
	}
	t.p("  return 0;\n}")
}

// Weights is the assembler's text that puts the file of that name into the library.
func Weights(file string) string {
	return fmt.Sprintf(`.section .rodata
.balign 64
.globl tc_weights
.hidden tc_weights
tc_weights:
.incbin "%s"
.byte 0
.section .note.GNU-stack,"",%%progbits
`, file)
}
