package cpp

import (
	"strings"
	"sync"
)

// This file holds the elementary functions: polynomials of our own, fitted to
// minimise the relative error, good to about one unit in the last place in
// float32. The texts serve vectors and scalars alike; fma is explicit, so that
// nothing else is contracted.

// fma picks the machine's instruction; elsewhere the twin rounds twice where the
// machine has no fused multiply-add.
const fmaText = `f$ fma_f$(f$ a, f$ b, f$ c) {
#if defined(__FMA__) && !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_vfmaddps512_mask(a, b, c, (unsigned short)-1, 4);
#elif defined(__FMA__) && !defined(__clang__) && $ == 8
  return __builtin_ia32_vfmaddps256(a, b, c);
#elif defined(__FMA__) && !defined(__clang__) && $ == 4
  return __builtin_ia32_vfmaddps(a, b, c);
#elif defined(__clang__)
  return __builtin_elementwise_fma(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__)
  f$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_fmaf(a[k], b[k], c[k]); return r;
#else
  return a * b + c;
#endif
}`

const fmaOne = `f1 fma_f1(f1 a, f1 b, f1 c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}`

const sqrtText = `f$ sqrt_f$(f$ x) {
#if !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_sqrtps512_mask(x, x, (unsigned short)-1, 4);
#elif !defined(__clang__) && $ == 8 && defined(__AVX__)
  return __builtin_ia32_sqrtps256(x);
#elif !defined(__clang__) && $ == 4 && defined(__SSE__)
  return __builtin_ia32_sqrtps(x);
#else
  f$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_sqrtf(x[k]); return r;
#endif
}`

// overText is x / c for a c that a loop does not change: its reciprocal is computed before the loop, and one step of
// Newton's rounds the product as a division is rounded, in a fraction of its time (of an x below 2^-100, whose remainder
// is no number, to a unit in the last place). A quotient that is zero or not finite is the product itself; a c that has no
// reciprocal divides. It stays inline, or nothing goes before the loop.
const overText = `f$ over_f$(f$ x, f$ c) {
#if defined(__FMA__) && !defined(__clang__) && ($ == 16 && defined(__AVX512F__) || $ == 8 && defined(__AVX512VL__))
  if (__builtin_expect(!(__builtin_fabsf(c[0]) >= 0x1p-126f), 0)) return x / c;
  f$ r = 1.0f / c, q = x * r, y = fma_f$(fma_f$(-q, c, x), r, q), zero = {0};
#if $ == 16
  return __builtin_ia32_blendmps_512_mask(q, y, __builtin_ia32_cmpps512_mask(y, zero, 12, (unsigned short)-1, 4));
#else
  return __builtin_ia32_blendmps_256_mask(q, y, __builtin_ia32_cmpps256_mask(y, zero, 12, (unsigned char)-1));
#endif
#else
  return x / c;
#endif
}`

// partText is x / c for a number c of the text whose reciprocal is high + low, to twice a float's length: see partsOf. No
// quotient needs a second look: zeros keep their sign and infinities stay, since low has the sign of high.
const partText = `f$ part_f$(f$ x, float c, float high, float low) {
#if defined(__FMA__)
  f$ h = {0}; return fma_f$(x, h + high, x * low);
#else
  return x / c;
#endif
}`

// loText and hiText are the machine's minimum and maximum, which yield b where an
// operand is NaN.
const loText = `f$ lo_f$(f$ a, f$ b) {
#if !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_minps512_mask(a, b, a, (unsigned short)-1, 4);
#elif !defined(__clang__) && $ == 8 && defined(__AVX__)
  return __builtin_ia32_minps256(a, b);
#elif !defined(__clang__) && $ == 4 && defined(__SSE__)
  return __builtin_ia32_minps(a, b);
#else
  i$ m = (i$)(a < b);
  return (f$)((m & (i$)a) | (~m & (i$)b));
#endif
}`

const hiText = `f$ hi_f$(f$ a, f$ b) {
#if !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_maxps512_mask(a, b, a, (unsigned short)-1, 4);
#elif !defined(__clang__) && $ == 8 && defined(__AVX__)
  return __builtin_ia32_maxps256(a, b);
#elif !defined(__clang__) && $ == 4 && defined(__SSE__)
  return __builtin_ia32_maxps(a, b);
#else
  i$ m = (i$)(a > b);
  return (f$)((m & (i$)a) | (~m & (i$)b));
#endif
}`

