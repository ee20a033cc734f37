package plan

import (
	"math"
	"strings"
	"testing"

	"tcdbg/inductor/ir"
	"tcdbg/inductor/sched"
)

// maskedText is an attention whose scores a mask that a loop of its own makes hides: of 30 rows those of 40 columns up to 10 after
// the row's own.
const maskedText = `program f
input l_q_: f32[4, 30, 8] stride [240, 8, 1]
input l_k_: f32[4, 40, 8] stride [320, 8, 1]
input l_v_: f32[4, 40, 16] stride [640, 16, 1]
temp mask: b8[30, 40] stride [40, 1]
temp buf0: f32[4, 30, 40] stride [1200, 40, 1]
temp scores: f32[4, 30, 40] stride [1200, 40, 1]
temp buf1: f32[4, 30, 1] stride [30, 1, 1]
temp buf2: f32[4, 30, 40] stride [1200, 40, 1]
temp buf4: f32[4, 30, 1] stride [30, 1, 1]
result buf3: f32[4, 30, 16] stride [480, 16, 1]
op0 = pointwise [30, 40] once // le
  t0 = index.i64 [i1]
  t1 = index.i64 [i0 + 10]
  t2 = le.b8 t0, t1
  store.b8 mask[40*i0 + i1], t2
op1 = matmul [4, 30, 40 | 8] // matmul
  a l_q_[240*i0 + 8*i1 + k]
  b l_k_[320*i0 + 8*i2 + k]
  out buf0[1200*i0 + 40*i1 + i2]
op2 = pointwise [4, 30, 40] // where
  t0 = load.b8 mask[40*i1 + i2]
  t1 = load.f32 buf0[1200*i0 + 40*i1 + i2]
  t2 = const.f32 2
  t3 = mul.f32 t1, t2
  t4 = const.f32 -40000
  t5 = where.f32 t0, t3, t4
  store.f32 scores[1200*i0 + 40*i1 + i2], t5
op3 = reduction [4, 30 | 40] // amax
  t0 = load.f32 scores[1200*i0 + 40*i1 + r0]
  t1 = reduce_max.f32 t0
  store.f32 buf1[30*i0 + i1], t1
op4 = pointwise [4, 30, 40] // exp
  t0 = load.f32 scores[1200*i0 + 40*i1 + i2]
  t1 = load.f32 buf1[30*i0 + i1]
  t2 = sub.f32 t0, t1
  t3 = exp.f32 t2
  store.f32 buf2[1200*i0 + 40*i1 + i2], t3
op5 = reduction [4, 30 | 40] // sum
  t0 = load.f32 buf2[1200*i0 + 40*i1 + r0]
  t1 = reduce_sum.f32 t0
  store.f32 buf4[30*i0 + i1], t1
op6 = matmul [4, 30, 16 | 40] // matmul_1
  a buf2[1200*i0 + 40*i1 + k]
  b l_v_[640*i0 + i2 + 16*k]
  out buf3[480*i0 + 16*i1 + i2]
return buf3 + 0 shape [4, 30, 16] stride [480, 16, 1]
return buf4 + 0 shape [4, 30, 1] stride [30, 1, 1]
`

// attended is the plan of a program with one attention.
func attended(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	x := New(p, nil)
	x.Groups = sched.Schedule(p, sched.Options{})
	x.MakeKernels()
	x.FindAttention()
	if len(x.Attentions) != 1 {
		t.Fatalf("%d attentions", len(x.Attentions))
	}
	return x
}

// TestCausal has a causal mask, and programs that differ from it in what has all be computed.
func TestCausal(t *testing.T) {
	text := strings.Replace(maskedText, "temp buf4", "result buf4", 1)
	for _, c := range []struct {
		name, old, new string
		past           int64 // -1: all is computed
		bound          float64
	}{
		{"as it is", "", "", 10, 5000}, // a quarter of 40,000 by the scale
		{"the other way round", "le.b8 t0, t1", "gt.b8 t0, t1", -1, 0},
		{"less", "le.b8 t0, t1", "lt.b8 t0, t1", 9, 5000},
		{"rows at least columns", "le.b8 t0, t1", "ge.b8 t1, t0", 10, 5000},
		{
			"as float32", "  t2 = le.b8 t0, t1\n  store.b8 mask[40*i0 + i1], t2",
			"  t2 = cast.f32 t0\n  t3 = cast.f32 t1\n  t4 = le.b8 t2, t3\n  store.b8 mask[40*i0 + i1], t4", 10, 5000,
		},
		{"minus infinity", "-40000", "-Inf", 10, math.Inf(1)},
		{"a number that is not low", "-40000", "-400", -1, 0},
		{"rows that see nothing", "[i0 + 10]", "[i0 + -10]", -1, 0},
		{"more rows than columns see", "[i0 + 10]", "[i0 + 11]", 11, 5000}, // the last key of a row may be none; the first one is
		{"rows twice as far apart", "[i0 + 10]", "[2*i0 + 10]", -1, 0},
		{"the mask of other rows", "load.b8 mask[40*i1 + i2]", "load.b8 mask[i2]", -1, 0},
		{"a score for what is shown", "mul.f32 t1, t2", "exp.f32 t1", -1, 0},
		{"weights that do not vanish", "exp.f32 t2", "tanh.f32 t2", -1, 0},
		{"the greatest weight", "reduce_sum", "reduce_max", -1, 0},
		{"the least score", "reduce_max", "reduce_min", -1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := attended(t, strings.Replace(text, c.old, c.new, 1)).Attentions[0].Causal
			if got == nil {
				if c.past >= 0 {
					t.Error("all is computed")
				}
				return
			}
			if past, _ := got.Past.IsConst(); past != c.past || got.Bound != c.bound {
				t.Errorf("past %s, bound %g; want %d, %g", got.Past, got.Bound, c.past, c.bound)
			}
			if steps, ok := got.Seen(); !ok || len(steps) != 2 {
				t.Errorf("what is shown has %d steps, unmasked: %t", len(steps), ok)
			}
		})
	}
}

// TestCausalFLOPs: operations whose results a mask hides are not counted.
func TestCausalFLOPs(t *testing.T) {
	text := strings.Replace(maskedText, "temp buf4", "result buf4", 1)
	counts := func(text string) (out []int64) {
		x := attended(t, text)
		a := x.Attentions[0]
		for i := a.First; i < a.First+3; i++ {
			out = append(out, x.FLOPs(i))
		}
		return out
	}
	all, some := counts(strings.Replace(text, "-40000", "-400", 1)), counts(text)
	seen, whole := int64(0), int64(30*40)
	for row := range int64(30) {
		seen += min(40, row+11)
	}
	for i := range all {
		if want := (all[i]*seen + whole/2) / whole; some[i] != want || some[i] >= all[i] {
			t.Errorf("kernel %d: %d operations of %d; want %d", i, some[i], all[i], want)
		}
	}
}
