package layout

import (
	"strings"
	"testing"

	"tcdbg/inductor/ir"
)

// This file tests which products read what is repeated where it lies.

// grouped is a product of six heads with keys of two, which are copied for each of the heads.
const grouped = `program p
input q: f32[2, 6, 5, 4] stride [120, 20, 4, 1]
input k: f32[2, 2, 7, 4] stride [56, 28, 4, 1]
temp keys: f32[2, 2, 3, 7, 4] stride [168, 84, 28, 4, 1]
result out: f32[2, 6, 5, 7] stride [210, 35, 7, 1]
op0 = pointwise [2, 2, 3, 7, 4]
  t0 = load.f32 k[56*i0 + 28*i1 + 4*i3 + i4]
  store.f32 keys[168*i0 + 84*i1 + 28*i2 + 4*i3 + i4], t0
op1 = matmul [2, 6, 5, 7 | 4]
  a q[120*i0 + 20*i1 + 4*i2 + k]
  b keys[168*i0 + 28*i1 + 4*i3 + k]
  out out[210*i0 + 35*i1 + 7*i2 + i3]
return out + 0 shape [2, 6, 5, 7] stride [210, 35, 7, 1]
`

// read is what the product does then: its loop over heads is one over groups and one over the heads of a group.
const read = `op1 = matmul [2, 2, 3, 5, 7 | 4]
  a q[120*i0 + 60*i1 + 20*i2 + 4*i3 + k]
  b k[56*i0 + 28*i1 + 4*i4 + k]
  out out[210*i0 + 105*i1 + 35*i2 + 7*i3 + i4]
`

// rewriting is a change of a program's text, and how many copies a pass takes out of it then.
type rewriting struct {
	name, old, new string
	want           int
}

// run checks what a pass does to a program: nothing at all, or that it has the text given and the buffer no longer.
func (c rewriting) run(t *testing.T, text string, pass func(*ir.Program) int, want, gone string) {
	t.Helper()
	text = strings.Replace(text, c.old, c.new, 1)
	if strings.Contains(text, "more") {
		text = strings.Replace(text, "result out", "result more: f32[2] stride [1]\nresult out", 1)
	}
	p, err := ir.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	before := p.String()
	if n := pass(p); n != c.want {
		t.Fatalf("%d copies are gone, want %d:\n%s", n, c.want, p)
	}
	if err := p.CheckAddresses(); err != nil {
		t.Fatalf("%v:\n%s", err, p)
	}
	if got := p.String(); c.want == 0 && got != before {
		t.Errorf("the program changed:\n%s", got)
	} else if c.want == 1 && (!strings.Contains(got, want) || strings.Contains(got, gone)) {
		t.Errorf("not what it should be:\n%s", got)
	}
}

func TestRepeats(t *testing.T) {
	for _, c := range []rewriting{
		{"as it is", "", "", 1},
		{"a copy that repeats nothing", "k[56*i0 + 28*i1 +", "k[28*i0 + 14*i1 + 7*i2 +", 0},
		{"the copy is returned", "temp keys", "result keys", 0},
		{"a part of the copy", "b keys[168*i0 + 28*i1 + 4*i3 + k]", "b keys[168*i0 + 28*i1 + 4*i3 + k + 4]", 0},
		{"heads that lie apart", "b keys[168*i0 + 28*i1 +", "b keys[168*i0 + 56*i1 +", 0},
		{"keys as rows", "b keys[168*i0 + 28*i1 + 4*i3 + k]", "b keys[168*i0 + 28*i1 + i3 + 7*k]", 0},
		{
			"read by another, too", "return out",
			"op2 = pointwise [2]\n  t0 = load.f32 keys[i0]\n  store.f32 more[i0], t0\nreturn more + 0 shape [2] stride [1]\nreturn out", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, grouped, Repeats, read, "keys") })
	}
}
