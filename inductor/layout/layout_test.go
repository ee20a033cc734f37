package layout

import (
	"strings"
	"testing"

	"tcdbg/inductor/ir"
)

// This file tests which images are kept in blocks of channels and what becomes of loops.

// head is a convolution of a plain image, and one of its result, with what is between them
// in a test.
const head = `program p
input x: f32[2, 3, 6, 6] stride [108, 36, 6, 1]
input v: f32[16, 3, 1, 1] stride [3, 1, 1, 1]
input w: f32[4, 16, 3, 3] stride [144, 9, 3, 1]
input bias: f32[16] stride [1]
input other: f32[2, 16, 6, 6] stride [576, 36, 6, 1]
temp a: f32[2, 16, 6, 6] stride [576, 36, 6, 1]
temp b: f32[2, 16, 6, 6] stride [576, 36, 6, 1]
result out: f32[2, 4, 6, 6] stride [144, 36, 6, 1]
op0 = matmul [2, 16, 36 | 3]
  a v[3*i1 + k]
  b x[108*i0]
  out a[576*i0 + 36*i1 + i2]
  im2col height=1 width=36 chan=36 row=0 col=1 kh=1 kw=1 sh=1 sw=1 ph=0 pw=0 dh=1 dw=1 outw=36 block=1 lanes=1 fc=0 fh=0 fw=0
`

const tail = `op2 = matmul [2, 4, 36 | 144]
  a w[144*i1 + k]
  b b[576*i0]
  out out[144*i0 + 36*i1 + i2]
  im2col height=6 width=6 chan=36 row=6 col=1 kh=3 kw=3 sh=1 sw=1 ph=1 pw=1 dh=1 dw=1 outw=6 block=1 lanes=1 fc=0 fh=0 fw=0
return out + 0 shape [2, 4, 6, 6] stride [144, 36, 6, 1]
`

const biased = `op1 = pointwise [2, 16, 6, 6]
  t0 = load.f32 a[576*i0 + 36*i1 + 6*i2 + i3]
  t1 = load.f32 bias[i1]
  t2 = add.f32 t0, t1
  store.f32 b[576*i0 + 36*i1 + 6*i2 + i3], t2
`

// blocked is a program after the pass, and its regions.
func blocked(t *testing.T, lanes int, text string) (string, []*Region) {
	t.Helper()
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	regions := Blocks(p, Options{Lanes: lanes})
	if err := p.Check(); err != nil {
		t.Fatalf("%v:\n%s", err, p)
	}
	if err := p.CheckAddresses(); err != nil {
		t.Fatalf("%v:\n%s", err, p)
	}
	return p.String(), regions
}

// TestBlocksText: images between convolutions get a dimension, loops over channels are
// parted, a convolution that writes blocks has pixels for rows, one that reads them has its
// strides.
func TestBlocksText(t *testing.T) {
	got, regions := blocked(t, 8, head+biased+tail)
	for _, want := range []string{
		"temp a: f32[2, 2, 6, 6, 8] stride [576, 288, 48, 8, 1]",
		"op0 = matmul [2, 2, 36, 8 | 3]",
		"a x[108*i0]",
		"b v[24*i1 + 3*i3 + k]",
		"out a[576*i0 + 288*i1 + 8*i2 + i3]",
		"outw=36 block=1 lanes=8",
		"op1 = pointwise [2, 2, 6, 6, 8]",
		"load.f32 a[576*i0 + 288*i1 + 48*i2 + 8*i3 + i4]",
		"load.f32 bias[8*i1 + i4]",
		"op2 = matmul [2, 4, 36 | 144]",
		"b b[576*i0]",
		"chan=288 row=48 col=8",
		"block=8 lanes=1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if len(regions) != 1 || !regions[0].Chosen || regions[0].Block != 8 || len(regions[0].Convs) != 2 {
		t.Errorf("regions %+v, want one of two convolutions", regions)
	}
	if wide, _ := blocked(t, 16, head+biased+tail); !strings.Contains(wide, "temp b: f32[2, 1, 6, 6, 16]") {
		t.Errorf("vectors of 16 get no blocks of 16:\n%s", wide)
	}
}

// TestBlocksAreRefused: what walks an image in an order of its own, positions that are data,
// calls, results and plain images of as many channels in the same loop.
func TestBlocksAreRefused(t *testing.T) {
	whole := head + biased + tail
	swap := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(whole) }
	for name, text := range map[string]string{
		"channels and rows as one loop": swap(biased, `op1 = pointwise [2, 96, 6]
  t0 = load.f32 a[576*i0 + 6*i1 + i2]
  store.f32 b[576*i0 + 6*i1 + i2], t0
`),
		"every second channel": swap(biased, `op1 = pointwise [2, 8, 36]
  t0 = load.f32 a[576*i0 + 72*i1 + i2]
  store.f32 b[576*i0 + 72*i1 + i2], t0
`),
		"a position that is data": swap(biased, `op1 = pointwise [2, 16, 36]
  t0 = const.i64 0
  t1 = loadat.f32 a[576*i0 + 36*i1 + i2], t0
  store.f32 b[576*i0 + 36*i1 + i2], t1
`),
		"a result":      swap("temp a", "result a", "temp b", "result b"),
		"a plain image": swap("load.f32 bias[i1]", "load.f32 other[576*i0 + 36*i1 + 6*i2 + i3]"),
		"no whole blocks": swap("[2, 16, 6, 6]", "[2, 12, 6, 6]", "576", "432", "16, 36", "12, 36", "[16", "[12",
			"144]", "108]", "144*i1", "108*i1"),
		"another dimension": swap("temp a: f32[2, 16, 6, 6] stride [576, 36, 6, 1]", "temp a: f32[2, 16, 36] stride [576, 36, 1]",
			"temp b: f32[2, 16, 6, 6] stride [576, 36, 6, 1]", "temp b: f32[2, 16, 36] stride [576, 36, 1]"),
		"groups of channels": swap("b b[576*i0]", "b b[576*i0 + 288*i1]", "[2, 4, 36 | 144]", "[2, 2, 2, 36 | 72]",
			"w[144*i1 + k]", "w[288*i1 + 144*i2 + k]",
			"144*i0 + 36*i1 + i2]\n  im2col height=6", "144*i0 + 72*i1 + 36*i2 + i3]\n  im2col height=6"),
	} {
		p, err := ir.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, r := range Blocks(p, Options{Lanes: 8}) {
			for _, b := range r.Buffers {
				if r.Chosen && (b.Name == "b" || name != "groups of channels") {
					t.Errorf("%s: %s is kept in blocks: %s", name, b.Name, r.Why())
				}
			}
		}
	}
}
