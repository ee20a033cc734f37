package cpp

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// letter is the first letter of the C type that holds elements of type d in a
// register; bool is a mask of 0 and -1 as wide as float.
func letter(d ops.DType) string {
	switch ir.Register(d) {
	case ops.Float32:
		return "f"
	case ops.Float64:
		return "d"
	case ops.Int64:
		return "l"
	case ops.Uint8:
		return "b"
	}
	return "i"
}

// regType is the register type of lanes elements: f16, d8, i1.
func regType(d ops.DType, lanes int) string { return fmt.Sprintf("%s%d", letter(d), lanes) }

// memType is the type of an element in memory.
func memType(d ops.DType) string {
	return memLetter(d) + "1"
}

// memLetter is the first letter of the C type that holds elements in memory.
func memLetter(d ops.DType) string {
	switch d {
	case ops.Bool:
		return "b"
	case ops.Float16, ops.BFloat16:
		return "h"
	case ops.Int16:
		return "s"
	case ops.Int8:
		return "c"
	}
	return letter(d)
}

// scalars are the types and the runtime's table, at the head of every shard.
const scalars = `typedef long i64;
typedef int i32;
typedef unsigned char u8;
typedef float f1 __attribute__((may_alias));
typedef double d1 __attribute__((may_alias));
typedef int i1 __attribute__((may_alias));
typedef long l1 __attribute__((may_alias));
typedef unsigned char b1;
typedef unsigned short h1 __attribute__((may_alias));
typedef short s1 __attribute__((may_alias));
typedef signed char c1;
` + RuntimeTypes

// RuntimeTypes is the interface to the runtime library, whose text declares the
// same; a test of package backends compares them.
const RuntimeTypes = `typedef void (*tc_kernel)(void *const *B, const i64 *S, i64 lo, i64 hi);
typedef void (*tc_begun)(void *const *B, const i64 *S, i64 lo, i64 hi, i64 most);
typedef void (*tc_epilogue)(void *const *B, const i64 *S, const float *T, i64 ldt, i64 b, i64 m0, i64 n0, i64 m, i64 n);
typedef struct {
  i64 height, width, chan, row, col, kh, kw, sh, sw, ph, pw, dh, dw, outw, block, lanes, fc, fh, fw, uh, uw;
} tc_conv;
typedef struct {
  float *out;
  const float *bias, *more;
} tc_place;
typedef struct {
  i64 m, n, k, ndim;
  i64 size[4], as[4], bs[4];
  i64 arow, acol, brow, bcol;
  const float *a, *b;
  i64 packed;
  tc_epilogue epilogue;
  i64 conv;
  tc_conv image;
  i64 type, made, ahead, stored;
  i64 lines, line[4], line_row;
  i64 ending;
} tc_gemm_args;
typedef struct {
  const tc_gemm_args *product[2];
  tc_kernel rows;
  void *const *B[3];
  const i64 *S[3];
  const char *name[3];
  i64 pointers[3], scores[2], weights, inner, columns, bytes[3], units, grain;
  tc_begun begun;
  i64 past;
  float bound;
  i64 soft, sums;
  float scale;
} tc_attention;
typedef struct {
  void (*parfor)(tc_kernel f, void *const *B, const i64 *S, i64 units, i64 grain, const char *name);
  void (*gemm)(const tc_gemm_args *g, void *const *B, const i64 *S, const char *name);
  void (*pack)(const tc_gemm_args *g, float *out, const char *name);
  void (*attend)(const tc_attention *a);
} tc_runtime;
`

// helper is a C function over registers of some lanes, emitted only where it is
// used. In its text F, D, I, L, B stand for the register types, N for the lanes
// and f, d, l, i for the suffixes of the function names.
type helper struct {
	needs  []string
	text   string // both forms, or the vector form where scalar is set
	one    string // the form for one lane; empty: text serves both
	libm   bool   // calls a function of libm
	apart  bool   // never inlined: it runs once a row
	inline bool   // always inlined: a part of it goes before the loop
}

// use is a helper over so many lanes.
type use struct {
	name  string
	lanes int
}

// uses are the helpers that a kernel names, in order, and how often.
type uses struct {
	list  []use
	times map[use]int
}