// extremeOf is the maximum or minimum in which NaN wins: the machine's own yields b where an
// operand is NaN, and a where a is.
func extremeOf(name, machine, sign string) helper {
	return helper{
		needs: []string{machine + "_f", "sel_f", "ne_f"},
		text: strings.NewReplacer("NAME", name, "MACHINE", machine).Replace(`f$ NAME_f$(f$ a, f$ b) {
#if !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_NAMEps512_mask(a, b, a, __builtin_ia32_cmpps512_mask(a, a, 7, (unsigned short)-1, 4), 4);
#else
  return sel_f$(ne_f$(a, a), a, MACHINE_f$(a, b));
#endif
}`),
		one: "f1 " + name + "_f1(f1 a, f1 b) { return a " + sign + " b || a != a ? a : b; }",
	}
}

// scaleText is p * 2^n for whole n, in two factors so that denormal results come
// out right.
const scaleText = `f$ scale_f$(f$ p, f$ n) {
#if !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_scalefps512_mask(p, n, p, (unsigned short)-1, 4);
#else
  i$ e = int_f$(n), h = e >> 1;
  return p * from_f$((h + 127) << 23) * from_f$((e - h + 127) << 23);
#endif
}`

const scaleOne = `f1 scale_f1(f1 p, f1 n) {
  i1 e = int_f1(n), h = e >> 1;
  return p * from_f1((h + 127) << 23) * from_f1((e - h + 127) << 23);
}`

// expText takes numbers whose result is 0 out of the computation: scaling 1 down to nothing costs
// Intel's processors some hundred cycles a vector, and what a mask has made -inf comes by the row.
const expText = `f$ exp_f$(f$ x) {
  i$ gone = lt_f$(x, bc_f$(-104.0f));
  f$ y = sel_f$(gone, bc_f$(0.0f), lo_f$(bc_f$(89.0f), x));
  f$ n = (y * 1.44269504f + 12582912.0f) - 12582912.0f;
  f$ r = fma_f$(n, bc_f$(-0.693145752f), y);
  r = fma_f$(n, bc_f$(-1.42860677e-6f), r);
  f$ p = fma_f$(bc_f$(0.00138145976f), r, bc_f$(0.00836871658f));
  p = fma_f$(p, r, bc_f$(0.041668389f));
  p = fma_f$(p, r, bc_f$(0.166665211f));
  p = fma_f$(p, r, bc_f$(0.49999994f));
  return sel_f$(gone, bc_f$(0.0f), scale_f$(fma_f$(p * r, r, r) + 1.0f, n));
}`

const logText = `f$ log_f$(f$ x) {
  i$ tiny = lt_f$(x, bc_f$(1.17549435e-38f));
  f$ y = sel_f$(tiny, x * 8388608.0f, x);
  i$ b = bits_f$(y);
  i$ e = ((b >> 23) & 255) - 126;
  f$ m = from_f$((b & 0x007fffff) | 0x3f000000);
  i$ low = lt_f$(m, bc_f$(0.707106769f));
  m = sel_f$(low, m + m, m) - 1.0f;
  e = e + low - (tiny & 23);
  f$ n = float_i$(e);
  f$ q = fma_f$(bc_f$(0.0674659163f), m, bc_f$(-0.116756387f));
  q = fma_f$(q, m, bc_f$(0.118881777f));
  q = fma_f$(q, m, bc_f$(-0.124055922f));
  q = fma_f$(q, m, bc_f$(0.142195508f));
  q = fma_f$(q, m, bc_f$(-0.166679963f));
  q = fma_f$(q, m, bc_f$(0.200021192f));
  q = fma_f$(q, m, bc_f$(-0.250000089f));
  q = fma_f$(q, m, bc_f$(0.333333135f));
  f$ z = m * m;
  f$ r = fma_f$(q * m, z, n * -2.12194440e-4f);
  r = fma_f$(z, bc_f$(-0.5f), r);
  r = fma_f$(n, bc_f$(0.693359375f), r + m);
  f$ inf = bc_f$(__builtin_inff());
  r = sel_f$(eq_f$(x, inf), inf, r);
  r = sel_f$(eq_f$(x, bc_f$(0.0f)), -inf, r);
  return sel_f$(le_f$(bc_f$(0.0f), x), r, bc_f$(__builtin_nanf("")));
}`

