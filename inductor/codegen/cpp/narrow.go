package cpp

import (
	"fmt"
	"strings"
	"sync"

	"tcdbg/inductor/ir"
	"tcdbg/ops"
)

// This file moves elements between memory and registers: those of types that
// bodies do not compute with (half precision, integers of one and two bytes) are
// widened when they are loaded and rounded or wrapped when they are stored.

// narrowNames are the helpers' names by type.
var narrowNames = map[ops.DType]string{ops.Float16: "half", ops.BFloat16: "bfloat", ops.Int8: "char", ops.Int16: "short"}

// loaded makes the register form of elements as they lie in memory.
func (s speller) loaded(raw string, d ops.DType) string {
	switch {
	case d == ops.Bool && s.lanes == 1:
		return "-(i32)" + raw
	case d == ops.Bool:
		return fmt.Sprintf("-__builtin_convertvector(%s, i%d)", raw, s.lanes)
	case ir.Narrow(d):
		return fmt.Sprintf("%s(%s)", s.pre.fn("up_"+narrowNames[d], s.lanes), raw)
	}
	return raw
}

// stored makes elements as they lie in memory from their register form.
func (s speller) stored(x string, d ops.DType) string {
	switch {
	case d == ops.Bool && s.lanes == 1:
		return fmt.Sprintf("(u8)(%s & 1)", x)
	case d == ops.Bool:
		return fmt.Sprintf("__builtin_convertvector(%s & 1, b%d)", x, s.lanes)
	case ir.Narrow(d):
		return fmt.Sprintf("%s(%s)", s.pre.fn("down_"+narrowNames[d], s.lanes), x)
	}
	return x
}

// narrowed rounds or wraps a register as a way through memory would.
func (s speller) narrowed(x string, d ops.DType) string {
	if d == ops.BFloat16 { // without leaving the register
		return fmt.Sprintf("%s(%s)", s.pre.fn("round_bfloat", s.lanes), x)
	}
	return s.loaded(s.stored(x, d), d)
}

// memoryAccess is a helper for elements that do not lie side by side: lds loads
// them s apart, ldx at an index each; sts and stx store them so.
func memoryAccess(name string) (helper, bool) {
	kind, t, _ := strings.Cut(name, "_")
	text, ok := map[string]string{
		"lds": `T$ lds_T$(const T1 *p, i64 s) { T$ r = {0}; for (int k = 0; k < $; k++) r[k] = p[k * s]; return r; }`,
		"ldx": `T$ ldx_T$(const T1 *p, i64 s, l$ x) { T$ r = {0}; for (int k = 0; k < $; k++) r[k] = p[k * s + x[k]]; return r; }`,
		"stx": `void stx_T$(T1 *p, i64 s, l$ x, T$ v) { for (int k = 0; k < $; k++) p[k * s + x[k]] = v[k]; }`,
		"sts": `void sts_T$(T1 *p, i64 s, T$ v) { for (int k = 0; k < $; k++) p[k * s] = v[k]; }`,
	}[kind]
	return helper{text: strings.ReplaceAll(text, "T", t)}, ok
}