// fn notes the use of a helper for lanes and returns its C name.
func (u *uses) fn(name string, lanes int) string {
	if u.times == nil {
		u.times = map[use]int{}
	}
	x := use{name, lanes}
	if u.times[x]++; u.times[x] == 1 {
		u.list = append(u.list, x)
	}
	return fmt.Sprintf("%s%d", name, lanes)
}

// stepsHelper makes the numbers a, a+s, a+2s and so on of four bytes, which are known to fit.
func stepsHelper(name string, lanes int) (helper, bool) {
	if name != "iota_i" {
		return helper{}, false
	}
	list := make([]string, lanes)
	for k := range list {
		list[k] = strconv.Itoa(k)
	}
	text := "i$ iota_i$(i64 a, i64 s) { return (i1)a + (i1)s * (i$){" + strings.Join(list, ", ") + "}; }"
	return helper{text: text, one: "i1 iota_i1(i64 a, i64 s) { return (i1)a; }"}, true
}

// prelude is the head of a shard: the register types and the helpers that its kernels use.
type prelude struct {
	used   map[string]int // "exp_f16": how often kernels name it
	libm   bool           // some helper calls functions of libm
	list   []emitted      // helpers after those that they need
	widths []int          // lanes of registers
}

// emitted is a helper of a shard.
type emitted struct {
	name, text string
	needs      []string // full names
	lanes      int
	apart      bool
	inline     bool
}

func newPrelude() *prelude { return &prelude{used: map[string]int{}} }

// How often a large helper is inlined: beyond, the time to compile costs more
// than the calls. The scalar forms mostly serve the last few elements of a loop.
const (
	inlineUses       = 24
	inlineScalarUses = 4
)

// largeHelper is the length of text, as the C compiler sees it, from which a helper counts as large.
const largeHelper = 300

// lengthOf is the length of a helper's text where of each #if its longest alternative counts: fma is one instruction, in as many
// spellings as there are compilers and machines. A call of that saves all registers around it.
func lengthOf(text string) int {
	type choice struct{ before, longest int }
	var open []choice
	n := 0
	for line := range strings.Lines(text) {
		top := len(open) - 1
		switch {
		case strings.HasPrefix(line, "#if"):
			open = append(open, choice{before: n})
			n = 0
		case strings.HasPrefix(line, "#el"):
			open[top].longest, n = max(open[top].longest, n), 0
		case strings.HasPrefix(line, "#endif"):
			n = open[top].before + max(open[top].longest, n)
			open = open[:top]
		default:
			n += len(line)
		}
	}
	return n
}

// add has the prelude serve a kernel as well.
func (p *prelude) add(c *Code) {
	for _, u := range c.uses.list {
		p.used[p.emit(u.name, u.lanes)] += c.uses.times[u]
	}
	for _, n := range c.widths {
		if n > 1 && !slices.Contains(p.widths, n) {
			p.widths = append(p.widths, n)
			slices.Sort(p.widths)
		}
	}
}

// emit sees to it that a helper is in the shard, with what it needs.
func (p *prelude) emit(name string, lanes int) string {
	full := fmt.Sprintf("%s%d", name, lanes)
	if _, there := p.used[full]; there {
		return full
	}
	p.used[full] = 0
	h := helperOf(name, lanes)
	p.libm = p.libm || h.libm
	e := emitted{name: full, text: h.text, lanes: lanes, apart: h.apart, inline: h.inline}
	for _, n := range h.needs {
		e.needs = append(e.needs, p.emit(n, lanes))
	}
	if lanes == 1 && h.one != "" {
		e.text = h.one
	}
	e.text = strings.ReplaceAll(e.text, "$", strconv.Itoa(lanes))
	p.list = append(p.list, e)
	return full
}

func helperOf(name string, lanes int) helper {
	if h, ok := helpers()[name]; ok {
		return h
	}
	if h, ok := mathHelpers()[name]; ok {
		return h
	}
	h, ok := foldHelper(name, lanes)
	if !ok {
		h, ok = stepsHelper(name, lanes)
	}
	if !ok {
		h, ok = everySecond(name, lanes)
	}
	if !ok {
		h, ok = memoryAccess(name)
	}
	if !ok {
		h, ok = narrowHelpers()[name]
	}
	if !ok {
		h, ok = lanewise(name)
	}
	if !ok {
		panic("cpp: no helper " + name)
	}
	return h
}