const tanhText = `f$ tanh_f$(f$ x) {
  f$ a = abs_f$(x);
  f$ z = x * x;
  f$ p = fma_f$(bc_f$(0.00214296137f), z, bc_f$(-0.00817739777f));
  p = fma_f$(p, z, bc_f$(0.0217007026f));
  p = fma_f$(p, z, bc_f$(-0.0539467633f));
  p = fma_f$(p, z, bc_f$(0.133332059f));
  p = fma_f$(p, z, bc_f$(-0.333333313f));
  f$ s = fma_f$(p * z, x, x);
  f$ b = 1.0f - 2.0f / (exp_f$(a + a) + 1.0f);
  f$ r = sel_f$(lt_f$(a, bc_f$(0.625f)), s, b);
  return from_f$(bits_f$(r) | (bits_f$(x) & (i32)0x80000000));
}`

const erfText = `f$ erf_f$(f$ x) {
  f$ a = abs_f$(x);
  f$ z = x * x;
  f$ p = fma_f$(bc_f$(8.51310106e-05f), z, bc_f$(-0.00081756385f));
  p = fma_f$(p, z, bc_f$(0.00520385895f));
  p = fma_f$(p, z, bc_f$(-0.0268605091f));
  p = fma_f$(p, z, bc_f$(0.112837151f));
  p = fma_f$(p, z, bc_f$(-0.376126349f));
  p = fma_f$(p, z, bc_f$(0.128379166f));
  f$ s = fma_f$(p, x, x);
  f$ c = lo_f$(bc_f$(3.95f), a);
  f$ q = fma_f$(bc_f$(-1.04329338e-05f), c, bc_f$(0.000314856385f));
  q = fma_f$(q, c, bc_f$(-0.00361033529f));
  q = fma_f$(q, c, bc_f$(0.0236945525f));
  q = fma_f$(q, c, bc_f$(-0.106159031f));
  q = fma_f$(q, c, bc_f$(-0.635198057f));
  q = fma_f$(q, c, bc_f$(-1.12863708f));
  f$ b = 1.0f - exp_f$(q * c);
  b = from_f$(bits_f$(b) | (bits_f$(x) & (i32)0x80000000));
  b = sel_f$(eq_f$(x, x), b, x);
  return sel_f$(lt_f$(a, bc_f$(0.9f)), s, b);
}`

// trig reduces x by multiples of pi/2 in three parts, which is exact enough up to
// about 1e5; beyond, the lanes go through libm.
const trigText = `f$ trig_f$(f$ x, int quarter) {
  f$ a = abs_f$(x);
  i$ far = ~le_f$(a, bc_f$(100000.0f));
  f$ y = sel_f$(far, bc_f$(0.0f), x);
  f$ n = (y * 0.636619747f + 12582912.0f) - 12582912.0f;
  f$ r = fma_f$(n, bc_f$(-1.57079625f), y);
  r = fma_f$(n, bc_f$(-7.54978942e-08f), r);
  r = fma_f$(n, bc_f$(-5.39030253e-15f), r);
  i$ q = int_f$(n) + quarter;
  f$ z = r * r;
  f$ s = fma_f$(bc_f$(2.71830413e-06f), z, bc_f$(-0.000198393347f));
  s = fma_f$(s, z, bc_f$(0.00833332911f));
  s = fma_f$(s, z, bc_f$(-0.166666672f));
  s = fma_f$(s * z, r, r);
  f$ c = fma_f$(bc_f$(-2.72056838e-07f), z, bc_f$(2.47994594e-05f));
  c = fma_f$(c, z, bc_f$(-0.00138888834f));
  c = fma_f$(c, z, bc_f$(0.0416666679f));
  c = fma_f$(c, z, bc_f$(-0.5f));
  c = fma_f$(c, z, bc_f$(1.0f));
  f$ v = sel_f$(ne_i$(q & 1, bc_i$(0)), c, s);
  v = from_f$(bits_f$(v) ^ ((q & 2) << 30));
  if (any_i$(far)) v = far_f$(x, v, far, quarter);
  return v;
}`