// narrowHelpers widen (up) and round or wrap (down).
var narrowHelpers = sync.OnceValue(func() map[string]helper {
	return map[string]helper{
		"up_char": {text: `i$ up_char$(c$ x) { return __builtin_convertvector(x, i$); }`, one: `i1 up_char1(c1 x) { return x; }`},
		"down_char": {
			text: `c$ down_char$(i$ x) { return __builtin_convertvector(x, c$); }`,
			one:  `c1 down_char1(i1 x) { return (c1)x; }`,
		},
		"up_short": {text: `i$ up_short$(s$ x) { return __builtin_convertvector(x, i$); }`, one: `i1 up_short1(s1 x) { return x; }`},
		"down_short": {
			text: `s$ down_short$(i$ x) { return __builtin_convertvector(x, s$); }`,
			one:  `s1 down_short1(i1 x) { return (s1)x; }`,
		},

		"up_bfloat": {
			needs: []string{"from_f"},
			text:  `f$ up_bfloat$(h$ x) { return from_f$(__builtin_convertvector(x, i$) << 16); }`,
			one:   `f1 up_bfloat1(h1 x) { return from_f1((i32)((unsigned)x << 16)); }`,
		},
		"down_bfloat": {
			needs: []string{"round_bfloat", "cut_bfloat"},
			text:  `h$ down_bfloat$(f$ x) { return cut_bfloat$(round_bfloat$(x)); }`,
		},
		"cut_bfloat": { // of what is rounded
			needs: []string{"bits_f"},
			text:  `h$ cut_bfloat$(f$ x) { return __builtin_convertvector(bits_f$(x) >> 16, h$); }`,
			one:   `h1 cut_bfloat1(f1 x) { return (h1)(bits_f1(x) >> 16); }`,
		},
		"round_bfloat": {
			needs: []string{"bits_f", "from_f", "ne_f", "sel_i", "bc_i"},
			text: `f$ round_bfloat$(f$ x) {
#if defined(__AVX512F__) && !defined(__clang__) && $ == 16
  i$ b = bits_f$(x), r = (b + (0x7fff + ((b >> 16) & 1))) & -0x10000;
  return __builtin_ia32_fixupimmps512_mask(from_f$(r), x, bc_i$(0x22), 0, -1, 4); // NaN stays what it is
#else
  ` + roundBfloat + `
#endif
}`,
			one: `f1 round_bfloat1(f1 x) { ` + strings.ReplaceAll(roundBfloat, "$", "1") + ` }`,
		},
		"up_half": {
			needs: []string{"from_f", "bits_f", "lt_i", "bc_i"},
			text: `f$ up_half$(h$ x) {
#if defined(__AVX512F__) && !defined(__clang__) && $ == 16
  return __builtin_ia32_vcvtph2ps512_mask((short __attribute__((vector_size(32))))x, (f$){0}, -1, 4);
#elif defined(__F16C__) && defined(__AVX__) && !defined(__clang__) && $ == 8
  return __builtin_ia32_vcvtph2ps256((short __attribute__((vector_size(16))))x);
#else
  i$ b = __builtin_convertvector(x, i$); ` + upHalf + `
#endif
}`,
			one: `f1 up_half1(h1 x) { i1 b = x; ` + strings.ReplaceAll(upHalf, "$", "1") + ` }`,
		},
		"down_half": {
			needs: []string{"from_f", "bits_f", "lt_i", "sel_i", "bc_i"},
			text: `h$ down_half$(f$ x) {
#if defined(__AVX512F__) && !defined(__clang__) && $ == 16
  return (h$)__builtin_ia32_vcvtps2ph512_mask(x, 0, (short __attribute__((vector_size(32)))){0}, -1);
#elif defined(__F16C__) && defined(__AVX__) && !defined(__clang__) && $ == 8
  return (h$)__builtin_ia32_vcvtps2ph256(x, 0);
#else
  ` + downHalf + ` return __builtin_convertvector(r, h$);
#endif
}`,
			one: `h1 down_half1(f1 x) { ` + strings.ReplaceAll(downHalf, "$", "1") + ` return (h1)r; }`,
		},
	}
})

// upHalf puts the exponent right by a product, which makes denormal numbers
// normal ones; infinity and NaN get the largest exponent.
const upHalf = `i$ a = b & 0x7fff;
  i$ v = bits_f$(from_f$(a << 13) * 0x1p112f);
  return from_f$(v | ((b & 0x8000) << 16) | (~lt_i$(a, bc_i$(0x7c00)) & 0x7f800000));`

// downHalf rounds to the nearest, ties to even; what is too small for a normal
// number is rounded by adding one half, whose last place is a denormal's.
const downHalf = `i$ b = bits_f$(x), a = b & 0x7fffffff;
  i$ small = bits_f$(from_f$(a) + 0.5f) - 0x3f000000;
  i$ r = (a + 0xfff + ((a >> 13) & 1) - 0x38000000) >> 13;
  r = sel_i$(lt_i$(a, bc_i$(0x38800000)), small, r);
  r = sel_i$(lt_i$(a, bc_i$(0x47800000)), r, bc_i$(0x7c00));
  r = sel_i$(lt_i$(bc_i$(0x7f800000), a), bc_i$(0x7e00), r) | ((b >> 16) & 0x8000);`

// roundBfloat rounds to the nearest, ties to even; the sign takes no part in it. NaN gets the
// digits that eager mode gives it.
const roundBfloat = `i$ b = bits_f$(x);
  i$ r = (b + (0x7fff + ((b >> 16) & 1))) & -0x10000;
  return from_f$(sel_i$(ne_f$(x, x), (b & (-0x7fffffff - 1)) | 0x7fc00000, r));`