// text is the prelude, in a stable order.
func (p *prelude) text() string {
	var sb strings.Builder
	sb.WriteString(scalars)
	for _, n := range p.widths {
		sb.WriteString(vectorTypes(n))
	}
	apart := p.calls()
	for i, h := range p.list {
		how := "static inline __attribute__((always_inline)) "
		if apart[i] {
			how = "static __attribute__((noinline)) "
		}
		sb.WriteString(how + h.text + "\n")
	}
	return sb.String()
}

// calls decides which helpers are functions of their own: those whose text would
// are in the code too often, counting what comes with an inlined user.
func (p *prelude) calls() (apart []bool /* by place in list */) {
	apart = make([]bool, len(p.list))
	uses := maps.Clone(p.used)
	for i := len(p.list) - 1; i >= 0; i-- { // users come after what they need
		h := &p.list[i]
		limit := inlineUses
		if h.lanes == 1 {
			limit = inlineScalarUses
		}
		n := uses[h.name]
		apart[i] = h.apart || lengthOf(h.text) > largeHelper && n > limit && !h.inline
		if apart[i] {
			n = 1
		}
		for _, need := range h.needs {
			uses[need] += n
		}
	}
	return apart
}

// vectorTypes declares the register types of n lanes and their unaligned forms.
func vectorTypes(n int) string {
	var sb strings.Builder
	for _, t := range []struct {
		letter, scalar string
		size           int
	}{
		{"f", "float", 4},
		{"d", "double", 8},
		{"i", "int", 4},
		{"l", "long", 8},
		{"b", "unsigned char", 1},
		{"h", "unsigned short", 2},
		{"s", "short", 2},
		{"c", "signed char", 1},
	} {
		fmt.Fprintf(&sb, "typedef %s %s%d __attribute__((vector_size(%d)));\n", t.scalar, t.letter, n, t.size*n)
		fmt.Fprintf(
			&sb, "typedef %s %s%du __attribute__((vector_size(%d), aligned(%d), may_alias));\n", t.scalar, t.letter, n,
			t.size*n, min(t.size, 4),
		)
	}
	return sb.String()
}

// lanewise applies a function of libm to each lane.
func lanewise(name string) (helper, bool) {
	base, kind, ok := strings.Cut(name, "_")
	if !ok || kind != "f" && kind != "d" || !slices.Contains(libmNames, base) {
		return helper{}, false
	}
	cfn := base
	if kind == "f" {
		cfn += "f"
	}
	params, args, one := fmt.Sprintf("%s$ x", kind), "x[k]", "x"
	if slices.Contains(binaryNames, base) {
		params, args, one = fmt.Sprintf("%s$ x, %s$ y", kind, kind), "x[k], y[k]", "x, y"
	}
	return helper{
		libm: true,
		text: fmt.Sprintf(
			"%s$ %s_%s$(%s) { %s$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_%s(%s); return r; }", kind,
			base, kind, params, kind, cfn, args,
		),
		one: fmt.Sprintf("%s1 %s_%s1(%s) { return __builtin_%s(%s); }", kind, base, kind, strings.ReplaceAll(params, "$", "1"), cfn, one),
	}, true
}

// libmNames are the functions that are called a lane at a time.
var libmNames = []string{
	"exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf", "exp2", "log2", "log10", "tan", "asin",
	"acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "erfc", "lgamma", "pow", "fmod", "atan2", "hypot", "copysign",
}

// binaryNames are those of them that take two arguments.
var binaryNames = []string{"pow", "fmod", "atan2", "hypot", "copysign"}