// anyText tells whether any lane is set.
const anyText = `int any_i$(i$ x) {
#if !defined(__clang__) && $ == 16 && defined(__AVX512F__)
  return __builtin_ia32_ptestmd512(x, x, (unsigned short)-1);
#elif !defined(__clang__) && $ == 8 && defined(__AVX__)
  typedef long long q __attribute__((vector_size(32)));
  return !__builtin_ia32_ptestz256((q)x, (q)x);
#elif !defined(__clang__) && $ == 4 && defined(__SSE4_1__)
  typedef long long q __attribute__((vector_size(16)));
  return !__builtin_ia32_ptestz128((q)x, (q)x);
#else
  int r = 0; for (int k = 0; k < $; k++) r |= x[k]; return r;
#endif
}`

const farText = `f$ far_f$(f$ x, f$ v, i$ far, int quarter) {
  for (int k = 0; k < $; k++)
    if (far[k]) v[k] = quarter ? (float)__builtin_cos((double)x[k]) : (float)__builtin_sin((double)x[k]);
  return v;
}`

var mathHelpers = sync.OnceValue(func() map[string]helper {
	return map[string]helper{
		"fma_f":  {text: fmaText, one: fmaOne},
		"over_f": {text: overText, one: `f1 over_f1(f1 x, f1 c) { return x / c; }`, needs: []string{"fma_f"}, inline: true},
		"part_f": {
			text: partText, one: `f1 part_f1(f1 x, float c, float high, float low) { return x / c; }`,
			needs: []string{"fma_f"}, inline: true,
		},
		"square_f": {text: squareText, one: squareOne, needs: []string{"any_i", "fma_f"}},
		"sqrt_f":   {text: sqrtText, one: `f1 sqrt_f1(f1 x) { return __builtin_sqrtf(x); }`},
		"sqrt_d": {
			text: `d$ sqrt_d$(d$ x) { d$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_sqrt(x[k]); return r; }`,
			one:  `d1 sqrt_d1(d1 x) { return __builtin_sqrt(x); }`,
		},
		"int_f":   {text: `i$ int_f$(f$ x) { return __builtin_convertvector(x, i$); }`, one: `i1 int_f1(f1 x) { return (i32)x; }`},
		"float_i": {text: `f$ float_i$(i$ x) { return __builtin_convertvector(x, f$); }`, one: `f1 float_i1(i1 x) { return (float)x; }`},
		"abs_f":   {needs: []string{"bits_f", "from_f"}, text: `f$ abs_f$(f$ x) { return from_f$(bits_f$(x) & 0x7fffffff); }`},
		"abs_d":   {needs: []string{"bits_d", "from_d"}, text: `d$ abs_d$(d$ x) { return from_d$(bits_d$(x) & 0x7fffffffffffffffL); }`},
		"abs_i":   {needs: []string{"sel_i", "lt_i", "bc_i"}, text: `i$ abs_i$(i$ x) { return sel_i$(lt_i$(x, bc_i$(0)), -x, x); }`},
		"abs_l":   {needs: []string{"sel_l", "lt_l", "bc_l"}, text: `l$ abs_l$(l$ x) { return sel_l$(lt_l$(x, bc_l$(0)), -x, x); }`},
		"any_i": {
			text: anyText,
			one:  `int any_i1(i1 x) { return x; }`,
		},

		"lo_f":    {text: loText, one: `f1 lo_f1(f1 a, f1 b) { return a < b ? a : b; }`},
		"hi_f":    {text: hiText, one: `f1 hi_f1(f1 a, f1 b) { return a > b ? a : b; }`},
		"max_f":   extremeOf("max", "hi", ">"),
		"min_f":   extremeOf("min", "lo", "<"),
		"scale_f": {needs: []string{"from_f", "int_f"}, text: scaleText, one: scaleOne},
		"exp_f":   {needs: []string{"fma_f", "lo_f", "lt_f", "sel_f", "bc_f", "scale_f"}, text: expText},
		"log_f":   {needs: []string{"fma_f", "sel_f", "lt_f", "le_f", "eq_f", "bc_f", "from_f", "bits_f", "float_i"}, text: logText},
		"tanh_f":  {needs: []string{"exp_f", "abs_f", "bits_f", "sel_f", "lt_f"}, text: tanhText},
		"erf_f":   {needs: []string{"exp_f", "abs_f", "bits_f", "sel_f", "lt_f", "eq_f", "lo_f"}, text: erfText},
		"far_f": {libm: true, text: farText, one: `f1 far_f1(f1 x, f1 v, i1 far, int quarter) { return quarter ? ` +
			`(float)__builtin_cos((double)x) : (float)__builtin_sin((double)x); }`},
		"trig_f": {needs: []string{
			"fma_f", "sel_f", "le_f", "ne_i", "bc_f", "bc_i", "from_f", "bits_f", "int_f", "abs_f",
			"any_i", "far_f",
		}, text: trigText},
		"sin_f": {
			needs: []string{"trig_f", "sel_f", "eq_f", "bc_f"},
			text:  `f$ sin_f$(f$ x) { return sel_f$(eq_f$(x, bc_f$(0.0f)), x, trig_f$(x, 0)); }`,
		},
		"cos_f":     {needs: []string{"trig_f"}, text: `f$ cos_f$(f$ x) { return trig_f$(x, 1); }`},
		"sigmoid_f": {needs: []string{"exp_f"}, text: `f$ sigmoid_f$(f$ x) { return 1.0f / (1.0f + exp_f$(-x)); }`},
		"sigmoid_d": {needs: []string{"exp_d"}, text: `d$ sigmoid_d$(d$ x) { return 1.0 / (1.0 + exp_d$(-x)); }`},

		"round_f": {needs: []string{"abs_f", "bits_f", "from_f", "sel_f", "lt_f", "bc_f"}, text: `f$ round_f$(f$ x) {
  f$ a = abs_f$(x), r = (a + 8388608.0f) - 8388608.0f;
  r = from_f$(bits_f$(r) | (bits_f$(x) & (i32)0x80000000));
  return sel_f$(lt_f$(a, bc_f$(8388608.0f)), r, x);
}`},
		"floor_f": {needs: []string{"round_f"}, text: `f$ floor_f$(f$ x) { f$ r = round_f$(x); return sel_f$(lt_f$(x, r), r - 1.0f, r); }`},
		"ceil_f":  {needs: []string{"floor_f"}, text: `f$ ceil_f$(f$ x) { return -floor_f$(-x); }`},
		"trunc_f": {needs: []string{"floor_f"}, text: `f$ trunc_f$(f$ x) { return from_f$(bits_f$(floor_f$(abs_f$(x))) | ` +
			`(bits_f$(x) & (i32)0x80000000)); }`},
		"round_d": {libm: true, text: `d$ round_d$(d$ x) { d$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_rint(x[k]); ` +
			`return r; }`, one: `d1 round_d1(d1 x) { return __builtin_rint(x); }`},
		"floor_d": {libm: true, text: `d$ floor_d$(d$ x) { d$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_floor(x[k]); ` +
			`return r; }`, one: `d1 floor_d1(d1 x) { return __builtin_floor(x); }`},
		"ceil_d": {libm: true, text: `d$ ceil_d$(d$ x) { d$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_ceil(x[k]); ` +
			`return r; }`, one: `d1 ceil_d1(d1 x) { return __builtin_ceil(x); }`},
		"trunc_d": {libm: true, text: `d$ trunc_d$(d$ x) { d$ r = {0}; for (int k = 0; k < $; k++) r[k] = __builtin_trunc(x[k]); ` +
			`return r; }`, one: `d1 trunc_d1(d1 x) { return __builtin_trunc(x); }`},

		"rem_f": {needs: []string{"fmod_f", "sel_f", "lt_f", "ne_f", "bc_f"}, text: `f$ rem_f$(f$ x, f$ y) {
  f$ m = fmod_f$(x, y), z = bc_f$(0.0f);
  return sel_f$(ne_f$(m, z) & (lt_f$(m, z) ^ lt_f$(y, z)), m + y, m);
}`},
		"rem_d": {needs: []string{"fmod_d", "sel_d", "lt_d", "ne_d", "bc_d"}, text: `d$ rem_d$(d$ x, d$ y) {
  d$ m = fmod_d$(x, y), z = bc_d$(0.0);
  return sel_d$(ne_d$(m, z) & (lt_d$(m, z) ^ lt_d$(y, z)), m + y, m);
}`},
		"rem_i": {
			needs: []string{"sel_i", "ne_i", "lt_i", "bc_i"},
			text: `i$ rem_i$(i$ x, i$ y) { i$ m = x % y, z = bc_i$(0); return sel_i$(ne_i$(m, z) & (lt_i$(m, z) ^ lt_i$(y, z)), m ` +
				`+ y, m); }`,
		},
		"rem_l": {
			needs: []string{"sel_l", "ne_l", "lt_l", "bc_l"},
			text: `l$ rem_l$(l$ x, l$ y) { l$ m = x % y, z = bc_l$(0); return sel_l$(ne_l$(m, z) & (lt_l$(m, z) ^ lt_l$(y, z)), m ` +
				`+ y, m); }`,
		},
		"rem_b": {text: `b$ rem_b$(b$ x, b$ y) { return x % y; }`},
		"floordiv_f": {
			needs: []string{"fmod_f", "round_f", "eq_f", "ne_f", "lt_f", "sel_f", "bc_f"},
			text:  floorDivText('f', "0.0f", "1.0f"),
		},
		"floordiv_d": {
			needs: []string{"fmod_d", "round_d", "eq_d", "ne_d", "lt_d", "sel_d", "bc_d"},
			text:  floorDivText('d', "0.0", "1.0"),
		},
		"floordiv_i": {
			needs: []string{"sel_i", "ne_i", "lt_i", "bc_i"},
			text: `i$ floordiv_i$(i$ x, i$ y) { i$ q = x / y, m = x % y, z = bc_i$(0); return sel_i$(ne_i$(m, z) & (lt_i$(m, z) ^ ` +
				`lt_i$(y, z)), q - 1, q); }`,
		},
		"floordiv_l": {
			needs: []string{"sel_l", "ne_l", "lt_l", "bc_l"},
			text: `l$ floordiv_l$(l$ x, l$ y) { l$ q = x / y, m = x % y, z = bc_l$(0); return sel_l$(ne_l$(m, z) & (lt_l$(m, z) ^ ` +
				`lt_l$(y, z)), q - 1, q); }`,
		},
		"floordiv_b": {text: `b$ floordiv_b$(b$ x, b$ y) { return x / y; }`},
		"pow_b": {
			text: `b$ pow_b$(b$ x, b$ y) { b$ r = {0}; for (int k = 0; k < $; k++) { u8 p = 1; for (int e = 0; e < y[k]; e++) p *= ` +
				`x[k]; r[k] = p; } return r; }`,
			one: `b1 pow_b1(b1 x, b1 y) { u8 p = 1; for (int e = 0; e < y; e++) p *= x; return p; }`,
		},
		"pow_i": powInteger('i', "i32"),
		"pow_l": powInteger('l', "i64"),
	}
})

