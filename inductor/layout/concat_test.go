package layout

import (
	"strings"
	"testing"

	"tcdbg/inductor/ir"
)

// This file tests which concatenations share memory.

// grown is a concatenation of two pieces, what reads it, and one of three pieces.
const grown = `program p
input x: f32[2, 4, 3] stride [12, 3, 1]
input y: f32[2, 2, 3] stride [6, 3, 1]
input v: f32[5, 6] stride [6, 1]
temp short: f32[2, 6, 3] stride [18, 3, 1]
temp z: f32[2, 5, 3] stride [15, 3, 1]
temp long: f32[2, 11, 3] stride [33, 3, 1]
result out: f32[2, 11, 3] stride [33, 3, 1]
op0 = pointwise [2, 4, 3]
  t0 = load.f32 x[12*i0 + 3*i1 + i2]
  store.f32 short[18*i0 + 3*i1 + i2], t0
op1 = pointwise [2, 2, 3]
  t0 = load.f32 y[6*i0 + 3*i1 + i2]
  store.f32 short[18*i0 + 3*i1 + i2 + 12], t0
op2 = matmul [2, 5, 3 | 6]
  a v[6*i1 + k]
  b short[18*i0 + i2 + 3*k]
  out z[15*i0 + 3*i1 + i2]
op3 = pointwise [2, 4, 3]
  t0 = load.f32 x[12*i0 + 3*i1 + i2]
  store.f32 long[33*i0 + 3*i1 + i2], t0
op4 = pointwise [2, 2, 3]
  t0 = load.f32 y[6*i0 + 3*i1 + i2]
  store.f32 long[33*i0 + 3*i1 + i2 + 12], t0
op5 = pointwise [2, 5, 3]
  t0 = load.f32 z[15*i0 + 3*i1 + i2]
  store.f32 long[33*i0 + 3*i1 + i2 + 18], t0
op6 = pointwise [2, 11, 3]
  t0 = load.f32 long[33*i0 + 3*i1 + i2]
  t1 = neg.f32 t0
  store.f32 out[33*i0 + 3*i1 + i2], t1
return out + 0 shape [2, 11, 3] stride [33, 3, 1]
`

// rejoined is a program after the pass, which must find so many that share.
func rejoined(t *testing.T, text string, want int) string {
	t.Helper()
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if n := Concat(p); n != want {
		t.Errorf("%d concatenations have no memory of their own, want %d:\n%s", n, want, p)
	}
	if err := p.Check(); err != nil {
		t.Fatalf("%v:\n%s", err, p)
	}
	if err := p.CheckAddresses(); err != nil {
		t.Fatalf("%v:\n%s", err, p)
	}
	return p.String()
}

// TestConcatSharesMemory: the short concatenation is the beginning of the long one: its pieces
// are written there, once and early enough, and what read it reads there.
func TestConcatSharesMemory(t *testing.T) {
	got := rejoined(t, grown, 1)
	if strings.Contains(got, "short") || strings.Contains(got, "op3") || strings.Contains(got, "op4") {
		t.Errorf("the short one is still written, or pieces twice:\n%s", got)
	}
	for _, want := range []string{
		"op0 = pointwise [2, 4, 3]\n  t0 = load.f32 x[12*i0 + 3*i1 + i2]\n  store.f32 long[33*i0 + 3*i1 + i2], t0",
		"store.f32 long[33*i0 + 3*i1 + i2 + 12], t0",
		"b long[33*i0 + i2 + 3*k]",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestConcatIsRefused: what leaves the program, other pieces, pieces elsewhere, readers that walk
// images as one, and what is written otherwise keep their memory.
func TestConcatIsRefused(t *testing.T) {
	for name, pairs := range map[string][]string{
		"a result":       {"temp short", "result short"},
		"another piece":  {"t0 = load.f32 y[6*i0 + 3*i1 + i2]\n  store.f32 long", "t0 = load.f32 y[6*i0 + 3*i1]\n  store.f32 long"},
		"another place":  {"long[33*i0 + 3*i1 + i2 + 12]", "long[33*i0 + 3*i1 + i2 + 27]"},
		"another step":   {"b short[18*i0 + i2 + 3*k]", "b short[9*i0 + i2 + 3*k]"},
		"more than once": {"op3 =", "op7 = pointwise [1]\n  t0 = const.f32 0\n  store.f32 short[0*i0], t0\nop3 ="},
	} {
		text := strings.NewReplacer(pairs...).Replace(grown)
		if text == grown {
			t.Fatalf("%s: nothing is replaced", name)
		}
		t.Run(name, func(t *testing.T) { rejoined(t, text, 0) })
	}
}