// helpers are the functions with a text of our own. Comparisons yield masks in
// vectors by themselves and through a minus sign in scalars, hence lt_f and its
// kin; bits are reinterpreted by bits_f and from_f. Only who generates code waits
// for the table.
var helpers = sync.OnceValue(func() map[string]helper {
	return map[string]helper{
		"bc_f": {text: `f$ bc_f$(f1 x) { f$ r = {0}; return x - r; }`, one: `f1 bc_f1(f1 x) { return x; }`},
		"bc_d": {text: `d$ bc_d$(d1 x) { d$ r = {0}; return x - r; }`, one: `d1 bc_d1(d1 x) { return x; }`},
		"bc_i": {text: `i$ bc_i$(i1 x) { i$ r = {0}; return x - r; }`, one: `i1 bc_i1(i1 x) { return x; }`},
		"bc_l": {text: `l$ bc_l$(l1 x) { l$ r = {0}; return x - r; }`, one: `l1 bc_l1(l1 x) { return x; }`},
		"bc_b": {text: `b$ bc_b$(b1 x) { b$ r = {0}; return x - r; }`, one: `b1 bc_b1(b1 x) { return x; }`},

		"bits_f": {text: `i$ bits_f$(f$ x) { return (i$)x; }`, one: `i1 bits_f1(f1 x) { i32 r; __builtin_memcpy(&r, &x, 4); return r; }`},
		"from_f": {text: `f$ from_f$(i$ x) { return (f$)x; }`, one: `f1 from_f1(i1 x) { float r; __builtin_memcpy(&r, &x, 4); return r; }`},
		"bits_d": {text: `l$ bits_d$(d$ x) { return (l$)x; }`, one: `l1 bits_d1(d1 x) { i64 r; __builtin_memcpy(&r, &x, 8); return r; }`},
		"from_d": {
			text: `d$ from_d$(l$ x) { return (d$)x; }`,
			one:  `d1 from_d1(l1 x) { double r; __builtin_memcpy(&r, &x, 8); return r; }`,
		},

		"lt_f": {text: `i$ lt_f$(f$ a, f$ b) { return (i$)(a < b); }`, one: `i1 lt_f1(f1 a, f1 b) { return -(a < b); }`},
		"le_f": {text: `i$ le_f$(f$ a, f$ b) { return (i$)(a <= b); }`, one: `i1 le_f1(f1 a, f1 b) { return -(a <= b); }`},
		"eq_f": {text: `i$ eq_f$(f$ a, f$ b) { return (i$)(a == b); }`, one: `i1 eq_f1(f1 a, f1 b) { return -(a == b); }`},
		"ne_f": {text: `i$ ne_f$(f$ a, f$ b) { return (i$)(a != b); }`, one: `i1 ne_f1(f1 a, f1 b) { return -(a != b); }`},
		"lt_i": {text: `i$ lt_i$(i$ a, i$ b) { return (i$)(a < b); }`, one: `i1 lt_i1(i1 a, i1 b) { return -(a < b); }`},
		"le_i": {text: `i$ le_i$(i$ a, i$ b) { return (i$)(a <= b); }`, one: `i1 le_i1(i1 a, i1 b) { return -(a <= b); }`},
		"eq_i": {text: `i$ eq_i$(i$ a, i$ b) { return (i$)(a == b); }`, one: `i1 eq_i1(i1 a, i1 b) { return -(a == b); }`},
		"ne_i": {text: `i$ ne_i$(i$ a, i$ b) { return (i$)(a != b); }`, one: `i1 ne_i1(i1 a, i1 b) { return -(a != b); }`},
		"lt_d": {
			text: `i$ lt_d$(d$ a, d$ b) { return __builtin_convertvector(a < b, i$); }`,
			one:  `i1 lt_d1(d1 a, d1 b) { return -(a < b); }`,
		},
		"le_d": {
			text: `i$ le_d$(d$ a, d$ b) { return __builtin_convertvector(a <= b, i$); }`,
			one:  `i1 le_d1(d1 a, d1 b) { return -(a <= b); }`,
		},
		"eq_d": {
			text: `i$ eq_d$(d$ a, d$ b) { return __builtin_convertvector(a == b, i$); }`,
			one:  `i1 eq_d1(d1 a, d1 b) { return -(a == b); }`,
		},
		"ne_d": {
			text: `i$ ne_d$(d$ a, d$ b) { return __builtin_convertvector(a != b, i$); }`,
			one:  `i1 ne_d1(d1 a, d1 b) { return -(a != b); }`,
		},
		"lt_l": {
			text: `i$ lt_l$(l$ a, l$ b) { return __builtin_convertvector(a < b, i$); }`,
			one:  `i1 lt_l1(l1 a, l1 b) { return -(a < b); }`,
		},
		"le_l": {
			text: `i$ le_l$(l$ a, l$ b) { return __builtin_convertvector(a <= b, i$); }`,
			one:  `i1 le_l1(l1 a, l1 b) { return -(a <= b); }`,
		},
		"eq_l": {
			text: `i$ eq_l$(l$ a, l$ b) { return __builtin_convertvector(a == b, i$); }`,
			one:  `i1 eq_l1(l1 a, l1 b) { return -(a == b); }`,
		},
		"ne_l": {
			text: `i$ ne_l$(l$ a, l$ b) { return __builtin_convertvector(a != b, i$); }`,
			one:  `i1 ne_l1(l1 a, l1 b) { return -(a != b); }`,
		},
		"lt_b": {text: byteCompare("lt", "<"), one: `i1 lt_b1(b1 a, b1 b) { return -(a < b); }`},
		"le_b": {text: byteCompare("le", "<="), one: `i1 le_b1(b1 a, b1 b) { return -(a <= b); }`},
		"eq_b": {text: byteCompare("eq", "=="), one: `i1 eq_b1(b1 a, b1 b) { return -(a == b); }`},
		"ne_b": {text: byteCompare("ne", "!="), one: `i1 ne_b1(b1 a, b1 b) { return -(a != b); }`},

		"sel_f": {
			text: `f$ sel_f$(i$ m, f$ a, f$ b) { return (f$)((m & (i$)a) | (~m & (i$)b)); }`,
			one:  `f1 sel_f1(i1 m, f1 a, f1 b) { return m ? a : b; }`,
		},
		"sel_i": {
			text: `i$ sel_i$(i$ m, i$ a, i$ b) { return (m & a) | (~m & b); }`,
			one:  `i1 sel_i1(i1 m, i1 a, i1 b) { return m ? a : b; }`,
		},
		"sel_d": {text: `d$ sel_d$(i$ m, d$ a, d$ b) { l$ w = __builtin_convertvector(m, l$); return (d$)((w & (l$)a) | (~w & ` +
			`(l$)b)); }`, one: `d1 sel_d1(i1 m, d1 a, d1 b) { return m ? a : b; }`},
		"sel_l": {
			text: `l$ sel_l$(i$ m, l$ a, l$ b) { l$ w = __builtin_convertvector(m, l$); return (w & a) | (~w & b); }`,
			one:  `l1 sel_l1(i1 m, l1 a, l1 b) { return m ? a : b; }`,
		},
		"sel_b": {
			text: `b$ sel_b$(i$ m, b$ a, b$ b) { b$ w = __builtin_convertvector(m, b$); return (w & a) | (~w & b); }`,
			one:  `b1 sel_b1(i1 m, b1 a, b1 b) { return m ? a : b; }`,
		},

		"iota_l": {
			text: `l$ iota_l$(i64 a, i64 s) { l$ r = {0}; for (int k = 0; k < $; k++) r[k] = a + k * s; return r; }`,
			one:  `l1 iota_l1(i64 a, i64 s) { return a; }`,
		},

		"nt_f": {text: ntStore},
	}
})

func byteCompare(name, op string) string {
	return fmt.Sprintf(
		`i$ %s_b$(b$ a, b$ b) { return __builtin_convertvector(__builtin_convertvector(a, i$) %s __builtin_convertvector(b, i$), i$); }`,
		name, op,
	)
}

// ntStore writes past the caches, where the machine has such a store.
const ntStore = `void nt_f$(f1 *p, f$ v) {
#if defined(__clang__)
  __builtin_nontemporal_store(v, (f$ *)p);
#elif $ == 16 && defined(__AVX512F__)
  __builtin_ia32_movntps512((float *)p, v);
#elif $ == 8 && defined(__AVX__)
  __builtin_ia32_movntps256((float *)p, v);
#elif $ == 4 && defined(__SSE__)
  __builtin_ia32_movntps((float *)p, v);
#else
  *(f$ *)p = v;
#endif
}`
