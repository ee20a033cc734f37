package layout

import (
	"testing"

	"tcdbg/inductor/ir"
)

// This file tests which images of bfloat16 are read as they are.

// halved is a convolution of an image that is made float32 for it.
const halved = `program p
input x: bf16[1, 2, 6, 6, 16] stride [1152, 576, 96, 16, 1]
input w: f32[16, 32, 1, 1] stride [32, 1, 1, 1]
temp y: f32[1, 2, 6, 6, 16] stride [1152, 576, 96, 16, 1]
result out: f32[1, 1, 36, 16] stride [576, 576, 16, 1]
op0 = pointwise [1, 2, 6, 6, 16]
  t0 = load.f32 x[1152*i0 + 576*i1 + 96*i2 + 16*i3 + i4]
  store.f32 y[1152*i0 + 576*i1 + 96*i2 + 16*i3 + i4], t0
op1 = matmul [1, 1, 36, 16 | 32]
  a y[1152*i0]
  b w[512*i1 + 32*i3 + k]
  out out[576*i0 + 576*i1 + 16*i2 + i3]
  im2col height=1 width=36 chan=576 row=0 col=16 kh=1 kw=1 sh=1 sw=1 ph=0 pw=0 dh=1 dw=1 outw=36 block=16 lanes=16 fc=0 fh=0 fw=0 bfloat16
return out + 0 shape [1, 1, 36, 16] stride [576, 576, 16, 1]
`

const storeY = "  store.f32 y[1152*i0 + 576*i1 + 96*i2 + 16*i3 + i4]"

func TestHalves(t *testing.T) {
	narrow := func(p *ir.Program) int { return Halves(p, func(n *ir.Node) bool { return n.MM.Conv.BFloat16 }) }
	for _, c := range []rewriting{
		{"as it is", "", "", 1},
		{"an image of float32", "input x: bf16", "input x: f32", 0},
		{"the copy is returned", "temp y", "result y", 0},
		{"another order", "x[1152*i0 + 576*i1 + 96*i2 + 16*i3 + i4]", "x[1152*i0 + 576*i1 + 16*i2 + 96*i3 + i4]", 0},
		{"something is added", storeY + ", t0", "  t1 = add.f32 t0, t0\n" + storeY + ", t1", 0},
		{"a convolution that multiplies float32", " bfloat16\n", "\n", 0},
		{
			"read by another, too", "return out",
			"op2 = pointwise [2]\n  t0 = load.f32 y[i0]\n  store.f32 more[i0], t0\nreturn more + 0 shape [2] stride [1]\nreturn out", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, halved, narrow, "a x[1152*i0]", "y[") })
	}
}