// floorDivText is Python's // for floats: the quotient without the remainder,
// one less where the remainder has the other sign; a zero has the sign of x / y.
func floorDivText(letter byte, zero, one string) string {
	return strings.NewReplacer("@", string(letter), "ZERO", zero, "ONE", one).Replace(`@$ floordiv_@$(@$ x, @$ y) {
  @$ m = fmod_@$(x, y), z = bc_@$(ZERO), q = (x - m) / y;
  q = sel_@$(ne_@$(m, z) & (lt_@$(m, z) ^ lt_@$(y, z)), q - ONE, q);
  q = sel_@$(eq_@$(q, z), x / y * ZERO, round_@$(q));
  return sel_@$(eq_@$(y, z), x / y, q);
}`)
}

// powInteger multiplies by squares; of negative powers only those of 1 and -1
// are not zero.
func powInteger(letter byte, scalar string) helper {
	body := func(x, y, result string) string {
		return strings.NewReplacer("T", scalar, "X", x, "Y", y, "R", result).Replace(
			`T p = 1, b = X, e = Y; if (e < 0) { p = b == 1 ? 1 : b == -1 ? (e & 1 ? -1 : 1) : 0; e = 0; } for (; e; e >>= 1) { if ` +
				`(e & 1) p *= b; b *= b; } R`)
	}
	named := strings.NewReplacer("@", string(letter))
	return helper{
		text: named.Replace(`@$ pow_@$(@$ x, @$ y) { @$ r = {0}; for (int k = 0; k < $; k++) { `) +
			body("x[k]", "y[k]", "r[k] = p;") + ` } return r; }`,
		one: named.Replace(`@1 pow_@1(@1 x, @1 y) { `) + body("x", "y", "return p;") + ` }`,
	}
}
